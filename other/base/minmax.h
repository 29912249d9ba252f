// SPDX-License-Identifier: BSD-3-Clause
// The smaller and the larger of two counts.
#ifndef AQ_MINMAX_H
#define AQ_MINMAX_H

#include <stdint.h>

static inline uint64_t aq_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t aq_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
