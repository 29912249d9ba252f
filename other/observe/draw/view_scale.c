// SPDX-License-Identifier: BSD-3-Clause
// Maps counts to levels of colour for view_svg.c, and writes numbers with units for all outputs.
#include "view_scale.h"

#include <math.h>
#include <stdio.h>

#include "../../base/minmax.h"

void aq_view_scale_add(aq_view_scale_t *scale, uint64_t value)
{
    if (value == 0)
        return;
    scale->low = scale->low ? aq_min(scale->low, value) : value;
    scale->high = aq_max(scale->high, value);
}

double aq_view_scale_place(const aq_view_scale_t *scale, uint64_t value)
{
    if (scale->low >= scale->high)
        return 1;
    return log((double)value / (double)scale->low) / log((double)scale->high / (double)scale->low);
}

unsigned aq_view_scale_level(const aq_view_scale_t *scale, uint64_t value)
{
    const double place = aq_view_scale_place(scale, value) * (AQ_VIEW_LEVELS - 1);
    return place <= 0                    ? 0
           : place >= AQ_VIEW_LEVELS - 1 ? AQ_VIEW_LEVELS - 1
                                         : (unsigned)(place + .5);
}

// From light yellow over green and blue to dark blue.
uint32_t aq_view_colour(unsigned level)
{
    static const double anchors[][3] = {
        {255, 246, 200}, {176, 219, 165}, {75, 170, 175}, {42, 104, 160}, {24, 28, 84}};
    enum { SPANS = sizeof anchors / sizeof *anchors - 1 };
    const double at = (double)level / (AQ_VIEW_LEVELS - 1) * SPANS;
    const unsigned span = at < SPANS ? (unsigned)at : SPANS - 1;
    uint32_t colour = 0;
    for (unsigned i = 0; i < 3; i++) {
        const double low = anchors[span][i], high = anchors[span + 1][i];
        colour = colour << 8 | (uint32_t)(low + (high - low) * (at - span) + .5);
    }
    return colour;
}

bool aq_view_colour_is_dark(unsigned level)
{
    return level > AQ_VIEW_LEVELS * 5 / 9;
}

const char *aq_view_number(uint64_t value, bool bytes, bool short_form, char text[AQ_VIEW_TEXT])
{
    static const char *const units[2][7] = {{"", "k", "M", "G", "T", "P", "E"},
                                            {"", "K", "M", "G", "T", "P", "E"}};
    const double step = bytes ? 1024 : 1000;
    double size = (double)value;
    unsigned unit = 0;
    while (size >= (unit ? 999.5 : bytes ? 1023.5 : 9999.5) && unit < 6) {
        size /= step;
        unit++;
    }
    const char *name = !bytes || short_form ? "" : unit ? "iB" : "B";
    snprintf(text, AQ_VIEW_TEXT, unit ? "%.3g%s%s%s" : "%.0f%s%s%s", size,
             bytes && !short_form ? " " : "", units[bytes][unit], name);
    return text;
}
