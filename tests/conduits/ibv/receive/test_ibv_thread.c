// SPDX-License-Identifier: BSD-3-Clause
// The loop of the receive thread and the send thread, with an eventfd in place of a completion
// channel: the thread handles all arrivals, sleeps when there are none, keeps its rate, and can be
// stopped by any thread, itself included.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../../conduits/ibv/receive/ibv_thread.h"
#include "../../../../other/base/clock.h"
#include "../../../../other/base/settings/settings.h"
#include "../../../unit/assert_between.h"

// Arrivals wait in a counter. As with a completion queue, an arrival makes fd readable only if the
// source was armed since fd became readable last.
static struct {
    int fd, other; // the source can make both readable
    atomic_int waiting, handled, polls, busy, rearms;
    atomic_bool armed, ends;
    aq_ibv_thread_t *_Atomic thread;
} source;

static void rearm_source(void *context)
{
    eventfd_t value;
    (void)context;
    eventfd_read(source.fd, &value);
    eventfd_read(source.other, &value);
    atomic_fetch_add(&source.rearms, 1);
    atomic_store(&source.armed, true);
}

static int poll_source(void *context)
{
    (void)context;
    atomic_fetch_add(&source.polls, 1);
    if (atomic_load(&source.busy) > 0) {
        atomic_fetch_sub(&source.busy, 1);
        return -1;
    }
    if (atomic_load(&source.waiting) == 0)
        return 0;
    atomic_fetch_sub(&source.waiting, 1);
    atomic_fetch_add(&source.handled, 1);
    if (atomic_load(&source.ends))
        aq_ibv_thread_stop(atomic_load(&source.thread));
    return 1;
}

static void add_arrival(void)
{
    atomic_fetch_add(&source.waiting, 1);
    if (atomic_exchange(&source.armed, false))
        eventfd_write(source.fd, 1);
}

static void wait_for_count(atomic_int *count, int wanted)
{
    while (atomic_load(count) < wanted) // a failure ends at the time limit of the test
        usleep(100);
}

// Waits until the thread sleeps, which shows in that the thread does not poll for a while.
static void wait_asleep(void)
{
    int before;
    do {
        before = atomic_load(&source.polls);
        usleep(20000);
    } while (before == 0 || before != atomic_load(&source.polls));
}

// How often the thread has woken up: it rearms once before its first sleep, and after each.
static uint64_t count_wakes(void)
{
    return (uint64_t)atomic_load(&source.rearms) - 1;
}

static aq_ibv_thread_t *start_thread(uint32_t rate)
{
    aq_ibv_thread_t *thread;
    aq_ibv_thread_setup_t setup = {.fds = {source.other, source.fd},
                                   .fd_count = 2,
                                   .rearm = rearm_source,
                                   .poll = poll_source,
                                   .rate = rate};
    assert_int_equal(aq_ibv_thread_start(&setup, &thread), AQ_OK);
    atomic_store(&source.thread, thread);
    return thread;
}

static int set_up(void **state)
{
    (void)state;
    source.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    source.other = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    atomic_store(&source.waiting, 0);
    atomic_store(&source.handled, 0);
    atomic_store(&source.polls, 0);
    atomic_store(&source.rearms, 0);
    atomic_store(&source.busy, 0);
    atomic_store(&source.armed, false);
    atomic_store(&source.ends, false);
    return source.fd < 0 || source.other < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(source.other);
    return close(source.fd);
}

static void test_handles(void **state)
{
    (void)state;
    enum { ARRIVALS = 200 };
    add_arrival(); // before the thread exists
    aq_ibv_thread_t *thread = start_thread(0);
    wait_for_count(&source.handled, 1);
    for (int i = 0; i < ARRIVALS; i++) {
        add_arrival();
        if (i % 3 == 0)
            wait_for_count(&source.handled, i + 2);
    }
    wait_for_count(&source.handled, ARRIVALS + 1);
    assert_between(count_wakes(), 1, ARRIVALS + 1);
    aq_ibv_thread_stop(thread);
    assert_int_equal(atomic_load(&source.waiting), 0);
}

static void test_sleeps(void **state)
{
    (void)state;
    aq_ibv_thread_t *thread = start_thread(0);
    wait_asleep();
    uint64_t wakes = count_wakes();
    int polls = atomic_load(&source.polls);
    usleep(50000);
    assert_int_equal(count_wakes(), wakes);
    assert_int_equal(atomic_load(&source.polls), polls);
    add_arrival();
    wait_for_count(&source.handled, 1);
    wait_asleep();
    assert_int_equal(count_wakes(), wakes + 1);
    aq_ibv_thread_stop(thread);
}

// Each fd of the setup wakes the thread.
static void test_several_sources(void **state)
{
    (void)state;
    aq_ibv_thread_t *thread = start_thread(0);
    for (int i = 0; i < 2; i++) {
        wait_asleep();
        const uint64_t wakes = count_wakes();
        atomic_fetch_add(&source.waiting, 1);
        eventfd_write(i ? source.fd : source.other, 1);
        wait_for_count(&source.handled, i + 1);
        assert_int_equal(count_wakes(), wakes + 1);
    }
    aq_ibv_thread_stop(thread);
}

// Another thread was polling, and left an arrival from before the rearm. No event reports that
// arrival, so the thread must poll again.
static void test_busy(void **state)
{
    (void)state;
    atomic_store(&source.waiting, 1);
    atomic_store(&source.busy, 5);
    aq_ibv_thread_t *thread = start_thread(0);
    wait_for_count(&source.handled, 1);
    assert_int_equal(atomic_load(&source.busy), 0);
    assert_int_equal(count_wakes(), 0);
    aq_ibv_thread_stop(thread);
}

// In any period, the thread wakes up at most once more than the rate allows.
static void test_rate(void **state)
{
    (void)state;
    enum { RATE = 200, ARRIVALS = 20 };
    uint64_t begin = aq_clock_ns();
    aq_ibv_thread_t *thread = start_thread(RATE);
    for (int i = 1; i <= ARRIVALS; i++) {
        add_arrival();
        wait_for_count(&source.handled, i);
    }
    uint64_t wakes = count_wakes(), passed = aq_clock_ns() - begin;
    if (wakes > passed * RATE / 1000000000 + 2)
        fail_msg("%llu wake-ups in %llu ns", (unsigned long long)wakes, (unsigned long long)passed);
    assert_true(wakes > 0);
    aq_ibv_thread_stop(thread);
}

// The thread can be stopped in any state: while it starts, waits for its next turn, or sleeps.
static void test_stop(void **state)
{
    (void)state;
    aq_ibv_thread_stop(start_thread(0));
    aq_ibv_thread_t *thread = start_thread(1);
    add_arrival();
    wait_for_count(&source.handled, 1);
    add_arrival();
    aq_ibv_thread_stop(thread);
    thread = start_thread(0);
    wait_asleep();
    aq_ibv_thread_stop(thread);
}

static unsigned count_threads(void)
{
    unsigned count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count;
}

// A handler on the thread ends the job: the thread must not wait for itself, and ends after the
// handler.
static void test_stop_inside(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        unsigned before = count_threads();
        atomic_store(&source.ends, true);
        start_thread(0);
        wait_asleep();
        add_arrival();
        wait_for_count(&source.handled, 1);
        while (count_threads() > before)
            usleep(1000);
        _exit(7);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

// A child of fork does not have the thread. Stopping it in the child does not affect the thread of
// the parent.
static void test_fork(void **state)
{
    (void)state;
    aq_ibv_thread_t *thread = start_thread(0);
    wait_asleep();
    uint64_t wakes = count_wakes();
    pid_t child = fork();
    if (child == 0) {
        aq_ibv_thread_stop(thread);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    add_arrival();
    wait_for_count(&source.handled, 1);
    wait_asleep();
    assert_int_equal(count_wakes(), wakes + 1);
    aq_ibv_thread_stop(thread);
}

// The receive thread takes no signals: a signal to the process stays pending while the client's
// only thread blocks it.
static void test_signals(void **state)
{
    (void)state;
    sigset_t usr1, before, pending;
    aq_ibv_thread_t *thread = start_thread(0);
    wait_asleep();
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, &before);
    assert_int_equal(kill(getpid(), SIGUSR1), 0); // would end this process if delivered
    sigpending(&pending);
    assert_true(sigismember(&pending, SIGUSR1));
    int taken;
    assert_int_equal(sigwait(&usr1, &taken), 0);
    assert_int_equal(taken, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    aq_ibv_thread_stop(thread);
}

static void set_and_load(const char *name, const char *value)
{
    char err[512];
    setenv(name, value, 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
}

// Each thread has its own variables, which do not ask for the other one.
static void test_settings(void **state)
{
    static const char *const names[][2] = {
        [AQ_IBV_RECEIVE_THREAD] = {"GASNET_RCV_THREAD", "GASNET_RCV_THREAD_RATE"},
        [AQ_IBV_SEND_THREAD] = {"GASNET_SND_THREAD", "GASNET_SND_THREAD_RATE"}};
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        aq_ibv_thread_setup_t setup = {.rate = 7}, other = {.rate = 7};
        for (unsigned i = 0; i < 2; i++)
            unsetenv(names[i][0]), unsetenv(names[i][1]);
        set_and_load(names[kind][0], "0");
        assert_false(aq_ibv_thread_wanted(&setup, kind));
        set_and_load(names[kind][0], "1");
        assert_true(aq_ibv_thread_wanted(&setup, kind));
        assert_int_equal(setup.rate, 0);
        set_and_load(names[kind][1], "50");
        assert_true(aq_ibv_thread_wanted(&setup, kind));
        assert_int_equal(setup.rate, 50);
        assert_string_equal(setup.variable, names[kind][0]);
        assert_false(aq_ibv_thread_wanted(&other, 1 - kind));
        assert_int_equal(other.rate, 0);
    }
}

#define THREAD_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREAD_TEST(test_handles),         THREAD_TEST(test_sleeps), THREAD_TEST(test_busy),
        THREAD_TEST(test_several_sources), THREAD_TEST(test_rate),   THREAD_TEST(test_stop),
        THREAD_TEST(test_stop_inside),     THREAD_TEST(test_fork),   THREAD_TEST(test_signals),
        THREAD_TEST(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
