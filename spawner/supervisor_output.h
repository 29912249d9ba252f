// SPDX-License-Identifier: BSD-3-Clause
// Merges the output of the ranks, line by line.
//
//   rank's pipe -> aq_stream_t (keeps the partial line) -> aq_sink_t (whole lines) -> our stdout or
//   stderr
//
// Always true: nothing here blocks. While a sink is blocked, its pipes are not read, so a slow
// reader slows the ranks down and costs neither memory nor lines.
#ifndef AQ_SUPERVISOR_OUTPUT_H
#define AQ_SUPERVISOR_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AQ_LINE_MAX ((size_t)64 * 1024)  // longer lines are forwarded in pieces
#define AQ_SINK_FULL ((size_t)64 * 1024) // waiting in a sink; above this its streams are not read

typedef struct aq_sink {
    int fd;
    bool owned;     // no other process shares fd, and fd does not block
    bool socket;    // fd is a socket
    bool line_open; // the last byte was not a newline
    // errno of a write that failed for good (EPIPE: the reader is gone); later bytes are dropped
    int fault;
    char *bytes; // waiting bytes: [start, start + used)
    size_t start, used, room;
    uint64_t passed; // bytes that the reader has accepted
} aq_sink_t;

typedef struct aq_stream {
    int fd; // -1: end of file
    uint32_t rank;
    aq_sink_t *sink;
    char *partial;
    size_t used;    // of partial
    bool line_open; // the beginning of the current line was already forwarded
} aq_stream_t;

void aq_sink_open(aq_sink_t *sink, int fd);
void aq_sink_put(aq_sink_t *sink, const char *bytes, size_t len);
// Writes as much as possible now. True: nothing is left, or the reader is gone.
bool aq_sink_flush(aq_sink_t *sink);

// Reads once from a readable stream. False: the stream has ended; it is closed and its partial line
// forwarded. label: prefix each line with the rank.
bool aq_stream_read(aq_stream_t *stream, bool label);
// Forwards the partial line and closes the stream.
void aq_stream_end(aq_stream_t *stream, bool label);

#endif
