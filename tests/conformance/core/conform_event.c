/* SPDX-License-Identifier: BSD-3-Clause */
/* Events: arrays with and without invalid entries, leaf events, thousands outstanding. */
#include "../conform.h"

#include <stdlib.h>
#include <string.h>

#define OUTSTANDING 10000
#define ARRAY 64

static uint64_t *inbox_of(gex_Rank_t rank)
{
    return (uint64_t *)(void *)(job.base[rank] + CONFORM_INBOX);
}

static gex_Rank_t next_rank(void)
{
    return (job.rank + 1) % job.size;
}

/* Event i of the array is that of a put of word i of `out` to the neighbour; every third event is
 * invalid. */
static void start_puts(gex_Event_t *events, uint64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        events[i] = GEX_EVENT_INVALID;
        if (i % 3 == 1)
            continue;
        events[i] = gex_RMA_PutNB(job.tm, next_rank(), inbox_of(next_rank()) + i, &out[i], 8,
                                  GEX_EVENT_DEFER, 0);
        CHECK(events[i] != GEX_EVENT_NO_OP, "only IMMEDIATE may give GEX_EVENT_NO_OP");
    }
}

static void check_puts(const uint64_t *out, size_t n)
{
    uint64_t back[ARRAY];

    gex_RMA_GetBlocking(job.tm, back, next_rank(), inbox_of(next_rank()), n * 8, 0);
    for (size_t i = 0; i < n; i++) {
        if (i % 3 != 1)
            CHECK(back[i] == out[i], "word %zu should be %llu, but is %llu", i,
                  (unsigned long long)out[i], (unsigned long long)back[i]);
    }
}

static size_t count_left(const gex_Event_t *events, size_t n)
{
    size_t left = 0;

    for (size_t i = 0; i < n; i++)
        left += events[i] != GEX_EVENT_INVALID;
    return left;
}

static void test_invalid(void)
{
    gex_Event_t none[ARRAY];

    for (size_t i = 0; i < ARRAY; i++)
        none[i] = GEX_EVENT_INVALID;
    gex_Event_Wait(GEX_EVENT_INVALID);
    CHECK(gex_Event_Test(GEX_EVENT_INVALID) == 0, "an invalid event must test as complete");
    for (size_t n = 0; n <= ARRAY; n += 8) {
        CHECK(gex_Event_TestSome(none, n, 0) == 0, "TestSome of %zu invalid events must succeed",
              n);
        CHECK(gex_Event_TestAll(none, n, 0) == 0, "TestAll of %zu invalid events must succeed", n);
        gex_Event_WaitSome(none, n, 0);
        gex_Event_WaitAll(none, n, 0);
        CHECK(count_left(none, ARRAY) == 0, "invalid events must stay invalid");
    }
    gex_Event_Wait(gex_Event_QueryLeaf(GEX_EVENT_INVALID, GEX_EC_LC));
}

static void wait_each(gex_Event_t *events)
{
    for (size_t i = ARRAY; i-- > 0;) {
        if (i % 2 == 0) {
            gex_Event_Wait(events[i]);
        } else {
            while (gex_Event_Test(events[i]) != 0)
                gasnet_AMPoll();
        }
        events[i] = GEX_EVENT_INVALID;
    }
}

static void wait_some(gex_Event_t *events)
{
    size_t left = count_left(events, ARRAY);

    while (left > 0) {
        size_t now;

        gex_Event_WaitSome(events, ARRAY, 0);
        now = count_left(events, ARRAY);
        CHECK(now < left, "WaitSome must complete at least one of %zu events", left);
        left = now;
    }
}

static void test_some(gex_Event_t *events)
{
    size_t left = count_left(events, ARRAY);

    while (left > 0) {
        const int pending = gex_Event_TestSome(events, ARRAY, 0);
        const size_t now = count_left(events, ARRAY);

        CHECK((pending == 0) == (now < left),
              "TestSome returned %d, but %zu of %zu events are left", pending, now, left);
        left = now;
        if (pending)
            gasnet_AMPoll();
    }
}

static void test_all(gex_Event_t *events)
{
    size_t left = count_left(events, ARRAY);

    while (gex_Event_TestAll(events, ARRAY, 0) != 0) {
        const size_t now = count_left(events, ARRAY);

        CHECK(now > 0 && now <= left, "TestAll failed, but %zu events of %zu are left", now, left);
        left = now;
        gasnet_AMPoll();
    }
}

static void test_arrays(void)
{
    gex_Event_t events[ARRAY];
    uint64_t out[ARRAY];

    for (uint64_t round = 0; round < 50; round++) {
        for (uint64_t i = 0; i < ARRAY; i++)
            out[i] = round * 1000 + i;
        start_puts(events, out, ARRAY);
        switch (round % 5) {
        case 0:
            wait_each(events);
            break;
        case 1:
            wait_some(events);
            break;
        case 2:
            test_some(events);
            break;
        case 3:
            test_all(events);
            break;
        default:
            gex_Event_WaitAll(events, ARRAY, 0);
        }
        CHECK(count_left(events, ARRAY) == 0, "a completed event must be overwritten as invalid");
        check_puts(out, ARRAY);
    }
}

/* Leaf events and their roots are in one array, in any order. */
static void test_leaves(void)
{
    gex_Event_t events[ARRAY];
    uint64_t out[ARRAY];

    for (uint64_t round = 0; round < 20; round++) {
        const size_t half = ARRAY / 2;

        for (size_t i = 0; i < half; i++) {
            const size_t leaf = round % 2 ? i : half + i;
            const size_t root = round % 2 ? half + i : i;

            out[i] = round * 77 + i;
            events[root] = gex_RMA_PutNB(job.tm, next_rank(), inbox_of(next_rank()) + i, &out[i], 8,
                                         &events[leaf], 0);
        }
        if (round % 4 < 2)
            gex_Event_WaitAll(events, ARRAY, 0);
        else
            wait_some(events);
        CHECK(count_left(events, ARRAY) == 0, "a completed event must be overwritten as invalid");
        check_puts(out, half);
    }
}

/* Querying a leaf event twice gives the same event. */
static void test_query_leaf(void)
{
    uint64_t word = 0;

    for (int i = 0; i < 100; i++) {
        gex_Event_t given = GEX_EVENT_INVALID;
        const gex_Event_t root =
            gex_RMA_PutNB(job.tm, next_rank(), inbox_of(next_rank()), &word, 8, &given, 0);
        const gex_Event_t first = gex_Event_QueryLeaf(root, GEX_EC_LC);
        const gex_Event_t second = gex_Event_QueryLeaf(root, GEX_EC_LC);

        CHECK(first == second || first == GEX_EVENT_INVALID || second == GEX_EVENT_INVALID,
              "two queries gave two different leaf events");
        CHECK(first == given || first == GEX_EVENT_INVALID || given == GEX_EVENT_INVALID,
              "the query gave another leaf event than the put");
        gex_Event_Wait(root); /* completes its leaf events as well */
    }
}

static void test_outstanding(void)
{
    gex_Event_t *events = conform_alloc(OUTSTANDING * sizeof(*events));
    uint64_t *out = conform_alloc(OUTSTANDING * 8), *in = conform_alloc(OUTSTANDING * 8);

    for (uint64_t i = 0; i < OUTSTANDING; i++) {
        out[i] = conform_mix(job.rank, i, 6);
        events[i] = gex_RMA_PutNB(job.tm, next_rank(), inbox_of(next_rank()) + i, &out[i], 8,
                                  GEX_EVENT_DEFER, 0);
    }
    gex_Event_WaitAll(events, OUTSTANDING, 0);
    CHECK(count_left(events, OUTSTANDING) == 0, "WaitAll must leave no event");
    memset(in, 0, OUTSTANDING * 8);
    for (uint64_t i = 0; i < OUTSTANDING; i++)
        events[i] = gex_RMA_GetNB(job.tm, &in[i], next_rank(), inbox_of(next_rank()) + i, 8, 0);
    for (size_t i = OUTSTANDING; i-- > 0;)
        gex_Event_Wait(events[i]);
    CHECK(memcmp(in, out, OUTSTANDING * 8) == 0, "words that were put came back changed");
    free(events);
    free(out);
    free(in);
}

const conform_test_t conform_event_tests[] = {
    {"event_invalid", test_invalid, "invalid events, empty arrays, arrays of invalid events"},
    {"event_arrays", test_arrays, "wait and test for one, some and all"},
    {"event_leaves", test_leaves, "leaf and root events in one array"},
    {"event_query_leaf", test_query_leaf, "repeated queries give the same leaf event"},
    {"event_many", test_outstanding, "10,000 operations outstanding"},
    {NULL, NULL, NULL}};
