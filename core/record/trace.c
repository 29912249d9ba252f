// SPDX-License-Identifier: BSD-3-Clause
// Makes records of events and adds them to the ring of the calling thread (trace_ring.c). Sends,
// accesses, collectives, waits and conduits call it while they are traced.
#include "trace.h"

#include <stdlib.h>

#include "../../other/base/clock.h"
#include "../../other/base/settings/settings.h"
#include "trace_line.h"
#include "trace_ring.h"

aq_tracing_t aq_tracing;
bool aq_trace_local = true;
static uint32_t own_rank, own_host;
static const char *skew = ""; // GASNET_TRACE_SKEW, for tests

void aq_trace_place(uint32_t rank, uint32_t host)
{
    own_rank = rank;
    own_host = host;
    skew = aq_settings_text(AQ_SET_TRACE_SKEW);
}

static __attribute__((noinline)) uint64_t skewed(uint64_t ns)
{
    static _Atomic uint64_t start;
    char *end;
    uint64_t none = 0;
    const int64_t host = own_host, offset = strtoll(skew, &end, 10);
    const int64_t drift = *end == ',' ? strtoll(end + 1, NULL, 10) : 0;
    (void)atomic_compare_exchange_strong(&start, &none, ns);
    const aq_line_t line = {.since = start, .offset = host * offset, .drift_ppb = host * drift};
    return ns + (uint64_t)aq_line_at(&line, ns);
}

uint64_t aq_trace_now(void)
{
    const uint64_t now = aq_clock_ns();
    return __builtin_expect(!*skew, 1) ? now : skewed(now);
}

// ---- events ----

static aq_trace_record_t record_of(const aq_trace_event_t *event)
{
    const uint64_t end = event->end ? event->end : aq_trace_now();
    return (aq_trace_record_t){.begin = event->begin,
                               .duration = end > event->begin ? end - event->begin : 0,
                               .id = event->id,
                               .bytes = event->bytes,
                               .team = event->team,
                               .peer = event->peer,
                               .kind = (uint8_t)event->kind,
                               .detail = event->detail};
}

void aq_trace_add(const aq_trace_event_t *event)
{
    const aq_trace_record_t record = record_of(event);
    (void)aq_trace_ring_add(&record);
}

void aq_trace_instant(unsigned category, aq_traced_t kind, uint32_t peer, uint64_t bytes)
{
    const uint64_t now = aq_trace_begin(category);
    if (now)
        aq_trace_add(&(aq_trace_event_t){
            .kind = kind, .begin = now, .end = now, .peer = peer, .bytes = bytes});
}

uint64_t aq_trace_open(const aq_trace_event_t *event)
{
    aq_trace_event_t open = *event;
    open.end = event->begin;
    const aq_trace_record_t record = record_of(&open);
    return aq_trace_ring_add(&record);
}

void aq_trace_close(uint64_t opened)
{
    aq_trace_record_t *record = aq_trace_ring_at(opened);
    if (record)
        atomic_store_explicit(&record->duration, aq_trace_now() - record->begin,
                              memory_order_relaxed);
}

void aq_trace_cancel(uint64_t opened)
{
    aq_trace_record_t *record = aq_trace_ring_at(opened);
    if (record)
        atomic_store_explicit(&record->kind, AQ_TRACED_NOTHING, memory_order_relaxed);
}

// ---- operations and their synchronization ----

// Of this thread: the parts of events that count operations which it has not synchronized, and the
// time of its last synchronization. A traced wait ends at that time, so that the operation
// contains the wait.
static _Thread_local unsigned unsynced __attribute__((tls_model("initial-exec")));
static _Thread_local uint64_t synced_at __attribute__((tls_model("initial-exec")));

void aq_trace_operation(aq_traced_t kind, uint64_t begin, uint32_t peer, uint64_t bytes,
                        const void *event, unsigned part)
{
    aq_trace_pieces(&(aq_trace_pieces_t){kind, begin, peer, bytes, 0, event, part});
}

void aq_trace_two_sided(aq_traced_t kind, uint64_t begin, uint32_t peer, uint64_t bytes,
                        uint32_t tag, uint32_t number)
{
    if (begin)
        aq_trace_add(&(aq_trace_event_t){.kind = kind,
                                         .begin = begin,
                                         .peer = peer,
                                         .bytes = bytes,
                                         .team = tag,
                                         .id = (uint64_t)number + 1});
}

void aq_trace_on_stream(aq_traced_t kind, uint64_t begin, const aq_trace_stream_t *what)
{
    if (begin)
        aq_trace_add(&(aq_trace_event_t){.kind = kind,
                                         .begin = begin,
                                         .peer = what->peer,
                                         .bytes = what->bytes,
                                         .team = what->stream,
                                         .id = (uint64_t)what->handler << 32 | what->number});
}

void aq_trace_pieces(const aq_trace_pieces_t *what)
{
    const bool to_itself = what->kind <= AQ_TRACED_VIS_GET && what->peer == own_rank;
    if (!what->begin || (to_itself && !aq_trace_local))
        return;
    if (what->event)
        unsynced |= 1u << what->part;
    aq_trace_add(&(aq_trace_event_t){.kind = what->kind,
                                     .begin = what->begin,
                                     .peer = what->peer,
                                     .bytes = what->bytes,
                                     .id = (uintptr_t)what->event,
                                     .team = what->pieces,
                                     .detail = (uint8_t)what->part});
}

// event: the root part, whose address is that of its record.
void aq_trace_collective(aq_traced_t kind, uint64_t begin, uint64_t team, uint32_t sequence,
                         uint64_t rooted, const void *event)
{
    aq_trace_add(&(aq_trace_event_t){.kind = kind,
                                     .begin = begin,
                                     .peer = sequence,
                                     .bytes = rooted,
                                     .id = (uintptr_t)event,
                                     .team = team});
}

void aq_trace_sync(const void *event, unsigned parts, bool implicit)
{
    if (implicit && !(unsynced & parts))
        return;
    if (implicit)
        unsynced &= ~parts;
    synced_at = aq_trace_now();
    aq_trace_add(&(aq_trace_event_t){.kind = AQ_TRACED_SYNC,
                                     .begin = synced_at,
                                     .end = synced_at,
                                     .id = (uintptr_t)event,
                                     .bytes = parts});
}

_Thread_local bool aq_trace_in_wait;

void aq_trace_waited(uint64_t begin, uint32_t peer)
{
    if (begin)
        aq_trace_add(&(aq_trace_event_t){.kind = peer == AQ_OBSERVED_NO_PEER ? AQ_TRACED_WAIT_EVENT
                                                                             : AQ_TRACED_WAIT_ROOM,
                                         .begin = begin,
                                         .end = synced_at > begin ? synced_at : 0,
                                         .peer = peer});
}

uint64_t aq_trace_next_number(void)
{
    static _Atomic uint64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}
