// SPDX-License-Identifier: BSD-3-Clause
// Messages in: from the completion queue and the rings into the queue of their class, and from
// there to their handlers.
//
//      receive completions --+--> requests --> poll that may run requests --+
//      rings ----------------+                                              +--> handler
//                            '--> replies  --> any poll --------------------+
//
// The shared receive queue has some buffers more than credits stand for. When half of those are
// used up, spare buffers are posted in one call. If there are no spare buffers, and no more posted
// ones than needed, the message is copied before its handler runs, and its own buffer is posted
// again. So by the time a credit returns to its owner, the buffer that it stands for is posted.
#pragma once

#include "../rails/ibv_rail_state.h"
#include "../send/ibv_ring.h"
#include "../send/ibv_rma_ondemand.h"

enum { AQ_IBV_RING_LOOKS = 8 }; // polls of rings for each poll of the completion queue by a spinner

// Messages of one class that wait for a poll that may run their handlers.
typedef struct aq_ibv_queue {
    aq_ibv_buffer_t *first, **last;
    atomic_uint count;
} aq_ibv_queue_t;

typedef struct aq_ibv_receiver {
    const aq_conduit_env_t *env;
    aq_conduit_t *window; // NULL: endpoint 0
    const aq_ibv_limits_t *limits;
    const aq_ibv_peers_t *peers;
    aq_ibv_buffers_t *buffers;
    aq_ibv_send_queue_t *send_queue;
    aq_ibv_sender_t *sender;
    aq_ibv_ring_writer_t *writer;
    aq_ibv_rings_t *rings;
    aq_ibv_ondemand_t *ondemand;
    aq_ibv_rails_t *rails;
    _Atomic(struct ibv_cq *) cq; // without the arrivals of a window that has no link yet
    struct ibv_srq *srq;
    aq_lock_t lock;      // only ever tried; of the completion queue and the rings
    unsigned ring_turns; // polls that found messages in rings
    aq_lock_t queue_lock;
    unsigned missing; // buffers that were used up and not replaced yet; under queue_lock
    aq_ibv_queue_t requests, replies;
    atomic_uint sending_turns, reaping_turns;
    atomic_ulong arrived; // messages in receive buffers
    atomic_ulong copies;  // messages that were copied, for want of a spare buffer
} aq_ibv_receiver_t;

// Posts the first receive buffers.
void aq_ibv_receiver_open(aq_ibv_receiver_t *receiver);

// See poll of aq_conduit_ops_t.
unsigned aq_ibv_poll(aq_ibv_receiver_t *receiver, unsigned what);

// The two halves of a poll, for the receive thread. The first returns false if another thread is at
// it; the second returns how many messages were delivered.
bool aq_ibv_take_arrivals(aq_ibv_receiver_t *receiver, bool spinning);
unsigned aq_ibv_deliver_some(aq_ibv_receiver_t *receiver, unsigned what);

// Before a sleep, which a message in a ring does not end: asks all owners of rings to leave them,
// if `ask`. True: no ring is in use. False: sleep for a short time only.
bool aq_ibv_rings_quiet(aq_ibv_receiver_t *receiver, bool ask);
