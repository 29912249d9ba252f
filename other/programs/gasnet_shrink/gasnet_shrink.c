// SPDX-License-Identifier: BSD-3-Clause
// gasnet_shrink: takes hosts away from a universe, when their ranks are gone.
#include <inttypes.h>
#include <stdlib.h>

#include "../../base/log/log.h"
#include "../../base/system/standard_streams.h"
#include "../../../spawner/start/spawn_module.h"
#include "../../../spawner/universe/universe_options.h"

static const char usage[] =
    "usage: gasnet_shrink <host>...\n"
    "\n"
    "Takes hosts away from the universe of this host. They get no further job, and leave with the\n"
    "end of their last one, for which this program waits. Ending this program does not keep them.\n"
    "\n"
    "  -h, --help         this text\n"
    "  --version          version\n"
    "\n"
    "Exit code 0: the hosts have left; 1: there is no universe; 2: a host is not in it.\n";

static int find_numbers(const aq_universe_t *universe, const aq_hosts_t *hosts, uint32_t *numbers)
{
    for (size_t i = 0; i < hosts->count; i++) {
        const aq_host_t *row = &hosts->rows[i];
        const aq_row_t *member =
            aq_table_named(&universe->table, row->name, row->user != NULL ? row->user : "");
        if (member == NULL) {
            aq_log_error("host %s is not in the universe; gasnet_recon lists its hosts", row->name);
            return AQ_EXIT_USAGE;
        }
        numbers[i] = member->number;
    }
    return -1;
}

// How many of these hosts are still there, and how many jobs they have.
static size_t count_left(const aq_universe_t *universe, const uint32_t *numbers, size_t count,
                         uint32_t *jobs)
{
    size_t left = 0;
    *jobs = 0;
    for (size_t i = 0; i < count; i++) {
        const aq_row_t *member = aq_table_find(&universe->table, numbers[i]);
        if (member == NULL || member->state == AQ_ROW_LOST)
            continue;
        left++;
        *jobs += member->jobs;
    }
    return left;
}

// The universe ends with its last host, and the connection with the host of this program.
static int await_end(aq_universe_t *universe, const uint32_t *numbers, size_t count)
{
    uint32_t jobs, told = 0;
    do {
        size_t left = count_left(universe, numbers, count, &jobs);
        if (left == 0)
            return 0;
        if (jobs > 0 && told == 0)
            aq_log_notice("%zu hosts have %" PRIu32 " jobs; they leave when these have ended", left,
                          jobs);
        told += jobs;
    } while (aq_universe_next(universe, -1));
    return 0;
}

static int shrink(aq_universe_t *universe, const aq_hosts_t *hosts)
{
    uint32_t *numbers = calloc(hosts->count, sizeof *numbers);
    int code = numbers != NULL ? find_numbers(universe, hosts, numbers) : 1;
    for (size_t i = 0; code < 0 && i < hosts->count; i++)
        (void)aq_universe_ask(universe, AQ_MSG_SHRINK, numbers[i]);
    if (code < 0)
        code = await_end(universe, numbers, hosts->count);
    free(numbers);
    return code;
}

int main(int argc, char **argv)
{
    aq_hosts_t hosts = {0};
    aq_universe_t universe = {.link.fd = -1};
    aq_standard_streams_open();
    aq_log_program("gasnet_shrink");
    int code = aq_universe_options(argc, argv, usage, &hosts, &universe);
    if (code < 0)
        code = shrink(&universe, &hosts);
    aq_universe_close(&universe);
    aq_hosts_free(&hosts);
    return aq_log_end(code);
}
