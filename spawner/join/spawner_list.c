// SPDX-License-Identifier: BSD-3-Clause
// The names of the built-in spawners, with their usage for gasnet_info, and the rule by which
// GASNET_<CONDUIT>_SPAWNER precedes GASNET_SPAWNER. Modules themselves are in the rooms start and
// modules.
#include "spawner_list.h"

#include <stdio.h>
#include <string.h>

#include "../../other/mpi/mpi_library.h"
#include "spawn_load.h"
#include "../supervise/supervisor_start.h"

typedef struct spawner_row {
    const char *name;
    const char *usage;
} spawner_row_t;

static const spawner_row_t spawners[] = {
    {"fork", "all ranks on this host: gasnetrun_smp -n N program, or GASNET_PSHM_NODES=N program"},
    {"ssh", "ranks on several hosts: gasnetrun_udp -n N -H host,host... program"},
    {"universe", "ranks on hosts where gasnet_boot has started daemons: gasnet_boot -H "
                 "host,host..., then gasnetrun_udp -n N program"},
    {"custom", "ranks where a command of yours starts them: GASNET_CSPAWN_CMD='srun -n %N %C' "
               "gasnetrun_udp -spawner=custom -n N program"},
    {"rendezvous", "processes that something else starts and that find each other: gasnetrun_udp "
                   "-spawner=rendezvous -n N program prints the commands"},
    {"mpi", "ranks where mpirun starts them: mpirun -np N program, or gasnetrun_mpi -n N program"},
    {"pmi", "as mpi, but with PMIx or PMI-2 instead of MPI: srun --mpi=pmix -n N program (or "
            "--mpi=pmi2), or GASNET_SPAWNER=pmi mpirun -np N program"},
};

#define SPAWNERS (sizeof spawners / sizeof spawners[0])

bool aq_spawner_is_built_in(const char *name)
{
    for (size_t i = 0; i < SPAWNERS; i++)
        if (strcmp(name, spawners[i].name) == 0)
            return true;
    return false;
}

bool aq_spawner_exists(const char *name)
{
    return aq_spawner_is_built_in(name) || aq_loaded_exists(name);
}

bool aq_spawner_has_shell(void)
{
    return aq_supervised_has_program(aq_settings_text(AQ_SET_SSH_CMD));
}

// Why the spawner is not usable on this machine; NULL: it is usable.
static const char *spawner_lack(const char *name)
{
    if (strcmp(name, "ssh") == 0 && !aq_spawner_has_shell())
        return "the remote shell (GASNET_SSH_CMD, ssh) is not in PATH: install the package "
               "openssh-client";
    if (strcmp(name, "mpi") == 0 && !aq_mpilib_has_mpi())
        return "this installation has no module for an MPI: install the package libopenmpi-dev or "
               "libmpich-dev, and configure it again";
    return NULL;
}

static void report_built_in(const spawner_row_t *row, aq_spawner_report_t *out)
{
    const char *lack = spawner_lack(row->name);
    *out = (aq_spawner_report_t){.name = row->name, .usable = lack == NULL};
    snprintf(out->why, sizeof out->why, "%s", lack != NULL ? lack : row->usage);
}

static void report_loaded(const aq_loaded_t *loaded, aq_spawner_report_t *out)
{
    char why[3072];
    int priority;
    const aqueduct_spawn_job_t none = {.conduit = ""};
    *out = (aq_spawner_report_t){.name = loaded->name};
    out->usable = aq_loaded_usable(loaded, &none, &priority, why, sizeof why);
    snprintf(out->why, sizeof out->why, "%.1000s", out->usable ? loaded->table->usage : why);
}

size_t aq_spawner_report(aq_spawner_report_t *out, size_t max)
{
    const aq_loaded_t *loaded;
    size_t count = SPAWNERS;
    for (size_t i = 0; i < SPAWNERS && i < max; i++)
        report_built_in(&spawners[i], &out[i]);
    for (; (loaded = aq_loaded_at(count - SPAWNERS)) != NULL; count++)
        if (count < max)
            report_loaded(loaded, &out[count]);
    return count;
}

const char *aq_spawner_names(const char *conduit)
{
    return aq_profile_find(conduit)->spawners;
}

const char *aq_spawner_of_letter(const char *letter)
{
    if (strcmp(letter, "L") == 0)
        return "fork";
    if (strcmp(letter, "S") == 0)
        return "ssh";
    if (strcmp(letter, "C") == 0)
        return "custom";
    return NULL;
}

const aq_setting_t *aq_spawner_setting(const char *conduit)
{
    const aq_setting_t *own = aq_profile_find(conduit)->spawner;
    if (own != NULL && aq_setting_given(own) && strcmp(aq_setting_text(own), "auto") != 0)
        return own;
    return aq_settings_row(AQ_SET_SPAWNER);
}

const char *aq_spawner_configured(const aq_conduit_profile_t *profile)
{
    const aq_setting_t *own = profile->spawner;
    return own != NULL && strcmp(own->fallback, "auto") != 0 ? own->fallback : NULL;
}

const char *aq_spawner_default(const char *conduit)
{
    const aq_conduit_profile_t *profile = aq_profile_find(conduit);
    const char *configured = aq_spawner_configured(profile);
    const bool automatic = configured == NULL || aq_setting_given(profile->spawner) ||
                           aq_settings_given(AQ_SET_SPAWNER);
    return automatic ? profile->first_spawner : configured;
}
