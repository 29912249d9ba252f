// SPDX-License-Identifier: BSD-3-Clause
// The supervisor: starts the ranks of a host, watches them, and leaves no process behind.
//
// One loop sleeps on the pipes of the ranks and on a descriptor for signals; there is no polling.
#include "supervisor.h"
#include "supervisor_signal.h"
#include "supervisor_start.h"
#include "supervisor_bind.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/settings/exit_timeout.h"
#include "../../other/base/log/log.h"
#include "../../other/base/memory/memfile.h"
#include "../../other/base/settings/settings.h"
#include "spawn_fork.h"

#define SECOND UINT64_C(1000000000)
#define GRACE (SECOND / 2) // from asking a rank to end until killing it
#define EVENTS 64
#define SIGNALS 16

void aq_supervised_pause(void)
{
    sigset_t pending;
    if (sigpending(&pending) != 0 || sigismember(&pending, SIGCONT) != 1)
        (void)raise(SIGSTOP);
}

static const char *signal_name(int sig)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},
        {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
        {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
        {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"}, {SIGXCPU, "SIGXCPU"},
        {SIGXFSZ, "SIGXFSZ"}, {SIGPROF, "SIGPROF"}, {SIGSYS, "SIGSYS"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == sig)
            return names[i].name;
    return "a signal";
}

// ---- output ----

static bool sinks_blocked(const aq_supervised_t *job)
{
    return job->output.sinks[0].used > 0 || job->output.sinks[1].used > 0;
}

static void flush_sinks(aq_supervised_t *job)
{
    (void)aq_sink_flush(&job->output.sinks[0]);
    (void)aq_sink_flush(&job->output.sinks[1]);
}

static bool can_read(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    return poll(&ready, 1, 0) > 0;
}

// Reads what the rank has written so far, so that its last output precedes our message about it.
static void drain_rank(aq_supervised_t *job, uint32_t rank)
{
    for (uint32_t i = 2 * rank; i < 2 * rank + 2; i++)
        for (int reads = 0;
             reads < 4 && job->output.streams[i].fd >= 0 && can_read(job->output.streams[i].fd);
             reads++)
            (void)aq_stream_read(&job->output.streams[i]);
    flush_sinks(job);
}

// ---- the end of the job ----

static void signal_ranks(const aq_supervised_t *job, int sig)
{
    for (uint32_t r = 0; r < job->started; r++)
        aq_supervised_signal(job, r, sig);
}

static void enter_phase(aq_supervised_t *job, aq_supervised_phase_t phase, uint64_t time)
{
    uint64_t deadline = aq_clock_ns() + time;
    if (job->phase == AQ_SUPERVISED_RUNNING || job->phase == AQ_SUPERVISED_STARTING ||
        time <= GRACE || deadline < job->deadline)
        job->deadline = deadline;
    job->phase = phase;
}

// Ends all ranks now: SIGTERM, a short wait, SIGKILL.
static void end_job(aq_supervised_t *job)
{
    if (job->phase >= AQ_SUPERVISED_ENDING)
        return;
    signal_ranks(job, SIGTERM);
    signal_ranks(job, SIGCONT); // a stopped rank would not handle the signal
    enter_phase(job, AQ_SUPERVISED_ENDING, GRACE);
}

static void kill_job(aq_supervised_t *job)
{
    signal_ranks(job, SIGKILL);
    job->phase = AQ_SUPERVISED_KILLED;
    job->deadline = 0;
}

// Writes the ranks that are still alive, as far as they fit: "1-3, 7".
static void name_alive(const aq_supervised_t *job, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t r = 0; r < job->started && used + 32 < size; r++) {
        if (job->ranks[r].pid == 0)
            continue;
        uint32_t last = r;
        while (last + 1 < job->started && job->ranks[last + 1].pid > 0 &&
               aq_supervised_rank(job, last + 1) == aq_supervised_rank(job, last) + 1)
            last++;
        const char *comma = used > 0 ? ", " : "";
        used +=
            (size_t)(last > r ? snprintf(text + used, size - used, "%s%" PRIu32 "-%" PRIu32, comma,
                                         aq_supervised_rank(job, r), aq_supervised_rank(job, last))
                              : snprintf(text + used, size - used, "%s%" PRIu32, comma,
                                         aq_supervised_rank(job, r)));
        r = last;
    }
    if (used + 32 >= size)
        snprintf(text + used, size - used, " and others");
}

static void kill_late(aq_supervised_t *job)
{
    char names[400];
    uint32_t late = job->alive;
    const bool term = job->phase == AQ_SUPERVISED_STOPPING && job->end.last_stop == SIGTERM;
    name_alive(job, names, sizeof names);
    kill_job(job);
    flush_sinks(job);
    aq_log_error("%s %s did not end within the %s of %.3g seconds and had to be killed; if the "
                 "program needs longer to leave, raise %s",
                 late > 1 ? "ranks" : "rank", names, term ? "time after SIGTERM" : "exit timeout",
                 (double)aq_stop_timeout_ns(term ? SIGTERM : 0, aq_supervised_size(job)) /
                     (double)SECOND,
                 term ? "GASNET_TERM_TIMEOUT" : "GASNET_EXITTIMEOUT");
}

// Logs why ranks could not start; with several hosts the launcher does so.
static void log_fault(aq_supervised_t *job)
{
    uint32_t faults = atomic_load(&job->page->fault.ranks);
    if (faults == 0 || job->end.fault_logged || job->options->part != NULL)
        return;
    job->end.fault_logged = true;
    flush_sinks(job);
    aq_page_print_fault(job->page->fault.text, faults);
}

// The job may continue or hang, so the fault is reported soon, once other ranks with the same fault
// have been counted.
static void notice_fault(aq_supervised_t *job)
{
    if (job->phase == AQ_SUPERVISED_RUNNING && job->deadline == 0 && !job->end.fault_logged &&
        atomic_load(&job->page->fault.ranks) > 0)
        job->deadline = aq_clock_ns() + GRACE;
}

static uint64_t bytes_passed(const aq_supervised_t *job)
{
    return job->output.sinks[0].passed + job->output.sinks[1].passed;
}

// The nanoseconds that the ranks get to leave, after a signal or (sig 0) after an exit.
static uint64_t time_to_leave(const aq_supervised_t *job, int sig)
{
    uint64_t memory = 0;
    for (uint32_t r = 0; r < job->started; r++)
        if (job->ranks[r].pid > 0)
            memory += aq_exit_resident(job->ranks[r].pid);
    return aq_stop_timeout_ns(sig, aq_supervised_size(job)) + aq_exit_memory_ns(memory);
}

static void let_leave(aq_supervised_t *job)
{
    job->passed = bytes_passed(job);
    enter_phase(job, AQ_SUPERVISED_LEAVING, time_to_leave(job, 0));
}

// Ranks that wait for the reader of the output cannot leave. While the reader makes progress, they
// are not late.
static bool reader_goes_on(const aq_supervised_t *job)
{
    return sinks_blocked(job) && bytes_passed(job) != job->passed;
}

static void pass_deadline(aq_supervised_t *job)
{
    if (job->phase == AQ_SUPERVISED_RUNNING) {
        log_fault(job);
        job->end.fault_logged = true;
        job->deadline = 0;
    } else if (job->phase == AQ_SUPERVISED_LEAVING && reader_goes_on(job)) {
        job->deadline = 0;
        job->phase = AQ_SUPERVISED_RUNNING;
        let_leave(job);
    } else if (job->phase == AQ_SUPERVISED_LEAVING) {
        signal_ranks(job, SIGQUIT);
        enter_phase(job, AQ_SUPERVISED_QUITTING, GRACE);
    } else if (job->phase == AQ_SUPERVISED_QUITTING || job->phase == AQ_SUPERVISED_STOPPING) {
        kill_late(job);
    } else {
        kill_job(job);
    }
}

// Acts on an exit or abort that a rank has announced on the page.
static void notice_exit(aq_supervised_t *job)
{
    if (atomic_load(&job->page->abort_requested))
        end_job(job);
    else if (job->phase <= AQ_SUPERVISED_RUNNING &&
             atomic_load(&job->page->exit_word) != AQ_BOOT_RUNNING)
        let_leave(job);
}

static void fail_job(aq_supervised_t *job, int code)
{
    aq_page_fail(job->page, code);
    end_job(job);
}

static const char *others_ended(const aq_supervised_t *job)
{
    return job->alive > 0 || job->options->part != NULL ? "; the other ranks are ended" : "";
}

// ---- deaths ----

static void handle_signal_death(aq_supervised_t *job, uint32_t rank, pid_t pid, int sig)
{
    bool announced = atomic_load(&job->page->exit_word) != AQ_BOOT_RUNNING;
    job->end.any_killed = true;
    if (job->phase >= AQ_SUPERVISED_ENDING || job->phase == AQ_SUPERVISED_QUITTING ||
        sig == job->end.stop_signal)
        return;
    drain_rank(job, rank);
    aq_log_error("rank %" PRIu32 " of %" PRIu32 " (process %ld) was killed by %s (%s)%s%s",
                 aq_supervised_rank(job, rank), aq_supervised_size(job), (long)pid,
                 signal_name(sig), strsignal(sig),
                 sig == SIGKILL ? ", which the system also sends when memory runs out" : "",
                 announced ? " while the job was ending" : others_ended(job));
    if (!announced)
        fail_job(job, 128 + sig);
}

// Handles a rank that left with code 0 while no end was announced.
static void handle_quiet_exit(aq_supervised_t *job, uint32_t rank, pid_t pid)
{
    if (atomic_load(&job->page->state[aq_supervised_rank(job, rank)]) != AQ_RANK_STARTING) {
        if (aq_settings_bool(AQ_SET_CATCH_EXIT))
            (void)aq_page_announce(job->page, AQ_NO_RANK, 0);
        return;
    }
    atomic_fetch_add(&job->page->absent, 1);
    aq_page_wake_relay(job->page); // ranks of other hosts may have joined
    if (atomic_load(&job->page->members) == 0)
        return; // not a GASNet program, as far as this process knows
    drain_rank(job, rank);
    aq_log_error("rank %" PRIu32 " of %" PRIu32
                 " (process %ld) ended without joining the job that others have "
                 "joined; every rank must run a GASNet program that calls init",
                 aq_supervised_rank(job, rank), aq_supervised_size(job), (long)pid);
    fail_job(job, 1);
}

// The wrapper, process pid, of a rank returned 0, although the rank ended by a signal or by _exit.
static void handle_hidden_death(aq_supervised_t *job, uint32_t rank, pid_t pid, pid_t joined)
{
    job->end.any_killed = true;
    if (job->phase >= AQ_SUPERVISED_ENDING || job->end.stop_signal != 0 ||
        atomic_load(&job->page->exit_word) != AQ_BOOT_RUNNING)
        return;
    drain_rank(job, rank);
    aq_log_error("rank %" PRIu32 " of %" PRIu32 " (process %ld) has ended without leaving the job, "
                 "and what started it returned 0 (process %ld, such as a script, which should "
                 "return the exit code of the program)%s",
                 aq_supervised_rank(job, rank), aq_supervised_size(job), (long)joined, (long)pid,
                 others_ended(job));
    fail_job(job, 1);
}

static void handle_exit_code(aq_supervised_t *job, uint32_t rank, pid_t pid, int code)
{
    if (job->phase >= AQ_SUPERVISED_ENDING || atomic_load(&job->page->exit_word) != AQ_BOOT_RUNNING)
        return;
    if (code != 0 && job->end.first_code == 0)
        job->end.first_code = code;
    if (job->end.stop_signal != 0)
        return;
    if (code == 0) {
        handle_quiet_exit(job, rank, pid);
        return;
    }
    if (!aq_settings_bool(AQ_SET_CATCH_EXIT))
        return;
    drain_rank(job, rank);
    // Else the faults are the reason, reported at the end.
    if (atomic_load(&job->page->fault.ranks) == 0)
        aq_log_error("rank %" PRIu32 " of %" PRIu32
                     " (process %ld) ended with exit code %d, without gasnet_exit%s",
                     aq_supervised_rank(job, rank), aq_supervised_size(job), (long)pid, code,
                     others_ended(job));
    // The other ranks may be about to return the same code, so they get the time of an announced
    // exit.
    (void)aq_page_announce(job->page, AQ_NO_RANK, code);
}

static void handle_exit(aq_supervised_t *job, uint32_t rank, pid_t pid, int code)
{
    pid_t joined = 0;
    if (code == 0)
        code = aq_supervised_hidden_code(job, rank, pid, &joined);
    if (code == AQ_CODE_NONE)
        handle_hidden_death(job, rank, pid, joined);
    else
        handle_exit_code(job, rank, joined > 0 ? joined : pid, code);
}

static void reap_ranks(aq_supervised_t *job)
{
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        uint32_t rank = 0;
        while (rank < job->started && job->ranks[rank].pid != pid)
            rank++;
        if (rank == job->started)
            continue; // an orphan of a rank, or a child that the program had before init
        job->ranks[rank].pid = 0;
        job->alive--;
        if (WIFSIGNALED(status))
            handle_signal_death(job, rank, pid, WTERMSIG(status));
        else
            handle_exit(job, rank, pid, WEXITSTATUS(status));
    }
}

// ---- signals ----

// Stops as the user asked (Ctrl-Z). The time until SIGCONT does not count for deadlines.
static void stop_self(aq_supervised_t *job)
{
    uint64_t before = aq_clock_ns();
    aq_supervised_pause();
    if (job->deadline != 0)
        job->deadline += aq_clock_ns() - before;
}

// Ranks are in our process group, so that they may read the terminal; signals of the terminal have
// already reached them.
static void take_signal(aq_supervised_t *job, const struct signalfd_siginfo *info)
{
    int sig = (int)info->ssi_signo;
    if (sig == SIGCHLD || sig == AQ_WAKE_SIGNAL ||
        aq_supervised_is_own(sig, info->ssi_code, (pid_t)info->ssi_pid))
        return; // deaths and the page are checked after every round
    if (!aq_supervised_of_terminal(sig, info->ssi_code))
        signal_ranks(job, sig);
    if (sig == SIGTSTP)
        stop_self(job);
    if (!aq_supervised_is_stop(sig))
        return;
    if (job->end.stop_signal == 0)
        job->end.stop_signal = sig;
    if (job->phase > AQ_SUPERVISED_STOPPING)
        return;
    job->end.last_stop = sig; // Ctrl-C after SIGTERM shortens the time
    enter_phase(job, AQ_SUPERVISED_STOPPING, time_to_leave(job, sig));
}

static void take_signals(aq_supervised_t *job)
{
    struct signalfd_siginfo info[SIGNALS];
    ssize_t n;
    do {
        n = read(job->signals, info, sizeof info);
        for (ssize_t i = 0; i < n / (ssize_t)sizeof info[0]; i++)
            take_signal(job, &info[i]);
    } while (n == (ssize_t)sizeof info);
    reap_ranks(job);
}

// ---- the loop ----

static int ms_until(uint64_t time)
{
    uint64_t now = aq_clock_ns();
    if (time == 0)
        return -1;
    if (now >= time)
        return 0;
    uint64_t ms = (time - now) / 1000000 + 1;
    return ms < INT32_MAX ? (int)ms : INT32_MAX;
}

static int wait_ms(const aq_supervised_t *job)
{
    return ms_until(job->deadline);
}

// As wait_ms, but no longer than until a partial line is due.
static int wait_lines_ms(const aq_supervised_t *job)
{
    const uint64_t due = job->output.lines_due;
    return ms_until(due != 0 && (job->deadline == 0 || due < job->deadline) ? due : job->deadline);
}

// Sleeps until a blocked sink accepts more, a signal arrives, or ms pass.
static void wait_sinks(aq_supervised_t *job, int ms)
{
    struct pollfd ready[3] = {{.fd = job->signals, .events = POLLIN}};
    nfds_t count = 1;
    for (int i = 0; i < 2; i++)
        if (job->output.sinks[i].used > 0)
            ready[count++] = (struct pollfd){.fd = job->output.sinks[i].fd, .events = POLLOUT};
    if (poll(ready, count, ms) > 0 && ready[0].revents != 0)
        take_signals(job);
    flush_sinks(job);
}

static void wait_events(aq_supervised_t *job, int ms)
{
    struct epoll_event events[EVENTS];
    bool signals = false;
    int count = epoll_wait(job->epoll, events, EVENTS, ms);
    for (int i = 0; i < count; i++) {
        if (events[i].data.u32 == AQ_WATCH_SIGNALS) {
            signals = true;
            continue;
        }
        aq_stream_t *stream = &job->output.streams[events[i].data.u32];
        if (stream->fd < 0 || (stream->sink->used > AQ_SINK_FULL && !aq_sink_flush(stream->sink)))
            continue; // tried again in the next round
        if (aq_stream_read(stream))
            aq_stream_note_due(stream, &job->output.lines_due);
    }
    aq_streams_pass_due(job->output.streams, 2 * (size_t)job->started, job->output.sinks,
                        &job->output.lines_due);
    flush_sinks(job);
    if (signals)
        take_signals(job);
}

// Starts the ranks of the reserve that the page has admitted since the last round.
static void notice_growth(aq_supervised_t *job)
{
    uint32_t rank, last = job->started;
    int code;
    while (last < job->places && aq_supervised_rank(job, last) < aq_supervised_size(job))
        last++;
    if (last == job->started || job->phase != AQ_SUPERVISED_RUNNING)
        return;
    (void)aq_supervised_start_ranks(job, last, &rank, &code);
    if (code != 0)
        fail_job(job, code);
}

static void check_output(aq_supervised_t *job)
{
    int fault = job->output.sinks[0].fault;
    if (fault == 0 || job->phase >= AQ_SUPERVISED_ENDING)
        return;
    if (fault != EPIPE)
        aq_log_error("standard output cannot be written (%s); the job is ended", strerror(fault));
    fail_job(job, fault == EPIPE ? 128 + SIGPIPE : 1);
}

static void watch_ranks(aq_supervised_t *job)
{
    while (job->alive > 0) {
        if (sinks_blocked(job))
            wait_sinks(job, wait_ms(job));
        else
            wait_events(job, wait_lines_ms(job));
        notice_exit(job);
        notice_growth(job);
        notice_fault(job);
        check_output(job);
        if (job->deadline != 0 && aq_clock_ns() >= job->deadline)
            pass_deadline(job);
    }
}

// ---- after the last rank ----

// Kills the children that the system lists for this process. False: it lists none.
static bool kill_children(void)
{
    FILE *list = fopen("/proc/thread-self/children", "re");
    long pid;
    bool any = false;
    if (list == NULL)
        return false;
    while (fscanf(list, "%ld", &pid) == 1)
        any = kill((pid_t)pid, SIGKILL) == 0 || any;
    (void)fclose(list);
    return any;
}

// Processes that ranks started and left behind become children of this process, the nearest
// subreaper. They end with the job.
void aq_supervised_sweep(void)
{
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0)
            return;
        if (pid == 0 && (!kill_children() || TEMP_FAILURE_RETRY(waitpid(-1, NULL, 0)) < 0))
            return;
    }
}

// Waits for the reader of our output; after a signal that asks this process to end, only for a
// moment.
static void wait_reader(aq_supervised_t *job)
{
    job->deadline = job->end.stop_signal != 0 ? aq_clock_ns() + GRACE : 0;
    flush_sinks(job);
    while (sinks_blocked(job)) {
        bool stopped = job->end.stop_signal != 0;
        wait_sinks(job, wait_ms(job));
        if (!stopped && job->end.stop_signal != 0)
            job->deadline = aq_clock_ns() + GRACE;
        if (job->deadline != 0 && aq_clock_ns() >= job->deadline)
            return;
    }
}

static void finish_output(aq_supervised_t *job)
{
    for (uint32_t i = 0; i < 2 * job->started; i++) {
        aq_stream_t *stream = &job->output.streams[i];
        if (stream->fd < 0)
            continue;
        while (can_read(stream->fd) && aq_stream_read(stream))
            if (stream->sink->used > AQ_SINK_FULL)
                wait_reader(job);
        aq_stream_end(stream);
    }
    wait_reader(job);
    check_output(job);
}

static int job_code(const aq_supervised_t *job)
{
    int32_t word = atomic_load(&job->page->exit_word);
    const int fault = job->output.sinks[0].fault;
    if (word == 1 && fault != 0 && fault != EPIPE)
        return 1; // only the output failed
    if (word != AQ_BOOT_RUNNING)
        return word - 1;
    if (job->end.stop_signal != 0 && job->end.any_killed)
        return 128 + job->end.stop_signal;
    return job->end.first_code;
}

// ---- setting up ----

bool aq_supervised_same_file(int a, int b)
{
    struct stat sa, sb;
    return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
           sa.st_ino == sb.st_ino;
}

static bool make_page(aq_supervised_t *job)
{
    const size_t bytes = aq_page_bytes(job->places);
    void *addr;
    if (aq_memfile_create("gasnet-boot", bytes, &job->page_fd) != AQ_OK)
        return false;
    if (aq_memfile_map(job->page_fd, 0, bytes, &addr) != AQ_OK)
        return false;
    job->page = addr;
    if (aq_page_init(job->page, job->places) != AQ_OK)
        return false;
    job->page->ranks.local = job->options->size;
    atomic_store(&job->page->ranks.present, job->options->size);
    job->page->line_buffer = isatty(STDOUT_FILENO) != 0;
    return true;
}

static bool take_page(aq_supervised_t *job)
{
    const aq_supervise_part_t *part = job->options->part;
    struct stat st;
    if (part != NULL) {
        job->page = part->page;
        job->page_fd = part->page_fd;
    } else if (!make_page(job)) {
        return false;
    }
    if (job->page->supervisor == 0) // else another one of this host is known
        job->page->supervisor = job->self;
    aq_supervised_note_bound(job);
    if (fstat(job->page_fd, &st) == 0)
        job->page_inode = st.st_ino;
    // Ranks that were started with exec find the page by its descriptor.
    return job->options->argv == NULL || fcntl(job->page_fd, F_SETFD, 0) == 0;
}

static bool open_watch(aq_supervised_t *job)
{
    struct sigaction child = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = AQ_WATCH_SIGNALS};
    sigset_t all, set;
    sigfillset(&all);
    aq_supervised_signals(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, AQ_WAKE_SIGNAL);
    (void)sigprocmask(SIG_SETMASK, &all, &job->caller.mask);
    (void)sigaction(SIGCHLD, &child, &job->caller.on_child);
    job->caller.childless = waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) != 0;
    if (job->caller.childless)
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    job->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    job->epoll = epoll_create1(EPOLL_CLOEXEC);
    job->null_input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (job->signals >= 0 && job->epoll >= 0 && job->null_input >= 0 &&
        epoll_ctl(job->epoll, EPOLL_CTL_ADD, job->signals, &event) == 0)
        return true;
    aq_log_error("the job cannot be watched (%s); raise the limit of open files (ulimit -n)",
                 strerror(errno));
    return false;
}

static bool make_tables(aq_supervised_t *job)
{
    uint32_t size = job->places;
    job->ranks = calloc(size, sizeof *job->ranks);
    job->output.streams = calloc(2 * (size_t)size, sizeof *job->output.streams);
    if (job->ranks == NULL || job->output.streams == NULL) {
        aq_log_error("no memory for the table of %" PRIu32 " ranks; start fewer ranks", size);
        return false;
    }
    for (uint32_t i = 0; i < 2 * size; i++)
        job->output.streams[i].fd = -1;
    return true;
}

static bool set_up(aq_supervised_t *job, const aq_supervise_options_t *options, int *code)
{
    *job = (aq_supervised_t){.options = options,
                             .places = options->size + options->reserve,
                             .page_fd = -1,
                             .epoll = -1,
                             .signals = -1,
                             .null_input = -1,
                             .self = getpid()};
    job->output.one_sink = aq_supervised_same_file(STDOUT_FILENO, STDERR_FILENO);
    *code = 1;
    if (!aq_supervised_check(job, code))
        return false;
    *code = 1;
    return take_page(job) && make_tables(job) && open_watch(job);
}

void aq_supervised_forget_handlers(void)
{
    struct sigaction now;
    for (int sig = 1; sig < SIGRTMAX; sig++)
        if (sig != SIGCHLD && sigaction(sig, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            (void)signal(sig, SIG_DFL);
}

static int watch_job(aq_supervised_t *job, int code)
{
    aq_page_divert_faults(NULL, 0);
    aq_sink_open(&job->output.sinks[0], STDOUT_FILENO);
    aq_sink_open(&job->output.sinks[1], STDERR_FILENO);
    if (code != 0) {
        aq_page_fail(job->page, code);
        kill_job(job);
    } else {
        job->phase = AQ_SUPERVISED_RUNNING;
    }
    watch_ranks(job);
    if (job->caller.childless)
        aq_supervised_sweep();
    finish_output(job);
    log_fault(job);
    return job_code(job);
}

bool aq_supervise(const aq_supervise_options_t *options, aq_boot_t **out, int *code)
{
    static aq_supervised_t job; // the children of a fork keep it, unused
    uint32_t rank = 0;
    (void)fflush(NULL); // otherwise every child would write the buffered output again
    bool ready = set_up(&job, options, code);
    if (ready && aq_supervised_start_ranks(&job, options->size, &rank, code)) {
        if (aq_boot_fork_adopt(job.page, aq_supervised_rank(&job, rank), out) != AQ_OK)
            _exit(1);
        return true;
    }
    if (ready) {
        if (options->argv == NULL)
            aq_supervised_forget_handlers();
        *code = watch_job(&job, *code);
    } else if (options->part != NULL) {
        aq_page_fail(options->part->page, *code);
    }
    if (options->argv == NULL)
        _exit(*code);
    return false;
}
