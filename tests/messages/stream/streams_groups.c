/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams: group communication, and streams in which some ranks have no part. */
#include "streams_work.h"

/* ---- group communication ---- */

typedef struct done {
    _Atomic uint32_t calls;
} done_t;

static void on_group(gasnetx_Stream_t stream, const gasnetx_stream_message_t *m, size_t count,
                     void *context)
{
    done_t *done;
    (void)stream;
    (void)context;
    check(count == 1 && m->source == me && m->params_bytes == sizeof done, "parameters are lost");
    memcpy(&done, m->params, sizeof done);
    atomic_fetch_add(&done->calls, 1);
}

static void longest(const void *arg1, void *arg2_and_out, size_t count, const void *cdata)
{
    const uint64_t *a = arg1;
    uint64_t *b = arg2_and_out;
    (void)cdata;
    for (size_t i = 0; i < count; i++)
        b[i] = a[i] * 1000 % 999983 + b[i]; /* not commutative */
}

static uint64_t scan_expected(void)
{
    uint64_t value = 1;
    for (gex_Rank_t i = 1; i <= me; i++)
        value = value * 1000 % 999983 + i + 1;
    return value;
}

typedef struct group_results {
    uint64_t sum[2], all_sum[2], scan, word;
    uint64_t *gathered, *all;
} group_results_t;

static void group_begin(gasnetx_Stream_t stream, group_results_t *r, done_t *done,
                        gasnetx_Request_t *requests)
{
    const uint64_t mine[2] = {me + 1, 10 * (me + 1)}, root = is_root(stream);
    r->word = root ? 4711 : 0;
    const gasnetx_stream_group_t groups[] = {{.id = GASNETX_STREAM_BARRIER},
                                             {.id = GASNETX_STREAM_BROADCAST,
                                              .src = &r->word,
                                              .nbytes = 8,
                                              .dest = root ? NULL : &r->word,
                                              .capacity = 8},
                                             {.id = GASNETX_STREAM_GATHER,
                                              .src = mine,
                                              .nbytes = 8,
                                              .dest = root ? r->gathered : NULL,
                                              .capacity = 8 * size},
                                             {.id = GASNETX_STREAM_ALLGATHER,
                                              .src = mine,
                                              .nbytes = 8,
                                              .dest = r->all,
                                              .capacity = 8 * size},
                                             {.id = GASNETX_STREAM_REDUCE,
                                              .src = mine,
                                              .nbytes = 16,
                                              .dest = r->sum,
                                              .capacity = 16,
                                              .dt = GEX_DT_U64,
                                              .op = GEX_OP_ADD,
                                              .count = 2},
                                             {.id = GASNETX_STREAM_ALLREDUCE,
                                              .src = mine,
                                              .nbytes = 16,
                                              .dest = r->all_sum,
                                              .capacity = 16,
                                              .dt = GEX_DT_U64,
                                              .op = GEX_OP_ADD,
                                              .count = 2},
                                             {.id = GASNETX_STREAM_SCAN,
                                              .src = mine,
                                              .nbytes = 8,
                                              .dest = &r->scan,
                                              .capacity = 8,
                                              .dt = GEX_DT_USER,
                                              .op = GEX_OP_USER_NC,
                                              .fn = longest,
                                              .count = 1}};
    for (int i = 0; i < 7; i++)
        check(gasnetx_Stream_SendRecv(stream, &groups[i], &done, sizeof done, &requests[i]) ==
                  GASNET_OK,
              "group communication is refused");
}

static void group_check(gasnetx_Stream_t stream, const group_results_t *r)
{
    const uint64_t sum = (uint64_t)size * (size + 1) / 2;
    check(r->word == 4711, "a broadcast is wrong");
    check(r->all_sum[0] == sum && r->all_sum[1] == 10 * sum, "a reduction to all is wrong");
    check(r->scan == scan_expected(), "a scan is wrong");
    for (gex_Rank_t i = 0; i < size; i++)
        check(r->all[i] == i + 1 && (!is_root(stream) || r->gathered[i] == i + 1),
              "a gather is wrong");
    check(!is_root(stream) || (r->sum[0] == sum && r->sum[1] == 10 * sum), "a reduction is wrong");
}

/* Several sets at the same time. */
static void groups_run(const tree_t *tree)
{
    enum { SETS = 6 };
    gasnetx_stream_entry_t entries[7];
    group_results_t results[SETS];
    gasnetx_Request_t requests[SETS * 7];
    done_t done = {0};
    for (uint32_t i = 0; i < 7; i++)
        entries[i] = (gasnetx_stream_entry_t){.id = GASNETX_STREAM_BARRIER + i, .fn = on_group};
    gasnetx_Stream_t stream = stream_make(tree, GASNETX_STREAM_ORDERED, entries, 7, 0);
    for (int i = 0; i < SETS; i++) {
        results[i] = (group_results_t){.gathered = calloc(size, 8), .all = calloc(size, 8)};
        group_begin(stream, &results[i], &done, requests + 7 * i);
    }
    gasnetx_Request_WaitAll(requests, SETS * 7, NULL);
    check(atomic_load(&done.calls) == SETS * 7, "a handler of group communication was not called");
    for (int i = 0; i < SETS; i++) {
        group_check(stream, &results[i]);
        free(results[i].gathered);
        free(results[i].all);
    }
    barrier();
    counts_check(stream);
    gasnetx_Stream_Free(&stream);
}

/* The barrier of the specification: a send up, and a handler that says when it is complete. */
static void test_barrier(void)
{
    const gasnetx_stream_entry_t entry = {.id = GASNETX_STREAM_BARRIER, .fn = on_group};
    gasnetx_Stream_t stream = stream_make(&trees[1], GASNETX_STREAM_ORDERED, &entry, 1, 0);
    for (int i = 0; i < ROUNDS; i++) {
        done_t done = {0}, *at = &done;
        check(gasnetx_Stream_Send(stream, GASNETX_UP, GASNETX_STREAM_BARRIER, NULL, 0, &at,
                                  sizeof at, 0) == GASNET_OK,
              "a barrier is refused");
        GASNET_BLOCKUNTIL(atomic_load(&done.calls) == 1);
    }
    gasnetx_Stream_Free(&stream);
}

void test_groups(void)
{
    for (int i = 0; i < TREES; i++)
        groups_run(&trees[i]);
    test_barrier();
}

/* ---- teams, absent ranks, junctions ---- */

typedef struct junction {
    int inits, ends;
} junction_t;

static void junction_init(gasnetx_Stream_t stream, void *context)
{
    check(info_of(stream).members > 0, "a junction has no stream");
    ((junction_t *)context)->inits++;
}

static void junction_end(gasnetx_Stream_t stream, void *context)
{
    (void)stream;
    ((junction_t *)context)->ends++;
}

/* A team in the reverse order; every third rank of it takes no part. */
void test_absent(void)
{
    gex_TM_t reverse = GEX_TM_INVALID;
    junction_t junction = {0, 0};
    gasnetx_Stream_t stream;
    gex_TM_Split(&reverse, team, 0, (int)(size - me), NULL, 0, 0);
    const gex_Rank_t rank = gex_TM_QueryRank(reverse);
    const int absent = rank % 3 == 2;
    const gex_Rank_t below = rank % 3 ? rank - 1 : rank - 2; /* the member before this one */
    const gasnetx_stream_spec_t spec = {.parent = absent  ? GASNETX_STREAM_ABSENT
                                                  : !rank ? GASNETX_STREAM_ROOT
                                                          : below,
                                        .flags = GASNETX_STREAM_ORDERED,
                                        .init = junction_init,
                                        .finalize = junction_end,
                                        .context = &junction};
    check(gasnetx_Stream_Create(reverse, &spec, &stream) == GASNET_OK, "a stream is refused");
    check(absent == !stream, "a rank that takes no part has a stream");
    if (stream) {
        uint64_t all[2] = {rank, 0};
        gasnetx_Request_t request;
        const gasnetx_stream_group_t sum = {.id = GASNETX_STREAM_ALLREDUCE,
                                            .src = &all[0],
                                            .nbytes = 8,
                                            .dest = &all[1],
                                            .capacity = 8,
                                            .dt = GEX_DT_U64,
                                            .op = GEX_OP_ADD,
                                            .count = 1};
        uint64_t expected = 0;
        for (gex_Rank_t i = 0; i < size; i++)
            expected += i % 3 == 2 ? 0 : i;
        gasnetx_Stream_SendRecv(stream, &sum, NULL, 0, &request);
        gasnetx_Request_Wait(&request, NULL);
        check(all[1] == expected, "the sum of the members is wrong");
        gasnetx_Stream_Free(&stream);
        check(junction.inits == 1 && junction.ends == 1, "a junction does not begin and end once");
    }
    barrier();
}
