/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages: round trips, a request answered by a request, floods. */
#include "perf.h"

static _Atomic unsigned long answers; /* replies and pongs that rank 0 has received */
static _Atomic unsigned long pings;   /* requests of am-reqreq that have arrived */
static unsigned long pings_answered;
static _Atomic unsigned long flooded;    /* messages of am-flood that have arrived */
static _Atomic unsigned long flood_goal; /* the count to acknowledge */

/* For counts of tests with at most one message in flight: no two handlers run at the same time. */
static void count_one(_Atomic unsigned long *count)
{
    unsigned long next = atomic_load_explicit(count, memory_order_relaxed) + 1;

    atomic_store_explicit(count, next, memory_order_release);
}

static bool count_reached(_Atomic unsigned long *count, unsigned long goal)
{
    return atomic_load_explicit(count, memory_order_acquire) == goal;
}

static void on_short(gex_Token_t token)
{
    gex_AM_ReplyShort0(token, AQ_PERF_SHORT_BACK, 0);
}

static void on_medium(gex_Token_t token, void *buf, size_t bytes)
{
    (void)buf;
    gex_AM_ReplyMedium0(token, AQ_PERF_MEDIUM_BACK, aq_perf_job.source, bytes, GEX_EVENT_NOW, 0);
}

static void on_long(gex_Token_t token, void *buf, size_t bytes)
{
    (void)buf;
    gex_AM_ReplyLong0(token, AQ_PERF_LONG_BACK, aq_perf_job.source, bytes, aq_perf_job.lead_target,
                      GEX_EVENT_NOW, 0);
}

static void on_short_back(gex_Token_t token)
{
    (void)token;
    count_one(&answers);
}

static void on_payload_back(gex_Token_t token, void *buf, size_t bytes)
{
    (void)token;
    (void)buf;
    (void)bytes;
    count_one(&answers);
}

static void on_ping(gex_Token_t token)
{
    (void)token;
    count_one(&pings);
}

static void on_flood_goal(gex_Token_t token, gex_AM_Arg_t goal)
{
    atomic_store(&flooded, 0);
    atomic_store(&flood_goal, (unsigned long)goal);
    gex_AM_ReplyShort0(token, AQ_PERF_SHORT_BACK, 0);
}

/* Adds atomically: with a progress thread two of these handlers may run at the same time. */
static void on_flood(gex_Token_t token)
{
    unsigned long count = atomic_fetch_add_explicit(&flooded, 1, memory_order_relaxed) + 1;

    if (count == atomic_load_explicit(&flood_goal, memory_order_relaxed))
        gex_AM_ReplyShort0(token, AQ_PERF_SHORT_BACK, 0);
}

void aq_perf_am_register(void)
{
    const gex_Flags_t rq = GEX_FLAG_AM_REQUEST, rp = GEX_FLAG_AM_REPLY;
    const gex_Flags_t s = GEX_FLAG_AM_SHORT, m = GEX_FLAG_AM_MEDIUM, l = GEX_FLAG_AM_LONG;
    gex_AM_Entry_t table[] = {
        {AQ_PERF_SHORT, (gex_AM_Fn_t)on_short, s | rq, 0, NULL, "short"},
        {AQ_PERF_MEDIUM, (gex_AM_Fn_t)on_medium, m | rq, 0, NULL, "medium"},
        {AQ_PERF_LONG, (gex_AM_Fn_t)on_long, l | rq, 0, NULL, "long"},
        {AQ_PERF_PING, (gex_AM_Fn_t)on_ping, s | rq, 0, NULL, "ping"},
        {AQ_PERF_PONG, (gex_AM_Fn_t)on_short_back, s | rq, 0, NULL, "pong"},
        {AQ_PERF_FLOOD, (gex_AM_Fn_t)on_flood, s | rq, 0, NULL, "flood"},
        {AQ_PERF_FLOOD_GOAL, (gex_AM_Fn_t)on_flood_goal, s | rq, 1, NULL, "flood goal"},
        {AQ_PERF_SHORT_BACK, (gex_AM_Fn_t)on_short_back, s | rp, 0, NULL, "short back"},
        {AQ_PERF_MEDIUM_BACK, (gex_AM_Fn_t)on_payload_back, m | rp, 0, NULL, "medium back"},
        {AQ_PERF_LONG_BACK, (gex_AM_Fn_t)on_payload_back, l | rp, 0, NULL, "long back"}};

    gex_EP_RegisterHandlers(aq_perf_job.ep, table, sizeof table / sizeof table[0]);
}

static size_t min_of_three(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

size_t aq_perf_medium_limit(void)
{
    const aq_perf_job_t *job = &aq_perf_job;

    return min_of_three(gex_AM_MaxRequestMedium(job->tm, job->peer, GEX_EVENT_NOW, 0, 0),
                        gex_AM_MaxReplyMedium(job->tm, job->peer, GEX_EVENT_NOW, 0, 0), job->half);
}

size_t aq_perf_long_limit(void)
{
    const aq_perf_job_t *job = &aq_perf_job;

    return min_of_three(gex_AM_MaxRequestLong(job->tm, job->peer, GEX_EVENT_NOW, 0, 0),
                        gex_AM_MaxReplyLong(job->tm, job->peer, GEX_EVENT_NOW, 0, 0), job->half);
}

static double short_trips(gex_Rank_t rank, unsigned long n)
{
    unsigned long goal = atomic_load(&answers);
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++) {
        gex_AM_RequestShort0(aq_perf_job.tm, rank, AQ_PERF_SHORT, 0);
        goal++;
        GASNET_BLOCKUNTIL(count_reached(&answers, goal));
    }
    return aq_perf_now() - start;
}

static double short_batch(size_t bytes, unsigned long n)
{
    (void)bytes;
    return short_trips(aq_perf_job.peer, n);
}

static double self_batch(size_t bytes, unsigned long n)
{
    (void)bytes;
    return short_trips(aq_perf_job.rank, n);
}

static double poll_batch(size_t bytes, unsigned long n)
{
    double start = aq_perf_now();

    (void)bytes;
    for (unsigned long i = 0; i < n; i++)
        gasnet_AMPoll();
    return aq_perf_now() - start;
}

static double medium_batch(size_t bytes, unsigned long n)
{
    unsigned long goal = atomic_load(&answers);
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++) {
        gex_AM_RequestMedium0(aq_perf_job.tm, aq_perf_job.peer, AQ_PERF_MEDIUM, aq_perf_job.source,
                              bytes, GEX_EVENT_NOW, 0);
        goal++;
        GASNET_BLOCKUNTIL(count_reached(&answers, goal));
    }
    return aq_perf_now() - start;
}

static double long_batch(size_t bytes, unsigned long n)
{
    unsigned long goal = atomic_load(&answers);
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++) {
        gex_AM_RequestLong0(aq_perf_job.tm, aq_perf_job.peer, AQ_PERF_LONG, aq_perf_job.source,
                            bytes, aq_perf_job.peer_target, GEX_EVENT_NOW, 0);
        goal++;
        GASNET_BLOCKUNTIL(count_reached(&answers, goal));
    }
    return aq_perf_now() - start;
}

static bool ping_waits(void)
{
    return atomic_load_explicit(&pings, memory_order_acquire) != pings_answered;
}

static void answer_ping(void)
{
    pings_answered++;
    gex_AM_RequestShort0(aq_perf_job.tm, 0, AQ_PERF_PONG, 0);
}

/* Rank 0 answers, too: in a job of one rank it is its own peer. */
static double reqreq_batch(size_t bytes, unsigned long n)
{
    unsigned long goal = atomic_load(&answers);
    double start = aq_perf_now();

    (void)bytes;
    for (unsigned long i = 0; i < n; i++) {
        gex_AM_RequestShort0(aq_perf_job.tm, aq_perf_job.peer, AQ_PERF_PING, 0);
        goal++;
        GASNET_BLOCKUNTIL(count_reached(&answers, goal) || ping_waits());
        if (ping_waits()) {
            answer_ping();
            GASNET_BLOCKUNTIL(count_reached(&answers, goal));
        }
    }
    return aq_perf_now() - start;
}

void aq_perf_reqreq_follow(unsigned phase)
{
    while (!aq_perf_phase_over(phase)) {
        GASNET_BLOCKUNTIL(ping_waits() || aq_perf_phase_over(phase));
        if (ping_waits())
            answer_ping();
    }
}

static double flood_batch(size_t bytes, unsigned long n)
{
    unsigned long goal = atomic_load(&answers) + 1;

    (void)bytes;
    gex_AM_RequestShort1(aq_perf_job.tm, aq_perf_job.peer, AQ_PERF_FLOOD_GOAL, 0, (gex_AM_Arg_t)n);
    GASNET_BLOCKUNTIL(count_reached(&answers, goal));

    double start = aq_perf_now();
    for (unsigned long i = 0; i < n; i++)
        gex_AM_RequestShort0(aq_perf_job.tm, aq_perf_job.peer, AQ_PERF_FLOOD, 0);
    GASNET_BLOCKUNTIL(count_reached(&answers, goal + 1));
    return aq_perf_now() - start;
}

void aq_perf_short(size_t bytes)
{
    aq_perf_report("am-short", 0, 1e6 * aq_perf_measure(short_batch, bytes), "us");
}

void aq_perf_medium(size_t bytes)
{
    aq_perf_report("am-medium", bytes, 1e6 * aq_perf_measure(medium_batch, bytes), "us");
}

void aq_perf_long(size_t bytes)
{
    aq_perf_report("am-long", bytes, 1e6 * aq_perf_measure(long_batch, bytes), "us");
}

void aq_perf_reqreq(size_t bytes)
{
    aq_perf_report("am-reqreq", 0, 1e6 * aq_perf_measure(reqreq_batch, bytes), "us");
}

void aq_perf_flood(size_t bytes)
{
    aq_perf_report("am-flood", 0, 1e6 * aq_perf_measure(flood_batch, bytes), "us");
}

void aq_perf_self(size_t bytes)
{
    aq_perf_report("am-self", bytes, 1e6 * aq_perf_measure(self_batch, bytes), "us");
}

void aq_perf_poll_idle(size_t bytes)
{
    aq_perf_report("poll-idle", bytes, 1e6 * aq_perf_measure(poll_batch, bytes), "us");
}
