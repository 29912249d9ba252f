// SPDX-License-Identifier: BSD-3-Clause
// One loop of epoll over the listening socket, the connections of the ranks and their pidfds.
// start_mpi.c runs it beside mpirun, and takes the job's exit code from it.
#include "rank_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/settings/exit_timeout.h"
#include "../../other/base/system/local_socket.h"
#include "../../other/base/system/open_files.h"
#include "../../other/base/log/log.h"
#include "../wire/auth.h"
#include "../boot/boot.h"
#include "../boot/process_fate.h"
#include "rank_report.h"

enum {
    EVENTS = 64,        // taken from the kernel at once
    FATE_MS = 500,      // for the parent of a dead rank to take its status
    OVERTIME_MS = 5000, // for mpirun, after the exit timeout
    FORCE_MS = 5000,    // for mpirun to end after SIGTERM
    OF_LISTENER = 0,    // numbers of descriptors in epoll: these two, then two of each process
    OF_MPIRUN = 1,
    OF_FIRST = 2,
};

// A process that has called.
typedef struct watched {
    pid_t pid;
    int line, pidfd; // -1: closed
    bool joined, ends, leaves;
    bool lost; // it died without a report
    uint32_t rank;
    int left_with; // the code with which it leaves
    int fate;      // wait status; AQ_FATE_UNKNOWN
} watched_t;

// A launcher has one job.
static struct {
    int listener, epoll;
    watched_t *list;
    uint32_t count, joined;
    uint32_t size;  // ranks of the job; 0: none has joined
    bool ended;     // a rank has reported the end of the job
    int ended_with; // its code
    int64_t left;   // the first that left with another code than 0, before all that; -1: none
    int64_t dead;   // the first that died without a report, in list; -1: none
    bool mpirun_ended;
    const sigset_t *open_mask; // signals arrive only in a wait for events
    uint64_t stop_at; // end of the time after SIGTERM; 0: no SIGTERM; UINT64_MAX: it is over
} job = {.listener = -1, .epoll = -1, .left = -1, .dead = -1};

// ---- the socket ----

static void choose_name(char name[AQ_REPORT_NAME])
{
    uint8_t random[16];
    aq_auth_random(random, sizeof random);
    size_t used = (size_t)snprintf(name, AQ_REPORT_NAME, "gasnet-");
    for (unsigned i = 0; i < sizeof random; i++)
        used += (size_t)snprintf(name + used, AQ_REPORT_NAME - used, "%02x", random[i]);
}

// Edge-triggered: the kernel lists a level-triggered descriptor again after each event that it
// delivers, before one that becomes ready later. So each handler reads until nothing is left.
static bool add_to_poll(int fd, uint64_t number)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = number};
    return fd >= 0 && epoll_ctl(job.epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool listen_at(const char name[AQ_REPORT_NAME])
{
    struct sockaddr_un at;
    const socklen_t length = aq_report_address(name, &at);
    job.epoll = epoll_create1(EPOLL_CLOEXEC);
    job.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return job.epoll >= 0 && job.listener >= 0 &&
           bind(job.listener, (const struct sockaddr *)&at, length) == 0 &&
           listen(job.listener, SOMAXCONN) == 0 && add_to_poll(job.listener, OF_LISTENER);
}

bool aq_rank_watch_open(void)
{
    char name[AQ_REPORT_NAME];
    choose_name(name);
    return listen_at(name) && setenv("GASNET_SPAWN_REPORTS", name, 1) == 0;
}

// ---- calls ----

static void watched_add(int line)
{
    const pid_t pid = aq_local_process(line);
    watched_t *grown = realloc(job.list, (job.count + 1) * sizeof *grown);
    if (grown)
        job.list = grown;
    if (!grown || pid <= 0) {
        (void)close(line);
        return;
    }
    const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    job.list[job.count] =
        (watched_t){.pid = pid, .line = line, .pidfd = pidfd, .fate = AQ_FATE_UNKNOWN};
    const uint64_t number = OF_FIRST + 2 * (uint64_t)job.count++;
    (void)add_to_poll(line, number);
    (void)add_to_poll(pidfd, number + 1);
}

// Each caller needs two descriptors. If there are none left, later callers work unwatched.
static void accept_callers(void)
{
    int line;
    while ((line = accept4(job.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0 ||
           errno == EINTR || errno == ECONNABORTED)
        if (line >= 0 && aq_local_is_own(line))
            watched_add(line);
        else if (line >= 0)
            (void)close(line);
    if (errno == EAGAIN)
        return;
    (void)close(job.listener);
    job.listener = -1;
}

// ---- reports ----

static void take_joined(watched_t *who, const aq_report_t *report)
{
    const uint32_t size = (uint32_t)report->code;
    if (report->code < 1 || size > AQ_JOB_RANKS_MAX || report->rank >= size || who->joined ||
        (job.size && job.size != size))
        return;
    job.size = size;
    job.joined++;
    who->joined = true;
    who->rank = report->rank;
}

// After a death the ranks that notice it end the job, too. A rank that was about to leave may get a
// signal of mpirun, which ends the others then; such an end is not the cause.
static void take_end(watched_t *who, int code)
{
    if (who->left_with && who->left_with != (code & 0xff))
        return;
    who->ends = true;
    if (job.dead >= 0)
        return;
    if (!job.ended || job.ended_with == 0)
        job.ended_with = code & 0xff;
    job.ended = true;
}

// mpirun ends the other ranks when one has left with another code than 0.
static void take_leave(watched_t *who, int code)
{
    who->leaves = true;
    who->left_with = code & 0xff;
    if (who->left_with && !job.ended && job.dead < 0 && job.left < 0)
        job.left = who - job.list;
}

static void take_report(watched_t *who, const aq_report_t *report)
{
    if (report->magic != AQ_REPORT_MAGIC)
        return;
    if (report->kind == AQ_REPORT_JOINED) {
        take_joined(who, report);
    } else if (who->joined && report->kind == AQ_REPORT_ENDS) {
        take_end(who, report->code);
    } else if (who->joined && report->kind == AQ_REPORT_FOLLOWS) {
        who->ends = true;
    } else if (who->joined && report->kind == AQ_REPORT_LEAVES) {
        take_leave(who, report->code);
    }
}

// The next packet. A process that ends without having read the answer resets the connection, which
// is an error once, before the reports that it sent.
static ssize_t next_packet(int line, aq_report_t *out)
{
    ssize_t got = recv(line, out, sizeof *out, 0);
    if (got < 0 && (errno == ECONNRESET || errno == EINTR))
        got = recv(line, out, sizeof *out, 0);
    return got;
}

// Returns whether the other end has closed the connection, or sends something else than reports. A
// rank that has joined waits for the answer: so what it reports later is an event of its own.
static bool read_reports(watched_t *who)
{
    const bool had_joined = who->joined;
    aq_report_t report;
    ssize_t got = 0;
    while (who->line >= 0 && (got = next_packet(who->line, &report)) == (ssize_t)sizeof report)
        take_report(who, &report);
    const bool goes_on = who->line < 0 || (got < 0 && errno == EAGAIN);
    if (who->joined && !had_joined)
        (void)send(who->line, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (goes_on)
        return false;
    (void)close(who->line);
    who->line = -1;
    return true;
}

// A rank has ended, after it has reported whatever it reports.
static void watched_end(uint32_t index)
{
    watched_t *who = &job.list[index];
    (void)read_reports(who);
    (void)epoll_ctl(job.epoll, EPOLL_CTL_DEL, who->pidfd, NULL);
    if (!who->joined || who->ends || who->leaves || job.ended)
        return;
    who->lost = true;
    who->fate = aq_process_fate(who->pid, who->pidfd, 0);
    if (job.dead < 0)
        job.dead = index;
}

// ---- the wait ----

static void take_event(uint64_t number)
{
    const uint32_t index = (uint32_t)((number - OF_FIRST) / 2);
    if (number == OF_LISTENER)
        accept_callers();
    else if (number == OF_MPIRUN)
        job.mpirun_ended = true;
    else if (number & 1)
        watched_end(index);
    else if (read_reports(&job.list[index]) && job.list[index].pidfd < 0)
        watched_end(index); // it had ended before its call was taken
}

// Returns whether anything has happened. The kernel lists edge-triggered events in the order
// in which they happened, so that the cause precedes what follows from it.
static bool take_events(int wait_ms)
{
    struct epoll_event events[EVENTS];
    const int count = epoll_pwait(job.epoll, events, EVENTS, wait_ms, job.open_mask);
    for (int i = 0; i < count; i++)
        take_event(events[i].data.u64);
    return count > 0;
}

static int milliseconds_to(uint64_t when)
{
    const uint64_t now = aq_clock_ns();
    const uint64_t left = when > now ? (when - now) / 1000000 + 1 : 0;
    return left < INT_MAX ? (int)left : INT_MAX;
}

static void end_by_force(pid_t mpirun, int sig)
{
    if (sig == SIGTERM)
        aq_log_error("mpirun (process %ld) still runs although rank %" PRIu32
                     " has ended without leaving the job, so it is ended; see what mpirun reports",
                     (long)mpirun, job.list[job.dead].rank);
    for (uint32_t i = 0; sig == SIGKILL && i < job.count; i++)
        (void)syscall(SYS_pidfd_send_signal, job.list[i].pidfd, sig, NULL, 0);
    (void)kill(mpirun, sig);
}

// The ranks have had their time after SIGTERM; mpirun ends those that are left.
static int limit_stop(pid_t mpirun)
{
    if (job.stop_at == 0 || job.stop_at == UINT64_MAX)
        return -1;
    if (milliseconds_to(job.stop_at) > 0)
        return milliseconds_to(job.stop_at);
    job.stop_at = UINT64_MAX;
    (void)kill(mpirun, SIGTERM);
    return -1;
}

// Returns how long to wait for the next event, -1: without limit.
static int limit_mpirun(pid_t mpirun)
{
    static uint64_t term_at, kill_at;
    if (job.dead < 0)
        return limit_stop(mpirun);
    if (!term_at) {
        term_at = aq_clock_ns() + aq_exit_timeout_ns(job.size) + OVERTIME_MS * 1000000ull;
    } else if (!kill_at && !milliseconds_to(term_at)) {
        kill_at = aq_clock_ns() + FORCE_MS * 1000000ull;
        end_by_force(mpirun, SIGTERM);
    } else if (kill_at && !milliseconds_to(kill_at)) {
        end_by_force(mpirun, SIGKILL);
        return -1;
    }
    return milliseconds_to(kill_at ? kill_at : term_at);
}

bool aq_rank_watch_signal(int sig)
{
    if (job.joined == 0 || job.joined < job.size || job.stop_at != 0)
        return false;
    for (uint32_t i = 0; i < job.count; i++)
        if (job.list[i].joined && job.list[i].pidfd >= 0)
            (void)syscall(SYS_pidfd_send_signal, job.list[i].pidfd, sig, NULL, 0);
    if (sig == SIGTERM)
        job.stop_at = aq_clock_ns() + aq_stop_timeout_ns(sig, job.size);
    return true;
}

void aq_rank_watch_run(pid_t mpirun, const sigset_t *open_mask)
{
    const int pidfd = (int)syscall(SYS_pidfd_open, mpirun, 0);
    job.open_mask = open_mask;
    struct rlimit before; // mpirun has it already
    (void)aq_open_files_raise(RLIM_INFINITY, &before);
    if (!add_to_poll(pidfd, OF_MPIRUN))
        return;
    while (!job.mpirun_ended)
        (void)take_events(limit_mpirun(mpirun));
    (void)epoll_ctl(job.epoll, EPOLL_CTL_DEL, pidfd, NULL);
    (void)close(pidfd);
    while (take_events(0))
        continue; // what was reported before mpirun ended
}

// ---- the code ----

// The code that a shell gives for that wait status.
static int code_of(int fate)
{
    return WIFSIGNALED(fate) ? 128 + WTERMSIG(fate) : WEXITSTATUS(fate);
}

static void log_death(const watched_t *dead)
{
    char how[96] = "";
    if (dead->fate != AQ_FATE_UNKNOWN && WIFSIGNALED(dead->fate))
        snprintf(how, sizeof how, " by signal %d (%s)", WTERMSIG(dead->fate),
                 strsignal(WTERMSIG(dead->fate)));
    else if (dead->fate != AQ_FATE_UNKNOWN)
        snprintf(how, sizeof how, " with exit code %d", WEXITSTATUS(dead->fate));
    aq_log_error("rank %" PRIu32 " of %" PRIu32 " (process %ld) has ended%s, without leaving the "
                 "job, so all ranks end; see what the rank reports",
                 dead->rank, job.size, (long)dead->pid, how);
}

static bool was_killed(watched_t *who)
{
    if (who->fate == AQ_FATE_UNKNOWN)
        who->fate = aq_process_fate(who->pid, who->pidfd, FATE_MS);
    return who->fate == AQ_FATE_UNKNOWN ||
           (WIFSIGNALED(who->fate) && WTERMSIG(who->fate) == SIGKILL);
}

// Finds the rank whose death caused the other deaths. A process closes its connection to mpirun
// some time before it has ended, so a rank that mpirun kills in response may end first.
static watched_t *first_dead(void)
{
    watched_t *first = &job.list[job.dead];
    for (uint32_t i = 0; was_killed(first) && i < job.count; i++)
        if (job.list[i].lost && !was_killed(&job.list[i]))
            return &job.list[i];
    return first;
}

// mpirun ends the other ranks after a death. If not all ranks have called here, the cause may be
// a rank of another host, about which mpirun may know more.
static int code_of_death(int code, int stopped_by)
{
    if (stopped_by)
        return 128 + stopped_by;
    if (code && job.joined < job.size)
        return code;
    const watched_t *dead = first_dead();
    log_death(dead);
    const int own = dead->fate == AQ_FATE_UNKNOWN ? code : code_of(dead->fate);
    return own ? own : code ? code : 1;
}

// No rank has reported the end of the job, and none has died that this launcher knows of: each left
// on its own, or because a rank of another host or mpirun has ended.
static int code_of_leavers(int code)
{
    uint32_t left = 0;
    bool failed = false;
    if (job.left >= 0)
        return job.list[job.left].left_with;
    for (uint32_t i = 0; i < job.count; i++) {
        left += job.list[i].leaves;
        failed |= job.list[i].ends;
    }
    return left == job.size ? 0 : failed && !code ? 1 : code;
}

#define SKIPPED                                                                                    \
    77 // of Open MPI 6 where there are too few slots; test drivers take it for "skipped"

static int code_without_ranks(int code)
{
    if (code != SKIPPED)
        return code;
    aq_log_error("mpirun ended with code %d before a rank had joined the job, as Open MPI 6 does "
                 "if there are fewer slots than ranks; see what it reports, and set "
                 "PRTE_MCA_mapby=:oversubscribe if ranks may share processors",
                 code);
    return 1;
}

// Whether the code of a rank that left without ending the job decides: other ranks may end because
// it left.
static bool leaver_decides(void)
{
    return job.left >= 0 && !job.list[job.left].ends;
}

int aq_rank_watch_code(int code, int stopped_by)
{
    if (!job.joined)
        return code_without_ranks(code);
    if (leaver_decides() && !stopped_by)
        return job.list[job.left].left_with;
    if (job.dead >= 0)
        return code_of_death(code, stopped_by);
    if (!job.ended)
        return code_of_leavers(code);
    if (job.ended_with == 0 && job.joined < job.size)
        return code;
    return job.ended_with;
}
