// SPDX-License-Identifier: BSD-3-Clause
// A thread that is bound to a further endpoint polls that endpoint's window each time, and
// endpoint 0 now and then.
#include "../../unit/unit_test.h"

#include "../../../core/endpoint/window.h"
#include "../../../core/progress/progress.h"
#include "../../../core/state/job.h"

static unsigned polls, window_polls;

static unsigned count_poll(aq_conduit_t *conduit, unsigned what)
{
    (void)what;
    if (conduit->endpoint != 0)
        window_polls++;
    else
        polls++;
    return 0;
}

static void test_bound_thread(void **state)
{
    (void)state;
    static const aq_conduit_ops_t ops = {.am = {.poll = count_poll}};
    static aq_conduit_t main = {.ops = &ops}, further = {.ops = &ops, .endpoint = 1};
    static aq_window_t window = {.conduits = {&further}};
    static _Atomic int32_t exit_word = AQ_BOOT_RUNNING;
    static aq_boot_t boot = {.size = 1, .exit_word = &exit_word};
    aq_job.boot = &boot;
    aq_job.size = 1;
    aq_job.conduits[0] = &main;
    aq_job.conduit_count = 1;
    aq_progress_serve_windows();
    aq_window_own = &window;
    for (unsigned i = 0; i < 64; i++)
        aq_progress_poll();
    assert_int_equal(window_polls, 64);
    assert_int_equal(polls, 4);
    assert_int_equal(atomic_load(&window.attended), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
