// SPDX-License-Identifier: BSD-3-Clause
// gasnet_wipe: ends the processes that lost jobs of this user left on the hosts of a list.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/log/log.h"
#include "../../base/system/standard_streams.h"
#include "../../../spawner/start/host_probe.h"
#include "../../../spawner/universe/universe_hosts.h"
#include "../../../spawner/universe/universe_local.h"

static const char usage[] =
    "usage: gasnet_wipe [-a] [-H <host,host...>]\n"
    "\n"
    "Ends what jobs of yours have left on hosts: ranks that no launcher supervises any more.\n"
    "\n"
    "  -a                 end jobs that still run, too, and daemons of universes\n"
    "  -H <host,host...>  the hosts; without it, those that gasnetrun would take\n"
    "  -h, --help         this text\n"
    "  --version          version\n"
    "\n"
    "Exit code 0: every host is clean; 1: some could not be asked; 2: the list is not legal.\n";

// Lines "ended <process> <name>"; returns how many.
static size_t print_ended(const aq_probe_host_t *host)
{
    size_t ended = 0;
    for (const char *line = host->answer; *line != '\0'; line += strcspn(line, "\n") + 1) {
        long pid;
        char name[32];
        if (sscanf(line, "ended %ld %31[^\n]", &pid, name) != 2)
            continue;
        printf("%s: ended process %ld (%s)\n", host->row->name, pid, name);
        ended++;
    }
    return ended;
}

static int find_hosts(aq_hosts_t *hosts, const char *list)
{
    if (list == NULL && aq_universe_exists())
        return aq_universe_list(hosts);
    return aq_probe_find(hosts, list);
}

int main(int argc, char **argv)
{
    aq_hosts_t hosts = {0};
    bool all = false;
    size_t ended = 0, answered = 0;
    aq_standard_streams_open();
    aq_log_program("gasnet_wipe");
    const char *list;
    int code = aq_probe_options(argc, argv, usage, &list, &all);
    if (code < 0)
        code = find_hosts(&hosts, list);
    const aq_probe_task_t task = {.word = all ? "--wipe-all" : "--wipe"};
    aq_probe_host_t *table = code < 0 ? aq_probe_hosts(&hosts, &task) : NULL;
    for (size_t i = 0; table != NULL && i < hosts.count; i++) {
        ended += print_ended(&table[i]);
        answered += table[i].answered;
        if (!table[i].answered)
            aq_log_error("host %s could not be asked: %s; %s", table[i].row->name, table[i].why,
                         aq_probe_remedy(table[i].why));
    }
    if (table != NULL) {
        printf("%zu processes ended on %zu of %zu hosts\n", ended, answered, hosts.count);
        code = answered < hosts.count;
    }
    free(table);
    aq_hosts_free(&hosts);
    return aq_log_end(code < 0 ? 1 : code);
}
