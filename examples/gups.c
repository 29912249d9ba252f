/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gups.c - random updates of a table that is spread over the segments of all ranks.
 *
 * The updates are a stream of random numbers: number i is a function of i alone. Each rank takes an
 * equal piece of the stream, and for each number x in it the table word of index x mod size becomes
 * word ^ x. The numbers go to the owner of their word in batches, one Medium message each.
 *
 * The check does not use messages: xor is its own inverse, so each rank walks the whole stream,
 * undoes what falls into its part, and must find the initial table again, word for word.
 */
#include "example.h"

enum {
    ON_UPDATES = EXAMPLE_FIRST_INDEX,
    BATCH_BYTES = 4096 /* beyond this a larger message gains little */
};

static const char help[] =
    "usage: gups [--log2-table N] [--updates M]\n"
    "Xors random numbers into a table spread over all ranks, and checks the result exactly.\n"
    "  --log2-table N  the table has 2^N words of 8 bytes (1 to 40; default 20)\n"
    "  --updates M     the number of updates (0 to 10^12; default 40000000)\n"
    "  --check         accepted for symmetry: the result is always checked\n";

static uint64_t *part;      /* this rank's words of the table, in its segment */
static uint64_t part_words; /* words per rank; the last ranks may use fewer */
static uint64_t table_mask;

typedef struct {
    uint64_t *numbers; /* one row of row_words numbers for each rank */
    size_t row_words;
    size_t *fill;     /* numbers waiting in each row */
    size_t *capacity; /* numbers that fit into one message to that rank */
    uint64_t *sent;
} batches_t;

/* The finalizer of splitmix64: a good mixer of a counter into 64 random-looking bits. */
static inline uint64_t stream_number(uint64_t i)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void on_updates(gex_Token_t token, void *payload, size_t bytes)
{
    const char *at = payload;
    const uint64_t first = (uint64_t)job.me * part_words;
    (void)token;
    gex_HSL_Lock(&job.lock);
    for (size_t k = 0; k < bytes / sizeof(uint64_t); k++) {
        uint64_t x;
        memcpy(&x, at + k * sizeof x, sizeof x); /* a payload has no promised alignment */
        part[(x & table_mask) - first] ^= x;
    }
    gex_HSL_Unlock(&job.lock);
    example_items_arrived(bytes / sizeof(uint64_t));
}

static void batches_open(batches_t *b)
{
    b->row_words = BATCH_BYTES / sizeof(uint64_t);
    b->numbers = example_alloc((size_t)job.ranks * b->row_words, sizeof *b->numbers);
    b->fill = example_alloc(job.ranks, sizeof *b->fill);
    b->capacity = example_alloc(job.ranks, sizeof *b->capacity);
    b->sent = example_alloc(job.ranks, sizeof *b->sent);
    for (gex_Rank_t to = 0; to < job.ranks; to++) {
        size_t most = gex_AM_MaxRequestMedium(job.tm, to, GEX_EVENT_NOW, 0, 0) / sizeof(uint64_t);
        b->capacity[to] = most < b->row_words ? most : b->row_words;
    }
}

static void batches_close(batches_t *b)
{
    free(b->numbers);
    free(b->fill);
    free(b->capacity);
    free(b->sent);
}

static void batches_send(batches_t *b, gex_Rank_t to)
{
    gex_AM_RequestMedium0(job.tm, to, ON_UPDATES, b->numbers + (size_t)to * b->row_words,
                          b->fill[to] * sizeof(uint64_t), GEX_EVENT_NOW, 0);
    b->sent[to] += b->fill[to];
    b->fill[to] = 0;
}

static void update_table(uint64_t updates)
{
    batches_t b;
    const uint64_t end = example_share(updates, job.me + 1u);
    batches_open(&b);
    for (uint64_t i = example_share(updates, job.me); i < end; i++) {
        uint64_t x = stream_number(i);
        gex_Rank_t to = (gex_Rank_t)((x & table_mask) / part_words);
        b.numbers[(size_t)to * b.row_words + b.fill[to]++] = x;
        if (b.fill[to] == b.capacity[to])
            batches_send(&b, to);
    }
    for (gex_Rank_t to = 0; to < job.ranks; to++)
        if (b.fill[to])
            batches_send(&b, to);
    example_settle(b.sent);
    batches_close(&b);
}

/* Words of this rank that are wrong: see the top of the file. */
static uint64_t count_errors(uint64_t updates)
{
    const uint64_t first = (uint64_t)job.me * part_words;
    uint64_t errors = 0;
    for (uint64_t i = 0; i < updates; i++) {
        uint64_t x = stream_number(i), at = (x & table_mask) - first;
        if (at < part_words) /* unsigned: an index below ours is huge, hence also refused */
            part[at] ^= x;
    }
    for (uint64_t at = 0; at < part_words; at++)
        errors += part[at] != first + at;
    return errors;
}

int main(int argc, char **argv)
{
    uint64_t log2_table = 20, updates = 40000000, check = 1;
    const example_option_t options[] = {{"--log2-table", 1, 40, &log2_table},
                                        {"--updates", 0, 1000000000000u, &updates},
                                        {"--check", 0, 0, &check}};
    gex_AM_Entry_t handlers[] = {{ON_UPDATES, (gex_AM_Fn_t)on_updates,
                                  GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL, "updates"}};
    example_start("gups", help, &argc, &argv, handlers, 1);
    example_no_arguments(argc, argv, example_options(argc, argv, options, 3));

    const uint64_t words = (uint64_t)1 << log2_table;
    table_mask = words - 1;
    part_words = (words + job.ranks - 1) / job.ranks;
    part = example_attach(part_words * sizeof *part);
    for (uint64_t k = 0; k < part_words; k++)
        part[k] = (uint64_t)job.me * part_words + k;
    example_barrier();

    double start = example_seconds();
    update_table(updates);
    double seconds = example_seconds() - start;
    uint64_t errors = example_sum(count_errors(updates));
    if (job.me == 0) {
        printf("%" PRIu64 " updates of %" PRIu64 " words by %u ranks: %.3f s, %.6f GUPS\n", updates,
               words, (unsigned)job.ranks, seconds, (double)updates / seconds * 1e-9);
        if (errors)
            printf("check: failed, %" PRIu64 " words are wrong\n", errors);
        else
            puts("check: ok");
    }
    example_finish(errors ? 1 : 0);
}
