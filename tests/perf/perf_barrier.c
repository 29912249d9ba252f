/* SPDX-License-Identifier: BSD-3-Clause */
/* The barrier over all ranks, and a lower bound of its time if ranks share processors. */
#include "perf.h"

#include <sched.h>

void aq_perf_barrier(size_t bytes, unsigned long n)
{
    (void)bytes;
    for (unsigned long i = 0; i < n; i++)
        aq_perf_job_barrier();
}

void aq_perf_barrier_bound(size_t bytes)
{
    gex_Rank_t here;
    cpu_set_t processors;

    (void)bytes;
    aq_perf_processors(&processors);
    unsigned cores = (unsigned)CPU_COUNT(&processors);
    gex_System_QueryHostInfo(NULL, &here, NULL);
    if (here > cores)
        aq_perf_report("barrier-bound", 0, 1e6 * 2 * here * aq_perf_raw_switch() / cores, "us");
}
