// SPDX-License-Identifier: BSD-3-Clause
// The axes of a picture of a matrix: ranks and hosts at the left and at the top.
#pragma once

#include <stdio.h>

#include "../input/view_matrix.h"

enum { AQ_VIEW_LEFT = 92, AQ_VIEW_TOP = 124 }; // where the tiles begin, in pixels

typedef struct aq_view_axes {
    uint32_t ranks, block, tiles; // block: ranks that a tile joins; tiles: in a row
    double pixels;                // of a row
} aq_view_axes_t;

aq_view_axes_t aq_view_axes_make(uint32_t ranks, uint32_t most_tiles);

// Draws a frame, numbers of ranks, and lines between hosts with their numbers.
void aq_view_axes_draw(FILE *stream, const aq_view_axes_t *axes, const aq_view_matrix_t *matrix);
