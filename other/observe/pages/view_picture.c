// SPDX-License-Identifier: BSD-3-Clause
// Draws the bins of a trace (analysis/view_bins.c) as rows, with labels, axis and legend, and the
// marks (view_marks.c) over them.
#include "view_picture.h"

#include <math.h>
#include <stdlib.h>

#include "../../base/minmax.h"
#include "view_marks.h"
#include "../draw/view_text.h"

enum {
    RIGHT = 190,    // pixels beside the rows
    BELOW = 86,     // pixels under them
    MOST_HIGH = 28, // pixels of a row
    LEAST_HIGH = 3,
    ROWS_HIGH = 800, // pixels of many rows together
    LABEL_HIGH = 12, // pixels that the label of a row needs
    TICKS = 8        // on the axis, about
};

// Colours and names of the kinds, the same as in the page (view_page.html).
static const struct {
    const char *colour, *words;
} looks[AQ_VIEW_KINDS] = {
    [AQ_VIEW_PROGRAM] = {"#ececec", "program"},
    [AQ_VIEW_SEND] = {"#0072b2", "send"},
    [AQ_VIEW_HANDLER] = {"#e69f00", "handler"},
    [AQ_VIEW_ACCESS] = {"#009e73", "put, get, atomic"},
    [AQ_VIEW_IN_COLL] = {"#cc79a7", "wait in a collective"},
    [AQ_VIEW_IN_WAIT] = {"#8c8c8c", "other wait"},
};

// ---- rows ----

// Bins of the same kind beside each other are one line. grid: a kind for each bin.
static void kind_draw(const aq_view_canvas_t *canvas, const uint8_t *grid, uint8_t kind)
{
    const aq_view_bins_t *bins = &canvas->bins;
    fprintf(canvas->stream, "<path stroke=\"%s\" d=\"", looks[kind].colour);
    for (uint32_t row = 0; row < bins->rows; row++) {
        const uint8_t *kinds = &grid[(size_t)row * bins->columns];
        for (uint32_t column = 0, end; column < bins->columns; column = end) {
            end = column + 1;
            if (kinds[column] != kind)
                continue;
            while (end < bins->columns && kinds[end] == kind)
                end++;
            fprintf(canvas->stream, "M%u %uh%u", column, row, end - column);
        }
    }
    fputs("\"/>\n", canvas->stream);
}

// A band of each row. middle, wide: in pixels.
static void band_draw(const aq_view_canvas_t *canvas, const uint8_t *grid, double middle,
                      double wide)
{
    fprintf(canvas->stream,
            "<g transform=\"translate(%d %.6g) scale(%.6g %.6g)\" stroke-width=\"%.4g\" "
            "fill=\"none\" shape-rendering=\"crispEdges\">\n",
            AQ_VIEW_PICTURE_LEFT, AQ_VIEW_PICTURE_TOP + middle,
            (double)AQ_VIEW_PICTURE_WIDE / canvas->bins.columns, canvas->high, wide / canvas->high);
    for (uint8_t kind = 0; kind < AQ_VIEW_KINDS; kind++)
        kind_draw(canvas, grid, kind);
    fputs("</g>\n", canvas->stream);
}

static bool has_others(const aq_view_canvas_t *canvas)
{
    return canvas->high >= 8;
}

static void rows_draw(const aq_view_canvas_t *canvas)
{
    const double gap = has_others(canvas) ? 2 : 0, thin = floor(canvas->high / 4);
    band_draw(canvas, canvas->bins.kinds, canvas->high / 2, canvas->high - gap);
    if (has_others(canvas))
        band_draw(canvas, canvas->bins.others, canvas->high - gap / 2 - thin / 2, thin);
}

// ---- labels of rows ----

static void label_draw(const aq_view_canvas_t *canvas, uint32_t row)
{
    const aq_view_bins_t *bins = &canvas->bins;
    const aq_view_event_t *event = &bins->trace->events[bins->first[(size_t)row * bins->block]];
    const bool several = bins->trace->events[bins->trace->first[event->rank]].thread !=
                         bins->trace->events[bins->trace->first[event->rank + 1] - 1].thread;
    fprintf(canvas->stream, "<text class=\"e\" x=\"%d\" y=\"%.1f\">rank %u",
            AQ_VIEW_PICTURE_LEFT - 6, aq_view_canvas_y(canvas, row) + 4, event->rank);
    if (several)
        fprintf(canvas->stream, ".%u", event->thread);
    fputs("</text>\n", canvas->stream);
}

static bool host_begins(const aq_view_bins_t *bins, uint32_t row)
{
    const aq_view_origin_t *origins = bins->trace->origins;
    return row > 0 && origins[aq_view_bins_rank(bins, row)].host !=
                          origins[aq_view_bins_rank(bins, row - 1)].host;
}

// Whether to draw lines between hosts: too many would hide the rows.
static bool has_host_lines(const aq_view_bins_t *bins)
{
    uint32_t lines = 0;
    for (uint32_t row = 0; row < bins->rows; row++)
        lines += host_begins(bins, row);
    return lines > 0 && (lines < bins->rows / 4 || bins->rows <= 32);
}

static void labels_draw(const aq_view_canvas_t *canvas)
{
    const uint32_t step = (uint32_t)ceil(LABEL_HIGH / canvas->high);
    for (uint32_t row = 0; row < canvas->bins.rows; row += step)
        label_draw(canvas, row);
    if (!has_host_lines(&canvas->bins))
        return;
    for (uint32_t row = 0; row < canvas->bins.rows; row++)
        if (host_begins(&canvas->bins, row))
            fprintf(canvas->stream, "<path stroke=\"#d0342c\" d=\"M%d %.1fh%d\"/>\n",
                    AQ_VIEW_PICTURE_LEFT, AQ_VIEW_PICTURE_TOP + row * canvas->high,
                    AQ_VIEW_PICTURE_WIDE);
}

// ---- who came last ----

typedef struct lateness {
    size_t times;
    int64_t lost; // by others
} lateness_t;

static void lateness_draw(const aq_view_canvas_t *canvas, uint32_t row, const lateness_t *late)
{
    char lost[AQ_VIEW_TIME];
    const double y = aq_view_canvas_y(canvas, row) + 4;
    const int x = AQ_VIEW_PICTURE_LEFT + AQ_VIEW_PICTURE_WIDE;
    fprintf(canvas->stream,
            "<text class=\"e\" x=\"%d\" y=\"%.1f\">%zu</text><text class=\"e\" x=\"%d\" "
            "y=\"%.1f\">%s</text>\n",
            x + 66, y, late->times, x + 166, y, aq_view_time(late->lost, lost));
}

// In two columns beside the rows, at the first row of each rank. Not for rows that join several.
static bool latenesses_draw(const aq_view_canvas_t *canvas)
{
    const aq_view_colls_t *colls = &canvas->findings->colls;
    if (colls->count == 0 || canvas->bins.block > 1)
        return true;
    lateness_t *late = calloc((size_t)canvas->bins.trace->ranks + 1, sizeof *late);
    for (size_t i = 0; late && i < colls->count; i++) {
        lateness_t *of = &late[colls->colls[i].last->rank];
        of->times += colls->colls[i].arrivals > 1;
        of->lost += colls->colls[i].lost;
    }
    for (uint32_t row = 0; late && row < canvas->bins.rows; row++) {
        const uint32_t rank = aq_view_bins_rank(&canvas->bins, row);
        if (late[rank].times && (row == 0 || aq_view_bins_rank(&canvas->bins, row - 1) != rank))
            lateness_draw(canvas, row, &late[rank]);
    }
    const int x = AQ_VIEW_PICTURE_LEFT + AQ_VIEW_PICTURE_WIDE;
    fprintf(canvas->stream,
            "<text class=\"e s\" x=\"%d\" y=\"%d\">came last</text><text class=\"e s\" x=\"%d\" "
            "y=\"%d\">others waited</text>\n",
            x + 66, AQ_VIEW_PICTURE_TOP - 8, x + 166, AQ_VIEW_PICTURE_TOP - 8);
    free(late);
    return late != NULL;
}

// ---- axis ----

// A power of ten, or twice or five times that, in ns.
static double step_choose(int64_t span)
{
    const double rough = (double)span / TICKS, power = pow(10, floor(log10(rough)));
    return rough > 5 * power   ? 10 * power
           : rough > 2 * power ? 5 * power
           : rough > power     ? 2 * power
                               : power;
}

static void axis_draw(const aq_view_canvas_t *canvas)
{
    const double span = (double)canvas->bins.span, step = step_choose(canvas->bins.span);
    const bool seconds = span >= 1e10, micro = span < 1e6;
    for (double at = 0; at <= span; at += step)
        fprintf(
            canvas->stream,
            "<path stroke=\"#999\" stroke-opacity=\".5\" d=\"M%.1f %dv%.1f\"/><text class=\"m\" "
            "x=\"%.1f\" y=\"%d\">%.6g%s</text>\n",
            aq_view_canvas_x(canvas, (int64_t)at), AQ_VIEW_PICTURE_TOP - 4,
            canvas->bins.rows * canvas->high + 4, aq_view_canvas_x(canvas, (int64_t)at),
            AQ_VIEW_PICTURE_TOP - 8,
            at / (seconds ? 1e9
                  : micro ? 1e3
                          : 1e6),
            at + step > span ? (seconds ? " s"
                                : micro ? " us"
                                        : " ms")
                             : "");
}

// ---- the whole ----

static void legend_draw(const aq_view_canvas_t *canvas)
{
    int x = AQ_VIEW_PICTURE_LEFT;
    for (unsigned kind = 0; kind < AQ_VIEW_KINDS; kind++) {
        fprintf(canvas->stream,
                "<rect x=\"%d\" y=\"58\" width=\"14\" height=\"14\" fill=\"%s\"/><text x=\"%d\" "
                "y=\"69\">%s</text>\n",
                x, looks[kind].colour, x + 19, looks[kind].words);
        x += 150;
    }
}

static void heading_write(const aq_view_canvas_t *canvas, const char *title)
{
    const aq_view_trace_t *trace = canvas->findings->trace;
    const aq_view_bins_t *bins = &canvas->bins;
    char time[AQ_VIEW_TIME];
    fputs("<text x=\"16\" y=\"26\" font-size=\"17\" font-weight=\"bold\">", canvas->stream);
    aq_view_xml_write(canvas->stream, title);
    fprintf(canvas->stream,
            "</text>\n<text x=\"16\" y=\"46\">%u ranks, %u threads, %zu events in %s", trace->ranks,
            bins->threads, trace->count, aq_view_time(bins->span, time));
    if (bins->block > 1)
        fprintf(canvas->stream, "; each row joins %u threads", bins->block);
    if (has_host_lines(bins))
        fputs("; red lines: between hosts", canvas->stream);
    fprintf(canvas->stream, "; a column is %s and shows what took most of it%s</text>\n",
            aq_view_time(bins->span / bins->columns, time),
            has_others(canvas) ? "; the lower band: shorter calls" : "");
}

static bool canvas_write(const aq_view_canvas_t *canvas, const char *title)
{
    const double rows = canvas->bins.rows * canvas->high;
    const int width = AQ_VIEW_PICTURE_LEFT + AQ_VIEW_PICTURE_WIDE + RIGHT;
    const int height = AQ_VIEW_PICTURE_TOP + (int)rows + BELOW;
    fprintf(canvas->stream,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
            "%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<style>.m{text-anchor:middle}.e{text-anchor:end}.s{fill:#555}</style>\n"
            "<defs><marker id=\"a\" markerWidth=\"7\" markerHeight=\"6\" refX=\"7\" refY=\"3\" "
            "orient=\"auto\"><path d=\"M0 0l7 3l-7 3z\" fill=\"#900040\" stroke=\"none\"/></marker>"
            "</defs>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    heading_write(canvas, title);
    legend_draw(canvas);
    rows_draw(canvas);
    axis_draw(canvas);
    labels_draw(canvas);
    const bool room = latenesses_draw(canvas);
    aq_view_marks_draw(canvas, AQ_VIEW_PICTURE_TOP + rows + 26);
    fputs("</svg>\n", canvas->stream);
    return room;
}

bool aq_view_picture_write(FILE *stream, const aq_view_findings_t *findings, const char *title)
{
    aq_view_canvas_t canvas = {.stream = stream, .findings = findings};
    bool room = aq_view_bins_make(&canvas.bins, findings->trace);
    const uint32_t rows = (uint32_t)aq_max(1, canvas.bins.rows);
    canvas.high = (double)aq_max(LEAST_HIGH, aq_min(MOST_HIGH, ROWS_HIGH / rows));
    room = room && canvas_write(&canvas, title);
    aq_view_bins_free(&canvas.bins);
    return room;
}
