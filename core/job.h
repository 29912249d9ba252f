// The job as this process sees it: who takes part, through which conduits, and the table of peers.
//
// The table has 32 bytes for each rank (asserted in job.c): its link, and its segment. Nothing else
// is kept for a rank that was never spoken to.
//
//     rank r:   link[r]          0: not bound; else the link, bit 0: index of the conduit
//               shift[r]         from addresses of r to ours; odd: not mapped
//               segment_addr[r], segment_size[r]    as r sees them; size 0: none
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
    gex_Rank_t my_group; // which of them this one is
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
    uint32_t rank, size; // size is 0 before init, and after one that failed
    bool failed;         // init did
    aq_group_t host, nbrhd;

    aq_conduit_t *conduits[AQ_MAX_CONDUITS];
    unsigned conduit_count;
    // So many of them, the first ones, need no poll: only this process could send to itself by
    // them, and has not yet.
    _Atomic unsigned unused_conduits;
    uint8_t
        *descriptions[AQ_MAX_CONDUITS]; // of all ranks, description_bytes each; NULL: none needed

    atomic_uintptr_t *link;
    intptr_t *shift;
    uintptr_t *segment_addr;
    uintptr_t *segment_size;
    atomic_size_t bound_peers;

    // Least over the open conduits; max_long is what replies may have, max_long_request requests.
    size_t max_medium, max_long, max_long_unmapped, max_long_request;
    aq_conduit_env_t env;
    const aq_job_exit_t *exit; // set at init, before the job starts
} aq_job_t;

extern aq_job_t aq_job;

// Stands in for the boot before init. Its job has ended, so that a poll, which looks for that
// anyway, comes to aq_job_missing.
extern aq_boot_t aq_job_no_boot;

// Whether this process belongs to a job that it has to leave; also after an init that failed late.
static inline bool aq_job_running(void)
{
    return aq_job.boot != NULL && aq_job.boot != &aq_job_no_boot;
}

// There is no job: ends this process, and the job whose start has failed, with a message that names
// the call. Where a launcher has started several such processes, one of them speaks.
void aq_job_missing(const char *call) __attribute__((noreturn, cold));

// For polls that find the job ended, also before init: see aq_job_exit_t, requested.
void aq_job_exit_requested(void) __attribute__((cold));

// Ends this process with the code of the job if another rank has ended the job. For a bootstrap
// call that failed, or a peer that does not answer.
void aq_job_exit_if_ended(void);

// After an init that failed: waits a few seconds in all ranks but rank 0, which tells a fault that
// all of them have. Async-signal-safe.
void aq_job_let_first_speak(void);

// For public calls that need a job, in every build, but for those of the hot paths.
static inline void aq_job_need(const char *call)
{
    if (__builtin_expect(!aq_job.size, 0))
        aq_job_missing(call);
}

// The payload limits, again when those of a conduit may have changed.
void aq_job_find_limits(void);

// Connects to a rank on first use. Ends this process when no conduit reaches it, since the job has
// ended, or as a fault. Any thread.
uintptr_t aq_job_bind(uint32_t rank);

// The link of a rank, bound if need be.
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
