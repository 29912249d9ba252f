// SPDX-License-Identifier: BSD-3-Clause
// The spawners of this installation by name, and which of them the user asks for.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "../../other/base/settings/profile.h"

typedef struct aq_spawner_report {
    const char *name;
    bool usable;
    char why[1024]; // one sentence: how to use it, or why it is not usable
} aq_spawner_report_t;

// Fills in up to max reports, the built-in spawners first, then the boot modules, which it loads;
// returns how many spawners there are. The settings must be loaded.
size_t aq_spawner_report(aq_spawner_report_t *out, size_t max);

// Whether this build has a spawner of that name built in.
bool aq_spawner_is_built_in(const char *name);
// The same, or a folder has a boot module of that name.
bool aq_spawner_exists(const char *name);

// The spawners that can start a conduit's jobs (NULL: any conduit's), with blanks between.
const char *aq_spawner_names(const char *conduit);

// The spawner for one of GASNet's letters, L, S or C. NULL: there is none.
const char *aq_spawner_of_letter(const char *letter);

// The setting that names the spawner for a conduit's jobs: the conduit's own one unless it is
// "auto", else GASNET_SPAWNER.
const aq_setting_t *aq_spawner_setting(const char *conduit);

// The spawner that configure was told for a conduit (--with-CONDUIT-spawner). NULL: none.
const char *aq_spawner_configured(const aq_conduit_profile_t *profile);
// The spawner with which launchers start a conduit's jobs when the user names none: the configured
// one, unless a variable is explicitly "auto"; else the one that the conduit needs. NULL: any.
const char *aq_spawner_default(const char *conduit);

// Whether the remote shell of spawner ssh is installed.
bool aq_spawner_has_shell(void);
