/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program whose threads poll beside threads that work, as libraries on top of GASNet have it: in
 * each rank a service thread polls for ever, and --threads workers take locks and wait. All ranks
 * take part.
 *
 *   service thread   poll poll poll poll poll poll ...             --service spin, yield, block,
 * none workers          lock ... unlock ... lock ... unlock           --wait block, poll first
 * worker     reduction ... reduction ... barrier ... (the others wait for it)
 *
 * A lock is a queue at its home rank. Each rank is the home of one; all workers take them in turn.
 *
 *   worker          home                    next worker
 *     LOCK  ------->  free: GRANT back
 *     ...             taken: into the queue
 *     UNLOCK ------>  PASS back: who is next
 *     GRANT ---------------------------------> goes on
 */
#include "perf.h"

#ifdef GASNET_PAR

#include <gasnet_coll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LINE = 128, NOBODY = -1, NAP_NS = 1000 };

typedef struct worker {
    _Alignas(LINE) _Atomic unsigned granted; /* locks that this worker got */
    _Atomic unsigned passed;                 /* locks that it gave back */
    gex_AM_Arg_t next_rank, next_worker;     /* who is next; valid when passed has grown */
    pthread_t thread;
} worker_t;

typedef struct waiter {
    gex_AM_Arg_t rank, worker;
} waiter_t;

/* The lock whose home is this rank: taken, and a ring of those that wait. */
static struct {
    gex_HSL_t guard;
    bool taken;
    waiter_t *queue;
    unsigned room, first, count;
} lock;

static worker_t *workers;
static unsigned count_of_workers;

/* ---- handlers; rank and worker are those of the worker that wants, gets or has the lock ---- */

static void on_lock(gex_Token_t token, gex_AM_Arg_t rank, gex_AM_Arg_t worker)
{
    gex_HSL_Lock(&lock.guard);
    const bool wait = lock.taken;
    lock.taken = true;
    if (wait)
        lock.queue[(lock.first + lock.count++) % lock.room] = (waiter_t){rank, worker};
    gex_HSL_Unlock(&lock.guard);
    if (!wait)
        gex_AM_ReplyShort1(token, AQ_PERF_SERVICE_GRANT, 0, worker);
}

static void on_unlock(gex_Token_t token, gex_AM_Arg_t worker)
{
    waiter_t next = {NOBODY, NOBODY};

    gex_HSL_Lock(&lock.guard);
    if (lock.count) {
        next = lock.queue[lock.first];
        lock.first = (lock.first + 1) % lock.room;
        lock.count--;
    } else {
        lock.taken = false;
    }
    gex_HSL_Unlock(&lock.guard);
    gex_AM_ReplyShort3(token, AQ_PERF_SERVICE_PASS, 0, worker, next.rank, next.worker);
}

static void on_grant(gex_Token_t token, gex_AM_Arg_t worker)
{
    (void)token;
    atomic_fetch_add_explicit(&workers[worker].granted, 1, memory_order_release);
}

static void on_pass(gex_Token_t token, gex_AM_Arg_t worker, gex_AM_Arg_t rank, gex_AM_Arg_t next)
{
    (void)token;
    workers[worker].next_rank = rank;
    workers[worker].next_worker = next;
    atomic_fetch_add_explicit(&workers[worker].passed, 1, memory_order_release);
}

static void handlers_register(void)
{
    const gex_Flags_t request = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST;
    gex_AM_Entry_t table[] = {
        {AQ_PERF_SERVICE_LOCK, (gex_AM_Fn_t)on_lock, request, 2, NULL, "lock"},
        {AQ_PERF_SERVICE_UNLOCK, (gex_AM_Fn_t)on_unlock, request, 1, NULL, "unlock"},
        {AQ_PERF_SERVICE_GRANT, (gex_AM_Fn_t)on_grant, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQREP, 1,
         NULL, "grant"},
        {AQ_PERF_SERVICE_PASS, (gex_AM_Fn_t)on_pass, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 3, NULL,
         "pass"}};

    gex_EP_RegisterHandlers(aq_perf_job.ep, table, sizeof table / sizeof table[0]);
}

/* ---- waiting ---- */

/* Counters may have grown further: the one that a neighbour puts does. */
static bool reached(const _Atomic unsigned *counter, unsigned goal)
{
    return (int)(atomic_load_explicit(counter, memory_order_acquire) - goal) >= 0;
}

static void await_count(_Atomic unsigned *counter, unsigned goal)
{
    if (aq_perf_options.wait != AQ_PERF_WAIT_POLL)
        GASNET_BLOCKUNTIL(reached(counter, goal));
    else
        while (!reached(counter, goal))
            gasnet_AMPoll();
}

static void await_event(gex_Event_t event)
{
    if (aq_perf_options.wait != AQ_PERF_WAIT_POLL)
        gex_Event_Wait(event);
    else
        while (gex_Event_Test(event) != GASNET_OK)
            gasnet_AMPoll();
}

/* ---- what the workers do ---- */

static void worker_lock(worker_t *worker, gex_Rank_t home)
{
    const unsigned goal = atomic_load(&worker->granted) + 1;

    gex_AM_RequestShort2(aq_perf_job.tm, home, AQ_PERF_SERVICE_LOCK, 0,
                         (gex_AM_Arg_t)aq_perf_job.rank, (gex_AM_Arg_t)(worker - workers));
    await_count(&worker->granted, goal);
}

static void worker_unlock(worker_t *worker, gex_Rank_t home)
{
    const unsigned goal = atomic_load(&worker->passed) + 1;

    gex_AM_RequestShort1(aq_perf_job.tm, home, AQ_PERF_SERVICE_UNLOCK, 0,
                         (gex_AM_Arg_t)(worker - workers));
    await_count(&worker->passed, goal);
    if (worker->next_rank != NOBODY)
        gex_AM_RequestShort1(aq_perf_job.tm, (gex_Rank_t)worker->next_rank, AQ_PERF_SERVICE_GRANT,
                             0, worker->next_worker);
}

static void worker_take_locks(worker_t *worker, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        const gex_Rank_t home = (gex_Rank_t)(i % aq_perf_job.size);
        worker_lock(worker, home);
        worker_unlock(worker, home);
    }
}

/* ---- threads; the first worker is the main thread ---- */

static struct {
    unsigned long n;         /* locks of each worker; 0 in the round that ends the workers */
    _Atomic unsigned number; /* of the last round that began */
    _Atomic unsigned done;   /* workers that have ended rounds, counted over all rounds */
} the_round;

static _Atomic unsigned service_over;

static void workers_make(void)
{
    count_of_workers = aq_perf_options.threads ? aq_perf_options.threads : 1;
    lock.room = count_of_workers * aq_perf_job.size;
    lock.queue = malloc(lock.room * sizeof *lock.queue);
    workers = aligned_alloc(LINE, count_of_workers * sizeof *workers);
    if (!lock.queue || !workers)
        gasnet_exit(1);
    for (unsigned w = 0; w < count_of_workers; w++)
        workers[w] = (worker_t){.next_rank = NOBODY};
    gex_HSL_Init(&lock.guard);
}

static void *work(void *worker)
{
    const unsigned begun = atomic_load(&the_round.number);

    atomic_fetch_add(&the_round.done, 1);
    for (unsigned next = begun + 1;; next++) {
        await_count(&the_round.number, next);
        if (the_round.n == 0)
            return NULL;
        worker_take_locks(worker, the_round.n);
        atomic_fetch_add(&the_round.done, 1);
    }
}

static void *serve(void *unused)
{
    const aq_perf_service_t service = aq_perf_options.service;
    const struct timespec nap = {0, NAP_NS};

    (void)unused;
    if (service == AQ_PERF_SERVICE_BLOCK)
        GASNET_BLOCKUNTIL(reached(&service_over, 1));
    while (!reached(&service_over, 1)) {
        gasnet_AMPoll();
        if (service == AQ_PERF_SERVICE_YIELD || service == AQ_PERF_SERVICE_NAP)
            sched_yield();
        if (service == AQ_PERF_SERVICE_NAP)
            nanosleep(&nap, NULL);
    }
    return NULL;
}

static void thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    if (pthread_create(thread, NULL, run, argument)) {
        fprintf(stderr, "gasnet_perf: rank %u cannot start the threads of service-thread\n",
                (unsigned)aq_perf_job.rank);
        gasnet_exit(1);
    }
}

static unsigned goal; /* of the_round.done */

static void others_start(void)
{
    atomic_store(&service_over, 0);
    if (aq_perf_options.service != AQ_PERF_SERVICE_NONE)
        thread_start(&workers[0].thread, serve, NULL);
    for (unsigned w = 1; w < count_of_workers; w++)
        thread_start(&workers[w].thread, work, &workers[w]);
    goal += count_of_workers - 1;
    await_count(&the_round.done, goal);
}

static void round_begin(unsigned long n)
{
    the_round.n = n;
    atomic_fetch_add(&the_round.number, 1);
}

static void others_end(void)
{
    round_begin(0);
    for (unsigned w = 1; w < count_of_workers; w++)
        pthread_join(workers[w].thread, NULL);
    atomic_store(&service_over, 1);
    if (aq_perf_options.service != AQ_PERF_SERVICE_NONE)
        pthread_join(workers[0].thread, NULL);
}

/* ---- the figures ---- */

static void each_lock(size_t bytes, unsigned long n)
{
    (void)bytes;
    round_begin(n);
    worker_take_locks(&workers[0], n);
    goal += count_of_workers - 1;
    await_count(&the_round.done, goal);
}

static void each_reduce(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;
    uint64_t sum = 0, one = 1;

    (void)bytes;
    for (unsigned long i = 0; i < n; i++)
        await_event(gex_Coll_ReduceToAllNB(job->tm, &sum, &one, GEX_DT_U64, sizeof sum, 1,
                                           GEX_OP_ADD, NULL, NULL, 0));
    if (sum != job->size) {
        fprintf(stderr, "gasnet_perf: service-thread: the sum of %u ones is %llu\n",
                (unsigned)job->size, (unsigned long long)sum);
        gasnet_exit(1);
    }
}

static void each_barrier(size_t bytes, unsigned long n)
{
    (void)bytes;
    for (unsigned long i = 0; i < n; i++)
        await_event(gex_Coll_BarrierNB(aq_perf_job.tm, 0));
}

/* Each rank puts a number into the next one and waits for that of the previous one. A put is no
 * message, so it wakes nobody. */
static _Atomic unsigned *flag_here;
static void *flag_next;
static unsigned flags_put;

static void each_put(size_t bytes, unsigned long n)
{
    const gex_Rank_t next = (aq_perf_job.rank + 1) % aq_perf_job.size;

    (void)bytes;
    for (unsigned long i = 0; i < n; i++) {
        flags_put++;
        gex_RMA_PutBlocking(aq_perf_job.tm, next, flag_next, &flags_put, sizeof flags_put, 0);
        await_count(flag_here, flags_put);
    }
}

static void flags_find(void)
{
    for (gex_Rank_t r = 0; r < aq_perf_job.size; r++) {
        void *segment = aq_perf_job_segment(r);
        if (r == aq_perf_job.rank)
            flag_here = segment;
        if (r == (aq_perf_job.rank + 1) % aq_perf_job.size)
            flag_next = segment;
    }
}

static void service_begin(void)
{
    flags_put = 0;
    atomic_store(flag_here, 0);
    aq_perf_job_barrier();
    others_start();
}

static const struct {
    const char *name;
    aq_perf_each_t each;
} figures[] = {{"service-lock", each_lock},
               {"service-reduce", each_reduce},
               {"service-barrier", each_barrier},
               {"service-put", each_put}};
enum { FIGURES = sizeof figures / sizeof figures[0] };

void aq_perf_service_set_up(void)
{
    static const int modes[] = {GASNET_WAIT_SPIN, GASNET_WAIT_BLOCK, GASNET_WAIT_SPINBLOCK};
    const aq_perf_wait_t wait = aq_perf_options.wait;

    if (workers)
        return;
    workers_make();
    handlers_register();
    flags_find();
    if (wait >= AQ_PERF_WAIT_SPIN && wait <= AQ_PERF_WAIT_SPINBLOCK)
        gasnet_set_waitmode(modes[wait - AQ_PERF_WAIT_SPIN]);
}

void aq_perf_service(size_t bytes)
{
    service_begin();
    for (unsigned f = 0; f < FIGURES; f++) {
        const double seconds = aq_perf_together_measure(figures[f].each, bytes);
        aq_perf_together_close();
        aq_perf_job_barrier(); /* else the next command could come before this one is seen */
        aq_perf_report(figures[f].name, 0, 1e6 * seconds, "us");
    }
    others_end();
}

void aq_perf_service_follow(unsigned phase)
{
    (void)phase;
    service_begin();
    for (unsigned f = 0; f < FIGURES; f++) {
        aq_perf_together_follow(figures[f].each);
        aq_perf_job_barrier();
    }
    others_end();
}

#endif
