// SPDX-License-Identifier: BSD-3-Clause
// How the bytes of an operation move: pieces go up a tree, where they are combined, and down again.
//
//     broadcast            down: src of the root -> dst of all
//     reduction to one     up;  if the root of the tree is not the client's: down to that one rank
//     reduction to all     up, then down
//
// Operations of other kinds use no tree (coll_way.c).
//
// Each piece moves as soon as possible. On the way up a piece is combined with the pieces of the
// children in their order, left to right, in the buffer of the last child; no other copy is made.
//
// A large payload waits until the receiver is ready (rendezvous), so that the receiver need not
// keep the payload before it starts the operation. On the way down of a reduction to all, the
// receiver has already shown that it has started.
#include <string.h>

#include "coll_tree.h"
#include "coll_mail.h"
#include "../../other/base/minmax.h"

static bool has_up(const aq_coll_op_t *op)
{
    return op->call.kind != AQ_COLL_BROADCAST;
}

// An operator that does not commute uses a tree to rank 0 in the order of the ranks.
static uint32_t top_of(const aq_coll_call_t *call)
{
    return call->in_order ? 0 : call->root;
}

static const aq_coll_map_t *map_for(const aq_coll_t *coll, const aq_coll_call_t *call,
                                    aq_coll_map_t *plain)
{
    if (!call->in_order || !coll->map.order)
        return &coll->map;
    *plain = (aq_coll_map_t){.size = coll->map.size, .groups = coll->map.size, .largest = 1};
    return plain;
}

// ---- layout ----

static size_t piece_bytes(const aq_coll_op_t *op, uint32_t piece)
{
    size_t rest = op->bytes - piece * op->pieces.bytes;
    return aq_min(rest, op->pieces.bytes);
}

static uint32_t parts_in(const aq_coll_op_t *op, uint32_t piece)
{
    const size_t bytes = piece_bytes(op, piece);
    return bytes <= op->pieces.part ? 1
                                    : (uint32_t)((bytes + op->pieces.part - 1) / op->pieces.part);
}

// After the record: the children, a row of slots for each child and one for the parent, and, if
// bytes go up, the bytes of the children.
static size_t plan_tree(aq_coll_op_t *op)
{
    aq_coll_map_t plain;
    aq_coll_divide(op, op->bytes);
    const aq_coll_map_t *map = map_for(op->coll, &op->call, &plain);
    const size_t children = aq_coll_tree_most(map, aq_coll_shape(op->bytes, !has_up(op)));
    op->rows.stride = aq_coll_round_up(op->bytes);
    const size_t at =
        aq_coll_round_up(sizeof *op) + aq_coll_round_up((children + 1) * sizeof *op->tree.child);
    return aq_coll_rows_plan(op, at, (children + 1) * op->pieces.count) +
           (has_up(op) ? children * op->rows.stride : 0);
}

// The directions in which this rank moves pieces.
static void find_ways(aq_coll_op_t *op)
{
    uint32_t me = op->coll->team->head.rank, top = top_of(&op->call);
    if (!has_up(op))
        op->tree.up = op->pieces.count;
    if (op->call.kind != AQ_COLL_TO_ONE) {
        op->tree.awaits_down = me != top;
        op->tree.down_to = op->tree.child;
        op->tree.down_count = op->tree.node.children;
        op->tree.down_from = me != top || has_up(op) ? op->call.dst : op->call.src;
        return;
    }
    op->tree.awaits_down = me != top && me == op->call.root;
    op->tree.down_to = &op->call.root;
    op->tree.down_count = me == top && me != op->call.root;
    if (op->tree.down_count)
        op->tree.down_from = op->tree.node.children
                                 ? op->rows.boxes + (op->tree.node.children - 1) * op->rows.stride
                                 : op->call.src;
    else if (!op->tree.awaits_down)
        op->tree.down = op->pieces.count;
}

static aq_coll_slot_t *slot_of(const aq_coll_op_t *op, uint32_t row, uint32_t piece)
{
    return &op->rows.slots[(size_t)row * op->pieces.count + piece];
}

static uint32_t tree_sender(const aq_coll_op_t *op, uint32_t row)
{
    if (row > op->tree.node.children || (row && !has_up(op)) || (!row && !op->tree.awaits_down))
        return GEX_RANK_INVALID;
    if (row)
        return op->tree.child[row - 1];
    return op->call.kind == AQ_COLL_TO_ONE ? top_of(&op->call) : op->tree.node.parent;
}

static void prepare_row(const aq_coll_op_t *op, uint32_t row)
{
    const bool sent = tree_sender(op, row) != GEX_RANK_INVALID;
    for (uint32_t piece = 0; piece < op->pieces.count; piece++) {
        const uint32_t parts = sent ? parts_in(op, piece) : 0;
        aq_coll_slot_init(slot_of(op, row, piece), parts);
    }
}

static void prepare_tree(aq_coll_op_t *op)
{
    aq_coll_map_t plain;
    const aq_coll_map_t *map = map_for(op->coll, &op->call, &plain);
    op->tree.child = (uint32_t *)(void *)((char *)op + aq_coll_round_up(sizeof *op));
    aq_coll_rows_place(op);
    aq_coll_tree_make(map, aq_coll_shape(op->bytes, !has_up(op)), top_of(&op->call),
                      op->coll->team->head.rank, &op->tree.node, op->tree.child);
    find_ways(op);
    for (uint32_t row = 0; row <= op->tree.node.children; row++)
        prepare_row(op, row);
}

// ---- expected arrivals ----

static bool tree_awaits_ready(const aq_coll_op_t *op, uint32_t rank)
{
    if (has_up(op))
        return rank == op->tree.node.parent && atomic_load(&op->ready.count) == 0;
    uint32_t c = 0;
    while (c < op->tree.node.children && op->tree.child[c] != rank)
        c++;
    return c < op->tree.node.children && atomic_load(&op->ready.count) < op->tree.node.children;
}

static bool tree_part(const aq_coll_op_t *op, uint32_t row, uint32_t part, aq_coll_part_t *found)
{
    const uint32_t piece = op->pieces.count == 1 ? 0 : part / op->pieces.parts; // rarely divides
    if (piece >= op->pieces.count)
        return false;
    const size_t at = (size_t)(part - piece * op->pieces.parts) * op->pieces.part;
    const size_t size = piece_bytes(op, piece);
    if (at >= size)
        return false;
    char *start = row ? op->rows.boxes + (row - 1) * op->rows.stride : (char *)op->call.dst;
    *found = (aq_coll_part_t){.slot = slot_of(op, row, piece),
                              .to = start + piece * op->pieces.bytes + at,
                              .nbytes = size - at < op->pieces.part ? size - at : op->pieces.part};
    return true;
}

// ---- pieces ----

static bool has_arrived(const aq_coll_op_t *op, uint32_t row, uint32_t piece)
{
    return atomic_load_explicit(&slot_of(op, row, piece)->missing, memory_order_acquire) == 0;
}

// from: the first byte of the whole operation.
static void send_piece(const aq_coll_op_t *op, uint32_t rank, uint32_t row, uint32_t piece,
                       const char *from)
{
    aq_coll_send_piece(op, rank, row, piece, from + piece * op->pieces.bytes,
                       piece_bytes(op, piece));
}

static void keep_result(const aq_coll_op_t *op, uint32_t piece, const char *from)
{
    char *to = op->call.dst;
    if (to != from)
        memcpy(to + piece * op->pieces.bytes, from + piece * op->pieces.bytes,
               piece_bytes(op, piece));
}

static uint32_t ready_count(const aq_coll_op_t *op)
{
    return atomic_load_explicit(&op->ready.count, memory_order_acquire);
}

// ---- up ----

static bool can_go_up(const aq_coll_op_t *op, uint32_t piece)
{
    if (op->ready.needed && op->tree.node.parent != GEX_RANK_INVALID && ready_count(op) == 0)
        return false;
    for (uint32_t c = 0; c < op->tree.node.children; c++)
        if (!has_arrived(op, 1 + c, piece))
            return false;
    return true;
}

// Combines a piece of this rank and its children; returns the first byte of the operation that has
// the result.
static const char *combine_parts(const aq_coll_op_t *op, uint32_t piece)
{
    const char *left = op->call.src;
    size_t offset = piece * op->pieces.bytes, count = piece_bytes(op, piece) / op->call.unit;
    for (uint32_t c = 0; c < op->tree.node.children; c++) {
        char *right = op->rows.boxes + c * op->rows.stride;
        op->call.fn(left + offset, right + offset, count, op->call.cdata);
        left = right;
    }
    return left;
}

static void go_up(const aq_coll_op_t *op, uint32_t piece)
{
    const char *result = combine_parts(op, piece);
    if (op->tree.node.parent != GEX_RANK_INVALID)
        send_piece(op, op->tree.node.parent, 1 + op->tree.node.index, piece, result);
    else if (op->call.kind == AQ_COLL_TO_ALL || op->call.root == op->coll->team->head.rank)
        keep_result(op, piece, result);
}

// ---- down ----

static bool can_go_down(const aq_coll_op_t *op, uint32_t piece)
{
    if (op->ready.needed && !has_up(op) && ready_count(op) < op->tree.down_count)
        return false;
    return op->tree.awaits_down ? has_arrived(op, 0, piece) : op->tree.up > piece;
}

// The last child goes first because its subtree is the largest.
static void go_down(const aq_coll_op_t *op, uint32_t piece)
{
    for (uint32_t c = op->tree.down_count; c > 0; c--)
        send_piece(op, op->tree.down_to[c - 1], 0, piece, op->tree.down_from);
    if (!has_up(op) && !op->tree.awaits_down)
        keep_result(op, piece, op->tree.down_from);
}

// ---- both directions ----

// Notifies the ranks that will send to this rank that it is ready.
static void invite_senders(aq_coll_op_t *op)
{
    op->ready.invited = true;
    if (!has_up(op) && op->tree.awaits_down)
        aq_coll_send_ready(op, op->tree.node.parent);
    for (uint32_t c = 0; has_up(op) && c < op->tree.node.children; c++)
        aq_coll_send_ready(op, op->tree.child[c]);
}

static bool advance_tree(aq_coll_op_t *op)
{
    if (op->ready.needed && !op->ready.invited)
        invite_senders(op);
    for (; op->tree.up < op->pieces.count && can_go_up(op, op->tree.up); op->tree.up++)
        go_up(op, op->tree.up);
    for (; op->tree.down < op->pieces.count && can_go_down(op, op->tree.down); op->tree.down++)
        go_down(op, op->tree.down);
    return op->tree.up == op->pieces.count && op->tree.down == op->pieces.count;
}

const aq_coll_way_t aq_coll_by_tree = {.plan = plan_tree,
                                       .prepare = prepare_tree,
                                       .advance = advance_tree,
                                       .sender = tree_sender,
                                       .awaits_ready = tree_awaits_ready,
                                       .part = tree_part};
