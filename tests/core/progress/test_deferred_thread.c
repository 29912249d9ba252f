// SPDX-License-Identifier: BSD-3-Clause
// Progress threads that the client runs (GEX_FLAG_DEFER_THREADS), of two conduits: which threads
// there are for which settings, what they poll for, and how they end. The conduits are stubs that
// count their polls; each scenario runs in a child, because the threads of a process end once.
#include "../../unit/unit_test.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../core/progress/progress_thread.h"
#include "../../../core/state/job.h"
#include "../../../other/base/settings/settings.h"

enum { CONDUITS = 2 };

typedef struct stub {
    aq_conduit_t conduit;
    atomic_uint what; // of the last poll
    sem_t polled;
} stub_t;

static stub_t stubs[CONDUITS];
static sem_t ended;
static atomic_uint returned, open_to_signals;

static unsigned note_poll(aq_conduit_t *conduit, unsigned what)
{
    stub_t *stub = &stubs[conduit == &stubs[1].conduit];
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (!sigismember(&blocked, SIGINT))
        atomic_fetch_add(&open_to_signals, 1);
    atomic_store(&stub->what, what);
    sem_post(&stub->polled);
    return 0;
}

static void name_devices(aq_conduit_t *conduit, char *text, size_t size)
{
    (void)conduit;
    snprintf(text, size, "one,two");
}

static void start_job(const char *receives, const char *sends)
{
    static const aq_conduit_ops_t plain = {.name = "plain", .am = {.poll = note_poll}};
    static const aq_conduit_ops_t network = {
        .name = "network", .am = {.poll = note_poll}, .report = {.devices = name_devices}};
    char errbuf[256];
    setenv("GASNET_RCV_THREAD", receives, 1);
    setenv("GASNET_SND_THREAD", sends, 1);
    assert_int_equal(aq_settings_load(errbuf, sizeof errbuf), AQ_OK);
    aq_threads = true;
    aq_job.nbrhd.size = 2; // with neighbours, all conduits have a progress thread
    aq_job.conduit_count = CONDUITS;
    stubs[0].conduit = (aq_conduit_t){.ops = &plain};
    stubs[1].conduit = (aq_conduit_t){.ops = &network, .capabilities = AQ_CAN_COMPLETE};
    for (unsigned i = 0; i < CONDUITS; i++) {
        aq_job.conduits[i] = &stubs[i].conduit;
        sem_init(&stubs[i].polled, 0, 0);
    }
    sem_init(&ended, 0, 0);
    assert_int_equal(aq_progress_threads_start(true), AQ_OK);
}

static void note_end(void *arg)
{
    (void)arg;
    sem_post(&ended);
}

static void *run(void *arg)
{
    const gex_ProgressThreadInfo_t *info = arg;
    pthread_cleanup_push(note_end, NULL);
    info->gex_progress_fn(info->gex_progress_arg);
    atomic_fetch_add(&returned, 1);
    pthread_cleanup_pop(0);
    return NULL;
}

static void start(const gex_ProgressThreadInfo_t *info)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, (void *)(uintptr_t)info), 0);
}

static void end_threads(unsigned count)
{
    aq_progress_threads_stop();
    for (unsigned i = 0; i < count; i++)
        sem_wait(&ended);
    assert_int_equal(atomic_load(&returned), 0);
    assert_int_equal(atomic_load(&open_to_signals), 0);
}

// The client may sleep on the descriptor when all its threads run: until then nothing would wake
// it.
static void receive_and_send(void)
{
    const gex_ProgressThreadInfo_t *info;
    start_job("1", "1");
    assert_int_equal(aq_progress_threads_arm(), AQ_AGAIN);
    assert_int_equal(aq_progress_threads_lend(&info), 2);
    assert_string_equal(info[0].gex_device_list, "plain");
    assert_int_equal(info[0].gex_thread_roles, GEX_THREAD_ROLE_RCV);
    assert_string_equal(info[1].gex_device_list, "one,two");
    assert_int_equal(info[1].gex_thread_roles, GEX_THREAD_ROLE_RCV | GEX_THREAD_ROLE_SND);
    start(&info[1]);
    sem_wait(&stubs[1].polled);
    assert_int_equal(aq_progress_threads_arm(), AQ_AGAIN);
    start(&info[0]);
    sem_wait(&stubs[0].polled);
    assert_int_equal(atomic_load(&stubs[0].what), AQ_POLL_REPLIES | AQ_POLL_REQUESTS);
    assert_int_equal(atomic_load(&stubs[1].what), AQ_POLL_REPLIES | AQ_POLL_REQUESTS);
    assert_int_equal(aq_progress_threads_arm(), AQ_OK);
    aq_progress_threads_disarm();
    end_threads(2);
}

static void send_only(void)
{
    const gex_ProgressThreadInfo_t *info;
    start_job("0", "1");
    assert_int_equal(aq_progress_threads_lend(&info), 1);
    assert_string_equal(info[0].gex_device_list, "one,two");
    assert_int_equal(info[0].gex_thread_roles, GEX_THREAD_ROLE_SND);
    start(&info[0]);
    sem_wait(&stubs[1].polled);
    sem_wait(&stubs[1].polled);
    assert_int_equal(atomic_load(&stubs[1].what), AQ_POLL_COMPLETIONS);
    assert_int_equal(sem_trywait(&stubs[0].polled), -1);
    assert_int_equal(aq_progress_threads_serve(false), AQ_OK); // no handlers run
    sem_wait(&stubs[1].polled);
    end_threads(1);
}

static void none(void)
{
    const gex_ProgressThreadInfo_t *info;
    start_job("0", "0");
    assert_int_equal(aq_progress_threads_lend(&info), 0);
    end_threads(0);
}

// A thread that comes after the end of the others ends, too, and polls nothing.
static void late(void)
{
    const gex_ProgressThreadInfo_t *info;
    start_job("1", "0");
    assert_int_equal(aq_progress_threads_lend(&info), 2);
    end_threads(0);
    start(&info[0]);
    sem_wait(&ended);
    assert_int_equal(sem_trywait(&stubs[0].polled), -1);
}

// Ends this process with a message.
static void twice(void)
{
    const gex_ProgressThreadInfo_t *info;
    start_job("1", "0");
    assert_int_equal(aq_progress_threads_lend(&info), 2);
    start(&info[0]);
    sem_wait(&stubs[0].polled);
    run((void *)(uintptr_t)&info[0]);
}

static int exit_code(void (*scenario)(void))
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        scenario();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_roles(void **state)
{
    (void)state;
    assert_int_equal(exit_code(receive_and_send), 0);
    assert_int_equal(exit_code(send_only), 0);
    assert_int_equal(exit_code(none), 0);
}

static void test_late(void **state)
{
    (void)state;
    assert_int_equal(exit_code(late), 0);
}

static void test_twice(void **state)
{
    (void)state;
    assert_int_not_equal(exit_code(twice), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
