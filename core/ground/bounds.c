// SPDX-License-Identifier: BSD-3-Clause
// Ends the job with a sentence if a number of a public call is too large. The inline checks of
// bounds.h come here, and those of the lengths of puts and gets (gasnetex_core.h).
#include "bounds.h"

#include "../gasnetex_core.h"
#include "fatal.h"

void aq_bounds_refuse_rank(const char *call, const char *what, uint32_t rank, uint32_t size)
{
    aq_fatal("%s: %s %u is not below the team's size %u", call, what, rank, size);
}

void aq_bounds_refuse_bytes(const char *call, size_t nbytes, size_t limit)
{
    aq_fatal("%s: a payload of %zu bytes is more than the limit of %zu", call, nbytes, limit);
}

void aq_bounds_refuse_blocks(const char *call, const char *what, size_t count, size_t nbytes)
{
    aq_fatal("%s: %zu %s of %zu bytes are more than memory can hold (%lu bytes)", call, count, what,
             nbytes, AQ_ADDRESS_SPACE);
}

void aq_api_length_refuse(size_t nbytes)
{
    aq_fatal("a put or get of %zu bytes is more than memory can hold (%lu bytes)", nbytes,
             AQ_ADDRESS_SPACE);
}
