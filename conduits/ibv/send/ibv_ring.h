// SPDX-License-Identifier: BSD-3-Clause
// Active messages by RDMA: a peer that sends many messages gets a ring here, into which it writes
// its short messages; this process finds them by polling memory. That saves both sides a receive
// buffer and a completion. ibv_ring_slot.h has the format.
//
// What is always true:
// - Free rings go to the peers that send most. If there is none, the quietest peer has to leave its
//   ring to one that sends clearly more.
// - This process does not sleep long while peers have rings here, since a write into a ring does
//   not wake it: it asks for them back, and sleeps for short times until all are left. From then on
//   any message makes a completion, which ends the sleep.
#pragma once

#include "ibv_send.h"

// A ring that a peer writes here.
typedef struct aq_ibv_ring {
    uint8_t *bytes;
    aq_ibv_peer_t *owner; // NULL: it is free
    bool leaving, left;   // the owner was asked to leave it; it has
    uint32_t seen;        // messages that were taken out
    aq_lock_t lock;       // guards what follows
    atomic_uint done;     // messages whose slots were returned
    uint32_t over;        // bit n: slot n is done, but one before it is not
    aq_ibv_buffer_t slots[AQ_IBV_RING_SLOTS];
} aq_ibv_ring_t;

// All of it under the receiver's lock, except the atomic counters.
typedef struct aq_ibv_rings {
    const aq_ibv_limits_t *limits;
    const aq_ibv_peers_t *peers;
    aq_ibv_sender_t *sender;
    aq_ibv_ring_t *all, **active; // NULL: there are no rings
    atomic_uint active_count;
    unsigned turn;       // of the active ring that is polled next
    unsigned left_count; // rings that were left and are not free yet
    unsigned received;   // messages in this cycle
    unsigned long looks; // polls of slots
    atomic_uint nap;     // how often the next sleep beside rings is doubled; see ibv_sleep.c
    atomic_ulong granted, freed, messages;
} aq_ibv_rings_t;

// limits->rings.count rings, in the memory behind the buffers. False: no memory.
bool aq_ibv_rings_open(aq_ibv_rings_t *rings, const aq_ibv_buffers_t *buffers);
void aq_ibv_rings_close(aq_ibv_rings_t *rings);

// The next message in a ring; NULL: none has arrived. aq_ibv_ring_done returns its slot when its
// handler has returned (any thread).
aq_ibv_buffer_t *aq_ibv_rings_next(aq_ibv_rings_t *rings);
void aq_ibv_ring_done(aq_ibv_rings_t *rings, aq_ibv_buffer_t *buffer);

// The position of the last message that is complete in the ring of a peer, whether or not it was
// taken out; 0: the peer has no ring, or has not written it.
uint32_t aq_ibv_ring_complete(const aq_ibv_rings_t *rings, const aq_ibv_peer_t *link);

// Counts a message of at most limits->rings.bytes from anywhere. Every limits->rings.cycle messages
// the rings are assigned anew.
void aq_ibv_ring_count(aq_ibv_rings_t *rings, const aq_ibv_head_t *head);

// Frees the rings that were left and are empty.
void aq_ibv_rings_free_left(aq_ibv_rings_t *rings);

// Asks all owners to leave their rings.
void aq_ibv_rings_ask_all(aq_ibv_rings_t *rings);
