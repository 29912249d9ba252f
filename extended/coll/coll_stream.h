// SPDX-License-Identifier: BSD-3-Clause
// Streams: bytes of a rank that others cannot reach in its memory go through its area in chunks,
// which the others copy while the rank writes the next ones.
//
//     far[phase % 4]          chunk 0, 4, 8 ..     staged   how many chunks this rank has written
//     far[(phase + 1) % 4]    chunk 1, 5, 9 ..     took     how many it has taken from every rank
//     ..                                                    whose bytes stream
//
// - In a scatter or an exchange a chunk holds bytes for each other rank, one after the other.
// - A rank takes chunk k from all ranks before chunk k + 1, so one number tells its progress.
// - The first chunks wait for the operations that used their places; each further one until all
//   readers have taken the chunk that was there.
// - A rank that computes, and so writes no chunks, does not delay the others for long: they read
//   the rest of a block through the kernel, if it allows that. The address of the block is in the
//   area, too.
// - Two copies of 8 KiB in the nearest cache, by two processors, take less time than the kernel
//   takes for one (process_vm_readv), and need no permission.
#pragma once

#include "coll_shm.h"

// Polls without a new chunk after which the rest is read through the kernel. A poll takes some 50
// ns, or as long as other ranks have the processor.
enum { AQ_STREAM_PATIENCE = 256 };

// Plans the chunks of a long operation; nbytes: what a rank takes from each.
void aq_stream_plan(aq_coll_op_t *op, size_t nbytes);

// Whether this rank would stream its bytes if the others cannot reach them otherwise.
bool aq_stream_is_worth(const aq_coll_op_t *op);

// Writes the chunks that there is room for. Returns true if all are written.
bool aq_stream_write(aq_coll_op_t *op);

// The next chunk that this rank takes from another one, or NULL if it is not there yet.
const char *aq_stream_next(const aq_coll_op_t *op, uint32_t rank);

// Where the next chunk lies in what a rank takes, and its length; bytes.
static inline size_t aq_stream_at(const aq_coll_op_t *op)
{
    return op->chunks.took * op->chunks.bytes;
}
size_t aq_stream_length(const aq_coll_op_t *op);

// Tells the others that this rank has taken the next chunk from all.
void aq_stream_take(aq_coll_op_t *op);

// Tells the others that this rank has taken all chunks, since it has got the rest in another way.
void aq_stream_take_rest(aq_coll_op_t *op);

static inline bool aq_stream_is_taken(const aq_coll_op_t *op)
{
    return op->chunks.took == op->chunks.count;
}
