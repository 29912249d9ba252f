// SPDX-License-Identifier: BSD-3-Clause
// Writes the counters of this rank as text to the file of GASNET_STATSFILE: when the rank leaves
// (exit.c), and when the client asks (trace_user.c).
#include "stats_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../../other/base/settings/settings.h"
#include "../../other/base/settings/settings_lists.h"
#include "../../other/observe/format/own_names.h"
#include "../aqueduct.h"
#include "../record/counters.h"
#include "../state/job.h"
#include "../ground/lock.h"
#include "../record/observe_file.h"
#include "trace_names.h"
#include "../record/traffic.h"

static const char title[] = "# counters of a job, a line for each: rank, name, value\n";
static int file = -1;
static char letters[AQ_MASK_LETTERS];
static aq_lock_t lock; // of the base, and of the letters
static gasnetx_counters_t base;
static uint64_t own_base[AQ_OWN_COUNTS];

// ---- counters ----

// The letters of the mask that show a counter, and its place.
typedef struct counter {
    const char *name, *letters;
    size_t place;
} counter_t;

static const counter_t counters[] = {
    {"request_shorts", "A", offsetof(gasnetx_counters_t, request_shorts)},
    {"request_mediums", "A", offsetof(gasnetx_counters_t, request_mediums)},
    {"request_longs", "A", offsetof(gasnetx_counters_t, request_longs)},
    {"request_bytes", "A", offsetof(gasnetx_counters_t, request_bytes)},
    {"reply_shorts", "A", offsetof(gasnetx_counters_t, reply_shorts)},
    {"reply_mediums", "A", offsetof(gasnetx_counters_t, reply_mediums)},
    {"reply_longs", "A", offsetof(gasnetx_counters_t, reply_longs)},
    {"reply_bytes", "A", offsetof(gasnetx_counters_t, reply_bytes)},
    {"puts", "P", offsetof(gasnetx_counters_t, puts)},
    {"put_bytes", "P", offsetof(gasnetx_counters_t, put_bytes)},
    {"gets", "G", offsetof(gasnetx_counters_t, gets)},
    {"get_bytes", "G", offsetof(gasnetx_counters_t, get_bytes)},
    {"atomics", "R", offsetof(gasnetx_counters_t, atomics)},
    {"vis_puts", "P", offsetof(gasnetx_counters_t, vis_puts)},
    {"vis_put_bytes", "P", offsetof(gasnetx_counters_t, vis_put_bytes)},
    {"vis_gets", "G", offsetof(gasnetx_counters_t, vis_gets)},
    {"vis_get_bytes", "G", offsetof(gasnetx_counters_t, vis_get_bytes)},
    {"sends", "A", offsetof(gasnetx_counters_t, sends)},
    {"send_bytes", "A", offsetof(gasnetx_counters_t, send_bytes)},
    {"stream_messages", "A", offsetof(gasnetx_counters_t, stream_messages)},
    {"stream_bytes", "A", offsetof(gasnetx_counters_t, stream_bytes)},
    {"coll_messages", "W", offsetof(gasnetx_counters_t, coll_messages)},
    {"coll_bytes", "W", offsetof(gasnetx_counters_t, coll_bytes)},
    {"no_room", "IC", offsetof(gasnetx_counters_t, no_room)},
    {"refused", "IC", offsetof(gasnetx_counters_t, refused)},
    {"frames_sent", "IC", offsetof(gasnetx_counters_t, frames_sent)},
    {"frames_received", "IC", offsetof(gasnetx_counters_t, frames_received)},
    {"packets_sent", "IC", offsetof(gasnetx_counters_t, packets_sent)},
    {"packets_received", "IC", offsetof(gasnetx_counters_t, packets_received)},
    {"bytes_sent", "IC", offsetof(gasnetx_counters_t, bytes_sent)},
    {"bytes_received", "IC", offsetof(gasnetx_counters_t, bytes_received)},
    {"retransmissions", "IC", offsetof(gasnetx_counters_t, retransmissions)},
};

static uint64_t value_of(const volatile gasnetx_counters_t *all, const counter_t *counter)
{
    const volatile void *place = (const volatile char *)all + counter->place;
    return *(const volatile uint64_t *)place;
}

static uint64_t dropped_of(const volatile gasnetx_counters_t *all)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < GASNETX_DROP_REASONS; i++)
        sum += all->dropped[i];
    return sum;
}

static bool is_shown(const char *wanted)
{
    return strpbrk(letters, wanted) != NULL;
}

static void counter_write(aq_lines_t *lines, const char *name, uint64_t value)
{
    aq_lines_add(lines, "%u %s %" PRIu64, aq_job.rank, name, value);
    aq_lines_end(lines);
}

// Writes what the threads count of themselves, without the counts that counters_write has written.
static void own_write(aq_lines_t *lines, const uint64_t own[AQ_OWN_COUNTS])
{
    for (unsigned i = 0; i < AQ_OWN_COUNTS; i++) {
        const bool is_above = i >= AQ_OWN_NO_ROOM && i <= AQ_OWN_RESENT;
        if (aq_own_name(i) && !is_above)
            counter_write(lines, aq_own_name(i), own[i] - own_base[i]);
    }
}

// With the lock held.
static void counters_write(aq_lines_t *lines, const volatile gasnetx_counters_t *all,
                           const uint64_t own[AQ_OWN_COUNTS])
{
    for (unsigned i = 0; i < sizeof counters / sizeof counters[0]; i++)
        if (is_shown(counters[i].letters))
            counter_write(lines, counters[i].name,
                          value_of(all, &counters[i]) - value_of(&base, &counters[i]));
    if (is_shown("IC")) {
        counter_write(lines, "dropped", dropped_of(all) - dropped_of(&base));
        own_write(lines, own);
    }
}

static void lines_finish(aq_lines_t *lines)
{
    static atomic_flag told;
    const int error = lines ? aq_lines_flush(lines) : ENOMEM;
    free(lines);
    if (error && !atomic_flag_test_and_set(&told))
        aq_log_warn("GASNET_STATSFILE=%s: cannot write the counters of this rank: %s; the file "
                    "lacks them",
                    aq_settings_text(AQ_SET_STATSFILE), strerror(error));
}

static aq_lines_t *lines_begin(void)
{
    aq_lines_t *lines = calloc(1, sizeof *lines);
    if (lines)
        lines->file = file;
    return lines;
}

void aq_stats_file_dump(bool reset)
{
    if (file < 0)
        return;
    const volatile gasnetx_counters_t *all = gasnetx_Counters(GEX_EP_INVALID);
    aq_lines_t *lines = lines_begin();
    uint64_t own[AQ_OWN_COUNTS] = {0};
    aq_counts_own_sum(own);
    aq_lock_take(&lock);
    if (all && lines)
        counters_write(lines, all, own);
    if (all && reset) {
        base = *all;
        memcpy(own_base, own, sizeof own_base);
    }
    aq_lock_drop(&lock);
    lines_finish(lines);
}

void aq_stats_file_end(void)
{
    static atomic_flag ended;
    if (!atomic_flag_test_and_set(&ended))
        aq_stats_file_dump(false);
}

void aq_stats_file_note(const char *source, unsigned line, const char *text, size_t length)
{
    aq_lines_t *lines = file < 0 ? NULL : lines_begin();
    if (!lines)
        return;
    aq_lines_add(lines, "%u note %.256s:%u: %.*s", aq_job.rank, source, line, (int)length, text);
    aq_lines_end(lines);
    lines_finish(lines);
}

// ---- settings ----

bool aq_stats_file_is_on(void)
{
    return file >= 0;
}

const char *aq_stats_file_mask(void)
{
    return letters;
}

void aq_stats_file_set_mask(const char *mask)
{
    aq_lock_take(&lock);
    (void)aq_mask_read(mask, letters);
    aq_lock_drop(&lock);
}

static void tell_mask(const char *mask, char wrong)
{
    const size_t none = strcspn(mask, "SBLXOD");
    if (wrong)
        aq_log_warn("GASNET_STATSMASK=%s: '%c' is no letter of a mask, those are %s, with ^ in "
                    "front for all others; the file has the counters of the other letters",
                    mask, wrong, aq_mask_all);
    if (mask[none] && *mask != '^')
        aq_log_warn("GASNET_STATSMASK=%s: this library has no counters for '%c'; it has some for "
                    "GPRWAIC",
                    mask, mask[none]);
}

static void tell_unused(aq_setting_id_t id)
{
    if (aq_settings_given(id))
        aq_log_warn("%s has no effect without GASNET_STATSFILE, which names the file of the "
                    "counters",
                    aq_settings_row(id)->name);
}

void aq_stats_file_start(void)
{
    const char *name = aq_settings_text(AQ_SET_STATSFILE);
    const char *mask = aq_settings_text(AQ_SET_STATSMASK);
    const char wrong = aq_mask_read(mask, letters);
    if (!*name && aq_job.rank == 0) {
        tell_unused(AQ_SET_STATSMASK);
        tell_unused(AQ_SET_STATSNODES);
    }
    if (!*name)
        return;
    if (aq_job.rank == 0)
        tell_mask(mask, wrong);
    aq_traffic_on = true; // counts puts, gets and atomics on mapped memory, too
    const char *ranks = aq_settings_text(AQ_SET_STATSNODES);
    if (aq_settings_has_rank(ranks, aq_job.rank) != 0)
        file = aq_observe_file_open("GASNET_STATSFILE", name, title,
                                    aq_observe_file_is_mine(name, ranks));
}
