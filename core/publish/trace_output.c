// SPDX-License-Identifier: BSD-3-Clause
// Writes the records of all rings to the file of the trace when the rank leaves (exit.c).
// trace_start.c opens the file at init.
#include "trace_output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../state/job.h"
#include "../record/observe_file.h"
#include "../record/trace.h"
#include "trace_clock.h"
#include "trace_names.h"
#include "../record/trace_ring.h"
#include "trace_syncs.h"

enum { TRACE_VERSION = 2, NS_PER_US = 1000, TEXT_MAX = 1024 };

static int file = -1;
static const char *setting_of_file, *name_of_file;

// What is being written.
typedef struct output {
    aq_lines_t lines;
    aq_trace_clock_t clock;
    uint64_t asynchronous; // events with begin and end, so far
} output_t;

bool aq_trace_output_open(const char *setting, const char *name, bool make)
{
    setting_of_file = setting;
    name_of_file = name;
    file = aq_observe_file_open(setting, name, "[\n", make);
    return file >= 0;
}

// ---- parts of a line ----

static void time_write(output_t *out, const char *name, uint64_t ns)
{
    aq_lines_add(&out->lines, ",\"%s\":%" PRIu64 ".%03u", name, ns / NS_PER_US,
                 (unsigned)(ns % NS_PER_US));
}

// Writes a line up to its time. name NULL: the name of the kind of the record.
static void head_write(output_t *out, const aq_trace_record_t *record, const char *name,
                       const char *phase)
{
    const aq_trace_name_t *names = &aq_trace_names[record->kind];
    aq_lines_add(&out->lines, "{\"name\":\"%s", name ? name : names->name);
    if (!name && record->kind == AQ_TRACED_HANDLER)
        aq_lines_add(&out->lines, " %u", record->detail);
    aq_lines_add(&out->lines, "\",\"cat\":\"%s\",\"ph\":\"%s\"", names->category, phase);
}

static void place_write(output_t *out, const aq_trace_record_t *record, uint64_t time)
{
    time_write(out, "ts", aq_trace_clock_shared(&out->clock, time));
    aq_lines_add(&out->lines, ",\"pid\":%u,\"tid\":%u", aq_job.rank, record->thread);
}

static void tail_write(output_t *out)
{
    aq_lines_add(&out->lines, "},");
    aq_lines_end(&out->lines);
}

static void operation_args_write(output_t *out, const aq_trace_record_t *record)
{
    aq_lines_add(&out->lines, ",\"args\":{\"to\":%u,\"bytes\":%" PRIu64, record->peer,
                 record->bytes);
    if (record->kind == AQ_TRACED_VIS_PUT || record->kind == AQ_TRACED_VIS_GET)
        aq_lines_add(&out->lines, ",\"pieces\":%" PRIu64, record->team);
    aq_lines_add(&out->lines, "}");
}

static bool is_stream(unsigned kind)
{
    return kind >= AQ_TRACED_STREAM_SEND && kind <= AQ_TRACED_STREAM_HANDLER;
}

// Messages that the client sends in other ways than as active messages.
static bool is_message(unsigned kind)
{
    return kind >= AQ_TRACED_SEND && kind <= AQ_TRACED_STREAM_HANDLER;
}

static void stream_args_write(output_t *out, const aq_trace_record_t *record)
{
    aq_lines_add(&out->lines, "\"stream\":%" PRIu64 ",\"handler\":%u", record->team,
                 (unsigned)(record->id >> 32));
    if (record->kind == AQ_TRACED_STREAM_HANDLER)
        aq_lines_add(&out->lines, ",\"messages\":%u", (unsigned)(uint32_t)record->id);
}

static void message_args_write(output_t *out, const aq_trace_record_t *record)
{
    const unsigned kind = record->kind;
    const bool sends =
        kind == AQ_TRACED_SEND || kind == AQ_TRACED_LARGE_SEND || kind == AQ_TRACED_STREAM_SEND;
    aq_lines_t *lines = &out->lines;
    aq_lines_add(lines, ",\"args\":{");
    if (record->peer != AQ_OBSERVED_NO_PEER)
        aq_lines_add(lines, "\"%s\":%u,", sends ? "to" : "from", record->peer);
    if (is_stream(kind))
        stream_args_write(out, record);
    else
        aq_lines_add(lines, "\"%s\":%" PRIu64, kind < AQ_TRACED_LARGE_SEND ? "tag" : "function",
                     record->team);
    aq_lines_add(lines, ",\"bytes\":%" PRIu64 "}", record->bytes);
}

static void collective_args_write(output_t *out, const aq_trace_record_t *record)
{
    const uint32_t root = aq_trace_root(record->bytes);
    aq_lines_t *lines = &out->lines;
    aq_lines_add(lines, ",\"args\":{\"team\":%" PRId64 ",\"sequence\":%u", (int64_t)record->team,
                 record->peer);
    if (root != AQ_OBSERVED_NO_PEER)
        aq_lines_add(lines, ",\"root\":%u", root);
    aq_lines_add(lines, ",\"bytes\":%" PRIu64 "}", record->bytes >> AQ_TRACE_ROOT_BITS);
}

static void args_write(output_t *out, const aq_trace_record_t *record)
{
    const unsigned kind = record->kind;
    aq_lines_t *lines = &out->lines;
    if (is_message(kind))
        message_args_write(out, record);
    else if (kind < AQ_TRACED_HANDLER)
        aq_lines_add(lines, ",\"args\":{\"to\":%u,\"handler\":%u,\"bytes\":%" PRIu64 "}",
                     record->peer, record->detail, record->bytes);
    else if (kind == AQ_TRACED_HANDLER)
        aq_lines_add(lines, ",\"args\":{\"from\":%u,\"bytes\":%" PRIu64 "}", record->peer,
                     record->bytes);
    else if (kind >= AQ_TRACED_BARRIER && kind <= AQ_TRACED_EXSCAN)
        collective_args_write(out, record);
    else if (record->peer != AQ_OBSERVED_NO_PEER)
        operation_args_write(out, record);
    else if (record->bytes)
        aq_lines_add(lines, ",\"args\":{\"bytes\":%" PRIu64 "}", record->bytes);
}

// ---- lines of an event ----

static void complete_write(output_t *out, const aq_trace_record_t *record, uint64_t duration)
{
    const uint64_t begin = aq_trace_clock_shared(&out->clock, record->begin);
    const uint64_t end = aq_trace_clock_shared(&out->clock, record->begin + duration);
    head_write(out, record, NULL, "X");
    time_write(out, "ts", begin);
    time_write(out, "dur", end - begin);
    aq_lines_add(&out->lines, ",\"pid\":%u,\"tid\":%u", aq_job.rank, record->thread);
    args_write(out, record);
    tail_write(out);
}

// Which end of an arrow an event is, and the letter in front of the number. Active messages are
// numbered by sender, others by pair of ranks, and those on a stream by stream, too.
typedef struct arrow {
    bool arrives;
    const char *letter; // NULL: the event has none
} arrow_t;

static arrow_t arrow_of(const aq_trace_record_t *record)
{
    static const arrow_t arrows[AQ_TRACED_PUT] = {
        [AQ_TRACED_REQUEST_SHORT] = {false, ""}, [AQ_TRACED_REQUEST_MEDIUM] = {false, ""},
        [AQ_TRACED_REQUEST_LONG] = {false, ""},  [AQ_TRACED_REPLY_SHORT] = {false, ""},
        [AQ_TRACED_REPLY_MEDIUM] = {false, ""},  [AQ_TRACED_REPLY_LONG] = {false, ""},
        [AQ_TRACED_HANDLER] = {true, ""},        [AQ_TRACED_SEND] = {false, "m"},
        [AQ_TRACED_RECEIVE] = {true, "m"},       [AQ_TRACED_LARGE_SEND] = {false, "l"},
        [AQ_TRACED_LARGE_RECEIVE] = {true, "l"}, [AQ_TRACED_STREAM_SEND] = {false, "s"},
        [AQ_TRACED_STREAM_RECEIVE] = {true, "s"}};
    const arrow_t none = {0};
    const bool numbered = record->id || is_stream(record->kind);
    return record->kind < AQ_TRACED_PUT && numbered ? arrows[record->kind] : none;
}

static void arrow_number_write(output_t *out, const aq_trace_record_t *record, const char *letter)
{
    if (is_stream(record->kind))
        aq_lines_add(&out->lines, "%s%" PRIu64 ".%u", letter, record->team, (uint32_t)record->id);
    else
        aq_lines_add(&out->lines, "%s%" PRIu64, letter, record->id);
}

// An end of the arrow from a send to its handler or its receive.
static void arrow_write(output_t *out, const aq_trace_record_t *record)
{
    const arrow_t arrow = arrow_of(record);
    if (!arrow.letter)
        return;
    head_write(out, record, "message", arrow.arrives ? "f\",\"bp\":\"e" : "s");
    aq_lines_add(&out->lines, ",\"id\":\"%u.%u.", arrow.arrives ? record->peer : aq_job.rank,
                 arrow.arrives ? aq_job.rank : record->peer);
    arrow_number_write(out, record, arrow.letter);
    aq_lines_add(&out->lines, "\"");
    place_write(out, record, record->begin);
    tail_write(out);
}

static void half_write(output_t *out, const aq_trace_record_t *record, const char *phase,
                       uint64_t time)
{
    head_write(out, record, NULL, phase);
    aq_lines_add(&out->lines, ",\"id\":\"%u.%" PRIu64 "\"", aq_job.rank, out->asynchronous);
    place_write(out, record, time);
    if (*phase == 'b')
        args_write(out, record);
    tail_write(out);
}

// An operation that the client has synchronized later, or never.
static void operation_write(output_t *out, const aq_trace_record_t *record)
{
    const uint64_t end = aq_trace_syncs_end(record);
    const bool collective = record->kind > AQ_TRACED_VIS_GET;
    if (collective) {
        complete_write(out, record, end ? end - record->begin : record->duration);
        return;
    }
    out->asynchronous++;
    half_write(out, record, "b", record->begin);
    if (end)
        half_write(out, record, "e", end);
}

static void instant_write(output_t *out, const aq_trace_record_t *record)
{
    head_write(out, record, NULL, "i");
    place_write(out, record, record->begin);
    aq_lines_add(&out->lines, ",\"s\":\"t\"");
    args_write(out, record);
    tail_write(out);
}

// The name of the event is the text; file and line of the client's source, if they are known, stand
// before it: "file\0text".
static void user_write(output_t *out, const aq_trace_record_t *record, const char *text,
                       size_t length)
{
    const size_t source = strnlen(text, length);
    const size_t at = source < length ? source + 1 : length;
    aq_lines_add(&out->lines, "{\"name\":");
    aq_lines_quote(&out->lines, text + at, length - at);
    aq_lines_add(&out->lines, ",\"cat\":\"user\",\"ph\":\"i\"");
    place_write(out, record, record->begin);
    aq_lines_add(&out->lines, ",\"s\":\"t\",\"args\":{\"file\":");
    aq_lines_quote(&out->lines, text, source);
    aq_lines_add(&out->lines, ",\"line\":%" PRIu64 "}", record->team);
    tail_write(out);
}

// ---- rings ----

// The text behind an AQ_TRACED_USER at a position.
static size_t text_gather(const aq_trace_ring_t *ring, uint64_t position, uint64_t end,
                          char text[TEXT_MAX])
{
    const uint64_t length = aq_trace_ring_record(ring, position)->bytes;
    size_t used = 0;
    while (++position < end && used < length && used < TEXT_MAX) {
        const aq_trace_record_t *record = aq_trace_ring_record(ring, position);
        size_t part = sizeof record->text;
        if (record->kind != AQ_TRACED_TEXT)
            break;
        part = part < length - used ? part : length - used;
        part = part < TEXT_MAX - used ? part : TEXT_MAX - used;
        memcpy(text + used, record->text, part);
        used += part;
    }
    return used;
}

static void user_record_write(output_t *out, const aq_trace_ring_t *ring, uint64_t position,
                              uint64_t end)
{
    char text[TEXT_MAX] = "";
    const size_t length = text_gather(ring, position, end, text);
    user_write(out, aq_trace_ring_record(ring, position), text, length);
}

static void record_write(output_t *out, const aq_trace_ring_t *ring, uint64_t position,
                         uint64_t end)
{
    const aq_trace_record_t *record = aq_trace_ring_record(ring, position);
    if (record->kind >= AQ_TRACED_VISIBLE)
        return;
    if (record->kind == AQ_TRACED_USER) {
        user_record_write(out, ring, position, end);
    } else if (record->kind >= AQ_TRACED_CONNECT) {
        instant_write(out, record);
    } else if (record->kind >= AQ_TRACED_PUT && record->id) {
        operation_write(out, record);
    } else {
        complete_write(out, record, record->duration);
        arrow_write(out, record);
    }
}

static void ring_write(output_t *out, const aq_trace_ring_t *ring)
{
    const uint64_t end = atomic_load_explicit(&ring->added, memory_order_acquire);
    for (uint64_t i = aq_trace_ring_first(ring, end); i < end && !out->lines.error; i++)
        record_write(out, ring, i, end);
}

static uint64_t ring_events(const aq_trace_ring_t *ring)
{
    const uint64_t end = atomic_load_explicit(&ring->added, memory_order_acquire);
    uint64_t events = 0;
    for (uint64_t i = aq_trace_ring_first(ring, end); i < end; i++)
        events += aq_trace_ring_record(ring, i)->kind < AQ_TRACED_VISIBLE;
    return events;
}

// ---- the rank ----

static void rank_write(output_t *out)
{
    uint64_t events = 0, dropped = 0;
    aq_lines_t *lines = &out->lines;
    for (const aq_trace_ring_t *ring = aq_trace_rings(); ring; ring = ring->next) {
        events += ring_events(ring);
        dropped += atomic_load_explicit(&ring->dropped, memory_order_relaxed);
    }
    aq_lines_add(lines,
                 "{\"name\":\"aqueduct\",\"ph\":\"M\",\"ts\":0,\"pid\":%u,\"tid\":0,\"args\":{"
                 "\"version\":%d,\"rank\":%u,\"ranks\":%u,\"host\":%u,\"host_name\":",
                 aq_job.rank, TRACE_VERSION, aq_job.rank, aq_job_present(), aq_job.host.my_group);
    aq_lines_quote(lines, aq_log_host(), strlen(aq_log_host()));
    aq_lines_add(lines,
                 ",\"clock_offset_ns\":%" PRId64 ",\"clock_drift_ppb\":%" PRId64
                 ",\"clock_error_ns\":%" PRIu64 ",\"events\":%" PRIu64 ",\"dropped\":%" PRIu64 "}",
                 out->clock.line.offset, out->clock.line.drift_ppb, out->clock.error_ns, events,
                 dropped);
    tail_write(out);
    aq_lines_add(lines,
                 "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,\"tid\":0,\"args\":{"
                 "\"name\":\"rank %u on ",
                 aq_job.rank, aq_job.rank);
    for (const char *at = aq_log_host(); *at; at++) // without what no host's name has
        if (*at != '"' && *at != '\\' && *at > ' ')
            aq_lines_add(lines, "%c", *at);
    aq_lines_add(lines, "\"}");
    tail_write(out);
}

// Returns 0 or errno.
static int all_write(output_t *out)
{
    out->lines.file = file;
    out->lines.array = true;
    out->clock = aq_trace_clock_now();
    aq_trace_syncs_find();
    rank_write(out);
    for (const aq_trace_ring_t *ring = aq_trace_rings(); ring; ring = ring->next)
        ring_write(out, ring);
    aq_trace_syncs_free();
    return aq_lines_flush(&out->lines);
}

void aq_trace_write(void)
{
    static atomic_flag written;
    if (file < 0 || atomic_flag_test_and_set(&written))
        return;
    atomic_store(&aq_tracing.what, 0);
    output_t *out = calloc(1, sizeof *out);
    const int error = out ? all_write(out) : errno;
    free(out);
    if (error)
        aq_log_warn("%s=%s: cannot write the events of this rank: %s; the trace lacks them",
                    setting_of_file, name_of_file, strerror(error));
}
