// SPDX-License-Identifier: BSD-3-Clause
// The counters of each thread and their sums. A thread joins with its first count, and leaves its
// counts to the process when it ends. counters_block.c, stats_file.c and traffic_file.c ask for
// sums.
#include "counters.h"

#include <sched.h>
#include <stdlib.h>

#include "../aqueduct.h"
#include "../ground/fatal.h"
#include "../state/job.h"
#include "../ground/lock.h"
#include "../thread/thread_life.h"

enum { LEAVING_TURNS = 10000 };
_Static_assert((int)AQ_OWN_DROPS == (int)GASNETX_DROP_REASONS, "all reasons have a count");

static aq_own_record_t nobody; // of all threads that have not joined; never summed
_Thread_local aq_thread_counts_t aq_thread_counts = {.fast.ep_pair = AQ_FAST_NEVER, .own = &nobody};
static gex_TM_t fast_team;
static aq_thread_counts_t ended; // sums of the threads that have ended
static aq_thread_counts_t *threads = &ended;
static atomic_uint lock; // of the list, and of the tables `further`

// An aq_lock_t would do nothing in mode parsync, where threads may still end at the same time. The
// thread that ends the process goes on without the lock after LEAVING_TURNS (see aq_lock_leaving).
static void take_lock(void)
{
    for (unsigned turns = 0; atomic_exchange_explicit(&lock, 1, memory_order_acquire); turns++) {
        if (aq_lock_leaving && turns > LEAVING_TURNS)
            return;
        sched_yield();
    }
}

static void drop_lock(void)
{
    atomic_store_explicit(&lock, 0, memory_order_release);
}

// ---- the cells of a thread ----

static uint64_t cell_value(const aq_cells_t *cells, unsigned i)
{
    return atomic_load_explicit(&cells->cell[i], memory_order_relaxed);
}

static void cells_add(aq_cells_t *sum, const aq_cells_t *more)
{
    for (unsigned i = 0; i < AQ_COUNTS; i++)
        aq_cell_add(&sum->cell[i], cell_value(more, i));
}

static aq_cells_t *cells_of(const aq_thread_counts_t *counts, gex_EP_Index_t endpoint)
{
    if (!endpoint)
        return (aq_cells_t *)(uintptr_t)&counts->endpoint0;
    return counts->further ? counts->further[endpoint] : NULL;
}

// With the lock held.
static aq_cells_t *make_cells(aq_thread_counts_t *counts, gex_EP_Index_t endpoint)
{
    aq_cells_t *cells = cells_of(counts, endpoint);
    if (cells)
        return cells;
    if (!counts->further)
        counts->further = aq_allocate_zeroed(GASNET_MAXEPS, sizeof *counts->further,
                                             "the counters of further endpoints");
    cells = aq_allocate_aligned(sizeof *cells, "the counters of an endpoint");
    *cells = (aq_cells_t){0};
    counts->further[endpoint] = cells;
    return cells;
}

// ---- the list of threads ----

// With the lock held.
static void move_to_ended(aq_thread_counts_t *counts)
{
    cells_add(&ended.endpoint0, &counts->endpoint0);
    counts->endpoint0 = (aq_cells_t){0};
    for (unsigned endpoint = 1; counts->further && endpoint < GASNET_MAXEPS; endpoint++) {
        if (!counts->further[endpoint])
            continue;
        cells_add(make_cells(&ended, (gex_EP_Index_t)endpoint), counts->further[endpoint]);
        free(counts->further[endpoint]);
    }
    free(counts->further);
    counts->further = NULL;
}

// If the thread uses the library once more afterwards, it joins again.
static void end_thread(void)
{
    aq_thread_counts_t *counts = &aq_thread_counts, **at = &threads;
    take_lock();
    while (*at != counts)
        at = &(*at)->next;
    *at = counts->next;
    move_to_ended(counts);
    aq_peer_slot_drop(counts->peers);
    counts->peers = NULL;
    counts->fast = (aq_fast_counts_t){.ep_pair = AQ_FAST_NEVER};
    counts->own = &nobody;
    counts->joined = false;
    drop_lock();
}

static aq_fast_counts_t fast_counts_of(aq_peer_record_t *slot)
{
    return (aq_fast_counts_t){.team = fast_team,
                              .ep_pair = fast_team ? AQ_FAST_NO_HEADER : AQ_FAST_NEVER,
                              .requests = aq_peer_shorts(slot, AQ_SHORT_REQUESTS),
                              .replies = aq_peer_shorts(slot, AQ_SHORT_REPLIES),
                              .peers = slot};
}

aq_peer_record_t *aq_counts_join(void)
{
    static _Thread_local aq_thread_end_t end = {.run = end_thread};
    aq_thread_counts_t *counts = &aq_thread_counts;
    if (counts->joined)
        return counts->peers;
    aq_thread_at_end(&end);
    take_lock();
    counts->peers = aq_peer_slot_take();
    if (aq_threads)
        counts->fast = fast_counts_of(counts->peers);
    counts->own = aq_peer_own(counts->peers);
    counts->joined = true;
    counts->next = threads;
    threads = counts;
    drop_lock();
    return counts->peers;
}

void aq_counts_fast_team(gex_TM_t team)
{
    fast_team = team;
    const aq_fast_counts_t fast = fast_counts_of(aq_counts_join());
    if (aq_threads)
        aq_thread_counts.fast = fast;
    else
        aq_job.fast = fast;
}

// ---- counting ----

static __attribute__((noinline)) aq_cells_t *own_cells_find(gex_EP_Index_t endpoint)
{
    aq_thread_counts_t *counts = &aq_thread_counts;
    aq_counts_join();
    aq_cells_t *cells = cells_of(counts, endpoint);
    if (cells)
        return cells;
    take_lock();
    cells = make_cells(counts, endpoint);
    drop_lock();
    return cells;
}

// The cells of this thread.
static inline aq_cells_t *own_cells(gex_EP_Index_t endpoint)
{
    aq_thread_counts_t *counts = &aq_thread_counts;
    if (__builtin_expect(!endpoint && counts->joined, 1))
        return &counts->endpoint0;
    return own_cells_find(endpoint);
}

void aq_count_further(gex_EP_Index_t endpoint, uint32_t jobrank, aq_count_t operation,
                      aq_count_t bytes, size_t nbytes)
{
    aq_cells_t *cells = own_cells(endpoint);
    aq_peer_record_t *record = aq_count_record(jobrank);
    aq_cell_add(&cells->cell[operation], 1);
    aq_cell_add(&cells->cell[bytes], nbytes);
    aq_cell_add(&record->further[operation], 1);
    aq_cell_add(&record->further[bytes], nbytes);
}

void aq_count_own_add(unsigned count, uint64_t n)
{
    (void)aq_counts_join();
    aq_cell_add(&aq_thread_counts.own->count[count], n);
}

void aq_count_event(gex_EP_Index_t endpoint, aq_count_t event)
{
    static const uint8_t own[AQ_COUNTS] = {
        [AQ_COUNT_NO_ROOM] = AQ_OWN_NO_ROOM,
        [AQ_COUNT_REFUSED] = AQ_OWN_REFUSED,
        [AQ_COUNT_DROP_ENDPOINT] = AQ_OWN_DROPPED + GASNETX_DROP_ENDPOINT,
        [AQ_COUNT_DROP_DESTROYED] = AQ_OWN_DROPPED + GASNETX_DROP_DESTROYED,
        [AQ_COUNT_DROP_IDENTITY] = AQ_OWN_DROPPED + GASNETX_DROP_IDENTITY};
    aq_cell_add(&own_cells(endpoint)->cell[event], 1);
    aq_count_own_add(own[event], 1);
}

void aq_counts_frame(uint16_t endpoint)
{
    aq_cell_add(&own_cells(endpoint)->cell[AQ_COUNT_FRAME_SENT], 1);
}

// ---- sums ----

static void record_add(uint32_t jobrank, const aq_peer_record_t *record, void *context)
{
    uint64_t *sum = context;
    (void)jobrank;
    for (unsigned i = 0; i < AQ_PEER_COUNTS; i++)
        sum[i] += atomic_load_explicit(&record->endpoint0[i], memory_order_relaxed);
}

void aq_counts_sum(gex_EP_Index_t endpoint, uint64_t sum[AQ_COUNTS])
{
    take_lock();
    for (const aq_thread_counts_t *counts = threads; counts; counts = counts->next) {
        const aq_cells_t *cells = cells_of(counts, endpoint);
        for (unsigned i = 0; cells && i < AQ_COUNTS; i++)
            sum[i] += cell_value(cells, i);
    }
    if (!endpoint)
        aq_peer_each(record_add, sum);
    drop_lock();
}

void aq_counts_own_sum(uint64_t sum[AQ_OWN_COUNTS])
{
    take_lock();
    aq_peer_own_sum(sum);
    drop_lock();
}

void aq_counts_each_peer(aq_peer_visit_t visit, void *context)
{
    take_lock();
    aq_peer_each(visit, context);
    drop_lock();
}
