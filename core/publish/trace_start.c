// SPDX-License-Identifier: BSD-3-Clause
// Reads the settings of the trace, opens its file, and begins to trace. client.c calls it at init;
// it also starts stats_file.c and trace_user.c.
#include "trace_start.h"

#include <string.h>

#include "../../other/base/settings/settings.h"
#include "../../other/base/settings/settings_lists.h"
#include "../state/job.h"
#include "../record/observe_file.h"
#include "stats_file.h"
#include "trace_names.h"
#include "trace_output.h"
#include "../record/trace_ring.h"
#include "trace_user.h"

// ---- settings ----

typedef struct choice {
    const char *setting, *name; // of the file
    uint32_t what;
    const char *ranks; // those that write to the file, as in GASNET_TRACENODES
    bool masked;       // by letters, which the client may change
} choice_t;

enum { NAME_MAX = 4096 };

static void tell_long(size_t length)
{
    if (aq_job.rank == 0)
        aq_log_warn("GASNET_TRACE: the name of its file has %zu bytes, and at most %d are allowed; "
                    "name a file with a shorter path; the job goes on without it",
                    length, NAME_MAX - 1);
}

// GASNET_TRACE=file[:what]. A colon that a folder follows is a part of the name.
static void read_trace(const char *text, choice_t *choice)
{
    static char name[NAME_MAX];
    const char *colon = strrchr(text, ':');
    const char *what = colon && !strchr(colon, '/') ? colon + 1 : "all";
    const size_t length = what == colon + 1 && colon ? (size_t)(colon - text) : strlen(text);
    *choice =
        (choice_t){.setting = "GASNET_TRACE", .name = name, .ranks = "", .what = AQ_TRACE_ALL};
    if (length < sizeof name)
        memcpy(name, text, length);
    else
        tell_long(length);
    const char *wrong = aq_trace_read_words(what, &choice->what);
    if (!wrong)
        return;
    choice->what = AQ_TRACE_ALL;
    if (aq_job.rank == 0)
        aq_log_warn("GASNET_TRACE=%s: '%.*s' is no category of events: give some of %s, or their "
                    "first letters; this trace has all of them",
                    text, (int)strcspn(wrong, ","), wrong, aq_trace_words);
}

// GASNET_TRACEMASK.
static void read_mask(choice_t *choice)
{
    const char *mask = aq_settings_text(AQ_SET_TRACEMASK);
    char letters[AQ_MASK_LETTERS], without[AQ_MASK_LETTERS];
    const char wrong = aq_mask_read(mask, letters);
    choice->what = aq_mask_categories(letters, without);
    if (aq_job.rank != 0)
        return;
    if (wrong)
        aq_log_warn("GASNET_TRACEMASK=%s: '%c' is no letter of a mask, those are %s, with ^ in "
                    "front for all others; the trace has the events of the other letters",
                    mask, wrong, aq_mask_all);
    if (*without && *mask && *mask != '^')
        aq_log_warn("GASNET_TRACEMASK=%s: this library has no events for the letters %s", mask,
                    without);
}

static void read_tracefile(const char *name, choice_t *choice)
{
    *choice = (choice_t){.setting = "GASNET_TRACEFILE",
                         .name = name,
                         .ranks = aq_settings_text(AQ_SET_TRACENODES),
                         .masked = true};
    read_mask(choice);
    if (aq_settings_has_rank(choice->ranks, aq_job.rank) == 0)
        choice->name = "";
}

// Warns of the settings around GASNET_TRACEFILE that have no effect.
static void tell_unused(const char *why)
{
    static const aq_setting_id_t ids[] = {AQ_SET_TRACEFILE, AQ_SET_TRACEMASK, AQ_SET_TRACENODES};
    for (unsigned i = 0; i < sizeof ids / sizeof ids[0]; i++)
        if (aq_settings_given(ids[i]) && aq_job.rank == 0)
            aq_log_warn("%s has no effect %s", aq_settings_row(ids[i])->name, why);
}

static choice_t choose(void)
{
    const char *trace = aq_settings_text(AQ_SET_TRACE);
    const char *file = aq_settings_text(AQ_SET_TRACEFILE);
    choice_t choice = {.name = ""};
    if (*trace) {
        read_trace(trace, &choice);
        tell_unused("beside GASNET_TRACE, which says where the trace goes and what is in it");
    } else if (*file) {
        read_tracefile(file, &choice);
    } else {
        tell_unused("without GASNET_TRACEFILE, which names the file of the trace");
    }
    return choice;
}

// ---- start ----

// Returns the categories that the client may choose among; 0: there is no trace.
static uint32_t start(const choice_t *choice)
{
    if (!*choice->name)
        return 0;
    aq_trace_place(aq_job.rank, aq_job.host.my_group);
    aq_trace_ring_bytes(aq_settings_bytes(AQ_SET_TRACE_SIZE));
    aq_trace_local = aq_settings_bool(AQ_SET_TRACELOCAL);
    if (!aq_trace_output_open(choice->setting, choice->name,
                              aq_observe_file_is_mine(choice->name, choice->ranks)))
        return 0;
    aq_tracing.numbers = choice->masked || (choice->what & AQ_TRACE_AM);
    aq_tracing.calls_rma = choice->masked || (choice->what & AQ_TRACE_RMA);
    atomic_store(&aq_tracing.what, choice->what);
    return choice->masked ? AQ_TRACE_ALL : choice->what;
}

void aq_trace_start(void)
{
    const choice_t choice = choose();
    const uint32_t allowed = start(&choice);
    aq_stats_file_start();
    aq_trace_user_start(allowed);
}
