// SPDX-License-Identifier: BSD-3-Clause
// Checks whether what ranks sent has arrived; gasnet_view matrix prints what disagrees.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "view_matrix.h"

// One agreement: the sum of what the sender counted equals what the receiver counted.
typedef struct agreement {
    const char *name;
    aq_traffic_column_t sent[3]; // added up, before AQ_TRAFFIC_COLUMNS
    aq_traffic_column_t arrived;
} agreement_t;

static const agreement_t agreements[] = {
    {"requests",
     {AQ_TRAFFIC_REQUEST_SHORTS, AQ_TRAFFIC_REQUEST_MEDIUMS, AQ_TRAFFIC_REQUEST_LONGS},
     AQ_TRAFFIC_ARRIVED_REQUESTS},
    {"bytes of requests",
     {AQ_TRAFFIC_REQUEST_BYTES, AQ_TRAFFIC_COLUMNS, AQ_TRAFFIC_COLUMNS},
     AQ_TRAFFIC_ARRIVED_REQUEST_BYTES},
    {"replies",
     {AQ_TRAFFIC_REPLY_SHORTS, AQ_TRAFFIC_REPLY_MEDIUMS, AQ_TRAFFIC_REPLY_LONGS},
     AQ_TRAFFIC_ARRIVED_REPLIES},
    {"bytes of replies",
     {AQ_TRAFFIC_REPLY_BYTES, AQ_TRAFFIC_COLUMNS, AQ_TRAFFIC_COLUMNS},
     AQ_TRAFFIC_ARRIVED_REPLY_BYTES},
    {"messages with two sides",
     {AQ_TRAFFIC_SENDS, AQ_TRAFFIC_COLUMNS, AQ_TRAFFIC_COLUMNS},
     AQ_TRAFFIC_ARRIVED_SENDS},
    {"bytes of messages with two sides",
     {AQ_TRAFFIC_SEND_BYTES, AQ_TRAFFIC_COLUMNS, AQ_TRAFFIC_COLUMNS},
     AQ_TRAFFIC_ARRIVED_SEND_BYTES},
    {"messages on streams",
     {AQ_TRAFFIC_STREAM_MESSAGES, AQ_TRAFFIC_COLUMNS, AQ_TRAFFIC_COLUMNS},
     AQ_TRAFFIC_ARRIVED_STREAM_MESSAGES},
    {"bytes of messages on streams",
     {AQ_TRAFFIC_STREAM_BYTES, AQ_TRAFFIC_COLUMNS, AQ_TRAFFIC_COLUMNS},
     AQ_TRAFFIC_ARRIVED_STREAM_BYTES}};
enum { AGREEMENTS = sizeof agreements / sizeof *agreements };

typedef struct check {
    const aq_view_matrix_t *matrix;
    const bool *wrote; // whether a rank has a line of the end
    void (*tell)(const char *, void *);
    void *context;
    size_t told;
} check_t;

static uint64_t sent_sum(const aq_view_line_t *line, const agreement_t *agreement)
{
    uint64_t sum = 0;
    for (unsigned i = 0; line && i < 3 && agreement->sent[i] < AQ_TRAFFIC_COLUMNS; i++)
        sum += line->column[agreement->sent[i]];
    return sum;
}

static void pair_check(check_t *check, uint64_t from, uint64_t to, const aq_view_line_t *sender,
                       const aq_view_line_t *receiver)
{
    if (!check->wrote[from] || !check->wrote[to])
        return;
    for (unsigned i = 0; i < AGREEMENTS; i++) {
        const uint64_t sent = sent_sum(sender, &agreements[i]);
        const uint64_t arrived = receiver ? receiver->column[agreements[i].arrived] : 0;
        char text[256];
        if (sent == arrived)
            continue;
        snprintf(text, sizeof text,
                 "rank %" PRIu64 " sent %" PRIu64 " %s to rank %" PRIu64 ", of which %" PRIu64
                 " arrived",
                 from, sent, agreements[i].name, to, arrived);
        check->tell(text, check->context);
        check->told++;
    }
}

static void line_check(check_t *check, const aq_view_line_t *line)
{
    const uint64_t from = line->column[AQ_TRAFFIC_FROM], to = line->column[AQ_TRAFFIC_TO];
    const aq_view_line_t *back = aq_view_matrix_find(check->matrix, to, from);
    pair_check(check, from, to, line, back);
    if (!back) // otherwise its own turn checks what it sent
        pair_check(check, to, from, NULL, line);
}

size_t aq_view_matrix_check(const aq_view_matrix_t *matrix, void (*tell)(const char *, void *),
                            void *context)
{
    bool *wrote = calloc(matrix->ranks + 1, sizeof *wrote);
    check_t check = {matrix, wrote, tell, context, 0};
    for (size_t i = 0; wrote && i < matrix->count; i++)
        if (matrix->lines[i].column[AQ_TRAFFIC_SNAPSHOT] == 0)
            wrote[matrix->lines[i].column[AQ_TRAFFIC_FROM]] = true;
    for (size_t i = 0; wrote && i < matrix->count; i++)
        line_check(&check, &matrix->lines[i]);
    free(wrote);
    return check.told;
}
