// SPDX-License-Identifier: BSD-3-Clause
// Parses the lines of GASNET_TRACE's file with a library for JSON, and adds them to view_trace.c.
#include "view_trace_read.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { LINE_BYTES = 1 << 16, MOST_RANKS = 1 << 20 };

typedef struct reader {
    aq_view_trace_t *trace;
    const char *name;
    uint64_t number; // of the line
    char *why;
    size_t room;
} reader_t;

// Always false.
static bool refuse(const reader_t *reader, const char *sentence)
{
    snprintf(reader->why, reader->room, "%s:%" PRIu64 ": %s", reader->name, reader->number,
             sentence);
    return false;
}

static bool refuse_damaged(const reader_t *reader, const char *what)
{
    snprintf(reader->why, reader->room,
             "%s:%" PRIu64 ": the line is damaged: %s; remove the line, or run the job again",
             reader->name, reader->number, what);
    return false;
}

// ---- values ----

static uint64_t number_of(const json_t *object, const char *key, uint64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) && json_integer_value(value) >= 0
               ? (uint64_t)json_integer_value(value)
               : otherwise;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

// Microseconds of the file, as nanoseconds; false: no number, or not the time of a job.
static bool time_of(const json_t *object, const char *key, int64_t *time)
{
    const json_t *value = json_object_get(object, key);
    const double us = json_number_value(value);
    *time = 0;
    if (!json_is_number(value) || !(fabs(us) < 1e14))
        return false;
    *time = llround(us * 1000);
    return true;
}

static uint64_t text_hash(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

// ---- what a line is ----

static bool version_take(const reader_t *reader, const json_t *args, uint32_t rank)
{
    const uint64_t ranks = number_of(args, "ranks", 0), version = number_of(args, "version", 0);
    if (version < 1 || version > AQ_VIEW_TRACE_VERSION)
        return refuse(reader, "this trace is of another version; take gasnet_view from the "
                              "installation that the job used");
    if (ranks == 0 || ranks > MOST_RANKS || rank >= ranks)
        return refuse_damaged(reader, "the number of ranks does not fit");
    if (reader->trace->ranks == 0 && !aq_view_trace_size(reader->trace, (uint32_t)ranks))
        return refuse(reader, "out of memory for the ranks of the trace");
    if (reader->trace->ranks != ranks)
        return refuse(reader, "another job has written this; give only files of one job");
    if (reader->trace->origins[rank].known)
        return refuse(reader, "the rank has been here before; give each file once, and only files "
                              "of one job");
    return true;
}

static bool origin_take(const reader_t *reader, const json_t *event)
{
    const json_t *args = json_object_get(event, "args");
    const uint32_t rank = (uint32_t)number_of(event, "pid", UINT32_MAX);
    if (!version_take(reader, args, rank))
        return false;
    aq_view_origin_t *origin = &reader->trace->origins[rank];
    origin->known = true;
    origin->events = number_of(args, "events", 0);
    origin->dropped = number_of(args, "dropped", 0);
    origin->clock_error = (int64_t)number_of(args, "clock_error_ns", 0);
    origin->host = (uint32_t)number_of(args, "host", 0);
    snprintf(origin->host_name, sizeof origin->host_name, "%s", text_of(args, "host_name"));
    return true;
}

static bool category_find(const char *word, uint8_t *category)
{
    for (unsigned i = 0; i < AQ_VIEW_CATEGORIES; i++)
        if (strcmp(word, aq_view_category_names[i]) == 0) {
            *category = (uint8_t)i;
            return true;
        }
    return false;
}

static uint32_t peer_of(const reader_t *reader, const json_t *args)
{
    const uint64_t root = number_of(args, "root", UINT64_MAX);
    const uint64_t peer = number_of(args, "to", number_of(args, "from", root));
    return peer < reader->trace->ranks ? (uint32_t)peer : AQ_VIEW_NO_RANK;
}

// "handler 200", "large receive", "large end" ...
static bool name_is_arrival(const char *name)
{
    return strstr(name, "handler") || strstr(name, "receive") || strcmp(name, "large end") == 0;
}

static bool event_parse(const reader_t *reader, const json_t *json, aq_view_event_t *event)
{
    const json_t *args = json_object_get(json, "args");
    const uint64_t rank = number_of(json, "pid", UINT64_MAX);
    const char *phase = text_of(json, "ph");
    if (rank >= reader->trace->ranks || !reader->trace->origins[rank].known)
        return refuse_damaged(reader, "its rank (pid) has no line \"aqueduct\" before it");
    if (!time_of(json, "ts", &event->start) ||
        (*phase == 'X' && (!time_of(json, "dur", &event->length) || event->length < 0)))
        return refuse_damaged(reader, "ts or dur is not a time in microseconds");
    event->phase = *phase;
    event->rank = (uint32_t)rank;
    event->thread = (uint32_t)number_of(json, "tid", 0);
    event->peer = peer_of(reader, args);
    event->bytes = number_of(args, "bytes", 0);
    event->team = (uint32_t)number_of(args, "team", 0);
    event->sequence = number_of(args, "sequence", 0);
    event->id = text_hash(text_of(json, "id"));
    event->handler = event->category == AQ_VIEW_AM && name_is_arrival(text_of(json, "name"));
    return true;
}

// Events of categories that this program does not know are left out.
static bool event_take(const reader_t *reader, const json_t *json)
{
    aq_view_event_t event = {0};
    if (!category_find(text_of(json, "cat"), &event.category))
        return true;
    if (!event_parse(reader, json, &event))
        return false;
    const int64_t name = aq_view_trace_name(reader->trace, text_of(json, "name"));
    event.name = (uint32_t)name;
    if (name >= 0 && aq_view_trace_add(reader->trace, &event))
        return true;
    return refuse(reader, "out of memory for the events of the trace");
}

static bool json_take(const reader_t *reader, const json_t *json)
{
    const bool meta = strcmp(text_of(json, "ph"), "M") == 0;
    if (!json_is_object(json))
        return refuse_damaged(reader, "it is not an event in JSON");
    if (meta)
        return strcmp(text_of(json, "name"), "aqueduct") != 0 || origin_take(reader, json);
    if (reader->trace->ranks == 0)
        return refuse(reader, "this is not a trace of this library: the line \"aqueduct\" is "
                              "missing; name the file of GASNET_TRACE");
    return event_take(reader, json);
}

// ---- lines ----

// Lines that only hold the array together, also of concatenated files.
static bool line_is_frame(const char *line, size_t length)
{
    return length == 0 || (length == 1 && (*line == '[' || *line == ']'));
}

static bool line_take(const reader_t *reader, const char *line, size_t length)
{
    while (length && strchr(" \t\r\n,", line[length - 1]))
        length--;
    if (line_is_frame(line, length))
        return true;
    if (reader->number == 1)
        return refuse(reader, "this is not a trace, which begins with a line of one bracket; name "
                              "the file of GASNET_TRACE");
    json_t *json = json_loadb(line, length, 0, NULL);
    const bool taken =
        json ? json_take(reader, json) : refuse_damaged(reader, "it is not an event in JSON");
    json_decref(json);
    return taken;
}

// The end of a file whose last line is cut is no fault.
static bool line_or_cut(const reader_t *reader, char *line, size_t length, FILE *stream)
{
    const bool whole = length && line[length - 1] == '\n';
    if (!whole && feof(stream) && reader->number > 1) {
        reader->trace->cut = !line_is_frame(line, length);
        return true;
    }
    if (!whole && length >= LINE_BYTES)
        return refuse_damaged(reader, "it has too many characters");
    return line_take(reader, line, length);
}

static bool lines_read(reader_t *reader, FILE *stream)
{
    char *line = NULL;
    size_t size = 0;
    bool taken = true;
    for (ssize_t length; taken && (length = getline(&line, &size, stream)) > 0;) {
        reader->number++;
        taken = line_or_cut(reader, line, (size_t)length, stream);
    }
    free(line);
    return taken;
}

bool aq_view_trace_read(FILE *stream, const char *name, aq_view_trace_t *trace, char *errbuf,
                        size_t errbuf_size)
{
    reader_t reader = {trace, name, 0, errbuf, errbuf_size};
    if (!lines_read(&reader, stream))
        return false;
    if (ferror(stream))
        snprintf(errbuf, errbuf_size, "%s: cannot be read: %s; name the file of GASNET_TRACE", name,
                 strerror(errno));
    else if (trace->ranks == 0)
        snprintf(errbuf, errbuf_size,
                 "%s: no rank has written events; ranks do so when the job ends, if GASNET_TRACE "
                 "names the file",
                 name);
    else
        return true;
    return false;
}
