// GASNet-EX extended API: contiguous put and get, barriers.
//
// Include <gasnetex.h>, not this file. Specification: "Extended API", "Collectives Part I.
// Barrier". A put or get to a peer whose memory is mapped here is a table load, a copy and a fence
// in this header; it is complete when it returns. Everything else is a call, which may block for
// resources (and then runs handlers) unless flags has GEX_FLAG_IMMEDIATE. Addresses belong to the
// caller until local completion.
#ifndef GASNETEX_RMA_H
#define GASNETEX_RMA_H

#include <string.h>

#include "gasnetex_core.h"

#ifdef __cplusplus
extern "C" {
#endif

AQ_API int aq_api_put(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
                      gex_Flags_t flags);
AQ_API int aq_api_put_nbi(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
                          gex_Event_t *lc_opt, gex_Flags_t flags);
AQ_API gex_Event_t aq_api_put_nb(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                                 size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags);
AQ_API int aq_api_get(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes,
                      gex_Flags_t flags);
AQ_API int aq_api_get_nbi(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes,
                          gex_Flags_t flags);
AQ_API gex_Event_t aq_api_get_nb(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes,
                                 gex_Flags_t flags);

// True when the memory of a rank is mapped here; then *shift leads to it. With a debug build false:
// the library checks each put and get, the rank too.
AQ_API_INLINE int aq_api_mapped(gex_TM_t tm, gex_Rank_t rank, intptr_t *shift)
{
#ifdef GASNET_DEBUG
    (void)tm, (void)rank;
    *shift = 1;
    return 0;
#else
    *shift = tm->peer_shift[rank];
    return __builtin_expect(!(*shift & 1), 1);
#endif
}

// Copies nbytes. The few sizes that a register holds go in one move, which is atomic where both are
// aligned; larger ones pay one comparison for it.
AQ_API_INLINE void aq_api_copy(void *dest, const void *src, size_t nbytes)
{
    if (nbytes > 8)
        memcpy(dest, src, nbytes);
    else if (nbytes == 8)
        memcpy(dest, src, 8);
    else if (nbytes == 4)
        memcpy(dest, src, 4);
    else if (nbytes == 2)
        memcpy(dest, src, 2);
    else
        memcpy(dest, src, nbytes);
}

AQ_API_INLINE void aq_api_copy_out(void *dest, const void *src, size_t nbytes, intptr_t shift)
{
    aq_api_copy((char *)dest + shift, src, nbytes);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

AQ_API_INLINE void aq_api_copy_in(void *dest, const void *src, size_t nbytes, intptr_t shift)
{
    aq_api_copy(dest, (const char *)src + shift, nbytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

// Returns 0, or non-zero when IMMEDIATE and nothing was done; so do all calls that return int.
AQ_API_INLINE int gex_RMA_PutBlocking(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                                      size_t nbytes, gex_Flags_t flags)
{
    intptr_t shift;
    if (!aq_api_mapped(tm, rank, &shift))
        return aq_api_put(tm, rank, dest, src, nbytes, flags);
    aq_api_copy_out(dest, src, nbytes, shift);
    return 0;
}

AQ_API_INLINE int gex_RMA_PutNBI(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                                 size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags)
{
    intptr_t shift;
    if (!aq_api_mapped(tm, rank, &shift))
        return aq_api_put_nbi(tm, rank, dest, src, nbytes, lc_opt, flags);
    aq_api_copy_out(dest, src, nbytes, shift);
    return 0;
}

AQ_API_INLINE gex_Event_t gex_RMA_PutNB(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                                        size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags)
{
    intptr_t shift;
    if (!aq_api_mapped(tm, rank, &shift))
        return aq_api_put_nb(tm, rank, dest, src, nbytes, lc_opt, flags);
    aq_api_copy_out(dest, src, nbytes, shift);
    aq_api_lc_done(lc_opt);
    return GEX_EVENT_INVALID;
}

AQ_API_INLINE int gex_RMA_GetBlocking(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src,
                                      size_t nbytes, gex_Flags_t flags)
{
    intptr_t shift;
    if (!aq_api_mapped(tm, rank, &shift))
        return aq_api_get(tm, dest, rank, src, nbytes, flags);
    aq_api_copy_in(dest, src, nbytes, shift);
    return 0;
}

AQ_API_INLINE int gex_RMA_GetNBI(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes,
                                 gex_Flags_t flags)
{
    intptr_t shift;
    if (!aq_api_mapped(tm, rank, &shift))
        return aq_api_get_nbi(tm, dest, rank, src, nbytes, flags);
    aq_api_copy_in(dest, src, nbytes, shift);
    return 0;
}

AQ_API_INLINE gex_Event_t gex_RMA_GetNB(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src,
                                        size_t nbytes, gex_Flags_t flags)
{
    intptr_t shift;
    if (!aq_api_mapped(tm, rank, &shift))
        return aq_api_get_nb(tm, dest, rank, src, nbytes, flags);
    aq_api_copy_in(dest, src, nbytes, shift);
    return GEX_EVENT_INVALID;
}

// Values: the nbytes (1 to 8) low-order bytes of an integer.
AQ_API_INLINE const void *aq_api_value_bytes(const gex_RMA_Value_t *value, size_t nbytes)
{
    if (nbytes - 1 >= sizeof *value)
        __builtin_unreachable(); // not legal; told to the compiler so that it sees the bounds of
                                 // the copy
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (const char *)value + (sizeof *value - nbytes);
#else
    return value;
#endif
}

AQ_API_INLINE gex_RMA_Value_t gex_RMA_GetBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *src,
                                                     size_t nbytes, gex_Flags_t flags)
{
    gex_RMA_Value_t value = 0;
    gex_RMA_GetBlocking(tm, (void *)aq_api_value_bytes(&value, nbytes), rank, src, nbytes,
                        flags & ~GEX_FLAG_IMMEDIATE);
    return value;
}

AQ_API_INLINE int gex_RMA_PutBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *dest,
                                         gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags)
{
    return gex_RMA_PutBlocking(tm, rank, dest, aq_api_value_bytes(&value, nbytes), nbytes, flags);
}

AQ_API_INLINE int gex_RMA_PutNBIVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value,
                                    size_t nbytes, gex_Flags_t flags)
{
    return gex_RMA_PutNBI(tm, rank, dest, aq_api_value_bytes(&value, nbytes), nbytes, GEX_EVENT_NOW,
                          flags);
}

AQ_API_INLINE gex_Event_t gex_RMA_PutNBVal(gex_TM_t tm, gex_Rank_t rank, void *dest,
                                           gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags)
{
    return gex_RMA_PutNB(tm, rank, dest, aq_api_value_bytes(&value, nbytes), nbytes, GEX_EVENT_NOW,
                         flags);
}

// ---- barriers ----

// Split-phase barrier over a team. Collective. Several may be outstanding, and several threads may
// start them at the same time over different teams. A rank that polls nowhere else handles what was
// sent ahead of a barrier: the call polls where the barrier is complete at once, else the wait
// does. The same holds for gasnet_barrier_notify.
AQ_API gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t flags);

// The same, blocking: returns when all members have called.
AQ_API_INLINE void gex_Coll_BarrierBlocking(gex_TM_t tm, gex_Flags_t flags)
{
    gex_Event_Wait(gex_Coll_BarrierNB(tm, flags));
}

// The primordial team, which calls of GASNet-1 use; set at init.
AQ_API gex_TM_t aq_api_gasnet1_team;

// GASNet-1 split-phase barrier over the whole job: notify, then wait or try until it is not
// GASNET_ERR_NOT_READY. A named barrier (flags 0) checks that all named ranks gave the same id;
// GASNET_BARRIERFLAG_ANONYMOUS matches any id, and so does _UNNAMED, which promises that no rank
// names it; _MISMATCH makes it fail. Returns GASNET_OK or GASNET_ERR_BARRIER_MISMATCH, the latter
// also if this rank names another id at the end. Flags at the end may differ from those at the
// start, which 1.8.1 forbids and clients do, since UPC allows it. One thread at a time is in these
// calls, and none in a collective call over the primordial team from notify to the end of wait.
#define GASNET_BARRIERFLAG_ANONYMOUS 1
#define GASNET_BARRIERFLAG_MISMATCH 2
#define GASNET_BARRIERFLAG_UNNAMED (8 | GASNET_BARRIERFLAG_ANONYMOUS)
AQ_API void gasnet_barrier_notify(int id, int flags);
AQ_API int gasnet_barrier_wait(int id, int flags);
AQ_API int gasnet_barrier_try(int id, int flags);
AQ_API int gasnet_barrier(int id, int flags);
// Tells about the last of these barriers, which ended with GASNET_OK: 0, and *id is what its named
// ranks gave, or non-zero when no rank named it. Does not block.
AQ_API int gasnet_barrier_result(int *id);

#ifdef __cplusplus
}
#endif

#endif
