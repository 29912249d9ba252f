// SPDX-License-Identifier: BSD-3-Clause
// gasnet_boot: starts a universe, a daemon on each host of a list (universe.h).
#include <stdio.h>
#include <string.h>

#include "../../base/log/log.h"
#include "../../base/settings/settings.h"
#include "../../base/system/standard_streams.h"
#include "../../../spawner/start/host_probe.h"
#include "../../../spawner/shell/remote_command.h"
#include "../../../spawner/universe/universe_boot.h"
#include "../../../spawner/universe/universe_local.h"

static const char usage[] =
    "usage: gasnet_boot [-H <host,host...>]\n"
    "\n"
    "Starts a universe: a daemon on each host that stays, so that gasnetrun starts jobs there\n"
    "without remote shells. This host belongs to it; it gets ranks only if the list names it, or\n"
    "if there is no list.\n"
    "\n"
    "  -H <host,host...>  the hosts; without it, those that gasnetrun would take\n"
    "  -h, --help         this text\n"
    "  --version          version\n"
    "\n"
    "gasnet_grow adds hosts, gasnet_shrink takes them away, gasnet_recon shows them, gasnet_halt\n"
    "ends the universe.\n"
    "Exit code 0: all hosts have a daemon; 1: some could not be started, so there is no universe;\n"
    "2: the list of hosts is not legal.\n";

// Moves the row of this host, or one without ranks, to *here; the others are left in *hosts.
static bool divide_hosts(const aq_hosts_t *all, aq_hosts_t *here, aq_hosts_t *others)
{
    char fault[512];
    bool ok = true;
    for (size_t i = 0; ok && i < all->count; i++) {
        const aq_host_t *row = &all->rows[i];
        const aq_remote_host_t remote = {row->name, row->user != NULL ? row->user : "", ""};
        bool mine = here->count == 0 && aq_remote_is_here(&remote);
        ok = aq_hosts_add(mine ? here : others, row, fault, sizeof fault);
    }
    const aq_host_t origin = {.name = (char *)(uintptr_t)aq_log_host(), .idle = all->count > 0};
    if (ok && here->count == 0)
        ok = aq_hosts_add(here, &origin, fault, sizeof fault);
    if (!ok)
        aq_log_error("%s", fault);
    return ok;
}

// The first daemon runs: all others join it, or the universe ends.
static int boot_others(const aq_hosts_t *others)
{
    aq_universe_t universe;
    char why[AQ_UNIVERSE_TEXT];
    if (!aq_universe_open(&universe, why, sizeof why)) {
        aq_log_error("%s; if the daemon of this host runs, gasnet_halt ends it", why);
        return 1;
    }
    const aq_join_config_t config = aq_universe_join_config(universe.key, &universe.table);
    size_t failed = others->count > 0 ? aq_universe_start(others, &config) : 0;
    if (failed > 0) {
        aq_log_error("%zu of %zu hosts could not be started, so there is no universe", failed,
                     others->count + 1);
        if (aq_universe_ask(&universe, AQ_MSG_HALT, 0))
            while (aq_universe_next(&universe, -1))
                continue;
    }
    aq_universe_close(&universe);
    return failed > 0;
}

static int boot_universe(const aq_hosts_t *all)
{
    aq_hosts_t here = {0}, others = {0};
    const aq_table_t nobody = {0};
    uint8_t key[AQ_KEY_BYTES];
    int code = 1;
    if (aq_auth_init() == AQ_OK && divide_hosts(all, &here, &others)) {
        aq_auth_random(key, sizeof key);
        const aq_join_config_t config = aq_universe_join_config(key, &nobody);
        if (aq_universe_start(&here, &config) == 0)
            code = boot_others(&others);
        explicit_bzero(key, sizeof key);
    }
    if (code == 0)
        printf("universe '%s' has %zu hosts\n", aq_settings_text(AQ_SET_UNIVERSE),
               others.count + !here.rows[0].idle);
    aq_hosts_free(&here);
    aq_hosts_free(&others);
    return code;
}

static int refuse_boot(void)
{
    const char *name = aq_settings_text(AQ_SET_UNIVERSE);
    if (strcmp(name, AQ_UNIVERSE_NONE) == 0) {
        aq_log_error("GASNET_UNIVERSE=none is no name for a universe; give another one");
        return 2;
    }
    if (!aq_universe_exists())
        return -1;
    aq_log_error("universe '%s' runs on this host already; add hosts with gasnet_grow, end it with "
                 "gasnet_halt, or name another one with GASNET_UNIVERSE",
                 name);
    return 1;
}

int main(int argc, char **argv)
{
    aq_hosts_t hosts = {0};
    const char *list;
    aq_standard_streams_open();
    aq_log_program("gasnet_boot");
    int code = aq_probe_options(argc, argv, usage, &list, NULL);
    if (code < 0)
        code = refuse_boot();
    if (code < 0 && aq_hosts_source(list) != NULL)
        code = aq_probe_find(&hosts, list);
    if (code < 0)
        code = boot_universe(&hosts);
    aq_hosts_free(&hosts);
    return aq_log_end(code);
}
