// All-gather and exchange between ranks that share memory.
//
//     board of a rank:   post[1], post[0]   phase, then the blocks of this rank, or their address
//                        done               phase of the last operation that this rank has copied
//
// - A rank posts what it sends, and copies what the others have posted: short blocks from the
//   board, and long ones from memory that is mapped here, or through the kernel (process_read.h).
//   If the kernel refuses, the rank reports "ready" and gets the block by messages (coll_flat.c).
// - The operations of a team have phases. A rank posts one after it has completed the one before,
//   which all ranks have posted then, so that two posts in turn are enough.
// - An operation with short blocks is complete when this rank has copied all of them, and one with
//   long blocks when the other ranks have copied theirs too. So a rank that shares its processor
//   has to run once for short blocks.
// - Boards are in memory that other processes write. Lengths are known here, and addresses are only
//   read, in a segment or in a process that has proved its number.
#include <stdlib.h>
#include <string.h>

#include "../core/fatal.h"
#include "../core/job.h"
#include "../core/process_read.h"
#include "coll.h"

enum { POST_BYTES = 1344, POST_HEAD = 8 };

typedef struct post {
    _Alignas(64) _Atomic uint32_t phase;
    uint32_t unused;
    union {
        char bytes[POST_BYTES - POST_HEAD];
        uint64_t address; // of the source
    };
} post_t;

typedef struct area {
    post_t post[2]; // odd and even phases
    _Alignas(64) _Atomic uint32_t done;
    _Alignas(64) aq_process_t owner;
    _Atomic uint32_t left, lookers; // members of the team that have left, and all of them
} area_t;
_Static_assert(sizeof(area_t) <= AQ_BOARD_BYTES, "boards overlap in the scratch");

typedef struct member {
    area_t *area;
    bool known; // its process has proved its number
} member_t;

struct aq_board {
    uint32_t size, rank;
    uint32_t phases, completed; // operations so far
    member_t member[];
};

// ---- start and end ----

aq_board_t *aq_board_new(const aq_team_t *team, void *const *areas)
{
    const uint32_t size = team->head.size;
    aq_board_t *board = calloc(1, sizeof *board + size * sizeof *board->member);
    if (!board)
        aq_fatal("out of memory for the collectives of a team of %u ranks", size);
    board->size = size;
    board->rank = team->head.rank;
    for (uint32_t r = 0; r < size; r++)
        board->member[r].area = areas[r];
    area_t *mine = board->member[board->rank].area;
    mine->owner = aq_process_self();
    atomic_store_explicit(&mine->lookers, size, memory_order_relaxed);
    return board;
}

void aq_board_free(aq_board_t *board)
{
    for (uint32_t r = 0; board && r < board->size; r++)
        atomic_fetch_add_explicit(&board->member[r].area->left, 1, memory_order_release);
    free(board);
}

bool aq_board_reset(void *memory)
{
    area_t *area = memory;
    if (atomic_load_explicit(&area->left, memory_order_acquire) !=
        atomic_load_explicit(&area->lookers, memory_order_relaxed))
        return false;
    memset(area, 0, sizeof *area);
    return true;
}

// ---- layout ----

// After the record: slots, as of blocks by messages, and two bytes for each rank.
static size_t plan_board(aq_coll_op_t *op)
{
    const size_t bytes = aq_coll_by_blocks.plan(op);
    op->rendezvous = true;
    op->unasked = 0;
    op->slots_at = bytes;
    return bytes + 2 * (size_t)op->coll->map.size;
}

static void prepare_board(aq_coll_op_t *op)
{
    const uint32_t size = op->coll->map.size;
    aq_board_t *board = op->coll->board;
    op->slots = (aq_coll_slot_t *)(op + 1);
    op->askers = (_Atomic uint8_t *)((char *)op + op->slots_at);
    op->taken = (uint8_t *)op->askers + size;
    memset((char *)(op + 1), 0, op->slots_at - sizeof *op + 2 * (size_t)size);
    op->phase = ++board->phases;
}

// ---- expected arrivals: only the blocks that this rank has asked for ----

static uint32_t board_sender(const aq_coll_op_t *op, uint32_t row)
{
    return aq_coll_by_blocks.sender(op, row);
}

static bool board_awaits_ready(const aq_coll_op_t *op, uint32_t rank)
{
    return rank < op->coll->map.size && rank != op->coll->board->rank &&
           !atomic_load_explicit(&op->askers[rank], memory_order_relaxed);
}

// ---- sending ----

static post_t *post_of(const aq_coll_op_t *op, uint32_t rank)
{
    return &op->coll->board->member[rank].area->post[op->phase & 1];
}

static size_t sent_bytes(const aq_coll_op_t *op)
{
    return op->bytes * (op->call.kind == AQ_COLL_EXCHANGE ? op->coll->map.size : 1);
}

static bool is_short(const aq_coll_op_t *op)
{
    return sent_bytes(op) <= sizeof(((post_t *)0)->bytes);
}

static void wake_neighbourhood(void)
{
    aq_conduit_t *conduit = aq_job.conduits[0];
    if (conduit->ops->wake)
        conduit->ops->wake(conduit, true);
}

static void post_blocks(aq_coll_op_t *op)
{
    post_t *post = post_of(op, op->coll->board->rank);
    if (is_short(op))
        memcpy(post->bytes, op->call.src, sent_bytes(op));
    else
        post->address = (uintptr_t)op->call.src;
    atomic_store_explicit(&post->phase, op->phase, memory_order_release);
    wake_neighbourhood();
    aq_coll_block_keep(op);
    op->posted = true;
}

// Sends the blocks of the ranks that could not copy theirs.
static void answer_askers(aq_coll_op_t *op)
{
    for (uint32_t r = 0; r < op->coll->map.size; r++)
        if (atomic_load_explicit(&op->askers[r], memory_order_relaxed) == AQ_COLL_ASKED) {
            atomic_store_explicit(&op->askers[r], AQ_COLL_ANSWERED, memory_order_relaxed);
            op->answered++;
            aq_coll_block_send(op, r);
        }
}

// ---- receiving ----

enum { NOT_HERE, AWAITED, HERE }; // in op->taken

static bool process_known(member_t *member)
{
    if (!member->known)
        member->known = aq_process_holds(&member->area->owner);
    return member->known;
}

// Copies a long block. False: this process cannot read it.
static bool block_read(const aq_coll_op_t *op, uint32_t rank, uint64_t address)
{
    member_t *member = &op->coll->board->member[rank];
    char *to = aq_coll_block_place(op, rank);
    const void *mapped =
        aq_process_mapped(aq_team_jobrank(op->coll->team, rank), address, op->bytes);
    if (mapped)
        memcpy(to, mapped, op->bytes);
    return mapped || (process_known(member) &&
                      aq_process_read(member->area->owner.number, address, to, op->bytes));
}

static void block_ask(const aq_coll_op_t *op, uint32_t rank)
{
    aq_lock_take(&aq_coll_lock);
    op->slots[rank].unbegun = op->parts_of_piece;
    atomic_store_explicit(&op->slots[rank].missing, op->parts_of_piece, memory_order_relaxed);
    aq_lock_drop(&aq_coll_lock);
    aq_coll_send_ready(op, rank);
}

// Takes the block of a rank that has posted it; returns what has become of the block.
static uint8_t block_take(const aq_coll_op_t *op, uint32_t rank)
{
    const post_t *post = post_of(op, rank);
    const size_t at = op->call.kind == AQ_COLL_EXCHANGE ? op->coll->board->rank * op->bytes : 0;
    if (is_short(op)) {
        memcpy(aq_coll_block_place(op, rank), post->bytes + at, op->bytes);
        return HERE;
    }
    if (block_read(op, rank, post->address + at))
        return HERE;
    block_ask(op, rank);
    return AWAITED;
}

static bool block_is_here(aq_coll_op_t *op, uint32_t rank)
{
    uint8_t *taken = &op->taken[rank];
    if (*taken == NOT_HERE &&
        atomic_load_explicit(&post_of(op, rank)->phase, memory_order_acquire) == op->phase)
        *taken = block_take(op, rank);
    if (*taken == AWAITED && !atomic_load_explicit(&op->slots[rank].missing, memory_order_acquire))
        *taken = HERE;
    return *taken == HERE;
}

// Each rank begins with its successor, so that not all ranks copy from one rank at the same time.
// Returns true if all blocks are here.
static bool take_blocks(aq_coll_op_t *op)
{
    const aq_board_t *board = op->coll->board;
    for (uint32_t i = op->down; i + 1 < board->size; i++) {
        const uint32_t next = board->rank + 1 + i;
        if (block_is_here(op, next < board->size ? next : next - board->size) && i == op->down)
            op->down++;
    }
    return op->down + 1 == board->size;
}

// Whether all ranks have copied the blocks of this one.
static bool all_have_copied(aq_coll_op_t *op)
{
    const aq_board_t *board = op->coll->board;
    for (; op->up < board->size; op->up++) {
        const uint32_t done =
            atomic_load_explicit(&board->member[op->up].area->done, memory_order_acquire);
        if ((int32_t)(done - op->phase) < 0)
            return false;
    }
    return true;
}

static void tell_done(aq_coll_op_t *op)
{
    const aq_board_t *board = op->coll->board;
    op->copied = true;
    if (is_short(op))
        return;
    atomic_store_explicit(&board->member[board->rank].area->done, op->phase, memory_order_release);
    wake_neighbourhood();
}

static bool advance_board(aq_coll_op_t *op)
{
    aq_board_t *board = op->coll->board;
    if (board->completed + 1 != op->phase)
        return false;
    if (!op->posted)
        post_blocks(op);
    if (op->answered != atomic_load_explicit(&op->ready, memory_order_acquire))
        answer_askers(op);
    if (!op->copied && take_blocks(op))
        tell_done(op);
    if (!op->copied || (!is_short(op) && !all_have_copied(op)))
        return false;
    board->completed = op->phase;
    return true;
}

const aq_coll_way_t aq_coll_by_board = {.plan = plan_board,
                                        .prepare = prepare_board,
                                        .advance = advance_board,
                                        .sender = board_sender,
                                        .awaits_ready = board_awaits_ready,
                                        .part = aq_coll_block_part};
