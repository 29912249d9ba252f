// SPDX-License-Identifier: BSD-3-Clause
// The launcher's loop for several hosts.
//
// STARTING: hosts report. Once all are ready: GO, then RUNNING. If a host failed, then ENDING once
// all have reported. With spare hosts: GO once as many as are needed are ready, and either no host
// that precedes them in the list may still become ready, or these have had their grace.
// RUNNING: until each host has reported that its ranks are gone.
// ENDING: an exit was announced or the job failed. The hosts have until the deadline; then the
// launcher closes the links, which ends everything behind them.
#include "launcher.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "launcher_end.h"
#include "launcher_look.h"
#include "launcher_command.h"
#include "../supervise/supervisor_signal.h"
#include "../supervise/supervisor_start.h"
#include "../tree/workers.h"
#include "../../other/base/minmax.h"
#include "../../other/base/system/open_files.h"
#include "../supervise/supervisor.h"
#include "../tree/node_tree.h"
#include "../tree/node.h"
#include "../tree/node_watch.h"
#include "../tree/node_start.h"

#define INPUT_CREDIT ((uint32_t)64 * 1024)
#define REASONS 8
#define SPARE_GRACE AQ_SECOND // for hosts that are slower than as many as are needed
#define PROGRESS_HOSTS 16

static const char *host_name(const aq_launcher_t *launcher, uint32_t host)
{
    return aq_spec_host(&launcher->node.spec, host)->name;
}

// What a message calls a host: in a rendezvous, the process that leads there.
typedef struct host_title {
    char text[AQ_ADDRESS_TEXT + 32];
} host_title_t;

static host_title_t title_of(const aq_launcher_t *launcher, uint32_t host)
{
    host_title_t title;
    int room = (int)sizeof title.text - 32;
    if (launcher->node.spec.rendezvous)
        snprintf(title.text, sizeof title.text, "rank %" PRIu32 " on host %.*s",
                 launcher->node.children[host].number, room, host_name(launcher, host));
    else
        snprintf(title.text, sizeof title.text, "host %.*s", room, host_name(launcher, host));
    return title;
}

// ---- output ----

static void flush_sinks(aq_launcher_t *launcher)
{
    (void)aq_sink_flush(&launcher->output.sinks[0]);
    (void)aq_sink_flush(&launcher->output.sinks[1]);
}

// Shows the progress of a start with many hosts, on a terminal.
static void show_progress(aq_launcher_t *launcher)
{
    uint32_t all = launcher->node.spec.host_count;
    bool over = launcher->phase != LAUNCH_STARTING;
    if (all <= PROGRESS_HOSTS || !isatty(STDERR_FILENO) || (launcher->start.shown == 0 && over) ||
        (!over && launcher->start.shown == launcher->start.started + 1))
        return;
    if (over)
        fprintf(stderr, "\r%40s\r", "");
    else
        fprintf(stderr, "\r%" PRIu32 " of %" PRIu32 " hosts started", launcher->start.started, all);
    launcher->start.shown = over ? 0 : launcher->start.started + 1;
}

// ---- the start ----

// Two workers on one machine share a host.
static bool is_machine_known(const aq_launcher_t *launcher, uint32_t node)
{
    const aq_spec_t *spec = &launcher->node.spec;
    const aq_node_text_t *first = &launcher->go.peer[0];
    return spec->machine_of_rank != NULL && first->text[0] != '\0' &&
           aq_spec_machine(spec, node) == aq_spec_machine(spec, first->node);
}

static void note_peer(aq_launcher_t *launcher, const aq_node_text_t *text)
{
    aq_go_t *go = &launcher->go;
    int at = go->peer[0].text[0] == '\0' ? 0 : 1;
    if (aq_net_is_loopback(text->text) || text->text[0] == '\0' || go->peer[1].text[0] != '\0' ||
        is_machine_known(launcher, text->node))
        return;
    snprintf(launcher->peers[at], AQ_ADDRESS_TEXT, "%s", text->text);
    go->peer[at] = (aq_node_text_t){text->node, launcher->peers[at]};
}

static void warn_loopback(const aq_launcher_t *launcher, const aq_node_text_t *text)
{
    const aq_spec_t *spec = &launcher->node.spec;
    if (spec->host_count > 1 && !spec->workers && aq_net_is_loopback(text->text) &&
        !aq_remote_is_here(&spec->hosts[text->node]))
        aq_log_warn(
            "host %s: its name resolves to the loopback address %s, which other hosts cannot "
            "reach; the addresses of its interfaces are used, but correct /etc/hosts",
            host_name(launcher, text->node), text->text);
}

static uint32_t count_needed(const aq_launcher_t *launcher)
{
    return launcher->node.spec.host_count - launcher->node.spec.spare;
}

// When enough hosts have started, the others get as long again as the median host took.
static void note_pace(aq_launcher_t *launcher)
{
    uint64_t now = aq_clock_ns();
    if (launcher->start.half_took == 0 && 2 * launcher->start.started >= count_needed(launcher))
        launcher->start.half_took = now - launcher->start.began;
    if (launcher->start.grace_ends == 0 && launcher->start.started >= count_needed(launcher))
        launcher->start.grace_ends =
            aq_max(now + SPARE_GRACE, launcher->start.began + 2 * launcher->start.half_took);
}

static void take_started(aq_launcher_t *launcher, const aq_node_text_t *text)
{
    if (launcher->start.states[text->node] != HOST_WAITED_FOR)
        return;
    launcher->start.states[text->node] = HOST_STARTED;
    launcher->start.started++;
    note_pace(launcher);
    note_peer(launcher, text);
    warn_loopback(launcher, text);
    aq_log_info("host %s has started", host_name(launcher, text->node));
}

static void keep_reason(aq_launcher_t *launcher, uint32_t host, const aq_failed_t *failed)
{
    char *text;
    if (launcher->start.failed > REASONS + launcher->node.spec.spare)
        return;
    int length = host == failed->low ? asprintf(&text, "%s", failed->why)
                                     : asprintf(&text, "host %s should have started it",
                                                host_name(launcher, failed->low));
    launcher->start.reasons[host] = length >= 0 ? text : NULL;
}

// The ranks of these hosts are gone, if there were any.
static void lose_hosts(aq_launcher_t *launcher, const aq_failed_t *failed)
{
    bool had_ranks = false;
    for (uint32_t host = failed->low; host < failed->high; host++) {
        had_ranks = had_ranks || launcher->start.states[host] == HOST_STARTED;
        launcher->start.states[host] = HOST_DONE;
    }
    if (launcher->end.now || !had_ranks)
        return;
    flush_sinks(launcher);
    aq_log_error("%s: %s; the job is ended", title_of(launcher, failed->low).text, failed->why);
    aq_launcher_end_job(launcher, 1, true);
}

// A worker has no rank before all are there: until then the text has the place of its link.
static void lose_worker(aq_launcher_t *launcher, const aq_child_t *child, const aq_failed_t *failed)
{
    if (launcher->node.spec.starter != NULL)
        aq_log_error(
            "the helper of host %s, which spawner %s started, was lost: %s; the job does not start",
            child->host[0] != '\0' ? child->host : child->seen, launcher->node.spec.starter,
            failed->why);
    else if (!launcher->node.spec.rendezvous)
        aq_log_error("a process that GASNET_CSPAWN_CMD started, on host %s, was lost: %s; the job "
                     "does not start",
                     host_name(launcher, failed->low), failed->why);
    else if (child->host[0] != '\0')
        aq_log_error("the process of rank %" PRIu32
                     " on host %s (%s) was lost: %s; the job does not start",
                     child->number, child->host, child->seen, failed->why);
    else
        aq_log_error("a process at %s was lost before it told its rank: %s; the job does not start",
                     child->seen, failed->why);
    aq_launcher_fail_start(launcher);
}

static void fail_host(aq_launcher_t *launcher, uint32_t host, const aq_failed_t *failed)
{
    if (launcher->start.states[host] == HOST_FAILED || launcher->start.states[host] == HOST_DONE)
        return;
    launcher->start.started -= launcher->start.states[host] == HOST_STARTED;
    launcher->start.states[host] = HOST_FAILED;
    launcher->start.failed++;
    if (launcher->start.started < count_needed(launcher))
        launcher->start.grace_ends = 0;
    keep_reason(launcher, host, failed);
}

static void take_failed(aq_launcher_t *launcher, const aq_failed_t *failed)
{
    if (launcher->phase != LAUNCH_STARTING)
        lose_hosts(launcher, failed);
    else if (launcher->node.spec.workers)
        lose_worker(launcher, &launcher->node.children[failed->low], failed);
    else
        for (uint32_t host = failed->low; host < failed->high; host++)
            fail_host(launcher, host, failed);
}

static void forget_host(aq_launcher_t *launcher, uint32_t host)
{
    launcher->start.started -= launcher->start.states[host] == HOST_STARTED;
    launcher->start.failed -= launcher->start.states[host] == HOST_FAILED;
    launcher->start.states[host] = HOST_WAITED_FOR;
    free(launcher->start.reasons[host]);
    launcher->start.reasons[host] = NULL;
}

static void take_again(aq_launcher_t *launcher, const aq_again_t *again)
{
    if (launcher->phase != LAUNCH_STARTING)
        return; // the failure that follows ends the job
    for (uint32_t host = again->low; host < again->high; host++)
        forget_host(launcher, host);
    if (launcher->start.started < count_needed(launcher))
        launcher->start.grace_ends = 0;
}

// A host has lost its connection to a member, which is no child of this process.
static void take_lost(aq_launcher_t *launcher, const aq_node_text_t *text)
{
    const aq_node_t *node = &launcher->node;
    const aq_failed_t failed = {text->node, text->node + 1, text->text};
    if (launcher->end.now)
        return;
    flush_sinks(launcher);
    for (uint32_t i = 0; i < node->child_count && !launcher->workers.numbered; i++)
        if (node->children[i].state == AQ_CHILD_GONE && node->children[i].number == text->node) {
            lose_worker(launcher, &node->children[i], &failed);
            return;
        }
    if (launcher->workers.numbered)
        aq_log_error(
            "rank %" PRIu32 " on host %s: the connection to it is lost: %s; the job is ended",
            text->node, host_name(launcher, node->spec.host_of_rank[text->node]), text->text);
    aq_launcher_end_job(launcher, 1, true);
}

static void report_failures(aq_launcher_t *launcher)
{
    const aq_spec_t *spec = &launcher->node.spec;
    uint32_t shown = 0, most = REASONS + spec->spare;
    show_progress(launcher);
    for (uint32_t host = 0; host < spec->host_count && shown < most; host++)
        if (launcher->start.reasons[host] != NULL) {
            aq_log_error("host %s: %s", host_name(launcher, host), launcher->start.reasons[host]);
            shown++;
        }
    if (launcher->start.failed > shown)
        aq_log_error("%" PRIu32 " more hosts failed", launcher->start.failed - shown);
    aq_log_error(
        "%" PRIu32 " of %" PRIu32
        " hosts started%s, so there is no job; gasnet_recon tells what is wrong with each host",
        launcher->start.started, spec->host_count,
        spec->spare > 0 ? ", which is fewer than option -N asks for" : "");
}

// Gives the places to the first hosts of the list that have started.
static bool choose_hosts(aq_launcher_t *launcher)
{
    aq_go_t *go = &launcher->go;
    uint32_t needed = count_needed(launcher);
    go->hosts = calloc(needed, sizeof *go->hosts);
    for (uint32_t host = 0; go->hosts != NULL && go->places < needed; host++)
        if (launcher->start.states[host] == HOST_STARTED)
            go->hosts[go->places++] = host;
    return go->hosts != NULL;
}

// Tells the user of a host that is left out, unless it is only not needed.
static void leave_out(aq_launcher_t *launcher, uint32_t host, uint32_t last)
{
    const aq_hosts_start_t *start = &launcher->start;
    const bool failed = start->states[host] == HOST_FAILED;
    if (failed)
        aq_log_warn("host %s is left out: %s", host_name(launcher, host),
                    start->reasons[host] != NULL ? start->reasons[host] : "it failed");
    else if (start->states[host] == HOST_WAITED_FOR && host < last)
        aq_log_warn(
            "host %s is left out: it had not started after %.1f seconds, when enough others had",
            host_name(launcher, host), (double)(aq_clock_ns() - start->began) / (double)AQ_SECOND);
    else
        aq_log_info("host %s is not needed", host_name(launcher, host));
    start->states[host] = failed ? HOST_DONE : HOST_UNUSED;
}

static void leave_out_others(aq_launcher_t *launcher)
{
    const aq_go_t *go = &launcher->go;
    for (uint32_t host = 0; host < launcher->node.spec.host_count; host++)
        if (!aq_go_has(go, host, host + 1))
            leave_out(launcher, host, go->hosts[go->places - 1]);
}

static void start_ranks(aq_launcher_t *launcher)
{
    aq_bytes_t bytes = {0};
    if (!choose_hosts(launcher)) {
        aq_log_error("no memory for the table of hosts");
        aq_launcher_fail_start(launcher);
        return;
    }
    leave_out_others(launcher);
    launcher->phase = LAUNCH_RUNNING;
    aq_write_go(&bytes, &launcher->go);
    aq_node_down(&launcher->node, &bytes);
    aq_node_go(&launcher->node, &launcher->go);
    aq_bytes_free(&bytes);
    launcher->workers.start_ranks = true;
    launcher->input_open = !launcher->node.spec.rendezvous;
    show_progress(launcher);
}

// Whether waiting for more hosts would not change the choice.
static bool is_settled(const aq_launcher_t *launcher)
{
    uint32_t needed = count_needed(launcher), ready = 0;
    for (uint32_t host = 0; ready < needed; host++) {
        if (launcher->start.states[host] == HOST_WAITED_FOR)
            return false;
        ready += launcher->start.states[host] == HOST_STARTED;
    }
    return true;
}

static void check_started(aq_launcher_t *launcher)
{
    if (launcher->phase != LAUNCH_STARTING)
        return;
    show_progress(launcher);
    if (launcher->start.started >= count_needed(launcher)) {
        if (is_settled(launcher) || aq_clock_ns() >= launcher->start.grace_ends)
            start_ranks(launcher);
        return;
    }
    if (launcher->start.started + launcher->start.failed < launcher->node.spec.host_count)
        return;
    launcher->phase = LAUNCH_ENDING;
    report_failures(launcher);
    launcher->end.code = 1;
    launcher->end.code_known = true;
    aq_node_close(&launcher->node);
}

// ---- frames ----

static size_t count_streams(const aq_launcher_t *launcher)
{
    return (size_t)launcher->node.spec.host_count * AQ_OUTPUT_STREAMS;
}

static void make_streams(aq_launcher_t *launcher)
{
    aq_launch_output_t *out = &launcher->output;
    out->streams = calloc(count_streams(launcher), sizeof *out->streams);
    for (size_t i = 0; out->streams != NULL && i < count_streams(launcher); i++) {
        const bool output = out->one_sink || i % AQ_OUTPUT_STREAMS == 0;
        out->streams[i] = (aq_stream_t){.fd = -1,
                                        .rank = (uint32_t)(i / AQ_OUTPUT_STREAMS),
                                        .sink = &out->sinks[output ? 0 : 1]};
    }
}

static void take_output(aq_launcher_t *launcher, const aq_frame_t *frame)
{
    aq_output_t output;
    if (!aq_read_output(frame->payload, &output) || output.node >= launcher->node.spec.host_count)
        return;
    aq_stream_t *stream =
        &launcher->output.streams[output.node * AQ_OUTPUT_STREAMS + output.stream];
    aq_stream_feed(stream, (const char *)output.data, output.length);
    aq_stream_note_due(stream, &launcher->node.wake);
}

// Ranks that leave without joining run programs of another kind, unless other ranks have joined.
static void check_left(aq_launcher_t *launcher)
{
    if (!launcher->end.left || !launcher->end.joined || launcher->end.code_known)
        return;
    flush_sinks(launcher);
    aq_log_error("a rank has ended without joining the job that others have joined; every rank "
                 "must run a GASNet program that calls init");
    aq_launcher_end_job(launcher, 1, true);
}

static void take_done(aq_launcher_t *launcher, const aq_done_t *done)
{
    if (launcher->start.states[done->node] == HOST_DONE)
        return;
    launcher->start.states[done->node] = HOST_DONE;
    if (launcher->end.first_code == 0)
        launcher->end.first_code = (int)done->code;
}

static void take_fault(aq_launcher_t *launcher, const aq_fault_t *fault)
{
    launcher->fault.ranks += fault->ranks;
    if (launcher->fault.text != NULL || launcher->fault.logged)
        return;
    launcher->fault.text = strdup(fault->text);
    launcher->fault.due = aq_clock_ns() + AQ_SECOND; // other hosts may find the same fault
}

static void log_fault(aq_launcher_t *launcher)
{
    if (launcher->fault.text == NULL)
        return;
    flush_sinks(launcher);
    aq_page_print_fault(launcher->fault.text, launcher->fault.ranks);
    launcher->fault.logged = true;
    free(launcher->fault.text);
    launcher->fault.text = NULL;
}

// What the hosts report about their start.
static void take_report(aq_launcher_t *launcher, const aq_frame_t *frame)
{
    uint32_t hosts = launcher->node.spec.host_count;
    aq_node_text_t text;
    aq_failed_t failed;
    aq_again_t again;
    if (frame->type == AQ_MSG_STARTED && aq_read_node_text(frame->payload, &text) &&
        text.node < hosts)
        take_started(launcher, &text);
    else if (frame->type == AQ_MSG_FAILED && aq_read_failed(frame->payload, &failed) &&
             failed.high <= hosts)
        take_failed(launcher, &failed);
    else if (frame->type == AQ_MSG_AGAIN && aq_read_again(frame->payload, &again) &&
             again.high <= hosts)
        take_again(launcher, &again);
}

static void launch_up(aq_node_t *node, const aq_frame_t *frame)
{
    aq_launcher_t *launcher = aq_launcher_of(node);
    aq_end_t end;
    aq_done_t done;
    aq_fault_t fault;
    aq_node_text_t text;
    uint32_t number;
    uint32_t hosts = node->spec.host_count;
    if (frame->type == AQ_MSG_OUTPUT) {
        take_output(launcher, frame);
    } else if (frame->type == AQ_MSG_TAKEN && aq_read_number(frame->payload, &number)) {
        launcher->credit += number;
    } else if (frame->type == AQ_MSG_EXIT && aq_read_end(frame->payload, &end)) {
        aq_launcher_end_job(launcher, (int)end.code, end.now);
    } else if (frame->type == AQ_MSG_LEFT || frame->type == AQ_MSG_JOINED) {
        launcher->end.left = launcher->end.left || frame->type == AQ_MSG_LEFT;
        launcher->end.joined = launcher->end.joined || frame->type == AQ_MSG_JOINED;
        check_left(launcher);
    } else if (frame->type == AQ_MSG_DONE && aq_read_done(frame->payload, &done) &&
               done.node < hosts) {
        take_done(launcher, &done);
    } else if (frame->type == AQ_MSG_FAULT && aq_read_fault(frame->payload, &fault)) {
        take_fault(launcher, &fault);
    } else if (frame->type == AQ_MSG_LOST && aq_read_node_text(frame->payload, &text) &&
               text.node < node->spec.size) {
        take_lost(launcher, &text);
    } else if (frame->type == AQ_MSG_READER_QUERY) {
        aq_launcher_look_query(launcher, frame);
    } else if (frame->type == AQ_MSG_REPLY) {
        aq_launcher_look_answer(launcher, frame);
    } else {
        take_report(launcher, frame);
    }
}

static void launch_gathered(aq_node_t *node)
{
    aq_launcher_t *launcher = aq_launcher_of(node);
    aq_bytes_t all = {0}, frames = {0};
    if (aq_gather_union(&node->gather, &all)) {
        aq_gathered_t spread = {node->gather.step, all.data, all.used};
        aq_write_gathered(&frames, AQ_MSG_SPREAD, &spread);
        aq_node_down(node, &frames);
    } else {
        aq_log_error("the ranks of the job disagree on a collective operation; every rank must run "
                     "the same program");
        aq_launcher_end_job(launcher, 1, true);
    }
    aq_gather_reset(&node->gather);
    aq_bytes_free(&all);
    aq_bytes_free(&frames);
}

// ---- signals and input ----

static void send_signal(aq_launcher_t *launcher, int sig)
{
    aq_bytes_t bytes = {0};
    aq_write_number(&bytes, AQ_MSG_SIGNAL, (uint32_t)sig);
    aq_node_down(&launcher->node, &bytes);
    aq_bytes_free(&bytes);
}

static void take_signal(aq_launcher_t *launcher, int sig)
{
    if (launcher->phase == LAUNCH_STARTING &&
        (aq_supervised_is_stop(sig) || aq_supervised_is_limit(sig))) {
        aq_launcher_end_job(launcher, 128 + sig, true);
        return;
    }
    send_signal(launcher, sig);
    for (uint32_t i = 0; i < launcher->node.child_count; i++)
        if (launcher->node.children[i].link.fd >= 0)
            (void)aq_link_flush(&launcher->node.children[i].link);
    if (sig == SIGTSTP)
        aq_supervised_pause();
    if (!aq_supervised_is_stop(sig))
        return;
    if (launcher->end.stop_signal == 0)
        launcher->end.stop_signal = sig;
    aq_launcher_let_leave(launcher, sig);
}

static void serve_signals(aq_node_t *node, void *item, short events)
{
    struct signalfd_siginfo info;
    (void)item;
    (void)events;
    while (read(node->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD &&
            !aq_supervised_is_own((int)info.ssi_signo, info.ssi_code, (pid_t)info.ssi_pid))
            take_signal(aq_launcher_of(node), (int)info.ssi_signo);
}

static void serve_input(aq_node_t *node, void *item, short events)
{
    aq_launcher_t *launcher = item;
    static uint8_t chunk[INPUT_CREDIT];
    (void)events;
    aq_child_t *child = aq_node_first_child(node);
    if (!launcher->input_open || launcher->credit == 0 || child == NULL)
        return;
    ssize_t n = read(STDIN_FILENO, chunk,
                     launcher->credit < sizeof chunk ? launcher->credit : sizeof chunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0)
        launcher->input_open = false;
    aq_write_input(&child->link.out, chunk, n > 0 ? (size_t)n : 0);
    launcher->credit -= n > 0 ? (uint32_t)n : 0;
}

// Whether reading standard input is safe: the controlling terminal stops a background job that
// reads from it. Other files, and other terminals, do not.
static bool may_read_input(void)
{
    const pid_t front = tcgetpgrp(STDIN_FILENO);
    return front < 0 || front == getpgrp();
}

// ---- the loop's side ----

static bool launch_blocked(aq_node_t *node)
{
    const aq_launcher_t *launcher = aq_launcher_of(node);
    return launcher->end.stop_signal == 0 && (launcher->output.sinks[0].used > AQ_SINK_FULL ||
                                              launcher->output.sinks[1].used > AQ_SINK_FULL);
}

static void serve_sink(aq_node_t *node, void *item, short events)
{
    (void)node;
    (void)events;
    (void)aq_sink_flush(item);
}

static void launch_watch(aq_node_t *node)
{
    aq_launcher_t *launcher = aq_launcher_of(node);
    aq_node_watch(node, node->signals, POLLIN, serve_signals, launcher);
    aq_launcher_look_watch(launcher);
    for (aq_sink_t *sink = launcher->output.sinks; sink < launcher->output.sinks + 2; sink++)
        if (sink->used > 0)
            aq_node_watch(node, sink->fd, POLLOUT, serve_sink, sink);
    if (launcher->input_open && launcher->credit > 0 && may_read_input())
        aq_node_watch(node, STDIN_FILENO, POLLIN, serve_input, launcher);
}

// ---- the turn ----

static void check_output(aq_launcher_t *launcher)
{
    int fault = launcher->output.sinks[0].fault;
    flush_sinks(launcher);
    if (fault == 0 || launcher->end.now)
        return;
    if (fault != EPIPE)
        aq_log_error("standard output cannot be written (%s); the job is ended", strerror(fault));
    aq_launcher_end_job(launcher, fault == EPIPE ? 128 + SIGPIPE : 1, true);
}

static void name_late(const aq_launcher_t *launcher)
{
    for (uint32_t host = 0; host < launcher->node.spec.host_count; host++)
        if (launcher->start.states[host] == HOST_STARTED) {
            aq_log_error("%s did not end its ranks in time, and is cut off",
                         title_of(launcher, host).text);
            return;
        }
}

static void launch_turn(aq_node_t *node)
{
    aq_launcher_t *launcher = aq_launcher_of(node);
    aq_launcher_check_workers(launcher);
    check_started(launcher);
    aq_streams_pass_due(launcher->output.streams, count_streams(launcher), launcher->output.sinks,
                        &node->wake);
    check_output(launcher);
    if (aq_clock_ns() >= launcher->fault.due)
        log_fault(launcher);
    // A slow reader of our output delays the end, not the hosts.
    if (node->deadline != 0 && launch_blocked(node))
        node->deadline = aq_clock_ns() + AQ_END_GRACE;
    if (node->deadline != 0 && aq_clock_ns() >= node->deadline) {
        flush_sinks(launcher);
        if (launcher->workers.start_ranks)
            name_late(launcher);
        aq_node_close(node);
        node->deadline = 0;
    }
}

static const aq_node_ops_t launch_ops = {
    .up = launch_up,
    .worker = aq_workers_take,
    .gathered = launch_gathered,
    .watch = launch_watch,
    .turn = launch_turn,
    .reaped = aq_launcher_reaped,
    .blocked = launch_blocked,
};

// ---- for the modules ----

char **aq_launch_environment(const char *list)
{
    size_t count = 0, used = 0;
    while (environ[count] != NULL)
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy != NULL && i < count; i++)
        if (aq_supervised_passes(environ[i], list))
            copy[used++] = environ[i];
    return copy;
}

bool aq_launch_find_address(aq_launch_plan_t *plan)
{
    const char *address = aq_settings_text(AQ_SET_MASTERIP);
    if (*address == '\0' || aq_net_resolve(address, plan->master_address))
        return true;
    aq_log_error("GASNET_MASTERIP: '%s' is neither an address nor a name that is known here; give "
                 "an address such as 192.168.0.1",
                 address);
    return false;
}

// ---- setup and teardown ----

static bool open_signals(aq_launcher_t *launcher)
{
    sigset_t set;
    aq_supervised_signals(&set);
    sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGPIPE, SIG_IGN);
    // If output goes to a file that is full, the write must fail; the failure is reported.
    (void)signal(SIGXFSZ, SIG_IGN);
    launcher->node.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return launcher->node.signals >= 0;
}

// This process needs a link for each child, and three pipes while the child starts.
static void raise_files(uint32_t children)
{
    struct rlimit before;
    (void)aq_open_files_raise(4 * (rlim_t)children + AQ_CALLERS + 64, &before);
}

static bool set_up(aq_launcher_t *launcher, const aq_launch_plan_t *plan)
{
    aq_node_t *node = &launcher->node;
    uint32_t hosts = plan->spec.host_count;
    aq_node_init(node, &launch_ops);
    node->self = AQ_NODE_LAUNCHER;
    node->spec = plan->spec;
    node->spec.launcher.pid = (uint32_t)getpid();
    node->spec.launcher.host = aq_log_host();
    node->spec.tree.silence_ms = aq_link_chosen_silence();
    node->ports = plan->ports;
    node->window = plan->window;
    memcpy(node->key, plan->key, sizeof node->key);
    snprintf(node->master_address, sizeof node->master_address, "%s", plan->master_address);
    aq_auth_random(node->spec.key, sizeof node->spec.key);
    aq_write_spec(&node->spec_bytes, &node->spec);
    launcher->go = (aq_go_t){.peer = {{0, ""}, {0, ""}}};
    launcher->credit = INPUT_CREDIT;
    aq_launcher_look_start(launcher);
    launcher->output.one_sink = aq_supervised_same_file(STDOUT_FILENO, STDERR_FILENO);
    make_streams(launcher);
    launcher->start.states = calloc(hosts, 1);
    launcher->start.reasons = calloc(hosts, sizeof *launcher->start.reasons);
    launcher->start.began = aq_clock_ns();
    if (launcher->start.states == NULL || launcher->start.reasons == NULL ||
        launcher->output.streams == NULL || node->spec_bytes.failed || !open_signals(launcher) ||
        !aq_node_split(node, 0, hosts, plan->parts)) {
        aq_log_error("no memory or open files for a job on %" PRIu32
                     " hosts; raise the limits (ulimit -v, ulimit -n)",
                     hosts);
        return false;
    }
    raise_files(node->child_count);
    node->gather = (aq_gather_t){.size = plan->spec.size, .absent = plan->spec.reserve};
    aq_sink_open(&launcher->output.sinks[0], STDOUT_FILENO);
    aq_sink_open(&launcher->output.sinks[1], STDERR_FILENO);
    return true;
}

// Waits for the reader of our output, but not after a signal that asks this process to end.
static void wait_reader(aq_launcher_t *launcher)
{
    aq_sink_t *sinks = launcher->output.sinks;
    while (!aq_sink_flush(&sinks[0]) || !aq_sink_flush(&sinks[1])) {
        struct pollfd ready[3] = {{.fd = launcher->node.signals, .events = POLLIN}};
        struct signalfd_siginfo info;
        nfds_t count = 1;
        for (int i = 0; i < 2; i++)
            if (sinks[i].used > 0)
                ready[count++] = (struct pollfd){.fd = sinks[i].fd, .events = POLLOUT};
        (void)poll(ready, count, -1);
        while (read(launcher->node.signals, &info, sizeof info) == (ssize_t)sizeof info)
            if (aq_supervised_is_stop((int)info.ssi_signo))
                launcher->end.stop_signal = (int)info.ssi_signo;
        if (launcher->end.stop_signal != 0)
            return;
    }
}

static int launch_finish(aq_launcher_t *launcher)
{
    aq_node_close(&launcher->node);
    aq_launcher_end_command(launcher);
    show_progress(launcher);
    for (size_t i = 0; i < count_streams(launcher); i++)
        aq_stream_end(&launcher->output.streams[i]);
    wait_reader(launcher);
    if (launcher->output.sinks[0].fault != 0)
        check_output(launcher);
    log_fault(launcher);
    aq_bytes_free(&launcher->node.spec_bytes);
    aq_bytes_free(&launcher->node.calls.farewell);
    const int fault = launcher->output.sinks[0].fault;
    const int code = launcher->end.code_known ? launcher->end.code : launcher->end.first_code;
    return code == 0 && fault != 0 && fault != EPIPE ? 1 : code;
}

int aq_launch(const aq_launch_plan_t *plan)
{
    static aq_launcher_t launcher;
    if (aq_auth_init() != AQ_OK || !set_up(&launcher, plan))
        return 1;
    if (!aq_launcher_await_workers(&launcher, plan))
        return 1;
    aq_node_start_more(&launcher.node);
    check_started(&launcher); // no turn follows if no host could begin
    while (!aq_node_is_quiet(&launcher.node))
        aq_node_turn(&launcher.node);
    return launch_finish(&launcher);
}
