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
#pragma once

#include <stddef.h>

#include "../../core/conduit.h"
#include "../../core/gasnetex_core.h"
#include "../../core/state/job.h"
#include "../../core/ground/ep_pair.h"
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

// The rank and the endpoint that an operation is for.
typedef struct aq_atomic_target {
    gex_Rank_t jobrank;
    aq_ep_pair_t ep_pair;
} aq_atomic_target_t;

static inline size_t aq_ratomic_bytes(gex_DT_t dt)
{
    return dt & AQ_API_DT_64 ? 8 : 4;
}
