/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Put and get of non-contiguous memory: the same blocks strided, as a vector, and by memcpy.
 *
 *   source half   |block|     |block|     |block| ...   --blocks blocks, a block apart, so that
 *   target half   |block|     |block|     |block| ...   none are contiguous
 */
#include "perf.h"

#include <gasnet_vis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t max_room = (size_t)32 << 20; /* else large sizes would need huge segments */

static gex_Memvec_t *to, *from; /* the lists of a vector put */

size_t aq_perf_blocks_room(size_t bytes)
{
    size_t room = 2 * bytes * aq_perf_options.blocks;

    return room < max_room ? room : max_room;
}

size_t aq_perf_blocks_limit(void)
{
    size_t room = aq_perf_job.half < max_room ? aq_perf_job.half : max_room;

    return room / (2 * aq_perf_options.blocks);
}

static double put_strided_batch(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;
    const ptrdiff_t stride = 2 * (ptrdiff_t)bytes;
    const size_t count = aq_perf_options.blocks;
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++)
        gex_VIS_StridedPutBlocking(job->tm, job->peer, job->peer_target, &stride, job->source,
                                   &stride, bytes, &count, 1, 0);
    return aq_perf_now() - start;
}

static double get_strided_batch(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;
    const ptrdiff_t stride = 2 * (ptrdiff_t)bytes;
    const size_t count = aq_perf_options.blocks;
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++)
        gex_VIS_StridedGetBlocking(job->tm, job->target, &stride, job->peer, job->peer_source,
                                   &stride, bytes, &count, 1, 0);
    return aq_perf_now() - start;
}

static double put_vector_batch(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;
    const size_t count = aq_perf_options.blocks;
    double start = aq_perf_now();

    (void)bytes;
    for (unsigned long i = 0; i < n; i++)
        gex_VIS_VectorPutBlocking(job->tm, job->peer, count, to, count, from, 0);
    return aq_perf_now() - start;
}

static double copy_blocks_batch(size_t bytes, unsigned long n)
{
    const aq_perf_job_t *job = &aq_perf_job;
    const size_t end = 2 * bytes * aq_perf_options.blocks;
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++) {
        for (size_t at = 0; at < end; at += 2 * bytes)
            memcpy(job->target + at, job->source + at, bytes);
        __asm__ __volatile__("" ::: "memory"); /* else the compiler may drop all copies but one */
    }
    return aq_perf_now() - start;
}

static gex_Memvec_t *list_of(char *base, size_t bytes)
{
    gex_Memvec_t *list = malloc(aq_perf_options.blocks * sizeof *list);

    if (!list) {
        fprintf(stderr, "gasnet_perf: put-vector: no memory for a list of %zu blocks\n",
                aq_perf_options.blocks);
        gasnet_exit(1);
    }
    for (size_t b = 0; b < aq_perf_options.blocks; b++)
        list[b] = (gex_Memvec_t){base + 2 * bytes * b, bytes};
    return list;
}

void aq_perf_put_strided(size_t bytes)
{
    aq_perf_report("put-strided", bytes, 1e6 * aq_perf_measure(put_strided_batch, bytes), "us");
}

void aq_perf_get_strided(size_t bytes)
{
    aq_perf_report("get-strided", bytes, 1e6 * aq_perf_measure(get_strided_batch, bytes), "us");
}

void aq_perf_put_vector(size_t bytes)
{
    to = list_of(aq_perf_job.peer_target, bytes);
    from = list_of(aq_perf_job.source, bytes);
    aq_perf_report("put-vector", bytes, 1e6 * aq_perf_measure(put_vector_batch, bytes), "us");
    free(to);
    free(from);
}

void aq_perf_raw_blocks(size_t bytes)
{
    aq_perf_report("raw-blocks", bytes, 1e6 * aq_perf_measure(copy_blocks_batch, bytes), "us");
}
