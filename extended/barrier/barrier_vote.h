// SPDX-License-Identifier: BSD-3-Clause
// The names that ranks give to a barrier.
#pragma once

#include <stdint.h>

// What the ranks gave as the name of a barrier: nothing yet, one name, or different names.
typedef uint64_t aq_vote_t;
#define AQ_VOTE_NONE ((aq_vote_t)0)
#define AQ_VOTE_NAME(id) ((aq_vote_t)1 << 32 | (uint32_t)(id))
#define AQ_VOTE_MISMATCH ((aq_vote_t)2 << 32)

// The joint vote of two sets of ranks.
static inline aq_vote_t aq_vote_join(aq_vote_t a, aq_vote_t b)
{
    if (a == AQ_VOTE_NONE || a == b)
        return b;
    return b == AQ_VOTE_NONE ? a : AQ_VOTE_MISMATCH;
}
