// SPDX-License-Identifier: BSD-3-Clause
// Populates memory by madvise, or by writing to each page where the kernel cannot populate.
// core/memory/segment_pages.c calls it for GASNET_SEGMENT_TOUCH.
#include "touch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../minmax.h"
#include "../system/quiet_thread.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 // Linux 5.14
#endif

enum { MOST_THREADS = 64 };
// A thread takes so many bytes at a time: some milliseconds of work.
static const size_t piece_bytes = 32 << 20;

typedef struct touch {
    char *start;
    size_t bytes;
    atomic_size_t taken, done; // bytes
    atomic_int error;
} touch_t;

// Touches each page, for kernels that cannot populate. The contents stay.
static void touch_one_by_one(char *at, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < bytes; i += page)
        atomic_fetch_or_explicit((_Atomic uint8_t *)(void *)(at + i), 0, memory_order_relaxed);
}

static int touch_piece(char *at, size_t bytes)
{
    while (madvise(at, bytes, MADV_POPULATE_WRITE) != 0) {
        if (errno == EINVAL) {
            touch_one_by_one(at, bytes);
            return 0;
        }
        if (errno != EINTR && errno != EAGAIN)
            return errno;
    }
    return 0;
}

// Returns false when no piece is left.
static bool touch_next(touch_t *touch)
{
    const size_t from = atomic_fetch_add_explicit(&touch->taken, piece_bytes, memory_order_relaxed);
    if (from >= touch->bytes || atomic_load_explicit(&touch->error, memory_order_relaxed) != 0)
        return false;
    const size_t bytes = aq_min(piece_bytes, touch->bytes - from);
    const int error = touch_piece(touch->start + from, bytes);
    if (error != 0)
        atomic_store_explicit(&touch->error, error, memory_order_relaxed);
    atomic_fetch_add_explicit(&touch->done, bytes, memory_order_relaxed);
    return error == 0;
}

static void *touch_all(void *context)
{
    while (touch_next(context))
        ;
    return NULL;
}

static unsigned start_threads(touch_t *touch, pthread_t *threads, unsigned wanted)
{
    unsigned count = 0;
    while (count < wanted && aq_quiet_thread_create(&threads[count], touch_all, touch) == 0)
        count++;
    return count;
}

int aq_touch(void *start, size_t bytes, unsigned threads, aq_touch_told_t *told, void *context)
{
    touch_t touch = {.start = start, .bytes = bytes};
    pthread_t others[MOST_THREADS];
    const size_t pieces = (bytes + piece_bytes - 1) / piece_bytes;
    const unsigned wanted = (unsigned)aq_min(aq_min((size_t)threads, pieces), MOST_THREADS);
    const unsigned count = wanted > 1 ? start_threads(&touch, others, wanted - 1) : 0;
    while (touch_next(&touch))
        if (told)
            told(atomic_load_explicit(&touch.done, memory_order_relaxed), bytes, context);
    for (unsigned i = 0; i < count; i++)
        pthread_join(others[i], NULL);
    return atomic_load_explicit(&touch.error, memory_order_relaxed);
}
