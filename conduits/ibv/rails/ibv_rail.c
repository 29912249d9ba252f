// SPDX-License-Identifier: BSD-3-Clause
// Chooses a rail for each piece of a put or get, reaps the completions, and moves operations off a
// rail that fails. ibv_conduit.c puts these functions in place of those of ibv_rma.c if there are
// several ports.
#include "ibv_rail.h"
#include "ibv_rail_queues.h"
#include "ibv_rail_setup.h"

#include <string.h>

#include "../../../other/base/minmax.h"
#include "../verbs/ibv_wire.h"

// ---- a rail that fails ----

// The first queue pair does the operation; False: it has no free entry now.
static bool op_move(aq_ibv_rails_t *rails, aq_ibv_op_t *op)
{
    const aq_ibv_rail_work_t *record = &rails->works[op - rails->queue->ops];
    if (!aq_ibv_entry_take(op->link))
        return false;
    op->work.piece.lkey = record->local_key;
    op->work.wr.wr.rdma.rkey = record->remote_key;
    aq_ibv_post(rails->queue, op);
    return true;
}

static void op_strand(aq_ibv_rails_t *rails, aq_ibv_op_t *op)
{
    aq_lock_take(&rails->lock);
    op->next = rails->stranded;
    rails->stranded = op;
    atomic_fetch_add_explicit(&rails->any_strands, 1, memory_order_relaxed);
    aq_lock_drop(&rails->lock);
}

static void stranded_move(aq_ibv_rails_t *rails)
{
    aq_ibv_op_t *next, *op;
    aq_lock_take(&rails->lock);
    op = rails->stranded;
    rails->stranded = NULL;
    atomic_store_explicit(&rails->any_strands, 0, memory_order_relaxed);
    aq_lock_drop(&rails->lock);
    for (; op; op = next) {
        next = op->next;
        if (!op_move(rails, op))
            op_strand(rails, op);
    }
}

void aq_ibv_rails_leave(aq_ibv_rails_t *rails, const aq_ibv_peers_t *peers, unsigned port)
{
    aq_lock_take(&rails->lock);
    for (aq_ibv_peer_t *link = atomic_load(&peers->first); link; link = link->next) {
        aq_ibv_rail_set_t *set = atomic_load_explicit(&link->rails, memory_order_acquire);
        for (unsigned i = 0; set && i < set->count; i++)
            if (set->list[i].port == port)
                aq_ibv_rail_stop(rails, &set->list[i], "the port has gone down");
    }
    aq_lock_drop(&rails->lock);
    rails->calls.wake(rails->calls.sleeper);
}

// Moves an operation that failed, or whose outcome is unknown, to the first queue pair.
static void op_fail(aq_ibv_rails_t *rails, aq_ibv_rail_t *rail, aq_ibv_op_t *op, const char *why)
{
    aq_ibv_rail_give_up(rails, rail, why);
    atomic_fetch_add_explicit(&rail->slots, 1, memory_order_release);
    atomic_fetch_add_explicit(&rails->counts.moved, 1, memory_order_relaxed);
    if (!op_move(rails, op))
        op_strand(rails, op);
}

// ---- completions ----

static void completion_handle(aq_ibv_rails_t *rails, const struct ibv_wc *wc)
{
    aq_ibv_op_t *op = (aq_ibv_op_t *)(uintptr_t)wc->wr_id;
    aq_ibv_rail_t *rail = rails->works[op - rails->queue->ops].rail;
    if (wc->status != IBV_WC_SUCCESS) {
        op_fail(rails, rail, op, ibv_wc_status_str(wc->status));
        return;
    }
    atomic_fetch_add_explicit(&rails->counts.pieces, 1, memory_order_relaxed);
    aq_ibv_op_finish_beside(rails->queue, op, &rail->slots);
}

// With the lock, which this drops.
static unsigned queue_reap_locked(aq_ibv_rails_t *rails, aq_ibv_rail_queue_t *queue)
{
    struct ibv_wc wc[AQ_IBV_BATCH];
    const int count = ibv_poll_cq(queue->cq, AQ_IBV_BATCH, wc);
    aq_lock_drop(&queue->reaping);
    for (int i = 0; i < count; i++)
        completion_handle(rails, &wc[i]);
    if (count > 0)
        atomic_fetch_sub_explicit(&queue->outstanding, (unsigned)count, memory_order_relaxed);
    return count > 0 ? (unsigned)count : 0;
}

// sure: as aq_ibv_rails_reap_before_sleep.
static unsigned queue_reap(aq_ibv_rails_t *rails, aq_ibv_rail_queue_t *queue, bool sure)
{
    if (!atomic_load_explicit(&queue->outstanding, memory_order_relaxed))
        return 0;
    if (sure)
        aq_lock_take(&queue->reaping);
    else if (!aq_lock_try(&queue->reaping))
        return 0;
    return queue_reap_locked(rails, queue);
}

static unsigned rails_reap(aq_ibv_rails_t *rails, bool sure)
{
    unsigned done = 0;
    if (!atomic_load_explicit(&rails->open, memory_order_acquire))
        return 0;
    for (unsigned port = 0; port < rails->ports->count; port++)
        done += queue_reap(rails, &rails->queues[port], sure);
    if (atomic_load_explicit(&rails->any_strands, memory_order_relaxed))
        stranded_move(rails);
    if (atomic_load(&rails->finished) || atomic_load(&rails->lost)) {
        aq_ibv_rails_learn(rails);
        done++; // a link may wait for a standby, so the caller is not to sleep yet
    }
    return done;
}

unsigned aq_ibv_rails_reap(aq_ibv_rails_t *rails)
{
    return rails_reap(rails, false);
}

unsigned aq_ibv_rails_reap_before_sleep(aq_ibv_rails_t *rails)
{
    return rails_reap(rails, true);
}

// ---- waiting ----

static void sends_arm(const aq_ibv_rail_queue_t *queue)
{
    ibv_req_notify_cq(queue->cq, 0);
    if (queue->srq)
        ibv_req_notify_cq(queue->standby_cq, 0);
}

static void channel_take_events(struct ibv_comp_channel *channel)
{
    struct ibv_cq *cq;
    void *context;
    while (ibv_get_cq_event(channel, &cq, &context) == 0)
        ibv_ack_cq_events(cq, 1);
}

// The further ports that are in use; 0 before they open.
static unsigned ports_open(const aq_ibv_rails_t *rails)
{
    return atomic_load_explicit(&rails->open, memory_order_acquire) ? rails->ports->count : 0;
}

void aq_ibv_rails_arm(aq_ibv_rails_t *rails)
{
    for (unsigned port = 0, ports = ports_open(rails); port < ports; port++) {
        const aq_ibv_rail_queue_t *queue = &rails->queues[port];
        if (!rails->send_thread)
            sends_arm(queue);
        if (queue->srq && !rails->receive_thread)
            ibv_req_notify_cq(queue->arrivals, 0);
    }
}

unsigned aq_ibv_rails_events(const aq_ibv_rails_t *rails,
                             struct pollfd events[AQ_IBV_RAIL_PORTS_MAX])
{
    const unsigned count = ports_open(rails);
    for (unsigned port = 0; port < count; port++)
        events[port] = (struct pollfd){.fd = rails->queues[port].channel->fd, .events = POLLIN};
    return count;
}

void aq_ibv_rails_take_events(aq_ibv_rails_t *rails)
{
    for (unsigned port = 0, ports = ports_open(rails); port < ports; port++)
        channel_take_events(rails->queues[port].channel);
}

unsigned aq_ibv_rails_send_fds(const aq_ibv_rails_t *rails, int fds[AQ_IBV_RAIL_PORTS_MAX])
{
    const unsigned count = ports_open(rails);
    for (unsigned port = 0; port < count; port++)
        fds[port] = rails->queues[port].sends->fd;
    return count;
}

void aq_ibv_rails_rearm_sends(aq_ibv_rails_t *rails)
{
    for (unsigned port = 0, ports = ports_open(rails); port < ports; port++) {
        channel_take_events(rails->queues[port].sends);
        sends_arm(&rails->queues[port]);
    }
}

unsigned aq_ibv_rails_arrival_fds(const aq_ibv_rails_t *rails, int fds[AQ_IBV_RAIL_PORTS_MAX])
{
    unsigned count = 0;
    for (unsigned port = 0, ports = ports_open(rails); port < ports; port++)
        if (rails->queues[port].srq)
            fds[count++] = rails->queues[port].receives->fd;
    return count;
}

void aq_ibv_rails_rearm_arrivals(aq_ibv_rails_t *rails)
{
    for (unsigned port = 0, ports = ports_open(rails); port < ports; port++) {
        if (!rails->queues[port].srq)
            continue;
        channel_take_events(rails->queues[port].receives);
        ibv_req_notify_cq(rails->queues[port].arrivals, 0);
    }
}

// ---- puts and gets ----

static unsigned entries_used(const aq_ibv_rails_t *rails, const atomic_uint *slots)
{
    return rails->limits->depth_each - atomic_load_explicit(slots, memory_order_relaxed);
}

// The rail that has least to do. NULL: the first queue pair of the link has no more than any.
static aq_ibv_rail_t *rail_pick(aq_ibv_rails_t *rails, aq_ibv_peer_t *link)
{
    aq_ibv_rail_set_t *set = atomic_load_explicit(&link->rails, memory_order_acquire);
    aq_ibv_rail_t *found = NULL;
    if (!set) {
        aq_ibv_rails_want(rails, link);
        return NULL;
    }
    unsigned least = entries_used(rails, &link->entries->slots);
    for (unsigned i = 0; i < set->count && least; i++) {
        aq_ibv_rail_t *rail = &set->list[i];
        const unsigned used = entries_used(rails, &rail->slots);
        if (used < least && atomic_load_explicit(&rail->up, memory_order_acquire)) {
            found = rail;
            least = used;
        }
    }
    return found;
}

// The key of the endpoint's buffers at the port of a rail.
static uint32_t slab_key(const aq_ibv_rails_t *rails, const aq_ibv_rail_t *rail)
{
    return (rail->port ? rails->queues[rail->port].slab : rails->buffers->slab_mr)->lkey;
}

// Gives an operation that is described for the first queue pair the keys of a rail, where `there`
// is the hold of the peer's memory. False: some memory is not registered there.
static bool op_aim(aq_ibv_rails_t *rails, aq_ibv_rail_t *rail, const aq_ibv_hold_t *there,
                   aq_ibv_op_t *op)
{
    struct ibv_sge *piece = &op->work.piece;
    struct ibv_send_wr *wr = &op->work.wr;
    rails->works[op - rails->queue->ops] =
        (aq_ibv_rail_work_t){rail, piece->lkey, wr->wr.rdma.rkey};
    piece->lkey = op->buffer ? slab_key(rails, rail)
                             : aq_ibv_keys_local_at(rails->keys, rail->port,
                                                    (void *)(uintptr_t)piece->addr, &op->hold);
    wr->wr.rdma.rkey = aq_ibv_keys_remote_at(rails->keys, rail->port_there, op->link->rank,
                                             wr->wr.rdma.remote_addr, there);
    return piece->lkey && wr->wr.rdma.rkey;
}

static void op_post(aq_ibv_rails_t *rails, aq_ibv_rail_t *rail, aq_ibv_op_t *op)
{
    aq_ibv_rail_queue_t *queue = &rails->queues[rail->port];
    atomic_fetch_add_explicit(&queue->outstanding, 1, memory_order_relaxed);
    const int error = aq_ibv_post_beside(rails->queue, rail->qp, op);
    if (!error)
        return;
    atomic_fetch_sub_explicit(&queue->outstanding, 1, memory_order_relaxed);
    op_fail(rails, rail, op, strerror(error));
}

// Begins the front of a put or get on a rail; returns how many bytes. 0: it has no room.
static size_t begin_on(aq_ibv_rma_path_t *path, aq_ibv_rail_t *rail, const aq_rma_t *rma,
                       const aq_ibv_hold_t *there)
{
    aq_ibv_rails_t *rails = path->rails;
    aq_ibv_op_t *op = aq_ibv_op_take_beside(rails->queue, rail->peer, &rail->slots);
    if (!op)
        return 0;
    const size_t begun = aq_ibv_op_describe(path, rma, there, false, op);
    if (!begun || !op_aim(rails, rail, there, op)) {
        aq_ibv_op_put_beside(rails->queue, op, &rail->slots);
        return 0;
    }
    aq_ibv_op_begin(path, rma, there, op);
    op_post(rails, rail, op);
    return begun;
}

size_t aq_ibv_rma_begin_on_rails(aq_ibv_rma_path_t *path, aq_ibv_peer_t *link, const aq_rma_t *rma,
                                 const aq_ibv_hold_t *there)
{
    const bool is_long = there->bytes > AQ_IBV_BUFFER_BYTES;
    aq_ibv_hold_t front = *there;
    front.bytes = aq_min(there->bytes, path->limits->stripe[rma->kind == AQ_RMA_GET]);
    aq_ibv_rail_t *rail = is_long ? rail_pick(path->rails, link) : NULL;
    size_t begun = rail ? begin_on(path, rail, rma, &front) : 0;
    if (!begun)
        begun = aq_ibv_rma_begin(path, link, rma, &front);
    if (begun || is_long || !atomic_load_explicit(&link->rails, memory_order_acquire))
        return begun;
    rail = rail_pick(path->rails, link);
    return rail ? begin_on(path, rail, rma, &front) : 0;
}

// ---- fenced puts ----

// An operation of a rail with a buffer. NULL: none is free.
static aq_ibv_op_t *fence_take(aq_ibv_rma_path_t *path, aq_ibv_rail_t *rail)
{
    aq_ibv_op_t *fence = aq_ibv_op_take_beside(path->queue, rail->peer, &rail->slots);
    if (fence && !(fence->buffer = aq_ibv_buffer_take(&path->buffers->bounces))) {
        aq_ibv_op_put_beside(path->queue, fence, &rail->slots);
        fence = NULL;
    }
    return fence;
}

// As begin_on(), fenced.
static size_t begin_fenced_on(aq_ibv_rma_path_t *path, aq_ibv_rail_t *rail, const aq_rma_t *rma,
                              const aq_ibv_hold_t *there)
{
    aq_ibv_op_t *fence = fence_take(path, rail);
    if (!fence)
        return 0;
    const aq_ibv_hold_t lent = aq_ibv_fence_hold(fence, there, rma->pending);
    const size_t begun = begin_on(path, rail, rma, &lent);
    if (begun) {
        aq_ibv_fence_describe(path, fence, (uintptr_t)rma->remote + begun - 1);
        (void)op_aim(path->rails, rail, &fence->there, fence); // begin_on has found all keys
        op_post(path->rails, rail, fence);
        return begun;
    }
    aq_ibv_fence_drop(fence);
    aq_ibv_op_put_beside(path->queue, fence, &rail->slots);
    return 0;
}

size_t aq_ibv_rma_begin_fenced_on_rails(aq_ibv_rma_path_t *path, aq_ibv_peer_t *link,
                                        const aq_rma_t *rma, const aq_ibv_hold_t *there)
{
    if (rma->kind == AQ_RMA_GET)
        return aq_ibv_rma_begin_on_rails(path, link, rma, there);
    aq_ibv_hold_t front = *there;
    front.bytes = aq_min(there->bytes, path->limits->stripe[0]);
    aq_ibv_rail_t *rail = front.bytes > AQ_IBV_BUFFER_BYTES ? rail_pick(path->rails, link) : NULL;
    const size_t begun = rail ? begin_fenced_on(path, rail, rma, &front) : 0;
    return begun ? begun : aq_ibv_rma_begin_fenced(path, link, rma, &front);
}
