/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives: broadcasts and reductions of every size, type and operation, also many at once. */
#include "../conform.h"

#include <gasnet_coll.h>
#include <stdlib.h>
#include <string.h>

#define MANY 200
#define LARGE (((size_t)1 << 20) + 13)

static const size_t sizes[] = {0,    1,    8,     100,   4096,           16384,
                               5000, 8192, 65536, 65537, (size_t)100000, LARGE};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void nap_sometimes(uint64_t *stream)
{
    if (conform_random(stream) % 40 == 0)
        conform_nap(1);
}

/* Allocates `count` blocks of `bytes` bytes outside of the segment, each followed by a guard. */
static unsigned char *alloc_blocks(size_t count, size_t bytes)
{
    unsigned char *at = conform_alloc(count * (bytes + 16) + 1);

    memset(at, 0xee, count * (bytes + 16) + 1);
    return at;
}

static void check_guard(const unsigned char *end, const char *what)
{
    for (int i = 0; i < 16; i++)
        CHECK(end[i] == 0xee, "%s wrote past the end of its output", what);
}

/* ---- broadcast ---- */

static void one_broadcast(gex_Rank_t root, size_t bytes, int in_place, uint64_t key)
{
    unsigned char *dst = alloc_blocks(1, bytes), *src = alloc_blocks(1, bytes);
    const int is_root = job.rank == root;

    if (is_root)
        conform_fill(in_place ? dst : src, bytes, key);
    gex_Event_Wait(gex_Coll_BroadcastNB(job.tm, root, dst,
                                        !is_root   ? NULL
                                        : in_place ? dst
                                                   : src,
                                        bytes, 0));
    CHECK_FILL(dst, bytes, key, "broadcast");
    check_guard(dst + bytes, "a broadcast");
    free(dst);
    free(src);
}

static void test_broadcast(void)
{
    for (size_t i = 0; i < SIZES; i++)
        for (gex_Rank_t root = 0; root < job.size; root++)
            one_broadcast(root, sizes[i], (root + i) % 2 == 0, root * 100 + i);
}

/* Source and destination are in the bound segment; successive broadcasts use the same buffers. */
static void test_broadcast_segment(void)
{
    unsigned char *at = job.base[job.rank] + CONFORM_INBOX;

    for (gex_Rank_t root = 0; root < job.size; root++) {
        if (job.rank == root)
            conform_fill(job.outbox, 50000, root);
        gex_Event_Wait(gex_Coll_BroadcastNB(job.tm, root, at, job.outbox, 50000, 0));
        CHECK_FILL(at, 50000, root, "broadcast in the segment");
    }
    conform_barrier();
}

/* ---- every type and operation ---- */

typedef union {
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float flt;
    double dbl;
} value_t;

typedef struct {
    gex_DT_t dt;
    size_t size;
    const char *name;
} type_t;

static const type_t types[] = {{GEX_DT_I32, 4, "I32"}, {GEX_DT_U32, 4, "U32"},
                               {GEX_DT_I64, 8, "I64"}, {GEX_DT_U64, 8, "U64"},
                               {GEX_DT_FLT, 4, "FLT"}, {GEX_DT_DBL, 8, "DBL"}};
#define TYPES (sizeof(types) / sizeof(types[0]))

static const gex_OP_t ops[] = {GEX_OP_ADD, GEX_OP_MULT, GEX_OP_MIN, GEX_OP_MAX,
                               GEX_OP_AND, GEX_OP_OR,   GEX_OP_XOR};
#define OPS (sizeof(ops) / sizeof(ops[0]))

static int is_real(const type_t *type)
{
    return type->dt == GEX_DT_FLT || type->dt == GEX_DT_DBL;
}

static int is_legal(const type_t *type, gex_OP_t op)
{
    return !is_real(type) || (op != GEX_OP_AND && op != GEX_OP_OR && op != GEX_OP_XOR);
}

/* The operand of a rank for element i. Reals are small integers to add, or -1 and 2 to
 * multiply, so that sums and products are exact in any order. */
static value_t operand_of(const type_t *type, gex_OP_t op, gex_Rank_t rank, size_t i)
{
    const uint64_t bits = conform_mix(rank + 1, i + 1, op);
    const int small = op == GEX_OP_MULT ? (bits & 1 ? 2 : -1) : (int)(bits % 2001) - 1000;
    value_t value = {.u64 = 0};

    if (type->dt == GEX_DT_FLT)
        value.flt = (float)small;
    else if (type->dt == GEX_DT_DBL)
        value.dbl = small;
    else if (type->size == 4)
        value.u32 = (uint32_t)bits;
    else
        value.u64 = bits;
    return value;
}

static uint64_t combine_bits(uint64_t a, uint64_t b, gex_OP_t op)
{
    return op == GEX_OP_ADD    ? a + b
           : op == GEX_OP_MULT ? a * b
           : op == GEX_OP_AND  ? (a & b)
           : op == GEX_OP_OR   ? (a | b)
                               : a ^ b;
}

static double combine_reals(double a, double b, gex_OP_t op)
{
    return op == GEX_OP_ADD    ? a + b
           : op == GEX_OP_MULT ? a * b
           : op == GEX_OP_MIN  ? (a < b ? a : b)
                               : (a > b ? a : b);
}

static int is_less(const type_t *type, value_t a, value_t b)
{
    return type->dt == GEX_DT_I32   ? a.i32 < b.i32
           : type->dt == GEX_DT_U32 ? a.u32 < b.u32
           : type->dt == GEX_DT_I64 ? a.i64 < b.i64
                                    : a.u64 < b.u64;
}

static value_t combine_values(const type_t *type, gex_OP_t op, value_t a, value_t b)
{
    value_t c = {.u64 = 0};

    if (type->dt == GEX_DT_FLT)
        c.flt = (float)combine_reals(a.flt, b.flt, op);
    else if (type->dt == GEX_DT_DBL)
        c.dbl = combine_reals(a.dbl, b.dbl, op);
    else if (op == GEX_OP_MIN)
        c = is_less(type, a, b) ? a : b;
    else if (op == GEX_OP_MAX)
        c = is_less(type, b, a) ? a : b;
    else if (type->size == 4)
        c.u32 = (uint32_t)combine_bits(a.u32, b.u32, op);
    else
        c.u64 = combine_bits(a.u64, b.u64, op);
    return c;
}

static void fill_operands(unsigned char *at, const type_t *type, gex_OP_t op, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const value_t value = operand_of(type, op, job.rank, i);

        memcpy(at + i * type->size, &value, type->size);
    }
}

static void check_result(const unsigned char *at, const type_t *type, gex_OP_t op, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        value_t want = operand_of(type, op, 0, i);

        for (gex_Rank_t r = 1; r < job.size; r++)
            want = combine_values(type, op, want, operand_of(type, op, r, i));
        CHECK(memcmp(at + i * type->size, &want, type->size) == 0,
              "GEX_DT_%s, operation %#x: element %zu of %zu is not the serial result", type->name,
              (unsigned)op, i, count);
    }
    check_guard(at + count * type->size, "a reduction");
}

static void one_reduction(const type_t *type, gex_OP_t op, size_t count, gex_Rank_t root,
                          int in_place)
{
    const size_t bytes = count * type->size;
    unsigned char *dst = alloc_blocks(1, bytes), *src = in_place ? dst : alloc_blocks(1, bytes);

    fill_operands(src, type, op, count);
    gex_Event_Wait(root < job.size ? gex_Coll_ReduceToOneNB(job.tm, root, dst, src, type->dt,
                                                            type->size, count, op, NULL, NULL, 0)
                                   : gex_Coll_ReduceToAllNB(job.tm, dst, src, type->dt, type->size,
                                                            count, op, NULL, NULL, 0));
    if (root >= job.size || root == job.rank)
        check_result(dst, type, op, count);
    if (!in_place)
        free(src);
    free(dst);
}

/* A root of job.size stands for a reduction to all. */
static void test_operators(void)
{
    static const size_t counts[] = {1, 3, 1000};

    for (size_t t = 0; t < TYPES; t++)
        for (size_t o = 0; o < OPS; o++)
            for (size_t c = 0; is_legal(&types[t], ops[o]) && c < 3; c++)
                for (gex_Rank_t root = 0; root <= job.size; root += 1 + (root + 2 < job.size))
                    one_reduction(&types[t], ops[o], counts[c], root, (t + o + c + root) % 2 == 0);
}

static void test_reduce_sizes(void)
{
    for (size_t i = 0; i < SIZES; i++) {
        const size_t count = sizes[i] / 8 + 1;

        for (gex_Rank_t root = 0; root <= job.size; root++)
            one_reduction(&types[3], GEX_OP_ADD, count, root, root % 2 == 0);
        one_reduction(&types[4], GEX_OP_MAX, count, job.size, i % 2 == 0);
    }
}

/* Sums of reals depend on the order of additions; a repeated call must give the same bits. */
static void test_reproducible(void)
{
    enum { COUNT = 3000 };
    static double src[COUNT], first[COUNT], again[COUNT];
    uint64_t stream = conform_stream(83);

    for (size_t i = 0; i < COUNT; i++)
        src[i] = 1.0 / (double)(1 + conform_mix(job.rank, i, 5) % 1000);
    for (int round = 0; round < 20; round++) {
        double *dst = round ? again : first;

        nap_sometimes(&stream);
        gex_Event_Wait(gex_Coll_ReduceToAllNB(job.tm, dst, src, GEX_DT_DBL, 8, COUNT, GEX_OP_ADD,
                                              NULL, NULL, 0));
        CHECK(round == 0 || memcmp(first, again, sizeof(first)) == 0,
              "the same sum of reals has other bits in round %d", round);
    }
}

/* ---- the client's own operators ---- */

/* 2x2 matrices of determinant 1 modulo 2^32: their products do not commute. */
typedef struct {
    uint32_t a[4];
} matrix_t;

static const char token_cdata[] = "given to the operator";

static void multiply_matrices(const void *left, void *right, size_t count, const void *cdata)
{
    const matrix_t *l = left;
    matrix_t *r = right;

    CHECK(cdata == token_cdata, "the operator got %p as cdata", cdata);
    CHECK(count > 0, "the operator was called for no elements");
    for (size_t i = 0; i < count; i++) {
        const matrix_t x = l[i], y = r[i];

        r[i].a[0] = x.a[0] * y.a[0] + x.a[1] * y.a[2];
        r[i].a[1] = x.a[0] * y.a[1] + x.a[1] * y.a[3];
        r[i].a[2] = x.a[2] * y.a[0] + x.a[3] * y.a[2];
        r[i].a[3] = x.a[2] * y.a[1] + x.a[3] * y.a[3];
    }
}

static matrix_t matrix_of(gex_Rank_t rank, size_t i)
{
    const uint32_t p = (uint32_t)conform_mix(rank, i, 6), q = (uint32_t)conform_mix(rank, i, 7);

    return (matrix_t){{1 + p * q, p, q, 1}};
}

static void check_matrices(const matrix_t *got, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        matrix_t want = matrix_of(job.size - 1, i);

        for (gex_Rank_t r = job.size - 1; r > 0; r--) {
            const matrix_t left = matrix_of(r - 1, i);

            multiply_matrices(&left, &want, 1, token_cdata);
        }
        CHECK(memcmp(&got[i], &want, sizeof(want)) == 0,
              "matrix %zu of %zu is not the product in the order of the ranks", i, count);
    }
}

static void one_product(size_t count, gex_Rank_t root, int in_place)
{
    matrix_t *dst = conform_alloc(count * sizeof(*dst));
    matrix_t *src = in_place ? dst : conform_alloc(count * sizeof(*src));

    for (size_t i = 0; i < count; i++)
        src[i] = matrix_of(job.rank, i);
    gex_Event_Wait(root < job.size
                       ? gex_Coll_ReduceToOneNB(job.tm, root, dst, src, GEX_DT_USER, sizeof(*src),
                                                count, GEX_OP_USER_NC, multiply_matrices,
                                                (void *)(uintptr_t)token_cdata, 0)
                       : gex_Coll_ReduceToAllNB(job.tm, dst, src, GEX_DT_USER, sizeof(*src), count,
                                                GEX_OP_USER_NC, multiply_matrices,
                                                (void *)(uintptr_t)token_cdata, 0));
    if (root >= job.size || root == job.rank)
        check_matrices(dst, count);
    if (!in_place)
        free(src);
    free(dst);
}

static void test_in_order(void)
{
    static const size_t counts[] = {1, 7, 1500, 9000};

    for (size_t c = 0; c < 4; c++)
        for (gex_Rank_t root = 0; root <= job.size; root++)
            one_product(counts[c], root, (c + root) % 2 == 0);
}

/* An element that is larger than a message. The operator adds word by word. */
#define GIANT 25001
typedef struct {
    uint32_t word[GIANT];
} giant_t;

static void add_giants(const void *left, void *right, size_t count, const void *cdata)
{
    const giant_t *l = left;
    giant_t *r = right;

    (void)cdata;
    for (size_t i = 0; i < count; i++)
        for (size_t w = 0; w < GIANT; w++)
            r[i].word[w] += l[i].word[w];
}

static void check_giants(const giant_t *got, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t w = 0; w < GIANT; w++) {
            const uint32_t n = job.size,
                           want = n * (n - 1) / 2 * (uint32_t)(w + 1) + n * (uint32_t)i;

            CHECK(got[i].word[w] == want, "word %zu of large element %zu is %u, not %u", w, i,
                  (unsigned)got[i].word[w], (unsigned)want);
        }
}

static void test_giant(void)
{
    enum { COUNT = 3 };
    giant_t *src = conform_alloc(COUNT * sizeof(*src)), *dst = conform_alloc(COUNT * sizeof(*dst));

    for (size_t i = 0; i < COUNT; i++)
        for (size_t w = 0; w < GIANT; w++)
            src[i].word[w] = job.rank * (uint32_t)(w + 1) + (uint32_t)i;
    for (gex_Rank_t root = 0; root <= job.size; root++) {
        memset(dst, 0xff, COUNT * sizeof(*dst));
        if (root < job.size)
            gex_Event_Wait(gex_Coll_ReduceToOneNB(job.tm, root, dst, src, GEX_DT_USER, sizeof(*src),
                                                  COUNT, GEX_OP_USER, add_giants, NULL, 0));
        else
            gex_Event_Wait(gex_Coll_ReduceToAllNB(job.tm, dst, src, GEX_DT_USER, sizeof(*src),
                                                  COUNT, GEX_OP_USER, add_giants, NULL, 0));
        if (root >= job.size || root == job.rank)
            check_giants(dst, COUNT);
    }
    free(src);
    free(dst);
}

static void keep_larger(const void *left, void *right, size_t count, const void *cdata)
{
    const int64_t *l = left;
    int64_t *r = right;

    (void)cdata;
    for (size_t i = 0; i < count; i++)
        r[i] = l[i] > r[i] ? l[i] : r[i];
}

static void test_user_builtin(void)
{
    int64_t src[5], dst[5];

    for (int64_t i = 0; i < 5; i++)
        src[i] = ((int64_t)job.rank - 2) * (i - 2);
    gex_Event_Wait(gex_Coll_ReduceToAllNB(job.tm, dst, src, GEX_DT_I64, 8, 5, GEX_OP_USER,
                                          keep_larger, NULL, 0));
    for (int64_t i = 0; i < 5; i++) {
        const int64_t first = -2 * (i - 2), last = ((int64_t)job.size - 3) * (i - 2);
        const int64_t want = first > last ? first : last;

        CHECK(dst[i] == want, "element %d is %lld, not %lld", (int)i, (long long)dst[i],
              (long long)want);
    }
}

/* ---- many at once ---- */

typedef struct {
    uint64_t in, out;
    gex_Event_t event;
} word_t;

/* Some ranks initiate all operations before others initiate the first. */
static void test_many(void)
{
    static word_t words[MANY];
    gex_Event_t events[MANY];
    const uint64_t n = job.size;

    for (int round = 0; round < 6; round++) {
        if ((job.rank + (gex_Rank_t)round) % 3 == 0)
            conform_nap(2);
        for (uint64_t i = 0; i < MANY; i++) {
            word_t *w = &words[i];

            w->in = i * 1000 + job.rank;
            w->out = 0;
            if (round % 3 == 0)
                events[i] =
                    gex_Coll_BroadcastNB(job.tm, (gex_Rank_t)(i % n), &w->out, &w->in, 8, 0);
            else if (round % 3 == 1)
                events[i] = gex_Coll_ReduceToOneNB(job.tm, (gex_Rank_t)(i % n), &w->out, &w->in,
                                                   GEX_DT_U64, 8, 1, GEX_OP_ADD, NULL, NULL, 0);
            else
                events[i] = gex_Coll_ReduceToAllNB(job.tm, &w->out, &w->in, GEX_DT_U64, 8, 1,
                                                   GEX_OP_ADD, NULL, NULL, 0);
        }
        gex_Event_WaitAll(events, MANY, 0);
        for (uint64_t i = 0; i < MANY; i++) {
            const uint64_t sum = i * 1000 * n + n * (n - 1) / 2;
            const uint64_t want = round % 3 == 0                        ? i * 1000 + i % n
                                  : round % 3 == 2 || i % n == job.rank ? sum
                                                                        : 0;

            CHECK(words[i].out == want, "round %d, operation %d: the result is %llu, not %llu",
                  round, (int)i, (unsigned long long)words[i].out, (unsigned long long)want);
        }
    }
}

/* The root initiates many broadcasts while the other ranks are still asleep. */
static void test_run_ahead(void)
{
    enum { ROUNDS = 60, BYTES = 60000 };
    unsigned char *out = alloc_blocks(ROUNDS, BYTES);
    gex_Event_t events[ROUNDS];

    for (gex_Rank_t root = 0; root < job.size; root += 1 + job.size / 3) {
        if (job.rank != root)
            conform_nap(20);
        conform_fill(job.outbox, BYTES, root);
        for (int i = 0; i < ROUNDS; i++)
            events[i] = gex_Coll_BroadcastNB(job.tm, root, out + (size_t)i * (BYTES + 16),
                                             job.outbox, BYTES, 0);
        for (int i = ROUNDS; i > 0; i--)
            gex_Event_Wait(events[i - 1]);
        for (int i = 0; i < ROUNDS; i++)
            CHECK_FILL(out + (size_t)i * (BYTES + 16), BYTES, root, "one of many broadcasts");
    }
    free(out);
}

/* Operations of all kinds and sizes, and barriers, are pending together. */
static void test_mixed(void)
{
    enum { COUNT = 20000 };
    uint64_t *in = conform_alloc(COUNT * 8), *sum = conform_alloc(COUNT * 8),
             *all = conform_alloc(COUNT * 8);
    unsigned char *small = alloc_blocks(1, 64);
    uint64_t stream = conform_stream(82);
    const uint64_t n = job.size;

    for (uint64_t round = 0; round < 20; round++) {
        const gex_Rank_t root = (gex_Rank_t)(round % n);
        gex_Event_t events[5];

        for (uint64_t i = 0; i < COUNT; i++)
            in[i] = i * (job.rank + round);
        memset(sum, 0, COUNT * 8);
        conform_fill(job.outbox, 64, round);
        nap_sometimes(&stream);
        events[0] = gex_Coll_ReduceToOneNB(job.tm, root, sum, in, GEX_DT_U64, 8, COUNT, GEX_OP_ADD,
                                           NULL, NULL, 0);
        events[1] = gex_Coll_BroadcastNB(job.tm, root, small, job.outbox, 64, 0);
        events[2] = gex_Coll_BarrierNB(job.tm, 0);
        events[3] = gex_Coll_ReduceToAllNB(job.tm, all, in, GEX_DT_U64, 8, COUNT, GEX_OP_MAX, NULL,
                                           NULL, 0);
        events[4] = gex_Coll_BarrierNB(job.tm, 0);
        gex_Event_WaitAll(events, 5, 0);
        CHECK_FILL(small, 64, round, "the small broadcast");
        for (uint64_t i = 0; i < COUNT; i++) {
            const uint64_t total = job.rank == root ? i * (n * (n - 1) / 2 + n * round) : 0;

            CHECK(sum[i] == total && all[i] == i * (n - 1 + round),
                  "round %d, element %d: the sum is %llu, the maximum %llu", (int)round, (int)i,
                  (unsigned long long)sum[i], (unsigned long long)all[i]);
        }
    }
    free(in);
    free(sum);
    free(all);
    free(small);
}

/* Thousands of small operations in a row: sequence numbers and fences keep up. */
static void test_long(void)
{
    for (uint64_t i = 0; i < 8 * (uint64_t)MANY; i++) {
        uint64_t in = i + job.rank, out = 0;
        const gex_Rank_t root = (gex_Rank_t)(i % job.size);

        if (i % 2)
            gex_Event_Wait(gex_Coll_BroadcastNB(job.tm, root, &out, &in, 8, 0));
        else
            gex_Event_Wait(gex_Coll_ReduceToAllNB(job.tm, &out, &in, GEX_DT_U64, 8, 1, GEX_OP_MIN,
                                                  NULL, NULL, 0));
        CHECK(out == (i % 2 ? i + root : i), "operation %d gave %llu", (int)i,
              (unsigned long long)out);
    }
}

/* ---- other teams ---- */

static gex_TM_t split_team(gex_TM_t parent, int color, int key)
{
    gex_TM_t tm = GEX_TM_INVALID;

    gex_TM_Split(&tm, parent, color, key, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    CHECK(tm != GEX_TM_INVALID, "gex_TM_Split gave no team");
    return tm;
}

/* Sums up the job ranks of a team, for all its ranks and for the last one; broadcasts a word. */
static void use_team(gex_TM_t tm, uint64_t round)
{
    enum { COUNT = 3000 };
    static uint64_t in[COUNT], all[COUNT], one[COUNT];
    const gex_Rank_t size = gex_TM_QuerySize(tm), last = size - 1;
    uint64_t sum = 0, word = round * 100 + job.rank;
    gex_Event_t events[3];

    for (uint64_t i = 0; i < COUNT; i++)
        in[i] = i + job.rank + round;
    for (gex_Rank_t r = 0; r < size; r++)
        sum += gex_TM_TranslateRankToJobrank(tm, r) + round;
    events[0] =
        gex_Coll_ReduceToAllNB(tm, all, in, GEX_DT_U64, 8, COUNT, GEX_OP_ADD, NULL, NULL, 0);
    events[1] =
        gex_Coll_ReduceToOneNB(tm, last, one, in, GEX_DT_U64, 8, COUNT, GEX_OP_ADD, NULL, NULL, 0);
    events[2] = gex_Coll_BroadcastNB(tm, last, &word, &word, 8, 0);
    gex_Event_WaitAll(events, 3, 0);
    CHECK(word == round * 100 + gex_TM_TranslateRankToJobrank(tm, last), "the broadcast gave %llu",
          (unsigned long long)word);
    for (uint64_t i = 0; i < COUNT; i++)
        CHECK(all[i] == sum + i * size &&
                  (gex_TM_QueryRank(tm) != last || one[i] == sum + i * size),
              "element %d in a team of %u: the sums are %llu and %llu, not %llu", (int)i,
              (unsigned)size, (unsigned long long)all[i], (unsigned long long)one[i],
              (unsigned long long)(sum + i * size));
}

/* Some members of a new team call its collectives while others still create it. */
static void test_teams(void)
{
    for (uint64_t round = 0; round < 12; round++) {
        gex_TM_t half = split_team(job.tm, (int)((job.rank + round) % 2), (int)job.rank);
        gex_TM_t turned = split_team(job.tm, 0, -(int)job.rank);

        if ((job.rank + round) % 4 == 0)
            conform_nap(1);
        use_team(half, round);
        use_team(turned, round);
        gex_Event_Wait(gex_Coll_BarrierNB(half, 0));
        gex_TM_Destroy(turned, NULL, 0);
        gex_TM_Destroy(half, NULL, 0);
    }
}

/* Operations of several teams are pending together; all ranks wait for them in reverse order. */
static void test_teams_together(void)
{
    enum { TEAMS = 5, EACH = 20 };
    gex_TM_t tm[TEAMS];
    static uint64_t out[TEAMS][EACH];
    uint64_t in = job.rank;
    gex_Event_t events[EACH][TEAMS];

    for (int t = 0; t < TEAMS; t++)
        tm[t] = split_team(job.tm, 0, t % 2 ? (int)job.rank : -(int)job.rank);
    for (int i = 0; i < EACH; i++)
        for (int t = 0; t < TEAMS; t++)
            events[i][t] = i % 3 ? gex_Coll_ReduceToAllNB(tm[t], &out[t][i], &in, GEX_DT_U64, 8, 1,
                                                          GEX_OP_MAX, NULL, NULL, 0)
                                 : gex_Coll_BarrierNB(tm[t], 0);
    for (int t = TEAMS; t > 0; t--)
        for (int i = EACH; i > 0; i--)
            gex_Event_Wait(events[i - 1][t - 1]);
    for (int t = 0; t < TEAMS; t++) {
        for (int i = 0; i < EACH; i++)
            CHECK(!(i % 3) || out[t][i] == job.size - 1, "team %d, operation %d gave %llu", t, i,
                  (unsigned long long)out[t][i]);
        gex_TM_Destroy(tm[t], NULL, 0);
    }
}

/* More teams exist than shared memory has room for: the remaining ones work without it. */
static void test_teams_many(void)
{
    enum { TEAMS = 150 };
    gex_TM_t tm[TEAMS];

    for (int t = 0; t < TEAMS; t++)
        tm[t] = split_team(job.tm, t % 2 ? (int)(job.rank % 2) : 0, t % 3);
    for (int round = 0; round < 3; round++)
        for (int t = 0; t < TEAMS; t++)
            gex_Event_Wait(gex_Coll_BarrierNB(tm[t], 0));
    use_team(tm[TEAMS - 1], 7);
    for (int t = TEAMS; t > 0; t--)
        gex_TM_Destroy(tm[t - 1], NULL, 0);
    tm[0] = split_team(job.tm, 0, 0);
    gex_Event_Wait(gex_Coll_BarrierNB(tm[0], 0));
    gex_TM_Destroy(tm[0], NULL, 0);
}

const conform_test_t conform_coll_tests[] = {
    {"coll_broadcast", test_broadcast, "each root, sizes from 0 to more than 1 MiB, in place"},
    {"coll_segment", test_broadcast_segment, "a broadcast between segments"},
    {"coll_operators", test_operators, "each type and operation against a serial computation"},
    {"coll_sizes", test_reduce_sizes, "reductions of all sizes, to each root and to all"},
    {"coll_same", test_reproducible, "the same call gives the same bits"},
    {"coll_order", test_in_order, "an operator that does not commute keeps the order of ranks"},
    {"coll_giant", test_giant, "elements larger than a message"},
    {"coll_user", test_user_builtin, "the client's operator on a built-in type"},
    {"coll_many", test_many, "hundreds at once, with late ranks"},
    {"coll_ahead", test_run_ahead, "a root far ahead of the others"},
    {"coll_mixed", test_mixed, "operations of all kinds and barriers pending together"},
    {"coll_teams", test_teams,
     "teams are created, used and destroyed by ranks that are not in step"},
    {"coll_together", test_teams_together, "operations of several teams pending together"},
    {"coll_teams_many", test_teams_many, "more teams than room in shared memory"},
    {"coll_long", test_long, "thousands in a row"},
    {NULL, NULL, NULL}};
