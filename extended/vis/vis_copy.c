// SPDX-License-Identifier: BSD-3-Clause
// Non-contiguous transfers by copies, if the memory of the peer is mapped in this process.
#include <string.h>

#include "vis_copy.h"
#include "vis_pieces.h"
#include "../../other/base/minmax.h"

// ---- blocks at constant distances ----

// Inlined with a constant size, so that a small block is a few moves and no call.
static inline __attribute__((always_inline)) void copy_rows(char *dest, ptrdiff_t dest_stride,
                                                            const char *src, ptrdiff_t src_stride,
                                                            size_t count, size_t nbytes)
{
    if (count == 0)
        return;
    memcpy(dest, src, nbytes);
    while (--count > 0) { // after the last row a long stride may leave the address space
        dest += dest_stride;
        src += src_stride;
        memcpy(dest, src, nbytes);
    }
}

static void rows_1(char *d, ptrdiff_t ds, const char *s, ptrdiff_t ss, size_t count, size_t n)
{
    (void)n;
    copy_rows(d, ds, s, ss, count, 1);
}
static void rows_2(char *d, ptrdiff_t ds, const char *s, ptrdiff_t ss, size_t count, size_t n)
{
    (void)n;
    copy_rows(d, ds, s, ss, count, 2);
}
static void rows_4(char *d, ptrdiff_t ds, const char *s, ptrdiff_t ss, size_t count, size_t n)
{
    (void)n;
    copy_rows(d, ds, s, ss, count, 4);
}
static void rows_8(char *d, ptrdiff_t ds, const char *s, ptrdiff_t ss, size_t count, size_t n)
{
    (void)n;
    copy_rows(d, ds, s, ss, count, 8);
}
static void rows_16(char *d, ptrdiff_t ds, const char *s, ptrdiff_t ss, size_t count, size_t n)
{
    (void)n;
    copy_rows(d, ds, s, ss, count, 16);
}
static void rows_32(char *d, ptrdiff_t ds, const char *s, ptrdiff_t ss, size_t count, size_t n)
{
    (void)n;
    copy_rows(d, ds, s, ss, count, 32);
}
static void rows_64(char *d, ptrdiff_t ds, const char *s, ptrdiff_t ss, size_t count, size_t n)
{
    (void)n;
    copy_rows(d, ds, s, ss, count, 64);
}
static void rows_any(char *d, ptrdiff_t ds, const char *s, ptrdiff_t ss, size_t count, size_t n)
{
    copy_rows(d, ds, s, ss, count, n);
}

aq_vis_rows_fn_t *aq_vis_rows(size_t nbytes)
{
    static aq_vis_rows_fn_t *const by_size[] = {rows_1,  rows_2,  rows_4, rows_8,
                                                rows_16, rows_32, rows_64};
    if (!nbytes || nbytes > 64 || (nbytes & (nbytes - 1)))
        return rows_any;
    return by_size[__builtin_ctzl(nbytes)];
}

static void copy_grid(char *dest, const char *src, const aq_vis_side_t *to,
                      const aq_vis_side_t *from)
{
    aq_vis_shape_t shape;
    aq_vis_shape(&shape, to, from);
    if (!shape.elem)
        return;
    if (!shape.dims) {
        memcpy(dest, src, shape.elem);
        return;
    }
    aq_vis_rows_fn_t *copy = aq_vis_rows(shape.elem);
    const aq_vis_dim_t *inner = &shape.dim[0];
    for (unsigned i = 0; i < shape.dims;) {
        copy(dest, inner->stride[0], src, inner->stride[1], inner->count, shape.elem);
        for (i = 1; i < shape.dims; i++) {
            aq_vis_dim_t *dim = &shape.dim[i];
            dest += dim->stride[0];
            src += dim->stride[1];
            if (++dim->index < dim->count)
                break;
            dest -= dim->stride[0] * (ptrdiff_t)dim->count;
            src -= dim->stride[1] * (ptrdiff_t)dim->count;
            dim->index = 0;
        }
    }
}

// ---- lists of blocks of one size ----

// The blocks of an indexed side: in a list, or consecutive in a single piece.
typedef struct blocks {
    char *const *list; // NULL: a single piece
    char *first;
    intptr_t shift;
} blocks_t;

static inline __attribute__((always_inline)) char *copy_block(const blocks_t *blocks, size_t number,
                                                              size_t nbytes)
{
    return (blocks->list ? blocks->list[number] : blocks->first + number * nbytes) + blocks->shift;
}

static inline __attribute__((always_inline)) void copy_list_inline(blocks_t dest, blocks_t src,
                                                                   size_t count, size_t nbytes)
{
    for (size_t i = 0; i < count; i++)
        memcpy(copy_block(&dest, i, nbytes), copy_block(&src, i, nbytes), nbytes);
}

static void copy_listed(blocks_t dest, blocks_t src, size_t count, size_t nbytes)
{
    switch (nbytes) {
    case 1:
        copy_list_inline(dest, src, count, 1);
        break;
    case 2:
        copy_list_inline(dest, src, count, 2);
        break;
    case 4:
        copy_list_inline(dest, src, count, 4);
        break;
    case 8:
        copy_list_inline(dest, src, count, 8);
        break;
    case 16:
        copy_list_inline(dest, src, count, 16);
        break;
    case 32:
        copy_list_inline(dest, src, count, 32);
        break;
    case 64:
        copy_list_inline(dest, src, count, 64);
        break;
    default:
        copy_list_inline(dest, src, count, nbytes);
    }
}

static blocks_t blocks_of(const aq_vis_side_t *side, size_t count, intptr_t shift)
{
    char *const *list = side->list;
    return side->count == count ? (blocks_t){list, NULL, shift} : (blocks_t){NULL, list[0], shift};
}

// Copies between lists of equal blocks, or between such a list and a single piece. Returns false
// for any other sides.
static bool copy_blocks(const aq_vis_side_t *to, const aq_vis_side_t *from, intptr_t dest_shift,
                        intptr_t src_shift)
{
    size_t count = aq_max(to->count, from->count);
    if ((to->count != count && to->count != 1) || (from->count != count && from->count != 1))
        return false;
    if (count)
        copy_listed(blocks_of(to, count, dest_shift), blocks_of(from, count, src_shift), count,
                    to->count == count ? to->nbytes : from->nbytes);
    return true;
}

// ---- all other transfers ----

static inline void copy_piece(char *dest, const char *src, size_t nbytes)
{
    if (nbytes == 8)
        memcpy(dest, src, 8);
    else if (nbytes == 64)
        memcpy(dest, src, 64);
    else
        memcpy(dest, src, nbytes);
}

static void copy_pieces(const aq_vis_side_t *to, const aq_vis_side_t *from, intptr_t dest_shift,
                        intptr_t src_shift)
{
    aq_vis_cursor_t dest, src;
    aq_vis_cursor_start(&dest, to);
    aq_vis_cursor_start(&src, from);
    while (dest.left && src.left) {
        size_t n = aq_min(dest.left, src.left);
        copy_piece(dest.at + dest_shift, src.at + src_shift, n);
        aq_vis_cursor_skip(&dest, n);
        aq_vis_cursor_skip(&src, n);
    }
}

// Copies pairs of pieces of equal length, the usual case of vectors. Returns false at the first
// pair of different lengths; the caller may then copy everything again.
static bool copy_pairs(const aq_vis_side_t *to, const aq_vis_side_t *from, intptr_t dest_shift,
                       intptr_t src_shift)
{
    const gex_Memvec_t *dest = to->list, *src = from->list;
    if (to->count != from->count)
        return false;
    for (size_t i = 0; i < to->count; i++) {
        if (dest[i].gex_len != src[i].gex_len)
            return false;
        copy_piece((char *)dest[i].gex_addr + dest_shift, (char *)src[i].gex_addr + src_shift,
                   src[i].gex_len);
    }
    return true;
}

static void copy_sides(const aq_vis_side_t *to, const aq_vis_side_t *from, intptr_t dest_shift,
                       intptr_t src_shift)
{
    bool done;
    if (to->kind == AQ_VIS_STRIDED) {
        copy_grid(to->addr + dest_shift, from->addr + src_shift, to, from);
        return;
    }
    if (to->kind == AQ_VIS_INDEXED)
        done = copy_blocks(to, from, dest_shift, src_shift);
    else
        done = copy_pairs(to, from, dest_shift, src_shift);
    if (!done)
        copy_pieces(to, from, dest_shift, src_shift);
}

void aq_vis_copy(const aq_vis_t *vis, intptr_t shift)
{
    if (vis->is_get) {
        copy_sides(&vis->local, &vis->remote, 0, shift);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } else {
        copy_sides(&vis->remote, &vis->local, shift, 0);
        __atomic_thread_fence(__ATOMIC_RELEASE);
    }
}

// The rows of a strided side from its current piece on that fit into nbytes: at least 2, or 0.
static size_t whole_rows(const aq_vis_cursor_t *side, size_t nbytes, ptrdiff_t *stride)
{
    const size_t rows = aq_vis_cursor_rows(side, stride);
    return rows && nbytes >= 2 * side->left ? aq_min(rows, nbytes / side->left) : 0;
}

// Copies the next pieces between a side and `memory`, at most nbytes; returns their bytes.
static inline size_t copy_next(aq_vis_cursor_t *side, char *memory, size_t nbytes, bool gather)
{
    ptrdiff_t stride;
    const size_t elem = side->left, rows = whole_rows(side, nbytes, &stride);
    const size_t n = rows ? rows * elem : aq_min(nbytes, elem);
    if (rows && gather)
        aq_vis_rows(elem)(memory, (ptrdiff_t)elem, side->at, stride, rows, elem);
    else if (rows)
        aq_vis_rows(elem)(side->at, stride, memory, (ptrdiff_t)elem, rows, elem);
    else if (gather)
        copy_piece(memory, side->at, n);
    else
        copy_piece(side->at, memory, n);
    if (rows)
        aq_vis_cursor_skip_rows(side, rows);
    else
        aq_vis_cursor_skip(side, n);
    return n;
}

void aq_vis_gather(char *dest, aq_vis_cursor_t *from, size_t nbytes)
{
    for (size_t n; nbytes; nbytes -= n, dest += n)
        n = copy_next(from, dest, nbytes, true);
}

void aq_vis_scatter(aq_vis_cursor_t *to, const char *src, size_t nbytes)
{
    for (size_t n; nbytes; nbytes -= n, src += n)
        n = copy_next(to, (char *)(uintptr_t)src, nbytes, false);
}
