// SPDX-License-Identifier: BSD-3-Clause
// The client's calls that test events and wait for them, and those for implicit operations (NBI).
#include "../memory/access.h"
#include "../ground/bounds.h"
#include "../thread/event.h"
#include "../ground/fatal.h"
#include "../gasnetex_core.h"
#include "../state/job.h"
#include "../record/wait_mark.h"
#include "../thread/thread.h"
#include "../record/trace.h"

static aq_event_t *record_of(gex_Event_t part)
{
    return (aq_event_t *)(void *)(part - part->index);
}

static bool is_root(gex_Event_t event)
{
    return event->index == AQ_PART_ROOT;
}

// Detects an invalid event before its record is read, and a root event that was consumed: the root
// part counts nothing, so a debug build keeps a 1 there while the record is in use.
static void check_event(const char *call, gex_Event_t event)
{
    AQ_CHECK(event != GEX_EVENT_NO_OP,
             "%s: the event is GEX_EVENT_NO_OP: the operation was never started", call);
    AQ_CHECK(!is_root(event) || atomic_load_explicit(&event->pending, memory_order_relaxed),
             "%s: the event %p was synchronized before", call, (void *)event);
}

// See aq_access_collect; jobs that end at the first error have nothing to collect.
static inline bool errors_collect(aq_event_t *record, unsigned parts, gex_Event_t event)
{
    return __builtin_expect(aq_job.returns_errors, 0) && aq_access_collect(record, parts, event);
}

// On success, consumes a root event: its record goes back to the pool.
static bool try_event(const char *call, gex_Event_t event)
{
    if (event == GEX_EVENT_INVALID)
        return true;
    check_event(call, event);
    aq_event_t *record = record_of(event);
    if (!is_root(event))
        return atomic_load_explicit(&event->pending, memory_order_acquire) == 0 ||
               errors_collect(record, 1u << event->index, event);
    if (!aq_event_idle(record, ~0u) && !errors_collect(record, ~0u, event))
        return false;
    if (aq_trace_wants(AQ_TRACE_SYNCED))
        aq_trace_sync(record, ~0u, false);
    aq_event_free(record);
    return true;
}

int gex_Event_Test(gex_Event_t event)
{
    aq_thread_check_call("gex_Event_Test");
    return try_event("gex_Event_Test", event) ? GASNET_OK : GASNET_ERR_NOT_READY;
}

// Waits for an event after the first turn of the wait, which never sleeps.
static void event_await(gex_Event_t event, aq_api_wait_t *wait)
{
    aq_wait_begin(aq_wait_word(AQ_WAIT_EVENT, 0), event);
    do
        aq_api_wait_turn(wait);
    while (!try_event("gex_Event_Wait", event));
    aq_api_wait_end(wait);
    aq_wait_end();
}

// The first poll completes many operations; then there is no wait to report.
void aq_api_event_wait(gex_Event_t event)
{
    aq_thread_check_call("gex_Event_Wait");
    if (event == GEX_EVENT_INVALID)
        return;
    aq_api_wait_t wait = {0};
    if (try_event("gex_Event_Wait", event))
        return;
    aq_api_wait_turn(&wait);
    if (!try_event("gex_Event_Wait", event))
        event_await(event, &wait);
}

// A turn of a wait for several events, or for implicit operations; event: one of those that are not
// complete. The wait is reported once it has lasted. *begin, at first 0, is for the trace.
static void wait_turn(aq_api_wait_t *wait, gex_Event_t event, uint64_t *begin)
{
    if (!*begin)
        *begin = aq_trace_begin(AQ_TRACE_WAIT);
    aq_trace_in_wait = *begin;
    aq_wait_event = event;
    aq_api_wait_turn(wait);
}

static void wait_end(aq_api_wait_t *wait, uint64_t begin)
{
    aq_wait_event = NULL;
    aq_api_wait_end(wait);
    if (__builtin_expect(begin != 0, 0))
        aq_trace_waited(begin, AQ_OBSERVED_NO_PEER);
    aq_trace_in_wait = false;
}

// Numbers of entries that are not complete, and of entries that this call completed.
typedef struct tally {
    size_t open, completed;
    gex_Event_t event; // of those that are not complete
} tally_t;

// Tries leaf events before root events, since a completed root gives back the record of its leaves.
static void try_entries(const char *call, gex_Event_t *events, size_t count, bool roots,
                        tally_t *tally)
{
    for (size_t i = 0; i < count; i++) {
        if (events[i] == GEX_EVENT_INVALID)
            continue;
        check_event(call, events[i]);
        if (is_root(events[i]) != roots)
            continue;
        if (try_event(call, events[i])) {
            events[i] = GEX_EVENT_INVALID;
            tally->completed++;
        } else {
            tally->open++;
            tally->event = events[i];
        }
    }
}

static tally_t try_all(const char *call, gex_Event_t *events, size_t count)
{
    tally_t tally = {0, 0, NULL};
    aq_bounds_blocks(call, "events", count, sizeof *events);
    aq_thread_check_call(call);
    try_entries(call, events, count, false, &tally);
    try_entries(call, events, count, true, &tally);
    return tally;
}

static bool some_done(tally_t tally)
{
    return tally.completed || !tally.open;
}

int gex_Event_TestSome(gex_Event_t *events, size_t count, gex_Flags_t flags)
{
    (void)flags;
    return some_done(try_all("gex_Event_TestSome", events, count)) ? GASNET_OK
                                                                   : GASNET_ERR_NOT_READY;
}

int gex_Event_TestAll(gex_Event_t *events, size_t count, gex_Flags_t flags)
{
    (void)flags;
    return try_all("gex_Event_TestAll", events, count).open ? GASNET_ERR_NOT_READY : GASNET_OK;
}

void gex_Event_WaitSome(gex_Event_t *events, size_t count, gex_Flags_t flags)
{
    (void)flags;
    aq_api_wait_t wait = {0};
    uint64_t begin = 0;
    for (tally_t tally; tally = try_all("gex_Event_WaitSome", events, count), !some_done(tally);)
        wait_turn(&wait, tally.event, &begin);
    wait_end(&wait, begin);
}

void gex_Event_WaitAll(gex_Event_t *events, size_t count, gex_Flags_t flags)
{
    (void)flags;
    aq_api_wait_t wait = {0};
    uint64_t begin = 0;
    for (tally_t tally; tally = try_all("gex_Event_WaitAll", events, count), tally.open;)
        wait_turn(&wait, tally.event, &begin);
    wait_end(&wait, begin);
}

gex_Event_t gex_Event_QueryLeaf(gex_Event_t root, gex_EC_t category)
{
    if (root == GEX_EVENT_INVALID)
        return GEX_EVENT_INVALID;
    check_event("gex_Event_QueryLeaf", root);
    AQ_CHECK(is_root(root), "gex_Event_QueryLeaf: the event %p is not a root event", (void *)root);
    unsigned parts = aq_event_parts_of(category);
    AQ_CHECK(parts && (parts & (parts - 1)) == 0,
             "gex_Event_QueryLeaf: category %#x is not one of GEX_EC_GET, PUT, AM, LC, RMW",
             category);
    return aq_event_part(record_of(root), (aq_part_t)__builtin_ctz(parts));
}

static bool try_nbi(const char *call, gex_EC_t mask)
{
    aq_thread_check_call(call);
    aq_event_t *record = aq_thread_self()->nbi;
    const unsigned parts = aq_event_parts_of(mask);
    if (!aq_event_idle(record, parts) && !errors_collect(record, parts, GEX_EVENT_INVALID))
        return false;
    if (aq_trace_wants(AQ_TRACE_SYNCED))
        aq_trace_sync(record, parts, true);
    return true;
}

int gex_NBI_Test(gex_EC_t mask, gex_Flags_t flags)
{
    (void)flags;
    return try_nbi("gex_NBI_Test", mask) ? GASNET_OK : GASNET_ERR_NOT_READY;
}

void gex_NBI_Wait(gex_EC_t mask, gex_Flags_t flags)
{
    (void)flags;
    aq_api_wait_t wait = {0};
    uint64_t begin = 0;
    if (try_nbi("gex_NBI_Wait", mask))
        return;
    const gex_Event_t event = aq_event_part(aq_thread_self()->nbi, AQ_PART_ROOT);
    do
        wait_turn(&wait, event, &begin);
    while (!try_nbi("gex_NBI_Wait", mask));
    wait_end(&wait, begin);
}

void gex_NBI_BeginAccessRegion(gex_Flags_t flags)
{
    (void)flags;
    aq_thread_t *thread = aq_thread_self();
    aq_thread_check_call("gex_NBI_BeginAccessRegion");
    AQ_CHECK(!thread->region, "gex_NBI_BeginAccessRegion: this thread has an open access region "
                              "already; they do not nest");
    thread->region = aq_event_new();
    aq_outstanding_add_region(thread->outstanding, thread->region);
}

gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags)
{
    (void)flags;
    aq_thread_t *thread = aq_thread_self();
    aq_event_t *region = thread->region;
    aq_thread_check_call("gex_NBI_EndAccessRegion");
    AQ_CHECK(region, "gex_NBI_EndAccessRegion: this thread has no open access region");
    thread->region = NULL;
    if (!aq_event_idle(region, ~0u))
        return aq_event_part(region, AQ_PART_ROOT);
    if (aq_trace_wants(AQ_TRACE_SYNCED))
        aq_trace_sync(region, ~0u, true);
    aq_event_free(region);
    return GEX_EVENT_INVALID;
}
