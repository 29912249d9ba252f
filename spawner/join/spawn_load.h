// SPDX-License-Identifier: BSD-3-Clause
// Boot modules that are shared objects (aqueduct_spawn.h): finding and loading them, and refusing
// those that are incomplete or of another version.
#pragma once

#include <stdbool.h>

#include "../../other/base/modules/modules.h"
#include "../aqueduct_spawn.h"

typedef struct aq_loaded {
    char name[AQ_MODULE_NAME_MAX];
    char path[1024];
    const aqueduct_spawn_module_t *table; // NULL: it is refused, and errbuf holds one sentence
    char why[3072];                       // without a full stop
} aq_loaded_t;

// Whether a folder has a file for the module. Settings must be loaded; so must they for the others.
bool aq_loaded_exists(const char *name);
// Loads the module, once; NULL: no folder has it. Blocks. Not from several threads at once.
const aq_loaded_t *aq_loaded_find(const char *name);
// Loads all modules of all folders, at most 32, and returns number `index` of them; NULL: there are
// no more.
const aq_loaded_t *aq_loaded_at(size_t index);

// Operation init of the module. False: errbuf says why it cannot be used, or why it is refused.
bool aq_loaded_usable(const aq_loaded_t *loaded, const aqueduct_spawn_job_t *job, int *priority,
                      char *errbuf, size_t errbuf_size);
// Whether the module joins this process to a job that something else starts.
bool aq_loaded_joins(const aq_loaded_t *loaded);
// Has such a module set the variables of that job. ranks: 0: not given. False: logged.
bool aq_loaded_join(const aq_loaded_t *loaded, const char *conduit, uint32_t ranks);
