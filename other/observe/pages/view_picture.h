// SPDX-License-Identifier: BSD-3-Clause
// Draws a trace as a picture (SVG): a row for each thread, with what it did, when.
#pragma once

#include <stdio.h>

#include "../analysis/view_summary.h"

// False: memory is out. The caller checks the stream.
bool aq_view_picture_write(FILE *stream, const aq_view_findings_t *findings, const char *title);
