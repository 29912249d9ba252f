// SPDX-License-Identifier: BSD-3-Clause
// Rates and shares of a rank as short texts, which the screen uses too; and the table of gasnet_top
// --once.
#include <inttypes.h>
#include <string.h>

#include "../../base/clock.h"
#include "../format/own_names.h"
#include "rank_text.h"
#include "top_write.h"

static aq_top_numbers_t numbers_of(const uint64_t counted[AQ_PEER_COUNTS])
{
    aq_top_numbers_t numbers = {
        .message_bytes = (double)(counted[AQ_PEER_REQUEST_BYTES] + counted[AQ_PEER_REPLY_BYTES]),
        .puts = (double)counted[AQ_PEER_PUT],
        .put_bytes = (double)counted[AQ_PEER_PUT_BYTES],
        .gets = (double)counted[AQ_PEER_GET],
        .get_bytes = (double)counted[AQ_PEER_GET_BYTES],
        .atomics = (double)counted[AQ_PEER_ATOMIC]};
    for (unsigned i = AQ_PEER_REQUEST_SHORT; i <= AQ_PEER_REPLY_LONG; i++)
        numbers.messages += (double)counted[i];
    return numbers;
}

aq_top_numbers_t aq_top_totals(const aq_watched_rank_t *rank)
{
    return numbers_of(rank->counted);
}

aq_top_numbers_t aq_top_rates(const aq_watched_job_t *job, const aq_watched_rank_t *rank)
{
    uint64_t change[AQ_PEER_COUNTS] = {0};
    if (!job->before || job->now <= job->before)
        return (aq_top_numbers_t){0};
    for (unsigned i = 0; i < AQ_PEER_COUNTS; i++)
        if (rank->counted[i] > rank->counted_before[i]) // a refused message is taken back
            change[i] = rank->counted[i] - rank->counted_before[i];
    aq_top_numbers_t rates = numbers_of(change);
    const double seconds = (double)(job->now - job->before) / 1e9;
    rates.messages /= seconds;
    rates.message_bytes /= seconds;
    rates.puts /= seconds;
    rates.put_bytes /= seconds;
    rates.gets /= seconds;
    rates.get_bytes /= seconds;
    rates.atomics /= seconds;
    return rates;
}

const char *aq_top_state(const aq_watched_rank_t *rank)
{
    if (aq_watched_is_gone(rank))
        return rank->seen.stage >= AQ_STAGE_LEAVING ? "left" : "gone";
    if (aq_watched_is_stopped(rank))
        return "stopped";
    if (rank->seen.stage >= AQ_STAGE_LEAVING)
        return "leaving";
    return rank->process == 'R' ? "runs" : "sleeps";
}

const char *aq_top_short(double number, char text[16])
{
    static const char units[] = " kMGTP";
    unsigned unit = 0;
    while (number >= 9999.5 && unit + 2 < sizeof units) {
        number /= 1000;
        unit++;
    }
    if (unit)
        snprintf(text, 16, "%.0f%c", number, units[unit]);
    else
        snprintf(text, 16, "%.0f", number);
    return text;
}

// Adds a number with a name, unless it is 0.
static size_t own_add(char text[AQ_TOP_OWN], size_t used, double number, const char *name)
{
    char digits[16];
    if (number <= 0 || used + 60 > AQ_TOP_OWN)
        return used;
    return used + (size_t)snprintf(text + used, AQ_TOP_OWN - used, "%s%s %.40s", used ? ", " : "",
                                   aq_top_short(number, digits), name);
}

const char *aq_top_polls(const aq_watched_rank_t *rank, char text[AQ_TOP_OWN])
{
    const uint64_t *own = rank->own;
    char a[16], b[16];
    size_t used = (size_t)snprintf(text, AQ_TOP_OWN, "polls: %s found something, %s nothing",
                                   aq_top_short((double)own[AQ_OWN_POLLS_FOUND], a),
                                   aq_top_short((double)own[AQ_OWN_POLLS_EMPTY], b));
    used = own_add(text, used, (double)own[AQ_OWN_NO_ROOM], "times no room");
    used = own_add(text, used, (double)own[AQ_OWN_REFUSED], "refused");
    (void)own_add(text, used, (double)own[AQ_OWN_RESENT], "sent again");
    return text;
}

const char *aq_top_poll_share(const aq_watched_job_t *job, const aq_watched_rank_t *rank,
                              char text[16])
{
    const uint64_t *own = rank->own, *before = rank->own_before;
    const double found = (double)(own[AQ_OWN_POLLS_FOUND] - before[AQ_OWN_POLLS_FOUND]);
    const double empty = (double)(own[AQ_OWN_POLLS_EMPTY] - before[AQ_OWN_POLLS_EMPTY]);
    if (job->before && found + empty > 0)
        snprintf(text, 16, "%.0f", 100 * found / (found + empty));
    else
        snprintf(text, 16, "-");
    return text;
}

const char *aq_top_drops(const aq_watched_rank_t *rank, char text[AQ_TOP_OWN])
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = AQ_OWN_DROPPED; i < AQ_OWN_COUNTS; i++)
        if (aq_own_name(i))
            used = own_add(text, used, (double)rank->own[i], strchr(aq_own_name(i), '_') + 1);
    return text;
}

uint64_t aq_top_dropped(const aq_watched_rank_t *rank)
{
    uint64_t sum = 0;
    for (unsigned i = AQ_OWN_DROPPED; i < AQ_OWN_COUNTS; i++)
        sum += rank->own[i];
    return sum;
}

static void waits_text(const uint64_t own[AQ_OWN_COUNTS], char text[AQ_TOP_OWN])
{
    static const char *const names[AQ_WAIT_KINDS] = {"",
                                                     "for operations",
                                                     "for room",
                                                     "for the client",
                                                     "for collectives",
                                                     "for messages",
                                                     "for receivers",
                                                     "for answers"};
    enum { LEAST_NS = 50000000 }; // shown as 0.1 s
    char time[AQ_RANK_TEXT];
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < AQ_WAIT_KINDS && used + 60 < AQ_TOP_OWN; i++)
        if (own[AQ_OWN_WAIT_NS + i] >= LEAST_NS)
            used += (size_t)snprintf(text + used, AQ_TOP_OWN - used, "%s %.20s %s",
                                     used ? "," : "; waited",
                                     aq_text_time(own[AQ_OWN_WAIT_NS + i], time), names[i]);
    if (own[AQ_OWN_SLEEP_NS] >= LEAST_NS)
        snprintf(text + used, AQ_TOP_OWN - used, "; asleep in waits for %.20s",
                 aq_text_time(own[AQ_OWN_SLEEP_NS], time));
}

const char *aq_top_networks(const aq_seen_rank_t *seen, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < AQ_SHOWN_CONDUITS && used < size; i++)
        if (seen->conduit[i].name[0])
            used += (size_t)snprintf(text + used, size - used, "%s%s%s%s", used ? ", " : "",
                                     seen->conduit[i].name, seen->conduit[i].network[0] ? " " : "",
                                     seen->conduit[i].network);
    return text;
}

static bool waits_for_rank(const aq_seen_thread_t *thread)
{
    return (thread->kind == AQ_WAIT_ROOM || thread->kind == AQ_WAIT_RECEIVE ||
            thread->kind == AQ_WAIT_SEND || thread->kind == AQ_WAIT_RANK) &&
           thread->rank != AQ_WAIT_NO_RANK;
}

bool aq_top_slowest(const aq_watched_job_t *job, uint64_t now, aq_top_pair_t *pair)
{
    *pair = (aq_top_pair_t){0};
    for (uint32_t i = 0; i < job->found; i++) {
        const aq_seen_rank_t *seen = &job->rank[i]->seen;
        for (unsigned t = 0; t < seen->threads; t++) {
            const uint64_t waited = aq_seen_waited(&seen->thread[t], now);
            if (waits_for_rank(&seen->thread[t]) && waited > pair->waited)
                *pair = (aq_top_pair_t){seen->rank, seen->thread[t].rank, waited};
        }
    }
    return pair->waited > 0;
}

static void write_rank(const aq_watched_job_t *job, const aq_watched_rank_t *rank, uint64_t now,
                       FILE *out)
{
    const aq_seen_thread_t *longest = aq_seen_longest(&rank->seen, now, 0);
    const aq_top_numbers_t rates = aq_top_rates(job, rank);
    char what[AQ_RANK_TEXT] = "", time[AQ_RANK_TEXT] = "", a[16], b[16], c[16], d[16], e[16];
    if (longest) {
        aq_text_wait(&rank->seen, longest, what);
        aq_text_time(aq_seen_waited(longest, now), time);
    }
    fprintf(out, "%5" PRIu32 " %-12.12s %7d %-8s %7s %7s %7s %7s %5s %10s  %s\n", rank->seen.rank,
            rank->seen.host_name, (int)rank->seen.pid, aq_top_state(rank),
            aq_top_short(rates.messages, a), aq_top_short(rates.message_bytes, b),
            aq_top_short(rates.puts, c), aq_top_short(rates.gets, d),
            aq_top_poll_share(job, rank, e), time, what);
}

static void write_own(const aq_watched_rank_t *rank, FILE *out)
{
    char polls[AQ_TOP_OWN], drops[AQ_TOP_OWN], waits[AQ_TOP_OWN];
    aq_top_polls(rank, polls);
    aq_top_drops(rank, drops);
    waits_text(rank->own, waits);
    fprintf(out, "rank %" PRIu32 ": %s%s%s%s\n", rank->seen.rank, polls,
            drops[0] ? "; dropped: " : "", drops, waits);
}

bool aq_top_write_text(const aq_watched_job_t *job, FILE *out)
{
    const aq_seen_rank_t *first = &job->rank[0]->seen;
    const uint64_t now = aq_clock_ns();
    char networks[300], elsewhere[AQ_ELSEWHERE_TEXT];
    aq_top_pair_t pair;
    fprintf(out, "%s: %" PRIu32 " ranks, %" PRIu32 " shown; %s\n", first->program, job->ranks,
            job->found, aq_top_networks(first, networks, sizeof networks));
    fprintf(out, "%5s %-12s %7s %-8s %7s %7s %7s %7s %5s %10s  %s\n", "rank", "host", "process",
            "state", "msg/s", "bytes/s", "puts/s", "gets/s", "poll%", "for", "waits for");
    for (uint32_t i = 0; i < job->found; i++)
        write_rank(job, job->rank[i], now, out);
    for (uint32_t i = 0; i < job->found; i++)
        write_own(job->rank[i], out);
    if (aq_text_elsewhere(job, elsewhere)[0])
        fprintf(out, "%s\n", elsewhere);
    if (aq_top_slowest(job, now, &pair)) {
        char time[AQ_RANK_TEXT];
        fprintf(out, "slowest pair: rank %" PRIu32 " waits for rank %" PRIu32 " for %s\n",
                pair.waits, pair.for_rank, aq_text_time(pair.waited, time));
    }
    return !ferror(out);
}
