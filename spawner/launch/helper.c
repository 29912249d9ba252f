// SPDX-License-Identifier: BSD-3-Clause
// The course of a helper: greeting, call, job; then the loop until the job or the parent is gone.
#include "helper.h"
#include "helper_members.h"
#include "helper_ranks.h"
#include "helper_look.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../other/base/system/await.h"
#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../supervise/supervisor_signal.h"
#include "../tree/workers.h"
#include "../supervise/supervisor.h"
#include "../tree/node_tree.h"
#include "../tree/node.h"
#include "../tree/node_watch.h"
#include "../tree/node_start.h"

// The time for each step of the introduction, so that a process that is stuck ends within 10 s.
#define CALL_MS 8000
#define PART_MS 3000
#define FAULT_NS UINT64_C(500000000)
#define EXIT_FAILED 1

// ---- before the loop: sequential steps ----

static bool read_intro(aq_bytes_t *bytes, aq_intro_t *intro)
{
    aq_frame_t frame;
    return aq_link_read_first(STDIN_FILENO, AQ_FIRST_MAX, CALL_MS, bytes, &frame) &&
           frame.type == AQ_MSG_INTRO && aq_read_intro(frame.payload, intro);
}

static uint64_t call_deadline(void)
{
    return aq_clock_ns() + (uint64_t)CALL_MS * 1000000;
}

static bool await_challenge(aq_helper_t *helper, aq_frame_t *frame)
{
    return aq_link_await(&helper->parent, AQ_FIRST_MAX, call_deadline(), frame) &&
           frame->type == AQ_MSG_CHALLENGE;
}

aq_status_t aq_helper_authenticate(aq_helper_t *helper, const aq_intro_t *intro)
{
    aq_auth_t auth = {.node = intro->node};
    aq_hello_t hello = {.node = intro->node};
    aq_challenge_t challenge;
    uint8_t answer[AQ_AUTH_BYTES];
    aq_frame_t frame;
    aq_auth_random(auth.caller, sizeof auth.caller);
    memcpy(hello.nonce, auth.caller, sizeof hello.nonce);
    aq_write_hello(&helper->parent.out, &hello);
    if (!await_challenge(helper, &frame) || !aq_read_challenge(frame.payload, &challenge))
        return AQ_AGAIN;
    memcpy(auth.listener, challenge.nonce, sizeof auth.listener);
    if (!aq_auth_verify(&auth, intro->key, false, challenge.tag))
        return AQ_ERR_PEER;
    aq_auth_tag(&auth, intro->key, true, answer);
    aq_write_auth(&helper->parent.out, answer);
    return aq_link_seal(&helper->parent, &auth, intro->key, true) == 0 ? AQ_OK : AQ_AGAIN;
}

bool aq_helper_take_job(aq_helper_t *helper, const aq_frame_t *frame)
{
    aq_node_t *node = &helper->node;
    aq_job_message_t job;
    if (!aq_read_job(frame->payload, &job))
        return false;
    aq_put_raw(&node->spec_bytes, job.spec, job.spec_bytes);
    aq_put_raw(&node->hosts_bytes, job.hosts, job.hosts_bytes);
    const aq_view_t view = {.at = node->spec_bytes.data, .left = node->spec_bytes.used};
    const aq_view_t hosts = {.at = node->hosts_bytes.data, .left = node->hosts_bytes.used};
    if (node->self == AQ_NODE_ANY)
        node->self = job.low;
    if (node->spec_bytes.failed || node->hosts_bytes.failed || !aq_read_spec(view, &node->spec) ||
        job.low != node->self || job.high > node->spec.host_count ||
        !aq_read_hosts(hosts, job.low, job.high, &node->spec))
        return false;
    if (helper->process.resume == NULL) {
        aq_log_verbose(node->spec.output.verbose);
        aq_log_quiet(node->spec.output.quiet);
    }
    (void)aq_settings_read_ports(node->spec.remote.ports, &node->ports);
    aq_link_bear(&helper->parent, node->spec.tree.silence_ms);
    node->window = UINT32_MAX;
    return aq_node_split(node, job.low + 1, job.high, node->spec.tree.radix);
}

static bool await_job(aq_helper_t *helper, uint64_t deadline)
{
    aq_frame_t frame;
    return aq_link_await(&helper->parent, AQ_FRAME_MAX, deadline, &frame) &&
           frame.type == AQ_MSG_JOB && aq_helper_take_job(helper, &frame);
}

static bool connect_parent(aq_helper_t *helper, const aq_intro_t *intro)
{
    int fd = aq_net_connect(intro->address, (uint16_t)intro->port, CALL_MS);
    if (fd < 0) {
        aq_log_error(
            "it cannot reach the process that started it at %s, port %u (%s); open ports in the "
            "firewall (GASNET_SPAWN_PORTS), or give the right address with GASNET_MASTERIP",
            intro->address, intro->port, strerror(errno));
        return false;
    }
    aq_link_open(&helper->parent, fd);
    helper->node.self = intro->node;
    memcpy(helper->node.key, intro->key, AQ_KEY_BYTES);
    return true;
}

static bool receive_job(aq_helper_t *helper, const aq_intro_t *intro)
{
    if (aq_helper_authenticate(helper, intro) == AQ_OK && await_job(helper, call_deadline()))
        return true;
    aq_log_error("the process at %s, port %u, refused it; the launcher's message says why",
                 intro->address, intro->port);
    return false;
}

static bool call_parent(aq_helper_t *helper)
{
    aq_bytes_t bytes = {0};
    aq_intro_t intro;
    if (!read_intro(&bytes, &intro)) {
        aq_log_error("this program is started by gasnetrun on other hosts; start gasnetrun itself");
        return false;
    }
    bool ok = connect_parent(helper, &intro) && receive_job(helper, &intro);
    explicit_bzero(intro.key, sizeof intro.key);
    explicit_bzero(bytes.data, bytes.used);
    aq_bytes_free(&bytes);
    return ok;
}

// Waits until the helper ends, then ends what the helper left behind: processes that ranks started
// would survive if the helper is killed.
__attribute__((noreturn)) static void run_guard(pid_t helper)
{
    (void)prctl(PR_SET_NAME, "gasnet-guard");
    (void)close_range(0, UINT_MAX, 0);
    while (waitpid(helper, NULL, 0) < 0 && errno == EINTR)
        continue;
    aq_supervised_sweep();
    _exit(0);
}

// Ends the remote shell, which has done its work, by ending this process; a child goes on as
// helper.
static bool leave_shell(void)
{
    pid_t pid = fork();
    if (pid > 0)
        _exit(0);
    int null = open("/dev/null", O_RDWR);
    bool ok = pid == 0 && null >= 0 && setsid() >= 0;
    for (int fd = 0; ok && fd < 3; fd++)
        ok = dup2(null, fd) >= 0;
    if (null > 2)
        (void)close(null);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid = ok ? fork() : -1;
    if (pid > 0)
        run_guard(pid);
    (void)prctl(PR_SET_NAME, "gasnet-helper");
    return pid == 0;
}

// Makes this process, for which the command waits, the guard; a child goes on as helper.
static bool leave_guard(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    (void)signal(SIGINT, SIG_DFL); // a shell lets its background processes ignore these
    (void)signal(SIGQUIT, SIG_DFL);
    pid_t guard = getpid(), pid = fork();
    if (pid > 0)
        run_guard(pid);
    (void)prctl(PR_SET_NAME, "gasnet-helper");
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid == 0 && getppid() == guard;
}

// The signals that reach the ranks through a helper of that kind.
static void choose_signals(const aq_helper_t *helper, sigset_t *set)
{
    static const int wanted[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    sigemptyset(set);
    if (helper->process.resume != NULL)
        aq_supervised_signals(set);
    else
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
            sigaddset(set, wanted[i]);
    sigaddset(set, SIGCHLD);
    sigaddset(set, AQ_WAKE_SIGNAL);
}

static bool open_signals(aq_helper_t *helper)
{
    sigset_t all, set;
    choose_signals(helper, &set);
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    helper->node.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return helper->node.signals >= 0;
}

// ---- frames of the parent ----

static void pass_down(aq_helper_t *helper, const aq_frame_t *frame)
{
    aq_bytes_t bytes = {0};
    aq_frame_copy(&bytes, frame);
    aq_node_down(&helper->node, &bytes);
    aq_bytes_free(&bytes);
}

static void signal_supervisor(const aq_helper_t *helper, int sig)
{
    if (helper->ranks.supervisor > 0)
        (void)kill(helper->ranks.supervisor, sig);
}

// Leaves the job, because this spare host is not needed. The hosts behind it are not needed either,
// and leave first.
static void leave_unused(aq_helper_t *helper)
{
    aq_write_done(&helper->output.held, &(aq_done_t){helper->node.self, 0});
    helper->told.done = true;
}

static bool take_go(aq_helper_t *helper, const aq_frame_t *frame)
{
    aq_go_t go;
    aq_node_t *node = &helper->node;
    if (node->going || !aq_read_go(frame->payload, &node->spec, &go))
        return false;
    aq_node_go(node, &go);
    bool ok = true;
    if (!aq_go_has(&go, node->self, node->self + 1))
        leave_unused(helper);
    else if (!(ok = aq_helper_start_ranks(helper, &go)))
        aq_log_error("the ranks cannot be started (%s)", strerror(errno));
    else {
        aq_helper_start_members(helper);
        aq_helper_look_listen(helper);
    }
    aq_go_free(&go);
    return ok;
}

static bool take_ended(aq_helper_t *helper, const aq_frame_t *frame)
{
    aq_end_t end;
    if (!aq_read_end(frame->payload, &end))
        return false;
    helper->told.exit = helper->ended = true;
    helper->told.abort = helper->told.abort || end.now;
    helper->end_code = (int)end.code;
    // There are ranks to wait for since GO, which members of a rendezvous do not get.
    helper->gone = helper->gone || !(helper->ranks.started || helper->node.going);
    (void)aq_page_announce(helper->ranks.page, AQ_NO_RANK, (int)end.code);
    if (end.now)
        atomic_store(&helper->ranks.page->abort_requested, 1);
    signal_supervisor(helper, AQ_WAKE_SIGNAL);
    return true;
}

static bool take_spread(aq_helper_t *helper, const aq_frame_t *frame)
{
    aq_gathered_t all;
    const aq_page_step_t *step = &helper->step;
    if (!aq_read_gathered(frame->payload, AQ_MSG_SPREAD, helper->node.spec.size, &all) ||
        (helper->ranks.count > 0 && (all.step.kind != step->kind || all.step.part != step->part)))
        return false;
    if (helper->ranks.count == 0)
        return true; // on its way out
    if (all.length > 0)
        memcpy(aq_page_slots(helper->ranks.page, step->round), all.data, all.length);
    if (step->kind == AQ_STEP_GROW)
        return aq_helper_admit(helper);
    aq_page_complete(helper->ranks.page);
    return true;
}

static bool take_signal(aq_helper_t *helper, const aq_frame_t *frame)
{
    uint32_t sig;
    if (!aq_read_number(frame->payload, &sig) || sig == 0 || sig >= (uint32_t)SIGRTMIN)
        return false;
    signal_supervisor(helper, (int)sig);
    return true;
}

static bool take_credit(aq_helper_t *helper, const aq_frame_t *frame)
{
    uint32_t bytes;
    if (!aq_read_number(frame->payload, &bytes))
        return false;
    helper->output.credit += bytes;
    return true;
}

static void take_input(aq_helper_t *helper, const aq_frame_t *frame)
{
    aq_child_t *child = aq_node_first_child(&helper->node);
    if (child != NULL)
        aq_frame_copy(&child->link.out, frame);
    else
        aq_helper_take_input(helper, frame->payload.at, frame->payload.left);
}

static bool take_look(aq_helper_t *helper, const aq_frame_t *frame)
{
    aq_query_t order;
    if (!aq_read_query(frame->payload, &order))
        return false;
    aq_helper_look(helper, &order);
    return true;
}

static bool handle_frame(aq_helper_t *helper, const aq_frame_t *frame)
{
    if (frame->type != AQ_MSG_INPUT && frame->type != AQ_MSG_CREDIT && frame->type != AQ_MSG_PING &&
        frame->type != AQ_MSG_READER_REPLY)
        pass_down(helper, frame);
    if (frame->type == AQ_MSG_ENDED || frame->type == AQ_MSG_SIGNAL)
        aq_helper_tell_members(helper, frame);
    switch (frame->type) {
    case AQ_MSG_GO:
        return take_go(helper, frame);
    case AQ_MSG_ENDED:
        return take_ended(helper, frame);
    case AQ_MSG_SPREAD:
        return take_spread(helper, frame);
    case AQ_MSG_SIGNAL:
        return take_signal(helper, frame);
    case AQ_MSG_CREDIT:
        return take_credit(helper, frame);
    case AQ_MSG_PING:
        aq_write_empty(&helper->parent.out, AQ_MSG_PONG);
        return true;
    case AQ_MSG_QUERY:
        return take_look(helper, frame);
    case AQ_MSG_READER_REPLY:
        return aq_helper_take_told(helper, frame);
    case AQ_MSG_LOST:
        helper->process.lost = helper->gone = true;
        return helper->process.attached;
    case AQ_MSG_INPUT:
        take_input(helper, frame);
        return true;
    default:
        return false;
    }
}

// The outgoing direction is sealed separately and still arrives, unless the attacker stops it; then
// the parent only sees that the link ends.
static void report_forged(aq_helper_t *helper, int error)
{
    char reason[AQ_REMOTE_TEXT], text[AQ_REMOTE_TEXT + 64];
    aq_link_reason(&helper->parent, error, reason, sizeof reason);
    snprintf(text, sizeof text, "its connection to its parent is lost: %s", reason);
    aq_write_failed(&helper->parent.out,
                    &(aq_failed_t){helper->node.self, helper->node.self + 1, text});
    helper->forged = true;
}

static void serve_parent(aq_node_t *node, void *item, short events)
{
    aq_helper_t *helper = item;
    aq_frame_t frame;
    aq_framing_t framing;
    (void)node;
    int error = events & ~POLLOUT ? aq_link_receive(&helper->parent) : 0;
    if (error != 0)
        helper->gone = true;
    if (error == EBADMSG)
        report_forged(helper, error);
    while ((framing = aq_link_next(&helper->parent, AQ_FRAME_MAX, &frame)) == AQ_FRAME_WHOLE)
        if (!handle_frame(helper, &frame))
            helper->gone = true;
    if (framing == AQ_FRAME_BAD)
        helper->gone = true;
}

// ---- the loop's side ----

// The end of a host must not overtake its output, and reports about the start keep their order;
// every other frame may overtake held output.
static bool keeps_order(unsigned type)
{
    return type == AQ_MSG_OUTPUT || type == AQ_MSG_DONE || type == AQ_MSG_STARTED ||
           type == AQ_MSG_FAILED || type == AQ_MSG_AGAIN;
}

static bool is_first(bool *told)
{
    bool first = !*told;
    *told = true;
    return first;
}

// Whether the launcher still needs this report. Of some kinds it needs only one, so that each
// helper sends at most one, its own or one from below. An EXIT counts again if it is the first that
// asks for an immediate end.
static bool is_news(aq_helper_t *helper, const aq_frame_t *frame)
{
    aq_end_t end;
    if (frame->type == AQ_MSG_JOINED)
        return is_first(&helper->told.joined);
    if (frame->type == AQ_MSG_LEFT)
        return is_first(&helper->told.left);
    if (frame->type != AQ_MSG_EXIT || !aq_read_end(frame->payload, &end))
        return true;
    bool first = is_first(&helper->told.exit);
    return (end.now && is_first(&helper->told.abort)) || first;
}

static void helper_up(aq_node_t *node, const aq_frame_t *frame)
{
    aq_helper_t *helper = aq_helper_of(node);
    if (!is_news(helper, frame))
        return;
    if (keeps_order(frame->type))
        aq_frame_copy(&helper->output.held, frame);
    else
        aq_frame_copy(&helper->parent.out, frame);
}

// Sends held output as far as the credit allows.
static void send_held(aq_helper_t *helper)
{
    aq_bytes_t *held = &helper->output.held;
    aq_frame_t frame;
    size_t at = 0;
    while (aq_frame_read(held->data + at, held->used - at, AQ_FRAME_MAX, &frame) ==
               AQ_FRAME_WHOLE &&
           (frame.type != AQ_MSG_OUTPUT || helper->output.credit > 0)) {
        aq_frame_copy(&helper->parent.out, &frame);
        helper->output.credit -= frame.type == AQ_MSG_OUTPUT ? (int64_t)frame.payload.left : 0;
        at += frame.bytes;
    }
    if (at > 0)
        memmove(held->data, held->data + at, held->used - at);
    held->used -= at;
}

static void helper_gathered(aq_node_t *node)
{
    aq_gathered_t all = aq_gather_result(&node->gather);
    aq_write_gathered(&aq_helper_of(node)->parent.out, AQ_MSG_GATHER, &all);
    aq_gather_reset(&node->gather);
}

static bool helper_blocked(aq_node_t *node)
{
    return aq_helper_of(node)->output.held.used > AQ_OUTPUT_CREDIT;
}

// In a rendezvous, signals of the terminal reach the supervisor without this process.
static void pass_signal(aq_helper_t *helper, const struct signalfd_siginfo *info)
{
    int sig = (int)info->ssi_signo;
    if (sig == SIGCHLD || sig == AQ_WAKE_SIGNAL ||
        aq_supervised_is_own(sig, info->ssi_code, (pid_t)info->ssi_pid))
        return;
    if (helper->process.resume != NULL && aq_supervised_is_stop(sig))
        helper->process.stopped = true;
    if (helper->process.resume == NULL || !aq_supervised_of_terminal(sig, info->ssi_code))
        signal_supervisor(helper, sig);
}

static void serve_signals(aq_node_t *node, void *item, short events)
{
    struct signalfd_siginfo info;
    (void)item;
    (void)events;
    while (read(node->signals, &info, sizeof info) == (ssize_t)sizeof info)
        pass_signal(aq_helper_of(node), &info);
}

// The daemon that forked this helper has ended, and a job must not outlive it on its host.
static void serve_lifeline(aq_node_t *node, void *item, short events)
{
    aq_helper_t *helper = item;
    (void)node;
    (void)events;
    helper->gone = true;
}

static void helper_watch(aq_node_t *node)
{
    aq_helper_t *helper = aq_helper_of(node);
    int wanted = POLLIN | (aq_link_waiting(&helper->parent) > 0 ? POLLOUT : 0);
    aq_node_watch(node, node->signals, POLLIN, serve_signals, helper);
    aq_node_watch(node, helper->parent.fd, (short)wanted, serve_parent, helper);
    if (helper->lifeline >= 0)
        aq_node_watch(node, helper->lifeline, POLLIN, serve_lifeline, helper);
    aq_helper_watch_ranks(helper, helper_blocked(node));
    aq_helper_watch_members(helper);
    aq_readers_watch(&helper->look.readers, node);
}

static void helper_reaped(aq_node_t *node, pid_t pid, int status)
{
    aq_helper_t *helper = aq_helper_of(node);
    if (pid != helper->ranks.supervisor)
        return;
    helper->ranks.supervisor = 0;
    helper->ranks.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (WIFSIGNALED(status)) {
        aq_log_error(
            "the supervisor of the ranks (process %ld) was killed by signal %d; the job is ended",
            (long)pid, WTERMSIG(status));
        aq_page_fail(helper->ranks.page, helper->ranks.code);
    } else if (helper->process.stopped &&
               atomic_load(&helper->ranks.page->exit_word) == AQ_BOOT_RUNNING) {
        aq_page_fail(helper->ranks.page, helper->ranks.code); // only this rank got the signal
    }
}

// Reports once other ranks with the same fault have been counted, or the ranks are gone.
static void report_fault(aq_helper_t *helper, bool now)
{
    const aq_fault_t fault = {atomic_load(&helper->ranks.page->fault.ranks),
                              helper->ranks.page->fault.text};
    if (fault.ranks == 0 || helper->told.fault)
        return;
    if (helper->told.fault_due == 0)
        helper->told.fault_due = aq_clock_ns() + FAULT_NS;
    if (!now && aq_clock_ns() < helper->told.fault_due)
        return;
    aq_write_fault(&helper->parent.out, &fault);
    helper->told.fault = true;
}

static void report_done(aq_helper_t *helper)
{
    int code = helper->ranks.code != 0 ? helper->ranks.code : helper->process.members.code;
    aq_helper_drain(helper);
    if (!helper->process.attached)
        report_fault(helper, true);
    aq_write_done(&helper->output.held, &(aq_done_t){helper->node.self, (uint32_t)code & 0xff});
    helper->told.done = true;
}

static void helper_turn(aq_node_t *node)
{
    aq_helper_t *helper = aq_helper_of(node);
    if (!helper->process.attached) {
        aq_helper_check_page(helper);
        report_fault(helper, false);
    }
    if (helper->ranks.started && helper->ranks.supervisor == 0 && !helper->told.done &&
        aq_members_done(&helper->process.members))
        report_done(helper);
    aq_helper_check_asks(helper);
    send_held(helper);
    aq_members_flush(&helper->process.members);
    if (helper->output.held.failed || aq_link_flush(&helper->parent) != 0)
        helper->gone = true;
}

static const aq_node_ops_t helper_ops = {
    .up = helper_up,
    .gathered = helper_gathered,
    .watch = helper_watch,
    .turn = helper_turn,
    .reaped = helper_reaped,
    .blocked = helper_blocked,
};

static bool is_over(const aq_helper_t *helper)
{
    return helper->gone || (helper->told.done && aq_node_is_quiet(&helper->node) &&
                            helper->output.held.used == 0 && aq_link_waiting(&helper->parent) == 0);
}

// Closing a socket with unread input discards what the parent has not received yet, so this side
// lets the parent close first.
static void close_after_parent(const aq_helper_t *helper)
{
    char unread[256];
    uint64_t deadline = aq_clock_ns() + (uint64_t)PART_MS * 1000000;
    (void)shutdown(helper->parent.fd, SHUT_WR);
    while (aq_clock_ns() < deadline && aq_await(helper->parent.fd, POLLIN, PART_MS) &&
           recv(helper->parent.fd, unread, sizeof unread, MSG_DONTWAIT) > 0)
        continue;
}

// The ranks die with their supervisor; this process adopts and ends what they left behind.
static void end_all(aq_helper_t *helper)
{
    // The reason why the job ended may still be unread, and the parent may still listen.
    if (aq_await(helper->output.streams[AQ_HELPER_OWN].fd, POLLIN, 0))
        (void)aq_stream_copy(&helper->output.streams[AQ_HELPER_OWN]);
    aq_helper_pass_lines(helper);
    send_held(helper);
    (void)aq_link_flush(&helper->parent);
    if (!helper->gone || helper->forged)
        close_after_parent(helper);
    aq_link_close(&helper->parent);
    aq_members_close(&helper->process.members);
    aq_node_close(&helper->node);
    signal_supervisor(helper, SIGKILL);
    aq_supervised_sweep();
}

// The code of the job, as far as it is known here.
static int helper_code(const aq_helper_t *helper)
{
    if (helper->ended && (helper->end_code != 0 || !helper->told.done))
        return helper->end_code;
    return helper->told.done ? helper->ranks.code & 0xff : EXIT_FAILED;
}

// Logs the loss of the master in each process of a rendezvous, because messages of others do not
// reach its user. Rank 0 is silent: it sees the master end itself.
static void tell_lost_master(aq_helper_t *helper)
{
    if (helper->process.resume == NULL || !helper->gone || helper->ended || helper->told.done ||
        (helper->process.attached && !helper->process.lost))
        return;
    aq_helper_tell_lost(helper);
    if (helper->process.rank != 0)
        aq_log_error("rank %" PRIu32
                     " has lost its connection to rank 0, which held the job together; it is ended",
                     helper->process.rank);
}

static void report_started(aq_helper_t *helper)
{
    aq_node_t *node = &helper->node;
    char seen[AQ_ADDRESS_TEXT];
    node->gather = (aq_gather_t){.size = node->spec.size};
    aq_net_local(helper->parent.fd, seen);
    aq_write_node_text(&helper->parent.out, AQ_MSG_STARTED, &(aq_node_text_t){node->self, seen});
}

// Starts the rank of a member, on the page of the process that leads. A member gets no GO.
static void start_member(aq_helper_t *helper)
{
    if (aq_helper_start_ranks(helper, NULL))
        return;
    aq_node_report(&helper->node, helper->node.self, helper->node.self + 1, strerror(errno));
    send_held(helper);
    helper->gone = true;
}

int aq_helper_run(aq_helper_t *helper)
{
    aq_node_t *node = &helper->node;
    if (!open_signals(helper) || !aq_helper_prepare(helper)) {
        aq_node_report(
            node, node->self, node->self + 1,
            "its helper lacks memory or open files; raise the limits there (ulimit -n, ulimit -v)");
        send_held(helper);
        (void)aq_link_flush(&helper->parent);
        return EXIT_FAILED;
    }
    if (helper->process.attached)
        start_member(helper);
    else
        report_started(helper);
    aq_node_start_more(node);
    while (!is_over(helper))
        aq_node_turn(node);
    tell_lost_master(helper);
    end_all(helper);
    return helper_code(helper);
}

void aq_helper_init(aq_helper_t *helper)
{
    *helper = (aq_helper_t){.ranks.own_errors = -1,
                            .output.credit = AQ_OUTPUT_CREDIT,
                            .parent.fd = -1,
                            .process.members.listener = -1,
                            .lifeline = -1};
    aq_node_init(&helper->node, &helper_ops);
    aq_helper_look_start(helper);
}

int aq_helper_main(void)
{
    static aq_helper_t helper;
    aq_log_program("gasnetrun");
    aq_helper_init(&helper);
    if (aq_auth_init() != AQ_OK)
        return EXIT_FAILED;
    aq_remote_greet();
    if (!call_parent(&helper) || !leave_shell())
        return EXIT_FAILED;
    (void)aq_helper_run(&helper);
    return 0;
}

int aq_helper_serve(const aq_link_t *parent, const uint8_t key[AQ_KEY_BYTES], int lifeline)
{
    static aq_helper_t helper;
    aq_log_program("gasnetrun");
    aq_helper_init(&helper);
    helper.parent = *parent;
    helper.lifeline = lifeline;
    helper.node.self = AQ_NODE_ANY;
    memcpy(helper.node.key, key, AQ_KEY_BYTES);
    if (!leave_guard() || !await_job(&helper, call_deadline()))
        return EXIT_FAILED;
    (void)aq_helper_run(&helper);
    return 0;
}

// ---- workers ----

// Returns -1 if no address answers; logged.
static int call_launcher(const aq_worker_way_t *way)
{
    int fd = aq_net_connect_any(way->addresses, way->port, CALL_MS);
    if (fd < 0)
        aq_log_error(
            "the launcher of the job does not answer at %s, port %u (%s); it has ended or has all "
            "its processes, or a firewall blocks the way (GASNET_SPAWN_PORTS, GASNET_MASTERIP)",
            way->addresses, way->port, strerror(errno));
    return fd;
}

// This worker has no key. All workers may be in the same state, so the launcher reports the fault
// for all of them. A worker that cannot reach the launcher logs that itself. Waits until the
// launcher knows.
static void report_keyless(aq_helper_t *helper, const aq_worker_way_t *way)
{
    const aq_hello_t hello = {.node = AQ_NODE_KEYLESS};
    aq_frame_t none;
    int fd = aq_net_connect_any(way->addresses, way->port, CALL_MS);
    if (fd < 0)
        return;
    aq_link_open(&helper->parent, fd);
    aq_write_hello(&helper->parent.out, &hello);
    (void)await_challenge(helper, &none);
    aq_link_close(&helper->parent);
}

// Variables that the command gave this process override those of the launcher.
static bool merge_environment(aq_spec_t *spec)
{
    size_t own = 0, count = 0;
    while (environ[own] != NULL)
        own++;
    while (spec->command.environment[count] != NULL)
        count++;
    char **all = calloc(own + count + 1, sizeof *all);
    if (all == NULL)
        return false;
    memcpy(all, environ, own * sizeof *all);
    for (char **more = spec->command.environment; *more != NULL; more++) {
        char *name = strndup(*more, strcspn(*more, "="));
        if (name != NULL && getenv(name) == NULL)
            all[own++] = *more;
        free(name);
    }
    free(spec->command.environment);
    spec->command.environment = all;
    return true;
}

static bool meet_launcher(aq_helper_t *helper, const aq_worker_way_t *way)
{
    aq_intro_t intro = {.node = AQ_NODE_ANY, .port = way->port, .address = way->addresses};
    aq_worker_t worker;
    aq_worker_introduce(way->host, &worker);
    int fd = call_launcher(way);
    if (fd < 0)
        return false;
    memcpy(intro.key, way->key, sizeof intro.key);
    memcpy(helper->node.key, way->key, sizeof helper->node.key);
    aq_link_open(&helper->parent, fd);
    aq_status_t status = aq_helper_authenticate(helper, &intro);
    if (status == AQ_ERR_PEER)
        aq_log_error("the process at %s, port %u, does not know the key of the job; something else "
                     "than the launcher listens there",
                     way->addresses, way->port);
    if (status != AQ_OK)
        return false; // a launcher that closes the connection reports why the job does not start
    aq_write_worker(&helper->parent.out, &worker);
    return true;
}

int aq_worker_main(char *word)
{
    static aq_helper_t helper;
    aq_worker_way_t way;
    aq_log_program("gasnetrun");
    aq_helper_init(&helper);
    helper.node.self = AQ_NODE_ANY;
    if (aq_settings_load_logged() != AQ_OK || aq_auth_init() != AQ_OK ||
        !aq_worker_read(word, &way))
        return EXIT_FAILED;
    if (!way.has_key)
        report_keyless(&helper, &way);
    if (!way.has_key || !meet_launcher(&helper, &way))
        return EXIT_FAILED;
    // The launcher sends the job once all workers have called.
    if (!await_job(&helper, UINT64_MAX) || !merge_environment(&helper.node.spec))
        return 0; // the launcher reports the fault
    if (!leave_guard())
        return EXIT_FAILED;
    (void)aq_helper_run(&helper);
    return 0;
}
