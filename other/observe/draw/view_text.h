// SPDX-License-Identifier: BSD-3-Clause
// Writes texts: of a traffic matrix, and into XML.
#pragma once

#include <stdio.h>

#include "../input/view_matrix.h"

// Writes the largest pairs, the sums of ranks, and how evenly they share. False: memory is out.
bool aq_view_text_write(FILE *stream, const aq_view_matrix_t *matrix, aq_view_what_t what);

// Writes any text so that XML and HTML show it.
void aq_view_xml_write(FILE *stream, const char *text);
