// SPDX-License-Identifier: BSD-3-Clause
// What the threads of a rank spent their time with.
#pragma once

#include "../input/view_trace.h"

typedef enum aq_view_kind {
    AQ_VIEW_PROGRAM, // outside of the library
    AQ_VIEW_SEND,    // calls that send messages
    AQ_VIEW_HANDLER, // handlers of the client
    AQ_VIEW_ACCESS,  // puts, gets, atomics
    AQ_VIEW_IN_COLL, // waits while the rank takes part in a collective
    AQ_VIEW_IN_WAIT, // other waits
    AQ_VIEW_KINDS
} aq_view_kind_t;
extern const char *const aq_view_kind_names[AQ_VIEW_KINDS];

// The kind of an event that takes the time of its thread, or AQ_VIEW_PROGRAM. Collectives go on
// while the program computes, so what counts are waits for them; a trace without waits has only
// them to count (has_waits).
aq_view_kind_t aq_view_kind(const aq_view_event_t *event, bool has_waits);

typedef struct aq_view_times {
    int64_t ns[AQ_VIEW_KINDS]; // without what is inside of each other
    bool has_waits;            // the rank has waits in the trace
} aq_view_times_t;

#define AQ_VIEW_ALL_THREADS UINT32_MAX

// The times of a thread of a rank, or of all added up, between two times. False: memory is out.
bool aq_view_times_of(const aq_view_trace_t *trace, uint32_t rank, uint32_t thread, int64_t from,
                      int64_t to, aq_view_times_t *times);
