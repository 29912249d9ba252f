// SPDX-License-Identifier: BSD-3-Clause
// Splits a 64-bit value into two arguments of an active message, and joins them.
#pragma once

#include <stdint.h>

static inline int32_t aq_high(uint64_t value)
{
    return (int32_t)(value >> 32);
}

static inline int32_t aq_low(uint64_t value)
{
    return (int32_t)(uint32_t)value;
}

static inline uint64_t aq_join(int32_t high, int32_t low)
{
    return (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
}

static inline void *aq_join_pointer(int32_t high, int32_t low)
{
    return (void *)(uintptr_t)aq_join(high, low);
}
