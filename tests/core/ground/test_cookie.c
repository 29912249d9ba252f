// SPDX-License-Identifier: BSD-3-Clause
// Cookies: each cookie finds its own operation, once, and only for the operation's peer, whatever
// else is in the table. No other number finds an operation. The same holds for the operations that
// wait for the answers of peers, which each thread keeps in a table of its own.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../../core/am/am.h"
#include "../../../core/ground/cookie.h"
#include "../../../core/ground/lock.h"
#include "../../../extended/rma/pending.h"

enum { MANY = 1000, PEERS = 5, STEPS = 200000, GUESSES = 100000 };

static aq_cookies_t table;

static int stop_table(void **state)
{
    (void)state;
    aq_cookies_stop(&table);
    return 0;
}

// Makes an operation that differs from those of all other numbers.
static aq_pending_op_t op_of(size_t number)
{
    return (aq_pending_op_t){.context = (void *)(number * 3 + 1),
                             .dest = (void *)(number * 5 + 2),
                             .nbytes = number,
                             .extra = ~(uint64_t)number,
                             .rank = (uint32_t)(number % PEERS)};
}

static aq_cookie_t add_op(size_t number)
{
    const aq_pending_op_t op = op_of(number);
    aq_cookie_t cookie = aq_cookies_add(&table, &op);
    assert_true(cookie != 0);
    return cookie;
}

static void assert_op(const aq_pending_op_t *op, size_t number)
{
    const aq_pending_op_t want = op_of(number);
    assert_non_null(op);
    assert_ptr_equal(op->context, want.context);
    assert_ptr_equal(op->dest, want.dest);
    assert_true(op->nbytes == want.nbytes && op->extra == want.extra);
    assert_int_equal(op->rank, want.rank);
}

static void take_op(aq_cookie_t cookie, size_t number)
{
    aq_pending_op_t op;
    assert_true(aq_cookies_take(&table, cookie, (uint32_t)(number % PEERS), &op));
    assert_op(&op, number);
}

static void assert_absent(aq_cookie_t cookie, uint32_t rank)
{
    aq_pending_op_t op = op_of(7);
    assert_null(aq_cookies_find(&table, cookie, rank));
    assert_false(aq_cookies_take(&table, cookie, rank, &op));
    assert_op(&op, 7);
}

static void test_empty(void **state)
{
    (void)state;
    assert_absent(0, 0);
    assert_absent((aq_cookie_t)1 << 32, 0);
    assert_absent(UINT64_MAX, UINT32_MAX);
    aq_cookies_stop(&table);
}

static void test_one(void **state)
{
    (void)state;
    aq_cookie_t cookie = add_op(3);
    assert_op(aq_cookies_find(&table, cookie, 3), 3);
    assert_op(aq_cookies_find(&table, cookie, 3), 3);
    take_op(cookie, 3);
    assert_absent(cookie, 3);
}

// A cookie is invalid for any peer but its own.
static void test_other_peer(void **state)
{
    (void)state;
    aq_cookie_t cookie = add_op(3);
    for (uint32_t rank = 0; rank < PEERS; rank++)
        if (rank != 3)
            assert_absent(cookie, rank);
    assert_absent(cookie, UINT32_MAX);
    take_op(cookie, 3);
}

// When a slot is reused, neither the previous cookie of the slot nor its next one is valid.
static void test_generations(void **state)
{
    (void)state;
    aq_cookie_t first = add_op(3);
    take_op(first, 3);
    aq_cookie_t second = add_op(8);
    assert_int_equal((uint32_t)first, (uint32_t)second);
    assert_true(first != second);
    assert_absent(first, 3);
    take_op(second, 8);
    assert_absent(second + ((uint64_t)1 << 32), 3); // the slot's next cookie
    assert_absent(second + ((uint64_t)1 << 32), UINT32_MAX);
}

static void test_last_generation(void **state)
{
    (void)state;
    take_op(add_op(3), 3);
    table.slots[0].generation = UINT32_MAX;
    aq_cookie_t last = add_op(3);
    assert_true(last == (uint64_t)UINT32_MAX << 32);
    take_op(last, 3);
    aq_cookie_t next = add_op(3);
    assert_true(next == (uint64_t)1 << 32); // not 0
    assert_absent(last, 3);
    take_op(next, 3);
}

static void test_many(void **state)
{
    (void)state;
    aq_cookie_t cookies[MANY];
    for (size_t i = 0; i < MANY; i++)
        cookies[i] = add_op(i);
    for (size_t i = 0; i < MANY; i++)
        assert_op(aq_cookies_find(&table, cookies[i], (uint32_t)(i % PEERS)), i);
    const uint32_t count = table.count;
    for (size_t i = MANY; i-- > 0;)
        take_op(cookies[i], i);
    for (size_t i = 0; i < MANY; i++)
        assert_absent(cookies[i], (uint32_t)(i % PEERS));
    for (size_t i = 0; i < MANY; i++)
        cookies[i] = add_op(i);
    assert_int_equal(table.count, count); // slots are reused
}

// Additions and removals in random order.
static void test_random(void **state)
{
    (void)state;
    aq_cookie_t cookies[MANY] = {0}, taken = 0;
    size_t numbers[MANY] = {0};
    srandom(17);
    for (size_t i = 0; i < STEPS; i++) {
        size_t at = (size_t)random() % MANY;
        if (cookies[at]) {
            take_op(cookies[at], numbers[at]);
            taken = cookies[at];
            cookies[at] = 0;
        } else {
            cookies[at] = add_op(numbers[at] = i);
            assert_true(cookies[at] != taken);
        }
    }
    assert_true(table.count < 2 * MANY);
}

// Numbers that are not valid cookies.
static void test_guesses(void **state)
{
    (void)state;
    const aq_cookie_t cookie = add_op(3);
    srandom(18);
    for (unsigned i = 0; i < GUESSES; i++) {
        aq_cookie_t guess = (uint64_t)random() << 32 | (uint64_t)random() % (2 * table.count);
        if (guess != cookie)
            assert_absent(guess, 3);
    }
    assert_absent((uint32_t)cookie, 3);
    assert_absent(cookie ^ (uint64_t)1 << 63, 3);
    take_op(cookie, 3);
}

static void test_stop(void **state)
{
    (void)state;
    add_op(3);
    aq_cookies_stop(&table);
    assert_int_equal(table.count, 0);
    assert_absent((uint64_t)1 << 32, 3);
    take_op(add_op(4), 4);
}

// ---- operations that wait for the answers of peers ----

enum { PENDING_THREADS = 3, PENDING = 500 };

static aq_cookie_t pending[PENDING_THREADS][PENDING];

static void *add_pending_ops(void *cookies)
{
    aq_cookie_t *to = cookies;
    for (unsigned i = 0; i < PENDING; i++)
        to[i] = aq_pending_add(AQ_PENDING_GET, i % PEERS, &to[i], NULL, i);
    return NULL;
}

static void run_adders(void)
{
    pthread_t threads[PENDING_THREADS];
    for (unsigned t = 0; t < PENDING_THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, add_pending_ops, pending[t]), 0);
    for (unsigned t = 0; t < PENDING_THREADS; t++)
        pthread_join(threads[t], NULL);
}

// This thread ends operations that other threads began, the last ones first.
static void end_pending_ops(unsigned thread)
{
    for (unsigned i = PENDING; i-- > 0;) {
        const aq_arrival_t arrival = {.source = i % PEERS};
        struct aq_token token = {.arrival = &arrival};
        const aq_pending_op_t op =
            aq_pending_end_sized(AQ_PENDING_GET, &token, pending[thread][i], i);
        assert_ptr_equal(op.context, &pending[thread][i]);
    }
}

static void test_pending(void **state)
{
    (void)state;
    aq_threads = true;
    run_adders();
    for (unsigned t = 0; t < PENDING_THREADS; t++)
        end_pending_ops(t);
    aq_threads = false;
}

// Threads that add and end operations at the same time write no common memory: the first slot of
// each thread's table has the same place, and the number of the table tells them apart.
static void test_pending_tables(void **state)
{
    (void)state;
    const uint32_t place = (1u << 26) - 1;
    aq_threads = true;
    run_adders();
    for (unsigned t = 1; t < PENDING_THREADS; t++) {
        assert_int_equal(pending[t][0] & place, pending[0][0] & place);
        assert_int_not_equal((uint32_t)pending[t][0], (uint32_t)pending[0][0]);
    }
    for (unsigned t = 0; t < PENDING_THREADS; t++)
        end_pending_ops(t);
    aq_threads = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_empty, stop_table),
        cmocka_unit_test_teardown(test_one, stop_table),
        cmocka_unit_test_teardown(test_other_peer, stop_table),
        cmocka_unit_test_teardown(test_generations, stop_table),
        cmocka_unit_test_teardown(test_last_generation, stop_table),
        cmocka_unit_test_teardown(test_many, stop_table),
        cmocka_unit_test_teardown(test_random, stop_table),
        cmocka_unit_test_teardown(test_guesses, stop_table),
        cmocka_unit_test_teardown(test_stop, stop_table),
        cmocka_unit_test(test_pending_tables),
        cmocka_unit_test(test_pending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
