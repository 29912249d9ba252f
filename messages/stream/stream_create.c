// SPDX-License-Identifier: BSD-3-Clause
// Creation of streams, which is collective, and their end.
#include <stdlib.h>
#include <string.h>

#include "../../core/ground/errors.h"
#include "../../core/ground/fatal.h"
#include "../../core/progress/progress.h"
#include "../../extended/coll/coll_team.h"
#include "../../extended/rma/layer_table.h"
#include "../../other/base/minmax.h"
#include "stream_list.h"
#include "stream_send.h"
#include "stream_receive.h"
#include "stream_turn.h"
#include "stream_entries.h"
#include "stream_tree.h"
#include "../two_sided/msg_check.h"

#define CALL "gasnetx_Stream_Create"

enum { KEEP_MESSAGES = 64, KEEP_BYTES = 256 * 1024 }; // if the client does not say

// ---- the arguments that the ranks of the team exchange ----

typedef struct plan {
    uint64_t id; // chosen by rank 0 of the team
    uint64_t keep_bytes, max_bytes;
    uint32_t keep_messages;
    uint32_t parent, flags;
    uint32_t wrong; // the arguments of the rank are wrong
} plan_t;

// Reserves the id of a stream. Streams of different teams have different ids, since an id contains
// the job rank that has chosen it.
static uint64_t id_reserve(void)
{
    static atomic_uint_least32_t last;
    return (uint64_t)(aq_job.rank + 1) << 32 | (atomic_fetch_add(&last, 1) + 1);
}

static plan_t plan_make(gex_TM_t tm, const gasnetx_stream_spec_t *spec)
{
    const unsigned flags = GASNETX_STREAM_ORDERED | GASNETX_STREAM_DROPS;
    const char *why = spec->flags & ~flags
                          ? "flags are GASNETX_STREAM_ORDERED and GASNETX_STREAM_DROPS"
                          : aq_stream_entries_check(spec->entries, spec->entry_count);
    if (why)
        (void)aq_msg_refuse(CALL, why);
    return (plan_t){.id = gex_TM_QueryRank(tm) ? 0 : id_reserve(),
                    .keep_bytes = spec->keep_bytes ? spec->keep_bytes : KEEP_BYTES,
                    .max_bytes = aq_job.limits.medium,
                    .keep_messages = spec->keep_messages ? spec->keep_messages : KEEP_MESSAGES,
                    .parent = spec->parent,
                    .flags = spec->flags,
                    .wrong = why != NULL};
}

static void *memory_get(size_t count, size_t size)
{
    return aq_allocate_zeroed(count, size, "a stream");
}

// ---- checks, with the same result at all ranks ----

static gex_Rank_t *parents_make(const plan_t *plans, gex_Rank_t size)
{
    gex_Rank_t *parents = memory_get(size, sizeof *parents);
    for (gex_Rank_t rank = 0; rank < size; rank++)
        parents[rank] = plans[rank].parent;
    return parents;
}

static const char *plan_check(const plan_t *plans, gex_Rank_t rank, gex_Rank_t *flags_of)
{
    if (plans[rank].wrong)
        return "has wrong arguments";
    if (plans[rank].parent == GASNETX_STREAM_ABSENT)
        return NULL;
    if (*flags_of == GEX_RANK_INVALID)
        *flags_of = rank;
    return plans[rank].flags == plans[*flags_of].flags ? NULL : "has other flags than lower ranks";
}

static int plans_check(const plan_t *plans, const gex_Rank_t *parents, gex_Rank_t size)
{
    gex_Rank_t flags_of = GEX_RANK_INVALID, culprit = 0;
    const char *why = NULL;
    for (gex_Rank_t rank = 0; rank < size && !why; rank++)
        why = plan_check(plans, culprit = rank, &flags_of);
    if (!why)
        why = aq_stream_tree_check(parents, size, &culprit);
    return why ? aq_refuse(GASNET_ERR_BAD_ARG, CALL ": rank %u of the team %s", culprit, why)
               : GASNET_OK;
}

// ---- the stream ----

static void edge_make(gasnetx_Stream_t stream, uint32_t edge, const plan_t *plans, gex_Rank_t rank)
{
    stream->edges[edge] =
        (aq_stream_edge_t){.jobrank = aq_tm_jobrank(stream->tm, rank),
                           .rank = rank,
                           .room = {plans[rank].keep_messages, plans[rank].keep_bytes}};
}

static int edge_compare(const void *a, const void *b)
{
    const uint32_t x = ((const aq_stream_edge_t *)a)->jobrank;
    const uint32_t y = ((const aq_stream_edge_t *)b)->jobrank;
    return (x > y) - (x < y);
}

static void edges_make(gasnetx_Stream_t stream, const plan_t *plans)
{
    const gex_Rank_t size = gex_TM_QuerySize(stream->tm);
    gex_Rank_t *children = memory_get(stream->children, sizeof *children);
    uint32_t edge = 0;
    stream->edge_count = stream->children + 1 + aq_stream_has_parent(stream);
    stream->edges = memory_get(stream->edge_count, sizeof *stream->edges);
    for (gex_Rank_t rank = 0; rank < size; rank++)
        if (plans[rank].parent == stream->rank)
            edge_make(stream, edge++, plans, rank);
    qsort(stream->edges, stream->children, sizeof *stream->edges, edge_compare);
    for (uint32_t i = 0; i < stream->children; i++)
        children[i] = stream->edges[i].rank;
    edge_make(stream, edge++, plans, stream->rank);
    if (aq_stream_has_parent(stream))
        edge_make(stream, edge, plans, stream->info.parent);
    stream->info.children = children;
}

static void inbox_make(gasnetx_Stream_t stream)
{
    const uint32_t sources = stream->children + 1;
    stream->inbox = (aq_inbox_t){.ordered = stream->flags & GASNETX_STREAM_ORDERED,
                                 .drops = aq_stream_drops(stream),
                                 .sources = sources,
                                 .edge = memory_get(sources + 1, sizeof(aq_inbox_edge_t))};
    stream->turn.views = memory_get(sources, sizeof *stream->turn.views);
}

static size_t max_bytes_of(const plan_t *plans, gex_Rank_t size)
{
    size_t bytes = SIZE_MAX;
    for (gex_Rank_t rank = 0; rank < size; rank++)
        bytes = aq_min(bytes, plans[rank].max_bytes);
    return bytes;
}

static gasnetx_Stream_t stream_make(gex_TM_t tm, const gasnetx_stream_spec_t *spec,
                                    const plan_t *plans, const gex_Rank_t *parents)
{
    gasnetx_Stream_t stream = memory_get(1, sizeof *stream);
    stream->tm = tm;
    stream->rank = gex_TM_QueryRank(tm);
    stream->id = plans[0].id;
    stream->flags = spec->flags;
    stream->spec = *spec;
    stream->keep =
        (aq_stream_load_t){plans[stream->rank].keep_messages, plans[stream->rank].keep_bytes};
    aq_stream_tree_place(parents, gex_TM_QuerySize(tm), stream->rank, &stream->info);
    stream->children = stream->info.child_count;
    stream->info.max_bytes = max_bytes_of(plans, gex_TM_QuerySize(tm));
    edges_make(stream, plans);
    inbox_make(stream);
    aq_stream_entries_make(stream);
    return stream;
}

static void stream_publish(gasnetx_Stream_t stream)
{
    if (stream->spec.init) {
        aq_stream_in_handler = true;
        stream->spec.init(stream, stream->spec.context);
        aq_stream_in_handler = false;
    }
    aq_lock_take(&aq_streams_lock);
    stream->next = aq_streams;
    aq_streams = stream;
    aq_lock_drop(&aq_streams_lock);
}

static int team_check(gex_TM_t tm)
{
    aq_job_need(CALL);
    if (aq_stream_in_handler)
        return aq_msg_refuse(CALL, "a handler of a stream may not create streams");
    if (tm == GEX_TM_INVALID || aq_team_of(tm)->pair || aq_team_of(tm)->ep_pair.from ||
        aq_team_of(tm)->endpoints)
        return aq_msg_refuse(CALL, "a stream needs a team of primordial endpoints");
    return GASNET_OK;
}

// Ends with a barrier, since messages may arrive as soon as another rank has left the call.
int gasnetx_Stream_Create(gex_TM_t tm, const gasnetx_stream_spec_t *spec, gasnetx_Stream_t *stream)
{
    int error = team_check(tm);
    *stream = GASNETX_STREAM_NULL;
    if (error)
        return error;
    const gex_Rank_t size = gex_TM_QuerySize(tm);
    const plan_t plan = plan_make(tm, spec);
    plan_t *plans = memory_get(size, sizeof *plans);
    aq_coll_allgather(aq_team_of(tm), &plan, sizeof plan, plans);
    gex_Rank_t *parents = parents_make(plans, size);
    error = plans_check(plans, parents, size);
    if (!error && spec->parent != GASNETX_STREAM_ABSENT) {
        *stream = stream_make(tm, spec, plans, parents);
        stream_publish(*stream);
    }
    free(parents);
    free(plans);
    if (!error)
        gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    return error;
}

// ---- the end: first all messages up, then all messages down ----

static bool neighbours_have_ended(gasnetx_Stream_t stream, aq_stream_span_t span)
{
    for (uint32_t i = span.first; i < span.first + span.count; i++) {
        const aq_stream_edge_t *edge = &stream->edges[i];
        if (!edge->ended || edge->arrived != edge->announced)
            return false;
    }
    return true;
}

typedef struct end_wait {
    gasnetx_Stream_t stream;
    unsigned direction; // of the messages that end
} end_wait_t;

// Whether all messages of a direction were handled, and all that their handlers have sent has left.
static bool direction_has_ended(void *context)
{
    const end_wait_t *wait = context;
    gasnetx_Stream_t stream = wait->stream;
    const unsigned from = wait->direction == AQ_INBOX_UP ? AQ_INBOX_DOWN : AQ_INBOX_UP;
    const aq_stream_span_t own = {stream->children, 1};
    aq_lock_take(&stream->lock);
    const bool ended =
        neighbours_have_ended(stream, aq_stream_span(stream, from)) &&
        aq_stream_quiet(stream, AQ_INBOX_UP) && aq_stream_quiet(stream, AQ_INBOX_DOWN) &&
        aq_inbox_deadline(&stream->inbox) == AQ_NO_DEADLINE && !aq_stream_waits(stream, own) &&
        !aq_stream_waits(stream, aq_stream_span(stream, wait->direction));
    aq_lock_drop(&stream->lock);
    return ended;
}

static void direction_close(gasnetx_Stream_t stream, unsigned direction)
{
    const aq_stream_span_t span = aq_stream_span(stream, direction);
    aq_lock_take(&stream->lock);
    stream->closed[direction] = true;
    aq_lock_drop(&stream->lock);
    for (uint32_t i = span.first; i < span.first + span.count; i++)
        aq_stream_control(stream, i, AQ_STREAM_END, stream->edges[i].sent, 0);
}

// Waits for the end of a direction, and sends END to the neighbours in that direction.
static void direction_end(gasnetx_Stream_t stream, unsigned direction)
{
    end_wait_t wait = {.stream = stream, .direction = direction};
    aq_progress_wait_until(direction_has_ended, &wait, aq_wait_word(AQ_WAIT_RANK, AQ_WAIT_NO_RANK),
                           NULL);
    direction_close(stream, direction);
}

static bool neighbours_are_gone(void *context)
{
    gasnetx_Stream_t stream = context;
    bool gone = true;
    aq_lock_take(&stream->lock);
    for (uint32_t i = 0; i < stream->edge_count; i++) {
        const aq_stream_edge_t *edge = &stream->edges[i];
        gone &= aq_stream_is_own(stream, i) ||
                (edge->gone && edge->controls_arrived == edge->controls_announced);
    }
    aq_lock_drop(&stream->lock);
    return gone;
}

static void turning_take(void)
{
    while (atomic_exchange_explicit(&aq_streams_turning, true, memory_order_acquire))
        (void)aq_progress_poll();
}

static void turning_drop(void)
{
    atomic_store_explicit(&aq_streams_turning, false, memory_order_release);
}

// Exchanges BYE with all neighbours; afterwards this rank sends no credits. BYE counts itself. No
// task runs any more, so messages that the core had no room for before are sent here.
static void byes_exchange(gasnetx_Stream_t stream)
{
    for (uint32_t i = 0; i < stream->edge_count; i++)
        (void)aq_stream_flush(stream, i, 0);
    for (uint32_t i = 0; i < stream->edge_count; i++)
        if (!aq_stream_is_own(stream, i))
            aq_stream_control(stream, i, AQ_STREAM_BYE, stream->edges[i].controls_sent + 1u, 0);
    aq_progress_wait_until(neighbours_are_gone, stream, aq_wait_word(AQ_WAIT_RANK, AQ_WAIT_NO_RANK),
                           NULL);
}

static void stream_hide(gasnetx_Stream_t stream)
{
    aq_lock_take(&aq_streams_lock);
    gasnetx_Stream_t *at = &aq_streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    aq_lock_drop(&aq_streams_lock);
    if (atomic_load_explicit(&stream->active, memory_order_relaxed))
        aq_progress_busy(&aq_stream_task, -1);
}

static void stream_free(gasnetx_Stream_t stream)
{
    aq_stream_entries_free(stream);
    free(stream->inbox.edge);
    free((void *)(uintptr_t)stream->info.children);
    free(stream->edges);
    free(stream->turn.views);
    free(stream->turn.outputs);
    free(stream);
}

static void junction_finalize(gasnetx_Stream_t stream)
{
    if (!stream->spec.finalize)
        return;
    aq_stream_in_handler = true;
    stream->spec.finalize(stream, stream->spec.context);
    aq_stream_in_handler = false;
}

int gasnetx_Stream_Free(gasnetx_Stream_t *handle)
{
    static const char call[] = "gasnetx_Stream_Free";
    gasnetx_Stream_t stream = *handle;
    aq_job_need(call);
    if (aq_stream_in_handler)
        return aq_msg_refuse(call, "a handler of a stream may not free streams");
    if (!stream)
        return GASNET_OK;
    (void)gasnetx_Stream_Start(stream);
    direction_end(stream, AQ_INBOX_UP);
    direction_end(stream, AQ_INBOX_DOWN);
    turning_take();
    aq_stream_abandon(stream);
    byes_exchange(stream);
    stream_hide(stream);
    turning_drop();
    junction_finalize(stream);
    stream_free(stream);
    *handle = GASNETX_STREAM_NULL;
    return GASNET_OK;
}

// ---- queries ----

int gasnetx_Stream_Query(gasnetx_Stream_t stream, gasnetx_stream_info_t *info)
{
    if (aq_stream_check("gasnetx_Stream_Query", stream, false))
        return GASNET_ERR_BAD_ARG;
    *info = stream->info;
    return GASNET_OK;
}

int gasnetx_Stream_Counts(gasnetx_Stream_t stream, gasnetx_stream_counts_t *counts)
{
    if (aq_stream_check("gasnetx_Stream_Counts", stream, false))
        return GASNET_ERR_BAD_ARG;
    aq_lock_take(&stream->lock);
    *counts = stream->counts;
    for (uint32_t i = 0; i < stream->edge_count; i++)
        counts->waiting_messages += stream->edges[i].waiting.messages;
    aq_lock_drop(&stream->lock);
    return GASNET_OK;
}

void aq_stream_register(void)
{
    aq_stream_receive_register();
    aq_stream_turn_register();
}
