/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams: rounds of synchronizing handlers, and filters. */
#include "streams_work.h"

/* ---- rounds ---- */

typedef struct sums {
    _Atomic uint32_t rounds;
    uint64_t sum, expected;
    size_t largest; /* messages of a round */
} sums_t;

static uint64_t message_value(const gasnetx_stream_message_t *m)
{
    uint64_t value;
    check(m->nbytes == sizeof value, "a value has another size");
    memcpy(&value, m->data, sizeof value);
    return value;
}

/* A junction: an inner rank adds what its children have sent, and sends the sum on. */
static void on_sum(gasnetx_Stream_t stream, const gasnetx_stream_message_t *messages, size_t count,
                   void *context)
{
    sums_t *sums = context;
    uint64_t sum = me + 1;
    check(count == info_of(stream).child_count, "a round is not complete");
    for (size_t i = 0; i < count; i++)
        sum += message_value(&messages[i]);
    if (!is_root(stream))
        check(gasnetx_Stream_Send(stream, GASNETX_UP, SUM, &sum, sizeof sum, NULL, 0, 0) ==
                  GASNET_OK,
              "a junction cannot send");
    sums->sum += sum;
    atomic_fetch_add(&sums->rounds, 1);
}

static int sum_filter(gasnetx_Stream_t stream, const gasnetx_stream_message_t *inputs, size_t count,
                      gasnetx_stream_output_t *output, void *context)
{
    uint64_t sum = 0;
    (void)stream;
    (void)context;
    for (size_t i = 0; i < count; i++)
        sum += message_value(&inputs[i]);
    memcpy(output->data, &sum, sizeof sum);
    output->nbytes = sizeof sum;
    return 0;
}

static void on_whole_sum(gasnetx_Stream_t stream, const gasnetx_stream_message_t *m, size_t count,
                         void *context)
{
    sums_t *sums = context;
    check(is_root(stream) && count == 1, "a handler behind a filter is called at an inner rank");
    check(message_value(m) == sums->expected, "the sum of a round is wrong");
    atomic_fetch_add(&sums->rounds, 1);
}

static void sums_run(const tree_t *tree, unsigned flags)
{
    sums_t sums = {0}, whole = {.expected = (uint64_t)size * (size + 1) / 2};
    const gasnetx_stream_entry_t entries[] = {{.id = SUM,
                                               .directions = GASNETX_UP,
                                               .children = GASNETX_ALL_CHILDREN,
                                               .fn = on_sum,
                                               .context = &sums},
                                              {.id = SELF_SUM,
                                               .directions = GASNETX_UP,
                                               .flags = GASNETX_STREAM_SELF,
                                               .children = GASNETX_ALL_CHILDREN,
                                               .filters = {{sum_filter, NULL}},
                                               .fn = on_whole_sum,
                                               .context = &whole}};
    gasnetx_Stream_t stream = stream_make(tree, flags, entries, 2, KEEP);
    const uint64_t value = me + 1;
    const int leaf = !info_of(stream).child_count;
    for (int i = 0; i < ROUNDS; i++) {
        if (leaf && size > 1)
            gasnetx_Stream_Send(stream, GASNETX_UP, SUM, &value, sizeof value, NULL, 0, 0);
        check(gasnetx_Stream_Send(stream, GASNETX_UP, SELF_SUM, &value, sizeof value, NULL, 0, 0) ==
                  GASNET_OK,
              "a send to a round is refused");
    }
    if (is_root(stream)) {
        GASNET_BLOCKUNTIL(atomic_load(&whole.rounds) == ROUNDS);
        GASNET_BLOCKUNTIL(leaf || atomic_load(&sums.rounds) == ROUNDS);
        check(leaf || sums.sum == ROUNDS * whole.expected, "the sum of junctions is wrong");
    }
    barrier();
    counts_check(stream);
    gasnetx_Stream_Free(&stream);
}

void test_rounds(void)
{
    for (int i = 0; i < TREES; i++) {
        sums_run(&trees[i], GASNETX_STREAM_ORDERED);
        sums_run(&trees[i], 0);
    }
}

static void on_late(gasnetx_Stream_t stream, const gasnetx_stream_message_t *messages, size_t count,
                    void *context)
{
    sums_t *sums = context;
    (void)stream;
    (void)messages;
    sums->largest = count > sums->largest ? count : sums->largest;
    atomic_fetch_add(&sums->rounds, (uint32_t)count);
}

/* One child never sends. With a limit the handler is called with the messages of the others; a
 * handler for one child fewer needs no limit. */
static void limit_run(uint32_t children, uint64_t limit_us)
{
    sums_t sums = {0};
    const gasnetx_stream_entry_t entry = {.id = LATE,
                                          .directions = GASNETX_UP,
                                          .children = children,
                                          .limit_us = limit_us,
                                          .fn = on_late,
                                          .context = &sums};
    gasnetx_Stream_t stream = stream_make(&trees[0], GASNETX_STREAM_ORDERED, &entry, 1, 0);
    if (me && me + 1 < size)
        gasnetx_Stream_Send(stream, GASNETX_UP, LATE, "late", 4, NULL, 0, 0);
    if (is_root(stream) && size > 2)
        GASNET_BLOCKUNTIL(atomic_load(&sums.rounds) == size - 2);
    barrier();
    counts_check(stream);
    check(limit_us || !sums.largest || sums.largest == size - 2, "a round has another size");
    gasnetx_Stream_Free(&stream);
}

void test_limits(void)
{
    limit_run(GASNETX_ALL_CHILDREN, 20000);
    if (size > 2)
        limit_run(size - 2, 0);
}

/* What can never be complete is dropped when the stream is freed, and what waits behind it too. */
void test_abandon(void)
{
    sums_t sums = {0};
    const gasnetx_stream_entry_t entry = {.id = LATE,
                                          .directions = GASNETX_UP,
                                          .children = GASNETX_ALL_CHILDREN,
                                          .fn = on_late,
                                          .context = &sums};
    gasnetx_Stream_t stream = stream_make(&trees[0], GASNETX_STREAM_ORDERED, &entry, 1, 0);
    for (int i = 0; i < 3; i++)
        if (me && me + 1 < size)
            gasnetx_Stream_Send(stream, GASNETX_UP, LATE, "late", 4, NULL, 0, 0);
    gasnetx_Stream_Free(&stream);
    check(sums.rounds == 0, "a round that is not complete was handled");
    barrier();
}

/* ---- filters ---- */

static int add_filter(gasnetx_Stream_t stream, const gasnetx_stream_message_t *inputs, size_t count,
                      gasnetx_stream_output_t *output, void *context)
{
    const uint64_t value = message_value(inputs) + *(const uint64_t *)context;
    (void)stream;
    check(count == 1, "a filter has several inputs");
    memcpy(output->data, &value, sizeof value);
    output->nbytes = sizeof value;
    return value == 7; /* what becomes 7 goes no further */
}

static int double_filter(gasnetx_Stream_t stream, const gasnetx_stream_message_t *inputs,
                         size_t count, gasnetx_stream_output_t *output, void *context)
{
    const uint64_t value = message_value(inputs) * 2;
    (void)stream;
    (void)count;
    (void)context;
    memcpy(output->data, &value, sizeof value);
    output->nbytes = sizeof value;
    return 0;
}

typedef struct values {
    _Atomic uint64_t got, sum;
} values_t;

static void on_value(gasnetx_Stream_t stream, const gasnetx_stream_message_t *m, size_t count,
                     void *context)
{
    values_t *values = context;
    (void)stream;
    (void)count;
    check(m->params_bytes == 3 && memcmp(m->params, "abc", 3) == 0, "filters lose the parameters");
    atomic_fetch_add(&values->sum, message_value(m));
    atomic_fetch_add(&values->got, 1);
}

/* Each rank on the way, and the end, computes (x + 1) * 2. */
static uint64_t filtered(uint64_t value, gex_Rank_t steps)
{
    while (steps--)
        value = (value + 1) * 2;
    return value;
}

static void filters_run(const tree_t *tree)
{
    static const uint64_t one = 1;
    values_t values = {0};
    const gasnetx_stream_entry_t entry = {
        .id = FILTERED,
        .directions = GASNETX_UP | GASNETX_DOWN,
        .filters = {{add_filter, (void *)(uintptr_t)&one}, {double_filter, NULL}},
        .fn = on_value,
        .context = &values};
    gasnetx_Stream_t stream = stream_make(tree, GASNETX_STREAM_ORDERED, &entry, 1, 0);
    const gasnetx_stream_info_t info = info_of(stream);
    const uint64_t value = 100, eaten = 6;
    if (!is_root(stream)) {
        /* In this order: when the second message has come, the first one has, too. */
        gasnetx_Stream_Send(stream, GASNETX_UP, FILTERED, &eaten, 8, "abc", 3, 0);
        gasnetx_Stream_Send(stream, GASNETX_UP, FILTERED, &value, 8, "abc", 3, 0);
    } else if (size > 1) {
        gasnetx_Stream_Send(stream, GASNETX_DOWN, FILTERED, &value, 8, "abc", 3, 0);
    }
    const uint64_t expected = sum_of_all(filtered(value, info.depth));
    if (is_root(stream)) {
        GASNET_BLOCKUNTIL(atomic_load(&values.got) == size - 1);
        check(values.sum == expected - value, "the sum of what was filtered is wrong");
    } else if (!info.child_count) {
        GASNET_BLOCKUNTIL(atomic_load(&values.got) == 1);
        check(values.sum == filtered(value, info.depth), "filters down are wrong");
    }
    barrier();
    counts_check(stream);
    gasnetx_Stream_Free(&stream);
}

typedef struct words {
    _Atomic int done;
    unsigned char *seen; /* of each rank */
} words_t;

static void on_words(gasnetx_Stream_t stream, const gasnetx_stream_message_t *m, size_t count,
                     void *context)
{
    words_t *words = context;
    gasnetx_stream_message_t record;
    size_t at = 0;
    char text[32];
    (void)stream;
    check(count == 1 && (m->flags & GASNETX_STREAM_COMBINED), "words are not combined");
    while (gasnetx_Stream_NextRecord(m, &at, &record) == GASNET_OK) {
        const int bytes = snprintf(text, sizeof text, "word of rank %u", (unsigned)record.source);
        check(record.source < size && !words->seen[record.source]++, "a rank comes twice");
        check(record.nbytes == (size_t)bytes && memcmp(record.data, text, record.nbytes) == 0,
              "a word is wrong");
    }
    atomic_store(&words->done, 1);
}

static void combine_run(const tree_t *tree)
{
    words_t words = {0, calloc(size, 1)};
    const gasnetx_stream_entry_t entry = {
        .id = WORDS,
        .directions = GASNETX_UP,
        .flags = GASNETX_STREAM_SELF,
        .children = GASNETX_ALL_CHILDREN,
        .filters = {{gasnetx_Stream_Combine, NULL}, {gasnetx_Stream_Forward, NULL}},
        .fn = on_words,
        .context = &words};
    gasnetx_Stream_t stream = stream_make(tree, GASNETX_STREAM_ORDERED, &entry, 1, 0);
    char text[32];
    const int bytes = snprintf(text, sizeof text, "word of rank %u", (unsigned)me);
    gasnetx_Stream_Send(stream, GASNETX_UP, WORDS, text, (size_t)bytes, NULL, 0, 0);
    if (is_root(stream)) {
        GASNET_BLOCKUNTIL(atomic_load(&words.done));
        for (gex_Rank_t i = 0; i < size; i++)
            check(words.seen[i], "the word of a rank is missing");
    }
    gasnetx_Stream_Free(&stream);
    free(words.seen);
}

static void test_damaged_record(void)
{
    static const uint32_t head[2] = {3, 1000};
    const gasnetx_stream_message_t message = {
        .flags = GASNETX_STREAM_COMBINED, .data = head, .nbytes = sizeof head};
    gasnetx_stream_message_t record;
    size_t at = 0;
    check(gasnetx_Stream_NextRecord(&message, &at, &record) == GASNET_ERR_BAD_ARG,
          "a record reaches beyond its message");
}

void test_filters(void)
{
    for (int i = 0; i < TREES; i++) {
        filters_run(&trees[i]);
        combine_run(&trees[i]);
    }
    test_damaged_record();
}
