// SPDX-License-Identifier: BSD-3-Clause
// Sorts the arrivals of all ranks so that those at the same collective stand together. The findings
// (view_summary.c) hold the result for summary, picture and OTF2.
#include "view_colls.h"

#include <stdlib.h>

// Arrivals at the same collective beside each other, in the order of their times.
static int coll_compare(const aq_view_event_t *left, const aq_view_event_t *right)
{
    if (left->name != right->name)
        return left->name < right->name ? -1 : 1;
    if (left->team != right->team)
        return left->team < right->team ? -1 : 1;
    return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

static int arrival_compare(const void *a, const void *b)
{
    const aq_view_event_t *left = *(const aq_view_event_t *const *)a;
    const aq_view_event_t *right = *(const aq_view_event_t *const *)b;
    const int order = coll_compare(left, right);
    if (order != 0)
        return order;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static int64_t spread(const aq_view_coll_t *coll)
{
    return coll->last->start - coll->first->start;
}

static int spread_compare(const void *a, const void *b)
{
    const aq_view_coll_t *left = a, *right = b;
    if (spread(left) != spread(right))
        return spread(left) < spread(right) ? 1 : -1;
    return (left->first > right->first) - (left->first < right->first);
}

static void colls_group(aq_view_colls_t *colls)
{
    for (size_t i = 0, end; i < colls->arrival_count; i = end) {
        aq_view_coll_t coll = {.first = colls->arrivals[i]};
        for (end = i;
             end < colls->arrival_count && coll_compare(coll.first, colls->arrivals[end]) == 0;)
            end++;
        coll.last = colls->arrivals[end - 1];
        coll.arrivals = end - i;
        for (size_t k = i; k < end; k++)
            coll.lost += coll.last->start - colls->arrivals[k]->start;
        colls->colls[colls->count++] = coll;
    }
}

bool aq_view_colls_find(const aq_view_trace_t *trace, aq_view_colls_t *colls)
{
    *colls = (aq_view_colls_t){0};
    for (size_t i = 0; i < trace->count; i++)
        colls->arrival_count +=
            trace->events[i].category == AQ_VIEW_COLL && trace->events[i].phase == 'X';
    colls->arrivals = calloc(colls->arrival_count + 1, sizeof *colls->arrivals);
    colls->colls = calloc(colls->arrival_count + 1, sizeof *colls->colls);
    if (!colls->arrivals || !colls->colls)
        return false;
    size_t at = 0;
    for (size_t i = 0; i < trace->count; i++)
        if (trace->events[i].category == AQ_VIEW_COLL && trace->events[i].phase == 'X')
            colls->arrivals[at++] = &trace->events[i];
    qsort(colls->arrivals, at, sizeof *colls->arrivals, arrival_compare);
    colls_group(colls);
    qsort(colls->colls, colls->count, sizeof *colls->colls, spread_compare);
    return true;
}

const aq_view_coll_t *aq_view_colls_of(const aq_view_colls_t *colls, const aq_view_event_t *arrival)
{
    for (size_t i = 0; i < colls->count; i++)
        if (coll_compare(colls->colls[i].last, arrival) == 0)
            return &colls->colls[i];
    return NULL;
}

void aq_view_colls_free(aq_view_colls_t *colls)
{
    free(colls->arrivals);
    free(colls->colls);
    *colls = (aq_view_colls_t){0};
}
