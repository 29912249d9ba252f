// SPDX-License-Identifier: BSD-3-Clause
// The phrases that all outputs of gasnet_top share: the table, the screen, JSON and the diagnosis.
#include "rank_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

const char *aq_text_time(uint64_t ns, char text[AQ_RANK_TEXT])
{
    const uint64_t s = ns / SECOND;
    if (s < 1)
        snprintf(text, AQ_RANK_TEXT, "%.1f s", (double)ns / (double)SECOND);
    else if (s < 120)
        snprintf(text, AQ_RANK_TEXT, "%" PRIu64 " s", s);
    else if (s < 7200)
        snprintf(text, AQ_RANK_TEXT, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
    else
        snprintf(text, AQ_RANK_TEXT, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);
    return text;
}

const char *aq_text_call(unsigned call)
{
    static const char *const names[AQ_SHOWN_CALLS] = {
        "collective",       "barrier", "broadcast",      "reduction to one",
        "reduction to all", "scatter", "gather",         "all-gather",
        "all-to-all",       "scan",    "exclusive scan", "gasnet_barrier_notify"};
    return names[call < AQ_SHOWN_CALLS ? call : 0];
}

const char *aq_text_team(uint64_t id, char text[AQ_RANK_TEXT])
{
    if (id == 0)
        snprintf(text, AQ_RANK_TEXT, "the team of all ranks");
    else
        snprintf(text, AQ_RANK_TEXT, "team %" PRIu64, id);
    return text;
}

const char *aq_text_ranks(const uint32_t *ranks, uint32_t count, char text[AQ_RANK_TEXT])
{
    size_t used = (size_t)snprintf(text, AQ_RANK_TEXT, count == 1 ? "rank" : "ranks");
    for (uint32_t i = 0, last; i < count; i = last + 1) {
        for (last = i; last + 1 < count && ranks[last + 1] == ranks[last] + 1;)
            last++;
        if (used + 40 > AQ_RANK_TEXT) {
            snprintf(text + used, AQ_RANK_TEXT - used, " and others");
            break;
        }
        used += (size_t)snprintf(text + used, AQ_RANK_TEXT - used, "%s %" PRIu32, i ? "," : "",
                                 ranks[i]);
        if (last > i)
            used += (size_t)snprintf(text + used, AQ_RANK_TEXT - used, "%s%" PRIu32,
                                     last > i + 1 ? "-" : ", ", ranks[last]);
    }
    return text;
}

bool aq_seen_has_begun(const aq_seen_team_t *team, uint32_t call)
{
    return (int16_t)(uint16_t)(team->calls - call) >= 0;
}

unsigned aq_seen_call(const aq_seen_team_t *team, uint32_t call)
{
    const uint16_t ago = (uint16_t)(team->calls - call);
    return ago < AQ_SEEN_LAST ? team->last[ago] : (unsigned)AQ_SHOWN_NONE;
}

static void describe_collective(const aq_seen_rank_t *rank, const aq_seen_thread_t *thread,
                                char text[AQ_RANK_TEXT])
{
    char team_text[AQ_RANK_TEXT];
    if (thread->team < 0) {
        snprintf(text, AQ_RANK_TEXT, "a collective");
        return;
    }
    const aq_seen_team_t *team = &rank->team[thread->team];
    snprintf(text, AQ_RANK_TEXT, "%s %" PRIu32 " of %.100s",
             aq_text_call(aq_seen_call(team, thread->call)), thread->call,
             aq_text_team(team->id, team_text));
}

// "2 puts, 1 atomic".
static void describe_pending(const aq_seen_thread_t *thread, char text[AQ_RANK_TEXT])
{
    static const char *const names[AQ_PENDING_KINDS] = {
        "get", "put", "message", "local completion", "atomic", "other operation"};
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < AQ_PENDING_KINDS && used + 40 < AQ_RANK_TEXT; i++)
        if (thread->pending[i])
            used += (size_t)snprintf(text + used, AQ_RANK_TEXT - used, "%s%" PRIu32 " %s%s",
                                     used ? ", " : "", thread->pending[i], names[i],
                                     thread->pending[i] > 1 ? "s" : "");
    if (!used)
        snprintf(text, AQ_RANK_TEXT, "operations");
}

static void describe_rank(const char *before, uint32_t rank, char text[AQ_RANK_TEXT])
{
    if (rank == AQ_WAIT_NO_RANK)
        snprintf(text, AQ_RANK_TEXT, "%s other ranks", before);
    else
        snprintf(text, AQ_RANK_TEXT, "%s rank %" PRIu32, before, rank);
}

const char *aq_text_wait(const aq_seen_rank_t *rank, const aq_seen_thread_t *thread,
                         char text[AQ_RANK_TEXT])
{
    text[0] = '\0';
    if (thread->kind == AQ_WAIT_EVENT)
        describe_pending(thread, text);
    else if (thread->kind == AQ_WAIT_ROOM)
        describe_rank("room to send to", thread->rank, text);
    else if (thread->kind == AQ_WAIT_CONDITION)
        snprintf(text, AQ_RANK_TEXT, "a condition of the client");
    else if (thread->kind == AQ_WAIT_COLLECTIVE)
        describe_collective(rank, thread, text);
    else if (thread->kind == AQ_WAIT_RECEIVE)
        describe_rank("a message from", thread->rank, text);
    else if (thread->kind == AQ_WAIT_SEND)
        describe_rank("a message to be received by", thread->rank, text);
    else if (thread->kind == AQ_WAIT_RANK)
        describe_rank("an answer of", thread->rank, text);
    return text;
}

// ---- times ----

const aq_seen_thread_t *aq_seen_longest(const aq_seen_rank_t *rank, uint64_t now, uint64_t least)
{
    const aq_seen_thread_t *found = NULL;
    for (unsigned i = 0; i < rank->threads; i++) {
        const uint64_t waited = aq_seen_waited(&rank->thread[i], now);
        if (waited >= least && (!found || waited > aq_seen_waited(found, now)))
            found = waited ? &rank->thread[i] : found;
    }
    return found;
}

// ---- ranks that are not shown ----

// "ssh -t n2 gasnet_top heat, ssh -t n3 gasnet_top heat": as far as there is room for it.
static void list_commands(const aq_seen_rank_t *seen, char *text, size_t size)
{
    char names[sizeof seen->launcher.other_hosts], *rest = NULL;
    size_t used = 0;
    memcpy(names, seen->launcher.other_hosts, sizeof names);
    for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        if (strcmp(name, "...") == 0 || used + strlen(name) + strlen(seen->program) + 32 > size) {
            snprintf(text + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%sssh -t %s gasnet_top %s",
                                 used ? ", " : "", name, seen->program);
    }
}

const char *aq_text_elsewhere(const aq_watched_job_t *job, char text[AQ_ELSEWHERE_TEXT])
{
    const aq_seen_rank_t *seen = aq_watched_guide(job);
    const uint32_t unseen = job->ranks > job->found ? job->ranks - job->found : 0;
    size_t used = 0;
    text[0] = '\0';
    if (!unseen || job->remote || (!seen->launcher.pid && !seen->launcher.other_hosts[0]))
        return text;
    used =
        (size_t)snprintf(text, AQ_ELSEWHERE_TEXT,
                         "%" PRIu32 " of %" PRIu32 " ranks are on other hosts", unseen, job->ranks);
    if (seen->launcher.pid)
        snprintf(text + used, AQ_ELSEWHERE_TEXT - used,
                 "; all are shown on the host of the launcher, by ssh -t %s gasnet_top %d",
                 seen->launcher.host, (int)seen->launcher.pid);
    else {
        used += (size_t)snprintf(text + used, AQ_ELSEWHERE_TEXT - used,
                                 ", which nothing of this job reaches from here; look there: ");
        list_commands(seen, text + used, AQ_ELSEWHERE_TEXT - used);
    }
    return text;
}
