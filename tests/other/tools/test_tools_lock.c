// SPDX-License-Identifier: BSD-3-Clause
// Mutexes, condition variables, reader-writer locks and thread-specific pointers of the tools; the
// messages of a debug build about wrong use.
#include "../../unit/unit_test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../other/tools/gasnet_tools.h"

enum { THREADS = 4, TURNS = 5000 };

static gasnett_mutex_t mutex = GASNETT_MUTEX_INITIALIZER;
static gasnett_cond_t cond = GASNETT_COND_INITIALIZER;
static gasnett_rwlock_t rwlock = GASNETT_RWLOCK_INITIALIZER;
static unsigned long count, rounds;

GASNETT_THREADKEY_DECLARE(key);
GASNETT_THREADKEY_DEFINE(key);

static void *run_in_thread(void *(*work)(void *), void *arg)
{
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, work, arg), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    return result;
}

static void run_in_threads(void *(*work)(void *))
{
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void *try_lock(void *arg)
{
    int result = gasnett_mutex_trylock(arg);
    if (result == 0)
        gasnett_mutex_unlock(arg);
    return (void *)(intptr_t)result;
}

static void test_mutex(void **state)
{
    gasnett_mutex_t made;
    (void)state;
    gasnett_mutex_init(&made);
    for (int i = 0; i < 2; i++) {
        gasnett_mutex_assertunlocked(&made);
        gasnett_mutex_lock(&made);
        gasnett_mutex_assertlocked(&made);
        assert_int_equal((intptr_t)run_in_thread(try_lock, &made), EBUSY);
        assert_int_equal((intptr_t)run_in_thread(try_lock, &mutex), 0);
        assert_int_equal(gasnett_mutex_trylock(&made), EBUSY);
        gasnett_mutex_unlock(&made);
        assert_int_equal((intptr_t)run_in_thread(try_lock, &made), 0);
    }
    gasnett_mutex_destroy(&made);
}

static void test_destroy_held(void **state)
{
    gasnett_mutex_t made;
    (void)state;
    gasnett_mutex_init(&made);
    assert_int_equal(gasnett_mutex_destroy_ignoreerr(&made), 0);
#ifndef AQ_SANITIZER // a sanitizer reports this itself
    gasnett_mutex_init(&made);
    gasnett_mutex_lock(&made);
    assert_int_equal(gasnett_mutex_destroy_ignoreerr(&made), EBUSY);
    gasnett_mutex_unlock(&made);
    gasnett_mutex_destroy(&made);
#endif
}

static void *count_up(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < TURNS; i++) {
        gasnett_mutex_lock(&mutex);
        count++;
        gasnett_mutex_unlock(&mutex);
    }
    return NULL;
}

static void test_mutex_contended(void **state)
{
    (void)state;
    count = 0;
    run_in_threads(count_up);
    assert_int_equal(count, THREADS * TURNS);
}

// Meets the other threads in 50 rounds; the last thread of a round wakes the others.
static void *meet_in_rounds(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < 50; i++) {
        gasnett_mutex_lock(&mutex);
        unsigned long round = rounds;
        if (++count == THREADS) {
            count = 0;
            rounds++;
            gasnett_cond_broadcast(&cond);
        }
        while (round == rounds)
            gasnett_cond_wait(&cond, &mutex);
        gasnett_mutex_assertlocked(&mutex);
        gasnett_mutex_unlock(&mutex);
    }
    return NULL;
}

static void test_cond(void **state)
{
    gasnett_cond_t made;
    (void)state;
    gasnett_cond_init(&made);
    gasnett_cond_signal(&made);
    gasnett_cond_destroy(&made);
    count = rounds = 0;
    run_in_threads(meet_in_rounds);
    assert_int_equal(rounds, 50);
}

static void *try_read(void *arg)
{
    int result = gasnett_rwlock_tryrdlock(arg);
    if (result == 0)
        gasnett_rwlock_unlock(arg);
    return (void *)(intptr_t)result;
}

static void *try_write(void *arg)
{
    int result = gasnett_rwlock_trywrlock(arg);
    if (result == 0)
        gasnett_rwlock_unlock(arg);
    return (void *)(intptr_t)result;
}

static void expect_other_thread(gasnett_rwlock_t *lock, int may_read, int may_write)
{
    assert_int_equal((intptr_t)run_in_thread(try_read, lock), may_read ? 0 : EBUSY);
    assert_int_equal((intptr_t)run_in_thread(try_write, lock), may_write ? 0 : EBUSY);
}

static void try_rwlock(gasnett_rwlock_t *lock)
{
    gasnett_rwlock_assertunlocked(lock);
    gasnett_rwlock_rdlock(lock);
    gasnett_rwlock_assertrdlocked(lock);
    gasnett_rwlock_assertlocked(lock);
    expect_other_thread(lock, 1, 0);
    gasnett_rwlock_unlock(lock);
    expect_other_thread(lock, 1, 1);
    gasnett_rwlock_wrlock(lock);
    gasnett_rwlock_assertwrlocked(lock);
    gasnett_rwlock_assertlocked(lock);
    expect_other_thread(lock, 0, 0);
    gasnett_rwlock_unlock(lock);
    expect_other_thread(lock, 1, 1);
}

static void test_rwlock(void **state)
{
    gasnett_rwlock_t made;
    static const pthread_rwlock_t zeros = PTHREAD_RWLOCK_INITIALIZER;
    (void)state;
    assert_memory_equal(&zeros, rwlock.aq_room, sizeof zeros); // what the initializer relies on
    try_rwlock(&rwlock);
    gasnett_rwlock_init(&made);
    try_rwlock(&made);
    // A thread may hold two locks, and unlock them in the order in which it locked them.
    gasnett_rwlock_rdlock(&rwlock);
    gasnett_rwlock_rdlock(&made);
    gasnett_rwlock_unlock(&rwlock);
    gasnett_rwlock_assertrdlocked(&made);
    gasnett_rwlock_unlock(&made);
    gasnett_rwlock_destroy(&made);
}

static void *read_and_write(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < TURNS; i++) {
        gasnett_rwlock_wrlock(&rwlock);
        count++;
        rounds++;
        gasnett_rwlock_unlock(&rwlock);
        gasnett_rwlock_rdlock(&rwlock);
        assert_true(count == rounds);
        gasnett_rwlock_unlock(&rwlock);
    }
    return NULL;
}

static void test_rwlock_contended(void **state)
{
    (void)state;
    count = rounds = 0;
    run_in_threads(read_and_write);
    assert_int_equal(count, THREADS * TURNS);
}

static void *use_key(void *unused)
{
    (void)unused;
    void *before = gasnett_threadkey_get(key);
    gasnett_threadkey_init(key);
    gasnett_threadkey_set_noinit(key, &rounds);
    return before == NULL && gasnett_threadkey_get_noinit(key) == &rounds ? &count : NULL;
}

static void test_threadkey(void **state)
{
    (void)state;
    assert_null(gasnett_threadkey_get(key));
    gasnett_threadkey_set(key, &mutex);
    assert_ptr_equal(run_in_thread(use_key, NULL), &count);
    assert_ptr_equal(gasnett_threadkey_get(key), &mutex);
}

#ifdef AQ_DEBUG

static void lock_twice(void)
{
    gasnett_mutex_lock(&mutex);
    gasnett_mutex_lock(&mutex);
}

static void unlock_free(void)
{
    gasnett_mutex_unlock(&mutex);
}

static void *unlock_other(void *unused)
{
    gasnett_mutex_unlock(&mutex);
    return unused;
}

static void unlock_of_another(void)
{
    gasnett_mutex_lock(&mutex);
    run_in_thread(unlock_other, NULL);
}

static void destroy_held(void)
{
    gasnett_mutex_lock(&mutex);
    gasnett_mutex_destroy(&mutex);
}

static void assert_locked(void)
{
    gasnett_mutex_assertlocked(&mutex);
}

static void assert_unlocked(void)
{
    gasnett_mutex_lock(&mutex);
    gasnett_mutex_assertunlocked(&mutex);
}

static void wait_unlocked(void)
{
    gasnett_cond_wait(&cond, &mutex);
}

static void read_twice(void)
{
    gasnett_rwlock_rdlock(&rwlock);
    gasnett_rwlock_rdlock(&rwlock);
}

static void write_after_read(void)
{
    gasnett_rwlock_rdlock(&rwlock);
    gasnett_rwlock_wrlock(&rwlock);
}

static void unlock_free_rwlock(void)
{
    gasnett_rwlock_unlock(&rwlock);
}

static void assert_write_of_reader(void)
{
    gasnett_rwlock_rdlock(&rwlock);
    gasnett_rwlock_assertwrlocked(&rwlock);
}

static void assert_rwlock_unlocked(void)
{
    gasnett_rwlock_wrlock(&rwlock);
    gasnett_rwlock_assertunlocked(&rwlock);
}

static void check_without_locks(void)
{
    aq_api_mutex_lock(&mutex, 0); // 0: a client without threads
    aq_api_mutex_lock(&mutex, 0);
}

// Runs `wrong` in a child process, which must end by SIGABRT and print the message.
static void expect_abort(void (*wrong)(void), const char *message)
{
    int ends[2];
    char text[4096] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        wrong();
        _exit(0);
    }
    close(ends[1]);
    for (size_t at = 0; at < sizeof text - 1;) {
        ssize_t more = read(ends[0], text + at, sizeof text - 1 - at);
        if (more <= 0)
            break;
        at += (size_t)more;
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ends[0]);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, message));
}

static void test_wrong_use(void **state)
{
    (void)state;
    expect_abort(lock_twice, "gasnett_mutex_lock");
    expect_abort(unlock_free, "gasnett_mutex_unlock");
    expect_abort(unlock_of_another, "gasnett_mutex_unlock");
    expect_abort(destroy_held, "gasnett_mutex_destroy");
    expect_abort(assert_locked, "gasnett_mutex_assertlocked");
    expect_abort(assert_unlocked, "gasnett_mutex_assertunlocked");
    expect_abort(wait_unlocked, "gasnett_cond_wait");
    expect_abort(read_twice, "gasnett_rwlock_rdlock");
    expect_abort(write_after_read, "gasnett_rwlock_wrlock");
    expect_abort(unlock_free_rwlock, "gasnett_rwlock_unlock");
    expect_abort(assert_write_of_reader, "gasnett_rwlock_assert");
    expect_abort(assert_rwlock_unlocked, "gasnett_rwlock_assertunlocked");
    expect_abort(check_without_locks, "gasnett_mutex_lock");
}

#else

// In an optimized build the assertions have no effect.
static void test_wrong_use(void **state)
{
    (void)state;
    gasnett_mutex_assertlocked(&mutex);
    gasnett_rwlock_assertlocked(&rwlock);
    gasnett_mutex_lock(&mutex);
    gasnett_mutex_assertunlocked(&mutex);
    gasnett_mutex_unlock(&mutex);
    assert_int_equal((intptr_t)run_in_thread(try_lock, &mutex), 0);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mutex),           cmocka_unit_test(test_destroy_held),
        cmocka_unit_test(test_mutex_contended), cmocka_unit_test(test_cond),
        cmocka_unit_test(test_rwlock),          cmocka_unit_test(test_rwlock_contended),
        cmocka_unit_test(test_threadkey),       cmocka_unit_test(test_wrong_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
