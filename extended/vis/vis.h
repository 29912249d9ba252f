// SPDX-License-Identifier: BSD-3-Clause
// Non-contiguous transfers (vector, indexed, strided), inside the library.
//
//     gex_VIS_* (vis.c) -> vis_start.c -> mapped: vis_copy.c
//                                      -> else:   vis_am.c, which packs messages with vis_pack.c
//
// Each side of a transfer is a sequence of contiguous pieces (vis_pieces.c); both have the same
// number of bytes, cut differently or not.
#ifndef AQ_VIS_H
#define AQ_VIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

int aq_vis_start_blocking(const aq_vis_t *vis);
gex_Event_t aq_vis_start_nb(const aq_vis_t *vis);
int aq_vis_start_nbi(const aq_vis_t *vis);

// Whether this is a put whose source the client leaves alone until the transfer is complete. With
// GEX_FLAG_ENABLE_LEAF_LC the source is copied before the call returns.
static inline bool aq_vis_keeps_source(const aq_vis_t *vis)
{
    return !vis->is_get && !(vis->flags & GEX_FLAG_ENABLE_LEAF_LC);
}

// Ends the job if a number of the description is wrong; in a debug build, if anything is. notifies:
// the transfer sends a notice even if it has no bytes.
void aq_vis_check(const aq_vis_t *vis, bool notifies);

// Whether the target has all remote pieces, of which there is at least one. If not, *wrong is the
// first piece that it does not have.
bool aq_vis_fits(const aq_vis_t *vis, uint32_t jobrank, aq_access_t *wrong);

// ---- shapes: strided sides with all that is contiguous merged ----

// Each dimension of a merged shape has at least two steps, so no legal shape has more dimensions
// than an address has bits.
enum { AQ_VIS_DIMS = 64 };

typedef struct aq_vis_dim {
    size_t count;
    ptrdiff_t stride[2]; // of the two sides
    size_t index;        // used while walking
} aq_vis_dim_t;

typedef struct aq_vis_shape {
    size_t elem; // bytes of a block; 0: there is nothing to transfer
    unsigned dims;
    aq_vis_dim_t dim[AQ_VIS_DIMS]; // only the first `dims` are ever set
} aq_vis_shape_t;

// The shape of two strided sides with the same counts; b may be a itself.
void aq_vis_shape(aq_vis_shape_t *shape, const aq_vis_side_t *a, const aq_vis_side_t *b);

// ---- cursors: a walk over the pieces of a side ----

typedef struct aq_vis_cursor {
    char *at;    // next byte of the side
    size_t left; // bytes left in the current piece; 0 only at the end of the side
    aq_vis_kind_t kind;
    const void *list;
    size_t next, count, nbytes;
    aq_vis_shape_t shape; // strided; last, because copies omit the unused dimensions
} aq_vis_cursor_t;

void aq_vis_cursor_start(aq_vis_cursor_t *cursor, const aq_vis_side_t *side);
void aq_vis_cursor_copy(aq_vis_cursor_t *to, const aq_vis_cursor_t *from);
void aq_vis_cursor_next_block(aq_vis_cursor_t *cursor); // of other sides than vectors

static inline void aq_vis_cursor_next_of_vector(aq_vis_cursor_t *cursor)
{
    const gex_Memvec_t *list = cursor->list;
    for (; !cursor->left && cursor->next < cursor->count; cursor->next++) {
        cursor->at = list[cursor->next].gex_addr;
        cursor->left = list[cursor->next].gex_len;
    }
}

// After the end of the current piece.
static inline void aq_vis_cursor_next(aq_vis_cursor_t *cursor)
{
    if (cursor->kind == AQ_VIS_VECTOR)
        aq_vis_cursor_next_of_vector(cursor);
    else
        aq_vis_cursor_next_block(cursor);
}

// Moves by so many bytes, modulo 2^64 as strides are negative, too. A description that nobody has
// checked yet may lead where there is no memory, and arithmetic of pointers has no such places.
static inline void aq_vis_cursor_move(aq_vis_cursor_t *cursor, size_t nbytes)
{
    cursor->at = (char *)((uintptr_t)cursor->at + nbytes);
}

static inline void aq_vis_cursor_skip(aq_vis_cursor_t *cursor, size_t nbytes) // at most left
{
    aq_vis_cursor_move(cursor, nbytes);
    cursor->left -= nbytes;
    if (!cursor->left)
        aq_vis_cursor_next(cursor);
}

// How many pieces of the same size follow at one distance, *stride bytes, with the current piece,
// of which no byte is used: at least 2, or 0. aq_vis_cursor_skip_rows goes behind so many.
static inline size_t aq_vis_cursor_rows(const aq_vis_cursor_t *cursor, ptrdiff_t *stride)
{
    const aq_vis_dim_t *dim = cursor->shape.dim;
    if (!cursor->shape.dims || cursor->left != cursor->shape.elem || dim->count - dim->index < 2)
        return 0;
    *stride = dim->stride[0];
    return dim->count - dim->index;
}
void aq_vis_cursor_skip_rows(aq_vis_cursor_t *cursor, size_t rows);

// Whether no piece follows the current one; of a strided side: whether it has one piece only.
static inline bool aq_vis_cursor_is_last(const aq_vis_cursor_t *cursor)
{
    return cursor->kind == AQ_VIS_STRIDED ? !cursor->shape.dims : cursor->next == cursor->count;
}

// Bytes that a side describes; SIZE_MAX: they are more than a number holds.
size_t aq_vis_side_bytes(const aq_vis_side_t *side);

// ---- copies ----

// Copies `count` blocks of nbytes at distances of `stride` bytes.
typedef void aq_vis_rows_fn_t(char *dest, ptrdiff_t dest_stride, const char *src,
                              ptrdiff_t src_stride, size_t count, size_t nbytes);
aq_vis_rows_fn_t *aq_vis_rows(size_t nbytes); // the fastest one for this size

// Performs the whole transfer by copies; `shift` bytes are added to remote addresses.
void aq_vis_copy(const aq_vis_t *vis, intptr_t shift);

// Copy between contiguous memory and the next nbytes of a side.
void aq_vis_gather(char *dest, aq_vis_cursor_t *from, size_t nbytes);
void aq_vis_scatter(aq_vis_cursor_t *to, const char *src, size_t nbytes);

// ---- packed messages ----
//
// A message names the remote pieces as runs, in front of the data if it has any:
//
//     [ run 0 | run 1 | ... ] [ data of run 0 | data of run 1 | ... ]
//
// A run is `count` pieces of `nbytes`, each `stride` bytes behind the one before.

typedef struct aq_vis_run {
    uint64_t addr;
    int64_t stride;
    uint32_t nbytes, count;
} aq_vis_run_t;

typedef struct aq_vis_pack {
    char *out;     // where runs are written; room for `limit` bytes
    size_t limit;  // of runs, and of data; or of both together:
    bool together; // runs and data travel in the same message
    uint32_t runs; // so far, with the last one, which is not written yet
    size_t nbytes; // of data, so far
    aq_vis_run_t last;
} aq_vis_pack_t;

// Adds the beginning of a piece; returns the number of its bytes that fit.
size_t aq_vis_pack_add(aq_vis_pack_t *pack, const char *addr, size_t nbytes);
// Adds a run of as many rows as fit, each of nbytes; returns how many: at least 2, or 0.
size_t aq_vis_pack_add_rows(aq_vis_pack_t *pack, const char *at, size_t nbytes, ptrdiff_t stride,
                            size_t rows);
void aq_vis_pack_end(aq_vis_pack_t *pack);

// Checks a message of a peer: the runs have to be complete, lie in the memory from `start`, and
// name *nbytes bytes, at most `limit`. Returns NULL, or the reason why the message is wrong.
const char *aq_vis_pack_check(const void *message, size_t size, uint32_t runs, uintptr_t start,
                              uintptr_t memory, size_t limit, size_t *nbytes);

// Moves the data of a checked message from or to the places that its runs name.
void aq_vis_unpack(const char *runs, uint32_t count, const char *data);
void aq_vis_repack(const char *runs, uint32_t count, char *data);

// ---- peers that are not mapped (vis_am.c) ----

// Starts a transfer over active messages; `part` counts it until completion. Returns non-zero if
// IMMEDIATE was given and nothing was done.
int aq_vis_over_am(const aq_vis_t *vis, uint32_t jobrank, gex_Event_t part);

// ---- peer completion (vis_notice.c) ----

typedef struct aq_vis_notice {
    gex_AM_Index_t handler; // 0: none
    const void *payload;
    size_t nbytes;
} aq_vis_notice_t;

// Returns the notice that this thread has set for its next operation, and clears it.
aq_vis_notice_t aq_vis_notice_take(void);

// Run the handler at the target: at once, or after nothing is pending in `pieces`. The latter call
// takes ownership of that record, and `part` counts the notice until then.
void aq_vis_notice_send(const aq_vis_notice_t *notice, uint32_t jobrank);
void aq_vis_notice_later(const aq_vis_notice_t *notice, uint32_t jobrank, aq_event_t *pieces,
                         gex_Event_t part);

#endif
