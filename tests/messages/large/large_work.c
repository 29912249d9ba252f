/* SPDX-License-Identifier: BSD-3-Clause */
/* Large active messages (aqueduct_large.h): sizes, order, parameters, receives and forwards in all
 * combinations, a slow destination, wrong calls, threads.
 *
 *     gasnetrun_smp -n 4 large_work [all]      every check
 *     gasnetrun_smp -n 64 large_work tree      only the trees
 *     gasnetrun_smp -n 3 large_work leave      ends the job while messages are under way
 *     gasnetrun_smp -n 2 large_work id|types   rank 1 sends what rank 0 has not registered
 */
#include <gasnetex.h>

#include <aqueduct_msg.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ids of large messages. */
enum {
    PLAIN = 7, /* is received as a whole */
    DROP,      /* is dropped */
    CUT,       /* is received into as many bytes as `extra` says */
    ORDER,     /* has the next number of its source */
    TREE,      /* is received, and goes on to two children */
    CHAIN,     /* only goes on to the next rank; the last one receives it */
    FAN,       /* goes on to all ranks as PLAIN, and is received */
    MIXED,     /* goes on as PLAIN, DROP and CUT, and is cut here */
    SHED,      /* goes on to all ranks, as DROP */
    SLOW,      /* goes on, as LATE */
    LATE,      /* its handler waits until it is told to go on */
    WRONG,     /* makes wrong calls */
    BARE,      /* without parameters */
    MEMBER,    /* checks its team */
    AFTER,     /* is handled after MEMBER */
    NOBODY,    /* is not registered */
};

/* Active messages of GASNet: LATE may go on; a rank awaits LATE, or its end. */
enum { GO = GEX_AM_INDEX_BASE, READY };

enum { HUGE_BYTES = 5000001, ORDERED = 100, TEAMS = 20, THREADS = 3, THREAD_MESSAGES = 40 };

/* The parameters of all ids but BARE. */
typedef struct words {
    uint32_t seed; /* of the data */
    double half;   /* seed / 2 */
    char name[5];
    uint64_t extra;
} words_t;
#define WORDS "id5cl"

static gex_TM_t team;
static gex_Rank_t me, size;
static atomic_uint received, sent, dropped, gone, ready; /* messages */

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "large_work: rank %u: %s\n", (unsigned)me, what);
    gasnet_exit(1);
}

static void barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static void await(atomic_uint *count, unsigned number)
{
    GASNET_BLOCKUNTIL(atomic_load(count) >= number);
    check(atomic_load(count) == number, "something happened twice");
}

/* ---- data and parameters ---- */

static unsigned char byte_at(uint32_t seed, size_t i)
{
    return (unsigned char)(seed * 31 + i * 13 + (i >> 8));
}

static unsigned char *data_make(uint32_t seed, size_t bytes)
{
    unsigned char *data = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        data[i] = byte_at(seed, i);
    return data;
}

static gasnetx_params_t params_make(words_t *words, uint32_t seed, uint64_t extra)
{
    memset(words, 0, sizeof *words);
    *words = (words_t){seed, seed / 2.0, "four", extra};
    return (gasnetx_params_t){words, sizeof *words, WORDS};
}

static words_t params_check(const gasnetx_params_t *params)
{
    words_t words;
    check(params->bytes == sizeof words && strcmp(params->types, WORDS) == 0, "wrong parameters");
    check((uintptr_t)params->block % 16 == 0, "the parameters are not aligned");
    memcpy(&words, params->block, sizeof words);
    check(words.half == words.seed / 2.0 && strcmp(words.name, "four") == 0, "a wrong parameter");
    return words;
}

/* ---- receives ---- */

typedef struct place {
    uint32_t seed;
    size_t nbytes, capacity;
    unsigned char *memory;
} place_t;

static void on_received(void *arg, size_t nbytes, size_t stored)
{
    place_t *place = arg;
    const size_t most = nbytes < place->capacity ? nbytes : place->capacity;
    check(nbytes == place->nbytes && stored == most, "a wrong number of bytes is received");
    for (size_t i = 0; i < stored; i++)
        check(place->memory[i] == byte_at(place->seed, i), "a byte is wrong");
    check(place->memory[place->capacity] == 0xee, "more is stored than the memory holds");
    free(place->memory);
    free(place);
    atomic_fetch_add(&received, 1);
}

static void receive(gasnetx_Large_t message, const gasnetx_large_info_t *info, size_t capacity)
{
    place_t *place = malloc(sizeof *place);
    *place =
        (place_t){params_check(&info->params).seed, info->nbytes, capacity, malloc(capacity + 1)};
    place->memory[capacity] = 0xee;
    check(gasnetx_Large_Receive(message, place->memory, capacity, on_received, place) == GASNET_OK,
          "a receive is refused");
}

static void forward(gasnetx_Large_t message, const gasnetx_large_info_t *info, gex_Rank_t to,
                    uint32_t id, uint64_t extra)
{
    words_t words;
    const gasnetx_params_t params = params_make(&words, params_check(&info->params).seed, extra);
    check(gasnetx_Large_Forward(message, team, to, id, &params) == GASNET_OK,
          "a forward is refused");
}

/* ---- handlers ---- */

static void on_plain(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    receive(message, info, info->nbytes);
}

static void on_drop(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    (void)message;
    (void)info;
    atomic_fetch_add(&dropped, 1);
}

static void on_cut(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    receive(message, info, params_check(&info->params).extra);
}

static uint64_t *next_of; /* by source */

static void on_order(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    check(params_check(&info->params).extra == next_of[info->rank]++, "headers are out of order");
    receive(message, info, info->nbytes);
}

/* Ranks are numbered from the root of a tree, which is in `extra`. */
static void on_tree(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    const gex_Rank_t root = (gex_Rank_t)params_check(&info->params).extra;
    const gex_Rank_t at = (me + size - root) % size;
    for (gex_Rank_t child = 2 * at + 1; child <= 2 * at + 2 && child < size; child++)
        forward(message, info, (child + root) % size, TREE, root);
    receive(message, info, info->nbytes);
}

static void on_chain(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    const uint64_t left = params_check(&info->params).extra;
    if (left)
        forward(message, info, (me + 1) % size, CHAIN, left - 1);
    else
        receive(message, info, info->nbytes);
}

static void on_fan(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    receive(message, info, info->nbytes);
    for (gex_Rank_t to = 0; to < size; to++)
        forward(message, info, to, PLAIN, 0);
}

static void on_mixed(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    static const uint32_t ids[] = {PLAIN, DROP, CUT};
    for (gex_Rank_t to = 0; to < size; to++)
        forward(message, info, to, ids[to % 3], info->nbytes / 3);
    receive(message, info, info->nbytes / 2);
}

static void on_shed(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    for (gex_Rank_t to = 0; to < size; to++)
        forward(message, info, to, DROP, 0);
}

static void on_slow(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    forward(message, info, (gex_Rank_t)params_check(&info->params).extra, LATE, 0);
}

static void on_late(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    GASNET_BLOCKUNTIL(atomic_load(&gone));
    receive(message, info, info->nbytes);
}

static void on_go(gex_Token_t token)
{
    (void)token;
    atomic_store(&gone, 1);
}

static void on_ready(gex_Token_t token)
{
    (void)token;
    atomic_fetch_add(&ready, 1);
}

static void on_bare(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    check(info->params.bytes == 0 && info->params.types[0] == 0, "there are parameters");
    check(gasnetx_Large_Receive(message, NULL, 0, NULL, NULL) == GASNET_OK, "refused");
    atomic_fetch_add(&dropped, 1);
}

static void on_sent(void *arg)
{
    atomic_fetch_add((atomic_uint *)arg, 1);
}

/* ---- sends ---- */

static void send_to(gex_Rank_t to, uint32_t id, uint32_t seed, uint64_t extra, size_t bytes)
{
    words_t words;
    const gasnetx_params_t params = params_make(&words, seed, extra);
    unsigned char *data = data_make(seed, bytes);
    check(gasnetx_Large_Send(team, to, id, data, bytes, &params) == GASNET_OK, "a send is refused");
    memset(data, 0xdd, bytes);
    free(data);
}

static const size_t sizes[] = {0,    1,     511,   512,   7700,   8191,   8192,
                               8193, 65000, 65536, 65537, 524288, 1000000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void test_sizes(void)
{
    for (gex_Rank_t i = 0; i < size; i++)
        for (size_t s = 0; s < SIZES; s++)
            send_to((me + i) % size, PLAIN, me + (uint32_t)s, 0, sizes[s]);
    send_to((me + 1) % size, PLAIN, me, 0, HUGE_BYTES);
    await(&received, size * SIZES + 1);
    barrier();
    atomic_store(&received, 0);
    barrier();
}

/* A completion function, a request, or both say that a send is complete. */
static void test_nonblocking(void)
{
    for (size_t s = 0; s < SIZES; s++) {
        gasnetx_Request_t requests[2];
        words_t words;
        const gasnetx_params_t params = params_make(&words, 3, 0);
        unsigned char *data = data_make(3, sizes[s]);
        const gex_Rank_t to = (me + 1) % size;
        check(
            !gasnetx_Large_SendNB(team, to, PLAIN, data, sizes[s], &params, on_sent, &sent, NULL) &&
                !gasnetx_Large_SendNB(team, to, PLAIN, data, sizes[s], &params, NULL, NULL,
                                      &requests[0]) &&
                !gasnetx_Large_SendNB(team, to, DROP, data, sizes[s], &params, on_sent, &sent,
                                      &requests[1]),
            "a send is refused");
        check(gasnetx_Request_WaitAll(requests, 2, NULL) == GASNET_OK, "a wait is refused");
        await(&sent, 2 * (unsigned)(s + 1));
        free(data);
    }
    await(&received, 2 * SIZES);
    await(&dropped, SIZES);
    barrier();
    atomic_store(&received, 0);
    atomic_store(&sent, 0);
    atomic_store(&dropped, 0);
    barrier();
}

static void test_order(void)
{
    unsigned char *data = data_make(me, sizes[SIZES - 1]);
    gasnetx_Request_t *requests = calloc(ORDERED * size, sizeof *requests);
    for (unsigned i = 0; i < ORDERED; i++)
        for (gex_Rank_t to = 0; to < size; to++) {
            words_t words;
            const gasnetx_params_t params = params_make(&words, me, i);
            gasnetx_Large_SendNB(team, to, ORDER, data, i % 7 ? i : sizes[i % SIZES], &params, NULL,
                                 NULL, &requests[i * size + to]);
        }
    gasnetx_Request_WaitAll(requests, ORDERED * size, NULL);
    await(&received, ORDERED * size);
    free(requests);
    free(data);
    barrier();
    atomic_store(&received, 0);
    memset(next_of, 0, size * sizeof *next_of);
    barrier();
}

static void test_drop_and_cut(void)
{
    static const size_t capacities[] = {0, 1, 5000, 100000, 2000000};
    unsigned count = 0;
    const gex_Rank_t to = (me + 1) % size;
    for (size_t s = 0; s < SIZES; s++, count++)
        send_to(to, DROP, me, 0, sizes[s]);
    for (size_t c = 0; c < 5; c++)
        for (size_t s = 0; s < SIZES; s++)
            send_to(to, CUT, me, capacities[c], sizes[s]);
    await(&received, 5 * SIZES);
    check(gasnetx_Large_Send(team, to, BARE, NULL, 0, NULL) == GASNET_OK, "refused");
    await(&dropped, count + 1);
    barrier();
    atomic_store(&received, 0);
    atomic_store(&dropped, 0);
    barrier();
}

/* ---- forwards ---- */

static void test_trees(size_t bytes, gex_Rank_t roots)
{
    if (me < roots)
        send_to(me, TREE, me, me, bytes);
    await(&received, roots);
    barrier();
    atomic_store(&received, 0);
    barrier();
}

static void test_chains(size_t bytes)
{
    send_to((me + 1) % size, CHAIN, me, 2 * size, bytes);
    await(&received, 1);
    barrier();
    atomic_store(&received, 0);
    barrier();
}

/* What this rank forwards is over when the last get of a destination has come. */
static void idle_await(gasnetx_large_counts_t *counts)
{
    do {
        gasnet_AMPoll();
        gasnetx_Large_QueryCounts(counts);
    } while (counts->under_way);
}

/* Rank `size - 1` receives, and sends to all; it fetches each piece once. */
static void test_fan(size_t bytes)
{
    gasnetx_large_counts_t before, after;
    gasnetx_Large_QueryCounts(&before);
    barrier();
    if (me == 0)
        send_to(size - 1, FAN, 77, 0, bytes);
    await(&received, me == size - 1 ? 2 : 1);
    barrier();
    idle_await(&after);
    if (me == size - 1 && bytes > 65536) {
        check(after.forwarded == before.forwarded + 1, "nothing was forwarded");
        check(after.pieces_fetched - before.pieces_fetched ==
                  (bytes + after.piece_bytes - 1) / after.piece_bytes,
              "pieces are fetched more than once");
    }
    check(after.pieces_held == 0, "a forwarder holds pieces that all have");
    atomic_store(&received, 0);
    barrier();
}

/* Some destinations take all, some nothing, and some a part. */
static void test_mixed(size_t bytes)
{
    unsigned received_here = me % 3 != 1, dropped_here = me % 3 == 1;
    if (me == 0)
        send_to(size - 1, MIXED, 78, 0, bytes);
    await(&received, received_here + (me == size - 1));
    await(&dropped, dropped_here);
    barrier();
    atomic_store(&received, 0);
    atomic_store(&dropped, 0);
    barrier();
}

/* Nobody wants what a forwarder has begun to fetch. */
static void test_shed(size_t bytes)
{
    gasnetx_large_counts_t counts;
    if (me == 0)
        send_to(size - 1, SHED, 79, 0, bytes);
    await(&dropped, 1);
    barrier();
    idle_await(&counts);
    check(counts.pieces_held == 0, "a forwarder holds pieces that all have dropped");
    atomic_store(&dropped, 0);
    barrier();
}

static void counts_check(uint64_t fetched_before)
{
    gasnetx_large_counts_t counts;
    do {
        gasnet_AMPoll();
        gasnetx_Large_QueryCounts(&counts);
    } while (counts.pieces_held < GASNETX_LARGE_PIECES);
    for (int i = 0; i < 1000; i++)
        gasnet_AMPoll();
    gasnetx_Large_QueryCounts(&counts);
    check(counts.pieces_held == GASNETX_LARGE_PIECES && counts.under_way == 1,
          "a forwarder holds too many pieces");
    check(counts.pieces_fetched - fetched_before <= GASNETX_LARGE_PIECES,
          "a forwarder fetches what it has no place for");
}

/* Rank 1 forwards to a rank that does not fetch the data until rank 1 has seen that it stops. The
 * message leaves when no rank is in a call any more that could not go on while LATE waits. */
static void test_slow(void)
{
    gasnetx_large_counts_t counts;
    const gex_Rank_t destination = 2 % size;
    if (size == 1)
        return;
    gasnetx_Large_QueryCounts(&counts);
    const size_t bytes = 20 * counts.piece_bytes + 1;
    unsigned char *data = data_make(5, bytes);
    words_t words;
    const gasnetx_params_t params = params_make(&words, 5, destination);
    gasnetx_Request_t request = GASNETX_REQUEST_NULL;
    gex_AM_RequestShort0(team, 0, READY, 0);
    if (me == 0) {
        await(&ready, size);
        gasnetx_Large_SendNB(team, 1, SLOW, data, bytes, &params, NULL, NULL, &request);
    }
    if (me == 1) {
        counts_check(counts.pieces_fetched);
        gex_AM_RequestShort0(team, destination, GO, 0);
    }
    gasnetx_Request_Wait(&request, NULL);
    if (me == destination)
        await(&received, 1);
    barrier();
    idle_await(&counts);
    check(counts.most_held <= GASNETX_LARGE_PIECES, "a forwarder has held too many pieces");
    check(counts.pieces_held == 0, "a forwarder holds pieces that all have");
    free(data);
    atomic_store(&received, 0);
    barrier();
}

/* ---- teams ---- */

static gex_TM_t half;

static void on_member(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    (void)message;
    const gex_Rank_t members = gex_TM_QuerySize(info->tm);
    check(gex_TM_QueryRank(info->tm) == (info->rank + 1) % members, "the source is wrong");
    check(gex_TM_TranslateRankToJobrank(info->tm, info->rank) == params_check(&info->params).extra,
          "the team is wrong");
    atomic_fetch_add(&dropped, 1);
}

static void on_after(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    (void)message;
    check(params_check(&info->params).extra + 1 == atomic_load(&dropped),
          "a message has overtaken one that waits for its team");
    atomic_fetch_add(&dropped, 1);
}

/* The receiver may make the team after the message has arrived; the next one, to the primordial
 * team, has to wait, too. */
static void test_team(void)
{
    words_t words;
    const gasnetx_params_t params = params_make(&words, 1, me), after = params_make(&words, 1, 0);
    gex_TM_Split(&half, team, (int)(me % 2), (int)(size - me), NULL, 0, 0);
    const gex_Rank_t to = (gex_TM_QueryRank(half) + 1) % gex_TM_QuerySize(half);
    words.extra = me;
    check(gasnetx_Large_Send(half, to, MEMBER, NULL, 0, &params) == GASNET_OK, "refused");
    words.extra = 0;
    check(gasnetx_Large_Send(team, gex_TM_TranslateRankToJobrank(half, to), AFTER, NULL, 0,
                             &after) == GASNET_OK,
          "refused");
    await(&dropped, 2);
    barrier();
    atomic_store(&dropped, 0);
    gex_TM_Destroy(half, NULL, GEX_FLAG_GLOBALLY_QUIESCED);
    barrier();
}

/* ---- wrong calls ---- */

static gasnetx_Large_t ended;

static void on_wrong(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    words_t words;
    char byte;
    const gasnetx_params_t params = params_make(&words, params_check(&info->params).seed, 0);
    ended = message;
    forward(message, info, 0, PLAIN, 0);
    check(gasnetx_Large_Forward(message, team, 0, PLAIN, &params) == GASNET_ERR_BAD_ARG, "twice");
    check(gasnetx_Large_Forward(message, team, size, PLAIN, &params) == GASNET_ERR_BAD_ARG, "rank");
    check(gasnetx_Large_Receive(message, NULL, 1, NULL, NULL) == GASNET_ERR_BAD_ARG, "NULL");
    receive(message, info, info->nbytes);
    check(gasnetx_Large_Receive(message, &byte, 1, NULL, NULL) == GASNET_ERR_BAD_ARG, "twice");
    check(gasnetx_Large_Send(team, me, PLAIN, &byte, 1, &params) == GASNET_ERR_BAD_ARG, "it waits");
}

static void params_refuse(const char *types, size_t bytes)
{
    char block[GASNETX_PARAMS_MAX + 1] = {0};
    const gasnetx_params_t params = {block, bytes, types};
    check(gasnetx_Large_Send(team, me, PLAIN, NULL, 0, &params) == GASNET_ERR_BAD_ARG,
          "wrong parameters are sent");
}

static void test_refusals(void)
{
    static const gasnetx_large_entry_t again[] = {{100, on_plain, NULL}, {PLAIN, on_drop, NULL}};
    static const gasnetx_large_entry_t twice[] = {{101, on_plain, "i"}, {101, on_drop, "i"}};
    static const gasnetx_large_entry_t wrong[] = {{102, on_plain, "iz"}},
                                       none[] = {{103, NULL, ""}};
    static const gasnetx_large_entry_t valid[] = {{100, on_plain, ""}, {101, on_drop, "256c"}};
    char byte = 0;
    check(gasnetx_Large_Register(again, 2) == GASNET_ERR_BAD_ARG, "an id is registered again");
    check(gasnetx_Large_Register(twice, 2) == GASNET_ERR_BAD_ARG, "an id is registered twice");
    check(gasnetx_Large_Register(wrong, 1) == GASNET_ERR_BAD_ARG, "wrong types are registered");
    check(gasnetx_Large_Register(none, 1) == GASNET_ERR_BAD_ARG, "NULL is registered");
    check(gasnetx_Large_Register(valid, 2) == GASNET_OK, "something was registered");
    check(gasnetx_Large_SendNB(team, me, PLAIN, &byte, 1, NULL, NULL, NULL, NULL) ==
              GASNET_ERR_BAD_ARG,
          "nobody learns the end");
    check(gasnetx_Large_Send(team, size, PLAIN, &byte, 1, NULL) == GASNET_ERR_BAD_ARG, "rank");
    check(gasnetx_Large_Send(team, me, PLAIN, NULL, 1, NULL) == GASNET_ERR_BAD_ARG, "NULL");
    params_refuse("i", 8);
    params_refuse("i", 0);
    params_refuse(NULL, 4);
    params_refuse("257c", 257);
    params_refuse("0i", 0);
    send_to(me, WRONG, 9, 0, me % 2 ? 100 : 100000);
    await(&received, me == 0 ? size + 1 : 1);
    check(gasnetx_Large_Receive(ended, &byte, 1, NULL, NULL) == GASNET_ERR_BAD_ARG, "too late");
    check(gasnetx_Large_Receive(NULL, &byte, 1, NULL, NULL) == GASNET_ERR_BAD_ARG, "NULL");
    barrier();
    atomic_store(&received, 0);
    barrier();
}

/* ---- threads ---- */

static void *thread_run(void *argument)
{
    (void)argument;
    for (uint32_t i = 0; i < THREAD_MESSAGES; i++)
        send_to((me + i) % size, i % 5 ? PLAIN : TREE, i, me, i % 4 ? i : 150000);
    return NULL;
}

/* A tree reaches all ranks, from where its root has sent the message to: only to itself, here. */
static unsigned arrivals_of_threads(void)
{
    unsigned count = 0;
    for (gex_Rank_t from = 0; from < size; from++)
        for (uint32_t i = 0; i < THREAD_MESSAGES; i++) {
            const gex_Rank_t to = (from + i) % size;
            if (i % 5)
                count += to == me;
            else
                for (gex_Rank_t at = (me + size - from) % size;; at = (at - 1) / 2) {
                    count += at == (to + size - from) % size;
                    if (at == 0)
                        break;
                }
        }
    return THREADS * count;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, thread_run, NULL) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    await(&received, arrivals_of_threads());
    barrier();
    atomic_store(&received, 0);
    barrier();
}

/* ---- the job ---- */

static void start(gex_EP_t ep)
{
    gex_AM_Entry_t handlers[] = {
        {GO, (gex_AM_Fn_t)on_go, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "go"},
        {READY, (gex_AM_Fn_t)on_ready, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "ready"}};
    static const gasnetx_large_entry_t entries[] = {
        {PLAIN, on_plain, "idccccc1l"}, {DROP, on_drop, WORDS},     {CUT, on_cut, WORDS},
        {ORDER, on_order, WORDS},       {TREE, on_tree, WORDS},     {CHAIN, on_chain, WORDS},
        {FAN, on_fan, WORDS},           {MIXED, on_mixed, WORDS},   {SHED, on_shed, WORDS},
        {SLOW, on_slow, WORDS},         {LATE, on_late, WORDS},     {WRONG, on_wrong, WORDS},
        {BARE, on_bare, NULL},          {MEMBER, on_member, WORDS}, {AFTER, on_after, WORDS}};
    gex_EP_RegisterHandlers(ep, handlers, 2);
    check(gasnetx_Large_Register(entries, sizeof entries / sizeof *entries) == GASNET_OK,
          "functions are refused");
    next_of = calloc(size, sizeof *next_of);
    barrier();
}

static void run_all(void)
{
    test_sizes();
    test_nonblocking();
    test_order();
    test_drop_and_cut();
    for (size_t s = 0; s < SIZES; s++) {
        test_trees(sizes[s], size);
        test_chains(sizes[s]);
        test_fan(sizes[s]);
        test_mixed(sizes[s]);
        test_shed(sizes[s]);
    }
    test_fan(HUGE_BYTES);
    test_slow();
    for (int i = 0; i < TEAMS; i++)
        test_team();
    test_refusals();
    test_threads();
}

static void run_tree(void)
{
    test_trees(100, 4);
    test_trees(1000000, 2);
    test_trees(HUGE_BYTES, 1);
}

/* Every rank has sends, receives and forwards under way when the job ends. */
static void leave(void)
{
    unsigned char *data = data_make(1, HUGE_BYTES);
    words_t words;
    const gasnetx_params_t params = params_make(&words, 1, me);
    for (int i = 0; i < 3; i++)
        gasnetx_Large_SendNB(team, (me + 1) % size, i ? CHAIN : FAN, data, HUGE_BYTES, &params,
                             on_sent, &sent, NULL);
    gasnet_AMPoll();
    gasnet_exit(0);
}

static void send_wrong(uint32_t id, const char *types)
{
    int word = 1;
    const gasnetx_params_t params = {&word, sizeof word, types};
    if (me == 1)
        gasnetx_Large_Send(team, 0, id, NULL, 0, &params);
    GASNET_BLOCKUNTIL(atomic_load(&gone)); /* never */
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    gex_Client_Init(&client, &ep, &team, "large_work", &argc, &argv, 0);
    gex_Segment_Attach(&segment, team, 65536);
    me = gex_TM_QueryRank(team);
    size = gex_TM_QuerySize(team);
    gex_System_SetVerboseErrors(0); /* what is refused is refused on purpose */
    start(ep);
    const char *what = argc > 1 ? argv[1] : "all";
    if (strcmp(what, "all") == 0)
        run_all();
    else if (strcmp(what, "tree") == 0)
        run_tree();
    else if (strcmp(what, "leave") == 0)
        leave();
    else if (strcmp(what, "id") == 0)
        send_wrong(NOBODY, "i");
    else if (strcmp(what, "types") == 0)
        send_wrong(PLAIN, "i");
    else
        check(0, "unknown word");
    barrier();
    if (me == 0)
        printf("large_work: all messages are right\n");
    gasnet_exit(0);
}
