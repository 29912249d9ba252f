// SPDX-License-Identifier: BSD-3-Clause
// The job as this process sees it: its ranks, its open conduits, and the table of peers.
//
// The table has 32 bytes for each rank (asserted in job.c): link and segment. A rank that this
// process never communicated with costs nothing else.
//
//     rank r:   link[r]          0: not bound; else the link, bits 0 and 1: index of the conduit
//               shift[r]         from addresses of r to addresses here; odd: not mapped
//               segment_addr[r], segment_size[r]    as r sees them; size 0: no segment
#pragma once

#include <stdatomic.h>

#include "../conduit.h"
#include "fast_counts.h"
#include "../gasnetex_core.h"
#include "../thread/thread.h"

#define AQ_UNMAPPED ((intptr_t)1)
#define AQ_MAX_CONDUITS 2

// A group of ranks: those of this process's host, or of its neighbourhood.
typedef struct aq_group {
    gex_RankInfo_t *members; // ascending job ranks
    gex_Rank_t size;
    gex_Rank_t my_index;
    gex_Rank_t groups;   // number of such groups in the job
    gex_Rank_t my_group; // number of this group
} aq_group_t;

// How this process leaves a job that another rank has ended. exit.c provides these functions,
// because exit.c needs messages and so is above this file.
typedef struct aq_job_exit {
    // Returns while the client has time to end by itself; afterwards does not return.
    void (*requested)(void);
    // Ends this process with the code of the job, unless this thread is doing so already.
    void (*if_ended)(void);
} aq_job_exit_t;

// The smallest limits of the payloads of all open conduits, in bytes.
typedef struct aq_job_limits {
    size_t medium, long_reply, long_unmapped, long_request;
} aq_job_limits_t;

typedef struct aq_job {
    aq_boot_t *boot;
    // size: of all tables, with the ranks of the reserve, which may join later; 0 before init and
    // after a failed init.
    uint32_t rank, size;
    _Atomic uint32_t absent; // the last ranks, which have not been started yet
    bool grows;              // the job was started with a reserve
    bool failed;             // init has failed
    bool returns_errors;     // GASNET_ERRORS=return; see access.h
    const char *network;     // name of the conduit that the program asked for
    aq_group_t host, nbrhd;  // with the ranks of the reserve

    aq_conduit_t *conduits[AQ_MAX_CONDUITS + 1]; // the last one is AQ_LOOPBACK
    unsigned conduit_count;                      // without the loopback
    // Number of the first conduits that need no poll, because only this process could send to
    // itself through them and has not done so yet.
    _Atomic unsigned unused_conduits;
    uint8_t
        *descriptions[AQ_MAX_CONDUITS]; // of all ranks, description_bytes each; NULL: none needed

    // Counters of all threads if no two of them call at once; else each thread has its own
    // (counters.h).
    aq_fast_counts_t fast;

    atomic_uintptr_t *link;
    atomic_uintptr_t own_link; // of this rank by the conduit that reaches it; 0: not bound yet
    intptr_t *shift;
    uintptr_t *segment_addr;
    uintptr_t *segment_size;
    atomic_size_t bound_peers;

    aq_job_limits_t limits;
    aq_conduit_env_t env;
    const aq_job_exit_t *exit; // set at init, before the job starts
} aq_job_t;

extern aq_job_t aq_job;

// The boot before init. It reports an ended job, so that polls, which check for the end of the job
// anyway, call aq_job_missing without another test.
extern aq_boot_t aq_job_no_boot;

// Whether this process belongs to a job that it has to leave, also after an init that failed late.
static inline bool aq_job_running(void)
{
    return aq_job.boot != NULL && aq_job.boot != &aq_job_no_boot;
}

// Ends this process because there is no job, with a message that names the call. Also ends the job
// whose start has failed. If a launcher has started several such processes, only one logs the
// message.
void aq_job_missing(const char *call) __attribute__((noreturn, cold));

// Called by polls that find the job ended, also before init; see requested in aq_job_exit_t.
void aq_job_exit_requested(void) __attribute__((cold));

// Ends this process with the code of the job if another rank has ended the job. For a bootstrap
// call that failed, or a peer that does not answer.
void aq_job_exit_if_ended(void);

// After a failed init: waits a few seconds in all ranks but rank 0, so that rank 0 reports a fault
// that all ranks have. Async-signal-safe.
void aq_job_let_first_speak(void);

// Checks that there is a job, in every build; for all public calls that need one, except on hot
// paths.
static inline void aq_job_need(const char *call)
{
    if (__builtin_expect(!aq_job.size, 0))
        aq_job_missing(call);
}

// As aq_job_need, for a call that communicates, polls or waits: a debug build also checks its
// context (aq_thread_check_context).
static inline void aq_job_admit(const char *call)
{
    aq_job_need(call);
    aq_thread_check_call(call);
}

// The number of ranks that have been started; their numbers are below it. Any thread.
static inline uint32_t aq_job_present(void)
{
    return aq_job.size - atomic_load_explicit(&aq_job.absent, memory_order_relaxed);
}

// Computes the payload limits; called at init and after the limits of a conduit may have changed.
void aq_job_find_limits(void);
