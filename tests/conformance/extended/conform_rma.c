/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get: all sizes, alignments and variants, local completion, values, order. */
#include "../conform.h"

#include <stdlib.h>
#include <string.h>

#define GUARD 64
#define BIGGEST ((size_t)4 << 20)
#define VARIANTS 8 /* of a put and of a get, see put_by and get_by */

static const size_t sizes[] = {
    0,     1,     2,      3,      4,      5,       7,           8,      9,    15,    16,
    17,    31,    33,     63,     64,     65,      127,         129,    255,  257,   511,
    512,   513,   1023,   1025,   2048,   4095,    4096,        4097,   8191, 16385, 32768,
    65535, 65537, 131072, 262145, 524288, 1048577, BIGGEST - 1, BIGGEST};
static const size_t size_count = sizeof(sizes) / sizeof(sizes[0]);

/* Puts by one of VARIANTS ways. The put is complete on return; `src` may have been overwritten. */
static void put_by(int variant, gex_Rank_t to, void *dest, void *src, size_t n)
{
    gex_Event_t lc = GEX_EVENT_INVALID;
    gex_Event_t root;

    switch (variant) {
    case 0:
        CHECK(gex_RMA_PutBlocking(job.tm, to, dest, src, n, 0) == 0, "a put must return 0");
        return;
    case 1:
    case 2:
        root = gex_RMA_PutNB(job.tm, to, dest, src, n, variant == 1 ? GEX_EVENT_NOW : &lc, 0);
        if (variant == 2)
            gex_Event_Wait(lc);
        memset(src, 0x42, n);
        gex_Event_Wait(root);
        return;
    case 3:
        gex_Event_Wait(gex_RMA_PutNB(job.tm, to, dest, src, n, GEX_EVENT_DEFER, 0));
        return;
    case 4:
        root = gex_RMA_PutNB(job.tm, to, dest, src, n, &lc, 0);
        gex_Event_Wait(gex_Event_QueryLeaf(root, GEX_EC_LC));
        memset(src, 0x43, n);
        gex_Event_Wait(root);
        return;
    case 5:
    case 6:
        CHECK(gex_RMA_PutNBI(job.tm, to, dest, src, n,
                             variant == 5 ? GEX_EVENT_NOW : GEX_EVENT_GROUP, 0) == 0,
              "an implicit put must return 0");
        if (variant == 6)
            gex_NBI_Wait(GEX_EC_LC, 0);
        memset(src, 0x44, n);
        gex_NBI_Wait(GEX_EC_PUT, 0);
        return;
    default:
        CHECK(gex_RMA_PutNBI(job.tm, to, dest, src, n, GEX_EVENT_DEFER, 0) == 0,
              "an implicit put must return 0");
        gex_NBI_Wait(GEX_EC_ALL, 0);
    }
}

static void get_by(int variant, void *dest, gex_Rank_t from, void *src, size_t n)
{
    gex_Event_t event;

    switch (variant % 4) {
    case 0:
        CHECK(gex_RMA_GetBlocking(job.tm, dest, from, src, n, 0) == 0, "a get must return 0");
        return;
    case 1:
        event = gex_RMA_GetNB(job.tm, dest, from, src, n, 0);
        while (gex_Event_Test(event) != 0)
            gasnet_AMPoll();
        return;
    case 2:
        gex_Event_Wait(gex_RMA_GetNB(job.tm, dest, from, src, n, 0));
        return;
    default:
        CHECK(gex_RMA_GetNBI(job.tm, dest, from, src, n, 0) == 0, "an implicit get must return 0");
        while (gex_NBI_Test(GEX_EC_GET, 0) != 0)
            gasnet_AMPoll();
    }
}

/* Puts data between two remote guards, gets data and guards back between two local guards, and
 * checks everything. */
static void round_trip(gex_Rank_t to, size_t n, int put_variant, int get_variant, uint64_t *stream,
                       unsigned char *out, unsigned char *in)
{
    const uint64_t key = conform_random(stream);
    unsigned char *dest = job.base[to] + CONFORM_INBOX + GUARD + key % 16;
    unsigned char *src = out + key / 16 % 16;
    unsigned char *back = in + GUARD + key / 256 % 16;

    conform_fill(src, GUARD, key + 1);
    gex_RMA_PutBlocking(job.tm, to, dest - GUARD, src, GUARD, 0);
    gex_RMA_PutBlocking(job.tm, to, dest + n, src, GUARD, 0);
    conform_fill(src, n, key);
    put_by(put_variant, to, dest, src, n);
    conform_fill(back - GUARD, GUARD, key + 2);
    conform_fill(back + n + 2 * (size_t)GUARD, GUARD, key + 2);
    get_by(get_variant, back, to, dest - GUARD, n + 2 * (size_t)GUARD);
    CHECK_FILL(back, GUARD, key + 1, "guard before the destination of a put");
    CHECK_FILL(back + GUARD, n, key, "the bytes that were put and got back");
    CHECK_FILL(back + GUARD + n, GUARD, key + 1, "guard after the destination of a put");
    CHECK_FILL(back - GUARD, GUARD, key + 2, "guard before the destination of a get");
    CHECK_FILL(back + n + 2 * (size_t)GUARD, GUARD, key + 2,
               "guard after the destination of a get");
}

/* Uses every variant for small sizes and one for each large size. */
static void all_sizes(gex_Rank_t to, uint64_t *stream, unsigned char *out, unsigned char *in)
{
    for (size_t i = 0; i < size_count; i++) {
        const int times = sizes[i] <= 4097 ? VARIANTS : 1;

        for (int t = 0; t < times; t++) {
            const int variant = times > 1 ? t : (int)(conform_random(stream) % VARIANTS);

            round_trip(to, sizes[i], variant, (int)(conform_random(stream) % VARIANTS), stream, out,
                       in);
        }
    }
}

/* In each round all ranks have different targets, so each inbox has one writer. */
static void each_target(unsigned char *out, unsigned char *in, uint64_t number)
{
    uint64_t stream = conform_stream(number);

    for (gex_Rank_t k = 0; k < job.size; k++) {
        all_sizes((job.rank + k) % job.size, &stream, out, in);
        conform_barrier();
    }
}

static void test_sizes_heap(void)
{
    unsigned char *out = conform_alloc(BIGGEST + 1024);
    unsigned char *in = conform_alloc(BIGGEST + 1024);

    each_target(out, in, 61);
    free(out);
    free(in);
}

static void test_sizes_segment(void)
{
    each_target(job.outbox, job.outbox + BIGGEST + 4096, 62);
}

/* Sources and destinations in every kind of local memory, including read-only memory. */
static const unsigned char constant[64] =
    "read-only memory as the source of a put, at any alignment.";
static unsigned char in_static[2048];

static void test_local(void)
{
    unsigned char on_stack[2048];
    const gex_Rank_t to = (job.rank + 1) % job.size;
    unsigned char *dest = job.base[to] + CONFORM_INBOX + 5;
    uint64_t stream = conform_stream(63);

    for (size_t n = 1; n <= 1000; n = n * 3 + 1) {
        for (int v = 0; v < VARIANTS; v++) {
            round_trip(to, n, v, v, &stream, on_stack, in_static);
            round_trip(to, n, v, v + 1, &stream, in_static, on_stack);
        }
    }
    for (size_t n = 1; n < sizeof(constant); n += 6) {
        void *src = (void *)(uintptr_t)(constant + n % 8);
        const size_t m = n < sizeof(constant) - 8 ? n : sizeof(constant) - 8;

        gex_Event_Wait(gex_RMA_PutNB(job.tm, to, dest, src, m, GEX_EVENT_DEFER, 0));
        gex_RMA_PutBlocking(job.tm, to, dest + m, src, m, 0);
        gex_RMA_GetBlocking(job.tm, on_stack, to, dest, 2 * m, 0);
        CHECK(memcmp(on_stack, src, m) == 0 && memcmp(on_stack + m, src, m) == 0,
              "%zu bytes from read-only memory changed on the way", m);
    }
}

/* ---- values ---- */

static void put_value(int variant, gex_Rank_t to, void *dest, gex_RMA_Value_t value, size_t n)
{
    if (variant == 0) {
        CHECK(gex_RMA_PutBlockingVal(job.tm, to, dest, value, n, 0) == 0, "a put must return 0");
    } else if (variant == 1) {
        CHECK(gex_RMA_PutNBIVal(job.tm, to, dest, value, n, 0) == 0, "a put must return 0");
        gex_NBI_Wait(GEX_EC_PUT, 0);
    } else {
        gex_Event_Wait(gex_RMA_PutNBVal(job.tm, to, dest, value, n, 0));
    }
}

/* Writes the n low-order bytes of a value to memory, in the byte order of the host. */
static void value_bytes(unsigned char *at, gex_RMA_Value_t value, size_t n)
{
    const uint16_t probe = 1;
    const size_t skip = *(const unsigned char *)&probe == 1 ? 0 : sizeof(value) - n;

    memcpy(at, (const unsigned char *)&value + skip, n);
}

static void check_value(gex_Rank_t to, unsigned char *dest, size_t n, int variant,
                        gex_RMA_Value_t value)
{
    unsigned char want[32], have[32];
    const gex_RMA_Value_t mask =
        n == sizeof(value) ? (gex_RMA_Value_t)-1 : ((gex_RMA_Value_t)1 << (8 * n)) - 1;
    gex_RMA_Value_t got;

    conform_fill(want, sizeof(want), n);
    gex_RMA_PutBlocking(job.tm, to, dest - 8, want, sizeof(want), 0);
    put_value(variant, to, dest, value, n);
    value_bytes(want + 8, value, n);
    gex_RMA_GetBlocking(job.tm, have, to, dest - 8, sizeof(have), 0);
    CHECK(memcmp(have, want, sizeof(want)) == 0, "a value of %zu bytes changed on the way", n);
    got = gex_RMA_GetBlockingVal(job.tm, to, dest, n, 0);
    CHECK(got == (value & mask), "value 0x%llx of %zu bytes came back as 0x%llx",
          (unsigned long long)(value & mask), n, (unsigned long long)got);
}

static void test_values(void)
{
    uint64_t stream = conform_stream(64);

    for (gex_Rank_t k = 0; k < job.size; k++) {
        const gex_Rank_t to = (job.rank + k) % job.size;

        for (size_t n = 1; n <= SIZEOF_GEX_RMA_VALUE_T; n++) {
            for (int variant = 0; variant < 3; variant++) {
                const uint64_t value = conform_random(&stream);
                unsigned char *dest = job.base[to] + CONFORM_INBOX + 8 + value % 16;

                check_value(to, dest, n, variant, (gex_RMA_Value_t)value);
                check_value(to, dest, n, variant, (gex_RMA_Value_t)-1);
            }
        }
        conform_barrier();
    }
}

/* ---- order, many writers, many readers ---- */

/* After a wait for a put, the next put to the same memory overwrites it, never the reverse. */
static void test_order(void)
{
    const gex_Rank_t to = (job.rank + 1) % job.size;
    unsigned char *dest = job.base[to] + CONFORM_INBOX;
    unsigned char src[600], back[600];
    uint64_t stream = conform_stream(65);

    for (uint64_t i = 0; i < 1000; i++) {
        const size_t n = 1 + conform_random(&stream) % sizeof(src);

        conform_fill(src, n, i);
        put_by((int)(i % VARIANTS), to, dest, src, n);
        get_by((int)(i / VARIANTS), back, to, dest, n);
        CHECK_FILL(back, n, i, "the latest of several puts");
    }
}

/* No byte of a put is written after its completion, neither by the library nor by the network. */
static void test_overwrite(void)
{
    enum { WORDS = 64, TIMES = 100 };
    const gex_Rank_t to = (job.rank + 1) % job.size;
    unsigned char *dest = job.base[to] + CONFORM_INBOX;
    uint64_t value[WORDS], got[WORDS];

    for (uint64_t i = 0; i < TIMES; i++) {
        for (uint64_t w = 0; w < WORDS; w++) {
            value[w] = conform_mix(i, w, job.rank);
            CHECK(gex_RMA_PutNBI(job.tm, to, dest + 8 * w, &value[w], 8, GEX_EVENT_DEFER, 0) == 0,
                  "an implicit put must return 0");
        }
        gex_NBI_Wait(GEX_EC_PUT, 0);
        gex_RMA_GetBlocking(job.tm, got, to, dest, sizeof(got), 0);
        for (uint64_t w = 0; w < WORDS; w++)
            CHECK(got[w] == value[w], "the value of put %llu is not in word %llu, or not any more",
                  (unsigned long long)i, (unsigned long long)w);
    }
}

/* All ranks put adjacent pieces of odd size into the inbox of the target, in random order. */
static void write_pieces(gex_Rank_t target, size_t piece, int count, unsigned char *src)
{
    for (int i = 0; i < count; i++) {
        const int j = (i * 7 + (int)job.rank) % count;
        unsigned char *dest =
            job.base[target] + CONFORM_INBOX + ((size_t)j * job.size + job.rank) * piece;
        unsigned char *from = src + (size_t)j * piece;

        conform_fill(from, piece, conform_mix(job.rank, (uint64_t)j, target));
        CHECK(gex_RMA_PutNBI(job.tm, target, dest, from, piece, GEX_EVENT_DEFER, 0) == 0,
              "an implicit put must return 0");
    }
    gex_NBI_Wait(GEX_EC_PUT, 0);
}

static void test_many_to_one(void)
{
    const size_t piece = 333;
    const int count = 100; /* not a multiple of 7 */
    unsigned char *src = conform_alloc(piece * (size_t)count);
    const unsigned char *inbox = job.base[job.rank] + CONFORM_INBOX;

    for (gex_Rank_t target = 0; target < job.size; target++) {
        write_pieces(target, piece, count, src);
        conform_barrier();
        for (size_t i = 0; job.rank == target && i < (size_t)count * job.size; i++)
            CHECK_FILL(inbox + i * piece, piece, conform_mix(i % job.size, i / job.size, target),
                       "a piece from one of many writers");
        conform_barrier();
    }
    free(src);
}

static void test_one_to_many(void)
{
    const size_t n = 100001;
    unsigned char *in = conform_alloc(n);

    conform_fill(job.outbox, n, 1000 + (uint64_t)job.rank);
    conform_barrier();
    for (gex_Rank_t owner = 0; owner < job.size; owner++) {
        memset(in, 0, n);
        for (size_t done = 0; done < n; done += 999) {
            const size_t part = n - done < 999 ? n - done : 999;

            gex_RMA_GetNBI(job.tm, in + done, owner, job.base[owner] + CONFORM_OUTBOX + done, part,
                           0);
        }
        gex_NBI_Wait(GEX_EC_GET, 0);
        CHECK_FILL(in, n, 1000 + (uint64_t)owner, "the bytes that all ranks get");
        conform_barrier();
    }
    free(in);
}

/* ---- implicit operations ---- */

#define IMPLICIT 200

/* Puts IMPLICIT words to a neighbour and at the same time gets as many from its outbox. */
static void start_implicit(gex_Rank_t to, uint64_t *out, uint64_t *in, gex_Event_t *lc)
{
    uint64_t *dest = (uint64_t *)(void *)(job.base[to] + CONFORM_INBOX);
    uint64_t *src = (uint64_t *)(void *)(job.base[to] + CONFORM_OUTBOX);

    for (int i = 0; i < IMPLICIT; i++) {
        CHECK(gex_RMA_PutNBI(job.tm, to, &dest[i], &out[i], 8, lc, 0) == 0, "put must return 0");
        CHECK(gex_RMA_GetNBI(job.tm, &in[i], to, &src[i], 8, 0) == 0, "get must return 0");
    }
}

static void check_words(gex_Rank_t to, const uint64_t *words, uint64_t first, const char *what)
{
    for (uint64_t i = 0; i < IMPLICIT; i++)
        CHECK(words[i] == first + i, "%s of rank %u: word %llu should be %llu, but is %llu", what,
              (unsigned)to, (unsigned long long)i, (unsigned long long)(first + i),
              (unsigned long long)words[i]);
}

static void set_words(uint64_t *words, uint64_t first)
{
    for (uint64_t i = 0; i < IMPLICIT; i++)
        words[i] = first + i;
}

static void check_put(gex_Rank_t to, uint64_t first)
{
    uint64_t back[IMPLICIT];

    gex_RMA_GetBlocking(job.tm, back, to, job.base[to] + CONFORM_INBOX, sizeof(back), 0);
    check_words(to, back, first, "implicit put");
}

static void test_nbi(void)
{
    const gex_Rank_t to = (job.rank + 1) % job.size;
    uint64_t out[IMPLICIT], in[IMPLICIT];

    set_words((uint64_t *)(void *)job.outbox, 5000 + (uint64_t)job.rank);
    CHECK(gex_NBI_Test(GEX_EC_ALL, 0) == 0, "no operation is pending, so the test must succeed");
    conform_barrier();
    for (uint64_t round = 0; round < 10; round++) {
        set_words(out, round * 100);
        memset(in, 0, sizeof(in));
        start_implicit(to, out, in, round % 2 ? GEX_EVENT_GROUP : GEX_EVENT_NOW);
        if (round % 2)
            gex_NBI_Wait(GEX_EC_LC, 0);
        memset(out, 0xff, sizeof(out));
        gex_NBI_Wait(GEX_EC_GET, 0);
        check_words(to, in, 5000 + (uint64_t)to, "implicit get");
        while (gex_NBI_Test(GEX_EC_PUT | GEX_EC_LC, 0) != 0)
            gasnet_AMPoll();
        CHECK(gex_NBI_Test(GEX_EC_ALL, 0) == 0,
              "all operations are complete, so the test must succeed");
        check_put(to, round * 100);
    }
}

static void test_region(void)
{
    const gex_Rank_t to = (job.rank + 1) % job.size;
    uint64_t out[IMPLICIT], in[IMPLICIT];
    gex_Event_t region;

    set_words((uint64_t *)(void *)job.outbox, 7000 + (uint64_t)job.rank);
    conform_barrier();
    gex_NBI_BeginAccessRegion(0);
    gex_Event_Wait(gex_NBI_EndAccessRegion(0)); /* an empty region is complete */
    for (uint64_t round = 0; round < 10; round++) {
        set_words(out, round * 1000);
        memset(in, 0, sizeof(in));
        gex_NBI_BeginAccessRegion(0);
        start_implicit(to, out, in, round % 2 ? GEX_EVENT_GROUP : GEX_EVENT_DEFER);
        region = gex_NBI_EndAccessRegion(0);
        CHECK(gex_NBI_Test(GEX_EC_ALL, 0) == 0,
              "operations of an access region must not count as implicit ones");
        if (round % 4 == 1) {
            gex_Event_Wait(gex_Event_QueryLeaf(region, GEX_EC_LC));
            memset(out, 0xfe, sizeof(out));
        }
        gex_Event_Wait(region);
        check_words(to, in, 7000 + (uint64_t)to, "get in a region");
        check_put(to, round * 1000);
    }
}

/* An operation with IMMEDIATE may be refused, and then has no effect; otherwise it is performed. */
static void test_immediate(void)
{
    const gex_Rank_t to = (job.rank + 1) % job.size;
    uint64_t *dest = (uint64_t *)(void *)(job.base[to] + CONFORM_INBOX);
    uint64_t last = 0, word = 0;

    gex_RMA_PutBlocking(job.tm, to, dest, &last, 8, 0);
    for (uint64_t i = 1; i <= 500; i++) {
        const gex_Event_t event =
            gex_RMA_PutNB(job.tm, to, dest, &i, 8, GEX_EVENT_NOW, GEX_FLAG_IMMEDIATE);
        gex_Event_t got;

        if (event != GEX_EVENT_NO_OP) {
            gex_Event_Wait(event);
            last = i;
        }
        got = gex_RMA_GetNB(job.tm, &word, to, dest, 8, GEX_FLAG_IMMEDIATE);
        if (got == GEX_EVENT_NO_OP)
            gex_RMA_GetBlocking(job.tm, &word, to, dest, 8, 0);
        else
            gex_Event_Wait(got);
        CHECK(word == last, "the word should be %llu, but is %llu", (unsigned long long)last,
              (unsigned long long)word);
    }
}

static void test_pair(void)
{
    const gex_TM_t pair = gex_TM_Pair(job.ep, 0);

    for (gex_Rank_t k = 0; k < job.size; k++) {
        const gex_Rank_t to = (job.rank + k) % job.size;
        uint64_t word = conform_mix(job.rank, to, 8), back = 0;

        gex_RMA_PutBlocking(pair, to, job.base[to] + CONFORM_INBOX + 8 * (size_t)job.rank, &word, 8,
                            0);
        gex_RMA_GetBlocking(pair, &back, to, job.base[to] + CONFORM_INBOX + 8 * (size_t)job.rank, 8,
                            0);
        CHECK(word == back, "0x%llx went through a TM-pair and came back as 0x%llx",
              (unsigned long long)word, (unsigned long long)back);
    }
}

const conform_test_t conform_rma_tests[] = {
    {"rma_heap", test_sizes_heap, "put and get of 0..4 MiB from and to the heap, guarded"},
    {"rma_segment", test_sizes_segment, "the same from and to this rank's own segment"},
    {"rma_local", test_local, "stack, static and read-only local memory"},
    {"rma_values", test_values, "values of 1..8 bytes"},
    {"rma_order", test_order, "a later put overwrites the earlier one"},
    {"rma_overwrite", test_overwrite, "words put again and again keep the last value"},
    {"rma_many_to_one", test_many_to_one, "all ranks put adjacent pieces to one"},
    {"rma_one_to_many", test_one_to_many, "all ranks get from one"},
    {"rma_nbi", test_nbi, "implicit operations, by category"},
    {"rma_region", test_region, "access regions"},
    {"rma_immediate", test_immediate, "an operation with IMMEDIATE has its full effect or none"},
    {"rma_pair", test_pair, "put and get through a TM-pair"},
    {NULL, NULL, NULL}};
