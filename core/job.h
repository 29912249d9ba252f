// The job as this process sees it: its ranks, its open conduits, and the table of peers.
//
// The table has 32 bytes for each rank (asserted in job.c): link and segment. A rank that this
// process never communicated with costs nothing else.
//
//     rank r:   link[r]          0: not bound; else the link, bit 0: index of the conduit
//               shift[r]         from addresses of r to addresses here; odd: not mapped
//               segment_addr[r], segment_size[r]    as r sees them; size 0: no segment
#ifndef AQ_JOB_H
#define AQ_JOB_H

#include <stdatomic.h>

#include "conduit.h"
#include "gasnetex_core.h"
#include "thread.h"

#define AQ_UNMAPPED ((intptr_t)1)
#define AQ_MAX_CONDUITS 2

// A set of ranks that share something: this process's host, or its neighbourhood.
typedef struct aq_group {
    gex_RankInfo_t *members; // ascending job ranks
    gex_Rank_t size;
    gex_Rank_t my_index;
    gex_Rank_t groups;   // number of such groups in the job
    gex_Rank_t my_group; // number of this group
} aq_group_t;

// How this process leaves a job that another rank has ended. exit.c provides it: exit.c needs
// messages and so stands above this file.
typedef struct aq_job_exit {
    // Gives the client a moment to end by itself and returns until then; after it, does not return.
    void (*requested)(void);
    // Ends this process with the code of the job, unless this thread is doing so already.
    void (*if_ended)(void);
} aq_job_exit_t;

typedef struct aq_job {
    aq_boot_t *boot;
    uint32_t rank, size; // size is 0 before init and after a failed init
    bool failed;         // init has failed
    aq_group_t host, nbrhd;

    aq_conduit_t *conduits[AQ_MAX_CONDUITS];
    unsigned conduit_count;
    // The first conduits, so many, need no poll: only this process could send to itself by them,
    // and it has not done so yet.
    _Atomic unsigned unused_conduits;
    uint8_t
        *descriptions[AQ_MAX_CONDUITS]; // of all ranks, description_bytes each; NULL: none needed

    atomic_uintptr_t *link;
    intptr_t *shift;
    uintptr_t *segment_addr;
    uintptr_t *segment_size;
    atomic_size_t bound_peers;

    // The least limits of all open conduits. max_long is for replies, max_long_request for
    // requests.
    size_t max_medium, max_long, max_long_unmapped, max_long_request;
    aq_conduit_env_t env;
    const aq_job_exit_t *exit; // set at init, before the job starts
} aq_job_t;

extern aq_job_t aq_job;

// Replaces the boot before init. Its job counts as ended, so that a poll, which checks for that
// anyway, calls aq_job_missing without another test.
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

// Checks that there is a job; for all public calls that need one but those of hot paths, in every
// build.
static inline void aq_job_need(const char *call)
{
    if (__builtin_expect(!aq_job.size, 0))
        aq_job_missing(call);
}

// Computes the payload limits, at init and after those of a conduit may have changed.
void aq_job_find_limits(void);

// Connects to a rank on first use. If no conduit reaches it, ends this process: as a fault, or
// because the job has ended. Any thread.
uintptr_t aq_job_bind(uint32_t rank);

// The link of a rank; connects first if need be.
static inline uintptr_t aq_job_link(uint32_t rank)
{
    uintptr_t link = atomic_load_explicit(&aq_job.link[rank], memory_order_acquire);
    return __builtin_expect(link != 0, 1) ? link : aq_job_bind(rank);
}
static inline aq_conduit_t *aq_link_conduit(uintptr_t link)
{
    return aq_job.conduits[link & 1];
}
static inline void *aq_link_pointer(uintptr_t link)
{
    return (void *)(link & ~(uintptr_t)1);
}

#endif
