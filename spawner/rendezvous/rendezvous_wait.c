// SPDX-License-Identifier: BSD-3-Clause
// From the call of a process of a rendezvous until its job is there: at the master, and at the
// process that leads on its host (members.h).
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../launch/helper_members.h"
#include "rendezvous.h"
#include "../launch/helper.h"
#include "../tree/node_watch.h"

#define EXIT_FAILED 1
// Milliseconds that the master gets to report why the process that leads has ended.
#define REASON_MS 5000

typedef struct wait {
    aq_helper_t *helper;              // its parent is the link to the master
    aq_link_t leader;                 // fd -1: this process is no member
    aq_attach_socket_t attach_socket; // of that
    int unreached;                    // errno of the call to that; 0: it was reached, or not called
    uint32_t leader_rank;
    uint64_t give_up; // in time of aq_clock_ns(), if unreached
    bool over;
    aq_awaited_t result;
    char *why; // of AQ_AWAIT_REFUSED
    size_t room;
} wait_t;

static void end_wait(wait_t *wait, aq_awaited_t result)
{
    if (!wait->over)
        wait->result = result;
    wait->over = true;
}

static void end_with(wait_t *wait, int code)
{
    wait->helper->end_code = code;
    end_wait(wait, AQ_AWAIT_ENDED);
}

static bool take_ended(wait_t *wait, const aq_frame_t *frame)
{
    aq_end_t end;
    if (!aq_read_end(frame->payload, &end))
        return false;
    aq_helper_tell_members(wait->helper, frame);
    aq_members_flush(&wait->helper->process.members);
    end_with(wait, (int)end.code);
    return true;
}

// ---- at the process that leads ----

// The rank starts with the page of the process that leads, whose helper is the parent from now on.
static bool take_page(wait_t *wait, const aq_frame_t *frame)
{
    aq_helper_t *helper = wait->helper;
    if (!aq_read_page_place(frame->payload, &helper->process.place) ||
        strcmp(helper->process.place.answer, wait->attach_socket.answer) != 0)
        return false;
    helper->process.place.answer = ""; // the frame goes
    aq_link_close(&helper->parent);
    helper->parent = wait->leader;
    helper->process.attached = true;
    wait->leader = (aq_link_t){.fd = -1};
    end_wait(wait, AQ_AWAIT_JOB);
    return true;
}

static bool take_leader_frame(wait_t *wait, const aq_frame_t *frame)
{
    switch (frame->type) {
    case AQ_MSG_START:
        return take_page(wait, frame);
    case AQ_MSG_ENDED:
        return take_ended(wait, frame);
    case AQ_MSG_LOST:
        end_wait(wait, AQ_AWAIT_LOST);
        return true;
    default:
        return false;
    }
}

// While the link to the master is open, the master reports the end of the job. Without that link,
// losing the leader ends this process; the master logs the reason.
static void lose_leader(wait_t *wait)
{
    aq_link_close(&wait->leader);
    if (wait->helper->parent.fd < 0)
        end_with(wait, EXIT_FAILED);
}

static void serve_leader(aq_node_t *node, void *item, short events)
{
    wait_t *wait = item;
    aq_frame_t frame;
    aq_framing_t framing = AQ_FRAME_PART;
    bool ok = true;
    (void)node;
    (void)events;
    int error = aq_link_receive(&wait->leader);
    while (ok && !wait->over &&
           (framing = aq_link_next(&wait->leader, AQ_FIRST_MAX, &frame)) == AQ_FRAME_WHOLE)
        ok = take_leader_frame(wait, &frame);
    if (!wait->over && (!ok || error != 0 || framing == AQ_FRAME_BAD))
        lose_leader(wait);
}

// Delays the fault of a failed call: a job that ends before its start ends the process that leads
// too, and ENDED of the master may arrive after that.
static void note_unreached(wait_t *wait)
{
    wait->unreached = errno;
    wait->give_up = aq_clock_ns() + REASON_MS * UINT64_C(1000000);
}

static void tell_unreached(wait_t *wait)
{
    aq_log_error("rank %" PRIu32 " cannot reach rank %" PRIu32 ", which is on its host (%s): that "
                 "has ended, or belongs to another user; have one user start all processes of a "
                 "host",
                 wait->helper->process.rank, wait->leader_rank, strerror(wait->unreached));
    end_with(wait, EXIT_FAILED);
}

static bool attach(wait_t *wait, const aq_frame_t *frame)
{
    aq_helper_t *helper = wait->helper;
    aq_node_text_t to;
    if (wait->leader.fd >= 0 || wait->unreached != 0 || !aq_read_node_text(frame->payload, &to) ||
        !aq_attach_socket_read(to.text, &wait->attach_socket))
        return false;
    wait->leader_rank = to.node;
    aq_members_shut(&helper->process.members);
    int fd = aq_members_attach(&wait->attach_socket);
    if (fd < 0) {
        note_unreached(wait);
        return true;
    }
    aq_link_open(&wait->leader, fd);
    aq_write_node_text(&wait->leader.out, AQ_MSG_MEMBER,
                       &(aq_node_text_t){helper->process.rank, wait->attach_socket.word});
    return true;
}

// ---- at the master ----

static bool take_refusal(wait_t *wait, const aq_frame_t *frame)
{
    aq_failed_t failed;
    if (!aq_read_failed(frame->payload, &failed))
        return false;
    snprintf(wait->why, wait->room, "%s", failed.why);
    end_wait(wait, AQ_AWAIT_REFUSED);
    return true;
}

static bool take_job(wait_t *wait, const aq_frame_t *frame)
{
    if (!aq_helper_take_job(wait->helper, frame))
        return false;
    aq_members_shut(&wait->helper->process.members);
    end_wait(wait, AQ_AWAIT_JOB);
    return true;
}

static bool handle_frame(wait_t *wait, const aq_frame_t *frame)
{
    switch (frame->type) {
    case AQ_MSG_JOB:
        return take_job(wait, frame);
    case AQ_MSG_ATTACH:
        return attach(wait, frame);
    case AQ_MSG_ENDED:
        return take_ended(wait, frame);
    case AQ_MSG_FAILED:
        return take_refusal(wait, frame);
    default:
        return false;
    }
}

// The master closes the link of a process that has attached.
static void lose_master(wait_t *wait)
{
    aq_link_close(&wait->helper->parent);
    if (wait->leader.fd >= 0)
        return;
    aq_helper_tell_lost(wait->helper);
    end_wait(wait, AQ_AWAIT_LOST);
}

static void serve_master(aq_node_t *node, void *item, short events)
{
    wait_t *wait = item;
    aq_link_t *link = &wait->helper->parent;
    aq_frame_t frame;
    aq_framing_t framing = AQ_FRAME_PART;
    bool ok = true;
    (void)node;
    int error = events & ~POLLOUT ? aq_link_receive(link) : 0;
    while (ok && !wait->over &&
           (framing = aq_link_next(link, AQ_FRAME_MAX, &frame)) == AQ_FRAME_WHOLE)
        ok = handle_frame(wait, &frame);
    if (!wait->over && (!ok || error != 0 || framing == AQ_FRAME_BAD))
        lose_master(wait);
}

static void flush_links(wait_t *wait)
{
    if (wait->helper->parent.fd >= 0)
        (void)aq_link_flush(&wait->helper->parent); // the next receive reports an error
    if (wait->leader.fd >= 0)
        (void)aq_link_flush(&wait->leader);
    aq_members_flush(&wait->helper->process.members);
}

static void watch_link(wait_t *wait, const aq_link_t *link, aq_watcher_t *call)
{
    int wanted = POLLIN | (aq_link_waiting(link) > 0 ? POLLOUT : 0);
    if (link->fd >= 0)
        aq_node_watch(&wait->helper->node, link->fd, (short)wanted, call, wait);
}

static void watch_links(wait_t *wait)
{
    watch_link(wait, &wait->helper->parent, serve_master);
    watch_link(wait, &wait->leader, serve_leader);
    aq_helper_watch_members(wait->helper);
}

static void wait_more(wait_t *wait)
{
    flush_links(wait);
    watch_links(wait);
    aq_node_wait(&wait->helper->node, wait->unreached != 0 ? REASON_MS / 10 : -1);
    if (!wait->over && wait->unreached != 0 && aq_clock_ns() >= wait->give_up)
        tell_unreached(wait);
}

aq_awaited_t aq_rendezvous_wait(aq_helper_t *helper, char *errbuf, size_t errbuf_size)
{
    wait_t wait = {.helper = helper, .leader.fd = -1, .why = errbuf, .room = errbuf_size};
    // The job may have come in one piece with the last bytes of the introduction.
    serve_master(&helper->node, &wait, POLLOUT);
    while (!wait.over)
        wait_more(&wait);
    aq_link_close(&wait.leader);
    return wait.result;
}
