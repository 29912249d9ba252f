// SPDX-License-Identifier: BSD-3-Clause
// Takes entries and operations, posts work requests singly or as a list, and reaps completions.
// Messages, puts, gets and atomics of a link reach the device through here.
#include "ibv_send_queue.h"

#include <stdlib.h>
#include <string.h>

#include "../../../other/base/clock.h"
#include "../verbs/ibv_wire.h"

enum {
    KEEP_BUSY = 8,        // operations that the device should have outstanding with one peer
    DRAIN_NS = 100000000, // the most that the end waits for the device
    DRAIN_IDLE_NS = 20000,
    UNSIGNALED = 1,       // bit of a work request's id that has the link in place of an operation
    UNSIGNALED_REAPS = 16 // reaps between looks for failures of unsignaled messages
};

// ---- operations ----

bool aq_ibv_send_queue_open(aq_ibv_send_queue_t *queue)
{
    queue->ops = calloc(queue->limits->depth_total, sizeof *queue->ops);
    if (!queue->ops)
        return false;
    for (unsigned i = 0; i < queue->limits->depth_total; i++) {
        aq_ibv_op_t *op = &queue->ops[i];
        op->work.wr.wr_id = (uintptr_t)op;
        op->work.wr.sg_list = &op->work.piece;
        op->next = queue->free_ops;
        queue->free_ops = op;
    }
    return true;
}

bool aq_ibv_entry_take(aq_ibv_peer_t *link)
{
    return aq_ibv_slot_take(&link->entries->slots);
}

// The same with a buffer of the pool.
static aq_ibv_op_t *op_take_with(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link,
                                 aq_ibv_pool_t *pool)
{
    aq_ibv_op_t *op = aq_ibv_op_take(queue, link);
    if (op && !(op->buffer = aq_ibv_buffer_take(pool))) {
        aq_ibv_op_put(queue, op);
        op = NULL;
    }
    return op;
}

static inline void op_put_of(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op, atomic_uint *slots)
{
    if (op->buffer)
        aq_ibv_buffer_put(op->buffer);
    aq_ibv_keys_release(&op->hold);
    aq_ibv_keys_release(&op->there);
    aq_counter_add(slots, 1 + op->covers);
    if (op->covers)
        aq_counter_add(&queue->unsignaled, -op->covers);
    aq_lock_take(&queue->op_lock);
    op->next = queue->free_ops;
    queue->free_ops = op;
    aq_counter_add(&queue->ops_used, -1u);
    aq_lock_drop(&queue->op_lock);
}

void aq_ibv_op_put(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op)
{
    op_put_of(queue, op, &op->link->entries->slots);
}

void aq_ibv_op_put_beside(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op, atomic_uint *slots)
{
    op_put_of(queue, op, slots);
}

// An unsignaled entry is known to be free only when a later one of its queue pair completes, so
// each queue pair and the process may have only a few.
bool aq_ibv_unsignaled_take(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link)
{
    const aq_ibv_limits_t *limits = queue->limits;
    if (atomic_load_explicit(&link->entries->unsignaled, memory_order_relaxed) >=
        limits->unsignaled_each)
        return false;
    if (atomic_fetch_add_explicit(&queue->unsignaled, 1, memory_order_relaxed) <
            limits->unsignaled_total &&
        aq_ibv_slot_take(&link->entries->slots))
        return true;
    atomic_fetch_sub_explicit(&queue->unsignaled, 1, memory_order_relaxed);
    return false;
}

// ---- posting ----

aq_ibv_op_t *aq_ibv_op_of_id(uint64_t id)
{
    return id & UNSIGNALED ? NULL : (aq_ibv_op_t *)(uintptr_t)id;
}

aq_ibv_work_t *aq_ibv_work_unsignaled(aq_ibv_work_t *work, aq_ibv_peer_t *link)
{
    work->wr = (struct ibv_send_wr){.wr_id = (uintptr_t)link | UNSIGNALED,
                                    .sg_list = &work->piece,
                                    .num_sge = 1,
                                    .qp_type.xrc.remote_srqn = link->srq_there};
    return work;
}

static inline void chain_post(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link,
                              struct ibv_send_wr *wr, unsigned count)
{
    struct ibv_send_wr *bad;
    aq_counter_add_long(&queue->posted, count);
    int error = ibv_post_send(link->qp, wr, &bad);
    if (__builtin_expect(error, 0))
        aq_ibv_peer_lost(queue->losses, link, strerror(error));
}

int aq_ibv_post_beside(aq_ibv_send_queue_t *queue, struct ibv_qp *qp, aq_ibv_op_t *op)
{
    struct ibv_send_wr *bad;
    aq_counter_add_long(&queue->posted, 1);
    return ibv_post_send(qp, &op->work.wr, &bad);
}

// The completion of this operation covers all unsignaled entries posted before it.
static void op_cover_unsignaled(aq_ibv_peer_t *link, aq_ibv_op_t *op)
{
    if (atomic_load_explicit(&link->entries->unsignaled, memory_order_relaxed))
        op->covers = atomic_exchange_explicit(&link->entries->unsignaled, 0, memory_order_acquire);
}

static void list_chain(aq_ibv_list_t *list, unsigned count)
{
    for (unsigned i = 0; i + 1 < count; i++)
        list->ops[i]->work.wr.next = &list->ops[i + 1]->work.wr;
}

// Signals only the last operation of the list, if the queue pair completes them in order.
static void list_signal_last(aq_ibv_list_t *list, unsigned count)
{
    for (unsigned i = 0; i + 1 < count; i++) {
        list->ops[i]->work.wr.send_flags &= ~(unsigned)IBV_SEND_SIGNALED;
        list->ops[i]->unsignaled = true;
        list->ops[i + 1]->before = list->ops[i];
    }
}

// With the list's lock held.
static void list_post_locked(aq_ibv_send_queue_t *queue)
{
    aq_ibv_list_t *list = &queue->list;
    const unsigned count = list->count;
    list->count = 0;
    if (!count)
        return;
    list_chain(list, count);
    if (__builtin_expect(!queue->limits->device.unordered, 1))
        list_signal_last(list, count);
    op_cover_unsignaled(list->link, list->ops[count - 1]);
    chain_post(queue, list->link, &list->ops[0]->work.wr, count);
}

static __attribute__((noinline)) void list_post_all(aq_ibv_send_queue_t *queue)
{
    aq_lock_take(&queue->list.lock);
    list_post_locked(queue);
    aq_lock_drop(&queue->list.lock);
}

static inline void list_post(aq_ibv_send_queue_t *queue)
{
    if (__builtin_expect(queue->list.count, 0))
        list_post_all(queue);
}

static inline void op_post(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op)
{
    list_post(queue); // what was listed before must not wait behind this
    op_cover_unsignaled(op->link, op);
    chain_post(queue, op->link, &op->work.wr, op->work.wr.next ? 2 : 1);
}

void aq_ibv_post(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op)
{
    op_post(queue, op);
}

void aq_ibv_post_unsignaled(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link, aq_ibv_work_t *work)
{
    list_post(queue);
    chain_post(queue, link, &work->wr, 1);
    // Counts after the post, because before it another thread could post an operation that claims
    // to cover the message ahead of it.
    atomic_fetch_add_explicit(&link->entries->unsignaled, 1, memory_order_release);
}

// ---- the list: short puts and gets to one peer, posted by one call of the device ----

static unsigned reap_posted(aq_ibv_send_queue_t *queue);

static void list_add(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op)
{
    aq_ibv_list_t *list = &queue->list;
    struct ibv_sge *piece = &op->work.piece;
    if (list->link != op->link)
        list_post_locked(queue);
    const unsigned place = list->count++;
    list->link = op->link;
    list->ops[place] = op;
    if (op->work.wr.send_flags & IBV_SEND_INLINE) // the source may change before it is posted
        piece->addr = (uintptr_t)memcpy(list->bytes[place], (const void *)(uintptr_t)piece->addr,
                                        piece->length);
}

// How many operations with a peer are outstanding, as far as completions were reaped, the new one
// included.
static unsigned known_busy(const aq_ibv_send_queue_t *queue, const aq_ibv_peer_t *link)
{
    return queue->limits->depth_each -
           atomic_load_explicit(&link->entries->slots, memory_order_relaxed) -
           atomic_load_explicit(&link->entries->unsignaled, memory_order_relaxed);
}

// As known_busy(), but reaps completions first if the last put was long ago. Skips the clock when
// at most one operation is outstanding.
static unsigned busy_with(aq_ibv_send_queue_t *queue, const aq_ibv_peer_t *link)
{
    const unsigned busy = known_busy(queue, link);
    if (busy <= 1)
        return busy;
    const uint64_t now = aq_clock_ns();
    const uint64_t last = atomic_load_explicit(&queue->list.last, memory_order_relaxed);
    atomic_store_explicit(&queue->list.last, now, memory_order_relaxed);
    if (queue->list.count || now - last <= queue->limits->apart_ns)
        return busy;
    reap_posted(queue);
    return known_busy(queue, link);
}

// The send thread may have reaped everything else meanwhile: then no completion will make it post
// the list.
static bool list_is_all(const aq_ibv_send_queue_t *queue)
{
    return atomic_load(&queue->ops_used) == queue->list.count;
}

static void post_in_list(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op, bool crowded)
{
    aq_lock_take(&queue->list.lock);
    list_add(queue, op);
    if (queue->list.count == AQ_IBV_LIST_MAX || crowded || list_is_all(queue))
        list_post_locked(queue);
    aq_lock_drop(&queue->list.lock);
    if (crowded)
        reap_posted(queue);
}

// A device that has little to do gets the operation at once; a busy one would not begin it earlier.
void aq_ibv_post_later(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op)
{
    const unsigned busy = busy_with(queue, op->link), depth = queue->limits->depth_each;
    if (op->work.piece.length > AQ_IBV_BUFFER_BYTES || busy <= KEEP_BUSY)
        op_post(queue, op);
    else
        post_in_list(queue, op, busy >= depth - depth / 4);
}

// ---- completions ----

static inline void op_finish(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op, atomic_uint *slots)
{
    atomic_uint *pending = op->pending;
    if (op->into)
        memcpy(op->into, op->buffer->bytes, op->nbytes);
    op_put_of(queue, op, slots);
    if (!pending)
        return;
    atomic_store_explicit(&queue->transferred, true, memory_order_relaxed);
    aq_counter_add(pending, -1u);
}

void aq_ibv_op_finish_beside(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op, atomic_uint *slots)
{
    op_finish(queue, op, slots);
}

// Handles an operation that failed, or that was flushed after another failure. Its pending counter
// stays as it is, so that no thread takes it for complete.
static void op_fail(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op, const struct ibv_wc *wc)
{
    aq_ibv_peer_failed(queue->losses, op->link, wc->status);
    if (!op->unsignaled)
        aq_ibv_op_put(queue, op);
}

static void completion_handle(aq_ibv_send_queue_t *queue, const struct ibv_wc *wc)
{
    aq_ibv_op_t *op = (aq_ibv_op_t *)(uintptr_t)wc->wr_id, *before;
    if (wc->wr_id & UNSIGNALED) { // an unsignaled entry completes only if it has failed
        aq_ibv_peer_failed(queue->losses,
                           (aq_ibv_peer_t *)(uintptr_t)(wc->wr_id & ~(uint64_t)UNSIGNALED),
                           wc->status);
        return;
    }
    if (wc->status != IBV_WC_SUCCESS) {
        op_fail(queue, op, wc);
        return;
    }
    for (; op; op = before) {
        before = op->before;
        op_finish(queue, op, &op->link->entries->slots);
    }
}

unsigned aq_ibv_reap(aq_ibv_send_queue_t *queue)
{
    list_post(queue);
    return reap_posted(queue);
}

aq_ibv_op_t *aq_ibv_op_take_or_reap(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link,
                                    aq_ibv_pool_t *pool)
{
    aq_ibv_op_t *op = op_take_with(queue, link, pool);
    if (!op && aq_ibv_reap(queue))
        op = op_take_with(queue, link, pool);
    return op;
}

// Whether to poll the completion queue. If only unsignaled messages are outstanding, which complete
// only by failing, one of UNSIGNALED_REAPS calls does.
static bool reap_is_due(aq_ibv_send_queue_t *queue)
{
    if (atomic_load_explicit(&queue->ops_used, memory_order_relaxed) ||
        atomic_load_explicit(&queue->resyncs, memory_order_relaxed))
        return true;
    if (!atomic_load_explicit(&queue->unsignaled, memory_order_relaxed))
        return false;
    const unsigned looks = atomic_load_explicit(&queue->idle_reaps, memory_order_relaxed) + 1;
    atomic_store_explicit(&queue->idle_reaps, looks, memory_order_relaxed);
    return looks % UNSIGNALED_REAPS == 0;
}

// With the lock, which this drops.
static unsigned reap_locked(aq_ibv_send_queue_t *queue)
{
    struct ibv_wc wc[AQ_IBV_BATCH];
    int count = ibv_poll_cq(queue->cq, AQ_IBV_BATCH, wc);
    aq_lock_drop(&queue->reaping);
    for (int i = 0; i < count; i++)
        completion_handle(queue, &wc[i]);
    return count > 0 ? (unsigned)count : 0;
}

static unsigned reap_posted(aq_ibv_send_queue_t *queue)
{
    return reap_is_due(queue) && aq_lock_try(&queue->reaping) ? reap_locked(queue) : 0;
}

unsigned aq_ibv_reap_before_sleep(aq_ibv_send_queue_t *queue)
{
    list_post(queue);
    aq_lock_take(&queue->reaping);
    return reap_locked(queue);
}

// ---- the end ----

// Behind unsignaled messages, posts an empty write whose completion covers them.
static void link_flush(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link)
{
    aq_ibv_op_t *op;
    if (!atomic_load_explicit(&link->entries->unsignaled, memory_order_relaxed) ||
        atomic_load_explicit(&link->entries->dead, memory_order_relaxed) ||
        !(op = aq_ibv_op_take(queue, link)))
        return;
    aq_ibv_work_rdma(&op->work, IBV_WR_RDMA_WRITE, 0, 0);
    op->work.wr.num_sge = 0;
    aq_ibv_post(queue, op);
}

// Ranks that still poll receive these messages meanwhile. Gives up on a device that does not
// answer.
void aq_ibv_drain(aq_ibv_send_queue_t *queue, aq_ibv_peers_t *peers)
{
    for (aq_ibv_peer_t *link = atomic_load(&peers->first); link; link = link->next)
        link_flush(queue, link);
    const uint64_t end = aq_clock_ns() + DRAIN_NS;
    while (atomic_load_explicit(&queue->ops_used, memory_order_relaxed) && aq_clock_ns() < end)
        if (!aq_ibv_reap(queue))
            aq_clock_sleep_ns(DRAIN_IDLE_NS);
}
