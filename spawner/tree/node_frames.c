// SPDX-License-Identifier: BSD-3-Clause
// The routing of frames from children.
#include "node_frames.h"
#include "node_start.h"

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
    if (!aq_read_done(frame->payload, &done) || !aq_child_has_host(child, done.node))
        return false;
    child->done++;
    node->ops->up(node, frame);
    return true;
}

static bool take_started(aq_node_t *node, aq_child_t *child, const aq_frame_t *frame)
{
    aq_node_text_t text;
    if (!aq_read_node_text(frame->payload, &text) || !aq_child_has_host(child, text.node))
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
    if (!aq_read_failed(frame->payload, &failed) || !aq_child_has_host(child, failed.low) ||
        failed.high > child->high)
        return false;
    child->done += failed.high - failed.low; // these hosts will send nothing more
    node->ops->up(node, frame);
    return true;
}

static bool take_again(aq_node_t *node, aq_child_t *child, const aq_frame_t *frame)
{
    aq_again_t again;
    if (!aq_read_again(frame->payload, &again) || !aq_child_has_host(child, again.low) ||
        again.high > child->high || again.failed > child->done)
        return false;
    child->done -= again.failed;
    node->ops->up(node, frame);
    return true;
}

static bool take_query(aq_node_t *node, const aq_child_t *child, const aq_frame_t *frame)
{
    aq_reader_query_t asker;
    if (!aq_read_reader_query(frame->payload, &asker) || !aq_child_has_host(child, asker.host))
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
    case AQ_MSG_READER_QUERY:
        return take_query(node, child, frame);
    case AQ_MSG_PONG:
        child->unanswered = child->warned = false;
        return true;
    case AQ_MSG_TAKEN:
    case AQ_MSG_EXIT:
    case AQ_MSG_FAULT:
    case AQ_MSG_JOINED:
    case AQ_MSG_LEFT:
    case AQ_MSG_LOST:
    case AQ_MSG_REPLY:
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
    while (aq_child_is_linked(child) &&
           (framing = aq_link_next(&child->link, AQ_FRAME_MAX, &frame)) == AQ_FRAME_WHOLE)
        if (!handle_frame(node, child, &frame)) {
            framing = AQ_FRAME_BAD;
            break;
        }
    if (framing == AQ_FRAME_BAD)
        aq_node_lose_child(node, child,
                           "its helper sent a message that this version does not know");
}
