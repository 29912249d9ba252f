// Put and get by RDMA write and read, between memory here and what the peer attached. Memory here
// that is pinned, our own segment, is used as it is; other memory goes through bounce buffers.
#include "ibv_conduit.h"

#include <stdlib.h>
#include <string.h>

#include "../../other/log.h"

// ---- segments ----

aq_status_t aq_ibv_attach(aq_conduit_t *conduit, void *segment, size_t size)
{
    aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    aq_boot_t *boot = conduit->env->boot;
    aq_ibv_region_t mine = {.start = (uintptr_t)segment, .bytes = size};
    aq_ibv_region_t *regions = calloc(boot->size, sizeof *regions);
    if (!regions) {
        aq_log_error("out of memory for the segments of %u ranks", boot->size);
        return AQ_ERR_RESOURCE;
    }
    ibv->segment_mr = aq_ibv_device_register(ibv, segment, size, "the segment");
    if (!ibv->segment_mr) {
        free(regions);
        return AQ_ERR_RESOURCE;
    }
    mine.key = ibv->segment_mr->rkey;
    aq_status_t status = boot->ops->exchange(boot, &mine, sizeof mine, regions);
    ibv->segment = (uintptr_t)segment;
    ibv->segment_bytes = size;
    ibv->regions = regions;
    return status;
}

bool aq_ibv_attached(const aq_ibv_conduit_t *ibv, uint32_t rank, const void *memory, size_t nbytes,
                     uint32_t *key)
{
    if (!ibv->regions)
        return false;
    const aq_ibv_region_t *region = &ibv->regions[rank];
    const uint64_t offset = (uintptr_t)memory - region->start;
    *key = region->key;
    return offset <= region->bytes && nbytes <= region->bytes - offset;
}

static bool is_pinned(const aq_ibv_conduit_t *ibv, const void *memory, size_t nbytes)
{
    const uintptr_t offset = (uintptr_t)memory - ibv->segment;
    return ibv->segment_mr && offset <= ibv->segment_bytes && nbytes <= ibv->segment_bytes - offset;
}

// ---- pieces ----

// How the next piece of an operation reaches memory here.
typedef struct piece {
    size_t nbytes;
    bool in_line, in_place; // else through a buffer of the pool
    aq_ibv_pool_t *pool;
} piece_t;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static piece_t plan(aq_ibv_conduit_t *ibv, const void *local, size_t nbytes, bool is_get,
                    bool stable)
{
    piece_t piece = {.nbytes = nbytes};
    if (!is_get && nbytes <= ibv->limits.inline_bytes) {
        piece.in_line = true;
    } else if (stable && is_pinned(ibv, local, nbytes)) {
        piece.in_place = true;
        piece.nbytes = least(nbytes, ibv->limits.operation_bytes);
    } else if (nbytes <= AQ_IBV_BUFFER_BYTES) {
        piece.pool = &ibv->bounces;
    } else {
        piece.pool = &ibv->large_bounces;
        piece.nbytes = least(nbytes, ibv->limits.bounce_bytes);
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
    work->local_key = piece->pool       ? ibv->slab_mr->lkey
                      : piece->in_place ? ibv->segment_mr->lkey
                                        : 0;
}

// One piece of an operation, from its front.
static aq_status_t begin(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const void *remote,
                         void *local, size_t nbytes, bool is_get, bool stable, atomic_uint *pending,
                         size_t *begun)
{
    uint32_t key;
    *begun = 0;
    if (!aq_ibv_attached(ibv, link->rank, remote, nbytes, &key))
        return AQ_ERR_ABSENT;
    const piece_t piece = plan(ibv, local, nbytes, is_get, stable);
    aq_ibv_op_t *op = take(ibv, link, &piece);
    if (!op && aq_ibv_reap(ibv))
        op = take(ibv, link, &piece);
    if (!op)
        return AQ_AGAIN;
    aq_ibv_work_t work = {.op = op,
                          .opcode = is_get ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                          .remote = (uintptr_t)remote,
                          .remote_key = key};
    set_local(ibv, &piece, local, &work);
    op->pending = pending;
    if (is_get && piece.pool) {
        op->into = local;
        op->nbytes = (uint32_t)piece.nbytes;
    } else if (piece.pool) {
        memcpy(op->buffer->bytes, local, piece.nbytes);
    }
    atomic_fetch_add_explicit(pending, 1, memory_order_relaxed);
    aq_ibv_post(ibv, link, &work, 1);
    *begun = piece.nbytes;
    return AQ_OK;
}

aq_status_t aq_ibv_put(aq_conduit_t *conduit, void *link, void *dest, const void *src,
                       size_t nbytes, unsigned flags, atomic_uint *pending, size_t *begun)
{
    return begin(aq_ibv_of(conduit), link, dest, (void *)(uintptr_t)src, nbytes, false,
                 flags & AQ_RMA_STABLE, pending, begun);
}

aq_status_t aq_ibv_get(aq_conduit_t *conduit, void *link, void *dest, const void *src,
                       size_t nbytes, unsigned flags, atomic_uint *pending, size_t *begun)
{
    (void)flags;
    return begin(aq_ibv_of(conduit), link, src, dest, nbytes, true, true, pending, begun);
}
