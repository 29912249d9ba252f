// SPDX-License-Identifier: BSD-3-Clause
// How this process leaves the job. There are three ways in: gasnet_exit, called by the client or
// after a fault; the notice that another rank has ended the job; and a return from main or exit(),
// which the launcher or the mpirun that started the ranks observes. Leaving has three parts: head,
// body, tail.
#include "exit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/settings/exit_timeout.h"
#include "../../other/base/log/log.h"
#include "../../other/base/system/own_process.h"
#include "../../other/base/settings/settings.h"
#include "../progress/progress_thread.h"
#include "exit_broadcast.h"
#include "../state/job.h"
#include "../record/rank_head.h"
#include "start_steps.h"

enum {
    // A client that ends collectively may still write output when the notice of the first rank
    // arrives.
    GRACE_NS = 100000000,
    // Time for the client of a failed job to reach a poll before the process is killed.
    HURRY_US = 200000,
    // Time after the exit timeout in which the launcher should have ended this process.
    OVERTIME_US = 1000000,
};

// The signals that ask a process to end. The specification requires that the client receives them
// as SIGQUIT.
static const int terminating[] = {SIGINT, SIGTERM, SIGHUP};
enum { TERMINATING = sizeof terminating / sizeof terminating[0] };

static _Atomic pid_t leaver;        // the thread that runs the body; 0: none
static atomic_bool hurried;         // the job has failed: leave without grace
static atomic_flag client_was_told; // SIGQUIT was raised

static int code_of_job(void)
{
    return (atomic_load(aq_job.boot->exit_word) - 1) & 0xff;
}

// ---- time limits ----

static _Atomic uint64_t limit_ns; // end of the current time limit

// Returns false if the alarm is from a timer of the client, which may use the same signal.
static bool is_time_over(void)
{
    return aq_clock_ns() >= atomic_load(&limit_ns);
}

// Interrupts this process after us microseconds and calls handler. Takes this timer away from the
// client.
static void limit_time(uint64_t us, void (*handler)(int number))
{
    const struct itimerval time = {
        .it_value = {.tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000)}};
    struct sigaction action = {.sa_handler = handler};
    sigset_t set;
    atomic_store(&limit_ns, aq_clock_ns() + 1000 * us);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigaction(SIGALRM, &action, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    setitimer(ITIMER_REAL, &time, NULL);
}

static const char *volatile step; // the current step of the body and the remedy, for say_step

// Logs why this process ends by force, unless standard error would block.
static void say_step(void)
{
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&output, 1, 0) == 1 && (output.revents & POLLOUT))
        aq_log_error("the exit timeout is over while this rank still %s; it ends by force", step);
}

// A step of the body waits for a lock that another thread never releases, or for a reader that does
// not read the output. Aborts, so that the launcher ends the job by force.
static void on_overtime(int number)
{
    (void)number;
    if (!is_time_over())
        return;
    say_step();
    aq_job.boot->ops->abort(aq_job.boot, code_of_job());
}

static uint64_t memory_ns; // time that the ranks of this host may need to release their memory

static void limit_step(const char *what)
{
    step = what;
    limit_time((aq_exit_timeout_ns(aq_job.size) + memory_ns) / 1000 + OVERTIME_US, on_overtime);
}

static void limit_end(void)
{
    setitimer(ITIMER_REAL, &(const struct itimerval){.it_value = {0}}, NULL);
}

// ---- the three parts ----

__attribute__((noreturn)) static void exit_tail(int code)
{
    _exit(code);
}

// Head: the first exit of the job decides the code. The first thread of this process continues,
// other threads wait for the process to end. A signal handler that has interrupted the body ends
// the process instead, since it would wait forever.
static int exit_head(int code)
{
    pid_t first = 0;
    code = aq_job.boot->ops->announce_exit(aq_job.boot, code);
    if (atomic_compare_exchange_strong(&leaver, &first, gettid()))
        return code;
    if (first == gettid())
        exit_tail(code);
    aq_progress_thread_retire();
    for (;;)
        pause();
}

static void write_observed(void)
{
    limit_step("writes what it has counted and traced; name files of GASNET_TRAFFIC, GASNET_TRACE "
               "and GASNET_STATSFILE on a file system that answers");
    aq_steps_stop(aq_start_table, AQ_PHASE_WATCH);
}

// Flushes all output. Returns the least exit code of this process: 1 if output is lost and no
// supervisor reports that.
static int flush_output(int code)
{
    errno = 0;
    fflush(NULL);
    if (aq_job.boot->watched || !ferror(stdout) || code)
        return 0;
    aq_log_error("standard output cannot be written (%s), so the exit code is 1, not 0",
                 errno ? strerror(errno) : "see earlier errors");
    return 1;
}

// Body: flushes output, notifies the ranks that the bootstrap does not notify, then closes the
// network and the bootstrap, each within a time limit. Returns the code of the job. Ignores signals
// that ask the process to end.
static int exit_body(int code)
{
    aq_lock_leaving = true;
    aq_rank_stage(AQ_STAGE_LEAVING);
    memory_ns = aq_exit_memory_ns(aq_exit_resident(getpid()) * aq_job.host.size);
    (void)signal(SIGQUIT, SIG_IGN);
    for (unsigned i = 0; i < TERMINATING; i++)
        (void)signal(terminating[i], SIG_IGN);
    if (!aq_job.boot->watched)
        limit_step("writes output that no process reads, or waits for a lock of the C library; "
                   "read the output of the job to its end");
    const int least = flush_output(code);
    write_observed();
    limit_step("tells others of the end of the job; let them poll (gasnet_AMPoll) more often, or "
               "raise GASNET_EXITTIMEOUT");
    code = aq_exit_broadcast_code(code);
    limit_step("closes its conduits; see that no handler of a signal calls gasnet_exit while MPI "
               "or a lock is in use");
    aq_steps_stop(aq_start_table, AQ_PHASE_MESSAGES);
    aq_steps_stop(aq_start_table, AQ_PHASE_CONDUITS);
    limit_step("takes leave of its launcher; see whether a program that only calls MPI_Init and "
               "MPI_Finalize ends there, and if not set GASNET_MPI_FINALIZE=0");
    aq_steps_stop(aq_start_table, AQ_PHASE_BOOTSTRAP);
    aq_rank_stage(AQ_STAGE_LEFT);
    return code ? code : least;
}

void gasnet_exit(int code)
{
    if (!aq_job_running() || !aq_own_process()) {
        fflush(NULL);
        _exit(aq_boot_exit_code(code));
    }
    code = exit_head(code);
    exit_tail(exit_body(code));
}

// After this returns to the exit handler of the bootstrap, polls must not end this process.
void aq_exit_returning(int code)
{
    pid_t first = 0;
    aq_rank_stage(AQ_STAGE_LEAVING);
    write_observed();
    limit_end();
    if (aq_job.boot->exit_stays_here || !atomic_compare_exchange_strong(&leaver, &first, gettid()))
        gasnet_exit(code);
}

// ---- the notice that another rank has ended the job ----

// The specification lets a client that catches SIGQUIT clean up before a remote exit ends it.
static void let_client_clean_up(void)
{
    struct sigaction action;
    if (sigaction(SIGQUIT, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
        action.sa_handler != SIG_IGN && !atomic_flag_test_and_set(&client_was_told))
        raise(SIGQUIT);
}

static void leave_after_grace(void)
{
    static _Atomic uint64_t deadline;
    if (atomic_load(&leaver) == gettid())
        return; // called from a poll of the body
    uint64_t now = aq_clock_ns();
    uint64_t expected = 0;
    atomic_compare_exchange_strong(&deadline, &expected, now + GRACE_NS);
    if (now < atomic_load(&deadline) && !atomic_load(&hurried))
        return;
    let_client_clean_up();
    gasnet_exit(code_of_job());
}

static void leave_now(void)
{
    if (atomic_load(&leaver) != gettid())
        gasnet_exit(code_of_job());
}

void aq_exit_start(void)
{
    static const aq_job_exit_t exit = {.requested = leave_after_grace, .if_ended = leave_now};
    aq_job.exit = &exit;
}

// ---- signals ----

static void die_by_default(int number)
{
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void die_of(int number)
{
    if (aq_job.boot->tells_signals)
        aq_job.boot->ops->abort(aq_job.boot, 128 + number);
    die_by_default(number);
}

static void on_late(int number)
{
    (void)number;
    if (is_time_over())
        die_of(SIGTERM);
}

// A signal that would end the process reaches the client as SIGQUIT first. Unless the client exits
// then, the signal has its usual effect. If the job has failed elsewhere, the process gets time to
// reach a poll, where it can leave with its output written.
static void on_terminating(int number)
{
    int saved = errno;
    if (!aq_own_process()) {
        die_by_default(number);
        return;
    }
    let_client_clean_up();
    if (!aq_boot_ended(aq_job.boot) || atomic_exchange(&hurried, true))
        die_of(number);
    else
        limit_time(HURRY_US, on_late);
    errno = saved;
}

void aq_exit_catch_signals(void)
{
    if (strcmp(aq_settings_text(AQ_SET_NO_CATCH_SIGNAL), "*") == 0)
        return;
    struct sigaction old, action = {.sa_handler = on_terminating, .sa_flags = SA_RESTART};
    for (unsigned i = 0; i < TERMINATING; i++)
        if (sigaction(terminating[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(terminating[i], &action, NULL);
}
