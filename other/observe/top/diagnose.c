// SPDX-License-Identifier: BSD-3-Clause
// Collects the waits of all ranks, sorts them so that those for the same thing form a group, and
// writes the sentences: groups, then cycles, then ranks for which no rank waits. gasnet_top
// --diagnose and its screen call it.
#include "diagnose.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rank_text.h"

typedef struct diagnosis {
    const aq_watched_job_t *job;
    uint64_t now;
    aq_stack_get_t get;
    FILE *out;
    int found;
    struct wait *waits;
    size_t wait_count;
    uint32_t *list;  // room for a number of each rank
    bool *mentioned; // by place in the job: a sentence says what the rank does
    bool *known;     // the stack was asked for
    aq_stack_result_t *results;
    aq_seen_stack_t *stacks;
} diagnosis_t;

// A thread that has waited for long, and goes on polling.
typedef struct wait {
    uint32_t place; // of its rank in the job
    const aq_seen_thread_t *thread;
    const aq_seen_team_t *team; // of a collective, or NULL
} wait_t;

static const aq_seen_rank_t *seen_at(const diagnosis_t *d, uint32_t place)
{
    return &d->job->rank[place]->seen;
}

// ---- ranks that keep others waiting ----

// Whether a rank is gone, stopped or leaving.
static bool is_absent(const diagnosis_t *d, uint32_t place)
{
    const aq_watched_rank_t *rank = d->job->rank[place];
    return aq_watched_is_gone(rank) || aq_watched_is_stopped(rank) ||
           rank->seen.stage >= AQ_STAGE_LEAVING;
}

// Whether a rank does not poll, so that others cannot go on.
static bool does_not_poll(const diagnosis_t *d, uint32_t place)
{
    const aq_seen_thread_t *longest = aq_seen_longest(seen_at(d, place), d->now, AQ_DIAGNOSE_NS);
    return is_absent(d, place) || !longest || aq_seen_unpolled(longest, d->now) >= AQ_DIAGNOSE_NS;
}

// ---- the waits, sorted so that those for the same thing follow each other ----

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

// Collectives first, then waits for a rank, and last those of which nothing more is known.
static int kind_place(aq_wait_kind_t kind)
{
    if (kind == AQ_WAIT_COLLECTIVE)
        return 0;
    return kind == AQ_WAIT_EVENT || kind == AQ_WAIT_CONDITION ? 2 : 1;
}

static int wait_compare_reason(const wait_t *a, const wait_t *b)
{
    int order = kind_place(a->thread->kind) - kind_place(b->thread->kind);
    if (!order)
        order = compare_numbers(a->thread->kind, b->thread->kind);
    if (!order)
        order = compare_numbers(a->team != NULL, b->team != NULL);
    if (!order && a->team)
        order = compare_numbers(a->team->id, b->team->id);
    if (!order && a->team)
        order = compare_numbers(a->thread->call, b->thread->call);
    return order ? order : compare_numbers(a->thread->rank, b->thread->rank);
}

static int wait_compare(const void *a, const void *b)
{
    const wait_t *x = a, *y = b;
    const int order = wait_compare_reason(x, y);
    return order ? order : compare_numbers(x->place, y->place);
}

static void waits_of(diagnosis_t *d, uint32_t place)
{
    const aq_seen_rank_t *seen = seen_at(d, place);
    for (unsigned i = 0; i < seen->threads && !is_absent(d, place); i++) {
        const aq_seen_thread_t *thread = &seen->thread[i];
        if (aq_seen_waited(thread, d->now) < AQ_DIAGNOSE_NS ||
            aq_seen_unpolled(thread, d->now) >= AQ_DIAGNOSE_NS)
            continue;
        d->waits[d->wait_count++] =
            (wait_t){.place = place,
                     .thread = thread,
                     .team = thread->team >= 0 ? &seen->team[thread->team] : NULL};
    }
}

static bool waits_list(diagnosis_t *d)
{
    size_t most = 0;
    for (uint32_t i = 0; i < d->job->found; i++)
        most += seen_at(d, i)->threads;
    d->waits = calloc(most + 1, sizeof *d->waits);
    if (!d->waits)
        return false;
    for (uint32_t i = 0; i < d->job->found; i++)
        waits_of(d, i);
    qsort(d->waits, d->wait_count, sizeof *d->waits, wait_compare);
    return true;
}

// ---- what a rank does ----

// The stack of a rank, asked for once; NULL: there is none. A rank that is not asked, because it is
// gone or stopped, has no stack and needs no excuse.
static const aq_seen_stack_t *stack_of(diagnosis_t *d, uint32_t place)
{
    const aq_watched_rank_t *rank = d->job->rank[place];
    aq_seen_stack_t *stack = &d->stacks[place];
    if (!d->known[place]) {
        d->known[place] = true;
        *stack = (aq_seen_stack_t){.handler = -1};
        d->results[place] = AQ_STACK_GIVEN;
        if (d->get && !aq_watched_is_gone(rank) && !aq_watched_is_stopped(rank))
            d->results[place] = d->get(d->job, rank, stack);
        if (d->results[place] != AQ_STACK_GIVEN)
            stack->frames = 0;
    }
    return stack->frames ? stack : NULL;
}

// The innermost frame in the program itself: the code of the client. NULL: there is none.
static const char *client_frame(diagnosis_t *d, uint32_t place)
{
    const aq_seen_stack_t *stack = stack_of(d, place);
    const char *program = seen_at(d, place)->program;
    const size_t length = strlen(program);
    for (uint32_t i = 0; stack && i < stack->frames; i++)
        if (strncmp(stack->frame[i], program, length) == 0 && stack->frame[i][length] == '+')
            return stack->frame[i];
    return NULL;
}

static void say_place(diagnosis_t *d, uint32_t place)
{
    const char *frame = client_frame(d, place);
    if (frame)
        fprintf(d->out, ", in its client's code at %s", frame);
    else if (d->results[place] != AQ_STACK_GIVEN)
        fprintf(d->out, "; %s", aq_stack_excuse(d->results[place]));
}

// Describes a rank whose thread is in a wait of the library, but does not poll.
static void say_unpolled(diagnosis_t *d, uint32_t place, const aq_seen_thread_t *thread)
{
    char time[AQ_RANK_TEXT];
    const aq_seen_stack_t *stack = stack_of(d, place);
    aq_text_time(aq_seen_unpolled(thread, d->now), time);
    if (stack && stack->handler >= 0)
        fprintf(d->out, "is in handler %d for %s", stack->handler, time);
    else
        fprintf(d->out, "has not polled for %s: a handler does not return, or it gets no processor",
                time);
    say_place(d, place);
}

static void say_wait(diagnosis_t *d, const aq_seen_rank_t *seen, const aq_seen_thread_t *thread)
{
    char time[AQ_RANK_TEXT], what[AQ_RANK_TEXT];
    fprintf(d->out, "waits for %s for %s", aq_text_time(aq_seen_waited(thread, d->now), time),
            aq_text_wait(seen, thread, what));
}

static void say_outside(diagnosis_t *d, uint32_t place)
{
    const aq_watched_rank_t *rank = d->job->rank[place];
    const aq_seen_stack_t *stack = stack_of(d, place);
    if (stack && stack->handler >= 0)
        fprintf(d->out, "is in handler %d", stack->handler);
    else if (aq_watched_is_looping(rank) ||
             (stack && rank->process == 'R' && aq_watched_loops_now(d->job, rank)))
        fprintf(d->out, "polls in a loop of its own");
    else if (rank->process == 'R')
        fprintf(d->out, "is not in the library: it computes");
    else
        fprintf(d->out, "is not in the library: it sleeps or waits for something else");
    say_place(d, place);
}

static void say_absence(diagnosis_t *d, uint32_t place)
{
    const aq_watched_rank_t *rank = d->job->rank[place];
    const int pid = (int)rank->seen.pid;
    if (aq_watched_is_gone(rank) && rank->seen.stage >= AQ_STAGE_LEAVING)
        fprintf(d->out, "has left the job");
    else if (aq_watched_is_gone(rank))
        fprintf(d->out, "is gone: its process %d has ended without leaving the job", pid);
    else if (aq_watched_is_stopped(rank))
        fprintf(d->out, "is stopped: kill -CONT %d lets it go on", pid);
    else
        fprintf(d->out, "leaves the job");
}

static void say_state(diagnosis_t *d, uint32_t place)
{
    const aq_seen_rank_t *seen = seen_at(d, place);
    const aq_seen_thread_t *longest = aq_seen_longest(seen, d->now, AQ_DIAGNOSE_NS);
    d->mentioned[place] = true;
    if (is_absent(d, place))
        say_absence(d, place);
    else if (longest && aq_seen_unpolled(longest, d->now) >= AQ_DIAGNOSE_NS)
        say_unpolled(d, place, longest);
    else if (longest)
        say_wait(d, seen, longest);
    else
        say_outside(d, place);
}

// ---- collectives ----

static const aq_seen_team_t *team_of(const diagnosis_t *d, uint32_t place, uint64_t id)
{
    const aq_seen_rank_t *seen = seen_at(d, place);
    for (unsigned i = 0; i < seen->teams; i++)
        if (seen->team[i].id == id)
            return &seen->team[i];
    return NULL;
}

// The members of the wait's team that have not begun the call; if all have, those that do not poll.
// Fills d->list with their places; returns their number. *members: that are known.
static uint32_t missing_members(diagnosis_t *d, const wait_t *wait, uint32_t *members)
{
    uint32_t missing = 0;
    *members = 0;
    for (int pass = 0; pass < 2 && missing == 0; pass++) {
        *members = 0;
        for (uint32_t i = 0; i < d->job->found; i++) {
            const aq_seen_team_t *team = team_of(d, i, wait->team->id);
            if (!team)
                continue;
            ++*members;
            if (pass == 0 ? !aq_seen_has_begun(team, wait->thread->call) : does_not_poll(d, i))
                d->list[missing++] = i;
        }
    }
    return missing;
}

// The kind of the call at a member: AQ_SHOWN_NONE: unknown, or no member.
static unsigned call_at(const diagnosis_t *d, uint32_t place, const wait_t *wait)
{
    const aq_seen_team_t *team = team_of(d, place, wait->team->id);
    return team && aq_seen_has_begun(team, wait->thread->call)
               ? aq_seen_call(team, wait->thread->call)
               : (unsigned)AQ_SHOWN_NONE;
}

// Whether a member makes another call in place of the one that is waited for.
static bool calls_differ(const diagnosis_t *d, const wait_t *wait)
{
    const unsigned call = call_at(d, wait->place, wait);
    for (uint32_t i = 0; call && i < d->job->found; i++) {
        const unsigned other = call_at(d, i, wait);
        if (other && other != call)
            return true;
    }
    return false;
}

static void say_ranks(diagnosis_t *d, uint32_t *ranks, uint32_t count)
{
    char text[AQ_RANK_TEXT];
    fputs(aq_text_ranks(ranks, count, text), d->out);
}

// "ranks 0, 2 call broadcast, rank 1 calls barrier".
// Returns whether a member makes this call.
static bool say_callers(diagnosis_t *d, const wait_t *wait, unsigned call, bool first)
{
    uint32_t count = 0, one = 0;
    for (uint32_t i = 0; i < d->job->found; i++) {
        if (call_at(d, i, wait) != call)
            continue;
        one = count ? one : i;
        d->list[count++] = seen_at(d, i)->rank;
        d->mentioned[i] = true;
    }
    if (!count)
        return false;
    fputs(first ? " " : ", ", d->out);
    say_ranks(d, d->list, count);
    fprintf(d->out, " %s %s", count == 1 ? "calls" : "call", aq_text_call(call));
    const char *frame = client_frame(d, one);
    if (frame)
        fprintf(d->out, " (rank %" PRIu32 " is at %s)", seen_at(d, one)->rank, frame);
    return true;
}

static void say_difference(diagnosis_t *d, const wait_t *wait)
{
    char team[AQ_RANK_TEXT];
    bool first = true;
    fprintf(d->out, "collective %" PRIu32 " of %s:", wait->thread->call,
            aq_text_team(wait->team->id, team));
    for (unsigned call = 1; call < AQ_SHOWN_CALLS; call++)
        first = !say_callers(d, wait, call, first) && first;
    fprintf(d->out, "; all members of a team have to call its collectives in the same order\n");
    d->found++;
}

// ---- sentences ----

// "ranks 0-6 wait for 41 s" and what for.
static void say_waiters(diagnosis_t *d, const wait_t *waits, size_t count)
{
    char time[AQ_RANK_TEXT], what[AQ_RANK_TEXT];
    uint32_t ranks = 0;
    uint64_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t waited = aq_seen_waited(waits[i].thread, d->now);
        const uint32_t rank = seen_at(d, waits[i].place)->rank;
        longest = waited > longest ? waited : longest;
        d->mentioned[waits[i].place] = true;
        if (!ranks || d->list[ranks - 1] != rank)
            d->list[ranks++] = rank;
    }
    const bool collective = waits->team != NULL;
    say_ranks(d, d->list, ranks);
    fprintf(d->out, " %s for %s %s %s", ranks == 1 ? "waits" : "wait", aq_text_time(longest, time),
            collective ? "in" : "for", aq_text_wait(seen_at(d, waits->place), waits->thread, what));
}

// ", which ...", or a list with what each does.
static void say_states(diagnosis_t *d, uint32_t count)
{
    enum { DESCRIBED = 8 };
    uint32_t places[DESCRIBED];
    for (uint32_t i = 0; i < count && i < DESCRIBED; i++)
        places[i] = d->list[i];
    for (uint32_t i = 0; i < count && i < DESCRIBED; i++) {
        const uint32_t rank = seen_at(d, places[i])->rank;
        if (count == 1)
            fprintf(d->out, " rank %" PRIu32 ", which ", rank);
        else
            fprintf(d->out, "%s rank %" PRIu32 ", which ", i ? "; for" : "", rank);
        say_state(d, places[i]);
    }
    if (count > DESCRIBED)
        fprintf(d->out, "; and for %" PRIu32 " other ranks", count - DESCRIBED);
}

static void say_collective(diagnosis_t *d, const wait_t *waits, size_t count)
{
    uint32_t members;
    if (calls_differ(d, waits)) {
        say_difference(d, waits);
        return;
    }
    say_waiters(d, waits, count);
    const uint32_t missing = missing_members(d, waits, &members);
    const uint32_t unknown = waits->team->size > members ? waits->team->size - members : 0;
    if (missing) {
        fputs(" for", d->out);
        say_states(d, missing);
    } else if (!unknown) {
        fputs(", which all members have begun", d->out);
    }
    if (unknown)
        fprintf(d->out, "%s %" PRIu32 " members of which nothing is known",
                missing ? "; and for" : " for", unknown);
    fputs("\n", d->out);
    d->found++;
}

static void say_group(diagnosis_t *d, const wait_t *waits, size_t count)
{
    if (waits->team) {
        say_collective(d, waits, count);
        return;
    }
    const uint32_t rank = waits->thread->rank;
    const bool has_peer = waits->thread->kind != AQ_WAIT_EVENT &&
                          waits->thread->kind != AQ_WAIT_CONDITION &&
                          waits->thread->kind != AQ_WAIT_COLLECTIVE && rank != AQ_WAIT_NO_RANK;
    say_waiters(d, waits, count);
    for (uint32_t i = 0; has_peer && i < d->job->found; i++) {
        if (seen_at(d, i)->rank != rank)
            continue;
        fputs(", which ", d->out);
        say_state(d, i);
    }
    fputs("\n", d->out);
    d->found++;
}

static void say_groups(diagnosis_t *d)
{
    for (size_t i = 0, end; i < d->wait_count; i = end) {
        end = i + 1;
        while (end < d->wait_count && wait_compare_reason(&d->waits[i], &d->waits[end]) == 0)
            end++;
        say_group(d, &d->waits[i], end - i);
    }
}

// ---- cycles ----

// Follows the first wait of a rank for another rank that polls. Returns the place of that rank, and
// in *by the wait; UINT32_MAX: there is none.
static uint32_t next_of(diagnosis_t *d, uint32_t place, const wait_t **by)
{
    for (size_t i = 0; i < d->wait_count; i++) {
        const wait_t *wait = &d->waits[i];
        uint32_t members, count = 0;
        if (wait->place != place)
            continue;
        if (wait->team && !calls_differ(d, wait))
            count = missing_members(d, wait, &members);
        for (uint32_t j = 0; !wait->team && j < d->job->found; j++)
            if (wait->thread->kind >= AQ_WAIT_ROOM && wait->thread->kind != AQ_WAIT_CONDITION &&
                seen_at(d, j)->rank == wait->thread->rank)
                d->list[count++] = j;
        for (uint32_t j = 0; j < count; j++)
            if (d->list[j] != place && !does_not_poll(d, d->list[j])) {
                *by = wait;
                return d->list[j];
            }
    }
    return UINT32_MAX;
}

// The cycle that begins at a place with its lowest rank.
static void say_cycle(diagnosis_t *d, uint32_t start, const uint32_t *next, const wait_t *const *by)
{
    char what[AQ_RANK_TEXT];
    fputs("a cycle: ", d->out);
    for (uint32_t at = start, i = 0; i == 0 || at != start; at = next[at], i++)
        fprintf(d->out, "%srank %" PRIu32 " waits for %s and so for rank %" PRIu32, i ? ", " : "",
                seen_at(d, at)->rank, aq_text_wait(seen_at(d, at), by[at]->thread, what),
                seen_at(d, next[at])->rank);
    fputs("\n", d->out);
    d->found++;
}

// Follows next from a place; returns the lowest place of the cycle that contains the place, or
// UINT32_MAX.
static uint32_t cycle_of(const diagnosis_t *d, uint32_t place, const uint32_t *next)
{
    uint32_t at = next[place], low = place;
    for (uint32_t steps = 0; at != UINT32_MAX && at != place; at = next[at]) {
        low = at < low ? at : low;
        if (++steps > d->job->found)
            return UINT32_MAX;
    }
    return at == place ? low : UINT32_MAX;
}

static bool say_cycles(diagnosis_t *d)
{
    const uint32_t found = d->job->found;
    uint32_t *next = calloc(found + 1, sizeof *next);
    const wait_t **by = calloc(found + 1, sizeof *by);
    const bool fine = next && by;
    for (uint32_t i = 0; fine && i < found; i++)
        next[i] = next_of(d, i, &by[i]);
    for (uint32_t i = 0; fine && i < found; i++)
        if (cycle_of(d, i, next) == i)
            say_cycle(d, i, next, by);
    free(next);
    free(by);
    return fine;
}

// ---- the rest ----

// Ranks with a fault of their own that no known wait depends on.
static void say_others(diagnosis_t *d)
{
    for (uint32_t i = 0; i < d->job->found; i++) {
        const aq_seen_rank_t *seen = seen_at(d, i);
        const aq_seen_thread_t *longest = aq_seen_longest(seen, d->now, AQ_DIAGNOSE_NS);
        const bool hangs = longest && aq_seen_unpolled(longest, d->now) >= AQ_DIAGNOSE_NS;
        const bool wrong = is_absent(d, i) || hangs || (d->found && !longest);
        if (d->mentioned[i] || !wrong)
            continue;
        fprintf(d->out, "rank %" PRIu32 " ", seen->rank);
        say_state(d, i);
        fputs("\n", d->out);
        d->found++;
    }
}

static void say_unseen(diagnosis_t *d)
{
    const uint32_t unseen = d->job->ranks > d->job->found ? d->job->ranks - d->job->found : 0;
    char elsewhere[AQ_ELSEWHERE_TEXT];
    if (aq_text_elsewhere(d->job, elsewhere)[0])
        fprintf(d->out, "%s\n", elsewhere);
    else if (unseen)
        fprintf(d->out,
                "nothing is known of %" PRIu32 " of %" PRIu32
                " ranks: they are on hosts that gasnet_top does not reach, or have not started\n",
                unseen, d->job->ranks);
    if (!d->found)
        fputs("no rank waits for longer than a second\n", d->out);
}

int aq_diagnose(const aq_watched_job_t *job, uint64_t now, aq_stack_get_t get, FILE *out)
{
    diagnosis_t d = {.job = job, .now = now, .get = get, .out = out};
    const size_t size = (size_t)job->found + 1;
    d.list = calloc(size, sizeof *d.list);
    d.mentioned = calloc(size, sizeof *d.mentioned);
    d.known = calloc(size, sizeof *d.known);
    d.results = calloc(size, sizeof *d.results);
    d.stacks = calloc(size, sizeof *d.stacks);
    bool fine = d.list && d.mentioned && d.known && d.results && d.stacks && waits_list(&d);
    if (fine) {
        say_groups(&d);
        fine = say_cycles(&d);
        say_others(&d);
        say_unseen(&d);
    }
    free(d.waits);
    free(d.list);
    free(d.mentioned);
    free(d.known);
    free(d.results);
    free(d.stacks);
    return fine ? d.found : -1;
}
