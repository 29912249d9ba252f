// SPDX-License-Identifier: BSD-3-Clause
// The smaller and the larger of two counts.
#pragma once

#include <stdint.h>

static inline uint64_t aq_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t aq_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}
