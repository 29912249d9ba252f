// SPDX-License-Identifier: BSD-3-Clause
// Tables of a summary, which are written as text or as HTML.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { AQ_VIEW_TIME = 32 };

typedef enum aq_view_part {
    AQ_VIEW_TITLE, // of what follows
    AQ_VIEW_NOTE,  // a sentence
    AQ_VIEW_HEAD,  // the names of the columns of a table, with tabs between them
    AQ_VIEW_ROW    // of the table, with tabs between the cells
} aq_view_part_t;

typedef struct aq_view_sheet_line {
    aq_view_part_t part;
    char *text;
} aq_view_sheet_line_t;

typedef struct aq_view_sheet {
    aq_view_sheet_line_t *lines;
    size_t count, room;
    bool failed; // memory was out
} aq_view_sheet_t;

void aq_view_sheet_add(aq_view_sheet_t *sheet, aq_view_part_t part, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// In a table all columns are aligned right, but the last one, if it is named "what", left.
void aq_view_sheet_text(FILE *stream, const aq_view_sheet_t *sheet);
void aq_view_sheet_html(FILE *stream, const aq_view_sheet_t *sheet);

void aq_view_sheet_free(aq_view_sheet_t *sheet);

// "1.23 ms". Returns text.
const char *aq_view_time(int64_t ns, char text[AQ_VIEW_TIME]);
