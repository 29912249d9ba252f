// SPDX-License-Identifier: BSD-3-Clause
// Merging the output of the ranks into ours, in whole lines.
#include "supervisor_output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"

// the ranks die with this process, so nothing stays behind
static void *must_realloc(void *old, size_t size)
{
    void *grown = realloc(old, size);
    if (grown == NULL) {
        aq_log_error("no memory for the output of the ranks; the job is ended");
        _exit(1);
    }
    return grown;
}

// Opens pipes and terminals anew, because O_NONBLOCK on the inherited descriptor would affect every
// process that shares it (such as the user's shell). Files do not block; sockets have a flag for
// each call.
void aq_sink_open(aq_sink_t *sink, int fd)
{
    *sink = (aq_sink_t){.fd = fd, .terminal = isatty(fd) != 0};
    struct stat st;
    if (fstat(fd, &st) != 0)
        return;
    sink->socket = S_ISSOCK(st.st_mode);
    if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)) {
        sink->owned = S_ISREG(st.st_mode);
        return;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (own >= 0) {
        sink->fd = own;
        sink->owned = true;
    }
}

void aq_sink_put(aq_sink_t *sink, const char *bytes, size_t len)
{
    if (sink->fault != 0 || len == 0)
        return;
    if (sink->start + sink->used + len > sink->room) {
        if (sink->start > 0)
            memmove(sink->bytes, sink->bytes + sink->start, sink->used);
        sink->start = 0;
        if (sink->used + len > sink->room) {
            sink->room = 2 * (sink->used + len);
            sink->bytes = must_realloc(sink->bytes, sink->room);
        }
    }
    memcpy(sink->bytes + sink->start + sink->used, bytes, len);
    sink->used += len;
}

// Writes once without blocking, no matter what the sink is.
static ssize_t write_some(const aq_sink_t *sink)
{
    const char *bytes = sink->bytes + sink->start;
    if (sink->socket)
        return send(sink->fd, bytes, sink->used, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sink->owned)
        return write(sink->fd, bytes, sink->used);
    // A shared pipe that is ready accepts PIPE_BUF bytes at once.
    struct pollfd ready = {.fd = sink->fd, .events = POLLOUT};
    const int count = poll(&ready, 1, 0);
    if (count == 0)
        errno = EAGAIN;
    if (count <= 0)
        return -1;
    return write(sink->fd, bytes, aq_min(sink->used, PIPE_BUF));
}

static void note_behind(aq_sink_t *sink)
{
    if (sink->stuck)
        sink->behind_until = aq_clock_ns();
}

bool aq_sink_flush(aq_sink_t *sink)
{
    while (sink->used > 0) {
        ssize_t n = write_some(sink);
        if (n >= 0) {
            sink->passed += (uint64_t)n;
            sink->start += (size_t)n;
            sink->used -= (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            sink->stuck = true;
            return false;
        } else if (errno != EINTR) {
            sink->fault = errno;
            sink->used = 0;
        }
    }
    sink->start = 0;
    note_behind(sink);
    sink->stuck = false;
    return true;
}

// ---- streams ----

static void put_label(const aq_stream_t *stream)
{
    char text[24];
    const int n = snprintf(text, sizeof text, "[%" PRIu32 "] ", stream->rank);
    aq_sink_put(stream->sink, text, (size_t)n);
}

// Forwards a piece that has at most one newline, at its end, or any whole lines without labels.
static void pass_piece(aq_stream_t *stream, const char *bytes, size_t len)
{
    aq_sink_t *sink = stream->sink;
    if (sink->line_open && sink->writer != stream)
        aq_sink_put(sink, "\n", 1);
    if (stream->label && sink->writer != stream)
        put_label(stream);
    aq_sink_put(sink, bytes, len);
    sink->line_open = bytes[len - 1] != '\n';
    sink->writer = sink->line_open ? stream : NULL;
}

static void pass_on(aq_stream_t *stream, const char *bytes, size_t len)
{
    while (len > 0) {
        const char *end = stream->label ? memchr(bytes, '\n', len) : NULL;
        const size_t part = end != NULL ? (size_t)(end - bytes) + 1 : len;
        pass_piece(stream, bytes, part);
        bytes += part;
        len -= part;
    }
}

static void pass_on_kept(aq_stream_t *stream, size_t len)
{
    if (len == 0)
        return;
    pass_on(stream, stream->partial, len);
    stream->used -= len;
    memmove(stream->partial, stream->partial + len, stream->used);
}

static size_t whole_lines(const char *bytes, size_t len)
{
    const char *last = len > 0 ? memrchr(bytes, '\n', len) : NULL;
    return last != NULL ? (size_t)(last - bytes) + 1 : 0;
}

static bool may_pass(const aq_stream_t *stream)
{
    return stream->sink->writer == NULL || stream->sink->writer == stream;
}

static uint64_t wait_ns(void)
{
    return (uint64_t)aq_settings_int(AQ_SET_LINE_WAIT) * 1000000;
}

static void note_writer(const aq_stream_t *stream)
{
    aq_sink_t *sink = stream->sink;
    if (sink->first == 0)
        sink->first = stream->rank + 1;
    sink->several = sink->several || sink->first != stream->rank + 1;
}

static void keep(aq_stream_t *stream, const char *bytes, size_t len)
{
    if (len == 0)
        return;
    if (stream->used == 0)
        stream->since = aq_clock_ns();
    stream->partial = must_realloc(stream->partial, stream->used + len);
    memcpy(stream->partial + stream->used, bytes, len);
    stream->used += len;
    stream->sink->awaited = stream->sink->awaited || !may_pass(stream);
}

// Whether a partial line is passed on at once. If only one rank writes to a terminal, no other
// output can get into the line.
static bool is_for_now(const aq_stream_t *stream)
{
    const aq_sink_t *sink = stream->sink;
    return stream->used >= AQ_LINE_MAX || wait_ns() == 0 ||
           (sink->terminal && !sink->several && may_pass(stream));
}

void aq_stream_feed(aq_stream_t *stream, const char *bytes, size_t len)
{
    const size_t whole = may_pass(stream) ? whole_lines(bytes, len) : 0;
    note_writer(stream);
    if (whole > 0) {
        pass_on_kept(stream, stream->used);
        pass_on(stream, bytes, whole);
    }
    keep(stream, bytes + whole, len - whole);
    if (stream->used > 0 && is_for_now(stream))
        pass_on_kept(stream, stream->used);
}

// Reads once and hands the bytes to take; ends the stream if it has ended.
static bool read_once(aq_stream_t *stream,
                      void (*take)(aq_stream_t *stream, const char *bytes, size_t len))
{
    static char chunk[AQ_LINE_MAX];
    ssize_t n;
    do
        n = read(stream->fd, chunk, sizeof chunk);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return true;
    if (n > 0)
        take(stream, chunk, (size_t)n);
    else
        aq_stream_end(stream);
    return n > 0;
}

bool aq_stream_read(aq_stream_t *stream)
{
    return read_once(stream, aq_stream_feed);
}

static void put_as_is(aq_stream_t *stream, const char *bytes, size_t len)
{
    aq_sink_put(stream->sink, bytes, len);
}

bool aq_stream_copy(aq_stream_t *stream)
{
    return read_once(stream, put_as_is);
}

void aq_stream_end(aq_stream_t *stream)
{
    pass_on_kept(stream, stream->used);
    if (stream->sink->writer == stream)
        stream->sink->writer = NULL;
    free(stream->partial);
    stream->partial = NULL;
    if (stream->fd >= 0)
        (void)close(stream->fd);
    stream->fd = -1;
}

// ---- time ----

// A partial line never breaks the line of another stream.
uint64_t aq_stream_due(const aq_stream_t *stream)
{
    if (stream->used == 0 || (!may_pass(stream) && whole_lines(stream->partial, stream->used) == 0))
        return 0;
    return aq_max(stream->since, stream->sink->behind_until) + wait_ns();
}

static void pass_due(aq_stream_t *stream, uint64_t now)
{
    const uint64_t due = aq_stream_due(stream);
    if (due == 0)
        return;
    if (now >= due)
        pass_on_kept(stream, stream->used);
    else if (may_pass(stream))
        pass_on_kept(stream, whole_lines(stream->partial, stream->used));
}

static bool is_freed(const aq_sink_t *sink)
{
    return sink->awaited && sink->writer == NULL;
}

void aq_streams_pass_due(aq_stream_t *streams, size_t count, aq_sink_t sinks[2], uint64_t *due)
{
    const uint64_t now = *due != 0 || sinks[0].awaited || sinks[1].awaited ? aq_clock_ns() : 0;
    if ((*due == 0 || now < *due) && !is_freed(&sinks[0]) && !is_freed(&sinks[1]))
        return;
    *due = 0;
    for (int i = 0; i < 2; i++) {
        note_behind(&sinks[i]);
        sinks[i].awaited = false;
    }
    for (size_t i = 0; i < count; i++)
        if (streams[i].used > 0)
            pass_due(&streams[i], now);
    for (size_t i = 0; i < count; i++) {
        aq_stream_note_due(&streams[i], due);
        if (streams[i].used > 0 && !may_pass(&streams[i]))
            streams[i].sink->awaited = true;
    }
}
