// Buffers and operations: all of them are made at the start.
#include "ibv_conduit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../other/base/log.h"

// Arrivals that may be with their handlers without a copy, together with those that are to be
// replaced (ahead).
enum { SPARES = 64 };

// ---- pools ----

aq_ibv_buffer_t *aq_ibv_buffer_take(aq_ibv_pool_t *pool)
{
    aq_lock_take(&pool->lock);
    aq_ibv_buffer_t *buffer = pool->free;
    if (buffer)
        pool->free = buffer->next;
    aq_lock_drop(&pool->lock);
    return buffer;
}

void aq_ibv_buffer_put(aq_ibv_buffer_t *buffer)
{
    aq_ibv_pool_t *pool = buffer->home;
    aq_lock_take(&pool->lock);
    buffer->next = pool->free;
    pool->free = buffer;
    aq_lock_drop(&pool->lock);
}

// The buffers of a pool lie side by side from *at on, which moves behind them.
static bool fill_pool(aq_ibv_pool_t *pool, unsigned count, size_t bytes, uint8_t **at)
{
    pool->all = calloc(count, sizeof *pool->all);
    if (!pool->all)
        return false;
    pool->count = count;
    pool->bytes = bytes;
    for (unsigned i = 0; i < count; i++) {
        pool->all[i] = (aq_ibv_buffer_t){.bytes = *at, .home = pool};
        aq_ibv_buffer_put(&pool->all[i]);
        *at += bytes;
    }
    return true;
}

// ---- operations ----

// One of a number, unless that is 0.
static bool take_one(atomic_uint *number)
{
    unsigned left = atomic_load_explicit(number, memory_order_relaxed);
    do
        if (!left)
            return false;
    while (!atomic_compare_exchange_weak_explicit(number, &left, left - 1, memory_order_acquire,
                                                  memory_order_relaxed));
    return true;
}

aq_ibv_op_t *aq_ibv_op_take(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link)
{
    if (!take_one(&link->slots))
        return NULL;
    aq_lock_take(&ibv->op_lock);
    aq_ibv_op_t *op = ibv->free_ops;
    if (op) {
        ibv->free_ops = op->next;
        atomic_fetch_add_explicit(&ibv->ops_used, 1, memory_order_relaxed);
    }
    aq_lock_drop(&ibv->op_lock);
    if (op)
        *op = (aq_ibv_op_t){.link = link};
    else
        atomic_fetch_add_explicit(&link->slots, 1, memory_order_release);
    return op;
}

void aq_ibv_op_put(aq_ibv_conduit_t *ibv, aq_ibv_op_t *op)
{
    if (op->buffer)
        aq_ibv_buffer_put(op->buffer);
    aq_ibv_keys_release(&op->hold);
    aq_ibv_keys_release(&op->there);
    atomic_fetch_add_explicit(&op->link->slots, 1 + op->silent, memory_order_release);
    if (op->silent)
        atomic_fetch_sub_explicit(&ibv->silent, op->silent, memory_order_relaxed);
    aq_lock_take(&ibv->op_lock);
    op->next = ibv->free_ops;
    ibv->free_ops = op;
    atomic_fetch_sub_explicit(&ibv->ops_used, 1, memory_order_relaxed);
    aq_lock_drop(&ibv->op_lock);
}

// An entry that tells nothing is known to be free when a later one of its link has told: so only
// some may be such, of each link and of all.
bool aq_ibv_silent_take(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link)
{
    if (atomic_load_explicit(&link->silent, memory_order_relaxed) >= ibv->limits.silent_each)
        return false;
    if (atomic_fetch_add_explicit(&ibv->silent, 1, memory_order_relaxed) <
            ibv->limits.silent_total &&
        take_one(&link->slots))
        return true;
    atomic_fetch_sub_explicit(&ibv->silent, 1, memory_order_relaxed);
    return false;
}

static bool make_ops(aq_ibv_conduit_t *ibv)
{
    ibv->ops = calloc(ibv->limits.depth_total, sizeof *ibv->ops);
    if (!ibv->ops)
        return false;
    for (unsigned i = 0; i < ibv->limits.depth_total; i++) {
        ibv->ops[i].next = ibv->free_ops;
        ibv->free_ops = &ibv->ops[i];
    }
    return true;
}

// ---- arrivals ----

void aq_ibv_post_arrivals(aq_ibv_conduit_t *ibv, aq_ibv_buffer_t *first)
{
    struct ibv_recv_wr work[AQ_IBV_BATCH], *bad;
    struct ibv_sge piece[AQ_IBV_BATCH];
    while (first) {
        unsigned count = 0;
        for (; first && count < AQ_IBV_BATCH; first = first->next, count++) {
            piece[count] = (struct ibv_sge){.addr = (uintptr_t)first->bytes,
                                            .length = AQ_IBV_BUFFER_BYTES,
                                            .lkey = ibv->slab_mr->lkey};
            work[count] = (struct ibv_recv_wr){.wr_id = (uintptr_t)first,
                                               .next = &work[count + 1],
                                               .sg_list = &piece[count],
                                               .num_sge = 1};
        }
        work[count - 1].next = NULL;
        int error = ibv_post_srq_recv(ibv->srq, work, &bad);
        if (error)
            aq_log_error("the verbs device refuses a receive buffer: %s", strerror(error));
    }
}

static void post_first_arrivals(aq_ibv_conduit_t *ibv)
{
    for (unsigned i = 0; i < ibv->limits.arrivals + ibv->limits.ahead; i++) {
        aq_ibv_buffer_t *buffer = aq_ibv_buffer_take(&ibv->arrivals);
        buffer->next = NULL;
        aq_ibv_post_arrivals(ibv, buffer);
    }
}

// ---- all of it ----

enum { FEWEST_BOUNCES = 2 };

static size_t ring_bytes(const aq_ibv_limits_t *limits)
{
    return (size_t)limits->ring_depth * AQ_IBV_BUFFER_BYTES;
}

// What there has to be: the buffers that credits stand for, and those that an operation may need.
static size_t least_bytes(const aq_ibv_limits_t *limits)
{
    size_t small = (size_t)limits->arrivals + SPARES + FEWEST_BOUNCES;
    return small * AQ_IBV_BUFFER_BYTES + limits->bounce_bytes;
}

static size_t all_bytes(const aq_ibv_limits_t *limits)
{
    size_t small = (size_t)limits->arrivals + SPARES + limits->bounces;
    return small * AQ_IBV_BUFFER_BYTES + limits->large_bounces * limits->bounce_bytes +
           limits->rings * ring_bytes(limits);
}

// How many more of some bytes each fit, at most.
static unsigned fit(size_t *left, size_t each, unsigned most)
{
    size_t count = each ? *left / each : most;
    if (count > most)
        count = most;
    *left -= count * each;
    return (unsigned)count;
}

// What there is of everything when just so many bytes are registered.
static void fit_limits(aq_ibv_limits_t *limits, size_t bytes)
{
    size_t left = bytes - least_bytes(limits);
    limits->bounces =
        FEWEST_BOUNCES + fit(&left, AQ_IBV_BUFFER_BYTES, limits->bounces - FEWEST_BOUNCES);
    limits->large_bounces = 1 + fit(&left, limits->bounce_bytes, limits->large_bounces - 1);
    limits->rings = fit(&left, ring_bytes(limits), limits->rings);
}

// The limits of all processes are alike: it is enough that one tells.
static aq_status_t register_slab(aq_ibv_conduit_t *ibv)
{
    char why[768] = "";
    const size_t least = least_bytes(&ibv->limits) / AQ_IBV_BUFFER_BYTES;
    const size_t most = ibv->slab_bytes / AQ_IBV_BUFFER_BYTES;
    size_t count = aq_ibv_memory_register_pool(
        &ibv->memory, "the buffers (GASNET_BBUF_COUNT, GASNET_AM_CREDITS_TOTAL)", ibv->slab,
        AQ_IBV_BUFFER_BYTES, most, least, &ibv->slab_mr, why, sizeof why);
    if (count && count < most) {
        fit_limits(&ibv->limits, count * AQ_IBV_BUFFER_BYTES);
        if (aq_log_is_first())
            aq_log_warn("%s", why);
    }
    return aq_boot_agree(ibv->base.env->boot, count ? AQ_OK : AQ_ERR_RESOURCE, count ? "" : why);
}

static bool fill_pools(aq_ibv_conduit_t *ibv)
{
    const aq_ibv_limits_t *limits = &ibv->limits;
    uint8_t *at = ibv->slab;
    return make_ops(ibv) &&
           fill_pool(&ibv->arrivals, limits->arrivals + SPARES, AQ_IBV_BUFFER_BYTES, &at) &&
           fill_pool(&ibv->bounces, limits->bounces, AQ_IBV_BUFFER_BYTES, &at) &&
           fill_pool(&ibv->large_bounces, limits->large_bounces, limits->bounce_bytes, &at) &&
           aq_ibv_rings_open(ibv, &at);
}

static aq_status_t no_memory(const aq_ibv_conduit_t *ibv)
{
    aq_log_error("out of memory for the buffers of conduit ibv (%zu bytes): lower "
                 "GASNET_BBUF_COUNT or GASNET_AM_CREDITS_TOTAL",
                 ibv->slab_bytes);
    return AQ_ERR_RESOURCE;
}

aq_status_t aq_ibv_buffers_open(aq_ibv_conduit_t *ibv)
{
    if (ibv->limits.bounces < FEWEST_BOUNCES)
        ibv->limits.bounces = FEWEST_BOUNCES;
    ibv->slab_bytes = all_bytes(&ibv->limits);
    ibv->slab =
        mmap(NULL, ibv->slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ibv->slab == MAP_FAILED)
        return no_memory(ibv);
    aq_status_t status = register_slab(ibv);
    if (status != AQ_OK)
        return status;
    if (!fill_pools(ibv))
        return no_memory(ibv);
    post_first_arrivals(ibv);
    return AQ_OK;
}

void aq_ibv_buffers_close(aq_ibv_conduit_t *ibv)
{
    if (ibv->slab_mr)
        aq_ibv_memory_release(&ibv->memory, ibv->slab_mr);
    if (ibv->slab && ibv->slab != MAP_FAILED)
        munmap(ibv->slab, ibv->slab_bytes);
    free(ibv->arrivals.all);
    free(ibv->bounces.all);
    free(ibv->large_bounces.all);
    free(ibv->ops);
    free(ibv->rings);
    free(ibv->active_rings);
}
