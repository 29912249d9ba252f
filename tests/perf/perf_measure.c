/* SPDX-License-Identifier: BSD-3-Clause */
/* A measurement finds a batch size, which warms up, runs batches and reports the median. */
#include "perf.h"

#include <stdlib.h>
#include <time.h>

enum { MIN_BATCHES = 7, MAX_BATCHES = 255, BATCHES_WANTED = 15 };

static const unsigned long max_ops = 1000000000;

double aq_perf_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/*
 * Doubles the batch until it is long enough twice in a row. The first message to a peer, or a
 * moment without the processor, can make a small batch look long.
 */
static unsigned long fit_batch(aq_perf_batch_t batch, size_t bytes)
{
    double goal = aq_perf_options.seconds / BATCHES_WANTED;
    unsigned long n = aq_perf_options.iters;

    if (n) {
        batch(bytes, n);
        return n;
    }
    for (n = 1; n < max_ops; n *= 2)
        if (batch(bytes, n) >= goal && batch(bytes, n) >= goal)
            break;
    return n;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double aq_perf_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double aq_perf_measure(aq_perf_batch_t batch, size_t bytes)
{
    static double took[MAX_BATCHES];
    unsigned long n = fit_batch(batch, bytes);
    double total = 0;
    size_t count = 0;

    while (count < MAX_BATCHES && (count < MIN_BATCHES || total < aq_perf_options.seconds)) {
        took[count] = batch(bytes, n);
        total += took[count++];
    }
    return aq_perf_median(took, count) / (double)n;
}
