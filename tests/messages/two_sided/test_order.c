// SPDX-License-Identifier: BSD-3-Clause
// Order: numbers that arrive in any order leave in theirs, also across the largest number; a number
// that was here before is found.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include "../../../messages/two_sided/order.h"

enum { MANY = 500, SCHEDULES = 200 };

static aq_order_entry_t entries[MANY];
static uint64_t random_state = 1;

static unsigned random_below(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

static void entry_pass(aq_order_t *order, const aq_order_entry_t *entry, unsigned *passed)
{
    assert_ptr_equal(entry, &entries[*passed]);
    aq_order_pass(order);
    ++*passed;
}

static void entry_arrive(aq_order_t *order, aq_order_entry_t *entry, unsigned *passed)
{
    if (!aq_order_is_next(order, entry->number)) {
        assert_true(aq_order_keep(order, entry));
        assert_null(aq_order_take(order));
        return;
    }
    for (; entry; entry = aq_order_take(order))
        entry_pass(order, entry, passed);
}

// Each entry moves up to `distance` places.
static void schedule_run(uint32_t first, unsigned distance)
{
    unsigned at[MANY], passed = 0;
    aq_order_t order = {.expected = first};
    for (unsigned i = 0; i < MANY; i++) {
        at[i] = i;
        entries[i].number = first + i;
    }
    for (unsigned i = 0; i < MANY; i++) {
        const unsigned other = i + random_below(distance < MANY - i ? distance : MANY - i);
        const unsigned kept = at[i];
        at[i] = at[other];
        at[other] = kept;
    }
    for (unsigned i = 0; i < MANY; i++)
        entry_arrive(&order, &entries[at[i]], &passed);
    assert_int_equal(passed, MANY);
    assert_null(order.early);
}

static void test_random(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SCHEDULES; i++)
        schedule_run(i % 2 ? UINT32_MAX - random_below(MANY) : i, 1 + random_below(MANY));
}

static void test_reverse(void **state)
{
    (void)state;
    aq_order_t order = {0};
    unsigned passed = 0;
    for (unsigned i = MANY; i-- > 0;) {
        entries[i].number = i;
        entry_arrive(&order, &entries[i], &passed);
        assert_int_equal(passed, i ? 0 : MANY);
    }
}

// What the order should know: the numbers that were here, as a set.
typedef struct model {
    bool here[MANY];
    unsigned passed; // all below
} model_t;

static void model_take(model_t *model, aq_order_t *order, uint32_t first)
{
    aq_order_entry_t *entry;
    while ((entry = aq_order_take(order)) != NULL) {
        assert_int_equal(entry->number, first + model->passed);
        aq_order_pass(order);
        model->passed++;
    }
    assert_false(model->passed < MANY && model->here[model->passed]);
}

// Numbers arrive in any order and more than once; sometimes nothing is taken for a while.
static void repeats_run(uint32_t first)
{
    model_t model = {.passed = 0};
    aq_order_t order = {.expected = first};
    for (unsigned i = 0; i < 10 * MANY; i++) {
        const unsigned at = random_below(MANY);
        aq_order_entry_t again, *entry = model.here[at] ? &again : &entries[at];
        entry->number = first + at;
        assert_int_equal(aq_order_is_next(&order, entry->number),
                         at == model.passed && !model.here[at]);
        assert_int_equal(aq_order_keep(&order, entry), !model.here[at]);
        model.here[at] = true;
        if (random_below(8) == 0)
            model_take(&model, &order, first);
    }
}

static void test_repeats(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SCHEDULES; i++)
        repeats_run(i % 2 ? UINT32_MAX - random_below(MANY) : i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_reverse),
        cmocka_unit_test(test_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
