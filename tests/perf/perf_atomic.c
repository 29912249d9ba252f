/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote atomics on one 8-byte integer in the peer's segment: blocking latency, NBI rate. */
#include "perf.h"

#include <gasnet_ratomic.h>

enum {
    BYTES = 8,
    RATE_WINDOW = 64, /* operations between two waits */
    CALLS = 256       /* operations between two readings of the clock */
};

static gex_AD_t domain;
/* Visible to other files, so that no compiler leaves the results out. */
uint64_t aq_perf_before[CALLS];

void aq_perf_atomic_set_up(void)
{
    if (domain == GEX_AD_INVALID)
        gex_AD_Create(&domain, aq_perf_job.tm, GEX_DT_U64, GEX_OP_FADD | GEX_OP_ADD, 0);
}

static double blocking_batch(gex_OP_t op, unsigned long n)
{
    const gex_AD_t ad = domain;
    const gex_Rank_t peer = aq_perf_job.peer;
    void *const target = aq_perf_job.peer_target;
    uint64_t *const before = aq_perf_before;
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++)
        gex_Event_Wait(gex_AD_OpNB_U64(ad, before, peer, target, op, 1, 0, 0));
    return aq_perf_now() - start;
}

static double window_batch(gex_OP_t op, unsigned long n)
{
    const gex_AD_t ad = domain;
    const gex_Rank_t peer = aq_perf_job.peer;
    void *const target = aq_perf_job.peer_target;
    uint64_t *const before = aq_perf_before;
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++) {
        for (unsigned w = 0; w < RATE_WINDOW; w++)
            gex_AD_OpNBI_U64(ad, &before[w], peer, target, op, 1, 0, 0);
        gex_NBI_Wait(GEX_EC_RMW, 0);
    }
    return aq_perf_now() - start;
}

static double fadd_batch(size_t bytes, unsigned long n)
{
    (void)bytes;
    return blocking_batch(GEX_OP_FADD, n);
}

static double add_batch(size_t bytes, unsigned long n)
{
    (void)bytes;
    return blocking_batch(GEX_OP_ADD, n);
}

static double fadd_rate_batch(size_t bytes, unsigned long n)
{
    (void)bytes;
    return window_batch(GEX_OP_FADD, n);
}

static double add_rate_batch(size_t bytes, unsigned long n)
{
    (void)bytes;
    return window_batch(GEX_OP_ADD, n);
}

/* The time of the calls alone. */
static double initiate_batch(size_t bytes, unsigned long n)
{
    const gex_AD_t ad = domain;
    const gex_Rank_t peer = aq_perf_job.peer;
    void *const target = aq_perf_job.peer_target;
    double took = 0;

    (void)bytes;
    for (unsigned long i = 0; i < n; i++) {
        double start = aq_perf_now();
        for (unsigned c = 0; c < CALLS; c++)
            gex_AD_OpNBI_U64(ad, NULL, peer, target, GEX_OP_ADD, 1, 0, 0);
        took += aq_perf_now() - start;
        gex_NBI_Wait(GEX_EC_RMW, 0);
    }
    return took;
}

/* Adds to the segment of this process by an instruction of the processor. */
static double raw_add_batch(size_t bytes, unsigned long n)
{
    _Atomic uint64_t *target = (_Atomic uint64_t *)(void *)aq_perf_job.target;
    double start = aq_perf_now();

    (void)bytes;
    for (unsigned long i = 0; i < n; i++)
        atomic_fetch_add(target, 1);
    return aq_perf_now() - start;
}

void aq_perf_fadd(size_t bytes)
{
    (void)bytes;
    aq_perf_report("fadd", BYTES, 1e6 * aq_perf_measure(fadd_batch, BYTES), "us");
}

void aq_perf_add(size_t bytes)
{
    (void)bytes;
    aq_perf_report("add", BYTES, 1e6 * aq_perf_measure(add_batch, BYTES), "us");
}

void aq_perf_fadd_rate(size_t bytes)
{
    double took = aq_perf_measure(fadd_rate_batch, bytes);

    aq_perf_report("fadd-rate", BYTES, 1e-6 * RATE_WINDOW / took, "M/s");
}

void aq_perf_add_rate(size_t bytes)
{
    double took = aq_perf_measure(add_rate_batch, bytes);

    aq_perf_report("add-rate", BYTES, 1e-6 * RATE_WINDOW / took, "M/s");
}

void aq_perf_add_initiate(size_t bytes)
{
    double took = aq_perf_measure(initiate_batch, bytes);

    aq_perf_report("add-initiate", BYTES, 1e6 * took / CALLS, "us");
}

void aq_perf_raw_add(size_t bytes)
{
    double took = aq_perf_measure(raw_add_batch, bytes);

    aq_perf_report("raw-add", BYTES, 1e6 * took, "us");
    aq_perf_report("raw-add-rate", BYTES, 1e-6 / took, "M/s");
}
