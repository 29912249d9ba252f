// SPDX-License-Identifier: BSD-3-Clause
// What a thread did, in the order of time: an event that has a length is a begin and an end.
//
// What is always true of the records of a thread:
// - Times do not decrease.
// - Each AQ_VIEW_ENTER has its AQ_VIEW_LEAVE, and what begins inside ends inside: calls that end
//   after the one around them, which clocks can cause, are cut to its end.
// - Each AQ_VIEW_COLL_BEGIN has its AQ_VIEW_COLL_END. These are not nested: a collective goes on
//   while its thread does other things.
#pragma once

#include "../input/view_trace.h"

typedef enum aq_view_step {
    AQ_VIEW_ENTER, // a call or a handler
    AQ_VIEW_LEAVE,
    AQ_VIEW_COLL_BEGIN,
    AQ_VIEW_COLL_END,
    AQ_VIEW_INSTANT // what has no length: an end of a message or of an operation, and others
} aq_view_step_t;

typedef struct aq_view_record {
    aq_view_step_t step;
    int64_t time; // ns
    const aq_view_event_t *event;
} aq_view_record_t;

// Takes a record. False ends it all.
typedef bool aq_view_record_take_t(const aq_view_record_t *record, void *context);

// Where the events of the thread end whose first event is trace->events[first].
size_t aq_view_thread_end(const aq_view_trace_t *trace, size_t first);

// Passes the records of the thread with the events from first to end - 1. False: memory is out, or
// take has returned false.
bool aq_view_records_pass(const aq_view_trace_t *trace, size_t first, size_t end,
                          aq_view_record_take_t *take, void *context);
