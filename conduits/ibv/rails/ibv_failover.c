// SPDX-License-Identifier: BSD-3-Clause
// The operations of the queues that ibv_send_queue.c and ibv_receive.c use in place of the
// device's: they write the journal, drop what arrives late, and move links between ports as
// ibv_replay.c decides.
#include "ibv_failover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/log/log.h"
#include "../verbs/ibv_queue_pair.h"
#include "../send/ibv_ring_slot.h"
#include "ibv_rail_setup.h"

enum {
    QUIET_NS = 2000000, // for a device that was at work when its queue pair was closed
    TURNS = 3,          // of a poll that finds nothing while failovers are to move
};

static uint32_t slab_key(const aq_ibv_failovers_t *failovers, unsigned port, bool remote)
{
    const struct ibv_mr *slab =
        port ? failovers->rails->queues[port].slab : failovers->rails->buffers->slab_mr;
    return remote ? slab->rkey : slab->lkey;
}

// ---- ways and ports ----

static unsigned ports_of(const aq_ibv_failover_t *failover)
{
    return failover->failovers->rails->ports->count;
}

static unsigned way_port(const aq_ibv_failover_t *failover, unsigned way)
{
    return (failover->link->first_port + way) % ports_of(failover);
}

static unsigned port_way(const aq_ibv_failover_t *failover, unsigned port)
{
    return (port + ports_of(failover) - failover->link->first_port) % ports_of(failover);
}

unsigned aq_ibv_failovers_first_port(const aq_ibv_failovers_t *failovers, uint32_t rank,
                                     unsigned ports_there, unsigned round)
{
    const unsigned ports = failovers->rails->ports->count;
    return ports_there == ports ? (failovers->peers->rank + rank - 1 + round) % ports : 0;
}

uint32_t aq_ibv_failover_rings_key(const aq_ibv_peer_t *link)
{
    return link->first_port ? slab_key(link->failover->failovers, link->first_port, true) : 0;
}

void aq_ibv_failover_hear_key(aq_ibv_peer_t *link, uint32_t rings_key)
{
    link->failover->rings_key = rings_key;
}

// ---- posting ----

static bool is_in_slab(const aq_ibv_buffers_t *buffers, uint64_t address)
{
    return address - (uintptr_t)buffers->slab < buffers->slab_bytes;
}

static uint32_t local_key(const aq_ibv_failover_t *failover, const aq_ibv_failover_work_t *work,
                          const aq_ibv_hold_t *hold)
{
    const aq_ibv_rails_t *rails = failover->failovers->rails;
    const unsigned port = way_port(failover, failover->replay.way);
    if (!port || work->wr.send_flags & IBV_SEND_INLINE)
        return work->local_key;
    if (is_in_slab(rails->buffers, work->piece.addr))
        return slab_key(failover->failovers, port, false);
    return aq_ibv_keys_local_at(rails->keys, port, (void *)(uintptr_t)work->piece.addr, hold);
}

static uint32_t remote_key(const aq_ibv_failover_t *failover, const aq_ibv_failover_work_t *work,
                           const aq_ibv_hold_t *there)
{
    const aq_ibv_rails_t *rails = failover->failovers->rails;
    const unsigned port = way_port(failover, failover->replay.way);
    if (work->remote_key == failover->link->out.key)
        return failover->rings_key ? failover->rings_key : work->remote_key;
    if (!port)
        return work->remote_key;
    return aq_ibv_keys_remote_at(rails->keys, port, failover->link->rank,
                                 work->wr.wr.rdma.remote_addr, there);
}

// Sets the keys of a work request for the port of the present way. False: some memory is not
// registered there.
static bool work_aim(const aq_ibv_failover_t *failover, aq_ibv_failover_work_t *work)
{
    static const aq_ibv_hold_t none;
    const aq_ibv_op_t *op = aq_ibv_op_of_id(work->id);
    struct ibv_send_wr *wr = &work->wr;
    if (!wr->num_sge || (!failover->replay.way && !failover->link->first_port))
        return true;
    work->piece.lkey = local_key(failover, work, op ? &op->hold : &none);
    if (wr->opcode != IBV_WR_SEND)
        wr->wr.rdma.rkey = remote_key(failover, work, op ? &op->there : &none);
    return (wr->send_flags & IBV_SEND_INLINE || work->piece.lkey) &&
           (wr->opcode == IBV_WR_SEND || wr->wr.rdma.rkey);
}

// Posts the last `count` work requests of the journal. Returns an errno, or 0.
static int works_post(aq_ibv_failover_t *failover, unsigned count)
{
    const aq_ibv_replay_t *replay = &failover->replay;
    const unsigned from = replay->first + replay->count - count;
    struct ibv_send_wr *bad;
    for (unsigned i = 0; i < count; i++) {
        aq_ibv_failover_work_t *work = &failover->works[(from + i) % replay->depth];
        if (!work_aim(failover, work))
            return ENXIO;
        work->wr.next = i + 1 < count ? &failover->works[(from + i + 1) % replay->depth].wr : NULL;
    }
    return count ? ibv_post_send(failover->ways[replay->way],
                                 &failover->works[from % replay->depth].wr, &bad)
                 : 0;
}

static aq_ibv_entry_kind_t kind_of(const aq_ibv_failover_t *failover, const struct ibv_send_wr *wr)
{
    if (wr->opcode == IBV_WR_SEND)
        return AQ_IBV_ENTRY_SEND;
    if (wr->opcode == IBV_WR_RDMA_READ)
        return AQ_IBV_ENTRY_READ;
    if (wr->opcode != IBV_WR_RDMA_WRITE)
        return AQ_IBV_ENTRY_ATOMIC;
    return wr->num_sge && wr->wr.rdma.rkey == failover->link->out.key ? AQ_IBV_ENTRY_RING
                                                                      : AQ_IBV_ENTRY_WRITE;
}

// The position of a message that is written into a ring.
static uint32_t position_of(const struct ibv_send_wr *wr)
{
    aq_ibv_footer_t footer;
    const uint64_t end = wr->sg_list->addr + wr->sg_list->length;
    memcpy(&footer, (void *)(uintptr_t)(end - sizeof footer), sizeof footer);
    return footer.position;
}

static bool work_record(aq_ibv_failover_t *failover, const struct ibv_send_wr *wr)
{
    const aq_ibv_entry_kind_t kind = kind_of(failover, wr);
    const int index =
        aq_ibv_replay_post(&failover->replay, kind, wr->send_flags & IBV_SEND_SIGNALED,
                           kind == AQ_IBV_ENTRY_RING ? position_of(wr) : 0);
    if (index < 0)
        return false;
    aq_ibv_failover_work_t *work = &failover->works[index];
    work->wr = *wr;
    work->wr.wr_id = (uintptr_t)failover;
    work->wr.sg_list = &work->piece;
    work->id = wr->wr_id;
    work->remote_key = wr->wr.rdma.rkey;
    if (!wr->num_sge)
        return true;
    work->piece = *wr->sg_list;
    work->local_key = work->piece.lkey;
    if (wr->send_flags & IBV_SEND_INLINE)
        work->piece.addr = (uintptr_t)memcpy(work->bytes, (void *)(uintptr_t)wr->sg_list->addr,
                                             wr->sg_list->length);
    return true;
}

// ---- moving ----

static const aq_ibv_rail_port_t *port_of(const aq_ibv_failover_t *failover, unsigned way)
{
    return &failover->failovers->rails->ports->list[way_port(failover, way)];
}

// Whether the failover is to move: the flag of the replay, counted for arrivals_poll.
static void failed_set(aq_ibv_failover_t *failover, bool failed)
{
    if (failed && !failover->counted)
        atomic_fetch_add(&failover->failovers->failures, 1);
    if (!failed && failover->counted)
        atomic_fetch_sub(&failover->failovers->failures, 1);
    failover->counted = failed;
}

static void failover_lose(aq_ibv_failover_t *failover, const char *why)
{
    const aq_ibv_rail_port_t *port = port_of(failover, failover->replay.way);
    char name[96];
    failover->lost = true;
    failed_set(failover, false);
    snprintf(name, sizeof name, "port %u of %s", port->number, port->device);
    aq_ibv_peer_lost_by(failover->failovers->losses, failover->link, why, name);
}

// Warns, once for each port, that links leave it.
static void move_warn(const aq_ibv_failover_t *failover, const char *why)
{
    aq_ibv_failovers_t *failovers = failover->failovers;
    const unsigned port = way_port(failover, failover->replay.way);
    const aq_ibv_rail_port_t *from = port_of(failover, failover->replay.way);
    const aq_ibv_rail_port_t *to = port_of(failover, aq_ibv_replay_next(&failover->replay));
    if (aq_boot_ended(failovers->rails->env->boot) ||
        atomic_fetch_or(&failovers->warned, 1u << port) >> port & 1)
        return;
    aq_log_warn(
        "port %u of %s does not reach rank %u any more (%s): its messages, puts and gets take "
        "port %u of %s; see that the ports of both hosts are up and their network is whole",
        from->number, from->device, failover->link->rank, why, to->number, to->device);
}

// The present way has failed: arrivals_poll moves the failover, if there is a way left.
static void failover_fail(aq_ibv_failover_t *failover, const char *why)
{
    const aq_ibv_rails_t *rails = failover->failovers->rails;
    if (failover->lost || failover->replay.failed)
        return;
    if (!aq_ibv_replay_fail(&failover->replay, failover->replay.way)) {
        failover_lose(failover, why);
        return;
    }
    failed_set(failover, true);
    rails->calls.wake(rails->calls.sleeper); // a thread that sleeps moves the failover
    move_warn(failover, why);
}

static void resync_post(aq_ibv_failover_t *failover)
{
    aq_ibv_failovers_t *failovers = failover->failovers;
    const aq_ibv_failover_resync_t resync = {
        .source = failover->link->number_there,
        .rings_key = slab_key(failovers, way_port(failover, failover->replay.way), true),
        .replay = {failover->replay.received,
                   aq_ibv_ring_complete(failovers->rings, failover->link)}};
    struct ibv_sge piece = {.addr = (uintptr_t)&resync, .length = sizeof resync};
    struct ibv_send_wr *bad, wr = {.wr_id = (uintptr_t)failover,
                                   .sg_list = &piece,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_SEND,
                                   .send_flags = IBV_SEND_INLINE};
    const int error = ibv_post_send(failover->ways[failover->replay.way], &wr, &bad);
    if (error)
        failover_fail(failover, strerror(error));
}

// Posts the whole journal on the present way. A work request that the peer has done already becomes
// an empty write, so that its completion comes in order.
static void journal_post(aq_ibv_failover_t *failover)
{
    aq_ibv_replay_t *replay = &failover->replay;
    for (unsigned i = 0; i < replay->count; i++) {
        const unsigned index = (replay->first + i) % replay->depth;
        struct ibv_send_wr *wr = &failover->works[index].wr;
        if (!replay->entries[index].done)
            continue;
        wr->opcode = IBV_WR_RDMA_WRITE;
        wr->num_sge = 0;
        wr->send_flags &= ~(unsigned)IBV_SEND_INLINE;
    }
    atomic_fetch_add(&failover->failovers->repeated, replay->count);
    const int error = works_post(failover, replay->count);
    if (error == ENXIO)
        failover_lose(failover, "some memory is not registered at the port");
    else if (error)
        failover_fail(failover, strerror(error));
}

static void resync_hear(aq_ibv_failover_t *failover)
{
    failover->rings_key = failover->resync.rings_key;
    switch (aq_ibv_replay_hear(&failover->replay, &failover->resync.replay)) {
    case AQ_IBV_RESYNC_ATOMIC:
        failover_lose(failover, "an atomic may or may not be done; see GASNET_IBV_ATOMICS");
        break;
    case AQ_IBV_RESYNC_GAP:
        failover_lose(failover, "a message may have got lost with the port before");
        break;
    case AQ_IBV_RESYNC_GOOD:
        if (aq_ibv_replay_carries(&failover->replay))
            journal_post(failover);
    }
}

static void failover_move(aq_ibv_failover_t *failover, unsigned way)
{
    failed_set(failover, false);
    failover->closed = false;
    atomic_fetch_add(&failover->failovers->moves, 1);
    atomic_store(&failover->failovers->spread, true);
    atomic_store(&failover->failovers->rails->queue->resyncs, true);
    aq_ibv_replay_move(&failover->replay, way);
    resync_post(failover);
    if (failover->replay.called == way)
        resync_hear(failover);
}

// Closes the ways that have failed. From then on nothing arrives on them.
static void failovers_close_ways(aq_ibv_failovers_t *failovers)
{
    bool any = false;
    if (!atomic_load_explicit(&failovers->failures, memory_order_relaxed))
        return;
    for (aq_ibv_failover_t *failover = atomic_load(&failovers->first); failover;
         failover = failover->next) {
        aq_lock_take(&failover->lock);
        if (failover->replay.failed && !failover->closed && !failover->lost) {
            aq_ibv_pair_stop(failover->ways[failover->replay.way]);
            any = failover->closed = true;
        }
        aq_lock_drop(&failover->lock);
    }
    if (any)
        aq_clock_sleep_ns(QUIET_NS);
}

static bool failover_may_move(const aq_ibv_failover_t *failover, uint32_t empty)
{
    const aq_ibv_replay_t *replay = &failover->replay;
    return replay->failed && failover->closed && !failover->lost &&
           empty >> way_port(failover, replay->way) & 1 &&
           replay->usable >> aq_ibv_replay_next(replay) & 1;
}

// empty: bits of the ports on which everything that had arrived was taken after
// failovers_close_ways.
static void failovers_move(aq_ibv_failovers_t *failovers, uint32_t empty)
{
    if (!atomic_load_explicit(&failovers->failures, memory_order_relaxed))
        return;
    for (aq_ibv_failover_t *failover = atomic_load(&failovers->first); failover;
         failover = failover->next) {
        aq_lock_take(&failover->lock);
        if (failover_may_move(failover, empty))
            failover_move(failover, aq_ibv_replay_next(&failover->replay));
        aq_lock_drop(&failover->lock);
    }
}

static void resync_take(aq_ibv_failover_t *failover, unsigned way, const void *bytes)
{
    memcpy(&failover->resync, bytes, sizeof failover->resync);
    if (failover->replay.way == way)
        resync_hear(failover);
    else
        failed_set(failover, true);
}

// ---- the operations of the queues: sends ----

static int failover_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    aq_ibv_failover_t *failover = (aq_ibv_failover_t *)(void *)qp;
    unsigned count = 0;
    int error = 0;
    *bad = wr;
    aq_lock_take(&failover->lock);
    for (; wr && !error; wr = wr->next, count++)
        error = work_record(failover, wr) ? 0 : ENOMEM;
    if (!error && aq_ibv_replay_carries(&failover->replay))
        error = works_post(failover, count);
    if (error && error != ENOMEM && error != ENXIO) {
        failover_fail(failover, strerror(error));
        error = 0;
    }
    aq_lock_drop(&failover->lock);
    return error;
}

// Whether a completion on a port is one that the send queue waits for.
static bool send_counts(aq_ibv_failover_t *failover, unsigned port, struct ibv_wc *wc)
{
    const aq_ibv_replay_t *replay = &failover->replay;
    const unsigned way = port_way(failover, port);
    if (way != replay->way || wc->qp_num != failover->ways[way]->qp_num || failover->lost)
        return false;
    if (wc->status == IBV_WC_RNR_RETRY_EXC_ERR) {
        failover->lost = true;
        aq_ibv_peer_failed(failover->failovers->losses, failover->link, wc->status);
    } else if (wc->status != IBV_WC_SUCCESS) {
        failover_fail(failover, ibv_wc_status_str(wc->status));
    }
    const int index = wc->status == IBV_WC_SUCCESS ? aq_ibv_replay_complete(&failover->replay) : -1;
    if (index >= 0)
        wc->wr_id = failover->works[index].id;
    return index >= 0;
}

static int sends_keep(unsigned port, int count, struct ibv_wc *wc)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        aq_ibv_failover_t *failover = (aq_ibv_failover_t *)(uintptr_t)wc[i].wr_id;
        aq_lock_take(&failover->lock);
        if (send_counts(failover, port, &wc[i]))
            wc[kept++] = wc[i];
        aq_lock_drop(&failover->lock);
    }
    return kept;
}

// Returns 0 only if the queue is empty, as a thread that sleeps afterwards relies on.
static int sends_poll_port(struct ibv_cq *real, unsigned port, int most, struct ibv_wc *wc)
{
    int count, kept = 0;
    while (!kept && (count = ibv_poll_cq(real, most, wc)) > 0)
        kept = sends_keep(port, count, wc);
    return kept;
}

static int sends_poll(aq_ibv_failovers_t *failovers, int most, struct ibv_wc *wc)
{
    int count = sends_poll_port(failovers->queues->send_cq, 0, most, wc);
    if (!atomic_load_explicit(&failovers->spread, memory_order_relaxed))
        return count;
    for (unsigned port = 1; port < failovers->rails->ports->count && count < most; port++)
        count += sends_poll_port(failovers->rails->queues[port].standby_cq, port, most - count,
                                 wc + count);
    return count;
}

// ---- the operations of the queues: arrivals ----

static int buffer_post(aq_ibv_failovers_t *failovers, unsigned port, const struct ibv_recv_wr *wr)
{
    struct ibv_sge piece = *wr->sg_list;
    struct ibv_recv_wr *bad, copy = {.wr_id = wr->wr_id, .sg_list = &piece, .num_sge = 1};
    struct ibv_srq *srq = port ? failovers->rails->queues[port].srq : failovers->queues->srq;
    piece.lkey = slab_key(failovers, port, false);
    return ibv_post_srq_recv(srq, &copy, &bad);
}

// Posts a buffer again whose message was dropped.
static void buffer_repost(aq_ibv_failovers_t *failovers, unsigned port,
                          const aq_ibv_buffer_t *buffer)
{
    struct ibv_sge piece = {.addr = (uintptr_t)buffer->bytes, .length = AQ_IBV_BUFFER_BYTES};
    const struct ibv_recv_wr wr = {.wr_id = (uintptr_t)buffer, .sg_list = &piece};
    const int error = buffer_post(failovers, port, &wr);
    if (error)
        aq_log_error("the verbs device refuses a receive buffer: %s", strerror(error));
}

static unsigned port_that_lacks(const aq_ibv_failovers_t *failovers)
{
    unsigned port = 0;
    for (unsigned i = 1; i < failovers->rails->ports->count; i++)
        if (failovers->missing[i] > failovers->missing[port])
            port = i;
    return port;
}

static int failover_post_srq(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    aq_ibv_failovers_t *failovers = srq->srq_context;
    int error = 0;
    aq_lock_take(&failovers->refilling);
    for (; wr && !error; wr = wr->next) {
        const unsigned port = port_that_lacks(failovers);
        *bad = wr;
        error = buffer_post(failovers, port, wr);
        failovers->missing[port] -= !error && failovers->missing[port];
    }
    aq_lock_drop(&failovers->refilling);
    return error;
}

// The failover of the sender that a message names. NULL: the message names no link here, or one
// without a failover.
static aq_ibv_failover_t *failover_of_message(const aq_ibv_failovers_t *failovers,
                                              const aq_ibv_buffer_t *buffer,
                                              const struct ibv_wc *wc)
{
    uint32_t source;
    memcpy(&source, buffer->bytes, sizeof source);
    const aq_ibv_peer_t *link =
        wc->byte_len >= sizeof source && source < failovers->peers->numbers
            ? atomic_load_explicit(&failovers->peers->by_number[source], memory_order_acquire)
            : NULL;
    return link ? link->failover : NULL;
}

// The number of the queue pair of a way, even before the connector's thread reports that it is
// connected: the peer's resync may come earlier.
static uint32_t way_number(const aq_ibv_failover_t *failover, unsigned way)
{
    const aq_ibv_rail_set_t *set =
        atomic_load_explicit(&failover->link->standbys, memory_order_acquire);
    if (!way)
        return failover->ways[0]->qp_num;
    return set && way <= set->count ? set->list[way - 1].qp->qp_num : 0;
}

// Under the lock of the failover. Whether the receiver is to get the message.
static bool message_take(aq_ibv_failover_t *failover, unsigned port, const aq_ibv_buffer_t *buffer,
                         const struct ibv_wc *wc)
{
    const unsigned way = port_way(failover, port);
    if (failover->lost || way_number(failover, way) != wc->qp_num)
        return false;
    const aq_ibv_arrived_t what = aq_ibv_replay_arrive(&failover->replay, way);
    if (what == AQ_IBV_ARRIVED_RESYNC && wc->byte_len == sizeof(aq_ibv_failover_resync_t))
        resync_take(failover, way, buffer->bytes);
    else if (what == AQ_IBV_ARRIVED_RESYNC)
        failover_lose(failover, "its resync has another length");
    return what == AQ_IBV_ARRIVED_MESSAGE;
}

// Messages of senders without a failover go to the receiver, which knows what to do with them.
static bool arrival_counts(aq_ibv_failovers_t *failovers, unsigned port, const struct ibv_wc *wc)
{
    const aq_ibv_buffer_t *buffer = (aq_ibv_buffer_t *)(uintptr_t)wc->wr_id;
    if (wc->status != IBV_WC_SUCCESS)
        return false;
    aq_ibv_failover_t *failover = failover_of_message(failovers, buffer, wc);
    if (!failover)
        return !port;
    aq_lock_take(&failover->lock);
    const bool counts = message_take(failover, port, buffer, wc);
    aq_lock_drop(&failover->lock);
    return counts;
}

// Takes what has arrived at a port, until there is nothing left or `most` messages count. Returns
// how many do.
static int port_poll(aq_ibv_failovers_t *failovers, unsigned port, int most, struct ibv_wc *wc)
{
    struct ibv_cq *real =
        port ? failovers->rails->queues[port].arrivals : failovers->queues->receive_cq;
    int kept = 0, count;
    while (kept < most && (count = ibv_poll_cq(real, most - kept, wc + kept)) > 0)
        for (int i = 0, at = kept; i < count; i++)
            if (arrival_counts(failovers, port, &wc[at + i]))
                wc[kept++] = wc[at + i];
            else
                buffer_repost(failovers, port, (aq_ibv_buffer_t *)(uintptr_t)wc[at + i].wr_id);
    if (kept) {
        aq_lock_take(&failovers->refilling);
        failovers->missing[port] += (unsigned)kept;
        aq_lock_drop(&failovers->refilling);
    }
    return kept;
}

// empty (out): bits of the ports that have nothing left.
static int ports_poll(aq_ibv_failovers_t *failovers, int most, struct ibv_wc *wc, uint32_t *empty)
{
    int count = 0;
    *empty = 0;
    for (unsigned port = 0; port < failovers->rails->ports->count && count < most; port++) {
        count += port_poll(failovers, port, most - count, wc + count);
        *empty |= (uint32_t)(count < most) << port;
    }
    return count;
}

// Moves failovers before it returns 0, because a caller that gets nothing may sleep.
static int arrivals_poll(aq_ibv_failovers_t *failovers, int most, struct ibv_wc *wc)
{
    uint32_t empty;
    unsigned turns = 0;
    int count;
    do {
        failovers_close_ways(failovers);
        count = ports_poll(failovers, most, wc, &empty);
        failovers_move(failovers, empty);
    } while (!count && atomic_load_explicit(&failovers->failures, memory_order_relaxed) &&
             ++turns < TURNS);
    return count;
}

static int failover_poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    aq_ibv_failovers_t *failovers = cq->cq_context;
    return cq == &failovers->sends ? sends_poll(failovers, most, wc)
                                   : arrivals_poll(failovers, most, wc);
}

// ---- open and close ----

void aq_ibv_failovers_open(aq_ibv_failovers_t *failovers)
{
    failovers->context.ops.post_send = failover_post_send;
    failovers->context.ops.poll_cq = failover_poll_cq;
    failovers->context.ops.post_srq_recv = failover_post_srq;
    failovers->sends.context = failovers->arrivals.context = failovers->srq.context =
        &failovers->context;
    failovers->sends.cq_context = failovers->arrivals.cq_context = failovers->srq.srq_context =
        failovers;
    for (unsigned port = 0; port < failovers->rails->ports->count; port++)
        failovers->missing[port] = failovers->limits->arrivals + failovers->limits->ahead;
}

void aq_ibv_failovers_close(aq_ibv_failovers_t *failovers)
{
    aq_ibv_failover_t *failover = atomic_load(&failovers->first), *next;
    for (; failover; failover = next) {
        next = failover->next;
        free(failover->replay.entries);
        free(failover);
    }
}

static aq_ibv_failover_t *failover_allocate(aq_ibv_failovers_t *failovers, aq_ibv_peer_t *link)
{
    const unsigned depth = failovers->limits->depth_each;
    aq_ibv_failover_t *failover = calloc(1, sizeof *failover + depth * sizeof *failover->works);
    aq_ibv_entry_t *entries = calloc(depth, sizeof *entries);
    if (!failover || !entries) {
        free(failover);
        free(entries);
        return NULL;
    }
    aq_ibv_replay_init(&failover->replay, entries, depth);
    failover->qp.context = &failovers->context;
    failover->failovers = failovers;
    failover->link = link;
    failover->next = atomic_load(&failovers->first);
    atomic_store(&failovers->first, failover);
    atomic_fetch_add(&failovers->unrequested, 1);
    return failover;
}

bool aq_ibv_failover_make(aq_ibv_failovers_t *failovers, aq_ibv_peer_t *link)
{
    if (!link->failover)
        link->failover = failover_allocate(failovers, link);
    if (!link->failover)
        aq_log_error("out of memory for the journal of the link to rank %u: lower "
                     "GASNET_NETWORKDEPTH_PP",
                     link->rank);
    return link->failover;
}

struct ibv_qp *aq_ibv_failover_pair(aq_ibv_peer_t *link)
{
    link->failover->ways[0] = link->pair;
    if (link->first_port)
        atomic_store(&link->failover->failovers->spread, true);
    return &link->failover->qp;
}

// ---- standbys ----

void aq_ibv_failovers_ask(aq_ibv_failovers_t *failovers)
{
    if (!atomic_load_explicit(&failovers->unrequested, memory_order_relaxed))
        return;
    for (aq_ibv_failover_t *failover = atomic_load(&failovers->first); failover;
         failover = failover->next) {
        aq_lock_take(&failover->lock);
        const bool ask = !failover->requested && failover->link->conn.state == AQ_IBV_READY;
        failover->requested = failover->requested || ask;
        aq_lock_drop(&failover->lock);
        if (!ask)
            continue;
        atomic_fetch_sub(&failovers->unrequested, 1);
        aq_ibv_rails_want_standbys(failovers->rails, failover->link);
    }
}

void aq_ibv_failover_stand_by(void *context, aq_ibv_peer_t *link, unsigned way, struct ibv_qp *pair)
{
    aq_ibv_failover_t *failover = link->failover;
    (void)context;
    if (!failover)
        return;
    aq_lock_take(&failover->lock);
    failover->ways[way] = pair;
    failover->replay.usable |= UINT32_C(1) << way;
    aq_lock_drop(&failover->lock);
}

// ---- ports ----

static void failover_leave(aq_ibv_failover_t *failover, unsigned way)
{
    failover->replay.usable &= ~(UINT32_C(1) << way);
    if (failover->replay.way == way && aq_ibv_replay_next(&failover->replay))
        failover_fail(failover, "the port has gone down");
}

void aq_ibv_failovers_port(aq_ibv_failovers_t *failovers, unsigned port, bool up)
{
    for (aq_ibv_failover_t *failover = atomic_load(&failovers->first); failover;
         failover = failover->next) {
        const unsigned way = port_way(failover, port);
        aq_lock_take(&failover->lock);
        if (!up)
            failover_leave(failover, way);
        else if (failover->ways[way])
            failover->replay.usable |= UINT32_C(1) << way;
        aq_lock_drop(&failover->lock);
    }
}
