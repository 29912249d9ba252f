/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests by several threads of a rank (--threads). Thread 0 is the main thread; the others live from
 * the start of a test to its end. A batch is a round, in which every thread makes the same number
 * of operations:
 *
 *   main     next round   ready ...   operations ...   waits for all
 *   others   wait         ready ...   operations ...   wait for the next round
 */
#include "perf.h"

#include <stdio.h>
#include <stdlib.h>
#ifdef GASNET_PAR
#include <pthread.h>
#endif

static struct {
    aq_perf_by_thread_t run; /* NULL in the round that ends the threads */
    size_t bytes;
    unsigned long n;
    atomic_uint number;      /* of the last round that began */
    atomic_uint ready, done; /* threads of this round */
    double *started, *ended; /* by thread */
} the_round;

static unsigned rounds_begun; /* by the main thread */

/* For waits that no message ends. The thread polls, because the library may have to acknowledge or
 * send, and lets others run. */
static void wait_a_little(void)
{
    gasnet_AMPoll();
    sched_yield();
}

static void take_part(unsigned index)
{
    aq_perf_thread_t *thread = aq_perf_thread_at(index);

    atomic_fetch_add(&the_round.ready, 1);
    while (atomic_load(&the_round.ready) < aq_perf_options.threads)
        sched_yield();
    the_round.started[index] = aq_perf_now();
    the_round.run(thread, the_round.bytes, the_round.n);
    the_round.ended[index] = aq_perf_now();
    atomic_fetch_add(&the_round.done, 1);
}

static void begin_round(aq_perf_by_thread_t run, size_t bytes, unsigned long n)
{
    the_round.run = run;
    the_round.bytes = bytes;
    the_round.n = n;
    atomic_store(&the_round.ready, 0);
    atomic_store(&the_round.done, 0);
    atomic_store(&the_round.number, ++rounds_begun);
}

static const aq_perf_test_t *measured;

static double round_batch(size_t bytes, unsigned long n)
{
    begin_round(measured->by_thread, bytes, n);
    take_part(0);
    while (atomic_load(&the_round.done) < aq_perf_options.threads)
        wait_a_little();

    double first = the_round.started[0], last = the_round.ended[0];
    for (unsigned t = 1; t < aq_perf_options.threads; t++) {
        first = the_round.started[t] < first ? the_round.started[t] : first;
        last = the_round.ended[t] > last ? the_round.ended[t] : last;
    }
    return last - first;
}

/* The sum of the rates of all threads, and the time of an operation unless it is one of many that
 * are waited for together. */
void aq_perf_threads_lead(const aq_perf_test_t *test, size_t bytes)
{
    char name[64];

    measured = test;
    double seconds = aq_perf_measure(round_batch, bytes);
    double per_round = (test->window ? test->window : 1) * (double)aq_perf_options.threads;
    if (test->window) {
        aq_perf_report(test->name, bytes, 1e-6 * per_round / seconds, "M/s");
        return;
    }
    snprintf(name, sizeof name, "%s-sum", test->name);
    aq_perf_report(test->name, test->sizes ? bytes : 0, 1e6 * seconds, "us");
    aq_perf_report(name, test->sizes ? bytes : 0, 1e-6 * per_round / seconds, "M/s");
}

/* ---- threads ---- */

#ifdef GASNET_PAR
static pthread_t *others;

static unsigned rounds_before; /* that began before the threads of this test */

static void *join_rounds(void *number)
{
    const unsigned index = (unsigned)(uintptr_t)number;

    aq_perf_thread_bind(aq_perf_thread_at(index));
    for (unsigned seen = rounds_before;; seen++) {
        while (atomic_load(&the_round.number) == seen)
            wait_a_little();
        if (!the_round.run)
            break;
        take_part(index);
    }
    aq_perf_thread_unbind();
    return NULL;
}

static unsigned served;

static void *serve(void *number)
{
    aq_perf_thread_bind(aq_perf_thread_at((unsigned)(uintptr_t)number));
    aq_perf_phase_serve(served);
    aq_perf_thread_unbind();
    return NULL;
}

static void start_others(void *(*run)(void *))
{
    others = calloc(aq_perf_options.threads, sizeof *others);
    for (unsigned t = 1; t < aq_perf_options.threads; t++) {
        if (!others || pthread_create(&others[t], NULL, run, (void *)(uintptr_t)t)) {
            fprintf(stderr, "gasnet_perf: rank %u cannot start thread %u of %u\n",
                    (unsigned)aq_perf_job.rank, t, aq_perf_options.threads);
            gasnet_exit(1);
        }
    }
}

static void join_others(void)
{
    for (unsigned t = 1; t < aq_perf_options.threads; t++)
        pthread_join(others[t], NULL);
    free(others);
}
#endif

static void *allocate_times(void)
{
    void *times = calloc(aq_perf_options.threads, sizeof(double));

    if (!times)
        gasnet_exit(1);
    return times;
}

void aq_perf_threads_start(void)
{
    the_round.started = allocate_times();
    the_round.ended = allocate_times();
#ifdef GASNET_PAR
    rounds_before = rounds_begun;
    start_others(join_rounds);
#endif
    aq_perf_thread_bind(aq_perf_thread_at(0));
}

void aq_perf_threads_end(void)
{
    begin_round(NULL, 0, 0);
#ifdef GASNET_PAR
    join_others();
#endif
    aq_perf_thread_unbind();
    free(the_round.started);
    free(the_round.ended);
}

void aq_perf_threads_serve(unsigned phase)
{
#ifdef GASNET_PAR
    served = phase;
    start_others(serve);
#endif
    aq_perf_thread_bind(aq_perf_thread_at(0));
    aq_perf_phase_serve(phase);
    aq_perf_thread_unbind();
#ifdef GASNET_PAR
    join_others();
#endif
}
