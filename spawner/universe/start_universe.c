// SPDX-License-Identifier: BSD-3-Clause
// Module universe, for the launcher: the hosts whose daemons gasnet_boot has started (universe.h).
// The job is one of module ssh, with their table as list of hosts and daemons in place of remote
// shells.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/profile.h"
#include "../../other/base/settings/settings.h"
#include "../start/start_ssh.h"
#include "universe_local.h"

#define PRIORITY 40 // above ssh and the batch systems

// A launcher has one job.
static aq_universe_t universe;
static FILE *schema; // while it is written

// ---- choice ----

// A universe that the user names is taken even if it is not there, which is then reported.
static bool is_named(void)
{
    return aq_settings_given(AQ_SET_UNIVERSE) &&
           strcmp(aq_settings_text(AQ_SET_UNIVERSE), AQ_UNIVERSE_NONE) != 0;
}

static bool universe_init(const aq_start_t *start, int *priority, char *errbuf, size_t errbuf_size)
{
    bool here = aq_profile_find(start->conduit)->one_host && start->host_list == NULL;
    *priority = here ? 0 : PRIORITY;
    if (is_named() || aq_universe_exists())
        return true;
    snprintf(errbuf, errbuf_size, "no universe of this user is on this host (gasnet_boot)");
    return false;
}

// ---- hosts ----

static aq_status_t refuse_host(const aq_host_t *host, const aq_row_t *member)
{
    if (member == NULL)
        aq_log_error("host %s is not in the universe; add it with gasnet_grow %s, or start the job "
                     "with -spawner=ssh",
                     host->name, host->name);
    else
        aq_log_error("host %s is leaving the universe (gasnet_shrink); name another one",
                     host->name);
    return AQ_ERR_CONFIG;
}

static const char *user_of(const aq_host_t *host)
{
    return host->user != NULL ? host->user : "";
}

static void write_host(const aq_host_t *host)
{
    fprintf(schema, "%s%s%s", host->name, host->user != NULL ? " user=" : "", user_of(host));
    if (host->slots > 0)
        fprintf(schema, " slots=%" PRIu32, host->slots);
    if (host->cpus > 0)
        fprintf(schema, " cpu=%" PRIu32, host->cpus);
    fprintf(schema, "%s\n", host->idle ? " schedule=no" : "");
}

// The hosts of -H. What -H does not say about slots, the list of hosts has said at the boot.
static aq_status_t take_named(const aq_hosts_t *named)
{
    for (size_t i = 0; i < named->count; i++) {
        aq_host_t host = named->rows[i];
        const aq_row_t *member = aq_table_named(&universe.table, host.name, user_of(&host));
        if (member == NULL || member->state != AQ_ROW_UP)
            return refuse_host(&host, member);
        if (host.slots == 0) {
            host.slots = member->slots;
            host.cpus = member->cpus;
        }
        write_host(&host);
    }
    return AQ_OK;
}

static aq_status_t take_list(const char *list)
{
    aq_hosts_t named = {.keep_repeats = aq_settings_bool(AQ_SET_SSH_KEEPDUP)};
    aq_status_t status = aq_hosts_find(&named, list);
    if (status == AQ_OK)
        status = take_named(&named);
    aq_hosts_free(&named);
    return status;
}

// All hosts, each with its processors as slots.
static aq_status_t take_all(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < universe.table.count; i++) {
        const aq_row_t *member = &universe.table.rows[i];
        if (member->state != AQ_ROW_UP)
            continue;
        write_host(
            &(aq_host_t){.name = (char *)(uintptr_t)member->name,
                         .user = member->user[0] != '\0' ? (char *)(uintptr_t)member->user : NULL,
                         .slots = member->slots,
                         .cpus = member->cpus > 0 ? member->cpus : member->processors,
                         .idle = member->idle});
        count++;
    }
    if (count > 0)
        return AQ_OK;
    aq_log_error("every host of the universe is leaving it; add one with gasnet_grow");
    return AQ_ERR_CONFIG;
}

static aq_status_t refuse_memory(void)
{
    aq_log_error("no memory for the list of hosts; name fewer hosts");
    return AQ_ERR_RESOURCE;
}

static aq_status_t find_daemons(aq_spec_t *spec)
{
    spec->daemons = calloc(spec->host_count, sizeof *spec->daemons);
    for (uint32_t i = 0; spec->daemons != NULL && i < spec->host_count; i++) {
        const aq_row_t *member =
            aq_table_named(&universe.table, spec->hosts[i].name, spec->hosts[i].user);
        spec->daemons[i] = (aq_spec_daemon_t){member->number, member->port, member->addresses};
    }
    return spec->daemons != NULL ? AQ_OK : refuse_memory();
}

// Places the ranks on the hosts that were chosen, in the form of a host file.
static aq_status_t place_ranks(const aq_start_t *start)
{
    char *text = NULL;
    size_t length;
    schema = open_memstream(&text, &length);
    if (schema == NULL)
        return refuse_memory();
    aq_status_t status = start->host_list != NULL ? take_list(start->host_list) : take_all();
    if (fclose(schema) != 0 && status == AQ_OK)
        status = refuse_memory();
    if (status == AQ_OK)
        status = aq_ssh_allocate(start, text);
    free(text);
    return status == AQ_OK ? find_daemons(&start->ssh->plan.spec) : status;
}

static aq_status_t universe_allocate_hosts(const aq_start_t *start)
{
    char why[AQ_UNIVERSE_TEXT];
    if (aq_universe_open(&universe, why, sizeof why))
        return place_ranks(start);
    aq_log_error("%s", why);
    return AQ_ERR_ABSENT;
}

static void universe_describe(const aq_start_t *start)
{
    printf("gasnetrun: hosts of universe '%s'\n", aq_settings_text(AQ_SET_UNIVERSE));
    aq_ssh_print_places(start);
}

// ---- the job ----

static aq_status_t universe_prepare(const aq_start_t *start)
{
    aq_status_t status = aq_ssh_prepare(start);
    memcpy(start->ssh->plan.key, universe.key, AQ_KEY_BYTES);
    aq_link_close(&universe.link);
    return status;
}

static void universe_deallocate_hosts(const aq_start_t *start)
{
    free(start->ssh->plan.spec.daemons);
    aq_ssh_deallocate_hosts(start);
    aq_universe_close(&universe);
}

const aq_spawn_module_t aq_module_universe = {
    .name = "universe",
    .has_spares = true,
    .has_reserve = true,
    .init = universe_init,
    .parse_options = aq_ssh_parse_options,
    .allocate_hosts = universe_allocate_hosts,
    .describe = universe_describe,
    .prepare = universe_prepare,
    .start = aq_ssh_start,
    .deallocate_hosts = universe_deallocate_hosts,
    .finalize = aq_ssh_finalize,
};
