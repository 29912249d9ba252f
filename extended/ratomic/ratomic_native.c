// SPDX-License-Identifier: BSD-3-Clause
// Remote atomics by the conduit itself: additions and compare-and-swaps of 64 bits, which networks
// have, and operations that can be expressed by these.
#include <stdatomic.h>

#include "../../core/ground/fatal.h"
#include "../../core/endpoint/peer_link.h"
#include "../../core/progress/poll_loop.h"
#include "../../core/am/retry.h"
#include "ratomic_native.h"

#define SWAPS (GEX_OP_CAS | GEX_OP_FCAS)
#define SUMS                                                                                       \
    (GEX_OP_ADD | GEX_OP_FADD | GEX_OP_SUB | GEX_OP_FSUB | GEX_OP_INC | GEX_OP_FINC | GEX_OP_DEC | \
     GEX_OP_FDEC)

// The operations on a type that can be translated. A read is an addition of 0, also of a double:
// the bits of 0.0 are 0.
static gex_OP_t known_ops(gex_DT_t dt)
{
    if (!(dt & AQ_API_DT_64))
        return 0;
    return dt & AQ_API_DT_REAL ? SWAPS | GEX_OP_GET : SWAPS | SUMS | GEX_OP_GET;
}

static uint64_t addend_of(gex_OP_t op, uint64_t operand)
{
    if (op & (GEX_OP_ADD | GEX_OP_FADD))
        return operand;
    if (op & (GEX_OP_SUB | GEX_OP_FSUB))
        return 0 - operand;
    if (op & (GEX_OP_INC | GEX_OP_FINC))
        return 1;
    return op & (GEX_OP_DEC | GEX_OP_FDEC) ? UINT64_MAX : 0;
}

bool aq_ratomic_translate(const aq_api_atomic_t *atomic, gex_OP_t ops, aq_atomic_t *out)
{
    const bool swap = atomic->op & SWAPS;
    *out = (aq_atomic_t){
        .dest = atomic->addr,
        .operand1 = swap ? atomic->operand1 : addend_of(atomic->op, atomic->operand1),
        .operand2 = swap ? atomic->operand2 : 0,
        .result = atomic->op & AQ_API_OP_FETCHING ? atomic->result : NULL,
        .kind = swap ? AQ_ATOMIC_CAS : AQ_ATOMIC_ADD,
        .exclusive_ops = !(ops & ~known_ops(atomic->dt)),
    };
    return (atomic->op & known_ops(atomic->dt)) != 0;
}

typedef struct atomic_attempt {
    aq_conduit_t *conduit;
    void *link;
    atomic_uint *pending;
    aq_atomic_t atomic;
} atomic_attempt_t;

static aq_status_t atomic_attempt(void *context)
{
    const atomic_attempt_t *attempt = context;
    return attempt->conduit->ops->rma.atomic(attempt->conduit, attempt->link, &attempt->atomic,
                                             attempt->pending);
}

aq_status_t aq_ratomic_native(uint32_t jobrank, const aq_api_atomic_t *atomic, gex_OP_t ops,
                              gex_Event_t part)
{
    const uintptr_t link = aq_job_conduit_link(jobrank);
    atomic_attempt_t attempt = {
        .conduit = aq_link_conduit(link), .link = aq_link_pointer(link), .pending = &part->pending};
    if (!attempt.conduit->ops->rma.atomic || !aq_ratomic_translate(atomic, ops, &attempt.atomic))
        return AQ_ERR_ABSENT;
    if (atomic->flags & GEX_FLAG_AD_REL)
        atomic_thread_fence(memory_order_release);
    const aq_status_t status = aq_try(atomic_attempt, &attempt, aq_retry_mode(atomic->flags, false),
                                      attempt.conduit->endpoint, jobrank);
    if (status != AQ_OK && status != AQ_AGAIN && status != AQ_ERR_ABSENT)
        aq_fatal("a remote atomic on rank %u failed: %s", jobrank, aq_status_name(status));
    if (status == AQ_OK)
        aq_poll_sending(); // so that a client that only does atomics serves others
    return status;
}
