// SPDX-License-Identifier: BSD-3-Clause
// The files that gasnet_view reads and writes. All faults are logged here.
#pragma once

#include <stdio.h>

#include "view_matrix.h"
#include "view_trace.h"

// Reads a traffic matrix from several files. False: logged.
bool aq_view_load_matrix(aq_view_matrix_t *matrix, const char *const *files, int count,
                         int64_t snapshot);

// Reads a trace from several files. False: logged.
bool aq_view_load_trace(aq_view_trace_t *trace, const char *const *files, int count);

// Opens a file for writing, or takes standard output for NULL and "-". NULL: logged.
FILE *aq_view_create(const char *path);

// Ends a file of aq_view_create. False: something was not written, which is logged.
bool aq_view_close(FILE *stream, const char *path);
