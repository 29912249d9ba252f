// SPDX-License-Identifier: BSD-3-Clause
// Steps of the start: taken in the order of the table until one fails; a phase is stopped alone, in
// that order. The table of the library has its phases in order.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include "../../../core/job/start_steps.h"

static char taken[8];

static void note(const char *what)
{
    strcat(taken, what);
}

static void start_a(void)
{
    note("a");
}

static aq_status_t join_b(const aq_job_request_t *request)
{
    assert_int_equal(request->ranks, 7);
    note("b");
    return AQ_OK;
}

static aq_status_t fail_c(const aq_job_request_t *request)
{
    (void)request;
    note("c");
    return AQ_ERR_ABSENT;
}

static void stop_a(void)
{
    note("A");
}

static void stop_b(void)
{
    note("B");
}

static void stop_d(void)
{
    note("D");
}

static const aq_start_step_t table[] = {
    {"a", AQ_PHASE_BOOTSTRAP, .start = start_a, .stop = stop_a},
    {"b", AQ_PHASE_CONDUITS, .join = join_b, .stop = stop_b},
    {"c", AQ_PHASE_CONDUITS, .join = fail_c},
    {"d", AQ_PHASE_CONDUITS, .start = start_a, .stop = stop_d},
    {0},
};

static void test_until_failure(void **state)
{
    (void)state;
    const aq_job_request_t request = {.ranks = 7};
    taken[0] = '\0';
    assert_int_equal(aq_steps_start(table, &request), AQ_ERR_ABSENT);
    assert_string_equal(taken, "abc");
}

static void test_stop_one_phase(void **state)
{
    (void)state;
    taken[0] = '\0';
    aq_steps_stop(table, AQ_PHASE_CONDUITS);
    assert_string_equal(taken, "BD");
    aq_steps_stop(table, AQ_PHASE_BOOTSTRAP);
    assert_string_equal(taken, "BDA");
}

static void test_table(void **state)
{
    (void)state;
    aq_start_phase_t phase = AQ_PHASE_BOOTSTRAP;
    for (const aq_start_step_t *step = aq_start_table; step->name; step++) {
        assert_true(step->phase >= phase);
        assert_true(!step->start != !step->join);
        phase = step->phase;
    }
    assert_int_equal(phase, AQ_PHASE_MESSAGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_until_failure),
        cmocka_unit_test(test_stop_one_phase),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
