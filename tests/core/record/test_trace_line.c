// SPDX-License-Identifier: BSD-3-Clause
// The line through samples of another clock: its offset and drift, and a bound of its error.
#include <stdlib.h>

#include "../../unit/unit_test.h"

#include "../../../core/record/trace_line.h"
#include "../../unit/assert_between.h"

enum { MS = 1000000 };

// The true offset of a clock that runs faster by 200 parts of a million.
static int64_t truth(uint64_t time)
{
    return 5000000000 + (int64_t)(time / 5000);
}

static void add(aq_samples_t *samples, uint64_t time, int64_t wrong_by, uint64_t error)
{
    aq_samples_add(samples, &(aq_sample_t){time, truth(time) + wrong_by, error});
}

static void test_one(void **state)
{
    (void)state;
    aq_samples_t samples = {.count = 0};
    add(&samples, 100 * MS, 300, 1000);
    const aq_line_t line = aq_samples_line(&samples);
    assert_int_equal(line.drift_ppb, 0);
    assert_int_equal(aq_line_at(&line, 100 * MS), truth(100 * MS) + 300);
    assert_int_equal(aq_samples_error(&samples, 100 * MS), 1000);
    assert_int_equal(aq_samples_error(&samples, 300 * MS), 1000 + 200 * MS / 2000);
}

// A change that may be the errors of two samples is no drift.
static void test_no_drift(void **state)
{
    (void)state;
    aq_samples_t samples = {.count = 0};
    add(&samples, 0, 0, 50000);
    add(&samples, 400 * MS, 0, 40000);
    assert_int_equal(aq_samples_line(&samples).drift_ppb, 0);
    assert_int_equal(aq_samples_line(&samples).since, 400 * MS);
}

static void test_drift(void **state)
{
    (void)state;
    aq_samples_t samples = {.count = 0};
    add(&samples, 0, 0, 10);
    add(&samples, 1000 * (uint64_t)MS, 70000, 90000); // not one of the best
    add(&samples, 2000 * (uint64_t)MS, 0, 10);
    const aq_line_t line = aq_samples_line(&samples);
    assert_between(line.drift_ppb, 199990, 200010);
    assert_between(llabs(aq_line_at(&line, 1500 * (uint64_t)MS) - truth(1500 * (uint64_t)MS)), 0,
                   20);
}

// Whatever the samples, as far as their errors are true, the bound holds.
static void test_bound(void **state)
{
    (void)state;
    srand(7);
    for (unsigned round = 0; round < 200; round++) {
        aq_samples_t samples = {.count = 0};
        uint64_t time = 0;
        for (unsigned i = 0; i < 150; i++) {
            const int error = 1 + rand() % 100000;
            time += (uint64_t)(1 + rand() % 100) * MS;
            add(&samples, time, rand() % (2 * error) - error, (uint64_t)error);
            assert_between(samples.count, 1, AQ_SAMPLES);
        }
        const uint64_t first = samples.sample[0].time, now = time + 50 * MS;
        const aq_line_t line = aq_samples_line(&samples);
        const uint64_t bound = aq_samples_error(&samples, now);
        assert_true(bound < 5 * MS);
        for (uint64_t t = first; t < now; t += MS)
            assert_true((uint64_t)llabs(aq_line_at(&line, t) - truth(t)) <= bound);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one), cmocka_unit_test(test_no_drift),
                                       cmocka_unit_test(test_drift), cmocka_unit_test(test_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
