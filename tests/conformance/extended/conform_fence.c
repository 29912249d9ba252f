/* SPDX-License-Identifier: BSD-3-Clause */
/* Extensions of Aqueduct: local and global fences, and puts that notify their target. With
 * CONFORM_COUNT=N a put between ranks must be N messages: 1 over udp, 0 through mapped memory. With
 * CONFORM_SPARE=M the conduit may send M messages of its own beside a test, such as credits. */
#include "../conform.h"

#include <aqueduct.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPS = 60, /* of a round; one in three ways each */
    ROUNDS = 20,
    WORD = 8,
    COUNT = 200, /* of puts whose messages are counted */
    FENCES = 10, /* of each kind that follow */
    DATA = 64,   /* offset of the data in a slot; the counter is before it */
    MOST_THREADS = 64,
    INDEX = 88, /* of the handler of further endpoints */
    AREA = 1 << 20
};

static gex_Rank_t next_rank(void)
{
    return (job.rank + 1) % job.size;
}

static gex_Rank_t previous_rank(void)
{
    return (job.rank + job.size - 1) % job.size;
}

static uint64_t frames_sent(void)
{
    const volatile gasnetx_counters_t *all = gasnetx_Counters(GEX_EP_INVALID);

    gasnetx_Counters_Update();
    return gasnetx_counter(&all->frames_sent);
}

static uint64_t *words_from(gex_Rank_t owner, gex_Rank_t peer)
{
    return (uint64_t *)(void *)(conform_slot(owner, peer, 0) + DATA);
}

static uint64_t setting(const char *name)
{
    const char *text = getenv(name);

    return text ? strtoul(text, NULL, 10) : 0;
}

/* Whether COUNT puts may be that many messages. */
static int are_messages_of_puts(uint64_t sent)
{
    if (!getenv("CONFORM_COUNT") || job.size == 1)
        return sent <= 2 * COUNT;
    const uint64_t puts = setting("CONFORM_COUNT") * COUNT;
    return sent >= puts && sent <= puts + setting("CONFORM_SPARE");
}

/* ---- fences ---- */

static void check_nothing_outstanding(const char *what)
{
    CHECK(gex_NBI_Test(GEX_EC_ALL, 0) == GASNET_OK, "implicit operations are outstanding after %s",
          what);
    CHECK(gasnetx_Fence_LocalNB(GEX_TM_INVALID, 0) == GEX_EVENT_INVALID &&
              gasnetx_Fence_GlobalNB(GEX_TM_INVALID, 0) == GEX_EVENT_INVALID,
          "operations of this thread are outstanding after %s", what);
}

/* Fences with nothing outstanding send nothing. Nobody else communicates meanwhile. */
static void test_none(void)
{
    const uint64_t before = frames_sent();

    for (int i = 0; i < 1000; i++) {
        gasnetx_Fence_Local(GEX_TM_INVALID, 0);
        gasnetx_Fence_Global(GEX_TM_INVALID, 0);
        gasnetx_Fence_Local(job.tm, 0);
        gasnetx_Fence_Global(job.tm, 0);
        check_nothing_outstanding("nothing");
    }
    CHECK(frames_sent() <= before + setting("CONFORM_SPARE"),
          "fences with nothing outstanding sent %llu messages",
          (unsigned long long)(frames_sent() - before));
}

/* Begins puts in different ways of OPS words to the next rank. Returns the
 * number of events. */
static int begin_puts(const uint64_t *src, gex_Event_t *events)
{
    uint64_t *dest = words_from(next_rank(), job.rank);
    int count = 0;

    for (int i = 0; i < OPS; i++) {
        void *from = (void *)(uintptr_t)(src + i), *to = dest + i;

        if (i % 3 == 0)
            events[count++] =
                gex_RMA_PutNB(job.tm, next_rank(), to, from, WORD, GEX_EVENT_DEFER, 0);
        else if (i % 3 == 1)
            gex_RMA_PutNBI(job.tm, next_rank(), to, from, WORD, GEX_EVENT_DEFER, 0);
        else
            events[count++] = gex_VIS_IndexedPutNB(job.tm, next_rank(), 1, &to, WORD, 1,
                                                   (void *const *)&from, WORD, 0);
    }
    return count;
}

static void fill_words(uint64_t *words, uint64_t key)
{
    for (int i = 0; i < OPS; i++)
        words[i] = conform_mix(key, (uint64_t)i, 7);
}

static void check_words(const uint64_t *words, uint64_t key, const char *what)
{
    for (int i = 0; i < OPS; i++)
        CHECK(words[i] == conform_mix(key, (uint64_t)i, 7), "word %d is wrong after %s", i, what);
}

/* gex_Event_TestAll does not poll: what it finds was complete when the fence returned. */
static void test_global(void)
{
    gex_Event_t events[OPS];
    uint64_t src[OPS];

    for (uint64_t round = 0; round < ROUNDS; round++) {
        fill_words(src, round * job.size + job.rank);
        const int count = begin_puts(src, events);
        if (round % 3 == 0)
            gasnetx_Fence_Global(GEX_TM_INVALID, 0);
        else if (round % 3 == 1)
            gasnetx_Fence_Global(job.tm, 0);
        else
            gex_Event_Wait(gasnetx_Fence_GlobalNB(GEX_TM_INVALID, 0));
        memset(src, 0, sizeof(src));
        CHECK(gex_Event_TestAll(events, (size_t)count, 0) == GASNET_OK,
              "a put is outstanding after a global fence");
        check_nothing_outstanding("a global fence");
        conform_barrier();
        check_words(words_from(job.rank, previous_rank()), round * job.size + previous_rank(),
                    "a global fence");
        conform_barrier();
    }
}

/* Atomics of all kinds: what the fence promises is checked by the target. */
static void test_atomic(void)
{
    uint64_t *word = words_from(next_rank(), job.rank), old[OPS];
    gex_Event_t events[OPS];
    gex_AD_t ad;

    gex_AD_Create(&ad, job.tm, GEX_DT_U64, GEX_OP_ADD | GEX_OP_FADD, 0);
    *words_from(job.rank, previous_rank()) = 0;
    conform_barrier();
    for (int i = 0; i < OPS; i++) {
        events[i] = gex_AD_OpNB_U64(ad, &old[i], next_rank(), word, GEX_OP_FADD, 1, 0, 0);
        gex_AD_OpNBI_U64(ad, NULL, next_rank(), word, GEX_OP_ADD, 1, 0, 0);
    }
    gasnetx_Fence_Local(GEX_TM_INVALID, 0);
    CHECK(gex_Event_TestAll(events, OPS, 0) == GASNET_OK,
          "a fetching atomic is outstanding after a local fence");
    gasnetx_Fence_Global(GEX_TM_INVALID, 0);
    check_nothing_outstanding("a global fence");
    conform_barrier();
    CHECK(*words_from(job.rank, previous_rank()) == 2 * OPS, "%llu additions were done, not %d",
          (unsigned long long)*words_from(job.rank, previous_rank()), 2 * OPS);
    conform_barrier();
    gex_AD_Destroy(ad);
}

/* Gets have arrived, and sources of puts may be overwritten, after a local fence. */
static void test_local(void)
{
    gex_Event_t events[2 * OPS];
    uint64_t src[OPS], got[OPS];
    uint64_t *mine = words_from(job.rank, job.rank), *theirs = words_from(next_rank(), next_rank());

    for (uint64_t round = 0; round < ROUNDS; round++) {
        const gex_TM_t scope = round % 2 ? job.tm : GEX_TM_INVALID;

        fill_words(mine, round * job.size + job.rank);
        fill_words(src, round * job.size + job.rank);
        conform_barrier();
        int count = job.size > 1 ? begin_puts(src, events) : 0;
        const int puts = count;
        for (int i = 0; i < OPS; i++) {
            if (i % 2)
                gex_RMA_GetNBI(job.tm, &got[i], next_rank(), theirs + i, WORD, 0);
            else
                events[count++] = gex_RMA_GetNB(job.tm, &got[i], next_rank(), theirs + i, WORD, 0);
        }
        if (round % 4 < 2)
            gasnetx_Fence_Local(scope, 0);
        else
            gex_Event_Wait(gasnetx_Fence_LocalNB(scope, 0));
        check_words(got, round * job.size + next_rank(), "a local fence");
        CHECK(gex_NBI_Test(GEX_EC_GET, 0) == GASNET_OK &&
                  gex_Event_TestAll(events + puts, (size_t)(count - puts), 0) == GASNET_OK,
              "a get is outstanding after a local fence");
        memset(src, 0, sizeof(src));
        gex_Event_WaitAll(events, (size_t)puts, 0);
        gex_NBI_Wait(GEX_EC_ALL, 0);
        conform_barrier();
        if (job.size > 1)
            check_words(words_from(job.rank, previous_rank()), round * job.size + previous_rank(),
                        "a local fence");
        conform_barrier();
    }
}

/* The operations of an access region count while it is open, and after its end. */
static void test_region(void)
{
    uint64_t src[OPS];
    uint64_t *dest = words_from(next_rank(), job.rank);

    fill_words(src, job.rank);
    for (int end_first = 0; end_first < 2; end_first++) {
        gex_Event_t event = GEX_EVENT_INVALID;

        gex_NBI_BeginAccessRegion(0);
        for (int i = 0; i < OPS; i++)
            gex_RMA_PutNBI(job.tm, next_rank(), dest + i, src + i, WORD, GEX_EVENT_DEFER, 0);
        if (end_first)
            event = gex_NBI_EndAccessRegion(0);
        gasnetx_Fence_Global(GEX_TM_INVALID, 0);
        if (!end_first) {
            event = gex_NBI_EndAccessRegion(0);
            CHECK(event == GEX_EVENT_INVALID, "a region is outstanding after a global fence");
        }
        CHECK(gex_Event_Test(event) == GASNET_OK, "a region is outstanding after a global fence");
        check_nothing_outstanding("a global fence");
    }
    conform_barrier();
    check_words(words_from(job.rank, previous_rank()), previous_rank(), "a region");
}

/* COUNT puts and a fence: as many messages as puts. Rank 0 communicates alone. Where the count is
 * not exact, a conduit may return a credit with a message of its own. */
static void test_frames(void)
{
    uint64_t *dest = words_from(next_rank(), job.rank);
    const uint64_t value = 1;
    uint64_t before, sent;

    conform_barrier();
    if (job.rank)
        return;
    before = frames_sent();
    for (int i = 0; i < COUNT; i++)
        gex_RMA_PutNBI(job.tm, next_rank(), dest, &value, WORD, GEX_EVENT_NOW, 0);
    for (int i = 0; i < FENCES; i++) {
        gasnetx_Fence_Local(GEX_TM_INVALID, 0);
        gasnetx_Fence_Global(GEX_TM_INVALID, 0);
        gasnetx_Fence_Global(job.tm, 0);
    }
    sent = frames_sent() - before;
    CHECK(are_messages_of_puts(sent), "%d puts and fences were %llu messages", COUNT,
          (unsigned long long)sent);
}

#ifdef GASNET_PAR
static gex_Event_t thread_events[MOST_THREADS][OPS];
static uint64_t thread_words[MOST_THREADS];
static conform_count_t began, fenced;

static void *put_in_thread(void *arg)
{
    const int me = *(int *)arg;
    uint64_t *dest = words_from(next_rank(), job.rank) + me * (OPS + 1);

    for (int i = 0; i < OPS; i++)
        thread_events[me][i] = gex_RMA_PutNB(job.tm, next_rank(), dest + i, &thread_words[me], WORD,
                                             GEX_EVENT_DEFER, 0);
    gex_RMA_PutNBI(job.tm, next_rank(), dest + OPS, &thread_words[me], WORD, GEX_EVENT_DEFER, 0);
    atomic_fetch_add(&began, 1);
    if (me) {
        GASNET_BLOCKUNTIL(fenced);
    } else {
        GASNET_BLOCKUNTIL(began == (uint64_t)job.threads);
        gasnetx_Fence_Global(job.tm, 0);
        fenced = 1;
    }
    CHECK(gex_NBI_Test(GEX_EC_ALL, 0) == GASNET_OK &&
              gex_Event_TestAll(thread_events[me], OPS, 0) == GASNET_OK,
          "a put of thread %d is outstanding after another thread's fence of the endpoint", me);
    return NULL;
}

/* A fence of an endpoint covers the operations of all threads. */
static void test_threads(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        began = fenced = 0;
        for (int t = 0; t < job.threads; t++)
            thread_words[t] = conform_mix(job.rank, (uint64_t)t, (uint64_t)round);
        conform_in_threads(job.threads, put_in_thread);
        memset(thread_words, 0, sizeof(thread_words));
        conform_barrier();
        for (int i = 0; i < job.threads * (OPS + 1); i++)
            CHECK(words_from(job.rank, previous_rank())[i] ==
                      conform_mix(previous_rank(), (uint64_t)(i / (OPS + 1)), (uint64_t)round),
                  "put %d of the threads has not arrived", i);
        conform_barrier();
    }
}

/* Each thread waits for the events that the thread before has begun, while that one fences. */
static void *pass_events(void *arg)
{
    const int me = *(int *)arg, other = (me + 1) % job.threads;
    uint64_t *dest = words_from(next_rank(), job.rank) + me * (OPS + 1);

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < OPS; i++)
            thread_events[me][i] = gex_RMA_PutNB(job.tm, next_rank(), dest + i, &thread_words[me],
                                                 WORD, GEX_EVENT_DEFER, 0);
        atomic_fetch_add(&began, 1);
        GASNET_BLOCKUNTIL(began >= round * (uint64_t)job.threads);
        if (me % 2)
            gasnetx_Fence_Global(GEX_TM_INVALID, 0);
        else
            gex_Event_Wait(gasnetx_Fence_GlobalNB(job.tm, 0));
        gex_Event_WaitAll(thread_events[other], OPS, 0);
        atomic_fetch_add(&fenced, 1);
        GASNET_BLOCKUNTIL(fenced >= round * (uint64_t)job.threads);
    }
    return NULL;
}

static void test_passed(void)
{
    began = fenced = 0;
    conform_barrier();
    conform_in_threads(job.threads, pass_events);
    check_nothing_outstanding("all threads have waited");
}
#endif

/* ---- notices ---- */

static conform_count_t ran;
static conform_count_t ran_args;     /* the sum of the arguments */
static const unsigned char *awaited; /* where data must be when a handler runs */
static size_t awaited_bytes;
static uint64_t awaited_key;

static void check_awaited(void)
{
    if (awaited)
        CHECK_FILL(awaited, awaited_bytes, awaited_key, "the data before its notice");
}

static void on_notice0(gex_Token_t token)
{
    (void)token;
    check_awaited();
    atomic_fetch_add(&ran, 1);
}

static void on_notice8(gex_Token_t token, gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2,
                       gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6,
                       gex_AM_Arg_t a7)
{
    CHECK(conform_source(token) == (gex_Rank_t)a7, "a notice of rank %u says it is of rank %d",
          (unsigned)conform_source(token), (int)a7);
    check_awaited();
    atomic_fetch_add(&ran_args, (uint64_t)(a0 + a1 + a2 + a3 + a4 + a5 + a6));
    atomic_fetch_add(&ran, 1);
}

static gex_AM_Entry_t notice_entries[] = {
    {0, (gex_AM_Fn_t)on_notice0, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL, "notice 0"},
    {0, (gex_AM_Fn_t)on_notice8, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQREP, 8, NULL, "notice 8"}};

void conform_fence_setup(void)
{
    conform_register(notice_entries, 2);
}

static const size_t notice_sizes[] = {0, 1, 8, 511, 4096, 65536, 65537, 300001};
enum { SIZES = sizeof(notice_sizes) / sizeof(notice_sizes[0]) };

static uint64_t *counter_of(gex_Rank_t owner, gex_Rank_t peer)
{
    return (uint64_t *)(void *)conform_slot(owner, peer, 0);
}

static uint64_t load(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

/* Puts n bytes of the outbox, by one of four ways, with a notice; complete on return. */
static void put_notify(int way, const gasnetx_notice_t *notice, size_t n)
{
    const gex_Rank_t to = next_rank();
    unsigned char *dest = conform_slot(to, job.rank, 0) + DATA;
    gex_Event_t event, lc = GEX_EVENT_INVALID;
    int err;

    if (way == 0) {
        err = gasnetx_RMA_PutNotifyBlocking(job.tm, to, dest, job.outbox, n, notice, 0);
    } else if (way == 1) {
        err = gasnetx_RMA_PutNotifyNB(job.tm, to, dest, job.outbox, n, notice, GEX_EVENT_DEFER,
                                      &event, 0);
        gex_Event_Wait(event);
    } else if (way == 2) {
        err = gasnetx_RMA_PutNotifyNB(job.tm, to, dest, job.outbox, n, notice, &lc, &event, 0);
        gex_Event_Wait(lc);
        memset(job.outbox, 0, n);
        gasnetx_Fence_Global(GEX_TM_INVALID, 0);
        CHECK(gex_Event_Test(event) == GASNET_OK, "a notice is outstanding after a global fence");
    } else {
        err = gasnetx_RMA_PutNotifyNBI(job.tm, to, dest, job.outbox, n, notice, GEX_EVENT_NOW, 0);
        memset(job.outbox, 0, n);
        gex_NBI_Wait(GEX_EC_PUT, 0);
    }
    CHECK(err == GASNET_OK, "a put with a notice returned %d", err);
}

/* Each rank notifies the next one, which waits for the counter alone and then has all data. */
static void test_count(void)
{
    const gex_Rank_t from = previous_rank();
    uint64_t *mine = counter_of(job.rank, from), key = 0;

    *mine = 0;
    conform_barrier();
    for (size_t s = 0; s < SIZES; s++) {
        for (int way = 0; way < 4; way++) {
            const gasnetx_notice_t notice = {.counter = counter_of(next_rank(), job.rank),
                                             .add = ((uint64_t)1 << 40) + 1};

            key++;
            conform_fill(job.outbox, notice_sizes[s], key * job.size + job.rank);
            put_notify(way, &notice, notice_sizes[s]);
            GASNET_BLOCKUNTIL(load(mine) >= key * notice.add);
            CHECK(load(mine) == key * notice.add, "the counter has another value than was added");
            CHECK_FILL((unsigned char *)mine + DATA, notice_sizes[s], key * job.size + from,
                       "the data of a put with a counter");
            conform_barrier();
        }
    }
}

/* Handlers without and with arguments, and with a counter that grows before. */
static void test_handler(void)
{
    const gex_Rank_t from = previous_rank();
    uint64_t *mine = counter_of(job.rank, from), key = 0, counts = 0;

    *mine = 0;
    ran = ran_args = 0;
    for (size_t s = 0; s < SIZES; s++) {
        for (int way = 0; way < 12; way++) {
            const int both = way >= 8, with_args = way >= 4;
            const gasnetx_notice_t notice = {.counter =
                                                 both ? counter_of(next_rank(), job.rank) : NULL,
                                             .add = 1,
                                             .handler = notice_entries[with_args].gex_index,
                                             .nargs = with_args ? 8 : 0,
                                             .args = {1, 2, 3, 4, 5, 6, 7, (gex_AM_Arg_t)job.rank}};

            key++;
            counts += (uint64_t)both;
            awaited = (unsigned char *)mine + DATA;
            awaited_bytes = notice_sizes[s];
            awaited_key = key * job.size + from;
            conform_barrier();
            conform_fill(job.outbox, notice_sizes[s], key * job.size + job.rank);
            put_notify(way % 4, &notice, notice_sizes[s]);
            GASNET_BLOCKUNTIL(ran == key);
            CHECK(load(mine) == counts, "the counter is %llu after %llu notices",
                  (unsigned long long)load(mine), (unsigned long long)counts);
            conform_barrier();
        }
    }
    awaited = NULL;
    CHECK(ran_args == (uint64_t)SIZES * 8 * 28, "the arguments of handlers were changed");
}

/* A small put with its notice is one message. Rank 0 communicates alone. */
static void test_notice_frames(void)
{
    const gex_Rank_t to = next_rank();
    const gasnetx_notice_t notice = {.counter = counter_of(to, job.rank), .add = 1};
    const uint64_t value = 5;
    uint64_t before, sent;

    *counter_of(job.rank, previous_rank()) = 0;
    conform_barrier();
    if (job.rank) {
        if (job.rank == 1)
            GASNET_BLOCKUNTIL(load(counter_of(1, 0)) == COUNT);
        return;
    }
    before = frames_sent();
    for (int i = 0; i < COUNT; i++)
        gasnetx_RMA_PutNotifyNBI(job.tm, to, words_from(to, 0), &value, WORD, &notice,
                                 GEX_EVENT_NOW, 0);
    gasnetx_Fence_Global(GEX_TM_INVALID, 0);
    sent = frames_sent() - before;
    CHECK(are_messages_of_puts(sent), "%d puts with notices were %llu messages", COUNT,
          (unsigned long long)sent);
}

static int try_notify(gex_Rank_t to, void *dest, size_t n, gasnetx_notice_t notice)
{
    gex_Event_t event = GEX_EVENT_NO_OP;
    const int err =
        gasnetx_RMA_PutNotifyNB(job.tm, to, dest, job.outbox, n, &notice, GEX_EVENT_NOW, &event, 0);

    CHECK(err == GASNET_OK || event == GEX_EVENT_NO_OP, "a refused put has changed the event");
    return err;
}

static void test_bad(void)
{
    const gex_Rank_t to = next_rank();
    unsigned char *slot = conform_slot(to, job.rank, 0);
    uint64_t *good = counter_of(to, job.rank), *outside = (uint64_t *)(uintptr_t)-64;
    uint64_t *odd = (uint64_t *)(void *)(slot + 4);
    const gex_AM_Index_t handler = notice_entries[0].gex_index;
    const int bad = GASNET_ERR_BAD_ARG;

    CHECK(try_notify(to, slot, 8, (gasnetx_notice_t){.counter = odd}) == bad,
          "a counter that is not aligned was accepted");
    CHECK(try_notify(to, slot, 8, (gasnetx_notice_t){.add = 1}) == bad,
          "a notice of nothing was accepted");
    CHECK(try_notify(to, slot, 8, (gasnetx_notice_t){.handler = 5}) == bad,
          "a handler of the library was accepted");
    CHECK(try_notify(to, slot, 8, (gasnetx_notice_t){.handler = handler, .nargs = 9}) == bad,
          "nine arguments were accepted");
    CHECK(try_notify(job.size, slot, 8, (gasnetx_notice_t){.counter = good}) == bad,
          "a rank beyond the team was accepted");
#ifndef GASNET_SEGMENT_EVERYTHING
    CHECK(try_notify(to, slot, 8, (gasnetx_notice_t){.counter = outside}) == bad,
          "a counter outside of the segment was accepted");
    CHECK(try_notify(to, outside, 8, (gasnetx_notice_t){.counter = good}) == bad,
          "a destination outside of the segment was accepted");
    CHECK(try_notify(to, job.base[to] + CONFORM_SEGMENT - 8, 16,
                     (gasnetx_notice_t){.counter = good}) == bad,
          "a destination across the end of the segment was accepted");
#endif
    (void)outside;
    check_nothing_outstanding("refused puts");
}

#ifdef GASNET_PAR
static void *notify_in_thread(void *arg)
{
    const int me = *(int *)arg;
    const gex_Rank_t to = next_rank();
    const gasnetx_notice_t notice = {.counter = counter_of(to, job.rank), .add = 1};
    uint64_t *dest = words_from(to, job.rank) + me;
    const uint64_t *mine = counter_of(job.rank, previous_rank());

    for (uint64_t i = 1; i <= COUNT; i++) {
        CHECK(gasnetx_RMA_PutNotifyNBI(job.tm, to, dest, &i, WORD, &notice, GEX_EVENT_NOW, 0) ==
                  GASNET_OK,
              "a put with a notice failed");
        gasnetx_Fence_Global(GEX_TM_INVALID, 0);
    }
    GASNET_BLOCKUNTIL(load(mine) == (uint64_t)COUNT * (uint64_t)job.threads);
    CHECK(words_from(job.rank, previous_rank())[me] == COUNT, "the last put is not there");
    return NULL;
}

static void test_notice_threads(void)
{
    *counter_of(job.rank, previous_rank()) = 0;
    conform_barrier();
    conform_in_threads(job.threads, notify_in_thread);
    conform_barrier();
}
#endif

/* ---- both through further endpoints ---- */

static gex_EP_t far_ep;
static unsigned char *far_area, **far_areas;
static conform_count_t far_ran;

static void on_far(gex_Token_t token, gex_AM_Arg_t value)
{
    gex_Token_Info_t info;

    CHECK((gex_Token_Info(token, &info, GEX_TI_EP) & GEX_TI_EP) && info.gex_ep == far_ep,
          "a notice of a further endpoint ran at another one");
    atomic_fetch_add(&far_ran, (uint64_t)value);
}

static void create_far(void)
{
    gex_AM_Entry_t entry = {INDEX, (gex_AM_Fn_t)on_far, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1,
                            NULL,  "far notice"};
    uint64_t *all = conform_alloc(job.size * sizeof(*all));
    gex_Segment_t segment;

    far_area = conform_alloc(AREA);
    CHECK(gex_EP_Create(&far_ep, job.client, GEX_EP_CAPABILITY_ALL, 0) == GASNET_OK &&
              gex_EP_RegisterHandlers(far_ep, &entry, 1) == GASNET_OK &&
              gex_Segment_Create(&segment, job.client, far_area, AREA, GEX_MK_HOST, 0) ==
                  GASNET_OK &&
              gex_EP_BindSegment(far_ep, segment, 0) == GASNET_OK &&
              gex_EP_PublishBoundSegment(job.tm, &far_ep, 1, 0) == GASNET_OK,
          "a further endpoint with a segment must be made");
    conform_exchange((uintptr_t)far_area, all);
    far_areas = conform_alloc(job.size * sizeof(*far_areas));
    for (gex_Rank_t r = 0; r < job.size; r++)
        far_areas[r] = (unsigned char *)(uintptr_t)all[r];
    free(all);
}

static void notify_far(gex_TM_t pair, size_t n, uint64_t key)
{
    const gex_Rank_t to = next_rank();
    const gasnetx_notice_t notices[] = {{.counter = (uint64_t *)(void *)far_areas[to], .add = 1},
                                        {.handler = INDEX, .nargs = 1, .args = {3}},
                                        {.counter = (uint64_t *)(void *)far_areas[to],
                                         .add = 1,
                                         .handler = INDEX,
                                         .nargs = 1,
                                         .args = {4}}};

    conform_fill(job.outbox, n, key + job.rank);
    for (int i = 0; i < 3; i++) {
        gex_Event_t event = GEX_EVENT_INVALID;
        const int err = gasnetx_RMA_PutNotifyNB(pair, to, far_areas[to] + DATA, job.outbox, n,
                                                &notices[i], GEX_EVENT_DEFER, &event, 0);

        CHECK(err == GASNET_OK, "a put with notice %d through a pair returned %d", i, err);
        gasnetx_Fence_Global(pair, 0);
        CHECK(gex_Event_Test(event) == GASNET_OK, "a put is outstanding after a fence of its pair");
    }
}

static void test_far(void)
{
    const uint64_t *mine;
    uint64_t rounds = 0;
    gex_TM_t pair;

    if (!far_ep)
        create_far();
    mine = (uint64_t *)(void *)far_area;
    memset(far_area, 0, DATA);
    far_ran = 0;
    pair = gex_TM_Pair(far_ep, gex_EP_QueryIndex(far_ep));
    conform_barrier();
    for (size_t s = 0; s < SIZES; s++) {
        rounds++;
        notify_far(pair, notice_sizes[s], rounds);
        GASNET_BLOCKUNTIL(load(mine) == 2 * rounds && far_ran == 7 * rounds);
        CHECK_FILL(far_area + DATA, notice_sizes[s], rounds + previous_rank(),
                   "the data of a put through a pair");
        conform_barrier();
    }
    gex_RMA_PutNBI(pair, next_rank(), far_areas[next_rank()] + DATA, job.outbox, 8, GEX_EVENT_NOW,
                   0);
    gasnetx_Fence_Global(pair, 0);
    check_nothing_outstanding("a fence of a pair");
}

const conform_test_t conform_fence_tests[] = {
    {"fence_none", test_none, "fences with nothing outstanding send nothing"},
    {"fence_global", test_global, "global fences: puts are complete at their targets"},
    {"fence_atomic", test_atomic, "fences and atomics"},
    {"fence_local", test_local, "local fences: buffers may be reused, gets have arrived"},
    {"fence_region", test_region, "fences and access regions"},
    {"fence_frames", test_frames, "a fence adds no messages to puts"},
    {"notice_count", test_count, "puts that increase a counter at the target"},
    {"notice_handler", test_handler, "puts that run a handler at the target"},
    {"notice_frames", test_notice_frames, "a small put with its notice is one message"},
    {"notice_bad", test_bad, "wrong notices are refused"},
    {"notice_endpoint", test_far, "fences and notices of further endpoints"},
#ifdef GASNET_PAR
    {"fence_threads", test_threads, "a fence of an endpoint covers all threads"},
    {"fence_passed", test_passed, "fences while other threads wait for the events"},
    {"notice_threads", test_notice_threads, "several threads notify one counter"},
#endif
    {NULL, NULL, NULL},
};
