/* SPDX-License-Identifier: BSD-3-Clause */
/* Extensions of Aqueduct: gather, scatter, all-to-all and scans, of every size, many at once, in
 * several teams. With CONFORM_COUNT=N an all-gather or all-to-all must be N messages of each rank;
 * with CONFORM_NO_READS odd ranks cannot read the memory of others. */
#include "../conform.h"

#if __has_include(<aqueduct_coll.h>)
#include <aqueduct_coll.h>
#endif

#ifndef GASNETX_COLL
const conform_test_t conform_gather_tests[] = {{NULL, NULL, NULL}};
#else

#include <aqueduct.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum {
    GUARD = 16,
    LARGE = 1 << 20,
    MOST = 9 << 20, /* bytes of all blocks of a call */
    COUNT = 200,    /* of calls whose messages are counted */
    FEW = 10,       /* of calls that only have to be right */
    TRIES = 2000000 /* polls until messages that wait for room have left */
};

typedef enum { SCATTER, GATHER, ALLGATHER, ALLTOALL, KINDS } kind_t;
static const char *const names[KINDS] = {"scatter", "gather", "allgather", "alltoall"};

typedef struct {
    kind_t kind;
    gex_TM_t tm;
    gex_Rank_t root, rank, size; /* in the team */
    size_t bytes;
    uint64_t round; /* makes the bytes of each call different */
    int in_place;
    unsigned char *src, *dst;
    void *memory[2]; /* what to free; NULL: it is in the segment */
    gex_Event_t event;
} call_t;

/* ---- the expected bytes ---- */

static size_t sent_blocks(const call_t *c)
{
    if (c->kind == SCATTER)
        return c->rank == c->root ? c->size : 0;
    return c->kind == ALLTOALL ? c->size : 1;
}

static size_t received_blocks(const call_t *c)
{
    if (c->kind == SCATTER)
        return 1;
    return c->kind == GATHER && c->rank != c->root ? 0 : c->size;
}

static uint64_t sent_key(const call_t *c, size_t block)
{
    const int many = c->kind == SCATTER || c->kind == ALLTOALL;

    return conform_mix(c->rank + 1, many ? block + 1 : 0, c->round);
}

static uint64_t received_key(const call_t *c, size_t block)
{
    if (c->kind == SCATTER)
        return conform_mix(c->root + 1, c->rank + 1, c->round);
    return conform_mix(block + 1, c->kind == ALLTOALL ? c->rank + 1 : 0, c->round);
}

/* ---- a call ---- */

/* The round decides whether a buffer is in the segment, and how it is aligned. */
static unsigned char *place_buffer(call_t *c, int which, size_t bytes)
{
    const size_t shift = conform_mix(c->round, (uint64_t)which, c->rank) % 16;

    c->memory[which] = NULL;
    if (conform_mix(c->round, c->rank, (uint64_t)which + 7) % 2 == 0 && c->tm == job.tm &&
        c->event == GEX_EVENT_NO_OP)
        return (which ? job.outbox : job.base[job.rank] + CONFORM_INBOX) + shift;
    c->memory[which] = conform_alloc(bytes + GUARD + 16);
    return (unsigned char *)c->memory[which] + shift;
}

/* The block that a rank sends to itself may be in place. */
static void place_own(call_t *c)
{
    if (c->kind == SCATTER && c->rank == c->root)
        c->dst = c->src + c->rank * c->bytes;
    else if (c->kind == ALLGATHER || (c->kind == GATHER && c->rank == c->root))
        c->src = c->dst + c->rank * c->bytes;
}

static void call_prepare(call_t *c)
{
    c->rank = gex_TM_QueryRank(c->tm);
    c->size = gex_TM_QuerySize(c->tm);
    c->dst = place_buffer(c, 0, received_blocks(c) * c->bytes);
    c->src = place_buffer(c, 1, sent_blocks(c) * c->bytes);
    memset(c->dst, 0xee, received_blocks(c) * c->bytes + GUARD);
    if (c->in_place)
        place_own(c);
    for (size_t b = 0; b < sent_blocks(c); b++)
        conform_fill(c->src + b * c->bytes, c->bytes, sent_key(c, b));
}

static void call_start(call_t *c)
{
    if (c->kind == SCATTER)
        c->event = gasnetx_Coll_ScatterNB(c->tm, c->root, c->dst,
                                          c->rank == c->root ? c->src : NULL, c->bytes, 0);
    else if (c->kind == GATHER)
        c->event = gasnetx_Coll_GatherNB(c->tm, c->root, c->rank == c->root ? c->dst : NULL, c->src,
                                         c->bytes, 0);
    else if (c->kind == ALLGATHER)
        c->event = gasnetx_Coll_AllgatherNB(c->tm, c->dst, c->src, c->bytes, 0);
    else
        c->event = gasnetx_Coll_AlltoallNB(c->tm, c->dst, c->src, c->bytes, 0);
}

static void call_finish(call_t *c)
{
    for (size_t b = 0; b < received_blocks(c); b++)
        CHECK_FILL(c->dst + b * c->bytes, c->bytes, received_key(c, b), names[c->kind]);
    for (size_t i = 0; i < GUARD && !(c->in_place && c->kind == SCATTER); i++)
        CHECK(c->dst[received_blocks(c) * c->bytes + i] == 0xee,
              "%s with root %u and %zu bytes wrote past the end of its output", names[c->kind],
              (unsigned)c->root, c->bytes);
    free(c->memory[0]);
    free(c->memory[1]);
}

static void call_whole(call_t *c)
{
    c->event = GEX_EVENT_NO_OP;
    call_prepare(c);
    call_start(c);
    gex_Event_Wait(c->event);
    call_finish(c);
}

/* ---- every size ---- */

static void refuse_reads(void)
{
    static int refused;

    if (!refused++ && getenv("CONFORM_NO_READS") != NULL && job.rank % 2 != 0)
        conform_refuse_call(SYS_process_vm_readv);
}

static const size_t sizes[] = {0, 1, 8, 8, 160, 1000, 5000, 65536 + 3, LARGE};

static void check_every_root(call_t *c)
{
    static uint64_t round;
    const int rooted = c->kind == SCATTER || c->kind == GATHER;

    for (c->root = 0; c->root<(rooted ? job.size : 1); c->root += job.size> 3 ? 3 : 1)
        for (int i = 0; i < 2; i++) {
            c->round = ++round;
            c->in_place = c->kind != ALLTOALL && round % 3 == 0;
            call_whole(c);
        }
    c->root = 0;
}

static void test_sizes(void)
{
    call_t c = {.tm = job.tm};

    refuse_reads();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int kind = 0; kind < KINDS; kind++) {
            c.kind = (kind_t)kind;
            c.bytes = sizes[i];
            if (c.bytes * job.size <= MOST)
                check_every_root(&c);
        }
}

/* ---- many at once ---- */

enum { MANY = 64 };

/* Starts calls of all kinds, waits in an order that differs between ranks. */
static void check_many(gex_TM_t tm, uint64_t round)
{
    static const size_t many[] = {8, 100, 3000, 70000};
    call_t *calls = conform_alloc(MANY * sizeof(*calls));

    for (unsigned i = 0; i < MANY; i++) {
        calls[i] = (call_t){.kind = (kind_t)(i % KINDS),
                            .tm = tm,
                            .root = (gex_Rank_t)(i / KINDS % gex_TM_QuerySize(tm)),
                            .bytes = many[i % 13 % 4],
                            .round = round * MANY + i};
        call_prepare(&calls[i]);
        call_start(&calls[i]);
        if (conform_mix(round, i, job.rank) % 50 == 0)
            conform_nap(1);
    }
    for (unsigned i = 0; i < MANY; i++)
        gex_Event_Wait(calls[job.rank % 2 ? i : MANY - 1 - i].event);
    for (unsigned i = 0; i < MANY; i++)
        call_finish(&calls[i]);
    free(calls);
}

static void test_many(void)
{
    refuse_reads();
    for (uint64_t round = 0; round < 3; round++)
        check_many(job.tm, 100 + round);
}

/* Together with the collectives of GASNet-EX, and barriers. */
static void test_mixed(void)
{
    for (uint64_t i = 0; i < 40; i++) {
        const uint64_t in = job.rank + i;
        uint64_t sum = 0, before = 0;
        call_t c = {.kind = (kind_t)(i % KINDS), .tm = job.tm, .round = 500 + i, .bytes = 24};
        gex_Event_t events[4];

        c.bytes = i % 5 ? 24 : 66000;
        call_prepare(&c);
        events[0] =
            gex_Coll_ReduceToAllNB(job.tm, &sum, &in, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0);
        call_start(&c);
        events[1] = c.event;
        events[2] = gasnetx_Coll_ScanExclusiveNB(job.tm, &before, &in, GEX_DT_U64, 8, 1, GEX_OP_ADD,
                                                 NULL, NULL, 0);
        events[3] = gex_Coll_BarrierNB(job.tm, 0);
        gex_Event_WaitAll(events, 4, 0);
        call_finish(&c);
        CHECK(sum == i * job.size + job.size * (job.size - 1) / 2,
              "the sum over all ranks is %llu in round %d", (unsigned long long)sum, (int)i);
        CHECK(before == i * job.rank + (uint64_t)job.rank * (job.rank - (job.rank > 0)) / 2,
              "the sum over the ranks before this one is %llu", (unsigned long long)before);
    }
}

/* ---- scans ---- */

/* The map x -> a * x + b modulo 2^64. Maps are applied from left to right, and do not commute. */
typedef struct {
    uint64_t a, b;
} map_t;

static void apply_maps(const void *left, void *right, size_t count, const void *cdata)
{
    const map_t *l = left;
    map_t *r = right;

    CHECK(cdata == (const void *)names, "the operator got %p as cdata", cdata);
    for (size_t i = 0; i < count; i++)
        r[i] = (map_t){l[i].a * r[i].a, l[i].b * r[i].a + r[i].b};
}

static map_t map_of(gex_Rank_t rank, size_t i, uint64_t round)
{
    return (map_t){conform_mix(rank, i, round) | 1, conform_mix(rank, i, round + 1)};
}

/* Compares with what the ranks below `end` give. */
static void check_maps(const map_t *got, size_t count, gex_Rank_t end, uint64_t round)
{
    for (size_t i = 0; i < count; i++) {
        map_t want = map_of(0, i, round);

        for (gex_Rank_t r = 1; r < end; r++) {
            map_t next = map_of(r, i, round);

            apply_maps(&want, &next, 1, names);
            want = next;
        }
        CHECK(memcmp(&got[i], &want, sizeof(want)) == 0,
              "element %zu of %zu is not the result over %u ranks in their order", i, count,
              (unsigned)end);
    }
}

static void scan_maps(gex_TM_t tm, size_t count, int exclusive, int in_place, uint64_t round)
{
    const gex_Rank_t rank = gex_TM_QueryRank(tm);
    map_t *dst = conform_alloc(count * sizeof(*dst)), *src = dst;
    const map_t untouched = {17, 17};

    if (!in_place)
        src = conform_alloc(count * sizeof(*src));
    dst[0] = untouched;
    for (size_t i = 0; i < count; i++)
        src[i] = map_of(rank, i, round);
    gex_Event_Wait((exclusive ? gasnetx_Coll_ScanExclusiveNB : gasnetx_Coll_ScanNB)(
        tm, dst, src, GEX_DT_USER, sizeof(*dst), count, round % 2 ? GEX_OP_USER_NC : GEX_OP_USER,
        apply_maps, (void *)(uintptr_t)names, 0));
    if (rank || !exclusive)
        check_maps(dst, count, rank + !exclusive, round);
    else if (!in_place)
        CHECK(dst[0].a == 17 && dst[0].b == 17, "an exclusive scan wrote to rank 0");
    if (!in_place)
        free(src);
    free(dst);
}

static void test_scan(void)
{
    static const size_t counts[] = {1, 63, 1025, 5000, 66000};

    for (uint64_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        for (int way = 0; way < 4; way++)
            scan_maps(job.tm, counts[i], way & 1, way / 2, i * 4 + (uint64_t)way);
}

/* Scans by built-in operators, many outstanding. */
static void test_scan_many(void)
{
    enum { SCANS = 40 };
    int64_t in[SCANS], out[SCANS], least[SCANS];
    gex_Event_t events[2 * SCANS];

    for (int i = 0; i < SCANS; i++) {
        in[i] = (int64_t)job.rank * (i - SCANS / 2) + i;
        events[2 * i] = gasnetx_Coll_ScanNB(job.tm, &out[i], &in[i], GEX_DT_I64, 8, 1, GEX_OP_ADD,
                                            NULL, NULL, 0);
        events[2 * i + 1] = gasnetx_Coll_ScanNB(job.tm, &least[i], &in[i], GEX_DT_I64, 8, 1,
                                                GEX_OP_MIN, NULL, NULL, 0);
    }
    gex_Event_WaitAll(events, 2 * SCANS, 0);
    for (int i = 0; i < SCANS; i++) {
        const int64_t n = job.rank, step = i - SCANS / 2;

        CHECK(out[i] == n * (n + 1) / 2 * step + (n + 1) * i, "sum %d is %lld", i,
              (long long)out[i]);
        CHECK(least[i] == (step < 0 ? n * step + i : i), "minimum %d is %lld", i,
              (long long)least[i]);
    }
}

/* ---- teams ---- */

static gex_TM_t split(int color, int key)
{
    gex_TM_t tm = GEX_TM_INVALID;

    gex_TM_Split(&tm, job.tm, color, key, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    return tm;
}

/* Even and odd ranks, in descending order, at the same time; the slots of teams are used again. */
static void test_teams(void)
{
    for (int round = 0; round < 8; round++) {
        gex_TM_t tm = split((int)job.rank % 2, -(int)job.rank), all = split(0, -(int)job.rank);

        check_many(tm, 200 + (uint64_t)round);
        check_many(all, 300 + (uint64_t)round);
        scan_maps(all, 100, round % 2, 0, 400 + (uint64_t)round);
        gex_TM_Destroy(tm, NULL, 0);
        gex_TM_Destroy(all, NULL, 0);
    }
}

/* More teams than the shared memory has room for: the last ones use messages. */
static void test_many_teams(void)
{
    enum { TEAMS = 70 };
    gex_TM_t teams[TEAMS];

    for (int t = 0; t < TEAMS; t++) {
        call_t c = {.kind = t % 2 ? ALLGATHER : ALLTOALL, .bytes = 8, .round = (uint64_t)t};

        teams[t] = c.tm = split(0, (int)job.rank);
        call_whole(&c);
    }
    for (int t = 0; t < TEAMS; t++)
        gex_TM_Destroy(teams[t], NULL, 0);
}

/* ---- messages and memory ---- */

/* As conform_frames_sent, when so many have left: without room at a slow peer the last one waits
 * here. */
static uint64_t frames_left(uint64_t wanted)
{
    uint64_t sent = conform_frames_sent();

    for (unsigned tries = 0; sent < wanted && tries < TRIES; tries++)
        sent = conform_frames_sent();
    return sent;
}

static void calls_of(kind_t kind, size_t bytes, int count)
{
    for (int i = 0; i < count; i++) {
        call_t c = {.kind = kind, .tm = job.tm, .bytes = bytes, .round = (uint64_t)i};

        call_whole(&c);
    }
}

/* Calls send so many messages, and keep no memory if that is none. */
static void check_frames(kind_t kind, uint64_t each)
{
    calls_of(kind, 8, COUNT); /* the first calls bind peers and fill the pools */
    conform_barrier();
    const uint64_t before = conform_frames_sent();
    const size_t held = mallinfo2().uordblks;
    calls_of(kind, 8, COUNT);
    const uint64_t sent = frames_left(before + each * COUNT) - before;
    const size_t more = mallinfo2().uordblks - held;
    conform_barrier();
    CHECK(sent == each * COUNT, "%d calls of %s sent %llu messages, not %llu", COUNT, names[kind],
          (unsigned long long)sent, (unsigned long long)each * COUNT);
    CHECK(each || more == 0, "%d calls of %s kept %zu bytes", COUNT, names[kind], more);
}

static void test_frames(void)
{
    const char *setting = getenv("CONFORM_COUNT");

    for (kind_t kind = ALLGATHER; kind <= ALLTOALL; kind++) {
        if (setting)
            check_frames(kind, strtoull(setting, NULL, 0));
        calls_of(kind, 8, FEW);
        calls_of(kind, 72000, FEW);
    }
}

/* ---- threads ---- */

#ifdef GASNET_PAR
static gex_TM_t thread_teams[64];

static void *thread_body(void *number)
{
    const int me = *(int *)number;

    for (uint64_t round = 0; round < 3; round++) {
        check_many(thread_teams[me], (uint64_t)me * 10 + round);
        scan_maps(thread_teams[me], 500, me % 2, 0, round);
    }
    return NULL;
}

/* Each thread has a team. */
static void test_threads(void)
{
    const int threads = job.threads < 6 ? job.threads : 6;

    for (int t = 0; t < threads; t++)
        thread_teams[t] = split(t % 2 ? (int)job.rank % 2 : 0, t % 3 ? (int)job.rank : 0);
    conform_in_threads(threads, thread_body);
    for (int t = 0; t < threads; t++)
        gex_TM_Destroy(thread_teams[t], NULL, 0);
}
#endif

const conform_test_t conform_gather_tests[] = {
    {"gather_sizes", test_sizes, "gather, scatter and all-to-all of every size, also in place"},
    {"gather_many", test_many, "many of them outstanding"},
    {"gather_mixed", test_mixed, "together with other collectives"},
    {"gather_scan", test_scan, "scans by an operator that does not commute"},
    {"gather_scan_many", test_scan_many, "many scans outstanding"},
    {"gather_teams", test_teams, "in teams that exist at the same time"},
    {"gather_many_teams", test_many_teams, "in more teams than shared memory has room for"},
    {"gather_frames", test_frames, "how many messages they are, and that no memory is kept"},
#ifdef GASNET_PAR
    {"gather_threads", test_threads, "threads with different teams"},
#endif
    {NULL, NULL, NULL},
};
#endif
