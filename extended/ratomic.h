// Remote atomics: domains, and the operations that the header cannot do inline.
//
//     gex_AD_t --> [ public head: peer_shift | team, dt, ops, flags, cdata ]
//
//     mapped peer:  the processor's atomics on the mapped address, in line or in ratomic.c
//     else:         the conduit's own, if it has them for this peer and operation; or
//                   request --> [handler: the processor's atomics at the target] --> reply
//
// These ways may be mixed on the same memory: some ranks may reach a location in one way and others
// in another. Messages use the same processor instructions; a conduit that offers its own
// operations guarantees the same, see aq_conduit_ops_t.
#ifndef AQ_RATOMIC_H
#define AQ_RATOMIC_H

#include <stdbool.h>
#include <stddef.h>

#include "../core/conduit.h"
#include "../core/gasnetex_core.h"
#include "gasnet_ratomic.h"

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

static inline size_t aq_ratomic_bytes(gex_DT_t dt)
{
    return dt & AQ_API_DT_64 ? 8 : 4;
}

// ---- ratomic_eval.c ----

// The result (as bits) of an arithmetic operation on `old`. op: not a fetching one; of the integer
// operations only those without a processor instruction.
uint64_t aq_ratomic_eval(gex_DT_t dt, gex_OP_t op, uint64_t old, uint64_t operand);

// Performs any operation on memory of this process; returns the previous value.
uint64_t aq_ratomic_apply(void *at, gex_DT_t dt, gex_OP_t op, uint64_t operand1, uint64_t operand2,
                          gex_Flags_t flags);

// ---- ratomic_check.c ----

// The operations that remote atomics allow for a type; 0 if the type is not supported.
gex_OP_t aq_ratomic_ops_of(gex_DT_t dt);

// "GEX_OP_ADD" or, for several, "GEX_OP_ADD|GEX_OP_GET"; bits that mean nothing as a number. Writes
// to `text` and returns it.

// Ends the job if a domain cannot be made with this type and these operations.
void aq_ratomic_check_domain(gex_DT_t dt, gex_OP_t ops);

// For debug builds: ends the job if an operation is not legal. call: gex_AD_OpNB or gex_AD_OpNBI.
void aq_ratomic_check(const char *call, gex_AD_t ad, const aq_api_atomic_t *atomic);

// ---- ratomic_native.c ----

// What an operation is to a conduit: whether it has a form of its own there. ops: all those of its
// domain.
bool aq_ratomic_translate(const aq_api_atomic_t *atomic, gex_OP_t ops, aq_atomic_t *out);

// Begins an operation on a job rank by the conduit itself, counted in `part` until it is done.
// AQ_ERR_ABSENT: the conduit cannot do it. Blocks for resources, polling, unless atomic->flags has
// IMMEDIATE: then AQ_AGAIN when nothing was done.
aq_status_t aq_ratomic_native(uint32_t jobrank, const aq_api_atomic_t *atomic, gex_OP_t ops,
                              gex_Event_t part);

// ---- ratomic_am.c ----

// Sends an operation to a job rank, counted in `part` (event.h) until its reply. Blocks for
// resources, polling, unless atomic->flags has IMMEDIATE: then returns non-zero when nothing was
// done.
int aq_ratomic_over_am(uint32_t jobrank, const aq_api_atomic_t *atomic, gex_Event_t part);

#endif
