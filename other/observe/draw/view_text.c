// SPDX-License-Identifier: BSD-3-Clause
// The report of gasnet_view matrix on the terminal; and the escapes of XML for everything else that
// is drawn.
#include "view_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../../base/minmax.h"
#include "view_scale.h"

enum { PAIRS = 10, RANKS = 64 }; // that are printed at most

void aq_view_xml_write(FILE *stream, const char *text)
{
    for (; *text; text++)
        if (*text == '<' || *text == '>' || *text == '&' || *text == '"' || *text == '\'')
            fprintf(stream, "&#%d;", *text);
        else if ((unsigned char)*text >= ' ' || *text == '\n')
            fputc(*text, stream);
}

typedef struct rank_sum {
    uint32_t rank;
    uint64_t from, to;
} rank_sum_t;

typedef struct report {
    FILE *stream;
    const aq_view_matrix_t *matrix;
    aq_view_what_t what;
    rank_sum_t *sums;     // of each rank
    size_t *order;        // of the lines, the largest first
    uint64_t total, away; // away: between hosts
} report_t;

static const report_t *sorted; // what a comparison looks at

static int line_compare(const void *a, const void *b)
{
    const aq_view_line_t *lines = sorted->matrix->lines;
    const size_t left = *(const size_t *)a, right = *(const size_t *)b;
    const uint64_t x = aq_view_value(&lines[left], sorted->what);
    const uint64_t y = aq_view_value(&lines[right], sorted->what);
    return x != y ? (x < y ? 1 : -1) : (left > right) - (left < right);
}

static int sum_compare(const void *a, const void *b)
{
    const rank_sum_t *left = a, *right = b;
    if (left->from != right->from)
        return left->from < right->from ? 1 : -1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static const char *amount(const report_t *report, uint64_t value, char text[AQ_VIEW_TEXT])
{
    return aq_view_number(value, report->what == AQ_VIEW_BYTES, false, text);
}

static void report_sum(report_t *report)
{
    for (uint32_t rank = 0; rank < report->matrix->ranks; rank++)
        report->sums[rank].rank = rank;
    for (size_t i = 0; i < report->matrix->count; i++) {
        const aq_view_line_t *line = &report->matrix->lines[i];
        const uint64_t value = aq_view_value(line, report->what);
        report->order[i] = i;
        report->sums[line->column[AQ_TRAFFIC_FROM]].from += value;
        report->sums[line->column[AQ_TRAFFIC_TO]].to += value;
        report->total += value;
        if (line->column[AQ_TRAFFIC_FROM_HOST] != line->column[AQ_TRAFFIC_TO_HOST])
            report->away += value;
    }
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100. * (double)part / (double)whole : 0;
}

static void totals_write(const report_t *report)
{
    char all[AQ_VIEW_TEXT], away[AQ_VIEW_TEXT];
    fprintf(report->stream, "%u ranks on %u host%s: %s, in all %s, between hosts %s (%.1f %%)\n",
            report->matrix->ranks, report->matrix->hosts, report->matrix->hosts == 1 ? "" : "s",
            aq_view_what_names[report->what], amount(report, report->total, all),
            amount(report, report->away, away), percent(report->away, report->total));
    if (!report->matrix->at_end)
        fputs("Some of these lines are of a snapshot: the job had not ended everywhere.\n",
              report->stream);
}

static void pairs_write(const report_t *report)
{
    char text[AQ_VIEW_TEXT];
    fprintf(report->stream, "\nThe largest pairs\n%8s %8s %12s %9s\n", "from", "to",
            aq_view_what_names[report->what], "of all");
    for (size_t i = 0; i < aq_min(PAIRS, report->matrix->count); i++) {
        const aq_view_line_t *line = &report->matrix->lines[report->order[i]];
        const uint64_t value = aq_view_value(line, report->what);
        if (value)
            fprintf(report->stream, "%8" PRIu64 " %8" PRIu64 " %12s %7.1f %%\n",
                    line->column[AQ_TRAFFIC_FROM], line->column[AQ_TRAFFIC_TO],
                    amount(report, value, text), percent(value, report->total));
    }
}

static void ranks_write(const report_t *report)
{
    const uint32_t count = (uint32_t)aq_min(RANKS, report->matrix->ranks);
    char from[AQ_VIEW_TEXT], to[AQ_VIEW_TEXT], host[AQ_VIEW_TEXT];
    fprintf(report->stream, "\nSums of %s%u ranks, the largest first\n%8s %8s %12s %12s\n",
            count < report->matrix->ranks ? "the first " : "", count, "rank", "host", "by it",
            "with it");
    for (uint32_t i = 0; i < count; i++) {
        const rank_sum_t *sum = &report->sums[i];
        snprintf(host, sizeof host, "%u", report->matrix->host[sum->rank]);
        fprintf(report->stream, "%8u %8s %12s %12s\n", sum->rank,
                report->matrix->host[sum->rank] == AQ_VIEW_NO_HOST ? "-" : host,
                amount(report, sum->from, from), amount(report, sum->to, to));
    }
}

static void balance_write(const report_t *report)
{
    const double mean = (double)report->total / report->matrix->ranks;
    if (mean > 0)
        fprintf(report->stream,
                "\nImbalance: rank %u has the most, %.2f times the mean of a rank.\n",
                report->sums[0].rank, (double)report->sums[0].from / mean);
}

bool aq_view_text_write(FILE *stream, const aq_view_matrix_t *matrix, aq_view_what_t what)
{
    report_t report = {.stream = stream, .matrix = matrix, .what = what};
    report.sums = calloc(matrix->ranks + 1, sizeof *report.sums);
    report.order = calloc(matrix->count + 1, sizeof *report.order);
    const bool room = report.sums && report.order;
    if (room) {
        report_sum(&report);
        sorted = &report;
        qsort(report.order, matrix->count, sizeof *report.order, line_compare);
        qsort(report.sums, matrix->ranks, sizeof *report.sums, sum_compare);
        totals_write(&report);
        pairs_write(&report);
        ranks_write(&report);
        balance_write(&report);
    }
    free(report.sums);
    free(report.order);
    return room;
}
