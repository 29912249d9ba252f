// SPDX-License-Identifier: BSD-3-Clause
// The link to each rank: the conduit that carries its messages, and what that conduit knows of it.
// A rank is bound when it is used first, permanently, to the first open conduit that reaches it.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "../state/job.h"

// The conduit of a link is in its lowest bits.
enum { AQ_LINK_INDEX = 3, AQ_LOOPBACK = AQ_MAX_CONDUITS };
_Static_assert(AQ_LOOPBACK <= AQ_LINK_INDEX, "the index of a conduit fits into a link");

// The link of this rank to itself by a conduit; bound on first use, as by aq_job_bind.
uintptr_t aq_job_own_link(void);

// Binds a rank to a conduit on first use and returns the link; may block. If no conduit reaches the
// rank, ends this process: with a fault, or because the job has ended. Any thread.
uintptr_t aq_job_bind(uint32_t rank);

// Returns the link of a rank; binds the rank first if needed.
static inline uintptr_t aq_job_link(uint32_t rank)
{
    uintptr_t link = atomic_load_explicit(&aq_job.link[rank], memory_order_acquire);
    return __builtin_expect(link != 0, 1) ? link : aq_job_bind(rank);
}
static inline unsigned aq_link_index(uintptr_t link)
{
    return link & AQ_LINK_INDEX;
}
static inline aq_conduit_t *aq_link_conduit(uintptr_t link)
{
    return aq_job.conduits[aq_link_index(link)];
}
static inline void *aq_link_pointer(uintptr_t link)
{
    return (void *)(link & ~(uintptr_t)AQ_LINK_INDEX);
}

// As aq_job_link, for atomics and windows: this rank reaches itself by a conduit, as its peers do,
// and not by the loopback (loopback.h).
static inline uintptr_t aq_job_conduit_link(uint32_t rank)
{
    return rank == aq_job.rank ? aq_job_own_link() : aq_job_link(rank);
}
