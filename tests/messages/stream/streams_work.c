/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams (aqueduct_stream.h): messages along trees of several shapes; each subtest checks order,
 * rounds, limits, counts or group communication.
 *
 *     gasnetrun_smp -n 4 streams_work [SUBTEST ...]
 */
#include "streams_work.h"

gex_TM_t team;
gex_Rank_t me, size;
static uint64_t random_state = 1;

void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "streams_work: rank %u: %s\n", (unsigned)me, what);
    gasnet_exit(1);
}

uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

void barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

uint64_t sum_of_all(uint64_t value)
{
    uint64_t sum;
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(team, &sum, &value, GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
    return sum;
}

/* ---- trees ---- */

const tree_t trees[TREES] = {{"star", 0, 0}, {"binary", 2, 0}, {"chain", 1, 0}, {"last", 3, 1}};
gasnetx_Stream_t stream_make(const tree_t *tree, unsigned flags,
                             const gasnetx_stream_entry_t *entries, size_t count, uint32_t keep)
{
    const gasnetx_stream_spec_t spec = {
        .parent = gasnetx_Stream_TreeParent(me, size, tree->root_is_last ? size - 1 : 0,
                                            tree->arity ? tree->arity : size),
        .flags = flags,
        .entries = entries,
        .entry_count = count,
        .keep_messages = keep};
    gasnetx_Stream_t stream;
    check(gasnetx_Stream_Create(team, &spec, &stream) == GASNET_OK && stream,
          "a stream is refused");
    return stream;
}

gasnetx_stream_info_t info_of(gasnetx_Stream_t stream)
{
    gasnetx_stream_info_t info;
    gasnetx_Stream_Query(stream, &info);
    return info;
}

int is_root(gasnetx_Stream_t stream)
{
    return info_of(stream).parent == GASNETX_STREAM_ROOT;
}

gasnetx_stream_counts_t counts_of(gasnetx_Stream_t stream)
{
    gasnetx_stream_counts_t counts;
    gasnetx_Stream_Counts(stream, &counts);
    return counts;
}

void counts_check(gasnetx_Stream_t stream)
{
    const gasnetx_stream_counts_t counts = counts_of(stream);
    const uint64_t sent = sum_of_all(counts.sent_messages);
    const uint64_t bytes = sum_of_all(counts.sent_bytes);
    check(sent == sum_of_all(counts.received_messages + counts.dropped_messages),
          "messages are neither received nor dropped");
    check(bytes == sum_of_all(counts.received_bytes + counts.dropped_bytes),
          "bytes are neither received nor dropped");
    check(!counts.kept_messages && !counts.kept_bytes && !counts.waiting_messages,
          "something is kept");
}

/* ---- numbered messages up, through inner ranks, and down to all ---- */

typedef struct numbers {
    _Atomic uint64_t got; /* messages */
    uint32_t *next;       /* of each source */
    int ordered;
} numbers_t;

static unsigned char byte_at(uint32_t from, uint32_t number, size_t i)
{
    return (unsigned char)(from * 31 + number * 7 + i * 13);
}

static void on_number(gasnetx_Stream_t stream, const gasnetx_stream_message_t *m, size_t count,
                      void *context)
{
    numbers_t *numbers = context;
    uint32_t number;
    (void)stream;
    check(count == 1 && m->params_bytes == sizeof number + m->nbytes % 5,
          "the parameters are wrong");
    check((uintptr_t)m->data % 8 == 0, "the data are not aligned");
    memcpy(&number, m->params, sizeof number);
    check(!numbers->ordered || numbers->next[m->source] == number, "a message is not in order");
    numbers->next[m->source]++;
    for (size_t i = 0; i < m->nbytes; i++)
        check(((const unsigned char *)m->data)[i] == byte_at(m->source, number, i),
              "a byte of a message is wrong");
    atomic_fetch_add(&numbers->got, 1);
}

static void number_send(gasnetx_Stream_t stream, unsigned direction, uint32_t number)
{
    static unsigned char bytes[1000], params[16];
    const size_t nbytes = random_below(sizeof bytes);
    memcpy(params, &number, sizeof number);
    for (size_t i = 0; i < nbytes; i++)
        bytes[i] = byte_at(me, number, i);
    check(gasnetx_Stream_Send(stream, direction, NUMBERS, bytes, nbytes, params,
                              sizeof number + nbytes % 5, 0) == GASNET_OK,
          "a send is refused");
}

static void numbers_run(const tree_t *tree, unsigned flags, uint32_t keep)
{
    numbers_t up = {0, calloc(size, 4), flags & 1}, down = {0, calloc(size, 4), flags & 1};
    const gasnetx_stream_entry_t up_entry = {
        .id = NUMBERS, .directions = GASNETX_UP, .fn = on_number, .context = &up};
    gasnetx_stream_entry_t entries[] = {{.id = NUMBERS,
                                         .directions = GASNETX_DOWN,
                                         .flags = GASNETX_STREAM_PASS,
                                         .fn = on_number,
                                         .context = &down},
                                        up_entry};
    const int root = me == (tree->root_is_last ? size - 1 : 0);
    gasnetx_Stream_t stream = stream_make(tree, flags, entries, 1 + (size_t)root, keep);
    for (uint32_t i = 0; i < EACH; i++) {
        if (!is_root(stream))
            number_send(stream, GASNETX_UP, i);
        else if (size > 1)
            number_send(stream, GASNETX_DOWN, i);
    }
    if (root)
        GASNET_BLOCKUNTIL(atomic_load(&up.got) == (uint64_t)EACH * (size - 1));
    else
        GASNET_BLOCKUNTIL(atomic_load(&down.got) == EACH);
    barrier();
    counts_check(stream);
    check(counts_of(stream).most_messages <= (keep ? keep : 64), "more is kept than the limit");
    check(gasnetx_Stream_Free(&stream) == GASNET_OK && !stream, "a stream is not freed");
    free(up.next);
    free(down.next);
}

static void test_numbers(void)
{
    for (int i = 0; i < TREES; i++) {
        numbers_run(&trees[i], GASNETX_STREAM_ORDERED, 0);
        numbers_run(&trees[i], 0, 0);
        numbers_run(&trees[i], GASNETX_STREAM_ORDERED, 1);
        numbers_run(&trees[i], GASNETX_STREAM_ORDERED, KEEP);
    }
}

/* ---- handlers that send in both directions ---- */

typedef struct balls {
    _Atomic uint64_t ended;
} balls_t;

static void on_ball(gasnetx_Stream_t stream, const gasnetx_stream_message_t *m, size_t count,
                    void *context)
{
    balls_t *balls = context;
    uint32_t turns;
    (void)count;
    memcpy(&turns, m->data, sizeof turns);
    if (!turns--) {
        atomic_fetch_add(&balls->ended, 1);
        return;
    }
    check(gasnetx_Stream_SendTo(stream, m->source, REPLY, &turns, sizeof turns, NULL, 0, 0) ==
              GASNET_OK,
          "a handler cannot send");
}

/* Each rank starts balls with its parent, as many as fit, and all fly at the same time. */
static void test_replies(void)
{
    for (int i = 0; i < TREES; i++) {
        balls_t balls = {0};
        const gasnetx_stream_entry_t entry = {
            .id = REPLY, .directions = GASNETX_UP | GASNETX_DOWN, .fn = on_ball, .context = &balls};
        gasnetx_Stream_t stream = stream_make(&trees[i], GASNETX_STREAM_ORDERED, &entry, 1, KEEP);
        const uint32_t turns = TURNS + 1; /* an odd number: balls end where they have begun */
        const unsigned count = is_root(stream) ? 0 : KEEP;
        for (unsigned k = 0; k < count; k++)
            gasnetx_Stream_Send(stream, GASNETX_UP, REPLY, &turns, sizeof turns, NULL, 0, 0);
        GASNET_BLOCKUNTIL(atomic_load(&balls.ended) == count);
        barrier();
        counts_check(stream);
        gasnetx_Stream_Free(&stream);
    }
}

/* ---- stop and start, limits and drops ---- */

typedef struct flood {
    _Atomic uint64_t got;
    _Atomic uint32_t stops, starts; /* notices */
} flood_t;

static void on_flood(gasnetx_Stream_t stream, const gasnetx_stream_message_t *m, size_t count,
                     void *context)
{
    flood_t *flood = context;
    (void)stream;
    (void)m;
    atomic_fetch_add(&flood->got, count);
}

static void on_stop(gasnetx_Stream_t stream, gex_Rank_t neighbour, int stopped, void *context)
{
    flood_t *flood = context;
    check(is_root(stream) ? neighbour < size : neighbour == info_of(stream).parent,
          "another rank has stopped");
    atomic_fetch_add(stopped ? &flood->stops : &flood->starts, 1);
}

static gasnetx_Stream_t flood_make(flood_t *flood, unsigned flags)
{
    const gasnetx_stream_entry_t entry = {
        .id = FLOOD, .directions = GASNETX_UP | GASNETX_DOWN, .fn = on_flood, .context = flood};
    const gasnetx_stream_spec_t spec = {.parent = gasnetx_Stream_TreeParent(me, size, 0, size),
                                        .flags = flags,
                                        .entries = &entry,
                                        .entry_count = 1,
                                        .keep_messages = KEEP,
                                        .on_stop = on_stop,
                                        .context = flood};
    gasnetx_Stream_t stream;
    check(gasnetx_Stream_Create(team, &spec, &stream) == GASNET_OK, "a stream is refused");
    return stream;
}

/* The root does not receive: so much finds room, and no more. Its children are told, although they
 * do not receive either. */
static void test_stop(void)
{
    flood_t flood = {0};
    gasnetx_Stream_t stream = flood_make(&flood, GASNETX_STREAM_ORDERED);
    uint64_t sent = 0;
    gasnetx_Stream_Stop(stream);
    barrier();
    if (is_root(stream)) {
        for (gex_Rank_t i = 1; i < size; i++)
            gasnetx_Stream_SendTo(stream, i, FLOOD, NULL, 0, NULL, 0, 0);
        GASNET_BLOCKUNTIL(atomic_load(&flood.stops) == size - 1); /* else a start may overtake */
    } else {
        GASNET_BLOCKUNTIL(atomic_load(&flood.stops) == 1);
        uint64_t refused = 0;
        while (sent < KEEP || refused < 1000) { /* the network may have no room for a moment */
            const int error = gasnetx_Stream_Send(stream, GASNETX_UP, FLOOD, &sent, 8, NULL, 0,
                                                  GEX_FLAG_IMMEDIATE);
            check(error == GASNET_OK || error == GASNET_ERR_RESOURCE, "there is another error");
            sent += error == GASNET_OK;
            refused += error != GASNET_OK;
            gasnet_AMPoll();
        }
        check(sent == KEEP, "a child finds less or more room than there is");
        check(counts_of(stream).refused == refused, "a refusal was not counted");
    }
    barrier();
    check(!flood.got, "a handler was called while receiving was stopped");
    check(counts_of(stream).most_messages <= KEEP, "more is kept than the limit");
    if (is_root(stream))
        GASNET_BLOCKUNTIL(counts_of(stream).kept_messages == (uint64_t)KEEP * (size - 1));
    barrier();
    gasnetx_Stream_Start(stream);
    if (is_root(stream)) {
        GASNET_BLOCKUNTIL(atomic_load(&flood.got) >= (uint64_t)KEEP * (size - 1));
        GASNET_BLOCKUNTIL(atomic_load(&flood.starts) == size - 1);
    } else {
        GASNET_BLOCKUNTIL(atomic_load(&flood.starts) == 1);
        GASNET_BLOCKUNTIL(atomic_load(&flood.got) == 1);
        check(gasnetx_Stream_Send(stream, GASNETX_UP, FLOOD, NULL, 0, NULL, 0, 0) == GASNET_OK,
              "there is no room after a start");
    }
    gasnetx_Stream_Free(&stream);
    check(flood.got == (me ? 1 : (uint64_t)(KEEP + 1) * (size - 1)), "Free loses messages");
    barrier();
}

/* A slow receiver polls only now and then; children send as fast as they can. */
static void test_slow(void)
{
    flood_t flood = {0};
    gasnetx_Stream_t stream = flood_make(&flood, GASNETX_STREAM_ORDERED);
    for (int i = 0; i < 20; i++) {
        if (is_root(stream)) {
            gasnetx_Stream_Stop(stream);
            for (int k = 0; k < 50; k++)
                gasnet_AMPoll();
            gasnetx_Stream_Start(stream);
            gasnet_AMPoll();
        } else {
            for (int k = 0; k < 20; k++)
                gasnetx_Stream_Send(stream, GASNETX_UP, FLOOD, &k, sizeof k, NULL, 0, 0);
        }
    }
    barrier();
    if (is_root(stream))
        GASNET_BLOCKUNTIL(atomic_load(&flood.got) == 400 * (uint64_t)(size - 1));
    check(counts_of(stream).most_messages <= KEEP, "more is kept than the limit");
    barrier();
    counts_check(stream);
    gasnetx_Stream_Free(&stream);
}

static void drops_run(unsigned flags)
{
    flood_t flood = {0};
    gasnetx_Stream_t stream = flood_make(&flood, flags | GASNETX_STREAM_DROPS);
    if (is_root(stream))
        gasnetx_Stream_Stop(stream);
    barrier();
    for (int i = 0; i < EACH && !is_root(stream); i++)
        check(gasnetx_Stream_Send(stream, GASNETX_UP, FLOOD, &i, sizeof i, NULL, 0, 0) == GASNET_OK,
              "a stream that drops has no room");
    const uint64_t first = (uint64_t)EACH * (size - 1);
    if (is_root(stream))
        GASNET_BLOCKUNTIL(counts_of(stream).dropped_messages == first);
    gasnetx_Stream_Start(stream);
    barrier();
    for (int i = 0; i < EACH && !is_root(stream); i++)
        gasnetx_Stream_Send(stream, GASNETX_UP, FLOOD, &i, sizeof i, NULL, 0, 0);
    if (is_root(stream))
        GASNET_BLOCKUNTIL(counts_of(stream).dropped_messages + atomic_load(&flood.got) ==
                          2 * first);
    check(counts_of(stream).most_messages <= KEEP, "more is kept than the limit");
    barrier();
    counts_check(stream);
    gasnetx_Stream_Free(&stream);
}

static void test_drops(void)
{
    drops_run(0);
    drops_run(GASNETX_STREAM_ORDERED);
}

/* ---- threads ---- */

typedef struct worker {
    gasnetx_Stream_t stream;
    uint32_t index;
} worker_t;

typedef struct tally {
    _Atomic uint64_t got;
    uint32_t *next; /* of each rank and thread */
} tally_t;

static void on_tally(gasnetx_Stream_t stream, const gasnetx_stream_message_t *m, size_t count,
                     void *context)
{
    tally_t *tally = context;
    uint32_t words[2]; /* thread, number */
    (void)stream;
    (void)count;
    memcpy(words, m->data, sizeof words);
    check(tally->next[m->source * THREADS + words[0]]++ == words[1], "a thread's order is lost");
    atomic_fetch_add(&tally->got, 1);
}

static void *worker_run(void *argument)
{
    const worker_t *worker = argument;
    for (uint32_t i = 0; i < EACH; i++) {
        const uint32_t words[2] = {worker->index, i};
        gasnetx_Stream_Send(worker->stream, GASNETX_UP, NUMBERS, words, sizeof words, NULL, 0, 0);
    }
    return NULL;
}

static void test_threads(void)
{
    tally_t tally = {0, calloc(size * THREADS, sizeof(uint32_t))};
    pthread_t threads[THREADS];
    worker_t workers[THREADS];
    const gasnetx_stream_entry_t entry = {
        .id = NUMBERS, .directions = GASNETX_UP, .fn = on_tally, .context = &tally};
    gasnetx_Stream_t stream = stream_make(&trees[1], GASNETX_STREAM_ORDERED, &entry, me == 0, KEEP);
    for (uint32_t i = 0; i < THREADS && me; i++) {
        workers[i] = (worker_t){stream, i};
        check(pthread_create(&threads[i], NULL, worker_run, &workers[i]) == 0, "no thread");
    }
    if (!me)
        GASNET_BLOCKUNTIL(atomic_load(&tally.got) == (uint64_t)EACH * THREADS * (size - 1));
    for (uint32_t i = 0; i < THREADS && me; i++)
        pthread_join(threads[i], NULL);
    gasnetx_Stream_Free(&stream);
    free(tally.next);
    barrier();
}

/* ---- the program ---- */

static const struct {
    const char *name;
    void (*run)(void);
} subtests[] = {{"numbers", test_numbers},  {"replies", test_replies}, {"rounds", test_rounds},
                {"limits", test_limits},    {"abandon", test_abandon}, {"filters", test_filters},
                {"stop", test_stop},        {"slow", test_slow},       {"drops", test_drops},
                {"groups", test_groups},    {"absent", test_absent},   {"threads", test_threads},
                {"refusals", test_refusals}};

static int is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return 1;
    return argc == 1;
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    int count = 0;
    gex_Client_Init(&client, &ep, &team, "streams_work", &argc, &argv, 0);
    gex_Segment_Attach(&segment, team, 65536);
    barrier();
    me = gex_TM_QueryRank(team);
    size = gex_TM_QuerySize(team);
    random_state = me + 1;
    gex_System_SetVerboseErrors(getenv("STREAMS_VERBOSE") != NULL);
    for (size_t i = 0; i < sizeof subtests / sizeof subtests[0]; i++) {
        if (!is_wanted(subtests[i].name, argc, argv))
            continue;
        subtests[i].run();
        count++;
    }
    barrier();
    if (me == 0)
        printf("streams_work: %d subtests, all is right\n", count);
    gasnet_exit(count == 0);
}
