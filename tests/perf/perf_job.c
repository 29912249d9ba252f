/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job of gasnet_perf: its start, its segments, and its phases.
 *
 *   rank 0      open ......... measures ......... close
 *   others      enter   serve, follow or sleep    end
 *
 * Phases use only active messages: a collective barrier between phases might spin and take
 * processor time from the ranks that measure.
 */
#include "perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

aq_perf_job_t aq_perf_job;

static _Atomic unsigned ready_count; /* on rank 0: entries of all ranks into all phases */
static _Atomic unsigned done_count;  /* on the others: the number of closed phases */

static void on_ready(gex_Token_t token)
{
    (void)token;
    atomic_fetch_add(&ready_count, 1);
}

static void on_done(gex_Token_t token)
{
    (void)token;
    atomic_fetch_add(&done_count, 1);
}

static void register_phases(void)
{
    gex_AM_Entry_t table[] = {{AQ_PERF_READY, (gex_AM_Fn_t)on_ready,
                               GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "ready"},
                              {AQ_PERF_DONE, (gex_AM_Fn_t)on_done,
                               GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "done"}};

    gex_EP_RegisterHandlers(aq_perf_job.ep, table, 2);
}

void aq_perf_job_init(int *argc, char ***argv)
{
    aq_perf_job_t *job = &aq_perf_job;
    gex_Client_t client;

    unsetenv("GASNET_SPAWN_CONDUIT"); /* one program measures every conduit: avoids a warning */
    if (gex_Client_Init(&client, &job->ep, &job->tm, "GASNET_PERF", argc, argv, 0) != GASNET_OK)
        exit(1); /* the library has printed the reason */
    job->rank = gex_TM_QueryRank(job->tm);
    job->size = gex_TM_QuerySize(job->tm);
    job->peer = job->size > 1 ? 1 : 0;
}

void aq_perf_job_barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(aq_perf_job.tm, 0));
}

void aq_perf_job_exit(int code)
{
    fflush(stdout);
    fflush(stderr);
    aq_perf_job_barrier(); /* else the exit of one rank could cut off the output of rank 0 */
    gasnet_exit(code);
    __builtin_unreachable();
}

#ifdef GASNET_SEGMENT_EVERYTHING
/* What stands for a segment, which is all memory. */
static char *own_memory;
static size_t own_size;

static void segment_attach(size_t size)
{
    own_memory = aligned_alloc(GASNET_PAGESIZE, size);
    own_size = size;
    if (!own_memory)
        gasnet_exit(1);
}

static char *own_segment(size_t *size)
{
    *size = own_size;
    return own_memory;
}

/* Collective, with the same rank everywhere. */
static char *segment_of(gex_Rank_t rank, size_t *size)
{
    uint64_t address = (uintptr_t)own_memory;

    gex_Event_Wait(
        gex_Coll_BroadcastNB(aq_perf_job.tm, rank, &address, &address, sizeof(address), 0));
    *size = own_size;
    return (char *)(uintptr_t)address;
}
#else
static void segment_attach(size_t size)
{
    gex_Segment_t segment;

    if (gex_Segment_Attach(&segment, aq_perf_job.tm, size) != GASNET_OK)
        gasnet_exit(1);
}

static char *segment_of(gex_Rank_t rank, size_t *size)
{
    void *base = NULL;
    uintptr_t length = 0;

    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(aq_perf_job.tm, rank, &base, NULL, &length, 0));
    *size = length;
    return base;
}

static char *own_segment(size_t *size)
{
    return segment_of(aq_perf_job.rank, size);
}
#endif

char *aq_perf_job_segment(gex_Rank_t rank)
{
    size_t size;

    return segment_of(rank, &size);
}

/* Divides segments into halves, of the same size on all ranks that measure: the smaller one of the
 * segments of rank 0 and its peer decides. */
static void divide_segments(void)
{
    aq_perf_job_t *job = &aq_perf_job;
    size_t lead_size, peer_size, my_size;
    char *lead_base = segment_of(0, &lead_size);
    char *peer_base = segment_of(job->peer, &peer_size);
    char *my_base = own_segment(&my_size);

    job->half = (lead_size < peer_size ? lead_size : peer_size) / 2;
    job->source = my_base + job->half;
    job->target = my_base;
    job->peer_target = peer_base;
    job->peer_source = peer_base + job->half;
    job->lead_target = lead_base;
}

/* Touches the memory that tests read and write, so that no measurement includes page faults. */
static void touch_segment(void)
{
    size_t size;
    char *base = own_segment(&size);

    if (aq_perf_job.rank == 0 || aq_perf_job.rank == aq_perf_job.peer)
        for (size_t at = 0; at < size; at++)
            base[at] = (char)at;
}

void aq_perf_job_attach(size_t largest)
{
    size_t page = GASNET_PAGESIZE;
    uintptr_t size = 2 * ((largest + page - 1) / page * page);
    uintptr_t most = gasnet_getMaxLocalSegmentSize();

    if (size > most)
        size = most / page * page;
    register_phases();
    aq_perf_am_register();
    aq_perf_together_register();
    segment_attach(size);
    divide_segments();
    if (aq_perf_options.ntests)
        touch_segment();
    aq_perf_job_barrier();
}

void aq_perf_phase_open(void)
{
    static unsigned expected;

    expected += aq_perf_job.size - 1;
    GASNET_BLOCKUNTIL(atomic_load(&ready_count) == expected);
}

void aq_perf_phase_close(void)
{
    for (gex_Rank_t r = 1; r < aq_perf_job.size; r++)
        gex_AM_RequestShort0(aq_perf_job.tm, r, AQ_PERF_DONE, 0);
}

void aq_perf_phase_enter(void)
{
    gex_AM_RequestShort0(aq_perf_job.tm, 0, AQ_PERF_READY, 0);
}

bool aq_perf_phase_over(unsigned k)
{
    return atomic_load_explicit(&done_count, memory_order_acquire) > k;
}

void aq_perf_phase_serve(unsigned k)
{
    GASNET_BLOCKUNTIL(aq_perf_phase_over(k));
}

/* Pauses grow to 16 ms: with many ranks, polls every millisecond would affect the figures. */
void aq_perf_phase_sleep(unsigned k)
{
    struct timespec pause = {0, 1000000};

    for (;;) {
        gasnet_AMPoll();
        if (aq_perf_phase_over(k))
            return;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 16000000)
            pause.tv_nsec *= 2;
    }
}
