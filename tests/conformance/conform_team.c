/*
 * Teams other than the primordial one, pairs, and further endpoints with segments of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

#include <gasnet_vis.h>

enum { BYTES = 4096, PLACE = 64 };

/* A place in the inbox of each rank that this rank alone writes to. */
static void *place_at(gex_Rank_t owner)
{
    return job.base[owner] + CONFORM_INBOX + (size_t)job.rank * PLACE;
}

static uint64_t stamp(gex_Rank_t writer, uint64_t round)
{
    return conform_mix(writer, round, 0x7ea);
}

static gex_TM_t split(gex_TM_t parent, int color, int key)
{
    gex_TM_t tm = GEX_TM_INVALID;
    gex_TM_Split(&tm, parent, color, key, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    CHECK(tm != GEX_TM_INVALID, "split gave no team");
    return tm;
}

static void barrier_of(gex_TM_t tm)
{
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
}

/* The members of a team are these job ranks, in this order. */
static void check_members(gex_TM_t tm, const gex_Rank_t *members, gex_Rank_t size)
{
    CHECK(gex_TM_QuerySize(tm) == size, "size %u, not %u", gex_TM_QuerySize(tm), size);
    for (gex_Rank_t r = 0; r < size; r++) {
        gex_Rank_t got = gex_TM_TranslateRankToJobrank(tm, r);
        CHECK(got == members[r], "rank %u is job rank %u, not %u", r, got, members[r]);
        CHECK(gex_TM_TranslateJobrankToRank(tm, got) == r, "job rank %u does not lead back", got);
        gex_EP_Location_t where = gex_TM_TranslateRankToEP(tm, r, 0);
        CHECK(where.gex_rank == got && where.gex_ep_index == 0, "another endpoint: %u of rank %u",
              where.gex_ep_index, where.gex_rank);
        if (got == job.rank)
            CHECK(gex_TM_QueryRank(tm) == r, "my rank is %u, not %u", gex_TM_QueryRank(tm), r);
    }
}

/* Every member writes to every other by its rank in the team, and then reads what it was told. */
static void talk(gex_TM_t tm, uint64_t round)
{
    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(tm); r++) {
        uint64_t value = stamp(job.rank, round);
        gex_RMA_PutBlocking(tm, r, place_at(gex_TM_TranslateRankToJobrank(tm, r)), &value,
                            sizeof value, 0);
    }
    barrier_of(tm);
    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(tm); r++) {
        gex_Rank_t writer = gex_TM_TranslateRankToJobrank(tm, r);
        uint64_t got;
        memcpy(&got, job.base[job.rank] + CONFORM_INBOX + (size_t)writer * PLACE, sizeof got);
        CHECK(got == stamp(writer, round), "rank %u wrote something else", writer);
    }
    barrier_of(tm);
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

static int anyone(gex_Rank_t r)
{
    (void)r;
    return 1;
}

static int not_first(gex_Rank_t r)
{
    return r != 0;
}

static void destroy(gex_TM_t tm)
{
    CHECK(gex_TM_Destroy(tm, NULL, 0) == 0, "scratch space that was never given came back");
}

static void split_colors(void)
{
    gex_Rank_t *members = conform_alloc(job.size * sizeof *members);
    gex_TM_t tm = split(job.tm, (int)(job.rank % 2), 7);
    check_members(tm, members, members_with(members, same_parity, 0));
    CHECK(gex_TM_QueryEP(tm) == job.ep && gex_TM_QueryClient(tm) == job.client, "another owner");
    CHECK(gex_TM_QueryCData(tm) == NULL, "client data of a new team is not NULL");
    gex_TM_SetCData(tm, members);
    CHECK(gex_TM_QueryCData(tm) == members, "client data got lost");
    talk(tm, 1);
    destroy(tm);
    free(members);
}

static void split_keys(void)
{
    gex_Rank_t *members = conform_alloc(job.size * sizeof *members);
    gex_TM_t tm = split(job.tm, 0, -(int)job.rank);
    check_members(tm, members, members_with(members, anyone, 1));
    talk(tm, 2);
    destroy(tm);
    free(members);
}

/* A member that passes NULL takes part in the call and gets no team. */
static void split_absent(void)
{
    gex_Rank_t *members = conform_alloc(job.size * sizeof *members);
    gex_TM_t tm = GEX_TM_INVALID;
    gex_TM_Split(job.rank ? &tm : NULL, job.tm, 3, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    if (job.rank) {
        check_members(tm, members, members_with(members, not_first, 0));
        talk(tm, 3);
        destroy(tm);
    }
    free(members);
}

/* Teams of teams, down to single members; several alive at once. */
static void split_nested(void)
{
    gex_TM_t level[16] = {job.tm};
    int depth = 0;
    while (gex_TM_QuerySize(level[depth]) > 1) {
        gex_TM_t parent = level[depth];
        int half = gex_TM_QueryRank(parent) >= (gex_TM_QuerySize(parent) + 1) / 2;
        level[++depth] = split(parent, half, (int)gex_TM_QueryRank(parent));
    }
    for (int i = 0; i <= depth; i++)
        talk(level[i], 4 + (uint64_t)i);
    while (depth > 0)
        destroy(level[depth--]);
}

/* Members go ahead of each other: some are in the next team while others still split. */
static void split_many(void)
{
    for (int i = 0; i < 50; i++) {
        gex_TM_t tm = split(job.tm, (int)((job.rank + (unsigned)i) % 3), i);
        barrier_of(tm);
        if (i % 2)
            barrier_of(tm);
        destroy(tm);
    }
}

static void split_scratch(void)
{
    gex_TM_t tm;
    size_t size = gex_TM_Split(&tm, job.tm, 0, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED);
    CHECK(size > 0 && size <= CONFORM_OUTBOX, "recommended are %zu bytes", size);
    CHECK(gex_TM_Split(NULL, job.tm, 0, 0, NULL, 0, GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED) == 0,
          "who wants no team needs scratch space");
    gex_TM_Split(&tm, job.tm, 0, 0, job.outbox, size, 0);
    talk(tm, 20);
    gex_Memvec_t back = {NULL, 0};
    CHECK(gex_TM_Destroy(tm, &back, 0) != 0, "scratch space was given, and none came back");
    CHECK(back.gex_addr == job.outbox && back.gex_len == size, "other scratch space: %p, %zu",
          back.gex_addr, back.gex_len);
}

/* ---- create ---- */

static gex_TM_t create(gex_EP_Location_t *args, gex_Rank_t n, gex_TM_t parent, gex_Flags_t flags)
{
    gex_TM_t tm = GEX_TM_INVALID;
    gex_TM_Create(&tm, n ? 1 : 0, parent, args, n, NULL, 0, flags | GEX_FLAG_TM_NO_SCRATCH);
    CHECK((tm != GEX_TM_INVALID) == (n != 0), "%u members: there is a team, or none", n);
    return tm;
}

/* The other members of a list in any order; rank 0 stays outside. */
static void create_list(void)
{
    gex_Rank_t *members = conform_alloc(job.size * sizeof *members);
    gex_EP_Location_t *args = conform_alloc(job.size * sizeof *args);
    gex_Rank_t n = members_with(members, not_first, 1);
    for (gex_Rank_t i = 0; i < n; i++)
        args[i] = (gex_EP_Location_t){members[i], 0};
    gex_TM_t tm = create(args, job.rank ? n : 0, job.tm, 0);
    if (job.rank) {
        check_members(tm, members, n);
        barrier_of(tm);
        destroy(tm);
    }
    free(args);
    free(members);
}

/* Members of a parent in another order are named by job rank. */
static void create_jobrank(void)
{
    gex_TM_t turned = split(job.tm, 0, -(int)job.rank);
    gex_Rank_t *members = conform_alloc(job.size * sizeof *members);
    gex_EP_Location_t *args = conform_alloc(job.size * sizeof *args);
    gex_Rank_t n = members_with(members, same_parity, 0);
    for (gex_Rank_t i = 0; i < n; i++)
        args[i] = (gex_EP_Location_t){members[i], 0};
    gex_TM_t tm = create(args, n, turned, GEX_FLAG_RANK_IS_JOBRANK);
    check_members(tm, members, n);
    talk(tm, 30);
    destroy(tm);
    destroy(turned);
    free(args);
    free(members);
}

/* ---- pairs and further endpoints ---- */

static void pair_basic(void)
{
    gex_TM_t pair = gex_TM_Pair(job.ep, 0);
    CHECK(pair == gex_TM_Pair(job.ep, 0), "the same arguments gave another handle");
    CHECK(pair != job.tm && pair != GEX_TM_INVALID, "a pair is the team");
    for (gex_Rank_t r = 0; r < job.size; r++) {
        uint64_t value = stamp(job.rank, 40), got = 0;
        gex_RMA_PutBlocking(pair, r, place_at(r), &value, sizeof value, 0);
        gex_RMA_GetBlocking(pair, &got, r, place_at(r), sizeof got, 0);
        CHECK(got == value, "rank %u kept something else", r);
        void *owner;
        uintptr_t size;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, r, &owner, NULL, &size, 0));
        CHECK(owner == job.base[r] && size == CONFORM_SEGMENT, "another segment of rank %u", r);
    }
}

#if GASNET_MAXEPS > 1

/* Endpoints and segments of this subtest; an endpoint cannot be destroyed. */
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
              "endpoint %d was not made", i);
        CHECK(gex_EP_QueryIndex(extra.ep[i]) > 0 && gex_EP_QueryIndex(extra.ep[i]) < GASNET_MAXEPS,
              "endpoint %d has the index %u", i, gex_EP_QueryIndex(extra.ep[i]));
        CHECK(gex_EP_QuerySegment(extra.ep[i]) == GEX_SEGMENT_INVALID, "a new endpoint is bound");
        CHECK(gex_Segment_Create(&extra.segment[i], job.client, i ? NULL : extra.own, BYTES,
                                 GEX_MK_HOST, 0) == GASNET_OK,
              "segment %d was not made", i);
        CHECK(gex_EP_BindSegment(extra.ep[i], extra.segment[i], 0) == GASNET_OK, "not bound");
        CHECK(gex_EP_QuerySegment(extra.ep[i]) == extra.segment[i], "bound to something else");
    }
    CHECK(gex_Segment_QueryAddr(extra.segment[0]) == extra.own, "another address");
    CHECK(gex_Segment_QuerySize(extra.segment[1]) >= BYTES, "less than was asked for");
}

/* Every second of 16 bytes, put and got. */
static void talk_in_pieces(gex_TM_t pair, gex_Rank_t r, char *at)
{
    const ptrdiff_t apart = 2, dense = 1;
    const size_t count = 8;
    unsigned char bytes[8], got[8] = {0};

    conform_fill(bytes, sizeof bytes, r);
    gex_Event_Wait(gex_VIS_StridedPutNB(pair, r, at, &apart, bytes, &dense, 1, &count, 1, 0));
    gex_VIS_StridedGetBlocking(pair, got, &dense, r, at, &apart, 1, &count, 1, 0);
    CHECK_FILL(got, sizeof got, r, "what was put in pieces through an endpoint");
}

static void talk_to_endpoint(int which, gex_EP_t from)
{
    gex_TM_t pair = gex_TM_Pair(from, gex_EP_QueryIndex(extra.ep[which]));
    for (gex_Rank_t r = 0; r < job.size; r++) {
        void *owner = NULL;
        uintptr_t size = 0;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, r, &owner, NULL, &size, 0));
        CHECK(owner && size >= BYTES, "rank %u has published %zu bytes", r, (size_t)size);
        char *at = (char *)owner + (size_t)job.rank * PLACE;
        uint64_t value = stamp(job.rank, 50 + (uint64_t)which), got = 0;
        gex_Event_Wait(gex_RMA_PutNB(pair, r, at, &value, sizeof value, GEX_EVENT_DEFER, 0));
        gex_RMA_GetBlocking(pair, &got, r, at, sizeof got, 0);
        CHECK(got == value, "endpoint %d of rank %u kept something else", which, r);
        talk_in_pieces(pair, r, at + PLACE / 2);
    }
    conform_barrier();
    unsigned char *mine = gex_Segment_QueryAddr(extra.segment[which]);
    for (gex_Rank_t r = 0; r < job.size; r++) {
        uint64_t got;
        memcpy(&got, mine + (size_t)r * PLACE, sizeof got);
        CHECK(got == stamp(r, 50 + (uint64_t)which), "rank %u wrote something else", r);
    }
    conform_barrier();
}

static void endpoint_rma(void)
{
    make_endpoints();
    CHECK(gex_EP_PublishBoundSegment(job.tm, extra.ep, 2, 0) == GASNET_OK, "not published");
    conform_barrier();
    talk_to_endpoint(0, job.ep);
    talk_to_endpoint(1, job.ep);
    talk_to_endpoint(1, extra.ep[0]);
    for (int i = 0; i < 2; i++)
        gex_Segment_Destroy(extra.segment[i], 0);
    free(extra.own);
}

/* What cannot be done is refused with the error that the specification names. */
static void endpoint_limits(void)
{
    gex_EP_t ep = GEX_EP_INVALID;
    gex_Segment_t segment = GEX_SEGMENT_INVALID;
    gex_System_SetVerboseErrors(0);
    CHECK(gex_EP_Create(&ep, job.client, 0, 0) == GASNET_ERR_BAD_ARG, "an endpoint for nothing");
    CHECK(gex_Segment_Create(&segment, job.client, NULL, 0, GEX_MK_HOST, 0) == GASNET_ERR_BAD_ARG,
          "a segment of no bytes");
    unsigned made = 0;
    while (made <= GASNET_MAXEPS &&
           gex_EP_Create(&ep, job.client, GEX_EP_CAPABILITY_RMA, 0) == GASNET_OK)
        made++;
    CHECK(made < GASNET_MAXEPS, "%u endpoints beside the first one", made);
    CHECK(gex_EP_Create(&ep, job.client, GEX_EP_CAPABILITY_RMA, 0) == GASNET_ERR_RESOURCE,
          "one more than GASNET_MAXEPS");
    gex_System_SetVerboseErrors(1);
}

#endif

const conform_test_t conform_team_tests[] = {
    {"split_colors", split_colors, "members by color; puts inside the team"},
    {"split_keys", split_keys, "order by key"},
    {"split_absent", split_absent, "NULL: takes part, gets no team"},
    {"split_nested", split_nested, "teams of teams"},
    {"split_many", split_many, "fifty teams one after the other"},
    {"split_scratch", split_scratch, "scratch space: asked for, given, given back"},
    {"create_list", create_list, "a team of a list of members"},
    {"create_jobrank", create_jobrank, "members named by job rank"},
    {"pair_basic", pair_basic, "a pair of primordial endpoints"},
#if GASNET_MAXEPS > 1
    {"endpoint_rma", endpoint_rma, "segments of further endpoints"},
    {"endpoint_limits", endpoint_limits, "what is refused"},
#endif
    {NULL, NULL, NULL},
};
