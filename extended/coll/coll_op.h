// SPDX-License-Identifier: BSD-3-Clause
// Collectives over a team.
//
//     public call -> coll.c: checks -> coll_engine.c: an operation, perhaps several -> its way
//                                         |  numbers, early messages, events
//     message -> coll_mail.c -> its place in the operation
//
// - The calls of GASNet-1 are in coll1.c, those of aqueduct_coll.h in coll_calls.c.
// - An operation moves its data by one of these ways, which is the same at all ranks (coll_way.c):
//       coll_move.c    pieces go up and down a tree
//       coll_flat.c    each rank sends blocks directly to the ranks that need them
//       coll_rounds.c  one message of each rank in each of log2(ranks) rounds
//       coll_doubling.c  small groups of ranks exchange what they have, in a few rounds
//       coll_shares.c  each rank owns a share of the elements, and sends that to all
//       coll_copy.c    ranks of one neighbourhood copy blocks from each other's memory
//       coll_combine.c ranks of one neighbourhood combine what is in each other's memory
//   The last two use the shared memory of coll_shm.c, and streams of coll_stream.c.
// - In a team of several hosts with several members each, an operation may be a chain of operations
//   over the members of a host and over the first members of all hosts (coll_hosts.c).
// - The id of a team and a number in the team identify an operation. If this process has not
//   created the team or started the operation yet, it keeps messages for them until then.
// - Handlers record arrivals and send nothing. Initiators and a task advance operations, in one
//   thread of the process at a time.
// - A rank sends only messages that the receiver waits for: a team without operations sends
//   nothing.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../core/thread/event.h"
#include "../../core/endpoint/team.h"
#include "../../core/thread/thread.h"
#include "../barrier/barrier.h"
#include "../gasnet_coll.h"
#include "coll_state.h"
#include "coll_tree.h"

// Reserves a slot of this process's scratch for the collectives of a future team, or returns
// AQ_COLL_NO_SLOT. The caller exchanges the slot with the other members.
#define AQ_COLL_NO_SLOT UINT32_MAX

// ---- operations ----

typedef enum aq_coll_kind {
    AQ_COLL_BROADCAST,
    AQ_COLL_TO_ONE,
    AQ_COLL_TO_ALL,
    AQ_COLL_SCATTER,
    AQ_COLL_GATHER,
    AQ_COLL_GATHER_ALL,
    AQ_COLL_EXCHANGE,
    AQ_COLL_SCAN,
    AQ_COLL_SCAN_EXCLUSIVE
} aq_coll_kind_t;

// The request of the client.
typedef struct aq_coll_call {
    aq_coll_kind_t kind;
    gex_Rank_t root;
    void *dst;
    const void *src;
    size_t unit, count; // bytes of an element, elements; of one block, of operations with blocks
    gex_Coll_ReduceFn_t fn;
    const void *cdata;
    bool in_order; // fn does not commute
} aq_coll_call_t;

typedef struct aq_coll aq_coll_t;
typedef struct aq_shm aq_shm_t;
typedef struct aq_coll_way aq_coll_way_t;

// Starts an operation and returns its event. sync asks for additional synchronization:
#define AQ_COLL_SYNC_BEFORE 1u // no bytes move until all ranks have made the call
#define AQ_COLL_SYNC_AFTER 2u  // the event completes only when the operation is complete everywhere

// The call of the client that an operation is a part of, for probes.
typedef struct aq_coll_label {
    uint64_t team;
    uint32_t rank;           // of this process in the job
    uint32_t kind, sequence; // aq_shown_call_t; number of the call in the team
} aq_coll_label_t;

typedef struct aq_coll_op {
    aq_coll_call_t call; // the request of the client, or a share of that request
    const aq_coll_way_t *way;
    aq_coll_t *coll;
    struct aq_coll_op *next; // of the team, in order
    struct aq_coll_op *then; // the next one of a chain, which is held until this one is complete
    aq_event_t *event;
    void *own; // memory that is freed with the record
    uint32_t number;
    uint32_t fence; // the operation that has to be complete before this one starts; 0: none
    bool held, started, complete;
    bool detached; // no event and no initiator waits for it

    size_t bytes; // of a rank, or of a block
    aq_coll_post_t post;
    // A reduction in shared memory may continue on the tree, so `combine` is no part of this.
    union {
        aq_coll_tree_state_t tree;
        aq_coll_blocks_state_t blocks;
        aq_coll_rounds_state_t rounds;
        aq_coll_doubling_state_t doubling;
        aq_coll_shares_state_t shares;
        aq_coll_copy_state_t copy;
    };
    aq_coll_combine_state_t combine;
    aq_coll_chunks_t chunks;
    aq_coll_pieces_t pieces;
    aq_coll_rows_t rows;
    aq_coll_ready_t ready;

    aq_coll_label_t label; // set together with `event`
    size_t unasked;        // limit on the bytes that other ranks may have to keep before they start
    size_t block;          // bytes of this record with slots and boxes
} aq_coll_op_t;
_Static_assert(offsetof(aq_coll_op_t, combine) - offsetof(aq_coll_op_t, tree) ==
                   sizeof(aq_coll_tree_state_t),
               "an initializer clears the first member of the union, and so all of it");

// ---- moving ----

// A part of a row that a rank sends.
typedef struct aq_coll_part {
    aq_coll_slot_t *slot; // of the piece
    char *to;             // destination of the bytes
    size_t nbytes;
} aq_coll_part_t;

// The functions of a way.
struct aq_coll_way {
    size_t (*plan)(aq_coll_op_t *op); // returns the size of the record
    // Initializes a planned operation in a record of that size. Called in the order of the
    // operations.
    void (*prepare)(aq_coll_op_t *op);
    // Advances an operation as far as possible; returns true if the operation is complete.
    bool (*advance)(aq_coll_op_t *op);
    // Returns the rank of the team that sends a row, or GEX_RANK_INVALID.
    uint32_t (*sender)(const aq_coll_op_t *op, uint32_t row);
    // Whether a rank that reports "ready" is a receiver that this rank waits for.
    bool (*awaits_ready)(const aq_coll_op_t *op, uint32_t rank);
    // Finds a part of a row that a rank sends. Returns false if the row has no such part.
    bool (*part)(const aq_coll_op_t *op, uint32_t row, uint32_t part, aq_coll_part_t *found);
};
extern const aq_coll_way_t aq_coll_by_tree, aq_coll_by_blocks, aq_coll_by_rounds, aq_coll_by_copy,
    aq_coll_by_combining, aq_coll_by_doubling, aq_coll_by_shares;

// Ranks of the largest group that exchanges in a round of aq_coll_by_doubling.
#define AQ_COLL_RADIX_MAX 5
// Bytes in whole lines of the cache.
static inline size_t aq_coll_round_up(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}
// Plans slots at an offset of the record, and boxes behind them; returns the offset of the boxes.
static inline size_t aq_coll_rows_plan(aq_coll_op_t *op, size_t at, size_t slots)
{
    op->rows.slots_at = at;
    op->rows.boxes_at = at + aq_coll_round_up(slots * sizeof *op->rows.slots);
    return op->rows.boxes_at;
}
// Sets the addresses of the planned slots and boxes of a record.
static inline void aq_coll_rows_place(aq_coll_op_t *op)
{
    op->rows.slots = (aq_coll_slot_t *)(void *)((char *)op + op->rows.slots_at);
    op->rows.boxes = (char *)op + op->rows.boxes_at;
}
// Whether this rank may send: all receivers are ready, or it need not wait for that.
static inline bool aq_coll_can_send(const aq_coll_op_t *op)
{
    return !op->ready.needed ||
           atomic_load_explicit(&op->ready.count, memory_order_acquire) == op->ready.receivers;
}
// Bytes of the area of a rank (coll_shm.h), in the scratch of its process.
#define AQ_SHM_AREA_BYTES (35 << 10)

// ---- messages ----

// An early message. row AQ_COLL_READY: "ready", else `part` of that row.
#define AQ_COLL_READY UINT32_MAX
typedef struct aq_coll_mail {
    struct aq_coll_mail *next;
    uint32_t source; // job rank
    uint64_t team;   // id of the team
    uint32_t number, row, part;
    size_t nbytes;
    char payload[];
} aq_coll_mail_t;

// ---- the state of a team ----

enum { AQ_COLL_MAIL_LISTS = 16 };

struct aq_coll {
    aq_team_t *team;
    aq_barrier_t barrier;
    uint32_t slot;
    aq_shm_t *shm; // NULL: the members share no memory
    aq_coll_map_t map;
    uint32_t numbers;    // of operations so far; the first number is 1
    uint32_t calls;      // of the client so far, the same at all ranks
    uint32_t fence;      // see coll_engine.c
    uint32_t fence_word; // receives the result of the team's fences, which is 0
    size_t unasked;      // bytes sent without rendezvous since the fence
    aq_coll_op_t *ops;   // not complete, in order
    aq_coll_op_t *last;
    atomic_uint open; // number of those; changed with the lock held, read without it
    aq_coll_mail_t *mail[AQ_COLL_MAIL_LISTS]; // by number
    struct aq_coll_check *check;              // debug builds: coll_check.c
    aq_coll_t *next;                          // all teams with collectives
    // Of a team with several members on one of several hosts; otherwise NULL: the members of this
    // host, if they are several, and the first members of all hosts, if this rank is one of them.
    bool has_hosts;
    aq_coll_t *local, *across;
};

// Protects lists of operations, of messages and of teams.
extern aq_lock_t aq_coll_lock;

static inline aq_coll_t *aq_coll_of(const aq_team_t *team)
{
    return team->coll;
}

// The rank of this process in the team of an operation.
static inline uint32_t aq_coll_my_rank(const aq_coll_op_t *op)
{
    return op->coll->team->head.rank;
}

// ---- blocks ----

static inline bool aq_coll_is_from_root(const aq_coll_op_t *op)
{
    return op->call.kind == AQ_COLL_SCATTER || op->call.kind == AQ_COLL_BROADCAST;
}
// Whether a rank has a block of its own for each other one.
static inline bool aq_coll_is_for_each(const aq_coll_op_t *op)
{
    return op->call.kind == AQ_COLL_SCATTER || op->call.kind == AQ_COLL_EXCHANGE;
}
// Whether this rank sends a block to a rank, or awaits one from it.
static inline bool aq_coll_block_goes(const aq_coll_op_t *op, uint32_t rank)
{
    const uint32_t me = op->coll->team->head.rank;
    return rank != me && (!aq_coll_is_from_root(op) || op->call.root == me) &&
           (op->call.kind != AQ_COLL_GATHER || op->call.root == rank);
}
static inline bool aq_coll_block_comes(const aq_coll_op_t *op, uint32_t rank)
{
    const uint32_t me = op->coll->team->head.rank;
    return rank != me && (!aq_coll_is_from_root(op) || op->call.root == rank) &&
           (op->call.kind != AQ_COLL_GATHER || op->call.root == me);
}
