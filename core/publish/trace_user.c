// SPDX-License-Identifier: BSD-3-Clause
// Adds the messages of GASNETT_TRACE_PRINTF and its kin to the trace and the statistics, and
// changes their masks. trace_start.c starts it; other/tools has the calls of the client.
#include "trace_user.h"

#include <string.h>

#include "../../other/tools/gasnet_tools.h"
#include "../../other/tools/trace_aids.h"
#include "stats_file.h"
#include "../record/trace.h"
#include "trace_names.h"
#include "../record/trace_ring.h"

static uint32_t choice; // of the client's masks
static char letters[AQ_MASK_LETTERS];

// ---- messages of the client ----

static void trace_text(const char *text, size_t length)
{
    for (size_t at = 0; at < length; at += sizeof((aq_trace_record_t *)0)->text) {
        aq_trace_record_t part = {.kind = AQ_TRACED_TEXT};
        const size_t rest = length - at;
        memcpy(part.text, text + at, rest < sizeof part.text ? rest : sizeof part.text);
        (void)aq_trace_ring_add(&part);
    }
}

// "file\0text", see trace_output.c.
static void trace_note(const char *file, unsigned line, const char *text, size_t length)
{
    enum { SOURCE_MAX = 100, NOTE_MAX = 1024 };
    char note[NOTE_MAX];
    const size_t source = strnlen(file, SOURCE_MAX - 1);
    const uint64_t now = aq_trace_now();
    if (length > sizeof note - SOURCE_MAX)
        length = sizeof note - SOURCE_MAX;
    memcpy(note, file, source);
    note[source] = '\0';
    memcpy(note + source + 1, text, length);
    aq_trace_add(&(aq_trace_event_t){.kind = AQ_TRACED_USER,
                                     .begin = now,
                                     .end = now,
                                     .bytes = source + 1 + length,
                                     .team = line});
    trace_text(note, source + 1 + length);
}

static void note(unsigned where, const char *file, unsigned line, const char *text, size_t length)
{
    const unsigned on = (unsigned)aq_api_trace_on & where;
    const char *base = strrchr(file, '/');
    if (on & (AQ_NOTE_TRACE | AQ_NOTE_TRACE_FORCED))
        trace_note(base ? base + 1 : file, line, text, length);
    if (on & (AQ_NOTE_STATS | AQ_NOTE_STATS_FORCED))
        aq_stats_file_note(base ? base + 1 : file, line, text, length);
}

// ---- masks ----

static void find_on(void)
{
    const uint32_t what = atomic_load(&aq_tracing.what);
    const bool stats = aq_stats_file_is_on();
    aq_api_trace_on = (what & AQ_TRACE_USER ? AQ_NOTE_TRACE : 0) |
                      (what & AQ_TRACE_FORCED ? AQ_NOTE_TRACE_FORCED : 0) |
                      (stats && strchr(aq_stats_file_mask(), 'H') ? AQ_NOTE_STATS : 0) |
                      (stats ? AQ_NOTE_STATS_FORCED : 0);
}

// The letters of which all events are traced.
static const char *trace_mask(void)
{
    char *to = letters;
    for (const char *at = aq_mask_all; *at; at++) {
        const uint32_t one = aq_mask_categories((char[]){*at, '\0'}, NULL);
        if (one && (one & atomic_load(&aq_tracing.what)) == one)
            *to++ = *at;
    }
    *to = '\0';
    return letters;
}

static const char *mask(bool stats)
{
    return stats ? aq_stats_file_mask() : trace_mask();
}

static void set_mask(bool stats, const char *text)
{
    char chosen[AQ_MASK_LETTERS];
    if (stats) {
        aq_stats_file_set_mask(text);
    } else if (choice) {
        (void)aq_mask_read(text, chosen);
        atomic_store(&aq_tracing.what,
                     choice & (aq_mask_categories(chosen, NULL) | AQ_TRACE_FORCED));
    }
    find_on();
}

void aq_trace_user_start(uint32_t allowed)
{
    static const aq_trace_aids_t aids = {note, mask, set_mask, aq_stats_file_dump};
    choice = allowed;
    aq_trace_aids_use(&aids);
    find_on();
}
