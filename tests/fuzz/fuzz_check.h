// SPDX-License-Identifier: BSD-3-Clause
// Checks of the fuzzers: a broken invariant ends the process, which the fuzzer reports.
#ifndef AQ_FUZZ_CHECK_H
#define AQ_FUZZ_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline void require(bool holds)
{
    if (!holds)
        abort();
}

// Reads a range: the address sanitizer detects a wrong one.
static inline unsigned bytes_sum(const uint8_t *bytes, size_t nbytes)
{
    unsigned sum = 0;
    for (size_t i = 0; i < nbytes; i++)
        sum += bytes[i];
    return sum;
}

#endif
