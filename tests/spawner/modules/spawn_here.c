// SPDX-License-Identifier: BSD-3-Clause
// A boot module for tests: it starts the helpers of all hosts on this host. The environment says
// how it behaves; the file HERE_LOG gets a line for each call. Compiled with other names, versions
// and tables by modules-load.sh.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "aqueduct_spawn.h"

#ifndef NAME
#define NAME "here"
#endif
#ifndef VERSION
#define VERSION AQUEDUCT_SPAWN_VERSION
#endif
#ifndef FLAGS
#define FLAGS AQUEDUCT_SPAWN_THREADS
#endif

static atomic_uint entered; // calls of start_host so far

// What the variable HERE_... says; "": nothing.
static const char *here_text(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? text : "";
}

static void here_log(const char *call, const char *text)
{
    FILE *file = fopen(here_text("HERE_LOG"), "a");
    if (file == NULL)
        return;
    fprintf(file, "%s%s\n", call, text);
    fclose(file);
}

// Fails the operation that HERE_FAIL names.
static int here_result(const char *call, char *why, size_t room)
{
    here_log(call, "");
    if (strcmp(here_text("HERE_FAIL"), call) != 0)
        return 0;
    snprintf(why, room, "%s fails because HERE_FAIL says so", call);
    return -1;
}

static int here_init(const aqueduct_spawn_job_t *job, int *priority, char *why, size_t room)
{
    (void)job;
    *priority = atoi(here_text("HERE_PRIORITY"));
    return here_result("init", why, room);
}

static int here_parse_options(const aqueduct_spawn_job_t *job, char *why, size_t room)
{
    (void)job;
    return here_result("parse_options", why, room);
}

static int here_allocate_hosts(const aqueduct_spawn_job_t *job, const char **schema, char *why,
                               size_t room)
{
    (void)job;
    if (*here_text("HERE_SCHEMA") != '\0')
        *schema = here_text("HERE_SCHEMA");
    return here_result("allocate_hosts", why, room);
}

static int here_verify_hosts(const aqueduct_spawn_job_t *job, char *why, size_t room)
{
    for (uint32_t h = 0; h < job->host_count; h++) {
        char line[512];
        int used = snprintf(line, sizeof line, " %s user=%s ranks=%u", job->hosts[h].name,
                            job->hosts[h].user, job->hosts[h].ranks);
        for (const char *const *key = job->hosts[h].keys; *key != NULL; key++)
            used += snprintf(line + used, sizeof line - (size_t)used, " <%s>", *key);
        here_log("host", line);
    }
    return here_result("verify_hosts", why, room);
}

static void here_describe(const aqueduct_spawn_job_t *job)
{
    printf("gasnetrun: module here starts %u helpers\n", job->host_count);
}

static int here_prepare(const aqueduct_spawn_job_t *job, char *why, size_t room)
{
    (void)job;
    return here_result("prepare", why, room);
}

static void here_deallocate_hosts(void)
{
    here_log("deallocate_hosts", "");
}

static void here_finalize(void)
{
    here_log("finalize", "");
}

// Waits until HERE_INSIDE calls have been made, for at most HERE_TENTHS. 0: they were not.
static int is_crowded(void)
{
    const unsigned wanted = (unsigned)atoi(here_text("HERE_INSIDE"));
    const struct timespec moment = {.tv_nsec = 100000000};
    atomic_fetch_add(&entered, 1);
    for (int i = atoi(here_text("HERE_TENTHS")); i > 0 && atomic_load(&entered) < wanted; i--)
        (void)nanosleep(&moment, NULL);
    return atomic_load(&entered) >= wanted;
}

static int run_helper(const aqueduct_spawn_job_t *job, const char *name, char *const argv[],
                      char *why, size_t room)
{
    const char *way = here_text("HERE_WAY");
    char variable[300];
    char *named[] = {(char *)"env", variable, argv[0], argv[1], NULL};
    char *bare[] = {(char *)"env", (char *)"-i", argv[0], argv[1], NULL};
    char *failing[] = {(char *)"false", NULL};
    if (strcmp(way, "die") == 0)
        abort();
    snprintf(variable, sizeof variable, "HERE_NAME=%s", strcmp(way, "same") == 0 ? "n1" : name);
    if (strcmp(way, "nothing") == 0)
        return 0;
    if (strcmp(way, "unnamed") == 0)
        snprintf(variable, sizeof variable, "HERE_OTHER=1");
    if (strcmp(way, "fail") == 0 || (strcmp(way, "a fails") == 0 && strcmp(name, "a") == 0))
        return job->run(job, failing, why, room);
    return job->run(job, strcmp(way, "bare") == 0 ? bare : named, why, room);
}

#ifdef ALL
static int here_start(const aqueduct_spawn_job_t *job, char *const argv[], char *why, size_t room)
{
    int result = here_result("start", why, room);
    for (uint32_t h = job->host_count; result == 0 && h-- > 0;)
        result = run_helper(job, job->hosts[h].name, argv, why, room);
    return result;
}
#else
static int here_start_host(const aqueduct_spawn_job_t *job, const aqueduct_spawn_host_t *host,
                           char *const argv[], char *why, size_t room)
{
    here_log("start_host ", host->name);
    if (!is_crowded()) {
        snprintf(why, room, "only %u calls were made at once", atomic_load(&entered));
        return -1;
    }
    if (strcmp(here_text("HERE_FAIL"), host->name) == 0) {
        snprintf(why, room, "HERE_FAIL says so");
        return -1;
    }
    return run_helper(job, host->name, argv, why, room);
}
#endif

#ifndef NO_TABLE
const aqueduct_spawn_module_t aqueduct_spawn_module = {
    .version = VERSION,
    .flags = FLAGS,
    .name = NAME,
    .usage = "helpers of all hosts on this host, for tests",
    .init = here_init,
    .parse_options = here_parse_options,
    .allocate_hosts = here_allocate_hosts,
    .verify_hosts = here_verify_hosts,
    .describe = here_describe,
    .prepare = here_prepare,
#ifdef ALL
    .start = here_start,
    .host_variable = "HERE_NAME",
#elif !defined NO_START
    .start_host = here_start_host,
#endif
    .deallocate_hosts = here_deallocate_hosts,
    .finalize = here_finalize,
};
#endif
