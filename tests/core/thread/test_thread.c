// SPDX-License-Identifier: BSD-3-Clause
// Threads: the three modes, how the state of a thread is made and freed, and the spin lock.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../core/thread/event.h"
#include "../../../core/gasnetex_core.h"
#include "../../../core/thread/thread.h"
#include "../../../core/thread/thread_life.h"
#include "../../../other/base/settings/settings.h"

enum { THREADS = 4, TURNS = 20000, THREADS_IN_TURN = 50 };

static int allow_two(void **state)
{
    (void)state;
    char err[512];
    setenv("GASNET_MAX_THREADS", "2", 1);
    return aq_settings_load(err, sizeof err) == AQ_OK ? 0 : -1;
}

static void *run_in_thread(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, body, arg), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    return result;
}

// ---- modes ----

static void test_modes(void **state)
{
    (void)state;
    assert_true(aq_thread_mode("par"));
    assert_true(aq_threads);
    assert_int_equal(aq_thread_limit(), 2);
    assert_true(aq_thread_mode("seq"));
    assert_false(aq_threads);
    assert_int_equal(aq_thread_limit(), 1);
    assert_true(aq_thread_mode("parsync"));
    assert_false(aq_threads);
    assert_int_equal(aq_thread_limit(), 2);
}

// A thread of the library that works beside those of the client makes locks necessary, except in
// mode seq, where there is none.
static void test_helpers(void **state)
{
    static const char *const names[] = {"GASNET_RCV_THREAD", "GASNET_SND_THREAD"};
    char err[512];
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        assert_true(aq_thread_mode("parsync"));
        aq_thread_expect_helpers();
        assert_false(aq_threads);
        setenv(names[i], "1", 1);
        assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
        aq_thread_expect_helpers();
        assert_true(aq_threads);
        assert_true(aq_thread_mode("seq"));
        aq_thread_expect_helpers();
        assert_false(aq_threads);
        unsetenv(names[i]);
        assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    }
}

// The default limit is GASNETI_MAX_THREADS, which clients compile in; a setting overrides it.
static void test_default_limit(void **state)
{
    (void)state;
    char err[512];
    unsetenv("GASNET_MAX_THREADS");
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_true(aq_thread_mode("par"));
    assert_int_equal(aq_thread_limit(), GASNETI_MAX_THREADS);
    assert_int_equal(allow_two(state), 0);
}

static void test_bad_modes(void **state)
{
    (void)state;
    static const char *const words[] = {"", "PAR", "pa", "parx", "parsyn", " seq", "seq ", "none"};
    assert_true(aq_thread_mode("par"));
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        assert_false(aq_thread_mode(words[i]));
        assert_true(aq_threads); // still mode par
        assert_int_equal(aq_thread_limit(), 2);
    }
}

// ---- the state of a thread ----

// Returns the nbi record of the thread if the thread gets the same state each time, with no other
// member in use; else NULL.
static void *look_at_self(void *other)
{
    aq_thread_t *self = aq_thread_self();
    bool good = self && self != other && aq_thread_self() == self && self->nbi && !self->region &&
                !self->prepared;
    return good ? self->nbi : NULL;
}

static void test_self(void **state)
{
    (void)state;
    assert_true(aq_thread_mode("par"));
    aq_thread_t *mine = aq_thread_self();
    assert_ptr_equal(aq_thread_self(), mine);
    aq_event_t *theirs = run_in_thread(look_at_self, mine);
    assert_non_null(theirs);
    assert_ptr_not_equal(theirs, mine->nbi);
    assert_ptr_equal(aq_thread_self(), mine);
}

// There is one other thread at a time, so that the limit of 2 holds however many come and go.
static void test_in_turn(void **state)
{
    (void)state;
    assert_true(aq_thread_mode("par"));
    aq_thread_t *mine = aq_thread_self();
    for (unsigned i = 0; i < THREADS_IN_TURN; i++)
        assert_non_null(run_in_thread(look_at_self, mine));
}

// Takes more records than this thread keeps, and gives them back. Returns whether `wanted` was
// among them.
static bool pool_has(const aq_event_t *wanted)
{
    enum { MANY = 256 };
    aq_event_t *records[MANY];
    bool found = false;
    for (unsigned i = 0; i < MANY; i++) {
        records[i] = aq_event_new();
        found = found || records[i] == wanted;
    }
    for (unsigned i = 0; i < MANY; i++)
        aq_event_free(records[i]);
    return found;
}

// A thread that ends returns its nbi record to the pool, and another thread gets that record.
static void test_end_frees(void **state)
{
    (void)state;
    assert_true(aq_thread_mode("par"));
    aq_event_t *theirs = run_in_thread(look_at_self, aq_thread_self());
    assert_true(pool_has(theirs));
}

static void *leave_pending(void *unused)
{
    (void)unused;
    aq_event_t *nbi = aq_thread_self()->nbi;
    aq_event_begin(aq_event_part(nbi, AQ_PART_PUT));
    return nbi;
}

// If an operation is pending when its thread ends, the nbi record is not reused: the operation
// still completes into it.
static void test_end_keeps_pending(void **state)
{
    (void)state;
    assert_true(aq_thread_mode("par"));
    aq_thread_self();
    aq_event_t *theirs = run_in_thread(leave_pending, NULL);
    assert_false(pool_has(theirs));
    aq_event_end(aq_event_part(theirs, AQ_PART_PUT));
    aq_event_free(theirs);
}

// ---- the end of a thread ----

static char runs[16]; // a letter for each piece of work that has run

static void run_first(void)
{
    strcat(runs, "f");
}

static void add_first(void *unused)
{
    static _Thread_local aq_thread_end_t end = {.run = run_first};
    (void)unused;
    aq_thread_at_end(&end);
}

// Like the end of a thread that frees an event, after the thread has given its events back.
static void run_last(void)
{
    static _Thread_local aq_thread_end_t end = {.run = run_first};
    strcat(runs, "l");
    aq_thread_at_end(&end);
}

static void *use_ends(void *key)
{
    static _Thread_local aq_thread_end_t end = {.run = run_last};
    add_first(NULL);
    aq_thread_at_end(&end);
    pthread_setspecific(*(pthread_key_t *)key, &end);
    return NULL;
}

// The latest work runs first, and work that is added at the end runs, too: by other work, and by
// the destructor of a key of the client, which comes after the library's.
static void test_ends(void **state)
{
    pthread_key_t key;
    (void)state;
    runs[0] = '\0';
    add_first(NULL); // makes the library's key
    assert_int_equal(pthread_key_create(&key, add_first), 0);
    run_in_thread(use_ends, &key);
    assert_string_equal(runs, "lfff");
    pthread_key_delete(key);
}

// ---- the limit ----

static void *take_state_and_stay(void *barrier)
{
    static pthread_mutex_t entry = PTHREAD_MUTEX_INITIALIZER; // parsync: one caller at a time
    pthread_mutex_lock(&entry);
    aq_thread_self();
    pthread_mutex_unlock(&entry);
    pthread_barrier_wait(barrier);
    pause(); // until the process ends
    return NULL;
}

// Runs in a child process, where no thread has a state yet, and gives this many threads a state at
// the same time. Exits with 0 unless the library ends the process.
static _Noreturn void use_at_once(const char *mode, unsigned count, int err)
{
    pthread_t threads[8];
    pthread_barrier_t barrier;
    dup2(err, STDERR_FILENO);
    aq_thread_mode(mode);
    pthread_barrier_init(&barrier, NULL, count + 1);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, take_state_and_stay, &barrier) != 0)
            _exit(99);
    pthread_barrier_wait(&barrier); // now each thread has its state
    _exit(0);
}

static int exit_code_of(const char *mode, unsigned count, char *text, size_t size)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        use_at_once(mode, count, ends[1]);
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n; (n = read(ends[0], text + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    text[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Must run before any other test gives a thread of this process a state.
static void test_limit(void **state)
{
    (void)state;
    char text[4096];
    assert_int_equal(exit_code_of("par", 2, text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_int_equal(exit_code_of("par", 3, text, sizeof text), 1);
    assert_non_null(strstr(text, "GASNET_MAX_THREADS allows 2: raise it or end threads"));
    assert_int_equal(exit_code_of("parsync", 3, text, sizeof text), 1);
    assert_non_null(strstr(text, "3 client threads are in use"));
}

// ---- the lock ----

static aq_lock_t lock;
static volatile unsigned long sum; // protected by the lock

// Adds one to the sum. Yields between read and write, so that without mutual exclusion the sum
// would be wrong.
static void add_one(unsigned turn)
{
    unsigned long seen = sum;
    if (turn % 256 == 0)
        sched_yield();
    sum = seen + 1;
}

static void *count_up(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < TURNS; i++) {
        aq_lock_take(&lock);
        add_one(i);
        aq_lock_drop(&lock);
    }
    return NULL;
}

static void test_exclusion(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    assert_true(aq_thread_mode("par"));
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(sum, (unsigned long)THREADS * TURNS);
}

static void test_try(void **state)
{
    (void)state;
    aq_lock_t one = {0}, two = {0};
    assert_true(aq_thread_mode("par"));
    for (unsigned i = 0; i < 3; i++) {
        assert_true(aq_lock_try(&one));
        assert_false(aq_lock_try(&one));
        assert_true(aq_lock_try(&two));
        aq_lock_drop(&one);
        assert_false(aq_lock_try(&two));
        aq_lock_drop(&two);
    }
    aq_lock_take(&one);
    assert_false(aq_lock_try(&one));
    aq_lock_drop(&one);
}

// In modes in which threads never run at the same time, a lock is neither written nor read.
static void test_lock_is_unused(void **state)
{
    (void)state;
    static const char *const modes[] = {"seq", "parsync"};
    for (unsigned i = 0; i < 2; i++) {
        aq_lock_t untouched = {0}, held = {7};
        assert_true(aq_thread_mode(modes[i]));
        assert_true(aq_lock_try(&held));
        aq_lock_drop(&held);
        assert_int_equal(held.held, 7);
        aq_lock_take(&untouched);
        assert_int_equal(untouched.held, 0);
        aq_lock_drop(&untouched);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_default_limit),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_bad_modes),
        cmocka_unit_test(test_helpers),
        cmocka_unit_test(test_self),
        cmocka_unit_test(test_in_turn),
        cmocka_unit_test(test_end_frees),
        cmocka_unit_test(test_end_keeps_pending),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_exclusion),
        cmocka_unit_test(test_try),
        cmocka_unit_test(test_lock_is_unused),
    };
    return cmocka_run_group_tests(tests, allow_two, NULL);
}
