// SPDX-License-Identifier: BSD-3-Clause
// Start and completion of non-contiguous transfers: at once if the peer's memory is mapped,
// otherwise through an event.
#include "../../core/am/am_header.h"
#include "../../core/record/counters.h"
#include "../../core/thread/event.h"
#include "../../core/ground/fatal.h"
#include "../../core/endpoint/team.h"
#include "../../core/record/trace.h"
#include "../../core/record/traffic.h"
#include "vis_start.h"
#include "vis_check.h"
#include "vis_pieces.h"
#include "vis_copy.h"
#include "vis_am.h"
#include "vis_notice.h"

// Strided calls ignore team and rank if there is nothing to transfer and no notice.
static bool is_nothing(const aq_vis_side_t *side)
{
    bool nothing = side->kind == AQ_VIS_STRIDED && !side->nbytes;
    for (size_t i = 0; side->kind == AQ_VIS_STRIDED && !nothing && i < side->count; i++)
        nothing = !side->steps[i];
    return nothing;
}

static void check_notice(const aq_vis_t *vis, const aq_vis_notice_t *notice)
{
    AQ_CHECK(!notice->handler || !vis->is_get,
             "%s: gex_VIS_SetPeerCompletionHandler was called (handler %u) and goes with puts only",
             vis->call, notice->handler);
    AQ_CHECK(
        !notice->handler || !(vis->flags & GEX_FLAG_IMMEDIATE),
        "%s: GEX_FLAG_IMMEDIATE does not go with gex_VIS_SetPeerCompletionHandler (handler %u)",
        vis->call, notice->handler);
}

static int start_far(const aq_vis_t *vis, uint32_t jobrank, const aq_vis_notice_t *notice,
                     gex_Event_t part)
{
    if (!notice->handler || vis->is_get)
        return aq_vis_over_am(vis, jobrank, part);
    aq_event_t *pieces = aq_event_new();
    if (aq_vis_over_am(vis, jobrank, aq_event_part(pieces, AQ_PART_PUT))) {
        aq_event_free(pieces);
        return 1;
    }
    aq_vis_notice_later(notice, jobrank, pieces, part);
    return 0;
}

// The result of a start. REFUSED: the target does not have the memory.
typedef enum outcome { DONE, PENDING, REFUSED } outcome_t;

// An operation as it starts.
typedef struct start {
    aq_vis_notice_t notice;
    uint32_t jobrank;
    aq_access_t wrong; // REFUSED
    uint64_t begin;    // for the trace; 0: none
} start_t;

static aq_part_t part_of(const aq_vis_t *vis)
{
    return vis->is_get ? AQ_PART_GET : AQ_PART_PUT;
}

// The side that has fewer pieces.
static const aq_vis_side_t *short_side(const aq_vis_t *vis)
{
    return vis->local.count <= vis->remote.count ? &vis->local : &vis->remote;
}

static __attribute__((noinline, cold)) void vis_count(const aq_vis_t *vis, uint32_t jobrank)
{
    const aq_count_t operation = vis->is_get ? AQ_COUNT_VIS_GET : AQ_COUNT_VIS_PUT;
    const aq_count_t bytes = vis->is_get ? AQ_COUNT_VIS_GET_BYTES : AQ_COUNT_VIS_PUT_BYTES;
    aq_count_bytes_to_at(aq_team_of(vis->tm)->ep_pair.from, jobrank, operation, bytes,
                         aq_vis_side_bytes(short_side(vis)));
}

static size_t pieces_of(const aq_vis_side_t *side)
{
    size_t pieces = 1;
    if (side->kind != AQ_VIS_STRIDED)
        return side->count;
    for (size_t i = 0; i < side->count; i++)
        pieces *= side->steps[i];
    return pieces;
}

static __attribute__((noinline, cold)) uint64_t begin_of(const aq_vis_t *vis)
{
    return aq_trace_begin(vis->is_get ? AQ_TRACE_GET : AQ_TRACE_PUT);
}

// Traces an operation. event: the record that counts it; NULL: the operation is complete.
static __attribute__((noinline, cold)) void vis_trace(const aq_vis_t *vis, const start_t *start,
                                                      const aq_event_t *event)
{
    if (start->begin)
        aq_trace_pieces(&(aq_trace_pieces_t){
            vis->is_get ? AQ_TRACED_VIS_GET : AQ_TRACED_VIS_PUT, start->begin, start->jobrank,
            aq_vis_side_bytes(short_side(vis)), pieces_of(&vis->remote), event, part_of(vis)});
}

// Copies if the memory of the peer is mapped.
static outcome_t try_copy(const aq_vis_t *vis, start_t *start)
{
    const aq_ep_pair_t pair = aq_team_ep_pair(aq_team_of(vis->tm), vis->rank);
    const intptr_t shift = aq_team_shift(start->jobrank, pair.to);
    const bool mapped = !(shift & 1) && !aq_ep_pair_tagged(pair);
    if ((!mapped || aq_team_checks_mapped()) && !aq_vis_fits(vis, start->jobrank, &start->wrong))
        return REFUSED;
    if (mapped) {
        aq_vis_copy(vis, shift);
        if (__builtin_expect(aq_traffic_on, 0))
            vis_count(vis, start->jobrank);
        if (__builtin_expect(start->begin != 0, 0))
            vis_trace(vis, start, NULL);
    }
    return mapped ? DONE : PENDING;
}

// Does the part of the operation that is possible at once: all of it if the peer is mapped.
static outcome_t start_near(const aq_vis_t *vis, start_t *start)
{
    start->notice = aq_vis_notice_take();
    const bool tell = start->notice.handler && !vis->is_get;
    aq_vis_check(vis, tell);
    check_notice(vis, &start->notice);
    const bool nothing = is_nothing(&vis->remote);
    if (nothing && !tell)
        return DONE;
    start->jobrank = aq_tm_jobrank(vis->tm, vis->rank);
    start->begin = aq_trace_wants(AQ_TRACE_PUT | AQ_TRACE_GET) ? begin_of(vis) : 0;
    const outcome_t outcome = nothing ? DONE : try_copy(vis, start);
    if (tell && outcome == DONE)
        aq_vis_notice_send(&start->notice, start->jobrank);
    return outcome;
}

// Starts the part of the operation that start_near could not do. Returns non-zero if IMMEDIATE was
// given and nothing was done.
static int start_rest(const aq_vis_t *vis, const start_t *start, outcome_t outcome,
                      gex_Event_t part)
{
    if (outcome == REFUSED) {
        aq_access_refuse(&start->wrong, 0, part);
        return 0;
    }
    const int refused = start_far(vis, start->jobrank, &start->notice, part);
    if (!refused)
        vis_count(vis, start->jobrank);
    return refused;
}

static unsigned local_parts(const aq_vis_t *vis)
{
    return vis->is_get || aq_vis_keeps_source(vis) ? 1u << part_of(vis) : 0;
}

gex_Event_t aq_vis_start_nb(const aq_vis_t *vis)
{
    start_t start;
    const outcome_t outcome = start_near(vis, &start);
    if (outcome == DONE)
        return GEX_EVENT_INVALID;
    aq_event_t *event = aq_event_new();
    if (start_rest(vis, &start, outcome, aq_event_part(event, part_of(vis)))) {
        aq_event_free(event);
        return GEX_EVENT_NO_OP;
    }
    vis_trace(vis, &start, event);
    aq_outstanding_add(aq_thread_self()->outstanding, event, aq_team_of(vis->tm)->ep_pair.from,
                       local_parts(vis));
    return aq_event_part(event, AQ_PART_ROOT);
}

int aq_vis_start_blocking(const aq_vis_t *vis)
{
    gex_Event_t event = aq_vis_start_nb(vis);
    if (event == GEX_EVENT_NO_OP)
        return 1;
    gex_Event_Wait(event);
    return 0;
}

int aq_vis_start_nbi(const aq_vis_t *vis)
{
    start_t start;
    const outcome_t outcome = start_near(vis, &start);
    if (outcome == DONE)
        return 0;
    aq_outstanding_implicit(aq_thread_self()->outstanding, aq_team_of(vis->tm)->ep_pair.from,
                            local_parts(vis));
    aq_event_t *event = aq_thread_nbi();
    if (start_rest(vis, &start, outcome, aq_event_part(event, part_of(vis))))
        return 1;
    vis_trace(vis, &start, event);
    return 0;
}
