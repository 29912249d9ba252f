// SPDX-License-Identifier: BSD-3-Clause
// Module ssh, for the launcher: hosts, placement, and what the tree needs to know.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/settings/profile.h"
#include "../../other/base/settings/settings.h"
#include "../hosts/hosts.h"
#include "../launch/launcher.h"
#include "../shell/shell_words.h"
#include "spawn_module.h"
#include "../join/spawner_list.h"
#include "start_ssh.h"

#define PRIORITY 20

static bool is_one_host(const aq_start_t *start)
{
    return aq_profile_find(start->conduit)->one_host;
}

// ---- choice ----

static bool ssh_init(const aq_start_t *start, int *priority, char *errbuf, size_t errbuf_size)
{
    const char *source = aq_hosts_source(start->host_list);
    *priority = PRIORITY;
    if (source == NULL)
        snprintf(errbuf, errbuf_size,
                 "no hosts are named (-H, GASNET_SSH_SERVERS, GASNET_SSH_NODEFILE or a batch "
                 "system)");
    // Variables that were set for other conduits do not decide where a job of smp runs.
    else if (is_one_host(start) && start->host_list == NULL && !aq_settings_given(AQ_SET_SPAWNER) &&
             !aq_setting_given(aq_profile_find(start->conduit)->spawner))
        *priority = 0;
    return source != NULL;
}

aq_status_t aq_ssh_parse_options(const aq_start_t *start)
{
    const char *options = aq_settings_text(AQ_SET_SSH_OPTIONS);
    char **words = aq_shell_split(options);
    if (words == NULL) {
        aq_log_error("GASNET_SSH_OPTIONS: a quote is not closed: %s", options);
        return AQ_ERR_CONFIG;
    }
    aq_shell_free_words(words);
    if (start->spare > 0 && start->host_count == 0) {
        aq_log_error("option --spare: say with -N how many hosts are needed");
        return AQ_ERR_CONFIG;
    }
    if (is_one_host(start) && start->host_count > 1) {
        aq_log_error("option -N: %" PRId64 " hosts, but conduit smp joins processes of one host; "
                     "take conduit udp, or give -N 1",
                     start->host_count);
        return AQ_ERR_CONFIG;
    }
    return AQ_OK;
}

// ---- hosts ----

static aq_spec_host_t spec_host(const aq_host_t *row)
{
    return (aq_spec_host_t){row->name, row->user != NULL ? row->user : "",
                            row->prefix != NULL ? row->prefix : ""};
}

// Rows that get ranks become the hosts of the job, numbered by their first rank.
static bool number_hosts(aq_ssh_job_t *ssh, const uint32_t *row_of_rank, uint32_t size)
{
    aq_spec_t *spec = &ssh->plan.spec;
    // 1 + number of the host in that row; 0: none yet.
    uint32_t *number = calloc(ssh->hosts.count, sizeof *number);
    spec->hosts = calloc(ssh->hosts.count, sizeof *spec->hosts);
    spec->host_of_rank = calloc(size, sizeof *spec->host_of_rank);
    bool ok = number != NULL && spec->hosts != NULL && spec->host_of_rank != NULL;
    for (uint32_t r = 0; ok && r < size; r++) {
        const aq_host_t *row = &ssh->hosts.rows[row_of_rank[r]];
        if (number[row_of_rank[r]] == 0) {
            spec->hosts[spec->host_count] = spec_host(row);
            number[row_of_rank[r]] = ++spec->host_count;
        }
        spec->host_of_rank[r] = number[row_of_rank[r]] - 1;
    }
    free(number);
    return ok;
}

// Adds the hosts that follow in the list as spare ones.
static bool add_spares(aq_ssh_job_t *ssh, uint32_t spare, char *fault, size_t size)
{
    aq_spec_t *spec = &ssh->plan.spec;
    const aq_hosts_t *hosts = &ssh->hosts;
    uint32_t needed = spec->host_count, seen = 0;
    for (size_t i = 0; i < hosts->count && spec->spare < spare; i++)
        if (!hosts->rows[i].idle && ++seen > needed) {
            spec->hosts[spec->host_count++] = spec_host(&hosts->rows[i]);
            spec->spare++;
        }
    if (spec->spare < spare)
        snprintf(fault, size,
                 "option --spare: %" PRIu32 " hosts are needed and %" PRIu32
                 " spare ones, but %" PRIu32 " are named that take ranks; name more",
                 needed, spare, spec->host_count);
    return spec->spare == spare;
}

static aq_status_t place_ranks(const aq_start_t *start)
{
    char fault[512] = "no memory for the list of hosts; name fewer hosts";
    bool overfull = false;
    aq_placement_t wanted = {.size = start->run.size,
                             .host_count = is_one_host(start) ? 1 : (uint32_t)start->host_count,
                             .cpus_per_rank = start->run.cpus_per_rank,
                             .cyclic = start->cyclic};
    const uint32_t first = start->run.size, all = first + start->run.reserve;
    uint32_t *row_of_rank = calloc(all, sizeof *row_of_rank);
    bool ok = row_of_rank != NULL && aq_hosts_place(&start->ssh->hosts, &wanted, row_of_rank,
                                                    &overfull, fault, sizeof fault);
    for (uint32_t r = first; ok && r < all; r++) // the reserve goes to the same hosts in turn
        row_of_rank[r] = row_of_rank[r - first];
    ok = ok && number_hosts(start->ssh, row_of_rank, all) &&
         add_spares(start->ssh, start->spare, fault, sizeof fault);
    free(row_of_rank);
    if (!ok) {
        aq_log_error("%s", fault);
        return AQ_ERR_CONFIG;
    }
    if (overfull)
        aq_log_warn("%" PRIu32 " ranks are more than the slots of their hosts; they share "
                    "processors, and the job goes on",
                    start->run.size);
    return AQ_OK;
}

static aq_status_t read_schema(aq_hosts_t *hosts, const char *schema)
{
    char fault[512] = "the boot module names no host; name some with -H";
    bool ok = aq_hosts_read_text(hosts, "the boot module's list of hosts", schema, strlen(schema),
                                 fault, sizeof fault);
    if (ok && hosts->count > 0)
        return AQ_OK;
    aq_log_error("%s", fault);
    return AQ_ERR_CONFIG;
}

aq_status_t aq_ssh_allocate(const aq_start_t *start, const char *schema)
{
    aq_hosts_t *hosts = &start->ssh->hosts;
    // A place in a job with spare hosts is a host, however often it is named.
    hosts->keep_repeats = aq_settings_bool(AQ_SET_SSH_KEEPDUP) && start->spare == 0;
    aq_status_t status =
        schema != NULL ? read_schema(hosts, schema) : aq_hosts_find(hosts, start->host_list);
    return status == AQ_OK ? place_ranks(start) : status;
}

static aq_status_t ssh_allocate_hosts(const aq_start_t *start)
{
    return aq_ssh_allocate(start, NULL);
}

const aq_host_t *aq_ssh_row(const aq_ssh_job_t *ssh, uint32_t host)
{
    const aq_host_t *row = ssh->hosts.rows;
    while (row->name != ssh->plan.spec.hosts[host].name)
        row++;
    return row;
}

static aq_status_t ssh_verify_hosts(const aq_start_t *start)
{
    const char *shell = aq_settings_text(AQ_SET_SSH_CMD);
    const aq_spec_t *spec = &start->ssh->plan.spec;
    bool needed = false;
    for (uint32_t i = 0; i < spec->host_count; i++)
        needed = needed || !aq_remote_is_here(&spec->hosts[i]);
    if (!needed || aq_spawner_has_shell())
        return AQ_OK;
    aq_log_error("GASNET_SSH_CMD: the remote shell '%s' is not installed; install it (package "
                 "openssh-client), or name another one",
                 shell);
    return AQ_ERR_ABSENT;
}

void aq_ssh_print_places(const aq_start_t *start)
{
    const aq_spec_t *spec = &start->ssh->plan.spec;
    uint32_t low = 0;
    for (uint32_t r = 1; r <= start->run.size; r++) {
        uint32_t host = spec->host_of_rank[low];
        if (r < start->run.size && spec->host_of_rank[r] == host)
            continue;
        printf("gasnetrun: ranks %" PRIu32 "-%" PRIu32 " on host %s\n", low, r - 1,
               spec->hosts[host].name);
        low = r;
    }
    for (uint32_t i = spec->host_count - spec->spare; i < spec->host_count; i++)
        printf("gasnetrun: host %s is spare\n", spec->hosts[i].name);
    (void)fflush(stdout);
}

static void ssh_describe(const aq_start_t *start)
{
    printf("gasnetrun: hosts from %s, started by %s (%s)\n", aq_hosts_source(start->host_list),
           aq_settings_text(AQ_SET_SSH_CMD), aq_settings_text(AQ_SET_SPAWN_ALGORITHM));
    aq_ssh_print_places(start);
}

// ---- the job for all processes ----

static bool find_paths(aq_ssh_job_t *ssh)
{
    const char *remote_path = aq_settings_text(AQ_SET_SSH_REMOTE_PATH);
    ssize_t n = readlink("/proc/self/exe", ssh->program, sizeof ssh->program - 1);
    if (n <= 0)
        return false;
    ssh->program[n] = '\0';
    if (*remote_path != '\0')
        snprintf(ssh->folder, sizeof ssh->folder, "%s", remote_path);
    else if (getcwd(ssh->folder, sizeof ssh->folder) == NULL)
        snprintf(ssh->folder, sizeof ssh->folder, "/");
    return true;
}

// The tree starts its hosts at the same time with one thread, so threads would add nothing to it.
static void choose_algorithm(aq_launch_plan_t *plan)
{
    const char *algorithm = aq_settings_text(AQ_SET_SPAWN_ALGORITHM);
    bool window = strcmp(algorithm, "window") == 0, linear = strcmp(algorithm, "linear") == 0;
    plan->spec.tree.radix = (uint32_t)aq_settings_int(AQ_SET_SSH_OUT_DEGREE);
    plan->parts = window || linear ? 0 : plan->spec.tree.radix;
    plan->window = linear   ? 1
                   : window ? (uint32_t)aq_settings_int(AQ_SET_SPAWN_WINDOW)
                            : UINT32_MAX;
}

aq_status_t aq_ssh_prepare(const aq_start_t *start)
{
    aq_launch_plan_t *plan = &start->ssh->plan;
    aq_spec_t *spec = &plan->spec;
    if (aq_auth_init() != AQ_OK || !aq_launch_find_address(plan))
        return AQ_ERR_CONFIG;
    aq_auth_random(plan->key, sizeof plan->key);
    choose_algorithm(plan);
    (void)aq_settings_read_ports(aq_settings_text(AQ_SET_SPAWN_PORTS), &plan->ports);
    spec->command.environment = aq_launch_environment(start->run.environment);
    if (!find_paths(start->ssh) || spec->command.environment == NULL) {
        aq_log_error("no memory for the environment of the ranks, or /proc is missing");
        return AQ_ERR_RESOURCE;
    }
    spec->size = start->run.size + start->run.reserve;
    spec->reserve = start->run.reserve;
    spec->cpus_per_rank = start->run.cpus_per_rank;
    spec->tree.timeout_ms = (uint32_t)(aq_settings_real(AQ_SET_SPAWN_TIMEOUT) * 1000);
    spec->output.label_lines = start->run.label_lines;
    spec->output.line_buffer = isatty(STDOUT_FILENO) != 0;
    spec->output.verbose = start->verbose;
    spec->output.quiet = aq_settings_bool(AQ_SET_QUIET);
    spec->promiscuous = aq_settings_bool(AQ_SET_SPAWN_PROMISCUOUS);
    spec->remote.program = start->ssh->program;
    spec->command.folder = start->ssh->folder;
    spec->remote.shell = aq_settings_text(AQ_SET_SSH_CMD);
    spec->remote.options = aq_settings_text(AQ_SET_SSH_OPTIONS);
    spec->remote.ports = aq_settings_text(AQ_SET_SPAWN_PORTS);
    spec->command.argv = (char **)(uintptr_t)start->run.argv;
    return AQ_OK;
}

void aq_ssh_start(const aq_start_t *start, int *code)
{
    *code = aq_launch(&start->ssh->plan);
}

void aq_ssh_deallocate_hosts(const aq_start_t *start)
{
    free(start->ssh->plan.spec.hosts);
    free(start->ssh->plan.spec.host_of_rank);
    free(start->ssh->plan.spec.machine_of_rank);
    aq_hosts_free(&start->ssh->hosts);
}

void aq_ssh_finalize(const aq_start_t *start)
{
    free(start->ssh->plan.spec.command.environment);
    explicit_bzero(start->ssh->plan.key, sizeof start->ssh->plan.key);
}

const aq_spawn_module_t aq_module_ssh = {
    .name = "ssh",
    .has_spares = true,
    .has_reserve = true,
    .init = ssh_init,
    .parse_options = aq_ssh_parse_options,
    .allocate_hosts = ssh_allocate_hosts,
    .verify_hosts = ssh_verify_hosts,
    .describe = ssh_describe,
    .prepare = aq_ssh_prepare,
    .start = aq_ssh_start,
    .deallocate_hosts = aq_ssh_deallocate_hosts,
    .finalize = aq_ssh_finalize,
};
