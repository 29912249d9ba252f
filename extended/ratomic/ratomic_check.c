// SPDX-License-Identifier: BSD-3-Clause
// Which remote atomics are legal, and whether their targets have the memory.
#include <stdio.h>
#include <string.h>

#include "../../core/memory/access.h"
#include "../../core/ground/bounds.h"
#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"
#include "../../core/endpoint/team.h"
#include "../rma/format.h"
#include "ratomic_check.h"
#include "../rma/rma_probe.h"

#define BITWISE (GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR)
#define ARITHMETIC                                                                                 \
    (GEX_OP_ADD | GEX_OP_SUB | GEX_OP_MULT | GEX_OP_MIN | GEX_OP_MAX | GEX_OP_INC | GEX_OP_DEC)
#define ANY_TYPE (ARITHMETIC | GEX_OP_TO_FETCHING(ARITHMETIC) | AQ_API_OP_ACCESSORS)

gex_OP_t aq_ratomic_ops_of(gex_DT_t dt)
{
    switch (dt) {
    case GEX_DT_I32:
    case GEX_DT_U32:
    case GEX_DT_I64:
    case GEX_DT_U64:
        return ANY_TYPE | BITWISE | GEX_OP_TO_FETCHING(BITWISE);
    case GEX_DT_FLT:
    case GEX_DT_DBL:
        return ANY_TYPE;
    default:
        return 0;
    }
}

void aq_ratomic_check_domain(gex_DT_t dt, gex_OP_t ops)
{
    char names[AQ_OP_NAMES_BYTES];
    gex_OP_t legal = aq_ratomic_ops_of(dt);
    if (!legal)
        aq_fatal("gex_AD_Create: data type 0x%x (%s) is not one of GEX_DT_I32, _U32, _I64, _U64, "
                 "_FLT and _DBL",
                 dt, aq_dt_name(dt));
    if (!ops)
        aq_fatal("gex_AD_Create: no operation is given for %s; join GEX_OP_* by |", aq_dt_name(dt));
    if (ops & ~legal)
        aq_fatal("gex_AD_Create: remote atomics on %s do not have %s", aq_dt_name(dt),
                 aq_op_names(ops & ~legal, names));
}

// The job rank of the target. Ends the job if the target is not a member of the domain's team.
static gex_Rank_t check_rank(const char *call, const aq_domain_t *domain,
                             const aq_api_atomic_t *atomic)
{
    if (atomic->flags & GEX_FLAG_RANK_IS_JOBRANK) {
        AQ_CHECK(gex_TM_TranslateJobrankToRank(domain->tm, atomic->rank) != GEX_RANK_INVALID,
                 "%s: job rank %u is not in the domain's team of %u", call, atomic->rank,
                 domain->tm->size);
        return atomic->rank;
    }
    aq_bounds_rank(call, "rank", atomic->rank, domain->tm->size);
    return aq_tm_jobrank(domain->tm, atomic->rank);
}

// Checks the flags by which the client asserts that the target is this rank or a neighbour.
static void check_place(const char *call, const aq_api_atomic_t *atomic, gex_Rank_t jobrank)
{
    AQ_CHECK(!(atomic->flags & GEX_FLAG_AD_MY_RANK) || jobrank == aq_job.rank,
             "%s: GEX_FLAG_AD_MY_RANK with rank %u, which is not the caller's own", call,
             atomic->rank);
    AQ_CHECK(!(atomic->flags & GEX_FLAG_AD_MY_NBRHD) ||
                 aq_index_in_nbrhd(&aq_job.env, jobrank) != UINT32_MAX,
             "%s: GEX_FLAG_AD_MY_NBRHD with rank %u, which is not in the caller's neighborhood",
             call, atomic->rank);
}

static void check_op(const char *call, const aq_domain_t *domain, const aq_api_atomic_t *atomic)
{
    char op[AQ_OP_NAMES_BYTES], ops[AQ_OP_NAMES_BYTES];
    AQ_CHECK(atomic->dt == domain->dt, "%s: the domain is for %s, not %s", call,
             aq_dt_name(domain->dt), aq_dt_name(atomic->dt));
    AQ_CHECK(atomic->op && !(atomic->op & (atomic->op - 1)), "%s: %s is not one operation", call,
             aq_op_names(atomic->op, op));
    AQ_CHECK(atomic->op & domain->ops, "%s: the domain was not made for %s; it has %s", call,
             aq_op_names(atomic->op, op), aq_op_names(domain->ops, ops));
    AQ_CHECK(atomic->result || !(atomic->op & AQ_API_OP_FETCHING),
             "%s: %s fetches, but the address of its result is NULL", call,
             aq_op_names(atomic->op, op));
}

void aq_ratomic_check(const char *call, gex_AD_t ad, const aq_api_atomic_t *atomic)
{
    char full[32];
    snprintf(full, sizeof full, "%s_%s", call, aq_dt_name(atomic->dt) + strlen("GEX_DT_"));
    aq_thread_check_call(full);
    AQ_CHECK(ad, "%s: the domain is GEX_AD_INVALID", full);
    check_op(full, aq_domain_of(ad), atomic);
    AQ_CHECK(!(atomic->flags & (GEX_FLAG_SELF_SEG_OFFSET | GEX_FLAG_PEER_SEG_OFFSET)),
             "%s: GEX_FLAG_SELF_SEG_OFFSET and _PEER_SEG_OFFSET are not supported; give addresses",
             full);
    gex_Rank_t jobrank = check_rank(full, aq_domain_of(ad), atomic);
    check_place(full, atomic, jobrank);
}

// Returns the name of the call with its type, as a string constant.
static const char *call_name(bool implicit, gex_DT_t dt)
{
    static const char *const names[][2] = {
        {"gex_AD_OpNB_I32", "gex_AD_OpNBI_I32"}, {"gex_AD_OpNB_U32", "gex_AD_OpNBI_U32"},
        {"gex_AD_OpNB_I64", "gex_AD_OpNBI_I64"}, {"gex_AD_OpNB_U64", "gex_AD_OpNBI_U64"},
        {"gex_AD_OpNB_FLT", "gex_AD_OpNBI_FLT"}, {"gex_AD_OpNB_DBL", "gex_AD_OpNBI_DBL"}};
    return names[__builtin_ctz(dt & 63 ? dt & 63 : 1)][implicit];
}

void aq_ratomic_refuse_rank(gex_AD_t ad, const aq_api_atomic_t *atomic, bool implicit)
{
    const char *call = call_name(implicit, atomic->dt);
    const gex_Rank_t size = aq_domain_of(ad)->tm->size;
    if (atomic->flags & GEX_FLAG_RANK_IS_JOBRANK)
        aq_fatal("%s: job rank %u is not in the domain's team of %u", call, atomic->rank, size);
    aq_bounds_refuse_rank(call, "rank", atomic->rank, size);
}

bool aq_ratomic_fits(aq_atomic_target_t target, const aq_api_atomic_t *atomic, int *reason)
{
    const size_t bytes = aq_ratomic_bytes(atomic->dt);
    *reason = 0;
    if ((uintptr_t)atomic->addr % bytes ||
        !aq_access_fits(target.jobrank, target.ep_pair.to, atomic->addr, bytes))
        return false;
    aq_access_t access = {
        .addr = atomic->addr, .nbytes = bytes, .rank = target.jobrank, .ep = target.ep_pair.to};
    if (aq_probe_needed(target.ep_pair.to))
        (void)aq_probe(&access, atomic->op != GEX_OP_GET);
    *reason = access.reason;
    return !access.reason;
}

void aq_ratomic_refuse(aq_atomic_target_t target, const aq_api_atomic_t *atomic, bool implicit,
                       int reason, gex_Event_t part)
{
    const size_t bytes = aq_ratomic_bytes(atomic->dt);
    const aq_access_t access = {call_name(implicit, atomic->dt),
                                atomic->addr,
                                bytes,
                                target.jobrank,
                                target.ep_pair.to,
                                reason};
    aq_access_refuse(&access, (uintptr_t)atomic->addr % bytes ? bytes : 0, part);
}
