// SPDX-License-Identifier: BSD-3-Clause
// Adds up the matrix into tiles and draws them, with axes (view_axes.c) and legend. gasnet_view
// writes the picture to a file; pages/view_page.c puts it into the page.
#include "view_svg.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../../base/minmax.h"
#include "view_axes.h"
#include "view_scale.h"
#include "view_text.h"

enum {
    MOST_TILES = 256, // in a row
    MOST_NAMED = 32,  // tiles in a row that have a text for the mouse
    MOST_NUMBERS = 16 // tiles in a row that show their number
};

typedef struct picture {
    FILE *stream;
    const aq_view_matrix_t *matrix;
    aq_view_what_t what;
    aq_view_axes_t axes;
    aq_view_scale_t scale;
    uint64_t *tiles; // sums, in rows
    uint64_t total;
} picture_t;

// ---- sums ----

static uint64_t *tile_at(const picture_t *picture, uint32_t row, uint32_t column)
{
    return &picture->tiles[(size_t)row * picture->axes.tiles + column];
}

static bool tiles_sum(picture_t *picture)
{
    const aq_view_axes_t *axes = &picture->axes;
    const size_t count = (size_t)axes->tiles * axes->tiles;
    picture->tiles = calloc(count, sizeof *picture->tiles);
    if (!picture->tiles)
        return false;
    for (size_t i = 0; i < picture->matrix->count; i++) {
        const aq_view_line_t *line = &picture->matrix->lines[i];
        const uint64_t value = aq_view_value(line, picture->what);
        *tile_at(picture, (uint32_t)line->column[AQ_TRAFFIC_FROM] / axes->block,
                 (uint32_t)line->column[AQ_TRAFFIC_TO] / axes->block) += value;
        picture->total += value;
    }
    for (size_t i = 0; i < count; i++)
        aq_view_scale_add(&picture->scale, picture->tiles[i]);
    return true;
}

// ---- tiles ----

// Tiles beside each other that have the same colour are one shape.
static void row_draw(const picture_t *picture, uint32_t row, unsigned level)
{
    const uint32_t tiles = picture->axes.tiles;
    for (uint32_t column = 0, end; column < tiles; column = end) {
        end = column + 1;
        const uint64_t value = *tile_at(picture, row, column);
        if (value == 0 || aq_view_scale_level(&picture->scale, value) != level)
            continue;
        while (end < tiles && *tile_at(picture, row, end) &&
               aq_view_scale_level(&picture->scale, *tile_at(picture, row, end)) == level)
            end++;
        fprintf(picture->stream, "M%u %uh%uv1h-%uz", column, row, end - column, end - column);
    }
}

static void tiles_draw(const picture_t *picture)
{
    const aq_view_axes_t *axes = &picture->axes;
    fprintf(picture->stream,
            "<g transform=\"translate(%d %d) scale(%.6g)\" shape-rendering=\"crispEdges\">\n",
            AQ_VIEW_LEFT, AQ_VIEW_TOP, axes->pixels / axes->tiles);
    for (unsigned level = 0; level < AQ_VIEW_LEVELS; level++) {
        fprintf(picture->stream, "<path fill=\"#%06x\" d=\"", aq_view_colour(level));
        for (uint32_t row = 0; row < axes->tiles; row++)
            row_draw(picture, row, level);
        fputs("\"/>\n", picture->stream);
    }
    fputs("</g>\n", picture->stream);
}

// A transparent tile with a text for the mouse.
static void name_draw(const picture_t *picture, uint32_t row, uint32_t column)
{
    const double side = picture->axes.pixels / picture->axes.tiles;
    char number[AQ_VIEW_TEXT];
    const uint64_t value = *tile_at(picture, row, column);
    fprintf(picture->stream,
            "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\"><title>rank %u to rank "
            "%u: %s (%" PRIu64 " %s)</title></rect>\n",
            AQ_VIEW_LEFT + column * side, AQ_VIEW_TOP + row * side, side, side, row, column,
            aq_view_number(value, picture->what == AQ_VIEW_BYTES, false, number), value,
            aq_view_what_names[picture->what]);
}

static void number_draw(const picture_t *picture, uint32_t row, uint32_t column)
{
    const double side = picture->axes.pixels / picture->axes.tiles;
    char number[AQ_VIEW_TEXT];
    const uint64_t value = *tile_at(picture, row, column);
    const bool dark = aq_view_colour_is_dark(aq_view_scale_level(&picture->scale, value));
    fprintf(picture->stream, "<text class=\"m\" x=\"%.6g\" y=\"%.6g\" fill=\"%s\">%s</text>\n",
            AQ_VIEW_LEFT + (column + .5) * side, AQ_VIEW_TOP + (row + .5) * side + 4,
            dark ? "#fff" : "#000",
            aq_view_number(value, picture->what == AQ_VIEW_BYTES, true, number));
}

static void numbers_draw(const picture_t *picture)
{
    const aq_view_axes_t *axes = &picture->axes;
    for (uint32_t row = 0; axes->tiles <= MOST_NUMBERS && row < axes->tiles; row++)
        for (uint32_t column = 0; column < axes->tiles; column++)
            if (*tile_at(picture, row, column))
                number_draw(picture, row, column);
}

static void names_draw(const picture_t *picture)
{
    const aq_view_axes_t *axes = &picture->axes;
    fputs("<g fill=\"transparent\">\n", picture->stream);
    for (uint32_t row = 0; axes->tiles <= MOST_NAMED && row < axes->tiles; row++)
        for (uint32_t column = 0; column < axes->tiles; column++)
            if (*tile_at(picture, row, column))
                name_draw(picture, row, column);
    fputs("</g>\n", picture->stream);
}

// ---- legend ----

static void label_draw(const picture_t *picture, double y, uint64_t value)
{
    char number[AQ_VIEW_TEXT];
    const double x = AQ_VIEW_LEFT + picture->axes.pixels + 30;
    fprintf(picture->stream,
            "<path stroke=\"#000\" d=\"M%.6g %.6gh5\"/><text x=\"%.6g\" y=\"%.6g\">%s</text>\n",
            x + 18, y, x + 27, y + 4,
            aq_view_number(value, picture->what == AQ_VIEW_BYTES, false, number));
}

// Powers of a base between the ends of the scale, at least 16 pixels from each other.
static void labels_draw(const picture_t *picture, double top, double height)
{
    const aq_view_scale_t *scale = &picture->scale;
    const uint64_t base = picture->what == AQ_VIEW_BYTES ? 4 : 10;
    double last = 0;
    label_draw(picture, top + height, scale->low);
    if (scale->low < scale->high)
        label_draw(picture, top, scale->high);
    for (uint64_t tick = 1; scale->low < scale->high && tick < scale->high; tick *= base) {
        const double up = aq_view_scale_place(scale, tick) * height;
        if (tick > scale->low && up >= last + 16 && up <= height - 16) {
            label_draw(picture, top + height - up, tick);
            last = up;
        }
        if (tick > scale->high / base)
            break;
    }
}

static void legend_draw(const picture_t *picture)
{
    const double x = AQ_VIEW_LEFT + picture->axes.pixels + 30, top = AQ_VIEW_TOP + 24;
    const double height = aq_max(160, (uint64_t)picture->axes.pixels / 2),
                 step = height / AQ_VIEW_LEVELS;
    fprintf(picture->stream, "<text x=\"%.6g\" y=\"%d\" font-weight=\"bold\">%s</text>\n", x,
            AQ_VIEW_TOP + 8, aq_view_what_names[picture->what]);
    fputs("<g shape-rendering=\"crispEdges\">\n", picture->stream);
    for (unsigned level = 0; level < AQ_VIEW_LEVELS; level++)
        fprintf(picture->stream,
                "<rect x=\"%.6g\" y=\"%.6g\" width=\"18\" height=\"%.6g\" fill=\"#%06x\"/>\n", x,
                top + height - (level + 1) * step, step, aq_view_colour(level));
    fputs("</g>\n", picture->stream);
    labels_draw(picture, top, height);
    fprintf(picture->stream,
            "<rect x=\"%.6g\" y=\"%.6g\" width=\"18\" height=\"14\" fill=\"#fff\" "
            "stroke=\"#888\"/><text x=\"%.6g\" y=\"%.6g\">none</text>\n",
            x, top + height + 18, x + 27, top + height + 29);
    fprintf(picture->stream, "<text x=\"%.6g\" y=\"%.6g\" class=\"s\">log scale</text>\n", x,
            top + height + 50);
}

// ---- the whole ----

static void heading_write(const picture_t *picture, const char *title)
{
    const aq_view_matrix_t *matrix = picture->matrix;
    const bool bytes = picture->what == AQ_VIEW_BYTES;
    char number[AQ_VIEW_TEXT];
    fputs("<text x=\"16\" y=\"26\" font-size=\"17\" font-weight=\"bold\">", picture->stream);
    aq_view_xml_write(picture->stream, title);
    fprintf(picture->stream,
            "</text>\n<text x=\"16\" y=\"46\">%u ranks on %u host%s, in all %s%s%s%s</text>\n",
            matrix->ranks, matrix->hosts, matrix->hosts == 1 ? "" : "s",
            aq_view_number(picture->total, bytes, false, number), bytes ? "" : " ",
            bytes ? "" : aq_view_what_names[picture->what],
            matrix->at_end ? "" : "; the job had not ended everywhere");
    if (picture->axes.block > 1)
        fprintf(picture->stream,
                "<text x=\"16\" y=\"63\">each tile is the sum of %u x %u ranks</text>\n",
                picture->axes.block, picture->axes.block);
}

static void picture_write(const picture_t *picture, const char *title)
{
    const int width = (int)aq_max(620, AQ_VIEW_LEFT + (uint64_t)picture->axes.pixels + 150);
    const int height = AQ_VIEW_TOP + (int)aq_max(300, (uint64_t)picture->axes.pixels) + 20;
    fprintf(picture->stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
            "%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>.m{text-anchor:middle}.e{text-anchor:end}.s{fill:#555}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    heading_write(picture, title);
    tiles_draw(picture);
    numbers_draw(picture);
    aq_view_axes_draw(picture->stream, &picture->axes, picture->matrix);
    names_draw(picture);
    legend_draw(picture);
    fputs("</svg>\n", picture->stream);
}

bool aq_view_svg_write(FILE *stream, const aq_view_matrix_t *matrix, aq_view_what_t what,
                       const char *title)
{
    picture_t picture = {.stream = stream, .matrix = matrix, .what = what};
    picture.axes = aq_view_axes_make(matrix->ranks, MOST_TILES);
    if (!tiles_sum(&picture))
        return false;
    picture_write(&picture, title);
    free(picture.tiles);
    return true;
}
