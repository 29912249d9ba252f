// SPDX-License-Identifier: BSD-3-Clause
// Registers the slab of an endpoint and divides it into pools, with fewer buffers if a limit
// refuses the wanted number. ibv_conduit.c opens it.
#include "ibv_buffer.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "../../../other/base/log/log.h"
#include "ibv_wire.h"

enum { FEWEST_BOUNCES = 2 };

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

// Lays out the buffers of a pool side by side from *at on, and moves *at behind them.
static bool pool_fill(aq_ibv_pool_t *pool, unsigned count, size_t bytes, uint8_t **at)
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

// ---- sizes ----

static size_t ring_bytes(const aq_ibv_limits_t *limits)
{
    return (size_t)limits->rings.depth * AQ_IBV_BUFFER_BYTES;
}

// The minimum: the buffers that credits stand for, and those that a single operation may need.
static size_t least_bytes(const aq_ibv_limits_t *limits)
{
    size_t small = (size_t)limits->arrivals + limits->spares + FEWEST_BOUNCES;
    return small * AQ_IBV_BUFFER_BYTES + limits->bounce_bytes;
}

static size_t all_bytes(const aq_ibv_limits_t *limits)
{
    size_t small = (size_t)limits->arrivals + limits->spares + limits->bounces;
    return small * AQ_IBV_BUFFER_BYTES + limits->large_bounces * limits->bounce_bytes +
           limits->rings.count * ring_bytes(limits);
}

// Takes up to `most` units of `each` bytes out of *left; returns how many fit.
static unsigned units_take(size_t *left, size_t each, unsigned most)
{
    size_t count = each ? *left / each : most;
    if (count > most)
        count = most;
    *left -= count * each;
    return (unsigned)count;
}

// Lowers the limits to what fits into so many registered bytes.
static void limits_fit(aq_ibv_limits_t *limits, size_t bytes)
{
    size_t left = bytes - least_bytes(limits);
    limits->bounces =
        FEWEST_BOUNCES + units_take(&left, AQ_IBV_BUFFER_BYTES, limits->bounces - FEWEST_BOUNCES);
    limits->large_bounces = 1 + units_take(&left, limits->bounce_bytes, limits->large_bounces - 1);
    limits->rings.count = units_take(&left, ring_bytes(limits), limits->rings.count);
}

// ---- open and close ----

// The limits of all processes are alike, so one warning for the job is enough.
static aq_status_t slab_register(aq_ibv_buffers_t *buffers, aq_ibv_limits_t *limits,
                                 aq_ibv_memory_t *memory, aq_boot_t *boot)
{
    char why[768] = "";
    const aq_ibv_pool_area_t pool = {.what =
                                         "the buffers (GASNET_BBUF_COUNT, GASNET_AM_CREDITS_TOTAL)",
                                     .start = buffers->slab,
                                     .unit = AQ_IBV_BUFFER_BYTES,
                                     .most = buffers->slab_bytes / AQ_IBV_BUFFER_BYTES,
                                     .least = least_bytes(limits) / AQ_IBV_BUFFER_BYTES};
    size_t count = aq_ibv_memory_register_pool(memory, &pool, &buffers->slab_mr, why, sizeof why);
    if (count && count < pool.most) {
        limits_fit(limits, count * AQ_IBV_BUFFER_BYTES);
        if (aq_log_is_first())
            aq_log_warn("%s", why);
    }
    if (boot)
        return aq_boot_agree(boot, count ? AQ_OK : AQ_ERR_RESOURCE, count ? "" : why);
    if (!count)
        aq_log_warn("%s", why);
    return count ? AQ_OK : AQ_ERR_RESOURCE;
}

static bool pools_fill(aq_ibv_buffers_t *buffers, const aq_ibv_limits_t *limits)
{
    buffers->rings = buffers->slab;
    uint8_t **at = &buffers->rings;
    return pool_fill(&buffers->arrivals, limits->arrivals + limits->spares, AQ_IBV_BUFFER_BYTES,
                     at) &&
           pool_fill(&buffers->bounces, limits->bounces, AQ_IBV_BUFFER_BYTES, at) &&
           pool_fill(&buffers->large_bounces, limits->large_bounces, limits->bounce_bytes, at);
}

static aq_status_t log_no_memory(const aq_ibv_buffers_t *buffers)
{
    aq_log_error("out of memory for the buffers of conduit ibv (%zu bytes): lower "
                 "GASNET_BBUF_COUNT or GASNET_AM_CREDITS_TOTAL",
                 buffers->slab_bytes);
    return AQ_ERR_RESOURCE;
}

aq_status_t aq_ibv_buffers_open(aq_ibv_buffers_t *buffers, aq_ibv_limits_t *limits,
                                aq_ibv_memory_t *memory, aq_boot_t *boot)
{
    if (limits->bounces < FEWEST_BOUNCES)
        limits->bounces = FEWEST_BOUNCES;
    buffers->slab_bytes = all_bytes(limits);
    buffers->slab =
        mmap(NULL, buffers->slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffers->slab == MAP_FAILED)
        return log_no_memory(buffers);
    aq_status_t status = slab_register(buffers, limits, memory, boot);
    if (status == AQ_OK && !pools_fill(buffers, limits))
        return log_no_memory(buffers);
    return status;
}

void aq_ibv_buffers_close(aq_ibv_buffers_t *buffers, aq_ibv_memory_t *memory)
{
    if (buffers->slab_mr)
        aq_ibv_memory_release(memory, buffers->slab_mr, AQ_IBV_BUFFER);
    if (buffers->slab && buffers->slab != MAP_FAILED)
        munmap(buffers->slab, buffers->slab_bytes);
    free(buffers->arrivals.all);
    free(buffers->bounces.all);
    free(buffers->large_bounces.all);
}
