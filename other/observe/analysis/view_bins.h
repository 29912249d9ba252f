// SPDX-License-Identifier: BSD-3-Clause
// The timeline of a trace for a picture of limited width: for each row and column, what took most
// of the time.
#pragma once

#include "view_times.h"

enum {
    AQ_VIEW_ROWS_MAX = 256,
    AQ_VIEW_COLUMNS_MAX = 1100,
    AQ_VIEW_BINS_MAX = 45056,       // bounds the size of the picture: 64 rows of 704 columns
    AQ_VIEW_NOTHING = AQ_VIEW_KINDS // before the first event of a thread, and after its last
};

typedef struct aq_view_bins {
    const aq_view_trace_t *trace;
    size_t *first;        // the first event of each thread; first[threads] is trace->count
    uint32_t threads;     // of all ranks
    uint32_t rows, block; // block: threads that a row joins
    uint32_t columns;
    int64_t span;    // of all columns, in ns; at least 1
    uint8_t *kinds;  // aq_view_kind_t or AQ_VIEW_NOTHING, in rows
    uint8_t *others; // the same: sends, handlers and accesses that took less than that
} aq_view_bins_t;

// The trace must stay while the bins are used. False: memory is out. Free them in any case.
bool aq_view_bins_make(aq_view_bins_t *bins, const aq_view_trace_t *trace);
void aq_view_bins_free(aq_view_bins_t *bins);

// The row that has an event of the trace.
uint32_t aq_view_bins_row(const aq_view_bins_t *bins, const aq_view_event_t *event);

// The rank of the first thread of a row.
uint32_t aq_view_bins_rank(const aq_view_bins_t *bins, uint32_t row);
