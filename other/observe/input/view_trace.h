// SPDX-License-Identifier: BSD-3-Clause
// A trace in memory: the events of the file of GASNET_TRACE.
//
// What is always true after aq_view_trace_finish:
// - Events are sorted by rank, thread and start; of two with the same start, the longer is first,
//   and a call before what happens in it.
// - Ranks of events are below `ranks`; peers are, too, or AQ_VIEW_NO_RANK.
// - Times are nanoseconds since the first event.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AQ_VIEW_NO_RANK UINT32_MAX

// The categories of the file.
typedef enum aq_view_category {
    AQ_VIEW_AM,
    AQ_VIEW_RMA,
    AQ_VIEW_COLL,
    AQ_VIEW_WAIT,
    AQ_VIEW_NET,
    AQ_VIEW_FIREHOSE,
    AQ_VIEW_USER,
    AQ_VIEW_CATEGORIES
} aq_view_category_t;
extern const char *const aq_view_category_names[AQ_VIEW_CATEGORIES];

typedef struct aq_view_event {
    int64_t start, length; // ns
    uint64_t id;           // of the message, or of the operation with a begin and an end
    uint64_t bytes, sequence;
    uint32_t rank, thread, team;
    uint32_t peer; // of a collective: its root
    uint32_t name;
    uint8_t category; // aq_view_category_t
    char phase;       // X: has a length; s, f: a message; b, e: begin and end; i: an instant
    bool handler;     // a handler runs, or a receive takes a message
} aq_view_event_t;

typedef struct aq_view_origin {
    char host_name[64];
    uint64_t events, dropped;
    int64_t clock_error; // ns
    uint32_t host;
    bool known; // the rank is in the trace
} aq_view_origin_t;

typedef struct aq_view_trace {
    aq_view_event_t *events;
    size_t count, room;
    char **names;
    size_t name_count, name_room;
    uint32_t *buckets; // of names: index + 1
    size_t bucket_count;
    aq_view_origin_t *origins; // of each rank
    uint32_t ranks;            // of the job; 0: not known yet
    size_t *first;             // of each rank's events; first[ranks] is count
    bool cut;                  // the file ends in the middle of a line
} aq_view_trace_t;

// Returns the number of a name, which is copied, or -1 if memory is out.
int64_t aq_view_trace_name(aq_view_trace_t *trace, const char *name);

// Sets the number of ranks. False: memory is out.
bool aq_view_trace_size(aq_view_trace_t *trace, uint32_t ranks);

// False: memory is out.
bool aq_view_trace_add(aq_view_trace_t *trace, const aq_view_event_t *event);

// Sorts, and begins the times at 0. False: memory is out.
bool aq_view_trace_finish(aq_view_trace_t *trace);

// From the first event to the end of the last, in ns.
int64_t aq_view_trace_span(const aq_view_trace_t *trace);

void aq_view_trace_free(aq_view_trace_t *trace);
