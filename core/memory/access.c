// SPDX-License-Identifier: BSD-3-Clause
// Refuses accesses to memory that the target does not have, and keeps their errors for
// gasnetx_Error_Next. The puts, gets, atomics and VIS of extended/ refuse here; event_wait.c hands
// the errors to the thread that synchronizes.
#include "access.h"

#include "../ground/fatal.h"
#include "../thread/thread_life.h"

// ---- errors ----
//
// An error belongs to the part of an event until a thread synchronizes that event, and then to the
// thread until the thread reads it. If the table is full, a new error replaces the oldest one that
// a thread has not read; if there is none, the new error is dropped.

enum { ERRORS = 256 };

typedef struct kept_error {
    uint64_t number;  // ascending; 0: this entry is free
    gex_Event_t part; // the part that has failed; NULL: it was synchronized
    uint64_t thread;  // number of the thread that has, and may read the error
    gasnetx_error_t error;
} kept_error_t;

static kept_error_t table[ERRORS];
static uint64_t failed, dropped;
static aq_lock_t table_lock;

// With the lock held: the oldest entry that the thread may read; thread 0: that any thread may.
static kept_error_t *oldest_of(uint64_t thread)
{
    kept_error_t *oldest = NULL;
    for (unsigned i = 0; i < ERRORS; i++) {
        kept_error_t *entry = &table[i];
        if (entry->number && !entry->part && (!thread || entry->thread == thread) &&
            (!oldest || entry->number < oldest->number))
            oldest = entry;
    }
    return oldest;
}

// With the lock held.
static kept_error_t *find_room(void)
{
    for (unsigned i = 0; i < ERRORS; i++)
        if (!table[i].number)
            return &table[i];
    dropped++;
    return oldest_of(0);
}

// Keeps the error before the part shows that it has failed.
static void error_keep(const gasnetx_error_t *error, gex_Event_t part)
{
    aq_lock_take(&table_lock);
    kept_error_t *entry = find_room();
    failed++;
    if (entry)
        *entry = (kept_error_t){.number = failed, .part = part, .error = *error};
    aq_lock_drop(&table_lock);
    atomic_fetch_or_explicit(&part->pending, AQ_EVENT_FAILED, memory_order_release);
}

// Errors in the order of their operations are read in that order, since they keep their numbers.
static void errors_move(gex_Event_t from, gex_Event_t to, gex_Event_t event)
{
    const uint64_t thread = aq_thread_number();
    aq_lock_take(&table_lock);
    for (unsigned i = 0; i < ERRORS; i++) {
        if (!table[i].number || table[i].part != from)
            continue;
        table[i].part = to;
        table[i].thread = thread;
        table[i].error.event = event;
    }
    aq_lock_drop(&table_lock);
    atomic_fetch_and_explicit(&from->pending, ~AQ_EVENT_FAILED, memory_order_relaxed);
}

static unsigned pending_of(const struct gex_event_part *part)
{
    return atomic_load_explicit(&part->pending, memory_order_acquire);
}

bool aq_access_collect(aq_event_t *record, unsigned parts, gex_Event_t event)
{
    if (!aq_job.returns_errors)
        return false;
    if (!aq_event_finished(record, parts))
        return false;
    for (unsigned p = AQ_PART_GET; p < AQ_PART_COUNT; p++)
        if ((parts & (1u << p)) && pending_of(&record->part[p]))
            errors_move(&record->part[p], NULL, event);
    return true;
}

bool aq_access_pass_on(gex_Event_t from, gex_Event_t to)
{
    if (pending_of(from) != AQ_EVENT_FAILED)
        return false;
    atomic_fetch_or_explicit(&to->pending, AQ_EVENT_FAILED, memory_order_release);
    errors_move(from, to, GEX_EVENT_INVALID);
    return true;
}

// ---- refusals ----

static int reason_of(const aq_access_t *access, size_t alignment)
{
    uintptr_t start, size;
    if (access->reason)
        return access->reason;
    if (alignment)
        return GASNETX_ERROR_MISALIGNED;
    if (!aq_segment_bounds(access->rank, access->ep, &start, &size))
        return GASNETX_ERROR_NO_SEGMENT;
    const uintptr_t offset = (uintptr_t)access->addr - start;
    return offset < size && access->nbytes <= size - offset ? GASNETX_ERROR_UNMAPPED
                                                            : GASNETX_ERROR_OUTSIDE;
}

static void access_fail(const aq_access_t *access, int reason, gex_Event_t part)
{
    uintptr_t start = 0, size = 0;
    (void)aq_segment_bounds(access->rank, access->ep, &start, &size);
    const gasnetx_error_t error = {.event = GEX_EVENT_INVALID,
                                   .operation = access->call,
                                   .reason = reason,
                                   .rank = access->rank,
                                   .ep_index = access->ep,
                                   .addr = (void *)(uintptr_t)access->addr,
                                   .nbytes = access->nbytes,
                                   .segment_addr = (void *)start,
                                   .segment_size = size};
    error_keep(&error, part);
}

void aq_access_refuse(const aq_access_t *access, size_t alignment, gex_Event_t part)
{
    if (aq_job.returns_errors) {
        access_fail(access, reason_of(access, alignment), part);
        return;
    }
    if (alignment)
        aq_fatal("%s: the target %p is not aligned to %zu bytes (a value of rank %u)", access->call,
                 access->addr, alignment, access->rank);
    if (access->reason == GASNETX_ERROR_IDENTITY)
        aq_fatal("%s: %zu bytes at %p: endpoint %u of rank %u does not accept the identity of the "
                 "endpoint that accesses it (gasnetx_EP_Create)",
                 access->call, access->nbytes, access->addr, access->ep, access->rank);
    aq_segment_refuse(access->call, "", access->rank, access->ep, access->addr, access->nbytes);
}

// ---- the client's calls ----

int gasnetx_Error_Next(gasnetx_error_t *error)
{
    aq_job_need("gasnetx_Error_Next");
    const uint64_t thread = aq_thread_number();
    aq_lock_take(&table_lock);
    kept_error_t *entry = oldest_of(thread);
    if (entry) {
        *error = entry->error;
        entry->number = 0;
    }
    aq_lock_drop(&table_lock);
    return entry ? GASNET_OK : GASNET_ERR_NOT_READY;
}

void gasnetx_Error_Counts(uint64_t *failed_p, uint64_t *dropped_p)
{
    aq_job_need("gasnetx_Error_Counts");
    aq_lock_take(&table_lock);
    if (failed_p)
        *failed_p = failed;
    if (dropped_p)
        *dropped_p = dropped;
    aq_lock_drop(&table_lock);
}
