// SPDX-License-Identifier: BSD-3-Clause
// Publishes in the memory file of the rank what each thread waits for. The waits of event_wait.c,
// progress.c and retry.c mark their begin and their end here.
#include "wait_mark.h"

#include <stdatomic.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/minmax.h"
#include "../../other/base/probes.h"
#include "counters.h"
#include "../thread/event.h"
#include "../thread/fault_stack.h"
#include "../state/job.h"
#include "rank_head.h"
#include "../thread/thread_life.h"
#include "trace.h"

_Thread_local bool aq_wait_unmarked;
_Thread_local gex_Event_t aq_wait_event;
static _Thread_local aq_shown_thread_t *own __attribute__((tls_model("initial-exec")));
static _Thread_local gex_Event_t own_event __attribute__((tls_model("initial-exec")));

// For the trace: when the wait of this thread began; 0: it is not traced.
static _Thread_local uint64_t wait_begin __attribute__((tls_model("initial-exec")));

// ---- what this thread shows ----

static inline void own_set_wait(uint64_t what)
{
    atomic_store_explicit(&own->wait, what, memory_order_relaxed);
}

// Runs at the end of the thread, since another thread may use the entry.
static void own_leave(void)
{
    if (own) {
        own_set_wait(AQ_WAIT_NOTHING);
        atomic_store_explicit(&own->tid, 0, memory_order_relaxed);
    }
    own = NULL;
}

static __attribute__((noinline, cold)) void own_find(void)
{
    static _Thread_local aq_thread_end_t end = {.run = own_leave};
    own = &aq_rank_head()->thread[(aq_thread_number() - 1) % AQ_SHOWN_THREADS];
    atomic_store_explicit(&own->tid, (uint32_t)gettid(), memory_order_relaxed);
    aq_thread_at_end(&end);
    aq_fault_stack_give();
}

static uint64_t pending_of(const struct gex_event_part *part)
{
    uint64_t all = 0;
    for (unsigned i = AQ_PART_GET; i < AQ_PART_COUNT; i++) {
        const unsigned pending = atomic_load_explicit(&part[i].pending, memory_order_relaxed);
        all |= (uint64_t)aq_min(pending, (unsigned)AQ_PENDING_MAX)
               << AQ_PENDING_BITS * (i - AQ_PART_GET);
    }
    return all;
}
_Static_assert(AQ_PART_COUNT - AQ_PART_GET == (int)AQ_PENDING_KINDS, "each kind has its bits");

static void event_show(void)
{
    const struct gex_event_part *part = own_event - own_event->index;
    const unsigned other = atomic_load_explicit(&part[AQ_PART_OTHER].pending, memory_order_relaxed);
    atomic_store_explicit(&own->pending, pending_of(part), memory_order_relaxed);
    atomic_store_explicit(&own->team, other ? aq_event_note_team(part) : 0, memory_order_relaxed);
    atomic_store_explicit(&own->call, other ? aq_event_note_call(part) : 0, memory_order_relaxed);
    if (other)
        own_set_wait(aq_wait_word(AQ_WAIT_COLLECTIVE, 0));
}

void aq_wait_begin(uint64_t what, gex_Event_t event)
{
    if (__builtin_expect(!own, 0))
        own_find();
    aq_probe_wait_start(aq_job.rank, (uint32_t)(what >> 32), (uint32_t)what);
    wait_begin = aq_trace_in_wait ? 0 : aq_trace_begin(AQ_TRACE_WAIT);
    own_event = event;
    own_set_wait(what);
    if (__builtin_expect(aq_wait_unmarked, 0) && event) // aq_wait_lasts ran in the first turn
        event_show();
}

static __attribute__((noinline, cold)) void trace_wait_end(void)
{
    const uint64_t what = atomic_load_explicit(&own->wait, memory_order_relaxed);
    const bool room = what >> 32 == AQ_WAIT_ROOM;
    aq_trace_waited(wait_begin, room ? (uint32_t)what : AQ_OBSERVED_NO_PEER);
    wait_begin = 0;
}

// Counts the time of a wait that has lasted, and resets `since`, so that readers do not take later
// work for a part of the wait.
static __attribute__((noinline, cold)) void count_wait(aq_shown_thread_t *mine, uint64_t since)
{
    const uint64_t what = atomic_load_explicit(&mine->wait, memory_order_relaxed);
    atomic_store_explicit(&mine->since, 0, memory_order_relaxed);
    aq_count_own_add(AQ_OWN_WAIT_NS + (unsigned)(what >> 32), aq_clock_ns() - since);
}

void aq_wait_end(void)
{
    aq_shown_thread_t *mine = own;
    const uint64_t since = atomic_load_explicit(&mine->since, memory_order_relaxed);
    if (__builtin_expect(wait_begin != 0, 0))
        trace_wait_end();
    aq_probe_wait_end();
    if (__builtin_expect(since != 0, 0))
        count_wait(mine, since);
    atomic_store_explicit(&mine->wait, AQ_WAIT_NOTHING, memory_order_relaxed);
    aq_wait_unmarked = false;
}

void aq_wait_loops(void)
{
    if (__builtin_expect(!own, 0))
        own_find();
    const uint32_t loops = atomic_load_explicit(&own->loops, memory_order_relaxed);
    atomic_store_explicit(&own->loops, loops + 1, memory_order_relaxed);
}

// ---- a wait that lasts ----

// Updates the event of a wait for several, which may be another one than before, and of another
// kind. A nested wait for room keeps its mark.
static void unmarked_update(void)
{
    const uint64_t what = atomic_load_explicit(&own->wait, memory_order_relaxed);
    if (what >> 32 != AQ_WAIT_EVENT && what >> 32 != AQ_WAIT_COLLECTIVE)
        return;
    own_event = aq_wait_event;
    own_set_wait(aq_wait_word(AQ_WAIT_EVENT, 0));
}

void aq_wait_lasts(uint64_t now)
{
    if (__builtin_expect(!own, 0))
        own_find();
    if (atomic_load_explicit(&own->wait, memory_order_relaxed) == AQ_WAIT_NOTHING) {
        aq_wait_begin(aq_wait_word(aq_wait_event ? AQ_WAIT_EVENT : AQ_WAIT_CONDITION, 0), NULL);
        aq_wait_unmarked = true;
    }
    if (aq_wait_event)
        unmarked_update();
    if (own_event)
        event_show();
    else
        atomic_store_explicit(&own->pending, 0, memory_order_relaxed);
    atomic_store_explicit(&own->polled, now, memory_order_relaxed);
    if (!atomic_load_explicit(&own->since, memory_order_relaxed))
        atomic_store_explicit(&own->since, now, memory_order_release);
}
