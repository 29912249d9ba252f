// SPDX-License-Identifier: BSD-3-Clause
// gasnet_grow: adds hosts to a universe that runs.
#include <string.h>

#include "../../base/log/log.h"
#include "../../base/system/standard_streams.h"
#include "../../../spawner/start/host_probe.h"
#include "../../../spawner/start/spawn_module.h"
#include "../../../spawner/universe/universe_boot.h"
#include "../../../spawner/universe/universe_local.h"
#include "../../../spawner/universe/universe_options.h"

#define PATIENCE_MS 10000

static const char usage[] =
    "usage: gasnet_grow <host>...\n"
    "\n"
    "Adds hosts, [user@]name[:slots], to the universe of this host. What the list of hosts of\n"
    "gasnetrun says about them now (slots, processors, user, prefix, schedule) is taken from "
    "there.\n"
    "\n"
    "  -h, --help         this text\n"
    "  --version          version\n"
    "\n"
    "Exit code 0: all hosts have joined; 1: some could not be started, so none has joined; 2: a\n"
    "host is not legal, or in the universe already.\n";

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static const aq_host_t *find_row(const aq_hosts_t *schema, const aq_host_t *host)
{
    for (size_t i = 0; i < schema->count; i++)
        if (strcmp(schema->rows[i].name, host->name) == 0 &&
            (host->user == NULL || strcmp(text_or_empty(schema->rows[i].user), host->user) == 0))
            return &schema->rows[i];
    return NULL;
}

// Completes a host of the user from its row in the list of hosts. Slots that the user gives take
// precedence.
static aq_host_t complete_host(const aq_host_t *host, const aq_host_t *row)
{
    aq_host_t full = *host;
    if (row == NULL)
        return full;
    full.user = row->user;
    full.prefix = row->prefix;
    full.idle = row->idle;
    if (host->slots == 0) {
        full.slots = row->slots;
        full.cpus = row->cpus;
    }
    return full;
}

static bool is_absent(const aq_universe_t *universe, const aq_host_t *host)
{
    if (aq_table_named(&universe->table, host->name, text_or_empty(host->user)) == NULL)
        return true;
    aq_log_error("host %s is in the universe already; gasnet_recon lists its hosts", host->name);
    return false;
}

// Reads the list of hosts again, if there is one.
static int complete_hosts(const aq_universe_t *universe, const aq_hosts_t *named, aq_hosts_t *out)
{
    aq_hosts_t schema = {0};
    char fault[512] = "";
    int code = aq_hosts_source(NULL) != NULL ? aq_probe_find(&schema, NULL) : -1;
    for (size_t i = 0; code < 0 && i < named->count; i++) {
        aq_host_t host = complete_host(&named->rows[i], find_row(&schema, &named->rows[i]));
        if (!is_absent(universe, &host))
            code = AQ_EXIT_USAGE;
        else if (!aq_hosts_add(out, &host, fault, sizeof fault)) {
            aq_log_error("%s", fault);
            code = 1;
        }
    }
    aq_hosts_free(&schema);
    return code;
}

static size_t count_joined(const aq_universe_t *universe, const aq_hosts_t *hosts)
{
    size_t count = 0;
    for (size_t i = 0; i < hosts->count; i++)
        count += aq_table_named(&universe->table, hosts->rows[i].name,
                                text_or_empty(hosts->rows[i].user)) != NULL;
    return count;
}

// Lets the hosts that have joined leave again, because either all hosts join or none. Blocks until
// they are gone.
static void take_back(aq_universe_t *universe, const aq_hosts_t *hosts)
{
    (void)aq_universe_ask(universe, AQ_MSG_SEE, 0);
    (void)aq_universe_next(universe, PATIENCE_MS);
    for (size_t i = 0; i < hosts->count; i++) {
        const aq_row_t *member = aq_table_named(&universe->table, hosts->rows[i].name,
                                                text_or_empty(hosts->rows[i].user));
        if (member != NULL)
            (void)aq_universe_ask(universe, AQ_MSG_SHRINK, member->number);
    }
    while (count_joined(universe, hosts) > 0 && aq_universe_next(universe, PATIENCE_MS))
        continue;
}

static int grow(aq_universe_t *universe, const aq_hosts_t *hosts)
{
    const aq_join_config_t config = aq_universe_join_config(universe->key, &universe->table);
    size_t failed = aq_universe_start(hosts, &config);
    if (failed == 0)
        return 0;
    take_back(universe, hosts);
    aq_log_error("%zu of %zu hosts could not be started, so none has joined the universe", failed,
                 hosts->count);
    return 1;
}

int main(int argc, char **argv)
{
    aq_hosts_t named = {0}, hosts = {0};
    aq_universe_t universe = {.link.fd = -1};
    aq_standard_streams_open();
    aq_log_program("gasnet_grow");
    int code = aq_universe_options(argc, argv, usage, &named, &universe);
    if (code < 0)
        code = complete_hosts(&universe, &named, &hosts);
    if (code < 0)
        code = grow(&universe, &hosts);
    aq_universe_close(&universe);
    aq_hosts_free(&hosts);
    aq_hosts_free(&named);
    return aq_log_end(code);
}
