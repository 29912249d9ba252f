// SPDX-License-Identifier: BSD-3-Clause
// Connections of helpers to the process that started them: permission to call, and authentication.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "node_call.h"
#include "node_tree.h"
#include "node_watch.h"
#include "node_frames.h"

// ---- permission ----

static bool is_invited(const aq_node_t *node, const char *address)
{
    for (uint32_t i = 0; i < node->child_count; i++)
        if (node->children[i].state == AQ_CHILD_INVITED &&
            aq_net_is_listed(node->children[i].addresses, address))
            return true;
    return false;
}

// Anybody on the network may call any number of times, so only the first refusals are logged; the
// others are counted. Once the job is going the ports are about to be closed, and a caller may be a
// spare host that was given up a moment ago.
static void refuse_caller(aq_node_t *node, aq_caller_t *caller, const char *why)
{
    if (!node->going && ++node->calls.refused <= AQ_REFUSALS_LOGGED)
        aq_log_warn("a connection from %s is refused: %s", caller->address, why);
    memcpy(node->calls.refused_address, caller->address, sizeof node->calls.refused_address);
    aq_link_close(&caller->link);
}

static void log_refused(aq_node_t *node)
{
    if (node->calls.refused > AQ_REFUSALS_LOGGED)
        aq_log_warn("%u more connections were refused, the last one from %s",
                    node->calls.refused - AQ_REFUSALS_LOGGED, node->calls.refused_address);
    node->calls.refused = 0;
}

static void make_place(aq_node_t *node, aq_caller_t *place)
{
    if (place->link.fd >= 0)
        refuse_caller(node, place,
                      "it did not authenticate with the key of the job, and others wait");
}

static void accept_calls(aq_node_t *node, void *item, short events)
{
    const aq_listener_t *listener = item;
    char address[AQ_ADDRESS_TEXT];
    (void)events;
    bool is_last = false;
    for (uint32_t i = 0; i < AQ_CALLERS && !is_last; i++) {
        aq_caller_t *caller = aq_callers_place(node->calls.callers);
        int fd = caller != NULL ? aq_net_accept(listener, address) : -1;
        if (fd < 0)
            return;
        is_last = caller->link.fd >= 0;
        make_place(node, caller);
        aq_caller_open(caller, fd, address);
        if (!node->spec.promiscuous && !node->spec.workers && !is_invited(node, address))
            refuse_caller(node, caller,
                          "it is not a host that is being started; if it is one behind a router, "
                          "set GASNET_SPAWN_PROMISCUOUS=1");
    }
}

// ---- authentication ----

static aq_child_t *find_child(aq_node_t *node, uint32_t host)
{
    for (uint32_t i = 0; i < node->child_count; i++)
        if ((node->children[i].low == host || node->spec.workers) &&
            node->children[i].state == AQ_CHILD_INVITED)
            return &node->children[i];
    return NULL;
}

// Anyone can claim to be a worker without a key, so the job continues to wait for workers that have
// the key. One message stands for all workers.
static bool note_keyless(aq_node_t *node, aq_caller_t *caller)
{
    if (!node->calls.keyless && node->spec.starter != NULL)
        aq_log_error("a process on %s has called without the key of the job: spawner %s does not "
                     "pass its environment on, which has the key (GASNET_SPAWN_KEY); have it pass "
                     "that variable, or set GASNET_CSPAWN_KEY=command",
                     caller->address, node->spec.starter);
    else if (!node->calls.keyless)
        aq_log_error("a process on %s has called without the key of the job: the command of "
                     "GASNET_CSPAWN_CMD does not pass its environment on, which has the key "
                     "(GASNET_SPAWN_KEY); have it pass that variable (mpirun -x GASNET_SPAWN_KEY, "
                     "srun --export=ALL), or set GASNET_CSPAWN_KEY=command",
                     caller->address);
    node->calls.keyless = true;
    aq_link_close(&caller->link);
    return true;
}

// Refuses a caller that has the key, because all ranks of the rendezvous are there; the caller logs
// the reason.
static bool dismiss_caller(aq_node_t *node, aq_caller_t *caller)
{
    char text[96];
    if (!node->spec.rendezvous || aq_link_seal(&caller->link, &caller->auth, node->key, false) != 0)
        return false;
    snprintf(text, sizeof text, "all %" PRIu32 " processes of the job are there already",
             node->spec.size);
    aq_write_failed(&caller->link.out, &(aq_failed_t){0, 1, text});
    (void)aq_link_flush(&caller->link);
    aq_link_close(&caller->link);
    return true;
}

static bool challenge_caller(aq_node_t *node, aq_caller_t *caller, const aq_frame_t *frame)
{
    aq_hello_t hello;
    if (frame->type != AQ_MSG_HELLO || !aq_read_hello(frame->payload, &hello))
        return false;
    if (node->spec.workers && !node->spec.rendezvous && hello.node == AQ_NODE_KEYLESS)
        return note_keyless(node, caller);
    return aq_caller_challenge(caller, node->key, &hello);
}

// The connection of the caller becomes the link of the child.
static bool admit_caller(aq_node_t *node, aq_caller_t *caller, const aq_frame_t *frame)
{
    if (!aq_caller_proves(caller, node->key, frame))
        return false;
    aq_child_t *child = find_child(node, caller->auth.node);
    if (child == NULL)
        return dismiss_caller(node, caller);
    if (aq_link_seal(&caller->link, &caller->auth, node->key, false) != 0)
        return false;
    child->link = caller->link;
    caller->link = (aq_link_t){.fd = -1};
    aq_link_bear(&child->link, node->spec.tree.silence_ms);
    snprintf(child->seen, sizeof child->seen, "%s", caller->address);
    child->state = AQ_CHILD_UP;
    if (node->calls.farewell.used > 0)
        aq_put_raw(&child->link.out, node->calls.farewell.data, node->calls.farewell.used);
    if (node->spec.workers) { // the job follows once all workers have arrived
        aq_node_take_frames(node, child);
        return true;
    }
    aq_node_send_job(node, child);
    return true;
}

static void serve_caller(aq_node_t *node, void *item, short events)
{
    aq_caller_t *caller = item;
    aq_frame_t frame;
    aq_framing_t framing = AQ_FRAME_PART;
    (void)events;
    if (caller->link.fd < 0)
        return;
    int error = aq_link_receive(&caller->link);
    while (caller->link.fd >= 0 &&
           (framing = aq_link_next(&caller->link, AQ_FIRST_MAX, &frame)) == AQ_FRAME_WHOLE) {
        if (!(caller->challenged ? admit_caller(node, caller, &frame)
                                 : challenge_caller(node, caller, &frame))) {
            framing = AQ_FRAME_BAD;
            break;
        }
    }
    if (caller->link.fd < 0)
        return;
    if (framing == AQ_FRAME_BAD)
        refuse_caller(node, caller, "it did not authenticate with the key of the job");
    else if (error != 0)
        aq_link_close(&caller->link);
}

// ---- the loop's side ----

// Callers without a place wait in the kernel's queue. Input of the current callers is handled
// first, so that no caller loses its place while its AUTH frame is already here.
void aq_node_watch_calls(aq_node_t *node)
{
    bool room = aq_callers_place(node->calls.callers) != NULL;
    for (uint32_t i = 0; i < AQ_CALLERS; i++)
        if (node->calls.callers[i].link.fd >= 0)
            aq_node_watch(node, node->calls.callers[i].link.fd, POLLIN, serve_caller,
                          &node->calls.callers[i]);
    for (uint32_t i = 0; room && i < node->calls.listener_count; i++)
        aq_node_watch(node, node->calls.listeners[i].fd, POLLIN, accept_calls,
                      &node->calls.listeners[i]);
}

static bool all_called(const aq_node_t *node)
{
    for (uint32_t i = 0; i < node->child_count; i++)
        if (node->children[i].state < AQ_CHILD_UP)
            return false;
    return true;
}

void aq_node_close_calls(aq_node_t *node)
{
    for (uint32_t i = 0; i < AQ_CALLERS; i++)
        aq_link_close(&node->calls.callers[i].link);
    for (uint32_t i = 0; i < node->calls.listener_count; i++)
        (void)close(node->calls.listeners[i].fd);
    node->calls.listener_count = 0;
    log_refused(node);
}

void aq_node_check_calls(aq_node_t *node)
{
    uint64_t now = aq_clock_ns();
    for (uint32_t i = 0; i < AQ_CALLERS; i++)
        if (node->calls.callers[i].link.fd >= 0 && now > node->calls.callers[i].deadline)
            aq_link_close(&node->calls.callers[i].link);
    if (all_called(node)) // no further caller is expected
        aq_node_close_calls(node);
}
