// SPDX-License-Identifier: BSD-3-Clause
// The part of a summary about messages: how long they take, and between which ranks.
#include <stdlib.h>

#include "view_summary.h"

enum { PAIRS = 8 }; // rows

typedef struct pair {
    uint32_t from, to;
    size_t count;
    int64_t median, most; // most: 99 of 100 take less
} pair_t;

typedef struct sample {
    uint32_t from, to;
    int64_t latency;
} sample_t;

static int sample_compare(const void *a, const void *b)
{
    const sample_t *left = a, *right = b;
    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    if (left->to != right->to)
        return left->to < right->to ? -1 : 1;
    return (left->latency > right->latency) - (left->latency < right->latency);
}

static int latency_compare(const void *a, const void *b)
{
    const sample_t *left = a, *right = b;
    return (left->latency > right->latency) - (left->latency < right->latency);
}

static int pair_compare(const void *a, const void *b)
{
    const pair_t *left = a, *right = b;
    if (left->median != right->median)
        return left->median < right->median ? 1 : -1;
    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    return (left->to > right->to) - (left->to < right->to);
}

// The latency that so many percent of the sorted samples do not exceed. There is at least one
// sample.
static int64_t quantile(const sample_t *samples, size_t count, unsigned percent)
{
    return samples[(count * percent + 99) / 100 - 1].latency;
}

static size_t pairs_make(const sample_t *samples, size_t count, pair_t *pairs)
{
    size_t made = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && samples[end].from == samples[i].from &&
                      samples[end].to == samples[i].to;)
            end++;
        pairs[made++] =
            (pair_t){samples[i].from, samples[i].to, end - i, quantile(samples + i, end - i, 50),
                     quantile(samples + i, end - i, 99)};
    }
    return made;
}

static void pairs_tell(aq_view_sheet_t *sheet, const sample_t *samples, size_t count)
{
    pair_t *pairs = calloc(count + 1, sizeof *pairs);
    char median[AQ_VIEW_TIME], most[AQ_VIEW_TIME];
    if (!pairs) {
        sheet->failed = true;
        return;
    }
    const size_t made = pairs_make(samples, count, pairs);
    qsort(pairs, made, sizeof *pairs, pair_compare);
    aq_view_sheet_add(sheet, AQ_VIEW_TITLE, "The slowest pairs of ranks");
    aq_view_sheet_add(sheet, AQ_VIEW_HEAD, "from\tto\tmessages\tmedian\t99 %% below");
    for (size_t i = 0; i < made && i < PAIRS; i++)
        aq_view_sheet_add(sheet, AQ_VIEW_ROW, "%u\t%u\t%zu\t%s\t%s", pairs[i].from, pairs[i].to,
                          pairs[i].count, aq_view_time(pairs[i].median, median),
                          aq_view_time(pairs[i].most, most));
    free(pairs);
}

static void all_tell(aq_view_sheet_t *sheet, const sample_t *samples, size_t count)
{
    char median[AQ_VIEW_TIME], most[AQ_VIEW_TIME], longest[AQ_VIEW_TIME];
    size_t early = 0;
    while (early < count && samples[early].latency < 0)
        early++;
    aq_view_sheet_add(sheet, AQ_VIEW_NOTE,
                      "From the send to the handler: median %s, 99 %% below %s, longest %s.",
                      aq_view_time(quantile(samples, count, 50), median),
                      aq_view_time(quantile(samples, count, 99), most),
                      aq_view_time(samples[count - 1].latency, longest));
    if (early)
        aq_view_sheet_add(sheet, AQ_VIEW_NOTE,
                          "%zu of them arrived before they were sent, by up to %s: the clocks of "
                          "their ranks differ.",
                          early, aq_view_time(-samples[0].latency, median));
}

static void samples_take(const aq_view_messages_t *messages, sample_t *samples)
{
    for (size_t i = 0; i < messages->count; i++) {
        const aq_view_message_t *message = &messages->messages[i];
        samples[i] =
            (sample_t){message->sent->rank, message->handled->rank, aq_view_latency(message)};
    }
}

void aq_view_tell_messages(aq_view_sheet_t *sheet, const aq_view_findings_t *findings)
{
    const aq_view_messages_t *messages = &findings->messages;
    sample_t *samples = calloc(messages->count + 1, sizeof *samples);
    if (!samples) {
        sheet->failed = true;
        return;
    }
    aq_view_sheet_add(sheet, AQ_VIEW_TITLE,
                      "%zu messages, of which %zu are in the trace from the send to the handler",
                      messages->sent + messages->handled - messages->count, messages->count);
    samples_take(messages, samples);
    if (messages->count) {
        qsort(samples, messages->count, sizeof *samples, latency_compare);
        all_tell(sheet, samples, messages->count);
        qsort(samples, messages->count, sizeof *samples, sample_compare);
        pairs_tell(sheet, samples, messages->count);
    }
    free(samples);
}
