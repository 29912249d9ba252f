/* SPDX-License-Identifier: BSD-3-Clause */
/* GASNet-1: start, tables about the nodes, locks, barriers. */
#include "conform_gasnet1.h"

#include <stdlib.h>
#include <string.h>
#ifdef GASNET_PAR
#include <pthread.h>
#endif

_Static_assert(GASNET_SPEC_VERSION_MAJOR == 1 && GASNET_SPEC_VERSION_MINOR >= 8, "version");
_Static_assert(GASNET_VERSION == GASNET_SPEC_VERSION_MAJOR, "the same under its old name");
_Static_assert(SIZEOF_GASNET_REGISTER_VALUE_T == sizeof(gasnet_register_value_t), "value");
_Static_assert(sizeof(gasnet_handlerarg_t) == 4, "arguments have 32 bits");
_Static_assert(GASNET_MAXNODES > 0 && GASNET_PAGESIZE >= 512, "constants");
_Static_assert(GASNET_ALIGNED_SEGMENTS == 0 || GASNET_ALIGNED_SEGMENTS == 1, "0 or 1");

enum { FIXED_COUNT = 3, TABLE_MAX = 128 };

static gasnet_handlerentry_t table[TABLE_MAX];
static int table_size;
static conform_count_t counted;
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static uint64_t under_lock; /* protected by `lock` */

static void on_count(gasnet_token_t token)
{
    (void)token;
    gasnet_hsl_lock(&lock);
    under_lock++;
    gasnet_hsl_unlock(&lock);
    atomic_fetch_add(&counted, 1);
}

/* ---- start ---- */

/* The lowest index, the highest one and one between are fixed; the library chooses the others. */
static const gasnet_handler_t fixed[FIXED_COUNT] = {128, 255, 200};

static void make_table(void)
{
    const int chosen = conform_gasnet1_handlers(table);

    for (int i = 0; i < FIXED_COUNT; i++) {
        table[chosen + i].index = fixed[i];
        table[chosen + i].fnptr = (void (*)())on_count;
    }
    table_size = chosen + FIXED_COUNT;
}

static void check_table(void)
{
    for (int i = 0; i < table_size; i++) {
        CHECK(table[i].index >= 128, "entry %d got index %u", i, (unsigned)table[i].index);
        for (int k = 0; k < i; k++)
            CHECK(table[i].index != table[k].index, "entries %d and %d both have index %u", k, i,
                  (unsigned)table[i].index);
        conform_index_used(table[i].index);
    }
    for (int i = 0; i < FIXED_COUNT; i++)
        CHECK(table[table_size - FIXED_COUNT + i].index == fixed[i], "fixed index %u has become %u",
              (unsigned)fixed[i], (unsigned)table[table_size - FIXED_COUNT + i].index);
}

void conform_gasnet1_start(int *argc, char ***argv)
{
    int err = gasnet_init(argc, argv);

    CHECK(err == GASNET_OK, "gasnet_init must return GASNET_OK, but returned %d", err);
    job.rank = gasnet_mynode();
    job.size = gasnet_nodes();
    CHECK(gasnet_getMaxLocalSegmentSize() >= gasnet_getMaxGlobalSegmentSize() &&
              gasnet_getMaxGlobalSegmentSize() >= CONFORM_SEGMENT,
          "the suite needs a segment of %zu bytes; raise GASNET_MAX_SEGSIZE", CONFORM_SEGMENT);
    make_table();
    err = gasnet_attach(table, table_size, CONFORM_SEGMENT, 0);
    CHECK(err == GASNET_OK, "gasnet_attach must return GASNET_OK, but returned %d", err);
    check_table();
    conform_gasnet1_chosen(table);
    gasnet_QueryGexObjects(&job.client, &job.ep, &job.tm, &job.segment);
    CHECK((gex_Client_QueryFlags(job.client) & GEX_FLAG_USES_GASNET1) != 0,
          "gasnet_init should enable the calls of GASNet-1");
}

/* ---- tests ---- */

static void test_objects(void)
{
    gex_TM_t tm = GEX_TM_INVALID;

    gasnet_QueryGexObjects(NULL, NULL, NULL, NULL);
    gasnet_QueryGexObjects(NULL, NULL, &tm, NULL);
    CHECK(tm == job.tm, "two queries should give the same team");
    CHECK(gex_TM_QueryRank(tm) == gasnet_mynode() && gex_TM_QuerySize(tm) == gasnet_nodes(),
          "the team should have all nodes, in order");
    CHECK(gex_EP_QueryClient(job.ep) == job.client && gex_EP_QuerySegment(job.ep) == job.segment,
          "the endpoint should belong to the client and have the segment");
    CHECK(strlen(GASNET_CONFIG_STRING) > 0, "GASNET_CONFIG_STRING should not be empty");
    CHECK(gasnet_getenv("PATH") != NULL && gasnet_getenv("CONFORM_NO_SUCH_NAME") == NULL,
          "gasnet_getenv should find PATH, and no variable that is not set");
    CHECK(strcmp(gasnet_ErrorName(GASNET_ERR_NOT_READY), "GASNET_ERR_NOT_READY") == 0,
          "the name of GASNET_ERR_NOT_READY is '%s'", gasnet_ErrorName(GASNET_ERR_NOT_READY));
    CHECK(gasnet_AMMaxMedium() >= 512 && gasnet_AMMaxLongRequest() >= 512 &&
              gasnet_AMMaxLongReply() >= 512,
          "512 bytes of payload should fit");
}

/* The library chooses the same indices on all ranks. */
static void test_indices(void)
{
    uint64_t *all = conform_alloc(job.size * sizeof(*all)), mine = 0;

    for (int i = 0; i < table_size; i++)
        mine = conform_mix(mine, (uint64_t)i, table[i].index);
    conform_exchange(mine, all);
    for (gex_Rank_t r = 0; r < job.size; r++)
        CHECK(all[r] == mine, "the indices of rank %u differ from those here", (unsigned)r);
    free(all);
    atomic_store(&counted, 0);
    conform_barrier();
    for (gasnet_node_t to = 0; to < job.size; to++) {
        for (int i = 0; i < FIXED_COUNT; i++)
            gasnet_AMRequestShort0(to, fixed[i]);
    }
    GASNET_BLOCKUNTIL(atomic_load(&counted) == (uint64_t)job.size * FIXED_COUNT);
}

static void test_segments(void)
{
    const int size = (int)job.size;
    gasnet_seginfo_t *info = conform_alloc((job.size + 1) * sizeof(*info));

    for (int n = 0; n <= size + 1; n++) {
        memset(info, 0x77, (job.size + 1) * sizeof(*info));
        CHECK(gasnet_getSegmentInfo(info, n) == GASNET_OK, "a table of %d entries is legal", n);
        for (int r = 0; r <= size; r++) {
            const int filled = r < n && r < size;

            CHECK(filled == (info[r].size == CONFORM_SEGMENT),
                  "entry %d of %d has size %zu with %d nodes", r, n, (size_t)info[r].size, size);
            CHECK(!filled || info[r].addr == job.base[r], "segment %d is not at %p", r,
                  info[r].addr);
        }
    }
    free(info);
}

static void check_group(const gasnet_nodeinfo_t *info, const gex_RankInfo_t *members,
                        gex_Rank_t count, int hosts)
{
    gex_Rank_t same = 0;

    for (gex_Rank_t r = 0; r < job.size; r++)
        same += hosts ? info[r].host == info[job.rank].host
                      : info[r].supernode == info[job.rank].supernode;
    CHECK(same == count, "%u nodes have the same number, but the group has %u", (unsigned)same,
          (unsigned)count);
    for (gex_Rank_t i = 0; i < count; i++) {
        const gasnet_nodeinfo_t *member = &info[members[i].gex_jobrank];

        CHECK(hosts ? member->host == info[job.rank].host
                    : member->supernode == info[job.rank].supernode,
              "rank %u should have this rank's number", (unsigned)members[i].gex_jobrank);
    }
}

static void test_nodes(void)
{
    gasnet_nodeinfo_t *info = conform_alloc((job.size + 1) * sizeof(*info));
    gex_Rank_t nbrhds, nbrhd, hosts, host, count;
    gex_RankInfo_t *members;

    memset(info, 0x77, (job.size + 1) * sizeof(*info));
    CHECK(gasnet_getNodeInfo(info, (int)job.size + 1) == GASNET_OK, "a longer table is legal");
    CHECK(info[job.size].host == 0x77777777, "the entry behind the last node was written");
    gex_System_QueryMyPosition(&nbrhds, &nbrhd, &hosts, &host);
    CHECK(info[job.rank].host == host && info[job.rank].supernode == nbrhd,
          "this node's numbers should be %u and %u, not %u and %u", (unsigned)host, (unsigned)nbrhd,
          (unsigned)info[job.rank].host, (unsigned)info[job.rank].supernode);
    for (gex_Rank_t r = 0; r < job.size; r++)
        CHECK(info[r].host < hosts && info[r].supernode < nbrhds,
              "rank %u has numbers %u and %u, which are too high", (unsigned)r,
              (unsigned)info[r].host, (unsigned)info[r].supernode);
    gex_System_QueryNbrhdInfo(&members, &count, NULL);
    check_group(info, members, count, 0);
    for (gex_Rank_t i = 0; i < count; i++) {
        const gex_Rank_t r = members[i].gex_jobrank;
        void *here = NULL;

        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(job.tm, r, NULL, &here, NULL, 0));
        CHECK((uintptr_t)here == (uintptr_t)job.base[r] + (uintptr_t)info[r].offset,
              "the segment of rank %u is at %p, not at the given offset", (unsigned)r, here);
    }
    gex_System_QueryHostInfo(&members, &count, NULL);
    check_group(info, members, count, 1);
    free(info);
}

/* ---- locks ---- */

enum { ADDS = 1000 };

static void add_many(void)
{
    for (int i = 0; i < ADDS; i++) {
        if (i % 2)
            gasnet_hsl_lock(&lock);
        else
            while (gasnet_hsl_trylock(&lock) != GASNET_OK)
                ;
        under_lock++;
        gasnet_hsl_unlock(&lock);
    }
}

#ifdef GASNET_PAR
static void *add_in_thread(void *unused)
{
    (void)unused;
    add_many();
    return NULL;
}

static void add_in_threads(void)
{
    pthread_t threads[64];

    for (int i = 0; i < job.threads; i++)
        CHECK(pthread_create(&threads[i], NULL, add_in_thread, NULL) == 0, "no thread %d", i);
    for (int i = 0; i < job.threads; i++)
        pthread_join(threads[i], NULL);
}
#else
static void add_in_threads(void)
{
    for (int i = 0; i < job.threads; i++)
        add_many();
}
#endif

/* Handlers of requests from a peer and the threads of this node count under one lock. */
static void test_hsl(void)
{
    const gasnet_node_t to = (job.rank + 1) % job.size;
    gasnet_hsl_t made;

    gasnet_hsl_init(&made);
    gasnet_hsl_lock(&made);
    gasnet_hsl_unlock(&made);
    CHECK(gasnet_hsl_trylock(&made) == GASNET_OK, "gasnet_hsl_trylock should get a free lock");
    gasnet_hsl_unlock(&made);
    gasnet_hsl_destroy(&made);
    under_lock = 0;
    atomic_store(&counted, 0);
    conform_barrier();
    for (int i = 0; i < ADDS; i++)
        gasnet_AMRequestShort0(to, fixed[i % FIXED_COUNT]);
    add_in_threads();
    GASNET_BLOCKUNTIL(atomic_load(&counted) == ADDS);
    CHECK(under_lock == (uint64_t)ADDS * (1 + (uint64_t)job.threads),
          "%d additions should be counted, not %llu", ADDS * (1 + job.threads),
          (unsigned long long)under_lock);
}

/* ---- barriers ---- */

static int wait_barrier(int id, int flags, int by_try)
{
    int result;

    if (!by_try)
        return gasnet_barrier_wait(id, flags);
    while ((result = gasnet_barrier_try(id, flags)) == GASNET_ERR_NOT_READY)
        ;
    return result;
}

/* Notify and wait may get different flags, but not different ids. */
static void expect_split(int id, int flags, int end_id, int end_flags, int by_try, int want)
{
    int result;

    gasnet_barrier_notify(id, flags);
    result = wait_barrier(end_id, end_flags, by_try);
    CHECK(result == want,
          "notify of id %d and flags %d, wait of %d and %d: should return %s, not %s", id, flags,
          end_id, end_flags, gasnet_ErrorName(want), gasnet_ErrorName(result));
}

static void expect_result(int is_anonymous, int id)
{
    int got = -1, anonymous = gasnet_barrier_result(&got);

    CHECK(!anonymous == !is_anonymous && (is_anonymous || got == id),
          "the result of the barrier %s %d should not be %s %d",
          is_anonymous ? "without id" : "of id", id, anonymous ? "without id" : "of id", got);
}

static void expect_barrier(int id, int flags, int by_try, int want)
{
    int result;

    gasnet_barrier_notify(id, flags);
    result = wait_barrier(id, flags, by_try);
    CHECK(result == want, "a barrier with id %d and flags %d should return %s, not %s", id, flags,
          gasnet_ErrorName(want), gasnet_ErrorName(result));
}

static void test_barrier(void)
{
    const int last = job.rank + 1 == job.size, mismatch = GASNET_ERR_BARRIER_MISMATCH;

    for (int i = 0; i < 20; i++) {
        expect_barrier(i, 0, i % 2, GASNET_OK);
        expect_barrier((int)job.rank, GASNET_BARRIERFLAG_ANONYMOUS, i % 2, GASNET_OK);
        expect_barrier(7, last ? GASNET_BARRIERFLAG_ANONYMOUS : 0, i % 2, GASNET_OK);
        expect_barrier(last ? -i : i + 1, 0, i % 2, job.size > 1 ? mismatch : GASNET_OK);
        expect_barrier(7, last ? GASNET_BARRIERFLAG_MISMATCH : 0, i % 2, mismatch);
        expect_split(i, 0, i + 1, 0, i % 2, mismatch);
        expect_split(i, 0, i, GASNET_BARRIERFLAG_ANONYMOUS, i % 2, GASNET_OK);
        expect_result(0, i);
        expect_split(i, GASNET_BARRIERFLAG_ANONYMOUS, i, 0, i % 2, GASNET_OK);
        expect_result(1, i);
        expect_split(i, GASNET_BARRIERFLAG_UNNAMED, i, GASNET_BARRIERFLAG_UNNAMED, i % 2,
                     GASNET_OK);
        expect_result(1, i);
        expect_split(last ? -7 : i, last ? GASNET_BARRIERFLAG_ANONYMOUS : 0, i, 0, i % 2,
                     GASNET_OK);
        expect_result(job.size == 1, i);
        expect_split(last ? -7 : i, last ? GASNET_BARRIERFLAG_ANONYMOUS : 0, last ? -7 : i, 0,
                     i % 2, last && job.size > 1 ? mismatch : GASNET_OK);
    }
    expect_barrier(1, 0, 0, GASNET_OK);
}

/* ---- hints that this library does not use ---- */

static uint64_t value_with_threadinfo(gasnet_threadinfo_t info)
{
    GASNET_POST_THREADINFO(info);
    gasnet_put_val(job.rank, job.outbox, 41, 8);
    return gasnet_get_val(job.rank, job.outbox, 8);
}

static uint64_t node_without_interrupts(void)
{
    GASNET_BEGIN_FUNCTION();
    uint64_t value;

    gasnet_hold_interrupts();
    value = gasnet_mynode();
    gasnet_resume_interrupts();
    return value;
}

static void test_hints(void)
{
    CHECK(value_with_threadinfo(GASNET_GET_THREADINFO()) == 41,
          "a value that was put should come back");
    CHECK(node_without_interrupts() == job.rank,
          "gasnet_mynode should work while interrupts are held");
    CHECK(gasnet_set_waitmode(GASNET_WAIT_BLOCK) == GASNET_OK, "wait mode BLOCK was refused");
    conform_barrier();
    CHECK(gasnet_set_waitmode(GASNET_WAIT_SPIN) == GASNET_OK, "wait mode SPIN was refused");
    conform_barrier();
    CHECK(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK) == GASNET_OK,
          "wait mode SPINBLOCK was refused");
    CHECK(gasnet_AMPoll() == GASNET_OK, "a poll should succeed");
}

const conform_test_t conform_gasnet1_tests[] = {
    {"gasnet1_objects", test_objects, "objects of GASNet-EX, constants and limits"},
    {"gasnet1_indices", test_indices,
     "handlers with fixed indices and with indices that the library chooses"},
    {"gasnet1_segments", test_segments, "table of segments, shorter and longer"},
    {"gasnet1_nodes", test_nodes, "table of hosts and neighbourhoods"},
    {"gasnet1_hsl", test_hsl, "locks between handlers and threads"},
    {"gasnet1_barrier", test_barrier, "barriers with ids, anonymous ones, and mismatches"},
    {"gasnet1_hints", test_hints, "thread information, interrupts, wait modes"},
    {NULL, NULL, NULL}};
