/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams: what is refused. */
#include "streams_work.h"

/* ---- what is refused ---- */

static void never_called(gasnetx_Stream_t stream, const gasnetx_stream_message_t *messages,
                         size_t count, void *context)
{
    (void)stream;
    (void)messages;
    (void)count;
    (void)context;
    check(0, "a handler of a stream that was refused is called");
}

static void create_refused(gex_Rank_t parent, const gasnetx_stream_entry_t *entries, size_t count,
                           unsigned flags, const char *what)
{
    const gasnetx_stream_spec_t spec = {
        .parent = parent, .flags = flags, .entries = entries, .entry_count = count};
    gasnetx_Stream_t stream = (gasnetx_Stream_t)(uintptr_t)&spec;
    check(gasnetx_Stream_Create(team, &spec, &stream) == GASNET_ERR_BAD_ARG && !stream, what);
}

static void trees_refused(void)
{
    const gex_Rank_t star = me ? 0 : GASNETX_STREAM_ROOT;
    create_refused(me ? star : size, NULL, 0, 0, "a parent is not in the team");
    create_refused(me ? star : me, NULL, 0, 0, "a rank is its own parent");
    if (size == 1)
        return;
    create_refused(me < 2 ? GASNETX_STREAM_ROOT : 0, NULL, 0, 0, "there are two roots");
    create_refused(me < 2 ? 1 - me : 0, NULL, 0, 0, "there is a circle");
    create_refused(me ? 0 : GASNETX_STREAM_ABSENT, NULL, 0, 0, "the parent is absent");
    create_refused(star, NULL, 0, me == 1, "flags differ");
    create_refused(star, NULL, 0, me == 1 ? 8 : 0, "flags are unknown");
}

static void entries_refused(void)
{
    const gex_Rank_t star = me ? 0 : GASNETX_STREAM_ROOT;
    const gasnetx_stream_entry_t good = {
        .id = NUMBERS, .directions = GASNETX_UP, .fn = never_called, .context = NULL};
    gasnetx_stream_entry_t bad[2] = {good, good};
    const size_t count = me == size - 1 ? 2 : 1; /* only the last rank is wrong */
    create_refused(star, bad, count, 0, "two entries are the same");
    bad[1] = good;
    bad[1].id = GASNETX_STREAM_ID_MAX + 100;
    create_refused(star, bad, count, 0, "an id is too large");
    bad[1] = (gasnetx_stream_entry_t){
        .id = SUM, .directions = GASNETX_DOWN, .children = 1, .fn = never_called};
    create_refused(star, bad, count, 0, "messages from a parent synchronize");
    bad[1] = (gasnetx_stream_entry_t){.id = SUM, .directions = GASNETX_UP};
    create_refused(star, bad, count, 0, "an entry has no function");
    bad[1] = (gasnetx_stream_entry_t){.id = SUM, .fn = never_called};
    create_refused(star, bad, count, 0, "an entry has no direction");
}

static void sends_refused(void)
{
    static char bytes[1 << 20];
    gasnetx_Stream_t stream = stream_make(&trees[0], 0, NULL, 0, 0);
    const gasnetx_stream_group_t barrier_group = {.id = GASNETX_STREAM_BARRIER};
    const unsigned away = is_root(stream) ? GASNETX_UP : GASNETX_DOWN;
    const unsigned along = is_root(stream) ? GASNETX_DOWN : GASNETX_UP;
    const size_t most = info_of(stream).max_bytes;
    check(gasnetx_Stream_Send(stream, away, 1, bytes, 1, NULL, 0, 0) == GASNET_ERR_BAD_ARG,
          "there is nobody");
    check(gasnetx_Stream_Send(stream, 3, 1, bytes, 1, NULL, 0, 0) == GASNET_ERR_BAD_ARG,
          "there is no such direction");
    check(gasnetx_Stream_Send(stream, along, 1, bytes, most + 1, NULL, 0, 0) == GASNET_ERR_BAD_ARG,
          "a message is too long");
    check(gasnetx_Stream_Send(stream, along, 1, bytes, most, bytes, 1, 0) == GASNET_ERR_BAD_ARG,
          "a message with parameters is too long");
    check(gasnetx_Stream_Send(stream, along, 1, bytes, 1, bytes, 257, 0) == GASNET_ERR_BAD_ARG,
          "parameters are too long");
    check(gasnetx_Stream_Send(stream, along, 0x8003, bytes, 1, NULL, 0, 0) == GASNET_ERR_BAD_ARG,
          "an id is too large");
    check(gasnetx_Stream_SendTo(stream, me, 1, bytes, 1, NULL, 0, 0) == GASNET_ERR_BAD_ARG,
          "a rank is no neighbour of itself");
    check(gasnetx_Stream_SendTo(stream, GASNETX_STREAM_ROOT, 1, bytes, 1, NULL, 0, 0) ==
              GASNET_ERR_BAD_ARG,
          "there is no such rank");
    check(gasnetx_Stream_SendRecv(stream, &barrier_group, NULL, 0, NULL) == GASNET_ERR_BAD_ARG,
          "group communication on a stream without order");
    gasnetx_Stream_Free(&stream);
    check(gasnetx_Stream_Free(&stream) == GASNET_OK, "the null handle cannot be freed");
    check(gasnetx_Stream_Send(stream, along, 1, bytes, 1, NULL, 0, 0) == GASNET_ERR_BAD_ARG,
          "the null handle can send");
}

static void groups_refused(void)
{
    gasnetx_Stream_t stream = stream_make(&trees[0], GASNETX_STREAM_ORDERED, NULL, 0, 0);
    uint64_t word = 0;
    gasnetx_stream_group_t group = {.id = GASNETX_STREAM_ALLREDUCE,
                                    .src = &word,
                                    .nbytes = 8,
                                    .dest = &word,
                                    .capacity = 8,
                                    .dt = GEX_DT_U64,
                                    .op = GEX_OP_ADD,
                                    .count = 2};
    check(gasnetx_Stream_SendRecv(stream, &group, NULL, 0, NULL) == GASNET_ERR_BAD_ARG, "count");
    group.count = 1;
    group.capacity = 7;
    check(gasnetx_Stream_SendRecv(stream, &group, NULL, 0, NULL) == GASNET_ERR_BAD_ARG, "dest");
    group.id = GASNETX_STREAM_ALLGATHER;
    group.nbytes = info_of(stream).max_bytes;
    check(gasnetx_Stream_SendRecv(stream, &group, NULL, 0, NULL) == GASNET_ERR_BAD_ARG, "bytes");
    group.id = 7;
    check(gasnetx_Stream_SendRecv(stream, &group, NULL, 0, NULL) == GASNET_ERR_BAD_ARG, "id");
    gasnetx_Stream_Free(&stream);
}

/* Messages that no rank has a handler for are dropped and counted. */
static void test_no_handler(void)
{
    gasnetx_Stream_t stream = stream_make(&trees[1], GASNETX_STREAM_ORDERED, NULL, 0, 0);
    if (!is_root(stream))
        gasnetx_Stream_Send(stream, GASNETX_UP, NUMBERS, NULL, 0, NULL, 0, 0);
    else
        GASNET_BLOCKUNTIL(counts_of(stream).dropped_messages == size - 1);
    barrier();
    counts_check(stream);
    gasnetx_Stream_Free(&stream);
}

void test_refusals(void)
{
    trees_refused();
    entries_refused();
    sends_refused();
    groups_refused();
    test_no_handler();
}
