// SPDX-License-Identifier: BSD-3-Clause
// Merges the output of the ranks, line by line.
//
//   rank's pipe -> aq_stream_t (keeps the partial line) -> aq_sink_t (whole lines) -> our stdout or
//   stderr
//
// A partial line, such as a prompt, is passed on after GASNET_LINE_WAIT, or at once to a terminal
// as long as one rank writes. That time begins anew when a slow reader has caught up, because until
// then the rest of the line may wait unread. From then on the line belongs to its stream: lines of
// others are kept until it is complete, or for that time again, and then begin on a line of their
// own.
//
// Always true: nothing here blocks. While a sink is blocked, its pipes are not read, so a slow
// reader slows the ranks down and costs neither memory nor lines.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AQ_LINE_MAX ((size_t)64 * 1024)  // longer lines are forwarded in pieces
#define AQ_SINK_FULL ((size_t)64 * 1024) // waiting in a sink; above this its streams are not read

struct aq_stream;

typedef struct aq_sink {
    int fd;
    bool owned;    // no other process shares fd, and fd does not block
    bool socket;   // fd is a socket
    bool terminal; // what reads in the end is a terminal
    // errno of a write that failed for good (EPIPE: the reader is gone); later bytes are dropped
    int fault;
    char *bytes; // waiting bytes: [start, start + used)
    size_t start, used, room;
    uint64_t passed;                // bytes that the reader has accepted
    bool stuck;                     // bytes wait for the reader
    uint64_t behind_until;          // the last time known at which bytes did so; 0: none
    bool line_open;                 // the last byte was not a newline
    const struct aq_stream *writer; // which goes on with that line; NULL: none
    bool awaited;                   // a stream keeps lines because of that
    bool several;                   // more than one rank has written
    uint32_t first;                 // 1 + the number of the rank that has written first; 0: none
} aq_sink_t;

typedef struct aq_stream {
    int fd; // -1: end of file, or there is none
    uint32_t rank;
    aq_sink_t *sink;
    bool label;     // prefix each line with the rank
    char *partial;  // what was not passed on yet
    size_t used;    // of partial
    uint64_t since; // when the first of these bytes came, in time of aq_clock_ns
} aq_stream_t;

void aq_sink_open(aq_sink_t *sink, int fd);
void aq_sink_put(aq_sink_t *sink, const char *bytes, size_t len);
// Writes as much as possible now. True: nothing is left, or the reader is gone.
bool aq_sink_flush(aq_sink_t *sink);

// Takes bytes of a stream that something else has read.
void aq_stream_feed(aq_stream_t *stream, const char *bytes, size_t len);
// Reads once from a readable stream. False: the stream has ended; it is closed and its partial line
// forwarded.
bool aq_stream_read(aq_stream_t *stream);
// Reads once, and puts the bytes into the sink as they are. False: the stream has ended; it is
// closed.
bool aq_stream_copy(aq_stream_t *stream);
// Forwards the partial line and closes the stream.
void aq_stream_end(aq_stream_t *stream);

// The time at which the stream has something to pass on, if the reader does not fall behind; 0:
// none.
uint64_t aq_stream_due(const aq_stream_t *stream);
// Passes on what is due in these streams, if the time *due has come, or a line for which others
// wait is complete. Sets *due to the time of the next call; 0: after more bytes have come. To be
// called after each round of reads.
void aq_streams_pass_due(aq_stream_t *streams, size_t count, aq_sink_t sinks[2], uint64_t *due);
// Notes in *due what a stream keeps. After each read.
static inline void aq_stream_note_due(const aq_stream_t *stream, uint64_t *due)
{
    const uint64_t own = aq_stream_due(stream);
    if (own != 0 && (*due == 0 || own < *due))
        *due = own;
}
