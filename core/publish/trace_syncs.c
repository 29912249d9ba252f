// SPDX-License-Identifier: BSD-3-Clause
// Collects the synchronizations from all rings and sorts them, so that trace_output.c finds the end
// of each operation.
#include "trace_syncs.h"

#include <stdlib.h>

#include "../record/trace_kinds.h"

typedef struct sync {
    uint64_t event, time; // address of the event, and when it was synchronized
    uint64_t parts;       // of the event, as bits
} sync_t;

static sync_t *syncs;
static size_t count, room;

static void sync_add(const aq_trace_record_t *record)
{
    if (count == room) {
        const size_t more = room ? 2 * room : 1024;
        sync_t *larger = realloc(syncs, more * sizeof *syncs);
        if (!larger)
            return;
        syncs = larger;
        room = more;
    }
    syncs[count++] = (sync_t){record->id, record->begin, record->bytes};
}

static int sync_compare(const void *a, const void *b)
{
    const sync_t *x = a, *y = b;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return x->time < y->time ? -1 : x->time > y->time;
}

static void syncs_of_ring(const aq_trace_ring_t *ring)
{
    const uint64_t end = atomic_load_explicit(&ring->added, memory_order_acquire);
    for (uint64_t i = aq_trace_ring_first(ring, end); i < end; i++) {
        const aq_trace_record_t *record = aq_trace_ring_record(ring, i);
        if (atomic_load_explicit(&record->kind, memory_order_relaxed) == AQ_TRACED_SYNC)
            sync_add(record);
    }
}

void aq_trace_syncs_find(void)
{
    for (const aq_trace_ring_t *ring = aq_trace_rings(); ring; ring = ring->next)
        syncs_of_ring(ring);
    if (count)
        qsort(syncs, count, sizeof *syncs, sync_compare);
}

// The index of the first synchronization of an event at or after a time.
static size_t first_since(uint64_t event, uint64_t time)
{
    const sync_t wanted = {.event = event, .time = time};
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (sync_compare(&syncs[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t aq_trace_syncs_end(const aq_trace_record_t *record)
{
    const uint64_t part = (uint64_t)1 << record->detail;
    for (size_t i = first_since(record->id, record->begin);
         i < count && syncs[i].event == record->id; i++)
        if (syncs[i].parts & part)
            return syncs[i].time;
    return 0;
}

void aq_trace_syncs_free(void)
{
    free(syncs);
    syncs = NULL;
    count = room = 0;
}
