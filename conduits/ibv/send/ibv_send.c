// SPDX-License-Identifier: BSD-3-Clause
// The send of ibv_table.c: reserves entry, buffer and credit or slot, writes the message, and posts
// it by ibv_send_queue.c.
#include "ibv_send.h"

#include <string.h>

#include "../../../other/base/log/log.h"

// ---- what a message needs ----

typedef struct outgoing {
    const aq_am_t *am;
    bool packed;               // the payload travels in the message
    bool written;              // the payload travels ahead of the message, to its destination
    size_t bytes;              // of the message
    bool for_ring;             // it may go into a ring
    aq_ibv_op_t *op, *long_op; // of the message and of the payload; NULL: none
    unsigned credits;          // that travel with it
} outgoing_t;

static bool op_add_buffer(aq_ibv_sender_t *sender, aq_ibv_op_t *op, size_t bytes)
{
    if (bytes > AQ_IBV_BUFFER_BYTES)
        op->buffer = aq_ibv_buffer_take(&sender->buffers->large_bounces);
    else
        op->buffer = aq_ibv_buffer_take(&sender->buffers->bounces);
    return op->buffer;
}

static bool take_ops(aq_ibv_sender_t *sender, aq_ibv_peer_t *link, outgoing_t *out)
{
    const size_t bytes = out->for_ring ? aq_ibv_ring_bytes(out->bytes) : out->bytes;
    const size_t in_line = sender->limits->inline_bytes;
    if (!out->written && bytes <= in_line && aq_ibv_unsignaled_take(sender->queue, link))
        return true;
    out->op = aq_ibv_op_take(sender->queue, link);
    if (!out->op || (bytes > in_line && !op_add_buffer(sender, out->op, bytes)))
        return false;
    if (!out->written)
        return true;
    out->long_op = aq_ibv_op_take(sender->queue, link);
    return out->long_op &&
           (out->am->nbytes <= in_line || op_add_buffer(sender, out->long_op, out->am->nbytes));
}

// Takes everything of this process; not the receiver's part, which is a credit or a slot.
static bool take_own(aq_ibv_sender_t *sender, aq_ibv_peer_t *link, outgoing_t *out)
{
    if (take_ops(sender, link, out)) {
        out->credits = aq_credit_collect(&link->credit, UINT16_MAX);
        return true;
    }
    if (out->op)
        aq_ibv_op_put(sender->queue, out->op);
    if (out->long_op)
        aq_ibv_op_put(sender->queue, out->long_op);
    out->op = out->long_op = NULL;
    return false;
}

static bool take_all(aq_ibv_sender_t *sender, aq_ibv_peer_t *link, outgoing_t *out)
{
    if (!out->am->reply && !aq_credit_take(&link->credit))
        return false;
    if (take_own(sender, link, out))
        return true;
    if (!out->am->reply)
        aq_credit_untake(&link->credit);
    return false;
}

// ---- messages ----

// The client's messages may go through a ring: their replies are sent while the handler of the
// request runs. Those of the conduit itself may be deferred.
static bool is_clients(const aq_am_t *am)
{
    return am->category < AQ_AM_CONTROL;
}

static void message_write(aq_ibv_peer_t *link, const outgoing_t *out, uint8_t *to)
{
    const aq_am_t *am = out->am;
    const bool has_payload = am->category != AQ_AM_SHORT && am->nbytes;
    aq_ibv_head_t head = {
        .source = link->number_there,
        .nbytes = has_payload ? (uint32_t)am->nbytes : 0,
        .credits = (uint16_t)out->credits,
        .kind = am->category,
        .flags = (uint8_t)((am->reply ? AQ_IBV_REPLY : 0) | (out->packed ? AQ_IBV_PACKED : 0) |
                           (am->cookie & AQ_IBV_COOKIE_RING ? AQ_IBV_UNCOUNTED : 0)),
        .handler = am->handler,
        .nargs = am->nargs,
    };
    aq_ibv_ring_say(link, &head);
    memcpy(to, &head, sizeof head);
    if (am->nargs)
        memcpy(to + sizeof head, am->args, am->nargs * sizeof *am->args);
    if (am->category == AQ_AM_LONG) {
        const uint64_t place = (uintptr_t)am->dest;
        memcpy(to + aq_ibv_place_at(am->nargs), &place, sizeof place);
    }
    if (has_payload && out->packed)
        memcpy(to + aq_ibv_payload_at(am->category, am->nargs), am->payload, am->nbytes);
}

// The payload of a Long, posted ahead of its message: a message that is sent behind a write also
// arrives behind it.
static void payload_describe(const aq_ibv_sender_t *sender, const outgoing_t *out, uint32_t key)
{
    const aq_am_t *am = out->am;
    aq_ibv_op_t *op = out->long_op;
    const void *bytes = am->payload;
    if (op->buffer)
        bytes = memcpy(op->buffer->bytes, am->payload, am->nbytes);
    else
        aq_ibv_work_in_line(&op->work);
    aq_ibv_work_local(&op->work, bytes, am->nbytes, sender->buffers->slab_mr->lkey);
    aq_ibv_work_rdma(&op->work, IBV_WR_RDMA_WRITE, (uintptr_t)am->dest, key);
}

// buffer: that has the message; NULL: the message travels inline.
static void message_describe(const aq_ibv_sender_t *sender, aq_ibv_work_t *work,
                             const uint8_t *message, size_t bytes, const aq_ibv_buffer_t *buffer)
{
    work->wr.opcode = IBV_WR_SEND;
    aq_ibv_work_local(work, message, bytes, sender->buffers->slab_mr->lkey);
    if (!buffer)
        aq_ibv_work_in_line(work);
}

static void message_post(aq_ibv_sender_t *sender, aq_ibv_peer_t *link, const outgoing_t *out,
                         uint32_t key)
{
    uint8_t in_line[AQ_IBV_BUFFER_BYTES];
    aq_ibv_op_t *op = out->op, *long_op = out->long_op;
    aq_ibv_buffer_t *buffer = op ? op->buffer : NULL;
    uint8_t *message = buffer ? buffer->bytes : in_line;
    aq_ibv_work_t bare, *work = op ? &op->work : aq_ibv_work_unsignaled(&bare, link);
    message_write(link, out, message);
    message_describe(sender, work, message, out->bytes, buffer);
    if (out->for_ring)
        aq_ibv_ring_use(link, message, out->bytes, work);
    if (long_op) {
        payload_describe(sender, out, key);
        long_op->work.wr.next = &work->wr;
    }
    if (op)
        aq_ibv_post(sender->queue, long_op ? long_op : op);
    else
        aq_ibv_post_unsignaled(sender->queue, link, work);
}

// Holds one lock from the look for a slot to the post, so that writes are posted in the order of
// their slots and none after the ring was left. False: no room; the message has to go another way.
static bool send_by_ring(aq_ibv_sender_t *sender, aq_ibv_peer_t *link, outgoing_t *out)
{
    aq_lock_take(&link->out.lock);
    const bool sent = aq_ibv_ring_has_room(link) && take_own(sender, link, out);
    if (sent)
        message_post(sender, link, out, 0);
    aq_lock_drop(&link->out.lock);
    out->for_ring = false;
    return sent;
}

// Decides how the message travels. AQ_ERR_ARG: it cannot (logged).
static aq_status_t outgoing_plan(aq_ibv_sender_t *sender, const aq_ibv_peer_t *link,
                                 outgoing_t *out, uint32_t *key)
{
    const aq_am_t *am = out->am;
    aq_ibv_hold_t hold = {0};
    const bool is_there = am->payload_delivered;
    out->written = am->category == AQ_AM_LONG && !is_there &&
                   am->nbytes > sender->limits->packed_long &&
                   aq_ibv_keys_attached(sender->keys, link->rank, am->dest, am->nbytes, &hold) &&
                   hold.bytes == am->nbytes;
    *key = hold.key;
    out->packed = !out->written && !is_there;
    out->bytes = aq_ibv_payload_at(am->category, am->nargs);
    if (am->category != AQ_AM_SHORT && out->packed)
        out->bytes += am->nbytes;
    out->for_ring = !out->written && is_clients(am) && out->bytes <= sender->limits->rings.bytes &&
                    atomic_load_explicit(&link->out.at, memory_order_relaxed);
    if (out->bytes <= AQ_IBV_BUFFER_BYTES)
        return AQ_OK;
    aq_log_error("a Long of %zu bytes to %p is not inside the attached segment of rank %u, where "
                 "%zu are the most",
                 am->nbytes, am->dest, link->rank, aq_ibv_longest_packed());
    return AQ_ERR_ARG;
}

aq_status_t aq_ibv_send(aq_ibv_sender_t *sender, aq_ibv_peer_t *link, const aq_am_t *am)
{
    outgoing_t out = {.am = am};
    uint32_t key = 0;
    aq_status_t status = outgoing_plan(sender, link, &out, &key);
    if (status != AQ_OK)
        return status;
    if (out.for_ring && send_by_ring(sender, link, &out))
        return AQ_OK;
    if (!take_all(sender, link, &out) &&
        !(aq_ibv_reap(sender->queue) && take_all(sender, link, &out)))
        return AQ_AGAIN;
    message_post(sender, link, &out, key);
    return AQ_OK;
}

// ---- hidden messages: those of the conduit itself ----

// False: there is no room for it now.
static bool send_hidden(aq_ibv_sender_t *sender, aq_ibv_peer_t *link, uint8_t kind, uint8_t flags)
{
    aq_ibv_op_t *op = aq_ibv_op_take(sender->queue, link);
    if (!op || (sizeof(aq_ibv_head_t) > sender->limits->inline_bytes &&
                !op_add_buffer(sender, op, sizeof(aq_ibv_head_t)))) {
        if (op)
            aq_ibv_op_put(sender->queue, op);
        return false;
    }
    aq_ibv_head_t head = {.source = link->number_there,
                          .credits = (uint16_t)aq_credit_collect(&link->credit, UINT16_MAX),
                          .kind = kind,
                          .flags = flags};
    void *message = &head;
    aq_ibv_ring_say(link, &head);
    if (op->buffer)
        message = memcpy(op->buffer->bytes, &head, sizeof head);
    message_describe(sender, &op->work, message, sizeof head, op->buffer);
    aq_ibv_post(sender->queue, op);
    return true;
}

// Returns the banked credits, and answers AQ_IBV_ASK. True: nothing is left to be sent.
static bool send_credits(aq_ibv_sender_t *sender, aq_ibv_peer_t *link)
{
    const bool answer = atomic_load_explicit(&link->out.answer, memory_order_relaxed) &&
                        atomic_exchange_explicit(&link->out.answer, false, memory_order_acquire);
    if (!answer && !aq_credit_due(&link->credit))
        return true;
    if (send_hidden(sender, link, AQ_IBV_CREDITS, AQ_IBV_REPLY | (answer ? AQ_IBV_ANSWER : 0)))
        return true;
    if (answer)
        atomic_store_explicit(&link->out.answer, true, memory_order_release);
    return false;
}

bool aq_ibv_send_ask(aq_ibv_sender_t *sender, aq_ibv_peer_t *link)
{
    if (!aq_credit_take(&link->credit))
        return false;
    const bool sent = send_hidden(sender, link, AQ_IBV_ASK, 0);
    if (!sent)
        aq_credit_untake(&link->credit);
    return sent;
}

void aq_ibv_send_answer(aq_ibv_sender_t *sender, aq_ibv_peer_t *link)
{
    atomic_store_explicit(&link->out.answer, true, memory_order_release);
    if (!send_credits(sender, link))
        atomic_store_explicit(&sender->credits_due, true, memory_order_release);
}

void aq_ibv_bank(aq_ibv_sender_t *sender, aq_ibv_peer_t *link)
{
    if (aq_credit_bank(&link->credit) && !send_credits(sender, link))
        atomic_store_explicit(&sender->credits_due, true, memory_order_release);
}

void aq_ibv_send_due(aq_ibv_sender_t *sender)
{
    if (!atomic_load_explicit(&sender->credits_due, memory_order_relaxed) ||
        !atomic_exchange(&sender->credits_due, false))
        return;
    bool all = true;
    aq_ibv_peer_t *link = atomic_load_explicit(&sender->peers->first, memory_order_acquire);
    for (; link; link = link->next)
        if (atomic_load_explicit(&link->started, memory_order_acquire) &&
            link->conn.state == AQ_IBV_READY)
            all = send_credits(sender, link) && all;
    if (!all)
        atomic_store_explicit(&sender->credits_due, true, memory_order_release);
}
