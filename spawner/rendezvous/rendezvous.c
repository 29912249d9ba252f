// SPDX-License-Identifier: BSD-3-Clause
// The course of a process of a rendezvous: master, call, guard, rank.
#include "rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "../launch/launcher.h"
#include "../supervise/supervisor_signal.h"
#include "../tree/workers.h"
#include "../supervise/supervisor.h"
#include "../launch/helper.h"

#define EXIT_FAILED 1
#define CALL_MS 3000 // for one address to answer
// Between two calls a process sleeps for a part of the time that it has waited.
#define NAP_PART 8u
#define NAP_NS_MIN UINT64_C(5000000)
#define NAP_NS_MAX UINT64_C(1000000000)
#define WRONG_PATIENCE 2.0 // seconds

// A process has one job. The helper is where a forked rank finds it.
static aq_helper_t the_helper;
static jmp_buf rank_place;
static aq_boot_t *rank_boot;

// ---- the master ----

static int ready_pipe; // the master's end

// Tells rank 0 that the master listens; rank 0 then calls like all others.
static bool note_listening(const aq_node_t *node, uint16_t port, pid_t *command)
{
    (void)node;
    (void)port;
    *command = 0;
    bool ok = TEMP_FAILURE_RETRY(write(ready_pipe, "", 1)) == 1;
    (void)close(ready_pipe);
    return ok;
}

static bool fill_plan(aq_launch_plan_t *plan, const aq_rendezvous_t *call)
{
    static char *no_words[] = {(char *)(uintptr_t) "-", NULL};
    aq_spec_t *spec = &plan->spec;
    spec->workers = spec->direct = spec->rendezvous = true;
    spec->tree.timeout_ms = (uint32_t)(aq_settings_real(AQ_SET_SPAWN_TIMEOUT) * 1000);
    spec->remote.program = spec->command.folder = spec->remote.shell = spec->remote.options =
        spec->remote.ports = "";
    spec->command.argv = no_words;
    spec->command.environment = no_words + 1;
    memcpy(plan->key, call->key, sizeof plan->key);
    plan->ports = (aq_ports_t){call->port, call->port};
    plan->listening = note_listening;
    plan->patience = aq_clock_seconds_to_ns(aq_settings_real(AQ_SET_CONNECT_TIMEOUT));
    // A name may mean another address here than elsewhere, as that of this host often does.
    if (aq_net_is_numeric(call->host))
        snprintf(plan->master_address, sizeof plan->master_address, "%.*s", AQ_ADDRESS_TEXT - 1,
                 call->host);
    return aq_workers_allocate(spec, call->size);
}

__attribute__((noreturn)) static void become_master(const aq_rendezvous_t *call, pid_t owner)
{
    static aq_launch_plan_t plan;
    (void)prctl(PR_SET_NAME, "gasnet-master");
    if (ready_pipe > 3)
        (void)close_range(3, (unsigned)ready_pipe - 1, 0);
    (void)close_range((unsigned)ready_pipe + 1, UINT_MAX, 0);
    aq_supervised_forget_handlers();
    plan.owner = owner;
    _exit(fill_plan(&plan, call) ? aq_launch(&plan) : EXIT_FAILED);
}

// Returns once the master listens. 0: it has failed, or cannot be started; logged.
static pid_t start_master(const aq_rendezvous_t *call)
{
    int ready[2] = {-1, -1};
    char byte;
    pid_t owner = getpid(), pid = pipe2(ready, O_CLOEXEC) == 0 ? fork() : -1;
    if (pid == 0) {
        ready_pipe = ready[1];
        become_master(call, owner);
    }
    (void)close(ready[1]);
    if (pid < 0)
        aq_log_error("rank 0 cannot start the process that listens for the others (%s); raise the "
                     "limits of processes and open files (ulimit -u, ulimit -n)",
                     strerror(errno));
    bool listens = pid > 0 && TEMP_FAILURE_RETRY(read(ready[0], &byte, 1)) == 1;
    (void)close(ready[0]);
    if (pid > 0 && !listens)
        (void)TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
    return listens ? pid : 0;
}

// The exit code of the job, from the status with which the master ended.
static int master_code(pid_t master, int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    aq_log_error("the process of rank 0 that held the job together (process %ld) was killed by "
                 "signal %d; the job is ended",
                 (long)master, WTERMSIG(status));
    return 128 + WTERMSIG(status);
}

// ---- the call ----

// Lists the addresses of the master. Rank 0 adds the loopback: the master is on its host, whether
// or not the name resolves there.
static bool find_addresses(const aq_rendezvous_t *call, char *text, size_t size)
{
    bool known = aq_net_resolve_all(call->host, text, size - sizeof ",127.0.0.1");
    if (call->rank == 0)
        strcat(text, known ? ",127.0.0.1" : "127.0.0.1");
    return known || call->rank == 0;
}

// AQ_AGAIN: the master does not answer; errno has the reason, which may be temporary.
static aq_status_t try_master(aq_helper_t *helper, const aq_rendezvous_t *call)
{
    char addresses[AQ_REMOTE_TEXT];
    aq_intro_t intro = {.node = AQ_NODE_ANY};
    errno = EADDRNOTAVAIL;
    if (!find_addresses(call, addresses, sizeof addresses))
        return AQ_AGAIN;
    int fd = aq_net_connect_any(addresses, call->port, CALL_MS);
    if (fd < 0)
        return AQ_AGAIN;
    memcpy(intro.key, call->key, sizeof intro.key);
    aq_link_open(&helper->parent, fd);
    aq_status_t status = aq_helper_authenticate(helper, &intro);
    explicit_bzero(intro.key, sizeof intro.key);
    if (status != AQ_OK)
        aq_link_close(&helper->parent);
    errno = ECONNRESET;
    return status;
}

static void nap_after(uint64_t waited)
{
    uint64_t ns = aq_min(aq_max(waited / NAP_PART, NAP_NS_MIN), NAP_NS_MAX);
    const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                                  .tv_nsec = (long)(ns % 1000000000)};
    (void)nanosleep(&time, NULL);
}

static void tell_no_answer(const aq_rendezvous_t *call, double patience)
{
    if (call->rank >= call->size)
        aq_log_error("GASNET_RANK is %" PRIu32 " in this process, but GASNET_SIZE is %" PRIu32
                     "; give it a number from 0 to %" PRIu32,
                     call->rank, call->size, call->size - 1);
    else
        aq_log_error("rank %" PRIu32 " got no answer from rank 0 at %s, port %u, within %g seconds "
                     "(%s; GASNET_CONNECT_TIMEOUT): it does not run there, has all processes of "
                     "its job, or a firewall is between",
                     call->rank, call->host, call->port, patience,
                     errno == EADDRNOTAVAIL ? "the name is not known" : strerror(errno));
}

// Calls until the master answers, which may start last or whose name may resolve late. A process
// with a rank that does not exist calls too, so that the master can report it to all, but gives up
// early: often it was meant to be rank 0.
static bool find_master(aq_helper_t *helper, const aq_rendezvous_t *call)
{
    double patience = aq_settings_real(AQ_SET_CONNECT_TIMEOUT);
    if (call->rank >= call->size && (patience <= 0 || patience > WRONG_PATIENCE))
        patience = WRONG_PATIENCE;
    uint64_t begin = aq_clock_ns();
    uint64_t end = patience > 0 ? begin + aq_clock_seconds_to_ns(patience) : UINT64_MAX;
    aq_status_t status;
    while ((status = try_master(helper, call)) == AQ_AGAIN && aq_clock_ns() < end)
        nap_after(aq_clock_ns() - begin);
    if (status == AQ_AGAIN)
        tell_no_answer(call, patience);
    else if (status != AQ_OK)
        aq_log_error("the process at %s, port %u, has another key than this one, rank %" PRIu32
                     "; give all processes of a job the same key",
                     call->host, call->port, call->rank);
    return status == AQ_OK;
}

static bool introduce(aq_helper_t *helper, const aq_rendezvous_t *call)
{
    aq_worker_t worker;
    char space[AQ_SPACE_TEXT], attach_socket[AQ_ATTACH_SOCKET_TEXT];
    aq_worker_introduce(NULL, &worker);
    aq_members_space(space);
    aq_members_open(&helper->process.members, attach_socket);
    worker.space = space;
    worker.attach_socket = attach_socket;
    worker.rank = call->rank;
    worker.size = call->size;
    aq_write_worker(&helper->parent.out, &worker);
    return true;
}

// True: the job is here. False: it does not start; *code is the exit code.
static bool await_start(aq_helper_t *helper, const aq_rendezvous_t *call, int *code)
{
    char why[AQ_REMOTE_TEXT] = "";
    aq_awaited_t awaited = aq_rendezvous_wait(helper, why, sizeof why);
    *code = awaited == AQ_AWAIT_ENDED ? helper->end_code : EXIT_FAILED;
    if (awaited == AQ_AWAIT_REFUSED)
        aq_log_error("rank 0 at %s, port %u, refuses this process, rank %" PRIu32 ": %s",
                     call->host, call->port, call->rank, why);
    else if (awaited == AQ_AWAIT_LOST && call->rank != 0)
        aq_log_error("rank %" PRIu32 " has lost its connection to rank 0 at %s, port %u, before "
                     "the job started",
                     call->rank, call->host, call->port);
    return awaited == AQ_AWAIT_JOB;
}

// ---- the guard ----

typedef struct guard {
    pid_t helper, master; // 0: reaped, or none
    int code;             // of the master, else of the helper
    bool leads;           // has a master, or had one
    bool childless;       // had no children before
} guard_t;

static void reap(guard_t *guard)
{
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == guard->helper) {
            guard->helper = 0;
            if (!guard->leads)
                guard->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        } else if (pid == guard->master) {
            guard->master = 0;
            guard->code = master_code(pid, status);
        }
    }
}

// Signals of the terminal have reached the other processes already.
static void take_signal(const guard_t *guard, const siginfo_t *info)
{
    pid_t to = guard->master > 0 ? guard->master : guard->helper;
    if (info->si_signo != SIGCHLD && !aq_supervised_of_terminal(info->si_signo, info->si_code) &&
        !aq_supervised_is_own(info->si_signo, info->si_code, info->si_pid))
        (void)kill(to, info->si_signo);
    if (info->si_signo == SIGTSTP)
        aq_supervised_pause();
}

// Waits for both children: the code of the master, which ends last, is that of the job.
static int guard_job(guard_t *guard, const sigset_t *signals)
{
    siginfo_t info;
    (void)prctl(PR_SET_NAME, "gasnet-guard");
    (void)close_range(0, STDERR_FILENO - 1, 0);
    (void)close_range(STDERR_FILENO + 1, UINT_MAX, 0);
    for (reap(guard); guard->helper > 0 || guard->master > 0; reap(guard))
        if (sigwaitinfo(signals, &info) > 0)
            take_signal(guard, &info);
    if (guard->childless)
        aq_supervised_sweep();
    return guard->code;
}

// Runs in a child of this process, in which the rank returns.
static pid_t start_helper(aq_helper_t *helper)
{
    pid_t guard = getpid(), pid = fork();
    if (pid < 0)
        aq_log_error("rank %" PRIu32 " cannot be started (%s); raise the limit of processes "
                     "(ulimit -u)",
                     helper->process.rank, strerror(errno));
    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_NAME, "gasnet-helper");
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(getppid() == guard ? aq_helper_run(helper) : EXIT_FAILED);
}

static int run_job(aq_helper_t *helper, guard_t *guard)
{
    sigset_t all, signals;
    aq_supervised_signals(&signals);
    sigaddset(&signals, SIGCHLD);
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &helper->process.mask);
    (void)sigaction(SIGCHLD, NULL, &helper->process.on_child);
    (void)signal(SIGCHLD, SIG_DFL);
    if (guard->childless)
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = start_helper(helper);
    guard->helper = pid > 0 ? pid : 0;
    aq_link_close(&helper->parent);
    return guard_job(guard, &signals);
}

// ---- the course ----

// No job starts. A master that still waits for others ends with this process.
static int end_master(pid_t master, bool waits, int code)
{
    int status;
    if (master == 0)
        return code;
    if (waits)
        (void)kill(master, SIGTERM);
    while (waitpid(master, &status, 0) < 0)
        if (errno != EINTR)
            return code;
    int own = master_code(master, status);
    return waits ? code : own;
}

static bool has_no_children(void)
{
    return waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) != 0;
}

// Returns the exit code of this process; a rank does not return here.
static int meet(aq_helper_t *helper, aq_rendezvous_t *call)
{
    guard_t guard = {.code = EXIT_FAILED, .leads = call->rank == 0, .childless = has_no_children()};
    int code = EXIT_FAILED;
    if (guard.leads && (guard.master = start_master(call)) == 0)
        return EXIT_FAILED;
    bool found = find_master(helper, call) && introduce(helper, call);
    explicit_bzero(call->key, sizeof call->key);
    if (found && await_start(helper, call, &code))
        return run_job(helper, &guard);
    aq_link_close(&helper->parent);
    return end_master(guard.master, !found, code);
}

__attribute__((noreturn)) static void resume_rank(aq_boot_t *boot)
{
    rank_boot = boot;
    longjmp(rank_place, 1);
}

static void prepare_helper(aq_helper_t *helper, uint32_t rank)
{
    aq_helper_init(helper);
    helper->process.rank = rank;
    helper->node.self = AQ_NODE_ANY;
    helper->process.resume = resume_rank;
}

// The rank is forked deep in the loop of the helper, and leaves it by a jump: nothing there has to
// be undone in it.
aq_status_t aq_rendezvous_join(aq_boot_t **out)
{
    static aq_rendezvous_t call;
    aq_status_t status = aq_rendezvous_read(&call);
    if (status != AQ_OK)
        return status;
    (void)fflush(NULL); // else every process would write it
    prepare_helper(&the_helper, call.rank);
    if (setjmp(rank_place) == 0)
        _exit(meet(&the_helper, &call));
    (void)prctl(PR_SET_NAME, program_invocation_short_name);
    aq_rendezvous_clear();
    *out = rank_boot;
    return AQ_OK;
}
