// SPDX-License-Identifier: BSD-3-Clause
// Non-contiguous transfers (vector, indexed, strided), inside the library.
//
//     gex_VIS_* (vis.c) -> vis_start.c -> mapped: vis_copy.c
//                                      -> else:   vis_am.c, which packs messages with vis_pack.c
//
// Each side of a transfer is a sequence of contiguous pieces (vis_pieces.c); both have the same
// number of bytes, but may have different pieces.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "../../core/memory/access.h"
#include "../../core/thread/event.h"
#include "../../core/gasnetex_core.h"

// ---- the description of a side, as given by the client ----

typedef enum aq_vis_kind { AQ_VIS_VECTOR, AQ_VIS_INDEXED, AQ_VIS_STRIDED } aq_vis_kind_t;

typedef struct aq_vis_side {
    aq_vis_kind_t kind;
    const void *list;    // vector: gex_Memvec_t; indexed: void *; strided: ptrdiff_t, the strides
    size_t count;        // entries of the list
    size_t nbytes;       // indexed, strided: of each piece
    char *addr;          // strided: of the first block
    const size_t *steps; // strided: in each dimension
} aq_vis_side_t;

typedef struct aq_vis {
    const char *call; // the function that the client called
    gex_TM_t tm;
    gex_Rank_t rank; // in tm
    gex_Flags_t flags;
    bool is_get;
    aq_vis_side_t remote, local;
} aq_vis_t;

// Whether this is a put whose source the client leaves alone until the transfer is complete. With
// GEX_FLAG_ENABLE_LEAF_LC the source is copied before the call returns.
static inline bool aq_vis_keeps_source(const aq_vis_t *vis)
{
    return !vis->is_get && !(vis->flags & GEX_FLAG_ENABLE_LEAF_LC);
}
