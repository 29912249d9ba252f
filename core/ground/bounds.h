// SPDX-License-Identifier: BSD-3-Clause
// The numbers in public calls: ranks, lengths, counts and products. Each call checks those that it
// gets once, in every build, before it uses them as an index or a size: a comparison that a correct
// client never fails.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AQ_ADDRESS_SPACE (1ul << 47) // of a process on x86-64; other systems have no more

// End the job with one sentence that names the call, the number and its limit. what: "rank",
// "root" ...
void aq_bounds_refuse_rank(const char *call, const char *what, uint32_t rank, uint32_t size)
    __attribute__((noreturn, cold));
void aq_bounds_refuse_bytes(const char *call, size_t nbytes, size_t limit)
    __attribute__((noreturn, cold));
void aq_bounds_refuse_blocks(const char *call, const char *what, size_t count, size_t nbytes)
    __attribute__((noreturn, cold));

// Checks a rank of a team of this size.
static inline void aq_bounds_rank(const char *call, const char *what, uint32_t rank, uint32_t size)
{
    if (__builtin_expect(rank >= size, 0))
        aq_bounds_refuse_rank(call, what, rank, size);
}

// Checks the length of a payload.
static inline void aq_bounds_bytes(const char *call, size_t nbytes, size_t limit)
{
    if (__builtin_expect(nbytes > limit, 0))
        aq_bounds_refuse_bytes(call, nbytes, limit);
}

// Whether so many blocks fit into the memory of a process.
static inline bool aq_bounds_product_fits(size_t count, size_t nbytes)
{
    size_t product;
    return !__builtin_mul_overflow(count, nbytes, &product) && product <= AQ_ADDRESS_SPACE;
}

// Checks that so many blocks fit. what: "blocks", "elements" ...
static inline void aq_bounds_blocks(const char *call, const char *what, size_t count, size_t nbytes)
{
    if (__builtin_expect(!aq_bounds_product_fits(count, nbytes), 0))
        aq_bounds_refuse_blocks(call, what, count, nbytes);
}
