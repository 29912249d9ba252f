/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages with two sides: round trips, and the rate of those that find a receive posted. Only
 * where the GASNet has them (aqueduct_msg.h). */
#include "perf.h"

#ifdef GASNETX_MSG

#include <stdlib.h>
#include <string.h>

enum { PING, PONG, RATE, RATE_DONE }; /* tags */
enum { WINDOW = 64 };                 /* receives that are posted, and sends between two waits */

/* Memory outside of all segments, as users have it: what is sent, and what is received. */
static char *out, *in;

void aq_perf_msg_set_up(void)
{
    out = calloc(1, aq_perf_job.half);
    in = calloc(1, aq_perf_job.half);
    if (!out || !in)
        aq_perf_raw_die("memory for messages");
    memset(out, 1, aq_perf_job.half);
    memset(in, 2, aq_perf_job.half);
}

/* A job of one rank: what it sends, it receives itself, before the send is waited for. */
static void turn_self(uint32_t tag, size_t bytes)
{
    const aq_perf_job_t *job = &aq_perf_job;
    gasnetx_Request_t send;
    gasnetx_Msg_SendNB(job->tm, job->rank, tag, out, bytes, &send);
    gasnetx_Msg_Recv(job->tm, job->rank, tag, in, bytes, NULL);
    gasnetx_Request_Wait(&send, NULL);
}

static double self_batch(size_t bytes, unsigned long n)
{
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++) {
        turn_self(PING, bytes);
        turn_self(PONG, bytes);
    }
    return aq_perf_now() - start;
}

static double msg_batch(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++) {
        gasnetx_Msg_Send(job->tm, job->peer, PING, out, bytes);
        gasnetx_Msg_Recv(job->tm, job->peer, PONG, in, bytes, NULL);
    }
    return aq_perf_now() - start;
}

/* Waits until a receive is complete or the phase is over. Returns whether the latter. */
static bool receive_await(gasnetx_Request_t *receive, gasnetx_msg_status_t *status, unsigned phase)
{
    while (gasnetx_Request_Test(receive, status) == GASNET_ERR_NOT_READY)
        if (aq_perf_phase_over(phase))
            return true;
    return false;
}

/* Ends a persistent receive that no message has reached. */
static void receive_end(gasnetx_Request_t *receive)
{
    gasnetx_Request_Cancel(*receive);
    gasnetx_Request_Wait(receive, NULL);
    gasnetx_Request_Free(receive);
}

void aq_perf_msg_follow(unsigned phase)
{
    const aq_perf_job_t *job = &aq_perf_job;
    gasnetx_Request_t receive;
    gasnetx_msg_status_t status;

    gasnetx_Msg_RecvInit(job->tm, 0, PING, in, job->half, &receive);
    for (;;) {
        gasnetx_Request_Start(receive);
        if (receive_await(&receive, &status, phase))
            break;
        gasnetx_Msg_Send(job->tm, 0, PONG, out, status.nbytes);
    }
    receive_end(&receive);
}

void aq_perf_msg(size_t bytes)
{
    aq_perf_batch_t batch = aq_perf_job.size == 1 ? self_batch : msg_batch;
    aq_perf_report("msg", bytes, 1e6 * aq_perf_measure(batch, bytes), "us");
}

static double rate_self_batch(size_t bytes, unsigned long n)
{
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n * WINDOW; i++)
        turn_self(RATE, bytes);
    return aq_perf_now() - start;
}

/* Each window ends with the peer's word that its receives are posted again. */
static double rate_batch(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;
    gasnetx_Request_t sends[WINDOW];
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++) {
        for (unsigned w = 0; w < WINDOW; w++)
            gasnetx_Msg_SendNB(job->tm, job->peer, RATE, out, bytes, &sends[w]);
        gasnetx_Request_WaitAll(sends, WINDOW, NULL);
        gasnetx_Msg_Recv(job->tm, job->peer, RATE_DONE, NULL, 0, NULL);
    }
    return aq_perf_now() - start;
}

void aq_perf_msg_rate_follow(unsigned phase)
{
    const aq_perf_job_t *job = &aq_perf_job;
    gasnetx_Request_t receives[WINDOW];
    unsigned at = 0;

    for (unsigned w = 0; w < WINDOW; w++) {
        gasnetx_Msg_RecvInit(job->tm, 0, RATE, in, job->half, &receives[w]);
        gasnetx_Request_Start(receives[w]);
    }
    while (!receive_await(&receives[at], NULL, phase)) {
        gasnetx_Request_Start(receives[at]);
        at = (at + 1) % WINDOW;
        if (!at)
            gasnetx_Msg_Send(job->tm, 0, RATE_DONE, NULL, 0);
    }
    for (unsigned w = 0; w < WINDOW; w++)
        receive_end(&receives[w]);
}

void aq_perf_msg_rate(size_t bytes)
{
    aq_perf_batch_t batch = aq_perf_job.size == 1 ? rate_self_batch : rate_batch;
    aq_perf_report("msg-rate", bytes, 1e-6 * WINDOW / aq_perf_measure(batch, bytes), "M/s");
}

#endif
