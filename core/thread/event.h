// SPDX-License-Identifier: BSD-3-Clause
// Events: one pooled record for everything that completes later.
//
//     gex_Event_t --> part[r]      record: [ root | GET | PUT | AM | LC | RMW | OTHER ] + free list
//
// - Each part counts operations (or steps of one) that are pending in its category. A leaf event is
//   complete when its part is zero, a root event when all parts are.
// - A handle points to a part of a record. Records come from a pool whose memory is never freed,
//   so that a stale handle reads a counter and not freed memory. Each thread has free records of
//   its own (at most 128) and exchanges batches of them with a shared pool.
// - The record of a root event goes back to the pool when that event is synchronized, by any
//   thread.
// - A blocking put or get has its record on the stack of the call.
// - An access region (NBI) is also such a record; its thread owns it.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../gasnet_fwd.h"

typedef enum aq_part {
    AQ_PART_ROOT, // counts nothing
    AQ_PART_GET,
    AQ_PART_PUT,
    AQ_PART_AM,
    AQ_PART_LC,
    AQ_PART_RMW,
    AQ_PART_OTHER, // barriers, collectives
    AQ_PART_COUNT
} aq_part_t;

struct gex_event_part {
    atomic_uint pending;
    uint16_t index; // the position of this part in the record
    // Of part ROOT: how often the record was freed, see aq_event_uses. Of OTHER and RMW: a note
    // about a collective, see aq_event_note.
    atomic_ushort uses;
};

// Added to the counter of a part with an operation that has failed (access.h), so that the part is
// not idle until a call has synchronized it and collected the error.
#define AQ_EVENT_FAILED 0x80000000u

typedef struct aq_event {
    struct gex_event_part part[AQ_PART_COUNT];
    struct aq_event *next; // while free
} aq_event_t;

// Takes a record with nothing pending from the pool. Ends the job if memory is out. Any thread.
aq_event_t *aq_event_new(void);
// Gives a record back to the pool. Any thread, not only the one that took the record.
void aq_event_free(aq_event_t *event);

static inline gex_Event_t aq_event_part(aq_event_t *event, aq_part_t part)
{
    return &event->part[part];
}

// A number that changes when the record is freed. If it has not changed since an operation began,
// the parts count that operation; the number repeats after 65,536 uses.
static inline uint16_t aq_event_uses(aq_event_t *event)
{
    return atomic_load_explicit(&event->part[AQ_PART_ROOT].uses, memory_order_acquire);
}

// Notes which collective the part OTHER of a record counts, for the report and gasnet_top
// (wait_mark.h): its team, as 1 + the index among the published teams, or 0 for none; and the
// number of the call in the team.
static inline void aq_event_note(aq_event_t *event, unsigned team, unsigned call)
{
    atomic_store_explicit(&event->part[AQ_PART_OTHER].uses, (unsigned short)team,
                          memory_order_relaxed);
    atomic_store_explicit(&event->part[AQ_PART_RMW].uses, (unsigned short)call,
                          memory_order_relaxed);
}
static inline unsigned aq_event_note_team(const struct gex_event_part *record)
{
    return atomic_load_explicit(&record[AQ_PART_OTHER].uses, memory_order_relaxed);
}
static inline unsigned aq_event_note_call(const struct gex_event_part *record)
{
    return atomic_load_explicit(&record[AQ_PART_RMW].uses, memory_order_relaxed);
}

static inline void aq_event_begin(gex_Event_t part)
{
    atomic_fetch_add_explicit(&part->pending, 1, memory_order_release);
}
// Called before the handler of a reply writes the result of an operation. Orders these writes after
// the accesses of the initiating thread: a message through another process does not order two
// threads of this process.
static inline void aq_event_follow(gex_Event_t part)
{
    (void)atomic_load_explicit(&part->pending, memory_order_acquire);
}
static inline void aq_event_end(gex_Event_t part)
{
    atomic_fetch_sub_explicit(&part->pending, 1, memory_order_release);
}

// Whether nothing is pending in the parts whose bits are set (1u << part).
bool aq_event_idle(aq_event_t *event, unsigned parts);

// As aq_event_idle, but operations that have failed do not count: nothing is pending any more.
bool aq_event_finished(aq_event_t *event, unsigned parts);

// The bits of the parts in an event mask (GEX_EC_*).
unsigned aq_event_parts_of(gex_EC_t mask);
