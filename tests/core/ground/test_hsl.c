// SPDX-License-Identifier: BSD-3-Clause
// Handler-safe locks, held and free, in each thread mode.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <pthread.h>
#include <sched.h>

#include "../../../core/gasnetex_core.h"
#include "../../../core/thread/thread.h"

enum { THREADS = 4, TURNS = 20000 };

static gex_HSL_t from_start = GEX_HSL_INITIALIZER;

static void lock_try_unlock(gex_HSL_t *hsl)
{
    for (unsigned i = 0; i < 3; i++) {
        gex_HSL_Lock(hsl);
        assert_int_equal(gex_HSL_Trylock(hsl), GASNET_ERR_NOT_READY);
        gex_HSL_Unlock(hsl);
        assert_int_equal(gex_HSL_Trylock(hsl), GASNET_OK);
        assert_int_equal(gex_HSL_Trylock(hsl), GASNET_ERR_NOT_READY);
        gex_HSL_Unlock(hsl);
    }
    assert_int_equal(aq_thread_held_locks, 0);
}

static void use_in_mode(const char *mode)
{
    gex_HSL_t made, other;
    assert_true(aq_thread_mode(mode));
    gex_HSL_Init(&made);
    gex_HSL_Init(&other);
    lock_try_unlock(&from_start);
    lock_try_unlock(&made);
    gex_HSL_Lock(&made); // locks are independent of each other
    assert_int_equal(gex_HSL_Trylock(&other), GASNET_OK);
    gex_HSL_Unlock(&made);
    assert_int_equal(gex_HSL_Trylock(&other), GASNET_ERR_NOT_READY);
    gex_HSL_Unlock(&other);
    gex_HSL_Destroy(&made);
    gex_HSL_Destroy(&other);
}

static void test_modes(void **state)
{
    (void)state;
    use_in_mode("seq");
    use_in_mode("parsync");
    use_in_mode("par");
}

static void *try_once(void *hsl)
{
    if (gex_HSL_Trylock(hsl) != GASNET_OK)
        return NULL;
    gex_HSL_Unlock(hsl);
    return hsl;
}

static void *try_in_thread(gex_HSL_t *hsl)
{
    pthread_t thread;
    void *got;
    assert_int_equal(pthread_create(&thread, NULL, try_once, hsl), 0);
    pthread_join(thread, &got);
    return got;
}

static void test_other_thread(void **state)
{
    (void)state;
    gex_HSL_t hsl;
    assert_true(aq_thread_mode("par"));
    gex_HSL_Init(&hsl);
    gex_HSL_Lock(&hsl);
    assert_null(try_in_thread(&hsl));
    gex_HSL_Unlock(&hsl);
    assert_non_null(try_in_thread(&hsl));
    assert_int_equal(gex_HSL_Trylock(&hsl), GASNET_OK);
    assert_null(try_in_thread(&hsl));
    gex_HSL_Unlock(&hsl);
    gex_HSL_Destroy(&hsl);
}

static volatile unsigned long sum; // protected by the lock

// Reads and writes `sum`, at times with a yield in between, so that a thread that enters meanwhile
// makes the sum wrong.
static void add_one(unsigned turn)
{
    unsigned long seen = sum;
    if (turn % 256 == 0)
        sched_yield();
    sum = seen + 1;
}

static void *add_many(void *hsl)
{
    for (unsigned i = 0; i < TURNS; i++) {
        if (i % 2 || gex_HSL_Trylock(hsl) != GASNET_OK)
            gex_HSL_Lock(hsl);
        add_one(i);
        gex_HSL_Unlock(hsl);
    }
    return NULL;
}

static void test_exclusion(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    assert_true(aq_thread_mode("par"));
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &from_start), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(sum, (unsigned long)THREADS * TURNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_other_thread),
        cmocka_unit_test(test_exclusion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
