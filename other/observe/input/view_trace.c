// SPDX-License-Identifier: BSD-3-Clause
// Holds events and names, sorts them by thread and time, and gives operations their length.
// view_trace_read.c fills it; everything in analysis reads it.
#include "view_trace.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/grow.h"
#include "../../base/minmax.h"

const char *const aq_view_category_names[AQ_VIEW_CATEGORIES] = {"am",  "rma",      "coll", "wait",
                                                                "net", "firehose", "user"};

// ---- names ----

static size_t name_hash(const char *name)
{
    uint64_t hash = 14695981039346656037u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return (size_t)(hash ^ hash >> 29);
}

static uint32_t *bucket_find(const aq_view_trace_t *trace, const char *name)
{
    size_t at = name_hash(name) % trace->bucket_count;
    while (trace->buckets[at] && strcmp(trace->names[trace->buckets[at] - 1], name) != 0)
        at = (at + 1) % trace->bucket_count;
    return &trace->buckets[at];
}

// There are at least twice as many buckets as names.
static bool names_grow(aq_view_trace_t *trace)
{
    const size_t size = trace->name_room ? 2 * trace->name_room : 64;
    char **names = realloc(trace->names, size * sizeof *names);
    if (!names)
        return false;
    trace->names = names;
    uint32_t *buckets = calloc(2 * size, sizeof *buckets);
    if (!buckets)
        return false;
    free(trace->buckets);
    trace->buckets = buckets;
    trace->bucket_count = 2 * size;
    trace->name_room = size;
    for (size_t i = 0; i < trace->name_count; i++)
        *bucket_find(trace, names[i]) = (uint32_t)i + 1;
    return true;
}

int64_t aq_view_trace_name(aq_view_trace_t *trace, const char *name)
{
    if (trace->name_count == trace->name_room && !names_grow(trace))
        return -1;
    uint32_t *bucket = bucket_find(trace, name);
    if (*bucket)
        return *bucket - 1;
    char *copy = strdup(name);
    if (!copy)
        return -1;
    trace->names[trace->name_count] = copy;
    *bucket = (uint32_t)++trace->name_count;
    return *bucket - 1;
}

// ---- events ----

bool aq_view_trace_size(aq_view_trace_t *trace, uint32_t ranks)
{
    trace->origins = calloc(ranks, sizeof *trace->origins);
    trace->first = calloc((size_t)ranks + 1, sizeof *trace->first);
    trace->ranks = ranks;
    return trace->origins && trace->first;
}

bool aq_view_trace_add(aq_view_trace_t *trace, const aq_view_event_t *event)
{
    aq_view_event_t *events = aq_grow(trace->events, trace->count, &trace->room, sizeof *events);
    if (!events)
        return false;
    trace->events = events;
    events[trace->count++] = *event;
    return true;
}

static int event_compare(const void *a, const void *b)
{
    const aq_view_event_t *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->length != right->length)
        return left->length < right->length ? 1 : -1;
    return (left->phase > right->phase) - (left->phase < right->phase); // a call (X) is first
}

static void times_shift(aq_view_trace_t *trace)
{
    int64_t zero = INT64_MAX;
    for (size_t i = 0; i < trace->count; i++)
        zero = trace->events[i].start < zero ? trace->events[i].start : zero;
    for (size_t i = 0; i < trace->count; i++)
        trace->events[i].start -= zero;
}

static int async_compare(const void *a, const void *b)
{
    const aq_view_event_t *left = *(aq_view_event_t *const *)a;
    const aq_view_event_t *right = *(aq_view_event_t *const *)b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return left->phase < right->phase ? -1 : left->phase > right->phase; // b before e
}

static bool is_async(const aq_view_event_t *event)
{
    return event->phase == 'b' || event->phase == 'e';
}

// Gives operations that one call begins and another one ends their length, and their end the rank
// that they are with.
static bool asyncs_pair(aq_view_trace_t *trace)
{
    aq_view_event_t **ends = calloc(trace->count, sizeof *ends);
    size_t count = 0;
    if (!ends)
        return false;
    for (size_t i = 0; i < trace->count; i++)
        if (is_async(&trace->events[i]))
            ends[count++] = &trace->events[i];
    qsort(ends, count, sizeof *ends, async_compare);
    for (size_t i = 1; i < count; i++)
        if (ends[i]->phase == 'e' && ends[i - 1]->phase == 'b' && ends[i]->id == ends[i - 1]->id &&
            ends[i]->rank == ends[i - 1]->rank) {
            ends[i - 1]->length = ends[i]->start - ends[i - 1]->start;
            ends[i]->peer = ends[i - 1]->peer;
        }
    free(ends);
    return true;
}

bool aq_view_trace_finish(aq_view_trace_t *trace)
{
    if (trace->count == 0)
        return true;
    if (!asyncs_pair(trace))
        return false;
    times_shift(trace);
    qsort(trace->events, trace->count, sizeof *trace->events, event_compare);
    for (size_t i = 0; i < trace->count; i++)
        trace->first[trace->events[i].rank + 1] = i + 1;
    for (uint32_t rank = 0; rank < trace->ranks; rank++)
        trace->first[rank + 1] = aq_max(trace->first[rank + 1], trace->first[rank]);
    return true;
}

int64_t aq_view_trace_span(const aq_view_trace_t *trace)
{
    int64_t span = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const int64_t end = trace->events[i].start + trace->events[i].length;
        span = end > span ? end : span;
    }
    return span;
}

void aq_view_trace_free(aq_view_trace_t *trace)
{
    for (size_t i = 0; i < trace->name_count; i++)
        free(trace->names[i]);
    free(trace->names);
    free(trace->buckets);
    free(trace->events);
    free(trace->origins);
    free(trace->first);
    *trace = (aq_view_trace_t){0};
}
