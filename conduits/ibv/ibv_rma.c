// Put and get by RDMA write and read, between memory here and what the peer attached, or pins when
// it is asked (ibv_rma_ondemand.c). Memory here that is pinned, our own segment, is used as it is;
// other memory goes through bounce buffers, or is pinned by firehose.
#include "ibv_conduit.h"

#include <stdlib.h>
#include <string.h>

#include "../../other/base/minmax.h"
#include "../../other/base/log.h"

// ---- segments ----

aq_status_t aq_ibv_attach(aq_conduit_t *conduit, void *segment, size_t size)
{
    aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    aq_status_t status = aq_ibv_keys_attach(&ibv->keys, conduit->env->boot, segment, size);
    aq_ibv_set_payloads(ibv);
    return status;
}

bool aq_ibv_attached(const aq_ibv_conduit_t *ibv, uint32_t rank, const void *memory, size_t nbytes,
                     aq_ibv_hold_t *hold)
{
    hold->region = NULL;
    return ibv->keys.setup.mode == AQ_SEGMENT_FAST &&
           aq_ibv_segments_key(&ibv->keys.segments, rank, (uintptr_t)memory, nbytes, &hold->key,
                               &hold->bytes);
}

static bool in_segment(const aq_ibv_conduit_t *ibv, const void *memory, size_t nbytes)
{
    const uintptr_t offset = (uintptr_t)memory - ibv->keys.start;
    return offset < ibv->keys.bytes && nbytes <= ibv->keys.bytes - offset;
}

// ---- pieces ----

// How the next piece of an operation reaches memory here.
typedef struct piece {
    size_t nbytes;
    bool in_line;
    aq_ibv_hold_t hold; // bytes 0: not in place
    aq_ibv_pool_t *pool;
} piece_t;

// In place: what is registered; other memory, if it may be pinned and is worth it.
static bool hold_in_place(aq_ibv_conduit_t *ibv, const void *local, size_t nbytes, bool is_get,
                          aq_ibv_hold_t *hold)
{
    return (nbytes > AQ_IBV_BUFFER_BYTES || in_segment(ibv, local, nbytes)) &&
           aq_ibv_keys_local(&ibv->keys, local, nbytes, is_get, hold) == AQ_OK;
}

static piece_t plan(aq_ibv_conduit_t *ibv, const aq_ibv_rma_t *rma, size_t nbytes)
{
    piece_t piece = {.nbytes = aq_min(nbytes, ibv->limits.operation_bytes)};
    const bool in_place = rma->is_get || rma->stable;
    if (!rma->is_get && nbytes <= ibv->limits.inline_bytes) {
        piece.in_line = true;
    } else if (in_place && hold_in_place(ibv, rma->local, piece.nbytes, rma->is_get, &piece.hold)) {
        piece.nbytes = piece.hold.bytes;
    } else if (nbytes <= AQ_IBV_BUFFER_BYTES) {
        piece.pool = &ibv->bounces;
    } else {
        piece.pool = &ibv->large_bounces;
        piece.nbytes = aq_min(piece.nbytes, ibv->limits.bounce_bytes);
    }
    return piece;
}

static aq_ibv_op_t *take(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const piece_t *piece)
{
    aq_ibv_op_t *op = aq_ibv_op_take(ibv, link);
    if (!op || !piece->pool)
        return op;
    op->buffer = aq_ibv_buffer_take(piece->pool);
    if (op->buffer)
        return op;
    aq_ibv_op_put(ibv, op);
    return NULL;
}

// The memory that the device uses here: the place itself, or a buffer.
static void set_local(const aq_ibv_conduit_t *ibv, const piece_t *piece, void *local,
                      aq_ibv_work_t *work)
{
    work->nbytes = (uint32_t)piece->nbytes;
    work->in_line = piece->in_line;
    work->local = piece->pool ? work->op->buffer->bytes : local;
    work->local_key = piece->pool ? ibv->slab_mr->lkey : piece->hold.key;
}

size_t aq_ibv_rma_begin(aq_ibv_conduit_t *ibv, const aq_ibv_rma_t *rma, const aq_ibv_hold_t *there)
{
    const piece_t piece = plan(ibv, rma, there->bytes);
    aq_ibv_op_t *op = take(ibv, rma->link, &piece);
    if (!op && aq_ibv_reap(ibv))
        op = take(ibv, rma->link, &piece);
    if (!op) {
        aq_ibv_keys_release(&piece.hold);
        return 0;
    }
    aq_ibv_work_t work = {.op = op,
                          .opcode = rma->is_get ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                          .remote = rma->remote,
                          .remote_key = there->key};
    set_local(ibv, &piece, rma->local, &work);
    op->pending = rma->pending;
    op->hold = piece.hold;
    op->there = *there;
    if (rma->is_get && piece.pool) {
        op->into = rma->local;
        op->nbytes = (uint32_t)piece.nbytes;
    } else if (piece.pool) {
        memcpy(op->buffer->bytes, rma->local, piece.nbytes);
    }
    atomic_fetch_add_explicit(rma->pending, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ibv->by_device, 1, memory_order_relaxed);
    aq_ibv_post_later(ibv, rma->link, &work);
    return piece.nbytes;
}

static aq_status_t begin(aq_conduit_t *conduit, const aq_ibv_rma_t *rma, size_t *begun)
{
    aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    aq_ibv_hold_t there;
    *begun = 0;
    switch (aq_ibv_keys_look(&ibv->keys, rma->link->rank, rma->remote, rma->nbytes, !rma->is_get,
                             &there)) {
    case AQ_IBV_REACHED:
        *begun = aq_ibv_rma_begin(ibv, rma, &there);
        if (*begun)
            return AQ_OK;
        aq_ibv_keys_release(&there);
        return AQ_AGAIN;
    case AQ_IBV_MISSED:
        return aq_ibv_reach_begin(ibv, rma, begun);
    default:
        return AQ_ERR_ABSENT;
    }
}

aq_status_t aq_ibv_rma(aq_conduit_t *conduit, void *link, const aq_rma_t *rma, atomic_uint *pending,
                       size_t *begun)
{
    const aq_ibv_rma_t transfer = {.link = link,
                                   .remote = (uintptr_t)rma->remote,
                                   .local = rma->local,
                                   .nbytes = rma->nbytes,
                                   .is_get = rma->kind == AQ_RMA_GET,
                                   .stable = rma->flags & AQ_RMA_STABLE,
                                   .pending = pending};
    return begin(conduit, &transfer, begun);
}
