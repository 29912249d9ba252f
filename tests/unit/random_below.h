// SPDX-License-Identifier: BSD-3-Clause
// Pseudo-random numbers for schedules, which a seed repeats.
#ifndef RANDOM_BELOW_H
#define RANDOM_BELOW_H

#include <stdint.h>

// Returns a number below `limit`, which is not 0, and advances the state, which is not 0, either
// (xorshift).
static inline unsigned random_below(uint64_t *state, unsigned limit)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (unsigned)(*state >> 33) % limit;
}

#endif
