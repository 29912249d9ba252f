// SPDX-License-Identifier: BSD-3-Clause
// The format of rings, for those who write them (ibv_ring_writer.c) and those who read them
// (ibv_ring.c).
//
//      ring of a peer:  limits->rings.depth slots of AQ_IBV_BUFFER_BYTES
//      slot:            | unused ......... | message, padded to a multiple of 8 | footer |
//
// What is always true:
// - The footer stands at the end of the slot, wherever the message begins. A message is complete
//   when the footer has the position that is expected next and the hash of the message, in whatever
//   order the device writes. Positions start again only after the footers were cleared.
// - A slot is written again only after the handler of its message has returned: the receiver
//   returns slots in order, in the header of any message to the writer.
#pragma once

#include <stddef.h>
#include <stdint.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../verbs/ibv_wire.h"

enum {
    // The byte ring_slots of a header: the slots that are free again, and above them the generation
    // of the ring, modulo 4.
    AQ_IBV_GENERATION_SHIFT = 6,
    AQ_IBV_SLOTS_MASK = (1 << AQ_IBV_GENERATION_SHIFT) - 1,
};

typedef struct aq_ibv_footer {
    uint32_t bytes;
    uint32_t position; // from 1
    uint64_t hash;
} aq_ibv_footer_t;

_Static_assert(sizeof(aq_ibv_footer_t) == AQ_IBV_FOOTER_BYTES, "as the wire format says");

static inline size_t aq_ibv_ring_padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static inline uint64_t aq_ibv_ring_hash(const void *message, uint32_t bytes, uint32_t position)
{
    return XXH3_64bits_withSeed(message, bytes, (uint64_t)bytes << 32 | position);
}
