// SPDX-License-Identifier: BSD-3-Clause
// Reads the file of GASNET_TRACE: events of Chrome's JSON, one in a line.
#pragma once

#include <stdio.h>

#include "view_trace.h"

// Earlier versions lack kinds of events and roots of collectives, and are read, too.
enum { AQ_VIEW_TRACE_VERSION = 2 };

// Reads a file, or adds a further one of the same job; name: of the file, for messages. A last line
// that is cut is left out. False, with a sentence in errbuf that names file, line and remedy: the
// file is no trace, is of another version or is damaged.
bool aq_view_trace_read(FILE *stream, const char *name, aq_view_trace_t *trace, char *errbuf,
                        size_t errbuf_size);
