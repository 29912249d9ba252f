// SPDX-License-Identifier: BSD-3-Clause
// The wire format of conduit ibv: the header of a message, its flags, and what follows the header.
// Integers are in the byte order of the machine: all processes of a job run on the same kind.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../../core/conduit.h"

enum {
    AQ_IBV_BUFFER_BYTES = 4096, // the longest message, with its header
    AQ_IBV_FOOTER_BYTES = 16,   // behind a message in a ring
};

// Messages of the conduit itself, beside the categories of the client's messages.
enum {
    AQ_IBV_CREDITS = AQ_AM_CONTROL, // a hidden reply that returns credits
    AQ_IBV_ASK,                     // a hidden request: stop writing your ring here, and answer
    // These have the layout of a Medium: requests and answers of firehose, and the puts and gets
    // that the peer has to copy.
    AQ_IBV_FIREHOSE,
    AQ_IBV_COPY,
    AQ_IBV_RAILS, // about the further queue pairs of a link; see ibv_rail_setup.c
};

// Flags of a message.
enum {
    AQ_IBV_REPLY = 1,
    AQ_IBV_PACKED = 2,
    AQ_IBV_LEFT = 4,      // the sender has stopped writing its ring at the receiver
    AQ_IBV_ANSWER = 8,    // answers AQ_IBV_ASK
    AQ_IBV_UNCOUNTED = 16 // replies to a request that came through a ring and took no credit
};

// The header. Behind it: the arguments, padded to a multiple of 8; the destination of a Long
// (8 bytes); the payload of a Medium or of a packed Long.
typedef struct aq_ibv_head {
    uint32_t source;  // number of the sender at the receiver; of endpoint 0 the job rank
    uint32_t nbytes;  // of the payload, packed or not
    uint16_t credits; // banked credits that return with this message
    uint8_t kind;     // aq_am_category_t or one of the above
    uint8_t flags;
    uint8_t handler;
    uint8_t nargs;
    uint8_t ring;       // grants a ring to the receiver: its number, from 1; 0: no news
    uint8_t ring_slots; // slots of the receiver's ring that are free again; see ibv_ring_writer.c
} aq_ibv_head_t;

_Static_assert(sizeof(aq_ibv_head_t) == 16, "arguments begin at a multiple of 8");

// Offset of the destination of a Long.
static inline size_t aq_ibv_place_at(unsigned nargs)
{
    return sizeof(aq_ibv_head_t) + ((nargs * sizeof(int32_t) + 7) & ~(size_t)7);
}

// Offset of the payload.
static inline size_t aq_ibv_payload_at(unsigned category, unsigned nargs)
{
    return aq_ibv_place_at(nargs) + (category == AQ_AM_LONG ? sizeof(uint64_t) : 0);
}

// The longest Long that fits into a message whatever its arguments.
static inline size_t aq_ibv_longest_packed(void)
{
    return AQ_IBV_BUFFER_BYTES - aq_ibv_payload_at(AQ_AM_LONG, AQ_AM_MAX_ARGS);
}
