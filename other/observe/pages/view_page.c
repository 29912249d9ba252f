// SPDX-License-Identifier: BSD-3-Clause
// Copies view_page.html, and writes timeline (view_timeline.c), summary and matrix where it names
// them.
#include "view_page.h"

#include <string.h>

#include "../draw/view_svg.h"
#include "../draw/view_text.h"
#include "view_timeline.h"

static bool matrix_write(FILE *stream, const aq_view_page_t *page)
{
    if (!page->matrix || page->matrix->count == 0)
        return true;
    fputs("<h2>Matrix</h2>\n", stream);
    return aq_view_svg_write(stream, page->matrix, page->what, "Traffic by pair of ranks");
}

// Writes what a line with the name of a place stands for.
static bool place_write(FILE *stream, const aq_view_page_t *page, const char *line)
{
    if (strcmp(line, "@TITLE@\n") == 0)
        aq_view_xml_write(stream, page->title);
    else if (strcmp(line, "@SUMMARY@\n") == 0)
        aq_view_sheet_html(stream, page->summary);
    else if (strcmp(line, "@MATRIX@\n") == 0)
        return matrix_write(stream, page);
    else if (strcmp(line, "@DATA@\n") == 0)
        return aq_view_timeline_write(stream, page->findings);
    else
        fputs(line, stream);
    return true;
}

bool aq_view_page_write(FILE *stream, const aq_view_page_t *page)
{
    bool room = true;
    for (const char *const *line = aq_view_page_lines; *line && room; line++)
        room = place_write(stream, page, *line);
    return room;
}
