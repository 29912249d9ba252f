/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chaos_work: a job that checks everything it does, for tests/chaos/run.
 *
 *   chaos_work [--seconds S] [--while FILE] [--threads T] [--seed N] [--split]
 *
 * T threads of each rank (2; at most 4) work in rounds, thread t of every rank on teams of their
 * own, until S seconds (2) are over on rank 0; with --while also until FILE is gone there. In each
 * round a thread sends active messages to all ranks, puts and gets data, draws tickets by remote
 * atomics, and takes part in collectives; with --split it also splits its team. Every message
 * carries its number, so that the target knows which came twice; behind a barrier it knows which
 * are lost; all data is a pattern that follows from who wrote it and when.
 *
 * Rank 0 prints "round N" now and then, which shows progress, and at the end
 *
 *   chaos_work: R rounds, lost N, twice N, wrong N
 *
 * The exit code is 0 if all of these are 0, else 1. What is missing for good is waited for: the
 * caller has to watch for the end of progress.
 */
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnetex.h>

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    RANKS_MAX = 16,
    THREADS_MAX = 4,
    MESSAGES = 16,          /* of a thread to each rank in a round; each has a bit in a word */
    MESSAGE_BYTES = 16384,  /* of a message at most */
    PUT_BYTES = 192 * 1024, /* of a put at most */
    BOX = MESSAGES * MESSAGE_BYTES + PUT_BYTES,
    COUNTERS = 4096, /* bytes in front of the boxes */
    TICKETS = 8,     /* of a thread in a round */
    VECTOR = 600     /* elements of a reduction at most */
};

typedef struct worker {
    int number;
    gex_TM_t all, half; /* teams of this thread: all ranks, and those with the same parity */
    gex_AD_t domain;
    uint32_t round;
    uint64_t random, shared; /* states: of this rank, and one that is equal on all */
    uint64_t drawn[RANKS_MAX];
    unsigned char *data; /* PUT_BYTES, outside of the segment */
} worker_t;

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t team;
static gex_Segment_t segment;
static gex_Rank_t me, ranks;
static char *bases[RANKS_MAX];
static int thread_count = 2, seconds = 2, splitting;
static const char *kept_by; /* a file, or NULL */
static uint64_t seed = 1;
static worker_t workers[THREADS_MAX];

/* What arrived, by who sent it and by the number of the thread. */
static atomic_uint seen[RANKS_MAX][THREADS_MAX], answered[RANKS_MAX][THREADS_MAX];
static atomic_uint rounds_open[THREADS_MAX]; /* the round that messages may belong to */
static atomic_uint answers[THREADS_MAX];
static atomic_uint orders_seen[THREADS_MAX];
static atomic_ulong lost, twice, wrong;

/* ---- helpers ---- */

static void tell(atomic_ulong *count, const char *format, ...)
{
    va_list args;

    if (atomic_fetch_add(count, 1) > 5)
        return;
    fprintf(stderr, "chaos_work: rank %u: ", (unsigned)me);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A number below limit. */
static uint32_t below(uint64_t *state, uint32_t limit)
{
    *state += 0x9e3779b97f4a7c15u;
    return (uint32_t)(mix(*state) >> 33) % limit;
}

/* What belongs to one writer, thread, round and purpose. */
static uint64_t key_of(gex_Rank_t writer, int thread, uint32_t round, uint32_t purpose)
{
    return mix(mix(seed + writer * 64 + (unsigned)thread) + ((uint64_t)round << 32) + purpose + 1);
}

static void fill(unsigned char *at, size_t bytes, uint64_t key)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(mix(key + i / 8) >> i % 8 * 8);
}

static int is_filled(const unsigned char *at, size_t bytes, uint64_t key)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != (unsigned char)(mix(key + i / 8) >> i % 8 * 8))
            return 0;
    return 1;
}

static size_t some_size(uint64_t *state, size_t most)
{
    static const size_t sizes[] = {0, 1, 7, 8, 64, 500, 1400, 4096, 9000, 65536, PUT_BYTES};
    const size_t size = sizes[below(state, sizeof(sizes) / sizeof(sizes[0]))];

    return size < most ? size : most;
}

/* Where a thread of `writer` may write at `owner`. */
static char *box_of(gex_Rank_t owner, gex_Rank_t writer, int thread)
{
    return bases[owner] + COUNTERS + ((size_t)writer * (size_t)thread_count + (size_t)thread) * BOX;
}

static void barrier(gex_TM_t tm)
{
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
}

/* ---- active messages ---- */

enum { ON_SHORT = GEX_AM_INDEX_BASE, ON_MEDIUM, ON_LONG, ON_ORDER, ON_ANSWER, ON_ORDER_SEEN };

static gex_Rank_t sender_of(gex_Token_t token)
{
    gex_Token_Info_t info;

    gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    return info.gex_srcrank;
}

/* Arguments that somebody with the key may have changed. */
static int are_sent(int thread, int number)
{
    const int sent = thread >= 0 && thread < thread_count && number >= 0 && number < MESSAGES;

    if (!sent)
        tell(&wrong, "a message has arguments that nobody sent");
    return sent;
}

/* Notes a message in the table; tells what belongs to another round or was there before. */
static void note(atomic_uint *table, int thread, int number, uint32_t round, const char *what)
{
    if (round != atomic_load(&rounds_open[thread]))
        tell(&twice, "%s %d of round %u in round %u", what, number, round,
             atomic_load(&rounds_open[thread]));
    else if (atomic_fetch_or(table, 1u << number) & 1u << number)
        tell(&twice, "%s %d of round %u came twice", what, number, round);
}

static void take(gex_Token_t token, const void *data, size_t bytes, int thread, int number,
                 uint32_t round)
{
    const gex_Rank_t from = sender_of(token);

    if (!are_sent(thread, number))
        return;
    if (!is_filled(data, bytes, key_of(from, thread, round, (uint32_t)number)))
        tell(&wrong, "message %d of round %u from rank %u has other data", number, round, from);
    note(&seen[from][thread], thread, number, round, "message");
    gex_AM_ReplyShort3(token, ON_ANSWER, 0, thread, number, (gex_AM_Arg_t)round);
}

static void on_short(gex_Token_t token, gex_AM_Arg_t thread, gex_AM_Arg_t number,
                     gex_AM_Arg_t round)
{
    take(token, NULL, 0, thread, number, (uint32_t)round);
}

static void on_payload(gex_Token_t token, void *data, size_t bytes, gex_AM_Arg_t thread,
                       gex_AM_Arg_t number, gex_AM_Arg_t round)
{
    take(token, data, bytes, thread, number, (uint32_t)round);
}

static void on_answer(gex_Token_t token, gex_AM_Arg_t thread, gex_AM_Arg_t number,
                      gex_AM_Arg_t round)
{
    if (!are_sent(thread, number))
        return;
    note(&answered[sender_of(token)][thread], thread, number, (uint32_t)round, "answer");
    atomic_fetch_add(&answers[thread], 1);
}

/* A put was complete before this was sent. */
static void on_order(gex_Token_t token, gex_AM_Arg_t thread, gex_AM_Arg_t round, gex_AM_Arg_t bytes)
{
    const gex_Rank_t from = sender_of(token);
    const char *at;

    if (!are_sent(thread, 0))
        return;
    at = box_of(me, from, thread) + MESSAGES * MESSAGE_BYTES;
    if (bytes < 0 || bytes > PUT_BYTES ||
        !is_filled((const unsigned char *)at, (size_t)bytes,
                   key_of(from, thread, (uint32_t)round, MESSAGES)))
        tell(&wrong, "a put of rank %u in round %d was complete, and is not there", from, round);
    gex_AM_ReplyShort2(token, ON_ORDER_SEEN, 0, thread, round);
}

static void on_order_seen(gex_Token_t token, gex_AM_Arg_t thread, gex_AM_Arg_t round)
{
    (void)token;
    if (!are_sent(thread, 0))
        return;
    if ((uint32_t)round != atomic_load(&rounds_open[thread]))
        tell(&twice, "an answer of round %d in another one", round);
    atomic_fetch_add(&orders_seen[thread], 1);
}

#define ENTRY(index, fn, kind, nargs)                                                              \
    {                                                                                              \
        index, (gex_AM_Fn_t)(fn), (kind), nargs, NULL, #fn                                         \
    }

static gex_AM_Entry_t entries[] = {
    ENTRY(ON_SHORT, on_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 3),
    ENTRY(ON_MEDIUM, on_payload, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 3),
    ENTRY(ON_LONG, on_payload, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 3),
    ENTRY(ON_ORDER, on_order, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 3),
    ENTRY(ON_ANSWER, on_answer, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 3),
    ENTRY(ON_ORDER_SEEN, on_order_seen, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 2),
};

static void send_one(worker_t *w, gex_Rank_t to, int number)
{
    const int t = w->number;
    const gex_AM_Arg_t round = (gex_AM_Arg_t)w->round;
    const size_t limit = number % 4 == 3 ? gex_AM_LUBRequestLong() : gex_AM_LUBRequestMedium();
    const size_t bytes = some_size(&w->random, limit < MESSAGE_BYTES ? limit : MESSAGE_BYTES);

    fill(w->data, bytes, key_of(me, t, w->round, (uint32_t)number));
    if (number % 4 == 0)
        gex_AM_RequestShort3(w->all, to, ON_SHORT, 0, t, number, round);
    else if (number % 4 == 3)
        gex_AM_RequestLong3(w->all, to, ON_LONG, w->data, bytes,
                            box_of(to, me, t) + (size_t)number * MESSAGE_BYTES, GEX_EVENT_NOW, 0, t,
                            number, round);
    else
        gex_AM_RequestMedium3(w->all, to, ON_MEDIUM, w->data, bytes, GEX_EVENT_NOW, 0, t, number,
                              round);
}

/* All messages are answered when this returns; what is missing then, and what is there, is counted
 * by audit. */
static void messages(worker_t *w)
{
    for (int number = 0; number < MESSAGES; number++)
        for (gex_Rank_t r = 0; r < ranks; r++)
            send_one(w, (me + r) % ranks, number);
    GASNET_BLOCKUNTIL(atomic_load(&answers[w->number]) >= ranks * MESSAGES);
}

static void audit_one(atomic_uint *table, const char *what, gex_Rank_t from, uint32_t round)
{
    const unsigned got = atomic_exchange(table, 0);

    for (int number = 0; number < MESSAGES; number++)
        if (!(got & 1u << number))
            tell(&lost, "%s %d of round %u, rank %u, is lost", what, number, round, from);
}

/* Between two barriers of the team: nobody sends. */
static void audit(worker_t *w)
{
    const int t = w->number;

    for (gex_Rank_t r = 0; r < ranks; r++) {
        audit_one(&seen[r][t], "message", r, w->round);
        audit_one(&answered[r][t], "answer", r, w->round);
    }
    if (atomic_exchange(&answers[t], 0) != ranks * MESSAGES)
        tell(&twice, "there are more answers than messages in round %u", w->round);
    if (atomic_exchange(&orders_seen[t], 0) != 1)
        tell(&twice, "not one answer to the message behind a put in round %u", w->round);
    atomic_store(&rounds_open[t], ++w->round);
}

/* ---- puts and gets ---- */

static void transfers(worker_t *w)
{
    const int t = w->number;
    const gex_Rank_t to = (me + w->round) % ranks;
    const uint64_t key = key_of(me, t, w->round, MESSAGES);
    const size_t bytes = some_size(&w->random, PUT_BYTES);
    char *there = box_of(to, me, t) + MESSAGES * MESSAGE_BYTES;

    fill(w->data, bytes, key);
    gex_Event_Wait(gex_RMA_PutNB(w->all, to, there, w->data, bytes, GEX_EVENT_DEFER, 0));
    gex_AM_RequestShort3(w->all, to, ON_ORDER, 0, t, (gex_AM_Arg_t)w->round, (gex_AM_Arg_t)bytes);
    memset(w->data, 0, bytes);
    gex_RMA_GetBlocking(w->all, w->data, to, there, bytes, 0);
    if (!is_filled(w->data, bytes, key))
        tell(&wrong, "a get of %zu bytes from rank %u in round %u has other data", bytes, to,
             w->round);
    GASNET_BLOCKUNTIL(atomic_load(&orders_seen[t]) >= 1);
}

/* Words, without an event of their own, to all ranks. */
static void words(worker_t *w)
{
    uint64_t sent[RANKS_MAX], got[RANKS_MAX];

    for (gex_Rank_t r = 0; r < ranks; r++) {
        sent[r] = key_of(me, w->number, w->round, 100 + r);
        got[r] = 0;
        gex_RMA_PutNBI(w->all, r, box_of(r, me, w->number), &sent[r], 8, GEX_EVENT_DEFER, 0);
    }
    gex_NBI_Wait(GEX_EC_PUT, 0);
    for (gex_Rank_t r = 0; r < ranks; r++)
        gex_RMA_GetNBI(w->all, &got[r], r, box_of(r, me, w->number), 8, 0);
    gex_NBI_Wait(GEX_EC_GET, 0);
    for (gex_Rank_t r = 0; r < ranks; r++)
        if (got[r] != sent[r])
            tell(&wrong, "a word at rank %u in round %u is another one", r, w->round);
}

/* ---- atomics ---- */

static uint64_t draw(worker_t *w, gex_Rank_t owner)
{
    uint64_t ticket = 0;

    gex_Event_Wait(gex_AD_OpNB_U64(w->domain, &ticket, owner, bases[owner] + 64 * w->number,
                                   GEX_OP_FADD, 1, 0, 0));
    return ticket;
}

/* All ranks together draw n tickets, which are the next n numbers, each once: sums and sums of
 * squares tell. */
static void tickets(worker_t *w)
{
    const gex_Rank_t owner = w->round % ranks;
    const uint64_t n = (uint64_t)ranks * TICKETS, first = w->drawn[owner];
    uint64_t mine[2] = {0, 0}, total[2], wanted[2] = {0, 0};

    for (int i = 0; i < TICKETS; i++) {
        const uint64_t ticket = draw(w, owner);
        mine[0] += ticket;
        mine[1] += ticket * ticket;
    }
    for (uint64_t ticket = first; ticket < first + n; ticket++) {
        wanted[0] += ticket;
        wanted[1] += ticket * ticket;
    }
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(w->all, total, mine, GEX_DT_U64, 8, 2, GEX_OP_ADD, NULL, NULL, 0));
    if (total[0] != wanted[0] || total[1] != wanted[1])
        tell(&wrong, "%llu tickets of round %u are not the next numbers, each once",
             (unsigned long long)n, w->round);
    w->drawn[owner] += n;
}

/* ---- collectives ---- */

static void broadcast(worker_t *w)
{
    const gex_Rank_t root = below(&w->shared, ranks);
    const size_t bytes = some_size(&w->shared, PUT_BYTES);
    const uint64_t key = key_of(root, w->number, w->round, 200);

    memset(w->data, 0, bytes);
    if (me == root)
        fill(w->data, bytes, key);
    gex_Event_Wait(
        gex_Coll_BroadcastNB(w->all, root, w->data, me == root ? w->data : NULL, bytes, 0));
    if (!is_filled(w->data, bytes, key))
        tell(&wrong, "a broadcast of %zu bytes in round %u has other data", bytes, w->round);
}

static uint64_t element(const worker_t *w, gex_Rank_t rank, size_t i)
{
    return key_of(rank, w->number, w->round, 300) % 1000 + i;
}

/* A sum over the ranks of a team, which are every step-th one of the job, this one among them. */
static void reduce(worker_t *w, gex_TM_t tm, gex_Rank_t step)
{
    uint64_t mine[VECTOR] = {0}, total[VECTOR];
    const size_t count = 1 + below(&w->shared, VECTOR);

    for (size_t i = 0; i < count; i++)
        mine[i] = element(w, me, i);
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(tm, total, mine, GEX_DT_U64, 8, count, GEX_OP_ADD, NULL, NULL, 0));
    for (size_t i = 0; i < count; i++) {
        uint64_t wanted = 0;
        for (gex_Rank_t r = me % step; r < ranks; r += step)
            wanted += element(w, r, i);
        if (total[i] != wanted) {
            tell(&wrong, "element %zu of a sum in round %u is another one", i, w->round);
            return;
        }
    }
}

static void split(worker_t *w)
{
    gex_TM_t part = GEX_TM_INVALID;

    gex_TM_Split(&part, w->all, (int)(me % 2), 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    reduce(w, part, 2);
    gex_TM_Destroy(part, NULL, 0);
}

static void collectives(worker_t *w)
{
    broadcast(w);
    reduce(w, w->all, 1);
    reduce(w, w->half, 2);
    if (splitting)
        split(w);
}

/* ---- rounds ---- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void show_progress(const worker_t *w, double at)
{
    static double shown;

    if (me != 0 || w->number != 0 || at - shown < 0.1)
        return;
    shown = at;
    printf("round %u\n", w->round);
    fflush(stdout);
}

/* Whether rank 0 says that it is enough. */
static int is_over(worker_t *w, double end)
{
    char over = (char)(me == 0 && now() >= end && !(kept_by && access(kept_by, F_OK) == 0));

    gex_Event_Wait(gex_Coll_BroadcastNB(w->all, 0, &over, &over, 1, 0));
    return over;
}

static void one_round(worker_t *w)
{
    messages(w);
    transfers(w);
    words(w);
    tickets(w);
    collectives(w);
    barrier(w->all);
    audit(w);
    barrier(w->all);
}

static void *work(void *arg)
{
    worker_t *w = arg;
    const double end = now() + seconds;

    do {
        one_round(w);
        show_progress(w, now());
    } while (!is_over(w, end));
    return NULL;
}

/* ---- start and end ---- */

/* Somebody with the key can lie about the order of a split, and then addresses of one rank would be
 * used at another. */
static void check_team(gex_TM_t tm)
{
    gex_Rank_t r;

    for (r = 0; r < gex_TM_QuerySize(tm); r++)
        if (gex_TM_TranslateRankToJobrank(tm, r) != r)
            break;
    if (r == ranks)
        return;
    fprintf(stderr, "chaos_work: rank %u: a team of all has other ranks than the job\n",
            (unsigned)me);
    gasnet_exit(1);
}

static void prepare(worker_t *w, int number)
{
    w->number = number;
    w->random = key_of(me, number, 0, 0);
    w->shared = key_of(0, number, 0, 1);
    w->round = 1;
    atomic_store(&rounds_open[number], 1);
    w->data = malloc(PUT_BYTES);
    if (w->data == NULL) {
        fprintf(stderr, "chaos_work: out of memory\n");
        gasnet_exit(1);
    }
    gex_TM_Split(&w->all, team, 0, (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    gex_TM_Split(&w->half, team, (int)(me % 2), (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    check_team(w->all);
    gex_AD_Create(&w->domain, w->all, GEX_DT_U64, GEX_OP_FADD, 0);
}

static void share_segments(void)
{
    const size_t bytes = COUNTERS + (size_t)ranks * (size_t)thread_count * BOX;

    if (gex_Segment_Attach(&segment, team, (bytes + 65535) / 65536 * 65536) != GASNET_OK)
        gasnet_exit(66);
    for (gex_Rank_t r = 0; r < ranks; r++) {
        void *base = NULL;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, r, &base, NULL, NULL, 0));
        bases[r] = base;
    }
    memset(bases[me], 0, COUNTERS);
}

static void work_in_threads(void)
{
    pthread_t threads[THREADS_MAX];

    for (int t = 1; t < thread_count; t++)
        if (pthread_create(&threads[t], NULL, work, &workers[t]) != 0) {
            fprintf(stderr, "chaos_work: no thread can be made\n");
            gasnet_exit(1);
        }
    work(&workers[0]);
    for (int t = 1; t < thread_count; t++)
        pthread_join(threads[t], NULL);
}

/* Returns the exit code of the job. */
static int sum_up(void)
{
    uint64_t mine[3], total[3];

    mine[0] = atomic_load(&lost);
    mine[1] = atomic_load(&twice);
    mine[2] = atomic_load(&wrong);
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(team, total, mine, GEX_DT_U64, 8, 3, GEX_OP_ADD, NULL, NULL, 0));
    if (me == 0)
        printf("chaos_work: %u rounds, lost %llu, twice %llu, wrong %llu\n", workers[0].round - 1,
               (unsigned long long)total[0], (unsigned long long)total[1],
               (unsigned long long)total[2]);
    return total[0] || total[1] || total[2];
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--split") == 0)
            splitting = 1;
        else if (strcmp(argv[i], "--seconds") == 0 && ++i)
            seconds = atoi(value);
        else if (strcmp(argv[i], "--while") == 0 && ++i)
            kept_by = value;
        else if (strcmp(argv[i], "--threads") == 0 && ++i)
            thread_count = atoi(value);
        else if (strcmp(argv[i], "--seed") == 0 && ++i)
            seed = strtoull(value, NULL, 10);
        else
            gasnet_exit(64);
    }
    if (thread_count < 1 || thread_count > THREADS_MAX || ranks > RANKS_MAX)
        gasnet_exit(64);
}

int main(int argc, char **argv)
{
    int code;

    if (gex_Client_Init(&client, &ep, &team, "chaos_work", &argc, &argv, 0) != GASNET_OK)
        return 65;
    me = gex_TM_QueryRank(team);
    ranks = gex_TM_QuerySize(team);
    read_options(argc, argv);
    gex_EP_RegisterHandlers(ep, entries, sizeof(entries) / sizeof(entries[0]));
    share_segments();
    for (int t = 0; t < thread_count; t++)
        prepare(&workers[t], t);
    barrier(team);
    work_in_threads();
    code = sum_up();
    barrier(team);
    gasnet_exit(code);
    return code;
}
