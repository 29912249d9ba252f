// SPDX-License-Identifier: BSD-3-Clause
// Adds up the records of each thread (view_records.c) into columns, and chooses the kind that took
// most of each. pages/view_picture.c draws the result.
#include "view_bins.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/grow.h"
#include "../../base/minmax.h"
#include "view_records.h"

// The times of one row, and the calls that its thread is in.
typedef struct row {
    float (*sums)[AQ_VIEW_KINDS]; // of each column
    uint32_t columns;
    double scale;   // columns in a ns
    int64_t now;    // the time until which sums are complete
    uint8_t *calls; // kinds, the innermost last
    size_t depth, room;
    size_t colls; // under way
    bool has_waits;
} row_t;

// ---- threads ----

static bool threads_find(aq_view_bins_t *bins)
{
    const aq_view_trace_t *trace = bins->trace;
    for (size_t i = 0; i < trace->count; i = aq_view_thread_end(trace, i))
        bins->threads++;
    bins->first = calloc((size_t)bins->threads + 1, sizeof *bins->first);
    if (!bins->first)
        return false;
    uint32_t thread = 0;
    for (size_t i = 0; i < trace->count; i = aq_view_thread_end(trace, i))
        bins->first[thread++] = i;
    bins->first[thread] = trace->count;
    return true;
}

uint32_t aq_view_bins_row(const aq_view_bins_t *bins, const aq_view_event_t *event)
{
    const size_t index = (size_t)(event - bins->trace->events);
    uint32_t low = 0, high = bins->threads; // the thread is in this range
    while (low + 1 < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (bins->first[middle] <= index)
            low = middle;
        else
            high = middle;
    }
    return low / bins->block;
}

uint32_t aq_view_bins_rank(const aq_view_bins_t *bins, uint32_t row)
{
    return bins->trace->events[bins->first[(size_t)row * bins->block]].rank;
}

// ---- sums of a row ----

static uint8_t kind_now(const row_t *row)
{
    if (row->depth)
        return row->calls[row->depth - 1];
    return row->colls && !row->has_waits ? AQ_VIEW_IN_COLL : AQ_VIEW_PROGRAM;
}

static void time_add(row_t *row, int64_t until)
{
    const double from = (double)row->now * row->scale, to = (double)until * row->scale;
    const uint8_t kind = kind_now(row);
    for (uint32_t column = (uint32_t)from; column < row->columns && column < to; column++) {
        const double left = from > column ? from : column;
        const double right = to < column + 1. ? to : column + 1.;
        row->sums[column][kind] += (float)(right - left);
    }
    row->now = until;
}

static bool call_enter(row_t *row, uint8_t kind)
{
    uint8_t *calls = aq_grow(row->calls, row->depth, &row->room, sizeof *calls);
    if (!calls)
        return false;
    row->calls = calls;
    calls[row->depth++] = kind;
    return true;
}

static bool record_take(const aq_view_record_t *record, void *context)
{
    row_t *row = context;
    time_add(row, record->time);
    if (record->step == AQ_VIEW_LEAVE)
        row->depth--;
    row->colls += record->step == AQ_VIEW_COLL_BEGIN;
    row->colls -= record->step == AQ_VIEW_COLL_END;
    if (record->step != AQ_VIEW_ENTER)
        return true;
    const aq_view_kind_t kind = aq_view_kind(record->event, true);
    if (kind == AQ_VIEW_PROGRAM) // of a category that takes no time: what is around it goes on
        return call_enter(row, kind_now(row));
    return call_enter(row,
                      (uint8_t)(kind == AQ_VIEW_IN_WAIT && row->colls ? AQ_VIEW_IN_COLL : kind));
}

static bool thread_add(const aq_view_bins_t *bins, uint32_t thread, row_t *row)
{
    const aq_view_trace_t *trace = bins->trace;
    const size_t first = bins->first[thread], end = bins->first[thread + 1];
    row->now = trace->events[first].start;
    row->depth = row->colls = 0;
    row->has_waits = false;
    for (size_t i = first; i < end && !row->has_waits; i++)
        row->has_waits = trace->events[i].category == AQ_VIEW_WAIT;
    return aq_view_records_pass(trace, first, end, record_take, row);
}

// ---- bins ----

// The kind with the largest sum, of those from first to last.
static uint8_t kind_most(const float sums[AQ_VIEW_KINDS], uint8_t first, uint8_t last)
{
    uint8_t most = AQ_VIEW_NOTHING;
    for (uint8_t kind = first; kind <= last; kind++)
        if (sums[kind] > (most == AQ_VIEW_NOTHING ? 0 : sums[most]))
            most = kind;
    return most;
}

static void column_choose(const aq_view_bins_t *bins, size_t at, const float sums[AQ_VIEW_KINDS])
{
    const uint8_t other = kind_most(sums, AQ_VIEW_SEND, AQ_VIEW_ACCESS);
    bins->kinds[at] = kind_most(sums, 0, AQ_VIEW_KINDS - 1);
    bins->others[at] = other == bins->kinds[at] ? AQ_VIEW_NOTHING : other;
}

static bool rows_fill(aq_view_bins_t *bins, row_t *row)
{
    bool room = true;
    for (uint32_t i = 0; i < bins->rows && room; i++) {
        memset(row->sums, 0, bins->columns * sizeof *row->sums);
        for (uint32_t t = i * bins->block; t < bins->threads && t < (i + 1) * bins->block; t++)
            room = room && thread_add(bins, t, row);
        for (uint32_t column = 0; column < bins->columns; column++)
            column_choose(bins, (size_t)i * bins->columns + column, row->sums[column]);
    }
    return room;
}

static void size_choose(aq_view_bins_t *bins)
{
    bins->block = 1;
    while ((bins->threads + bins->block - 1) / bins->block > AQ_VIEW_ROWS_MAX)
        bins->block *= 2;
    bins->rows = (bins->threads + bins->block - 1) / bins->block;
    bins->columns = (uint32_t)aq_min(AQ_VIEW_COLUMNS_MAX, AQ_VIEW_BINS_MAX / aq_max(1, bins->rows));
    bins->span = aq_view_trace_span(bins->trace);
    bins->span = bins->span > 0 ? bins->span : 1;
}

bool aq_view_bins_make(aq_view_bins_t *bins, const aq_view_trace_t *trace)
{
    *bins = (aq_view_bins_t){.trace = trace};
    if (!threads_find(bins))
        return false;
    size_choose(bins);
    row_t row = {.columns = bins->columns, .scale = (double)bins->columns / (double)bins->span};
    row.sums = calloc(bins->columns, sizeof *row.sums);
    bins->kinds = calloc((size_t)bins->rows + 1, bins->columns);
    bins->others = calloc((size_t)bins->rows + 1, bins->columns);
    const bool room = row.sums && bins->kinds && bins->others && rows_fill(bins, &row);
    free(row.sums);
    free(row.calls);
    return room;
}

void aq_view_bins_free(aq_view_bins_t *bins)
{
    free(bins->first);
    free(bins->kinds);
    free(bins->others);
    *bins = (aq_view_bins_t){0};
}
