// SPDX-License-Identifier: BSD-3-Clause
// Turns a put or get with a known key into work requests, with local memory in place, pinned or
// copied, and posts them by ibv_send_queue.c. ibv_table.c comes here first.
#include "ibv_rma.h"

#include <string.h>

#include "../../../other/base/minmax.h"
#include "../verbs/ibv_wire.h"

static bool in_segment(const aq_ibv_keys_t *keys, const void *memory, size_t nbytes)
{
    const uintptr_t offset = (uintptr_t)memory - keys->start;
    return offset < keys->bytes && nbytes <= keys->bytes - offset;
}

// Memory that is registered is used in place; other memory, if it may be pinned and has at least
// `pin_from` bytes.
static inline bool hold_in_place(aq_ibv_keys_t *keys, const void *local, size_t nbytes,
                                 size_t pin_from, bool is_get, aq_ibv_hold_t *hold)
{
    return aq_ibv_keys_own(keys, local, nbytes, hold) ||
           ((in_segment(keys, local, nbytes) || nbytes >= pin_from) &&
            aq_ibv_keys_local(keys, local, nbytes, is_get, hold) == AQ_OK);
}

// Other memory goes through a buffer of this process. False: none is free.
static __attribute__((noinline)) bool op_use_buffer(aq_ibv_rma_path_t *path, const aq_rma_t *rma,
                                                    size_t nbytes, aq_ibv_op_t *op)
{
    aq_ibv_buffers_t *buffers = path->buffers;
    const bool is_long = nbytes > AQ_IBV_BUFFER_BYTES;
    nbytes = aq_min(nbytes, is_long ? path->limits->bounce_bytes : AQ_IBV_BUFFER_BYTES);
    op->buffer = aq_ibv_buffer_take(is_long ? &buffers->large_bounces : &buffers->bounces);
    if (!op->buffer)
        return false;
    aq_ibv_work_local(&op->work, op->buffer->bytes, nbytes, buffers->slab_mr->lkey);
    if (rma->kind == AQ_RMA_GET) {
        op->into = rma->local;
        op->nbytes = (uint32_t)nbytes;
    } else {
        memcpy(op->buffer->bytes, rma->local, nbytes);
    }
    return true;
}

static inline bool op_use_local(aq_ibv_rma_path_t *path, const aq_rma_t *rma, size_t nbytes,
                                size_t in_line, aq_ibv_op_t *op)
{
    const bool is_get = rma->kind == AQ_RMA_GET;
    if (!is_get && nbytes <= in_line) {
        aq_ibv_work_in_line(&op->work);
        aq_ibv_work_local(&op->work, rma->local, nbytes, 0);
        return true;
    }
    nbytes = aq_min(nbytes, path->limits->device.operation_bytes);
    if (!(is_get || rma->flags & AQ_RMA_STABLE) ||
        !hold_in_place(path->keys, rma->local, nbytes, path->limits->pin_from[is_get], is_get,
                       &op->hold))
        return op_use_buffer(path, rma, nbytes, op);
    aq_ibv_work_local(&op->work, rma->local, op->hold.bytes, op->hold.key);
    return true;
}

static inline size_t op_describe(aq_ibv_rma_path_t *path, const aq_rma_t *rma,
                                 const aq_ibv_hold_t *there, size_t in_line, aq_ibv_op_t *op)
{
    if (!op_use_local(path, rma, there->bytes, in_line, op))
        return 0;
    aq_ibv_work_rdma(&op->work, rma->kind == AQ_RMA_GET ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                     (uintptr_t)rma->remote, there->key);
    return op->work.piece.length;
}

size_t aq_ibv_op_describe(aq_ibv_rma_path_t *path, const aq_rma_t *rma, const aq_ibv_hold_t *there,
                          bool in_line, aq_ibv_op_t *op)
{
    return op_describe(path, rma, there, in_line ? path->limits->inline_bytes : 0, op);
}

static inline void op_begin(aq_ibv_rma_path_t *path, const aq_rma_t *rma,
                            const aq_ibv_hold_t *there, aq_ibv_op_t *op)
{
    op->pending = rma->pending;
    op->there = *there;
    aq_counter_add(rma->pending, 1);
    aq_counter_add_long(&path->by_device, 1);
}

void aq_ibv_op_begin(aq_ibv_rma_path_t *path, const aq_rma_t *rma, const aq_ibv_hold_t *there,
                     aq_ibv_op_t *op)
{
    op_begin(path, rma, there, op);
}

static inline size_t rma_try(aq_ibv_rma_path_t *path, aq_ibv_peer_t *link, const aq_rma_t *rma,
                             const aq_ibv_hold_t *there)
{
    aq_ibv_op_t *op = aq_ibv_op_take(path->queue, link);
    if (!op)
        return 0;
    const size_t begun = op_describe(path, rma, there, path->limits->inline_bytes, op);
    if (!begun) {
        aq_ibv_op_put(path->queue, op);
        return 0;
    }
    op_begin(path, rma, there, op);
    aq_ibv_post_later(path->queue, op);
    return begun;
}

size_t aq_ibv_rma_begin(aq_ibv_rma_path_t *path, aq_ibv_peer_t *link, const aq_rma_t *rma,
                        const aq_ibv_hold_t *there)
{
    for (bool reaped = false;; reaped = true) {
        const size_t begun = rma_try(path, link, rma, there);
        if (__builtin_expect(begun, 1) || reaped || !aq_ibv_reap(path->queue))
            return begun;
    }
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

void aq_ibv_fence_describe(aq_ibv_rma_path_t *path, aq_ibv_op_t *fence, uint64_t remote)
{
    atomic_fetch_add_explicit(&path->fences, 1, memory_order_relaxed);
    aq_ibv_work_local(&fence->work, fence->buffer->bytes, 1, path->buffers->slab_mr->lkey);
    aq_ibv_work_rdma(&fence->work, IBV_WR_RDMA_READ, remote, fence->there.key);
}

size_t aq_ibv_rma_begin_fenced(aq_ibv_rma_path_t *path, aq_ibv_peer_t *link, const aq_rma_t *rma,
                               const aq_ibv_hold_t *there)
{
    if (rma->kind == AQ_RMA_GET)
        return aq_ibv_rma_begin(path, link, rma, there);
    aq_ibv_op_t *fence = aq_ibv_op_take_or_reap(path->queue, link, &path->buffers->bounces);
    if (!fence)
        return 0;
    const aq_ibv_hold_t lent = aq_ibv_fence_hold(fence, there, rma->pending);
    const size_t begun = aq_ibv_rma_begin(path, link, rma, &lent);
    if (begun) {
        aq_ibv_fence_describe(path, fence, (uintptr_t)rma->remote + begun - 1);
        aq_ibv_post(path->queue, fence);
        return begun;
    }
    aq_ibv_fence_drop(fence);
    aq_ibv_op_put(path->queue, fence);
    return 0;
}
