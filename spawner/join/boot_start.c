// SPDX-License-Identifier: BSD-3-Clause
// Chooses the back end that joins this process to its job.
#include <inttypes.h>
#include <string.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../../other/base/system/standard_streams.h"
#include "../boot/boot.h"
#include "boot_origin.h"
#include "launch_environment.h"
#include "../rendezvous/rendezvous.h"
#include "../supervise/spawn_fork.h"
#include "spawn_mpi.h"
#include "spawner_list.h"
#include "../supervise/supervise.h"

void aq_boot_begin_start(void)
{
    aq_boot_fork_begin();
}

void aq_boot_end_start(void)
{
    aq_page_divert_faults(NULL, 0);
}

static aq_status_t check_spawner(const aq_setting_t *row)
{
    const char *name = aq_setting_given(row) ? aq_setting_text(row) : "auto";
    if (strcmp(name, "auto") == 0 || aq_spawner_exists(name))
        return AQ_OK;
    aq_log_error("%s=%s: this installation has no spawner '%s'; unset the variable, or set it to "
                 "one that gasnet_info lists",
                 row->name, name, name);
    return AQ_ERR_ABSENT;
}

static aq_status_t fork_ranks(int64_t ranks, aq_boot_t **out)
{
    if (ranks > AQ_RANKS_MAX) {
        aq_log_error("GASNET_PSHM_NODES=%" PRId64
                     ": one host carries at most %d ranks; give a smaller number",
                     ranks, AQ_RANKS_MAX);
        return AQ_ERR_CONFIG;
    }
    int code = 1;
    aq_supervise_options_t options = {.size = (uint32_t)ranks};
    return aq_supervise(&options, out, &code) ? AQ_OK : AQ_ERR_RESOURCE;
}

aq_status_t aq_boot_start(const char *conduit, uint32_t ranks, aq_boot_t **out)
{
    aq_standard_streams_open();
    aq_launch_restore();
    if (aq_settings_given(AQ_SET_SPAWN_CONTROL))
        return aq_boot_fork_join(aq_settings_text(AQ_SET_SPAWN_CONTROL), out);
    aq_status_t status = check_spawner(aq_spawner_setting(conduit));
    if (status != AQ_OK)
        return status;
    if (aq_boot_by_rendezvous(conduit))
        return aq_rendezvous_join(out);
    bool pmi;
    if (aq_boot_by_mpirun(conduit, &pmi))
        return aq_boot_mpi_join(pmi, out);
    if (!aq_settings_given(AQ_SET_PSHM_NODES) && !ranks && !aq_boot_check_step(conduit))
        return AQ_ERR_CONFIG;
    int64_t nodes =
        aq_settings_given(AQ_SET_PSHM_NODES) ? aq_settings_int(AQ_SET_PSHM_NODES) : ranks;
    return nodes <= 1 ? aq_boot_fork_singleton(out) : fork_ranks(nodes, out);
}
