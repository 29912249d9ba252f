// SPDX-License-Identifier: BSD-3-Clause
// Parses titles and lines of GASNET_TRAFFIC's file, whichever version wrote it, and adds them to
// view_matrix.c.
#include "view_csv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { LINE_BYTES = 2048 }; // more than any line has

typedef struct reader {
    const char *name; // of the file
    uint32_t number;  // of the line
    // Of the last title: what its columns are, and how many there are.
    uint8_t column[AQ_TRAFFIC_COLUMNS];
    unsigned columns;
    char *why;
    size_t room;
} reader_t;

static bool refuse_title(const reader_t *reader, const char *line)
{
    if (strncmp(line, "from,to,", 8) == 0)
        snprintf(reader->why, reader->room,
                 "%s:%u: this title is that of another version; take gasnet_view from the "
                 "installation that the job used",
                 reader->name, reader->number);
    else
        snprintf(reader->why, reader->room,
                 "%s:%u: this is not a traffic matrix, which begins with the title of its columns; "
                 "name the file of GASNET_TRAFFIC",
                 reader->name, reader->number);
    return false;
}

// The column with this name. False: there is none.
static bool column_find(const char *name, size_t length, uint8_t *column)
{
    const char *at = AQ_TRAFFIC_TITLE;
    for (*column = 0; strncmp(at, name, length) != 0 || (at[length] && at[length] != ',');
         ++*column)
        if (!(at = strchr(at, ',')))
            return false;
        else
            at++;
    return true;
}

// Takes the columns of a title. False: this program does not know one of them, or one is missing
// that all versions have.
static bool title_take(reader_t *reader, const char *title)
{
    uint64_t there = 0;
    const uint64_t needed = 1u << AQ_TRAFFIC_FROM | 1u << AQ_TRAFFIC_TO |
                            1u << AQ_TRAFFIC_FROM_HOST | 1u << AQ_TRAFFIC_TO_HOST |
                            (uint64_t)1 << AQ_TRAFFIC_SNAPSHOT;
    for (reader->columns = 0;; title++) {
        const size_t length = strcspn(title, ",\n");
        uint8_t column;
        if (!column_find(title, length, &column) || there >> column & 1)
            return false;
        there |= (uint64_t)1 << column;
        reader->column[reader->columns++] = column;
        title += length;
        if (*title != ',')
            return *title == '\n' && (there & needed) == needed;
    }
}

static bool refuse_line(const reader_t *reader, unsigned column, const char *text)
{
    char word[24];
    size_t length = 0;
    for (; length + 1 < sizeof word && text[length] && !strchr(",\r\n", text[length]); length++)
        word[length] = text[length] >= ' ' && text[length] <= '~' ? text[length] : '?';
    word[length] = '\0';
    snprintf(reader->why, reader->room,
             "%s:%u: the line is damaged: %d numbers with commas between them are expected, and "
             "number %u is '%s'; remove the line, or run the job again",
             reader->name, reader->number, (int)reader->columns, column + 1, word);
    return false;
}

static bool refuse_range(const reader_t *reader, const char *what, uint64_t value)
{
    snprintf(reader->why, reader->room,
             "%s:%u: %s %" PRIu64 " is out of range, since jobs have at most %d; remove the line, "
             "or run the job again",
             reader->name, reader->number, what, value, AQ_VIEW_RANKS);
    return false;
}

// A number that ends with `end`. Returns what follows, or NULL.
static const char *number_parse(const char *text, char end, uint64_t *value)
{
    const char *start = text;
    *value = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        const uint64_t digit = (uint64_t)(*text - '0');
        if (*value > (UINT64_MAX - digit) / 10)
            return NULL;
        *value = *value * 10 + digit;
    }
    return text > start && *text == end ? text + 1 : NULL;
}

static bool line_parse(const reader_t *reader, const char *text, aq_view_line_t *line)
{
    for (unsigned i = 0; i < reader->columns; i++) {
        const char end = i + 1 < reader->columns ? ',' : '\n';
        const char *next = number_parse(text, end, &line->column[reader->column[i]]);
        if (!next)
            return refuse_line(reader, i, text);
        text = next;
    }
    for (unsigned i = AQ_TRAFFIC_FROM; i <= AQ_TRAFFIC_TO_HOST; i++)
        if (line->column[i] >= AQ_VIEW_RANKS)
            return refuse_range(reader, i <= AQ_TRAFFIC_TO ? "rank" : "host", line->column[i]);
    return true;
}

// Titles may stand between lines: files of several hosts are concatenated.
static bool line_take(reader_t *reader, char *text, uint32_t index, aq_view_matrix_t *matrix)
{
    aq_view_line_t line = {.file = index, .number = reader->number};
    if (reader->number == 1 || strncmp(text, "from,", 5) == 0)
        return title_take(reader, text) || refuse_title(reader, text);
    if (!line_parse(reader, text, &line))
        return false;
    if (aq_view_matrix_add(matrix, &line))
        return true;
    snprintf(reader->why, reader->room, "%s:%u: out of memory for %zu lines", reader->name,
             reader->number, matrix->count);
    return false;
}

bool aq_view_csv_read(FILE *stream, uint32_t index, aq_view_matrix_t *matrix, char *errbuf,
                      size_t errbuf_size)
{
    reader_t reader = {.name = matrix->files[index], .why = errbuf, .room = errbuf_size};
    char text[LINE_BYTES];
    while (fgets(text, sizeof text, stream)) {
        reader.number++;
        if (!line_take(&reader, text, index, matrix))
            return false;
    }
    if (ferror(stream))
        snprintf(errbuf, errbuf_size, "%s: cannot be read: %s; name the file of GASNET_TRAFFIC",
                 reader.name, strerror(errno));
    else if (reader.number == 0)
        snprintf(errbuf, errbuf_size,
                 "%s: the file is empty; a job writes the title at its start, if GASNET_TRAFFIC "
                 "names the file",
                 reader.name);
    else
        return true;
    return false;
}
