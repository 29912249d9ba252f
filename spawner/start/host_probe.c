// SPDX-License-Identifier: BSD-3-Clause
// Running one command on all hosts of a list.
#include "host_probe.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../shell/remote_command.h"
#include "spawn_module.h"

#define AT_A_TIME 32
#define PATH_ROOM 4096
#define POLL_MS 200

uint64_t aq_probe_clock_ms(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// ---- options ----

static int refuse_option(const char *sentence, const char *word)
{
    aq_log_error(sentence, word);
    return AQ_EXIT_USAGE;
}

static int load_settings(void)
{
    if (aq_settings_load_logged() != AQ_OK)
        return AQ_EXIT_USAGE;
    aq_log_quiet(aq_settings_bool(AQ_SET_QUIET));
    return -1;
}

int aq_probe_find(aq_hosts_t *hosts, const char *list)
{
    return aq_hosts_find(hosts, list) == AQ_OK ? -1 : AQ_EXIT_USAGE;
}

int aq_probe_options(int argc, char **argv, const char *usage, const char **list, bool *all)
{
    *list = NULL;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
            return fputs(usage, stdout) < 0;
        if (strcmp(word, "--version") == 0)
            return printf("Aqueduct %s\n", PACKAGE_VERSION) < 0;
        if (all != NULL && strcmp(word, "-a") == 0)
            *all = true;
        else if (strcmp(word, "-H") == 0 && i + 1 < argc)
            *list = argv[++i];
        else if (strncmp(word, "-H", 2) == 0 && word[2] != '\0')
            *list = word + 2;
        else
            return refuse_option("'%s' is not an option, or has no value; -h lists the options",
                                 word);
    }
    return load_settings();
}

// ---- one host ----

static void probe_give_up(aq_probe_host_t *host, const char *why)
{
    snprintf(host->why, sizeof host->why, "%s", why);
    aq_remote_end(&host->remote);
    host->done = host->remote.pid == 0;
}

static void probe_begin(aq_probe_host_t *host, const aq_remote_way_t *way,
                        const aq_probe_task_t *task)
{
    aq_remote_command_t command;
    const aq_host_t *row = host->row;
    const aq_remote_host_t remote = {row->name, row->user != NULL ? row->user : "",
                                     row->prefix != NULL ? row->prefix : ""};
    host->begun = true;
    host->task = task;
    host->deadline = aq_clock_ns() + aq_clock_seconds_to_ns(aq_settings_real(AQ_SET_SPAWN_TIMEOUT));
    int error = aq_remote_command_make(&command, way, &remote, task->word)
                    ? aq_remote_start(&host->remote, command.argv)
                    : EINVAL;
    aq_remote_command_free(&command);
    if (error != 0)
        probe_give_up(host,
                      error == EINVAL ? "GASNET_SSH_OPTIONS has an open quote" : strerror(error));
}

// A pipe takes this few bytes at once. A program that has ended is noticed by its end.
static void give_input(aq_probe_host_t *host, const char *version)
{
    aq_bytes_t bytes = {0};
    host->given = true;
    if (strcmp(version, PACKAGE_VERSION) != 0) {
        snprintf(
            host->why, sizeof host->why,
            "version %.64s of Aqueduct is installed there, here it is %s; install the same one",
            version, PACKAGE_VERSION);
        aq_remote_end(&host->remote);
        return;
    }
    host->task->input(host->row, host->task->item, &bytes);
    if (!bytes.failed)
        (void)!TEMP_FAILURE_RETRY(write(host->remote.in, bytes.data, bytes.used));
    if (bytes.data != NULL)
        explicit_bzero(bytes.data, bytes.used);
    aq_bytes_free(&bytes);
}

static void take_lines(aq_probe_host_t *host)
{
    char *line;
    while (host->remote.out >= 0 && (line = aq_remote_line(&host->remote, AQ_REMOTE_ANSWER))) {
        if (host->task->input != NULL && !host->given) {
            give_input(host, line);
            continue;
        }
        size_t used = strlen(host->answer);
        host->clock_ms = aq_probe_clock_ms();
        snprintf(host->answer + used, sizeof host->answer - used, "%s\n", line);
    }
}

static void probe_end(aq_probe_host_t *host, int status)
{
    take_lines(host);
    host->remote.pid = 0;
    host->remote.status = status;
    host->answered = status == 0 && host->answer[0] != '\0';
    if (!host->answered && host->why[0] == '\0')
        aq_remote_reason(&host->remote, host->why, sizeof host->why);
    aq_remote_end(&host->remote);
    host->done = true;
}

// ---- all ----

typedef struct probe {
    aq_probe_host_t *hosts;
    size_t count, begun, done;
} probe_t;

static void probe_reap(probe_t *probe)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (size_t i = 0; i < probe->begun; i++)
            if (probe->hosts[i].remote.pid == pid) {
                probe_end(&probe->hosts[i], status);
                break;
            }
}

static void probe_wait(probe_t *probe)
{
    struct pollfd polls[2 * AT_A_TIME];
    aq_probe_host_t *hosts[2 * AT_A_TIME];
    nfds_t count = 0;
    for (size_t i = 0; i < probe->begun && count + 2 <= 2 * AT_A_TIME; i++) {
        aq_probe_host_t *host = &probe->hosts[i];
        const int fds[2] = {host->remote.out, host->remote.err};
        for (int k = 0; k < 2; k++)
            if (!host->done && fds[k] >= 0) {
                hosts[count] = host;
                polls[count++] = (struct pollfd){.fd = fds[k], .events = POLLIN};
            }
    }
    if (poll(polls, count, count > 0 ? POLL_MS : POLL_MS / 10) > 0)
        for (nfds_t i = 0; i < count; i++) {
            if (polls[i].revents == 0)
                continue;
            if (polls[i].fd == hosts[i]->remote.out)
                take_lines(hosts[i]);
            else if (polls[i].fd == hosts[i]->remote.err)
                aq_remote_listen(&hosts[i]->remote);
        }
}

static size_t probe_count_done(probe_t *probe)
{
    size_t done = 0;
    for (size_t i = 0; i < probe->begun; i++) {
        aq_probe_host_t *host = &probe->hosts[i];
        if (!host->done && host->why[0] == '\0' && aq_clock_ns() > host->deadline)
            probe_give_up(host, "it did not answer in time");
        done += host->done;
    }
    return done;
}

aq_probe_host_t *aq_probe_hosts(const aq_hosts_t *hosts, const aq_probe_task_t *task)
{
    static char program[PATH_ROOM];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - sizeof "gasnetrun");
    probe_t probe = {.hosts = calloc(hosts->count + 1, sizeof *probe.hosts), .count = hosts->count};
    if (probe.hosts == NULL || n <= 0) {
        aq_log_error("no memory to ask %zu hosts, or /proc is missing", hosts->count);
        free(probe.hosts);
        return NULL;
    }
    program[n] = '\0';
    snprintf(strrchr(program, '/') + 1, sizeof "gasnetrun", "gasnetrun");
    const aq_remote_way_t way = {aq_settings_text(AQ_SET_SSH_CMD),
                                 aq_settings_text(AQ_SET_SSH_OPTIONS), program};
    for (size_t i = 0; i < probe.count; i++) {
        probe.hosts[i].row = &hosts->rows[i];
        aq_remote_clear(&probe.hosts[i].remote);
    }
    while (probe.done < probe.count) {
        for (; probe.begun < probe.count && probe.begun - probe.done < AT_A_TIME; probe.begun++)
            probe_begin(&probe.hosts[probe.begun], &way, task);
        probe_wait(&probe);
        probe_reap(&probe);
        probe.done = probe_count_done(&probe);
    }
    return probe.hosts;
}

// ---- remedies ----

const char *aq_probe_remedy(const char *why)
{
    static const struct {
        const char *part, *remedy;
    } remedies[] = {
        {"Could not resolve",
         "its name is not known here: correct the list of hosts, /etc/hosts or ~/.ssh/config"},
        {"Connection refused",
         "no sshd answers there: start it, or give its port in GASNET_SSH_OPTIONS (-p)"},
        {"No route to host", "it is down or not in this network: switch it on, or leave it out"},
        {"timed out", "it is down or behind a firewall: switch it on, or open port 22"},
        {"did not answer",
         "it hangs or is slow: log in by hand and look, or raise GASNET_SPAWN_TIMEOUT"},
        {"Host key verification failed", "ssh does not know its key or knows another one: log in "
                                         "by hand once, after ssh-keygen -R if it was reinstalled"},
        {"Permission denied", "ssh would ask for a password: ssh-copy-id to it, or start an agent"},
        {"No such file",
         "Aqueduct is not in the same place there: install it, or give prefix= in the host file"},
        {"not found",
         "Aqueduct is not in the same place there: install it, or give prefix= in the host file"},
    };
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (strstr(why, remedies[i].part) != NULL)
            return remedies[i].remedy;
    return "log in with ssh by hand, and correct what it reports";
}
