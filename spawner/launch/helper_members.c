// SPDX-License-Identifier: BSD-3-Clause
// The members of a helper (members.h): passes their reports up to the master, and frames of the
// master down to them.
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helper_members.h"
#include "../tree/node_watch.h"

// ---- frames of members ----

// The master gets one report of the end of each member that has a rank: LOST from here, or DONE.
static void lose_member(aq_helper_t *helper, aq_member_t *member, const char *why)
{
    if (member->rank != AQ_MEMBER_UNKNOWN && !member->done)
        aq_write_node_text(&helper->parent.out, AQ_MSG_LOST, &(aq_node_text_t){member->rank, why});
    member->done = member->rank != AQ_MEMBER_UNKNOWN;
    aq_link_close(&member->link);
}

static bool take_rank(aq_helper_t *helper, aq_member_t *member, const aq_frame_t *frame)
{
    aq_node_text_t text;
    if (member->rank != AQ_MEMBER_UNKNOWN || !aq_read_node_text(frame->payload, &text) ||
        strcmp(text.text, helper->process.members.attach_socket.word) != 0)
        return false;
    member->rank = text.node;
    aq_write_number(&helper->parent.out, AQ_MSG_MEMBER, text.node);
    return true;
}

static bool take_done(aq_helper_t *helper, aq_member_t *member, const aq_frame_t *frame)
{
    aq_done_t done;
    if (member->rank == AQ_MEMBER_UNKNOWN || !aq_read_done(frame->payload, &done))
        return false;
    member->done = true;
    if (helper->process.members.code == 0)
        helper->process.members.code = (int)done.code;
    return true;
}

static bool take_failed(aq_helper_t *helper, aq_member_t *member, const aq_frame_t *frame)
{
    aq_failed_t failed;
    if (!aq_read_failed(frame->payload, &failed))
        return false;
    lose_member(helper, member, failed.why);
    return true;
}

static bool handle_frame(aq_helper_t *helper, aq_member_t *member, const aq_frame_t *frame)
{
    switch (frame->type) {
    case AQ_MSG_MEMBER:
        return take_rank(helper, member, frame);
    case AQ_MSG_DONE:
        return take_done(helper, member, frame);
    case AQ_MSG_FAILED:
        return take_failed(helper, member, frame);
    default:
        return false;
    }
}

static void serve_member(aq_node_t *node, void *item, short events)
{
    aq_helper_t *helper = aq_helper_of(node);
    aq_member_t *member = item;
    aq_frame_t frame;
    aq_framing_t framing = AQ_FRAME_PART;
    int error = events & ~POLLOUT ? aq_link_receive(&member->link) : 0;
    while (member->link.fd >= 0 &&
           (framing = aq_link_next(&member->link, AQ_FIRST_MAX, &frame)) == AQ_FRAME_WHOLE)
        if (!handle_frame(helper, member, &frame)) {
            framing = AQ_FRAME_BAD;
            break;
        }
    if (framing == AQ_FRAME_BAD)
        error = EPROTO;
    if (member->link.fd >= 0 && error != 0)
        lose_member(helper, member, error == ENOTCONN ? "its helper has ended" : strerror(error));
}

// ---- for the helper ----

static void serve_attach_socket(aq_node_t *node, void *item, short events)
{
    (void)node;
    (void)events;
    aq_members_accept(item);
}

void aq_helper_watch_members(aq_helper_t *helper)
{
    aq_members_t *members = &helper->process.members;
    if (members->list == NULL)
        return;
    if (members->listener >= 0 && aq_members_have_room(members))
        aq_node_watch(&helper->node, members->listener, POLLIN, serve_attach_socket, members);
    for (uint32_t i = 0; i < AQ_MEMBERS_MAX; i++) {
        aq_member_t *member = &members->list[i];
        int wanted = POLLIN | (aq_link_waiting(&member->link) > 0 ? POLLOUT : 0);
        if (member->link.fd >= 0)
            aq_node_watch(&helper->node, member->link.fd, (short)wanted, serve_member, member);
    }
}

void aq_helper_start_members(aq_helper_t *helper)
{
    struct stat st = {0};
    aq_bytes_t bytes = {0};
    (void)fstat(helper->ranks.page_fd, &st);
    aq_write_page_place(&bytes,
                        &(aq_page_place_t){(uint32_t)getpid(), (uint32_t)helper->ranks.page_fd,
                                           (uint64_t)st.st_ino,
                                           helper->process.members.attach_socket.answer});
    aq_members_send(&helper->process.members, &bytes);
    aq_bytes_free(&bytes);
}

void aq_helper_tell_members(aq_helper_t *helper, const aq_frame_t *frame)
{
    aq_bytes_t bytes = {0};
    aq_frame_copy(&bytes, frame);
    aq_members_send(&helper->process.members, &bytes);
    aq_bytes_free(&bytes);
}

void aq_helper_tell_lost(aq_helper_t *helper)
{
    aq_bytes_t bytes = {0};
    aq_write_empty(&bytes, AQ_MSG_LOST);
    aq_members_send(&helper->process.members, &bytes);
    aq_bytes_free(&bytes);
    aq_members_flush(&helper->process.members);
}
