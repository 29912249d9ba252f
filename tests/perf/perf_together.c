/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests in which every rank takes part. Rank 0 chooses the number of operations of each batch while
 * it measures, and sends a command to every other rank: "n operations of so many bytes". n = 0 ends
 * the test.
 */
#include "perf.h"

/* One slot is enough: rank 0 sends no command before all ranks have started the previous batch.
 * Atomic, because the thread sanitizer does not see that order, which other processes make. */
static _Atomic gex_AM_Arg_t command_n, command_bytes;
static _Atomic unsigned commands;

static aq_perf_each_t measured; /* on rank 0: the operations of a batch */

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

static void send_command(unsigned long n, size_t bytes)
{
    for (gex_Rank_t r = 1; r < aq_perf_job.size; r++)
        gex_AM_RequestShort2(aq_perf_job.tm, r, AQ_PERF_COMMAND, 0, (gex_AM_Arg_t)n,
                             (gex_AM_Arg_t)bytes);
}

/* The barrier before the clock starts keeps the delivery of the command out of the time. */
static double run_batch(aq_perf_each_t each, size_t bytes, unsigned long n)
{
    aq_perf_job_barrier();

    double start = aq_perf_now();
    each(bytes, n);
    return aq_perf_now() - start;
}

static double command_batch(size_t bytes, unsigned long n)
{
    send_command(n, bytes);
    return run_batch(measured, bytes, n);
}

double aq_perf_together_measure(aq_perf_each_t each, size_t bytes)
{
    measured = each;
    return aq_perf_measure(command_batch, bytes);
}

double aq_perf_together_batch(aq_perf_each_t each, size_t bytes, unsigned long n)
{
    measured = each;
    return command_batch(bytes, n);
}

void aq_perf_together_close(void)
{
    send_command(0, 0);
}

void aq_perf_together_follow(aq_perf_each_t each)
{
    static unsigned seen; /* counts over all phases, as `commands` does */

    for (;;) {
        seen++;
        GASNET_BLOCKUNTIL(atomic_load(&commands) == seen);
        gex_AM_Arg_t n = command_n;
        if (n == 0)
            return;
        run_batch(each, (size_t)command_bytes, (unsigned long)n);
    }
}
