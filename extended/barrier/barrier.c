// SPDX-License-Identifier: BSD-3-Clause
// Barriers of teams and of GASNet-1: initiates phases and advances them in a task, through
// barrier_shared.c inside a neighbourhood and barrier_am.c across neighbourhoods. coll_team.c
// starts the barrier of a team, coll.c initiates its phases.
#include "barrier.h"

#include <stdlib.h>
#include <string.h>

#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"
#include "../../core/progress/poll_loop.h"
#include "../../core/progress/progress.h"
#include "../../core/publish/report.h"
#include "../../core/record/trace.h"
#include "../../other/base/probes.h"
#include "../gasnetex_rma.h"

aq_barrier_t aq_barrier_named;

static aq_barrier_t *barriers;
static atomic_uint busy; // a thread advances barriers, or changes their list

static bool barrier_turn(aq_task_t *task);
static aq_task_t barrier_task = {.turn = barrier_turn};

static bool enter_next(aq_barrier_t *b)
{
    if (b->entered != atomic_load_explicit(&b->completed, memory_order_relaxed) ||
        b->entered == b->initiated)
        return false;
    b->entered++;
    aq_shared_arrive(&b->shared, b->entered, b->vote);
    b->vote = AQ_VOTE_NONE;
    return true;
}

// The step across neighbourhoods; only the first process of a neighbourhood runs it.
static void speak_for_nbrhd(aq_barrier_t *b)
{
    aq_vote_t vote;
    if (!b->disseminating) {
        if (!aq_shared_gathered(&b->shared, b->entered, &vote))
            return;
        b->disseminating = true;
        aq_dissemination_enter(&b->across, b->entered, vote);
    }
    if (!aq_dissemination_advance(&b->across, &vote))
        return;
    b->disseminating = false;
    aq_shared_release(&b->shared, b->entered, vote);
}

static void complete_phase(aq_barrier_t *b, aq_vote_t result)
{
    aq_event_t *event = b->first;
    aq_probe_collective_end(b->rank, b->across.id, AQ_SHOWN_BARRIER, b->entered);
    b->result = result;
    atomic_store_explicit(&b->completed, b->entered, memory_order_release);
    if (event) {
        b->first = event->next;
        aq_event_end(aq_event_part(event, AQ_PART_OTHER));
        aq_progress_busy(&barrier_task, -1);
    }
}

// Advances a barrier as far as possible; the caller has set `busy`. Returns true if a phase was
// completed.
static bool barrier_advance(aq_barrier_t *b)
{
    bool any = false;
    for (;;) {
        aq_vote_t vote;
        enter_next(b);
        if (b->entered == atomic_load_explicit(&b->completed, memory_order_relaxed))
            return any;
        if (!b->shared.last_releases && b->shared.index == 0)
            speak_for_nbrhd(b);
        if (!aq_shared_released(&b->shared, b->entered, &vote))
            return any;
        complete_phase(b, vote);
        any = true;
    }
}

// A process with one thread needs no atomic exchange, but executes it as a pause between the polls
// of a wait: more frequent polls delay the rank that will write the awaited cache line
// (docs/decisions/short-loops.md).
static bool busy_try(void)
{
    return !atomic_load_explicit(&busy, memory_order_relaxed) &&
           !atomic_exchange_explicit(&busy, 1, memory_order_acquire);
}

// Polls while another thread is busy.
static void busy_begin(void)
{
    while (!busy_try())
        aq_poll_in_loop();
}

static void busy_end(void)
{
    atomic_store_explicit(&busy, 0, memory_order_release);
}

// Does nothing when a poll inside of this function calls it again.
static bool barrier_turn(aq_task_t *task)
{
    bool any = false;
    (void)task;
    if (!busy_try())
        return false;
    for (aq_barrier_t *b = barriers; b; b = b->next)
        any |= barrier_advance(b);
    busy_end();
    return any;
}

static aq_event_t *await_phase(aq_barrier_t *b)
{
    aq_event_t *event = aq_event_new();
    aq_rank_note_call(event, b->shown);
    aq_event_begin(aq_event_part(event, AQ_PART_OTHER));
    if (b->first)
        b->last->next = event;
    else
        b->first = event;
    b->last = event;
    aq_progress_busy(&barrier_task, 1);
    return event;
}

// Arrives first, and does the rest afterwards, since other ranks wait for the arrival.
static gex_Event_t barrier_initiate(aq_barrier_t *b, aq_vote_t vote)
{
    busy_begin();
    b->initiated++;
    aq_probe_collective_start(b->rank, b->across.id, AQ_SHOWN_BARRIER, b->initiated, 0, 0);
    b->vote = vote;
    const bool pends =
        b->initiated - atomic_load_explicit(&b->completed, memory_order_relaxed) > 1 ||
        !barrier_advance(b);
    aq_rank_show_call(b->shown, b == &aq_barrier_named ? AQ_SHOWN_NAMED_BARRIER : AQ_SHOWN_BARRIER);
    aq_event_t *event = pends ? await_phase(b) : NULL;
    busy_end();
    // The client may not poll for long after this call. So this poll handles the messages that
    // other ranks sent before the barrier, and sends those of this rank. If there is an event,
    // waiting for it polls.
    if (!event)
        aq_progress_poll();
    return event ? aq_event_part(event, AQ_PART_ROOT) : GEX_EVENT_INVALID;
}

__attribute__((cold, noinline)) static gex_Event_t barrier_initiate_traced(aq_barrier_t *b,
                                                                           aq_vote_t vote)
{
    const uint64_t begin = aq_trace_now();
    const uint32_t phase = b->initiated + 1;
    const gex_Event_t event = barrier_initiate(b, vote);
    aq_trace_collective(AQ_TRACED_BARRIER, begin, b->across.id, phase,
                        aq_trace_rooted(0, AQ_OBSERVED_NO_PEER), event);
    return event;
}

gex_Event_t aq_barrier_initiate(aq_barrier_t *b, aq_vote_t vote)
{
    if (__builtin_expect(aq_trace_wants(AQ_TRACE_BARRIER), 0))
        return barrier_initiate_traced(b, vote);
    return barrier_initiate(b, vote);
}

// Runs in a signal handler, so it only reads.
static void barrier_report(void)
{
    for (const aq_barrier_t *b = barriers; b; b = b->next) {
        const uint32_t completed = atomic_load_explicit(&b->completed, memory_order_relaxed);
        if (b->initiated == completed)
            continue;
        if (b->disseminating && b->across.round < b->across.rounds)
            aq_log_notice("report: barrier %u waits for rank %u", completed + 1,
                          b->across.from[b->across.round]);
        else
            aq_log_notice("report: barrier %u waits for ranks of this neighbourhood",
                          completed + 1);
    }
}

// ---- the split-phase barrier of GASNet-1 ----

static struct {
    gex_Event_t event;
    int id;
    bool notified;
} pending;

static aq_vote_t vote_of(int id, int flags)
{
    if (flags & GASNET_BARRIERFLAG_MISMATCH)
        return AQ_VOTE_MISMATCH;
    return flags & (GASNET_BARRIERFLAG_ANONYMOUS | GASNET_BARRIERFLAG_UNNAMED) ? AQ_VOTE_NONE
                                                                               : AQ_VOTE_NAME(id);
}

static void barrier_notify(const char *call, int id, int flags)
{
    aq_job_admit(call);
    AQ_CHECK(!pending.notified, "%s: the previous barrier (id %d) was not waited for", call,
             pending.id);
    pending.notified = true;
    pending.id = id;
    pending.event = aq_barrier_initiate(&aq_barrier_named, vote_of(id, flags));
}

void gasnet_barrier_notify(int id, int flags)
{
    barrier_notify("gasnet_barrier_notify", id, flags);
}

static void check_notified(const char *call)
{
    aq_thread_check_call(call);
    AQ_CHECK(pending.notified, "%s without a gasnet_barrier_notify before it", call);
}

// The id and flags of the wait have to match those that all ranks gave at notify. Only this process
// learns of this mismatch.
static int result_of_pair(int id, int flags)
{
    pending.notified = false;
    return aq_vote_join(aq_barrier_named.result, vote_of(id, flags)) == AQ_VOTE_MISMATCH
               ? GASNET_ERR_BARRIER_MISMATCH
               : GASNET_OK;
}

int gasnet_barrier_wait(int id, int flags)
{
    aq_job_need("gasnet_barrier_wait");
    check_notified("gasnet_barrier_wait");
    gex_Event_Wait(pending.event);
    return result_of_pair(id, flags);
}

int gasnet_barrier_try(int id, int flags)
{
    aq_job_need("gasnet_barrier_try");
    check_notified("gasnet_barrier_try");
    gasnet_AMPoll();
    if (gex_Event_Test(pending.event) != GASNET_OK)
        return GASNET_ERR_NOT_READY;
    return result_of_pair(id, flags);
}

int gasnet_barrier(int id, int flags)
{
    barrier_notify("gasnet_barrier", id, flags);
    return gasnet_barrier_wait(id, flags);
}

int gasnet_barrier_result(int *id)
{
    aq_job_need("gasnet_barrier_result");
    if (aq_barrier_named.result == AQ_VOTE_NONE)
        return 1;
    *id = (int)(uint32_t)aq_barrier_named.result;
    return 0;
}

// ---- start and end ----

// Replaces the scratch for a member that shares memory with no other member.
static void *own_area(void)
{
    void *area = aq_allocate_aligned(AQ_SHARED_BARRIER_BYTES, "a barrier");
    return memset(area, 0, AQ_SHARED_BARRIER_BYTES);
}

void aq_barrier_start(aq_barrier_t *b, const aq_barrier_place_t *place)
{
    b->rank = aq_job.rank;
    b->own = place->areas[0] ? NULL : own_area();
    aq_shared_start(&b->shared, b->own ? &b->own : place->areas, place->size, place->index,
                    place->groups == 1);
    aq_dissemination_start(&b->across, place->id, place->groups, place->my_group, place->leaders);
    busy_begin();
    if (!barriers) { // the first barrier belongs to the primordial team, which stays
        aq_progress_add(&barrier_task);
        aq_report_add(barrier_report);
    }
    b->next = barriers;
    barriers = b;
    busy_end();
}

void aq_barrier_end(aq_barrier_t *b)
{
    busy_begin();
    aq_barrier_t **at = &barriers;
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    busy_end();
    aq_dissemination_end(&b->across);
    aq_shared_end(&b->shared);
    free(b->own);
}
