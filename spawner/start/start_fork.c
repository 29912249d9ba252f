// SPDX-License-Identifier: BSD-3-Clause
// Module fork, for the launcher: all ranks are children of this process, on this host.
#include <inttypes.h>

#include "../../other/base/log/log.h"
#include "spawn_module.h"

#define PRIORITY 10 // below modules that use the hosts that the user or the batch system names

static bool fork_init(const aq_start_t *start, int *priority, char *errbuf, size_t errbuf_size)
{
    (void)start;
    (void)errbuf;
    (void)errbuf_size;
    *priority = PRIORITY;
    return true;
}

static aq_status_t fork_parse_options(const aq_start_t *start)
{
    if (start->host_count > 1) {
        aq_log_error("option -N: %" PRId64 " hosts, but spawner fork starts all ranks on this "
                     "host; name hosts with -H, or give -N 1",
                     start->host_count);
        return AQ_ERR_CONFIG;
    }
    if (start->host_list != NULL) {
        aq_log_error(
            "option -H: spawner fork starts all ranks on this host; leave -H or -spawner=fork out");
        return AQ_ERR_CONFIG;
    }
    return AQ_OK;
}

static void fork_start(const aq_start_t *start, int *code)
{
    (void)aq_supervise(&start->run, NULL, code);
}

const aq_spawn_module_t aq_module_fork = {
    .name = "fork",
    .has_reserve = true,
    .init = fork_init,
    .parse_options = fork_parse_options,
    .start = fork_start,
};
