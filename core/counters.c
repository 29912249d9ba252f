#include "counters.h"

#include <sched.h>
#include <stdlib.h>

#include "fatal.h"
#include "lock.h"
#include "thread_life.h"

enum { LEAVING_TURNS = 10000 };

#define NONE ((uint64_t)-1) // the start of a cell that counts operations
#define NONE_4 NONE, NONE, NONE, NONE
#define NOTHING                                                                                    \
    {                                                                                              \
        .endpoint0.cell = { NONE_4, NONE_4, NONE_4, NONE, NONE, NONE }                             \
    }
_Static_assert(AQ_COUNT_OPERATIONS == 15, "as many are listed");

_Thread_local aq_thread_counts_t aq_thread_counts = NOTHING;
static aq_thread_counts_t ended = NOTHING; // what threads that have ended counted
static aq_thread_counts_t *threads = &ended;
static atomic_uint lock; // of the list, and of the tables `further`

// An aq_lock_t does nothing in mode parsync, where threads may end at the same time. As with an
// aq_lock_t, the thread that ends the process gives up at last (see aq_lock_leaving).
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
    const uint64_t value = atomic_load_explicit(&cells->cell[i], memory_order_relaxed);
    return i < AQ_COUNT_OPERATIONS ? value + 1 : value;
}

static void cells_clear(aq_cells_t *cells)
{
    for (unsigned i = 0; i < AQ_COUNTS; i++)
        atomic_store_explicit(&cells->cell[i], i < AQ_COUNT_OPERATIONS ? NONE : 0,
                              memory_order_relaxed);
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
        counts->further = calloc(GASNET_MAXEPS, sizeof *counts->further);
    cells = aligned_alloc(64, (sizeof *cells + 63) & ~(size_t)63);
    if (!counts->further || !cells)
        aq_fatal("out of memory for the counters of endpoint %u", endpoint);
    cells_clear(cells);
    counts->further[endpoint] = cells;
    return cells;
}

aq_cells_t *aq_counts_make(gex_EP_Index_t endpoint)
{
    aq_thread_counts_t *counts = &aq_thread_counts;
    aq_counts_join();
    take_lock();
    aq_cells_t *cells = make_cells(counts, endpoint);
    drop_lock();
    return cells;
}

// ---- the list of threads ----

// With the lock held.
static void move_to_ended(aq_thread_counts_t *counts)
{
    cells_add(&ended.endpoint0, &counts->endpoint0);
    cells_clear(&counts->endpoint0);
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
    counts->joined = false;
    drop_lock();
}

void aq_counts_join(void)
{
    static _Thread_local aq_thread_end_t end = {.run = end_thread};
    aq_thread_counts_t *counts = &aq_thread_counts;
    if (counts->joined)
        return;
    aq_thread_at_end(&end);
    take_lock();
    counts->joined = true;
    counts->next = threads;
    threads = counts;
    drop_lock();
}

void aq_counts_frame(uint16_t endpoint)
{
    aq_count_at(endpoint, AQ_COUNT_FRAME_SENT);
}

void aq_counts_sum(gex_EP_Index_t endpoint, uint64_t sum[AQ_COUNTS])
{
    take_lock();
    for (const aq_thread_counts_t *counts = threads; counts; counts = counts->next) {
        const aq_cells_t *cells = cells_of(counts, endpoint);
        for (unsigned i = 0; cells && i < AQ_COUNTS; i++)
            sum[i] += cell_value(cells, i);
    }
    drop_lock();
}
