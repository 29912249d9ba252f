// SPDX-License-Identifier: BSD-3-Clause
// Operations without a tree: each rank sends blocks directly to the ranks that need them.
//
//                 a rank sends                    and awaits
//     scatter     the root: block r to rank r     the others: a block of the root
//     broadcast   the root: its block, to all     the others: a block of the root
//     gather      the others: its block, to root  the root: block s of rank s
//     gather all  its block, to all ranks         block s of rank s
//     exchange    block r to rank r               block s of rank s
//
// A block is one piece, in parts that each fit into a message. Large blocks wait until all
// receivers are ready (rendezvous), like the pieces of a tree.
#include <string.h>

#include "coll_flat.h"
#include "coll_mail.h"
#include "../../other/base/minmax.h"

// The source of the block for a rank, and the destination of the block of a rank.
const char *aq_coll_block_for(const aq_coll_op_t *op, uint32_t rank)
{
    return (const char *)op->call.src + (aq_coll_is_for_each(op) ? rank * op->bytes : 0);
}

char *aq_coll_block_place(const aq_coll_op_t *op, uint32_t rank)
{
    return (char *)op->call.dst + (aq_coll_is_from_root(op) ? 0 : rank * op->bytes);
}

// ---- layout ----

static size_t plan_blocks(aq_coll_op_t *op)
{
    const size_t limit = aq_coll_part_limit();
    op->pieces.part = limit;
    op->pieces.count = op->bytes > 0;
    op->pieces.parts = (uint32_t)((op->bytes + limit - 1) / limit);
    return sizeof *op + op->coll->map.size * sizeof *op->rows.slots;
}

static void prepare_blocks(aq_coll_op_t *op)
{
    op->rows.slots = (aq_coll_slot_t *)(op + 1);
    for (uint32_t r = 0; r < op->coll->map.size; r++) {
        const uint32_t parts = aq_coll_block_comes(op, r) ? op->pieces.parts : 0;
        aq_coll_slot_init(&op->rows.slots[r], parts);
        op->ready.receivers += aq_coll_block_goes(op, r);
    }
}

// ---- expected arrivals ----

static uint32_t block_sender(const aq_coll_op_t *op, uint32_t row)
{
    return row < op->coll->map.size && aq_coll_block_comes(op, row) ? row : GEX_RANK_INVALID;
}

static bool block_awaits_ready(const aq_coll_op_t *op, uint32_t rank)
{
    return aq_coll_block_goes(op, rank) && atomic_load(&op->ready.count) < op->ready.receivers;
}

bool aq_coll_block_part(const aq_coll_op_t *op, uint32_t row, uint32_t part, aq_coll_part_t *found)
{
    if (part >= op->pieces.parts)
        return false;
    const size_t at = part * op->pieces.part, rest = op->bytes - at;
    *found = (aq_coll_part_t){.slot = &op->rows.slots[row],
                              .to = aq_coll_block_place(op, row) + at,
                              .nbytes = aq_min(rest, op->pieces.part)};
    return true;
}

// ---- moving ----

void aq_coll_block_send(const aq_coll_op_t *op, uint32_t rank)
{
    aq_coll_send_piece(op, rank, aq_coll_my_rank(op), 0, aq_coll_block_for(op, rank), op->bytes);
}

void aq_coll_block_keep(const aq_coll_op_t *op)
{
    const bool rooted = aq_coll_is_from_root(op) || op->call.kind == AQ_COLL_GATHER;
    if (rooted && op->call.root != aq_coll_my_rank(op))
        return;
    const char *from = aq_coll_block_for(op, aq_coll_my_rank(op));
    char *to = aq_coll_block_place(op, aq_coll_my_rank(op));
    if (op->bytes && to != from)
        memcpy(to, from, op->bytes);
}

// Each rank begins with its successor, so that not all ranks send to one rank at the same time.
static void send_all(const aq_coll_op_t *op)
{
    const uint32_t size = op->coll->map.size;
    aq_coll_block_keep(op);
    for (uint32_t i = 1; i < size; i++) {
        const uint32_t rank = (aq_coll_my_rank(op) + i) % size;
        if (aq_coll_block_goes(op, rank))
            aq_coll_block_send(op, rank);
    }
}

static void invite_senders(aq_coll_op_t *op)
{
    op->ready.invited = true;
    for (uint32_t r = 0; r < op->coll->map.size; r++)
        if (aq_coll_block_comes(op, r))
            aq_coll_send_ready(op, r);
}

static bool advance_blocks(aq_coll_op_t *op)
{
    const uint32_t size = op->coll->map.size;
    if (op->ready.needed && !op->ready.invited)
        invite_senders(op);
    if (!op->blocks.sent && aq_coll_can_send(op)) {
        send_all(op);
        op->blocks.sent = true;
    }
    while (op->blocks.here < size && atomic_load_explicit(&op->rows.slots[op->blocks.here].missing,
                                                          memory_order_acquire) == 0)
        op->blocks.here++;
    return op->blocks.sent && op->blocks.here == size;
}

const aq_coll_way_t aq_coll_by_blocks = {.plan = plan_blocks,
                                         .prepare = prepare_blocks,
                                         .advance = advance_blocks,
                                         .sender = block_sender,
                                         .awaits_ready = block_awaits_ready,
                                         .part = aq_coll_block_part};
