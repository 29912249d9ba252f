// SPDX-License-Identifier: BSD-3-Clause
// Derives the matrix that gasnet_view trace shows beside the timeline, if the user names no file of
// one.
#include "view_matrix_trace.h"

#include <stdlib.h>
#include <string.h>

static aq_traffic_column_t rma_column(const char *name)
{
    const bool vis = strncmp(name, "VIS", 3) == 0;
    if (strstr(name, "put"))
        return vis ? AQ_TRAFFIC_VIS_PUTS : AQ_TRAFFIC_PUTS;
    if (strstr(name, "get"))
        return vis ? AQ_TRAFFIC_VIS_GETS : AQ_TRAFFIC_GETS;
    return AQ_TRAFFIC_ATOMICS;
}

// The column that counts a message, by the name of its send.
static aq_traffic_column_t message_column(const char *name)
{
    if (strcmp(name, "stream send") == 0)
        return AQ_TRAFFIC_STREAM_MESSAGES;
    return strcmp(name, "send") == 0 || strcmp(name, "large send") == 0 ? AQ_TRAFFIC_SENDS
                                                                        : AQ_TRAFFIC_REQUEST_SHORTS;
}

// Finds the columns that an event adds to: for its number and for its bytes.
static bool columns_find(const aq_view_trace_t *trace, const aq_view_event_t *event,
                         aq_traffic_column_t *number, aq_traffic_column_t *bytes)
{
    const char *name = trace->names[event->name];
    const bool begins = event->phase == 'X' || event->phase == 'b';
    const bool sends = event->category == AQ_VIEW_AM;
    if (!begins || event->handler || event->peer == AQ_VIEW_NO_RANK ||
        (!sends && event->category != AQ_VIEW_RMA))
        return false;
    *number = sends ? message_column(name) : rma_column(name);
    *bytes = *number == AQ_TRAFFIC_REQUEST_SHORTS ? AQ_TRAFFIC_REQUEST_BYTES
                                                  : *number + 1; // an atomic has none
    return true;
}

// Adds what one rank did to its lines; lines: of each peer, zero before and after.
static bool rank_add(aq_view_matrix_t *matrix, const aq_view_trace_t *trace, uint32_t rank,
                     aq_view_line_t *lines)
{
    aq_traffic_column_t number, bytes;
    bool room = true;
    for (size_t i = trace->first[rank]; i < trace->first[rank + 1]; i++) {
        const aq_view_event_t *event = &trace->events[i];
        if (!columns_find(trace, event, &number, &bytes))
            continue;
        aq_view_line_t *line = &lines[event->peer];
        line->number = 1;
        line->column[number]++;
        line->column[bytes] += number == AQ_TRAFFIC_ATOMICS ? 0 : event->bytes;
    }
    for (uint32_t peer = 0; peer < trace->ranks && room; peer++) {
        if (!lines[peer].number)
            continue;
        lines[peer].column[AQ_TRAFFIC_FROM] = rank;
        lines[peer].column[AQ_TRAFFIC_TO] = peer;
        lines[peer].column[AQ_TRAFFIC_FROM_HOST] = trace->origins[rank].host;
        lines[peer].column[AQ_TRAFFIC_TO_HOST] = trace->origins[peer].host;
        room = aq_view_matrix_add(matrix, &lines[peer]);
        lines[peer] = (aq_view_line_t){0};
    }
    return room;
}

bool aq_view_matrix_of_trace(aq_view_matrix_t *matrix, const aq_view_trace_t *trace)
{
    static const char *const files[] = {"the trace"};
    aq_view_line_t *lines = calloc(trace->ranks + 1, sizeof *lines);
    char why[256];
    bool room = lines != NULL;
    matrix->files = files;
    for (uint32_t rank = 0; room && rank < trace->ranks; rank++)
        room = rank_add(matrix, trace, rank, lines);
    free(lines);
    return room &&
           (matrix->count == 0 || aq_view_matrix_finish(matrix, AQ_VIEW_LATEST, why, sizeof why));
}
