// SPDX-License-Identifier: BSD-3-Clause
// What the library does for the macros of the tools about traces and statistics (gasnet_tools.h). A
// process without a job, or without trace and statistics, does nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Where a message of the client goes, as bits; aq_api_trace_on has those that are written.
enum { AQ_NOTE_TRACE = 1, AQ_NOTE_TRACE_FORCED = 2, AQ_NOTE_STATS = 4, AQ_NOTE_STATS_FORCED = 8 };

typedef struct aq_trace_aids {
    // Any thread; do not block, but for statistics, for the file system. text has `length` bytes.
    void (*note)(unsigned where, const char *file, unsigned line, const char *text, size_t length);
    // Returns the mask of the trace, or of the statistics; owned by the library, until set_mask.
    const char *(*mask)(bool stats);
    void (*set_mask)(bool stats, const char *mask);
    void (*dump)(bool reset);
} aq_trace_aids_t;

// Sets them, at init.
void aq_trace_aids_use(const aq_trace_aids_t *aids);
