// SPDX-License-Identifier: BSD-3-Clause
// The blocks of counters that the client reads without a call (aqueduct.h), and their updates.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../../other/base/clock.h"
#include "../aqueduct.h"
#include "../record/counters.h"
#include "../endpoint/endpoint.h"
#include "../ground/fatal.h"
#include "../state/job.h"
#include "../progress/progress.h"
#include "../endpoint/window.h"

// A block is aligned and sized so that no two share a line of the cache.
typedef union block {
    gasnetx_counters_t counters;
    uint64_t word[64];
} block_t;

_Static_assert(sizeof(gasnetx_counters_t) <= sizeof(block_t), "the words hold all counters");
_Static_assert(offsetof(gasnetx_counters_t, updates) == 2 * sizeof(uint64_t),
               "version and size, endpoint, updates, then what an update writes");
enum { UPDATES_WORD = 2 };

// Of the process, then of each endpoint. Pages of blocks that the client has not asked for take no
// memory.
static block_t *blocks;
static aq_lock_t lock;
static unsigned last_requested; // index of the last block that was requested
static struct timespec updated_at;

static const size_t place_of[AQ_COUNTS] = {
    [AQ_COUNT_REQUEST_SHORT] = offsetof(gasnetx_counters_t, request_shorts),
    [AQ_COUNT_REQUEST_MEDIUM] = offsetof(gasnetx_counters_t, request_mediums),
    [AQ_COUNT_REQUEST_LONG] = offsetof(gasnetx_counters_t, request_longs),
    [AQ_COUNT_REPLY_SHORT] = offsetof(gasnetx_counters_t, reply_shorts),
    [AQ_COUNT_REPLY_MEDIUM] = offsetof(gasnetx_counters_t, reply_mediums),
    [AQ_COUNT_REPLY_LONG] = offsetof(gasnetx_counters_t, reply_longs),
    [AQ_COUNT_PUT] = offsetof(gasnetx_counters_t, puts),
    [AQ_COUNT_GET] = offsetof(gasnetx_counters_t, gets),
    [AQ_COUNT_ATOMIC] = offsetof(gasnetx_counters_t, atomics),
    [AQ_COUNT_NO_ROOM] = offsetof(gasnetx_counters_t, no_room),
    [AQ_COUNT_REFUSED] = offsetof(gasnetx_counters_t, refused),
    [AQ_COUNT_DROP_ENDPOINT] = offsetof(gasnetx_counters_t, dropped[GASNETX_DROP_ENDPOINT]),
    [AQ_COUNT_DROP_DESTROYED] = offsetof(gasnetx_counters_t, dropped[GASNETX_DROP_DESTROYED]),
    [AQ_COUNT_DROP_IDENTITY] = offsetof(gasnetx_counters_t, dropped[GASNETX_DROP_IDENTITY]),
    [AQ_COUNT_FRAME_SENT] = offsetof(gasnetx_counters_t, frames_sent),
    [AQ_COUNT_REQUEST_BYTES] = offsetof(gasnetx_counters_t, request_bytes),
    [AQ_COUNT_REPLY_BYTES] = offsetof(gasnetx_counters_t, reply_bytes),
    [AQ_COUNT_PUT_BYTES] = offsetof(gasnetx_counters_t, put_bytes),
    [AQ_COUNT_GET_BYTES] = offsetof(gasnetx_counters_t, get_bytes),
    [AQ_COUNT_VIS_PUT] = offsetof(gasnetx_counters_t, vis_puts),
    [AQ_COUNT_VIS_PUT_BYTES] = offsetof(gasnetx_counters_t, vis_put_bytes),
    [AQ_COUNT_VIS_GET] = offsetof(gasnetx_counters_t, vis_gets),
    [AQ_COUNT_VIS_GET_BYTES] = offsetof(gasnetx_counters_t, vis_get_bytes),
    [AQ_COUNT_SEND] = offsetof(gasnetx_counters_t, sends),
    [AQ_COUNT_SEND_BYTES] = offsetof(gasnetx_counters_t, send_bytes),
    [AQ_COUNT_STREAM] = offsetof(gasnetx_counters_t, stream_messages),
    [AQ_COUNT_STREAM_BYTES] = offsetof(gasnetx_counters_t, stream_bytes),
    [AQ_COUNT_COLL] = offsetof(gasnetx_counters_t, coll_messages),
    [AQ_COUNT_COLL_BYTES] = offsetof(gasnetx_counters_t, coll_bytes),
};

// ---- summing ----

// Adds what the receive sides of an endpoint have counted.
static void add_conduits(gex_EP_Index_t endpoint, block_t *sum)
{
    const aq_window_t *window = atomic_load_explicit(&aq_windows[endpoint], memory_order_acquire);
    aq_conduit_t *const *conduits = window ? window->conduits : aq_job.conduits;
    if (endpoint && !window)
        return;
    for (unsigned i = 0; i < aq_job.conduit_count; i++)
        if (conduits[i] && conduits[i]->ops->report.counters)
            conduits[i]->ops->report.counters(conduits[i], &sum->counters);
}

static void add_endpoint(gex_EP_Index_t endpoint, block_t *sum)
{
    uint64_t counts[AQ_COUNTS] = {0};
    aq_counts_sum(endpoint, counts);
    for (unsigned i = 0; i < AQ_COUNTS; i++)
        sum->word[place_of[i] / sizeof *sum->word] += counts[i];
    add_conduits(endpoint, sum);
}

// ---- blocks ----

// Writes all words after `updates`, which is odd meanwhile. The client may read at the same time,
// so each word is written atomically.
static void block_write(block_t *block, const block_t *from)
{
    _Atomic uint64_t *to = (_Atomic uint64_t *)(void *)block->word;
    const uint64_t updates = atomic_load_explicit(&to[UPDATES_WORD], memory_order_relaxed);
    atomic_store_explicit(&to[UPDATES_WORD], updates + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (unsigned i = UPDATES_WORD + 1; i < sizeof *block / sizeof *to; i++)
        atomic_store_explicit(&to[i], from->word[i], memory_order_relaxed);
    atomic_store_explicit(&to[UPDATES_WORD], updates + 2, memory_order_release);
}

static void update_process(void)
{
    block_t sum = {.counters.time_ns = aq_clock_ns()};
    for (unsigned endpoint = 0; endpoint < aq_endpoint_count(); endpoint++)
        add_endpoint((gex_EP_Index_t)endpoint, &sum);
    block_write(&blocks[0], &sum);
}

static void update_endpoint(gex_EP_Index_t endpoint)
{
    block_t sum = {.counters.time_ns = aq_clock_ns()};
    add_endpoint(endpoint, &sum);
    block_write(&blocks[1 + endpoint], &sum);
}

// With the lock held.
static void update_all(void)
{
    for (unsigned i = 1; i <= last_requested; i++)
        if (blocks[i].counters.version)
            update_endpoint((gex_EP_Index_t)(i - 1));
    if (blocks[0].counters.version)
        update_process();
}

// A task of polls: updates the blocks in each tick of the kernel's clock, whose time costs less
// than the exact one.
static bool update_now_and_then(aq_task_t *unused)
{
    struct timespec now;
    (void)unused;
    if (aq_lock_leaving)
        return false;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (!aq_lock_try(&lock))
        return false;
    if (now.tv_nsec != updated_at.tv_nsec || now.tv_sec != updated_at.tv_sec) {
        updated_at = now;
        update_all();
    }
    aq_lock_drop(&lock);
    return false;
}

// ---- calls of the client ----

// With the lock held. Returns false if memory is out.
static bool map_blocks(void)
{
    static aq_task_t task = {.turn = update_now_and_then};
    if (blocks)
        return true;
    void *memory = mmap(NULL, (1 + GASNET_MAXEPS) * sizeof *blocks, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        aq_log_error("gasnetx_Counters: no memory for the counters (%zu bytes)",
                     (1 + GASNET_MAXEPS) * sizeof *blocks);
        return false;
    }
    blocks = memory;
    aq_progress_add(&task);
    aq_progress_busy(&task, 1);
    return true;
}

// With the lock held.
static void begin_block(unsigned i)
{
    gasnetx_counters_t *counters = &blocks[i].counters;
    if (counters->version)
        return;
    counters->endpoint = i ? i - 1 : UINT64_MAX;
    counters->size = sizeof *counters;
    counters->version = GASNETX_COUNTERS_VERSION;
    if (i > last_requested)
        last_requested = i;
}

const volatile gasnetx_counters_t *gasnetx_Counters(gex_EP_t ep)
{
    const unsigned i = ep == GEX_EP_INVALID ? 0 : 1u + ep->index;
    aq_job_need("gasnetx_Counters");
    aq_lock_take(&lock);
    const bool mapped = map_blocks();
    if (mapped) {
        begin_block(i);
        update_all();
    }
    aq_lock_drop(&lock);
    return mapped ? &blocks[i].counters : NULL;
}

void gasnetx_Counters_Update(void)
{
    aq_job_need("gasnetx_Counters_Update");
    aq_lock_take(&lock);
    if (blocks)
        update_all();
    aq_lock_drop(&lock);
}
