// SPDX-License-Identifier: BSD-3-Clause
// The conduits of this installation: built into the library, or modules found at run time.
#pragma once

#include "../../other/base/modules/modules.h"
#include "../conduit.h"

// Returns the table of a conduit by name: built in, or from a module in GASNET_MODULE_PATH or
// $libdir/gasnet. If there is none, returns NULL, with reason and remedy in errbuf. Does not log.
// The table stays valid until the process ends.
const aq_conduit_ops_t *aq_registry_find(const char *name, char *errbuf, size_t errbuf_size);

typedef struct aq_conduit_report {
    char name[AQ_MODULE_NAME_MAX];
    const aq_conduit_ops_t *ops; // NULL: not in this installation, or its module is refused
    bool usable;
    char why[1024]; // why the conduit is not usable, or the device that it would use, or ""
} aq_conduit_report_t;

// Reports on all conduits that this version knows, and then on those of which it finds a module;
// returns how many (at most max are written).
size_t aq_registry_report(aq_conduit_report_t *out, size_t max);

// Opens the modules of conduits that are not known yet, so that their settings become known. Logs
// nothing about modules that it refuses.
void aq_registry_open_modules(void);
