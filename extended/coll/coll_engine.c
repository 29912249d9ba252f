// SPDX-License-Identifier: BSD-3-Clause
// Operations: their numbers, start, events and progress.
//
// A rank may initiate operations long before other ranks, which then have to keep its messages. To
// bound this memory, the operations of a team are divided into epochs. Each epoch ends with a
// fence: a reduction to all, which synchronizes all ranks (the engine adds one of 4 bytes if the
// client makes none). The operations of the next epoch start when the fence is complete in this
// process. So a rank keeps for each sender at most what two epochs send without rendezvous: 2 *
// EPOCH_BYTES and a payload or two. All ranks divide alike, because the division depends only on
// single-valued arguments.
//
// A fence also synchronizes all ranks before or after an operation if a GASNet-1 call asks for it.
#include <stdlib.h>
#include <string.h>

#include "../../core/ground/fatal.h"
#include "../../core/progress/poll_loop.h"
#include "../../core/progress/progress.h"
#include "../../core/record/trace.h"
#include "../../other/base/probes.h"
#include "coll_engine.h"
#include "coll_operators.h"
#include "coll_way.h"
#include "coll_mail.h"
#include "coll_hosts.h"
#include "coll_limits.h"

enum {
    EPOCH_BYTES = 1 << 20,
    SPARES = 4,
    SPARE_MAX = 4 << 20, // larger records are freed
};

_Static_assert(AQ_TRACED_EXSCAN - AQ_TRACED_BROADCAST == (int)AQ_COLL_SCAN_EXCLUSIVE,
               "the trace has a name for each kind of collective");

static aq_coll_t *teams;
static atomic_uint busy; // a thread is advancing operations

static bool engine_turn(aq_task_t *task);
static aq_task_t engine_task = {.turn = engine_turn};

// ---- records ----

// A record includes room for the bytes of the children. A few records are kept for reuse, because
// new memory costs a page fault for each page.
static aq_coll_op_t *spares[SPARES];

// With the lock held.
static aq_coll_op_t *take_spare(size_t bytes)
{
    for (unsigned i = 0; i < SPARES; i++) {
        aq_coll_op_t *op = spares[i];
        if (op && op->block >= bytes && op->block / 4 <= bytes) {
            spares[i] = NULL;
            return op;
        }
    }
    return NULL;
}

// An empty place for a spare record; if there is none, the places in turn.
static aq_coll_op_t **place_of_spare(void)
{
    static unsigned turn;
    for (unsigned i = 0; i < SPARES; i++)
        if (!spares[i])
            return &spares[i];
    return &spares[turn++ % SPARES];
}

// Keeps a record for reuse. The caller holds aq_coll_lock.
static void give_back(aq_coll_op_t *op)
{
    free(op->own);
    op->own = NULL;
    if (op->block <= SPARE_MAX) {
        aq_coll_op_t **place = place_of_spare(), *old = *place;
        *place = op;
        op = old;
    }
    free(op);
}

// With the lock held: a record of at least so many bytes, of which only `block` is set.
static aq_coll_op_t *take_record(size_t bytes)
{
    aq_coll_op_t *op = take_spare(bytes);
    if (op)
        return op;
    bytes = aq_coll_round_up(bytes);
    op = aq_allocate_aligned(bytes, "a collective");
    op->block = bytes;
    return op;
}

// With the lock held: replaces a planned record by a larger one.
static __attribute__((noinline, cold)) aq_coll_op_t *move_to_larger(aq_coll_op_t *op, size_t bytes)
{
    aq_coll_op_t *large = take_record(bytes);
    const size_t block = large->block;
    *large = *op;
    large->block = block;
    give_back(op);
    return large;
}

// Plans an operation directly in a record of the smallest size, which most operations need: a copy
// of a record would take as long as the rest of a small operation.
static aq_coll_op_t *new_op(aq_coll_t *coll, const aq_coll_call_t *call)
{
    aq_coll_op_t *op = take_record(sizeof *op);
    *op = (aq_coll_op_t){.call = *call, .coll = coll, .block = op->block};
    const size_t bytes = aq_coll_op_plan(op);
    return bytes <= op->block ? op : move_to_larger(op, bytes);
}

// ---- numbers and epochs ----

// Changes the number of open operations. The lock is held, so a load and a store suffice.
static void count_open(aq_coll_t *coll, int change)
{
    const unsigned open = atomic_load_explicit(&coll->open, memory_order_relaxed);
    atomic_store_explicit(&coll->open, open + (unsigned)change, memory_order_relaxed);
}

// With the lock held: appends an operation to those of the team.
static aq_coll_op_t *append_op(aq_coll_t *coll, const aq_coll_call_t *call)
{
    aq_coll_op_t *op = new_op(coll, call);
    if (++coll->numbers == 0) // 0 means: no fence
        coll->numbers = 1;
    op->number = coll->numbers;
    op->fence = coll->fence;
    op->way->prepare(op);
    if (coll->last)
        coll->last->next = op;
    else
        coll->ops = op;
    coll->last = op;
    count_open(coll, 1);
    coll->unasked += op->unasked;
    if (call->kind == AQ_COLL_TO_ALL && coll->unasked > EPOCH_BYTES / 2) {
        coll->fence = op->number;
        coll->unasked = 0;
    }
    aq_progress_busy(&engine_task, 1);
    return op;
}

// With the lock held: appends a fence of the library. Operations initiated later start when it is
// complete.
static aq_coll_op_t *append_fence(aq_coll_t *coll)
{
    static const uint32_t nothing;
    const aq_coll_call_t call = {.kind = AQ_COLL_TO_ALL,
                                 .dst = &coll->fence_word,
                                 .src = &nothing,
                                 .unit = sizeof coll->fence_word,
                                 .count = 1,
                                 .fn = aq_coll_operator(GEX_DT_U32, GEX_OP_OR)};
    aq_coll_op_t *op = append_op(coll, &call);
    coll->fence = op->number;
    coll->unasked = 0;
    return op;
}

// Whether an operation of the list may start. The caller holds aq_coll_lock.
static bool fence_open(const aq_coll_op_t *op)
{
    const aq_coll_op_t *before = op->coll->ops;
    while (before != op && before->number != op->fence)
        before = before->next;
    return before == op;
}

static void start_op(aq_coll_op_t *op)
{
    if (op->fence && !fence_open(op))
        return;
    op->started = true;
    aq_coll_mail_open(op);
}

// ---- progress: the caller holds busy ----

static void unlink_op(aq_coll_t *coll, aq_coll_op_t *op)
{
    aq_coll_op_t *before = NULL, **at = &coll->ops;
    while (*at != op) {
        before = *at;
        at = &before->next;
    }
    *at = op->next;
    if (coll->last == op)
        coll->last = before;
    count_open(coll, -1);
}

// One operation less is pending in an event. The caller holds aq_coll_lock, as for all operations
// of collectives.
static void end_in_event(const aq_coll_op_t *op)
{
    const gex_Event_t part = aq_event_part(op->event, AQ_PART_OTHER);
    if (atomic_load_explicit(&part->pending, memory_order_relaxed) == 1)
        aq_probe_collective_end(op->label.rank, op->label.team, op->label.kind, op->label.sequence);
    aq_event_end(part);
}

// The caller holds aq_coll_lock. If the initiator still uses the record, the initiator releases the
// record.
static void complete_op(aq_coll_op_t *op)
{
    unlink_op(op->coll, op);
    aq_progress_busy(&engine_task, -1);
    op->complete = true;
    if (op->then)
        op->then->held = false;
    if (op->event)
        end_in_event(op);
    if (op->event || op->detached)
        give_back(op);
}

// Returns the operation if it has started or can start, else NULL. Later operations have the same
// fence or a later one. The caller holds aq_coll_lock.
static aq_coll_op_t *if_started(aq_coll_op_t *op)
{
    if (op && !op->started)
        start_op(op);
    return op && op->started ? op : NULL;
}

static bool advance_team(aq_coll_t *coll)
{
    bool any = false;
    aq_lock_take(&aq_coll_lock);
    aq_coll_op_t *op = if_started(coll->ops);
    while (op) {
        aq_lock_drop(&aq_coll_lock);
        bool is_complete = !op->held && op->way->advance(op);
        aq_lock_take(&aq_coll_lock);
        aq_coll_op_t *next = op->next;
        if (is_complete)
            complete_op(op);
        any |= is_complete;
        op = if_started(next);
    }
    aq_lock_drop(&aq_coll_lock);
    return any;
}

static bool try_busy(void)
{
    if (atomic_load_explicit(&busy, memory_order_relaxed))
        return false;
    if (aq_threads)
        return !atomic_exchange_explicit(&busy, 1, memory_order_acquire);
    atomic_store_explicit(&busy, 1, memory_order_relaxed);
    return true;
}

static void drop_busy(void)
{
    atomic_store_explicit(&busy, 0, memory_order_release);
}

static bool engine_turn(aq_task_t *task)
{
    (void)task;
    if (!try_busy())
        return false;
    bool any = false;
    for (aq_coll_t *coll = teams; coll; coll = coll->next)
        if (atomic_load_explicit(&coll->open, memory_order_relaxed))
            any |= advance_team(coll);
    drop_busy();
    return any;
}

static void hold_busy(void)
{
    while (!try_busy())
        aq_poll_in_loop(); // another thread is advancing operations
}

void aq_coll_engine_add(aq_coll_t *coll)
{
    hold_busy();
    if (coll->team == &aq_team)
        aq_progress_add(&engine_task);
    coll->next = teams;
    teams = coll;
    drop_busy();
}

void aq_coll_engine_remove(aq_coll_t *coll)
{
    hold_busy();
    aq_coll_t **at = &teams;
    while (*at != coll)
        at = &(*at)->next;
    *at = coll->next;
    drop_busy();
}

static bool any_open(void)
{
    bool any = false;
    hold_busy();
    for (const aq_coll_t *coll = teams; coll && !any; coll = coll->next)
        any = atomic_load_explicit(&coll->open, memory_order_acquire) > 0;
    drop_busy();
    return any;
}

void aq_coll_engine_finish(void)
{
    while (any_open())
        aq_poll_in_loop();
}

// ---- initiation ----

static aq_coll_call_t share_of(const aq_coll_call_t *call, uint32_t share, uint32_t shares)
{
    if (shares == 1)
        return *call;
    size_t from = call->count / shares * share;
    size_t to = share + 1 == shares ? call->count : from + call->count / shares;
    aq_coll_call_t part = *call;
    part.root = share;
    part.count = to - from;
    part.dst = (char *)call->dst + from * call->unit;
    part.src = (const char *)call->src + from * call->unit;
    return part;
}

// Creates an event that counts the outstanding operations. The caller holds aq_coll_lock.
static gex_Event_t event_for(aq_coll_op_t *const *ops, uint32_t count, const aq_coll_label_t *label)
{
    aq_event_t *event = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (ops[i]->complete) {
            give_back(ops[i]);
            continue;
        }
        if (!event)
            event = aq_event_new();
        aq_event_begin(aq_event_part(event, AQ_PART_OTHER));
        ops[i]->event = event;
        ops[i]->label = *label;
    }
    return event ? aq_event_part(event, AQ_PART_ROOT) : GEX_EVENT_INVALID;
}

// Advances the operations that were just initiated; returns their event.
static gex_Event_t run_ops(aq_coll_op_t *const *ops, uint32_t count, const aq_coll_label_t *label)
{
    if (try_busy()) {
        bool any = false;
        for (uint32_t i = 0; i < count; i++)
            if (i == 0 || ops[i]->coll != ops[i - 1]->coll)
                any |= advance_team(ops[i]->coll);
        drop_busy();
        if (any && aq_threads)
            aq_progress_wake();
    }
    aq_lock_take(&aq_coll_lock);
    gex_Event_t event = event_for(ops, count, label);
    aq_lock_drop(&aq_coll_lock);
    return event;
}

// ---- chains ----

// With the lock held.
static aq_coll_op_t *append_in_epoch(aq_coll_t *coll, const aq_coll_call_t *call)
{
    if (call->kind != AQ_COLL_TO_ALL && coll->unasked > EPOCH_BYTES)
        append_fence(coll)->detached = true;
    return append_op(coll, call);
}

// Initiates the steps of an operation. A step that waits is held until the step before is complete.
static gex_Event_t begin_chain(const aq_coll_step_t *steps, uint32_t count,
                               const aq_coll_label_t *label)
{
    aq_coll_op_t *ops[AQ_COLL_STEPS];
    aq_lock_take(&aq_coll_lock);
    for (uint32_t i = 0; i < count; i++) {
        ops[i] = append_in_epoch(steps[i].coll, &steps[i].call);
        ops[i]->own = steps[i].own;
        ops[i]->held = steps[i].waits;
        if (steps[i].waits)
            ops[i - 1]->then = ops[i];
    }
    aq_lock_drop(&aq_coll_lock);
    return run_ops(ops, count, label);
}

// Completes an operation in a team of one rank, where an exclusive scan has no result.
static gex_Event_t complete_single(const aq_coll_call_t *call)
{
    const size_t bytes = call->unit * call->count;
    if (bytes && call->dst != call->src && call->kind != AQ_COLL_SCAN_EXCLUSIVE)
        memcpy(call->dst, call->src, bytes);
    return GEX_EVENT_INVALID;
}

// Initiates an operation over the whole team.
static gex_Event_t begin_whole(aq_coll_t *coll, const aq_coll_call_t *call, unsigned sync,
                               const aq_coll_label_t *label)
{
    aq_coll_op_t *ops[AQ_SPLIT_RANKS];
    const uint32_t shares = sync ? 1 : aq_coll_shares(coll, call);
    uint32_t count = 0;
    aq_lock_take(&aq_coll_lock);
    if (sync & AQ_COLL_SYNC_BEFORE)
        append_fence(coll)->detached = true;
    while (count < shares) {
        aq_coll_call_t part = share_of(call, count, shares);
        ops[count++] = append_in_epoch(coll, &part);
    }
    if (sync & AQ_COLL_SYNC_AFTER) {
        coll->fence = ops[0]->number; // this rank enters the fence after its own part
        ops[count++] = append_fence(coll);
    }
    aq_lock_drop(&aq_coll_lock);
    return run_ops(ops, count, label);
}

// Initiates an operation in a team of several hosts with several members on some of them.
static gex_Event_t begin_divided(aq_coll_t *coll, const aq_coll_call_t *call,
                                 const aq_coll_label_t *label)
{
    aq_coll_step_t steps[AQ_COLL_STEPS];
    const uint32_t count = aq_coll_hosts_divide(coll, call, steps);
    return count ? begin_chain(steps, count, label) : begin_whole(coll, call, 0, label);
}

static gex_Event_t begin_somehow(aq_coll_t *coll, const aq_coll_call_t *call, unsigned sync,
                                 const aq_coll_label_t *label)
{
    if (coll->map.size == 1)
        return complete_single(call);
    aq_shown_team_t *shown = coll->barrier.shown;
    aq_rank_show_call(shown, label->kind);
    gex_Event_t event = coll->has_hosts && !sync ? begin_divided(coll, call, label)
                                                 : begin_whole(coll, call, sync, label);
    if (event)
        aq_rank_note_call((aq_event_t *)(void *)(event - event->index), shown);
    return event;
}

static __attribute__((noinline, cold)) void coll_trace(const aq_coll_t *coll,
                                                       const aq_coll_call_t *call, uint64_t begin,
                                                       uint32_t sequence, gex_Event_t event)
{
    const bool has_root = call->kind == AQ_COLL_BROADCAST || call->kind == AQ_COLL_TO_ONE ||
                          call->kind == AQ_COLL_SCATTER || call->kind == AQ_COLL_GATHER;
    const uint32_t root =
        has_root ? aq_team_jobrank(coll->team, call->root) : (uint32_t)AQ_OBSERVED_NO_PEER;
    aq_trace_collective((aq_traced_t)(AQ_TRACED_BROADCAST + call->kind), begin, coll->team->id,
                        sequence, aq_trace_rooted(call->unit * call->count, root), event);
}

gex_Event_t aq_coll_begin(aq_coll_t *coll, const aq_coll_call_t *call, unsigned sync)
{
    const uint64_t begin = aq_trace_begin(AQ_TRACE_COLL);
    const uint32_t sequence = ++coll->calls;
    const aq_coll_label_t label = {.rank = aq_job.rank,
                                   .team = coll->team->id,
                                   .kind = AQ_SHOWN_BROADCAST + (uint32_t)call->kind,
                                   .sequence = sequence};
    aq_probe_collective_start(label.rank, label.team, label.kind, sequence, call->root,
                              call->unit * call->count);
    const gex_Event_t event = begin_somehow(coll, call, sync, &label);
    if (!event)
        aq_probe_collective_end(label.rank, label.team, label.kind, sequence);
    if (__builtin_expect(begin != 0, 0))
        coll_trace(coll, call, begin, sequence, event);
    return event;
}
