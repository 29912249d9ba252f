// GASNet-EX: non-contiguous put and get (vector, indexed, strided), and their GASNet-1 forms.
//
// Specification: "Vector/Indexed/Strided (VIS)" of the GASNet-EX specification; the GASNet-1 forms
// are those of the document that it refers to, upc_memcpy_gasnet-2.0.pdf.
//
// Both sides of an operation describe the same number of bytes, which are taken in order; they need
// not be cut into pieces alike. Destination locations must not overlap each other or the source.
// Remote addresses lie in the segment of the peer. All lists, and the memory they name, belong to
// the caller and stay unchanged until the operation is complete; the arrays of strides and counts
// only until the call returns.
//
// A call that returns int returns 0, and one that returns an event the root event of the operation;
// with GEX_FLAG_IMMEDIATE non-zero or GEX_EVENT_NO_OP when it would have had to wait and did
// nothing. A call may block for resources, and then runs handlers, unless flags has
// GEX_FLAG_IMMEDIATE; a Blocking call returns when the operation is complete.
// GEX_FLAG_ENABLE_LEAF_LC (puts, NB and NBI): the local completion of the data can be asked for, by
// gex_Event_QueryLeaf(event, GEX_EC_LC) or gex_NBI_Wait(GEX_EC_LC, 0).
#ifndef GASNET_VIS_H
#define GASNET_VIS_H

#include "gasnetex_core.h"

#ifdef __cplusplus
extern "C" {
#endif

// Lists of pieces, each with its own length; a length may be 0.
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

// Lists of the addresses of pieces that all have the same length, dstlen or srclen bytes.
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

// Blocks of elemsz contiguous bytes in a grid of stridelevels dimensions: count[i] steps of
// dststrides[i] or srcstrides[i] bytes, which may be negative, dimension 0 running fastest. Without
// levels one block. Nothing happens when elemsz or a count is 0.
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

// Most bytes that a peer completion handler can be given.
#define GEX_VIS_MAX_PEERCOMPLETION ((size_t)256)

// The next non-contiguous operation of this thread, which must be a put without IMMEDIATE, runs a
// handler at its target when its data is there: a Medium reply handler without arguments, with
// `nbytes` (up to GEX_VIS_MAX_PEERCOMPLETION) from `source_addr` as payload. The payload belongs to
// the caller and stays unchanged until that put is complete. Handler 0 withdraws the setting. flags
// is 0. Does not block. Specification: "VIS Put Peer Completion".
AQ_API void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *source_addr,
                                             size_t nbytes, gex_Flags_t flags);

// ---- GASNet-1 ----

// The team that GASNet-1 calls talk to: all ranks.
AQ_API gex_TM_t aq_api_gasnet1_team;

// As the calls above, without flags. The strides hold ptrdiff_t values, count[0] is the size of a
// block in bytes, and count[1] to count[stridelevels] are the steps of each level.
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
