// SPDX-License-Identifier: BSD-3-Clause
// The clock never steps back, a sleep is never too short, and all processes share one clock.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../../other/base/clock.h"

enum { MS = 1000000 };

// Reads the same clock without the library.
static uint64_t system_ns(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void test_monotonic(void **state)
{
    (void)state;
    uint64_t last = aq_clock_ns();
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t now = aq_clock_ns();
        assert_true(now >= last);
        last = now;
    }
}

static void test_nanoseconds(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t before = system_ns(), between = aq_clock_ns(), after = system_ns();
        assert_true(before <= between && between <= after);
    }
}

static void sleep_fully(uint64_t ns)
{
    uint64_t start = system_ns();
    aq_clock_sleep_ns(ns);
    assert_true(system_ns() - start >= ns);
}

static void test_sleep(void **state)
{
    (void)state;
    static const uint64_t spans[] = {0, 1, 999, 100000, MS, 20 * MS};
    for (unsigned i = 0; i < sizeof spans / sizeof spans[0]; i++)
        sleep_fully(spans[i]);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

// Signals that arrive during a sleep do not end it.
static void test_sleep_under_signals(void **state)
{
    (void)state;
    const struct itimerval each_ms = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm}, old;
    assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &each_ms, NULL), 0);
    sleep_fully(40 * MS);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
    assert_true(alarms > 0);
}

// The longest possible sleep does not wrap around to a short one.
static void test_endless_sleep(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        aq_clock_sleep_ns(UINT64_MAX);
        _exit(0);
    }
    aq_clock_sleep_ns(50 * MS);
    int status;
    pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) {
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
    }
    assert_int_equal(ended, 0);
}

// The time that another process reads lies between two readings of this process.
static void test_other_process(void **state)
{
    (void)state;
    int ends[2], status;
    uint64_t theirs;
    assert_int_equal(pipe(ends), 0);
    uint64_t before = aq_clock_ns();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        theirs = aq_clock_ns();
        _exit(write(ends[1], &theirs, sizeof theirs) != sizeof theirs);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &theirs, sizeof theirs), sizeof theirs);
    uint64_t after = aq_clock_ns();
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(before <= theirs && theirs <= after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_monotonic),     cmocka_unit_test(test_nanoseconds),
        cmocka_unit_test(test_sleep),         cmocka_unit_test(test_sleep_under_signals),
        cmocka_unit_test(test_endless_sleep), cmocka_unit_test(test_other_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
