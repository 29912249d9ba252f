// SPDX-License-Identifier: BSD-3-Clause
// One pass over the events of a thread with a sorted list of the ends that are still open.
// view_bins.c and pages/view_otf2_events.c take the records.
#include "view_records.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/grow.h"

// What has begun: calls, and collectives.
typedef struct open_end {
    int64_t time; // of its end
    const aq_view_event_t *event;
} open_end_t;

typedef struct pass {
    aq_view_record_take_t *take;
    void *context;
    open_end_t *open; // the one that ends first is the last
    size_t depth, room;
} pass_t;

static bool is_coll(const aq_view_event_t *event)
{
    return event->category == AQ_VIEW_COLL;
}

static bool record_pass(const pass_t *pass, aq_view_step_t step, int64_t time,
                        const aq_view_event_t *event)
{
    const aq_view_record_t record = {step, time, event};
    return pass->take(&record, pass->context);
}

// Passes the ends of all that ends until a time.
static bool ends_pass(pass_t *pass, int64_t until)
{
    bool goes_on = true;
    while (goes_on && pass->depth && pass->open[pass->depth - 1].time <= until) {
        const open_end_t *end = &pass->open[--pass->depth];
        goes_on = record_pass(pass, is_coll(end->event) ? AQ_VIEW_COLL_END : AQ_VIEW_LEAVE,
                              end->time, end->event);
    }
    return goes_on;
}

// The end of the innermost call.
static int64_t limit_find(const pass_t *pass)
{
    for (size_t i = pass->depth; i > 0; i--)
        if (!is_coll(pass->open[i - 1].event))
            return pass->open[i - 1].time;
    return INT64_MAX;
}

// Begins an event, and adds its end to the open ones. Of two with the same end, the one that has
// begun later ends first.
static bool event_open(pass_t *pass, const aq_view_event_t *event)
{
    int64_t time = event->start + event->length;
    const int64_t limit = limit_find(pass);
    size_t at = pass->depth;
    if (!is_coll(event) && time > limit)
        time = limit;
    open_end_t *open = aq_grow(pass->open, pass->depth, &pass->room, sizeof *open);
    if (!open)
        return false;
    pass->open = open;
    while (at > 0 && open[at - 1].time < time)
        at--;
    memmove(&open[at + 1], &open[at], (pass->depth - at) * sizeof *open);
    open[at] = (open_end_t){time, event};
    pass->depth++;
    return record_pass(pass, is_coll(event) ? AQ_VIEW_COLL_BEGIN : AQ_VIEW_ENTER, event->start,
                       event);
}

bool aq_view_records_pass(const aq_view_trace_t *trace, size_t first, size_t end,
                          aq_view_record_take_t *take, void *context)
{
    pass_t pass = {take, context, NULL, 0, 0};
    bool goes_on = true;
    for (size_t i = first; i < end && goes_on; i++) {
        const aq_view_event_t *event = &trace->events[i];
        goes_on = ends_pass(&pass, event->start);
        if (goes_on && event->phase == 'X')
            goes_on = event_open(&pass, event);
        else if (goes_on)
            goes_on = record_pass(&pass, AQ_VIEW_INSTANT, event->start, event);
    }
    goes_on = goes_on && ends_pass(&pass, INT64_MAX);
    free(pass.open);
    return goes_on;
}

size_t aq_view_thread_end(const aq_view_trace_t *trace, size_t first)
{
    const aq_view_event_t *event = &trace->events[first];
    size_t end = first + 1;
    while (end < trace->first[event->rank + 1] && trace->events[end].thread == event->thread)
        end++;
    return end;
}
