/*
 * The barrier over all ranks. Rank 0 finds out how many to run as it goes, and commands each batch
 * with a short message to every other rank: "n more barriers", or 0 for the end.
 */
#include "perf.h"

#include <sched.h>

/* One slot is enough: rank 0 cannot command again before all have begun the last batch. */
static gex_AM_Arg_t command_n;
static _Atomic unsigned commands;

static void on_command(gex_Token_t token, gex_AM_Arg_t n)
{
    (void)token;
    command_n = n;
    atomic_fetch_add(&commands, 1);
}

void aq_perf_barrier_register(void)
{
    gex_AM_Entry_t entry = {
        AQ_PERF_COMMAND, (gex_AM_Fn_t)on_command, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL,
        "barriers"};

    gex_EP_RegisterHandlers(aq_perf_job.ep, &entry, 1);
}

static void command(unsigned long n)
{
    for (gex_Rank_t r = 1; r < aq_perf_job.size; r++)
        gex_AM_RequestShort1(aq_perf_job.tm, r, AQ_PERF_COMMAND, 0, (gex_AM_Arg_t)n);
}

/* One barrier outside the count, so that the time does not hold the delivery of the command. */
static double run_barriers(unsigned long n)
{
    aq_perf_job_barrier();

    double start = aq_perf_now();
    for (unsigned long i = 0; i < n; i++)
        aq_perf_job_barrier();
    return aq_perf_now() - start;
}

static double barrier_batch(size_t bytes, unsigned long n)
{
    (void)bytes;
    command(n);
    return run_barriers(n);
}

void aq_perf_barrier(size_t bytes)
{
    aq_perf_report("barrier", 0, 1e6 * aq_perf_measure(barrier_batch, bytes), "us");
}

void aq_perf_barrier_close(void)
{
    command(0);
}

void aq_perf_barrier_follow(unsigned phase)
{
    static unsigned seen; /* over all phases, like `commands` */

    (void)phase;
    for (;;) {
        seen++;
        GASNET_BLOCKUNTIL(atomic_load(&commands) == seen);
        gex_AM_Arg_t n = command_n;
        if (n == 0)
            return;
        run_barriers((unsigned long)n);
    }
}

static unsigned processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

void aq_perf_barrier_bound(size_t bytes)
{
    gex_Rank_t here;
    unsigned cores = processors();

    (void)bytes;
    gex_System_QueryHostInfo(NULL, &here, NULL);
    if (here > cores)
        aq_perf_report("barrier-bound", 0, 1e6 * 2 * here * aq_perf_raw_switch() / cores, "us");
}
