// SPDX-License-Identifier: BSD-3-Clause
// What the library and the launcher know of a conduit before it is opened: one const record, in the
// conduit's own folder. It says which variables the conduit reads and how its jobs start, so that
// no other code names a conduit.
//
// The profiles of all conduits of the source tree are in the library, also of those that are
// modules: a variable of a conduit that is not loaded is no spelling mistake. A module has a
// profile too, which takes the place of the one that is there (aq_profile_add).
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "settings.h"

typedef struct aq_conduit_profile {
    const char *name;                   // "udp"
    const aq_setting_group_t *settings; // rows that only this conduit reads
    // The row GASNET_<CONDUIT>_SPAWNER, a choice; NULL: there is none. Its default is
    // AQ_<CONDUIT>_SPAWNER, which configure defines: launchers follow it.
    const aq_setting_t *spawner;
    const char *spawners;      // those that can start its jobs, with blanks between
    const char *first_spawner; // what "auto" is; NULL: any
    // Its ranks share memory: they are all on the launcher's host, and the conduit that
    // GASNET_CONDUIT names serves neighbourhoods. If it names none, the first such conduit does.
    bool one_host;
    bool one_layout;    // its ranks have functions and statics at equal addresses
    bool needs_mpi;     // its messages travel over MPI
    bool spawn_letters; // GASNET_SPAWNFN chooses the spawner, by GASNet's letters
    bool rank_argument; // a bare program takes the number of ranks: program N arguments
} aq_conduit_profile_t;

// All profiles, in the order of configure.ac: index below aq_profile_count().
size_t aq_profile_count(void);
const aq_conduit_profile_t *aq_profile_at(size_t index);

// The profile of a conduit; of an unknown name one without settings, which allows every spawner.
// Never NULL.
const aq_conduit_profile_t *aq_profile_find(const char *name);

// Makes the profile of a module known, and its settings. AQ_ERR_CONFIG with a sentence in err, as
// aq_settings_add. The profile stays for good. Not from several threads at once.
aq_status_t aq_profile_add(const aq_conduit_profile_t *profile, char *err, size_t err_size);
