// SPDX-License-Identifier: BSD-3-Clause
// What a picture of a trace has besides its rows: messages, ranks that came last to a collective,
// and single events.
#pragma once

#include <stdio.h>

#include "../analysis/view_bins.h"
#include "../analysis/view_summary.h"

enum { AQ_VIEW_PICTURE_LEFT = 76, AQ_VIEW_PICTURE_TOP = 104, AQ_VIEW_PICTURE_WIDE = 1100 };

typedef struct aq_view_canvas {
    FILE *stream;
    const aq_view_findings_t *findings;
    aq_view_bins_t bins;
    double high; // of a row, in pixels
} aq_view_canvas_t;

// Where a time, and the middle of a row, are.
double aq_view_canvas_x(const aq_view_canvas_t *canvas, int64_t time);
double aq_view_canvas_y(const aq_view_canvas_t *canvas, uint32_t row);

// Draws the marks, and writes a sentence for each kind of them, below the rows, at a height and 17
// pixels further down for each.
void aq_view_marks_draw(const aq_view_canvas_t *canvas, double below);
