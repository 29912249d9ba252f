// SPDX-License-Identifier: BSD-3-Clause
// The pool of event records, and tests of their parts. An operation takes a record here; the call
// that synchronizes it (event_wait.c) gives the record back. The memory order of the counters
// (tests/model/weak_event.pml):
//
//     thread that begins         thread that handles the answer      thread that tests
//     uses its memory            follow: load acquire                load acquire: 0
//     begin: add 1, release -->  writes the result                   reads the result
//                                end: subtract 1, release       -->
//
// - All changes of a counter are atomic operations, so that each passes on what those before it
//   have released: the test that reads the last one acquires the results of all operations.
// - The thread that frees a record has tested it, and stores `uses` with release. So a fence of
//   another thread that loads a new `uses` with acquire (outstanding.c) knows that the operation
//   is over, and sees its result, as if it had read the counter at 0.
#include "event.h"

#include <string.h>

#include "../ground/fatal.h"
#include "../gasnetex_core.h"
#include "../ground/lock.h"
#include "thread_life.h"

// Records move between a thread and the shared pool in batches, so that threads that start and
// complete operations write no common memory.
enum { BATCH = 64, CACHE_LINE = 64 };

// A list of free records.
typedef struct batch {
    aq_event_t *first;
    unsigned count;
} batch_t;

// The free records of one thread. A record goes to the thread that frees it, whichever thread took
// it.
typedef struct pool {
    batch_t free;  // the list that records are taken from and freed to
    batch_t spare; // empty, or a full batch
    unsigned room; // BATCH; 0 in a thread that has not used the pool yet
} pool_t;

static _Thread_local pool_t own __attribute__((tls_model("initial-exec")));

// The shared pool: lists that no thread has at the moment.
static batch_t *shared;
static size_t shared_count, shared_room;
static aq_lock_t shared_lock;

static batch_t batch_new(void)
{
    aq_event_t *records = aq_allocate_aligned(BATCH * sizeof *records, "events");
    memset(records, 0, BATCH * sizeof *records);
    for (unsigned i = 0; i < BATCH; i++) {
        for (uint16_t p = 0; p < AQ_PART_COUNT; p++)
            records[i].part[p].index = p;
        records[i].next = i + 1 < BATCH ? &records[i + 1] : NULL;
    }
    return (batch_t){records, BATCH};
}

// Moves a list to the shared pool and empties *batch.
static void batch_share(batch_t *batch)
{
    if (!batch->count)
        return;
    aq_lock_take(&shared_lock);
    if (shared_count == shared_room) {
        shared_room = shared_room ? 2 * shared_room : BATCH;
        shared = aq_reallocate(shared, shared_room * sizeof *shared, "lists of events");
    }
    shared[shared_count++] = *batch;
    aq_lock_drop(&shared_lock);
    *batch = (batch_t){0};
}

// Takes a list from the shared pool. Returns an empty one if there is none.
static batch_t batch_unshare(void)
{
    batch_t batch = {0};
    aq_lock_take(&shared_lock);
    if (shared_count)
        batch = shared[--shared_count];
    aq_lock_drop(&shared_lock);
    return batch;
}

// Runs when a thread ends. If the thread frees records afterwards, that starts its pool again.
static void pool_end(void)
{
    batch_share(&own.free);
    batch_share(&own.spare);
    own.room = 0;
}

static void pool_start(void)
{
    static _Thread_local aq_thread_end_t end = {.run = pool_end};
    aq_thread_at_end(&end);
    own.room = BATCH;
}

// Called when the thread has no free record. Like pool_make_room it is not inline, because it is
// called once for many records.
static __attribute__((noinline, cold)) void pool_refill(void)
{
    if (!own.room)
        pool_start();
    own.free = own.spare.count ? own.spare : batch_unshare();
    own.spare = (batch_t){0};
    if (!own.free.count)
        own.free = batch_new();
}

// Called when the list of the thread is full, and before its first use.
static __attribute__((noinline, cold)) void pool_make_room(void)
{
    if (!own.room) {
        pool_start();
        return;
    }
    batch_share(&own.spare);
    own.spare = own.free;
    own.free = (batch_t){0};
}

aq_event_t *aq_event_new(void)
{
    if (__builtin_expect(!own.free.first, 0))
        pool_refill();
    aq_event_t *event = own.free.first;
    own.free.first = event->next;
    own.free.count--;
    event->next = NULL;
    if (AQ_CHECKS)
        aq_event_begin(&event->part[AQ_PART_ROOT]); // see check_event
    return event;
}

void aq_event_free(aq_event_t *event)
{
    if (AQ_CHECKS)
        aq_event_end(&event->part[AQ_PART_ROOT]);
    atomic_store_explicit(&event->part[AQ_PART_ROOT].uses, (uint16_t)(aq_event_uses(event) + 1),
                          memory_order_release);
    if (__builtin_expect(own.free.count == own.room, 0))
        pool_make_room();
    event->next = own.free.first;
    own.free.first = event;
    own.free.count++;
}

// Whether the counters of the parts are 0, apart from the bits that are ignored.
static inline bool parts_are_zero(aq_event_t *event, unsigned parts, unsigned ignored)
{
    for (unsigned p = AQ_PART_GET; p < AQ_PART_COUNT; p++)
        if ((parts & (1u << p)) &&
            (atomic_load_explicit(&event->part[p].pending, memory_order_acquire) & ~ignored))
            return false;
    return true;
}

bool aq_event_idle(aq_event_t *event, unsigned parts)
{
    return parts_are_zero(event, parts, 0);
}

bool aq_event_finished(aq_event_t *event, unsigned parts)
{
    return parts_are_zero(event, parts, AQ_EVENT_FAILED);
}

unsigned aq_event_parts_of(gex_EC_t mask)
{
    unsigned parts = 0;
    parts |= mask & GEX_EC_GET ? 1u << AQ_PART_GET : 0;
    parts |= mask & GEX_EC_PUT ? 1u << AQ_PART_PUT : 0;
    parts |= mask & GEX_EC_AM ? 1u << AQ_PART_AM : 0;
    parts |= mask & GEX_EC_LC ? 1u << AQ_PART_LC : 0;
    parts |= mask & GEX_EC_RMW ? 1u << AQ_PART_RMW : 0;
    return parts;
}
