// SPDX-License-Identifier: BSD-3-Clause
// The operations of the queues that ibv_send_queue.c and ibv_receive.c use in place of the
// device's: they write the journal, drop what arrives late, and move links between ports as
// ibv_replay.c decides.
#include "ibv_bond.h"

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
    TURNS = 3,          // of a poll that finds nothing while bonds are to move
};

static uint32_t slab_key(const aq_ibv_bonds_t *bonds, unsigned port, bool remote)
{
    const struct ibv_mr *slab =
        port ? bonds->rails->queues[port].slab : bonds->rails->buffers->slab_mr;
    return remote ? slab->rkey : slab->lkey;
}

// ---- ways and ports ----

static unsigned ports_of(const aq_ibv_bond_t *bond)
{
    return bond->bonds->rails->ports->count;
}

static unsigned way_port(const aq_ibv_bond_t *bond, unsigned way)
{
    return (bond->link->first_port + way) % ports_of(bond);
}

static unsigned port_way(const aq_ibv_bond_t *bond, unsigned port)
{
    return (port + ports_of(bond) - bond->link->first_port) % ports_of(bond);
}

unsigned aq_ibv_bonds_first_port(const aq_ibv_bonds_t *bonds, uint32_t rank, unsigned ports_there,
                                 unsigned round)
{
    const unsigned ports = bonds->rails->ports->count;
    return ports_there == ports ? (bonds->peers->rank + rank - 1 + round) % ports : 0;
}

uint32_t aq_ibv_bond_rings_key(const aq_ibv_peer_t *link)
{
    return link->first_port ? slab_key(link->bond->bonds, link->first_port, true) : 0;
}

void aq_ibv_bond_hear_key(aq_ibv_peer_t *link, uint32_t rings_key)
{
    link->bond->rings_key = rings_key;
}

// ---- posting ----

static bool is_in_slab(const aq_ibv_buffers_t *buffers, uint64_t address)
{
    return address - (uintptr_t)buffers->slab < buffers->slab_bytes;
}

static uint32_t local_key(const aq_ibv_bond_t *bond, const aq_ibv_bond_work_t *work,
                          const aq_ibv_hold_t *hold)
{
    const aq_ibv_rails_t *rails = bond->bonds->rails;
    const unsigned port = way_port(bond, bond->replay.way);
    if (!port || work->wr.send_flags & IBV_SEND_INLINE)
        return work->local_key;
    if (is_in_slab(rails->buffers, work->piece.addr))
        return slab_key(bond->bonds, port, false);
    return aq_ibv_keys_local_at(rails->keys, port, (void *)(uintptr_t)work->piece.addr, hold);
}

static uint32_t remote_key(const aq_ibv_bond_t *bond, const aq_ibv_bond_work_t *work,
                           const aq_ibv_hold_t *there)
{
    const aq_ibv_rails_t *rails = bond->bonds->rails;
    const unsigned port = way_port(bond, bond->replay.way);
    if (work->remote_key == bond->link->out.key)
        return bond->rings_key ? bond->rings_key : work->remote_key;
    if (!port)
        return work->remote_key;
    return aq_ibv_keys_remote_at(rails->keys, port, bond->link->rank, work->wr.wr.rdma.remote_addr,
                                 there);
}

// Sets the keys of a work request for the port of the present way. False: some memory is not
// registered there.
static bool work_aim(const aq_ibv_bond_t *bond, aq_ibv_bond_work_t *work)
{
    static const aq_ibv_hold_t none;
    const aq_ibv_op_t *op = aq_ibv_op_of_id(work->id);
    struct ibv_send_wr *wr = &work->wr;
    if (!wr->num_sge || (!bond->replay.way && !bond->link->first_port))
        return true;
    work->piece.lkey = local_key(bond, work, op ? &op->hold : &none);
    if (wr->opcode != IBV_WR_SEND)
        wr->wr.rdma.rkey = remote_key(bond, work, op ? &op->there : &none);
    return (wr->send_flags & IBV_SEND_INLINE || work->piece.lkey) &&
           (wr->opcode == IBV_WR_SEND || wr->wr.rdma.rkey);
}

// Posts the last `count` work requests of the journal. Returns an errno, or 0.
static int works_post(aq_ibv_bond_t *bond, unsigned count)
{
    const aq_ibv_replay_t *replay = &bond->replay;
    const unsigned from = replay->first + replay->count - count;
    struct ibv_send_wr *bad;
    for (unsigned i = 0; i < count; i++) {
        aq_ibv_bond_work_t *work = &bond->works[(from + i) % replay->depth];
        if (!work_aim(bond, work))
            return ENXIO;
        work->wr.next = i + 1 < count ? &bond->works[(from + i + 1) % replay->depth].wr : NULL;
    }
    return count
               ? ibv_post_send(bond->ways[replay->way], &bond->works[from % replay->depth].wr, &bad)
               : 0;
}

static aq_ibv_entry_kind_t kind_of(const aq_ibv_bond_t *bond, const struct ibv_send_wr *wr)
{
    if (wr->opcode == IBV_WR_SEND)
        return AQ_IBV_ENTRY_SEND;
    if (wr->opcode == IBV_WR_RDMA_READ)
        return AQ_IBV_ENTRY_READ;
    if (wr->opcode != IBV_WR_RDMA_WRITE)
        return AQ_IBV_ENTRY_ATOMIC;
    return wr->num_sge && wr->wr.rdma.rkey == bond->link->out.key ? AQ_IBV_ENTRY_RING
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

static bool work_record(aq_ibv_bond_t *bond, const struct ibv_send_wr *wr)
{
    const aq_ibv_entry_kind_t kind = kind_of(bond, wr);
    const int index = aq_ibv_replay_post(&bond->replay, kind, wr->send_flags & IBV_SEND_SIGNALED,
                                         kind == AQ_IBV_ENTRY_RING ? position_of(wr) : 0);
    if (index < 0)
        return false;
    aq_ibv_bond_work_t *work = &bond->works[index];
    work->wr = *wr;
    work->wr.wr_id = (uintptr_t)bond;
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

static const aq_ibv_rail_port_t *port_of(const aq_ibv_bond_t *bond, unsigned way)
{
    return &bond->bonds->rails->ports->list[way_port(bond, way)];
}

// Whether the bond is to move: the flag of the replay, counted for arrivals_poll.
static void failed_set(aq_ibv_bond_t *bond, bool failed)
{
    if (failed && !bond->counted)
        atomic_fetch_add(&bond->bonds->failures, 1);
    if (!failed && bond->counted)
        atomic_fetch_sub(&bond->bonds->failures, 1);
    bond->counted = failed;
}

static void bond_lose(aq_ibv_bond_t *bond, const char *why)
{
    const aq_ibv_rail_port_t *port = port_of(bond, bond->replay.way);
    char name[96];
    bond->lost = true;
    failed_set(bond, false);
    snprintf(name, sizeof name, "port %u of %s", port->number, port->device);
    aq_ibv_peer_lost_by(bond->bonds->losses, bond->link, why, name);
}

// Warns, once for each port, that links leave it.
static void move_warn(const aq_ibv_bond_t *bond, const char *why)
{
    aq_ibv_bonds_t *bonds = bond->bonds;
    const unsigned port = way_port(bond, bond->replay.way);
    const aq_ibv_rail_port_t *from = port_of(bond, bond->replay.way);
    const aq_ibv_rail_port_t *to = port_of(bond, aq_ibv_replay_next(&bond->replay));
    if (aq_boot_ended(bonds->rails->env->boot) ||
        atomic_fetch_or(&bonds->warned, 1u << port) >> port & 1)
        return;
    aq_log_warn(
        "port %u of %s does not reach rank %u any more (%s): its messages, puts and gets take "
        "port %u of %s; see that the ports of both hosts are up and their network is whole",
        from->number, from->device, bond->link->rank, why, to->number, to->device);
}

// The present way has failed: arrivals_poll moves the bond, if there is a way left.
static void bond_fail(aq_ibv_bond_t *bond, const char *why)
{
    const aq_ibv_rails_t *rails = bond->bonds->rails;
    if (bond->lost || bond->replay.failed)
        return;
    if (!aq_ibv_replay_fail(&bond->replay, bond->replay.way)) {
        bond_lose(bond, why);
        return;
    }
    failed_set(bond, true);
    rails->wake(rails->sleeper); // a thread that sleeps moves the bond
    move_warn(bond, why);
}

static void resync_post(aq_ibv_bond_t *bond)
{
    aq_ibv_bonds_t *bonds = bond->bonds;
    const aq_ibv_bond_resync_t resync = {
        .source = bond->link->number_there,
        .rings_key = slab_key(bonds, way_port(bond, bond->replay.way), true),
        .replay = {bond->replay.received, aq_ibv_ring_complete(bonds->rings, bond->link)}};
    struct ibv_sge piece = {.addr = (uintptr_t)&resync, .length = sizeof resync};
    struct ibv_send_wr *bad, wr = {.wr_id = (uintptr_t)bond,
                                   .sg_list = &piece,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_SEND,
                                   .send_flags = IBV_SEND_INLINE};
    const int error = ibv_post_send(bond->ways[bond->replay.way], &wr, &bad);
    if (error)
        bond_fail(bond, strerror(error));
}

// Posts the whole journal on the present way. A work request that the peer has done already becomes
// an empty write, so that its completion comes in order.
static void journal_post(aq_ibv_bond_t *bond)
{
    aq_ibv_replay_t *replay = &bond->replay;
    for (unsigned i = 0; i < replay->count; i++) {
        const unsigned index = (replay->first + i) % replay->depth;
        struct ibv_send_wr *wr = &bond->works[index].wr;
        if (!replay->entries[index].done)
            continue;
        wr->opcode = IBV_WR_RDMA_WRITE;
        wr->num_sge = 0;
        wr->send_flags &= ~(unsigned)IBV_SEND_INLINE;
    }
    atomic_fetch_add(&bond->bonds->repeated, replay->count);
    const int error = works_post(bond, replay->count);
    if (error == ENXIO)
        bond_lose(bond, "some memory is not registered at the port");
    else if (error)
        bond_fail(bond, strerror(error));
}

static void resync_hear(aq_ibv_bond_t *bond)
{
    bond->rings_key = bond->resync.rings_key;
    switch (aq_ibv_replay_hear(&bond->replay, &bond->resync.replay)) {
    case AQ_IBV_RESYNC_ATOMIC:
        bond_lose(bond, "an atomic may or may not be done; see GASNET_IBV_ATOMICS");
        break;
    case AQ_IBV_RESYNC_GAP:
        bond_lose(bond, "a message may have got lost with the port before");
        break;
    case AQ_IBV_RESYNC_GOOD:
        if (aq_ibv_replay_carries(&bond->replay))
            journal_post(bond);
    }
}

static void bond_move(aq_ibv_bond_t *bond, unsigned way)
{
    failed_set(bond, false);
    bond->closed = false;
    atomic_fetch_add(&bond->bonds->moves, 1);
    atomic_store(&bond->bonds->spread, true);
    atomic_store(&bond->bonds->rails->queue->resyncs, true);
    aq_ibv_replay_move(&bond->replay, way);
    resync_post(bond);
    if (bond->replay.called == way)
        resync_hear(bond);
}

// Closes the ways that have failed. From then on nothing arrives on them.
static void bonds_close_ways(aq_ibv_bonds_t *bonds)
{
    bool any = false;
    if (!atomic_load_explicit(&bonds->failures, memory_order_relaxed))
        return;
    for (aq_ibv_bond_t *bond = atomic_load(&bonds->first); bond; bond = bond->next) {
        aq_lock_take(&bond->lock);
        if (bond->replay.failed && !bond->closed && !bond->lost) {
            aq_ibv_pair_stop(bond->ways[bond->replay.way]);
            any = bond->closed = true;
        }
        aq_lock_drop(&bond->lock);
    }
    if (any)
        aq_clock_sleep_ns(QUIET_NS);
}

static bool bond_may_move(const aq_ibv_bond_t *bond, uint32_t empty)
{
    const aq_ibv_replay_t *replay = &bond->replay;
    return replay->failed && bond->closed && !bond->lost &&
           empty >> way_port(bond, replay->way) & 1 &&
           replay->usable >> aq_ibv_replay_next(replay) & 1;
}

// empty: bits of the ports on which everything that had arrived was taken after bonds_close_ways.
static void bonds_move(aq_ibv_bonds_t *bonds, uint32_t empty)
{
    if (!atomic_load_explicit(&bonds->failures, memory_order_relaxed))
        return;
    for (aq_ibv_bond_t *bond = atomic_load(&bonds->first); bond; bond = bond->next) {
        aq_lock_take(&bond->lock);
        if (bond_may_move(bond, empty))
            bond_move(bond, aq_ibv_replay_next(&bond->replay));
        aq_lock_drop(&bond->lock);
    }
}

static void resync_take(aq_ibv_bond_t *bond, unsigned way, const void *bytes)
{
    memcpy(&bond->resync, bytes, sizeof bond->resync);
    if (bond->replay.way == way)
        resync_hear(bond);
    else
        failed_set(bond, true);
}

// ---- the operations of the queues: sends ----

static int bond_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    aq_ibv_bond_t *bond = (aq_ibv_bond_t *)(void *)qp;
    unsigned count = 0;
    int error = 0;
    *bad = wr;
    aq_lock_take(&bond->lock);
    for (; wr && !error; wr = wr->next, count++)
        error = work_record(bond, wr) ? 0 : ENOMEM;
    if (!error && aq_ibv_replay_carries(&bond->replay))
        error = works_post(bond, count);
    if (error && error != ENOMEM && error != ENXIO) {
        bond_fail(bond, strerror(error));
        error = 0;
    }
    aq_lock_drop(&bond->lock);
    return error;
}

// Whether a completion on a port is one that the send queue waits for.
static bool send_counts(aq_ibv_bond_t *bond, unsigned port, struct ibv_wc *wc)
{
    const aq_ibv_replay_t *replay = &bond->replay;
    const unsigned way = port_way(bond, port);
    if (way != replay->way || wc->qp_num != bond->ways[way]->qp_num || bond->lost)
        return false;
    if (wc->status == IBV_WC_RNR_RETRY_EXC_ERR) {
        bond->lost = true;
        aq_ibv_peer_failed(bond->bonds->losses, bond->link, wc->status);
    } else if (wc->status != IBV_WC_SUCCESS) {
        bond_fail(bond, ibv_wc_status_str(wc->status));
    }
    const int index = wc->status == IBV_WC_SUCCESS ? aq_ibv_replay_complete(&bond->replay) : -1;
    if (index >= 0)
        wc->wr_id = bond->works[index].id;
    return index >= 0;
}

static int sends_keep(unsigned port, int count, struct ibv_wc *wc)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        aq_ibv_bond_t *bond = (aq_ibv_bond_t *)(uintptr_t)wc[i].wr_id;
        aq_lock_take(&bond->lock);
        if (send_counts(bond, port, &wc[i]))
            wc[kept++] = wc[i];
        aq_lock_drop(&bond->lock);
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

static int sends_poll(aq_ibv_bonds_t *bonds, int most, struct ibv_wc *wc)
{
    int count = sends_poll_port(bonds->queues->send_cq, 0, most, wc);
    if (!atomic_load_explicit(&bonds->spread, memory_order_relaxed))
        return count;
    for (unsigned port = 1; port < bonds->rails->ports->count && count < most; port++)
        count +=
            sends_poll_port(bonds->rails->queues[port].standby_cq, port, most - count, wc + count);
    return count;
}

// ---- the operations of the queues: arrivals ----

static int buffer_post(aq_ibv_bonds_t *bonds, unsigned port, const struct ibv_recv_wr *wr)
{
    struct ibv_sge piece = *wr->sg_list;
    struct ibv_recv_wr *bad, copy = {.wr_id = wr->wr_id, .sg_list = &piece, .num_sge = 1};
    struct ibv_srq *srq = port ? bonds->rails->queues[port].srq : bonds->queues->srq;
    piece.lkey = slab_key(bonds, port, false);
    return ibv_post_srq_recv(srq, &copy, &bad);
}

// Posts a buffer again whose message was dropped.
static void buffer_repost(aq_ibv_bonds_t *bonds, unsigned port, const aq_ibv_buffer_t *buffer)
{
    struct ibv_sge piece = {.addr = (uintptr_t)buffer->bytes, .length = AQ_IBV_BUFFER_BYTES};
    const struct ibv_recv_wr wr = {.wr_id = (uintptr_t)buffer, .sg_list = &piece};
    const int error = buffer_post(bonds, port, &wr);
    if (error)
        aq_log_error("the verbs device refuses a receive buffer: %s", strerror(error));
}

static unsigned port_that_lacks(const aq_ibv_bonds_t *bonds)
{
    unsigned port = 0;
    for (unsigned i = 1; i < bonds->rails->ports->count; i++)
        if (bonds->missing[i] > bonds->missing[port])
            port = i;
    return port;
}

static int bond_post_srq(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    aq_ibv_bonds_t *bonds = srq->srq_context;
    int error = 0;
    aq_lock_take(&bonds->refilling);
    for (; wr && !error; wr = wr->next) {
        const unsigned port = port_that_lacks(bonds);
        *bad = wr;
        error = buffer_post(bonds, port, wr);
        bonds->missing[port] -= !error && bonds->missing[port];
    }
    aq_lock_drop(&bonds->refilling);
    return error;
}

// The bond of the sender that a message names. NULL: the message names no link here, or one without
// a bond.
static aq_ibv_bond_t *bond_of_message(const aq_ibv_bonds_t *bonds, const aq_ibv_buffer_t *buffer,
                                      const struct ibv_wc *wc)
{
    uint32_t source;
    memcpy(&source, buffer->bytes, sizeof source);
    const aq_ibv_peer_t *link =
        wc->byte_len >= sizeof source && source < bonds->peers->numbers
            ? atomic_load_explicit(&bonds->peers->by_number[source], memory_order_acquire)
            : NULL;
    return link ? link->bond : NULL;
}

// The number of the queue pair of a way, even before the connector's thread reports that it is
// connected: the peer's resync may come earlier.
static uint32_t way_number(const aq_ibv_bond_t *bond, unsigned way)
{
    const aq_ibv_rail_set_t *set =
        atomic_load_explicit(&bond->link->standbys, memory_order_acquire);
    if (!way)
        return bond->ways[0]->qp_num;
    return set && way <= set->count ? set->list[way - 1].qp->qp_num : 0;
}

// Under the lock of the bond. Whether the receiver is to get the message.
static bool message_take(aq_ibv_bond_t *bond, unsigned port, const aq_ibv_buffer_t *buffer,
                         const struct ibv_wc *wc)
{
    const unsigned way = port_way(bond, port);
    if (bond->lost || way_number(bond, way) != wc->qp_num)
        return false;
    const aq_ibv_arrived_t what = aq_ibv_replay_arrive(&bond->replay, way);
    if (what == AQ_IBV_ARRIVED_RESYNC && wc->byte_len == sizeof(aq_ibv_bond_resync_t))
        resync_take(bond, way, buffer->bytes);
    else if (what == AQ_IBV_ARRIVED_RESYNC)
        bond_lose(bond, "its resync has another length");
    return what == AQ_IBV_ARRIVED_MESSAGE;
}

// Messages of senders without a bond go to the receiver, which knows what to do with them.
static bool arrival_counts(aq_ibv_bonds_t *bonds, unsigned port, const struct ibv_wc *wc)
{
    const aq_ibv_buffer_t *buffer = (aq_ibv_buffer_t *)(uintptr_t)wc->wr_id;
    if (wc->status != IBV_WC_SUCCESS)
        return false;
    aq_ibv_bond_t *bond = bond_of_message(bonds, buffer, wc);
    if (!bond)
        return !port;
    aq_lock_take(&bond->lock);
    const bool counts = message_take(bond, port, buffer, wc);
    aq_lock_drop(&bond->lock);
    return counts;
}

// Takes what has arrived at a port, until there is nothing left or `most` messages count. Returns
// how many do.
static int port_poll(aq_ibv_bonds_t *bonds, unsigned port, int most, struct ibv_wc *wc)
{
    struct ibv_cq *real = port ? bonds->rails->queues[port].arrivals : bonds->queues->receive_cq;
    int kept = 0, count;
    while (kept < most && (count = ibv_poll_cq(real, most - kept, wc + kept)) > 0)
        for (int i = 0, at = kept; i < count; i++)
            if (arrival_counts(bonds, port, &wc[at + i]))
                wc[kept++] = wc[at + i];
            else
                buffer_repost(bonds, port, (aq_ibv_buffer_t *)(uintptr_t)wc[at + i].wr_id);
    if (kept) {
        aq_lock_take(&bonds->refilling);
        bonds->missing[port] += (unsigned)kept;
        aq_lock_drop(&bonds->refilling);
    }
    return kept;
}

// empty (out): bits of the ports that have nothing left.
static int ports_poll(aq_ibv_bonds_t *bonds, int most, struct ibv_wc *wc, uint32_t *empty)
{
    int count = 0;
    *empty = 0;
    for (unsigned port = 0; port < bonds->rails->ports->count && count < most; port++) {
        count += port_poll(bonds, port, most - count, wc + count);
        *empty |= (uint32_t)(count < most) << port;
    }
    return count;
}

// Moves bonds before it returns 0, because a caller that gets nothing may sleep.
static int arrivals_poll(aq_ibv_bonds_t *bonds, int most, struct ibv_wc *wc)
{
    uint32_t empty;
    unsigned turns = 0;
    int count;
    do {
        bonds_close_ways(bonds);
        count = ports_poll(bonds, most, wc, &empty);
        bonds_move(bonds, empty);
    } while (!count && atomic_load_explicit(&bonds->failures, memory_order_relaxed) &&
             ++turns < TURNS);
    return count;
}

static int bond_poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    aq_ibv_bonds_t *bonds = cq->cq_context;
    return cq == &bonds->sends ? sends_poll(bonds, most, wc) : arrivals_poll(bonds, most, wc);
}

// ---- open and close ----

void aq_ibv_bonds_open(aq_ibv_bonds_t *bonds)
{
    bonds->context.ops.post_send = bond_post_send;
    bonds->context.ops.poll_cq = bond_poll_cq;
    bonds->context.ops.post_srq_recv = bond_post_srq;
    bonds->sends.context = bonds->arrivals.context = bonds->srq.context = &bonds->context;
    bonds->sends.cq_context = bonds->arrivals.cq_context = bonds->srq.srq_context = bonds;
    for (unsigned port = 0; port < bonds->rails->ports->count; port++)
        bonds->missing[port] = bonds->limits->arrivals + bonds->limits->ahead;
}

void aq_ibv_bonds_close(aq_ibv_bonds_t *bonds)
{
    aq_ibv_bond_t *bond = atomic_load(&bonds->first), *next;
    for (; bond; bond = next) {
        next = bond->next;
        free(bond->replay.entries);
        free(bond);
    }
}

static aq_ibv_bond_t *bond_allocate(aq_ibv_bonds_t *bonds, aq_ibv_peer_t *link)
{
    const unsigned depth = bonds->limits->depth_each;
    aq_ibv_bond_t *bond = calloc(1, sizeof *bond + depth * sizeof *bond->works);
    aq_ibv_entry_t *entries = calloc(depth, sizeof *entries);
    if (!bond || !entries) {
        free(bond);
        free(entries);
        return NULL;
    }
    aq_ibv_replay_init(&bond->replay, entries, depth);
    bond->qp.context = &bonds->context;
    bond->bonds = bonds;
    bond->link = link;
    bond->next = atomic_load(&bonds->first);
    atomic_store(&bonds->first, bond);
    atomic_fetch_add(&bonds->unasked, 1);
    return bond;
}

bool aq_ibv_bond_make(aq_ibv_bonds_t *bonds, aq_ibv_peer_t *link)
{
    if (!link->bond)
        link->bond = bond_allocate(bonds, link);
    if (!link->bond)
        aq_log_error("out of memory for the journal of the link to rank %u: lower "
                     "GASNET_NETWORKDEPTH_PP",
                     link->rank);
    return link->bond;
}

struct ibv_qp *aq_ibv_bond_pair(aq_ibv_peer_t *link)
{
    link->bond->ways[0] = link->pair;
    if (link->first_port)
        atomic_store(&link->bond->bonds->spread, true);
    return &link->bond->qp;
}

// ---- standbys ----

void aq_ibv_bonds_ask(aq_ibv_bonds_t *bonds)
{
    if (!atomic_load_explicit(&bonds->unasked, memory_order_relaxed))
        return;
    for (aq_ibv_bond_t *bond = atomic_load(&bonds->first); bond; bond = bond->next) {
        aq_lock_take(&bond->lock);
        const bool ask = !bond->asked && bond->link->conn.state == AQ_IBV_READY;
        bond->asked = bond->asked || ask;
        aq_lock_drop(&bond->lock);
        if (!ask)
            continue;
        atomic_fetch_sub(&bonds->unasked, 1);
        aq_ibv_rails_want_standbys(bonds->rails, bond->link);
    }
}

void aq_ibv_bond_stand_by(void *context, aq_ibv_peer_t *link, unsigned way, struct ibv_qp *pair)
{
    aq_ibv_bond_t *bond = link->bond;
    (void)context;
    if (!bond)
        return;
    aq_lock_take(&bond->lock);
    bond->ways[way] = pair;
    bond->replay.usable |= UINT32_C(1) << way;
    aq_lock_drop(&bond->lock);
}

// ---- ports ----

static void bond_leave(aq_ibv_bond_t *bond, unsigned way)
{
    bond->replay.usable &= ~(UINT32_C(1) << way);
    if (bond->replay.way == way && aq_ibv_replay_next(&bond->replay))
        bond_fail(bond, "the port has gone down");
}

void aq_ibv_bonds_port(aq_ibv_bonds_t *bonds, unsigned port, bool up)
{
    for (aq_ibv_bond_t *bond = atomic_load(&bonds->first); bond; bond = bond->next) {
        const unsigned way = port_way(bond, port);
        aq_lock_take(&bond->lock);
        if (!up)
            bond_leave(bond, way);
        else if (bond->ways[way])
            bond->replay.usable |= UINT32_C(1) << way;
        aq_lock_drop(&bond->lock);
    }
}
