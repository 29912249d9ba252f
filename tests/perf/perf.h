/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gasnet_perf: the declarations that its files share.
 *
 * Only the public GASNet-EX API is used, so the same sources compile against any GASNet.
 *
 *   gasnet_perf.c    main, the list of tests, how a test runs over the ranks
 *   perf_options.c   the command line
 *   perf_job.c       init, segments, phases: which ranks measure, serve and sleep
 *   perf_measure.c   warm-up, batches, median
 *   perf_report.c    the table, JSON, memory figures
 *   perf_together.c  tests in which every rank takes part
 *   perf_threads.c   tests by several threads (--threads)
 *   perf_thread.c    what one thread of such a test does, and its endpoint
 *   perf_service.c   threads that poll beside threads that work (service-thread)
 *   perf_tune.c      --tune: finds limits of collectives
 *   perf_tune_file.c the file of --tune
 *   perf_am.c perf_rma.c perf_msg.c perf_vis.c perf_atomic.c perf_barrier.c perf_coll.c perf_raw.c
 * the tests
 *
 * Rank 0 measures, and its peer is rank 1 (itself in a job of one rank). A phase is one test with
 * all its sizes. Ranks without a part in a phase sleep between polls, so that they take no
 * processor time from the others.
 */
#ifndef PERF_H
#define PERF_H

#include <gasnetex.h>
#if __has_include(<aqueduct.h>)
#include <aqueduct.h>
#endif
#if __has_include(<aqueduct_coll.h>)
#include <aqueduct_coll.h>
#endif
#if __has_include(<aqueduct_msg.h>)
#include <aqueduct_msg.h>
#endif
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { AQ_PERF_MAX_SIZES = 32, AQ_PERF_MAX_TESTS = 40, AQ_PERF_MAX_THREADS = 1000 };

/* Runs a batch of n operations of so many bytes each; returns its seconds. */
typedef double (*aq_perf_batch_t)(size_t bytes, unsigned long n);

/* Runs n operations of so many bytes each, on every rank. */
typedef void (*aq_perf_each_t)(size_t bytes, unsigned long n);

typedef struct aq_perf_thread aq_perf_thread_t;

/* Runs n operations of so many bytes each, in one of the threads of --threads. */
typedef void (*aq_perf_by_thread_t)(aq_perf_thread_t *thread, size_t bytes, unsigned long n);

typedef enum aq_perf_part {
    AQ_PERF_SINGLE, /* rank 0; all other ranks sleep */
    AQ_PERF_PAIR,   /* rank 0 and its peer, which serves */
    AQ_PERF_ALL     /* every rank */
} aq_perf_part_t;

typedef struct aq_perf_test {
    const char *name;
    aq_perf_part_t part;
    const char *sizes;             /* the sizes unless --size is given; NULL: the test has none */
    size_t (*limit)(void);         /* the largest legal size; NULL: half the segment */
    size_t (*room)(size_t);        /* bytes of half a segment that a size needs; NULL: the size */
    void (*set_up)(void);          /* every rank calls it before the first test; NULL: no call */
    aq_perf_each_t each;           /* every rank runs it, in a test of all ranks; else NULL */
    void (*lead)(size_t);          /* rank 0 runs it for one size */
    void (*follow)(unsigned);      /* the peer runs it in that phase; NULL: the peer serves */
    aq_perf_by_thread_t by_thread; /* each thread runs it; NULL: no test for threads */
    bool starts_threads;           /* lead and follow start and end the threads of --threads */
    unsigned
        window; /* > 0: by_thread makes so many operations of each, and the rate is the result */
    const char *about;
} aq_perf_test_t;

typedef struct aq_perf_sizes {
    size_t count;
    size_t bytes[AQ_PERF_MAX_SIZES];
} aq_perf_sizes_t;

/* The words of --service and of --wait, in this order. */
typedef enum aq_perf_service {
    AQ_PERF_SERVICE_SPIN,
    AQ_PERF_SERVICE_YIELD,
    AQ_PERF_SERVICE_NAP,
    AQ_PERF_SERVICE_BLOCK,
    AQ_PERF_SERVICE_NONE
} aq_perf_service_t;

typedef enum aq_perf_wait {
    AQ_PERF_WAIT_AUTO,
    AQ_PERF_WAIT_SPIN,
    AQ_PERF_WAIT_BLOCK,
    AQ_PERF_WAIT_SPINBLOCK,
    AQ_PERF_WAIT_POLL
} aq_perf_wait_t;

typedef struct aq_perf_options {
    bool json, memory, frames, list, help;
    unsigned long iters; /* operations in a batch; 0: as many as fit in `seconds` */
    double seconds;      /* for the batches of one measurement */
    aq_perf_sizes_t sizes;
    size_t blocks;    /* of a non-contiguous operation */
    unsigned threads; /* of each rank that takes part; 0: neither --threads nor --endpoints */
    bool own;         /* each thread has an endpoint */
    aq_perf_service_t service; /* what the service thread of service-thread does between polls */
    aq_perf_wait_t wait;       /* how its workers wait */
    size_t ntests;
    const aq_perf_test_t *tests[AQ_PERF_MAX_TESTS];
    const char *tune; /* the file of --tune; NULL: runs tests */
} aq_perf_options_t;

typedef struct aq_perf_job {
    gex_EP_t ep;
    gex_TM_t tm;
    gex_Rank_t rank, size, peer;
    size_t half;       /* bytes; tests write to the first half of a segment and read the second */
    char *source;      /* second half of this rank's segment */
    char *target;      /* first half of this rank's segment */
    char *peer_target; /* first half of the peer's segment, in its address space */
    char *peer_source;
    char *lead_target; /* first half of the segment of rank 0 */
} aq_perf_job_t;

extern aq_perf_options_t aq_perf_options;
extern aq_perf_job_t aq_perf_job;

/* The tests, ended by an entry without a name. */
extern const aq_perf_test_t aq_perf_tests[];

enum aq_perf_handler {
    AQ_PERF_READY = GEX_AM_INDEX_BASE,
    AQ_PERF_DONE,
    AQ_PERF_COMMAND,
    AQ_PERF_SHORT,
    AQ_PERF_MEDIUM,
    AQ_PERF_LONG,
    AQ_PERF_PING,
    AQ_PERF_PONG,
    AQ_PERF_FLOOD,
    AQ_PERF_FLOOD_GOAL,
    AQ_PERF_SHORT_BACK,
    AQ_PERF_MEDIUM_BACK,
    AQ_PERF_LONG_BACK,
    AQ_PERF_THREAD_SHORT,
    AQ_PERF_THREAD_FLOOD,
    AQ_PERF_THREAD_FLOOD_END,
    AQ_PERF_THREAD_BACK,
    AQ_PERF_SERVICE_LOCK,
    AQ_PERF_SERVICE_UNLOCK,
    AQ_PERF_SERVICE_GRANT,
    AQ_PERF_SERVICE_PASS
};

/* perf_options.c: returns false, with a message in `why`, if the command line is wrong. `room` is
 * the size of `why` in bytes. */
bool aq_perf_options_parse(int argc, char **argv, char *why, size_t room);
bool aq_perf_sizes_parse(const char *text, aq_perf_sizes_t *sizes);
void aq_perf_help(void);
const char *aq_perf_endpoints(void); /* the word of --endpoints */

/* perf_job.c */
void aq_perf_job_init(int *argc, char ***argv);
void aq_perf_job_attach(size_t largest);
void aq_perf_job_barrier(void);
void aq_perf_job_exit(int code) __attribute__((noreturn));
char *aq_perf_job_segment(gex_Rank_t rank); /* its base; every rank calls it at the same time */
void aq_perf_phase_open(void);              /* rank 0: waits until all others are in the phase */
void aq_perf_phase_close(void);             /* rank 0 */
void aq_perf_phase_enter(void);             /* others: tells rank 0 */
bool aq_perf_phase_over(unsigned k);        /* others: true if rank 0 has closed phase k (from 0) */
void aq_perf_phase_serve(unsigned k);       /* others: poll at full speed until phase k is closed */
void aq_perf_phase_sleep(unsigned k);       /* others: poll, with pauses, until phase k is closed */

/* perf_measure.c */
double aq_perf_now(void);
double aq_perf_measure(aq_perf_batch_t batch, size_t bytes); /* median seconds per operation */
double aq_perf_median(double *values, size_t count);         /* sorts the values */

/* perf_threads.c */
void aq_perf_threads_lead(const aq_perf_test_t *test, size_t bytes); /* rank 0: measures, reports */
void aq_perf_threads_start(void);           /* rank 0: starts the threads, which wait */
void aq_perf_threads_end(void);             /* rank 0 */
void aq_perf_threads_serve(unsigned phase); /* peer: all threads poll until the phase is closed */

/* perf_thread.c: the threads of this rank, from 0 to aq_perf_options.threads - 1. */
/* Every rank calls it once, with the bytes of the largest put or get. Ends the job if the threads
 * cannot have endpoints. */
void aq_perf_thread_set_up(size_t room);
aq_perf_thread_t *aq_perf_thread_at(unsigned index);
void aq_perf_thread_bind(aq_perf_thread_t *thread); /* the calling thread, to its endpoint */
void aq_perf_thread_unbind(void);
size_t aq_perf_thread_limit(void); /* the largest size of a put or get in bytes */
void aq_perf_thread_short(aq_perf_thread_t *thread, size_t bytes, unsigned long n);
void aq_perf_thread_flood(aq_perf_thread_t *thread, size_t bytes, unsigned long n);
void aq_perf_thread_put(aq_perf_thread_t *thread, size_t bytes, unsigned long n);
void aq_perf_thread_get(aq_perf_thread_t *thread, size_t bytes, unsigned long n);
void aq_perf_thread_put_rate(aq_perf_thread_t *thread, size_t bytes, unsigned long n);
void aq_perf_thread_get_rate(aq_perf_thread_t *thread, size_t bytes, unsigned long n);

/* perf_service.c, in programs that were compiled with GASNET_PAR */
void aq_perf_service_set_up(void);
void aq_perf_service(size_t bytes);
void aq_perf_service_follow(unsigned phase);

/* perf_together.c */
void aq_perf_together_register(void);
double aq_perf_together_measure(aq_perf_each_t each, size_t bytes); /* rank 0: median seconds */
double aq_perf_together_batch(aq_perf_each_t each, size_t bytes, unsigned long n); /* its seconds */
void aq_perf_together_close(void);                 /* rank 0: releases the rest */
void aq_perf_together_follow(aq_perf_each_t each); /* others: until released */

/* perf_report.c */
const char *aq_perf_conduit(void);
void aq_perf_report_title(void);
void aq_perf_report(const char *test, size_t bytes, double value, const char *unit);
void aq_perf_report_memory(void);
void aq_perf_report_peers(void); /* connections and their cost, if there are any */
/* Reports the messages per packet since the last call, if the runtime counts them. The first call
 * reports nothing. */
void aq_perf_report_frames(const char *test, size_t bytes);

/* perf_am.c */
void aq_perf_am_register(void);
size_t aq_perf_medium_limit(void);
size_t aq_perf_long_limit(void);
void aq_perf_short(size_t bytes);
void aq_perf_medium(size_t bytes);
void aq_perf_long(size_t bytes);
void aq_perf_reqreq(size_t bytes);
void aq_perf_reqreq_follow(unsigned phase);
void aq_perf_flood(size_t bytes);
void aq_perf_self(size_t bytes);
void aq_perf_poll_idle(size_t bytes);

/* perf_rma.c */
enum { AQ_PERF_RATE_WINDOW = 64 }; /* operations between two waits, for a rate */
void aq_perf_put(size_t bytes);
void aq_perf_get(size_t bytes);
void aq_perf_put_rate(size_t bytes);
void aq_perf_get_rate(size_t bytes);
void aq_perf_put_bw(size_t bytes);
void aq_perf_get_bw(size_t bytes);

/* perf_msg.c, if GASNETX_MSG is defined */
void aq_perf_msg_set_up(void);
void aq_perf_msg(size_t bytes);
void aq_perf_msg_follow(unsigned phase);
void aq_perf_msg_rate(size_t bytes);
void aq_perf_msg_rate_follow(unsigned phase);

/* perf_vis.c */
size_t aq_perf_blocks_room(size_t bytes);
size_t aq_perf_blocks_limit(void);
void aq_perf_put_strided(size_t bytes);
void aq_perf_get_strided(size_t bytes);
void aq_perf_put_vector(size_t bytes);
void aq_perf_raw_blocks(size_t bytes);

/* perf_atomic.c */
void aq_perf_atomic_set_up(void);
void aq_perf_fadd(size_t bytes);
void aq_perf_add(size_t bytes);
void aq_perf_fadd_rate(size_t bytes);
void aq_perf_add_rate(size_t bytes);
void aq_perf_add_initiate(size_t bytes);
void aq_perf_raw_add(size_t bytes);

/* perf_barrier.c */
void aq_perf_barrier(size_t bytes, unsigned long n);
void aq_perf_barrier_bound(size_t bytes);

/* perf_coll.c */
void aq_perf_broadcast(size_t bytes, unsigned long n);
void aq_perf_reduce_one(size_t bytes, unsigned long n);
void aq_perf_reduce_all(size_t bytes, unsigned long n);
#ifdef GASNETX_COLL
size_t aq_perf_all_limit(void);
size_t aq_perf_all_room(size_t bytes);
void aq_perf_allgather(size_t bytes, unsigned long n);
void aq_perf_alltoall(size_t bytes, unsigned long n);
#endif
#ifdef GASNETX_COLL_LIMITS
/* A limit that --tune has found. */
typedef struct aq_perf_tuned {
    const char *name;
    unsigned index;
    uint32_t fallback, value;
    double ratio, noise; /* of the time with value to that with fallback */
} aq_perf_tuned_t;

/* perf_tune.c */
size_t aq_perf_tune_room(gex_Rank_t ranks);           /* bytes of half a segment */
int aq_perf_tune_lead(void);                          /* rank 0: returns the exit code */
void aq_perf_tune_each(size_t word, unsigned long n); /* the others follow with it */

/* perf_tune_file.c: on rank 0; they print faults and return false. */
bool aq_perf_tune_check(const char *path); /* whether the file can be written */
bool aq_perf_tune_write(const char *path, const aq_perf_tuned_t *tuned, size_t ntuned,
                        double together);
#endif
void aq_perf_team(size_t bytes, unsigned long n);
void aq_perf_barrier_sub_set_up(void);
void aq_perf_barrier_sub(size_t bytes, unsigned long n);

/* perf_raw.c */
typedef struct aq_perf_child {
    pid_t pid;
    cpu_set_t allowed; /* the processors on which this process may run */
} aq_perf_child_t;

/* The processors that this process could have, also those of other ranks, if it was bound to some.
 */
void aq_perf_processors(cpu_set_t *out);

/* Starts a child that runs `loop`, which must not return, on another processor if there are two;
 * pins this process as well. aq_perf_raw_child_end waits for the child and unpins this process. */
aq_perf_child_t aq_perf_raw_child(void (*loop)(void), bool same_core);
void aq_perf_raw_child_end(aq_perf_child_t child);
void aq_perf_raw_die(const char *what) __attribute__((noreturn));
void aq_perf_raw(size_t bytes);
double aq_perf_raw_switch(void); /* seconds for one context switch */

/* perf_raw_udp.c */
void aq_perf_raw_udp(size_t bytes);

#endif
