// SPDX-License-Identifier: BSD-3-Clause
// The file of the trace: Chrome trace event JSON in its array form, one event a line, so that ranks
// append to one file. Perfetto, speedscope and gasnet_view read it.
//
//     [
//     {"name":"aqueduct","ph":"M", ...   a rank: its clock, and how many events it has and dropped
//     {"name":"Short request","cat":"am","ph":"X", ...
//
// A rank that has written its lines closes the array, and the next one opens it again
// (observe_file.c). The bracket may still be missing, if ranks die, which the format allows. Times
// are microseconds of the clock that all ranks share, that of the first host since it was booted.
#pragma once

#include <stdbool.h>

// Opens the file for this process; see aq_observe_file_open. Returns false if it cannot be written.
bool aq_trace_output_open(const char *setting, const char *name, bool make);

// When this rank leaves the job; once. Adds what this process has traced to the file. Blocks for
// the file system.
void aq_trace_write(void);
