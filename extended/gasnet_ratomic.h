// GASNet-EX remote atomics. Specification: "Atomic Domains", "Remote Atomic Operations".
//
// An operation of one processor instruction on memory that is mapped here is done in this header,
// when its opcode is a compile-time constant, and is complete on return. Everything else is a call.
//
// Inside, a value is its bits: the low ones of 64 for a type of 32 bits.
#ifndef GASNET_RATOMIC_H
#define GASNET_RATOMIC_H

#include <string.h>

#include "gasnetex.h"

#ifdef __cplusplus
extern "C" {
#endif

// The head that a domain's handle points to, which clients only read. Pinned: changes only with
// AQ_API_ABI. peer_shift is as in a team's head; an odd entry sends the operations on that rank
// into the library.
struct gex_ad {
    const intptr_t *peer_shift;
};
typedef struct gex_ad *gex_AD_t;

#define GEX_AD_INVALID ((gex_AD_t)0)

// Makes a domain for operations ops (GEX_OP_* joined by |) on type dt in the segments of tm's
// members. Collective with the same dt, ops and flags; neither blocks nor synchronizes; other
// threads may make domains of other teams at the same time. flags: GEX_FLAG_AD_FAVOR_*, at most
// one, or 0. An operation or type that remote atomics do not have ends the job in every build. The
// domain is the caller's until gex_AD_Destroy, and must go before tm.
AQ_API void gex_AD_Create(gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops,
                          gex_Flags_t flags);
// Collective; all operations on the domain are complete at all ranks. Does not synchronize.
AQ_API void gex_AD_Destroy(gex_AD_t ad);

// What the domain was made with, and the client's word (NULL at first). Allowed in handlers.
AQ_API gex_Flags_t gex_AD_QueryFlags(gex_AD_t ad);
AQ_API gex_TM_t gex_AD_QueryTM(gex_AD_t ad);
AQ_API gex_DT_t gex_AD_QueryDT(gex_AD_t ad);
AQ_API gex_OP_t gex_AD_QueryOps(gex_AD_t ad);
AQ_API void gex_AD_SetCData(gex_AD_t ad, const void *val);
AQ_API void *gex_AD_QueryCData(gex_AD_t ad);

// ---- inside ----

typedef struct aq_api_atomic {
    uint64_t operand1, operand2; // bits
    void *result;
    void *addr; // as the target sees it
    gex_Rank_t rank;
    gex_DT_t dt;
    gex_OP_t op;
    gex_Flags_t flags;
} aq_api_atomic_t;

AQ_API gex_Event_t aq_api_atomic_nb(gex_AD_t ad, const aq_api_atomic_t *atomic);
AQ_API int aq_api_atomic_nbi(gex_AD_t ad, const aq_api_atomic_t *atomic);

#define AQ_API_DT_64 (GEX_DT_I64 | GEX_DT_U64 | GEX_DT_DBL)
#define AQ_API_DT_REAL (GEX_DT_FLT | GEX_DT_DBL)
// Operations that write to *result_p.
#define AQ_API_OP_FETCHING                                                                         \
    (GEX_OP_FAND | GEX_OP_FOR | GEX_OP_FXOR | GEX_OP_FADD | GEX_OP_FSUB | GEX_OP_FMULT |           \
     GEX_OP_FMIN | GEX_OP_FMAX | GEX_OP_FINC | GEX_OP_FDEC | GEX_OP_SWAP | GEX_OP_FCAS |           \
     GEX_OP_GET)
// Operations of one instruction: those on any type, and those on integers.
#define AQ_API_OP_ACCESSORS (GEX_OP_SET | GEX_OP_CAS | GEX_OP_GET | GEX_OP_SWAP | GEX_OP_FCAS)
#define AQ_API_OP_DIRECT                                                                           \
    (GEX_OP_ADD | GEX_OP_SUB | GEX_OP_INC | GEX_OP_DEC | GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR |     \
     GEX_OP_FADD | GEX_OP_FSUB | GEX_OP_FINC | GEX_OP_FDEC | GEX_OP_FAND | GEX_OP_FOR |            \
     GEX_OP_FXOR)

// The target's object may be of another type.
typedef uint32_t __attribute__((may_alias)) aq_api_u32_t;
typedef uint64_t __attribute__((may_alias)) aq_api_u64_t;

// So that constant opcodes, types and flags are seen as such.
#define AQ_API_AD_INLINE static inline __attribute__((always_inline))

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

// A load does not release, and a store does not acquire: asked for that, they get a full fence.
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

// Returns what was there: a, when b was written.
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

// Does the processor have it as one instruction?
AQ_API_AD_INLINE int aq_api_atomic_is_direct(gex_DT_t dt, gex_OP_t op)
{
    return (op & (dt & AQ_API_DT_REAL ? AQ_API_OP_ACCESSORS
                                      : AQ_API_OP_ACCESSORS | AQ_API_OP_DIRECT)) != 0;
}

// Performs such an operation on memory of this process; returns what was there (SET: 0).
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

// True when the operation was done in line. With a debug build false: the library checks each one.
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
    old = aq_api_atomic_direct((char *)addr + shift, dt, op, a, b, flags);
    if (op & AQ_API_OP_FETCHING)
        aq_api_put_bits(result, old, dt & AQ_API_DT_64 ? 8 : 4);
    return 1;
#endif
}

// ---- the operations ----

// gex_AD_OpNB_I32 and its kin: performs opcode (one GEX_OP_* that the domain has) on the value at
// tgt_addr in the segment of tgt_rank, aligned to its size. result_p receives the old value when
// the event is complete, if opcode fetches; it and operands that opcode does not take are ignored.
// Compare-and-swap of floating-point values compares their bits. flags: GEX_FLAG_IMMEDIATE,
// GEX_FLAG_AD_MY_RANK or _MY_NBRHD, GEX_FLAG_AD_ACQ, _REL, GEX_FLAG_RANK_IS_JOBRANK. May block for
// resources, and then runs handlers, unless IMMEDIATE: then returns GEX_EVENT_NO_OP.
//
// gex_AD_OpNBI_I32 and its kin: the same, found complete with gex_NBI_Test or _Wait: GEX_EC_PUT for
// SET, GEX_EC_GET for GET, else GEX_EC_RMW. Returns 0, or non-zero when IMMEDIATE and nothing was
// done.
#define AQ_API_AD_OP(RETURN, NAME, SUFFIX, TYPE, DONE, CALL)                                       \
    AQ_API_AD_INLINE RETURN gex_AD_##NAME##_##SUFFIX(                                              \
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
