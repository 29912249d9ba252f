// SPDX-License-Identifier: BSD-3-Clause
// Tuning files, and the start of the table of limits: rank 0 reads the file, which may be on its
// host only, and tells the others (init_broadcast.h).
#include "coll_tuning.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/state/init_broadcast.h"
#include "../../core/state/job.h"
#include "../../other/base/log/log.h"
#include "../../other/base/settings/settings.h"
#include "../../other/base/size.h"
#include "../../other/base/text_file.h"
#include "../rma/layer_table.h"

enum { LINE_MAX = 200, WORDS = 4, QUOTED = 48, FILE_MAX = 1 << 20 };

typedef struct reader {
    const char *text; // what is left
    size_t length;
    unsigned line;
    char copy[LINE_MAX + 1]; // of the line, without the comment
    char *word[WORDS];
    unsigned words; // WORDS: that many or more
    aq_tuning_job_t job;
    uint32_t best; // ranks of the section whose limits were taken last
    bool titled, in_section, applies;
    aq_coll_limits_t *limits;
    char *why;
    size_t room;
} reader_t;

// ---- lines ----

static bool refuse(const reader_t *reader, const char *format, ...) AQ_PRINTF(2, 3);
static bool refuse(const reader_t *reader, const char *format, ...)
{
    va_list args;
    int used = reader->titled ? snprintf(reader->why, reader->room, "line %u ", reader->line)
                              : snprintf(reader->why, reader->room, "its first line ");
    va_start(args, format);
    vsnprintf(reader->why + used, reader->room - (size_t)used, format, args);
    va_end(args);
    return false;
}

static bool is_text(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)bytes[i] < ' ' && bytes[i] != '\t' && bytes[i] != '\r')
            return false;
    return true;
}

// Divides the line into words. '#' begins a comment.
static void split_words(reader_t *reader)
{
    char *rest;
    reader->copy[strcspn(reader->copy, "#")] = '\0';
    reader->words = 0;
    for (char *word = strtok_r(reader->copy, " \t\r", &rest); word && reader->words < WORDS;
         word = strtok_r(NULL, " \t\r", &rest))
        reader->word[reader->words++] = word;
}

// Takes the next line. Returns false if it is not legal.
static bool take_line(reader_t *reader)
{
    const char *end = memchr(reader->text, '\n', reader->length);
    const size_t length = end ? (size_t)(end - reader->text) : reader->length;
    reader->line++;
    if (!is_text(reader->text, length))
        return refuse(reader, "has bytes that are no text");
    if (length > LINE_MAX)
        return refuse(reader, "has more than %d characters", LINE_MAX);
    memcpy(reader->copy, reader->text, length);
    reader->copy[length] = '\0';
    reader->text += length + (end != NULL);
    reader->length -= length + (end != NULL);
    split_words(reader);
    return true;
}

// ---- what a line says ----

static bool take_title(reader_t *reader)
{
    char quoted[QUOTED];
    int64_t version;
    if (reader->words != 2 || strcmp(reader->word[0], AQ_TUNING_TITLE) != 0 ||
        !aq_size_parse_int(reader->word[1], &version))
        return refuse(reader, "is not '%s %d', so it is no tuning file", AQ_TUNING_TITLE,
                      AQ_TUNING_VERSION);
    aq_settings_quote(reader->word[1], quoted, sizeof quoted);
    if (version != AQ_TUNING_VERSION)
        return refuse(reader, "says version %s, and this library reads version %d", quoted,
                      AQ_TUNING_VERSION);
    reader->titled = true;
    return true;
}

// [conduit ranks N]
static bool take_section(reader_t *reader)
{
    const char *conduit = reader->word[0] + 1;
    int64_t ranks = 0;
    char *end = reader->words == 3 ? strchr(reader->word[2], ']') : NULL;
    if (!end || end[1] || strcmp(reader->word[1], "ranks") != 0)
        return refuse(reader, "is no section such as [smp ranks 4]");
    *end = '\0';
    if (!aq_size_parse_int(reader->word[2], &ranks) || ranks < 1 || ranks > UINT32_MAX)
        return refuse(reader, "is a section for a number of ranks that is not 1 or more");
    reader->in_section = true;
    reader->applies = strcmp(conduit, reader->job.conduit) == 0 && ranks <= reader->job.ranks &&
                      ranks >= reader->best;
    if (reader->applies) {
        reader->best = (uint32_t)ranks;
        *reader->limits = aq_coll_fallbacks;
    }
    return true;
}

static const aq_coll_limit_row_t *row_named(const char *name)
{
    const aq_coll_limit_row_t *row;
    for (unsigned i = 0; (row = aq_coll_limit_at(i)) != NULL; i++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

static bool take_limit(reader_t *reader)
{
    char quoted[QUOTED];
    int64_t value;
    if (reader->words != 2)
        return refuse(reader, "is neither a section such as [smp ranks 4] nor a limit and its "
                              "value");
    if (!reader->in_section)
        return refuse(reader, "is before the first section, such as [smp ranks 4]");
    const aq_coll_limit_row_t *row = row_named(reader->word[0]);
    aq_settings_quote(reader->word[row != NULL], quoted, sizeof quoted);
    if (!row)
        return refuse(reader, "names a limit '%s', which does not exist", quoted);
    if (!aq_size_parse_int(reader->word[1], &value) || value < row->low || value > row->high)
        return refuse(reader, "sets %s to '%s', which is no whole number from %u to %u", row->name,
                      quoted, row->low, row->high);
    if (reader->applies)
        *aq_coll_limit_of(reader->limits, row) = (uint32_t)value;
    return true;
}

static bool take_all(reader_t *reader)
{
    if (!take_line(reader) || !take_title(reader))
        return false;
    while (reader->length) {
        if (!take_line(reader))
            return false;
        if (!reader->words)
            continue;
        if (!(reader->word[0][0] == '[' ? take_section(reader) : take_limit(reader)))
            return false;
    }
    return true;
}

aq_tuning_result_t aq_coll_tuning_parse(const char *text, size_t length, aq_tuning_job_t job,
                                        aq_coll_limits_t *limits, char *errbuf, size_t errbuf_size)
{
    reader_t reader = {.text = text,
                       .length = length,
                       .job = job,
                       .limits = limits,
                       .why = errbuf,
                       .room = errbuf_size};
    *limits = aq_coll_fallbacks;
    if (!take_all(&reader)) {
        *limits = aq_coll_fallbacks;
        return AQ_TUNING_BAD;
    }
    if (reader.best)
        return AQ_TUNING_FOUND;
    snprintf(errbuf, errbuf_size, "it has no section for conduit %s and %u ranks or fewer",
             job.conduit, job.ranks);
    return AQ_TUNING_NONE;
}

// ---- start ----

static bool limits_are_legal(const void *bytes)
{
    const aq_coll_limit_row_t *row;
    for (unsigned i = 0; (row = aq_coll_limit_at(i)) != NULL; i++) {
        const uint32_t value = aq_coll_limit_get(bytes, row);
        if (value < row->low || value > row->high)
            return false;
    }
    return true;
}

static bool load_limits(const char *path, char *errbuf, size_t errbuf_size)
{
    size_t length;
    char *text = aq_text_file_read(path, FILE_MAX, &length);
    if (!text) {
        snprintf(errbuf, errbuf_size, "it cannot be read: %s", strerror(errno));
        return false;
    }
    const aq_tuning_job_t job = {aq_job.network, aq_job_present()};
    const aq_tuning_result_t result =
        aq_coll_tuning_parse(text, length, job, &aq_coll_limits, errbuf, errbuf_size);
    free(text);
    return result == AQ_TUNING_FOUND;
}

void aq_coll_tuning_start(void)
{
    char why[256], quoted[256];
    aq_init_broadcast(&aq_coll_limits, sizeof aq_coll_limits, limits_are_legal);
    if (aq_job.rank != 0 || !aq_settings_given(AQ_SET_COLL_TUNING_FILE))
        return;
    const char *path = aq_settings_text(AQ_SET_COLL_TUNING_FILE);
    aq_settings_quote(path, quoted, sizeof quoted);
    if (load_limits(path, why, sizeof why))
        aq_init_broadcast_tell();
    else
        aq_log_warn("GASNET_COLL_TUNING_FILE: '%s' is not used: %s; collectives keep the default "
                    "limits (gasnet_perf --tune writes such a file)",
                    quoted, why);
}
