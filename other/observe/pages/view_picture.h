// SPDX-License-Identifier: BSD-3-Clause
// Draws a trace as a picture (SVG): a row for each thread, with what it did, when.
#ifndef AQ_VIEW_PICTURE_H
#define AQ_VIEW_PICTURE_H

#include <stdio.h>

#include "../analysis/view_summary.h"

// False: memory is out. The caller checks the stream.
bool aq_view_picture_write(FILE *stream, const aq_view_findings_t *findings, const char *title);

#endif
