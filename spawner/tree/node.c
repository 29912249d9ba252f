// SPDX-License-Identifier: BSD-3-Clause
// The loop of a process of the tree.
#include "node.h"
#include "node_watch.h"
#include "node_frames.h"
#include "node_start.h"
#include "node_dial.h"
#include "node_call.h"

#include <errno.h>
#include <sys/wait.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/minmax.h"

#define IDLE_MS 1000
#define PING_NS UINT64_C(2000000000)
#define SILENCE_MS                                                                                 \
    10000u // without an answer, before the user is warned; or half of what links bear

// ---- start and end ----

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

// ---- links of children ----

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
    if (!aq_child_is_linked(child))
        return;
    if (events & ~POLLOUT)
        error = aq_link_receive(&child->link);
    aq_node_take_frames(node, child); // including the last ones before the end
    if (!aq_child_is_linked(child))
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
        if (aq_child_is_linked(child) && child->owed > 0)
            aq_write_number(&child->link.out, AQ_MSG_CREDIT, child->owed);
        child->owed = 0;
    }
}

static void warn_of_silence(const aq_node_t *node, const aq_child_t *child, uint32_t silence_ms)
{
    aq_log_warn("host %s has not answered for %.3g seconds: the network to it is down, its helper "
                "is stopped or overloaded, or an attacker on the network withholds its messages; "
                "the job goes on if the connection from %s recovers within GASNET_UDP_HOST_TIMEOUT",
                aq_spec_host(&node->spec, child->low)->name, silence_ms / 1000.0, child->seen);
}

// A connection may stay open although its bytes do not arrive: the network is down for a while, an
// attacker withholds them, or the helper is stopped. Bytes missing before a ping or its answer
// break the link, because it is sealed. A missing answer is only reported, because the network may
// come back, and a stopped helper may continue.
static void ping_child(const aq_node_t *node, aq_child_t *child, uint64_t now)
{
    const uint32_t silence_ms = aq_min(SILENCE_MS, node->spec.tree.silence_ms / 2);
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
        int error = aq_child_is_linked(child) ? aq_link_flush(&child->link) : 0;
        // A broken link may still hold the peer's last frames; the next receive reports the error.
        if (error != 0 && error != EPIPE && error != ECONNRESET)
            lose_link(node, child, error);
    }
}

// ---- the loop ----

static void watch_children(aq_node_t *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        aq_child_t *child = &node->children[i];
        int wanted = POLLIN | (aq_link_waiting(&child->link) > 0 ? POLLOUT : 0);
        if (aq_child_is_linked(child))
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
