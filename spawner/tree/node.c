// SPDX-License-Identifier: BSD-3-Clause
// The loop of a process of the tree, and the routing of frames.
#include "node.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/minmax.h"

#define IDLE_MS 1000
#define PING_NS UINT64_C(2000000000)
#define SILENCE_MS                                                                                 \
    10000u // without an answer, before the user is warned; or half of what links bear

// ---- the tree ----

void aq_node_part(uint32_t low, uint32_t high, uint32_t parts, uint32_t index, uint32_t *from,
                  uint32_t *to)
{
    uint32_t count = high - low, more = count % parts;
    *from = low + index * (count / parts) + (index < more ? index : more);
    *to = *from + count / parts + (index < more);
}

bool aq_node_split(aq_node_t *node, uint32_t low, uint32_t high, uint32_t parts)
{
    uint32_t count = high - low;
    parts = parts == 0 || parts > count ? count : parts;
    aq_child_t *children =
        realloc(node->children, (node->child_count + (size_t)parts + 1) * sizeof *children);
    if (children == NULL)
        return false;
    node->children = children;
    for (uint32_t i = 0; i < parts; i++) {
        aq_child_t *child = &children[node->child_count++];
        *child = (aq_child_t){.link.fd = -1};
        aq_remote_clear(&child->remote);
        aq_node_part(low, high, parts, i, &child->low, &child->high);
    }
    return true;
}

void aq_node_init(aq_node_t *node, const aq_node_ops_t *ops)
{
    *node = (aq_node_t){.ops = ops, .signals = -1};
    for (uint32_t i = 0; i < AQ_CALLERS; i++)
        node->callers[i].link.fd = -1;
}

static bool is_linked(const aq_child_t *child)
{
    return child->link.fd >= 0;
}

static bool in_subtree(const aq_child_t *child, uint32_t host)
{
    return host >= child->low && host < child->high;
}

bool aq_node_is_quiet(const aq_node_t *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        const aq_child_t *child = &node->children[i];
        if (child->remote.pid > 0 || child->orphaned > 0 ||
            (child->state != AQ_CHILD_GONE && child->done < child->high - child->low))
            return false;
    }
    return true;
}

void aq_node_close(aq_node_t *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        aq_remote_end(&node->children[i].remote);
        aq_dial_free(&node->children[i].dial);
        aq_link_close(&node->children[i].link);
        node->children[i].state = AQ_CHILD_GONE;
        node->children[i].orphaned = 0;
    }
    aq_node_close_calls(node);
}

// ---- down ----

void aq_node_down(aq_node_t *node, const aq_bytes_t *frames)
{
    for (uint32_t i = 0; i < node->child_count; i++)
        if (is_linked(&node->children[i]))
            aq_put_raw(&node->children[i].link.out, frames->data, frames->used);
}

void aq_node_send_job(aq_node_t *node, aq_child_t *child)
{
    aq_bytes_t hosts = {0};
    aq_write_hosts(&hosts, &node->spec, child->low, child->high);
    aq_write_job(&child->link.out,
                 &(aq_job_message_t){child->low, child->high, hosts.data, hosts.used,
                                     node->spec_bytes.data, node->spec_bytes.used});
    aq_bytes_free(&hosts);
}

void aq_node_go(aq_node_t *node, const aq_go_t *go)
{
    node->going = true;
    node->first_host = go->hosts[0];
    node->gather.expected = aq_go_has(go, node->self, node->self + 1);
    for (uint32_t i = 0; i < node->child_count; i++) {
        aq_child_t *child = &node->children[i];
        if (child->state == AQ_CHILD_READY)
            node->gather.expected += aq_go_has(go, child->low, child->high);
        else
            aq_node_dismiss_child(node, child);
    }
}

aq_child_t *aq_node_child_of(aq_node_t *node, uint32_t host)
{
    for (uint32_t i = 0; i < node->child_count; i++)
        if (is_linked(&node->children[i]) && in_subtree(&node->children[i], host))
            return &node->children[i];
    return NULL;
}

aq_child_t *aq_node_first_child(aq_node_t *node)
{
    return aq_node_child_of(node, node->first_host);
}

// ---- up ----

void aq_node_report(aq_node_t *node, uint32_t low, uint32_t high, const char *why)
{
    aq_bytes_t bytes = {0};
    aq_frame_t frame;
    aq_write_failed(&bytes, &(aq_failed_t){low, high, why});
    if (!bytes.failed &&
        aq_frame_read(bytes.data, bytes.used, AQ_FRAME_MAX, &frame) == AQ_FRAME_WHOLE)
        node->ops->up(node, &frame);
    aq_bytes_free(&bytes);
}

static bool take_gather(aq_node_t *node, const aq_frame_t *frame)
{
    aq_gathered_t part;
    if (!aq_read_gathered(frame->payload, AQ_MSG_GATHER, node->spec.size, &part) ||
        !aq_gather_add(&node->gather, &part))
        return false;
    if (aq_gather_complete(&node->gather))
        node->ops->gathered(node);
    return true;
}

static bool take_done(aq_node_t *node, aq_child_t *child, const aq_frame_t *frame)
{
    aq_done_t done;
    if (!aq_read_done(frame->payload, &done) || !in_subtree(child, done.node))
        return false;
    child->done++;
    node->ops->up(node, frame);
    return true;
}

static bool take_started(aq_node_t *node, aq_child_t *child, const aq_frame_t *frame)
{
    aq_node_text_t text;
    if (!aq_read_node_text(frame->payload, &text) || !in_subtree(child, text.node))
        return false;
    if (text.node == child->low && child->state == AQ_CHILD_UP) {
        child->state = AQ_CHILD_READY;
        aq_node_start_more(node);
    }
    node->ops->up(node, frame);
    return true;
}

static bool take_failed(aq_node_t *node, aq_child_t *child, const aq_frame_t *frame)
{
    aq_failed_t failed;
    if (!aq_read_failed(frame->payload, &failed) || !in_subtree(child, failed.low) ||
        failed.high > child->high)
        return false;
    child->done += failed.high - failed.low; // these hosts will send nothing more
    node->ops->up(node, frame);
    return true;
}

static bool take_again(aq_node_t *node, aq_child_t *child, const aq_frame_t *frame)
{
    aq_again_t again;
    if (!aq_read_again(frame->payload, &again) || !in_subtree(child, again.low) ||
        again.high > child->high || again.failed > child->done)
        return false;
    child->done -= again.failed;
    node->ops->up(node, frame);
    return true;
}

static bool take_asked(aq_node_t *node, const aq_child_t *child, const aq_frame_t *frame)
{
    aq_look_asker_t asker;
    if (!aq_read_asked(frame->payload, &asker) || !in_subtree(child, asker.host))
        return false;
    node->ops->up(node, frame);
    return true;
}

// False: helpers do not send such a frame.
static bool handle_frame(aq_node_t *node, aq_child_t *child, const aq_frame_t *frame)
{
    switch (frame->type) {
    case AQ_MSG_GATHER:
        return take_gather(node, frame);
    case AQ_MSG_WORKER:
    case AQ_MSG_MEMBER:
        return node->ops->worker != NULL && node->ops->worker(node, child, frame);
    case AQ_MSG_DONE:
        return take_done(node, child, frame);
    case AQ_MSG_STARTED:
        return take_started(node, child, frame);
    case AQ_MSG_FAILED:
        return take_failed(node, child, frame);
    case AQ_MSG_AGAIN:
        return take_again(node, child, frame);
    case AQ_MSG_OUTPUT:
        child->owed += (uint32_t)frame->payload.left;
        node->ops->up(node, frame);
        return true;
    case AQ_MSG_ASKED:
        return take_asked(node, child, frame);
    case AQ_MSG_PONG:
        child->unanswered = child->warned = false;
        return true;
    case AQ_MSG_TAKEN:
    case AQ_MSG_EXIT:
    case AQ_MSG_FAULT:
    case AQ_MSG_JOINED:
    case AQ_MSG_LEFT:
    case AQ_MSG_LOST:
    case AQ_MSG_SEEN:
        node->ops->up(node, frame);
        return true;
    default:
        return false;
    }
}

void aq_node_take_frames(aq_node_t *node, aq_child_t *child)
{
    aq_frame_t frame;
    aq_framing_t framing = AQ_FRAME_PART;
    while (is_linked(child) &&
           (framing = aq_link_next(&child->link, AQ_FRAME_MAX, &frame)) == AQ_FRAME_WHOLE)
        if (!handle_frame(node, child, &frame)) {
            framing = AQ_FRAME_BAD;
            break;
        }
    if (framing == AQ_FRAME_BAD)
        aq_node_lose_child(node, child,
                           "its helper sent a message that this version does not know");
}

static void lose_link(aq_node_t *node, aq_child_t *child, int error)
{
    char why[AQ_REMOTE_TEXT];
    aq_link_reason(&child->link, error, why, sizeof why);
    aq_node_lose_child(node, child, why);
}

static void serve_child(aq_node_t *node, void *item, short events)
{
    aq_child_t *child = item;
    int error = 0;
    if (!is_linked(child))
        return;
    if (events & ~POLLOUT)
        error = aq_link_receive(&child->link);
    aq_node_take_frames(node, child); // including the last ones before the end
    if (!is_linked(child))
        return;
    if (error == ENOTCONN && child->done >= child->high - child->low) {
        aq_link_close(&child->link);
        child->state = AQ_CHILD_GONE;
    } else if (error == ENOTCONN) {
        aq_node_lose_child(node, child, "its helper has ended");
    } else if (error != 0) {
        lose_link(node, child, error);
    }
}

static void give_credit(aq_node_t *node)
{
    bool blocked = node->ops->blocked(node);
    for (uint32_t i = 0; i < node->child_count && !blocked; i++) {
        aq_child_t *child = &node->children[i];
        if (is_linked(child) && child->owed > 0)
            aq_write_number(&child->link.out, AQ_MSG_CREDIT, child->owed);
        child->owed = 0;
    }
}

static void warn_of_silence(const aq_node_t *node, const aq_child_t *child, uint32_t silence_ms)
{
    aq_log_warn(
        "host %s has not answered for %.3g seconds: the network to it is down, its helper is "
        "stopped or overloaded, or an attacker on the network withholds its messages; the "
        "job goes on if the connection from %s recovers within GASNET_UDP_HOST_TIMEOUT",
        aq_spec_host(&node->spec, child->low)->name, silence_ms / 1000.0, child->seen);
}

// A connection may stay open although its bytes do not arrive: the network is down for a while, an
// attacker withholds them, or the helper is stopped. Bytes missing before a ping or its answer
// break the link, because it is sealed. A missing answer is only reported, because the network may
// come back, and a stopped helper may continue.
static void ping_child(const aq_node_t *node, aq_child_t *child, uint64_t now)
{
    const uint32_t silence_ms = aq_min(SILENCE_MS, node->spec.silence_ms / 2);
    if (child->state != AQ_CHILD_READY || now - child->pinged < PING_NS)
        return;
    if (!child->unanswered) {
        aq_write_empty(&child->link.out, AQ_MSG_PING);
        child->pinged = now;
        child->unanswered = true;
    } else if (!child->warned && now - child->pinged > (uint64_t)silence_ms * 1000000) {
        warn_of_silence(node, child, silence_ms);
        child->warned = true;
    }
}

static void ping_children(aq_node_t *node)
{
    uint64_t now = aq_clock_ns();
    for (uint32_t i = 0; i < node->child_count; i++)
        ping_child(node, &node->children[i], now);
}

static void flush_children(aq_node_t *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        aq_child_t *child = &node->children[i];
        int error = is_linked(child) ? aq_link_flush(&child->link) : 0;
        // A broken link may still hold the peer's last frames; the next receive reports the error.
        if (error != 0 && error != EPIPE && error != ECONNRESET)
            lose_link(node, child, error);
    }
}

// ---- the loop ----

void aq_node_watch(aq_node_t *node, int fd, short events, aq_watcher_t *call, void *item)
{
    if (node->watch_count == node->watch_room) {
        size_t room = 2 * node->watch_room + 32;
        struct pollfd *polls = realloc(node->polls, room * sizeof *polls);
        node->polls = polls != NULL ? polls : node->polls;
        aq_watch_t *watches = realloc(node->watches, room * sizeof *watches);
        node->watches = watches != NULL ? watches : node->watches;
        if (polls == NULL || watches == NULL) {
            aq_log_error("no memory to watch the hosts of the job; the job is ended");
            _exit(1); // what this process started ends with its links
        }
        node->watch_room = room;
    }
    node->polls[node->watch_count] = (struct pollfd){.fd = fd, .events = events};
    node->watches[node->watch_count++] = (aq_watch_t){call, item};
}

static void watch_children(aq_node_t *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        aq_child_t *child = &node->children[i];
        int wanted = POLLIN | (aq_link_waiting(&child->link) > 0 ? POLLOUT : 0);
        if (is_linked(child))
            aq_node_watch(node, child->link.fd, (short)wanted, serve_child, child);
    }
}

static void node_reap(aq_node_t *node)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        aq_node_child_reaped(node, pid, status);
        node->ops->reaped(node, pid, status);
    }
}

static int wait_ms(const aq_node_t *node)
{
    uint64_t now = aq_clock_ns(), next = node->deadline;
    if (node->wake != 0 && (next == 0 || node->wake < next))
        next = node->wake;
    if (next == 0 || next > now + (uint64_t)IDLE_MS * 1000000)
        return IDLE_MS;
    return next > now ? (int)((next - now) / 1000000) + 1 : 0;
}

void aq_node_wait(aq_node_t *node, int ms)
{
    size_t count = node->watch_count;
    if (poll(node->polls, count, ms) > 0)
        for (size_t i = 0; i < count; i++)
            if (node->polls[i].revents != 0)
                node->watches[i].call(node, node->watches[i].item, node->polls[i].revents);
    node->watch_count = 0;
}

void aq_node_turn(aq_node_t *node)
{
    aq_node_adopt(node);
    node->ops->watch(node);
    aq_node_watch_start(node);
    aq_node_watch_dials(node);
    aq_node_watch_calls(node);
    watch_children(node);
    aq_node_wait(node, wait_ms(node));
    node_reap(node);
    aq_node_check_dials(node);
    aq_node_check_start(node);
    aq_node_check_calls(node);
    node->ops->turn(node);
    give_credit(node);
    ping_children(node);
    flush_children(node);
}
