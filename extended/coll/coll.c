// SPDX-License-Identifier: BSD-3-Clause
// The public calls: they check the arguments and translate the request for the engine.
#include "coll.h"
#include "coll_operators.h"
#include "coll_engine.h"
#include "../rma/format.h"

#include "../../core/ground/bounds.h"
#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"
#include "../gasnetex_rma.h"

static const char broadcast[] = "gex_Coll_BroadcastNB";

void aq_coll_check_call(const char *name, gex_TM_t tm, gex_Rank_t root, gex_Flags_t flags)
{
    aq_thread_check_call(name);
    AQ_CHECK(!aq_team_of(tm)->pair, "%s over a handle of gex_TM_Pair: it takes a team", name);
    aq_bounds_rank(name, "root", root, tm->size);
    AQ_CHECK(!flags, "%s: flags are %#x; there are none yet, pass 0", name, flags);
}

gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t flags)
{
    aq_job_admit("gex_Coll_BarrierNB");
    aq_team_t *team = aq_team_of(tm);
    (void)flags;
    AQ_CHECK(!team->pair, "gex_Coll_BarrierNB over a handle of gex_TM_Pair: it takes a team");
    AQ_CHECK(!flags, "gex_Coll_BarrierNB: flags are %#x; there are none yet, pass 0", flags);
    if (AQ_CHECKS)
        aq_coll_check_same(aq_coll_of(team), &(aq_coll_words_t){.call = AQ_COLL_CALL_BARRIER});
    return aq_barrier_initiate(&aq_coll_of(team)->barrier, AQ_VOTE_NONE);
}

gex_Event_t gex_Coll_BroadcastNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                                 size_t nbytes, gex_Flags_t flags)
{
    aq_job_need("gex_Coll_BroadcastNB");
    aq_coll_t *coll = aq_coll_of(aq_team_of(tm));
    aq_coll_check_call(broadcast, tm, root, flags);
    aq_bounds_blocks(broadcast, "block", 1, nbytes);
    if (AQ_CHECKS)
        aq_coll_check_same(
            coll, &(aq_coll_words_t){
                      .call = AQ_COLL_BROADCAST, .root = root, .unit = 1, .count = nbytes});
    const aq_coll_call_t call = {.kind = AQ_COLL_BROADCAST,
                                 .root = root,
                                 .dst = dst,
                                 .src = src,
                                 .unit = 1,
                                 .count = nbytes};
    return aq_coll_begin(coll, &call, 0);
}

// ---- reductions ----

static bool is_user(gex_OP_t op)
{
    return op == GEX_OP_USER || op == GEX_OP_USER_NC;
}

// Returns the function of the client's operator, or of a built-in operator if it exists for the
// type; else ends the job with a message.
static gex_Coll_ReduceFn_t find_operator(const char *name, gex_DT_t dt, gex_OP_t op,
                                         gex_Coll_ReduceFn_t user_op)
{
    char text[AQ_OP_NAMES_BYTES];
    gex_Coll_ReduceFn_t fn = is_user(op) ? user_op : aq_coll_operator(dt, op);
    if (__builtin_expect(!fn && is_user(op), 0))
        aq_fatal("%s: %s needs a function, but user_op is NULL", name, aq_op_names(op, text));
    if (__builtin_expect(!fn, 0))
        aq_fatal("%s: %s (%#x) is not an operation for %s (%#x)", name, aq_op_names(op, text), op,
                 aq_dt_name(dt), dt);
    return fn;
}

static void check_elements(const char *name, gex_DT_t dt, size_t dt_sz, size_t dt_cnt)
{
    size_t size = aq_coll_type_size(dt);
    AQ_CHECK(size || dt == GEX_DT_USER, "%s: %#x is not a GEX_DT_* constant", name, dt);
    if (__builtin_expect(size && dt_sz != size, 0))
        aq_fatal("%s: dt_sz is %zu, but the size of %s is %zu", name, dt_sz, aq_dt_name(dt), size);
    AQ_CHECK(dt_sz, "%s: dt_sz is 0; give the size of the type", name);
    AQ_CHECK(dt_cnt, "%s: dt_cnt is 0; it takes at least one element", name);
    aq_bounds_blocks(name, "elements", dt_cnt, dt_sz);
}

gex_Event_t aq_coll_begin_combining(const char *name, gex_TM_t tm, const aq_coll_words_t *words,
                                    aq_coll_call_t *call, gex_Coll_ReduceFn_t user_op,
                                    gex_Flags_t flags)
{
    aq_job_need(name);
    aq_coll_t *coll = aq_coll_of(aq_team_of(tm));
    call->kind = (aq_coll_kind_t)words->call;
    call->root = words->root;
    call->unit = words->unit;
    call->count = words->count;
    call->fn = find_operator(name, (gex_DT_t)words->dt, (gex_OP_t)words->op, user_op);
    call->in_order = words->op == GEX_OP_USER_NC;
    aq_coll_check_call(name, tm, call->root, flags);
    check_elements(name, (gex_DT_t)words->dt, words->unit, words->count);
    if (AQ_CHECKS)
        aq_coll_check_same(coll, words);
    return aq_coll_begin(coll, call, 0);
}

gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t tm, gex_Rank_t root, void *dst, const void *src,
                                   gex_DT_t dt, size_t dt_sz, size_t dt_cnt, gex_OP_t op,
                                   gex_Coll_ReduceFn_t user_op, void *user_cdata, gex_Flags_t flags)
{
    const aq_coll_words_t words = {AQ_COLL_TO_ONE, root, dt, op, dt_sz, dt_cnt};
    aq_coll_call_t call = {.dst = dst, .src = src, .cdata = user_cdata};
    return aq_coll_begin_combining("gex_Coll_ReduceToOneNB", tm, &words, &call, user_op, flags);
}

gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t tm, void *dst, const void *src, gex_DT_t dt,
                                   size_t dt_sz, size_t dt_cnt, gex_OP_t op,
                                   gex_Coll_ReduceFn_t user_op, void *user_cdata, gex_Flags_t flags)
{
    const aq_coll_words_t words = {AQ_COLL_TO_ALL, 0, dt, op, dt_sz, dt_cnt};
    aq_coll_call_t call = {.dst = dst, .src = src, .cdata = user_cdata};
    return aq_coll_begin_combining("gex_Coll_ReduceToAllNB", tm, &words, &call, user_op, flags);
}
