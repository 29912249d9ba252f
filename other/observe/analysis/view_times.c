// SPDX-License-Identifier: BSD-3-Clause
// Sweeps over the events of a thread with a stack of the open ones, so that each nanosecond counts
// for the innermost. The tables of view_summary.c and view_late.c ask for the times.
#include "view_times.h"

#include <stdlib.h>

#include "../../base/grow.h"
#include "view_records.h"

const char *const aq_view_kind_names[AQ_VIEW_KINDS] = {"program", "send", "handler",
                                                       "access",  "coll", "wait"};

aq_view_kind_t aq_view_kind(const aq_view_event_t *event, bool has_waits)
{
    if (event->phase != 'X')
        return AQ_VIEW_PROGRAM;
    switch (event->category) {
    case AQ_VIEW_AM:
        return event->handler ? AQ_VIEW_HANDLER : AQ_VIEW_SEND;
    case AQ_VIEW_RMA:
        return AQ_VIEW_ACCESS;
    case AQ_VIEW_COLL:
        return has_waits ? AQ_VIEW_PROGRAM : AQ_VIEW_IN_COLL;
    case AQ_VIEW_WAIT:
        return AQ_VIEW_IN_WAIT;
    default:
        return AQ_VIEW_PROGRAM;
    }
}

// An event that is open, with the ones around it below it.
typedef struct open_event {
    int64_t end, inside; // inside: what events in it took
    int64_t length;
    aq_view_kind_t kind;
} open_event_t;

typedef struct sweep {
    aq_view_times_t *times;
    open_event_t *open;
    size_t depth, room;
    int64_t from, to;
    int64_t coll_end; // of collectives that have begun
} sweep_t;

static void event_close(sweep_t *sweep)
{
    const open_event_t *event = &sweep->open[--sweep->depth];
    sweep->times->ns[event->kind] += event->length - event->inside;
    if (sweep->depth)
        sweep->open[sweep->depth - 1].inside += event->length;
}

// Events that end later than the one around them are cut to its end.
static bool event_open(sweep_t *sweep, const aq_view_event_t *event, aq_view_kind_t kind)
{
    int64_t start = event->start, end = event->start + event->length;
    start = start < sweep->from ? sweep->from : start;
    end = end > sweep->to ? sweep->to : end;
    while (sweep->depth && sweep->open[sweep->depth - 1].end <= start)
        event_close(sweep);
    if (sweep->depth && end > sweep->open[sweep->depth - 1].end)
        end = sweep->open[sweep->depth - 1].end;
    if (end <= start)
        return true;
    open_event_t *open = aq_grow(sweep->open, sweep->depth, &sweep->room, sizeof *open);
    if (!open)
        return false;
    sweep->open = open;
    open[sweep->depth++] = (open_event_t){end, 0, end - start, kind};
    return true;
}

static bool event_take(sweep_t *sweep, const aq_view_event_t *event)
{
    const int64_t end = event->start + event->length;
    aq_view_kind_t kind = aq_view_kind(event, sweep->times->has_waits);
    if (event->category == AQ_VIEW_COLL && event->phase == 'X' && end > sweep->coll_end)
        sweep->coll_end = end;
    if (kind == AQ_VIEW_PROGRAM)
        return true;
    if (kind == AQ_VIEW_IN_WAIT && sweep->coll_end > event->start)
        kind = AQ_VIEW_IN_COLL;
    return event_open(sweep, event, kind);
}

// The events of one thread. False: memory is out.
static bool thread_sweep(sweep_t *sweep, const aq_view_trace_t *trace, size_t first, size_t end)
{
    bool room = true;
    sweep->coll_end = INT64_MIN;
    for (size_t i = first; i < end && room; i++)
        room = event_take(sweep, &trace->events[i]);
    while (sweep->depth)
        event_close(sweep);
    return room;
}

static int64_t times_sum(const aq_view_times_t *times)
{
    int64_t sum = 0;
    for (unsigned kind = 0; kind < AQ_VIEW_KINDS; kind++)
        sum += times->ns[kind];
    return sum;
}

static bool has_waits(const aq_view_trace_t *trace, uint32_t rank)
{
    for (size_t i = trace->first[rank]; i < trace->first[rank + 1]; i++)
        if (trace->events[i].category == AQ_VIEW_WAIT)
            return true;
    return false;
}

bool aq_view_times_of(const aq_view_trace_t *trace, uint32_t rank, uint32_t thread, int64_t from,
                      int64_t to, aq_view_times_t *times)
{
    const size_t end = trace->first[rank + 1];
    sweep_t sweep = {.times = times, .from = from, .to = to};
    *times = (aq_view_times_t){.has_waits = has_waits(trace, rank)};
    bool room = true;
    for (size_t first = trace->first[rank], next; first < end && room; first = next) {
        const int64_t before = times_sum(times);
        next = aq_view_thread_end(trace, first);
        if (thread != AQ_VIEW_ALL_THREADS && trace->events[first].thread != thread)
            continue;
        room = thread_sweep(&sweep, trace, first, next);
        times->ns[AQ_VIEW_PROGRAM] += to - from - (times_sum(times) - before);
    }
    free(sweep.open);
    return room;
}
