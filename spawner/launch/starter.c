// SPDX-License-Identifier: BSD-3-Clause
// Forks the starter and runs the module's start_host or start in it. start_loaded.c begins it once
// the launcher listens; the helpers then call the launcher themselves.
#include "starter.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "../tree/workers.h"

#define WHY_ROOM 1024
#define WORD_ROOM (AQ_WORKER_WORD + 64)
#define PATH_ROOM 4096

// Hosts that are still to be started, and the threads that do it.
typedef struct host_queue {
    const aq_starter_t *starter;
    const char *word; // the option of the workers, without the number of the host
    atomic_uint next;
    atomic_bool failed;
} host_queue_t;

int aq_starter_run(const aqueduct_spawn_job_t *job, char *const argv[], char *errbuf,
                   size_t errbuf_size)
{
    pid_t pid;
    (void)job;
    int error = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (error == 0)
        return 0;
    snprintf(errbuf, errbuf_size, "%s cannot be started: %s", argv[0], strerror(error));
    return -1;
}

// ---- single hosts ----

static void write_path(const aq_starter_t *starter, const char *prefix, char path[PATH_ROOM])
{
    const char *slash = strrchr(starter->program, '/');
    if (prefix[0] == '\0')
        snprintf(path, PATH_ROOM, "%s", starter->program);
    else
        snprintf(path, PATH_ROOM, "%s/bin/%s", prefix, slash != NULL ? slash + 1 : "gasnetrun");
}

static bool start_one(host_queue_t *queue, uint32_t host)
{
    const aq_starter_t *starter = queue->starter;
    const aqueduct_spawn_host_t *row = &starter->job->hosts[host];
    char word[WORD_ROOM], path[PATH_ROOM], why[WHY_ROOM] = "it gives no reason";
    char *argv[] = {path, word, NULL};
    snprintf(word, sizeof word, "%s/+%u", queue->word, host);
    write_path(starter, row->prefix, path);
    aq_log_info("host %s: spawner %s starts its helper", row->name, starter->module->name);
    if (starter->module->start_host(starter->job, row, argv, why, sizeof why) == 0)
        return true;
    if (!atomic_exchange(&queue->failed, true))
        aq_log_error("host %s: spawner %s cannot start its helper: %s", row->name,
                     starter->module->name, why);
    return false;
}

static void *serve_queue(void *arg)
{
    host_queue_t *queue = arg;
    uint32_t host;
    while (!atomic_load(&queue->failed) &&
           (host = atomic_fetch_add(&queue->next, 1)) < queue->starter->job->host_count)
        (void)start_one(queue, host);
    return NULL;
}

// Starts the hosts with this thread and others. The number of threads is a limit, so fewer are no
// fault.
static bool start_hosts(const aq_starter_t *starter, const char *word)
{
    host_queue_t queue = {.starter = starter, .word = word};
    uint32_t more = (uint32_t)aq_min(starter->threads, starter->job->host_count) - 1, made = 0;
    pthread_t *threads = calloc(more + 1, sizeof *threads);
    while (threads != NULL && made < more &&
           pthread_create(&threads[made], NULL, serve_queue, &queue) == 0)
        made++;
    (void)serve_queue(&queue);
    for (uint32_t i = 0; i < made; i++)
        (void)pthread_join(threads[i], NULL);
    free(threads);
    return !atomic_load(&queue.failed);
}

// ---- all hosts ----

static bool start_all(const aq_starter_t *starter, const char *option)
{
    const char *variable = starter->module->host_variable;
    char word[WORD_ROOM], path[PATH_ROOM], why[WHY_ROOM] = "it gives no reason";
    char *argv[] = {path, word, NULL};
    snprintf(word, sizeof word, "%s/%s%s", option, variable != NULL ? "@" : "",
             variable != NULL ? variable : "=");
    write_path(starter, "", path);
    if (starter->module->start(starter->job, argv, why, sizeof why) == 0)
        return true;
    aq_log_error("spawner %s cannot start the helpers: %s", starter->module->name, why);
    return false;
}

// ---- the process ----

// Returns at the first that fails: the launcher ends the others, unless the job has started.
static int await_programs(void)
{
    int status;
    pid_t pid;
    do {
        status = 0;
        pid = waitpid(-1, &status, 0);
    } while (status == 0 && (pid > 0 || errno == EINTR));
    return status != 0;
}

// Leaves the launcher's process group, so that only the launcher gets signals of the terminal, and
// its standard input, which the tree forwards to rank 0.
static bool leave_launcher(const aq_node_t *node, pid_t launcher)
{
    char key[2 * AQ_KEY_BYTES + 1];
    sigset_t none;
    int null = open("/dev/null", O_RDONLY);
    (void)prctl(PR_SET_NAME, "gasnet-starter");
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)setpgid(0, 0);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    aq_workers_key(node, key);
    return getppid() == launcher && null >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
           setenv(AQ_WORKER_KEY, key, 1) == 0;
}

__attribute__((noreturn)) static void
become_starter(const aq_starter_t *starter, const aq_node_t *node, uint16_t port, pid_t launcher)
{
    char word[AQ_WORKER_WORD];
    const bool key_in_word = strcmp(aq_settings_text(AQ_SET_CSPAWN_KEY), "command") == 0;
    aq_workers_option(node, port, key_in_word, word);
    if (!leave_launcher(node, launcher))
        _exit(1);
    bool ok =
        starter->module->start != NULL ? start_all(starter, word) : start_hosts(starter, word);
    _exit(ok ? await_programs() : AQ_STARTER_TOLD);
}

bool aq_starter_begin(const aq_starter_t *starter, const aq_node_t *node, uint16_t port, pid_t *out)
{
    (void)fflush(NULL);
    pid_t launcher = getpid(), pid = fork();
    if (pid == 0)
        become_starter(starter, node, port, launcher);
    if (pid < 0)
        aq_log_error("a process for spawner %s cannot be started: %s; end other processes",
                     starter->module->name, strerror(errno));
    else
        (void)setpgid(pid, pid);
    *out = pid;
    return pid > 0;
}
