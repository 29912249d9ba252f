// SPDX-License-Identifier: BSD-3-Clause
// Messages of the client to the trace and the statistics, and their masks.
#include "trace_aids.h"

#include <stdarg.h>
#include <stdio.h>

#include "gasnet_tools.h"

enum { TEXT_MAX = 900 };

static const aq_trace_aids_t *aids;
int aq_api_trace_on;

void aq_trace_aids_use(const aq_trace_aids_t *of_library)
{
    aids = of_library;
}

void aq_api_trace_note(int where, const char *file, int line, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (aids && length >= 0)
        aids->note((unsigned)where, file, (unsigned)line, text,
                   length < TEXT_MAX ? (size_t)length : TEXT_MAX - 1);
}

const char *aq_api_trace_getmask(int stats)
{
    return aids ? aids->mask(stats) : "";
}

void aq_api_trace_setmask(int stats, const char *mask)
{
    if (aids)
        aids->set_mask(stats, mask);
}

void aq_api_stats_dump(int reset)
{
    if (aids)
        aids->dump(reset);
}
