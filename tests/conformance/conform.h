/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The conformance suite: written once against the public API, run on every conduit.
 *
 * Always true here:
 * - only <gasnetex.h> is included (gasnet.h where CONFORM_GASNET1_HEADER asks for it);
 * - a subtest is a function without arguments, called by every rank, with a barrier before and
 *   after it; all operations that it initiates are complete when it returns;
 * - a failed check ends the whole job with exit code 1 and one sentence on standard error.
 *
 * The bound segment of each rank:
 *
 *   0          64 KiB               10 MiB                        20 MiB
 *   +----------+--------------------+-----------------------------+
 *   | exchange | inbox: peers write | outbox: only the owner uses |
 *   +----------+--------------------+-----------------------------+
 */
#ifndef CONFORM_H
#define CONFORM_H

#ifdef CONFORM_GASNET1_HEADER
#include <gasnet.h>
#define CONFORM_FLAGS GEX_FLAG_USES_GASNET1
#else
#include <gasnetex.h>
#define CONFORM_FLAGS 0
#endif

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define CONFORM_NAME "conform-1 ex" // a name that GASNet-EX accepts
#define CONFORM_SEGMENT ((size_t)20 << 20)
#define CONFORM_INBOX ((size_t)64 << 10)
#define CONFORM_OUTBOX ((size_t)10 << 20)

typedef struct {
    const char *name;
    void (*run)(void);
    const char *help;
} conform_test_t;

typedef struct {
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t tm;
    gex_EP_t am_ep; /* the endpoint whose messages are tested: ep, or that of CONFORM_ENDPOINT */
    gex_TM_t am;    /* where messages go: tm, or the pair of those endpoints */
    gex_Segment_t segment;
    gex_Rank_t rank;
    gex_Rank_t size;
    unsigned char **base; /* of each segment, by rank, in the address space of its owner */
    unsigned char *outbox;
    int threads;
    uint64_t seed;
    const char *subtest; /* the one that runs */
} conform_job_t;

extern conform_job_t job;

/* Counters that handlers and client threads share. */
typedef _Atomic uint64_t conform_count_t;

_Noreturn void conform_die(const char *file, int line, const char *cond, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void conform_match(const char *file, int line, const void *at, size_t n, uint64_t key,
                   const char *what);

/* The sentence after the condition says what was expected and what happened. */
#define CHECK(cond, ...)                                                                           \
    do {                                                                                           \
        if (!(cond))                                                                               \
            conform_die(__FILE__, __LINE__, #cond, __VA_ARGS__);                                   \
    } while (0)

/* Checks that the n bytes at `at` are what conform_fill(at, n, key) writes. */
#define CHECK_FILL(at, n, key, what) conform_match(__FILE__, __LINE__, at, n, key, what)

/* Deterministic values: a mixer of three numbers, a generator, and a pattern of bytes. */
uint64_t conform_mix(uint64_t a, uint64_t b, uint64_t c);
uint64_t conform_random(uint64_t *state);
uint64_t conform_stream(uint64_t number); /* the initial state of one of this rank's generators */
void conform_fill(void *at, size_t n, uint64_t key);

void conform_barrier(void);
/* all[r] becomes the value that rank r passed; every rank calls it. */
void conform_exchange(uint64_t mine, uint64_t *all);
void conform_nap(unsigned ms); /* sleeps without entering the library */
/* The kernel refuses a system call (SYS_...) from now on; a rank cannot undo that. */
void conform_refuse_call(long number);
uint64_t conform_frames_sent(void); /* messages so far; 0 where the library counts none. Polls */
void *conform_alloc(size_t n);
/* Registers a table; checks that entries with index 0 get the highest free ones, in order. */
void conform_register(gex_AM_Entry_t *table, size_t n);
void conform_index_used(unsigned index); /* notes an index that another call registered */
unsigned conform_free_index(void);       /* the highest index without a handler */
gex_Rank_t conform_source(gex_Token_t token);
/* The part of the inbox of `owner` for the payloads of `peer`: requests in the lower half of the
 * inbox, replies in the upper one. Sizes are in bytes. */
size_t conform_slot_size(void);
unsigned char *conform_slot(gex_Rank_t owner, gex_Rank_t peer, int reply);

/* The files of the suite register their handlers once, at the start. */
void conform_argn_setup(void);
void conform_am_setup(void);
void conform_flood_setup(void);
void conform_npam_setup(void);
void conform_barrier_setup(void);
void conform_sync_setup(void);
void conform_handler_setup(void);
void conform_vis_setup(void);
void conform_fence_setup(void);
#ifdef GASNET_PAR
void conform_thread_setup(void);
/* Runs `body` in `count` threads, at most 64, and waits for all. The calling thread is one of them
 * and has number 0. Each thread gets a pointer to its number, an int. */
void conform_in_threads(int count, void *(*body)(void *));
/* Attaches the segment in one thread while three others make and use teams. */
void conform_attach_beside(void);
#endif

#ifdef GASNET_SEGMENT_EVERYTHING
unsigned char *conform_everything_memory(void);
#endif

extern const conform_test_t conform_query_tests[];
extern const conform_test_t conform_team_tests[];
extern const conform_test_t conform_everything_tests[];
extern const conform_test_t conform_handler_tests[];
extern const conform_test_t conform_am_tests[];
extern const conform_test_t conform_flood_tests[];
extern const conform_test_t conform_npam_tests[];
extern const conform_test_t conform_rma_tests[];
extern const conform_test_t conform_event_tests[];
extern const conform_test_t conform_barrier_tests[];
extern const conform_test_t conform_counters_tests[];
extern const conform_test_t conform_endpoint_tests[];
extern const conform_test_t conform_window_tests[];
extern const conform_test_t conform_further_tests[];
extern const conform_test_t conform_fence_tests[];
extern const conform_test_t conform_sync_tests[];
extern const conform_test_t conform_thread_tests[];
extern const conform_test_t conform_concurrent_tests[];
extern const conform_test_t conform_ratomic_tests[];
extern const conform_test_t conform_vis_tests[];
extern const conform_test_t conform_coll_tests[];
extern const conform_test_t conform_coll1_tests[];
extern const conform_test_t conform_gather_tests[];
extern const conform_test_t conform_shared_tests[];
extern const conform_test_t conform_limits_tests[];
extern const conform_test_t conform_nets_tests[];

#endif
