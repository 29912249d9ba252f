/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives of GASNet-1: each with every synchronization mode, many roots and sizes. */
#include "../conform.h"

#include <gasnet_coll.h>
#include <stdlib.h>
#include <string.h>

/* The segment of each rank holds the source and the destination of its calls; the outbox holds what
 * the rank prepares for a peer or fetches from it. */
#define AREA ((size_t)4 << 20)
#define SRC CONFORM_INBOX
#define DST (CONFORM_INBOX + AREA)
#define GUARD 16

typedef enum { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE, KINDS } kind_t;
static const char *const names[KINDS] = {"broadcast", "scatter", "gather", "gather_all",
                                         "exchange"};
static const int ins[] = {GASNET_COLL_IN_NOSYNC, GASNET_COLL_IN_MYSYNC, GASNET_COLL_IN_ALLSYNC};
static const int outs[] = {GASNET_COLL_OUT_NOSYNC, GASNET_COLL_OUT_MYSYNC, GASNET_COLL_OUT_ALLSYNC};

typedef struct {
    kind_t kind;
    gex_Rank_t root;
    size_t bytes;
    int flags;
    uint64_t round; /* makes the bytes of each call different */
} call_t;

/* ---- the expected bytes ---- */

static uint64_t key_of(const call_t *c, gex_Rank_t from, gex_Rank_t to)
{
    return conform_mix(from + 1, to + 1, c->round);
}

/* The number of blocks that a rank sends. */
static size_t sent_blocks(const call_t *c, gex_Rank_t rank)
{
    if (c->kind == BROADCAST || c->kind == SCATTER)
        return rank != c->root ? 0 : c->kind == SCATTER ? job.size : 1;
    return c->kind == EXCHANGE ? job.size : 1;
}

/* The number of blocks that a rank receives. */
static size_t received_blocks(const call_t *c, gex_Rank_t rank)
{
    if (c->kind == BROADCAST || c->kind == SCATTER)
        return 1;
    return c->kind == GATHER && rank != c->root ? 0 : job.size;
}

static uint64_t sent_key(const call_t *c, gex_Rank_t rank, size_t block)
{
    return key_of(c, rank, c->kind == SCATTER || c->kind == EXCHANGE ? (gex_Rank_t)block : 0);
}

static uint64_t received_key(const call_t *c, gex_Rank_t rank, size_t block)
{
    if (c->kind == BROADCAST || c->kind == SCATTER)
        return key_of(c, c->root, c->kind == SCATTER ? rank : 0);
    return key_of(c, (gex_Rank_t)block, c->kind == EXCHANGE ? rank : 0);
}

/* Each block is a pattern of its own. */
static void fill_source(const call_t *c, gex_Rank_t rank, unsigned char *at)
{
    for (size_t b = 0; b < sent_blocks(c, rank); b++)
        conform_fill(at + b * c->bytes, c->bytes, sent_key(c, rank, b));
}

static void check_received(const call_t *c, gex_Rank_t rank, const unsigned char *at)
{
    for (size_t b = 0; b < received_blocks(c, rank); b++)
        CHECK_FILL(at + b * c->bytes, c->bytes, received_key(c, rank, b), names[c->kind]);
    for (size_t i = 0; i < GUARD; i++)
        CHECK(at[received_blocks(c, rank) * c->bytes + i] == 0xee,
              "%s with flags %#x, root %u and %zu bytes wrote past the end of its output",
              names[c->kind], (unsigned)c->flags, (unsigned)c->root, c->bytes);
}

/* ---- a call ---- */

static gasnet_coll_handle_t call_start(const call_t *c, gasnet_team_handle_t team, void *dst,
                                       void *src)
{
    const gasnet_image_t root = c->root;

    switch (c->kind) {
    case BROADCAST:
        return gasnet_coll_broadcast_nb(team, dst, root, src, c->bytes, c->flags);
    case SCATTER:
        return gasnet_coll_scatter_nb(team, dst, root, src, c->bytes, c->flags);
    case GATHER:
        return gasnet_coll_gather_nb(team, root, dst, src, c->bytes, c->flags);
    case GATHER_ALL:
        return gasnet_coll_gather_all_nb(team, dst, src, c->bytes, c->flags);
    default:
        return gasnet_coll_exchange_nb(team, dst, src, c->bytes, c->flags);
    }
}

static void call_blocking(const call_t *c, void *dst, void *src)
{
    const gasnet_image_t root = c->root;

    switch (c->kind) {
    case BROADCAST:
        gasnet_coll_broadcast(GASNET_TEAM_ALL, dst, root, src, c->bytes, c->flags);
        break;
    case SCATTER:
        gasnet_coll_scatter(GASNET_TEAM_ALL, dst, root, src, c->bytes, c->flags);
        break;
    case GATHER:
        gasnet_coll_gather(GASNET_TEAM_ALL, root, dst, src, c->bytes, c->flags);
        break;
    case GATHER_ALL:
        gasnet_coll_gather_all(GASNET_TEAM_ALL, dst, src, c->bytes, c->flags);
        break;
    default:
        gasnet_coll_exchange(GASNET_TEAM_ALL, dst, src, c->bytes, c->flags);
        break;
    }
}

/* The round decides how this rank waits. */
static void call_somehow(const call_t *c, void *dst, void *src)
{
    gasnet_coll_handle_t handles[3] = {GASNET_COLL_INVALID_HANDLE, GASNET_COLL_INVALID_HANDLE,
                                       GASNET_COLL_INVALID_HANDLE};
    const uint64_t way = c->round % 6;
    int result = GASNET_ERR_NOT_READY;

    if (way == 0) {
        call_blocking(c, dst, src);
        return;
    }
    handles[1] = call_start(c, GASNET_TEAM_ALL, dst, src);
    if (way == 1)
        gasnet_coll_wait_sync(handles[1]);
    else if (way == 2)
        gasnet_coll_wait_sync_all(handles, 3);
    else if (way == 3)
        gasnet_coll_wait_sync_some(handles, 3);
    while (way > 3 && result != GASNET_OK) {
        result = way == 4                                   ? gasnet_coll_try_sync_all(handles, 3)
                 : handles[1] == GASNET_COLL_INVALID_HANDLE ? GASNET_OK
                                                            : gasnet_coll_try_sync(handles[1]);
        CHECK(result == GASNET_OK || result == GASNET_ERR_NOT_READY, "a try_sync call returned %d",
              result);
    }
}

/* ---- every synchronization mode ---- */

static gex_Rank_t peer_of(gex_Rank_t rank)
{
    return (rank ^ 1) < job.size ? rank ^ 1 : rank;
}

/* Writes a source: with IN_ALLSYNC that of a peer, else that of this rank. */
static void write_source(const call_t *c)
{
    const gex_Rank_t rank = c->flags & GASNET_COLL_IN_ALLSYNC ? peer_of(job.rank) : job.rank;
    const size_t bytes = sent_blocks(c, rank) * c->bytes;

    fill_source(c, rank, job.outbox);
    if (bytes)
        gex_RMA_PutBlocking(job.tm, rank, job.base[rank] + SRC, job.outbox, bytes, 0);
}

/* Checks a destination: with OUT_ALLSYNC that of a peer, else that of this rank. */
static void check_destination(const call_t *c)
{
    const gex_Rank_t rank = c->flags & GASNET_COLL_OUT_ALLSYNC ? peer_of(job.rank) : job.rank;

    gex_RMA_GetBlocking(job.tm, job.outbox, rank, job.base[rank] + DST,
                        received_blocks(c, rank) * c->bytes + GUARD, 0);
    check_received(c, rank, job.outbox);
    if (c->flags & GASNET_COLL_OUT_ALLSYNC)
        conform_barrier(); /* so that all peers have checked before the next call */
}

/* Unless IN_NOSYNC is given, no byte may arrive before this rank makes the call. */
static void check_untouched(const call_t *c, const unsigned char *dst)
{
    const size_t bytes = received_blocks(c, job.rank) * c->bytes + GUARD;

    if (c->flags & GASNET_COLL_IN_NOSYNC)
        return;
    if ((c->round + job.rank) % 16 == 0)
        conform_nap(1);
    gasnet_AMPoll();
    for (size_t i = 0; i < bytes; i += 1 + bytes / 64)
        CHECK(dst[i] == 0xee, "%s with flags %#x: byte %zu arrived before this rank's call",
              names[c->kind], (unsigned)c->flags, i);
}

static void check_call(const call_t *c)
{
    unsigned char *src = job.base[job.rank] + SRC, *dst = job.base[job.rank] + DST;
    const int unordered =
        c->flags & GASNET_COLL_IN_MYSYNC && c->flags & GASNET_COLL_OUT_MYSYNC && c->round % 8;

    if (!unordered)
        conform_barrier();
    write_source(c);
    memset(dst, 0xee, received_blocks(c, job.rank) * c->bytes + GUARD);
    if (c->flags & GASNET_COLL_IN_NOSYNC)
        conform_barrier();
    check_untouched(c, dst);
    call_somehow(c, dst, src);
    if (c->flags & GASNET_COLL_OUT_NOSYNC)
        conform_barrier();
    check_destination(c);
}

static void check_every_root(call_t *c, uint64_t *round)
{
    const gex_Rank_t step = job.size > 3 ? (job.size - 1) / 2 : 1;

    for (c->root = 0; c->root < job.size; c->root += step) {
        c->round = ++*round;
        check_call(c);
        if (c->kind == GATHER_ALL || c->kind == EXCHANGE)
            break;
    }
}

static void check_every_kind(size_t bytes, int sync)
{
    static uint64_t round;
    call_t c = {.bytes = bytes,
                .flags = sync | GASNET_COLL_LOCAL | GASNET_COLL_SRC_IN_SEGMENT |
                         GASNET_COLL_DST_IN_SEGMENT};

    if (bytes * job.size + GUARD > AREA)
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        c.kind = (kind_t)kind;
        c.root = 0;
        check_every_root(&c, &round);
    }
}

static void test_sync(void)
{
    static const size_t sizes[] = {0, 1, 100, 5001, 20000, 65537};

    for (int in = 0; in < 3; in++)
        for (int out = 0; out < 3; out++)
            for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
                check_every_kind(sizes[i], ins[in] | outs[out]);
    conform_barrier();
}

/* Sizes around those of messages and around the limit of unsolicited data. */
static void test_sizes(void)
{
    static const size_t sizes[] = {8, 4096, 16383, 16384, 16385, 65536, 131072, 300001};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int mode = 1; mode < 3; mode++)
            check_every_kind(sizes[i], ins[mode] | outs[mode]);
    conform_barrier();
}

/* ---- in place: the block that a rank sends to itself is at its destination ---- */

static void check_in_place(const call_t *c)
{
    const int rooted = c->kind != GATHER_ALL, is_root = job.rank == c->root;
    const size_t total = job.size * c->bytes, own = job.rank * c->bytes;
    unsigned char *all = conform_alloc(total + GUARD), *block = conform_alloc(c->bytes + GUARD);
    unsigned char *dst = block, *src = block;

    memset(all, 0xee, total + GUARD);
    memset(block, 0xee, c->bytes + GUARD);
    if (c->kind == SCATTER && is_root)
        src = all, dst = all + own;
    else if (c->kind == GATHER || c->kind == GATHER_ALL)
        dst = all, src = !rooted || is_root ? all + own : block;
    fill_source(c, job.rank, src);
    call_blocking(c, dst, src);
    for (size_t b = 0; b < received_blocks(c, job.rank); b++)
        CHECK_FILL(dst + b * c->bytes, c->bytes, received_key(c, job.rank, b), names[c->kind]);
    free(all);
    free(block);
}

static void test_in_place(void)
{
    static const kind_t kinds[] = {BROADCAST, SCATTER, GATHER, GATHER_ALL};
    call_t c = {.flags = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL};

    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (c.bytes = 1; c.bytes < 100000; c.bytes = c.bytes * 40 + 1)
            for (c.root = 0; c.root < job.size; c.root++) {
                c.kind = kinds[k];
                c.round++;
                check_in_place(&c);
            }
}

/* ---- many at once ---- */

#define MANY 60

typedef struct {
    call_t c;
    unsigned char *src, *dst;
    gasnet_coll_handle_t handle;
} pending_t;

static void pending_init(pending_t *p, uint64_t number, size_t bytes)
{
    const size_t total = job.size * bytes + GUARD;

    p->c = (call_t){.kind = (kind_t)(number % KINDS),
                    .root = (gex_Rank_t)(number / 2 % job.size),
                    .bytes = bytes,
                    .flags = ins[number % 2 + 1] | outs[number / 3 % 2 + 1] | GASNET_COLL_LOCAL,
                    .round = number};
    p->src = conform_alloc(total);
    p->dst = conform_alloc(total);
    memset(p->dst, 0xee, total);
    fill_source(&p->c, job.rank, p->src);
}

static void pending_finish(pending_t *p)
{
    check_received(&p->c, job.rank, p->dst);
    free(p->src);
    free(p->dst);
}

/* Some ranks initiate all calls before others initiate the first; some wait in reverse order. */
static void test_many(void)
{
    static const size_t sizes[] = {8, 30000, 70000};
    pending_t pending[MANY];

    for (uint64_t i = 0; i < MANY; i++)
        pending_init(&pending[i], 1000 + i, sizes[i % 7 % 3]);
    conform_barrier();
    for (int round = 0; round < 2; round++) {
        if ((job.rank + (gex_Rank_t)round) % 2)
            conform_nap(5);
        for (int i = 0; i < MANY; i++)
            pending[i].handle =
                call_start(&pending[i].c, GASNET_TEAM_ALL, pending[i].dst, pending[i].src);
        for (int i = 0; i < MANY; i++)
            gasnet_coll_wait_sync(pending[job.rank % 2 ? i : MANY - 1 - i].handle);
    }
    for (int i = 0; i < MANY; i++)
        pending_finish(&pending[i]);
}

/* The root scatters many times while the other ranks are still asleep. */
static void test_run_ahead(void)
{
    enum { ROUNDS = 80, BYTES = 50000 };
    call_t c = {.kind = SCATTER,
                .bytes = BYTES,
                .flags = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL};
    unsigned char *src = conform_alloc(job.size * c.bytes), *dst = conform_alloc(ROUNDS * c.bytes);
    gasnet_coll_handle_t handles[ROUNDS];

    if (job.rank)
        conform_nap(20);
    fill_source(&c, job.rank, src);
    for (size_t i = 0; i < ROUNDS; i++)
        handles[i] = call_start(&c, GASNET_TEAM_ALL, dst + i * c.bytes, src);
    gasnet_coll_wait_sync_all(handles, ROUNDS);
    for (size_t i = 0; i < ROUNDS; i++)
        CHECK_FILL(dst + i * c.bytes, c.bytes, received_key(&c, job.rank, 0),
                   "one of many scatters");
    free(src);
    free(dst);
}

/* ---- with collectives of GASNet-EX, and in other teams ---- */

static void test_mixed(void)
{
    for (uint64_t i = 0; i < 30; i++) {
        uint64_t in = job.rank + i, sum = 0, word = in;
        pending_t p;
        gex_Event_t events[3];

        pending_init(&p, 2000 + i, i % 4 ? 40 : 66000);
        events[0] =
            gex_Coll_ReduceToAllNB(job.tm, &sum, &in, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0);
        events[1] = call_start(&p.c, GASNET_TEAM_ALL, p.dst, p.src);
        events[2] = gex_Coll_BroadcastNB(job.tm, p.c.root, &word, &word, 8, 0);
        gex_Event_WaitAll(events, 3, 0);
        pending_finish(&p);
        CHECK(sum == job.size * (i + (job.size - 1) / 2.0) && word == p.c.root + i,
              "round %d: the sum is %llu, the broadcast gave %llu", (int)i, (unsigned long long)sum,
              (unsigned long long)word);
    }
}

/* The team has all ranks in descending order; block r comes from rank r of the team. */
static void test_team(void)
{
    gex_TM_t tm;
    uint64_t mine = job.rank + 7, *all = conform_alloc(job.size * sizeof(*all));

    CHECK(GASNET_TEAM_ALL == job.tm, "GASNET_TEAM_ALL is not the primordial team");
    gex_TM_Split(&tm, job.tm, 0, -(int)job.rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    gasnet_coll_gather_all(tm, all, &mine, sizeof(mine),
                           GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC | GASNET_COLL_LOCAL);
    for (gex_Rank_t r = 0; r < job.size; r++)
        CHECK(all[r] == job.size - 1 - r + 7, "block %u has %llu", (unsigned)r,
              (unsigned long long)all[r]);
    gex_TM_Destroy(tm, NULL, 0);
    free(all);
}

/* ---- barriers, and calls without effect ---- */

static void test_barriers(void)
{
    int id = -1, result;

    CHECK(gasnet_coll_barrier(GASNET_TEAM_ALL, 5, 0) == GASNET_OK, "a named barrier failed");
    CHECK(gasnet_coll_barrier_result(GASNET_TEAM_ALL, &id) == 0 && id == 5,
          "the result is id %d, not 5", id);
    for (int i = 0; i < 50; i++) {
        gasnet_coll_barrier_notify(GASNET_TEAM_ALL, i, 0);
        if (i % 2)
            result = gasnet_coll_barrier_wait(GASNET_TEAM_ALL, i, 0);
        else
            do
                result = gasnet_coll_barrier_try(GASNET_TEAM_ALL, i, 0);
            while (result == GASNET_ERR_NOT_READY);
        CHECK(result == GASNET_OK, "barrier %d returned %d", i, result);
    }
    result = gasnet_coll_barrier(GASNET_TEAM_ALL, (int)job.rank, 0);
    CHECK(result == (job.size > 1 ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK),
          "a barrier with different ids returned %d", result);
    result = gasnet_coll_barrier(GASNET_TEAM_ALL, (int)job.rank, GASNET_BARRIERFLAG_ANONYMOUS);
    CHECK(result == GASNET_OK, "an anonymous barrier returned %d", result);
    gasnet_coll_loadTuningState(NULL, GASNET_TEAM_ALL);
    gasnet_coll_dumpTuningState(NULL, GASNET_TEAM_ALL);
    gasnet_coll_dumpProfile(NULL, GASNET_TEAM_ALL);
}

const conform_test_t conform_coll1_tests[] = {
    {"coll1_sync", test_sync,
     "each collective of GASNet-1, all synchronization modes, roots, sizes"},
    {"coll1_sizes", test_sizes, "sizes around those of messages"},
    {"coll1_in_place", test_in_place, "the block that a rank sends to itself is in place"},
    {"coll1_many", test_many, "many of all kinds, waited for in different orders"},
    {"coll1_run_ahead", test_run_ahead, "a root that is far ahead of the others"},
    {"coll1_mixed", test_mixed, "together with collectives of GASNet-EX"},
    {"coll1_team", test_team, "in another team"},
    {"coll1_barriers", test_barriers, "barriers called as collectives"},
    {NULL, NULL, NULL},
};
