// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls of the collectives of aqueduct_coll.h. Where the name has "both" in it, both ranks
// make the call.
#include <aqueduct_coll.h>

#include "bad_calls.h"

static int64_t in[4], out[4];

static void flags(void)
{
    gasnetx_Coll_AllgatherNB(bad_tm, out, in, 8, 1);
}

static void root(void)
{
    gasnetx_Coll_GatherNB(bad_tm, 2, out, in, 8, 0);
}

static void null_src(void)
{
    gasnetx_Coll_AlltoallNB(bad_tm, out, NULL, 8, 0);
}

static void null_dst(void)
{
    gasnetx_Coll_ScatterNB(bad_tm, 1, NULL, NULL, 8, 0);
}

static void same_buffers(void)
{
    gasnetx_Coll_AlltoallNB(bad_tm, out, out, 8, 0);
}

static void huge(void)
{
    gasnetx_Coll_AllgatherNB(bad_tm, out, in, SIZE_MAX / 2, 0);
}

static void pair(void)
{
    gasnetx_Coll_GatherNB(gex_TM_Pair(bad_ep, 0), 0, out, in, 8, 0);
}

static void scan_size(void)
{
    gasnetx_Coll_ScanNB(bad_tm, out, in, GEX_DT_I64, 4, 1, GEX_OP_ADD, NULL, NULL, 0);
}

static void scan_count(void)
{
    gasnetx_Coll_ScanExclusiveNB(bad_tm, out, in, GEX_DT_I64, 8, 0, GEX_OP_ADD, NULL, NULL, 0);
}

static void scan_flags(void)
{
    gasnetx_Coll_ScanNB(bad_tm, out, in, GEX_DT_I64, 8, 1, GEX_OP_ADD, NULL, NULL, 4);
}

static void scan_operator(void)
{
    gasnetx_Coll_ScanNB(bad_tm, out, in, GEX_DT_DBL, 8, 1, GEX_OP_XOR, NULL, NULL, 0);
}

static void scan_function(void)
{
    gasnetx_Coll_ScanExclusiveNB(bad_tm, out, in, GEX_DT_I64, 8, 1, GEX_OP_USER, NULL, NULL, 0);
}

static void in_handler(gex_Token_t token)
{
    (void)token;
    gasnetx_Coll_AllgatherNB(bad_tm, out, in, 8, 0);
}

// ---- the ranks do not make the same call ----

static void both_sizes(void)
{
    gex_Event_Wait(gasnetx_Coll_AllgatherNB(bad_tm, out, in, bad_me ? 16 : 8, 0));
}

static void both_kinds(void)
{
    if (bad_me)
        gex_Event_Wait(gasnetx_Coll_AlltoallNB(bad_tm, out, in, 8, 0));
    else
        gex_Event_Wait(gasnetx_Coll_GatherNB(bad_tm, 1, out, in, 8, 0));
}

static void both_scans(void)
{
    gex_Event_Wait((bad_me ? gasnetx_Coll_ScanExclusiveNB : gasnetx_Coll_ScanNB)(
        bad_tm, out, in, GEX_DT_I64, 8, 2, GEX_OP_MIN, NULL, NULL, 0));
}

#define SAME "the members of a team have to make the same collective calls in the same order, but "

const bad_call_t bad_gather_calls[] = {
    {"gather-flags", BAD_FATAL, 0,
     "gasnetx_Coll_AllgatherNB: flags are 0x1; there are none yet, pass 0", flags, NULL, NULL},
    {"gather-root", BAD_FATAL_ALWAYS, 0,
     "gasnetx_Coll_GatherNB: root 2 is not below the team's size 2", root, NULL, NULL},
    {"gather-null-src", BAD_FATAL, 0, "gasnetx_Coll_AlltoallNB: src is NULL", null_src, NULL, NULL},
    {"gather-null-dst", BAD_FATAL, 0, "gasnetx_Coll_ScatterNB: dst is NULL", null_dst, NULL, NULL},
    {"gather-same-buffers", BAD_FATAL, 0,
     "gasnetx_Coll_AlltoallNB: src and dst are equal \\(0x[0-9a-f]+\\); they may not overlap",
     same_buffers, NULL, NULL},
    {"gather-huge", BAD_FATAL_ALWAYS, 0,
     "gasnetx_Coll_AllgatherNB: 2 blocks of [0-9]+ bytes are more than memory can hold", huge, NULL,
     NULL},
    {"gather-pair", BAD_FATAL, 0,
     "gasnetx_Coll_GatherNB over a handle of gex_TM_Pair: it takes a team", pair, NULL, NULL},
    {"scan-size", BAD_FATAL_ALWAYS, 0,
     "gasnetx_Coll_ScanNB: dt_sz is 4, but the size of GEX_DT_I64 is 8", scan_size, NULL, NULL},
    {"scan-count", BAD_FATAL, 0,
     "gasnetx_Coll_ScanExclusiveNB: dt_cnt is 0; it takes at least one element", scan_count, NULL,
     NULL},
    {"scan-flags", BAD_FATAL, 0, "gasnetx_Coll_ScanNB: flags are 0x4; there are none yet, pass 0",
     scan_flags, NULL, NULL},
    {"scan-operator", BAD_FATAL_ALWAYS, 0,
     "gasnetx_Coll_ScanNB: GEX_OP_XOR \\(0x[0-9a-f]+\\) is not an operation for GEX_DT_DBL",
     scan_operator, NULL, NULL},
    {"scan-function", BAD_FATAL_ALWAYS, 0,
     "gasnetx_Coll_ScanExclusiveNB: GEX_OP_USER needs a function, but user_op is NULL",
     scan_function, NULL, NULL},
    {"gather-in-handler", BAD_FATAL, 1, "gasnetx_Coll_AllgatherNB", NULL, in_handler, NULL},
    {"gather-both-sizes", BAD_FATAL, 0,
     SAME
     ".*gasnetx_Coll_AllgatherNB \\(root 0, 8 bytes\\) where .*AllgatherNB \\(root 0, 16 bytes",
     both_sizes, NULL, NULL},
    {"gather-both-kinds", BAD_FATAL, 0,
     SAME ".*gasnetx_Coll_GatherNB \\(root 1, 8 bytes\\) where .*gasnetx_Coll_AlltoallNB \\(",
     both_kinds, NULL, NULL},
    {"scan-both", BAD_FATAL, 0,
     SAME ".*gasnetx_Coll_ScanNB \\(2 elements GEX_DT_I64 of 8 bytes, GEX_OP_MIN\\) where .*"
          "gasnetx_Coll_ScanExclusiveNB \\(2 elements",
     both_scans, NULL, NULL},
    {NULL, BAD_FATAL, 0, NULL, NULL, NULL, NULL},
};
