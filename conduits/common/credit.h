// SPDX-License-Identifier: BSD-3-Clause
// Credits: flow control of requests for conduits whose receivers need a buffer ready for every
// message. This file knows no network and sends nothing: a conduit asks it before it sends, and
// reports to it what arrives.
//
// What is always true, for each direction of each pair of processes:
// - A request takes one credit. The peer that granted it has one receive buffer for each credit,
//   and gives the credit back only when that buffer, or a replacement, is ready again. So the sum
//   of free credits, requests under way or in their handlers, banked credits and credits on their
//   way back is always the number that was granted.
// - The reply to a request gives its credit back. The credit of a request whose handler sent no
//   reply is banked; banked credits travel with the next message to that peer. If more than `slack`
//   are banked, a message of its own (a hidden reply) returns them all.
// - At most one message of class reply comes back for each request. A requester that
//   keeps one receive buffer for each request of its own whose credit is not back (the pool) has
//   one for every reply and hidden reply.
// - slack is less than what was granted, and the slacks of all peers together are less than the
//   pool: a requester that waits for a credit gets one without having to send anything.
//
//      requester                                          peer
//      take: free - 1 ------------- request ----------->  handler
//                     (+ what is banked there for the     | replied: the reply, with 1 + collect
//                      other direction: collect)          | did not: bank, then nothing ...
//      give: free + n <----- reply or hidden reply -----  '           ... or all that is banked
//
// Any thread may call anything at any time; there are no locks.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// The limits of requests in flight from one process to all its peers together.
typedef struct aq_credit_pool {
    atomic_uint free;
} aq_credit_pool_t;

// The state of a pair of processes in one of them.
typedef struct aq_credit {
    aq_credit_pool_t *pool; // of this process
    atomic_uint free;       // requests that may go to the peer now
    atomic_uint banked;     // credits of the peer's requests that are to go back
    unsigned slack;         // banked credits that may wait for a message to carry them
    unsigned most;          // free credits when no request is in flight
} aq_credit_t;

typedef struct aq_credit_limits {
    unsigned each;  // requests under way to one peer: at least 1
    unsigned total; // to all peers together: at least 1
    unsigned slack; // banked for one peer
} aq_credit_limits_t;

// Fits the user's limits to that many peers: `each` does not exceed `total`, and `slack` is so
// small that the process can always send one request, however many credits its peers have banked.
aq_credit_limits_t aq_credit_fit(aq_credit_limits_t wanted, uint32_t peers);

void aq_credit_pool_start(aq_credit_pool_t *pool, unsigned total);

// Adds n requests to the limit of a pool, before their peer is added.
static inline void aq_credit_pool_grow(aq_credit_pool_t *pool, unsigned n)
{
    atomic_fetch_add_explicit(&pool->free, n, memory_order_relaxed);
}

// Adds a peer: `free` requests may be sent to it, `granted` ones may arrive from it. The pool must
// outlive it.
void aq_credit_start(aq_credit_t *credit, aq_credit_pool_t *pool, unsigned free, unsigned granted,
                     unsigned slack);

// Before a request is sent: takes a credit of the peer and of the pool. Returns false if there is
// none.
bool aq_credit_take(aq_credit_t *credit);

// Gives back the credit of a request that was not sent.
void aq_credit_untake(aq_credit_t *credit);

// n credits came back with a message: one for a reply, and those that the message carries besides.
// Returns false if the peer gives back more credits than requests are in flight, which no correct
// peer does.
bool aq_credit_give(aq_credit_t *credit, unsigned n);

// Before a message of either class is sent: takes up to `most` of the banked credits to travel with
// it.
unsigned aq_credit_collect(aq_credit_t *credit, unsigned most);

// Banks n credits again whose message was not sent.
void aq_credit_return(aq_credit_t *credit, unsigned n);

// The handler of a request has returned without a reply. Returns true if the banked credits are
// due: then the caller collects and sends them in a hidden reply, now or in a later poll.
bool aq_credit_bank(aq_credit_t *credit);

// Whether a hidden reply is due.
static inline bool aq_credit_due(const aq_credit_t *credit)
{
    return atomic_load_explicit(&credit->banked, memory_order_relaxed) > credit->slack;
}
