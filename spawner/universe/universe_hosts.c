// SPDX-License-Identifier: BSD-3-Clause
// Reads the table from the daemon of this host (universe_local.c) and prints it, or turns it into a
// list of hosts for host_probe.c.
#include "universe_hosts.h"

#include <inttypes.h>
#include <stdio.h>

#include "../../other/base/log/log.h"
#include "universe_options.h"

static const char *state_of(const aq_row_t *member)
{
    static const char *const states[] = {"ready", "leaves", "lost"};
    return member->state == AQ_ROW_UP && member->idle ? "idle" : states[member->state];
}

static uint32_t slots_of(const aq_row_t *member)
{
    return member->slots > 0 ? member->slots : member->cpus > 0 ? member->cpus : member->processors;
}

static void print_row(const aq_row_t *member)
{
    printf("%-6" PRIu32 " %-20s %-6s %5" PRIu32 " %5" PRIu32 "  %s\n", member->number, member->name,
           state_of(member), slots_of(member), member->jobs, member->addresses);
}

int aq_universe_print(void)
{
    aq_universe_t universe;
    uint32_t lost = 0;
    int code = aq_universe_meet(&universe);
    if (code >= 0)
        return code;
    printf("%-6s %-20s %-6s %5s %5s  %s\n", "number", "host", "state", "slots", "jobs",
           "addresses");
    for (uint32_t i = 0; i < universe.table.count; i++) {
        print_row(&universe.table.rows[i]);
        lost += universe.table.rows[i].state == AQ_ROW_LOST;
    }
    printf("%" PRIu32 " of %" PRIu32 " hosts of the universe are there\n",
           universe.table.count - lost, universe.table.count);
    aq_universe_close(&universe);
    return lost > 0;
}

int aq_universe_list(aq_hosts_t *hosts)
{
    aq_universe_t universe;
    char fault[512] = "";
    int code = aq_universe_meet(&universe);
    for (uint32_t i = 0; code < 0 && i < universe.table.count; i++) {
        const aq_row_t *member = &universe.table.rows[i];
        const aq_host_t host = {
            .name = (char *)(uintptr_t)member->name,
            .user = member->user[0] != '\0' ? (char *)(uintptr_t)member->user : NULL,
            .prefix = member->prefix[0] != '\0' ? (char *)(uintptr_t)member->prefix : NULL};
        if (!aq_hosts_add(hosts, &host, fault, sizeof fault)) {
            aq_log_error("%s", fault);
            code = 1;
        }
    }
    aq_universe_close(&universe);
    return code;
}
