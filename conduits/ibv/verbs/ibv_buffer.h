// SPDX-License-Identifier: BSD-3-Clause
// Registered buffers: for messages that arrive and to send from. All those of an endpoint
// lie in one slab with one registration: of endpoint 0 made at the start, of a window with its
// first link.
//
//      slab:  | arrivals | bounces | large bounces | rings |
#pragma once

#include "../../../core/ground/lock.h"
#include "../../../spawner/boot/boot.h"
#include "ibv_limits.h"
#include "ibv_memory.h"

struct aq_ibv_pool;
struct aq_ibv_ring;

typedef struct aq_ibv_buffer {
    struct aq_ibv_buffer *next;
    uint8_t *bytes;
    uint32_t nbytes; // of the message that has arrived
    struct aq_ibv_pool *home;
    struct aq_ibv_ring *ring; // the ring of which this is a slot; NULL: none
    bool owed; // its message has arrived, and no other buffer was posted in its place
} aq_ibv_buffer_t;

typedef struct aq_ibv_pool {
    aq_lock_t lock;
    aq_ibv_buffer_t *free;
    aq_ibv_buffer_t *all;
    unsigned count;
    size_t bytes; // of each buffer
} aq_ibv_pool_t;

typedef struct aq_ibv_buffers {
    void *slab;
    size_t slab_bytes;
    struct ibv_mr *slab_mr;
    aq_ibv_pool_t arrivals; // the receive buffers that are not posted
    aq_ibv_pool_t bounces;  // of AQ_IBV_BUFFER_BYTES
    aq_ibv_pool_t large_bounces;
    uint8_t *rings; // memory of the rings, behind all pools
} aq_ibv_buffers_t;

// Registers as many buffers as the limits say; where the device allows less, lowers the limits.
// Collective over the job, unless boot is NULL. AQ_ERR_RESOURCE: no memory (logged).
aq_status_t aq_ibv_buffers_open(aq_ibv_buffers_t *buffers, aq_ibv_limits_t *limits,
                                aq_ibv_memory_t *memory, aq_boot_t *boot);
void aq_ibv_buffers_close(aq_ibv_buffers_t *buffers, aq_ibv_memory_t *memory);

// NULL: no buffer is free now. Any thread.
aq_ibv_buffer_t *aq_ibv_buffer_take(aq_ibv_pool_t *pool);
void aq_ibv_buffer_put(aq_ibv_buffer_t *buffer);
