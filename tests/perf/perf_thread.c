/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One of the threads of --threads: its endpoint and memory, and the operations that it measures.
 *
 * Thread i of rank 0 works with thread i of the peer. With --endpoints shared all threads use the
 * primordial endpoint, and each has a slice of its segment. With --endpoints own, thread i has
 * endpoint i + 1 with a segment of its own.
 */
#include "perf.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINE = 128 }; /* bytes between counters that different threads write */

struct aq_perf_thread {
    gex_EP_t ep;
    gex_TM_t tm;
    gex_AM_Arg_t index;
    char *source, *target;                        /* of this rank */
    char *peer_source, *peer_target;              /* in the address space of the peer */
    _Alignas(LINE) _Atomic unsigned long answers; /* that have come for this thread */
    _Alignas(LINE) _Atomic long floods_missing;   /* announced, less those that have come */
};

static aq_perf_thread_t *threads;
static size_t slice; /* bytes of source, and of target */

aq_perf_thread_t *aq_perf_thread_at(unsigned index)
{
    return &threads[index];
}

size_t aq_perf_thread_limit(void)
{
    return slice;
}

/* ---- handlers; the argument is the index of a thread ---- */

static void on_short(gex_Token_t token, gex_AM_Arg_t index)
{
    gex_AM_ReplyShort1(token, AQ_PERF_THREAD_BACK, 0, index);
}

/* Any thread may run this handler, but only one answer to a thread is on its way. */
static void on_back(gex_Token_t token, gex_AM_Arg_t index)
{
    _Atomic unsigned long *answers = &threads[index].answers;
    unsigned long next = atomic_load_explicit(answers, memory_order_relaxed) + 1;

    (void)token;
    atomic_store_explicit(answers, next, memory_order_release);
}

/* Messages may overtake each other: the last one of a flood and of its announcement answers. */
static void add_floods(gex_Token_t token, gex_AM_Arg_t index, long count)
{
    _Atomic long *missing = &threads[index].floods_missing;

    if (atomic_fetch_add_explicit(missing, count, memory_order_acq_rel) + count == 0)
        gex_AM_ReplyShort1(token, AQ_PERF_THREAD_BACK, 0, index);
}

static void on_flood(gex_Token_t token, gex_AM_Arg_t index)
{
    add_floods(token, index, -1);
}

static void on_flood_end(gex_Token_t token, gex_AM_Arg_t index, gex_AM_Arg_t count)
{
    add_floods(token, index, count);
}

static void register_handlers(gex_EP_t ep)
{
    const gex_Flags_t request = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST;
    const gex_Flags_t reply = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY;
    gex_AM_Entry_t table[] = {
        {AQ_PERF_THREAD_SHORT, (gex_AM_Fn_t)on_short, request, 1, NULL, "thread's short"},
        {AQ_PERF_THREAD_FLOOD, (gex_AM_Fn_t)on_flood, request, 1, NULL, "thread's flood"},
        {AQ_PERF_THREAD_FLOOD_END, (gex_AM_Fn_t)on_flood_end, request, 2, NULL, "end of a flood"},
        {AQ_PERF_THREAD_BACK, (gex_AM_Fn_t)on_back, reply, 1, NULL, "answer to a thread"}};

    gex_EP_RegisterHandlers(ep, table, sizeof table / sizeof table[0]);
}

/* ---- endpoints and memory ---- */

static void thread_share(aq_perf_thread_t *thread)
{
    const aq_perf_job_t *job = &aq_perf_job;
    const size_t at = slice * (size_t)thread->index;

    thread->ep = job->ep;
    thread->tm = job->tm;
    thread->source = job->source + at;
    thread->target = job->target + at;
    thread->peer_source = job->peer_source + at;
    thread->peer_target = job->peer_target + at;
}

/* All ranks fail alike, or the job ends here. */
static void thread_refuse(const aq_perf_thread_t *thread, const char *call)
{
    fprintf(stderr,
            "gasnet_perf: --endpoints own: %s refuses thread %d of rank %u its endpoint: this "
            "GASNet has no active messages at further endpoints, so use --endpoints shared\n",
            call, (int)thread->index, (unsigned)aq_perf_job.rank);
    gasnet_exit(2);
}

static void thread_create(aq_perf_thread_t *thread)
{
    gex_Client_t client = gex_EP_QueryClient(aq_perf_job.ep);
    gex_Segment_t segment;

    if (gex_EP_Create(&thread->ep, client, GEX_EP_CAPABILITY_ALL, 0) != GASNET_OK)
        thread_refuse(thread, "gex_EP_Create");
    if (gex_Segment_Create(&segment, client, NULL, 2 * slice, GEX_MK_HOST, 0) != GASNET_OK)
        thread_refuse(thread, "gex_Segment_Create");
    if (gex_EP_BindSegment(thread->ep, segment, 0) != GASNET_OK)
        thread_refuse(thread, "gex_EP_BindSegment");
    register_handlers(thread->ep);
    thread->tm = gex_TM_Pair(thread->ep, gex_EP_QueryIndex(thread->ep));
    thread->target = gex_Segment_QueryAddr(segment);
    thread->source = thread->target + slice;
    for (size_t b = 0; b < 2 * slice; b++)
        thread->target[b] = (char)b; /* no measurement includes page faults */
}

static void publish_segments(void)
{
    const unsigned count = aq_perf_options.threads;
    gex_EP_t *eps = malloc(count * sizeof *eps);

    if (!eps)
        gasnet_exit(1);
    for (unsigned t = 0; t < count; t++)
        eps[t] = threads[t].ep;
    if (gex_EP_PublishBoundSegment(aq_perf_job.tm, eps, count, 0) != GASNET_OK)
        thread_refuse(&threads[0], "gex_EP_PublishBoundSegment");
    free(eps);
}

static void thread_find_peer(aq_perf_thread_t *thread)
{
    void *base = NULL;

    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(thread->tm, aq_perf_job.peer, &base, NULL, NULL, 0));
    thread->peer_target = base;
    thread->peer_source = thread->peer_target + slice;
}

static void create_all(void)
{
    for (unsigned t = 0; t < aq_perf_options.threads; t++)
        thread_create(&threads[t]);
    publish_segments();
    for (unsigned t = 0; t < aq_perf_options.threads; t++)
        thread_find_peer(&threads[t]);
}

void aq_perf_thread_set_up(size_t room)
{
    const unsigned count = aq_perf_options.threads;
    const size_t page = GASNET_PAGESIZE;

    threads = aligned_alloc(LINE, count * sizeof *threads);
    if (!threads)
        gasnet_exit(1);
    slice = aq_perf_options.own ? (room + page - 1) / page * page
                                : aq_perf_job.half / count / LINE * LINE;
    register_handlers(aq_perf_job.ep);
    for (unsigned t = 0; t < count; t++) {
        threads[t] = (aq_perf_thread_t){.index = (gex_AM_Arg_t)t};
        if (!aq_perf_options.own)
            thread_share(&threads[t]);
    }
    if (aq_perf_options.own)
        create_all();
}

void aq_perf_thread_bind(aq_perf_thread_t *thread)
{
#ifdef GASNETX_WINDOWS
    if (aq_perf_options.own)
        gasnetx_EP_BindThread(thread->ep);
#else
    (void)thread;
#endif
}

void aq_perf_thread_unbind(void)
{
#ifdef GASNETX_WINDOWS
    if (aq_perf_options.own)
        gasnetx_EP_BindThread(GEX_EP_INVALID);
#endif
}

/* ---- what a thread measures ---- */

static bool answers_reached(aq_perf_thread_t *thread, unsigned long goal)
{
    return atomic_load_explicit(&thread->answers, memory_order_acquire) == goal;
}

void aq_perf_thread_short(aq_perf_thread_t *thread, size_t bytes, unsigned long n)
{
    unsigned long goal = atomic_load(&thread->answers);

    (void)bytes;
    for (unsigned long i = 0; i < n; i++) {
        gex_AM_RequestShort1(thread->tm, aq_perf_job.peer, AQ_PERF_THREAD_SHORT, 0, thread->index);
        goal++;
        GASNET_BLOCKUNTIL(answers_reached(thread, goal));
    }
}

void aq_perf_thread_flood(aq_perf_thread_t *thread, size_t bytes, unsigned long n)
{
    unsigned long goal = atomic_load(&thread->answers) + 1;

    (void)bytes;
    for (unsigned long i = 0; i < n; i++)
        gex_AM_RequestShort1(thread->tm, aq_perf_job.peer, AQ_PERF_THREAD_FLOOD, 0, thread->index);
    gex_AM_RequestShort2(thread->tm, aq_perf_job.peer, AQ_PERF_THREAD_FLOOD_END, 0, thread->index,
                         (gex_AM_Arg_t)n);
    GASNET_BLOCKUNTIL(answers_reached(thread, goal));
}

void aq_perf_thread_put(aq_perf_thread_t *thread, size_t bytes, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        gex_RMA_PutBlocking(thread->tm, aq_perf_job.peer, thread->peer_target, thread->source,
                            bytes, 0);
}

void aq_perf_thread_get(aq_perf_thread_t *thread, size_t bytes, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        gex_RMA_GetBlocking(thread->tm, thread->target, aq_perf_job.peer, thread->peer_source,
                            bytes, 0);
}

/* The place in the slice after the one at `at`. Operations that are in progress at the same time
 * have places of their own, as far as the slice has room. */
static size_t next_place(size_t at, size_t bytes)
{
    return at + 2 * bytes > slice ? 0 : at + bytes;
}

void aq_perf_thread_put_rate(aq_perf_thread_t *thread, size_t bytes, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        size_t at = 0;
        for (unsigned w = 0; w < AQ_PERF_RATE_WINDOW; w++, at = next_place(at, bytes))
            gex_RMA_PutNBI(thread->tm, aq_perf_job.peer, thread->peer_target + at, thread->source,
                           bytes, GEX_EVENT_DEFER, 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
    }
}

void aq_perf_thread_get_rate(aq_perf_thread_t *thread, size_t bytes, unsigned long n)
{
    for (unsigned long i = 0; i < n; i++) {
        size_t at = 0;
        for (unsigned w = 0; w < AQ_PERF_RATE_WINDOW; w++, at = next_place(at, bytes))
            gex_RMA_GetNBI(thread->tm, thread->target + at, aq_perf_job.peer, thread->peer_source,
                           bytes, 0);
        gex_NBI_Wait(GEX_EC_GET, 0);
    }
}
