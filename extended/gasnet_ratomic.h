// SPDX-License-Identifier: BSD-3-Clause
// GASNet-EX remote atomics. Specification: "Atomic Domains", "Remote Atomic Operations".
//
// An operation with a compile-time constant opcode is inline if the memory is mapped in this
// process and the processor has an instruction for it; such an operation is complete when the call
// returns. Otherwise the operation is a call of the library.
//
// Internally a value is a uint64_t with the bits of the value; a type of 32 bits uses the low half.
#ifndef GASNET_RATOMIC_H
#define GASNET_RATOMIC_H

#include <string.h>

#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

// The public part of a domain; clients only read it. The layout changes only together with
// AQ_API_ABI. peer_shift is as in struct gex_tm: if an entry is odd, operations on that rank call
// the library.
struct gex_ad {
    const intptr_t *peer_shift;
};
typedef struct gex_ad *gex_AD_t;

#define GEX_AD_INVALID ((gex_AD_t)0)

// Creates a domain for the operations ops (GEX_OP_* joined by |) on values of type dt in the
// segments of the members of tm. Collective over tm with the same dt, ops and flags; neither blocks
// nor synchronizes. Other threads may create domains of other teams at the same time. flags is 0 or
// one of GEX_FLAG_AD_FAVOR_*. An operation or type that remote atomics do not support ends the job
// with a message in every build. The caller destroys the domain with gex_AD_Destroy, before tm.
AQ_API void gex_AD_Create(gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops,
                          gex_Flags_t flags);
// Destroys a domain. Collective; all operations on the domain must be complete at all ranks before
// any rank calls. Neither blocks nor synchronizes.
AQ_API void gex_AD_Destroy(gex_AD_t ad);

// The arguments of gex_AD_Create, and the client's pointer (CData; initially NULL). Allowed in
// handlers.
AQ_API gex_Flags_t gex_AD_QueryFlags(gex_AD_t ad);
AQ_API gex_TM_t gex_AD_QueryTM(gex_AD_t ad);
AQ_API gex_DT_t gex_AD_QueryDT(gex_AD_t ad);
AQ_API gex_OP_t gex_AD_QueryOps(gex_AD_t ad);
AQ_API void gex_AD_SetCData(gex_AD_t ad, const void *val);
AQ_API void *gex_AD_QueryCData(gex_AD_t ad);

// ---- implementation ----

typedef struct aq_api_atomic {
    uint64_t operand1, operand2; // bits
    void *result;
    void *addr; // an address of the target
    gex_Rank_t rank;
    gex_DT_t dt;
    gex_OP_t op;
    gex_Flags_t flags;
} aq_api_atomic_t;

AQ_API gex_Event_t aq_api_atomic_nb(gex_AD_t ad, const aq_api_atomic_t *atomic);
AQ_API int aq_api_atomic_nbi(gex_AD_t ad, const aq_api_atomic_t *atomic);

#define AQ_API_DT_64 (GEX_DT_I64 | GEX_DT_U64 | GEX_DT_DBL)
#define AQ_API_DT_REAL (GEX_DT_FLT | GEX_DT_DBL)
// Operations that return the old value in *result_p.
#define AQ_API_OP_FETCHING                                                                         \
    (GEX_OP_FAND | GEX_OP_FOR | GEX_OP_FXOR | GEX_OP_FADD | GEX_OP_FSUB | GEX_OP_FMULT |           \
     GEX_OP_FMIN | GEX_OP_FMAX | GEX_OP_FINC | GEX_OP_FDEC | GEX_OP_SWAP | GEX_OP_FCAS |           \
     GEX_OP_GET)
// Operations of one instruction: on any type, and on integers only.
#define AQ_API_OP_ACCESSORS (GEX_OP_SET | GEX_OP_CAS | GEX_OP_GET | GEX_OP_SWAP | GEX_OP_FCAS)
#define AQ_API_OP_DIRECT                                                                           \
    (GEX_OP_ADD | GEX_OP_SUB | GEX_OP_INC | GEX_OP_DEC | GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR |     \
     GEX_OP_FADD | GEX_OP_FSUB | GEX_OP_FINC | GEX_OP_FDEC | GEX_OP_FAND | GEX_OP_FOR |            \
     GEX_OP_FXOR)

// may_alias because the client's object may have another type.
typedef uint32_t __attribute__((may_alias)) aq_api_u32_t;
typedef uint64_t __attribute__((may_alias)) aq_api_u64_t;

// Always inline, so that the compiler knows constant opcodes, types and flags.
#define AQ_API_ALWAYS __attribute__((always_inline))
#define AQ_API_AD_INLINE static inline AQ_API_ALWAYS

AQ_API_AD_INLINE uint64_t aq_api_bits(const void *value, size_t nbytes)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (nbytes == 8)
        memcpy(&wide, value, 8);
    else
        memcpy(&narrow, value, 4);
    return wide | narrow;
}

AQ_API_AD_INLINE void aq_api_put_bits(void *value, uint64_t bits, size_t nbytes)
{
    uint32_t narrow = (uint32_t)bits;
    if (nbytes == 8)
        memcpy(value, &bits, 8);
    else
        memcpy(value, &narrow, 4);
}

AQ_API_AD_INLINE int aq_api_order(gex_Flags_t flags)
{
    if (flags & GEX_FLAG_AD_ACQ)
        return flags & GEX_FLAG_AD_REL ? __ATOMIC_ACQ_REL : __ATOMIC_ACQUIRE;
    return flags & GEX_FLAG_AD_REL ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;
}

// A load cannot release and a store cannot acquire, so those combinations need a full fence.
AQ_API_AD_INLINE uint64_t aq_api_atomic_get(void *at, int wide, gex_Flags_t flags)
{
    const int order = flags & GEX_FLAG_AD_ACQ ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
    if (flags & GEX_FLAG_AD_REL)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return wide ? __atomic_load_n((aq_api_u64_t *)at, order)
                : __atomic_load_n((aq_api_u32_t *)at, order);
}

AQ_API_AD_INLINE void aq_api_atomic_set(void *at, int wide, uint64_t a, gex_Flags_t flags)
{
    const int order = flags & GEX_FLAG_AD_REL ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;
    if (wide)
        __atomic_store_n((aq_api_u64_t *)at, a, order);
    else
        __atomic_store_n((aq_api_u32_t *)at, (uint32_t)a, order);
    if (flags & GEX_FLAG_AD_ACQ)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

AQ_API_AD_INLINE uint64_t aq_api_atomic_swap(void *at, int wide, uint64_t a, gex_Flags_t flags)
{
    const int order = aq_api_order(flags);
    return wide ? __atomic_exchange_n((aq_api_u64_t *)at, a, order)
                : __atomic_exchange_n((aq_api_u32_t *)at, (uint32_t)a, order);
}

// Returns the old value. If it equals a, b was stored.
AQ_API_AD_INLINE uint64_t aq_api_atomic_cas(void *at, int wide, uint64_t a, uint64_t b,
                                            gex_Flags_t flags)
{
    const int order = aq_api_order(flags);
    const int failure = flags & GEX_FLAG_AD_ACQ ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
    uint32_t narrow = (uint32_t)a;
    if (wide) {
        __atomic_compare_exchange_n((aq_api_u64_t *)at, &a, b, 0, order, failure);
        return a;
    }
    __atomic_compare_exchange_n((aq_api_u32_t *)at, &narrow, (uint32_t)b, 0, order, failure);
    return narrow;
}

AQ_API_AD_INLINE uint64_t aq_api_atomic_add(void *at, int wide, uint64_t a, gex_Flags_t flags)
{
    const int order = aq_api_order(flags);
    return wide ? __atomic_fetch_add((aq_api_u64_t *)at, a, order)
                : __atomic_fetch_add((aq_api_u32_t *)at, (uint32_t)a, order);
}

AQ_API_AD_INLINE uint64_t aq_api_atomic_and(void *at, int wide, uint64_t a, gex_Flags_t flags)
{
    const int order = aq_api_order(flags);
    return wide ? __atomic_fetch_and((aq_api_u64_t *)at, a, order)
                : __atomic_fetch_and((aq_api_u32_t *)at, (uint32_t)a, order);
}

AQ_API_AD_INLINE uint64_t aq_api_atomic_or(void *at, int wide, uint64_t a, gex_Flags_t flags)
{
    const int order = aq_api_order(flags);
    return wide ? __atomic_fetch_or((aq_api_u64_t *)at, a, order)
                : __atomic_fetch_or((aq_api_u32_t *)at, (uint32_t)a, order);
}

AQ_API_AD_INLINE uint64_t aq_api_atomic_xor(void *at, int wide, uint64_t a, gex_Flags_t flags)
{
    const int order = aq_api_order(flags);
    return wide ? __atomic_fetch_xor((aq_api_u64_t *)at, a, order)
                : __atomic_fetch_xor((aq_api_u32_t *)at, (uint32_t)a, order);
}

// Whether the processor has an instruction for this operation.
AQ_API_AD_INLINE int aq_api_atomic_is_direct(gex_DT_t dt, gex_OP_t op)
{
    return (op & (dt & AQ_API_DT_REAL ? AQ_API_OP_ACCESSORS
                                      : AQ_API_OP_ACCESSORS | AQ_API_OP_DIRECT)) != 0;
}

// Performs such an operation on mapped memory; returns the old value (for GEX_OP_SET: 0).
AQ_API_AD_INLINE uint64_t aq_api_atomic_direct(void *at, gex_DT_t dt, gex_OP_t op, uint64_t a,
                                               uint64_t b, gex_Flags_t flags)
{
    const int wide = (dt & AQ_API_DT_64) != 0;
    if (op & GEX_OP_GET)
        return aq_api_atomic_get(at, wide, flags);
    if (op & GEX_OP_SWAP)
        return aq_api_atomic_swap(at, wide, a, flags);
    if (op & (GEX_OP_CAS | GEX_OP_FCAS))
        return aq_api_atomic_cas(at, wide, a, b, flags);
    if (op & (GEX_OP_ADD | GEX_OP_FADD))
        return aq_api_atomic_add(at, wide, a, flags);
    if (op & (GEX_OP_SUB | GEX_OP_FSUB))
        return aq_api_atomic_add(at, wide, 0 - a, flags);
    if (op & (GEX_OP_INC | GEX_OP_FINC))
        return aq_api_atomic_add(at, wide, 1, flags);
    if (op & (GEX_OP_DEC | GEX_OP_FDEC))
        return aq_api_atomic_add(at, wide, (uint64_t)0 - 1, flags);
    if (op & (GEX_OP_AND | GEX_OP_FAND))
        return aq_api_atomic_and(at, wide, a, flags);
    if (op & (GEX_OP_OR | GEX_OP_FOR))
        return aq_api_atomic_or(at, wide, a, flags);
    if (op & (GEX_OP_XOR | GEX_OP_FXOR))
        return aq_api_atomic_xor(at, wide, a, flags);
    aq_api_atomic_set(at, wide, a, flags);
    return 0;
}

// Performs the operation inline if possible, and returns whether it did. Always false in a debug
// build, so that the library checks each operation.
AQ_API_AD_INLINE int aq_api_atomic_here(gex_AD_t ad, void *result, gex_Rank_t rank, void *addr,
                                        gex_DT_t dt, gex_OP_t op, uint64_t a, uint64_t b,
                                        gex_Flags_t flags)
{
#ifdef GASNET_DEBUG
    (void)ad, (void)result, (void)rank, (void)addr, (void)dt, (void)op, (void)a, (void)b;
    (void)flags;
    return 0;
#else
    intptr_t shift;
    uint64_t old;
    if (!__builtin_constant_p(op) || !aq_api_atomic_is_direct(dt, op) ||
        (flags & GEX_FLAG_RANK_IS_JOBRANK))
        return 0;
    shift = ad->peer_shift[rank];
    if (__builtin_expect(shift & 1, 0))
        return 0;
    old = aq_api_atomic_direct(aq_api_shifted(addr, shift), dt, op, a, b, flags);
    if (op & AQ_API_OP_FETCHING)
        aq_api_put_bits(result, old, dt & AQ_API_DT_64 ? 8 : 4);
    return 1;
#endif
}

// ---- the operations ----

// gex_AD_OpNB_I32 and the same for the other types: performs opcode (one GEX_OP_* of the domain) on
// the value at tgt_addr, which is aligned to its size, in the segment of tgt_rank. A fetching
// opcode has stored the old value in *result_p when the returned event completes. result_p and
// operands that opcode does not use are ignored. Compare-and-swap of floating-point values compares
// the bits. flags: GEX_FLAG_IMMEDIATE, GEX_FLAG_AD_MY_RANK, GEX_FLAG_AD_MY_NBRHD, GEX_FLAG_AD_ACQ,
// GEX_FLAG_AD_REL, GEX_FLAG_RANK_IS_JOBRANK. The call may block for resources, and then runs
// handlers; with GEX_FLAG_IMMEDIATE it returns GEX_EVENT_NO_OP instead.
//
// gex_AD_OpNBI_I32 and the same for the other types: as above, but gex_NBI_Test and gex_NBI_Wait
// find the completion, in category GEX_EC_PUT for GEX_OP_SET, GEX_EC_GET for GEX_OP_GET, and
// GEX_EC_RMW otherwise. Return 0, or non-zero if flags has GEX_FLAG_IMMEDIATE and nothing was done.
#define AQ_API_AD_OP(RETURN, NAME, SUFFIX, TYPE, DONE, CALL)                                       \
    AQ_API_INLINE AQ_API_ALWAYS RETURN gex_AD_##NAME##_##SUFFIX(                                   \
        gex_AD_t ad, TYPE *result_p, gex_Rank_t tgt_rank, void *tgt_addr, gex_OP_t opcode,         \
        TYPE operand1, TYPE operand2, gex_Flags_t flags)                                           \
    {                                                                                              \
        const uint64_t a = aq_api_bits(&operand1, sizeof(TYPE));                                   \
        const uint64_t b = aq_api_bits(&operand2, sizeof(TYPE));                                   \
        if (aq_api_atomic_here(ad, result_p, tgt_rank, tgt_addr, GEX_DT_##SUFFIX, opcode, a, b,    \
                               flags))                                                             \
            return DONE;                                                                           \
        const aq_api_atomic_t atomic = {                                                           \
            a, b, result_p, tgt_addr, tgt_rank, GEX_DT_##SUFFIX, opcode, flags};                   \
        return CALL(ad, &atomic);                                                                  \
    }
#define AQ_API_AD_OPS(SUFFIX, TYPE)                                                                \
    AQ_API_AD_OP(gex_Event_t, OpNB, SUFFIX, TYPE, GEX_EVENT_INVALID, aq_api_atomic_nb)             \
    AQ_API_AD_OP(int, OpNBI, SUFFIX, TYPE, 0, aq_api_atomic_nbi)
AQ_API_AD_OPS(I32, int32_t)
AQ_API_AD_OPS(U32, uint32_t)
AQ_API_AD_OPS(I64, int64_t)
AQ_API_AD_OPS(U64, uint64_t)
AQ_API_AD_OPS(FLT, float)
AQ_API_AD_OPS(DBL, double)

#ifdef __cplusplus
}
#endif

#endif
