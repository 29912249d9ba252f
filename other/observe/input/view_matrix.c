// SPDX-License-Identifier: BSD-3-Clause
// Sorts the lines of a matrix, chooses those of a snapshot, and finds the hosts. Text, picture and
// the check of both sides (view_check.c) read it.
#include "view_matrix.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/grow.h"
#include "../../base/minmax.h"

const char *const aq_view_what_names[AQ_VIEW_WHATS] = {
    "bytes", "messages", "puts",        "gets",    "atomics", "vectors",
    "sends", "streams",  "collectives", "no-room", "resent"};

// A bit of a column.
#define COLUMN(column) ((uint64_t)1 << AQ_TRAFFIC_##column)

uint64_t aq_view_value(const aq_view_line_t *line, aq_view_what_t what)
{
    static const uint64_t columns[AQ_VIEW_WHATS] = {
        COLUMN(REQUEST_BYTES) | COLUMN(REPLY_BYTES) | COLUMN(PUT_BYTES) | COLUMN(GET_BYTES) |
            COLUMN(VIS_PUT_BYTES) | COLUMN(VIS_GET_BYTES) | COLUMN(SEND_BYTES) |
            COLUMN(STREAM_BYTES) | COLUMN(COLL_BYTES),
        COLUMN(REQUEST_SHORTS) | COLUMN(REQUEST_MEDIUMS) | COLUMN(REQUEST_LONGS) |
            COLUMN(REPLY_SHORTS) | COLUMN(REPLY_MEDIUMS) | COLUMN(REPLY_LONGS),
        COLUMN(PUTS),
        COLUMN(GETS),
        COLUMN(ATOMICS),
        COLUMN(VIS_PUTS) | COLUMN(VIS_GETS),
        COLUMN(SENDS),
        COLUMN(STREAM_MESSAGES),
        COLUMN(COLL_MESSAGES),
        COLUMN(NO_ROOM),
        COLUMN(RESENT)};
    uint64_t sum = 0;
    for (unsigned i = 0; i < AQ_TRAFFIC_COLUMNS; i++)
        sum += columns[what] >> i & 1 ? line->column[i] : 0;
    return sum;
}

bool aq_view_matrix_add(aq_view_matrix_t *matrix, const aq_view_line_t *line)
{
    aq_view_line_t *lines = aq_grow(matrix->lines, matrix->count, &matrix->room, sizeof *lines);
    if (!lines)
        return false;
    matrix->lines = lines;
    lines[matrix->count++] = *line;
    return true;
}

// ---- which lines ----

// By snapshot, too.
static int line_compare(const void *a, const void *b)
{
    static const aq_traffic_column_t keys[] = {AQ_TRAFFIC_FROM, AQ_TRAFFIC_TO, AQ_TRAFFIC_SNAPSHOT};
    const aq_view_line_t *left = a, *right = b;
    for (unsigned i = 0; i < sizeof keys / sizeof *keys; i++)
        if (left->column[keys[i]] != right->column[keys[i]])
            return left->column[keys[i]] < right->column[keys[i]] ? -1 : 1;
    return 0;
}

static bool lines_are_unique(const aq_view_matrix_t *matrix, char *errbuf, size_t errbuf_size)
{
    for (size_t i = 1; i < matrix->count; i++) {
        const aq_view_line_t *line = &matrix->lines[i], *twin = line - 1;
        if (line_compare(twin, line) != 0)
            continue;
        snprintf(errbuf, errbuf_size,
                 "%s:%u: ranks %" PRIu64 " and %" PRIu64 " have this line already at %s:%u; give "
                 "only files of one job, and each of them once",
                 matrix->files[line->file], line->number, line->column[AQ_TRAFFIC_FROM],
                 line->column[AQ_TRAFFIC_TO], matrix->files[twin->file], twin->number);
        return false;
    }
    return true;
}

// The snapshot to keep of the lines from `first` to `end`, which are of one rank.
static uint64_t snapshot_latest(const aq_view_matrix_t *matrix, size_t first, size_t end)
{
    uint64_t latest = 0;
    for (size_t i = first; i < end; i++) {
        const uint64_t snapshot = matrix->lines[i].column[AQ_TRAFFIC_SNAPSHOT];
        if (snapshot == 0)
            return 0;
        latest = aq_max(latest, snapshot);
    }
    return latest;
}

static size_t rank_end(const aq_view_matrix_t *matrix, size_t first)
{
    size_t end = first;
    while (end < matrix->count && matrix->lines[end].column[AQ_TRAFFIC_FROM] ==
                                      matrix->lines[first].column[AQ_TRAFFIC_FROM])
        end++;
    return end;
}

static void lines_choose(aq_view_matrix_t *matrix, int64_t snapshot)
{
    size_t kept = 0, end;
    matrix->at_end = true;
    for (size_t first = 0; first < matrix->count; first = end) {
        end = rank_end(matrix, first);
        const uint64_t wanted =
            snapshot == AQ_VIEW_LATEST ? snapshot_latest(matrix, first, end) : (uint64_t)snapshot;
        matrix->at_end = matrix->at_end && wanted == 0;
        for (size_t i = first; i < end; i++)
            if (matrix->lines[i].column[AQ_TRAFFIC_SNAPSHOT] == wanted)
                matrix->lines[kept++] = matrix->lines[i];
    }
    matrix->count = kept;
}

// ---- hosts ----

static bool host_note(aq_view_matrix_t *matrix, const aq_view_line_t *line, bool of_to,
                      char *errbuf, size_t errbuf_size)
{
    const uint64_t rank = line->column[of_to ? AQ_TRAFFIC_TO : AQ_TRAFFIC_FROM];
    const uint32_t now = (uint32_t)line->column[of_to ? AQ_TRAFFIC_TO_HOST : AQ_TRAFFIC_FROM_HOST];
    uint32_t *host = &matrix->host[rank];
    if (*host != AQ_VIEW_NO_HOST && *host != now && matrix->at_end) {
        snprintf(errbuf, errbuf_size,
                 "%s:%u: rank %" PRIu64 " is on host %u here, and on host %u in another line; give "
                 "only files of one job",
                 matrix->files[line->file], line->number, rank, now, *host);
        return false;
    }
    *host = now;
    matrix->hosts = (uint32_t)aq_max(matrix->hosts, (uint64_t)now + 1);
    return true;
}

static bool hosts_find(aq_view_matrix_t *matrix, char *errbuf, size_t errbuf_size)
{
    for (size_t i = 0; i < matrix->count; i++)
        matrix->ranks =
            (uint32_t)aq_max(matrix->ranks, 1 + aq_max(matrix->lines[i].column[AQ_TRAFFIC_FROM],
                                                       matrix->lines[i].column[AQ_TRAFFIC_TO]));
    matrix->host = malloc((matrix->ranks + 1) * sizeof *matrix->host);
    if (!matrix->host) {
        snprintf(errbuf, errbuf_size, "out of memory for the hosts of %u ranks", matrix->ranks);
        return false;
    }
    memset(matrix->host, 0xff, (matrix->ranks + 1) * sizeof *matrix->host);
    for (size_t i = 0; i < matrix->count; i++)
        if (!host_note(matrix, &matrix->lines[i], false, errbuf, errbuf_size) ||
            !host_note(matrix, &matrix->lines[i], true, errbuf, errbuf_size))
            return false;
    return true;
}

bool aq_view_matrix_finish(aq_view_matrix_t *matrix, int64_t snapshot, char *errbuf,
                           size_t errbuf_size)
{
    if (matrix->count)
        qsort(matrix->lines, matrix->count, sizeof *matrix->lines, line_compare);
    if (!lines_are_unique(matrix, errbuf, errbuf_size))
        return false;
    lines_choose(matrix, snapshot);
    if (matrix->count)
        return hosts_find(matrix, errbuf, errbuf_size);
    snprintf(errbuf, errbuf_size,
             snapshot > 0 ? "no rank has written snapshot %" PRId64
                            "; the launcher passes a signal "
                            "on only while the job runs"
                          : "no rank has written a line; ranks write at the end of the job, and at "
                            "a signal (GASNET_TRAFFIC_SIGNAL)",
             snapshot);
    return false;
}

const aq_view_line_t *aq_view_matrix_find(const aq_view_matrix_t *matrix, uint64_t from,
                                          uint64_t to)
{
    size_t low = 0, high = matrix->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const aq_view_line_t *line = &matrix->lines[middle];
        const uint64_t first = line->column[AQ_TRAFFIC_FROM], second = line->column[AQ_TRAFFIC_TO];
        if (first == from && second == to)
            return line;
        if (first < from || (first == from && second < to))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

void aq_view_matrix_free(aq_view_matrix_t *matrix)
{
    free(matrix->lines);
    free(matrix->host);
    *matrix = (aq_view_matrix_t){0};
}
