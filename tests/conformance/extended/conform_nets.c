/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts and reductions between ranks that share no memory: what they send, and that all ranks
 * get the same bits. With CONFORM_COUNT=N (over a conduit that counts bytes) no rank may send more
 * than large operations need, and a reduction of 8 bytes to all must be N messages of each rank;
 * N = 0: that is not counted. With CONFORM_HOSTS=H the ranks are on H hosts, of which the first
 * ranks send all there is to send. */
#include "../conform.h"

#if __has_include(<aqueduct.h>)
#include <aqueduct.h>
#endif
#include <gasnet_coll.h>

#ifndef GASNETX_COUNTERS
const conform_test_t conform_nets_tests[] = {{NULL, NULL, NULL}};
#else

#include <stdlib.h>
#include <string.h>

enum {
    LARGE = 4 << 20,
    PART = 8 << 10, /* a message of that many bytes or more has at most HEADER bytes beside them: */
    HEADER = 128,   /* of message and datagram; so has an acknowledgement, */
    SMALL_PACKETS = 64, /* and so have the messages that ask for a payload, for each rank */
    COUNT = 100,
    TRIES = 50
};

typedef struct {
    uint64_t bytes, resent;
} sent_t;

static sent_t sent_so_far(void)
{
    const volatile gasnetx_counters_t *all = gasnetx_Counters(GEX_EP_INVALID);

    gasnet_AMPoll();
    gasnetx_Counters_Update();
    return (sent_t){gasnetx_counter(&all->bytes_sent), gasnetx_counter(&all->retransmissions)};
}

/* ---- operations on the outbox: the destination behind the source ---- */

typedef enum { BROADCAST, TO_ONE, TO_ALL, KINDS } kind_t;
static const char *const names[KINDS] = {"broadcast", "reduction to one", "reduction to all"};

static gex_Event_t start(kind_t kind, gex_Rank_t root, void *dst, const void *src, size_t bytes)
{
    const size_t count = bytes / sizeof(double);

    if (kind == BROADCAST)
        return gex_Coll_BroadcastNB(job.tm, root, dst, src, bytes, 0);
    if (kind == TO_ONE)
        return gex_Coll_ReduceToOneNB(job.tm, root, dst, src, GEX_DT_DBL, sizeof(double), count,
                                      GEX_OP_ADD, NULL, NULL, 0);
    return gex_Coll_ReduceToAllNB(job.tm, dst, src, GEX_DT_DBL, sizeof(double), count, GEX_OP_ADD,
                                  NULL, NULL, 0);
}

static double *source(void)
{
    return (double *)(void *)job.outbox;
}

static double *destination(void)
{
    return (double *)(void *)(job.outbox + LARGE);
}

static void run(kind_t kind, gex_Rank_t root, size_t bytes)
{
    gex_Event_Wait(start(kind, root, destination(), source(), bytes));
}

/* ---- bytes ---- */

/* Those that send to each other. */
static unsigned hosts(void)
{
    const char *given = getenv("CONFORM_HOSTS");

    return given ? (unsigned)atoi(given) : job.size;
}

static int is_first_of_host(void)
{
    gex_RankInfo_t *info;
    gex_Rank_t count, index;

    gex_System_QueryNbrhdInfo(&info, &count, &index);
    return index == 0;
}

/* Payload that the busiest rank may send, in bytes. */
static uint64_t most_payload(kind_t kind)
{
    if (kind == TO_ALL) /* and an element of each rank, since shares differ */
        return 2ull * LARGE / hosts() * (hosts() - 1) + hosts() * sizeof(double);
    return kind == TO_ONE ? LARGE : 2ull * LARGE;
}

static uint64_t with_headers(uint64_t payload)
{
    return payload + (2 * payload / PART + (uint64_t)SMALL_PACKETS * job.size) * HEADER;
}

/* Bytes of this rank in one operation; UINT64_MAX: some were sent again. */
static uint64_t bytes_of(kind_t kind, gex_Rank_t root)
{
    conform_barrier();
    const sent_t before = sent_so_far();
    run(kind, root, LARGE);
    conform_barrier();
    const sent_t after = sent_so_far();
    return after.resent == before.resent ? after.bytes - before.bytes : UINT64_MAX;
}

static void check_bytes(kind_t kind, gex_Rank_t root)
{
    uint64_t all[1024], sent = UINT64_MAX;

    for (int tries = 0; sent == UINT64_MAX; tries++) {
        CHECK(tries < TRIES, "ranks sent bytes again in each of %d operations", TRIES);
        sent = bytes_of(kind, root);
        conform_exchange(sent, all);
        for (gex_Rank_t r = 0; r < job.size; r++)
            sent = all[r] == UINT64_MAX ? UINT64_MAX : sent;
    }
    CHECK(all[job.rank] <= with_headers(most_payload(kind)),
          "a %s of %d bytes with root %u made this rank of %u send %llu bytes, not at most %llu",
          names[kind], LARGE, (unsigned)root, (unsigned)job.size, (unsigned long long)all[job.rank],
          (unsigned long long)with_headers(most_payload(kind)));
}

static void test_bytes(void)
{
    const int counted = getenv("CONFORM_COUNT") != NULL;

    for (kind_t kind = 0; counted && kind < KINDS; kind++)
        for (gex_Rank_t root = 0; root < job.size; root += 1 + (kind == TO_ALL) * job.size) {
            run(kind, root, LARGE); /* the first one binds peers */
            check_bytes(kind, root);
        }
}

/* ---- messages ---- */

static void test_frames(void)
{
    const char *count = getenv("CONFORM_COUNT");
    const uint64_t each = count && is_first_of_host() ? strtoull(count, NULL, 0) : 0;

    for (int i = 0; i < COUNT; i++)
        run(TO_ALL, 0, sizeof(double));
    conform_barrier();
    const uint64_t before = conform_frames_sent();
    for (int i = 0; i < COUNT; i++)
        run(TO_ALL, 0, sizeof(double));
    uint64_t sent = conform_frames_sent() - before;
    for (int tries = 0; sent < each * COUNT && tries < 2000000; tries++)
        sent = conform_frames_sent() - before; /* the last one may wait for room */
    conform_barrier();
    CHECK(!count || atoi(count) == 0 || sent == each * COUNT,
          "%d reductions of 8 bytes to all sent %llu messages", COUNT, (unsigned long long)sent);
}

/* ---- results ---- */

/* Sums of reals depend on the order of the operands, which must be the same everywhere. */
static void check_sums(size_t count, uint64_t round)
{
    uint64_t all[1024], sum = 0;

    for (size_t i = 0; i < count; i++)
        source()[i] = (double)(int64_t)conform_mix(job.rank, i, round) / 3e7;
    if (round % 2)
        memcpy(destination(), source(), count * sizeof(double));
    gex_Event_Wait(start(TO_ALL, 0, destination(), round % 2 ? destination() : source(),
                         count * sizeof(double)));
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;

        memcpy(&bits, &destination()[i], sizeof(bits));
        sum = conform_mix(sum, bits, i);
    }
    conform_exchange(sum, all);
    for (gex_Rank_t r = 0; r < job.size; r++)
        CHECK(all[r] == sum, "sums of %zu reals differ between this rank and rank %u", count,
              (unsigned)r);
}

static void test_sums(void)
{
    static const size_t counts[] = {1, 7, 128, 129, 3000, 8192, 8193, 33000, 131072, 450001};

    for (uint64_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        check_sums(counts[i], 2 * i);
        check_sums(counts[i], 2 * i + 1);
    }
}

/* Broadcasts and reductions of all sizes that are under way at the same time. */
enum { MANY = 24, STEP = 20000 };

static double value_of(gex_Rank_t rank, int i)
{
    return (double)(rank + 1) * (i + 1);
}

static double result_of(int i)
{
    const double ranks = job.size;

    return i % 2 ? ranks * (ranks + 1) / 2 * (i + 1) : value_of((gex_Rank_t)i % job.size, i);
}

static void test_mixed(void)
{
    static const size_t counts[] = {1, 100, 3000, STEP};
    gex_Event_t events[MANY];

    for (int i = 0; i < MANY; i++) {
        double *at = source() + (size_t)i * STEP;

        for (size_t e = 0; e < counts[i / 2 % 4]; e++)
            at[e] = value_of(job.rank, i);
        events[i] = start(i % 2 ? TO_ALL : BROADCAST, (gex_Rank_t)i % job.size, at, at,
                          counts[i / 2 % 4] * sizeof(double));
    }
    gex_Event_WaitAll(events, MANY, 0);
    for (int i = 0; i < MANY; i++)
        for (size_t e = 0; e < counts[i / 2 % 4]; e++)
            CHECK(source()[(size_t)i * STEP + e] == result_of(i), "element %zu of call %d", e, i);
}

const conform_test_t conform_nets_tests[] = {
    {"nets_bytes", test_bytes, "what ranks send in large broadcasts and reductions"},
    {"nets_frames", test_frames, "how many messages small reductions to all are"},
    {"nets_sums", test_sums, "sums of reals have the same bits everywhere"},
    {"nets_mixed", test_mixed, "operations of all sizes at the same time"},
    {NULL, NULL, NULL},
};
#endif
