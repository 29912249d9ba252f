// SPDX-License-Identifier: BSD-3-Clause
// GASNet-EX extended API: contiguous put and get, barriers.
//
// Include <gasnetex.h>, not this file. Specification: "Extended API", "Collectives Part I.
// Barrier". If the memory of the peer is mapped in this process, a put or get is inline (a table
// load, a copy and a fence) and complete when it returns. Otherwise it is a call of the library,
// which may block for resources, and then runs handlers, unless flags has GEX_FLAG_IMMEDIATE. The
// library uses the caller's buffers until local completion. Sizes (nbytes) are in bytes.
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

// Returns true if the memory of rank is mapped in this process, and sets *shift to the difference
// of the addresses. Always false in a debug build, so that the library checks the arguments of each
// put and get. A rank that is not in the team makes the load fault, and the library logs the
// reason.
static inline int aq_api_mapped(gex_TM_t tm, gex_Rank_t rank, intptr_t *shift)
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

// Ends the job with a message: a value of no byte, or of more than 8.
AQ_API void aq_api_value_refuse(const char *call, size_t nbytes) __attribute__((noreturn, cold));

// Put and get nbytes between this process and the segment of rank. Calls that return int return 0,
// or non-zero if flags has GEX_FLAG_IMMEDIATE and nothing was done; PutNB and GetNB return
// GEX_EVENT_NO_OP in that case. Blocking calls return when the operation is complete, NB calls
// return its event, and gex_NBI_Test and gex_NBI_Wait find the completion of NBI operations.
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

// Puts and gets of values: the nbytes (1 to 8) low-order bytes of an integer.
static inline const void *aq_api_value_bytes(const char *call, const gex_RMA_Value_t *value,
                                             size_t nbytes)
{
    if (nbytes - 1 >= sizeof *value)
        aq_api_value_refuse(call, nbytes); // the compiler learns the bounds of the copy
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
    gex_RMA_GetBlocking(tm, (void *)aq_api_value_bytes("gex_RMA_GetBlockingVal", &value, nbytes),
                        rank, src, nbytes, flags & ~GEX_FLAG_IMMEDIATE);
    return value;
}

AQ_API_INLINE int gex_RMA_PutBlockingVal(gex_TM_t tm, gex_Rank_t rank, void *dest,
                                         gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags)
{
    return gex_RMA_PutBlocking(tm, rank, dest,
                               aq_api_value_bytes("gex_RMA_PutBlockingVal", &value, nbytes), nbytes,
                               flags);
}

AQ_API_INLINE int gex_RMA_PutNBIVal(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value,
                                    size_t nbytes, gex_Flags_t flags)
{
    return gex_RMA_PutNBI(tm, rank, dest, aq_api_value_bytes("gex_RMA_PutNBIVal", &value, nbytes),
                          nbytes, GEX_EVENT_NOW, flags);
}

AQ_API_INLINE gex_Event_t gex_RMA_PutNBVal(gex_TM_t tm, gex_Rank_t rank, void *dest,
                                           gex_RMA_Value_t value, size_t nbytes, gex_Flags_t flags)
{
    return gex_RMA_PutNB(tm, rank, dest, aq_api_value_bytes("gex_RMA_PutNBVal", &value, nbytes),
                         nbytes, GEX_EVENT_NOW, flags);
}

// ---- barriers ----

// Starts a split-phase barrier over a team. Collective; does not block. Several barriers may be
// outstanding, and several threads may start barriers over different teams at the same time. The
// call polls if the barrier completes at once; otherwise waiting for the event polls. So a rank
// handles the messages that were sent before a barrier even if it polls nowhere else. The same is
// true of gasnet_barrier_notify.
AQ_API gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t flags);

// Blocks until all members of tm have called.
AQ_API_INLINE void gex_Coll_BarrierBlocking(gex_TM_t tm, gex_Flags_t flags)
{
    gex_Event_Wait(gex_Coll_BarrierNB(tm, flags));
}

// The primordial team, which GASNet-1 calls use; set by gex_Client_Init and gasnet_init.
AQ_API_VARIABLE gex_TM_t aq_api_gasnet1_team;

// GASNet-1 split-phase barrier over the whole job. gasnet_barrier_notify starts the barrier without
// blocking; then gasnet_barrier_wait blocks until all ranks have started, or the caller repeats
// gasnet_barrier_try while it returns GASNET_ERR_NOT_READY. gasnet_barrier is notify and wait.
//
// With flags 0 a rank names the barrier: all ranks that name it must give the same id.
// GASNET_BARRIERFLAG_ANONYMOUS matches any id. GASNET_BARRIERFLAG_UNNAMED does too, and promises
// that no rank names the barrier. GASNET_BARRIERFLAG_MISMATCH makes the barrier fail. Calls return
// GASNET_OK or GASNET_ERR_BARRIER_MISMATCH, the latter also if this rank's id at the end differs
// from its id at notify. The flags at the end may differ from those at notify: specification 1.8.1
// forbids that, but UPC allows it and clients rely on it.
//
// One thread at a time may be in these calls, and no thread in a collective call over the
// primordial team from notify to the end of wait or try.
#define GASNET_BARRIERFLAG_ANONYMOUS 1
#define GASNET_BARRIERFLAG_MISMATCH 2
#define GASNET_BARRIERFLAG_UNNAMED (8 | GASNET_BARRIERFLAG_ANONYMOUS)
AQ_API void gasnet_barrier_notify(int id, int flags);
AQ_API int gasnet_barrier_wait(int id, int flags);
AQ_API int gasnet_barrier_try(int id, int flags);
AQ_API int gasnet_barrier(int id, int flags);
// Queries the last of these barriers, which must have ended with GASNET_OK. Returns 0 and sets *id
// to the id that ranks gave, or returns non-zero if no rank named the barrier. Does not block.
AQ_API int gasnet_barrier_result(int *id);

#ifdef __cplusplus
}
#endif

#endif
