// Put and get by RDMA write and read, between local memory and memory of a peer whose key is known.
// Local memory that is registered, as the segment is, is used in place; other memory goes through
// bounce buffers, or firehose pins it.
#ifndef AQ_IBV_RMA_H
#define AQ_IBV_RMA_H

#include "ibv_send_queue.h"

typedef struct aq_ibv_rma_path {
    const aq_ibv_limits_t *limits;
    aq_ibv_buffers_t *buffers;
    aq_ibv_keys_t *keys;
    aq_ibv_send_queue_t *queue;
    struct aq_ibv_rails *rails; // NULL: a link has one queue pair; see ibv_rail.h
    atomic_ulong fences;        // of puts
    atomic_ulong by_device;     // puts and gets that the device has done
} aq_ibv_rma_path_t;

// A put or get, or what is left of it.
typedef struct aq_ibv_rma {
    aq_ibv_peer_t *link;
    uintptr_t remote;
    char *local; // not written by a put
    size_t nbytes;
    bool is_get;
    bool stable; // the source of a put does not change before it is complete
    atomic_uint *pending;
} aq_ibv_rma_t;

// How the next piece of an operation reaches local memory.
typedef struct aq_ibv_piece {
    size_t nbytes;
    bool in_line;
    aq_ibv_hold_t hold;  // of local memory that is used in place
    aq_ibv_pool_t *pool; // NULL: no buffer is needed
} aq_ibv_piece_t;

// For ibv_rail.c. Plans the first piece of at most so many bytes; it may travel inline if
// `in_line`.
aq_ibv_piece_t aq_ibv_piece_plan(aq_ibv_rma_path_t *path, const aq_ibv_rma_t *rma, size_t nbytes,
                                 bool in_line);

// Then, with the operation of the work: fills in both, except the keys of the work, copies a put
// into its buffer, and counts it as begun. The caller posts the work.
void aq_ibv_piece_begin(aq_ibv_rma_path_t *path, const aq_ibv_piece_t *piece,
                        const aq_ibv_rma_t *rma, const aq_ibv_hold_t *there, aq_ibv_work_t *work);

// Begins a put or get at its front, with a key for the first bytes of the peer's memory. Returns
// how many bytes were begun; 0: there is no room now. Otherwise the hold belongs to the operation.
typedef size_t aq_ibv_rma_begin_t(aq_ibv_rma_path_t *path, const aq_ibv_rma_t *rma,
                                  const aq_ibv_hold_t *there);
aq_ibv_rma_begin_t aq_ibv_rma_begin;

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
// The read of one byte, on the first queue pair.
aq_ibv_work_t aq_ibv_fence_work(aq_ibv_rma_path_t *path, aq_ibv_op_t *fence, uint64_t remote);

#endif
