// SPDX-License-Identifier: BSD-3-Clause
// The public calls of non-contiguous transfers: each describes its two sides and starts.
#include "../gasnet_vis.h"
#include "vis_start.h"

static aq_vis_t describe_vis(const char *call, gex_TM_t tm, gex_Rank_t rank, gex_Flags_t flags,
                             bool is_get)
{
    return (aq_vis_t){.call = call, .tm = tm, .rank = rank, .flags = flags, .is_get = is_get};
}

static aq_vis_side_t vector_side(size_t count, const gex_Memvec_t *list)
{
    return (aq_vis_side_t){.kind = AQ_VIS_VECTOR, .list = list, .count = count};
}

static aq_vis_side_t indexed_side(size_t count, void *const *list, size_t nbytes)
{
    return (aq_vis_side_t){.kind = AQ_VIS_INDEXED, .list = list, .count = count, .nbytes = nbytes};
}

static aq_vis_side_t strided_side(void *addr, const ptrdiff_t *strides, size_t elemsz,
                                  const size_t *count, size_t levels)
{
    return (aq_vis_side_t){.kind = AQ_VIS_STRIDED,
                           .list = strides,
                           .count = levels,
                           .nbytes = elemsz,
                           .addr = addr,
                           .steps = count};
}

// ---- vector ----

int gex_VIS_VectorPutBlocking(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,
                              gex_Memvec_t const dstlist[], size_t srccount,
                              gex_Memvec_t const srclist[], gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_VectorPutBlocking", tm, dstrank, flags, false);
    vis.remote = vector_side(dstcount, dstlist);
    vis.local = vector_side(srccount, srclist);
    return aq_vis_start_blocking(&vis);
}

gex_Event_t gex_VIS_VectorPutNB(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,
                                gex_Memvec_t const dstlist[], size_t srccount,
                                gex_Memvec_t const srclist[], gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_VectorPutNB", tm, dstrank, flags, false);
    vis.remote = vector_side(dstcount, dstlist);
    vis.local = vector_side(srccount, srclist);
    return aq_vis_start_nb(&vis);
}

int gex_VIS_VectorPutNBI(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,
                         gex_Memvec_t const dstlist[], size_t srccount,
                         gex_Memvec_t const srclist[], gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_VectorPutNBI", tm, dstrank, flags, false);
    vis.remote = vector_side(dstcount, dstlist);
    vis.local = vector_side(srccount, srclist);
    return aq_vis_start_nbi(&vis);
}

int gex_VIS_VectorGetBlocking(gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[],
                              gex_Rank_t srcrank, size_t srccount, gex_Memvec_t const srclist[],
                              gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_VectorGetBlocking", tm, srcrank, flags, true);
    vis.remote = vector_side(srccount, srclist);
    vis.local = vector_side(dstcount, dstlist);
    return aq_vis_start_blocking(&vis);
}

gex_Event_t gex_VIS_VectorGetNB(gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[],
                                gex_Rank_t srcrank, size_t srccount, gex_Memvec_t const srclist[],
                                gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_VectorGetNB", tm, srcrank, flags, true);
    vis.remote = vector_side(srccount, srclist);
    vis.local = vector_side(dstcount, dstlist);
    return aq_vis_start_nb(&vis);
}

int gex_VIS_VectorGetNBI(gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[],
                         gex_Rank_t srcrank, size_t srccount, gex_Memvec_t const srclist[],
                         gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_VectorGetNBI", tm, srcrank, flags, true);
    vis.remote = vector_side(srccount, srclist);
    vis.local = vector_side(dstcount, dstlist);
    return aq_vis_start_nbi(&vis);
}

// ---- indexed ----

int gex_VIS_IndexedPutBlocking(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,
                               void *const dstlist[], size_t dstlen, size_t srccount,
                               void *const srclist[], size_t srclen, gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_IndexedPutBlocking", tm, dstrank, flags, false);
    vis.remote = indexed_side(dstcount, dstlist, dstlen);
    vis.local = indexed_side(srccount, srclist, srclen);
    return aq_vis_start_blocking(&vis);
}

gex_Event_t gex_VIS_IndexedPutNB(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount,
                                 void *const dstlist[], size_t dstlen, size_t srccount,
                                 void *const srclist[], size_t srclen, gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_IndexedPutNB", tm, dstrank, flags, false);
    vis.remote = indexed_side(dstcount, dstlist, dstlen);
    vis.local = indexed_side(srccount, srclist, srclen);
    return aq_vis_start_nb(&vis);
}

int gex_VIS_IndexedPutNBI(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, void *const dstlist[],
                          size_t dstlen, size_t srccount, void *const srclist[], size_t srclen,
                          gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_IndexedPutNBI", tm, dstrank, flags, false);
    vis.remote = indexed_side(dstcount, dstlist, dstlen);
    vis.local = indexed_side(srccount, srclist, srclen);
    return aq_vis_start_nbi(&vis);
}

int gex_VIS_IndexedGetBlocking(gex_TM_t tm, size_t dstcount, void *const dstlist[], size_t dstlen,
                               gex_Rank_t srcrank, size_t srccount, void *const srclist[],
                               size_t srclen, gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_IndexedGetBlocking", tm, srcrank, flags, true);
    vis.remote = indexed_side(srccount, srclist, srclen);
    vis.local = indexed_side(dstcount, dstlist, dstlen);
    return aq_vis_start_blocking(&vis);
}

gex_Event_t gex_VIS_IndexedGetNB(gex_TM_t tm, size_t dstcount, void *const dstlist[], size_t dstlen,
                                 gex_Rank_t srcrank, size_t srccount, void *const srclist[],
                                 size_t srclen, gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_IndexedGetNB", tm, srcrank, flags, true);
    vis.remote = indexed_side(srccount, srclist, srclen);
    vis.local = indexed_side(dstcount, dstlist, dstlen);
    return aq_vis_start_nb(&vis);
}

int gex_VIS_IndexedGetNBI(gex_TM_t tm, size_t dstcount, void *const dstlist[], size_t dstlen,
                          gex_Rank_t srcrank, size_t srccount, void *const srclist[], size_t srclen,
                          gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_IndexedGetNBI", tm, srcrank, flags, true);
    vis.remote = indexed_side(srccount, srclist, srclen);
    vis.local = indexed_side(dstcount, dstlist, dstlen);
    return aq_vis_start_nbi(&vis);
}

// ---- strided ----

int gex_VIS_StridedPutBlocking(gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr,
                               const ptrdiff_t dststrides[], void *srcaddr,
                               const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[],
                               size_t stridelevels, gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_StridedPutBlocking", tm, dstrank, flags, false);
    vis.remote = strided_side(dstaddr, dststrides, elemsz, count, stridelevels);
    vis.local = strided_side(srcaddr, srcstrides, elemsz, count, stridelevels);
    return aq_vis_start_blocking(&vis);
}

gex_Event_t gex_VIS_StridedPutNB(gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr,
                                 const ptrdiff_t dststrides[], void *srcaddr,
                                 const ptrdiff_t srcstrides[], size_t elemsz, const size_t count[],
                                 size_t stridelevels, gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_StridedPutNB", tm, dstrank, flags, false);
    vis.remote = strided_side(dstaddr, dststrides, elemsz, count, stridelevels);
    vis.local = strided_side(srcaddr, srcstrides, elemsz, count, stridelevels);
    return aq_vis_start_nb(&vis);
}

int gex_VIS_StridedPutNBI(gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr,
                          const ptrdiff_t dststrides[], void *srcaddr, const ptrdiff_t srcstrides[],
                          size_t elemsz, const size_t count[], size_t stridelevels,
                          gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_StridedPutNBI", tm, dstrank, flags, false);
    vis.remote = strided_side(dstaddr, dststrides, elemsz, count, stridelevels);
    vis.local = strided_side(srcaddr, srcstrides, elemsz, count, stridelevels);
    return aq_vis_start_nbi(&vis);
}

int gex_VIS_StridedGetBlocking(gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[],
                               gex_Rank_t srcrank, void *srcaddr, const ptrdiff_t srcstrides[],
                               size_t elemsz, const size_t count[], size_t stridelevels,
                               gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_StridedGetBlocking", tm, srcrank, flags, true);
    vis.remote = strided_side(srcaddr, srcstrides, elemsz, count, stridelevels);
    vis.local = strided_side(dstaddr, dststrides, elemsz, count, stridelevels);
    return aq_vis_start_blocking(&vis);
}

gex_Event_t gex_VIS_StridedGetNB(gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[],
                                 gex_Rank_t srcrank, void *srcaddr, const ptrdiff_t srcstrides[],
                                 size_t elemsz, const size_t count[], size_t stridelevels,
                                 gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_StridedGetNB", tm, srcrank, flags, true);
    vis.remote = strided_side(srcaddr, srcstrides, elemsz, count, stridelevels);
    vis.local = strided_side(dstaddr, dststrides, elemsz, count, stridelevels);
    return aq_vis_start_nb(&vis);
}

int gex_VIS_StridedGetNBI(gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[],
                          gex_Rank_t srcrank, void *srcaddr, const ptrdiff_t srcstrides[],
                          size_t elemsz, const size_t count[], size_t stridelevels,
                          gex_Flags_t flags)
{
    aq_vis_t vis = describe_vis("gex_VIS_StridedGetNBI", tm, srcrank, flags, true);
    vis.remote = strided_side(srcaddr, srcstrides, elemsz, count, stridelevels);
    vis.local = strided_side(dstaddr, dststrides, elemsz, count, stridelevels);
    return aq_vis_start_nbi(&vis);
}
