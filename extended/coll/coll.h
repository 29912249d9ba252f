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
//   The last two use the boards of coll_board.c, and streams of coll_stream.c.
// - In a team of several hosts with several members each, an operation may be a chain of operations
//   over the members of a host and over the first members of all hosts (coll_hosts.c).
// - The id of a team and a number in the team identify an operation. If this process has not
// created the team or started the operation yet, it keeps messages for them until then.
// - Handlers record arrivals and send nothing. Initiators and a task advance operations, in one
// thread of the process at a time.
// - A rank sends only messages that the receiver waits for: a team without operations sends
// nothing.
#ifndef AQ_COLL_H
#define AQ_COLL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../core/thread/event.h"
#include "../../core/endpoint/team.h"
#include "../../core/thread/thread.h"
#include "../barrier/barrier.h"
#include "../gasnet_coll.h"

// ---- for the code that creates teams ----

// All-gather over a team: copies `bytes` bytes from each member to all[rank * bytes]. Blocks.
void aq_coll_allgather(aq_team_t *team, const void *mine, size_t bytes, void *all);

// Reserves a slot of this process's scratch for the collectives of a future team, or returns
// AQ_COLL_NO_SLOT. The caller exchanges the slot with the other members.
#define AQ_COLL_NO_SLOT UINT32_MAX
uint32_t aq_coll_slot_take(void);
// Gives a slot back that no team uses; AQ_COLL_NO_SLOT: does nothing.
void aq_coll_slot_drop(uint32_t slot);

// Starts the collectives of a team with the slots of all members, in rank order. Afterwards the
// team may be used. Local: other members may return earlier or later.
void aq_coll_team_start(aq_team_t *team, const uint32_t *slots);

// Frees the state of the collectives of a team, and its slot. All operations of the team are
// complete in this process. Local.
void aq_coll_team_end(aq_team_t *team);

// ---- groups and trees: coll_tree.c ----

// The members of a team by neighbourhood. Groups are numbered by their first member.
typedef struct aq_coll_map {
    uint32_t size, groups;
    uint32_t largest; // members of the largest group
    // First place of each group, and the end; NULL: each rank is a group.
    uint32_t *start;
    uint32_t *order; // ranks, group by group; NULL: in the order of the ranks
    uint32_t *where; // place of each rank in `order`; NULL if `order` is NULL
} aq_coll_map_t;

// nbrhd[r]: neighbourhood of rank r, below `nbrhds`. Ends the job if memory is out.
void aq_coll_map_make(aq_coll_map_t *map, uint32_t size, const uint32_t *nbrhd, uint32_t nbrhds);
void aq_coll_map_free(aq_coll_map_t *map);
uint32_t aq_coll_map_rank(const aq_coll_map_t *map, uint32_t place);
uint32_t aq_coll_map_group(const aq_coll_map_t *map, uint32_t rank);
// First place and number of members of a group.
uint32_t aq_coll_map_start(const aq_coll_map_t *map, uint32_t group);
uint32_t aq_coll_map_members(const aq_coll_map_t *map, uint32_t group);

// Widths of trees: the number of children of a member at each level. At least 2; or AQ_COLL_HALVES:
// a binary tree, in which no member has more than two children in all.
enum { AQ_COLL_HALVES = 1 };
typedef struct aq_coll_shape {
    uint32_t inside, across; // inside a neighbourhood, between neighbourhoods
} aq_coll_shape_t;
// The shape for so many bytes. down: they only go from the root to all.
aq_coll_shape_t aq_coll_shape(size_t bytes, bool down);

// The position of a rank in the tree from a root.
typedef struct aq_coll_tree {
    uint32_t parent; // GEX_RANK_INVALID at the root
    uint32_t index;  // position among the children of the parent
    uint32_t children;
} aq_coll_tree_t;

// The largest number of children of any rank.
uint32_t aq_coll_tree_most(const aq_coll_map_t *map, aq_coll_shape_t shape);
// Fills in the position of a rank in the tree; child[] receives tree->children ranks. If root is 0,
// the rank and the subtrees of its children follow each other in the order of places.
void aq_coll_tree_make(const aq_coll_map_t *map, aq_coll_shape_t shape, uint32_t root,
                       uint32_t rank, aq_coll_tree_t *tree, uint32_t *child);

// ---- arguments of calls: coll.c ----

// End the job with a message that names the call if a number is wrong; in a debug build also if
// another argument is.
void aq_coll_check_call(const char *name, gex_TM_t tm, gex_Rank_t root, gex_Flags_t flags);
void aq_coll_check_elements(const char *name, gex_DT_t dt, size_t dt_sz, size_t dt_cnt);
// Returns the function of the client's operator, or of a built-in operator if it exists for the
// type; else ends the job with a message.
gex_Coll_ReduceFn_t aq_coll_find_operator(const char *name, gex_DT_t dt, gex_OP_t op,
                                          gex_Coll_ReduceFn_t user_op);

// ---- operators: coll_operators.c ----

// Returns the function of a built-in operator, or NULL if the operator is illegal for the type.
gex_Coll_ReduceFn_t aq_coll_operator(gex_DT_t dt, gex_OP_t op);
size_t aq_coll_type_size(gex_DT_t dt); // bytes; 0: no type, or GEX_DT_USER
// Computes the bitwise or of bytes; for the all-gather.
void aq_coll_or_bytes(const void *arg1, void *arg2_and_out, size_t count, const void *cdata);

// ---- operations: coll_engine.c ----

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

// The outstanding parts of a piece.
typedef struct aq_coll_slot {
    atomic_uint missing; // parts that are not complete
    uint32_t unbegun;    // parts without a message so far; protected by aq_coll_lock
} aq_coll_slot_t;

typedef struct aq_coll aq_coll_t;
typedef struct aq_board aq_board_t;
typedef struct aq_coll_way aq_coll_way_t;

// Starts an operation and returns its event. sync asks for additional synchronization:
#define AQ_COLL_SYNC_BEFORE 1u // no bytes move until all ranks have made the call
#define AQ_COLL_SYNC_AFTER 2u  // the event completes only when the operation is complete everywhere
gex_Event_t aq_coll_begin(aq_coll_t *coll, const aq_coll_call_t *call, unsigned sync);

// Ranks that have asked for their blocks by messages; 0: they have not.
enum { AQ_COLL_ASKED = 1, AQ_COLL_ANSWERED };

// The call of the client that an operation is a part of, for probes.
typedef struct aq_coll_asked {
    uint64_t team;
    uint32_t rank;           // of this process in the job
    uint32_t kind, sequence; // aq_shown_call_t; number of the call in the team
} aq_coll_asked_t;

typedef struct aq_coll_op {
    aq_coll_call_t call;   // the request of the client, or a share of that request
    aq_coll_asked_t asked; // set together with `event`
    const aq_coll_way_t *way;
    aq_coll_t *coll;
    struct aq_coll_op *next; // of the team, in order
    struct aq_coll_op *then; // the next one of a chain, which is held until this one is complete
    bool held;
    void *own; // memory that is freed with the record
    uint32_t number;
    uint32_t fence; // the operation that has to be complete before this one starts; 0: none
    bool started, complete;
    bool detached; // no event and no initiator waits for it
    aq_event_t *event;

    // Pieces are combined and forwarded as a whole; parts are the messages of a piece.
    size_t bytes, piece, part;
    uint32_t pieces, parts_of_piece;
    // Limit on the bytes that other ranks may have to keep before they start the operation.
    size_t unasked;
    bool rendezvous; // the sender waits until the receiver is ready
    bool invited;    // this rank has sent "ready" to its senders
    bool awaits_down;
    uint32_t up, down; // pieces done
    uint32_t down_count;
    const uint32_t *down_to; // ranks
    const char *down_from;
    aq_coll_tree_t tree;
    uint32_t *child;
    char *boxes; // bytes of each child, `stride` apart
    size_t stride;
    // By row and piece; row 0: from the parent, 1 + c: from child c. Without a tree the row is the
    // sending rank or the round.
    aq_coll_slot_t *slots;
    atomic_uint ready; // number of receivers that are ready

    char *work;  // of coll_rounds.c
    bool posted; // the operation has begun to move its data, by rounds or boards

    // Of the ways that use boards.
    uint32_t phase, post;          // among the operations on the team's boards; its post on each
    size_t sent;                   // bytes that a rank posts or shows
    bool is_short;                 // ranks post bytes, not addresses
    bool is_far;                   // more of them than fit into the line of the phase
    bool streams;                  // this rank's bytes go through its board (coll_stream.h)
    bool copied;                   // the blocks of all ranks are here
    uint8_t step, shows;           // of coll_combine.c
    uint16_t empty_polls;          // looks for the next chunk of a stream
    uint32_t seen;                 // ranks, in this step
    uint32_t combiners;            // ranks that combine a share
    uint32_t answered;             // of `ready`
    _Atomic uint8_t *askers;       // by rank: AQ_COLL_ASKED ...; NULL: of another way
    uint8_t *taken;                // by rank: progress with its block
    size_t streamed, chunk;        // bytes that a rank takes from each that streams, and of a chunk
    uint32_t chunks, staged, took; // in all, written by this rank, taken from all that stream
    uint32_t sources;              // ranks whose blocks stream to this one

    size_t slots_at, boxes_at; // offsets from the record
    size_t block;              // bytes of this record with slots and boxes
} aq_coll_op_t;

// ---- moving: coll_way.c ----

// A part of a row that a rank sends.
typedef struct aq_coll_part {
    aq_coll_slot_t *slot; // of the piece
    char *to;             // destination of the bytes
    size_t nbytes;
} aq_coll_part_t;

// The functions of a way; the aq_coll_op functions below describe them.
struct aq_coll_way {
    size_t (*plan)(aq_coll_op_t *op);
    void (*prepare)(aq_coll_op_t *op);
    bool (*advance)(aq_coll_op_t *op);
    uint32_t (*sender)(const aq_coll_op_t *op, uint32_t row);
    bool (*awaits_ready)(const aq_coll_op_t *op, uint32_t rank);
    bool (*part)(const aq_coll_op_t *op, uint32_t row, uint32_t part, aq_coll_part_t *found);
};
extern const aq_coll_way_t aq_coll_by_tree, aq_coll_by_blocks, aq_coll_by_rounds, aq_coll_by_copy,
    aq_coll_by_combining, aq_coll_by_doubling, aq_coll_by_shares;

// Ranks of the largest group that exchanges in a round of aq_coll_by_doubling.
#define AQ_COLL_RADIX_MAX 5
// Whether aq_coll_by_doubling takes so many ranks.
bool aq_coll_doubles(uint32_t size);
// Chooses the way of a call. All ranks choose alike, because the choice depends only on the team
// and single-valued arguments.
const aq_coll_way_t *aq_coll_choose_way(const aq_coll_t *coll, const aq_coll_call_t *call);
// Bytes of the largest part.
size_t aq_coll_part_limit(void);
// Chooses the way of an operation whose call and team are set; returns the size of its record in
// bytes.
size_t aq_coll_op_plan(aq_coll_op_t *op);
// Initializes a planned operation in a record of that size. Called in the order of the operations.
static inline void aq_coll_op_prepare(aq_coll_op_t *op)
{
    op->way->prepare(op);
}
// Advances an operation as far as possible; returns true if the operation is complete.
static inline bool aq_coll_op_advance(aq_coll_op_t *op)
{
    return op->way->advance(op);
}
// Returns the rank of the team that sends a row, or GEX_RANK_INVALID.
static inline uint32_t aq_coll_op_sender(const aq_coll_op_t *op, uint32_t row)
{
    return op->way->sender(op, row);
}
// Whether the operation waits for a rank to report that it is ready to receive.
bool aq_coll_op_awaits_ready(const aq_coll_op_t *op, uint32_t rank);
// Notes that report.
void aq_coll_op_note_ready(aq_coll_op_t *op, uint32_t rank);
// Bytes in whole lines of the cache.
static inline size_t aq_coll_round_up(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}
// Whether this rank may send: all receivers are ready, or it need not wait for that.
static inline bool aq_coll_can_send(const aq_coll_op_t *op)
{
    return !op->rendezvous ||
           atomic_load_explicit(&op->ready, memory_order_acquire) == op->down_count;
}
// Finds a part of a row that a rank sends. Returns false if the row has no such part.
static inline bool aq_coll_op_part(const aq_coll_op_t *op, uint32_t row, uint32_t part,
                                   aq_coll_part_t *found)
{
    return op->way->part(op, row, part, found);
}

// ---- reductions in the memory of the neighbourhood: coll_combine.c ----

// Whether aq_coll_by_combining takes a reduction of a team.
bool aq_coll_combines(const aq_coll_t *coll, const aq_coll_call_t *call);

// ---- the memory of the neighbourhood: coll_board.c ----

// Bytes of a board, in the scratch of each process.
#define AQ_BOARD_BYTES (35 << 10)
// Makes this process's side of the boards of a team. areas: the boards of all members, in rank
// order; the caller frees the array. Local.
aq_board_t *aq_board_new(const aq_team_t *team, void *const *areas);
// From now on this process does not access the boards. board may be NULL.
void aq_board_free(aq_board_t *board);
// Makes a board ready for another team; returns false while other processes may still access it.
bool aq_board_reset(void *area);

// ---- messages: coll_mail.c ----

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

void aq_coll_send_part(const aq_coll_op_t *op, uint32_t rank, uint32_t row, uint32_t part,
                       const void *payload, size_t nbytes);
void aq_coll_send_ready(const aq_coll_op_t *op, uint32_t rank);
// Finds the part that a message carries. Returns NULL, or the reason why the message is wrong;
// *part is then undefined. The caller holds aq_coll_lock.
const char *aq_coll_mail_part(const aq_coll_op_t *op, const aq_coll_mail_t *mail,
                              aq_coll_part_t *part);
// Delivers to a starting operation the messages that arrived before. The caller holds aq_coll_lock.
void aq_coll_mail_open(aq_coll_op_t *op);
// Delivers to a starting team the messages that arrived before. The caller holds aq_coll_lock.
void aq_coll_mail_adopt(aq_coll_t *coll);
void aq_coll_mail_free(aq_coll_t *coll);

// ---- the state of a team ----

enum { AQ_COLL_MAIL_LISTS = 16 };

struct aq_coll {
    aq_team_t *team;
    aq_barrier_t barrier;
    uint32_t slot;
    aq_board_t *board; // NULL: the members share no memory
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
// Returns the operation with this number if it has started, else NULL. The caller holds
// aq_coll_lock.
aq_coll_op_t *aq_coll_find_started(const aq_coll_t *coll, uint32_t number);
// The list of teams whose operations the engine advances.
void aq_coll_engine_add(aq_coll_t *coll);
void aq_coll_engine_remove(aq_coll_t *coll);
// Waits until no operation of this process is outstanding, in any team. The other members have made
// the same calls or will make them without waiting for this rank.
void aq_coll_engine_finish(void);

static inline aq_coll_t *aq_coll_of(const aq_team_t *team)
{
    return team->coll;
}

// The rank of this process in the team of an operation.
static inline uint32_t aq_coll_my_rank(const aq_coll_op_t *op)
{
    return op->coll->team->head.rank;
}

// ---- the collectives of a team, without barrier: coll_team.c ----

// Makes the state of the collectives of a team. slots: as for aq_coll_team_start; NULL: of the
// primordial team or of a part of it; share_memory: use boards if all members share memory. Local.
aq_coll_t *aq_coll_open(aq_team_t *team, const uint32_t *slots, bool share_memory);
// Frees it; the team stays. Local.
void aq_coll_close(aq_coll_t *coll);

// ---- teams of several hosts: coll_hosts.c ----

// A part of an operation, over a part of the team.
typedef struct aq_coll_step {
    aq_coll_t *coll;
    aq_coll_call_t call;
    void *own;  // memory of the step, freed with its operation
    bool waits; // for the step before
} aq_coll_step_t;
enum { AQ_COLL_STEPS = 3 };

// Makes the parts of a team that has several members on one of several hosts. Local.
void aq_coll_hosts_start(aq_coll_t *coll, const uint32_t *slots);
void aq_coll_hosts_end(aq_coll_t *coll);
// Divides an operation of a team with has_hosts into the steps of this rank, in order. 0: it is not
// divided; all ranks decide alike.
uint32_t aq_coll_hosts_divide(const aq_coll_t *coll, const aq_coll_call_t *call,
                              aq_coll_step_t steps[AQ_COLL_STEPS]);

// ---- blocks: coll_flat.c ----

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
// The source of the block for a rank, and the destination of the block of a rank.
const char *aq_coll_block_for(const aq_coll_op_t *op, uint32_t rank);
char *aq_coll_block_place(const aq_coll_op_t *op, uint32_t rank);
// Copies the block of this rank from src to dst, unless it is in place already.
void aq_coll_block_keep(const aq_coll_op_t *op);
void aq_coll_block_send(const aq_coll_op_t *op, uint32_t rank);
// Finds a part of the block of a rank.
bool aq_coll_block_part(const aq_coll_op_t *op, uint32_t row, uint32_t part, aq_coll_part_t *found);

// ---- checks of debug builds that all ranks make the same call: coll_check.c ----

// The call of a rank; sent to the next rank of the team.
typedef struct aq_coll_words {
    int32_t call;          // index of its name, see coll_check.c
    uint32_t root, dt, op; // op: the flags, of the calls of GASNet-1
    uint64_t unit, count;
} aq_coll_words_t;
enum {
    AQ_COLL_CALL_BARRIER = AQ_COLL_SCAN_EXCLUSIVE + 1,
    AQ_COLL_CALL_BROADCAST1,
    AQ_COLL_CALL_BLOCKS, // of aqueduct_coll.h, in the order of the kinds
    AQ_COLL_CALLS = AQ_COLL_CALL_BLOCKS + AQ_COLL_EXCHANGE - AQ_COLL_SCATTER + 1
};
void aq_coll_check_same(aq_coll_t *coll, const aq_coll_words_t *words);
void aq_coll_check_start(aq_coll_t *coll); // the caller holds aq_coll_lock
void aq_coll_check_end(aq_coll_t *coll);

#endif
