// SPDX-License-Identifier: BSD-3-Clause
// Remote atomics: domains, and the operations that the header cannot do inline.
//
//     gex_AD_t --> [ public head: peer_shift | team, dt, ops, flags, cdata ]
//
//     mapped peer:  the processor's atomics on the mapped address, in line or in ratomic.c
//     else:         the conduit's own, if it has them for this peer and operation; or
//                   request --> [handler: the processor's atomics at the target] --> reply
//
// Ranks may use different ways on the same memory. Messages use the same processor instructions; a
// conduit with its own operations guarantees that they are atomic with these, see aq_conduit_ops_t.
#ifndef AQ_RATOMIC_H
#define AQ_RATOMIC_H

#include <stdbool.h>
#include <stddef.h>

#include "../../core/conduit.h"
#include "../../core/gasnetex_core.h"
#include "../../core/state/job.h"
#include "../../core/ground/route.h"
#include "../gasnet_ratomic.h"

typedef struct aq_domain {
    struct gex_ad head;
    gex_TM_t tm;
    gex_DT_t dt;
    gex_OP_t ops;
    gex_Flags_t flags;
    void *cdata;
} aq_domain_t;

static inline aq_domain_t *aq_domain_of(gex_AD_t ad)
{
    return (aq_domain_t *)(uintptr_t)ad;
}

// Where an operation goes.
typedef struct aq_atomic_target {
    gex_Rank_t jobrank;
    aq_route_t route;
} aq_atomic_target_t;

static inline size_t aq_ratomic_bytes(gex_DT_t dt)
{
    return dt & AQ_API_DT_64 ? 8 : 4;
}

// ---- ratomic_eval.c ----

// Returns the result (as bits) of an arithmetic operation on `old`. op is a non-fetching operation;
// for integers, one without a processor instruction.
uint64_t aq_ratomic_eval(gex_DT_t dt, gex_OP_t op, uint64_t old, uint64_t operand);

// Performs any operation on memory of this process; returns the previous value.
uint64_t aq_ratomic_apply(void *at, gex_DT_t dt, gex_OP_t op, uint64_t operand1, uint64_t operand2,
                          gex_Flags_t flags);

// ---- ratomic_check.c ----

// The operations that remote atomics allow for a type; 0 if the type is not supported.
gex_OP_t aq_ratomic_ops_of(gex_DT_t dt);

// Ends the job if a domain cannot be made with this type and these operations.
void aq_ratomic_check_domain(gex_DT_t dt, gex_OP_t ops);

// Ends the job: the rank is none of the domain's team.
void aq_ratomic_refuse_rank(gex_AD_t ad, const aq_api_atomic_t *atomic, bool implicit)
    __attribute__((noreturn, cold));

// In every build: whether the rank is one of the team, or of the job.
static inline void aq_ratomic_check_rank(gex_AD_t ad, const aq_api_atomic_t *atomic, bool implicit)
{
    const bool is_jobrank = atomic->flags & GEX_FLAG_RANK_IS_JOBRANK;
    const gex_Rank_t size = is_jobrank ? aq_job.size : aq_domain_of(ad)->tm->size;
    if (__builtin_expect(atomic->rank >= size, 0))
        aq_ratomic_refuse_rank(ad, atomic, implicit);
}

// For debug builds: ends the job if an operation is not legal. call: gex_AD_OpNB or gex_AD_OpNBI.
void aq_ratomic_check(const char *call, gex_AD_t ad, const aq_api_atomic_t *atomic);

// Whether the target has the value, at an aligned address. *reason: why not, if the target has
// answered that, otherwise 0. May block (rma_probe.h).
bool aq_ratomic_fits(aq_atomic_target_t target, const aq_api_atomic_t *atomic, int *reason);

// Ends an operation that does not fit, or the job (core/memory/access.h).
void aq_ratomic_refuse(aq_atomic_target_t target, const aq_api_atomic_t *atomic, bool implicit,
                       int reason, gex_Event_t part) __attribute__((cold));

// ---- ratomic_native.c ----

// Translates an operation for a conduit. Returns false if conduits have no such operation. ops: all
// operations of the domain.
bool aq_ratomic_translate(const aq_api_atomic_t *atomic, gex_OP_t ops, aq_atomic_t *out);

// Starts an operation on a job rank by the conduit itself; `part` counts it until completion.
// Returns AQ_ERR_ABSENT if the conduit does not support it. Blocks for resources and polls; if
// atomic->flags has IMMEDIATE, returns AQ_AGAIN instead and does nothing.
aq_status_t aq_ratomic_native(uint32_t jobrank, const aq_api_atomic_t *atomic, gex_OP_t ops,
                              gex_Event_t part);

// ---- ratomic_am.c ----

// Sends an operation to its target; `part` (event.h) counts it until the reply. Blocks for
// resources and polls; if atomic->flags has IMMEDIATE, returns non-zero instead and does nothing.
int aq_ratomic_over_am(aq_atomic_target_t target, const aq_api_atomic_t *atomic, gex_Event_t part);

#endif
