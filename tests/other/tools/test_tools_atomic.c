// SPDX-License-Identifier: BSD-3-Clause
// Atomic operations of the tools: results, wrap-around, other types of the same size, and four
// threads on the same words. Covers the plain and the strong operations, compiled with threads.
#include "../../unit/unit_test.h"

#include <pthread.h>

#include "../../../other/tools/gasnet_tools.h"

enum { THREADS = 4, TURNS = 20000 };

static const int all_flags[] = {GASNETT_ATOMIC_NONE,        GASNETT_ATOMIC_RMB_PRE,
                                GASNETT_ATOMIC_WMB_PRE,     GASNETT_ATOMIC_MB_PRE,
                                GASNETT_ATOMIC_RMB_POST,    GASNETT_ATOMIC_WMB_POST,
                                GASNETT_ATOMIC_MB_POST,     GASNETT_ATOMIC_ACQ | GASNETT_ATOMIC_REL,
                                GASNETT_ATOMIC_ACQ_IF_TRUE, GASNETT_ATOMIC_ACQ_IF_FALSE};

// Defines a function that tries all operations of a family, in an order in which each result
// depends on the one before. This is a macro because the families differ only in their names.
#define TRY_FAMILY(name, value)                                                                    \
    static void try_##name(int flags)                                                              \
    {                                                                                              \
        name##_t word = name##_init(7);                                                            \
        const value max = (value) ~(value)0;                                                       \
        assert_true(name##_read(&word, flags) == 7);                                               \
        name##_increment(&word, flags);                                                            \
        assert_true(name##_add(&word, 4, flags) == 12);                                            \
        assert_true(name##_subtract(&word, 2, flags) == 10);                                       \
        name##_decrement(&word, flags);                                                            \
        assert_true(name##_swap(&word, 2, flags) == 9);                                            \
        assert_false(name##_decrement_and_test(&word, flags));                                     \
        assert_true(name##_decrement_and_test(&word, flags));                                      \
        assert_false(name##_compare_and_swap(&word, 1, 5, flags));                                 \
        assert_true(name##_read(&word, flags) == 0);                                               \
        assert_true(name##_compare_and_swap(&word, 0, max, flags));                                \
        assert_true(name##_read(&word, flags) == max);                                             \
        name##_increment(&word, flags);                                                            \
        assert_true(name##_read(&word, flags) == 0);                                               \
        assert_true(name##_subtract(&word, 1, flags) == max);                                      \
        name##_set(&word, 3, flags);                                                               \
        assert_true(name##_read(&word, flags) == 3);                                               \
    }

TRY_FAMILY(gasnett_atomic, gasnett_atomic_val_t)
TRY_FAMILY(gasnett_atomic32, uint32_t)
TRY_FAMILY(gasnett_atomic64, uint64_t)
TRY_FAMILY(gasnett_strongatomic, gasnett_strongatomic_val_t)
TRY_FAMILY(gasnett_strongatomic32, uint32_t)
TRY_FAMILY(gasnett_strongatomic64, uint64_t)

static void test_results(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all_flags / sizeof all_flags[0]; i++) {
        try_gasnett_atomic(all_flags[i]);
        try_gasnett_atomic32(all_flags[i]);
        try_gasnett_atomic64(all_flags[i]);
        try_gasnett_strongatomic(all_flags[i]);
        try_gasnett_strongatomic32(all_flags[i]);
        try_gasnett_strongatomic64(all_flags[i]);
    }
}

static void test_range(void **state)
{
    (void)state;
    gasnett_atomic_t word = gasnett_atomic_init(GASNETT_ATOMIC_SIGNED_MIN);
    assert_true(gasnett_atomic_signed(gasnett_atomic_read(&word, 0)) == GASNETT_ATOMIC_SIGNED_MIN);
    gasnett_atomic_decrement(&word, 0);
    assert_true(gasnett_atomic_signed(gasnett_atomic_read(&word, 0)) == GASNETT_ATOMIC_SIGNED_MAX);
    gasnett_atomic_set(&word, GASNETT_ATOMIC_MAX, 0);
    assert_true(gasnett_atomic_signed(gasnett_atomic_read(&word, 0)) == -1);
    assert_int_equal(sizeof(gasnett_atomic32_t), 4);
    assert_int_equal(sizeof(gasnett_atomic64_t), 8);
}

// The specification lets clients use a double, or an integer, through these types.
static void test_other_scalars(void **state)
{
    (void)state;
    double real = 0;
    int32_t whole = -1;
    gasnett_atomic64_set((gasnett_atomic64_t *)(void *)&real, UINT64_C(0x3ff0000000000000), 0);
    assert_true(real == 1.0);
    gasnett_atomic32_increment((gasnett_atomic32_t *)(void *)&whole, 0);
    assert_int_equal(whole, 0);
}

static struct {
    gasnett_atomic_t sum;
    gasnett_atomic32_t wins;
    gasnett_atomic64_t swapped;
    gasnett_strongatomic_t down;
    gasnett_atomic_t locked;
    unsigned long guarded; // protected by `locked`
    gasnett_atomic64_t last_ones;
} contended = {gasnett_atomic_init(0),   gasnett_atomic32_init(0),
               gasnett_atomic64_init(0), gasnett_atomic_init(THREADS *TURNS),
               gasnett_atomic_init(0),   0,
               gasnett_atomic64_init(0)};

static void add_guarded(void)
{
    while (!gasnett_atomic_compare_and_swap(&contended.locked, 0, 1, GASNETT_ATOMIC_ACQ_IF_TRUE)) {
        gasnett_spinloop_hint();
        gasnett_sched_yield();
    }
    contended.guarded++;
    gasnett_atomic_set(&contended.locked, 0, GASNETT_ATOMIC_REL);
}

static void *run_all_contended(void *unused)
{
    uint64_t taken = 0;
    (void)unused;
    for (uint32_t i = 0; i < TURNS; i++) {
        gasnett_atomic_add(&contended.sum, 3, 0);
        gasnett_atomic_subtract(&contended.sum, 2, 0);
        uint32_t seen = gasnett_atomic32_read(&contended.wins, 0);
        while (!gasnett_atomic32_compare_and_swap(&contended.wins, seen, seen + 1, 0))
            seen = gasnett_atomic32_read(&contended.wins, 0);
        taken += gasnett_atomic64_swap(&contended.swapped, 1, 0);
        if (gasnett_strongatomic_decrement_and_test(&contended.down, 0))
            gasnett_atomic64_increment(&contended.last_ones, 0);
        add_guarded();
    }
    return (void *)(uintptr_t)taken;
}

static void test_contended(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    uint64_t taken = 0;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_all_contended, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        void *part;
        assert_int_equal(pthread_join(threads[i], &part), 0);
        taken += (uintptr_t)part;
    }
    assert_int_equal(gasnett_atomic_read(&contended.sum, 0), THREADS * TURNS);
    assert_int_equal(gasnett_atomic32_read(&contended.wins, 0), THREADS * TURNS);
    // The first swap got 0, and each later one got the 1 of another swap.
    assert_int_equal(taken, THREADS * TURNS - 1);
    assert_int_equal(gasnett_atomic64_read(&contended.last_ones, 0), 1);
    assert_int_equal(contended.guarded, THREADS * TURNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_other_scalars),
        cmocka_unit_test(test_contended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
