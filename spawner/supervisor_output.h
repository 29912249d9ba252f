// Merging the output of the ranks into ours, in whole lines.
//
//   rank's pipe -> aq_stream_t (keeps the partial line) -> aq_sink_t (whole lines) -> our stdout or
//   stderr
//
// Always true: nothing here blocks; while a sink is blocked nobody reads the pipes, so that a slow
// reader slows the ranks down and costs neither memory nor lines.
#ifndef AQ_SUPERVISOR_OUTPUT_H
#define AQ_SUPERVISOR_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AQ_LINE_MAX ((size_t)64 * 1024)  // a longer line is passed on in pieces
#define AQ_SINK_FULL ((size_t)64 * 1024) // waiting in a sink: its streams are not read any more

typedef struct aq_sink {
    int fd;
    bool owned;     // fd is ours alone and does not block
    bool socket;    // fd is a socket
    bool line_open; // the last byte taken was no newline
    int fault; // errno of a write that failed for good (EPIPE: the reader is gone); later bytes are
               // dropped
    char *bytes; // waiting: [start, start + used)
    size_t start, used, room;
    uint64_t passed; // bytes that the reader has taken
} aq_sink_t;

typedef struct aq_stream {
    int fd; // -1: ended
    uint32_t rank;
    aq_sink_t *sink;
    char *partial;
    size_t used;    // of partial
    bool line_open; // the beginning of the current line has been passed on already
} aq_stream_t;

void aq_sink_open(aq_sink_t *sink, int fd);
void aq_sink_put(aq_sink_t *sink, const char *bytes, size_t len);
// Writes what can be written now; true when nothing is left (or the reader is gone).
bool aq_sink_flush(aq_sink_t *sink);

// Reads once from a stream that is readable. False at its end, when it has been closed and its
// partial line passed on. label: begin each line with the rank.
bool aq_stream_read(aq_stream_t *stream, bool label);
// Passes the partial line on and closes.
void aq_stream_end(aq_stream_t *stream, bool label);

#endif
