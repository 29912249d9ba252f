// SPDX-License-Identifier: BSD-3-Clause
// Sorts sends and handlers by the number of the message and pairs them. The findings
// (view_summary.c) hold the result for summary, page and OTF2.
#include "view_messages.h"

#include <stdlib.h>

static int end_compare(const void *a, const void *b)
{
    const aq_view_event_t *left = *(const aq_view_event_t *const *)a;
    const aq_view_event_t *right = *(const aq_view_event_t *const *)b;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->phase < right->phase ? 1 : left->phase > right->phase ? -1 : 0; // s before f
}

static int message_compare(const void *a, const void *b)
{
    const aq_view_event_t *left = ((const aq_view_message_t *)a)->handled;
    const aq_view_event_t *right = ((const aq_view_message_t *)b)->handled;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return (left->start > right->start) - (left->start < right->start);
}

static bool is_end(const aq_view_event_t *event)
{
    return event->phase == 's' || event->phase == 'f';
}

static void ends_pair(aq_view_messages_t *messages, const aq_view_event_t **ends, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        messages->sent += ends[i]->phase == 's';
        messages->handled += ends[i]->phase == 'f';
        if (i > 0 && ends[i]->phase == 'f' && ends[i - 1]->phase == 's' &&
            ends[i]->id == ends[i - 1]->id)
            messages->messages[messages->count++] = (aq_view_message_t){ends[i - 1], ends[i]};
    }
}

bool aq_view_messages_find(const aq_view_trace_t *trace, aq_view_messages_t *messages)
{
    size_t count = 0;
    *messages = (aq_view_messages_t){0};
    for (size_t i = 0; i < trace->count; i++)
        count += is_end(&trace->events[i]);
    const aq_view_event_t **ends = calloc(count + 1, sizeof *ends);
    messages->messages = calloc(count + 1, sizeof *messages->messages);
    if (ends && messages->messages) {
        size_t at = 0;
        for (size_t i = 0; i < trace->count; i++)
            if (is_end(&trace->events[i]))
                ends[at++] = &trace->events[i];
        qsort(ends, count, sizeof *ends, end_compare);
        ends_pair(messages, ends, count);
        qsort(messages->messages, messages->count, sizeof *messages->messages, message_compare);
    }
    const bool room = ends && messages->messages;
    free(ends);
    return room;
}

void aq_view_messages_free(aq_view_messages_t *messages)
{
    free(messages->messages);
    *messages = (aq_view_messages_t){0};
}

const aq_view_message_t *aq_view_messages_last(const aq_view_messages_t *messages, uint32_t rank,
                                               int64_t from, int64_t to)
{
    size_t low = 0, high = messages->count; // the first one that is later
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const aq_view_event_t *handled = messages->messages[middle].handled;
        if (handled->rank < rank || (handled->rank == rank && handled->start <= to))
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const aq_view_message_t *last = &messages->messages[low - 1];
    return last->handled->rank == rank && last->handled->start >= from ? last : NULL;
}
