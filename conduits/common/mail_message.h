// SPDX-License-Identifier: BSD-3-Clause
// The layout of a message in its run of slots.
//
//     flag 8 | descriptor 4 | source 4 | arguments, 4 bytes each, padded | body
//
// The body of a Medium is its payload. That of a Long is dest (8), nbytes (8), and the payload
// unless the sender has written it to its destination already. A payload of more than 8 bytes is
// aligned to 16, another body to 8.
//
// A large payload of a Medium has the same offset in its cache line as its source, because
// processors copy such memory faster (docs/decisions/aligned-copies.md). The shift that this takes,
// 0 to 48 bytes, is stored behind the arguments as a further one.
//
// A Short with up to 4 arguments, or a Medium with 2 and 8 bytes, is one slot, which is half a
// line.
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../core/conduit.h"

#define AQ_RING_MAX_MEDIUM ((size_t)64 << 10)
#define AQ_RING_SKIP 3u // in place of a category: nothing to deliver; nbytes counts the slots

#define AQ_RING_LARGE 2048 // bytes; from here on the payload of a Medium is shifted
#define AQ_RING_SHIFTS 48u // the bits of a shift

#define AQ_RING_LINE 64 // bytes of a line of the cache
#define AQ_RING_SLOT 32 // bytes of a slot

// Begins a message.
typedef struct aq_ring_header {
    _Atomic uint64_t flag;
    uint32_t descriptor; // see aq_ring_descriptor
    uint32_t source;     // job rank
} aq_ring_header_t;

typedef struct aq_ring_long {
    void *dest; // in the receiver
    uint64_t nbytes;
} aq_ring_long_t;

// A descriptor packs handler (8 bits), nargs (5), category (2) and the bytes of payload inside
// (17).
static inline uint32_t aq_ring_descriptor(unsigned handler, unsigned nargs, unsigned category,
                                          size_t nbytes)
{
    return (uint32_t)(handler | nargs << 8 | category << 13 | (uint32_t)nbytes << 15);
}
static inline unsigned aq_ring_descriptor_handler(uint32_t descriptor)
{
    return descriptor & 0xff;
}
static inline unsigned aq_ring_descriptor_nargs(uint32_t descriptor)
{
    return descriptor >> 8 & 0x1f;
}
static inline unsigned aq_ring_descriptor_category(uint32_t descriptor)
{
    return descriptor >> 13 & 3;
}
static inline size_t aq_ring_descriptor_nbytes(uint32_t descriptor)
{
    return descriptor >> 15;
}

static inline int32_t *aq_ring_args(aq_ring_header_t *header)
{
    return (int32_t *)(void *)(header + 1);
}

// Where the payload or the aq_ring_long_t begins, if so many bytes of payload are inside.
static inline size_t aq_ring_body_offset(unsigned nargs, size_t nbytes)
{
    const size_t unit = nbytes > 8 ? 16 : 8;
    return sizeof(aq_ring_header_t) + ((nargs * sizeof(int32_t) + unit - 1) & ~(unit - 1));
}
static inline void *aq_ring_body(aq_ring_header_t *header, unsigned nargs, size_t nbytes)
{
    return (char *)header + aq_ring_body_offset(nargs, nbytes);
}

// Where a large payload begins if it is not shifted.
static inline char *aq_ring_large_body(aq_ring_header_t *header, unsigned nargs)
{
    return (char *)header + aq_ring_body_offset(nargs + 1, AQ_RING_LARGE);
}

// Returns the place for the payload of a Medium that is copied from `source`, and notes its shift.
static inline void *aq_ring_place_payload(aq_ring_header_t *header, unsigned nargs, size_t nbytes,
                                          const void *source)
{
    if (nbytes < AQ_RING_LARGE)
        return aq_ring_body(header, nargs, nbytes);
    char *body = aq_ring_large_body(header, nargs);
    const unsigned shift = (unsigned)((uintptr_t)source - (uintptr_t)body) & AQ_RING_SHIFTS;
    aq_ring_args(header)[nargs] = (int32_t)shift;
    return body + shift;
}

// The large payload of a Medium that has arrived.
static inline void *aq_ring_large_payload(aq_ring_header_t *header, unsigned nargs)
{
    return aq_ring_large_body(header, nargs) +
           ((unsigned)aq_ring_args(header)[nargs] & AQ_RING_SHIFTS);
}

static inline uint64_t aq_ring_slots(unsigned nargs, unsigned category, size_t nbytes)
{
    size_t bytes = aq_ring_body_offset(nargs, nbytes);
    if (category == AQ_AM_LONG)
        bytes += sizeof(aq_ring_long_t);
    else if (nbytes >= AQ_RING_LARGE)
        bytes = aq_ring_body_offset(nargs + 1, nbytes) + AQ_RING_SHIFTS;
    bytes += nbytes;
    return (bytes + AQ_RING_SLOT - 1) / AQ_RING_SLOT;
}

// Slots of a message that has arrived.
static inline uint64_t aq_ring_descriptor_slots(uint32_t descriptor)
{
    if (aq_ring_descriptor_category(descriptor) == AQ_RING_SKIP)
        return aq_ring_descriptor_nbytes(descriptor);
    return aq_ring_slots(aq_ring_descriptor_nargs(descriptor),
                         aq_ring_descriptor_category(descriptor),
                         aq_ring_descriptor_nbytes(descriptor));
}
