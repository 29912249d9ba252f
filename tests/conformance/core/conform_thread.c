/* SPDX-License-Identifier: BSD-3-Clause */
/* Several client threads per rank send, poll, wait and hold locks at the same time. */
#include "../conform.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifdef GASNET_PAR

#define THREADS_MAX 64
#define SENDS 6000   /* requests of each rank, all its threads together */
#define WORDS 400    /* words that each thread puts and gets */
#define LOCKED 20000 /* additions of each rank, all its threads together */
#define CHURN 50     /* threads that run one after the other */
#define HANDOFF 200  /* events of each rank that another thread waits for */

static void count_short(gex_Token_t, gex_AM_Arg_t, gex_AM_Arg_t);
static void count_medium(gex_Token_t, void *, size_t, gex_AM_Arg_t, gex_AM_Arg_t);
static void count_reply(gex_Token_t, gex_AM_Arg_t, gex_AM_Arg_t);
static void count_reply_load(gex_Token_t, void *, size_t, gex_AM_Arg_t, gex_AM_Arg_t);
static void lock_request(gex_Token_t);
static void lock_reply(gex_Token_t);

enum {
    COUNT_SHORT,
    COUNT_MEDIUM,
    COUNT_REPLY,
    COUNT_REPLY_LOAD,
    LOCK_REQUEST,
    LOCK_REPLY,
    ENTRIES
};

#define ENTRY(fn, kind, nargs)                                                                     \
    {                                                                                              \
        .gex_fnptr = (gex_AM_Fn_t)(fn), .gex_flags = (kind), .gex_nargs = (nargs), .gex_name = #fn \
    }

static gex_AM_Entry_t entries[ENTRIES] = {
    [COUNT_SHORT] = ENTRY(count_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2),
    [COUNT_MEDIUM] = ENTRY(count_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 2),
    [COUNT_REPLY] = ENTRY(count_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 2),
    [COUNT_REPLY_LOAD] = ENTRY(count_reply_load, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 2),
    [LOCK_REQUEST] = ENTRY(lock_request, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0),
    [LOCK_REPLY] = ENTRY(lock_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0),
};

void conform_thread_setup(void)
{
    conform_register(entries, ENTRIES);
}

void conform_in_threads(int count, void *(*body)(void *))
{
    static int numbers[THREADS_MAX];
    pthread_t threads[THREADS_MAX];

    for (int t = 0; t < count; t++)
        numbers[t] = t;
    for (int t = 1; t < count; t++) {
        const int err = pthread_create(&threads[t], NULL, body, &numbers[t]);
        CHECK(err == 0, "thread %d could not be created: error %d", t, err);
    }
    body(&numbers[0]);
    for (int t = 1; t < count; t++)
        pthread_join(threads[t], NULL);
}

static conform_count_t arrived;

/* A barrier of `count` threads of this rank, which polls; the first round is 1. */
static void threads_barrier(uint64_t round, int count)
{
    atomic_fetch_add(&arrived, 1);
    GASNET_BLOCKUNTIL(atomic_load(&arrived) >= round * (uint64_t)count);
}

/* ---- messages ---- */

static conform_count_t requests, replies[THREADS_MAX];

static uint64_t load_key(gex_Rank_t sender, gex_AM_Arg_t thread, gex_AM_Arg_t sequence)
{
    return conform_mix(sender, (uint32_t)thread, (uint32_t)sequence);
}

static void count_short(gex_Token_t token, gex_AM_Arg_t thread, gex_AM_Arg_t sequence)
{
    atomic_fetch_add(&requests, 1);
    gex_AM_ReplyShort2(token, entries[COUNT_REPLY].gex_index, 0, thread, sequence);
}

static void count_medium(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t thread,
                         gex_AM_Arg_t sequence)
{
    CHECK_FILL(buf, nbytes, load_key(conform_source(token), thread, sequence), "request");
    atomic_fetch_add(&requests, 1);
    gex_AM_ReplyMedium2(token, entries[COUNT_REPLY_LOAD].gex_index, buf, nbytes, GEX_EVENT_NOW, 0,
                        thread, sequence);
}

static void note_reply(gex_AM_Arg_t thread)
{
    CHECK(thread >= 0 && thread < job.threads, "a reply came for thread %d of %d", (int)thread,
          job.threads);
    atomic_fetch_add(&replies[thread], 1);
}

static void count_reply(gex_Token_t token, gex_AM_Arg_t thread, gex_AM_Arg_t sequence)
{
    (void)token;
    (void)sequence;
    note_reply(thread);
}

static void count_reply_load(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t thread,
                             gex_AM_Arg_t sequence)
{
    (void)token;
    CHECK_FILL(buf, nbytes, load_key(job.rank, thread, sequence), "reply");
    note_reply(thread);
}

static void send_request(int me, int i, unsigned char *load)
{
    const gex_Rank_t to = (job.rank + (gex_Rank_t)(me + i)) % job.size;
    const size_t nbytes = (size_t)(i * 17) % 400;
    const gex_AM_Index_t medium = entries[COUNT_MEDIUM].gex_index;
    gex_AM_SrcDesc_t sd;

    switch (i % 4) {
    case 0:
        conform_fill(load, nbytes, load_key(job.rank, me, i));
        gex_AM_RequestMedium2(job.am, to, medium, load, nbytes, GEX_EVENT_NOW, 0, me, i);
        return;
    case 1:
        sd = gex_AM_PrepareRequestMedium(job.am, to, NULL, nbytes + 1, nbytes + 1, NULL, 0, 2);
        conform_fill(gex_AM_SrcDescAddr(sd), nbytes + 1, load_key(job.rank, me, i));
        gex_AM_CommitRequestMedium2(sd, medium, nbytes + 1, me, i);
        return;
    default:
        gex_AM_RequestShort2(job.am, to, entries[COUNT_SHORT].gex_index, 0, me, i);
    }
}

static void *am_body(void *arg)
{
    const int me = *(int *)arg;
    const int sends = SENDS / job.threads;
    unsigned char load[400];

    for (int i = 0; i < sends; i++) {
        send_request(me, i, load);
        if (i % 16 == me)
            gasnet_AMPoll();
    }
    GASNET_BLOCKUNTIL(atomic_load(&replies[me]) >= (uint64_t)sends);
    return NULL;
}

static void test_am(void)
{
    const uint64_t each = (uint64_t)(SENDS / job.threads);
    uint64_t all[64], sum = 0;

    atomic_store(&requests, 0);
    for (int t = 0; t < THREADS_MAX; t++)
        atomic_store(&replies[t], 0);
    conform_barrier();
    conform_in_threads(job.threads, am_body);
    conform_barrier();
    for (int t = 0; t < job.threads; t++)
        CHECK(atomic_load(&replies[t]) == each, "thread %d: %llu replies expected, but %llu came",
              t, (unsigned long long)each, (unsigned long long)atomic_load(&replies[t]));
    conform_exchange(atomic_load(&requests), all);
    for (gex_Rank_t r = 0; r < job.size; r++)
        sum += all[r];
    CHECK(sum == each * (uint64_t)job.threads * job.size, "%llu requests were sent, but %llu came",
          (unsigned long long)(each * (uint64_t)job.threads * job.size), (unsigned long long)sum);
}

/* ---- put and get ---- */

/* The words in the inbox of `owner` that thread `me` of its neighbour writes. */
static uint64_t *words_at(gex_Rank_t owner, int me)
{
    return (uint64_t *)(void *)(job.base[owner] + CONFORM_INBOX) + (size_t)me * WORDS;
}

static void rma_round(int me, uint64_t round, uint64_t *out, uint64_t *in)
{
    const gex_Rank_t to = (job.rank + 1) % job.size;
    uint64_t *dest = words_at(to, me);
    gex_Event_t events[WORDS];

    for (uint64_t i = 0; i < WORDS; i++) {
        out[i] = conform_mix(round, (uint64_t)me, i);
        events[i] = GEX_EVENT_INVALID;
        if (i % 2)
            events[i] = gex_RMA_PutNB(job.tm, to, &dest[i], &out[i], 8, GEX_EVENT_DEFER, 0);
        else
            gex_RMA_PutNBI(job.tm, to, &dest[i], &out[i], 8, GEX_EVENT_DEFER, 0);
    }
    gex_Event_WaitAll(events, WORDS, 0);
    gex_NBI_Wait(GEX_EC_PUT, 0);
    memset(in, 0, WORDS * 8);
    for (uint64_t i = 0; i < WORDS; i++)
        gex_RMA_GetNBI(job.tm, &in[i], to, &dest[i], 8, 0);
    gex_NBI_Wait(GEX_EC_ALL, 0);
    CHECK(memcmp(in, out, WORDS * 8) == 0, "words of thread %d came back changed", me);
}

static void *rma_body(void *arg)
{
    const int me = *(int *)arg;
    uint64_t *out = conform_alloc(WORDS * 8), *in = conform_alloc(WORDS * 8);

    for (uint64_t round = 0; round < 10; round++)
        rma_round(me, round, out, in);
    free(out);
    free(in);
    return NULL;
}

static void test_rma(void)
{
    conform_in_threads(job.threads, rma_body);
}

/* ---- one thread initiates, another one waits for the event ---- */

static struct {
    pthread_mutex_t lock;
    gex_Event_t events[HANDOFF];
    int filled;
    conform_count_t done;
} handoff = {.lock = PTHREAD_MUTEX_INITIALIZER};
static uint64_t handoff_words[HANDOFF];

static void *handoff_initiator(void)
{
    const gex_Rank_t to = (job.rank + 1) % job.size;
    uint64_t *dest = words_at(to, 0);

    for (int i = 0; i < HANDOFF; i++) {
        gex_Event_t event;

        handoff_words[i] = conform_mix(job.rank, (uint64_t)i, 3);
        if (i % 10 == 9) {
            gex_NBI_BeginAccessRegion(0);
            gex_RMA_PutNBI(job.tm, to, &dest[i], &handoff_words[i], 8, GEX_EVENT_DEFER, 0);
            event = gex_NBI_EndAccessRegion(0);
        } else {
            event = gex_RMA_PutNB(job.tm, to, &dest[i], &handoff_words[i], 8, GEX_EVENT_DEFER, 0);
        }
        pthread_mutex_lock(&handoff.lock);
        handoff.events[handoff.filled++] = event;
        pthread_mutex_unlock(&handoff.lock);
    }
    GASNET_BLOCKUNTIL(atomic_load(&handoff.done) == 1);
    return NULL;
}

static void *handoff_waiter(void)
{
    for (int taken = 0; taken < HANDOFF;) {
        gex_Event_t event;
        int have;

        pthread_mutex_lock(&handoff.lock);
        have = taken < handoff.filled;
        event = have ? handoff.events[taken] : GEX_EVENT_INVALID;
        pthread_mutex_unlock(&handoff.lock);
        if (!have) {
            gasnet_AMPoll();
            continue;
        }
        if (taken % 2 == 0) {
            gex_Event_Wait(event);
        } else {
            while (gex_Event_Test(event) != 0)
                gasnet_AMPoll();
        }
        taken++;
    }
    atomic_store(&handoff.done, 1);
    return NULL;
}

static void *handoff_body(void *arg)
{
    return *(int *)arg == 0 ? handoff_initiator() : handoff_waiter();
}

static void test_handoff(void)
{
    const gex_Rank_t to = (job.rank + 1) % job.size;
    uint64_t back[HANDOFF];

    handoff.filled = 0;
    atomic_store(&handoff.done, 0);
    conform_in_threads(2, handoff_body);
    gex_RMA_GetBlocking(job.tm, back, to, words_at(to, 0), sizeof(back), 0);
    CHECK(memcmp(back, handoff_words, sizeof(back)) == 0,
          "a put that another thread waited for did not arrive");
}

/* ---- implicit operations belong to the thread that started them ---- */

static void *nbi_body(void *arg)
{
    const int me = *(int *)arg;
    const gex_Rank_t to = (job.rank + 1) % job.size;
    const int count = job.threads > 1 ? job.threads : 2;
    uint64_t *dest = words_at(to, me);
    uint64_t out[100];

    for (uint64_t round = 0; round < 10; round++) {
        threads_barrier(2 * round + 1, count);
        for (uint64_t i = 0; i < 100; i++) {
            out[i] = i + round;
            if (me == 0)
                gex_RMA_PutNBI(job.tm, to, &dest[i], &out[i], 8, GEX_EVENT_DEFER, 0);
            else
                CHECK(gex_NBI_Test(GEX_EC_ALL, 0) == 0,
                      "thread %d initiated no operation, but one is pending", me);
        }
        gex_NBI_Wait(GEX_EC_ALL, 0);
        threads_barrier(2 * round + 2, count);
    }
    return NULL;
}

static void test_nbi(void)
{
    atomic_store(&arrived, 0);
    conform_in_threads(job.threads > 1 ? job.threads : 2, nbi_body);
}

/* ---- locks between threads and handlers ---- */

static gex_HSL_t lock = GEX_HSL_INITIALIZER;
static uint64_t locked_total; /* protected by `lock`, not atomic */
static conform_count_t lock_replies;

static void add_locked(int by_try)
{
    if (by_try) {
        while (gex_HSL_Trylock(&lock) != GASNET_OK)
            ;
    } else {
        gex_HSL_Lock(&lock);
    }
    locked_total++;
    gex_HSL_Unlock(&lock);
}

static void lock_request(gex_Token_t token)
{
    add_locked(0);
    gex_AM_ReplyShort0(token, entries[LOCK_REPLY].gex_index, 0);
}

static void lock_reply(gex_Token_t token)
{
    (void)token;
    add_locked(0);
    atomic_fetch_add(&lock_replies, 1);
}

static void *hsl_body(void *arg)
{
    const int me = *(int *)arg;

    for (int i = 0; i < LOCKED / job.threads; i++) {
        add_locked((i + me) % 8 == 0);
        if (i % 10 == 0)
            gex_AM_RequestShort0(job.am, (job.rank + 1) % job.size, entries[LOCK_REQUEST].gex_index,
                                 0);
    }
    return NULL;
}

static void test_hsl(void)
{
    const uint64_t each = (uint64_t)(LOCKED / job.threads);
    const uint64_t lock_requests = (each + 9) / 10 * (uint64_t)job.threads;
    const uint64_t expected = each * (uint64_t)job.threads + 2 * lock_requests;

    locked_total = 0;
    atomic_store(&lock_replies, 0);
    conform_barrier();
    conform_in_threads(job.threads, hsl_body);
    GASNET_BLOCKUNTIL(atomic_load(&lock_replies) == lock_requests);
    conform_barrier();
    gex_HSL_Lock(&lock);
    CHECK(locked_total == expected,
          "%llu additions were made under the lock, but %llu were counted",
          (unsigned long long)expected, (unsigned long long)locked_total);
    gex_HSL_Unlock(&lock);
}

static void *trylock_body(void *arg)
{
    *(int *)arg = gex_HSL_Trylock(&lock);
    if (*(int *)arg == GASNET_OK)
        gex_HSL_Unlock(&lock);
    return NULL;
}

static int trylock_elsewhere(void)
{
    pthread_t thread;
    int result = -1;

    CHECK(pthread_create(&thread, NULL, trylock_body, &result) == 0,
          "the thread could not be created");
    pthread_join(thread, NULL);
    return result;
}

static void test_trylock(void)
{
    int held, free_now;

    gex_HSL_Lock(&lock);
    held = trylock_elsewhere();
    gex_HSL_Unlock(&lock);
    free_now = trylock_elsewhere();
    CHECK(held == GASNET_ERR_NOT_READY, "trylock of a held lock gave %d, not %d", held,
          GASNET_ERR_NOT_READY);
    CHECK(free_now == GASNET_OK, "trylock of a free lock gave %d", free_now);
}

/* ---- threads that come and go ---- */

static void *churn_body(void *arg)
{
    const uint64_t number = *(uint64_t *)arg;
    const gex_Rank_t to = (job.rank + 1) % job.size;
    uint64_t *dest = words_at(to, 0);
    uint64_t word = conform_mix(job.rank, number, 12), back = 0;
    gex_Event_t event;

    gex_AM_RequestShort2(job.am, to, entries[COUNT_SHORT].gex_index, 0, 0, 0);
    event = gex_RMA_PutNB(job.tm, to, dest, &word, 8, GEX_EVENT_DEFER, 0);
    gex_RMA_PutNBI(job.tm, to, dest + 1, &word, 8, GEX_EVENT_DEFER, 0);
    gex_Event_Wait(event);
    gex_NBI_Wait(GEX_EC_ALL, 0);
    gex_RMA_GetBlocking(job.tm, &back, to, dest + number % 2, 8, 0);
    CHECK(back == word, "the word that thread %llu put came back changed",
          (unsigned long long)number);
    GASNET_BLOCKUNTIL(atomic_load(&replies[0]) >= number + 1);
    return NULL;
}

static void test_churn(void)
{
    atomic_store(&replies[0], 0);
    conform_barrier();
    for (uint64_t i = 0; i < CHURN; i++) {
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, churn_body, &i) == 0,
              "the thread could not be created");
        pthread_join(thread, NULL);
    }
    conform_barrier();
    CHECK(atomic_load(&replies[0]) == CHURN, "%d replies expected, but %llu came", CHURN,
          (unsigned long long)atomic_load(&replies[0]));
}

/* Threads end before their events are complete; the main thread waits for these events. */
static gex_Event_t left_events[CHURN];
static uint64_t left_words[CHURN];

static void *leave_body(void *arg)
{
    const uint64_t i = *(uint64_t *)arg;
    const gex_Rank_t to = (job.rank + 1) % job.size;

    left_words[i] = conform_mix(job.rank, i, 13);
    left_events[i] =
        gex_RMA_PutNB(job.tm, to, words_at(to, 0) + i, &left_words[i], 8, GEX_EVENT_DEFER, 0);
    return NULL;
}

static void test_leave(void)
{
    const gex_Rank_t to = (job.rank + 1) % job.size;
    uint64_t back[CHURN];

    for (uint64_t i = 0; i < CHURN; i++) {
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, leave_body, &i) == 0,
              "the thread could not be created");
        pthread_join(thread, NULL);
    }
    gex_Event_WaitAll(left_events, CHURN, 0);
    gex_RMA_GetBlocking(job.tm, back, to, words_at(to, 0), sizeof(back), 0);
    CHECK(memcmp(back, left_words, sizeof(back)) == 0,
          "a put of a thread that has ended did not arrive");
}

const conform_test_t conform_thread_tests[] = {
    {"thread_am", test_am, "all threads send and poll, exact counts per thread"},
    {"thread_rma", test_rma, "all threads put and get, explicit and implicit"},
    {"thread_handoff", test_handoff, "one thread waits for the events of another"},
    {"thread_nbi", test_nbi, "implicit operations belong to their thread"},
    {"thread_hsl", test_hsl, "locks between threads and handlers"},
    {"thread_trylock", test_trylock, "trylock of a lock that another thread holds"},
    {"thread_churn", test_churn, "50 threads in turn, each communicates"},
    {"thread_leave", test_leave, "threads end before their events are waited for"},
    {NULL, NULL, NULL}};

#endif
