/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts and reductions of every size, from and to memory in the segment and outside of it, as
 * ranks that share memory do them in different ways. With CONFORM_NO_READS=odd odd ranks cannot
 * read the memory of others through the kernel, with =all no rank can. With CONFORM_COUNT=N a call
 * on memory in segments (with CONFORM_OUTSIDE: outside of them) must be N messages of each rank,
 * whatever its size. */
#include "../conform.h"

#if __has_include(<aqueduct.h>)
#include <aqueduct.h>
#endif
#include <gasnet_coll.h>

#ifndef GASNETX_COUNTERS
const conform_test_t conform_shared_tests[] = {{NULL, NULL, NULL}};
#else

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { GUARD = 16, COUNT = 30 };

/* x -> a * x + b, modulo 2^64. Composing such maps does not commute. */
typedef struct {
    uint64_t a, b;
} map_t;

static const size_t counts[] = {1, 2, 3, 5, 80, 81, 512, 513, 2100, 5000, 70001};
#define COUNTS (sizeof(counts) / sizeof(counts[0]))

enum { IN_SEGMENT, OUTSIDE, MIXED, PLACES };

static int is_outside(int place)
{
    return place == OUTSIDE || (place == MIXED && job.rank % 3 == 1);
}

typedef struct {
    gex_TM_t tm;
    gex_Rank_t root, size; /* root == size: to all */
    size_t count;
    map_t *src, *dst;
    int in_place, outside;
    uint64_t round;
} call_t;

static void refuse_reads(void)
{
    static int refused;
    const char *who = getenv("CONFORM_NO_READS");

    if (who != NULL && !refused++ && (strcmp(who, "all") == 0 || job.rank % 2 != 0))
        conform_refuse_call(SYS_process_vm_readv);
}

/* ---- memory ---- */

static map_t *memory_for(const call_t *c, size_t offset)
{
    return c->outside ? conform_alloc(c->count * sizeof(map_t) + GUARD)
                      : (map_t *)(void *)(job.outbox + offset);
}

static void memory_take(call_t *c)
{
    c->dst = memory_for(c, 0);
    c->src = c->in_place ? c->dst : memory_for(c, (size_t)4 << 20);
    memset(c->dst, 0xee, c->count * sizeof(map_t) + GUARD);
}

static void memory_drop(call_t *c)
{
    const unsigned char *end = (const unsigned char *)(c->dst + c->count);

    for (int i = 0; i < GUARD; i++)
        CHECK(end[i] == 0xee, "a call wrote past the end of its output");
    if (c->outside && !c->in_place)
        free(c->src);
    if (c->outside)
        free(c->dst);
}

/* ---- maps ---- */

static map_t map_of(gex_Rank_t rank, size_t i, uint64_t round)
{
    return (map_t){conform_mix(rank, i, round) | 1, conform_mix(rank, i, round + 77)};
}

static map_t map_after(map_t first, map_t second)
{
    return (map_t){first.a * second.a, first.b * second.a + second.b};
}

static void compose(const void *left, void *right, size_t count, const void *cdata)
{
    const map_t *l = left;
    map_t *r = right;

    CHECK(cdata == counts, "the operator got %p as cdata", cdata);
    CHECK((uintptr_t)l % 16 == 0 && (uintptr_t)r % 16 == 0, "operands at %p and %p", left, right);
    for (size_t i = 0; i < count; i++)
        r[i] = map_after(l[i], r[i]);
}

static void check_maps(const call_t *c)
{
    for (size_t i = 0; i < c->count; i++) {
        map_t want = map_of(gex_TM_TranslateRankToJobrank(c->tm, 0), i, c->round);

        for (gex_Rank_t r = 1; r < c->size; r++)
            want = map_after(want, map_of(gex_TM_TranslateRankToJobrank(c->tm, r), i, c->round));
        CHECK(c->dst[i].a == want.a && c->dst[i].b == want.b,
              "element %zu of %zu is not composed in the order of the ranks (root %u of %u, %s)", i,
              c->count, (unsigned)c->root, (unsigned)c->size, c->in_place ? "in place" : "apart");
    }
}

static gex_Event_t reduce(const call_t *c)
{
    void *cdata = (void *)(uintptr_t)counts;

    if (c->root == c->size)
        return gex_Coll_ReduceToAllNB(c->tm, c->dst, c->src, GEX_DT_USER, sizeof(map_t), c->count,
                                      GEX_OP_USER_NC, compose, cdata, 0);
    return gex_Coll_ReduceToOneNB(c->tm, c->root, c->dst, c->src, GEX_DT_USER, sizeof(map_t),
                                  c->count, GEX_OP_USER_NC, compose, cdata, 0);
}

static void one_reduction(call_t *c)
{
    memory_take(c);
    for (size_t i = 0; i < c->count; i++)
        c->src[i] = map_of(job.rank, i, c->round);
    gex_Event_Wait(reduce(c));
    if (c->root == c->size || c->root == gex_TM_QueryRank(c->tm))
        check_maps(c);
    memory_drop(c);
}

static void reductions_of(gex_TM_t tm, size_t count, int place)
{
    call_t c = {.tm = tm, .size = gex_TM_QuerySize(tm), .count = count};

    c.outside = is_outside(place);
    for (c.root = 0; c.root <= c.size; c.root += 1 + (c.root + 2 < c.size)) {
        c.round = count * 100 + (uint64_t)place * 10 + c.root; /* the same at all ranks */
        c.in_place = c.round % 2 == 0;
        one_reduction(&c);
    }
}

static void test_reductions(void)
{
    refuse_reads();
    for (size_t i = 0; i < COUNTS; i++)
        for (int place = IN_SEGMENT; place < PLACES; place++)
            reductions_of(job.tm, counts[i], place);
}

/* Ranks in descending order, and half of them. */
static void test_teams(void)
{
    gex_TM_t half = GEX_TM_INVALID, turned = GEX_TM_INVALID;

    refuse_reads();
    gex_TM_Split(&half, job.tm, (int)job.rank % 2, (int)job.rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    gex_TM_Split(&turned, job.tm, 0, -(int)job.rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    for (size_t i = 0; i < COUNTS; i += 2) {
        reductions_of(half, counts[i], (int)(i / 2) % PLACES);
        reductions_of(turned, counts[i], (int)(i / 2 + 1) % PLACES);
    }
    gex_TM_Destroy(turned, NULL, 0);
    gex_TM_Destroy(half, NULL, 0);
}

/* ---- broadcasts ---- */

static void one_broadcast(call_t *c)
{
    const size_t nbytes = c->count * sizeof(map_t);

    memory_take(c);
    if (c->root == job.rank)
        conform_fill(c->src, nbytes, c->round);
    gex_Event_Wait(gex_Coll_BroadcastNB(c->tm, c->root, c->dst, c->src, nbytes, 0));
    CHECK_FILL(c->dst, nbytes, c->round, "a broadcast");
    memory_drop(c);
}

static void test_broadcasts(void)
{
    call_t c = {.tm = job.tm, .size = job.size};

    refuse_reads();
    for (size_t i = 0; i < COUNTS; i++)
        for (int place = IN_SEGMENT; place < PLACES; place++)
            for (c.root = 0; c.root < job.size; c.root += 1 + (c.root + 2 < job.size)) {
                c.round++;
                c.count = counts[i];
                c.outside = is_outside(place);
                c.in_place = c.round % 2 == 0;
                one_broadcast(&c);
            }
}

/* ---- one after the other ---- */

enum { MIXED_CALLS = 600, LATE_US = 100 };

/* Now and then a rank is late, so that the others are ahead of it as far as they may. */
static void be_late(uint64_t chance)
{
    if (chance % 16 == job.rank % 16)
        usleep(LATE_US);
}

/* Calls of all sizes and ways in turn: what one has posted must stay until all have read it. */
static void test_mixed(void)
{
    static const size_t few[] = {1, 2, 3, 60, 64, 65, 300, 512, 513, 1500, 3000};
    call_t c = {.tm = job.tm, .size = job.size};

    refuse_reads();
    for (c.round = 1; c.round <= MIXED_CALLS; c.round++) {
        const uint64_t chance = conform_mix(job.seed, c.round, 5);

        c.count = few[chance % (sizeof few / sizeof few[0])];
        c.outside = (int)(chance >> 8 & 1);
        c.in_place = (int)(chance >> 9 & 1);
        c.root = (gex_Rank_t)((chance >> 16) % (job.size + 1));
        be_late(chance >> 32);
        if (c.root < job.size && chance >> 10 & 1)
            one_broadcast(&c);
        else
            one_reduction(&c);
    }
}

/* ---- messages ---- */

static void calls_of(size_t count)
{
    call_t c = {.tm = job.tm, .size = job.size, .count = count};

    c.outside = getenv("CONFORM_OUTSIDE") != NULL;
    for (int i = 0; i < COUNT; i++) {
        c.round++;
        c.root = (gex_Rank_t)i % job.size;
        one_broadcast(&c);
        c.root = (gex_Rank_t)i % (job.size + 1);
        one_reduction(&c);
    }
}

static void test_frames(void)
{
    const char *setting = getenv("CONFORM_COUNT");

    refuse_reads();
    for (size_t i = 0; i < COUNTS; i++) {
        const uint64_t before = conform_frames_sent();
        calls_of(counts[i]);
        const uint64_t sent = conform_frames_sent() - before;

        CHECK(setting == NULL || sent == strtoull(setting, NULL, 0) * COUNT * 2,
              "%d broadcasts and reductions of %zu bytes sent %llu messages", COUNT * 2,
              counts[i] * sizeof(map_t), (unsigned long long)sent);
        conform_barrier();
    }
}

/* ---- turns ---- */

enum { AHEAD = 32 };

static void broadcasts_small(gex_Rank_t root)
{
    for (uint64_t i = 0; i < AHEAD; i++) {
        uint64_t value = job.rank == root ? conform_mix(root, i, 7) : 0;

        gex_Event_Wait(gex_Coll_BroadcastNB(job.tm, root, &value, &value, sizeof value, 0));
        CHECK(value == conform_mix(root, i, 7), "broadcast %u of a root that is ahead brought %llx",
              (unsigned)i, (unsigned long long)value);
    }
}

/* The root of small broadcasts need not wait for the others, who call when it is done with all. */
static void test_ahead(void)
{
    volatile unsigned char *flag = job.base[job.rank] + CONFORM_INBOX;

    if (getenv("CONFORM_COUNT") == NULL)
        return;
    for (gex_Rank_t root = 0; root < job.size; root++) {
        *flag = 0;
        conform_barrier();
        if (job.rank != root)
            GASNET_BLOCKUNTIL(*flag != 0);
        broadcasts_small(root);
        for (gex_Rank_t r = 0; job.rank == root && r < job.size; r++)
            if (r != root)
                gex_RMA_PutBlocking(job.tm, r, job.base[r] + CONFORM_INBOX, "x", 1, 0);
        conform_barrier();
    }
}

enum { LONG_COUNT = 70001 };

/* A rank that has begun its part and computes holds up none of the others, whose memory it can
 * read: it makes no call before they tell that they are done. */
static void absent(gex_Rank_t root, int reduces)
{
    volatile unsigned char *flag = job.base[job.rank] + CONFORM_INBOX;
    call_t c = {.tm = job.tm, .root = root, .size = job.size, .count = LONG_COUNT, .outside = 1};
    const gex_Rank_t busy = reduces ? (root + 1) % job.size : root;
    gex_Event_t event;

    *flag = 0;
    conform_barrier();
    memory_take(&c);
    for (size_t i = 0; i < c.count; i++)
        c.src[i] = map_of(job.rank, i, c.round);
    event = reduces ? reduce(&c)
                    : gex_Coll_BroadcastNB(c.tm, root, c.dst, c.src, c.count * sizeof(map_t), 0);
    while (job.rank == busy && *flag == 0)
        continue;
    gex_Event_Wait(event);
    if (reduces && job.rank == root)
        check_maps(&c);
    if (job.rank == (busy + 1) % job.size)
        gex_RMA_PutBlocking(job.tm, busy, job.base[busy] + CONFORM_INBOX, "x", 1, 0);
    memory_drop(&c);
    conform_barrier();
}

static void test_absent(void)
{
    if (getenv("CONFORM_ABSENT") == NULL)
        return;
    for (gex_Rank_t root = 0; root < job.size; root++) {
        absent(root, 0);
        absent(root, 1);
    }
}

const conform_test_t conform_shared_tests[] = {
    {"shared_reduce", test_reductions, "reductions in order, from any memory"},
    {"shared_teams", test_teams, "in teams of a part of the ranks"},
    {"shared_broadcast", test_broadcasts, "broadcasts from and to any memory"},
    {"shared_mixed", test_mixed, "one after the other, with ranks that are late"},
    {"shared_frames", test_frames, "how many messages they are"},
    {"shared_absent", test_absent, "ranks that compute and do not poll meanwhile"},
    {"shared_ahead", test_ahead, "a root that is 32 operations ahead of the others"},
    {NULL, NULL, NULL},
};
#endif
