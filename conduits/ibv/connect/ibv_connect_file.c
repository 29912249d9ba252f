// SPDX-License-Identifier: BSD-3-Clause
// Parser and writer of both files. ibv_conduit.c reads one before it makes connections, and writes
// the other one when it closes.
#include "ibv_connect_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/system/own_file.h"

enum { LEAST_BASE = 2, MOST_BASE = 36, DEFAULT_BASE = 10 };

// The name for a rank; the caller frees it. NULL: no memory.
static char *name_for(const char *pattern, uint32_t rank)
{
    char *name = NULL;
    size_t length;
    FILE *out = open_memstream(&name, &length);
    for (const char *at = pattern; out && *at; at++) {
        if (*at == '%')
            fprintf(out, "%u", rank);
        else
            fputc(*at, out);
    }
    if (out)
        fclose(out);
    return name;
}

// ---- in ----

typedef struct reader {
    uint32_t rank, size;
    int base;
    bool *peers;
} reader_t;

// Reads a number below `limit` at *at, and moves *at behind it and the blanks that follow.
static bool number_read(const char **at, int base, uint64_t limit, uint32_t *out)
{
    char *end;
    errno = 0;
    const unsigned long value = strtoul(*at, &end, base);
    if (end == *at || **at == '-' || **at == '+' || errno != 0 || value >= limit)
        return false;
    *at = end + strspn(end, " \t\r\n");
    *out = (uint32_t)value;
    return true;
}

static void connection_note(reader_t *reader, uint32_t a, uint32_t b)
{
    if (a == reader->rank && b != a)
        reader->peers[b] = true;
    else if (b == reader->rank && b != a)
        reader->peers[a] = true;
}

// The peers of a rank: numbers and ranges.
static bool peers_read(reader_t *reader, uint32_t rank, const char *at)
{
    uint32_t from, to;
    while (*at) {
        if (!number_read(&at, reader->base, reader->size, &from))
            return false;
        to = from;
        if (*at == '-') {
            at++;
            if (!number_read(&at, reader->base, reader->size, &to) || to < from)
                return false;
        }
        for (; from <= to; from++)
            connection_note(reader, rank, from);
    }
    return true;
}

// The text behind the colon if the line begins with the word; NULL: it does not.
static const char *line_value(const char *line, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(line, word, length) != 0)
        return NULL;
    line += length + strspn(line + length, " \t");
    return *line == ':' ? line + 1 + strspn(line + 1, " \t") : NULL;
}

static bool line_read(reader_t *reader, const char *line)
{
    const char *value;
    uint32_t number;
    if (!line[strspn(line, " \t\r\n")])
        return true;
    if ((value = line_value(line, "size")) != NULL)
        return number_read(&value, 10, UINT32_MAX, &number) && !*value && number == reader->size;
    if ((value = line_value(line, "base")) != NULL) {
        if (!number_read(&value, 10, MOST_BASE + 1, &number) || *value || number < LEAST_BASE)
            return false;
        reader->base = (int)number;
        return true;
    }
    if (!number_read(&line, reader->base, reader->size, &number) || *line != ':')
        return false;
    return peers_read(reader, number, line + 1 + strspn(line + 1, " \t\r\n"));
}

static aq_status_t file_read(reader_t *reader, FILE *file, const char *name, char *errbuf,
                             size_t errbuf_size)
{
    char *line = NULL;
    size_t capacity = 0;
    aq_status_t status = AQ_OK;
    for (unsigned number = 1; status == AQ_OK && getline(&line, &capacity, file) >= 0; number++)
        if (!line_read(reader, line)) {
            status = AQ_ERR_CONFIG;
            snprintf(errbuf, errbuf_size,
                     "line %u of the connect file %s (GASNET_CONNECTFILE_IN) is not \"size: %u\", "
                     "\"base: 2\" to \"base: 36\", or \"rank: rank rank-rank ...\" with ranks "
                     "below %u: correct it, or unset the variable",
                     number, name, reader->size, reader->size);
        }
    free(line);
    return status;
}

aq_status_t aq_ibv_connect_file_read(const char *pattern, uint32_t rank, uint32_t size, bool *peers,
                                     char *errbuf, size_t errbuf_size)
{
    reader_t reader = {.rank = rank, .size = size, .base = DEFAULT_BASE, .peers = peers};
    char *name = name_for(pattern, rank);
    FILE *file = name ? fopen(name, "re") : NULL;
    aq_status_t status = AQ_ERR_CONFIG;
    if (file)
        status = file_read(&reader, file, name, errbuf, errbuf_size);
    else
        snprintf(errbuf, errbuf_size,
                 "the connect file %s (GASNET_CONNECTFILE_IN) cannot be read: %s; unset the "
                 "variable, or name a file that exists on every host",
                 name ? name : pattern, strerror(errno));
    if (file)
        fclose(file);
    free(name);
    return status;
}

// ---- out ----

static bool text_append(const char *pattern, uint32_t rank, const char *text, size_t length,
                        int flags)
{
    enum { MODE = 0666 };
    char *name = name_for(pattern, rank);
    int file = name ? aq_own_file_open(name, O_CREAT | O_APPEND | flags, MODE) : -1;
    const bool ok = file >= 0 && write(file, text, length) == (ssize_t)length;
    if (!ok)
        aq_log_warn("the connect file %s (GASNET_CONNECTFILE_OUT) cannot be written: %s",
                    name ? name : pattern, aq_own_file_error(errno));
    if (file >= 0)
        close(file);
    free(name);
    return ok;
}

bool aq_ibv_connect_file_begin(const char *pattern, uint32_t rank, uint32_t size, unsigned base)
{
    char text[64];
    if (rank != 0 && !strchr(pattern, '%'))
        return true; // rank 0 does it for all
    const int length = snprintf(text, sizeof text, "size: %u\nbase: %u\n", size, base);
    return text_append(pattern, rank, text, (size_t)length, O_TRUNC);
}

static void number_write(FILE *out, uint32_t number, unsigned base)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    char text[33];
    size_t at = sizeof text;
    do {
        text[--at] = digits[number % base];
        number /= base;
    } while (number);
    fwrite(text + at, 1, sizeof text - at, out);
}

static void peers_write(FILE *out, uint32_t rank, uint32_t size, unsigned base, const bool *peers)
{
    number_write(out, rank, base);
    fputc(':', out);
    for (uint32_t from = 0, to; from < size; from = to + 1) {
        to = from;
        if (!peers[from])
            continue;
        while (to + 1 < size && peers[to + 1])
            to++;
        fputc(' ', out);
        number_write(out, from, base);
        if (to > from) {
            fputc('-', out);
            number_write(out, to, base);
        }
    }
    fputc('\n', out);
}

bool aq_ibv_connect_file_add(const char *pattern, uint32_t rank, uint32_t size, unsigned base,
                             const bool *peers)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (out) {
        peers_write(out, rank, size, base, peers);
        fclose(out);
    }
    const bool ok = out && text_append(pattern, rank, text, length, 0);
    free(text);
    return ok;
}
