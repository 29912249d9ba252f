// SPDX-License-Identifier: BSD-3-Clause
// The rings of the trace: one for each thread, of fixed memory.
//
// - Only its thread writes a ring. A thread that ends leaves its ring, with its events, to a later
//   one. Rings are never freed.
// - A new event takes the place of the oldest one: the end of a job that gets slow or hangs tells
//   more than its begin.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

// Fields are as in aq_trace_event_t. AQ_TRACED_TEXT has text in place of the first ones.
typedef struct aq_trace_record {
    union {
        struct {
            uint64_t begin;
            _Atomic uint64_t duration; // nanoseconds
            uint64_t id, bytes, team;
        };
        char text[40];
    };
    uint32_t peer;
    uint16_t thread; // number of the thread in its process
    _Atomic uint8_t kind;
    uint8_t detail;
} aq_trace_record_t;
_Static_assert(sizeof(aq_trace_record_t) == 48, "a megabyte has 21,845 events");

typedef struct aq_trace_ring {
    struct aq_trace_ring *next; // all rings of the process
    atomic_flag taken;          // by a thread
    _Atomic uint64_t added;     // records so far
    _Atomic uint64_t dropped;   // visible records that newer ones have replaced
    uint64_t room;              // records
    aq_trace_record_t *records;
} aq_trace_ring_t;

// The bytes of each ring; before the first event.
void aq_trace_ring_bytes(uint64_t bytes);

// Adds a record to the ring of the calling thread. Returns its position in the ring, counted from
// the first record, or UINT64_MAX: there is no memory for a ring.
uint64_t aq_trace_ring_add(const aq_trace_record_t *record);

// The record at a position of the calling thread's ring; NULL if others have replaced it.
aq_trace_record_t *aq_trace_ring_at(uint64_t position);

// The first of all rings.
aq_trace_ring_t *aq_trace_rings(void);

// The position of the oldest record of a ring, given the records that it has had.
static inline uint64_t aq_trace_ring_first(const aq_trace_ring_t *ring, uint64_t added)
{
    return added > ring->room ? added - ring->room : 0;
}

static inline aq_trace_record_t *aq_trace_ring_record(const aq_trace_ring_t *ring,
                                                      uint64_t position)
{
    return &ring->records[position % ring->room];
}
