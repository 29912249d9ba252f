// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls of collectives. Where the name has "both" in it, both ranks make the call.
#include <gasnet_coll.h>

#include "bad_calls.h"

static int32_t in[4], out[4];

static void broadcast_root(void)
{
    gex_Coll_BroadcastNB(bad_tm, 2, out, in, 8, 0);
}

static void broadcast_pair(void)
{
    gex_Coll_BroadcastNB(gex_TM_Pair(bad_ep, 0), 0, out, in, 8, 0);
}

static void barrier_pair(void)
{
    gex_Coll_BarrierNB(gex_TM_Pair(bad_ep, 0), 0);
}

static void barrier_flags(void)
{
    gex_Coll_BarrierNB(bad_tm, GEX_FLAG_IMMEDIATE);
}

static void all_flags(void)
{
    gex_Coll_ReduceToAllNB(bad_tm, out, in, GEX_DT_I32, 4, 1, GEX_OP_ADD, NULL, NULL,
                           GEX_FLAG_IMMEDIATE);
}

static void one(gex_Rank_t root, gex_DT_t dt, size_t dt_sz, size_t dt_cnt, gex_OP_t op)
{
    gex_Coll_ReduceToOneNB(bad_tm, root, out, in, dt, dt_sz, dt_cnt, op, NULL, NULL, 0);
}

static void one_root(void)
{
    one(7, GEX_DT_I32, 4, 1, GEX_OP_ADD);
}

static void one_size(void)
{
    one(0, GEX_DT_I32, 8, 1, GEX_OP_ADD);
}

static void one_count(void)
{
    one(0, GEX_DT_I32, 4, 0, GEX_OP_ADD);
}

static void one_real_bits(void)
{
    one(0, GEX_DT_FLT, 4, 1, GEX_OP_XOR);
}

static void one_fetching(void)
{
    one(0, GEX_DT_I32, 4, 1, GEX_OP_FADD);
}

static void one_user_type(void)
{
    one(0, GEX_DT_USER, 4, 1, GEX_OP_ADD);
}

static void one_no_function(void)
{
    one(0, GEX_DT_USER, 4, 1, GEX_OP_USER);
}

static void user(const void *arg1, void *arg2_and_out, size_t count, const void *cdata)
{
    (void)arg1, (void)arg2_and_out, (void)count, (void)cdata;
}

static void all_no_size(void)
{
    gex_Coll_ReduceToAllNB(bad_tm, out, in, GEX_DT_USER, 0, 1, GEX_OP_USER_NC, user, NULL, 0);
}

static void all_type(void)
{
    gex_Coll_ReduceToAllNB(bad_tm, out, in, GEX_DT_I32 | GEX_DT_USER, 4, 1, GEX_OP_USER, user, NULL,
                           0);
}

// ---- the ranks do not make the same call ----

static void against_barrier(void)
{
    gex_Coll_BroadcastNB(bad_tm, 0, out, in, 8, 0); // the other rank is in the barrier of the end
}

static void both_roots(void)
{
    gex_Coll_BroadcastNB(bad_tm, bad_me, out, in, 8, 0);
}

static void both_sizes(void)
{
    gex_Coll_BroadcastNB(bad_tm, 1, out, in, bad_me ? 16 : 4, 0);
}

static void both_kinds(void)
{
    if (bad_me == 0)
        gex_Coll_ReduceToOneNB(bad_tm, 1, out, in, GEX_DT_I32, 4, 2, GEX_OP_ADD, NULL, NULL, 0);
    else
        gex_Coll_ReduceToAllNB(bad_tm, out, in, GEX_DT_I32, 4, 2, GEX_OP_ADD, NULL, NULL, 0);
}

static void both_operations(void)
{
    gex_Coll_ReduceToAllNB(bad_tm, out, in, GEX_DT_I32, 4, 2, bad_me ? GEX_OP_MAX : GEX_OP_MIN,
                           NULL, NULL, 0);
}

static void both_types(void)
{
    gex_Coll_ReduceToAllNB(bad_tm, out, in, bad_me ? GEX_DT_U32 : GEX_DT_I32, 4, 2, GEX_OP_ADD,
                           NULL, NULL, 0);
}

#define SAME "the members of a team have to make the same collective calls in the same order, but "

const bad_call_t bad_coll_calls[] = {
    {"coll-broadcast-root", BAD_FATAL_ALWAYS, 0,
     "gex_Coll_BroadcastNB: root 2 is not below the team's size 2", broadcast_root, NULL, NULL},
    {"coll-broadcast-pair", BAD_FATAL, 0,
     "gex_Coll_BroadcastNB over a handle of gex_TM_Pair: it takes a team", broadcast_pair, NULL,
     NULL},
    {"coll-barrier-pair", BAD_FATAL, 0,
     "gex_Coll_BarrierNB over a handle of gex_TM_Pair: it takes a team", barrier_pair, NULL, NULL},
    {"coll-barrier-flags", BAD_FATAL, 0, "gex_Coll_BarrierNB: flags are 0x1", barrier_flags, NULL,
     NULL},
    {"coll-all-flags", BAD_FATAL, 0, "gex_Coll_ReduceToAllNB: flags are 0x1", all_flags, NULL,
     NULL},
    {"coll-one-root", BAD_FATAL_ALWAYS, 0,
     "gex_Coll_ReduceToOneNB: root 7 is not below the team's size 2", one_root, NULL, NULL},
    {"coll-one-size", BAD_FATAL_ALWAYS, 0,
     "gex_Coll_ReduceToOneNB: dt_sz is 8, but the size of GEX_DT_I32 is 4", one_size, NULL, NULL},
    {"coll-one-count", BAD_FATAL, 0, "gex_Coll_ReduceToOneNB: dt_cnt is 0", one_count, NULL, NULL},
    {"coll-one-real-bits", BAD_FATAL_ALWAYS, 0,
     "gex_Coll_ReduceToOneNB: GEX_OP_XOR \\(0x4\\) is not an operation for GEX_DT_FLT \\(0x10\\)",
     one_real_bits, NULL, NULL},
    {"coll-one-fetching", BAD_FATAL_ALWAYS, 0,
     "gex_Coll_ReduceToOneNB: GEX_OP_FADD \\(0x40000\\) is not an "
     "operation for GEX_DT_I32",
     one_fetching, NULL, NULL},
    {"coll-one-user-type", BAD_FATAL_ALWAYS, 0,
     "gex_Coll_ReduceToOneNB: GEX_OP_ADD \\(0x8\\) is not an operation for GEX_DT_USER",
     one_user_type, NULL, NULL},
    {"coll-one-no-function", BAD_FATAL_ALWAYS, 0,
     "gex_Coll_ReduceToOneNB: GEX_OP_USER needs a function, but user_op is NULL", one_no_function,
     NULL, NULL},
    {"coll-all-no-size", BAD_FATAL, 0, "gex_Coll_ReduceToAllNB: dt_sz is 0", all_no_size, NULL,
     NULL},
    {"coll-all-type", BAD_FATAL, 0, "gex_Coll_ReduceToAllNB: 0x41 is not a GEX_DT_\\* constant",
     all_type, NULL, NULL},
    {"coll-against-barrier", BAD_FATAL, 0,
     SAME "rank 0 of the team calls gex_Coll_BroadcastNB \\(root 0, 8 bytes\\) where rank 1 calls "
          "gex_Coll_BarrierNB",
     against_barrier, NULL, NULL},
    {"coll-both-roots", BAD_FATAL, 0,
     SAME "rank 0 of the team calls gex_Coll_BroadcastNB \\(root 0, 8 bytes\\) where rank 1 calls "
          "gex_Coll_BroadcastNB \\(root 1, 8 bytes\\)",
     both_roots, NULL, NULL},
    {"coll-both-sizes", BAD_FATAL, 0, SAME ".*\\(root 1, 4 bytes\\) .* \\(root 1, 16 bytes\\)",
     both_sizes, NULL, NULL},
    {"coll-both-kinds", BAD_FATAL, 0,
     SAME ".* gex_Coll_ReduceToOneNB \\(root 1, 2 elements GEX_DT_I32 of 4 bytes, GEX_OP_ADD\\) "
          "where rank 1 calls gex_Coll_ReduceToAllNB \\(2 elements",
     both_kinds, NULL, NULL},
    {"coll-both-operations", BAD_FATAL, 0, SAME ".*GEX_OP_MIN\\) where .*GEX_OP_MAX\\)",
     both_operations, NULL, NULL},
    {"coll-both-types", BAD_FATAL, 0, SAME ".* GEX_DT_I32 .* where .* GEX_DT_U32 ", both_types,
     NULL, NULL},
    {NULL, BAD_FATAL, 0, NULL, NULL, NULL, NULL},
};
