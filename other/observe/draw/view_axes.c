// SPDX-License-Identifier: BSD-3-Clause
// Draws the frame of a matrix. view_svg.c fills in the tiles.
#include "view_axes.h"

#include "../../base/minmax.h"

enum {
    SIDE = 44,        // pixels of a tile with a number
    LARGE = 768,      // pixels of a row of many tiles
    MOST_LABELS = 16, // ranks that have one, unless each has
    ALL_LABELS = 32,
    MOST_RUNS = 128, // ranks of one host that follow each other: more lines hide the tiles
    LABEL_ROOM = 44  // pixels of "host 12"
};

aq_view_axes_t aq_view_axes_make(uint32_t ranks, uint32_t most_tiles)
{
    aq_view_axes_t axes = {.ranks = ranks, .block = 1};
    while ((ranks + axes.block - 1) / axes.block > most_tiles)
        axes.block *= 2;
    axes.tiles = (ranks + axes.block - 1) / axes.block;
    axes.pixels = axes.tiles <= MOST_LABELS ? axes.tiles * SIDE : LARGE;
    return axes;
}

static double rank_place(const aq_view_axes_t *axes, double rank)
{
    return rank / axes->block * axes->pixels / axes->tiles;
}

// ---- ranks ----

static void ranks_draw(FILE *stream, const aq_view_axes_t *axes)
{
    uint32_t step = 1;
    while (axes->ranks > ALL_LABELS && axes->ranks / step > MOST_LABELS)
        step *= 2;
    for (uint32_t rank = 0; rank < axes->ranks; rank += step) {
        const double at = rank_place(axes, rank + aq_max(1, axes->block) / 2.);
        fprintf(stream,
                "<text class=\"e\" x=\"%d\" y=\"%.6g\">%u</text><text class=\"m\" x=\"%.6g\" "
                "y=\"%d\">%u</text>\n",
                AQ_VIEW_LEFT - 5, AQ_VIEW_TOP + at + 4, rank, AQ_VIEW_LEFT + at, AQ_VIEW_TOP - 5,
                rank);
    }
    fprintf(stream,
            "<text x=\"%d\" y=\"%d\">to rank</text><text class=\"e\" transform=\"translate(18 %d) "
            "rotate(-90)\">from rank</text>\n",
            AQ_VIEW_LEFT, AQ_VIEW_TOP - 40, AQ_VIEW_TOP);
}

// ---- hosts ----

static uint32_t run_end(const aq_view_matrix_t *matrix, uint32_t first)
{
    uint32_t end = first + 1;
    while (end < matrix->ranks && matrix->host[end] == matrix->host[first])
        end++;
    return end;
}

static uint32_t runs_count(const aq_view_matrix_t *matrix)
{
    uint32_t runs = 0;
    for (uint32_t first = 0; first < matrix->ranks; first = run_end(matrix, first))
        runs++;
    return runs;
}

// With a gap for the numbers of ranks.
static void host_line(FILE *stream, const aq_view_axes_t *axes, double at)
{
    fprintf(stream, "<path class=\"host\" d=\"M%d %.6gh18m42 0h%.6gM%.6g %dv16m0 16v%.6g\"/>\n",
            AQ_VIEW_LEFT - 60, AQ_VIEW_TOP + at, axes->pixels, AQ_VIEW_LEFT + at, AQ_VIEW_TOP - 32,
            axes->pixels);
}

static void host_label(FILE *stream, double at, uint32_t host)
{
    fprintf(stream,
            "<text class=\"m s\" transform=\"translate(%d %.6g) rotate(-90)\">host %u</text><text "
            "class=\"m s\" x=\"%.6g\" y=\"%d\">host %u</text>\n",
            AQ_VIEW_LEFT - 48, AQ_VIEW_TOP + at, host, AQ_VIEW_LEFT + at, AQ_VIEW_TOP - 22, host);
}

// Labels that would touch the last one are left out.
static void runs_draw(FILE *stream, const aq_view_axes_t *axes, const aq_view_matrix_t *matrix)
{
    double labelled = -LABEL_ROOM;
    fputs("<g fill=\"none\" stroke=\"#d0342c\" stroke-width=\"1\">\n", stream);
    for (uint32_t first = run_end(matrix, 0); first < matrix->ranks; first = run_end(matrix, first))
        host_line(stream, axes, rank_place(axes, first));
    fputs("</g>\n", stream);
    for (uint32_t first = 0, end; first < matrix->ranks; first = end) {
        end = run_end(matrix, first);
        const double at = (rank_place(axes, first) + rank_place(axes, end)) / 2;
        if (matrix->host[first] == AQ_VIEW_NO_HOST || at < labelled + LABEL_ROOM)
            continue;
        host_label(stream, at, matrix->host[first]);
        labelled = at;
    }
}

void aq_view_axes_draw(FILE *stream, const aq_view_axes_t *axes, const aq_view_matrix_t *matrix)
{
    fprintf(
        stream,
        "<rect x=\"%d\" y=\"%d\" width=\"%.6g\" height=\"%.6g\" fill=\"none\" stroke=\"#888\"/>\n",
        AQ_VIEW_LEFT, AQ_VIEW_TOP, axes->pixels, axes->pixels);
    ranks_draw(stream, axes);
    if (runs_count(matrix) <= MOST_RUNS)
        runs_draw(stream, axes, matrix);
    else
        fprintf(stream, "<text class=\"s\" x=\"16\" y=\"80\">hosts change too often from rank to "
                        "rank to be marked</text>\n");
}
