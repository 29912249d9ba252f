/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives and teams, over all ranks.
 *
 * Each rank in turn is the root of a broadcast or a reduction, so that each operation waits for the
 * previous one. With a fixed root, ranks could run ahead of each other, and the figure would be a
 * rate.
 */
#include "perf.h"

#include <gasnet_coll.h>

static gex_TM_t sub_team;

/* Splits the team in two, or in one if the job has fewer than 4 ranks, and reverses the ranks. */
static gex_TM_t split_team(void)
{
    const aq_perf_job_t *job = &aq_perf_job;
    int color = job->size >= 4 && job->rank >= job->size / 2;
    int key = (int)(job->size - job->rank);
    gex_TM_t team = GEX_TM_INVALID;

    gex_TM_Split(&team, job->tm, color, key, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    return team;
}

void aq_perf_barrier_sub_set_up(void)
{
    if (sub_team == GEX_TM_INVALID)
        sub_team = split_team();
}

void aq_perf_barrier_sub(size_t bytes, unsigned long n)
{
    (void)bytes;
    for (unsigned long i = 0; i < n; i++)
        gex_Event_Wait(gex_Coll_BarrierNB(sub_team, 0));
}

void aq_perf_team(size_t bytes, unsigned long n)
{
    (void)bytes;
    for (unsigned long i = 0; i < n; i++)
        gex_TM_Destroy(split_team(), NULL, 0);
}

static gex_Rank_t root_of(unsigned long i)
{
    return (gex_Rank_t)(i % aq_perf_job.size);
}

void aq_perf_broadcast(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;

    for (unsigned long i = 0; i < n; i++)
        gex_Event_Wait(
            gex_Coll_BroadcastNB(job->tm, root_of(i), job->target, job->source, bytes, 0));
}

static size_t element_count(size_t bytes)
{
    return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
}

void aq_perf_reduce_one(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;

    for (unsigned long i = 0; i < n; i++)
        gex_Event_Wait(gex_Coll_ReduceToOneNB(job->tm, root_of(i), job->target, job->source,
                                              GEX_DT_U64, sizeof(uint64_t), element_count(bytes),
                                              GEX_OP_ADD, NULL, NULL, 0));
}

void aq_perf_reduce_all(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;

    for (unsigned long i = 0; i < n; i++)
        gex_Event_Wait(gex_Coll_ReduceToAllNB(job->tm, job->target, job->source, GEX_DT_U64,
                                              sizeof(uint64_t), element_count(bytes), GEX_OP_ADD,
                                              NULL, NULL, 0));
}

#ifdef GASNETX_COLL
/* Half a segment holds a block for each rank. */
size_t aq_perf_all_limit(void)
{
    return aq_perf_job.half / aq_perf_job.size;
}

size_t aq_perf_all_room(size_t bytes)
{
    return bytes * aq_perf_job.size;
}

void aq_perf_allgather(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;

    for (unsigned long i = 0; i < n; i++)
        gex_Event_Wait(gasnetx_Coll_AllgatherNB(job->tm, job->target, job->source, bytes, 0));
}

void aq_perf_alltoall(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;

    for (unsigned long i = 0; i < n; i++)
        gex_Event_Wait(gasnetx_Coll_AlltoallNB(job->tm, job->target, job->source, bytes, 0));
}
#endif
