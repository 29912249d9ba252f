// SPDX-License-Identifier: BSD-3-Clause
// A file that the ranks of a job add lines to when the job ends.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "../../other/base/log/log.h"

// Opens the file that a setting names, at init; "stdout", "stderr" and "-" (standard error) are
// those of this process, and each % in a name is replaced by the rank. With make the file is
// emptied and gets a title; where several hosts share a file, a rank of each host does this,
// without harm, since no rank adds lines before the end of init. Without make, another rank of the
// host does it. Returns a descriptor, or -1 if the file cannot be written, of which the rank that
// makes it warns. Does not block.
int aq_observe_file_open(const char *setting, const char *name, const char *title, bool make);

// As aq_observe_file_open, for a path: no name is a stream, and % stands for itself.
int aq_observe_path_open(const char *setting, const char *path, const char *title, bool make);

// Writes all of the text. Returns 0 or errno. Blocks for the file system; async-signal-safe.
int aq_observe_file_write(int file, const char *text, size_t length);

// Whether this rank makes the file: the name has a %, so that each rank has its own file, or this
// is the first rank of its host in `ranks`, a list as in GASNET_TRACENODES, which contains this
// rank.
bool aq_observe_file_is_mine(const char *name, const char *ranks);

// Text that is written in whole lines, so that other ranks may add theirs.
enum { AQ_LINES_BYTES = 64 << 10, AQ_LONGEST_LINE_MAX = 4096 };
typedef struct aq_lines {
    int file;
    int error;  // errno of the first write that has failed; later ones do nothing
    bool array; // the file is an array of JSON: lines end with a comma
    size_t length;
    char text[AQ_LINES_BYTES];
} aq_lines_t;

// Adds text to the current line, AQ_LONGEST_LINE_MAX bytes at most for a whole line.
void aq_lines_add(aq_lines_t *lines, const char *fmt, ...) AQ_PRINTF(2, 3);
// Adds text between quotation marks, as JSON has it, and 1,024 bytes at most.
void aq_lines_quote(aq_lines_t *lines, const char *text, size_t length);
// Ends a line; writes the lines if there is no room for another one.
void aq_lines_end(aq_lines_t *lines);
// Writes what is left. Returns 0, or errno of the first fault.
int aq_lines_flush(aq_lines_t *lines);
