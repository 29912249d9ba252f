// SPDX-License-Identifier: BSD-3-Clause
// Progress threads of two conduits: each conduit is armed, slept in, disarmed and woken once each
// time. The conduits are stubs that count their calls.
#include "../../unit/unit_test.h"

#include <semaphore.h>

#include "../../../core/progress/progress_thread.h"
#include "../../../core/state/job.h"

enum { CONDUITS = 2, ARMED = 7, LIMIT_NS = 123456 };

typedef struct counts {
    unsigned arms, disarms, wakes, sleeps;
} counts_t;

static struct {
    aq_conduit_t conduit;
    counts_t counts;
    uint32_t slept_with;
    uint64_t limit_ns;
} stubs[CONDUITS];

static sem_t slept;

static unsigned index_of(const aq_conduit_t *conduit)
{
    return conduit == &stubs[1].conduit;
}

static uint32_t count_arm(aq_conduit_t *conduit)
{
    stubs[index_of(conduit)].counts.arms++;
    return ARMED + index_of(conduit);
}

static void count_disarm(aq_conduit_t *conduit)
{
    stubs[index_of(conduit)].counts.disarms++;
}

static void count_wake(aq_conduit_t *conduit, bool neighbourhood)
{
    assert_false(neighbourhood);
    stubs[index_of(conduit)].counts.wakes++;
}

static void count_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns)
{
    const unsigned index = index_of(conduit);
    stubs[index].counts.sleeps++;
    stubs[index].slept_with = armed;
    stubs[index].limit_ns = limit_ns;
    sem_post(&slept);
}

static int start_job(void **state)
{
    static const aq_conduit_ops_t ops = {
        .wait = {
            .arm = count_arm, .disarm = count_disarm, .wake = count_wake, .sleep = count_sleep}};
    (void)state;
    aq_job.nbrhd.size = 2; // with neighbours, all conduits have a progress thread
    for (unsigned i = 0; i < CONDUITS; i++) {
        stubs[i].conduit = (aq_conduit_t){
            .ops = &ops, .capabilities = AQ_CAN_DELIVER | AQ_CAN_SLEEP_BESIDE}; // none serves
        aq_job.conduits[i] = &stubs[i].conduit;
    }
    return sem_init(&slept, 0, 0);
}

static void forget_counts(void)
{
    for (unsigned i = 0; i < CONDUITS; i++)
        stubs[i].counts = (counts_t){0};
}

// Each conduit of the job got these calls, and no other conduit any.
static void check_counts(counts_t each)
{
    static const counts_t none;
    for (unsigned i = 0; i < CONDUITS; i++)
        assert_memory_equal(&stubs[i].counts, i < aq_job.conduit_count ? &each : &none,
                            sizeof each);
    forget_counts();
}

static void arm_twice(void)
{
    assert_int_equal(aq_progress_threads_arm(), AQ_OK);
    check_counts((counts_t){.arms = 1});
    assert_int_equal(aq_progress_threads_arm(), AQ_OK);
    aq_progress_threads_disarm();
    check_counts((counts_t){0});
    aq_progress_threads_disarm();
    check_counts((counts_t){.disarms = 1});
}

// Two threads of the client sleep at the same time.
static void test_arm(void **state)
{
    (void)state;
    for (aq_job.conduit_count = 1; aq_job.conduit_count < CONDUITS; aq_job.conduit_count++)
        arm_twice();
    arm_twice();
}

static void test_watch(void **state)
{
    (void)state;
    aq_job.conduit_count = CONDUITS;
    assert_int_equal(aq_progress_threads_arm(), AQ_OK);
    aq_progress_threads_watch(LIMIT_NS);
    for (unsigned i = 0; i < CONDUITS; i++)
        sem_wait(&slept);
    check_counts((counts_t){.arms = 1, .sleeps = 1});
    for (unsigned i = 0; i < CONDUITS; i++) {
        assert_int_equal(stubs[i].slept_with, ARMED + i);
        assert_int_equal(stubs[i].limit_ns, LIMIT_NS);
    }
    aq_progress_threads_disarm();
}

static void test_wakes(void **state)
{
    static const counts_t woken = {.arms = 1, .disarms = 1, .wakes = 1};
    (void)state;
    forget_counts();
    assert_int_equal(aq_progress_threads_serve(true), AQ_OK);
    check_counts(woken);
    assert_int_equal(aq_progress_threads_serve(true), AQ_OK);
    check_counts((counts_t){0});
    assert_int_equal(aq_progress_threads_serve(false), AQ_OK);
    check_counts(woken);
    aq_progress_threads_stop();
    check_counts(woken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arm),
        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_wakes),
    };
    return cmocka_run_group_tests(tests, start_job, NULL);
}
