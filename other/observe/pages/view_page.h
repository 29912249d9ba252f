// SPDX-License-Identifier: BSD-3-Clause
// Writes a page that needs no network: the timeline of a trace, its summary, and a matrix.
#pragma once

#include <stdio.h>

#include "../input/view_matrix.h"
#include "../draw/view_sheet.h"
#include "../analysis/view_summary.h"

typedef struct aq_view_page {
    const aq_view_findings_t *findings;
    const aq_view_sheet_t *summary;
    const aq_view_matrix_t *matrix; // NULL: none
    aq_view_what_t what;            // that the matrix shows
    const char *title;
} aq_view_page_t;

// False: memory is out. The caller checks the stream.
bool aq_view_page_write(FILE *stream, const aq_view_page_t *page);

// The page, line by line, with lines @NAME@ for what is put there, and NULL at the end. The build
// makes it of view_page.html.
extern const char *const aq_view_page_lines[];
