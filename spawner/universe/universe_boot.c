// SPDX-License-Identifier: BSD-3-Clause
// Runs `gasnetrun --daemon` on the hosts by host_probe.c, and gives each daemon its number, the key
// and the coordinator on standard input.
#include "universe_boot.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../start/host_probe.h"
#include "universe.h"

typedef struct boot {
    const aq_hosts_t *hosts;
    aq_join_config_t config; // member.number: of the first host
} boot_t;

// The numbers follow the list of hosts.
static void write_join_config(const aq_host_t *row, void *item, aq_bytes_t *out)
{
    const boot_t *boot = item;
    aq_join_config_t config = boot->config;
    config.member = (aq_row_t){.number = config.member.number + (uint32_t)(row - boot->hosts->rows),
                               .name = row->name,
                               .user = row->user != NULL ? row->user : "",
                               .prefix = row->prefix != NULL ? row->prefix : "",
                               .addresses = "",
                               .slots = row->slots,
                               .cpus = row->cpus,
                               .idle = row->idle};
    aq_write_join_config(out, &config);
    explicit_bzero(config.key, sizeof config.key);
}

// Logs why a host has no daemon; with a remedy if the remote shell failed, before the daemon could
// read its input.
static void log_failure(const aq_probe_host_t *host)
{
    if (host->given)
        aq_log_error("host %s: %s", host->row->name, host->why);
    else
        aq_log_error("host %s: %s; %s", host->row->name, host->why, aq_probe_remedy(host->why));
}

size_t aq_universe_start(const aq_hosts_t *hosts, const aq_join_config_t *config)
{
    boot_t boot = {hosts, *config};
    const aq_probe_task_t task = {AQ_DAEMON_OPTION, write_join_config, &boot};
    size_t failed = 0;
    (void)signal(SIGPIPE, SIG_IGN);
    aq_probe_host_t *table = aq_probe_hosts(hosts, &task);
    for (size_t i = 0; table != NULL && i < hosts->count; i++) {
        if (table[i].answered)
            continue;
        log_failure(&table[i]);
        failed++;
    }
    failed = table != NULL ? failed : hosts->count;
    free(table);
    explicit_bzero(&boot, sizeof boot);
    return failed;
}

aq_join_config_t aq_universe_join_config(const uint8_t key[AQ_KEY_BYTES], const aq_table_t *table)
{
    const aq_row_t *coordinator = aq_table_coordinator(table);
    aq_join_config_t config = {.universe = aq_settings_text(AQ_SET_UNIVERSE),
                               .ports = aq_settings_text(AQ_SET_SPAWN_PORTS),
                               .addresses = coordinator != NULL ? coordinator->addresses : "",
                               .port = coordinator != NULL ? coordinator->port : 0,
                               .coordinator = coordinator != NULL ? coordinator->number : 0,
                               .silence_ms = aq_link_chosen_silence(),
                               .member.number = table->next};
    memcpy(config.key, key, sizeof config.key);
    return config;
}
