// SPDX-License-Identifier: BSD-3-Clause
// Boot module tm: in a job of PBS (OpenPBS, PBS Pro, Torque), the Task Management interface starts
// the helper of each host, so that PBS accounts for the ranks and ends what is left of them. Its
// library is loaded at run time.
//
// The declarations follow the manual page tm(3) of PBS; types have the same sizes in all of them.
// A node of TM is a line of PBS_NODEFILE.
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aqueduct_spawn.h"

#define PRIORITY 30
#define LINE_ROOM 512
#define TM_SUCCESS 0
#define TM_NULL_EVENT 0

typedef struct tm_roots {
    unsigned int me, parent;
    int nodes, tasks, pool;
    unsigned int *list;
} tm_roots_t;

typedef struct tm_calls {
    int (*init)(void *info, tm_roots_t *roots);
    int (*spawn)(int argc, char **argv, char **envp, int node, unsigned int *task, int *event);
    int (*poll)(int event, int *result, int wait, int *error);
    int (*finalize)(void);
} tm_calls_t;

// ---- the library ----

static void *open_library(void)
{
    static const char *const names[] = {"libpbs.so.0", "libpbs.so", "libtorque.so.2",
                                        "libtorque.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static int find_call(void *library, const char *name, void *to)
{
    void *call = dlsym(library, name);
    memcpy(to, &call, sizeof call);
    return call != NULL;
}

static int open_calls(tm_calls_t *tm, char *errbuf, size_t errbuf_size)
{
    void *library = open_library();
    if (library != NULL && find_call(library, "tm_init", &tm->init) &&
        find_call(library, "tm_spawn", &tm->spawn) && find_call(library, "tm_poll", &tm->poll) &&
        find_call(library, "tm_finalize", &tm->finalize))
        return 0;
    snprintf(errbuf, errbuf_size,
             "the library of PBS cannot be loaded (libpbs.so or libtorque.so, with tm_init): "
             "install it on this node, or set LD_LIBRARY_PATH");
    return -1;
}

// ---- before the start ----

// A conduit of one host starts its ranks here unless the user asks for something else, as with ssh.
static int tm_init(const aqueduct_spawn_job_t *job, int *priority, char *errbuf, size_t errbuf_size)
{
    tm_calls_t tm;
    *priority = job->one_host ? 0 : PRIORITY;
    if (getenv("PBS_JOBID") != NULL && getenv("PBS_NODEFILE") != NULL)
        return open_calls(&tm, errbuf, errbuf_size);
    snprintf(errbuf, errbuf_size,
             "this is no job of PBS (PBS_JOBID and PBS_NODEFILE are not set): run it under qsub");
    return -1;
}

static int is_same_host(const char *a, const char *b)
{
    const size_t length = strcspn(a, ".");
    return strcmp(a, b) == 0 || (strcspn(b, ".") == length && strncmp(a, b, length) == 0 &&
                                 (a[length] == '\0' || b[length] == '\0'));
}

// Returns the first line of the file that has this host; -1: none has it.
static int find_node(FILE *file, const char *host)
{
    char line[LINE_ROOM];
    rewind(file);
    for (int node = 0; fgets(line, sizeof line, file) != NULL; node++) {
        line[strcspn(line, " \t\r\n")] = '\0';
        if (is_same_host(line, host))
            return node;
    }
    return -1;
}

static int find_nodes(const aqueduct_spawn_job_t *job, int *nodes, char *errbuf, size_t errbuf_size)
{
    const char *path = getenv("PBS_NODEFILE");
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    uint32_t found = 0;
    if (file == NULL) {
        snprintf(errbuf, errbuf_size, "PBS_NODEFILE cannot be read: %s", strerror(errno));
        return -1;
    }
    while (found < job->host_count && (nodes[found] = find_node(file, job->hosts[found].name)) >= 0)
        found++;
    fclose(file);
    if (found == job->host_count)
        return 0;
    snprintf(errbuf, errbuf_size,
             "host %s is not in PBS_NODEFILE, so PBS does not start a task there: leave it out",
             job->hosts[found].name);
    return -1;
}

static int tm_verify_hosts(const aqueduct_spawn_job_t *job, char *errbuf, size_t errbuf_size)
{
    int *nodes = calloc(job->host_count, sizeof *nodes);
    int result = nodes != NULL ? find_nodes(job, nodes, errbuf, errbuf_size) : -1;
    free(nodes);
    return result;
}

// ---- the start ----

static int refuse_call(const char *call, int error, char *errbuf, size_t errbuf_size)
{
    snprintf(errbuf, errbuf_size,
             "%s of PBS failed with error %d: see tm(3) and the log of pbs_mom", call, error);
    return -1;
}

// TM answers later, so all tasks are asked for before the first answer is awaited.
static int spawn_tasks(const tm_calls_t *tm, const aqueduct_spawn_job_t *job, const int *nodes,
                       char *const argv[], char *errbuf, size_t errbuf_size)
{
    unsigned int *tasks = calloc(job->host_count, sizeof *tasks);
    int event, error = tasks != NULL ? TM_SUCCESS : ENOMEM, status = TM_SUCCESS;
    for (uint32_t h = 0; error == TM_SUCCESS && h < job->host_count; h++)
        error = tm->spawn(2, (char **)(uintptr_t)argv, environ, nodes[h], &tasks[h], &event);
    for (uint32_t h = 0; error == TM_SUCCESS && status == TM_SUCCESS && h < job->host_count; h++)
        error = tm->poll(TM_NULL_EVENT, &event, 1, &status);
    free(tasks);
    if (error != TM_SUCCESS || status != TM_SUCCESS)
        return refuse_call("tm_spawn", error != TM_SUCCESS ? error : status, errbuf, errbuf_size);
    return 0;
}

static int start_tasks(const aqueduct_spawn_job_t *job, const int *nodes, char *const argv[],
                       char *errbuf, size_t errbuf_size)
{
    tm_calls_t tm;
    tm_roots_t roots;
    if (open_calls(&tm, errbuf, errbuf_size) != 0)
        return -1;
    int error = tm.init(NULL, &roots);
    if (error != TM_SUCCESS)
        return refuse_call("tm_init", error, errbuf, errbuf_size);
    int result = spawn_tasks(&tm, job, nodes, argv, errbuf, errbuf_size);
    (void)tm.finalize();
    return result;
}

static int tm_start(const aqueduct_spawn_job_t *job, char *const argv[], char *errbuf,
                    size_t errbuf_size)
{
    int *nodes = calloc(job->host_count, sizeof *nodes);
    int result = nodes != NULL ? find_nodes(job, nodes, errbuf, errbuf_size) : -1;
    if (result == 0)
        result = start_tasks(job, nodes, argv, errbuf, errbuf_size);
    free(nodes);
    return result;
}

const aqueduct_spawn_module_t aqueduct_spawn_module = {
    .version = AQUEDUCT_SPAWN_VERSION,
    .name = "tm",
    .usage = "ranks on the hosts of a job of PBS, by its Task Management interface: gasnetrun_udp "
             "-n N program, in the script of qsub",
    .init = tm_init,
    .verify_hosts = tm_verify_hosts,
    .start = tm_start,
};
