// SPDX-License-Identifier: BSD-3-Clause
// Put and get that the header cannot do inline: the peer is not mapped, or a debug build checks the
// arguments.
#include "rma.h"

#include <string.h>

#include "../../core/memory/access.h"
#include "../../core/record/counters.h"
#include "../../core/am/am_header.h"
#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"
#include "../../core/memory/cma_copy.h"
#include "../../core/progress/progress.h"
#include "../../core/endpoint/team.h"
#include "../../core/record/trace.h"
#include "../../core/record/traffic.h"
#include "../../core/am/am_path.h"
#include "../../other/base/probes.h"
#include "../gasnetex_rma.h"
#include "rma_probe.h"

static bool is_get(const aq_rma_op_t *op)
{
    return op->access.kind == AQ_RMA_GET;
}

// Tries a copy by the kernel first, so that windows do not connect for messages that need not be
// sent.
static int start_by_best_way(const aq_rma_op_t *op, gex_Event_t part)
{
    if (aq_cma_copy(&op->access, op->rank, op->ep_pair.to))
        return 0;
    const aq_path_t path = aq_path_between(op->ep_pair, op->rank);
    return path.conduit->ops->rma.begin ? aq_rma_native(op, path, part) : aq_rma_over_am(op, part);
}

static inline void rma_count(const aq_rma_op_t *op)
{
    const aq_count_t operation = is_get(op) ? AQ_COUNT_GET : AQ_COUNT_PUT;
    const aq_count_t bytes = is_get(op) ? AQ_COUNT_GET_BYTES : AQ_COUNT_PUT_BYTES;
    aq_count_bytes_to_at(op->ep_pair.from, op->rank, operation, bytes, op->access.nbytes);
}

// Starts an operation on memory that is not mapped, by the function `begin`.
static inline int start_away(const aq_rma_op_t *op, gex_Event_t part, bool counted,
                             int (*begin)(const aq_rma_op_t *op, gex_Event_t part))
{
    const int refused = begin(op, part);
    if (refused)
        return refused;
    if (counted)
        rma_count(op);
    return 0;
}

static aq_access_t access_of(const aq_rma_op_t *op, int reason)
{
    return (aq_access_t){op->call, op->access.remote, op->access.nbytes,
                         op->rank, op->ep_pair.to,    reason};
}

// An endpoint with an identity proves it to the target, which refuses a wrong identity. An endpoint
// without an identity is refused here, without a message.
static __attribute__((noinline, cold)) int start_guarded(const aq_rma_op_t *op, gex_Event_t part,
                                                         bool counted)
{
    if (aq_ep_pair_tagged(op->ep_pair))
        return start_away(op, part, counted, aq_rma_tagged);
    const aq_access_t refused = access_of(op, GASNETX_ERROR_IDENTITY);
    aq_access_refuse(&refused, 0, part);
    return 0;
}

static bool is_guarded(const aq_rma_op_t *op)
{
    return aq_ep_pair_tagged(op->ep_pair) || aq_segment_guarded(op->rank, op->ep_pair.to);
}

static inline __attribute__((always_inline)) int rma_start(const aq_rma_op_t *op, gex_Event_t part,
                                                           bool counted)
{
    const aq_rma_t *access = &op->access;
    intptr_t shift = 0;
    if (__builtin_expect(!aq_ep_pair_needs_header(op->ep_pair), 1))
        shift = aq_team_shift(op->rank, 0);
    else if (__builtin_expect(is_guarded(op), 0))
        return start_guarded(op, part, counted);
    else
        shift = aq_team_shift(op->rank, op->ep_pair.to);
    if (shift & 1)
        return start_away(op, part, counted, start_by_best_way);
    if (counted && __builtin_expect(aq_traffic_on, 0))
        rma_count(op);
    if (is_get(op))
        aq_api_copy_in(access->local, access->remote, access->nbytes, shift);
    else
        aq_api_copy_out(access->remote, access->local, access->nbytes, shift);
    return 0;
}

int aq_rma_start(const aq_rma_op_t *op, gex_Event_t part)
{
    return rma_start(op, part, true);
}

int aq_rma_start_part(const aq_rma_op_t *op, gex_Event_t part)
{
    return rma_start(op, part, false);
}

// Starts an operation if it fits into the segment and a probe finds the memory at the target;
// otherwise ends it with an error.
static __attribute__((noinline, cold)) int rma_start_doubtful(const aq_rma_op_t *op, bool fits,
                                                              gex_Event_t part)
{
    aq_access_t access = access_of(op, 0);
    if (fits && aq_probe(&access, !is_get(op)))
        return aq_rma_start(op, part);
    aq_access_refuse(&access, 0, part);
    return 0;
}

// Starts an operation of the client, or ends it if the target does not have this memory.
static inline int rma_start_checked(const aq_rma_op_t *op, gex_Event_t part)
{
    const aq_rma_t *rma = &op->access;
    aq_probe_rma_start(aq_job.rank, is_get(op), op->rank, rma->nbytes);
    const bool fits = aq_access_fits(op->rank, op->ep_pair.to, rma->remote, rma->nbytes);
    if (__builtin_expect(fits && !aq_probe_needed(op->ep_pair.to), 1))
        return rma_start(op, part, true);
    return rma_start_doubtful(op, fits, part);
}

// The counter of an event for operations of this kind.
static gex_Event_t part_for(const aq_rma_op_t *op, aq_event_t *event)
{
    return aq_event_part(event, is_get(op) ? AQ_PART_GET : AQ_PART_PUT);
}

// The parts of an event that a local fence awaits: gets and stable puts use the client's memory
// until they are complete.
static unsigned local_parts(const aq_rma_op_t *op)
{
    if (is_get(op))
        return 1u << AQ_PART_GET;
    return op->access.flags & AQ_RMA_STABLE ? 1u << AQ_PART_PUT : 0;
}

// ---- the trace ----

static uint64_t trace_begin(const aq_rma_op_t *op)
{
    return aq_trace_begin(is_get(op) ? AQ_TRACE_GET : AQ_TRACE_PUT);
}

// Traces an operation that began at `begin`. event: the record that counts the operation; NULL: the
// operation is complete. before: the pending count of its part of the event at `begin`.
static __attribute__((noinline, cold)) void trace_add(const aq_rma_op_t *op, uint64_t begin,
                                                      aq_event_t *event, unsigned before)
{
    const gex_Event_t part = event ? part_for(op, event) : NULL;
    const bool pends = part && atomic_load_explicit(&part->pending, memory_order_relaxed) != before;
    aq_trace_operation(is_get(op) ? AQ_TRACED_GET : AQ_TRACED_PUT, begin, op->rank,
                       op->access.nbytes, pends ? event : NULL, pends ? part->index : 0);
}

// ---- starts ----

static gex_Event_t rma_start_nb(gex_TM_t tm, const aq_rma_op_t *op)
{
    const uint64_t begin = trace_begin(op);
    aq_event_t *event = aq_event_new();
    if (rma_start_checked(op, part_for(op, event))) {
        aq_event_free(event);
        return GEX_EVENT_NO_OP;
    }
    if (__builtin_expect(begin != 0, 0))
        trace_add(op, begin, event, 0);
    aq_outstanding_add(aq_thread_self()->outstanding, event, aq_team_of(tm)->ep_pair.from,
                       local_parts(op));
    return aq_event_part(event, AQ_PART_ROOT);
}

// One poll completes most transfers, and costs less than a turn of a wait.
static void rma_await(gex_Event_t part)
{
    if (atomic_load_explicit(&part->pending, memory_order_acquire))
        aq_progress_poll();
    if (atomic_load_explicit(&part->pending, memory_order_acquire))
        gex_Event_Wait(part);
}

// The event ends with the call, so it is on the stack and not in the pool.
static inline int rma_start_blocking(aq_rma_op_t *op)
{
    aq_event_t event = {.part[AQ_PART_GET].index = AQ_PART_GET,
                        .part[AQ_PART_PUT].index = AQ_PART_PUT};
    const gex_Event_t part = part_for(op, &event);
    const uint64_t begin = trace_begin(op);
    op->waits = true;
    const int refused = rma_start_checked(op, part);
    if (!refused)
        rma_await(part);
    aq_probe_rma_end();
    if (__builtin_expect(begin && !refused, 0))
        trace_add(op, begin, NULL, 0);
    return refused;
}

static __attribute__((noinline, cold)) int rma_start_nbi_traced(const aq_rma_op_t *op,
                                                                uint64_t begin)
{
    aq_event_t *event = aq_thread_nbi();
    const gex_Event_t part = part_for(op, event);
    const unsigned before = atomic_load_explicit(&part->pending, memory_order_relaxed);
    const int refused = rma_start_checked(op, part);
    if (!refused)
        trace_add(op, begin, event, before);
    return refused;
}

static int rma_start_nbi(gex_TM_t tm, const aq_rma_op_t *op)
{
    aq_outstanding_implicit(aq_thread_self()->outstanding, aq_team_of(tm)->ep_pair.from,
                            local_parts(op));
    const uint64_t begin = trace_begin(op);
    if (__builtin_expect(begin != 0, 0))
        return rma_start_nbi_traced(op, begin);
    return rma_start_checked(op, part_for(op, aq_thread_nbi()));
}

// With GEX_EVENT_DEFER the library may use the source until the put is complete. Otherwise the
// client may reuse the source when the call returns, so local completion is never outstanding.
static unsigned stability_flags(const gex_Event_t *lc_opt)
{
    return lc_opt == GEX_EVENT_DEFER ? AQ_RMA_STABLE : 0;
}

void aq_api_value_refuse(const char *call, size_t nbytes)
{
    aq_fatal("%s: a value of %zu bytes; it may have 1 to 8", call, nbytes);
}

static aq_rma_t put_of(void *dest, const void *src, size_t nbytes, unsigned flags)
{
    return (aq_rma_t){.remote = dest,
                      .local = (void *)(uintptr_t)src,
                      .nbytes = nbytes,
                      .kind = AQ_RMA_PUT,
                      .flags = (uint8_t)flags};
}

static aq_rma_t get_of(void *dest, void *src, size_t nbytes)
{
    return (aq_rma_t){.remote = src, .local = dest, .nbytes = nbytes, .kind = AQ_RMA_GET};
}

// Sets rank and endpoints of an operation, whose other fields are set.
static inline void op_aim(aq_rma_op_t *op, gex_TM_t tm, gex_Rank_t rank)
{
    aq_thread_check_call(op->call);
    aq_bounds_rank(op->call, "rank", rank, tm->size);
    op->rank = aq_tm_jobrank(tm, rank);
    op->ep_pair = aq_team_ep_pair(aq_team_of(tm), rank);
}

int aq_api_put(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
               gex_Flags_t flags)
{
    aq_rma_op_t op = {.call = "gex_RMA_PutBlocking",
                      .access = put_of(dest, src, nbytes, AQ_RMA_STABLE),
                      .flags = flags};
    op_aim(&op, tm, rank);
    return rma_start_blocking(&op);
}

int aq_api_put_nbi(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
                   gex_Event_t *lc_opt, gex_Flags_t flags)
{
    aq_rma_op_t op = {.call = "gex_RMA_PutNBI",
                      .access = put_of(dest, src, nbytes, stability_flags(lc_opt)),
                      .flags = flags};
    op_aim(&op, tm, rank);
    return rma_start_nbi(tm, &op);
}

gex_Event_t aq_api_put_nb(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
                          gex_Event_t *lc_opt, gex_Flags_t flags)
{
    aq_rma_op_t op = {.call = "gex_RMA_PutNB",
                      .access = put_of(dest, src, nbytes, stability_flags(lc_opt)),
                      .flags = flags};
    op_aim(&op, tm, rank);
    gex_Event_t event = rma_start_nb(tm, &op);
    aq_api_lc_done(lc_opt);
    return event;
}

int aq_api_get(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes,
               gex_Flags_t flags)
{
    aq_rma_op_t op = {
        .call = "gex_RMA_GetBlocking", .access = get_of(dest, src, nbytes), .flags = flags};
    op_aim(&op, tm, rank);
    return rma_start_blocking(&op);
}

int aq_api_get_nbi(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes,
                   gex_Flags_t flags)
{
    aq_rma_op_t op = {
        .call = "gex_RMA_GetNBI", .access = get_of(dest, src, nbytes), .flags = flags};
    op_aim(&op, tm, rank);
    return rma_start_nbi(tm, &op);
}

gex_Event_t aq_api_get_nb(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes,
                          gex_Flags_t flags)
{
    aq_rma_op_t op = {.call = "gex_RMA_GetNB", .access = get_of(dest, src, nbytes), .flags = flags};
    op_aim(&op, tm, rank);
    return rma_start_nb(tm, &op);
}
