// SPDX-License-Identifier: BSD-3-Clause
// Gives each thread a ring, a new one or that of an ended thread, and adds records for trace.c.
// trace_output.c reads all rings when the rank leaves.
#include "trace_ring.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../other/base/log/log.h"
#include "../thread/thread_life.h"
#include "trace_kinds.h"

static _Atomic(aq_trace_ring_t *) rings;
static uint64_t ring_room;
static _Thread_local aq_trace_ring_t *own __attribute__((tls_model("initial-exec")));

void aq_trace_ring_bytes(uint64_t bytes)
{
    ring_room = bytes / sizeof(aq_trace_record_t);
}

aq_trace_ring_t *aq_trace_rings(void)
{
    return atomic_load_explicit(&rings, memory_order_acquire);
}

// ---- taking a ring ----

static void thread_ends(void)
{
    aq_trace_ring_t *ring = own;
    own = NULL;
    atomic_flag_clear_explicit(&ring->taken, memory_order_release);
}

static aq_trace_ring_t *ring_left(void)
{
    aq_trace_ring_t *ring = aq_trace_rings();
    while (ring && atomic_flag_test_and_set_explicit(&ring->taken, memory_order_acquire))
        ring = ring->next;
    return ring;
}

static aq_trace_ring_t *ring_make(void)
{
    aq_trace_ring_t *ring = calloc(1, sizeof *ring);
    void *memory = mmap(NULL, ring_room * sizeof *ring->records, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!ring || memory == MAP_FAILED) {
        free(ring);
        return NULL;
    }
    (void)atomic_flag_test_and_set(&ring->taken);
    ring->records = memory;
    ring->room = ring_room;
    ring->next = atomic_load_explicit(&rings, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&rings, &ring->next, ring)) {
    }
    return ring;
}

// Returns NULL if memory is out.
static __attribute__((noinline)) aq_trace_ring_t *ring_take(void)
{
    static _Thread_local aq_thread_end_t end = {.run = thread_ends};
    static atomic_flag told;
    own = ring_left();
    if (!own)
        own = ring_make();
    if (own)
        aq_thread_at_end(&end);
    else if (!atomic_flag_test_and_set(&told))
        aq_log_warn("out of memory for the events of a thread (GASNET_TRACE_SIZE, %llu bytes); the "
                    "trace lacks them",
                    (unsigned long long)(ring_room * sizeof(aq_trace_record_t)));
    return own;
}

// ---- records ----

static void note_dropped(aq_trace_ring_t *ring, const aq_trace_record_t *old)
{
    const uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
    if (atomic_load_explicit(&old->kind, memory_order_relaxed) < AQ_TRACED_VISIBLE)
        atomic_store_explicit(&ring->dropped, dropped + 1, memory_order_relaxed);
}

uint64_t aq_trace_ring_add(const aq_trace_record_t *record)
{
    aq_trace_ring_t *ring = own ? own : ring_take();
    if (!ring)
        return UINT64_MAX;
    const uint64_t position = atomic_load_explicit(&ring->added, memory_order_relaxed);
    aq_trace_record_t *place = aq_trace_ring_record(ring, position);
    if (position >= ring->room)
        note_dropped(ring, place);
    memcpy(place, record, sizeof *place);
    place->thread = (uint16_t)aq_thread_number();
    atomic_store_explicit(&ring->added, position + 1, memory_order_release);
    return position;
}

aq_trace_record_t *aq_trace_ring_at(uint64_t position)
{
    const uint64_t added = own ? atomic_load_explicit(&own->added, memory_order_relaxed) : 0;
    return position < added && position >= aq_trace_ring_first(own, added)
               ? aq_trace_ring_record(own, position)
               : NULL;
}
