// SPDX-License-Identifier: BSD-3-Clause
// Remote atomics: results of each operation on each type, and which operations are legal.
#include <string.h>

#include "../../unit/unit_test.h"

#include "../../../core/state/job.h"
#include "../../../core/endpoint/team.h"
#include "../../../extended/ratomic/ratomic_eval.h"
#include "../../../extended/ratomic/ratomic_check.h"
#include "../../../extended/ratomic/ratomic_native.h"

static const gex_DT_t types[] = {GEX_DT_I32, GEX_DT_U32, GEX_DT_I64,
                                 GEX_DT_U64, GEX_DT_FLT, GEX_DT_DBL};
enum { TYPES = sizeof types / sizeof types[0] };

static uint64_t from_float(float value)
{
    return aq_api_bits(&value, sizeof value);
}

static uint64_t from_double(double value)
{
    return aq_api_bits(&value, sizeof value);
}

typedef struct example {
    gex_DT_t dt;
    gex_OP_t op; // the non-fetching form
    uint64_t old, a, b, made;
} example_t;

#define M1_32 UINT64_C(0xffffffff) // -1 of 32 bits
#define MIN_32 UINT64_C(0x80000000)
#define M1_64 UINT64_MAX
#define MIN_64 (UINT64_C(1) << 63)

static const example_t integers[] = {
    {GEX_DT_I32, GEX_OP_ADD, M1_32, 3, 0, 2},
    {GEX_DT_U32, GEX_OP_ADD, M1_32, 1, 0, 0},
    {GEX_DT_I64, GEX_OP_ADD, M1_32, 1, 0, M1_32 + 1},
    {GEX_DT_U64, GEX_OP_ADD, M1_64, 2, 0, 1},
    {GEX_DT_I32, GEX_OP_SUB, 0, 1, 0, M1_32},
    {GEX_DT_U64, GEX_OP_SUB, 0, 1, 0, M1_64},
    {GEX_DT_U32, GEX_OP_INC, M1_32, 9, 9, 0},
    {GEX_DT_I64, GEX_OP_INC, M1_64, 9, 9, 0},
    {GEX_DT_I32, GEX_OP_DEC, 0, 9, 9, M1_32},
    {GEX_DT_U64, GEX_OP_DEC, 0, 9, 9, M1_64},
    {GEX_DT_I32, GEX_OP_MULT, M1_32, 7, 0, M1_32 - 6},
    {GEX_DT_U32, GEX_OP_MULT, 0x10001, 0x10001, 0, 0x20001},
    {GEX_DT_I64, GEX_OP_MULT, M1_64, 7, 0, M1_64 - 6},
    {GEX_DT_U64, GEX_OP_MULT, M1_32, M1_32, 0, UINT64_C(0xfffffffe00000001)},
    {GEX_DT_I32, GEX_OP_MIN, M1_32, 5, 0, M1_32},
    {GEX_DT_U32, GEX_OP_MIN, M1_32, 5, 0, 5},
    {GEX_DT_I64, GEX_OP_MIN, M1_64, 5, 0, M1_64},
    {GEX_DT_U64, GEX_OP_MIN, M1_64, 5, 0, 5},
    {GEX_DT_I64, GEX_OP_MIN, M1_32, 5, 0, 5},
    {GEX_DT_I32, GEX_OP_MAX, MIN_32, 5, 0, 5},
    {GEX_DT_U32, GEX_OP_MAX, MIN_32, 5, 0, MIN_32},
    {GEX_DT_I64, GEX_OP_MAX, MIN_64, 5, 0, 5},
    {GEX_DT_U64, GEX_OP_MAX, MIN_64, 5, 0, MIN_64},
    {GEX_DT_U32, GEX_OP_AND, 12, 10, 0, 8},
    {GEX_DT_I64, GEX_OP_AND, M1_64, MIN_64, 0, MIN_64},
    {GEX_DT_U32, GEX_OP_OR, 12, 10, 0, 14},
    {GEX_DT_I64, GEX_OP_OR, 1, MIN_64, 0, MIN_64 + 1},
    {GEX_DT_U32, GEX_OP_XOR, 12, 10, 0, 6},
    {GEX_DT_I64, GEX_OP_XOR, M1_64, 1, 0, M1_64 - 1},
    {GEX_DT_I32, GEX_OP_SET, 1, M1_32, 0, M1_32},
    {GEX_DT_U64, GEX_OP_SET, 1, M1_64, 0, M1_64},
    {GEX_DT_I32, GEX_OP_CAS, M1_32, M1_32, 4, 4},
    {GEX_DT_I32, GEX_OP_CAS, M1_32, 1, 4, M1_32},
    {GEX_DT_U64, GEX_OP_CAS, MIN_64, MIN_64, 4, 4},
    {GEX_DT_U64, GEX_OP_CAS, MIN_64, 0, 4, MIN_64},
};

// Applies an operation to a value between two guard words; returns the new value.
static uint64_t apply_between_guards(const example_t *e, gex_OP_t op, gex_Flags_t flags,
                                     uint64_t *fetched)
{
    uint64_t room[3] = {0x1111111111111111, 0x1111111111111111, 0x1111111111111111};
    const size_t bytes = aq_ratomic_bytes(e->dt);
    aq_api_put_bits(&room[1], e->old, bytes);
    *fetched = aq_ratomic_apply(&room[1], e->dt, op, e->a, e->b, flags);
    uint64_t made = aq_api_bits(&room[1], bytes);
    aq_api_put_bits(&room[1], UINT64_C(0x1111111111111111), bytes);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(room[i], 0x1111111111111111);
    return made;
}

static void check_example(const example_t *e)
{
    static const gex_Flags_t orders[] = {0, GEX_FLAG_AD_ACQ, GEX_FLAG_AD_REL,
                                         GEX_FLAG_AD_ACQ | GEX_FLAG_AD_REL};
    for (unsigned i = 0; i < 4; i++) {
        uint64_t old;
        assert_int_equal(apply_between_guards(e, e->op, orders[i], &old), e->made);
        assert_int_equal(apply_between_guards(e, GEX_OP_TO_FETCHING(e->op), orders[i], &old),
                         e->made);
        assert_int_equal(old, e->old);
        assert_int_equal(apply_between_guards(e, GEX_OP_GET, orders[i], &old), e->old);
        assert_int_equal(old, e->old);
    }
}

static void test_integers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++)
        check_example(&integers[i]);
    // A result of 32 bits has no bits above them.
    assert_int_equal(aq_ratomic_eval(GEX_DT_U32, GEX_OP_MULT, 0x10001, 0x10001), 0x20001);
}

// Checks the operation on a float and on a double.
static void check_reals(gex_OP_t op, double old, double a, float narrow, double wide)
{
    const example_t f = {GEX_DT_FLT,           op, from_float((float)old),
                         from_float((float)a), 0,  from_float(narrow)};
    const example_t d = {GEX_DT_DBL, op, from_double(old), from_double(a), 0, from_double(wide)};
    check_example(&f);
    check_example(&d);
}

static void test_reals(void **state)
{
    (void)state;
    check_reals(GEX_OP_ADD, 1.5, 2.25, 3.75f, 3.75);
    check_reals(GEX_OP_ADD, 0.1, 0.2, 0.1f + 0.2f, 0.1 + 0.2);
    check_reals(GEX_OP_ADD, 16777216, 1, 16777216, 16777217);
    check_reals(GEX_OP_SUB, 1.5, 2.25, -0.75f, -0.75);
    check_reals(GEX_OP_MULT, 0.1, 0.2, 0.1f * 0.2f, 0.1 * 0.2);
    check_reals(GEX_OP_MULT, -3, 0.5, -1.5f, -1.5);
    check_reals(GEX_OP_INC, -0.5, 9, 0.5f, 0.5);
    check_reals(GEX_OP_DEC, -0.5, 9, -1.5f, -1.5);
    check_reals(GEX_OP_MIN, -2, 1, -2, -2);
    check_reals(GEX_OP_MIN, 1, -2, -2, -2);
    check_reals(GEX_OP_MAX, -2, 1, 1, 1);
    check_reals(GEX_OP_MAX, 1, -2, 1, 1);
    check_reals(GEX_OP_SET, 1, -2, -2, -2);
}

// Compare-and-swap compares bits: the two zeros differ, and a NaN equals itself.
static void test_real_cas(void **state)
{
    (void)state;
    const uint64_t nan = from_double(__builtin_nan("")), zero = from_double(0);
    const example_t same = {GEX_DT_DBL, GEX_OP_CAS, nan, nan, zero, zero};
    const example_t zeros = {GEX_DT_DBL, GEX_OP_CAS, zero, from_double(-0.0), nan, zero};
    const example_t narrow = {GEX_DT_FLT,       GEX_OP_CAS,       from_float(1.5f),
                              from_float(1.5f), from_float(-7.f), from_float(-7.f)};
    check_example(&same);
    check_example(&zeros);
    check_example(&narrow);
}

// A result of type float is rounded once, as if it were computed in float.
static void test_float_rounding(void **state)
{
    (void)state;
    uint64_t x = 1;
    for (unsigned i = 0; i < 20000; i++) {
        float a, b;
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        aq_api_put_bits(&a, (x >> 33 & 0x007fffff) | (100 + x % 50) << 23, 4);
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        aq_api_put_bits(&b, (x >> 33 & 0x807fffff) | (100 + x % 50) << 23, 4);
        volatile float sum = a + b, product = a * b;
        assert_int_equal(aq_ratomic_eval(GEX_DT_FLT, GEX_OP_ADD, from_float(a), from_float(b)),
                         from_float(sum));
        assert_int_equal(aq_ratomic_eval(GEX_DT_FLT, GEX_OP_MULT, from_float(a), from_float(b)),
                         from_float(product));
    }
}

// ---- legality ----

static const gex_OP_t bitwise_ops =
    GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR | GEX_OP_FAND | GEX_OP_FOR | GEX_OP_FXOR;
#define PLAIN ((gex_OP_t)GEX_OP_CAS * 2 - 1) // all non-fetching operations
static const gex_OP_t all_ops = PLAIN | GEX_OP_TO_FETCHING(PLAIN) | GEX_OP_GET;

static void test_legal(void **state)
{
    (void)state;
    for (unsigned t = 0; t < TYPES; t++)
        assert_int_equal(aq_ratomic_ops_of(types[t]), t < 4 ? all_ops : all_ops & ~bitwise_ops);
    assert_int_equal(aq_ratomic_ops_of(0), 0);
    assert_int_equal(aq_ratomic_ops_of(GEX_DT_USER), 0);
    assert_int_equal(aq_ratomic_ops_of(GEX_DT_I32 | GEX_DT_U32), 0);
}

// Which operations the public header treats as fetching, and which as direct.
static void test_operation_classes(void **state)
{
    (void)state;
    const gex_OP_t loops = GEX_OP_MULT | GEX_OP_MIN | GEX_OP_MAX;
    for (unsigned i = 0; i < 32; i++) {
        const gex_OP_t op = UINT32_C(1) << i;
        if (!(op & all_ops))
            continue;
        assert_int_equal((op & AQ_API_OP_FETCHING) != 0, op > PLAIN);
        assert_int_equal(aq_api_atomic_is_direct(GEX_DT_U32, op),
                         !(op & (loops | GEX_OP_TO_FETCHING(loops))));
        assert_int_equal(
            aq_api_atomic_is_direct(GEX_DT_DBL, op),
            (op & (GEX_OP_SET | GEX_OP_SWAP | GEX_OP_GET | GEX_OP_CAS | GEX_OP_FCAS)) != 0);
    }
}

// ---- operations that a conduit may execute natively ----

static const struct {
    gex_DT_t dt;
    gex_OP_t op;
    uint64_t a, b;
    bool swap;
    uint64_t operand1, operand2;
} native_examples[] = {
    {GEX_DT_I64, GEX_OP_ADD, 7, 9, false, 7, 0},
    {GEX_DT_U64, GEX_OP_FADD, 7, 9, false, 7, 0},
    {GEX_DT_U64, GEX_OP_SUB, 7, 9, false, M1_64 - 6, 0},
    {GEX_DT_I64, GEX_OP_FSUB, M1_64, 9, false, 1, 0},
    {GEX_DT_I64, GEX_OP_INC, 7, 9, false, 1, 0},
    {GEX_DT_U64, GEX_OP_FINC, 7, 9, false, 1, 0},
    {GEX_DT_U64, GEX_OP_DEC, 7, 9, false, M1_64, 0},
    {GEX_DT_I64, GEX_OP_FDEC, 7, 9, false, M1_64, 0},
    {GEX_DT_I64, GEX_OP_GET, 7, 9, false, 0, 0},
    {GEX_DT_DBL, GEX_OP_GET, 7, 9, false, 0, 0},
    {GEX_DT_I64, GEX_OP_CAS, 7, 9, true, 7, 9},
    {GEX_DT_DBL, GEX_OP_FCAS, 7, 9, true, 7, 9},
};

static void test_native(void **state)
{
    (void)state;
    uint64_t here, there;
    aq_atomic_t out;
    for (size_t i = 0; i < sizeof native_examples / sizeof native_examples[0]; i++) {
        aq_api_atomic_t atomic = {native_examples[i].a,  native_examples[i].b,  &here, &there, 0,
                                  native_examples[i].dt, native_examples[i].op, 0};
        assert_true(aq_ratomic_translate(&atomic, native_examples[i].op, &out));
        assert_int_equal(out.kind, native_examples[i].swap ? AQ_ATOMIC_CAS : AQ_ATOMIC_ADD);
        assert_ptr_equal(out.dest, &there);
        assert_ptr_equal(out.result, native_examples[i].op & AQ_API_OP_FETCHING ? &here : NULL);
        assert_int_equal(out.operand1, native_examples[i].operand1);
        assert_int_equal(out.operand2, native_examples[i].operand2);
        assert_true(out.exclusive_ops);
        assert_true(aq_ratomic_translate(&atomic, native_examples[i].op | GEX_OP_SET, &out));
        assert_false(out.exclusive_ops);
        atomic.dt = native_examples[i].dt == GEX_DT_DBL ? GEX_DT_FLT : GEX_DT_I32;
        assert_false(aq_ratomic_translate(&atomic, native_examples[i].op, &out));
    }
    for (gex_OP_t op = 1; op; op <<= 1) {
        const aq_api_atomic_t atomic = {1, 2, &here, &there, 0, GEX_DT_DBL, op, 0};
        assert_int_equal(aq_ratomic_translate(&atomic, op, &out),
                         (op & (GEX_OP_CAS | GEX_OP_FCAS | GEX_OP_GET)) != 0);
    }
}

// ---- which process a rank refers to ----

static int64_t segments[3][2];

// Three ranks. The segment of rank r is segments[r]; in the address space of rank r it lies 4096 *
// r bytes higher.
static int start_job(void **state)
{
    (void)state;
    static intptr_t shift[3];
    static uintptr_t addr[3], size[3];
    aq_job.size = 3;
    aq_job.shift = shift;
    aq_job.segment_addr = addr;
    aq_job.segment_size = size;
    for (unsigned r = 0; r < 3; r++) {
        shift[r] = -(intptr_t)(4096 * r);
        addr[r] = (uintptr_t)segments[r] + 4096 * r;
        size[r] = sizeof segments[r];
    }
    return 0;
}

static void add_to(gex_AD_t ad, gex_Rank_t rank, unsigned owner, int64_t n, gex_Flags_t flags)
{
    volatile gex_OP_t any = GEX_OP_ADD;
    void *at = (void *)aq_job.segment_addr[owner];
    assert_ptr_equal(gex_AD_OpNB_I64(ad, NULL, rank, at, GEX_OP_ADD, n, 0, flags),
                     GEX_EVENT_INVALID);
    assert_int_equal(gex_AD_OpNBI_I64(ad, NULL, rank, at, any, n, 0, flags), 0);
}

static void test_targets(void **state)
{
    (void)state;
    const gex_Rank_t members[] = {2, 0};
    gex_AD_t ad;
    aq_team_t *team = aq_team_new(&aq_endpoint, 1, &(aq_team_members_t){1, 2, members, NULL}, 0);
    assert_non_null(team);
    gex_AD_Create(&ad, &team->head, GEX_DT_I64, GEX_OP_ADD, 0);
    assert_ptr_equal(gex_AD_QueryTM(ad), &team->head);
    add_to(ad, 0, 2, 1, 0);
    add_to(ad, 1, 0, 10, 0);
    add_to(ad, 2, 2, 100, GEX_FLAG_RANK_IS_JOBRANK);
    add_to(ad, 0, 0, 1000, GEX_FLAG_RANK_IS_JOBRANK);
    assert_int_equal(segments[2][0], 202);
    assert_int_equal(segments[0][0], 2020);
    assert_int_equal(segments[0][1] | segments[1][0] | segments[1][1] | segments[2][1], 0);
    gex_AD_Destroy(ad);
    aq_team_free(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers), cmocka_unit_test(test_reals),
        cmocka_unit_test(test_real_cas), cmocka_unit_test(test_float_rounding),
        cmocka_unit_test(test_legal),    cmocka_unit_test(test_operation_classes),
        cmocka_unit_test(test_native),   cmocka_unit_test(test_targets),
    };
    return cmocka_run_group_tests(tests, start_job, NULL);
}
