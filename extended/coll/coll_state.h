// SPDX-License-Identifier: BSD-3-Clause
// The parts of an operation (coll_op.h): first those that several ways use, then the state of each
// way, which only the file of that way reads and writes.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coll_tree.h"

// ---- of several ways ----

// The division of the bytes. Pieces are combined and forwarded as a whole; parts are the messages
// of a piece.
typedef struct aq_coll_pieces {
    size_t bytes, part;    // of a piece, of a part
    uint32_t count, parts; // pieces, parts of each piece
} aq_coll_pieces_t;

// The outstanding parts of a piece.
typedef struct aq_coll_slot {
    atomic_uint missing; // parts that are not complete
    uint32_t unbegun;    // parts without a message so far; protected by aq_coll_lock
} aq_coll_slot_t;

static inline void aq_coll_slot_init(aq_coll_slot_t *slot, uint32_t parts)
{
    atomic_init(&slot->missing, parts);
    slot->unbegun = parts;
}

// What arrives, in the record of the operation. Along a tree row 0 is from the parent and row 1 + c
// from child c; otherwise the way numbers its rows by sending ranks or rounds.
typedef struct aq_coll_rows {
    size_t slots_at, boxes_at; // offsets from the record
    aq_coll_slot_t *slots;     // by row and piece
    char *boxes;               // bytes of rows, `stride` apart
    size_t stride;
} aq_coll_rows_t;

// Ranks that have requested their blocks by messages; 0: they have not.
enum { AQ_COLL_REQUESTED = 1, AQ_COLL_ANSWERED };

// Whether the receivers are ready: large payloads wait for that (rendezvous).
typedef struct aq_coll_ready {
    bool needed;
    bool invited;            // this rank has sent "ready" to its senders
    uint32_t receivers;      // of this rank, in the ways by blocks, rounds and shares
    atomic_uint count;       // of receivers that are ready
    _Atomic uint8_t *askers; // by rank: AQ_COLL_REQUESTED ...; NULL: of another way
} aq_coll_ready_t;

// The post of an operation in shared memory (coll_shm.c).
typedef struct aq_coll_post {
    uint32_t phase, index; // among the operations in shared memory; of the post in each area
    bool is_short;         // ranks post bytes, not addresses
    bool is_far;           // the bytes do not fit into the cache line of the phase
    bool written;          // by this rank, if it has to
} aq_coll_post_t;

// What goes through shared memory in chunks (coll_stream.c).
typedef struct aq_coll_chunks {
    size_t total, bytes;          // to take from each rank that streams, and of a chunk
    uint32_t count, staged, took; // in all, written by this rank, taken from all that stream
    uint16_t empty_polls;         // polls without a next chunk
} aq_coll_chunks_t;

// ---- the state of each way ----

// coll_move.c
typedef struct aq_coll_tree_state {
    aq_coll_tree_t node; // of this rank
    uint32_t up, down;   // pieces done
    uint32_t down_count;
    const uint32_t *down_to; // ranks
    const char *down_from;
    uint32_t *child;
    bool awaits_down;
} aq_coll_tree_state_t;

// coll_flat.c
typedef struct aq_coll_blocks_state {
    uint32_t here; // no block of a rank below this one is outstanding
    bool sent;
} aq_coll_blocks_state_t;

// coll_rounds.c
typedef struct aq_coll_rounds_state {
    char *work;                     // the blocks, or the result of a scan
    uint32_t count, sent, finished; // rounds
    bool started;
} aq_coll_rounds_state_t;

// coll_doubling.c
typedef struct aq_coll_doubling_state {
    char *work;                     // the result so far
    uint32_t count, sent, combined; // rounds
    uint32_t rows;                  // of all rounds
} aq_coll_doubling_state_t;

// coll_shares.c
typedef struct aq_coll_shares_state {
    uint32_t finished; // pieces of this rank's share that are complete and sent
    uint32_t here;     // no share of a rank below this one is outstanding
    bool started;
} aq_coll_shares_state_t;

// coll_copy.c
typedef struct aq_coll_copy_state {
    size_t sent;       // bytes that a rank posts or shows
    uint8_t *taken;    // by rank: progress with its block
    uint32_t here;     // ranks, from the next one on, whose blocks are here
    uint32_t served;   // no rank below this one awaits its block
    uint32_t sources;  // ranks whose blocks stream to this one
    uint32_t answered; // receivers that are ready and whose blocks were sent
    bool streams;      // this rank's bytes go through its area
    bool copied;       // the blocks of all ranks are here
} aq_coll_copy_state_t;

// coll_combine.c
typedef struct aq_coll_combine_state {
    uint8_t step, shows;
    uint32_t seen;      // ranks that the current step has finished with
    uint32_t combiners; // ranks that combine a share
} aq_coll_combine_state_t;
