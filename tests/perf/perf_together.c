/*
 * Tests that every rank takes part in. Rank 0 finds out how many operations to run as it goes, and
 * commands each batch with a short message to every other rank: "n more, of so many bytes", or n =
 * 0 for the end.
 */
#include "perf.h"

/* One slot is enough: rank 0 cannot command again before all have begun the last batch. */
static gex_AM_Arg_t command_n, command_bytes;
static _Atomic unsigned commands;

static aq_perf_each_t measured; /* on rank 0: what the batches consist of */

static void on_command(gex_Token_t token, gex_AM_Arg_t n, gex_AM_Arg_t bytes)
{
    (void)token;
    command_n = n;
    command_bytes = bytes;
    atomic_fetch_add(&commands, 1);
}

void aq_perf_together_register(void)
{
    gex_AM_Entry_t entry = {
        AQ_PERF_COMMAND, (gex_AM_Fn_t)on_command, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, NULL,
        "command"};

    gex_EP_RegisterHandlers(aq_perf_job.ep, &entry, 1);
}

static void command(unsigned long n, size_t bytes)
{
    for (gex_Rank_t r = 1; r < aq_perf_job.size; r++)
        gex_AM_RequestShort2(aq_perf_job.tm, r, AQ_PERF_COMMAND, 0, (gex_AM_Arg_t)n,
                             (gex_AM_Arg_t)bytes);
}

/* A barrier outside the count, so that the time does not hold the delivery of the command. */
static double run_batch(aq_perf_each_t each, size_t bytes, unsigned long n)
{
    aq_perf_job_barrier();

    double start = aq_perf_now();
    each(bytes, n);
    return aq_perf_now() - start;
}

static double command_batch(size_t bytes, unsigned long n)
{
    command(n, bytes);
    return run_batch(measured, bytes, n);
}

double aq_perf_together_measure(aq_perf_each_t each, size_t bytes)
{
    measured = each;
    return aq_perf_measure(command_batch, bytes);
}

void aq_perf_together_close(void)
{
    command(0, 0);
}

void aq_perf_together_follow(aq_perf_each_t each)
{
    static unsigned seen; /* over all phases, like `commands` */

    for (;;) {
        seen++;
        GASNET_BLOCKUNTIL(atomic_load(&commands) == seen);
        gex_AM_Arg_t n = command_n;
        if (n == 0)
            return;
        run_batch(each, (size_t)command_bytes, (unsigned long)n);
    }
}
