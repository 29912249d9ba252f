// SPDX-License-Identifier: BSD-3-Clause
// A traffic matrix in memory: the lines of files (traffic_format.h), and sums of them.
//
// What is always true after aq_view_matrix_finish:
// - The lines are sorted by "from" and "to", and a pair has at most one line.
// - ranks is one more than the largest rank of a line, and at most AQ_VIEW_RANKS.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../format/traffic_format.h"

#define AQ_VIEW_RANKS (1 << 20) // as jobs have at most
#define AQ_VIEW_NO_HOST UINT32_MAX
enum { AQ_VIEW_LATEST = -1 };

typedef struct aq_view_line {
    uint64_t column[AQ_TRAFFIC_COLUMNS];
    uint32_t file, number; // where the line stands; number: from 1
} aq_view_line_t;

typedef struct aq_view_matrix {
    aq_view_line_t *lines;
    size_t count, room;
    uint32_t ranks, hosts;
    uint32_t *host;           // of each rank, or AQ_VIEW_NO_HOST
    const char *const *files; // the names, for messages
    bool at_end;              // all lines are of the end of the job
} aq_view_matrix_t;

// What a picture shows.
typedef enum aq_view_what {
    AQ_VIEW_BYTES,
    AQ_VIEW_MESSAGES,
    AQ_VIEW_PUTS,
    AQ_VIEW_GETS,
    AQ_VIEW_ATOMICS,
    AQ_VIEW_VECTORS,
    AQ_VIEW_SENDS,
    AQ_VIEW_STREAMS,
    AQ_VIEW_COLLECTIVES,
    AQ_VIEW_NO_ROOM,
    AQ_VIEW_RESENT,
    AQ_VIEW_WHATS
} aq_view_what_t;
extern const char *const aq_view_what_names[AQ_VIEW_WHATS]; // "bytes", "messages" ...

// The value of a line for such a picture.
uint64_t aq_view_value(const aq_view_line_t *line, aq_view_what_t what);

// Adds a line. False: memory is out.
bool aq_view_matrix_add(aq_view_matrix_t *matrix, const aq_view_line_t *line);

// Keeps the lines of one snapshot (0: of the end), or with AQ_VIEW_LATEST for each rank those of
// the end, or else of its last snapshot. Returns false, with a sentence in errbuf, if none is left,
// if two lines contradict each other, or if memory is out.
bool aq_view_matrix_finish(aq_view_matrix_t *matrix, int64_t snapshot, char *errbuf,
                           size_t errbuf_size);

// The line of a pair, or NULL.
const aq_view_line_t *aq_view_matrix_find(const aq_view_matrix_t *matrix, uint64_t from,
                                          uint64_t to);

// Calls tell with a sentence for each number that two ranks disagree on: sent by one, arrived at
// the other. Returns how many. Ranks without any line of the end have none to disagree with.
size_t aq_view_matrix_check(const aq_view_matrix_t *matrix,
                            void (*tell)(const char *sentence, void *context), void *context);

void aq_view_matrix_free(aq_view_matrix_t *matrix);
