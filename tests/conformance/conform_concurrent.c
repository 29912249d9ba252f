/*
 * Collective calls of several threads at the same time. Each thread works on teams of its own,
 * which no other thread of its process uses, and makes its calls in the same order at every rank.
 */
#include "conform.h"

#include <gasnet_coll.h>
#include <stdlib.h>
#include <string.h>

#ifndef GASNET_SEQ

enum { THREADS_MAX = 4, SPLITS = 100, WITNESS_BYTES = 64 };

static gex_TM_t parents[THREADS_MAX];

static int thread_count(void)
{
    return job.threads < 2 ? 2 : job.threads < THREADS_MAX ? job.threads : THREADS_MAX;
}

static gex_TM_t split(gex_TM_t parent, int color, int key)
{
    gex_TM_t tm = GEX_TM_INVALID;

    gex_TM_Split(&tm, parent, color, key, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    CHECK(tm != GEX_TM_INVALID, "a split gave no team");
    return tm;
}

static void destroy(gex_TM_t tm)
{
    CHECK(gex_TM_Destroy(tm, NULL, 0) == 0, "scratch space that was never given came back");
}

/* The teams have the same members, each with another one as its rank 0. */
static void make_parents(void)
{
    for (int t = 0; t < thread_count(); t++)
        parents[t] = split(job.tm, 0, (int)((job.rank + (gex_Rank_t)t) % job.size));
}

static void destroy_parents(void)
{
    for (int t = 0; t < thread_count(); t++)
        destroy(parents[t]);
}

/* ---- what a team has to do ---- */

static void check_sum(gex_TM_t tm, int me, uint64_t round)
{
    uint64_t mine = conform_mix(job.rank, (uint64_t)me, round), sum = 0, expected = 0;

    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(tm); r++)
        expected += conform_mix(gex_TM_TranslateRankToJobrank(tm, r), (uint64_t)me, round);
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(tm, &sum, &mine, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
    CHECK(sum == expected, "thread %d, round %llu: a team of %u has another sum", me,
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
    CHECK_FILL(data, bytes, conform_mix(sender, (uint64_t)me, round), "what a team broadcast");
    free(data);
}

/* What thread `me` of job rank `writer` last told `owner`. */
static uint64_t *witness(gex_Rank_t owner, gex_Rank_t writer, int me)
{
    const size_t place = (size_t)writer * THREADS_MAX + (size_t)me;

    return (uint64_t *)(void *)(job.base[owner] + CONFORM_INBOX + place * WITNESS_BYTES);
}

/* Nobody leaves a barrier before all members of this thread's team, and only those, have come. */
static void check_barrier(gex_TM_t tm, int me, uint64_t round)
{
    const uint64_t mine = conform_mix(job.rank, (uint64_t)me, round);

    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(tm); r++) {
        const gex_Rank_t member = gex_TM_TranslateRankToJobrank(tm, r);

        gex_RMA_PutBlocking(tm, r, witness(member, job.rank, me), &mine, sizeof(mine), 0);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    for (gex_Rank_t r = 0; r < gex_TM_QuerySize(tm); r++) {
        const gex_Rank_t writer = gex_TM_TranslateRankToJobrank(tm, r);

        CHECK(*witness(job.rank, writer, me) == conform_mix(writer, (uint64_t)me, round),
              "thread %d, round %llu: rank %u has not come to the barrier of its team", me,
              (unsigned long long)round, writer);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
}

/* ---- splits ---- */

/* All members of the parent in turn with its halves, which overlap from round to round. */
static void *split_body(void *arg)
{
    const int me = *(int *)arg;

    for (uint64_t round = 0; round < SPLITS; round++) {
        const int color = round % 2 ? (int)((job.rank + round / 2) % 2) : 0;
        gex_TM_t tm = split(parents[me], color, (int)round);

        check_sum(tm, me, round);
        if (round % 4 == (uint64_t)me)
            check_barrier(tm, me, round);
        check_broadcast(tm, me, round, 100);
        destroy(tm);
    }
    return NULL;
}

static void test_split(void)
{
    make_parents();
    conform_in_threads(thread_count(), split_body);
    destroy_parents();
}

const conform_test_t conform_concurrent_tests[] = {
    {"concurrent_split", test_split, "each thread splits a team of its own"}, {NULL, NULL, NULL}};

#endif
