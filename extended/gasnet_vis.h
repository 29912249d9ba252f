// SPDX-License-Identifier: BSD-3-Clause
// GASNet-EX: non-contiguous put and get (vector, indexed, strided), and their GASNet-1 forms.
//
// Specification: GASNet-EX, "Vector/Indexed/Strided (VIS)". The GASNet-1 forms are specified in
// upc_memcpy_gasnet-2.0.pdf, to which that section refers.
//
// Both sides of an operation describe the same number of bytes, which are copied in order; the two
// sides may have different pieces. Destination locations must not overlap each other or the source.
// Remote addresses lie in the segment of the peer. The caller keeps all lists, and the memory that
// they describe, valid and unchanged until the operation is complete, and arrays of strides and
// counts until the call returns.
//
// A call may block for resources, and then runs handlers. With GEX_FLAG_IMMEDIATE such a call does
// nothing instead and returns non-zero or GEX_EVENT_NO_OP. Otherwise calls return 0 or the root
// event of the operation. A Blocking call returns when the operation is complete. With
// GEX_FLAG_ENABLE_LEAF_LC (puts, NB and NBI) the client can wait for the local completion of the
// data, by gex_Event_QueryLeaf(event, GEX_EC_LC) or gex_NBI_Wait(GEX_EC_LC, 0).
#ifndef GASNET_VIS_H
#define GASNET_VIS_H

#include "gasnetex_core.h"

#ifdef __cplusplus
extern "C" {
#endif

// Vector: lists of pieces of different lengths in bytes; a length may be 0.
AQ_API int gex_VIS_VectorPutBlocking(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,
                                     gex_Memvec_t const dstlist[], size_t srccount,
                                     gex_Memvec_t const srclist[], gex_Flags_t flags);
AQ_API gex_Event_t gex_VIS_VectorPutNB(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,
                                       gex_Memvec_t const dstlist[], size_t srccount,
                                       gex_Memvec_t const srclist[], gex_Flags_t flags);
AQ_API int gex_VIS_VectorPutNBI(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,
                                gex_Memvec_t const dstlist[], size_t srccount,
                                gex_Memvec_t const srclist[], gex_Flags_t flags);
AQ_API int gex_VIS_VectorGetBlocking(gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[],
                                     gex_Rank_t srcrank, size_t srccount,
                                     gex_Memvec_t const srclist[], gex_Flags_t flags);
AQ_API gex_Event_t gex_VIS_VectorGetNB(gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[],
                                       gex_Rank_t srcrank, size_t srccount,
                                       gex_Memvec_t const srclist[], gex_Flags_t flags);
AQ_API int gex_VIS_VectorGetNBI(gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[],
                                gex_Rank_t srcrank, size_t srccount, gex_Memvec_t const srclist[],
                                gex_Flags_t flags);

// Indexed: lists of the addresses of pieces of one length, dstlen or srclen bytes.
AQ_API int gex_VIS_IndexedPutBlocking(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,
                                      void *const dstlist[], size_t dstlen, size_t srccount,
                                      void *const srclist[], size_t srclen, gex_Flags_t flags);
AQ_API gex_Event_t gex_VIS_IndexedPutNB(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,
                                        void *const dstlist[], size_t dstlen, size_t srccount,
                                        void *const srclist[], size_t srclen, gex_Flags_t flags);
AQ_API int gex_VIS_IndexedPutNBI(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,
                                 void *const dstlist[], size_t dstlen, size_t srccount,
                                 void *const srclist[], size_t srclen, gex_Flags_t flags);
AQ_API int gex_VIS_IndexedGetBlocking(gex_TM_t tm, size_t dstcount, void *const dstlist[],
                                      size_t dstlen, gex_Rank_t srcrank, size_t srccount,
                                      void *const srclist[], size_t srclen, gex_Flags_t flags);
AQ_API gex_Event_t gex_VIS_IndexedGetNB(gex_TM_t tm, size_t dstcount, void *const dstlist[],
                                        size_t dstlen, gex_Rank_t srcrank, size_t srccount,
                                        void *const srclist[], size_t srclen, gex_Flags_t flags);
AQ_API int gex_VIS_IndexedGetNBI(gex_TM_t tm, size_t dstcount, void *const dstlist[], size_t dstlen,
                                 gex_Rank_t srcrank, size_t srccount, void *const srclist[],
                                 size_t srclen, gex_Flags_t flags);

// Strided: blocks of elemsz contiguous bytes in a grid of stridelevels dimensions. Dimension i has
// count[i] blocks at distances of dststrides[i] or srcstrides[i] bytes, which may be negative;
// dimension 0 varies fastest. With 0 dimensions there is one block. If elemsz or a count is 0, the
// operation copies nothing.
AQ_API int gex_VIS_StridedPutBlocking(gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr,
                                      const ptrdiff_t dststrides[], void *srcaddr,
                                      const ptrdiff_t srcstrides[], size_t elemsz,
                                      const size_t count[], size_t stridelevels, gex_Flags_t flags);
AQ_API gex_Event_t gex_VIS_StridedPutNB(gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr,
                                        const ptrdiff_t dststrides[], void *srcaddr,
                                        const ptrdiff_t srcstrides[], size_t elemsz,
                                        const size_t count[], size_t stridelevels,
                                        gex_Flags_t flags);
AQ_API int gex_VIS_StridedPutNBI(gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr,
                                 const ptrdiff_t dststrides[], void *srcaddr,
                                 const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[],
                                 size_t stridelevels, gex_Flags_t flags);
AQ_API int gex_VIS_StridedGetBlocking(gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[],
                                      gex_Rank_t srcrank, void *srcaddr,
                                      const ptrdiff_t srcstrides[], size_t elemsz,
                                      const size_t count[], size_t stridelevels, gex_Flags_t flags);
AQ_API gex_Event_t gex_VIS_StridedGetNB(gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[],
                                        gex_Rank_t srcrank, void *srcaddr,
                                        const ptrdiff_t srcstrides[], size_t elemsz,
                                        const size_t count[], size_t stridelevels,
                                        gex_Flags_t flags);
AQ_API int gex_VIS_StridedGetNBI(gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[],
                                 gex_Rank_t srcrank, void *srcaddr, const ptrdiff_t srcstrides[],
                                 size_t elemsz, const size_t count[], size_t stridelevels,
                                 gex_Flags_t flags);

// The largest payload of a peer completion handler, in bytes.
#define GEX_VIS_MAX_PEERCOMPLETION ((size_t)256)

// Selects a handler that the next non-contiguous operation of this thread, which must be a put
// without GEX_FLAG_IMMEDIATE, runs at its target after the data has arrived there: a Medium reply
// handler without arguments, whose payload is nbytes (up to GEX_VIS_MAX_PEERCOMPLETION) from
// source_addr. The caller keeps the payload unchanged until that put is complete. Handler 0 cancels
// the selection. flags is 0. Does not block. Specification: "VIS Put Peer Completion".
AQ_API void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *source_addr,
                                             size_t nbytes, gex_Flags_t flags);

// ---- GASNet-1 ----

// The primordial team, which GASNet-1 calls use.
AQ_API_VARIABLE gex_TM_t aq_api_gasnet1_team;

// The GASNet-1 forms of the calls above, without flags. The strides hold ptrdiff_t values, count[0]
// is the size of a block in bytes, and count[1] to count[stridelevels] are the number of blocks in
// each dimension.
AQ_API_INLINE void gasnet_putv_bulk(gex_Rank_t dstrank, size_t dstcount,
                                    gasnet_memvec_t const dstlist[], size_t srccount,
                                    gasnet_memvec_t const srclist[])
{
    (void)gex_VIS_VectorPutBlocking(aq_api_gasnet1_team, dstrank, dstcount,
                                    (const gex_Memvec_t *)dstlist, srccount,
                                    (const gex_Memvec_t *)srclist, 0);
}

AQ_API_INLINE gex_Event_t gasnet_putv_nb_bulk(gex_Rank_t dstrank, size_t dstcount,
                                              gasnet_memvec_t const dstlist[], size_t srccount,
                                              gasnet_memvec_t const srclist[])
{
    return gex_VIS_VectorPutNB(aq_api_gasnet1_team, dstrank, dstcount,
                               (const gex_Memvec_t *)dstlist, srccount,
                               (const gex_Memvec_t *)srclist, 0);
}

AQ_API_INLINE void gasnet_putv_nbi_bulk(gex_Rank_t dstrank, size_t dstcount,
                                        gasnet_memvec_t const dstlist[], size_t srccount,
                                        gasnet_memvec_t const srclist[])
{
    (void)gex_VIS_VectorPutNBI(aq_api_gasnet1_team, dstrank, dstcount,
                               (const gex_Memvec_t *)dstlist, srccount,
                               (const gex_Memvec_t *)srclist, 0);
}

AQ_API_INLINE void gasnet_getv_bulk(size_t dstcount, gasnet_memvec_t const dstlist[],
                                    gex_Rank_t srcrank, size_t srccount,
                                    gasnet_memvec_t const srclist[])
{
    (void)gex_VIS_VectorGetBlocking(aq_api_gasnet1_team, dstcount, (const gex_Memvec_t *)dstlist,
                                    srcrank, srccount, (const gex_Memvec_t *)srclist, 0);
}

AQ_API_INLINE gex_Event_t gasnet_getv_nb_bulk(size_t dstcount, gasnet_memvec_t const dstlist[],
                                              gex_Rank_t srcrank, size_t srccount,
                                              gasnet_memvec_t const srclist[])
{
    return gex_VIS_VectorGetNB(aq_api_gasnet1_team, dstcount, (const gex_Memvec_t *)dstlist,
                               srcrank, srccount, (const gex_Memvec_t *)srclist, 0);
}

AQ_API_INLINE void gasnet_getv_nbi_bulk(size_t dstcount, gasnet_memvec_t const dstlist[],
                                        gex_Rank_t srcrank, size_t srccount,
                                        gasnet_memvec_t const srclist[])
{
    (void)gex_VIS_VectorGetNBI(aq_api_gasnet1_team, dstcount, (const gex_Memvec_t *)dstlist,
                               srcrank, srccount, (const gex_Memvec_t *)srclist, 0);
}

AQ_API_INLINE void gasnet_puti_bulk(gex_Rank_t dstrank, size_t dstcount, void *const dstlist[],
                                    size_t dstlen, size_t srccount, void *const srclist[],
                                    size_t srclen)
{
    (void)gex_VIS_IndexedPutBlocking(aq_api_gasnet1_team, dstrank, dstcount, dstlist, dstlen,
                                     srccount, srclist, srclen, 0);
}

AQ_API_INLINE gex_Event_t gasnet_puti_nb_bulk(gex_Rank_t dstrank, size_t dstcount,
                                              void *const dstlist[], size_t dstlen, size_t srccount,
                                              void *const srclist[], size_t srclen)
{
    return gex_VIS_IndexedPutNB(aq_api_gasnet1_team, dstrank, dstcount, dstlist, dstlen, srccount,
                                srclist, srclen, 0);
}

AQ_API_INLINE void gasnet_puti_nbi_bulk(gex_Rank_t dstrank, size_t dstcount, void *const dstlist[],
                                        size_t dstlen, size_t srccount, void *const srclist[],
                                        size_t srclen)
{
    (void)gex_VIS_IndexedPutNBI(aq_api_gasnet1_team, dstrank, dstcount, dstlist, dstlen, srccount,
                                srclist, srclen, 0);
}

AQ_API_INLINE void gasnet_geti_bulk(size_t dstcount, void *const dstlist[], size_t dstlen,
                                    gex_Rank_t srcrank, size_t srccount, void *const srclist[],
                                    size_t srclen)
{
    (void)gex_VIS_IndexedGetBlocking(aq_api_gasnet1_team, dstcount, dstlist, dstlen, srcrank,
                                     srccount, srclist, srclen, 0);
}

AQ_API_INLINE gex_Event_t gasnet_geti_nb_bulk(size_t dstcount, void *const dstlist[], size_t dstlen,
                                              gex_Rank_t srcrank, size_t srccount,
                                              void *const srclist[], size_t srclen)
{
    return gex_VIS_IndexedGetNB(aq_api_gasnet1_team, dstcount, dstlist, dstlen, srcrank, srccount,
                                srclist, srclen, 0);
}

AQ_API_INLINE void gasnet_geti_nbi_bulk(size_t dstcount, void *const dstlist[], size_t dstlen,
                                        gex_Rank_t srcrank, size_t srccount, void *const srclist[],
                                        size_t srclen)
{
    (void)gex_VIS_IndexedGetNBI(aq_api_gasnet1_team, dstcount, dstlist, dstlen, srcrank, srccount,
                                srclist, srclen, 0);
}

AQ_API_INLINE void gasnet_puts_bulk(gex_Rank_t dstrank, void *dstaddr, const size_t dststrides[],
                                    void *srcaddr, const size_t srcstrides[], const size_t count[],
                                    size_t stridelevels)
{
    (void)gex_VIS_StridedPutBlocking(
        aq_api_gasnet1_team, dstrank, dstaddr, (const ptrdiff_t *)dststrides, srcaddr,
        (const ptrdiff_t *)srcstrides, count[0], count + 1, stridelevels, 0);
}

AQ_API_INLINE gex_Event_t gasnet_puts_nb_bulk(gex_Rank_t dstrank, void *dstaddr,
                                              const size_t dststrides[], void *srcaddr,
                                              const size_t srcstrides[], const size_t count[],
                                              size_t stridelevels)
{
    return gex_VIS_StridedPutNB(
        aq_api_gasnet1_team, dstrank, dstaddr, (const ptrdiff_t *)dststrides, srcaddr,
        (const ptrdiff_t *)srcstrides, count[0], count + 1, stridelevels, 0);
}

AQ_API_INLINE void gasnet_puts_nbi_bulk(gex_Rank_t dstrank, void *dstaddr,
                                        const size_t dststrides[], void *srcaddr,
                                        const size_t srcstrides[], const size_t count[],
                                        size_t stridelevels)
{
    (void)gex_VIS_StridedPutNBI(
        aq_api_gasnet1_team, dstrank, dstaddr, (const ptrdiff_t *)dststrides, srcaddr,
        (const ptrdiff_t *)srcstrides, count[0], count + 1, stridelevels, 0);
}

AQ_API_INLINE void gasnet_gets_bulk(void *dstaddr, const size_t dststrides[], gex_Rank_t srcrank,
                                    void *srcaddr, const size_t srcstrides[], const size_t count[],
                                    size_t stridelevels)
{
    (void)gex_VIS_StridedGetBlocking(aq_api_gasnet1_team, dstaddr, (const ptrdiff_t *)dststrides,
                                     srcrank, srcaddr, (const ptrdiff_t *)srcstrides, count[0],
                                     count + 1, stridelevels, 0);
}

AQ_API_INLINE gex_Event_t gasnet_gets_nb_bulk(void *dstaddr, const size_t dststrides[],
                                              gex_Rank_t srcrank, void *srcaddr,
                                              const size_t srcstrides[], const size_t count[],
                                              size_t stridelevels)
{
    return gex_VIS_StridedGetNB(aq_api_gasnet1_team, dstaddr, (const ptrdiff_t *)dststrides,
                                srcrank, srcaddr, (const ptrdiff_t *)srcstrides, count[0],
                                count + 1, stridelevels, 0);
}

AQ_API_INLINE void gasnet_gets_nbi_bulk(void *dstaddr, const size_t dststrides[],
                                        gex_Rank_t srcrank, void *srcaddr,
                                        const size_t srcstrides[], const size_t count[],
                                        size_t stridelevels)
{
    (void)gex_VIS_StridedGetNBI(aq_api_gasnet1_team, dstaddr, (const ptrdiff_t *)dststrides,
                                srcrank, srcaddr, (const ptrdiff_t *)srcstrides, count[0],
                                count + 1, stridelevels, 0);
}

#ifdef __cplusplus
}
#endif

#endif
