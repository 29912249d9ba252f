// SPDX-License-Identifier: BSD-3-Clause
// Starting the children of a process of the tree, with remote shells or by daemons of a universe.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "node_start.h"
#include "node_tree.h"
#include "node_watch.h"
#include "node_listen.h"

static const aq_spec_host_t *host_of(const aq_node_t *node, const aq_child_t *child)
{
    return aq_spec_host(&node->spec, child->low);
}

// ---- failures ----

// Takes the hosts behind the child away from it. The children that get them are added later,
// because children then move in memory.
static void orphan_hosts(aq_node_t *node, aq_child_t *child)
{
    if (node->spec.spare == 0 || node->going || child->high == child->low + 1)
        return;
    child->orphaned = child->high;
    child->high = child->low + 1;
}

void aq_node_adopt(aq_node_t *node)
{
    uint32_t before = node->child_count;
    for (uint32_t i = 0; i < before; i++) {
        uint32_t low = node->children[i].high, high = node->children[i].orphaned;
        node->children[i].orphaned = 0;
        if (high > 0 && !aq_node_split(node, low, high, node->spec.tree.radix))
            aq_node_report(node, low, high, "no memory to start it");
    }
    if (node->child_count > before)
        aq_node_start_more(node);
}

// Revokes the reports of failure of the hosts behind a child, which get a new parent.
static void report_again(aq_node_t *node, const aq_child_t *child)
{
    aq_bytes_t bytes = {0};
    aq_frame_t frame;
    aq_write_again(&bytes, &(aq_again_t){child->high, child->orphaned, child->done});
    if (!bytes.failed &&
        aq_frame_read(bytes.data, bytes.used, AQ_FRAME_MAX, &frame) == AQ_FRAME_WHOLE)
        node->ops->up(node, &frame);
    aq_bytes_free(&bytes);
}

static void close_child(aq_child_t *child)
{
    aq_link_close(&child->link);
    aq_dial_free(&child->dial);
    aq_remote_end(&child->remote);
    child->state = AQ_CHILD_GONE;
}

void aq_node_lose_child(aq_node_t *node, aq_child_t *child, const char *why)
{
    char text[AQ_REMOTE_TEXT + 32];
    aq_child_state_t before = child->state;
    close_child(child);
    if (before == AQ_CHILD_GONE)
        return;
    bool linked = before == AQ_CHILD_READY || before == AQ_CHILD_UP;
    snprintf(text, sizeof text, "%s%s", linked ? "the connection to it is lost: " : "", why);
    orphan_hosts(node, child);
    aq_node_report(node, child->low, child->high, text);
    if (before == AQ_CHILD_READY && child->orphaned > 0)
        report_again(node, child);
    aq_node_start_more(node);
}

void aq_node_dismiss_child(aq_node_t *node, aq_child_t *child)
{
    uint32_t high = child->orphaned > 0 ? child->orphaned : child->high;
    bool reported = child->state == AQ_CHILD_GONE;
    close_child(child);
    child->orphaned = 0;
    if (!reported || high > child->high)
        aq_node_report(node, reported ? child->high : child->low, high,
                       "the job has started without it");
}

// ---- start ----

static bool make_command(const aq_node_t *node, const aq_spec_host_t *host,
                         aq_remote_command_t *command)
{
    const aq_remote_way_t way = {node->spec.remote.shell, node->spec.remote.options,
                                 node->spec.remote.program};
    return aq_remote_command_make(command, &way, host, "--helper");
}

static void begin_shell(aq_node_t *node, aq_child_t *child)
{
    aq_remote_command_t command;
    child->state = AQ_CHILD_SHELL;
    int error = make_command(node, host_of(node, child), &command)
                    ? aq_remote_start(&child->remote, command.argv)
                    : ENOMEM;
    aq_remote_command_free(&command);
    if (error != 0)
        aq_node_lose_child(node, child, strerror(error));
    else
        aq_log_info("host %s: starting its helper", host_of(node, child)->name);
}

// Calls the daemon of a universe there, which forks a helper. The loop goes on meanwhile.
static void begin_dial(aq_node_t *node, aq_child_t *child)
{
    const aq_spec_daemon_t *daemon = aq_spec_daemon(&node->spec, child->low);
    child->state = AQ_CHILD_DIALED;
    child->dial = malloc(sizeof *child->dial);
    if (child->dial == NULL)
        aq_node_lose_child(node, child, "no memory to call the daemon there");
    else
        aq_dial_begin(child->dial, daemon->addresses, (uint16_t)daemon->port, daemon->number);
}

static void begin_child(aq_node_t *node, aq_child_t *child)
{
    child->deadline = aq_clock_ns() + (uint64_t)node->spec.tree.timeout_ms * 1000000;
    if (node->spec.daemons != NULL)
        begin_dial(node, child);
    else
        begin_shell(node, child);
}

// The share of the time for its start after which a child is late.
#define LATE_SHARE 16

static bool is_outstanding(const aq_child_t *child)
{
    return child->state == AQ_CHILD_DIALED || child->state == AQ_CHILD_SHELL ||
           child->state == AQ_CHILD_INVITED || child->state == AQ_CHILD_UP;
}

void aq_node_start_more(aq_node_t *node)
{
    static bool inside; // a child that cannot start leads back to this function
    if (inside)
        return;
    inside = true;
    uint32_t outstanding = 0;
    for (uint32_t i = 0; i < node->child_count; i++)
        outstanding += is_outstanding(&node->children[i]) && !node->children[i].late;
    for (uint32_t i = 0; i < node->child_count && outstanding < node->window; i++) {
        if (node->children[i].state != AQ_CHILD_WAITING)
            continue;
        begin_child(node, &node->children[i]);
        outstanding += is_outstanding(&node->children[i]);
    }
    inside = false;
}

// ---- greeting ----

static bool send_intro(const aq_node_t *node, aq_child_t *child, const aq_listener_t *listener)
{
    aq_bytes_t bytes = {0};
    aq_intro_t intro = {.node = child->low, .address = listener->address, .port = listener->port};
    memcpy(intro.key, node->key, sizeof intro.key);
    aq_write_intro(&bytes, &intro);
    // A pipe takes this few bytes at once.
    bool ok = !bytes.failed && TEMP_FAILURE_RETRY(write(child->remote.in, bytes.data,
                                                        bytes.used)) == (ssize_t)bytes.used;
    if (bytes.data != NULL)
        explicit_bzero(bytes.data, bytes.used);
    aq_bytes_free(&bytes);
    explicit_bzero(intro.key, sizeof intro.key);
    return ok;
}

static void take_greeting(aq_node_t *node, aq_child_t *child, const aq_greeting_t *greeting)
{
    char why[AQ_REMOTE_TEXT];
    aq_listener_t *listener;
    if (strcmp(greeting->version, PACKAGE_VERSION) != 0) {
        snprintf(why, sizeof why,
                 "version %s of Aqueduct is installed there, here it is %s; install the same one",
                 greeting->version, PACKAGE_VERSION);
        aq_node_lose_child(node, child, why);
        return;
    }
    snprintf(child->addresses, sizeof child->addresses, "%s,%s,127.0.0.1", greeting->server,
             greeting->addresses);
    if (!aq_node_listen_for(node, greeting, &listener, why, sizeof why)) {
        aq_node_lose_child(node, child, why);
        return;
    }
    if (send_intro(node, child, listener))
        child->state = AQ_CHILD_INVITED;
    // Else the shell has ended, and the reaper reports that.
}

static void serve_output(aq_node_t *node, void *item, short events)
{
    aq_child_t *child = item;
    aq_greeting_t greeting;
    (void)events;
    if (child->remote.out >= 0 && aq_remote_greeted(&child->remote, &greeting) &&
        child->state == AQ_CHILD_SHELL)
        take_greeting(node, child, &greeting);
}

static void serve_errors(aq_node_t *node, void *item, short events)
{
    aq_child_t *child = item;
    (void)node;
    (void)events;
    if (child->remote.err >= 0)
        aq_remote_listen(&child->remote);
}

void aq_node_watch_start(aq_node_t *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        aq_child_t *child = &node->children[i];
        if (child->remote.out >= 0)
            aq_node_watch(node, child->remote.out, POLLIN, serve_output, child);
        if (child->remote.err >= 0)
            aq_node_watch(node, child->remote.err, POLLIN, serve_errors, child);
    }
}

// ---- ends ----

void aq_node_child_reaped(aq_node_t *node, pid_t pid, int status)
{
    char why[AQ_REMOTE_TEXT];
    for (uint32_t i = 0; i < node->child_count; i++) {
        aq_child_t *child = &node->children[i];
        if (child->remote.pid != pid)
            continue;
        child->remote.pid = 0;
        child->remote.status = status;
        if (child->state == AQ_CHILD_SHELL || child->state == AQ_CHILD_INVITED) {
            aq_greeting_t greeting;
            if (status == 0 && child->state == AQ_CHILD_INVITED)
                return; // the child has called; its connection is handled later
            while (child->remote.out >= 0 && aq_remote_greeted(&child->remote, &greeting))
                continue;
            aq_remote_reason(&child->remote, why, sizeof why);
            aq_node_lose_child(node, child, why);
        }
        return;
    }
}

// A late child may be dead. Its time-out shows that much later, and the hosts behind it must not
// wait so long.
static void check_late(aq_node_t *node, aq_child_t *child, uint64_t now)
{
    uint64_t whole = (uint64_t)node->spec.tree.timeout_ms * 1000000;
    bool called = child->state != AQ_CHILD_DIALED && child->state != AQ_CHILD_SHELL &&
                  child->state != AQ_CHILD_INVITED;
    if (node->spec.spare == 0 || called || child->late ||
        now + whole - whole / LATE_SHARE < child->deadline)
        return;
    child->late = true;
    orphan_hosts(node, child);
    aq_node_start_more(node);
}

void aq_node_check_start(aq_node_t *node)
{
    uint64_t now = aq_clock_ns();
    for (uint32_t i = 0; i < node->child_count; i++) {
        aq_child_t *child = &node->children[i];
        char why[AQ_REMOTE_TEXT];
        check_late(node, child, now);
        if (!is_outstanding(child) || now < child->deadline)
            continue;
        snprintf(why, sizeof why,
                 "it did not answer within %" PRIu32
                 " seconds; if it is only slow, raise GASNET_SPAWN_TIMEOUT",
                 node->spec.tree.timeout_ms / 1000);
        aq_node_lose_child(node, child, why);
    }
}
