// SPDX-License-Identifier: BSD-3-Clause
// The parts of a summary about collectives: ranks that come late, and why.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view_summary.h"
#include "view_times.h"

enum { LATE_RANKS = 8, PATHS = 5, STEPS = 4 }; // rows

// ---- who comes last ----

typedef struct late_rank {
    uint32_t rank;
    uint64_t last; // times
    int64_t lost;  // by the others
} late_rank_t;

static int lost_compare(const void *a, const void *b)
{
    const late_rank_t *left = a, *right = b;
    if (left->lost != right->lost)
        return left->lost < right->lost ? 1 : -1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

static int64_t late_add(const aq_view_findings_t *findings, late_rank_t *rows)
{
    int64_t lost = 0;
    for (uint32_t rank = 0; rank < findings->trace->ranks; rank++)
        rows[rank].rank = rank;
    for (size_t i = 0; i < findings->colls.count; i++) {
        const aq_view_coll_t *coll = &findings->colls.colls[i];
        if (coll->arrivals < 2)
            continue;
        rows[coll->last->rank].last++;
        rows[coll->last->rank].lost += coll->lost;
        lost += coll->lost;
    }
    return lost;
}

void aq_view_tell_late(aq_view_sheet_t *sheet, const aq_view_findings_t *findings)
{
    const uint32_t ranks = findings->trace->ranks;
    late_rank_t *rows = calloc(ranks + 1, sizeof *rows);
    char text[AQ_VIEW_TIME];
    if (findings->colls.count == 0 || !rows) {
        sheet->failed = sheet->failed || !rows;
        free(rows);
        return;
    }
    const int64_t lost = late_add(findings, rows);
    qsort(rows, ranks, sizeof *rows, lost_compare);
    aq_view_sheet_add(sheet, AQ_VIEW_TITLE, "Late ranks in %zu collectives: others waited %s",
                      findings->colls.count, aq_view_time(lost, text));
    aq_view_sheet_add(sheet, AQ_VIEW_HEAD, "rank\ttimes last\tothers waited\tof all");
    for (uint32_t i = 0; i < ranks && i < LATE_RANKS && rows[i].last; i++)
        aq_view_sheet_add(sheet, AQ_VIEW_ROW, "%u\t%" PRIu64 "\t%s\t%.1f %%", rows[i].rank,
                          rows[i].last, aq_view_time(rows[i].lost, text),
                          lost > 0 ? 100. * (double)rows[i].lost / (double)lost : 0);
    free(rows);
}

// ---- critical paths ----

// The last wait of a thread that ends between two times; at: an event of the thread.
static const aq_view_event_t *wait_find(const aq_view_trace_t *trace, const aq_view_event_t *at,
                                        int64_t from, int64_t to)
{
    const uint32_t rank = at->rank;
    const aq_view_event_t *last = NULL;
    for (size_t i = trace->first[rank]; i < trace->first[rank + 1]; i++) {
        const aq_view_event_t *event = &trace->events[i];
        const int64_t end = event->start + event->length;
        if (event->category == AQ_VIEW_WAIT && event->phase == 'X' && event->thread == at->thread &&
            end > from && end <= to && (!last || end > last->start + last->length))
            last = event;
    }
    return last;
}

// "program 40 ms, access 12 us": the longest kinds.
static void times_tell(const aq_view_times_t *times, char *text, size_t size)
{
    aq_view_times_t left = *times;
    char time[AQ_VIEW_TIME];
    size_t length = 0;
    text[0] = '\0';
    for (unsigned n = 0; n < 3; n++) {
        unsigned most = 0;
        for (unsigned kind = 1; kind < AQ_VIEW_KINDS; kind++)
            most = left.ns[kind] > left.ns[most] ? kind : most;
        if (left.ns[most] <= 0)
            break;
        length += (size_t)snprintf(text + length, size - length, "%s%s %s", length ? ", " : "",
                                   aq_view_kind_names[most], aq_view_time(left.ns[most], time));
        left.ns[most] = 0;
    }
}

// The latest message from another rank that was handled in a wait after a time, or NULL.
static const aq_view_message_t *wait_message(const aq_view_findings_t *findings,
                                             const aq_view_event_t *wait, int64_t from)
{
    const aq_view_message_t *message =
        aq_view_messages_last(&findings->messages, wait->rank,
                              wait->start > from ? wait->start : from, wait->start + wait->length);
    return message && message->sent->rank != wait->rank ? message : NULL;
}

// The collective that a rank is in at a time, the latest one, or NULL.
static const aq_view_coll_t *coll_find(const aq_view_findings_t *findings, uint32_t rank,
                                       int64_t time)
{
    const aq_view_trace_t *trace = findings->trace;
    const aq_view_event_t *in = NULL;
    for (size_t i = trace->first[rank]; i < trace->first[rank + 1]; i++) {
        const aq_view_event_t *event = &trace->events[i];
        if (event->category == AQ_VIEW_COLL && event->phase == 'X' && event->start <= time &&
            event->start + event->length >= time && (!in || event->start > in->start))
            in = event;
    }
    return in ? aq_view_colls_of(&findings->colls, in) : NULL;
}

// Explains a wait between two times for a collective at which all ranks had arrived: the processor
// was busy, or messages were slow. Writes nothing if that was less than half of the time.
static void sleep_tell(const aq_view_findings_t *findings, const aq_view_event_t *wait,
                       int64_t from, int64_t to, char *text, size_t size)
{
    const aq_view_coll_t *coll = coll_find(findings, wait->rank, wait->start);
    char time[AQ_VIEW_TIME];
    if (!coll || coll->arrivals < 2)
        return;
    int64_t ready = coll->last->start > from ? coll->last->start : from;
    ready = wait->start > ready ? wait->start : ready;
    const int64_t idle = wait->start + wait->length - ready;
    if (idle * 2 > to - from)
        snprintf(text, size, "; waited %s after all had come to the one before",
                 aq_view_time(idle, time));
}

// Tells what a thread did from a time until `at`, an event of the thread. Returns the message from
// another rank that ended its last wait there, or NULL.
static const aq_view_message_t *step_tell(aq_view_sheet_t *sheet,
                                          const aq_view_findings_t *findings, const char *what,
                                          int64_t from, const aq_view_event_t *at)
{
    const int64_t to = at->start;
    const aq_view_event_t *wait = wait_find(findings->trace, at, from, to);
    const aq_view_message_t *message = wait ? wait_message(findings, wait, from) : NULL;
    aq_view_times_t times;
    char did[256], time[AQ_VIEW_TIME], waited[128] = "";
    if (!aq_view_times_of(findings->trace, at->rank, at->thread, from, to, &times)) {
        sheet->failed = true;
        return NULL;
    }
    times_tell(&times, did, sizeof did);
    if (message)
        snprintf(waited, sizeof waited, "; waited for rank %u", message->sent->rank);
    else if (wait)
        sleep_tell(findings, wait, from, to, waited, sizeof waited);
    aq_view_sheet_add(sheet, AQ_VIEW_ROW, "%s\t%u\t%s\t%s%s", what, at->rank,
                      aq_view_time(to - from, time), did, waited);
    return message;
}

// From the last arrival backwards, over the messages that ranks waited for.
static void path_tell(aq_view_sheet_t *sheet, const aq_view_findings_t *findings,
                      const aq_view_coll_t *coll)
{
    const int64_t from = coll->first->start;
    const aq_view_event_t *at = coll->last;
    char what[128], root[32] = "";
    if (at->peer != AQ_VIEW_NO_RANK)
        snprintf(root, sizeof root, ", root %u", at->peer);
    snprintf(what, sizeof what, "%.64s %" PRIu64 " of team %u%s", findings->trace->names[at->name],
             at->sequence, at->team, root);
    for (unsigned step = 0; step < STEPS && at->start > from; step++) {
        const aq_view_message_t *message =
            step_tell(sheet, findings, step ? "before that" : what, from, at);
        if (!message || message->sent->start >= at->start)
            return;
        at = message->sent;
    }
}

void aq_view_tell_paths(aq_view_sheet_t *sheet, const aq_view_findings_t *findings)
{
    if (findings->colls.count == 0)
        return;
    aq_view_sheet_add(sheet, AQ_VIEW_TITLE,
                      "Collectives that waited longest for their last rank, and what it did since "
                      "the first one came");
    aq_view_sheet_add(sheet, AQ_VIEW_HEAD, "collective\trank\ttime\twhat");
    for (size_t i = 0; i < findings->colls.count && i < PATHS; i++)
        path_tell(sheet, findings, &findings->colls.colls[i]);
}
