// SPDX-License-Identifier: BSD-3-Clause
// The public calls of aqueduct_coll.h: they check the arguments and translate the request for the
// engine.
#include <stdlib.h>
#include <string.h>

#include "../aqueduct_coll.h"
#include "coll.h"
#include "coll_engine.h"
#include "coll_limits.h"
#include "coll_team.h"

#include "../../core/ground/bounds.h"
#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"

// ---- blocks ----

static void check_block_buffers(const char *name, const aq_coll_call_t *call,
                                const struct gex_tm *tm)
{
    const bool is_root = tm->rank == call->root;
    const bool reads = call->kind != AQ_COLL_SCATTER || is_root;
    const bool writes = call->kind != AQ_COLL_GATHER || is_root;
    AQ_CHECK(call->src || !reads || !call->count, "%s: src is NULL", name);
    AQ_CHECK(call->dst || !writes || !call->count, "%s: dst is NULL", name);
    AQ_CHECK(call->kind != AQ_COLL_EXCHANGE || call->src != call->dst || !call->count,
             "%s: src and dst are equal (%p); they may not overlap", name, call->src);
}

static void check_block_call(const char *name, gex_TM_t tm, const aq_coll_call_t *call,
                             gex_Flags_t flags)
{
    aq_coll_check_call(name, tm, call->root, flags);
    aq_bounds_blocks(name, "blocks", tm->size, call->count);
    check_block_buffers(name, call, tm);
    if (AQ_CHECKS)
        aq_coll_check_same(
            aq_coll_of(aq_team_of(tm)),
            &(aq_coll_words_t){
                .call = (int32_t)(AQ_COLL_CALL_BLOCKS + (unsigned)call->kind - AQ_COLL_SCATTER),
                .root = call->root,
                .unit = 1,
                .count = call->count});
}

static gex_Event_t begin_blocks(const char *name, gex_TM_t tm, const aq_coll_call_t *call,
                                gex_Flags_t flags)
{
    aq_job_need(name);
    check_block_call(name, tm, call, flags);
    return aq_coll_begin(aq_coll_of(aq_team_of(tm)), call, 0);
}

gex_Event_t gasnetx_Coll_GatherNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                                  size_t nbytes, gex_Flags_t flags)
{
    const aq_coll_call_t call = {
        .kind = AQ_COLL_GATHER, .root = root, .dst = dst, .src = src, .unit = 1, .count = nbytes};
    return begin_blocks("gasnetx_Coll_GatherNB", tm, &call, flags);
}

gex_Event_t gasnetx_Coll_AllgatherNB(gex_TM_t tm, void *dst, const void *src, size_t nbytes,
                                     gex_Flags_t flags)
{
    const aq_coll_call_t call = {
        .kind = AQ_COLL_GATHER_ALL, .dst = dst, .src = src, .unit = 1, .count = nbytes};
    return begin_blocks("gasnetx_Coll_AllgatherNB", tm, &call, flags);
}

gex_Event_t gasnetx_Coll_ScatterNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                                   size_t nbytes, gex_Flags_t flags)
{
    const aq_coll_call_t call = {
        .kind = AQ_COLL_SCATTER, .root = root, .dst = dst, .src = src, .unit = 1, .count = nbytes};
    return begin_blocks("gasnetx_Coll_ScatterNB", tm, &call, flags);
}

gex_Event_t gasnetx_Coll_AlltoallNB(gex_TM_t tm, void *dst, const void *src, size_t nbytes,
                                    gex_Flags_t flags)
{
    const aq_coll_call_t call = {
        .kind = AQ_COLL_EXCHANGE, .dst = dst, .src = src, .unit = 1, .count = nbytes};
    return begin_blocks("gasnetx_Coll_AlltoallNB", tm, &call, flags);
}

// ---- scans ----

gex_Event_t gasnetx_Coll_ScanNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt, size_t dt_sz,
                                size_t dt_cnt, gex_OP_t op, gex_Coll_ReduceFn_t user_op,
                                void *user_cdata, gex_Flags_t flags)
{
    const aq_coll_words_t words = {AQ_COLL_SCAN, 0, dt, op, dt_sz, dt_cnt};
    aq_coll_call_t call = {.dst = dst, .src = src, .cdata = user_cdata};
    return aq_coll_begin_combining("gasnetx_Coll_ScanNB", tm, &words, &call, user_op, flags);
}

gex_Event_t gasnetx_Coll_ScanExclusiveNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt,
                                         size_t dt_sz, size_t dt_cnt, gex_OP_t op,
                                         gex_Coll_ReduceFn_t user_op, void *user_cdata,
                                         gex_Flags_t flags)
{
    const aq_coll_words_t words = {AQ_COLL_SCAN_EXCLUSIVE, 0, dt, op, dt_sz, dt_cnt};
    aq_coll_call_t call = {.dst = dst, .src = src, .cdata = user_cdata};
    return aq_coll_begin_combining("gasnetx_Coll_ScanExclusiveNB", tm, &words, &call, user_op,
                                   flags);
}

// ---- limits ----

#define SET_LIMIT "gasnetx_Coll_SetLimit"

// What a rank asks for. Each rank compares the proposals of all.
typedef struct proposal {
    uint32_t index, value, legal;
} proposal_t;

static bool proposal_is_legal(unsigned index, uint32_t value)
{
    const aq_coll_limit_row_t *row = aq_coll_limit_at(index);
    return row && value >= row->low && value <= row->high;
}

// Compares the proposals of all ranks; returns the same result at all. Afterwards no operation of
// this rank reads the old limit: operations read limits at their start, and reductions again when
// they combine. Other ranks may set the limit later, but between the same two operations.
static bool proposal_agree(proposal_t mine)
{
    const uint32_t size = aq_team.head.size;
    proposal_t *all = aq_allocate(size * sizeof *all, "the limits of " SET_LIMIT);
    aq_coll_engine_finish();
    aq_coll_allgather(&aq_team, &mine, sizeof mine, all);
    uint32_t same = 0;
    while (same < size && all[same].legal && memcmp(&all[same], all, sizeof *all) == 0)
        same++;
    free(all);
    return same == size;
}

int gasnetx_Coll_SetLimit(unsigned index, uint32_t value)
{
    aq_job_admit(SET_LIMIT);
    if (aq_job.grows)
        return GASNET_ERR_RESOURCE;
    if (!proposal_agree((proposal_t){index, value, proposal_is_legal(index, value)}))
        return GASNET_ERR_BAD_ARG;
    *aq_coll_limit_of(&aq_coll_limits, aq_coll_limit_at(index)) = value;
    return GASNET_OK;
}
