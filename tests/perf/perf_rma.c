/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get: blocking latency, NBI rate, NBI bandwidth. */
#include "perf.h"

enum { BW_WINDOW = 16 }; /* operations between two waits, for a bandwidth */

static double put_batch(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++)
        gex_RMA_PutBlocking(job->tm, job->peer, job->peer_target, job->source, bytes, 0);
    return aq_perf_now() - start;
}

/* Gets from the source half of the peer to the target half of rank 0. */
static double get_batch(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++)
        gex_RMA_GetBlocking(job->tm, job->lead_target, job->peer, job->peer_source, bytes, 0);
    return aq_perf_now() - start;
}

static double put_windows(size_t bytes, unsigned long n, unsigned window)
{
    const aq_perf_job_t *job = &aq_perf_job;
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++) {
        for (unsigned w = 0; w < window; w++)
            gex_RMA_PutNBI(job->tm, job->peer, job->peer_target, job->source, bytes,
                           GEX_EVENT_DEFER, 0);
        gex_NBI_Wait(GEX_EC_PUT, 0);
    }
    return aq_perf_now() - start;
}

static double get_windows(size_t bytes, unsigned long n, unsigned window)
{
    const aq_perf_job_t *job = &aq_perf_job;
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++) {
        for (unsigned w = 0; w < window; w++)
            gex_RMA_GetNBI(job->tm, job->lead_target, job->peer, job->peer_source, bytes, 0);
        gex_NBI_Wait(GEX_EC_GET, 0);
    }
    return aq_perf_now() - start;
}

static double put_rate_batch(size_t bytes, unsigned long n)
{
    return put_windows(bytes, n, AQ_PERF_RATE_WINDOW);
}

static double get_rate_batch(size_t bytes, unsigned long n)
{
    return get_windows(bytes, n, AQ_PERF_RATE_WINDOW);
}

static double put_bw_batch(size_t bytes, unsigned long n)
{
    return put_windows(bytes, n, BW_WINDOW);
}

static double get_bw_batch(size_t bytes, unsigned long n)
{
    return get_windows(bytes, n, BW_WINDOW);
}

void aq_perf_put(size_t bytes)
{
    aq_perf_report("put", bytes, 1e6 * aq_perf_measure(put_batch, bytes), "us");
}

void aq_perf_get(size_t bytes)
{
    aq_perf_report("get", bytes, 1e6 * aq_perf_measure(get_batch, bytes), "us");
}

static void report_rate(const char *test, aq_perf_batch_t batch, size_t bytes)
{
    aq_perf_report(test, bytes, 1e-6 * AQ_PERF_RATE_WINDOW / aq_perf_measure(batch, bytes), "M/s");
}

static void report_bw(const char *test, aq_perf_batch_t batch, size_t bytes)
{
    double moved = 1e-6 * BW_WINDOW * (double)bytes;

    aq_perf_report(test, bytes, moved / aq_perf_measure(batch, bytes), "MB/s");
}

void aq_perf_put_rate(size_t bytes)
{
    report_rate("put-rate", put_rate_batch, bytes);
}

void aq_perf_get_rate(size_t bytes)
{
    report_rate("get-rate", get_rate_batch, bytes);
}

void aq_perf_put_bw(size_t bytes)
{
    report_bw("put-bw", put_bw_batch, bytes);
}

void aq_perf_get_bw(size_t bytes)
{
    report_bw("get-bw", get_bw_batch, bytes);
}
