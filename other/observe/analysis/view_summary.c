// SPDX-License-Identifier: BSD-3-Clause
// Makes the findings on which all results of a trace rest, and the tables about the whole trace,
// times and operations; view_late.c and view_latency.c add the others.
#include "view_summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view_times.h"

enum { MOST_RANKS = 32, SOME_RANKS = 16, OPERATIONS = 16 }; // rows

bool aq_view_findings_make(aq_view_findings_t *findings, const aq_view_trace_t *trace)
{
    findings->trace = trace;
    return aq_view_colls_find(trace, &findings->colls) &&
           aq_view_messages_find(trace, &findings->messages);
}

void aq_view_findings_free(aq_view_findings_t *findings)
{
    aq_view_colls_free(&findings->colls);
    aq_view_messages_free(&findings->messages);
}

// ---- the trace as a whole ----

typedef struct origins_sum {
    uint32_t ranks, most_dropped; // most_dropped: a rank
    uint64_t dropped;
    int64_t clock_error;
} origins_sum_t;

static origins_sum_t origins_add(const aq_view_trace_t *trace)
{
    origins_sum_t sum = {0};
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        const aq_view_origin_t *origin = &trace->origins[rank];
        sum.ranks += origin->known;
        sum.dropped += origin->dropped;
        if (origin->dropped > trace->origins[sum.most_dropped].dropped)
            sum.most_dropped = rank;
        if (origin->clock_error > sum.clock_error)
            sum.clock_error = origin->clock_error;
    }
    return sum;
}

static void tell_trace(aq_view_sheet_t *sheet, const aq_view_findings_t *findings)
{
    const aq_view_trace_t *trace = findings->trace;
    const origins_sum_t sum = origins_add(trace);
    char text[AQ_VIEW_TIME];
    aq_view_sheet_add(sheet, AQ_VIEW_TITLE, "%u of %u ranks, %zu events in %s", sum.ranks,
                      trace->ranks, trace->count, aq_view_time(aq_view_trace_span(trace), text));
    if (sum.dropped)
        aq_view_sheet_add(sheet, AQ_VIEW_NOTE,
                          "%" PRIu64 " events were dropped, most of them by rank %u (%" PRIu64
                          "); the oldest ones are missing; trace less, or raise GASNET_TRACE_SIZE.",
                          sum.dropped, sum.most_dropped, trace->origins[sum.most_dropped].dropped);
    else
        aq_view_sheet_add(sheet, AQ_VIEW_NOTE, "No event was dropped.");
    if (sum.clock_error)
        aq_view_sheet_add(sheet, AQ_VIEW_NOTE, "The clocks of ranks are wrong by at most %s.",
                          aq_view_time(sum.clock_error, text));
    if (trace->cut)
        aq_view_sheet_add(sheet, AQ_VIEW_NOTE,
                          "The file ends in the middle of a line: what followed is missing.");
}

// ---- time by kind ----

typedef struct rank_times {
    uint32_t rank;
    aq_view_times_t times;
    int64_t all, waits;
} rank_times_t;

static int waits_compare(const void *a, const void *b)
{
    const rank_times_t *left = a, *right = b;
    if (left->waits != right->waits)
        return left->waits < right->waits ? 1 : -1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static bool rank_measure(const aq_view_trace_t *trace, uint32_t rank, rank_times_t *row)
{
    int64_t from = INT64_MAX, to = 0;
    for (size_t i = trace->first[rank]; i < trace->first[rank + 1]; i++) {
        const aq_view_event_t *event = &trace->events[i];
        from = event->start < from ? event->start : from;
        to = event->start + event->length > to ? event->start + event->length : to;
    }
    *row = (rank_times_t){.rank = rank};
    if (from >= to)
        return true;
    if (!aq_view_times_of(trace, rank, AQ_VIEW_ALL_THREADS, from, to, &row->times))
        return false;
    for (unsigned kind = 0; kind < AQ_VIEW_KINDS; kind++)
        row->all += row->times.ns[kind];
    row->waits = row->times.ns[AQ_VIEW_IN_COLL] + row->times.ns[AQ_VIEW_IN_WAIT];
    return true;
}

static void times_row(aq_view_sheet_t *sheet, const rank_times_t *row)
{
    char text[AQ_VIEW_TIME];
    const double all = row->all > 0 ? (double)row->all / 100 : 1;
    const int64_t *ns = row->times.ns;
    aq_view_sheet_add(sheet, AQ_VIEW_ROW,
                      "%u\t%s\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f %%", row->rank,
                      aq_view_time(row->all, text), (double)ns[AQ_VIEW_PROGRAM] / all,
                      (double)ns[AQ_VIEW_SEND] / all, (double)ns[AQ_VIEW_HANDLER] / all,
                      (double)ns[AQ_VIEW_ACCESS] / all, (double)ns[AQ_VIEW_IN_COLL] / all,
                      (double)ns[AQ_VIEW_IN_WAIT] / all);
}

static void times_write(aq_view_sheet_t *sheet, rank_times_t *rows, uint32_t count)
{
    const bool some = count > MOST_RANKS;
    aq_view_sheet_add(sheet, AQ_VIEW_TITLE, "Time of threads by what they did%s",
                      some ? ": the ranks that waited longest" : "");
    aq_view_sheet_add(sheet, AQ_VIEW_HEAD,
                      "rank\ttime\tprogram\tsend\thandler\taccess\tcoll\twait");
    if (some)
        qsort(rows, count, sizeof *rows, waits_compare);
    for (uint32_t i = 0; i < (some ? SOME_RANKS : count); i++)
        times_row(sheet, &rows[i]);
    aq_view_sheet_add(sheet, AQ_VIEW_NOTE,
                      "program: outside of the library; access: puts, gets and atomics; coll: "
                      "waits while a collective is under way; wait: other waits");
}

static void tell_times(aq_view_sheet_t *sheet, const aq_view_findings_t *findings)
{
    const aq_view_trace_t *trace = findings->trace;
    rank_times_t *rows = calloc(trace->ranks + 1, sizeof *rows);
    uint32_t count = 0;
    bool room = rows != NULL;
    for (uint32_t rank = 0; room && rank < trace->ranks; rank++)
        if (trace->first[rank + 1] > trace->first[rank])
            room = rank_measure(trace, rank, &rows[count++]);
    if (room)
        times_write(sheet, rows, count);
    sheet->failed = sheet->failed || !room;
    free(rows);
}

// ---- operations ----

typedef struct operation {
    const char *name;
    uint64_t count, bytes;
    int64_t all, longest;
} operation_t;

static int operation_compare(const void *a, const void *b)
{
    const operation_t *left = a, *right = b;
    if (left->all != right->all)
        return left->all < right->all ? 1 : -1;
    return strcmp(left->name, right->name);
}

static void operations_add(const aq_view_trace_t *trace, operation_t *rows)
{
    for (size_t i = 0; i < trace->name_count; i++)
        rows[i].name = trace->names[i];
    for (size_t i = 0; i < trace->count; i++) {
        const aq_view_event_t *event = &trace->events[i];
        operation_t *row = &rows[event->name];
        if (event->phase != 'X' && event->phase != 'b')
            continue;
        row->count++;
        row->bytes += event->bytes;
        row->all += event->length;
        row->longest = event->length > row->longest ? event->length : row->longest;
    }
}

static void tell_operations(aq_view_sheet_t *sheet, const aq_view_findings_t *findings)
{
    const aq_view_trace_t *trace = findings->trace;
    operation_t *rows = calloc(trace->name_count + 1, sizeof *rows);
    char all[AQ_VIEW_TIME], mean[AQ_VIEW_TIME], longest[AQ_VIEW_TIME];
    if (!rows) {
        sheet->failed = true;
        return;
    }
    operations_add(trace, rows);
    qsort(rows, trace->name_count, sizeof *rows, operation_compare);
    aq_view_sheet_add(sheet, AQ_VIEW_TITLE, "What took most time, from its begin to its end");
    aq_view_sheet_add(sheet, AQ_VIEW_HEAD, "times\tbytes\tall\tmean\tlongest\twhat");
    for (size_t i = 0; i < trace->name_count && i < OPERATIONS && rows[i].count; i++)
        aq_view_sheet_add(sheet, AQ_VIEW_ROW, "%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t%s\t%s",
                          rows[i].count, rows[i].bytes, aq_view_time(rows[i].all, all),
                          aq_view_time(rows[i].all / (int64_t)rows[i].count, mean),
                          aq_view_time(rows[i].longest, longest), rows[i].name);
    free(rows);
}

void aq_view_summarize(aq_view_sheet_t *sheet, const aq_view_findings_t *findings)
{
    tell_trace(sheet, findings);
    tell_times(sheet, findings);
    tell_operations(sheet, findings);
    aq_view_tell_late(sheet, findings);
    aq_view_tell_paths(sheet, findings);
    aq_view_tell_messages(sheet, findings);
}
