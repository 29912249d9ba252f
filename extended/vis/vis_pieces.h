// SPDX-License-Identifier: BSD-3-Clause
// A walk over the pieces of a side.
#pragma once

#include "vis_transfer.h"

// Shapes: strided sides with all that is contiguous merged.

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

// Cursors: a walk over the pieces of a side.

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

// Moves to the next piece, after the end of the current one.
static inline void aq_vis_cursor_next(aq_vis_cursor_t *cursor)
{
    if (cursor->kind == AQ_VIS_VECTOR)
        aq_vis_cursor_next_of_vector(cursor);
    else
        aq_vis_cursor_next_block(cursor);
}

// Moves by so many bytes, modulo 2^64 as strides are negative, too. A description that is not
// checked yet may lead to addresses without memory, for which C does not define arithmetic of
// pointers.
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

// The number of pieces of the same size at one distance, *stride bytes, from the current piece on,
// of which no byte is used: at least 2, or 0. aq_vis_cursor_skip_rows skips them.
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

// Bytes that a side describes; SIZE_MAX: more than a size_t holds.
size_t aq_vis_side_bytes(const aq_vis_side_t *side);
