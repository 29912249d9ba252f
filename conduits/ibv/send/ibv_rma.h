// SPDX-License-Identifier: BSD-3-Clause
// Put and get by RDMA write and read, between local memory and memory of a peer whose key is known.
// Local memory that is registered, as the segment is, is used in place; other memory goes through
// bounce buffers, or firehose pins it.
#pragma once

#include "ibv_send_queue.h"

typedef struct aq_ibv_rma_path {
    const aq_ibv_limits_t *limits;
    aq_ibv_buffers_t *buffers;
    aq_ibv_keys_t *keys;
    aq_ibv_send_queue_t *queue;
    struct aq_ibv_rails *rails; // NULL: a link has one queue pair; see ibv_rail_state.h
    atomic_ulong fences;        // of puts
    atomic_ulong by_device;     // puts and gets that the device has done
} aq_ibv_rma_path_t;

// Begins a put or get at its front, with a key for the first bytes of the peer's memory. Returns
// how many bytes were begun; 0: there is no room now. Otherwise the hold belongs to the operation.
typedef size_t aq_ibv_rma_begin_t(aq_ibv_rma_path_t *path, aq_ibv_peer_t *link, const aq_rma_t *rma,
                                  const aq_ibv_hold_t *there);
aq_ibv_rma_begin_t aq_ibv_rma_begin;

// For ibv_rail.c. Describes in an operation the first piece of a put or get, of at most so many
// bytes as `there` has; it may travel inline if `in_line`. A put goes into its buffer, if it needs
// one. Returns how many bytes; 0: no buffer is free.
size_t aq_ibv_op_describe(aq_ibv_rma_path_t *path, const aq_rma_t *rma, const aq_ibv_hold_t *there,
                          bool in_line, aq_ibv_op_t *op);

// Then: counts the piece as begun, and gives the hold to the operation. The caller posts it.
void aq_ibv_op_begin(aq_ibv_rma_path_t *path, const aq_rma_t *rma, const aq_ibv_hold_t *there,
                     aq_ibv_op_t *op);

// ---- fenced puts (GASNET_USE_FENCED_PUTS) ----
//
//      put    ---write---> memory of the peer         the queue pair does both in order, and the
//      fence  ---read----> its last byte              read pushes what was written before it
//             <-----------                            pending is 0 only now

// The same, fenced if it is a put.
aq_ibv_rma_begin_t aq_ibv_rma_begin_fenced;

// For ibv_rail.c. Makes an operation with a buffer the fence of a put: it is counted in pending,
// and gets the hold of the peer's memory. Returns the hold with which to begin the put.
aq_ibv_hold_t aq_ibv_fence_hold(aq_ibv_op_t *fence, const aq_ibv_hold_t *there,
                                atomic_uint *pending);
// The put was not begun: undoes that. The caller gives the operation back.
void aq_ibv_fence_drop(aq_ibv_op_t *fence);
// Describes in the fence the read of one byte, on the first queue pair.
void aq_ibv_fence_describe(aq_ibv_rma_path_t *path, aq_ibv_op_t *fence, uint64_t remote);
