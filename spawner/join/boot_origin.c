// SPDX-License-Identifier: BSD-3-Clause
// Reads from the environment who started this process. boot_start.c chooses the back end by the
// answers, and boot_ranks.c whether `program N` becomes a launcher.
#include "boot_origin.h"

#include <stdlib.h>
#include <string.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/profile.h"
#include "../../other/mpi/mpi_library.h"
#include "spawner_list.h"

const char *aq_boot_spawner_setting(const char *conduit)
{
    return aq_setting_text(aq_spawner_setting(conduit));
}

bool aq_boot_by_mpirun(const char *conduit, bool *pmi)
{
    const char *setting = aq_boot_spawner_setting(conduit);
    const aq_mpilib_launch_t launch = aq_mpilib_launched();
    *pmi = strcmp(setting, "pmi") == 0;
    if (*pmi || strcmp(setting, "mpi") == 0)
        return true;
    if (strcmp(setting, "auto") != 0 || launch.by == NULL)
        return false;
    bool needed = aq_profile_find(conduit)->needs_mpi || aq_mpilib_in_process();
    *pmi = !needed && (!launch.own || !aq_mpilib_has_mpi());
    return true;
}

bool aq_boot_by_rendezvous(const char *conduit)
{
    const char *setting = aq_boot_spawner_setting(conduit);
    if (strcmp(setting, "rendezvous") == 0)
        return true;
    return strcmp(setting, "auto") == 0 && aq_settings_given(AQ_SET_MASTER) &&
           !aq_profile_find(conduit)->needs_mpi;
}

bool aq_boot_check_step(const char *conduit)
{
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    if (strcmp(aq_boot_spawner_setting(conduit), "auto") != 0 || !tasks ||
        !getenv("SLURM_PROCID") || strtol(tasks, NULL, 10) <= 1)
        return true;
    aq_log_error("srun started %s tasks, but gave them no way to find each other; give it the "
                 "option --mpi=pmix or --mpi=pmi2 (srun --mpi=list prints the choices), or set "
                 "GASNET_SPAWNER=fork, if each task is to be a job of its own",
                 tasks);
    return false;
}
