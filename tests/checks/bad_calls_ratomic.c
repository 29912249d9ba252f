// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls on remote atomics.
#include "bad_calls.h"

#include <gasnet_ratomic.h>
#include <stddef.h>

static gex_AD_t domain(gex_DT_t dt, gex_OP_t ops)
{
    gex_AD_t ad;
    gex_AD_Create(&ad, bad_tm, dt, ops, 0);
    return ad;
}

static gex_AD_t counters(void)
{
    return domain(GEX_DT_I64, GEX_OP_ADD | GEX_OP_FADD);
}

// ---- domains ----

static void create_flt_and(void)
{
    domain(GEX_DT_FLT, GEX_OP_ADD | GEX_OP_AND | GEX_OP_FXOR);
}

static void create_user_op(void)
{
    domain(GEX_DT_I32, GEX_OP_USER);
}

static void create_unknown_op(void)
{
    domain(GEX_DT_I32, GEX_OP_ADD | (gex_OP_t)1 << 12);
}

static void create_no_op(void)
{
    domain(GEX_DT_U64, 0);
}

static void create_no_type(void)
{
    domain(0x1000, GEX_OP_ADD);
}

static void create_two_types(void)
{
    domain(GEX_DT_I32 | GEX_DT_U32, GEX_OP_ADD);
}

static void create_user_type(void)
{
    domain(GEX_DT_USER, GEX_OP_ADD);
}

static void create_pair(void)
{
    gex_AD_t ad;
    gex_AD_Create(&ad, gex_TM_Pair(bad_ep, 0), GEX_DT_I32, GEX_OP_ADD, 0);
}

static void create_no_team(void)
{
    gex_AD_t ad;
    gex_AD_Create(&ad, GEX_TM_INVALID, GEX_DT_I32, GEX_OP_ADD, 0);
}

static void create_flags(void)
{
    gex_AD_t ad;
    gex_AD_Create(&ad, bad_tm, GEX_DT_I32, GEX_OP_ADD,
                  GEX_FLAG_AD_FAVOR_MY_RANK | GEX_FLAG_AD_FAVOR_REMOTE);
}

static void destroy_invalid(void)
{
    gex_AD_Destroy(GEX_AD_INVALID);
}

// ---- operations ----

static void other_op(void)
{
    gex_AD_OpNB_I64(counters(), NULL, 1, bad_segment, GEX_OP_XOR, 1, 0, 0);
}

static void two_ops(void)
{
    gex_AD_OpNBI_I64(counters(), NULL, 1, bad_segment, GEX_OP_ADD | GEX_OP_FADD, 1, 0, 0);
}

static void other_type(void)
{
    gex_AD_OpNB_U64(counters(), NULL, 1, bad_segment, GEX_OP_ADD, 1, 0, 0);
}

static void no_domain(void)
{
    gex_AD_OpNBI_FLT(GEX_AD_INVALID, NULL, 1, bad_segment, GEX_OP_ADD, 1, 0, 0);
}

static void no_result(void)
{
    gex_AD_OpNB_I64(counters(), NULL, 1, bad_segment, GEX_OP_FADD, 1, 0, 0);
}

static void high_rank(void)
{
    gex_AD_OpNB_I64(counters(), NULL, 2, bad_segment, GEX_OP_ADD, 1, 0, 0);
}

static void high_jobrank(void)
{
    gex_AD_OpNB_I64(counters(), NULL, 7, bad_segment, GEX_OP_ADD, 1, 0, GEX_FLAG_RANK_IS_JOBRANK);
}

static void not_my_rank(void)
{
    gex_AD_OpNB_I64(counters(), NULL, 1, bad_segment, GEX_OP_ADD, 1, 0, GEX_FLAG_AD_MY_RANK);
}

static void misaligned(void)
{
    bad_expect("the target %p is not aligned", (void *)(bad_segment + 4));
    gex_AD_OpNB_I64(counters(), NULL, 1, bad_segment + 4, GEX_OP_ADD, 1, 0, 0);
}

static void outside(void)
{
    bad_expect("%p", (void *)(bad_segment + BAD_SEGMENT));
    gex_AD_OpNBI_I64(counters(), NULL, 1, bad_segment + BAD_SEGMENT, GEX_OP_ADD, 1, 0, 0);
}

static void nosegment(void)
{
    gex_AD_OpNBI_I64(counters(), NULL, 1, (void *)(uintptr_t)4096, GEX_OP_ADD, 1, 0, 0);
}

static void offset(void)
{
    gex_AD_OpNB_I64(counters(), NULL, 1, NULL, GEX_OP_ADD, 1, 0, GEX_FLAG_PEER_SEG_OFFSET);
}

static void create_in_handler(gex_Token_t token)
{
    (void)token;
    counters();
}

// The domain is of no importance: where the call is made is looked at first.
static void in_handler(gex_Token_t token)
{
    (void)token;
    gex_AD_OpNB_I64(GEX_AD_INVALID, NULL, 0, bad_segment, GEX_OP_ADD, 1, 0, 0);
}

static void in_reply(gex_Token_t token)
{
    (void)token;
    gex_AD_OpNBI_DBL(GEX_AD_INVALID, NULL, 0, bad_segment, GEX_OP_ADD, 1, 0, 0);
}

const bad_call_t bad_ratomic_calls[] = {
    {"atomic-create-flt-and", BAD_FATAL_ALWAYS, 0,
     "gex_AD_Create: remote atomics on GEX_DT_FLT do not have GEX_OP_AND\\|GEX_OP_FXOR$",
     create_flt_and, NULL, NULL},
    {"atomic-create-user-op", BAD_FATAL_ALWAYS, 0,
     "gex_AD_Create: remote atomics on GEX_DT_I32 do not have GEX_OP_USER$", create_user_op, NULL,
     NULL},
    {"atomic-create-unknown-op", BAD_FATAL_ALWAYS, 0,
     "gex_AD_Create: remote atomics on GEX_DT_I32 do not have 0x1000$", create_unknown_op, NULL,
     NULL},
    {"atomic-create-no-op", BAD_FATAL_ALWAYS, 0,
     "gex_AD_Create: no operation is given for GEX_DT_U64; join GEX_OP_\\* by", create_no_op, NULL,
     NULL},
    {"atomic-create-no-type", BAD_FATAL_ALWAYS, 0,
     "gex_AD_Create: data type 0x1000 \\(no data type\\) is not one of GEX_DT_I32", create_no_type,
     NULL, NULL},
    {"atomic-create-two-types", BAD_FATAL_ALWAYS, 0,
     "gex_AD_Create: data type 0x3 \\(no data type\\) is not one of GEX_DT_I32", create_two_types,
     NULL, NULL},
    {"atomic-create-user-type", BAD_FATAL_ALWAYS, 0,
     "gex_AD_Create: data type 0x40 \\(GEX_DT_USER\\) is not one of GEX_DT_I32", create_user_type,
     NULL, NULL},
    {"atomic-create-pair", BAD_FATAL, 0, "gex_AD_Create: tm is a pair, not a team", create_pair,
     NULL, NULL},
    {"atomic-create-no-team", BAD_FATAL, 0, "gex_AD_Create: tm is GEX_TM_INVALID, not a team",
     create_no_team, NULL, NULL},
    {"atomic-create-flags", BAD_FATAL, 0,
     "gex_AD_Create: flags 0x5 hold more than one of GEX_FLAG_AD_FAVOR_\\*", create_flags, NULL,
     NULL},
    {"atomic-destroy-invalid", BAD_FATAL, 0, "gex_AD_Destroy: the domain is GEX_AD_INVALID",
     destroy_invalid, NULL, NULL},
    {"atomic-other-op", BAD_FATAL, 0,
     "gex_AD_OpNB_I64: the domain was not made for GEX_OP_XOR; it has GEX_OP_ADD\\|GEX_OP_FADD$",
     other_op, NULL, NULL},
    {"atomic-two-ops", BAD_FATAL, 0,
     "gex_AD_OpNBI_I64: GEX_OP_ADD\\|GEX_OP_FADD is not one operation", two_ops, NULL, NULL},
    {"atomic-other-type", BAD_FATAL, 0,
     "gex_AD_OpNB_U64: the domain is for GEX_DT_I64, not GEX_DT_U64", other_type, NULL, NULL},
    {"atomic-no-domain", BAD_FATAL, 0, "gex_AD_OpNBI_FLT: the domain is GEX_AD_INVALID", no_domain,
     NULL, NULL},
    {"atomic-no-result", BAD_FATAL, 0,
     "gex_AD_OpNB_I64: GEX_OP_FADD fetches, but the address of its result is NULL", no_result, NULL,
     NULL},
    {"atomic-rank", BAD_FATAL_ALWAYS, 0, BAD_RANK("gex_AD_OpNB_I64", "2"), high_rank, NULL, NULL},
    {"atomic-jobrank", BAD_FATAL_ALWAYS, 0,
     "gex_AD_OpNB_I64: job rank 7 is not in the domain's team of 2", high_jobrank, NULL, NULL},
    {"atomic-my-rank", BAD_FATAL, 0,
     "gex_AD_OpNB_I64: GEX_FLAG_AD_MY_RANK with rank 1, which is not the caller's own", not_my_rank,
     NULL, NULL},
    {"atomic-misaligned", BAD_FATAL, 0,
     "gex_AD_OpNB_I64: the target 0x[0-9a-f]+ is not aligned to 8 bytes", misaligned, NULL, NULL},
    {"atomic-outside", BAD_FATAL, 0,
     "gex_AD_OpNBI_I64: 8 bytes at 0x[0-9a-f]+ are not inside the segment of rank 1", outside, NULL,
     NULL},
    {"atomic-nosegment", BAD_FATAL, 0,
     "gex_AD_OpNBI_I64: 8 bytes at 0x1000 are not inside the segment of rank 1, which has none",
     nosegment, NULL, NULL},
    {"atomic-offset", BAD_FATAL, 0,
     "gex_AD_OpNB_I64: GEX_FLAG_SELF_SEG_OFFSET and _PEER_SEG_OFFSET are not supported", offset,
     NULL, NULL},
    {"atomic-create-handler", BAD_FATAL, 1, "gex_AD_Create is not allowed in a handler", NULL,
     create_in_handler, NULL},
    {"atomic-handler", BAD_FATAL, 1, "gex_AD_OpNB_I64 is not allowed in a handler", NULL,
     in_handler, NULL},
    {"atomic-reply", BAD_FATAL, 0, "gex_AD_OpNBI_DBL is not allowed in a handler", NULL, NULL,
     in_reply},
    {NULL, BAD_FATAL, 0, NULL, NULL, NULL, NULL}};
