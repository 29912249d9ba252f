// SPDX-License-Identifier: BSD-3-Clause
// Domains of remote atomics, and the operations that gasnet_ratomic.h cannot do inline: performs an
// operation if its target is mapped, and otherwise starts it by ratomic_native.c or ratomic_am.c.
#include "ratomic_eval.h"
#include "ratomic_check.h"
#include "ratomic_native.h"
#include "ratomic_am.h"

#include <stdlib.h>

#include "../../core/am/am_header.h"
#include "../../core/record/counters.h"
#include "../../core/thread/event.h"
#include "../../core/ground/fatal.h"
#include "../../core/endpoint/team.h"
#include "../../core/record/trace.h"
#include "../../core/record/traffic.h"

_Static_assert(offsetof(aq_domain_t, head) == 0, "a handle points to the head");
_Static_assert(sizeof(aq_api_atomic_t) == 48, "pinned: changes only with AQ_API_ABI");

// ---- domains ----

// Creates a domain without communication: an operation carries all data that its target needs, so
// it may arrive before the target has created its own domain.
void gex_AD_Create(gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags)
{
    aq_job_admit("gex_AD_Create");
    AQ_CHECK(tm && !aq_team_of(tm)->pair, "gex_AD_Create: tm is %s, not a team",
             tm ? "a pair" : "GEX_TM_INVALID");
    AQ_CHECK(!(flags & (flags - 1)),
             "gex_AD_Create: flags 0x%x hold more than one of GEX_FLAG_AD_FAVOR_*", flags);
    aq_ratomic_check_domain(dt, ops);
    aq_domain_t *domain = aq_allocate(sizeof *domain, "an atomic domain");
    *domain = (aq_domain_t){{tm->peer_shift}, tm, dt, ops, flags, NULL};
    *ad_p = &domain->head;
}

void gex_AD_Destroy(gex_AD_t ad)
{
    AQ_CHECK(ad, "gex_AD_Destroy: the domain is GEX_AD_INVALID");
    free(aq_domain_of(ad));
}

gex_Flags_t gex_AD_QueryFlags(gex_AD_t ad)
{
    return aq_domain_of(ad)->flags;
}

gex_TM_t gex_AD_QueryTM(gex_AD_t ad)
{
    return aq_domain_of(ad)->tm;
}

gex_DT_t gex_AD_QueryDT(gex_AD_t ad)
{
    return aq_domain_of(ad)->dt;
}

gex_OP_t gex_AD_QueryOps(gex_AD_t ad)
{
    return aq_domain_of(ad)->ops;
}

void gex_AD_SetCData(gex_AD_t ad, const void *val)
{
    aq_domain_of(ad)->cdata = (void *)(uintptr_t)val;
}

void *gex_AD_QueryCData(gex_AD_t ad)
{
    return aq_domain_of(ad)->cdata;
}

// ---- operations ----

static __attribute__((noinline)) aq_ep_pair_t pair_of(gex_AD_t ad, const aq_api_atomic_t *atomic,
                                                      bool implicit)
{
    const gex_TM_t tm = aq_domain_of(ad)->tm;
    gex_Rank_t rank = atomic->rank;
    if (atomic->flags & GEX_FLAG_RANK_IS_JOBRANK)
        rank = gex_TM_TranslateJobrankToRank(tm, rank);
    if (rank == GEX_RANK_INVALID)
        aq_ratomic_refuse_rank(ad, atomic, implicit);
    return aq_team_ep_pair(aq_team_of(tm), rank);
}

static aq_atomic_target_t target_of(gex_AD_t ad, const aq_api_atomic_t *atomic, bool implicit)
{
    aq_ratomic_check_rank(ad, atomic, implicit);

    const aq_team_t *team = aq_team_of(aq_domain_of(ad)->tm);
    aq_atomic_target_t target = {.jobrank = atomic->flags & GEX_FLAG_RANK_IS_JOBRANK
                                                ? atomic->rank
                                                : aq_team_jobrank(team, atomic->rank),
                                 .ep_pair = team->ep_pair};
    if (__builtin_expect(team->endpoints != NULL, 0))
        target.ep_pair = pair_of(ad, atomic, implicit);
    return target;
}

// REFUSED: the target does not have the memory.
typedef enum outcome { DONE, AWAY, REFUSED } outcome_t;

// Performs the operation at once if the target is mapped. Sets *reason only if REFUSED.
static outcome_t try_here(aq_atomic_target_t target, const aq_api_atomic_t *atomic, int *reason)
{
    intptr_t shift = aq_team_shift(target.jobrank, target.ep_pair.to);
    if (__builtin_expect(target.ep_pair.from, 0) && aq_ep_pair_tagged(target.ep_pair))
        shift = AQ_UNMAPPED; // the target has to check the identity
    if (((shift & 1) || aq_team_checks_mapped()) && !aq_ratomic_fits(target, atomic, reason))
        return REFUSED;
    if (shift & 1)
        return AWAY;
    if (__builtin_expect(aq_traffic_on, 0))
        aq_count_to_at(target.ep_pair.from, target.jobrank, AQ_COUNT_ATOMIC);
    uint64_t old = aq_ratomic_apply(aq_api_shifted(atomic->addr, shift), atomic->dt, atomic->op,
                                    atomic->operand1, atomic->operand2, atomic->flags);
    if (atomic->op & AQ_API_OP_FETCHING)
        aq_api_put_bits(atomic->result, old, aq_ratomic_bytes(atomic->dt));
    return DONE;
}

static aq_part_t part_of(gex_OP_t op)
{
    return op == GEX_OP_SET ? AQ_PART_PUT : op == GEX_OP_GET ? AQ_PART_GET : AQ_PART_RMW;
}

// Starts an operation on a target that is not mapped, by the conduit or over active messages; the
// segments of further endpoints are not registered with the network. Returns non-zero if IMMEDIATE
// was given and nothing was done.
static int start_away(gex_AD_t ad, aq_atomic_target_t target, const aq_api_atomic_t *atomic,
                      gex_Event_t part)
{
    aq_status_t status = AQ_ERR_ABSENT;
    if (__builtin_expect(!aq_ep_pair_needs_header(target.ep_pair), 1))
        status = aq_ratomic_native(target.jobrank, atomic, aq_domain_of(ad)->ops, part);
    const int refused =
        status == AQ_ERR_ABSENT ? aq_ratomic_over_am(target, atomic, part) : status == AQ_AGAIN;
    if (!refused)
        aq_count_to_at(target.ep_pair.from, target.jobrank, AQ_COUNT_ATOMIC);
    return refused;
}

// The parts of an event that a local fence awaits: an operation that fetches writes to the client's
// memory until it is complete.
static unsigned local_parts(gex_OP_t op)
{
    return op & AQ_API_OP_FETCHING ? 1u << part_of(op) : 0;
}

static gex_EP_Index_t endpoint_of(gex_AD_t ad)
{
    return aq_team_of(aq_domain_of(ad)->tm)->ep_pair.from;
}

// Traces an atomic that began at `begin`, unless that is 0. event: the record that counts the
// atomic; NULL: the atomic is complete.
static inline void trace_add(aq_atomic_target_t target, const aq_api_atomic_t *atomic,
                             uint64_t begin, const aq_event_t *event)
{
    if (__builtin_expect(begin != 0, 0))
        aq_trace_operation(AQ_TRACED_ATOMIC, begin, target.jobrank, aq_ratomic_bytes(atomic->dt),
                           event, part_of(atomic->op));
}

gex_Event_t aq_api_atomic_nb(gex_AD_t ad, const aq_api_atomic_t *atomic)
{
    const uint64_t begin = aq_trace_begin(AQ_TRACE_ATOMIC);
    if (AQ_CHECKS)
        aq_ratomic_check("gex_AD_OpNB", ad, atomic);
    const aq_atomic_target_t target = target_of(ad, atomic, false);
    int reason;
    const outcome_t outcome = try_here(target, atomic, &reason);
    if (outcome == DONE) {
        trace_add(target, atomic, begin, NULL);
        return GEX_EVENT_INVALID;
    }
    aq_event_t *event = aq_event_new();
    const gex_Event_t part = aq_event_part(event, part_of(atomic->op));
    if (outcome == REFUSED) {
        aq_ratomic_refuse(target, atomic, false, reason, part);
    } else if (start_away(ad, target, atomic, part)) {
        aq_event_free(event);
        return GEX_EVENT_NO_OP;
    }
    trace_add(target, atomic, begin, event);
    aq_outstanding_add(aq_thread_self()->outstanding, event, endpoint_of(ad),
                       local_parts(atomic->op));
    return aq_event_part(event, AQ_PART_ROOT);
}

int aq_api_atomic_nbi(gex_AD_t ad, const aq_api_atomic_t *atomic)
{
    const uint64_t begin = aq_trace_begin(AQ_TRACE_ATOMIC);
    if (AQ_CHECKS)
        aq_ratomic_check("gex_AD_OpNBI", ad, atomic);
    const aq_atomic_target_t target = target_of(ad, atomic, true);
    int reason;
    const outcome_t outcome = try_here(target, atomic, &reason);
    if (outcome == DONE) {
        trace_add(target, atomic, begin, NULL);
        return 0;
    }
    aq_outstanding_implicit(aq_thread_self()->outstanding, endpoint_of(ad),
                            local_parts(atomic->op));
    const gex_Event_t part = aq_event_part(aq_thread_nbi(), part_of(atomic->op));
    int refused = 0;
    if (outcome == AWAY)
        refused = start_away(ad, target, atomic, part);
    else
        aq_ratomic_refuse(target, atomic, true, reason, part);
    if (!refused)
        trace_add(target, atomic, begin, aq_thread_nbi());
    return refused;
}
