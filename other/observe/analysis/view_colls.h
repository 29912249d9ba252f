// SPDX-License-Identifier: BSD-3-Clause
// The collectives of a trace: which rank came last, and how long the others waited for it.
#pragma once

#include "../input/view_trace.h"

// One collective of all ranks that have it in the trace.
typedef struct aq_view_coll {
    const aq_view_event_t *first, *last; // arrivals
    size_t arrivals;
    int64_t lost; // what all ranks together waited for the last one
} aq_view_coll_t;

typedef struct aq_view_colls {
    aq_view_coll_t *colls; // those with the latest last arrival first
    size_t count;
    const aq_view_event_t **arrivals;
    size_t arrival_count;
} aq_view_colls_t;

// False: memory is out.
bool aq_view_colls_find(const aq_view_trace_t *trace, aq_view_colls_t *colls);

// The collective that an arrival belongs to, or NULL.
const aq_view_coll_t *aq_view_colls_of(const aq_view_colls_t *colls,
                                       const aq_view_event_t *arrival);

void aq_view_colls_free(aq_view_colls_t *colls);
