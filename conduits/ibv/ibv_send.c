// Messages out: what a message needs is taken first, all of it or nothing; then it is written and
// posted.
#include "ibv_conduit.h"

#include <string.h>

#include "../../other/base/clock.h"
#include "../../other/base/log.h"

enum {
    KEEP_BUSY = 8,        // operations with one peer that a device should have
    DRAIN_NS = 100000000, // most that the end waits for the device
    DRAIN_IDLE_NS = 20000,
    SILENT = 1,        // in the name of a work request without an operation: its link's, and this
    SILENT_REAPS = 16, // looks for what has failed of those, of which one asks the device
};

// ---- work requests ----

static void describe_work(aq_ibv_peer_t *link, const aq_ibv_work_t *work, struct ibv_send_wr *wr,
                          struct ibv_sge *piece)
{
    *piece = (struct ibv_sge){
        .addr = (uintptr_t)work->local, .length = work->nbytes, .lkey = work->local_key};
    *wr = (struct ibv_send_wr){
        .wr_id = work->op ? (uintptr_t)work->op : (uintptr_t)link | SILENT,
        .sg_list = piece,
        .num_sge = work->nbytes ? 1 : 0,
        .opcode = work->opcode,
        .send_flags =
            (work->op ? IBV_SEND_SIGNALED : 0) | (work->in_line ? (unsigned)IBV_SEND_INLINE : 0),
        .wr.rdma = {.remote_addr = work->remote, .rkey = work->remote_key},
    };
    if (work->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || work->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
        wr->wr.atomic.remote_addr = work->remote;
        wr->wr.atomic.rkey = work->remote_key;
        wr->wr.atomic.compare_add = work->operand1;
        wr->wr.atomic.swap = work->operand2;
    }
}

static void post_chain(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;
    int error = ibv_post_send(link->id->qp, wr, &bad);
    if (error)
        aq_ibv_peer_lost(ibv, link, strerror(error));
}

// What was posted before without an operation is complete when this one is.
static void take_silent(aq_ibv_peer_t *link, aq_ibv_op_t *op)
{
    if (atomic_load_explicit(&link->silent, memory_order_relaxed))
        op->silent = atomic_exchange_explicit(&link->silent, 0, memory_order_acquire);
}

void aq_ibv_post(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_ibv_work_t *work,
                 unsigned count)
{
    aq_ibv_post_list(ibv); // nothing waits behind what comes later
    struct ibv_send_wr wr[2];
    struct ibv_sge piece[2];
    for (unsigned i = 0; i < count; i++) {
        describe_work(link, &work[i], &wr[i], &piece[i]);
        if (i)
            wr[i - 1].next = &wr[i];
    }
    if (work->op)
        take_silent(link, work->op);
    post_chain(ibv, link, wr);
    if (!work->op) // not before: who takes them may be ahead of us
        atomic_fetch_add_explicit(&link->silent, 1, memory_order_release);
}

// ---- the list: short puts and gets to one peer, one call of the device for all ----

// With its lock held. Of one queue pair operations complete in order: only the last one tells.
static void post_list(aq_ibv_conduit_t *ibv)
{
    aq_ibv_list_t *list = &ibv->list;
    const unsigned count = list->count;
    list->count = 0;
    if (!count)
        return;
    for (unsigned i = 0; i + 1 < count; i++) {
        list->wr[i].next = &list->wr[i + 1];
        list->wr[i].send_flags &= ~(unsigned)IBV_SEND_SIGNALED;
        list->ops[i]->untold = true;
        list->ops[i + 1]->before = list->ops[i];
    }
    take_silent(list->link, list->ops[count - 1]);
    post_chain(ibv, list->link, list->wr);
}

void aq_ibv_post_list(aq_ibv_conduit_t *ibv)
{
    if (!ibv->list.count)
        return;
    aq_lock_take(&ibv->list.lock);
    post_list(ibv);
    aq_lock_drop(&ibv->list.lock);
}

static void add_to_list(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_ibv_work_t *work)
{
    aq_ibv_list_t *list = &ibv->list;
    if (list->link != link)
        post_list(ibv);
    const unsigned place = list->count++;
    list->link = link;
    list->ops[place] = work->op;
    describe_work(link, work, &list->wr[place], &list->pieces[place]);
    if (work->in_line) // the source may change before it is posted
        list->pieces[place].addr = (uintptr_t)memcpy(list->bytes[place], work->local, work->nbytes);
}

// How many operations the device has, as far as we know, with the new one.
static unsigned known_busy(const aq_ibv_conduit_t *ibv, const aq_ibv_peer_t *link)
{
    return ibv->limits.depth_each - atomic_load_explicit(&link->slots, memory_order_relaxed) -
           atomic_load_explicit(&link->silent, memory_order_relaxed);
}

// The same; who puts now and then finds out. Who waits for each needs no clock.
static unsigned busy_with(aq_ibv_conduit_t *ibv, const aq_ibv_peer_t *link)
{
    const unsigned busy = known_busy(ibv, link);
    if (busy <= 1)
        return busy;
    const uint64_t now = aq_clock_ns();
    const uint64_t last = atomic_load_explicit(&ibv->list.last, memory_order_relaxed);
    atomic_store_explicit(&ibv->list.last, now, memory_order_relaxed);
    if (ibv->list.count || now - last <= ibv->limits.apart_ns)
        return busy;
    aq_ibv_reap_posted(ibv);
    return known_busy(ibv, link);
}

static void post_in_list(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_ibv_work_t *work,
                         bool crowded)
{
    aq_lock_take(&ibv->list.lock);
    add_to_list(ibv, link, work);
    if (ibv->list.count == AQ_IBV_LIST_MOST || crowded)
        post_list(ibv);
    aq_lock_drop(&ibv->list.lock);
    if (crowded)
        aq_ibv_reap_posted(ibv);
}

// A device that has little to do gets it at once; one that is busy would not begin it earlier.
void aq_ibv_post_later(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_ibv_work_t *work)
{
    const unsigned busy = busy_with(ibv, link), depth = ibv->limits.depth_each;
    if (work->nbytes > AQ_IBV_BUFFER_BYTES || busy <= KEEP_BUSY)
        aq_ibv_post(ibv, link, work, 1);
    else
        post_in_list(ibv, link, work, busy >= depth - depth / 4);
}

// ---- completions ----

static void finish(aq_ibv_conduit_t *ibv, aq_ibv_op_t *op)
{
    atomic_uint *pending = op->pending;
    if (op->into)
        memcpy(op->into, op->buffer->bytes, op->nbytes);
    aq_ibv_op_put(ibv, op);
    if (pending)
        atomic_fetch_sub_explicit(pending, 1, memory_order_release);
}

// An operation that failed, or one before it: nobody may believe that it is complete.
static void fail(aq_ibv_conduit_t *ibv, aq_ibv_op_t *op, const struct ibv_wc *wc)
{
    aq_ibv_peer_failed(ibv, op->link, wc->status);
    if (!op->untold)
        aq_ibv_op_put(ibv, op);
}

static void complete(aq_ibv_conduit_t *ibv, const struct ibv_wc *wc)
{
    aq_ibv_op_t *op = (aq_ibv_op_t *)(uintptr_t)wc->wr_id, *before;
    if (wc->wr_id & SILENT) { // which only tells that it has failed
        aq_ibv_peer_failed(ibv, (aq_ibv_peer_t *)(uintptr_t)(wc->wr_id & ~(uint64_t)SILENT),
                           wc->status);
        return;
    }
    if (wc->status != IBV_WC_SUCCESS) {
        fail(ibv, op, wc);
        return;
    }
    for (; op; op = before) {
        before = op->before;
        finish(ibv, op);
    }
}

unsigned aq_ibv_reap(aq_ibv_conduit_t *ibv)
{
    aq_ibv_post_list(ibv);
    return aq_ibv_reap_posted(ibv);
}

// Messages without an operation tell only what has failed, which may wait.
static bool may_tell(aq_ibv_conduit_t *ibv)
{
    if (atomic_load_explicit(&ibv->ops_used, memory_order_relaxed))
        return true;
    if (!atomic_load_explicit(&ibv->silent, memory_order_relaxed))
        return false;
    const unsigned looks = atomic_load_explicit(&ibv->idle_reaps, memory_order_relaxed) + 1;
    atomic_store_explicit(&ibv->idle_reaps, looks, memory_order_relaxed);
    return looks % SILENT_REAPS == 0;
}

unsigned aq_ibv_reap_posted(aq_ibv_conduit_t *ibv)
{
    struct ibv_wc wc[AQ_IBV_BATCH];
    if (!may_tell(ibv) || !aq_lock_try(&ibv->reaping))
        return 0;
    int count = ibv_poll_cq(ibv->send_cq, AQ_IBV_BATCH, wc);
    aq_lock_drop(&ibv->reaping);
    for (int i = 0; i < count; i++)
        complete(ibv, &wc[i]);
    return count > 0 ? (unsigned)count : 0;
}

// Behind messages that tell nothing, a write of nothing that tells.
static void make_tell(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link)
{
    aq_ibv_op_t *op;
    if (!atomic_load_explicit(&link->silent, memory_order_relaxed) ||
        atomic_load_explicit(&link->dead, memory_order_relaxed) ||
        !(op = aq_ibv_op_take(ibv, link)))
        return;
    const aq_ibv_work_t work = {.op = op, .opcode = IBV_WR_RDMA_WRITE};
    aq_ibv_post(ibv, link, &work, 1);
}

// Ranks that still poll take what comes meanwhile; a device that does not answer is not waited for.
void aq_ibv_drain(aq_ibv_conduit_t *ibv)
{
    for (aq_ibv_peer_t *link = atomic_load(&ibv->links); link; link = link->next)
        make_tell(ibv, link);
    const uint64_t end = aq_clock_ns() + DRAIN_NS;
    while (atomic_load_explicit(&ibv->ops_used, memory_order_relaxed) && aq_clock_ns() < end)
        if (!aq_ibv_reap(ibv))
            aq_clock_sleep_ns(DRAIN_IDLE_NS);
}

// ---- what a message needs ----

typedef struct outgoing {
    const aq_am_t *am;
    bool packed;               // the payload travels with the header
    bool written;              // in front of it, into its place
    size_t bytes;              // of the message
    bool for_ring;             // it may go into a ring
    aq_ibv_op_t *op, *long_op; // NULL: it needs none
    unsigned credits;          // that ride on it
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
    if (!out->written && bytes <= ibv->limits.inline_bytes && aq_ibv_silent_take(ibv, link))
        return true;
    out->op = aq_ibv_op_take(ibv, link);
    if (!out->op || (bytes > ibv->limits.inline_bytes && !take_buffer(ibv, out->op, bytes)))
        return false;
    if (!out->written)
        return true;
    out->long_op = aq_ibv_op_take(ibv, link);
    return out->long_op && take_buffer(ibv, out->long_op, out->am->nbytes);
}

// All that it needs but for what the receiver gives: its credit, or a slot.
static bool take_own(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, outgoing_t *out)
{
    if (take_ops(ibv, link, out)) {
        out->credits = aq_credit_collect(&link->credit, UINT16_MAX);
        return true;
    }
    if (out->op)
        aq_ibv_op_put(ibv, out->op);
    if (out->long_op)
        aq_ibv_op_put(ibv, out->long_op);
    out->op = out->long_op = NULL;
    return false;
}

static bool take_all(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, outgoing_t *out)
{
    if (!out->am->reply && !aq_credit_take(&link->credit))
        return false;
    if (take_own(ibv, link, out))
        return true;
    if (!out->am->reply)
        aq_credit_untake(&link->credit);
    return false;
}

// ---- messages ----

// Of the client: only those have replies that are sent while the handler of their request runs, and
// so may go by a ring.
static bool is_clients(const aq_am_t *am)
{
    return am->category <= AQ_AM_LONG;
}

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
        .flags =
            (uint8_t)((am->reply ? AQ_IBV_REPLY : 0) | (out->packed ? AQ_IBV_PACKED : 0) |
                      (is_clients(am) && am->reply && aq_ibv_answers_ring ? AQ_IBV_UNCOUNTED : 0)),
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

static void post_message(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const outgoing_t *out,
                         uint32_t key)
{
    uint8_t in_line[AQ_IBV_BUFFER_BYTES];
    aq_ibv_buffer_t *buffer = out->op ? out->op->buffer : NULL;
    uint8_t *message = buffer ? buffer->bytes : in_line;
    aq_ibv_work_t work[2];
    unsigned count = 0;
    if (out->written)
        work[count++] = write_payload(ibv, out, key);
    write_message(ibv, link, out, message);
    work[count++] = (aq_ibv_work_t){.op = out->op,
                                    .opcode = IBV_WR_SEND,
                                    .local = message,
                                    .nbytes = (uint32_t)out->bytes,
                                    .local_key = ibv->slab_mr->lkey,
                                    .in_line = !buffer};
    if (out->for_ring)
        aq_ibv_ring_use(link, message, out->bytes, work);
    aq_ibv_post(ibv, link, work, count);
}

// Under one lock from the look for a slot on, so that writes are posted in the order of their
// slots, and none after the ring was left. False: there is no room; it is to go another way.
static bool send_by_ring(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, outgoing_t *out)
{
    aq_lock_take(&link->ring_lock);
    const bool sent = aq_ibv_ring_has_room(link) && take_own(ibv, link, out);
    if (sent)
        post_message(ibv, link, out, 0);
    aq_lock_drop(&link->ring_lock);
    out->for_ring = false;
    return sent;
}

// How it travels; AQ_ERR_ARG if it cannot.
static aq_status_t plan(aq_ibv_conduit_t *ibv, const aq_ibv_peer_t *link, outgoing_t *out,
                        uint32_t *key)
{
    const aq_am_t *am = out->am;
    aq_ibv_hold_t hold = {0};
    const bool is_there = am->category == AQ_AM_LONG && !am->payload;
    out->written =
        am->category == AQ_AM_LONG && !is_there && am->nbytes > ibv->limits.packed_long &&
        aq_ibv_attached(ibv, link->rank, am->dest, am->nbytes, &hold) && hold.bytes == am->nbytes;
    *key = hold.key;
    out->packed = !out->written && !is_there;
    out->bytes = aq_ibv_payload_at(am->category, am->nargs);
    if (am->category != AQ_AM_SHORT && out->packed)
        out->bytes += am->nbytes;
    out->for_ring = !out->written && is_clients(am) && out->bytes <= ibv->limits.ring_bytes &&
                    atomic_load_explicit(&link->ring, memory_order_relaxed);
    if (out->bytes <= AQ_IBV_BUFFER_BYTES)
        return AQ_OK;
    aq_log_error("a Long of %zu bytes to %p is not inside the attached segment of rank %u, where "
                 "%zu are the most",
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
    if (out.for_ring && send_by_ring(ibv, link, &out))
        return AQ_OK;
    if (!take_all(ibv, link, &out) && !(aq_ibv_reap(ibv) && take_all(ibv, link, &out)))
        return AQ_AGAIN;
    post_message(ibv, link, &out, key);
    return AQ_OK;
}

// ---- messages of the conduit itself ----

// False: there is no room for it now.
static bool send_hidden(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, uint8_t kind, uint8_t flags)
{
    aq_ibv_op_t *op = aq_ibv_op_take(ibv, link);
    if (!op || (sizeof(aq_ibv_head_t) > ibv->limits.inline_bytes &&
                !take_buffer(ibv, op, sizeof(aq_ibv_head_t)))) {
        if (op)
            aq_ibv_op_put(ibv, op);
        return false;
    }
    aq_ibv_head_t head = {.source = ibv->base.env->rank,
                          .credits = (uint16_t)aq_credit_collect(&link->credit, UINT16_MAX),
                          .kind = kind,
                          .flags = flags};
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

// True when nothing is left to be sent.
static bool send_credits(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link)
{
    const bool answer = atomic_load_explicit(&link->ring_answer, memory_order_relaxed) &&
                        atomic_exchange_explicit(&link->ring_answer, false, memory_order_acquire);
    if (!answer && !aq_credit_due(&link->credit))
        return true;
    if (send_hidden(ibv, link, AQ_IBV_CREDITS, AQ_IBV_REPLY | (answer ? AQ_IBV_ANSWER : 0)))
        return true;
    if (answer)
        atomic_store_explicit(&link->ring_answer, true, memory_order_release);
    return false;
}

bool aq_ibv_send_ask(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link)
{
    if (!aq_credit_take(&link->credit))
        return false;
    const bool sent = send_hidden(ibv, link, AQ_IBV_ASK, 0);
    if (!sent)
        aq_credit_untake(&link->credit);
    return sent;
}

void aq_ibv_send_answer(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link)
{
    atomic_store_explicit(&link->ring_answer, true, memory_order_release);
    if (!send_credits(ibv, link))
        atomic_store_explicit(&ibv->credits_due, true, memory_order_release);
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
