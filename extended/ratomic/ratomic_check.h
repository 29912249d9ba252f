// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ratomic_domain.h"

// The operations that remote atomics allow for a type; 0 if the type is not supported.
gex_OP_t aq_ratomic_ops_of(gex_DT_t dt);

// Ends the job if a domain cannot be made with this type and these operations.
void aq_ratomic_check_domain(gex_DT_t dt, gex_OP_t ops);

// Ends the job with a message: the rank is not in the domain's team.
void aq_ratomic_refuse_rank(gex_AD_t ad, const aq_api_atomic_t *atomic, bool implicit)
    __attribute__((noreturn, cold));

// In every build: ends the job unless the rank is in the team, or in the job.
static inline void aq_ratomic_check_rank(gex_AD_t ad, const aq_api_atomic_t *atomic, bool implicit)
{
    const bool is_jobrank = atomic->flags & GEX_FLAG_RANK_IS_JOBRANK;
    const gex_Rank_t size = is_jobrank ? aq_job.size : aq_domain_of(ad)->tm->size;
    if (__builtin_expect(atomic->rank >= size, 0))
        aq_ratomic_refuse_rank(ad, atomic, implicit);
}

// For debug builds: ends the job if an operation is not legal. call: gex_AD_OpNB or gex_AD_OpNBI.
void aq_ratomic_check(const char *call, gex_AD_t ad, const aq_api_atomic_t *atomic);

// Whether the address is aligned and the target has the memory. If not, *reason is the target's
// reason, or 0 if the target was not asked. May block (rma_probe.h).
bool aq_ratomic_fits(aq_atomic_target_t target, const aq_api_atomic_t *atomic, int *reason);

// Ends an operation that does not fit, or the job (core/memory/access.h).
void aq_ratomic_refuse(aq_atomic_target_t target, const aq_api_atomic_t *atomic, bool implicit,
                       int reason, gex_Event_t part) __attribute__((cold));
