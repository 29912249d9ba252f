// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls of the collectives of GASNet-1. Where the name has "both" in it, both ranks make the
// call.
#include <gasnet_coll.h>

#include "bad_calls.h"

#define MY_MY (GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC)
#define GOOD (MY_MY | GASNET_COLL_LOCAL)

static int32_t in[4], out[4];

static void flags_none(void)
{
    gasnet_coll_exchange(GASNET_TEAM_ALL, out, in, 8, 0);
}

static void flags_two_in(void)
{
    gasnet_coll_scatter(GASNET_TEAM_ALL, out, 0, in, 8, GOOD | GASNET_COLL_IN_ALLSYNC);
}

static void flags_no_out(void)
{
    gasnet_coll_gather(GASNET_TEAM_ALL, 0, out, in, 8, GASNET_COLL_IN_NOSYNC | GASNET_COLL_LOCAL);
}

static void flags_not_local(void)
{
    gasnet_coll_gather_all(GASNET_TEAM_ALL, out, in, 8, MY_MY);
}

static void flags_unknown(void)
{
    gasnet_coll_broadcast(GASNET_TEAM_ALL, out, 0, in, 8, GOOD | 0x10000);
}

static void root(void)
{
    gasnet_coll_broadcast(GASNET_TEAM_ALL, out, 2, in, 8, GOOD);
}

static void null_src(void)
{
    gasnet_coll_scatter(GASNET_TEAM_ALL, out, 0, NULL, 8, GOOD);
}

static void null_dst(void)
{
    gasnet_coll_gather_all(GASNET_TEAM_ALL, NULL, in, 8, GOOD);
}

static void src_outside(void)
{
    bad_expect("16 bytes at %p", (void *)in);
    gasnet_coll_exchange(GASNET_TEAM_ALL, out, in, 8, GOOD | GASNET_COLL_SRC_IN_SEGMENT);
}

static void dst_outside(void)
{
    gasnet_coll_broadcast(GASNET_TEAM_ALL, out, 0, in, 8, GOOD | GASNET_COLL_DST_IN_SEGMENT);
}

static void huge(void)
{
    gasnet_coll_exchange(GASNET_TEAM_ALL, out, in, SIZE_MAX / 2, GOOD);
}

static void team_null(void)
{
    gasnet_coll_gather(NULL, 0, out, in, 8, GOOD);
}

static void team_pair(void)
{
    gasnet_coll_gather(gex_TM_Pair(bad_ep, 0), 0, out, in, 8, GOOD);
}

static void barrier_null(void)
{
    gasnet_coll_barrier(NULL, 0, 0);
}

static void barrier_pair(void)
{
    gasnet_coll_barrier_notify(gex_TM_Pair(bad_ep, 0), 0, 0);
}

static void in_handler(gex_Token_t token)
{
    (void)token;
    gasnet_coll_gather(GASNET_TEAM_ALL, 0, out, in, 8, GOOD);
}

// ---- the ranks do not make the same call ----

static void both_sync(void)
{
    gasnet_coll_gather_all(
        GASNET_TEAM_ALL, out, in, 8,
        bad_me ? GOOD : GASNET_COLL_IN_NOSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL);
}

static void both_kinds(void)
{
    if (bad_me)
        gasnet_coll_gather(GASNET_TEAM_ALL, 1, out, in, 8, GOOD);
    else
        gasnet_coll_scatter(GASNET_TEAM_ALL, out, 1, in, 8, GOOD);
}

#define SAME "the members of a team have to make the same collective calls in the same order, but "

const bad_call_t bad_coll1_calls[] = {
    {"coll1-flags-none", BAD_FATAL, 0,
     "gasnet_coll_exchange: flags are 0; pass one of GASNET_COLL_IN_NOSYNC, _IN_MYSYNC", flags_none,
     NULL, NULL},
    {"coll1-flags-two-in", BAD_FATAL, 0,
     "gasnet_coll_scatter: flags are 0x96; pass one of GASNET_COLL_IN_NOSYNC", flags_two_in, NULL,
     NULL},
    {"coll1-flags-no-out", BAD_FATAL, 0,
     "gasnet_coll_gather: flags are 0x81; pass one of GASNET_COLL_OUT_NOSYNC", flags_no_out, NULL,
     NULL},
    {"coll1-flags-not-local", BAD_FATAL, 0,
     "gasnet_coll_gather_all: flags are 0x12; pass GASNET_COLL_LOCAL", flags_not_local, NULL, NULL},
    {"coll1-flags-unknown", BAD_FATAL, 0,
     "gasnet_coll_broadcast: flags 0x10092 have the bits 0x10000, which mean nothing",
     flags_unknown, NULL, NULL},
    {"coll1-root", BAD_FATAL_ALWAYS, 0,
     "gasnet_coll_broadcast: root 2 is not below the team's size 2", root, NULL, NULL},
    {"coll1-null-src", BAD_FATAL, 0, "gasnet_coll_scatter: src is NULL", null_src, NULL, NULL},
    {"coll1-null-dst", BAD_FATAL, 0, "gasnet_coll_gather_all: dst is NULL", null_dst, NULL, NULL},
    {"coll1-src-outside", BAD_FATAL, 0,
     "gasnet_coll_exchange: flags promise that src is in the segment of this rank \\(0x800\\)",
     src_outside, NULL, NULL},
    {"coll1-dst-outside", BAD_FATAL, 0,
     "gasnet_coll_broadcast: flags promise that dst is in the segment of this rank \\(0x400\\)",
     dst_outside, NULL, NULL},
    {"coll1-huge", BAD_FATAL_ALWAYS, 0,
     "gasnet_coll_exchange: 2 blocks of [0-9]+ bytes are more than memory can hold", huge, NULL,
     NULL},
    {"coll1-team-null", BAD_FATAL_ALWAYS, 0,
     "gasnet_coll_gather: the team is NULL; call it after gasnet_init or gex_Client_Init",
     team_null, NULL, NULL},
    {"coll1-team-pair", BAD_FATAL, 0,
     "gasnet_coll_gather over a handle of gex_TM_Pair: it takes a team", team_pair, NULL, NULL},
    {"coll1-barrier-null", BAD_FATAL_ALWAYS, 0, "gasnet_coll_barrier: the team is NULL",
     barrier_null, NULL, NULL},
    {"coll1-barrier-pair", BAD_FATAL_ALWAYS, 0,
     "gasnet_coll_barrier_notify: the team is not GASNET_TEAM_ALL; use gex_Coll_BarrierNB",
     barrier_pair, NULL, NULL},
    {"coll1-in-handler", BAD_FATAL, 1, "gasnet_coll_gather", NULL, in_handler, NULL},
    {"coll1-both-sync", BAD_FATAL, 0,
     SAME ".*gasnet_coll_gather_all \\(root 0, 8 bytes, flags 0x91\\) where .*flags 0x92\\)",
     both_sync, NULL, NULL},
    {"coll1-both-kinds", BAD_FATAL, 0,
     SAME ".*gasnet_coll_scatter \\(root 1, 8 bytes, flags 0x92\\) .*gasnet_coll_gather \\(",
     both_kinds, NULL, NULL},
    {NULL, BAD_FATAL, 0, NULL, NULL, NULL, NULL},
};
