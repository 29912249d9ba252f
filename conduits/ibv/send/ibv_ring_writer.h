// SPDX-License-Identifier: BSD-3-Clause
// Rings that peers have granted to this process: how messages are written into them, and what the
// headers of messages say about rings. ibv_ring_slot.h has the format.
//
// What is always true:
// - A sender without a free slot sends as if there were no ring: no message waits for a slot.
// - A message in a ring takes no credit. A reply that does not go through a ring itself finds a
//   receive buffer here: there is one for each slot of limits->rings.count rings, and this process
//   declines further ones (limits->rings.replies).
// - A process learns of its ring from the header of a message. When it is asked to leave the ring
//   (AQ_IBV_ASK, which also wakes it), it answers behind its last write: that it has left, or that
//   it has no ring, if the request has overtaken the news. In that case it is asked again.
#pragma once

#include "../peers/ibv_peer.h"
#include "ibv_send_queue.h"
#include "../verbs/ibv_wire.h"

typedef struct aq_ibv_ring_writer {
    const aq_ibv_limits_t *limits;
    atomic_uint held; // rings of peers that this process may write
} aq_ibv_ring_writer_t;

// With the lock of link->out held: whether the peer has granted a ring, and a slot of it is free.
static inline bool aq_ibv_ring_has_room(const aq_ibv_peer_t *link)
{
    return atomic_load_explicit(&link->out.at, memory_order_relaxed) && link->out.free_slots;
}

// Then, under the same lock: turns the work request for a message into a write to the next slot.
// The message needs room for padding and footer behind it: aq_ibv_ring_bytes in all.
void aq_ibv_ring_use(aq_ibv_peer_t *link, uint8_t *message, size_t bytes, aq_ibv_work_t *work);

// The length of the write for a message of so many bytes.
static inline size_t aq_ibv_ring_bytes(size_t bytes)
{
    return ((bytes + 7) & ~(size_t)7) + AQ_IBV_FOOTER_BYTES;
}

// Puts the news about rings into the header of a message to the peer.
void aq_ibv_ring_say(aq_ibv_peer_t *link, aq_ibv_head_t *head);

// Takes the news out of the header of a message from the peer.
void aq_ibv_ring_hear(aq_ibv_ring_writer_t *writer, aq_ibv_peer_t *link, const aq_ibv_head_t *head);

// The peer asks for its ring back: later messages do not go there.
void aq_ibv_ring_leave(aq_ibv_ring_writer_t *writer, aq_ibv_peer_t *link);
