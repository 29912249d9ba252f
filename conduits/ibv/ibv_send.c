// Messages out: what a message needs is taken first, all of it or nothing; then it is written and
// posted.
#include "ibv_conduit.h"

#include <string.h>

#include "../../other/log.h"

// ---- work requests ----

static void describe_work(const aq_ibv_work_t *work, struct ibv_send_wr *wr, struct ibv_sge *piece)
{
    *piece = (struct ibv_sge){
        .addr = (uintptr_t)work->local, .length = work->nbytes, .lkey = work->local_key};
    *wr = (struct ibv_send_wr){
        .wr_id = (uintptr_t)work->op,
        .sg_list = piece,
        .num_sge = work->nbytes ? 1 : 0,
        .opcode = work->opcode,
        .send_flags = IBV_SEND_SIGNALED | (work->in_line ? IBV_SEND_INLINE : 0),
        .wr.rdma = {.remote_addr = work->remote, .rkey = work->remote_key},
    };
    if (work->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || work->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
        wr->wr.atomic.remote_addr = work->remote;
        wr->wr.atomic.rkey = work->remote_key;
        wr->wr.atomic.compare_add = work->operand1;
        wr->wr.atomic.swap = work->operand2;
    }
}

void aq_ibv_post(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_ibv_work_t *work,
                 unsigned count)
{
    struct ibv_send_wr wr[2], *bad;
    struct ibv_sge piece[2];
    for (unsigned i = 0; i < count; i++) {
        describe_work(&work[i], &wr[i], &piece[i]);
        if (i)
            wr[i - 1].next = &wr[i];
    }
    int error = ibv_post_send(link->id->qp, wr, &bad);
    if (error)
        aq_ibv_peer_lost(ibv, link, strerror(error));
}

static void complete(aq_ibv_conduit_t *ibv, const struct ibv_wc *wc)
{
    aq_ibv_op_t *op = (aq_ibv_op_t *)(uintptr_t)wc->wr_id;
    if (wc->status != IBV_WC_SUCCESS) {
        // Nobody may believe that it is complete.
        aq_ibv_peer_lost(ibv, op->link, ibv_wc_status_str(wc->status));
        aq_ibv_op_put(ibv, op);
        return;
    }
    atomic_uint *pending = op->pending;
    if (op->into)
        memcpy(op->into, op->buffer->bytes, op->nbytes);
    aq_ibv_op_put(ibv, op);
    if (pending)
        atomic_fetch_sub_explicit(pending, 1, memory_order_release);
}

unsigned aq_ibv_reap(aq_ibv_conduit_t *ibv)
{
    struct ibv_wc wc[AQ_IBV_BATCH];
    if (!aq_lock_try(&ibv->reaping))
        return 0;
    int count = ibv_poll_cq(ibv->send_cq, AQ_IBV_BATCH, wc);
    aq_lock_drop(&ibv->reaping);
    for (int i = 0; i < count; i++)
        complete(ibv, &wc[i]);
    return count > 0 ? (unsigned)count : 0;
}

// ---- what a message needs ----

typedef struct outgoing {
    const aq_am_t *am;
    bool packed;   // the payload travels with the header
    size_t bytes;  // of the message
    bool for_ring; // it may go into a ring
    aq_ibv_op_t *op, *long_op;
    unsigned credits; // that ride on it
} outgoing_t;

static bool take_buffer(aq_ibv_conduit_t *ibv, aq_ibv_op_t *op, size_t bytes)
{
    if (bytes > AQ_IBV_BUFFER_BYTES)
        op->buffer = aq_ibv_buffer_take(&ibv->large_bounces);
    else
        op->buffer = aq_ibv_buffer_take(&ibv->bounces);
    return op->buffer;
}

static bool take_ops(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, outgoing_t *out)
{
    const size_t bytes = out->for_ring ? aq_ibv_ring_bytes(out->bytes) : out->bytes;
    out->op = aq_ibv_op_take(ibv, link);
    if (!out->op || (bytes > ibv->limits.inline_bytes && !take_buffer(ibv, out->op, bytes)))
        return false;
    if (out->packed)
        return true;
    out->long_op = aq_ibv_op_take(ibv, link);
    return out->long_op && take_buffer(ibv, out->long_op, out->am->nbytes);
}

static void give_back(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, outgoing_t *out)
{
    if (out->op)
        aq_ibv_op_put(ibv, out->op);
    if (out->long_op)
        aq_ibv_op_put(ibv, out->long_op);
    out->op = out->long_op = NULL;
    if (!out->am->reply)
        aq_credit_untake(&link->credit);
}

static bool take_all(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, outgoing_t *out)
{
    if (!out->am->reply && !aq_credit_take(&link->credit))
        return false;
    if (take_ops(ibv, link, out)) {
        out->credits = aq_credit_collect(&link->credit, UINT16_MAX);
        return true;
    }
    give_back(ibv, link, out);
    return false;
}

// ---- messages ----

static void write_message(const aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const outgoing_t *out,
                          uint8_t *to)
{
    const aq_am_t *am = out->am;
    const bool has_payload = am->category != AQ_AM_SHORT && am->nbytes;
    aq_ibv_head_t head = {
        .source = ibv->base.env->rank,
        .nbytes = has_payload ? (uint32_t)am->nbytes : 0,
        .credits = (uint16_t)out->credits,
        .kind = am->category,
        .flags = (uint8_t)((am->reply ? AQ_IBV_REPLY : 0) | (out->packed ? AQ_IBV_PACKED : 0)),
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

// The payload of a Long, ahead of its message: what is sent behind a write arrives behind it.
static aq_ibv_work_t write_payload(const aq_ibv_conduit_t *ibv, const outgoing_t *out, uint32_t key)
{
    const aq_am_t *am = out->am;
    memcpy(out->long_op->buffer->bytes, am->payload, am->nbytes);
    return (aq_ibv_work_t){.op = out->long_op,
                           .opcode = IBV_WR_RDMA_WRITE,
                           .local = out->long_op->buffer->bytes,
                           .nbytes = (uint32_t)am->nbytes,
                           .local_key = ibv->slab_mr->lkey,
                           .remote = (uintptr_t)am->dest,
                           .remote_key = key};
}

// Writes to a ring are posted in the order of their positions.
static void post_to_ring(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const outgoing_t *out,
                         uint8_t *message, aq_ibv_work_t *work)
{
    aq_lock_take(&link->ring_lock);
    aq_ibv_ring_use(link, message, out->bytes, work);
    aq_ibv_post(ibv, link, work, 1);
    aq_lock_drop(&link->ring_lock);
}

static void post_message(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const outgoing_t *out,
                         uint32_t key)
{
    uint8_t in_line[AQ_IBV_BUFFER_BYTES];
    aq_ibv_buffer_t *buffer = out->op->buffer;
    uint8_t *message = buffer ? buffer->bytes : in_line;
    aq_ibv_work_t work[2];
    unsigned count = 0;
    if (!out->packed)
        work[count++] = write_payload(ibv, out, key);
    write_message(ibv, link, out, message);
    work[count++] = (aq_ibv_work_t){.op = out->op,
                                    .opcode = IBV_WR_SEND,
                                    .local = message,
                                    .nbytes = (uint32_t)out->bytes,
                                    .local_key = ibv->slab_mr->lkey,
                                    .in_line = !buffer};
    if (out->for_ring)
        post_to_ring(ibv, link, out, message, work);
    else
        aq_ibv_post(ibv, link, work, count);
}

// How it travels; AQ_ERR_ARG if it cannot.
static aq_status_t plan(aq_ibv_conduit_t *ibv, const aq_ibv_peer_t *link, outgoing_t *out,
                        uint32_t *key)
{
    const aq_am_t *am = out->am;
    aq_ibv_hold_t hold = {0};
    bool written = am->category == AQ_AM_LONG && am->nbytes > ibv->limits.packed_long &&
                   aq_ibv_attached(ibv, link->rank, am->dest, am->nbytes, &hold) &&
                   hold.bytes == am->nbytes;
    *key = hold.key;
    out->packed = !written;
    out->bytes = aq_ibv_payload_at(am->category, am->nargs);
    if (am->category != AQ_AM_SHORT && out->packed)
        out->bytes += am->nbytes;
    out->for_ring = out->packed && out->bytes <= ibv->limits.ring_bytes &&
                    atomic_load_explicit(&link->ring, memory_order_relaxed);
    if (written || out->bytes <= AQ_IBV_BUFFER_BYTES)
        return AQ_OK;
    aq_log_error("a Long of %zu bytes to %p is not inside one piece of the attached segment of "
                 "rank %u (GASNET_PIN_MAXSZ), where %zu are the most",
                 am->nbytes, am->dest, link->rank, ibv->base.max_long_unmapped);
    return AQ_ERR_ARG;
}

aq_status_t aq_ibv_send(aq_conduit_t *conduit, void *pointer, const aq_am_t *am)
{
    aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    aq_ibv_peer_t *link = pointer;
    outgoing_t out = {.am = am};
    uint32_t key = 0;
    aq_status_t status = plan(ibv, link, &out, &key);
    if (status != AQ_OK)
        return status;
    if (!take_all(ibv, link, &out) && !(aq_ibv_reap(ibv) && take_all(ibv, link, &out)))
        return AQ_AGAIN;
    post_message(ibv, link, &out, key);
    return AQ_OK;
}

// ---- hidden replies ----

// True when nothing is left to be sent.
static bool send_credits(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link)
{
    if (!aq_credit_due(&link->credit))
        return true;
    aq_ibv_op_t *op = aq_ibv_op_take(ibv, link);
    if (!op || (sizeof(aq_ibv_head_t) > ibv->limits.inline_bytes &&
                !take_buffer(ibv, op, sizeof(aq_ibv_head_t)))) {
        if (op)
            aq_ibv_op_put(ibv, op);
        return false;
    }
    aq_ibv_head_t head = {.source = ibv->base.env->rank,
                          .credits = (uint16_t)aq_credit_collect(&link->credit, UINT16_MAX),
                          .kind = AQ_IBV_CREDITS,
                          .flags = AQ_IBV_REPLY};
    void *message = &head;
    aq_ibv_ring_say(link, &head);
    if (op->buffer)
        message = memcpy(op->buffer->bytes, &head, sizeof head);
    const aq_ibv_work_t work = {.op = op,
                                .opcode = IBV_WR_SEND,
                                .local = message,
                                .nbytes = sizeof head,
                                .local_key = ibv->slab_mr->lkey,
                                .in_line = !op->buffer};
    aq_ibv_post(ibv, link, &work, 1);
    return true;
}

void aq_ibv_bank(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link)
{
    if (aq_credit_bank(&link->credit) && !send_credits(ibv, link))
        atomic_store_explicit(&ibv->credits_due, true, memory_order_release);
}

void aq_ibv_send_due(aq_ibv_conduit_t *ibv)
{
    if (!atomic_load_explicit(&ibv->credits_due, memory_order_relaxed) ||
        !atomic_exchange(&ibv->credits_due, false))
        return;
    bool all = true;
    aq_ibv_peer_t *link = atomic_load_explicit(&ibv->links, memory_order_acquire);
    for (; link; link = link->next)
        if (atomic_load_explicit(&link->started, memory_order_acquire) &&
            link->state == AQ_IBV_READY)
            all = send_credits(ibv, link) && all;
    if (!all)
        atomic_store_explicit(&ibv->credits_due, true, memory_order_release);
}
