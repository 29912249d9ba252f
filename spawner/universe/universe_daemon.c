// SPDX-License-Identifier: BSD-3-Clause
// The course of a daemon: what it learns at its start, the loop, jobs, the end.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../other/base/system/await.h"
#include "../../other/base/system/open_files.h"
#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/size.h"
#include "../launch/helper_state.h"
#include "../supervise/supervisor_job.h"
#include "universe_daemon.h"
#include "universe_calls.h"
#include "universe_coordinator.h"
#include "../supervise/supervisor.h"

#define JOIN_CONFIG_MS 8000
#define JOIN_NS UINT64_C(10000000000)
#define IDLE_MS 1000
#define BUSY_MS 20                  // while something is due
#define END_NS UINT64_C(5000000000) // for helpers to end their ranks
#define JOIN_CONFIG_MAX 65536u
#define EXIT_FAILED 1

// ---- the start ----

// The texts of the config point into bytes.
static bool read_join_config(aq_bytes_t *bytes, aq_join_config_t *config)
{
    aq_frame_t frame;
    if (aq_link_read_first(STDIN_FILENO, JOIN_CONFIG_MAX, JOIN_CONFIG_MS, bytes, &frame) &&
        frame.type == AQ_MSG_JOIN_CONFIG && aq_read_join_config(frame.payload, config))
        return true;
    aq_log_error("this program is started by gasnet_boot on other hosts; start gasnet_boot itself");
    return false;
}

// Listens on all addresses: the hosts of a universe may reach this one by any of them.
static bool listen_calls(aq_daemon_t *daemon, const char *text)
{
    aq_ports_t ports = {0, 0};
    (void)aq_settings_read_ports(text, &ports);
    int error = aq_net_listen("::", ports, &daemon->tcp);
    if (error != 0)
        error = aq_net_listen("0.0.0.0", ports, &daemon->tcp);
    if (error != 0)
        aq_log_error("it cannot listen (%s); widen the range GASNET_SPAWN_PORTS", strerror(error));
    return error == 0;
}

// The address by which the remote shell came is known to work, so it is the first one.
static void list_addresses(char *text, size_t size)
{
    char server[AQ_ADDRESS_TEXT], one[AQ_ADDRESS_TEXT], own[AQ_REMOTE_TEXT];
    const char *connection = getenv("SSH_CONNECTION");
    text[0] = '\0';
    if (connection != NULL && sscanf(connection, "%*s %*s %63s", server) == 1)
        aq_net_list(text, size, server);
    aq_net_own_addresses(own, sizeof own);
    for (const char *at = own; *at != '\0'; at += *at == ',') {
        size_t length = strcspn(at, ",");
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        aq_net_list(text, size, one);
        at += length;
    }
    if (text[0] == '\0')
        snprintf(text, size, "127.0.0.1");
}

static bool take_number(aq_daemon_t *daemon, const aq_frame_t *frame)
{
    aq_failed_t failed;
    if (frame->type == AQ_MSG_TABLE)
        return aq_read_table(frame->payload, &daemon->table, &daemon->self);
    if (frame->type == AQ_MSG_FAILED && aq_read_failed(frame->payload, &failed))
        aq_log_error("%s", failed.why[0] != '\0'
                               ? failed.why
                               : "the coordinator of the universe is gone; try again");
    return false;
}

static bool join_universe(aq_daemon_t *daemon, const aq_join_config_t *config)
{
    aq_frame_t frame;
    aq_dial_begin(&daemon->election.dial, config->addresses, (uint16_t)config->port,
                  config->coordinator);
    if (aq_dial_wait(&daemon->election.dial, daemon->key) != AQ_OK) {
        aq_log_error("it cannot reach the coordinator of the universe: %s; open ports in the "
                     "firewall (GASNET_SPAWN_PORTS)",
                     daemon->election.dial.why);
        return false;
    }
    daemon->election.up = daemon->election.dial.link;
    daemon->election.dial.link = (aq_link_t){.fd = -1};
    aq_link_bear(&daemon->election.up, daemon->silence_ms);
    aq_write_join(&daemon->election.up.out, &(aq_join_t){false, config->member});
    if (!aq_link_await(&daemon->election.up, AQ_FRAME_MAX, aq_clock_ns() + JOIN_NS, &frame)) {
        aq_log_error("the coordinator of the universe does not answer");
        return false;
    }
    return take_number(daemon, &frame);
}

static bool found_universe(aq_daemon_t *daemon, const aq_join_config_t *config)
{
    const aq_row_t *row = aq_table_add(&daemon->table, &config->member);
    daemon->coordinator = true;
    daemon->self = 0;
    return row != NULL;
}

static bool enter_universe(aq_daemon_t *daemon, aq_join_config_t *config)
{
    char addresses[AQ_REMOTE_TEXT], why[AQ_UNIVERSE_TEXT];
    memcpy(daemon->key, config->key, AQ_KEY_BYTES);
    daemon->silence_ms = config->silence_ms;
    daemon->local = aq_universe_listen(config->universe, why, sizeof why);
    if (daemon->local < 0) {
        aq_log_error("%s", why);
        return false;
    }
    if (!listen_calls(daemon, config->ports))
        return false;
    list_addresses(addresses, sizeof addresses);
    config->member.addresses = addresses;
    config->member.port = daemon->tcp.port;
    config->member.processors = aq_size_processors();
    return config->addresses[0] != '\0' ? join_universe(daemon, config)
                                        : found_universe(daemon, config);
}

static void daemon_init(aq_daemon_t *daemon)
{
    *daemon =
        (aq_daemon_t){.election.up.fd = -1, .election.dial.link.fd = -1, .tcp.fd = -1, .local = -1};
    daemon->self = AQ_NO_NUMBER;
    for (uint32_t i = 0; i < AQ_CALLERS; i++)
        daemon->callers[i].link.fd = -1;
}

// ---- jobs ----

static void forget_guard(aq_daemon_t *daemon, pid_t pid)
{
    for (uint32_t i = 0; i < daemon->jobs.count; i++)
        if (daemon->jobs.guards[i] == pid) {
            daemon->jobs.guards[i] = daemon->jobs.guards[--daemon->jobs.count];
            aq_daemon_tell_jobs(daemon);
            return;
        }
}

static void reap_guards(aq_daemon_t *daemon)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        forget_guard(daemon, pid);
}

static void serve_signals(aq_daemon_t *daemon)
{
    struct signalfd_siginfo info;
    while (read(daemon->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD)
            daemon->over = true;
    reap_guards(daemon);
}

// ---- the loop ----

// The descriptors of a wait; poll ignores those that are -1.
enum { WATCH_SIGNALS, WATCH_TCP, WATCH_LOCAL, WATCH_UP, WATCH_CALLERS };

#define WATCH_PEERS (WATCH_CALLERS + AQ_CALLERS)

static struct pollfd watch_link(const aq_link_t *link)
{
    short events = (short)(POLLIN | (aq_link_waiting(link) > 0 ? POLLOUT : 0));
    return (struct pollfd){.fd = link->fd, .events = events};
}

static void fill_polls(aq_daemon_t *daemon, struct pollfd *polls)
{
    bool room = aq_callers_place(daemon->callers) != NULL;
    polls[WATCH_SIGNALS] = (struct pollfd){.fd = daemon->signals, .events = POLLIN};
    polls[WATCH_TCP] = (struct pollfd){.fd = room ? daemon->tcp.fd : -1, .events = POLLIN};
    polls[WATCH_LOCAL] =
        (struct pollfd){.fd = aq_daemon_has_room(daemon) ? daemon->local : -1, .events = POLLIN};
    polls[WATCH_UP] = daemon->election.dialing
                          ? (struct pollfd){.fd = daemon->election.dial.link.fd,
                                            .events = aq_dial_events(&daemon->election.dial)}
                          : watch_link(&daemon->election.up);
    for (uint32_t i = 0; i < AQ_CALLERS; i++)
        polls[WATCH_CALLERS + i] = watch_link(&daemon->callers[i].link);
    for (uint32_t i = 0; i < daemon->peer_count; i++)
        polls[WATCH_PEERS + i] = watch_link(&daemon->peers[i].link);
}

static bool is_ready(const struct pollfd *poll)
{
    return poll->fd >= 0 && (poll->revents & ~POLLOUT) != 0;
}

// Peers that are added meanwhile have their turn after the next wait.
static void serve_ready(aq_daemon_t *daemon, const struct pollfd *polls, uint32_t peers)
{
    if (is_ready(&polls[WATCH_SIGNALS]))
        serve_signals(daemon);
    for (uint32_t i = 0; i < AQ_CALLERS; i++)
        if (is_ready(&polls[WATCH_CALLERS + i]))
            aq_daemon_serve_caller(daemon, &daemon->callers[i]);
    for (uint32_t i = 0; i < peers; i++)
        if (is_ready(&polls[WATCH_PEERS + i]) && daemon->peers[i].link.fd >= 0)
            aq_daemon_serve_peer(daemon, &daemon->peers[i]);
    if (daemon->election.up.fd >= 0 && is_ready(&polls[WATCH_UP]))
        aq_daemon_serve_coordinator(daemon);
    if (is_ready(&polls[WATCH_TCP]))
        aq_daemon_accept_calls(daemon);
    if (is_ready(&polls[WATCH_LOCAL]))
        aq_daemon_accept_programs(daemon);
}

static int wait_ms(const aq_daemon_t *daemon)
{
    bool due = daemon->broadcast_due != 0 || daemon->election.next_call != 0 ||
               daemon->halt_ends != 0 ||
               (daemon->election.dialing && daemon->election.dial.link.fd < 0);
    return due ? BUSY_MS : IDLE_MS;
}

static bool daemon_turn(aq_daemon_t *daemon)
{
    uint32_t peers = daemon->peer_count;
    struct pollfd *polls = malloc((WATCH_PEERS + peers) * sizeof *polls);
    if (polls == NULL)
        return false;
    fill_polls(daemon, polls);
    if (poll(polls, WATCH_PEERS + peers, wait_ms(daemon)) > 0)
        serve_ready(daemon, polls, peers);
    free(polls);
    if (daemon->election.dialing) // also without an event: a call may fail at once, or time out
        aq_daemon_serve_dial(daemon);
    aq_daemon_check_members(daemon);
    if (daemon->election.up.fd >= 0)
        (void)aq_link_flush(&daemon->election.up); // the next receive reports a fault
    aq_daemon_check_calls(daemon);
    return true;
}

// ---- from the first process to the daemon, and its end ----

static bool open_signals(aq_daemon_t *daemon)
{
    sigset_t all, set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)signal(SIGCHLD, SIG_DFL);
    daemon->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (daemon->signals >= 0 && pipe2(daemon->jobs.lifeline, O_CLOEXEC) == 0)
        return true;
    aq_log_error("it cannot watch its jobs (%s); raise the limit of open files (ulimit -n)",
                 strerror(errno));
    return false;
}

static bool leave_starter(void)
{
    int null = open("/dev/null", O_RDWR);
    bool ok = null >= 0 && setsid() >= 0 && chdir("/") == 0;
    for (int fd = 0; ok && fd < 3; fd++)
        ok = dup2(null, fd) >= 0;
    if (null > 2)
        (void)close(null);
    (void)clearenv();
    (void)prctl(PR_SET_NAME, "gasnet-daemon");
    return ok;
}

// Helpers see the end of the pipe and end their ranks; what is left after that is killed.
static void end_jobs(aq_daemon_t *daemon)
{
    uint64_t deadline = aq_clock_ns() + END_NS;
    (void)close(daemon->jobs.lifeline[1]);
    while (daemon->jobs.count > 0 && aq_clock_ns() < deadline) {
        (void)aq_await(daemon->signals, POLLIN, BUSY_MS);
        serve_signals(daemon);
    }
    aq_supervised_sweep();
}

__attribute__((noreturn)) static void run_daemon(aq_daemon_t *daemon)
{
    bool ok = leave_starter();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    // The coordinator has a link to each daemon.
    (void)aq_open_files_raise(RLIM_INFINITY, &daemon->jobs.old_files);
    while (ok && !daemon->over)
        ok = daemon_turn(daemon);
    aq_universe_unlink();
    (void)close(daemon->local);
    (void)close(daemon->tcp.fd);
    end_jobs(daemon);
    explicit_bzero(daemon->key, sizeof daemon->key);
    _exit(ok ? 0 : EXIT_FAILED);
}

// Returns in the process that was started, with its exit code. Announces the daemon before the
// fork: if the program that boots the universe has ended, no daemon starts.
static int fork_daemon(aq_daemon_t *daemon)
{
    printf(AQ_REMOTE_ANSWER "%" PRIu32 "\n", daemon->self);
    if (fflush(stdout) != 0)
        return EXIT_FAILED;
    pid_t pid = fork();
    if (pid == 0)
        run_daemon(daemon);
    if (pid > 0)
        return 0;
    aq_log_error("it cannot fork (%s)", strerror(errno));
    return EXIT_FAILED;
}

int aq_daemon_main(void)
{
    static aq_daemon_t daemon;
    aq_bytes_t bytes = {0};
    aq_join_config_t config;
    aq_log_program("gasnet_boot");
    daemon_init(&daemon);
    printf("\n" AQ_REMOTE_ANSWER "%s\n", PACKAGE_VERSION);
    if (fflush(stdout) != 0 || aq_auth_init() != AQ_OK || !read_join_config(&bytes, &config))
        return EXIT_FAILED;
    bool ok = enter_universe(&daemon, &config);
    explicit_bzero(config.key, sizeof config.key);
    explicit_bzero(bytes.data, bytes.used);
    aq_bytes_free(&bytes);
    const int code = ok && open_signals(&daemon) ? fork_daemon(&daemon) : EXIT_FAILED;
    if (code != 0 && daemon.local >= 0)
        aq_universe_unlink();
    return code;
}
