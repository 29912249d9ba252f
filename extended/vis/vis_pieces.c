// SPDX-License-Identifier: BSD-3-Clause
// The sides of a non-contiguous transfer as sequences of contiguous pieces.
#include "../../core/ground/fatal.h"
#include "vis_pieces.h"

// Adds a dimension, or extends the previous one (or the block) if the new one continues it.
static void add_dim(aq_vis_shape_t *shape, size_t count, ptrdiff_t a, ptrdiff_t b)
{
    if (count == 1)
        return;
    if (!shape->dims) {
        if (a == (ptrdiff_t)shape->elem && b == a) {
            shape->elem *= count;
            return;
        }
    } else {
        aq_vis_dim_t *last = &shape->dim[shape->dims - 1];
        ptrdiff_t steps = (ptrdiff_t)last->count;
        if (a == last->stride[0] * steps && b == last->stride[1] * steps) {
            last->count *= count;
            return;
        }
    }
    if (shape->dims == AQ_VIS_DIMS)
        aq_fatal("a strided transfer names more blocks than there are addresses: %d dimensions "
                 "have two steps or more",
                 AQ_VIS_DIMS + 1);
    shape->dim[shape->dims++] = (aq_vis_dim_t){count, {a, b}, 0};
}

void aq_vis_shape(aq_vis_shape_t *shape, const aq_vis_side_t *a, const aq_vis_side_t *b)
{
    const ptrdiff_t *strides[] = {a->list, b->list};
    shape->elem = a->nbytes;
    shape->dims = 0;
    for (size_t i = 0; shape->elem && i < a->count; i++)
        if (!a->steps[i])
            shape->elem = 0;
    for (size_t i = 0; shape->elem && i < a->count; i++)
        add_dim(shape, a->steps[i], strides[0][i], strides[1][i]);
}

void aq_vis_cursor_start(aq_vis_cursor_t *c, const aq_vis_side_t *side)
{
    c->kind = side->kind;
    c->list = side->list;
    c->next = 0;
    c->count = side->count;
    c->nbytes = side->nbytes;
    c->left = 0;
    c->shape.dims = 0;
    if (side->kind != AQ_VIS_STRIDED) {
        aq_vis_cursor_next(c);
        return;
    }
    aq_vis_shape(&c->shape, side, side);
    c->at = side->addr;
    c->left = c->shape.elem;
}

void aq_vis_cursor_copy(aq_vis_cursor_t *to, const aq_vis_cursor_t *from)
{
    size_t used = offsetof(aq_vis_cursor_t, shape.dim) + from->shape.dims * sizeof(aq_vis_dim_t);
    __builtin_memcpy(to, from, used);
}

static void next_of_list(aq_vis_cursor_t *c)
{
    char *const *list = c->list;
    if (c->next == c->count)
        return;
    c->at = list[c->next++];
    c->left = c->nbytes;
}

// Advances the indices like an odometer; at points to the end of the finished block.
static void next_of_grid(aq_vis_cursor_t *c)
{
    aq_vis_cursor_move(c, -c->shape.elem);
    for (unsigned i = 0; i < c->shape.dims; i++) {
        aq_vis_dim_t *dim = &c->shape.dim[i];
        if (++dim->index < dim->count) {
            aq_vis_cursor_move(c, (size_t)dim->stride[0]);
            c->left = c->shape.elem;
            return;
        }
        aq_vis_cursor_move(c, (size_t)dim->stride[0] * (1 - dim->count));
        dim->index = 0;
    }
}

void aq_vis_cursor_next_block(aq_vis_cursor_t *c)
{
    if (c->kind == AQ_VIS_INDEXED)
        next_of_list(c);
    else
        next_of_grid(c);
}

void aq_vis_cursor_skip_rows(aq_vis_cursor_t *c, size_t rows)
{
    aq_vis_dim_t *dim = c->shape.dim;
    aq_vis_cursor_move(c, (size_t)dim->stride[0] * (rows - 1));
    dim->index += rows - 1;
    aq_vis_cursor_skip(c, c->left);
}

// Returns SIZE_MAX for all products that are too large.
static size_t product_of(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

// If blocks have no bytes, the client may pass no array of steps.
static size_t grid_bytes(const aq_vis_side_t *side)
{
    size_t product = side->nbytes;
    for (size_t i = 0; product && i < side->count; i++)
        product = product_of(product, side->steps[i]);
    return product;
}

static size_t vector_bytes(const aq_vis_side_t *side)
{
    const gex_Memvec_t *list = side->list;
    size_t sum = 0;
    for (size_t i = 0; i < side->count; i++)
        if (__builtin_add_overflow(sum, list[i].gex_len, &sum))
            return SIZE_MAX;
    return sum;
}

size_t aq_vis_side_bytes(const aq_vis_side_t *side)
{
    if (side->kind == AQ_VIS_STRIDED)
        return grid_bytes(side);
    if (side->kind == AQ_VIS_INDEXED)
        return product_of(side->count, side->nbytes);
    return vector_bytes(side);
}
