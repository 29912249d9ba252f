// SPDX-License-Identifier: BSD-3-Clause
// Module custom: a command of the user starts the processes, as with GASNET_SPAWNFN=C of GASNet's
// udp-conduit. The command runs once, in a shell, and starts one worker (workers.h) per rank on
// hosts of its choice.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../shell/shell_words.h"
#include "start_ssh.h"
#include "../tree/workers.h"

// A launcher has one job.
static const aq_start_t *job;
static char folder[AQ_PATH_ROOM];

// ---- before the start ----

static bool custom_init(const aq_start_t *start, int *priority, char *errbuf, size_t errbuf_size)
{
    const char *command = aq_settings_text(AQ_SET_CSPAWN_CMD);
    (void)start;
    *priority = 0; // only on request
    if (command[strspn(command, " \t\n")] == '\0') {
        snprintf(errbuf, errbuf_size,
                 "GASNET_CSPAWN_CMD is not set: set it to the command that starts the processes, "
                 "such as 'srun -n %%N %%C'");
        return false;
    }
    return true;
}

static aq_status_t refuse_option(const char *option, const char *what)
{
    aq_log_error(
        "option %s: spawner custom leaves %s to the command of GASNET_CSPAWN_CMD; put it there",
        option, what);
    return AQ_ERR_CONFIG;
}

// The letters of the command that have a meaning, and whether there are others.
static aq_status_t check_letters(const char *command)
{
    bool starts = false;
    for (const char *at = strchr(command, '%'); at != NULL; at = strchr(at + 2, '%')) {
        starts = starts || at[1] == 'C';
        if (at[1] != '\0' && strchr("NCDPM%", at[1]) != NULL)
            continue;
        aq_log_error("GASNET_CSPAWN_CMD: %%%c has no meaning here; write %%N, %%C, %%D, %%P or "
                     "%%M, or %%%% for a percent sign",
                     at[1] != '\0' ? at[1] : ' ');
        return AQ_ERR_CONFIG;
    }
    if (starts)
        return AQ_OK;
    aq_log_error("GASNET_CSPAWN_CMD: there is no %%C in '%s', which stands for what each process "
                 "has to run; write it where the program would stand",
                 command);
    return AQ_ERR_CONFIG;
}

static aq_status_t custom_parse_options(const aq_start_t *start)
{
    if (start->host_list != NULL)
        return refuse_option("-H", "the choice of hosts");
    if (start->host_count > 0)
        return refuse_option("-N", "the choice of hosts");
    if (start->cyclic)
        return refuse_option("-cyclic", "the order of the ranks");
    if (start->run.cpus_per_rank > 0)
        return refuse_option("-c", "the binding to processors");
    return check_letters(aq_settings_text(AQ_SET_CSPAWN_CMD));
}

static aq_status_t custom_allocate_hosts(const aq_start_t *start)
{
    return aq_workers_allocate(&start->ssh->plan.spec, start->run.size) ? AQ_OK : AQ_ERR_RESOURCE;
}

static void custom_describe(const aq_start_t *start)
{
    (void)start;
    printf("gasnetrun: the command: %s\n", aq_settings_text(AQ_SET_CSPAWN_CMD));
    (void)fflush(stdout);
}

// ---- the command ----

// Writes one word for the shell, quoted only where necessary: users may have put quotes around it.
static void add_word(aq_bytes_t *text, const char *word)
{
    char *quoted = aq_shell_quote(word);
    text->failed = text->failed || quoted == NULL;
    if (quoted != NULL)
        aq_put_raw(text, quoted, strlen(quoted));
    free(quoted);
}

// Lists as many of the first servers as there are ranks. False: there are fewer; logged.
static bool add_servers(aq_bytes_t *text)
{
    const char *at = aq_settings_text(AQ_SET_CSPAWN_SERVERS);
    uint32_t count = 0;
    for (; count < job->run.size; count++) {
        at += strspn(at, " ,\t");
        size_t length = strcspn(at, " ,\t");
        if (length == 0)
            break;
        aq_put_raw(text, " ", count > 0);
        aq_put_raw(text, at, length);
        at += length;
    }
    if (count < job->run.size)
        aq_log_error("GASNET_CSPAWN_CMD has %%M, but GASNET_CSPAWN_SERVERS names %" PRIu32
                     " servers for %" PRIu32 " processes; name one for each, with blanks between",
                     count, job->run.size);
    return count == job->run.size;
}

static bool add_meaning(aq_bytes_t *text, char letter, const char *worker)
{
    char number[24];
    switch (letter) {
    case 'N':
        snprintf(number, sizeof number, "%" PRIu32, job->run.size);
        aq_put_raw(text, number, strlen(number));
        return true;
    case 'C':
        add_word(text, job->ssh->program);
        aq_put_raw(text, " ", 1);
        aq_put_raw(text, worker, strlen(worker));
        return true;
    case 'D':
        add_word(text, folder);
        return true;
    case 'P':
        add_word(text, job->run.argv[0]);
        return true;
    case 'M':
        return add_servers(text);
    default:
        aq_put_raw(text, "%", 1);
        return true;
    }
}

// Returns the command with its letters replaced; the caller frees it. NULL: failed, logged.
static char *fill_command(const char *worker)
{
    aq_bytes_t text = {0};
    const char *at = aq_settings_text(AQ_SET_CSPAWN_CMD);
    bool ok = true;
    for (size_t plain; ok && *at != '\0'; at += *at != '\0' ? 2 : 0) {
        plain = strcspn(at, "%");
        aq_put_raw(&text, at, plain);
        at += plain;
        ok = *at == '\0' || add_meaning(&text, at[1], worker);
    }
    aq_put_u8(&text, 0);
    if (ok && text.failed)
        aq_log_error("no memory for the command of GASNET_CSPAWN_CMD");
    if (ok && !text.failed)
        return (char *)text.data;
    aq_bytes_free(&text);
    return NULL;
}

static bool is_key_in_words(void)
{
    return strcmp(aq_settings_text(AQ_SET_CSPAWN_KEY), "command") == 0;
}

// The command has its own process group, so that only the launcher gets signals of the terminal.
// Rank 0 reads the launcher's input by another way.
__attribute__((noreturn)) static void become_command(const aq_node_t *node, const char *command)
{
    char key[2 * AQ_KEY_BYTES + 1];
    sigset_t none;
    int null = open("/dev/null", O_RDONLY);
    sigemptyset(&none);
    (void)setpgid(0, 0);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0)
        _exit(127);
    aq_workers_key(node, key);
    if (!is_key_in_words() && setenv(AQ_WORKER_KEY, key, 1) != 0)
        _exit(127);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    aq_log_error("GASNET_CSPAWN_CMD: /bin/sh cannot be started: %s", strerror(errno));
    _exit(127);
}

static bool start_command(const aq_node_t *node, uint16_t port, pid_t *out)
{
    char worker[AQ_WORKER_WORD];
    aq_workers_option(node, port, is_key_in_words(), worker);
    char *command = fill_command(worker);
    if (command == NULL)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        become_command(node, command);
    if (pid < 0)
        aq_log_error("the command of GASNET_CSPAWN_CMD cannot be started: %s; end other processes",
                     strerror(errno));
    else
        (void)setpgid(pid, pid);
    free(command);
    *out = pid;
    return pid > 0;
}

// ---- the job ----

static aq_status_t custom_prepare(const aq_start_t *start)
{
    aq_launch_plan_t *plan = &start->ssh->plan;
    job = start;
    if (getcwd(folder, sizeof folder) == NULL) {
        aq_log_error(
            "the working directory cannot be found: %s; start the job in a folder that exists",
            strerror(errno));
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = aq_ssh_prepare(start);
    plan->parts = 0; // the command starts a process for each rank
    plan->spec.workers = true;
    plan->spec.direct = !aq_settings_bool(AQ_SET_CSPAWN_ROUTE_OUTPUT);
    plan->listening = start_command;
    plan->patience = aq_clock_seconds_to_ns(aq_settings_real(AQ_SET_CONNECT_TIMEOUT));
    return status;
}

const aq_spawn_module_t aq_module_custom = {
    .name = "custom",
    .init = custom_init,
    .parse_options = custom_parse_options,
    .allocate_hosts = custom_allocate_hosts,
    .describe = custom_describe,
    .prepare = custom_prepare,
    .start = aq_ssh_start,
    .deallocate_hosts = aq_ssh_deallocate_hosts,
    .finalize = aq_ssh_finalize,
};
