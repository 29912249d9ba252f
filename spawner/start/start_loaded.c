// SPDX-License-Identifier: BSD-3-Clause
// Boot modules that are loaded, as modules of the launcher. They start the helpers of the hosts,
// which then work as those of module ssh; or the process is one of a job that something else
// started.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/settings/profile.h"
#include "../../other/base/settings/settings.h"
#include "spawn_module.h"
#include "start_ssh.h"
#include "../launch/starter.h"

#define WHY_ROOM 1024

// A launcher has one job.
static const aq_loaded_t *taken;
static aqueduct_spawn_job_t job;
static aqueduct_spawn_host_t *hosts;

static void fill_job(const aq_start_t *start)
{
    job = (aqueduct_spawn_job_t){.conduit = start->conduit,
                                 .one_host = aq_profile_find(start->conduit)->one_host,
                                 .host_list = start->host_list,
                                 .ranks = start->run.size,
                                 .host_limit = (uint32_t)start->host_count,
                                 .verbose = start->verbose,
                                 .run = aq_starter_run};
}

bool aq_loaded_init(const aq_loaded_t *loaded, const aq_start_t *start, int *priority, char *errbuf,
                    size_t errbuf_size)
{
    fill_job(start);
    return aq_loaded_usable(loaded, &job, priority, errbuf, errbuf_size);
}

// Logs the sentence of an operation that failed.
static aq_status_t check_result(int result, const char *why)
{
    if (result == 0)
        return AQ_OK;
    aq_log_error("spawner %s: %s", taken->name, why);
    return AQ_ERR_CONFIG;
}

typedef int operation_t(const aqueduct_spawn_job_t *job, char *errbuf, size_t errbuf_size);

static aq_status_t call_module(operation_t *operation)
{
    char why[WHY_ROOM] = "its module gives no reason";
    return operation == NULL ? AQ_OK : check_result(operation(&job, why, sizeof why), why);
}

// ---- options ----

// Refuses options about what the starter of the processes has already decided.
static aq_status_t refuse_options(const aq_start_t *start)
{
    const char *option = start->host_list != NULL         ? "-H"
                         : start->host_count > 0          ? "-N"
                         : start->cyclic                  ? "-cyclic"
                         : start->run.cpus_per_rank > 0   ? "-c"
                         : start->bind != NULL            ? "--bind"
                         : start->run.label_lines         ? "-l"
                         : start->run.environment != NULL ? "-E"
                                                          : NULL;
    if (option == NULL)
        return AQ_OK;
    aq_log_error("option %s: spawner %s joins this process to others, and what started them "
                 "decides about hosts, processors, output and environment; leave it out",
                 option, taken->name);
    return AQ_ERR_CONFIG;
}

static aq_status_t loaded_parse_options(const aq_start_t *start)
{
    fill_job(start);
    aq_status_t status =
        aq_loaded_joins(taken) ? refuse_options(start) : aq_ssh_parse_options(start);
    return status == AQ_OK ? call_module(taken->table->parse_options) : status;
}

// ---- hosts ----

// Makes an array of the words of the row, which ends with NULL. NULL: no memory.
static const char *const *split_keys(const char *keys)
{
    size_t count = 0, room = 2;
    char *rest = NULL;
    for (const char *at = keys; at != NULL && *at != '\0'; at++)
        room += *at == '\n';
    const char **words = calloc(room, sizeof *words);
    char *text = keys != NULL ? strdup(keys) : NULL;
    if (words == NULL || (keys != NULL && text == NULL))
        return NULL;
    for (char *at = text; at != NULL && (at = strtok_r(at, "\n", &rest)) != NULL; at = rest)
        words[count++] = at;
    return (const char *const *)words;
}

static bool fill_host(const aq_ssh_job_t *ssh, aqueduct_spawn_host_t *host, uint32_t number)
{
    const aq_spec_host_t *from = &ssh->plan.spec.hosts[number];
    *host = (aqueduct_spawn_host_t){.name = from->name, .user = from->user, .prefix = from->prefix};
    host->keys = split_keys(aq_ssh_row(ssh, number)->keys);
    return host->keys != NULL;
}

static aq_status_t list_hosts(const aq_ssh_job_t *ssh, uint32_t ranks)
{
    const aq_spec_t *spec = &ssh->plan.spec;
    hosts = calloc(spec->host_count, sizeof *hosts);
    bool ok = hosts != NULL;
    for (uint32_t i = 0; ok && i < spec->host_count; i++)
        ok = fill_host(ssh, &hosts[i], i);
    for (uint32_t r = 0; ok && r < ranks; r++)
        hosts[spec->host_of_rank[r]].ranks++;
    job.hosts = hosts;
    job.host_count = ok ? spec->host_count : 0;
    if (ok)
        return AQ_OK;
    aq_log_error("no memory for the list of hosts; name fewer hosts");
    return AQ_ERR_RESOURCE;
}

static aq_status_t loaded_allocate_hosts(const aq_start_t *start)
{
    char why[WHY_ROOM] = "its module gives no reason";
    const char *schema = NULL;
    aq_status_t status = AQ_OK;
    if (aq_loaded_joins(taken))
        return AQ_OK;
    if (taken->table->allocate_hosts != NULL)
        status = check_result(taken->table->allocate_hosts(&job, &schema, why, sizeof why), why);
    if (status == AQ_OK)
        status = aq_ssh_allocate(start, schema);
    return status == AQ_OK ? list_hosts(start->ssh, start->run.size) : status;
}

static aq_status_t loaded_verify_hosts(const aq_start_t *start)
{
    (void)start;
    return call_module(taken->table->verify_hosts);
}

static void loaded_describe(const aq_start_t *start)
{
    printf("gasnetrun: boot module %s\n", taken->path);
    if (!aq_loaded_joins(taken))
        aq_ssh_print_places(start);
    if (taken->table->describe != NULL)
        taken->table->describe(&job);
    (void)fflush(stdout);
}

static void loaded_deallocate_hosts(const aq_start_t *start)
{
    if (taken->table->deallocate_hosts != NULL)
        taken->table->deallocate_hosts();
    for (uint32_t i = 0; i < job.host_count; i++) {
        free((char *)(uintptr_t)hosts[i].keys[0]); // the first word is the whole text
        free((void *)(uintptr_t)hosts[i].keys);
    }
    free(hosts);
    hosts = NULL;
    job.host_count = 0;
    aq_ssh_deallocate_hosts(start);
}

// ---- the start of the helpers ----

static uint32_t count_threads(void)
{
    if (strcmp(aq_settings_text(AQ_SET_SPAWN_ALGORITHM), "threads") != 0)
        return 1;
    if ((taken->table->flags & AQUEDUCT_SPAWN_THREADS) != 0)
        return (uint32_t)aq_settings_int(AQ_SET_SPAWN_WINDOW);
    aq_log_info("GASNET_SPAWN_ALGORITHM=threads: spawner %s is called by one thread only",
                taken->name);
    return 1;
}

static bool begin_starter(const aq_node_t *node, uint16_t port, pid_t *out)
{
    const aq_starter_t starter = {taken->table, &job, node->spec.remote.program, count_threads()};
    return aq_starter_begin(&starter, node, port, out);
}

static aq_status_t prepare_launch(const aq_start_t *start)
{
    aq_launch_plan_t *plan = &start->ssh->plan;
    aq_status_t status = aq_ssh_prepare(start);
    plan->parts = 0; // only this host has the module
    plan->spec.workers = true;
    plan->spec.starter = taken->name;
    plan->listening = begin_starter;
    plan->patience = aq_clock_seconds_to_ns(aq_settings_real(AQ_SET_CONNECT_TIMEOUT));
    return status;
}

static aq_status_t loaded_prepare(const aq_start_t *start)
{
    aq_status_t status = aq_loaded_joins(taken) ? AQ_OK : prepare_launch(start);
    return status == AQ_OK ? call_module(taken->table->prepare) : status;
}

// ---- one process of a job ----

// Returns only if that fails.
static void become_program(const aq_start_t *start)
{
    if (!aq_loaded_join(taken, start->conduit, start->run.size))
        return;
    (void)execvp(start->run.argv[0], start->run.argv);
    aq_log_error("the program %s cannot be executed: %s", start->run.argv[0], strerror(errno));
}

static void loaded_start(const aq_start_t *start, int *code)
{
    if (aq_loaded_joins(taken))
        become_program(start);
    else
        aq_ssh_start(start, code);
}

static void loaded_finalize(const aq_start_t *start)
{
    if (taken->table->finalize != NULL)
        taken->table->finalize();
    if (!aq_loaded_joins(taken))
        aq_ssh_finalize(start);
}

const aq_spawn_module_t *aq_loaded_take(const aq_loaded_t *loaded)
{
    static aq_spawn_module_t module = {
        .parse_options = loaded_parse_options,
        .allocate_hosts = loaded_allocate_hosts,
        .verify_hosts = loaded_verify_hosts,
        .describe = loaded_describe,
        .prepare = loaded_prepare,
        .start = loaded_start,
        .deallocate_hosts = loaded_deallocate_hosts,
        .finalize = loaded_finalize,
    };
    taken = loaded;
    module.name = loaded->name;
    module.joins = aq_loaded_joins(loaded);
    return &module;
}
