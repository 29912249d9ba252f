// Which back end joins this process to its job.
#include "spawner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../other/log.h"
#include "../other/settings.h"
#include "spawn_fork.h"
#include "spawn_modules.h"

typedef struct spawner_row {
    const char *name;
    bool usable;
    const char *why;
} spawner_row_t;

static const spawner_row_t rows[] = {
    {"fork", true,
     "all ranks on this host: gasnetrun_smp -n N program, or GASNET_PSHM_NODES=N program"},
    {"ssh", true, "ranks on several hosts: gasnetrun_udp -n N -H host,host... program"},
    {"mpi", false, "not in this build: use fork, which starts all ranks on this host"},
    {"pmi", false, "not in this build: use fork, which starts all ranks on this host"},
};

#define ROWS (sizeof rows / sizeof rows[0])

size_t aq_boot_report(aq_spawner_report_t *out, size_t max)
{
    for (size_t i = 0; i < ROWS && i < max; i++) {
        out[i].name = rows[i].name;
        out[i].usable = rows[i].usable;
        snprintf(out[i].why, sizeof out[i].why, "%s", rows[i].why);
        if (strcmp(rows[i].name, "ssh") == 0 && !aq_ssh_is_there()) {
            out[i].usable = false;
            snprintf(out[i].why, sizeof out[i].why,
                     "the remote shell (GASNET_SSH_CMD, ssh) is not in PATH: install the package "
                     "openssh-client");
        }
    }
    return ROWS;
}

static aq_status_t check_choice(aq_setting_id_t id)
{
    if (!aq_settings_given(id))
        return AQ_OK;
    const char *name = aq_settings_text(id);
    if (strcmp(name, "auto") == 0)
        return AQ_OK;
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(name, rows[i].name) == 0 && rows[i].usable)
            return AQ_OK;
    aq_log_error("%s=%s: this build has no spawner '%s'; unset the variable or set it to fork",
                 aq_settings[id].name, name, name);
    return AQ_ERR_ABSENT;
}

aq_status_t aq_boot_start(aq_boot_t **out)
{
    if (aq_settings_given(AQ_SET_SPAWN_CONTROL))
        return aq_fork_join(aq_settings_text(AQ_SET_SPAWN_CONTROL), out);
    aq_status_t status = check_choice(AQ_SET_SPAWNER);
    if (status == AQ_OK)
        status = check_choice(AQ_SET_SMP_SPAWNER);
    if (status != AQ_OK)
        return status;
    int64_t nodes = aq_settings_given(AQ_SET_PSHM_NODES) ? aq_settings_int(AQ_SET_PSHM_NODES) : 1;
    if (nodes <= 1)
        return aq_fork_alone(out);
    if (nodes > AQ_RANKS_MAX) {
        aq_log_error("GASNET_PSHM_NODES=%" PRId64
                     ": one host carries at most %d ranks; give a smaller "
                     "number",
                     nodes, AQ_RANKS_MAX);
        return AQ_ERR_CONFIG;
    }
    int code = 1;
    aq_supervise_options_t options = {.size = (uint32_t)nodes};
    return aq_supervise(&options, out, &code) ? AQ_OK : AQ_ERR_RESOURCE;
}
