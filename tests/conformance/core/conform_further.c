/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams of further endpoints: messages, puts and gets, atomics and collectives. */
#include <stdlib.h>
#include <string.h>

#include "../conform.h"

#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

enum { BYTES = 1 << 16, PLACE = 256, H_ASK = 130, H_ANSWER, H_MEDIUM, H_LONG };

/* The member of this process, with a segment of its own. */
static struct {
    gex_EP_t ep;
    gex_Segment_t segment;
    unsigned char *memory;
    uint64_t *index; /* of the endpoint of each rank */
    gex_TM_t tm;
} own;

static conform_count_t requests, replies, payloads;

static void check_endpoint(gex_Token_t token)
{
    gex_Token_Info_t info;
    (void)gex_Token_Info(token, &info, GEX_TI_EP);
    CHECK(info.gex_ep == own.ep, "the handler of another endpoint runs");
}

static void on_ask(gex_Token_t token, gex_AM_Arg_t value)
{
    check_endpoint(token);
    requests++;
    gex_AM_ReplyShort1(token, H_ANSWER, 0, value + 1);
}

static void on_answer(gex_Token_t token, gex_AM_Arg_t value)
{
    check_endpoint(token);
    CHECK(value == (gex_AM_Arg_t)job.rank + 1, "the answer is %d", value);
    replies++;
}

static void on_payload(gex_Token_t token, void *payload, size_t nbytes, gex_AM_Arg_t key)
{
    check_endpoint(token);
    CHECK_FILL(payload, nbytes, (uint64_t)key, "a payload");
    payloads++;
}

static gex_AM_Entry_t handlers[] = {
    {H_ASK, (gex_AM_Fn_t)on_ask, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "ask"},
    {H_ANSWER, (gex_AM_Fn_t)on_answer, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, NULL, "answer"},
    {H_MEDIUM, (gex_AM_Fn_t)on_payload, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, NULL, "med"},
    {H_LONG, (gex_AM_Fn_t)on_payload, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 1, NULL, "long"},
};

static void make_endpoint(gex_EP_t *ep)
{
    CHECK(gex_EP_Create(ep, job.client, GEX_EP_CAPABILITY_ALL, 0) == GASNET_OK,
          "gex_EP_Create must return GASNET_OK");
}

/* The endpoints of odd ranks have other indices than those of even ranks. Later subtests find as
 * many endpoints at each rank. */
static void make_own(void)
{
    gex_EP_t other;
    if (own.ep)
        return;
    make_endpoint(job.rank % 2 ? &other : &own.ep);
    make_endpoint(job.rank % 2 ? &own.ep : &other);
    CHECK(gex_EP_RegisterHandlers(own.ep, handlers, sizeof handlers / sizeof handlers[0]) ==
                  GASNET_OK &&
              gex_Segment_Create(&own.segment, job.client, NULL, BYTES, GEX_MK_HOST, 0) ==
                  GASNET_OK &&
              gex_EP_BindSegment(own.ep, own.segment, 0) == GASNET_OK &&
              gex_EP_PublishBoundSegment(job.tm, &own.ep, 1, 0) == GASNET_OK,
          "the endpoint must get handlers and a segment");
    own.memory = gex_Segment_QueryAddr(own.segment);
    own.index = conform_alloc(job.size * sizeof *own.index);
    conform_exchange(gex_EP_QueryIndex(own.ep), own.index);
}

static gex_TM_t create(const gex_EP_Location_t *members, size_t count)
{
    gex_TM_t tm = job.tm;
    gex_TM_Create(&tm, 1, job.tm, (gex_EP_Location_t *)(uintptr_t)members, count, NULL, 0,
                  GEX_FLAG_TM_NO_SCRATCH);
    return tm;
}

/* All ranks, the last one first. */
static gex_EP_Location_t *list_all(void)
{
    gex_EP_Location_t *list = conform_alloc(job.size * sizeof *list);
    for (gex_Rank_t r = 0; r < job.size; r++) {
        list[r].gex_rank = job.size - 1 - r;
        list[r].gex_ep_index = (gex_EP_Index_t)own.index[job.size - 1 - r];
    }
    return list;
}

static void open_team(void)
{
    make_own();
    gex_EP_Location_t *list = list_all();
    own.tm = create(list, job.size);
    CHECK(own.tm != GEX_TM_INVALID, "gex_TM_Create must make a team of further endpoints");
    free(list);
}

static void close_team(void)
{
    CHECK(gex_TM_Destroy(own.tm, NULL, 0) == 0, "there was no scratch space");
}

static unsigned char *place_of(gex_TM_t tm, gex_Rank_t member)
{
    void *base = NULL;
    uintptr_t size = 0;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, member, &base, NULL, &size, 0));
    CHECK(base && size >= BYTES, "the segment of member %u has %zu bytes", member, (size_t)size);
    return (unsigned char *)base + (size_t)job.rank * PLACE;
}

/* ---- the subtests ---- */

static void further_ranks(void)
{
    open_team();
    CHECK(gex_TM_QueryEP(own.tm) == own.ep && gex_TM_QuerySize(own.tm) == job.size &&
              gex_TM_QueryRank(own.tm) == job.size - 1 - job.rank,
          "the team has another endpoint, size or rank");
    for (gex_Rank_t r = 0; r < job.size; r++) {
        const gex_Rank_t jobrank = job.size - 1 - r;
        const gex_EP_Location_t where = gex_TM_TranslateRankToEP(own.tm, r, 0);
        CHECK(where.gex_rank == jobrank && where.gex_ep_index == own.index[jobrank],
              "member %u is endpoint %u of rank %u", r, where.gex_ep_index, where.gex_rank);
        CHECK(gex_TM_TranslateJobrankToRank(own.tm, jobrank) == r, "job rank %u", jobrank);
    }
    close_team();
}

static void further_messages(void)
{
    unsigned char bytes[PLACE];
    requests = replies = payloads = 0;
    open_team();
    for (gex_Rank_t r = 0; r < job.size; r++) {
        conform_fill(bytes, sizeof bytes, job.rank);
        gex_AM_RequestShort1(own.tm, r, H_ASK, 0, (gex_AM_Arg_t)job.rank);
        gex_AM_RequestMedium1(own.tm, r, H_MEDIUM, bytes, 100, GEX_EVENT_NOW, 0,
                              (gex_AM_Arg_t)job.rank);
        gex_AM_RequestLong1(own.tm, r, H_LONG, bytes, sizeof bytes, place_of(own.tm, r),
                            GEX_EVENT_NOW, 0, (gex_AM_Arg_t)job.rank);
        gex_AM_SrcDesc_t sd =
            gex_AM_PrepareRequestMedium(own.tm, r, NULL, PLACE, PLACE, NULL, 0, 1);
        conform_fill(gex_AM_SrcDescAddr(sd), PLACE, job.rank);
        gex_AM_CommitRequestMedium1(sd, H_MEDIUM, PLACE, (gex_AM_Arg_t)job.rank);
    }
    GASNET_BLOCKUNTIL(replies == job.size && requests == job.size && payloads == 3 * job.size);
    close_team();
}

static void put_and_get(gex_TM_t tm, gex_Rank_t r, uint64_t key)
{
    unsigned char *there = place_of(tm, r);
    unsigned char bytes[PLACE], got[PLACE];
    const ptrdiff_t apart = 2, dense = 1;
    const size_t count = PLACE / 2;

    conform_fill(bytes, PLACE, key);
    gex_RMA_PutBlocking(tm, r, there, bytes, PLACE, 0);
    gex_RMA_GetBlocking(tm, got, r, there, PLACE, 0);
    CHECK_FILL(got, PLACE, key, "a blocking get");
    conform_fill(bytes, PLACE, key + 1);
    gex_Event_Wait(gex_RMA_PutNB(tm, r, there, bytes, PLACE, GEX_EVENT_DEFER, 0));
    gex_RMA_GetNBI(tm, got, r, there, PLACE, 0);
    gex_NBI_Wait(GEX_EC_ALL, 0);
    CHECK_FILL(got, PLACE, key + 1, "an implicit get");
    conform_fill(bytes, count, key + 2);
    gex_VIS_StridedPutBlocking(tm, r, there, &apart, bytes, &dense, 1, &count, 1, 0);
    gex_VIS_StridedGetBlocking(tm, got, &dense, r, there, &apart, 1, &count, 1, 0);
    CHECK_FILL(got, count, key + 2, "a strided get");
    gex_RMA_PutBlocking(tm, r, there, &key, sizeof key, 0);
}

static void further_rma(void)
{
    open_team();
    for (gex_Rank_t r = 0; r < job.size; r++)
        put_and_get(own.tm, r, conform_mix(job.rank, r, 5));
    gex_Event_Wait(gex_Coll_BarrierNB(own.tm, 0));
    for (gex_Rank_t writer = 0; writer < job.size; writer++) {
        uint64_t got;
        memcpy(&got, own.memory + (size_t)writer * PLACE, sizeof got);
        CHECK(got == conform_mix(writer, gex_TM_QueryRank(own.tm), 5),
              "rank %u has put another value", writer);
    }
    close_team();
}

static void further_collectives(void)
{
    open_team();
    const gex_Rank_t me = gex_TM_QueryRank(own.tm);
    uint64_t value = me == 1 % job.size ? 4711 : 0, mine = me + 1, sum = 0;
    gex_Event_Wait(gex_Coll_BroadcastNB(own.tm, 1 % job.size, &value, &value, sizeof value, 0));
    CHECK(value == 4711, "the broadcast has brought %llu", (unsigned long long)value);
    gex_Event_Wait(gex_Coll_ReduceToAllNB(own.tm, &sum, &mine, GEX_DT_U64, sizeof mine, 1,
                                          GEX_OP_ADD, NULL, NULL, 0));
    CHECK(sum == (uint64_t)job.size * (job.size + 1) / 2, "the sum is %llu",
          (unsigned long long)sum);
    for (int i = 0; i < 20; i++)
        gex_Event_Wait(gex_Coll_BarrierNB(own.tm, 0));
    close_team();
}

/* A part of the team, which has the endpoints of the whole. */
static void further_split(void)
{
    open_team();
    gex_TM_t part = GEX_TM_INVALID;
    gex_TM_Split(&part, own.tm, (int)(job.rank % 2), (int)job.rank, NULL, 0,
                 GEX_FLAG_TM_NO_SCRATCH);
    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(part); r++) {
        const gex_EP_Location_t where = gex_TM_TranslateRankToEP(part, r, 0);
        CHECK(where.gex_rank == 2 * r + job.rank % 2 &&
                  where.gex_ep_index == own.index[where.gex_rank],
              "member %u is endpoint %u of rank %u", r, where.gex_ep_index, where.gex_rank);
        put_and_get(part, r, conform_mix(job.rank, r, 6));
    }
    gex_TM_Destroy(part, NULL, 0);
    close_team();
}

/* The first member comes with its primordial endpoint. */
static void further_mixed(void)
{
    make_own();
    gex_EP_Location_t *list = list_all();
    list[job.size - 1].gex_ep_index = 0;
    const gex_TM_t tm = create(list, job.size);
    CHECK(gex_TM_QueryEP(tm) == (job.rank ? own.ep : job.ep), "the team has another endpoint");
    for (gex_Rank_t r = 0; r + 1 < job.size; r++)
        put_and_get(tm, r, conform_mix(job.rank, r, 7));
    gex_RMA_PutBlocking(tm, job.size - 1, job.base[0] + CONFORM_INBOX + 8 * (size_t)job.rank,
                        &list[0], sizeof(uint32_t), 0);
    gex_TM_Destroy(tm, NULL, 0);
    free(list);
}

/* ---- atomics ---- */

/* Operations on each member, of which the processor has some, and networks others. */
static void further_atomics(void)
{
    gex_AD_t integers, reals;
    open_team();
    memset(own.memory, 0, PLACE);
    conform_barrier();
    gex_AD_Create(&integers, own.tm, GEX_DT_U64, GEX_OP_ADD | GEX_OP_FADD | GEX_OP_GET, 0);
    gex_AD_Create(&reals, own.tm, GEX_DT_DBL, GEX_OP_ADD | GEX_OP_FMULT, 0);
    for (gex_Rank_t r = 0; r < job.size; r++) {
        unsigned char *at = place_of(own.tm, r) - (size_t)job.rank * PLACE;
        const gex_Rank_t jobrank = gex_TM_TranslateRankToJobrank(own.tm, r);
        uint64_t old;
        double before;
        gex_Event_Wait(gex_AD_OpNB_U64(integers, NULL, r, at, GEX_OP_ADD, 1, 0, 0));
        gex_AD_OpNBI_U64(integers, &old, jobrank, at, GEX_OP_FADD, 1, 0, GEX_FLAG_RANK_IS_JOBRANK);
        gex_NBI_Wait(GEX_EC_ALL, 0);
        CHECK(old < 2 * job.size, "the old value is %llu", (unsigned long long)old);
        gex_Event_Wait(gex_AD_OpNB_DBL(reals, NULL, r, at + 8, GEX_OP_ADD, 0.25, 0, 0));
        gex_Event_Wait(gex_AD_OpNB_DBL(reals, &before, r, at + 8, GEX_OP_FMULT, 1, 0, 0));
        CHECK(before >= 0.25 && before <= 0.25 * job.size, "the old value is %g", before);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(own.tm, 0));
    uint64_t count;
    double sum;
    memcpy(&count, own.memory, sizeof count);
    memcpy(&sum, own.memory + 8, sizeof sum);
    CHECK(count == 2 * (uint64_t)job.size && sum == 0.25 * job.size, "the values are %llu and %g",
          (unsigned long long)count, sum);
    gex_AD_Destroy(reals);
    gex_AD_Destroy(integers);
    close_team();
}

/* Teams of an endpoint that rank 0 never made: no rank gets one, and the job goes on. */
static void further_absent(void)
{
    make_own();
    gex_EP_Location_t *list = list_all();
    list[job.size - 1].gex_ep_index = GASNET_MAXEPS - 1;
    gex_System_SetVerboseErrors(0);
    for (int i = 0; i < 100; i++)
        CHECK(create(list, job.size) == GEX_TM_INVALID, "a team has an endpoint that never was");
    gex_System_SetVerboseErrors(1);
    free(list);
    further_messages();
}

const conform_test_t conform_further_tests[] = {
    {"further_ranks", further_ranks, "members of a team of further endpoints"},
    {"further_messages", further_messages, "messages over a team of further endpoints"},
    {"further_rma", further_rma, "puts and gets over a team of further endpoints"},
    {"further_collectives", further_collectives, "collectives over a team of further endpoints"},
    {"further_split", further_split, "parts of a team of further endpoints"},
    {"further_mixed", further_mixed, "a team of primordial and further endpoints"},
    {"further_atomics", further_atomics, "atomics over a team of further endpoints"},
    {"further_absent", further_absent, "an endpoint that was never made is refused everywhere"},
    {NULL, NULL, NULL},
};
