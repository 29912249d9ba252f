// SPDX-License-Identifier: BSD-3-Clause
// Faults that end the whole job, with a message and without leaving processes behind.
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include "../../other/base/log/log.h"

// Logs one sentence, with a backtrace if GASNET_BACKTRACE is set, and ends the job with exit code
// 1. Any thread; does not return.
void aq_fatal(const char *fmt, ...) AQ_PRINTF(1, 2) __attribute__((noreturn, cold));
void aq_fatal_message(const char *fmt, va_list args) AQ_PRINTF(1, 0)
    __attribute__((noreturn, cold));

// Sets the function that aq_fatal calls to end the other ranks. Before this call aq_fatal ends this
// process only.
void aq_fatal_end_job_with(void (*end)(int code));

// Memory that the process cannot do without: end the job if there is none. `what` completes "out of
// memory for". The caller frees it. aq_allocate and aq_allocate_zeroed give memory for 0 bytes,
// too. Any thread.
static inline void *aq_allocated(void *memory, size_t nbytes, const char *what)
{
    if (__builtin_expect(!memory, 0))
        aq_fatal("out of memory for %s (%zu bytes)", what, nbytes);
    return memory;
}

static inline void *aq_allocate(size_t nbytes, const char *what)
{
    return aq_allocated(malloc(nbytes ? nbytes : 1), nbytes, what);
}

// For a message from or to a rank, which `what` ends with: "a message of".
static inline void *aq_allocate_for_rank(size_t nbytes, const char *what, uint32_t jobrank)
{
    void *memory = malloc(nbytes);
    if (__builtin_expect(!memory, 0))
        aq_fatal("out of memory for %s rank %u (%zu bytes)", what, jobrank, nbytes);
    return memory;
}

static inline void *aq_allocate_zeroed(size_t count, size_t size, const char *what)
{
    return aq_allocated(calloc(count ? count : 1, size), count * size, what);
}

// To a cache line. The memory is not zeroed.
static inline void *aq_allocate_aligned(size_t nbytes, const char *what)
{
    return aq_allocated(aligned_alloc(64, (nbytes + 63) & ~(size_t)63), nbytes, what);
}

static inline void *aq_reallocate(void *memory, size_t nbytes, const char *what)
{
    return aq_allocated(realloc(memory, nbytes), nbytes, what);
}

// Checks arguments of the client, in debug builds only (configure --enable-debug). Other builds
// compile the condition, but do not evaluate it. This is a macro because the arguments of the
// message must not be evaluated unless the check fails.
#ifdef AQ_DEBUG
#define AQ_CHECKS 1
#else
#define AQ_CHECKS 0
#endif
#define AQ_CHECK(condition, ...)                                                                   \
    do {                                                                                           \
        if (AQ_CHECKS && __builtin_expect(!(condition), 0))                                        \
            aq_fatal(__VA_ARGS__);                                                                 \
    } while (0)
