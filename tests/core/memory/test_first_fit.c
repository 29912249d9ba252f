// SPDX-License-Identifier: BSD-3-Clause
// First fit: blocks never overlap, all of a range can be taken and given back in any order, and
// then it is one block again. What was not taken cannot be given back.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <string.h>

#include "../../../core/memory/first_fit.h"
#include "../../unit/random_below.h"

enum { SIZE = 4096, MANY = 64, STEPS = 20000 };

static void test_whole(void **state)
{
    aq_first_fit_t range;
    size_t offset = 1;
    (void)state;
    assert_true(aq_first_fit_start(&range, SIZE));
    assert_false(aq_first_fit_take(&range, SIZE + 1, &offset));
    assert_false(aq_first_fit_take(&range, SIZE_MAX, &offset));
    assert_true(aq_first_fit_take(&range, SIZE, &offset));
    assert_int_equal(offset, 0);
    assert_false(aq_first_fit_take(&range, 1, &offset));
    assert_true(aq_first_fit_give(&range, 0));
    aq_first_fit_stop(&range);
}

static void test_refused(void **state)
{
    aq_first_fit_t range;
    size_t first, second;
    (void)state;
    assert_true(aq_first_fit_start(&range, SIZE));
    assert_false(aq_first_fit_give(&range, 0));
    assert_true(aq_first_fit_take(&range, 64, &first));
    assert_true(aq_first_fit_take(&range, 64, &second));
    assert_false(aq_first_fit_give(&range, first + 1));
    assert_false(aq_first_fit_give(&range, second + 64));
    assert_false(aq_first_fit_give(&range, SIZE));
    assert_false(aq_first_fit_give(&range, SIZE_MAX));
    assert_true(aq_first_fit_give(&range, first));
    assert_false(aq_first_fit_give(&range, first));
    assert_true(aq_first_fit_give(&range, second));
    assert_false(aq_first_fit_give(&range, second));
    aq_first_fit_stop(&range);
}

// The first hole that is large enough is used again.
static void test_reuse(void **state)
{
    aq_first_fit_t range;
    size_t at[4], offset;
    (void)state;
    assert_true(aq_first_fit_start(&range, SIZE));
    for (int i = 0; i < 4; i++)
        assert_true(aq_first_fit_take(&range, 128, &at[i]));
    assert_true(aq_first_fit_give(&range, at[0]));
    assert_true(aq_first_fit_give(&range, at[2]));
    assert_true(aq_first_fit_take(&range, 129, &offset));
    assert_int_equal(offset, 512);
    assert_true(aq_first_fit_give(&range, at[1]));
    assert_true(aq_first_fit_take(&range, 384, &offset));
    assert_int_equal(offset, 0);
    aq_first_fit_stop(&range);
}

typedef struct taken {
    size_t offset, bytes;
} taken_t;

static uint64_t random_state = 1;
static unsigned char owner[SIZE]; // of each byte; 0: free

static void block_take(aq_first_fit_t *range, taken_t *block, unsigned char number)
{
    const size_t bytes = 1 + random_below(&random_state, SIZE / 16);
    if (!aq_first_fit_take(range, bytes, &block->offset))
        return;
    block->bytes = bytes;
    assert_true(block->offset + bytes <= SIZE);
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(owner[block->offset + i], 0);
    memset(owner + block->offset, number, bytes);
}

static void block_give(aq_first_fit_t *range, taken_t *block)
{
    assert_true(aq_first_fit_give(range, block->offset));
    assert_false(aq_first_fit_give(range, block->offset));
    memset(owner + block->offset, 0, block->bytes);
    block->bytes = 0;
}

static void test_any_order(void **state)
{
    static taken_t blocks[MANY];
    aq_first_fit_t range;
    size_t offset;
    (void)state;
    assert_true(aq_first_fit_start(&range, SIZE));
    for (int step = 0; step < STEPS; step++) {
        const unsigned i = random_below(&random_state, MANY);
        if (blocks[i].bytes)
            block_give(&range, &blocks[i]);
        else
            block_take(&range, &blocks[i], (unsigned char)(i + 1));
    }
    for (int i = 0; i < MANY; i++)
        if (blocks[i].bytes)
            block_give(&range, &blocks[i]);
    assert_true(aq_first_fit_take(&range, SIZE, &offset));
    aq_first_fit_stop(&range);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_reuse),
                                       cmocka_unit_test(test_any_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
