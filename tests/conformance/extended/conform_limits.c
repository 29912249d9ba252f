/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits of collectives: each value from one end of the range to the other moves the same
 * bytes, and what is not legal changes nothing, at any rank. */
#include "../conform.h"

#include <gasnet_coll.h>
#if __has_include(<aqueduct_coll.h>)
#include <aqueduct_coll.h>
#endif

#ifndef GASNETX_COLL_LIMITS
const conform_test_t conform_limits_tests[] = {{NULL, NULL, NULL}};
#else

#include <stdlib.h>
#include <string.h>

static const size_t counts[] = {1, 5, 40, 200, 1000, 9000};
#define COUNTS (sizeof(counts) / sizeof(counts[0]))
enum { MOST = 9000 };

/* ---- operations ---- */

static void check_broadcast(uint64_t *words, size_t count, gex_Rank_t root, uint64_t key)
{
    if (job.rank == root)
        conform_fill(words, count * sizeof *words, key);
    else
        memset(words, 0, count * sizeof *words);
    gex_Event_Wait(gex_Coll_BroadcastNB(job.tm, root, words, words, count * sizeof *words, 0));
    CHECK_FILL(words, count * sizeof *words, key, "a broadcast");
}

static void check_sum(uint64_t *sum, uint64_t *words, size_t count, gex_Rank_t root)
{
    const uint64_t ranks = job.size;

    for (size_t i = 0; i < count; i++)
        words[i] = i + job.rank;
    if (root < job.size)
        gex_Event_Wait(gex_Coll_ReduceToOneNB(job.tm, root, sum, words, GEX_DT_U64, sizeof *words,
                                              count, GEX_OP_ADD, NULL, NULL, 0));
    else
        gex_Event_Wait(gex_Coll_ReduceToAllNB(job.tm, sum, words, GEX_DT_U64, sizeof *words, count,
                                              GEX_OP_ADD, NULL, NULL, 0));
    for (size_t i = 0; (root == job.size || root == job.rank) && i < count; i++)
        CHECK(sum[i] == ranks * i + ranks * (ranks - 1) / 2, "element %zu of a sum is %llu", i,
              (unsigned long long)sum[i]);
}

static void check_gather(uint64_t *all, uint64_t *mine, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mine[i] = job.rank * (uint64_t)MOST + i;
    gex_Event_Wait(gasnetx_Coll_AllgatherNB(job.tm, all, mine, count * sizeof *mine, 0));
    for (size_t i = 0; i < count * job.size; i++)
        CHECK(all[i] == i / count * MOST + i % count, "element %zu of a gather of all is %llu", i,
              (unsigned long long)all[i]);
}

static void run_operations(uint64_t key)
{
    uint64_t *words = conform_alloc(MOST * sizeof *words);
    uint64_t *all = conform_alloc(job.size * MOST * sizeof *all);

    for (size_t c = 0; c < COUNTS; c++) {
        check_broadcast(words, counts[c], (gex_Rank_t)(c % job.size), key + c);
        check_sum(all, words, counts[c], (gex_Rank_t)((c + 1) % job.size));
        check_sum(all, words, counts[c], job.size);
        check_gather(all, words, counts[c]);
    }
    free(all);
    free(words);
}

/* ---- subtests ---- */

static void set_limit(unsigned index, uint32_t value)
{
    gasnetx_coll_limit_t limit;

    CHECK(gasnetx_Coll_SetLimit(index, value) == GASNET_OK, "limit %u cannot be %u", index, value);
    CHECK(gasnetx_Coll_QueryLimit(index, &limit) == GASNET_OK && limit.value == value,
          "limit %u is not %u", index, value);
}

static void test_values(void)
{
    gasnetx_coll_limit_t limit;

    for (unsigned i = 0; gasnetx_Coll_QueryLimit(i, &limit) == GASNET_OK; i++) {
        CHECK(limit.low <= limit.fallback && limit.fallback <= limit.high,
              "the default of %s is outside of its range", limit.name);
        set_limit(i, limit.low);
        run_operations(2 * i);
        set_limit(i, limit.high);
        run_operations(2 * i + 1);
        set_limit(i, limit.value);
    }
}

/* The last operations may be incomplete when a limit changes. */
static void test_outstanding(void)
{
    enum { EVENTS = 8, WORDS = 3000 };
    gasnetx_coll_limit_t limit;
    gex_Event_t event[EVENTS];
    uint64_t *words = conform_alloc(EVENTS * WORDS * sizeof *words);

    for (unsigned i = 0; gasnetx_Coll_QueryLimit(i, &limit) == GASNET_OK; i++) {
        for (unsigned e = 0; e < EVENTS; e++) {
            uint64_t *own = words + e * WORDS;
            conform_fill(own, WORDS * sizeof *own, job.rank == e % job.size ? i : 99);
            event[e] = gex_Coll_BroadcastNB(job.tm, e % job.size, own, own, WORDS * sizeof *own, 0);
        }
        set_limit(i, i % 2 ? limit.low : limit.high);
        for (unsigned e = 0; e < EVENTS; e++) {
            gex_Event_Wait(event[e]);
            CHECK_FILL(words + e * WORDS, WORDS * sizeof *words, i, "a broadcast before a change");
        }
        set_limit(i, limit.value);
    }
    free(words);
}

static unsigned limit_named(const char *name)
{
    gasnetx_coll_limit_t limit;
    unsigned index = 0;

    while (gasnetx_Coll_QueryLimit(index, &limit) == GASNET_OK && strcmp(limit.name, name) != 0)
        index++;
    return index;
}

/* Ranks that combine shares of a reduction choose that again in each of its steps. The operations
 * of another team have no order with those of the call. */
static void test_reducing(void)
{
    enum { WORDS = 512, TIMES = 200 };
    static uint64_t words[WORDS], sum[WORDS];
    const unsigned index = limit_named("combine-bytes");
    gasnetx_coll_limit_t limit;
    gex_TM_t team;

    gasnetx_Coll_QueryLimit(index, &limit);
    gex_TM_Split(&team, job.tm, 0, (int)job.rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    for (unsigned i = 0; i < TIMES; i++) {
        for (unsigned w = 0; w < WORDS; w++)
            words[w] = w + i;
        gex_Event_t event = gex_Coll_ReduceToAllNB(team, sum, words, GEX_DT_U64, sizeof *words,
                                                   WORDS, GEX_OP_ADD, NULL, NULL, 0);
        set_limit(index, i % 2 ? limit.low : limit.high);
        gex_Event_Wait(event);
        for (unsigned w = 0; w < WORDS; w++)
            CHECK(sum[w] == job.size * (uint64_t)(w + i), "element %u of sum %u is %llu", w, i,
                  (unsigned long long)sum[w]);
    }
    gex_TM_Destroy(team, NULL, 0);
    set_limit(index, limit.value);
}

static void check_refused(unsigned index, uint32_t value, const char *why)
{
    gasnetx_coll_limit_t before = {0}, after = {0};

    gasnetx_Coll_QueryLimit(0, &before);
    CHECK(gasnetx_Coll_SetLimit(index, value) == GASNET_ERR_BAD_ARG, "%s is not refused", why);
    gasnetx_Coll_QueryLimit(0, &after);
    CHECK(before.value == after.value, "%s changes limit 0 to %u", why, after.value);
}

static void test_refused(void)
{
    gasnetx_coll_limit_t limit;
    unsigned count = 0;

    while (gasnetx_Coll_QueryLimit(count, &limit) == GASNET_OK) {
        check_refused(count, limit.high + 1, "a value above the range");
        if (limit.low)
            check_refused(count, limit.low - 1, "a value below the range");
        count++;
    }
    CHECK(count > 4, "there are %u limits", count);
    check_refused(count, 1, "a limit that does not exist");
    gasnetx_Coll_QueryLimit(0, &limit);
    if (job.size > 1) {
        check_refused(0, limit.low + job.rank, "a value that differs between ranks");
        check_refused(job.rank % 2, 1000, "a limit that differs between ranks");
        check_refused(job.rank ? 0 : count, limit.low, "an illegal argument of one rank");
    }
}

const conform_test_t conform_limits_tests[] = {
    {"limits_values", test_values, "the ends of the range of each limit move the same bytes"},
    {"limits_outstanding", test_outstanding, "a change completes what is outstanding"},
    {"limits_reducing", test_reducing, "a change completes reductions of another team"},
    {"limits_refused", test_refused, "what is not legal, or differs, changes nothing"},
    {NULL, NULL, NULL}};
#endif
