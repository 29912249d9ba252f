// The smaller and the larger of two counts.
#ifndef AQ_LEAST_H
#define AQ_LEAST_H

#include <stdint.h>

static inline uint64_t aq_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t aq_most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
