/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams other than the primordial one, TM-pairs, and additional endpoints with own segments. */
#include <stdlib.h>
#include <string.h>

#include "../conform.h"

#include <gasnet_vis.h>

enum { BYTES = 4096, PLACE = 64 };

/* The part of the inbox of `owner` to which only this rank writes. */
static void *place_at(gex_Rank_t owner)
{
    return job.base[owner] + CONFORM_INBOX + (size_t)job.rank * PLACE;
}

static uint64_t stamp_of(gex_Rank_t writer, uint64_t round)
{
    return conform_mix(writer, round, 0x7ea);
}

static gex_TM_t split_team(gex_TM_t parent, int color, int key)
{
    gex_TM_t tm = GEX_TM_INVALID;
    gex_TM_Split(&tm, parent, color, key, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    CHECK(tm != GEX_TM_INVALID, "gex_TM_Split gave no team");
    return tm;
}

static void wait_barrier(gex_TM_t tm)
{
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
}

/* Checks that the members of a team are these job ranks, in this order. */
static void check_members(gex_TM_t tm, const gex_Rank_t *members, gex_Rank_t size)
{
    CHECK(gex_TM_QuerySize(tm) == size, "the team has %u members, not %u", gex_TM_QuerySize(tm),
          size);
    for (gex_Rank_t r = 0; r < size; r++) {
        gex_Rank_t got = gex_TM_TranslateRankToJobrank(tm, r);
        CHECK(got == members[r], "rank %u is job rank %u, not %u", r, got, members[r]);
        CHECK(gex_TM_TranslateJobrankToRank(tm, got) == r, "job rank %u is not translated back",
              got);
        gex_EP_Location_t where = gex_TM_TranslateRankToEP(tm, r, 0);
        CHECK(where.gex_rank == got && where.gex_ep_index == 0,
              "the team has another endpoint: %u of rank %u", where.gex_ep_index, where.gex_rank);
        if (got == job.rank)
            CHECK(gex_TM_QueryRank(tm) == r, "this rank is %u in the team, not %u",
                  gex_TM_QueryRank(tm), r);
    }
}

/* Every member puts a stamp to every member, addressed by rank in the team, and then checks the
 * stamps that it got. */
static void exchange_stamps(gex_TM_t tm, uint64_t round)
{
    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(tm); r++) {
        uint64_t value = stamp_of(job.rank, round);
        gex_RMA_PutBlocking(tm, r, place_at(gex_TM_TranslateRankToJobrank(tm, r)), &value,
                            sizeof value, 0);
    }
    wait_barrier(tm);
    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(tm); r++) {
        gex_Rank_t writer = gex_TM_TranslateRankToJobrank(tm, r);
        uint64_t got;
        memcpy(&got, job.base[job.rank] + CONFORM_INBOX + (size_t)writer * PLACE, sizeof got);
        CHECK(got == stamp_of(writer, round), "rank %u wrote another value", writer);
    }
    wait_barrier(tm);
}

/* ---- split ---- */

static gex_Rank_t members_with(gex_Rank_t *members, int (*in)(gex_Rank_t), int descending)
{
    gex_Rank_t n = 0;
    for (gex_Rank_t i = 0; i < job.size; i++) {
        gex_Rank_t r = descending ? job.size - 1 - i : i;
        if (in(r))
            members[n++] = r;
    }
    return n;
}

static int same_parity(gex_Rank_t r)
{
    return r % 2 == job.rank % 2;
}

static int any_rank(gex_Rank_t r)
{
    (void)r;
    return 1;
}

static int not_first(gex_Rank_t r)
{
    return r != 0;
}

static void destroy_team(gex_TM_t tm)
{
    CHECK(gex_TM_Destroy(tm, NULL, 0) == 0,
          "gex_TM_Destroy returned scratch space, but none was given");
}

static void split_colors(void)
{
    gex_Rank_t *members = conform_alloc(job.size * sizeof *members);
    gex_TM_t tm = split_team(job.tm, (int)(job.rank % 2), 7);
    check_members(tm, members, members_with(members, same_parity, 0));
    CHECK(gex_TM_QueryEP(tm) == job.ep && gex_TM_QueryClient(tm) == job.client,
          "the team has another endpoint or client");
    CHECK(gex_TM_QueryCData(tm) == NULL, "client data of a new team is not NULL");
    gex_TM_SetCData(tm, members);
    CHECK(gex_TM_QueryCData(tm) == members, "the team lost its client data");
    exchange_stamps(tm, 1);
    destroy_team(tm);
    free(members);
}

static void split_keys(void)
{
    gex_Rank_t *members = conform_alloc(job.size * sizeof *members);
    gex_TM_t tm = split_team(job.tm, 0, -(int)job.rank);
    check_members(tm, members, members_with(members, any_rank, 1));
    exchange_stamps(tm, 2);
    destroy_team(tm);
    free(members);
}

/* A rank that passes NULL takes part in the call, but gets no team. */
static void split_absent(void)
{
    gex_Rank_t *members = conform_alloc(job.size * sizeof *members);
    gex_TM_t tm = GEX_TM_INVALID;
    gex_TM_Split(job.rank ? &tm : NULL, job.tm, 3, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    if (job.rank) {
        check_members(tm, members, members_with(members, not_first, 0));
        exchange_stamps(tm, 3);
        destroy_team(tm);
    }
    free(members);
}

/* Splits teams again, down to single members. All of the teams exist at the same time. */
static void split_nested(void)
{
    gex_TM_t level[16] = {job.tm};
    int depth = 0;
    while (gex_TM_QuerySize(level[depth]) > 1) {
        gex_TM_t parent = level[depth];
        int half = gex_TM_QueryRank(parent) >= (gex_TM_QuerySize(parent) + 1) / 2;
        level[++depth] = split_team(parent, half, (int)gex_TM_QueryRank(parent));
    }
    for (int i = 0; i <= depth; i++)
        exchange_stamps(level[i], 4 + (uint64_t)i);
    while (depth > 0)
        destroy_team(level[depth--]);
}

/* Members are not in step: some use the next team while others still split. */
static void split_many(void)
{
    for (int i = 0; i < 50; i++) {
        gex_TM_t tm = split_team(job.tm, (int)((job.rank + (unsigned)i) % 3), i);
        wait_barrier(tm);
        if (i % 2)
            wait_barrier(tm);
        destroy_team(tm);
    }
}

static void split_scratch(void)
{
    gex_TM_t tm;
    size_t size = gex_TM_Split(&tm, job.tm, 0, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED);
    CHECK(size > 0 && size <= CONFORM_OUTBOX, "the recommended scratch size is %zu bytes", size);
    CHECK(gex_TM_Split(NULL, job.tm, 0, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED) == 0,
          "a caller that wants no team must not need scratch space");
    gex_TM_Split(&tm, job.tm, 0, 0, job.outbox, size, 0);
    exchange_stamps(tm, 20);
    gex_Memvec_t back = {NULL, 0};
    CHECK(gex_TM_Destroy(tm, &back, 0) != 0,
          "gex_TM_Destroy must return the scratch space that was given");
    CHECK(back.gex_addr == job.outbox && back.gex_len == size,
          "gex_TM_Destroy returned other scratch space: %p, %zu bytes", back.gex_addr,
          back.gex_len);
}

/* ---- create ---- */

static gex_TM_t create_team(gex_EP_Location_t *args, gex_Rank_t n, gex_TM_t parent,
                            gex_Flags_t flags)
{
    gex_TM_t tm = GEX_TM_INVALID;
    gex_TM_Create(&tm, n ? 1 : 0, parent, args, n, NULL, 0, flags | GEX_FLAG_TM_NO_SCRATCH);
    CHECK((tm != GEX_TM_INVALID) == (n != 0),
          "gex_TM_Create with %u members must give a team if there are any, else none", n);
    return tm;
}

/* The list names all ranks but rank 0, in descending order. */
static void create_list(void)
{
    gex_Rank_t *members = conform_alloc(job.size * sizeof *members);
    gex_EP_Location_t *args = conform_alloc(job.size * sizeof *args);
    gex_Rank_t n = members_with(members, not_first, 1);
    for (gex_Rank_t i = 0; i < n; i++)
        args[i] = (gex_EP_Location_t){members[i], 0};
    gex_TM_t tm = create_team(args, job.rank ? n : 0, job.tm, 0);
    if (job.rank) {
        check_members(tm, members, n);
        wait_barrier(tm);
        destroy_team(tm);
    }
    free(args);
    free(members);
}

/* The parent has another order of ranks; the list names members by job rank. */
static void create_jobrank(void)
{
    gex_TM_t turned = split_team(job.tm, 0, -(int)job.rank);
    gex_Rank_t *members = conform_alloc(job.size * sizeof *members);
    gex_EP_Location_t *args = conform_alloc(job.size * sizeof *args);
    gex_Rank_t n = members_with(members, same_parity, 0);
    for (gex_Rank_t i = 0; i < n; i++)
        args[i] = (gex_EP_Location_t){members[i], 0};
    gex_TM_t tm = create_team(args, n, turned, GEX_FLAG_RANK_IS_JOBRANK);
    check_members(tm, members, n);
    exchange_stamps(tm, 30);
    destroy_team(tm);
    destroy_team(turned);
    free(args);
    free(members);
}

/* ---- TM-pairs and additional endpoints ---- */

static void pair_basic(void)
{
    gex_TM_t pair = gex_TM_Pair(job.ep, 0);
    CHECK(pair == gex_TM_Pair(job.ep, 0), "gex_TM_Pair gave another handle for the same arguments");
    CHECK(pair != job.tm && pair != GEX_TM_INVALID, "the TM-pair equals the team or is invalid");
    for (gex_Rank_t r = 0; r < job.size; r++) {
        uint64_t value = stamp_of(job.rank, 40), got = 0;
        gex_RMA_PutBlocking(pair, r, place_at(r), &value, sizeof value, 0);
        gex_RMA_GetBlocking(pair, &got, r, place_at(r), sizeof got, 0);
        CHECK(got == value, "rank %u has another value", r);
        void *owner;
        uintptr_t size;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, r, &owner, NULL, &size, 0));
        CHECK(owner == job.base[r] && size == CONFORM_SEGMENT,
              "the TM-pair names another segment of rank %u", r);
    }
}

#if GASNET_MAXEPS > 1

/* The endpoints and segments of this subtest. An endpoint cannot be destroyed. */
static struct {
    gex_EP_t ep[2];
    gex_Segment_t segment[2];
    unsigned char *own; /* memory of the first segment */
} extra;

static void make_endpoints(void)
{
    extra.own = conform_alloc(BYTES);
    for (int i = 0; i < 2; i++) {
        CHECK(gex_EP_Create(&extra.ep[i], job.client, GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_VIS,
                            0) == GASNET_OK,
              "gex_EP_Create failed for endpoint %d", i);
        CHECK(gex_EP_QueryIndex(extra.ep[i]) > 0 && gex_EP_QueryIndex(extra.ep[i]) < GASNET_MAXEPS,
              "endpoint %d has the index %u", i, gex_EP_QueryIndex(extra.ep[i]));
        CHECK(gex_EP_QuerySegment(extra.ep[i]) == GEX_SEGMENT_INVALID,
              "a new endpoint already has a segment");
        CHECK(gex_Segment_Create(&extra.segment[i], job.client, i ? NULL : extra.own, BYTES,
                                 GEX_MK_HOST, 0) == GASNET_OK,
              "gex_Segment_Create failed for segment %d", i);
        CHECK(gex_EP_BindSegment(extra.ep[i], extra.segment[i], 0) == GASNET_OK,
              "gex_EP_BindSegment failed");
        CHECK(gex_EP_QuerySegment(extra.ep[i]) == extra.segment[i],
              "the endpoint has another segment");
    }
    CHECK(gex_Segment_QueryAddr(extra.segment[0]) == extra.own, "the segment has another address");
    CHECK(gex_Segment_QuerySize(extra.segment[1]) >= BYTES,
          "the segment is smaller than requested");
}

/* Puts and gets every second one of 16 bytes. */
static void exchange_pieces(gex_TM_t pair, gex_Rank_t r, char *at)
{
    const ptrdiff_t apart = 2, dense = 1;
    const size_t count = 8;
    unsigned char bytes[8], got[8] = {0};

    conform_fill(bytes, sizeof bytes, r);
    gex_Event_Wait(gex_VIS_StridedPutNB(pair, r, at, &apart, bytes, &dense, 1, &count, 1, 0));
    gex_VIS_StridedGetBlocking(pair, got, &dense, r, at, &apart, 1, &count, 1, 0);
    CHECK_FILL(got, sizeof got, r, "the bytes that were put in pieces through an endpoint");
}

static void exchange_by_endpoint(int which, gex_EP_t from)
{
    gex_TM_t pair = gex_TM_Pair(from, gex_EP_QueryIndex(extra.ep[which]));
    for (gex_Rank_t r = 0; r < job.size; r++) {
        void *owner = NULL;
        uintptr_t size = 0;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, r, &owner, NULL, &size, 0));
        CHECK(owner && size >= BYTES, "rank %u has published %zu bytes", r, (size_t)size);
        char *at = (char *)owner + (size_t)job.rank * PLACE;
        uint64_t value = stamp_of(job.rank, 50 + (uint64_t)which), got = 0;
        gex_Event_Wait(gex_RMA_PutNB(pair, r, at, &value, sizeof value, GEX_EVENT_DEFER, 0));
        gex_RMA_GetBlocking(pair, &got, r, at, sizeof got, 0);
        CHECK(got == value, "endpoint %d of rank %u has another value", which, r);
        exchange_pieces(pair, r, at + PLACE / 2);
    }
    conform_barrier();
    unsigned char *mine = gex_Segment_QueryAddr(extra.segment[which]);
    for (gex_Rank_t r = 0; r < job.size; r++) {
        uint64_t got;
        memcpy(&got, mine + (size_t)r * PLACE, sizeof got);
        CHECK(got == stamp_of(r, 50 + (uint64_t)which), "rank %u wrote another value", r);
    }
    conform_barrier();
}

static void endpoint_rma(void)
{
    make_endpoints();
    CHECK(gex_EP_PublishBoundSegment(job.tm, extra.ep, 2, 0) == GASNET_OK,
          "gex_EP_PublishBoundSegment failed");
    conform_barrier();
    exchange_by_endpoint(0, job.ep);
    exchange_by_endpoint(1, job.ep);
    exchange_by_endpoint(1, extra.ep[0]);
    for (int i = 0; i < 2; i++)
        gex_Segment_Destroy(extra.segment[i], 0);
    free(extra.own);
}

/* Impossible requests fail with the error that the specification names. */
static void endpoint_limits(void)
{
    gex_EP_t ep = GEX_EP_INVALID;
    gex_Segment_t segment = GEX_SEGMENT_INVALID;
    gex_System_SetVerboseErrors(0);
    CHECK(gex_EP_Create(&ep, job.client, 0, 0) == GASNET_ERR_BAD_ARG,
          "an endpoint without capabilities must be refused");
    CHECK(gex_Segment_Create(&segment, job.client, NULL, 0, GEX_MK_HOST, 0) == GASNET_ERR_BAD_ARG,
          "a segment of 0 bytes must be refused");
    unsigned made = 0;
    while (made <= GASNET_MAXEPS &&
           gex_EP_Create(&ep, job.client, GEX_EP_CAPABILITY_RMA, 0) == GASNET_OK)
        made++;
    CHECK(made < GASNET_MAXEPS, "%u endpoints were created in addition to the first one", made);
    gex_System_SetVerboseErrors(1); /* one sentence */
    CHECK(gex_EP_Create(&ep, job.client, GEX_EP_CAPABILITY_RMA, 0) == GASNET_ERR_RESOURCE,
          "an endpoint above GASNET_MAXEPS must be refused");
}

#endif

const conform_test_t conform_team_tests[] = {
    {"split_colors", split_colors, "members by color; puts inside the team"},
    {"split_keys", split_keys, "order by key"},
    {"split_absent", split_absent, "a rank that passes NULL takes part, but gets no team"},
    {"split_nested", split_nested, "teams of teams"},
    {"split_many", split_many, "fifty teams one after the other"},
    {"split_scratch", split_scratch, "scratch space: recommended size, use, return"},
    {"create_list", create_list, "a team made from a list of members"},
    {"create_jobrank", create_jobrank, "members named by job rank"},
    {"pair_basic", pair_basic, "a TM-pair of primordial endpoints"},
#if GASNET_MAXEPS > 1
    {"endpoint_rma", endpoint_rma, "segments of additional endpoints"},
    {"endpoint_limits", endpoint_limits, "requests that are refused"},
#endif
    {NULL, NULL, NULL},
};
