/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several threads make collective calls at the same time. Each thread uses its own teams, which no
 * other thread of its process uses, and makes its calls in the same order on every rank.
 */
#include "../conform.h"

#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <stdlib.h>
#include <string.h>

#ifdef GASNET_PAR

enum {
    THREADS_MAX = 4,
    SPLITS = 100,
    ROUNDS = 8,
    WITNESS_BYTES = 64,
    PENDING = 6,     /* operations of each kind pending in a team */
    LARGE = 100000,  /* bytes that are sent only when the receiver is ready */
    SHARED = 12000,  /* elements, so many that an all-reduce divides them among the ranks */
    SEGMENT = 16384, /* bytes, of an additional endpoint */
};

static gex_TM_t parents[THREADS_MAX];

static int thread_count(void)
{
    return job.threads < 2 ? 2 : job.threads < THREADS_MAX ? job.threads : THREADS_MAX;
}

static gex_TM_t split_team(gex_TM_t parent, int color, int key)
{
    gex_TM_t tm = GEX_TM_INVALID;

    gex_TM_Split(&tm, parent, color, key, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    CHECK(tm != GEX_TM_INVALID, "gex_TM_Split gave no team");
    return tm;
}

static void destroy_team(gex_TM_t tm)
{
    CHECK(gex_TM_Destroy(tm, NULL, 0) == 0,
          "gex_TM_Destroy returned scratch space, but none was given");
}

/* All teams have the same members, but each has a different rank 0. */
static void make_parents(void)
{
    for (int t = 0; t < thread_count(); t++)
        parents[t] = split_team(job.tm, 0, (int)((job.rank + (gex_Rank_t)t) % job.size));
}

static void destroy_parents(void)
{
    for (int t = 0; t < thread_count(); t++)
        destroy_team(parents[t]);
}

/* ---- checks of one team ---- */

static void check_sum(gex_TM_t tm, int me, uint64_t round)
{
    uint64_t mine = conform_mix(job.rank, (uint64_t)me, round), sum = 0, expected = 0;

    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(tm); r++)
        expected += conform_mix(gex_TM_TranslateRankToJobrank(tm, r), (uint64_t)me, round);
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(tm, &sum, &mine, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
    CHECK(sum == expected, "thread %d, round %llu: the sum of a team of %u is wrong", me,
          (unsigned long long)round, gex_TM_QuerySize(tm));
}

static void check_broadcast(gex_TM_t tm, int me, uint64_t round, size_t bytes)
{
    const gex_Rank_t root = (gex_Rank_t)(round % gex_TM_QuerySize(tm));
    const gex_Rank_t sender = gex_TM_TranslateRankToJobrank(tm, root);
    unsigned char *data = conform_alloc(bytes);

    if (gex_TM_QueryRank(tm) == root)
        conform_fill(data, bytes, conform_mix(sender, (uint64_t)me, round));
    gex_Event_Wait(gex_Coll_BroadcastNB(tm, root, data, data, bytes, 0));
    CHECK_FILL(data, bytes, conform_mix(sender, (uint64_t)me, round), "the broadcast of a team");
    free(data);
}

/* The word in the inbox of `owner` that thread `me` of job rank `writer` writes. */
static uint64_t *witness_of(gex_Rank_t owner, gex_Rank_t writer, int me)
{
    const size_t place = (size_t)writer * THREADS_MAX + (size_t)me;

    return (uint64_t *)(void *)(job.base[owner] + CONFORM_INBOX + place * WITNESS_BYTES);
}

/* No thread may leave a barrier before all members of its team have entered. Threads of other teams
 * do not count. */
static void check_barrier(gex_TM_t tm, int me, uint64_t round)
{
    const uint64_t mine = conform_mix(job.rank, (uint64_t)me, round);

    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(tm); r++) {
        const gex_Rank_t member = gex_TM_TranslateRankToJobrank(tm, r);

        gex_RMA_PutBlocking(tm, r, witness_of(member, job.rank, me), &mine, sizeof(mine), 0);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(tm); r++) {
        const gex_Rank_t writer = gex_TM_TranslateRankToJobrank(tm, r);

        CHECK(*witness_of(job.rank, writer, me) == conform_mix(writer, (uint64_t)me, round),
              "thread %d, round %llu: rank %u has not entered the barrier of its team", me,
              (unsigned long long)round, writer);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
}

/* ---- splits ---- */

/* Splits off all members in even rounds and one of two halves in odd ones; the halves change from
 * round to round. */
static void *split_body(void *arg)
{
    const int me = *(int *)arg;

    for (uint64_t round = 0; round < SPLITS; round++) {
        const int color = round % 2 ? (int)((job.rank + round / 2) % 2) : 0;
        gex_TM_t tm = split_team(parents[me], color, (int)round);

        check_sum(tm, me, round);
        if (round % 4 == (uint64_t)me)
            check_barrier(tm, me, round);
        check_broadcast(tm, me, round, 100);
        destroy_team(tm);
    }
    return NULL;
}

static void test_split(void)
{
    make_parents();
    conform_in_threads(thread_count(), split_body);
    destroy_parents();
}

/* ---- gex_Segment_Attach ---- */

static void *attach_body(void *arg)
{
    const int me = *(int *)arg;

    if (me == 0) {
        const int err = gex_Segment_Attach(&job.segment, job.tm, CONFORM_SEGMENT);

        CHECK(err == GASNET_OK, "gex_Segment_Attach must return GASNET_OK, but returned %d", err);
        return NULL;
    }
    for (uint64_t round = 0; round < SPLITS; round++) {
        gex_TM_t tm = split_team(parents[me], (int)((job.rank + round) % 2), (int)round);

        check_sum(parents[me], me, round);
        check_broadcast(tm, me, round, LARGE);
        destroy_team(tm);
    }
    return NULL;
}

void conform_attach_beside(void)
{
    job.threads = THREADS_MAX;
    make_parents();
    conform_in_threads(THREADS_MAX, attach_body);
    destroy_parents();
}

/* ---- every collective call ---- */

static void *allocate_sums(size_t count, gex_TM_t tm, int me, uint64_t round, uint32_t *expected)
{
    uint32_t *mine = conform_alloc(count * sizeof(*mine));

    for (size_t i = 0; i < count; i++) {
        mine[i] = (uint32_t)conform_mix(job.rank, (uint64_t)me + i, round);
        expected[i] = 0;
        for (gex_Rank_t r = 0; r < gex_TM_QuerySize(tm); r++)
            expected[i] += (uint32_t)conform_mix(gex_TM_TranslateRankToJobrank(tm, r),
                                                 (uint64_t)me + i, round);
    }
    return mine;
}

static void check_large_sum(gex_TM_t tm, int me, uint64_t round)
{
    uint32_t *expected = conform_alloc(SHARED * sizeof(*expected));
    uint32_t *sums = allocate_sums(SHARED, tm, me, round, expected);

    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(tm, sums, sums, GEX_DT_U32, 4, SHARED, GEX_OP_ADD, NULL, NULL, 0));
    CHECK(memcmp(sums, expected, SHARED * sizeof(*sums)) == 0,
          "thread %d, round %llu: the sums of a large reduction are wrong", me,
          (unsigned long long)round);
    free(sums);
    free(expected);
}

/* Concatenation of decimal digits does not commute. */
static void join_digits(const void *left, void *right, size_t count, const void *cdata)
{
    const uint64_t *a = left;
    uint64_t *b = right;

    for (size_t i = 0; i < count; i++) {
        uint64_t weight = 1;

        while (weight <= b[i])
            weight *= *(const uint64_t *)cdata;
        b[i] += a[i] * weight;
    }
}

static void check_in_order(gex_TM_t tm, int me, uint64_t round)
{
    static uint64_t base = 10;
    const gex_Rank_t root = (gex_Rank_t)((round + (uint64_t)me) % gex_TM_QuerySize(tm));
    uint64_t mine = gex_TM_QueryRank(tm) % 9 + 1, joined = 0, expected = 0;

    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(tm) && r < 16; r++)
        expected = expected * 10 + r % 9 + 1;
    if (gex_TM_QuerySize(tm) > 16)
        return;
    gex_Event_Wait(gex_Coll_ReduceToOneNB(tm, root, &joined, &mine, GEX_DT_USER, 8, 1,
                                          GEX_OP_USER_NC, join_digits, &base, 0));
    CHECK(gex_TM_QueryRank(tm) != root || joined == expected,
          "thread %d, round %llu: the digits of a team were joined to %llu", me,
          (unsigned long long)round, (unsigned long long)joined);
}

typedef struct {
    gex_Event_t events[3 * PENDING];
    unsigned char broadcast[PENDING][64];
    uint64_t mine[PENDING], sum[PENDING];
} pending_t;

/* Initiates barriers, broadcasts and reductions of a team, all pending at the same time. */
static void initiate_all(gex_TM_t tm, int me, uint64_t round, pending_t *p)
{
    for (unsigned i = 0; i < PENDING; i++) {
        const gex_Rank_t root = (gex_Rank_t)(i % gex_TM_QuerySize(tm));

        if (gex_TM_QueryRank(tm) == root)
            conform_fill(p->broadcast[i], sizeof(p->broadcast[i]), conform_mix(i, me, round));
        p->mine[i] = conform_mix(gex_TM_QueryRank(tm), i, (uint64_t)me);
        p->events[3 * i] = gex_Coll_BroadcastNB(tm, root, p->broadcast[i], p->broadcast[i],
                                                sizeof(p->broadcast[i]), 0);
        p->events[3 * i + 1] = gex_Coll_ReduceToAllNB(tm, &p->sum[i], &p->mine[i], GEX_DT_U64, 8, 1,
                                                      GEX_OP_XOR, NULL, NULL, 0);
        p->events[3 * i + 2] = gex_Coll_BarrierNB(tm, 0);
    }
}

static void complete_all(gex_TM_t tm, int me, uint64_t round, pending_t *p)
{
    gex_Event_WaitAll(p->events, 3 * PENDING, 0);
    for (unsigned i = 0; i < PENDING; i++) {
        uint64_t expected = 0;

        for (gex_Rank_t r = 0; r < gex_TM_QuerySize(tm); r++)
            expected ^= conform_mix(r, i, (uint64_t)me);
        CHECK_FILL(p->broadcast[i], sizeof(p->broadcast[i]), conform_mix(i, me, round),
                   "one of several broadcasts");
        CHECK(p->sum[i] == expected, "thread %d: reduction %u of several has a wrong result", me,
              i);
    }
}

static void check_pending(const gex_TM_t *tms, int count, int me, uint64_t round)
{
    pending_t *pending = conform_alloc((size_t)count * sizeof(*pending));

    for (int i = 0; i < count; i++)
        initiate_all(tms[i], me, round, &pending[i]);
    for (int i = count; i-- > 0;)
        complete_all(tms[i], me, round, &pending[i]);
    free(pending);
}

/* All members add to one word at rank 0 of the team. */
static void check_atomics(gex_TM_t tm, int me)
{
    const gex_Rank_t owner = gex_TM_TranslateRankToJobrank(tm, 0);
    uint64_t *word = witness_of(owner, job.size, me), got = 0;
    const uint64_t expected = (uint64_t)gex_TM_QuerySize(tm) * PENDING;
    gex_AD_t ad = GEX_AD_INVALID;

    if (gex_TM_QueryRank(tm) == 0)
        __atomic_store_n(word, 0, __ATOMIC_RELEASE);
    gex_AD_Create(&ad, tm, GEX_DT_U64, GEX_OP_ADD | GEX_OP_GET, 0);
    CHECK(gex_AD_QueryTM(ad) == tm, "the atomic domain belongs to another team");
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    for (int i = 0; i < PENDING; i++)
        gex_AD_OpNBI_U64(ad, NULL, 0, word, GEX_OP_ADD, 1, 0, 0);
    gex_NBI_Wait(GEX_EC_RMW, 0);
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    gex_Event_Wait(gex_AD_OpNB_U64(ad, &got, 0, word, GEX_OP_GET, 0, 0, 0));
    CHECK(got == expected, "thread %d: %llu additions were made, not %llu", me,
          (unsigned long long)got, (unsigned long long)expected);
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    gex_AD_Destroy(ad);
}

/* Makes a team of those members whose job ranks are even, or odd, as that of this rank, in
 * descending order. */
static gex_TM_t create_parity_team(gex_TM_t parent)
{
    gex_EP_Location_t *args = conform_alloc(job.size * sizeof(*args));
    gex_Rank_t count = 0;
    gex_TM_t tm = GEX_TM_INVALID;

    for (gex_Rank_t r = gex_TM_QuerySize(parent); r-- > 0;) {
        const gex_Rank_t member = gex_TM_TranslateRankToJobrank(parent, r);

        if (member % 2 == job.rank % 2)
            args[count++] = (gex_EP_Location_t){member, 0};
    }
    gex_TM_Create(&tm, 1, parent, args, count, NULL, 0,
                  GEX_FLAG_TM_NO_SCRATCH | GEX_FLAG_RANK_IS_JOBRANK);
    CHECK(tm != GEX_TM_INVALID && gex_TM_QuerySize(tm) == count,
          "a list of %u members gave another team", count);
    free(args);
    return tm;
}

static void destroy_quiet(gex_TM_t tm)
{
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    CHECK(gex_TM_Destroy(tm, NULL, GEX_FLAG_GLOBALLY_QUIESCED) == 0,
          "gex_TM_Destroy returned scratch space");
}

/* The barrier of GASNet-1 uses the primordial team, so only thread 0 calls it. */
static void check_named_barrier(uint64_t round)
{
    gasnet_barrier_notify((int)round, 0);
    const int err = gasnet_barrier_wait((int)round, 0);

    CHECK(err == GASNET_OK, "gasnet_barrier_wait returned %d in round %llu", err,
          (unsigned long long)round);
}

/* A collective of GASNet-1, which in every other round synchronizes the whole team. */
static void check_exchange(gex_TM_t tm, int me, uint64_t round)
{
    const gex_Rank_t size = gex_TM_QuerySize(tm), rank = gex_TM_QueryRank(tm);
    const int sync = round % 2 ? GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC
                               : GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
    const uint64_t key = round * 64 + (uint64_t)me;
    uint64_t *in = conform_alloc(size * sizeof(*in)), *out = conform_alloc(size * sizeof(*out));

    for (gex_Rank_t r = 0; r < size; r++)
        in[r] = conform_mix(rank, r, key);
    gasnet_coll_exchange(tm, out, in, sizeof(*in), sync | GASNET_COLL_LOCAL);
    for (gex_Rank_t r = 0; r < size; r++)
        CHECK(out[r] == conform_mix(r, rank, key), "thread %d, round %llu: block %u is %llu", me,
              (unsigned long long)round, (unsigned)r, (unsigned long long)out[r]);
    free(in);
    free(out);
}

static void check_all(gex_TM_t tm, int me, uint64_t round)
{
    check_sum(tm, me, round);
    check_barrier(tm, me, round);
    check_broadcast(tm, me, round, LARGE);
    check_large_sum(tm, me, round);
    check_in_order(tm, me, round);
    check_exchange(tm, me, round);
    check_atomics(tm, me);
}

static void *collective_body(void *arg)
{
    const int me = *(int *)arg;
    const gex_TM_t team = me == 0 ? job.tm : parents[me];

    for (uint64_t round = 0; round < ROUNDS; round++) {
        const gex_TM_t child = split_team(team, 0, -(int)job.rank),
                       part = create_parity_team(child);

        check_all(round % 3 == 0 ? team : round % 3 == 1 ? child : part, me, round);
        check_pending((const gex_TM_t[]){team, child, part}, 3, me, round);
        if (me == 0)
            check_named_barrier(round);
        if (round % 2)
            destroy_team(part);
        else
            destroy_quiet(part);
        destroy_team(child);
    }
    return NULL;
}

static void test_collectives(void)
{
    make_parents();
    conform_in_threads(thread_count(), collective_body);
    destroy_parents();
}

/* ---- endpoints and segments ---- */

/* An endpoint lives as long as the process, so each thread creates only one. It gets none if
 * another subtest has already created GASNET_MAXEPS endpoints. */
static struct {
    gex_EP_t ep;
    unsigned char *memory;
    int count; /* of endpoints: 0 or 1 */
} extra[THREADS_MAX];

static void make_endpoint(int me)
{
    if (extra[me].memory)
        return;
    extra[me].memory = conform_alloc(SEGMENT);
    const int err = gex_EP_Create(&extra[me].ep, job.client, GEX_EP_CAPABILITY_RMA, 0);

    CHECK(err == GASNET_OK || err == GASNET_ERR_RESOURCE, "gex_EP_Create returned %d", err);
    extra[me].count = err == GASNET_OK;
}

/* Fills indices[r] with the index of this thread's endpoint on rank r, or 0 if there is none. */
static void exchange_indices(int me, uint32_t *indices)
{
    memset(indices, 0, job.size * sizeof(*indices));
    if (extra[me].count)
        indices[gex_TM_QueryRank(parents[me])] = gex_EP_QueryIndex(extra[me].ep);
    gex_Event_Wait(gex_Coll_ReduceToAllNB(parents[me], indices, indices, GEX_DT_U32, 4, job.size,
                                          GEX_OP_OR, NULL, NULL, 0));
}

static void put_to_endpoints(int me, uint64_t round, const uint32_t *indices)
{
    for (gex_Rank_t r = 0; r < job.size; r++) {
        const gex_Rank_t owner = gex_TM_TranslateRankToJobrank(parents[me], r);
        uint64_t value = conform_mix(job.rank, (uint64_t)me, round), got = 0;
        void *base = NULL;
        uintptr_t size = 0;

        if (!indices[r])
            continue;
        const gex_TM_t pair = gex_TM_Pair(job.ep, (gex_EP_Index_t)indices[r]);
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, owner, &base, NULL, &size, 0));
        CHECK(size >= SEGMENT, "thread %d: rank %u has published %zu bytes", me, owner,
              (size_t)size);
        void *at = (char *)base + (size_t)job.rank * WITNESS_BYTES;
        gex_RMA_PutBlocking(pair, owner, at, &value, sizeof(value), 0);
        gex_RMA_GetBlocking(pair, &got, owner, at, sizeof(got), 0);
        CHECK(got == value, "thread %d: endpoint %u of rank %u has another value", me, indices[r],
              owner);
    }
}

static void check_own_memory(int me, uint64_t round)
{
    for (gex_Rank_t r = 0; r < job.size && extra[me].count; r++) {
        uint64_t got;

        memcpy(&got, extra[me].memory + (size_t)r * WITNESS_BYTES, sizeof(got));
        CHECK(got == conform_mix(r, (uint64_t)me, round), "thread %d: rank %u put another value",
              me, r);
    }
}

static void publish_round(int me, uint64_t round, uint32_t *indices)
{
    gex_Segment_t segment = GEX_SEGMENT_INVALID;
    int err = gex_Segment_Create(&segment, job.client, extra[me].memory, SEGMENT, GEX_MK_HOST, 0);

    CHECK(err == GASNET_OK, "gex_Segment_Create returned %d", err);
    if (extra[me].count)
        CHECK(gex_EP_BindSegment(extra[me].ep, segment, 0) == GASNET_OK,
              "gex_EP_BindSegment failed");
    err = gex_EP_PublishBoundSegment(parents[me], &extra[me].ep, (size_t)extra[me].count, 0);
    CHECK(err == GASNET_OK, "gex_EP_PublishBoundSegment returned %d", err);
    exchange_indices(me, indices);
    put_to_endpoints(me, round, indices);
    gex_Event_Wait(gex_Coll_BarrierNB(parents[me], 0));
    check_own_memory(me, round);
    gex_Event_Wait(gex_Coll_BarrierNB(parents[me], 0));
    gex_Segment_Destroy(segment, 0);
}

static void *endpoint_body(void *arg)
{
    const int me = *(int *)arg;
    uint32_t *indices = conform_alloc(job.size * sizeof(*indices));

    make_endpoint(me);
    for (uint64_t round = 0; round < ROUNDS; round++)
        publish_round(me, round, indices);
    free(indices);
    return NULL;
}

static void test_endpoints(void)
{
    make_parents();
    gex_System_SetVerboseErrors(0);
    conform_in_threads(thread_count(), endpoint_body);
    gex_System_SetVerboseErrors(1);
    for (int t = 0; t < thread_count(); t++)
        for (int other = 0; other < t; other++)
            CHECK(!extra[t].count || !extra[other].count ||
                      gex_EP_QueryIndex(extra[t].ep) != gex_EP_QueryIndex(extra[other].ep),
                  "threads %d and %d made endpoints with the same index", other, t);
    destroy_parents();
}

/* ---- handlers ---- */

enum { HANDLERS = 6 }; /* of each thread */

/* gex_cdata of each entry points to its counter. Only the first run registers the entries. */
static conform_count_t calls[THREADS_MAX][HANDLERS];
static gex_AM_Entry_t tables[THREADS_MAX][HANDLERS];
static conform_count_t registering;

static void count_call(gex_Token_t token)
{
    gex_Token_Info_t info;

    CHECK(gex_Token_Info(token, &info, GEX_TI_ENTRY) & GEX_TI_ENTRY,
          "GEX_TI_ENTRY was not reported");
    atomic_fetch_add((conform_count_t *)(uintptr_t)info.gex_entry->gex_cdata, 1);
}

static void *handler_body(void *arg)
{
    const int me = *(int *)arg;

    for (int i = 0; i < HANDLERS; i++)
        tables[me][i] = (gex_AM_Entry_t){.gex_fnptr = (gex_AM_Fn_t)count_call,
                                         .gex_flags = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST,
                                         .gex_cdata = &calls[me][i],
                                         .gex_name = "count_call"};
    atomic_fetch_add(&registering, 1);
    while (atomic_load(&registering) < (uint64_t)thread_count())
        ;
    for (int i = 0; i < HANDLERS; i++) { /* one at a time, so that threads meet more often */
        const int err = gex_EP_RegisterHandlers(job.am_ep, &tables[me][i], 1);

        CHECK(err == GASNET_OK, "gex_EP_RegisterHandlers returned %d", err);
    }
    return NULL;
}

static void check_indices(void)
{
    int taken[256] = {0};

    for (int t = 0; t < thread_count(); t++)
        for (int i = 0; i < HANDLERS; i++) {
            CHECK(!taken[tables[t][i].gex_index]++, "two handlers got the index %u",
                  (unsigned)tables[t][i].gex_index);
            conform_index_used(tables[t][i].gex_index);
        }
}

/* Each rank calls only its own handlers, once each, since indices may differ between ranks. */
static void test_handlers(void)
{
    if (!atomic_load(&registering)) {
        conform_in_threads(thread_count(), handler_body);
        check_indices();
    }
    memset(calls, 0, sizeof(calls));
    for (int t = 0; t < thread_count(); t++)
        for (int i = 0; i < HANDLERS; i++)
            gex_AM_RequestShort0(job.am, job.rank, tables[t][i].gex_index, 0);
    for (int t = 0; t < thread_count(); t++)
        for (int i = 0; i < HANDLERS; i++) {
            GASNET_BLOCKUNTIL(atomic_load(&calls[t][i]) > 0);
            CHECK(atomic_load(&calls[t][i]) == 1, "handler %d of thread %d ran %llu times", i, t,
                  (unsigned long long)atomic_load(&calls[t][i]));
        }
}

const conform_test_t conform_concurrent_tests[] = {
    {"concurrent_split", test_split, "each thread splits a team of its own"},
    {"concurrent_all", test_collectives,
     "each thread makes every collective call on its own teams"},
    {"concurrent_publish", test_endpoints, "each thread binds and publishes segments of its own"},
    {"concurrent_register", test_handlers, "each thread registers handlers"},
    {NULL, NULL, NULL}};

#endif
