// SPDX-License-Identifier: BSD-3-Clause
// Collects the lines of a summary, and writes them with aligned columns to the terminal, or as
// tables into the page.
#include "view_sheet.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/grow.h"
#include "../../base/minmax.h"
#include "view_text.h"

enum { COLUMNS = 12 };

void aq_view_sheet_add(aq_view_sheet_t *sheet, aq_view_part_t part, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    const int length = vasprintf(&text, fmt, args);
    va_end(args);
    aq_view_sheet_line_t *lines =
        length >= 0 ? aq_grow(sheet->lines, sheet->count, &sheet->room, sizeof *lines) : NULL;
    if (lines) {
        sheet->lines = lines;
        lines[sheet->count++] = (aq_view_sheet_line_t){part, text};
        return;
    }
    sheet->failed = true;
    if (length >= 0)
        free(text);
}

void aq_view_sheet_free(aq_view_sheet_t *sheet)
{
    for (size_t i = 0; i < sheet->count; i++)
        free(sheet->lines[i].text);
    free(sheet->lines);
    *sheet = (aq_view_sheet_t){0};
}

// ---- text ----

// Widths of the columns of the table whose head is line i.
static void widths_find(const aq_view_sheet_t *sheet, size_t i, size_t widths[COLUMNS])
{
    memset(widths, 0, COLUMNS * sizeof *widths);
    for (const size_t head = i;
         i < sheet->count && (i == head || sheet->lines[i].part == AQ_VIEW_ROW); i++) {
        const char *text = sheet->lines[i].text;
        for (unsigned column = 0; column < COLUMNS; column++) {
            const size_t length = strcspn(text, "\t");
            widths[column] = aq_max(widths[column], length);
            text += length + (text[length] == '\t');
        }
    }
}

static void row_text(FILE *stream, const char *text, const size_t widths[COLUMNS], bool left)
{
    for (unsigned column = 0; column < COLUMNS && *text; column++) {
        const int length = (int)strcspn(text, "\t");
        const bool last = !text[length];
        if (last && left)
            fprintf(stream, "  %.*s", length, text);
        else
            fprintf(stream, "  %*.*s", (int)widths[column], length, text);
        text += length + !last;
    }
    fputc('\n', stream);
}

static bool ends_left(const char *head)
{
    const size_t length = strlen(head);
    return length >= 4 && strcmp(head + length - 4, "what") == 0;
}

void aq_view_sheet_text(FILE *stream, const aq_view_sheet_t *sheet)
{
    size_t widths[COLUMNS] = {0};
    bool left = false;
    for (size_t i = 0; i < sheet->count; i++) {
        const aq_view_sheet_line_t *line = &sheet->lines[i];
        if (line->part == AQ_VIEW_TITLE)
            fprintf(stream, "%s%s\n", i ? "\n" : "", line->text);
        else if (line->part == AQ_VIEW_NOTE)
            fprintf(stream, "%s\n", line->text);
        if (line->part == AQ_VIEW_HEAD) {
            widths_find(sheet, i, widths);
            left = ends_left(line->text);
        }
        if (line->part >= AQ_VIEW_HEAD)
            row_text(stream, line->text, widths, left);
    }
}

// ---- HTML ----

static void row_html(FILE *stream, char *text, const char *tag, bool left)
{
    fputs("<tr>", stream);
    for (char *cell = text; cell;) {
        char *end = strchr(cell, '\t');
        if (end)
            *end = '\0';
        fprintf(stream, "<%s%s>", tag, !end && left ? " class=\"l\"" : "");
        aq_view_xml_write(stream, cell);
        fprintf(stream, "</%s>", tag);
        if (end)
            *end++ = '\t';
        cell = end;
    }
    fputs("</tr>\n", stream);
}

static void line_html(FILE *stream, const aq_view_sheet_line_t *line, bool left)
{
    const char *tag = line->part == AQ_VIEW_TITLE ? "h2" : "p";
    if (line->part == AQ_VIEW_HEAD)
        fputs("<table>\n", stream);
    if (line->part >= AQ_VIEW_HEAD) {
        row_html(stream, line->text, line->part == AQ_VIEW_HEAD ? "th" : "td", left);
        return;
    }
    fprintf(stream, "<%s>", tag);
    aq_view_xml_write(stream, line->text);
    fprintf(stream, "</%s>\n", tag);
}

void aq_view_sheet_html(FILE *stream, const aq_view_sheet_t *sheet)
{
    bool left = false;
    for (size_t i = 0; i < sheet->count; i++) {
        const aq_view_sheet_line_t *line = &sheet->lines[i];
        if (line->part == AQ_VIEW_HEAD)
            left = ends_left(line->text);
        line_html(stream, line, left);
        if (line->part >= AQ_VIEW_HEAD &&
            (i + 1 == sheet->count || sheet->lines[i + 1].part != AQ_VIEW_ROW))
            fputs("</table>\n", stream);
    }
}

const char *aq_view_time(int64_t ns, char text[AQ_VIEW_TIME])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double time = (double)ns;
    unsigned unit = 0;
    for (; fabs(time) >= 999.5 && unit < 3; unit++)
        time /= 1000;
    if (fabs(time) >= 999.5)
        snprintf(text, AQ_VIEW_TIME, "%.0f s", time);
    else
        snprintf(text, AQ_VIEW_TIME, "%.3g %s", time, units[unit]);
    return text;
}
