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

#include "../other/base/log.h"
#include "../other/base/minmax.h"

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
    *sink = (aq_sink_t){.fd = fd};
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
    sink->line_open = bytes[len - 1] != '\n';
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
    if (poll(&ready, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(sink->fd, bytes, aq_min(sink->used, PIPE_BUF));
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
            return false;
        } else if (errno != EINTR) {
            sink->fault = errno;
            sink->used = 0;
        }
    }
    sink->start = 0;
    return true;
}

// ---- streams ----

static void put_label(const aq_stream_t *stream)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%s[%" PRIu32 "] ", stream->sink->line_open ? "\n" : "",
                     stream->rank);
    aq_sink_put(stream->sink, text, (size_t)n);
}

// Forwards bytes that hold whole lines, or a piece of a line that is too long.
static void pass_on(aq_stream_t *stream, const char *bytes, size_t len, bool label)
{
    if (!label) {
        aq_sink_put(stream->sink, bytes, len);
        return;
    }
    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end != NULL ? (size_t)(end - bytes) + 1 : len;
        if (!stream->line_open)
            put_label(stream);
        aq_sink_put(stream->sink, bytes, part);
        stream->line_open = end == NULL;
        bytes += part;
        len -= part;
    }
}

static void pass_on_partial(aq_stream_t *stream, bool label)
{
    pass_on(stream, stream->partial, stream->used, label);
    stream->used = 0;
}

static void keep_partial(aq_stream_t *stream, const char *bytes, size_t len, bool label)
{
    if (len == 0)
        return;
    stream->partial = must_realloc(stream->partial, stream->used + len);
    memcpy(stream->partial + stream->used, bytes, len);
    stream->used += len;
    if (stream->used >= AQ_LINE_MAX)
        pass_on_partial(stream, label);
}

bool aq_stream_read(aq_stream_t *stream, bool label)
{
    static char chunk[AQ_LINE_MAX];
    ssize_t n;
    do
        n = read(stream->fd, chunk, sizeof chunk);
    while (n < 0 && errno == EINTR);
    if (n <= 0) {
        aq_stream_end(stream, label);
        return false;
    }
    const char *last = memrchr(chunk, '\n', (size_t)n);
    size_t whole = last != NULL ? (size_t)(last - chunk) + 1 : 0;
    if (whole > 0) {
        pass_on_partial(stream, label);
        pass_on(stream, chunk, whole, label);
    }
    keep_partial(stream, chunk + whole, (size_t)n - whole, label);
    return true;
}

void aq_stream_end(aq_stream_t *stream, bool label)
{
    if (stream->fd < 0)
        return;
    pass_on_partial(stream, label);
    (void)close(stream->fd);
    stream->fd = -1;
    free(stream->partial);
    stream->partial = NULL;
}
