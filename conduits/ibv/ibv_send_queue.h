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
#ifndef AQ_IBV_SEND_QUEUE_H
#define AQ_IBV_SEND_QUEUE_H

#include "ibv_buffer.h"
#include "ibv_firehose.h"
#include "ibv_lost.h"
#include "ibv_peer.h"

enum {
    AQ_IBV_BATCH = 16,     // completions that one call takes out
    AQ_IBV_LIST_MOST = 16, // operations that are posted together
};

// An entry of a send queue, from its posting to its completion.
typedef struct aq_ibv_op {
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
    aq_ibv_op_t *ops[AQ_IBV_LIST_MOST];
    struct ibv_send_wr wr[AQ_IBV_LIST_MOST];
    struct ibv_sge pieces[AQ_IBV_LIST_MOST];
    uint8_t bytes[AQ_IBV_LIST_MOST][AQ_IBV_INLINE_MOST]; // of those that travel inline
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
    atomic_bool letters;    // of links that have moved: they have no operation, and may fail
    atomic_uint idle_reaps;
    atomic_bool transferred; // puts, gets or atomics have completed; for polls, which reset it
    aq_lock_t reaping;       // only tried by threads of the client
    atomic_ulong posted;     // work requests in all
    aq_ibv_list_t list;
} aq_ibv_send_queue_t;

// Allocates limits->depth_total operations. False: no memory.
bool aq_ibv_send_queue_open(aq_ibv_send_queue_t *queue);

// An operation, with one entry of the link's send queue. NULL: none is free now. Any thread.
aq_ibv_op_t *aq_ibv_op_take(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link);
// The same with a buffer of the pool.
aq_ibv_op_t *aq_ibv_op_take_with(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link,
                                 aq_ibv_pool_t *pool);
// The same; if none is free, reaps completions and tries once more.
aq_ibv_op_t *aq_ibv_op_take_or_reap(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link,
                                    aq_ibv_pool_t *pool);
// Gives an operation back, with its buffer, its holds and its entries of the send queue.
void aq_ibv_op_put(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op);

// One entry of the link's send queue, for an operation that has none there. False: none is free.
bool aq_ibv_entry_take(aq_ibv_peer_t *link);

// For queue pairs of a link beside its first one (ibv_rail.h), of which `slots` counts the free
// entries: the same two, and the end of an operation that has succeeded.
aq_ibv_op_t *aq_ibv_op_take_beside(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link,
                                   atomic_uint *slots);
void aq_ibv_op_put_beside(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op, atomic_uint *slots);
void aq_ibv_op_finish_beside(aq_ibv_send_queue_t *queue, aq_ibv_op_t *op, atomic_uint *slots);

// An entry of the link's send queue for an unsignaled message. False: the message needs an
// operation now.
bool aq_ibv_unsignaled_take(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link);

// One work request. It is signaled if it has an operation; without one the caller must have called
// aq_ibv_unsignaled_take.
typedef struct aq_ibv_work {
    aq_ibv_op_t *op; // or NULL
    enum ibv_wr_opcode opcode;
    const void *local;
    uint32_t nbytes, local_key;
    bool in_line; // the call itself copies the bytes
    uint64_t remote;
    uint32_t remote_key;
    uint64_t operand1, operand2; // of an atomic
} aq_ibv_work_t;

// The operation that the id of a work request names. NULL: it is an unsignaled message.
aq_ibv_op_t *aq_ibv_op_of_id(uint64_t id);

// Posts up to 2 work requests, in their order. aq_ibv_reap handles their completion, and their
// failure.
void aq_ibv_post(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link, const aq_ibv_work_t *work,
                 unsigned count);

// Posts one work request, which has an operation, to a queue pair beside the first one of the link.
// Returns an errno, or 0.
int aq_ibv_post_beside(aq_ibv_send_queue_t *queue, struct ibv_qp *qp, aq_ibv_peer_t *link,
                       const aq_ibv_work_t *work);

// Posts a put or get, at once or together with later ones; the next aq_ibv_post or aq_ibv_reap
// posts it at the latest.
void aq_ibv_post_later(aq_ibv_send_queue_t *queue, aq_ibv_peer_t *link, const aq_ibv_work_t *work);

// Posts the list, then takes out completions and gives their resources back. Returns how many
// operations completed. Any thread.
unsigned aq_ibv_reap(aq_ibv_send_queue_t *queue);
// The same for a thread that sleeps afterwards, until the next completion: 0 means that all
// completions were taken out. Waits while another thread takes some out.
unsigned aq_ibv_reap_before_sleep(aq_ibv_send_queue_t *queue);

// Waits until the device has completed all operations, for a tenth of a second at most.
void aq_ibv_drain(aq_ibv_send_queue_t *queue, aq_ibv_peers_t *peers);

#endif
