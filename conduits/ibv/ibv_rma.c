#include "ibv_rma.h"

#include <string.h>

#include "../../other/base/minmax.h"
#include "ibv_wire.h"

static bool in_segment(const aq_ibv_keys_t *keys, const void *memory, size_t nbytes)
{
    const uintptr_t offset = (uintptr_t)memory - keys->start;
    return offset < keys->bytes && nbytes <= keys->bytes - offset;
}

// Memory that is registered is used in place; other memory, if it may be pinned and has at least
// `pin_from` bytes.
static bool hold_in_place(aq_ibv_keys_t *keys, const void *local, size_t nbytes, size_t pin_from,
                          bool is_get, aq_ibv_hold_t *hold)
{
    return (in_segment(keys, local, nbytes) || nbytes >= pin_from) &&
           aq_ibv_keys_local(keys, local, nbytes, is_get, hold) == AQ_OK;
}

static inline aq_ibv_piece_t piece_plan(aq_ibv_rma_path_t *path, const aq_ibv_rma_t *rma,
                                        size_t nbytes, size_t in_line)
{
    const aq_ibv_limits_t *limits = path->limits;
    aq_ibv_piece_t piece = {.nbytes = aq_min(nbytes, limits->operation_bytes)};
    const bool in_place = rma->is_get || rma->stable;
    if (!rma->is_get && nbytes <= in_line) {
        piece.in_line = true;
    } else if (in_place && hold_in_place(path->keys, rma->local, piece.nbytes,
                                         limits->pin_from[rma->is_get], rma->is_get, &piece.hold)) {
        piece.nbytes = piece.hold.bytes;
    } else if (nbytes <= AQ_IBV_BUFFER_BYTES) {
        piece.pool = &path->buffers->bounces;
    } else {
        piece.pool = &path->buffers->large_bounces;
        piece.nbytes = aq_min(piece.nbytes, limits->bounce_bytes);
    }
    return piece;
}

static aq_ibv_op_t *piece_take_op(aq_ibv_rma_path_t *path, aq_ibv_peer_t *link,
                                  const aq_ibv_piece_t *piece)
{
    return piece->pool ? aq_ibv_op_take_with(path->queue, link, piece->pool)
                       : aq_ibv_op_take(path->queue, link);
}

aq_ibv_piece_t aq_ibv_piece_plan(aq_ibv_rma_path_t *path, const aq_ibv_rma_t *rma, size_t nbytes,
                                 bool in_line)
{
    return piece_plan(path, rma, nbytes, in_line ? path->limits->inline_bytes : 0);
}

// See aq_ibv_piece_begin.
static inline void piece_begin(aq_ibv_rma_path_t *path, const aq_ibv_piece_t *piece,
                               const aq_ibv_rma_t *rma, const aq_ibv_hold_t *there,
                               aq_ibv_work_t *work)
{
    aq_ibv_op_t *op = work->op;
    work->nbytes = (uint32_t)piece->nbytes;
    work->in_line = piece->in_line;
    work->local = piece->pool ? op->buffer->bytes : (uint8_t *)rma->local;
    op->pending = rma->pending;
    op->hold = piece->hold;
    op->there = *there;
    if (rma->is_get && piece->pool) {
        op->into = rma->local;
        op->nbytes = (uint32_t)piece->nbytes;
    } else if (piece->pool) {
        memcpy(op->buffer->bytes, rma->local, piece->nbytes);
    }
    atomic_fetch_add_explicit(rma->pending, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&path->by_device, 1, memory_order_relaxed);
}

void aq_ibv_piece_begin(aq_ibv_rma_path_t *path, const aq_ibv_piece_t *piece,
                        const aq_ibv_rma_t *rma, const aq_ibv_hold_t *there, aq_ibv_work_t *work)
{
    piece_begin(path, piece, rma, there, work);
}

size_t aq_ibv_rma_begin(aq_ibv_rma_path_t *path, const aq_ibv_rma_t *rma,
                        const aq_ibv_hold_t *there)
{
    const aq_ibv_piece_t piece = piece_plan(path, rma, there->bytes, path->limits->inline_bytes);
    aq_ibv_op_t *op = piece_take_op(path, rma->link, &piece);
    if (!op && aq_ibv_reap(path->queue))
        op = piece_take_op(path, rma->link, &piece);
    if (!op) {
        aq_ibv_keys_release(&piece.hold);
        return 0;
    }
    aq_ibv_work_t work = {.op = op,
                          .opcode = rma->is_get ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                          .remote = rma->remote,
                          .remote_key = there->key};
    work.local_key = piece.pool ? path->buffers->slab_mr->lkey : piece.hold.key;
    piece_begin(path, &piece, rma, there, &work);
    aq_ibv_post_later(path->queue, rma->link, &work);
    return piece.nbytes;
}

// ---- fenced puts ----

aq_ibv_hold_t aq_ibv_fence_hold(aq_ibv_op_t *fence, const aq_ibv_hold_t *there,
                                atomic_uint *pending)
{
    aq_ibv_hold_t lent = *there;
    lent.region = NULL;
    fence->there = *there;
    fence->pending = pending;
    // Before the put, which may be complete at once.
    atomic_fetch_add_explicit(pending, 1, memory_order_relaxed);
    return lent;
}

void aq_ibv_fence_drop(aq_ibv_op_t *fence)
{
    atomic_fetch_sub_explicit(fence->pending, 1, memory_order_relaxed);
    fence->there.region = NULL; // the caller keeps it
}

aq_ibv_work_t aq_ibv_fence_work(aq_ibv_rma_path_t *path, aq_ibv_op_t *fence, uint64_t remote)
{
    atomic_fetch_add_explicit(&path->fences, 1, memory_order_relaxed);
    return (aq_ibv_work_t){.op = fence,
                           .opcode = IBV_WR_RDMA_READ,
                           .local = fence->buffer->bytes,
                           .nbytes = 1,
                           .local_key = path->buffers->slab_mr->lkey,
                           .remote = remote,
                           .remote_key = fence->there.key};
}

size_t aq_ibv_rma_begin_fenced(aq_ibv_rma_path_t *path, const aq_ibv_rma_t *rma,
                               const aq_ibv_hold_t *there)
{
    if (rma->is_get)
        return aq_ibv_rma_begin(path, rma, there);
    aq_ibv_op_t *fence = aq_ibv_op_take_or_reap(path->queue, rma->link, &path->buffers->bounces);
    if (!fence)
        return 0;
    const aq_ibv_hold_t lent = aq_ibv_fence_hold(fence, there, rma->pending);
    const size_t begun = aq_ibv_rma_begin(path, rma, &lent);
    if (begun) {
        const aq_ibv_work_t work = aq_ibv_fence_work(path, fence, rma->remote + begun - 1);
        aq_ibv_post(path->queue, rma->link, &work, 1);
        return begun;
    }
    aq_ibv_fence_drop(fence);
    aq_ibv_op_put(path->queue, fence);
    return 0;
}
