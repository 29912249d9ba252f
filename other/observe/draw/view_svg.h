// SPDX-License-Identifier: BSD-3-Clause
// Draws a traffic matrix as a picture.
#pragma once

#include <stdio.h>

#include "../input/view_matrix.h"

// Writes the picture; title: its first line, any text. Ranks are joined to tiles so that the
// picture has at most 256 of them in a row. False: memory is out. The caller checks the stream.
bool aq_view_svg_write(FILE *stream, const aq_view_matrix_t *matrix, aq_view_what_t what,
                       const char *title);
