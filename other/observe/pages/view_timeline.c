// SPDX-License-Identifier: BSD-3-Clause
// Writes rows, events and messages as data of the page's script; of a long trace only the longest
// events, with a note about the others.
#include "view_timeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// The kinds of events, in the order of KINDS in the script.
typedef enum page_kind {
    PAGE_SEND,
    PAGE_HANDLER,
    PAGE_ACCESS,
    PAGE_COLL,
    PAGE_WAIT,
    PAGE_NET,
    PAGE_FIREHOSE,
    PAGE_USER,
    PAGE_BACK // began and ended by different calls
} page_kind_t;

typedef struct timeline {
    FILE *stream;
    const aq_view_trace_t *trace;
    int64_t shortest; // events that are written
    size_t left_out;
    const char *comma;
} timeline_t;

// Inside of a script no text may end it.
static void text_write(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || strchr("\"\\<>&", *text))
            fprintf(stream, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, stream);
    fputc('"', stream);
}

static page_kind_t kind_of(const aq_view_event_t *event)
{
    static const page_kind_t kinds[AQ_VIEW_CATEGORIES] = {
        [AQ_VIEW_AM] = PAGE_SEND,   [AQ_VIEW_RMA] = PAGE_ACCESS, [AQ_VIEW_COLL] = PAGE_COLL,
        [AQ_VIEW_WAIT] = PAGE_WAIT, [AQ_VIEW_NET] = PAGE_NET,    [AQ_VIEW_FIREHOSE] = PAGE_FIREHOSE,
        [AQ_VIEW_USER] = PAGE_USER};
    if (event->phase == 'b')
        return PAGE_BACK;
    return event->handler ? PAGE_HANDLER : kinds[event->category];
}

// ---- the longest ones ----

static int length_compare(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left < right) - (left > right);
}

// The length above which at most `most` of the lengths are. Sorts them.
static int64_t lengths_limit(int64_t *lengths, size_t count, size_t most)
{
    if (count <= most)
        return INT64_MIN;
    qsort(lengths, count, sizeof *lengths, length_compare);
    return lengths[most] + 1;
}

static bool is_drawn(const aq_view_event_t *event)
{
    return event->phase == 'X' || event->phase == 'i' || event->phase == 'b';
}

static bool limit_find(timeline_t *timeline)
{
    const aq_view_trace_t *trace = timeline->trace;
    int64_t *lengths = calloc(trace->count + 1, sizeof *lengths);
    size_t count = 0;
    if (!lengths)
        return false;
    for (size_t i = 0; i < trace->count; i++)
        if (is_drawn(&trace->events[i]))
            lengths[count++] = trace->events[i].length;
    timeline->shortest = lengths_limit(lengths, count, AQ_VIEW_EVENTS_MAX);
    free(lengths);
    return true;
}

// ---- rows: a thread each ----

static bool row_begins(const aq_view_trace_t *trace, size_t i)
{
    const aq_view_event_t *event = &trace->events[i];
    return i == 0 || event->rank != event[-1].rank || event->thread != event[-1].thread;
}

static void rows_write(timeline_t *timeline)
{
    const aq_view_trace_t *trace = timeline->trace;
    const char *comma = "";
    fputs("\"rows\":[", timeline->stream);
    for (size_t i = 0; i < trace->count; i++) {
        const aq_view_event_t *event = &trace->events[i];
        if (!row_begins(trace, i))
            continue;
        const bool several = trace->events[trace->first[event->rank]].thread !=
                             trace->events[trace->first[event->rank + 1] - 1].thread;
        fprintf(timeline->stream, "%s\n[%u,%u,\"rank %u", comma, event->rank, event->thread,
                event->rank);
        if (several)
            fprintf(timeline->stream, ".%u", event->thread);
        fputs("\"]", timeline->stream);
        comma = ",";
    }
    fputs("],\n", timeline->stream);
}

static void event_write(timeline_t *timeline, size_t row, const aq_view_event_t *event)
{
    if (event->length < timeline->shortest) {
        timeline->left_out++;
        return;
    }
    fprintf(timeline->stream, "%s%zu,%" PRId64 ",%" PRId64 ",%d,%u,%" PRId64 ",%" PRIu64 "\n",
            timeline->comma, row, event->start, event->length, (int)kind_of(event), event->name,
            event->peer == AQ_VIEW_NO_RANK ? -1 : (int64_t)event->peer, event->bytes);
    timeline->comma = ",";
}

// Notes the row of each event for the messages.
static void events_write(timeline_t *timeline, uint32_t *row_of)
{
    const aq_view_trace_t *trace = timeline->trace;
    size_t row = 0;
    fputs("\"events\":[\n", timeline->stream);
    for (size_t i = 0; i < trace->count; i++) {
        row += i > 0 && row_begins(trace, i);
        row_of[i] = (uint32_t)row;
        if (is_drawn(&trace->events[i]))
            event_write(timeline, row, &trace->events[i]);
    }
    fputs("],\n", timeline->stream);
}

static bool messages_write(timeline_t *timeline, const aq_view_messages_t *messages,
                           const uint32_t *row_of)
{
    const aq_view_event_t *events = timeline->trace->events;
    int64_t *lengths = calloc(messages->count + 1, sizeof *lengths);
    const char *comma = "";
    if (!lengths)
        return false;
    for (size_t i = 0; i < messages->count; i++)
        lengths[i] = aq_view_latency(&messages->messages[i]);
    const int64_t shortest = lengths_limit(lengths, messages->count, AQ_VIEW_MESSAGES_MAX);
    fputs("\"messages\":[\n", timeline->stream);
    for (size_t i = 0; i < messages->count; i++) {
        const aq_view_message_t *message = &messages->messages[i];
        if (aq_view_latency(message) < shortest)
            continue;
        fprintf(timeline->stream, "%s%u,%" PRId64 ",%u,%" PRId64 "\n", comma,
                row_of[message->sent - events], message->sent->start,
                row_of[message->handled - events], message->handled->start);
        comma = ",";
    }
    fputs("],\n", timeline->stream);
    free(lengths);
    return true;
}

static void names_write(timeline_t *timeline)
{
    fputs("\"names\":[", timeline->stream);
    for (size_t i = 0; i < timeline->trace->name_count; i++) {
        fputs(i ? "," : "", timeline->stream);
        text_write(timeline->stream, timeline->trace->names[i]);
    }
    fputs("],\n", timeline->stream);
}

static void note_write(timeline_t *timeline)
{
    char length[AQ_VIEW_TIME];
    fputs("\"note\":\"", timeline->stream);
    if (timeline->left_out)
        fprintf(timeline->stream,
                "; %zu events shorter than %s are not in this page, but in the summary",
                timeline->left_out, aq_view_time(timeline->shortest, length));
    fputs("\"}\n", timeline->stream);
}

bool aq_view_timeline_write(FILE *stream, const aq_view_findings_t *findings)
{
    timeline_t timeline = {.stream = stream, .trace = findings->trace, .comma = ""};
    uint32_t *row_of = calloc(findings->trace->count + 1, sizeof *row_of);
    bool room = row_of && limit_find(&timeline);
    if (room) {
        fprintf(stream, "{\"span\":%" PRId64 ",\n", aq_view_trace_span(findings->trace));
        rows_write(&timeline);
        names_write(&timeline);
        events_write(&timeline, row_of);
        room = messages_write(&timeline, &findings->messages, row_of);
        note_write(&timeline);
    }
    free(row_of);
    return room;
}
