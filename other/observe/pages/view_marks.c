// SPDX-License-Identifier: BSD-3-Clause
// Draws arrows, late ranks and single events over the rows that view_picture.c has drawn.
#include "view_marks.h"

#include <inttypes.h>

#include "../draw/view_text.h"

enum { MOST_LAST = 200, MOST_ARROWS = 400, MOST_SINGLE = 400, LINE = 17 };

double aq_view_canvas_x(const aq_view_canvas_t *canvas, int64_t time)
{
    return AQ_VIEW_PICTURE_LEFT + (double)time * AQ_VIEW_PICTURE_WIDE / (double)canvas->bins.span;
}

double aq_view_canvas_y(const aq_view_canvas_t *canvas, uint32_t row)
{
    return AQ_VIEW_PICTURE_TOP + (row + .5) * canvas->high;
}

// ---- messages ----

static void arrow_draw(const aq_view_canvas_t *canvas, const aq_view_message_t *message)
{
    const aq_view_event_t *sent = message->sent, *handled = message->handled;
    char time[AQ_VIEW_TIME];
    fprintf(canvas->stream,
            "<path d=\"M%.1f %.1fL%.1f %.1f\"><title>rank %u to rank %u, %s from the send to the "
            "handler</title></path>\n",
            aq_view_canvas_x(canvas, sent->start),
            aq_view_canvas_y(canvas, aq_view_bins_row(&canvas->bins, sent)),
            aq_view_canvas_x(canvas, handled->start),
            aq_view_canvas_y(canvas, aq_view_bins_row(&canvas->bins, handled)), sent->rank,
            handled->rank, aq_view_time(aq_view_latency(message), time));
}

// Draws all arrows or none, because a selection would look like a pattern.
static void arrows_draw(const aq_view_canvas_t *canvas, double y)
{
    const aq_view_messages_t *messages = &canvas->findings->messages;
    const bool few = messages->count <= MOST_ARROWS;
    if (messages->count == 0)
        return;
    fputs("<g stroke=\"#900040\" stroke-width=\".8\" stroke-opacity=\".7\" fill=\"none\" "
          "marker-end=\"url(#a)\">\n",
          canvas->stream);
    for (size_t i = 0; few && i < messages->count; i++)
        arrow_draw(canvas, &messages->messages[i]);
    fprintf(canvas->stream, "</g>\n<text class=\"s\" x=\"%d\" y=\"%.1f\">", AQ_VIEW_PICTURE_LEFT,
            y);
    if (few)
        fprintf(canvas->stream, "Arrows: %zu messages, from the send to the handler.</text>\n",
                messages->count);
    else
        fprintf(canvas->stream,
                "No arrows: there are %zu messages, and up to %d can be told apart.</text>\n",
                messages->count, MOST_ARROWS);
}

// ---- who came last ----

static void last_draw(const aq_view_canvas_t *canvas, const aq_view_coll_t *coll)
{
    const aq_view_event_t *last = coll->last;
    const double half = canvas->high < 12 ? 2.5 : 4;
    char after[AQ_VIEW_TIME], lost[AQ_VIEW_TIME];
    fprintf(canvas->stream, "<path d=\"M%.1f %.1fl%.1f %.1fl-%.1f %.1fl-%.1f-%.1fz\"><title>",
            aq_view_canvas_x(canvas, last->start),
            aq_view_canvas_y(canvas, aq_view_bins_row(&canvas->bins, last)) - half, half, half,
            half, half, half, half);
    aq_view_xml_write(canvas->stream, canvas->findings->trace->names[last->name]);
    fprintf(canvas->stream,
            " %" PRIu64 " of team %u: rank %u came last, %s after the first; others waited %s in "
            "all</title></path>\n",
            last->sequence, last->team, last->rank,
            aq_view_time(last->start - coll->first->start, after), aq_view_time(coll->lost, lost));
}

// Draws the ranks that came last, for the first MOST_LAST collectives: those in which others waited
// longest.
static void lasts_draw(const aq_view_canvas_t *canvas, double y)
{
    const aq_view_colls_t *colls = &canvas->findings->colls;
    size_t drawn = 0;
    fputs("<g fill=\"#000\" stroke=\"#fff\" stroke-width=\".7\">\n", canvas->stream);
    for (size_t i = 0; i < colls->count && drawn < MOST_LAST; i++)
        if (colls->colls[i].arrivals > 1) {
            last_draw(canvas, &colls->colls[i]);
            drawn++;
        }
    fputs("</g>\n", canvas->stream);
    if (drawn)
        fprintf(canvas->stream,
                "<text class=\"s\" x=\"%d\" y=\"%.1f\">Diamonds: the rank that came last to a "
                "collective, in %s%zu of %zu collectives.</text>\n",
                AQ_VIEW_PICTURE_LEFT, y,
                drawn < colls->count ? "those with the longest waits, " : "", drawn, colls->count);
}

// ---- single events ----

static bool is_single(const aq_view_event_t *event)
{
    return event->phase == 'i';
}

static size_t singles_count(const aq_view_trace_t *trace)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->count; i++)
        count += is_single(&trace->events[i]);
    return count;
}

static void single_draw(const aq_view_canvas_t *canvas, const aq_view_event_t *event)
{
    fprintf(canvas->stream, "<path stroke=\"%s\" d=\"M%.1f %.1fv%.1f\"><title>",
            event->category == AQ_VIEW_USER ? "#000" : "#d55e00",
            aq_view_canvas_x(canvas, event->start),
            aq_view_canvas_y(canvas, aq_view_bins_row(&canvas->bins, event)) - canvas->high / 2,
            canvas->high);
    aq_view_xml_write(canvas->stream, canvas->findings->trace->names[event->name]);
    fprintf(canvas->stream, ", rank %u</title></path>\n", event->rank);
}

static void singles_draw(const aq_view_canvas_t *canvas, double y)
{
    const aq_view_trace_t *trace = canvas->findings->trace;
    const size_t count = singles_count(trace);
    const bool few = count <= MOST_SINGLE;
    if (count == 0)
        return;
    fputs("<g stroke-width=\"1.5\" fill=\"none\">\n", canvas->stream);
    for (size_t i = 0; few && i < trace->count; i++)
        if (is_single(&trace->events[i]))
            single_draw(canvas, &trace->events[i]);
    fprintf(canvas->stream, "</g>\n<text class=\"s\" x=\"%d\" y=\"%.1f\">", AQ_VIEW_PICTURE_LEFT,
            y);
    if (few)
        fputs("Upright lines: events of the program (black), of the network and of firehose "
              "(orange).</text>\n",
              canvas->stream);
    else
        fprintf(canvas->stream,
                "%zu events of the program, of the network and of firehose are not drawn.</text>\n",
                count);
}

void aq_view_marks_draw(const aq_view_canvas_t *canvas, double below)
{
    singles_draw(canvas, below + 2 * LINE);
    arrows_draw(canvas, below + LINE);
    lasts_draw(canvas, below);
}
