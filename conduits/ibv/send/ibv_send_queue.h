// SPDX-License-Identifier: BSD-3-Clause
// Send queues: the operations that are outstanding, how they are posted and how they complete.
//
// - Each queue pair has a send queue of limits->depth_each entries; an operation occupies one of
//   them, an aq_ibv_op_t, and possibly a bounce buffer, from aq_ibv_op_take to its completion.
//   aq_ibv_entries_t counts them. A link has a queue pair of its own, or shares one with others.
// - A message that travels inline needs no operation: it is posted unsignaled, and its entry is
//   free when a later operation of the same queue pair completes, of whichever link. A failed one
//   completes all the same.
// - Short puts and gets to a busy peer are collected in a list and posted together; only the last
//   one of a list is signaled.
// - On a device that completes operations in any order (limits->device.unordered) all are signaled,
//   and each gives back only what is its own.
#pragma once

#include "../verbs/ibv_buffer.h"
#include "../registration/ibv_keys.h"
#include "../peers/ibv_lost.h"
#include "../peers/ibv_peer.h"

enum {
    AQ_IBV_BATCH = 16,    // completions that one call takes out
    AQ_IBV_LIST_MAX = 16, // operations that are posted together
};

// A work request, and the local memory that it reads or writes; wr.sg_list leads to `piece`.
typedef struct aq_ibv_work {
    struct ibv_send_wr wr;
    struct ibv_sge piece;
} aq_ibv_work_t;

// An entry of a send queue, from its posting to its completion.
typedef struct aq_ibv_op {
    aq_ibv_work_t work; // signaled; completes with the address of the operation as its id
    struct aq_ibv_op *next;
    struct aq_ibv_op *before; // completes together with this one; NULL: none
    aq_ibv_peer_t *link;
    aq_ibv_buffer_t *buffer; // that it uses; NULL: none
    atomic_uint *pending;    // counter of a put, get or atomic; NULL: it is a message
    aq_ibv_hold_t hold;      // of local memory that the device uses in place
    aq_ibv_hold_t there;     // of the peer's memory
    void *into;              // destination of a get that goes through the buffer
    uint32_t nbytes;
    unsigned covers; // unsignaled messages that complete together with this one
    bool unsignaled; // it completes with a later operation of its list
} aq_ibv_op_t;

// Operations to one peer that wait to be posted together, by the next poll at the latest.
typedef struct aq_ibv_list {
    aq_lock_t lock;
    atomic_uint count;
    _Atomic uint64_t last; // when an operation was last posted or listed
    aq_ibv_peer_t *link;
    aq_ibv_op_t *ops[AQ_IBV_LIST_MAX];
    uint8_t bytes[AQ_IBV_LIST_MAX][AQ_IBV_INLINE_MAX]; // of those that travel inline
} aq_ibv_list_t;

// What all send queues of the process share.
typedef struct aq_ibv_send_queue {
    const aq_ibv_limits_t *limits;
    aq_ibv_losses_t *losses;
    struct ibv_cq *cq;
    aq_lock_t op_lock;
    aq_ibv_op_t *free_ops, *ops;
    atomic_uint ops_used;
    atomic_uint unsignaled; // entries of all links that are posted without an operation
    atomic_bool resyncs;    // of links that have moved: they have no operation, and may fail
    atomic_uint idle_reaps;
    atomic_bool transferred; // puts, gets or atomics have completed; for polls, which reset it
    aq_lock_t reaping;       // only tried by threads of the client
    atomic_ulong posted;     // work requests in all
    aq_ibv_list_t list;
} aq_ibv_send_queue_t;

// Allocates limits->depth_total operations. False: no memory.
bool aq_ibv_send_queue_open(aq_ibv_send_queue_t *queue);

// Takes one of the free entries that a counter counts. False: there is none. Any thread.
static inline bool aq_ibv_slot_take(atomic_uint *slots)
{
    unsigned left = atomic_load_explicit(slots, memory_order_relaxed);
    if (!aq_threads) {
        atomic_store_explicit(slots, left - !!left, memory_order_relaxed);
        return left;
    }
    while (left && !atomic_compare_exchange_weak_explicit(
                       slots, &left, left - 1, memory_order_acquire, memory_order_relaxed))
        ;
    return left;
}

// Clears what the last use of an operation may have left.
static inline void aq_ibv_op_init(aq_ibv_op_t *op, aq_ibv_peer_t *link)
{
    struct ibv_send_wr *wr = &op->work.wr;
    wr->next = NULL;
    wr->num_sge = 1;
    wr->send_flags = IBV_SEND_SIGNALED;
    wr->qp_type.xrc.remote_srqn = link->srq_there; // other queue pairs than those of XRC ignore it
    op->before = NULL;
    op->link = link;
    op->buffer = NULL;
    op->pending = NULL;
    op->hold.region = op->there.region = NULL;
    op->into = NULL;
    op->covers = 0;
    op->unsignaled = false;
}

// An operation to a link, with one of the free entries that `slots` counts: of the link's first
// queue pair (link->entries), or of one beside it (ibv_rail_state.h). Its work request needs memory
// and opcode. NULL: no entry or operation is free now. Any thread.
static inline aq_ibv_op_t *aq_ibv_op_take_beside(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link,
                                                 atomic_uint *slots)
{
    if (!aq_ibv_slot_take(slots))
        return NULL;
    aq_lock_take(&queue->op_lock);
    aq_ibv_op_t *op = queue->free_ops;
    if (op) {
        queue->free_ops = op->next;
        aq_counter_add(&queue->ops_used, 1);
    }
    aq_lock_drop(&queue->op_lock);
    if (op)
        aq_ibv_op_init(op, link);
    else
        aq_counter_add(slots, 1);
    return op;
}
static inline aq_ibv_op_t *aq_ibv_op_take(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link)
{
    return aq_ibv_op_take_beside(queue, link, &link->entries->slots);
}
// The same; if none is free, reaps completions and tries once more.
aq_ibv_op_t *aq_ibv_op_take_or_reap(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link,
                                    aq_ibv_pool_t *pool);
// Gives an operation back, with its buffer, its holds and its entries of the send queue.
void aq_ibv_op_put(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op);

// One entry of the link's send queue, for an operation that has none there. False: none is free.
bool aq_ibv_entry_take(aq_ibv_peer_t *link);

// For queue pairs of a link beside its first one, of which `slots` counts the free entries: gives
// an operation back, and ends one that has succeeded.
void aq_ibv_op_put_beside(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op, atomic_uint *slots);
void aq_ibv_op_finish_beside(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op, atomic_uint *slots);

// An entry of the link's send queue for an unsignaled message. False: the message needs an
// operation now.
bool aq_ibv_unsignaled_take(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link);

// The parts of a work request that the caller sets, whatever its opcode: the local memory, the
// opcode with the memory of the peer, and whether the call that posts it copies the bytes.
static inline void aq_ibv_work_local(aq_ibv_work_t *work, const void *local, size_t nbytes,
                                     uint32_t key)
{
    work->piece =
        (struct ibv_sge){.addr = (uintptr_t)local, .length = (uint32_t)nbytes, .lkey = key};
}
static inline void aq_ibv_work_rdma(aq_ibv_work_t *work, enum ibv_wr_opcode opcode, uint64_t remote,
                                    uint32_t key)
{
    work->wr.opcode = opcode;
    work->wr.wr.rdma.remote_addr = remote;
    work->wr.wr.rdma.rkey = key;
}
static inline void aq_ibv_work_in_line(aq_ibv_work_t *work)
{
    work->wr.send_flags |= IBV_SEND_INLINE;
}

// The work request of an unsignaled message, which the caller owns; returns it. It needs memory and
// opcode.
aq_ibv_work_t *aq_ibv_work_unsignaled(aq_ibv_work_t *work, aq_ibv_peer_t *link);

// The operation that the id of a work request names. NULL: it is an unsignaled message.
aq_ibv_op_t *aq_ibv_op_of_id(uint64_t id);

// Posts the work request of an operation, and a second one if that is chained to it (wr.next).
// aq_ibv_reap handles their completion, and their failure.
void aq_ibv_post(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op);
// The same for an unsignaled message; the caller has called aq_ibv_unsignaled_take.
void aq_ibv_post_unsignaled(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link, aq_ibv_work_t *work);

// Posts an operation to a queue pair beside the first one of its link. Returns an errno, or 0.
int aq_ibv_post_beside(aq_ibv_send_queue_t *queue, struct ibv_qp *qp, aq_ibv_op_t *op);

// Posts a put or get, at once or together with later ones; the next aq_ibv_post or aq_ibv_reap
// posts it at the latest.
void aq_ibv_post_later(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op);

// Posts the list, then takes out completions and gives their resources back. Returns how many
// operations completed. Any thread.
unsigned aq_ibv_reap(aq_ibv_send_queue_t *queue);
// The same for a thread that sleeps afterwards, until the next completion: 0 means that all
// completions were taken out. Waits while another thread takes some out.
unsigned aq_ibv_reap_before_sleep(aq_ibv_send_queue_t *queue);

// Waits until the device has completed all operations, for a tenth of a second at most.
void aq_ibv_drain(aq_ibv_send_queue_t *queue, aq_ibv_peers_t *peers);
