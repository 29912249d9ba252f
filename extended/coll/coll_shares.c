// SPDX-License-Identifier: BSD-3-Clause
// Large operations between ranks that share no memory: each rank owns a share of the elements.
//
//                 first                                 then the owner sends its share
//     broadcast   the root sends each share to its      to all but the root
//                 owner, which is not the root
//     to all      all send each share to its owner,     to all
//                 which combines it
//
// - So a rank sends no more than the payload in a broadcast, and 2(N-1)/N of it in a reduction to
//   all of N ranks, which is the least possible. A tree would have its root send log2(N) payloads.
// - Elements are combined in the order of the ranks, each at one rank. So an operator need not
//   commute, and all ranks get the same bits, also of sums of reals.
// - A share moves in pieces. An owner passes a piece on when it is here from all ranks, while it
//   still sends pieces of other shares.
// - Large shares wait until the ranks that get them are ready (rendezvous).
#include <string.h>

#include "coll_mail.h"
#include "coll_limits.h"
#include "../../other/base/minmax.h"

enum { BATCH = 4 }; // pieces that a rank sends to one rank before it turns to the next one

static uint32_t team_size(const aq_coll_op_t *op)
{
    return op->coll->map.size;
}

static bool is_broadcast(const aq_coll_op_t *op)
{
    return op->call.kind == AQ_COLL_BROADCAST;
}

static bool is_root(const aq_coll_op_t *op, uint32_t rank)
{
    return rank == op->call.root;
}

// ---- shares ----

// The elements of a rank's share are from .. to-1.
typedef struct share {
    size_t from, to;
} share_t;

static size_t share_start(const aq_coll_op_t *op, uint32_t share)
{
    const size_t owners = team_size(op) - is_broadcast(op), count = op->call.count;
    return count / owners * share + aq_min((size_t)share, count % owners);
}

// The share of a rank; the root of a broadcast has none.
static share_t share_of(const aq_coll_op_t *op, uint32_t rank)
{
    const uint32_t size = team_size(op);
    if (is_broadcast(op) && is_root(op, rank))
        return (share_t){0, 0};
    const uint32_t number = is_broadcast(op) ? (rank + size - op->call.root - 1) % size : rank;
    return (share_t){share_start(op, number), share_start(op, number + 1)};
}

static size_t share_bytes(const aq_coll_op_t *op, uint32_t rank)
{
    const share_t share = share_of(op, rank);
    return (share.to - share.from) * op->call.unit;
}

static size_t share_at(const aq_coll_op_t *op, uint32_t rank)
{
    return share_of(op, rank).from * op->call.unit;
}

static uint32_t parts_in(const aq_coll_op_t *op, size_t bytes)
{
    const size_t rest = bytes % op->pieces.bytes;
    return (uint32_t)(bytes / op->pieces.bytes) * op->pieces.parts +
           (uint32_t)((rest + op->pieces.part - 1) / op->pieces.part);
}

static uint32_t pieces_in(const aq_coll_op_t *op, size_t bytes)
{
    return (uint32_t)((bytes + op->pieces.bytes - 1) / op->pieces.bytes);
}

// ---- the ranks that send to each other ----

// Whether `from` sends elements of the share of `owner` to `owner`.
static bool share_goes(const aq_coll_op_t *op, uint32_t from, uint32_t owner)
{
    return from != owner && (!is_broadcast(op) || is_root(op, from));
}

// Whether the owner of a share sends it to `to` at the end.
static bool result_goes(const aq_coll_op_t *op, uint32_t owner, uint32_t to)
{
    return owner != to && !(is_broadcast(op) && (is_root(op, owner) || is_root(op, to)));
}

// Whether `from` sends bytes to `to` before `to` has sent any, and so waits until `to` is ready.
static bool goes_unasked(const aq_coll_op_t *op, uint32_t from, uint32_t to)
{
    return from != to && !(is_broadcast(op) && is_root(op, to));
}

// ---- layout ----

// After the record: slots, first for each rank and piece of this rank's share, then for the share
// of each rank; and a box for what each other rank sends to be combined.
static size_t plan_shares(aq_coll_op_t *op)
{
    const uint32_t size = team_size(op);
    const size_t largest = share_start(op, 1) * op->call.unit;
    aq_coll_divide(op, largest);
    op->ready.needed = largest > aq_coll_limits.unasked_bytes;
    op->unasked = sizeof(aq_coll_mail_t) + (op->ready.needed ? 0 : largest);
    op->rows.stride = aq_coll_round_up(largest);
    return aq_coll_rows_plan(op, aq_coll_round_up(sizeof *op),
                             ((size_t)op->pieces.count + 1) * size) +
           (is_broadcast(op) ? 0 : (size - 1) * op->rows.stride);
}

static aq_coll_slot_t *slot_of(const aq_coll_op_t *op, uint32_t rank, uint32_t piece)
{
    return &op->rows.slots[(size_t)rank * op->pieces.count + piece];
}

static aq_coll_slot_t *result_slot(const aq_coll_op_t *op, uint32_t owner)
{
    return &op->rows.slots[(size_t)team_size(op) * op->pieces.count + owner];
}

static size_t piece_bytes(const aq_coll_op_t *op, size_t share, uint32_t piece)
{
    const size_t before = (size_t)piece * op->pieces.bytes;
    return share <= before ? 0 : aq_min(share - before, op->pieces.bytes);
}

static void prepare_shares(aq_coll_op_t *op)
{
    const uint32_t me = aq_coll_my_rank(op), size = team_size(op);
    const size_t mine = share_bytes(op, me);
    aq_coll_rows_place(op);
    for (uint32_t r = 0; r < size; r++) {
        const bool comes = share_goes(op, r, me);
        for (uint32_t p = 0; p < op->pieces.count; p++)
            aq_coll_slot_init(slot_of(op, r, p),
                              comes ? parts_in(op, piece_bytes(op, mine, p)) : 0);
        aq_coll_slot_init(result_slot(op, r),
                          result_goes(op, r, me) ? parts_in(op, share_bytes(op, r)) : 0);
        op->ready.receivers += goes_unasked(op, me, r);
    }
}

// ---- expected arrivals: rows below N are of this rank's share, further ones are results ----

static uint32_t share_sender(const aq_coll_op_t *op, uint32_t row)
{
    const uint32_t size = team_size(op), me = aq_coll_my_rank(op);
    if (row < size)
        return share_goes(op, row, me) ? row : GEX_RANK_INVALID;
    const bool comes = row - size < size && result_goes(op, row - size, me);
    return comes ? row - size : GEX_RANK_INVALID;
}

static bool share_awaits_ready(const aq_coll_op_t *op, uint32_t rank)
{
    return goes_unasked(op, aq_coll_my_rank(op), rank) &&
           atomic_load(&op->ready.count) < op->ready.receivers;
}

// The first byte of what a rank sends of this rank's share.
static char *box_of(const aq_coll_op_t *op, uint32_t rank)
{
    return is_broadcast(op)
               ? (char *)op->call.dst + share_at(op, aq_coll_my_rank(op))
               : op->rows.boxes + (rank - (rank > aq_coll_my_rank(op))) * op->rows.stride;
}

static bool share_part(const aq_coll_op_t *op, uint32_t row, uint32_t part, aq_coll_part_t *found)
{
    const uint32_t size = team_size(op), piece = part / op->pieces.parts;
    const bool is_result = row >= size;
    const uint32_t owner = is_result ? row - size : aq_coll_my_rank(op);
    const size_t bytes = piece_bytes(op, share_bytes(op, owner), piece);
    const size_t at = (size_t)(part - piece * op->pieces.parts) * op->pieces.part;
    if (at >= bytes)
        return false;
    char *start = is_result ? (char *)op->call.dst + share_at(op, owner) : box_of(op, row);
    *found = (aq_coll_part_t){.slot = is_result ? result_slot(op, owner) : slot_of(op, row, piece),
                              .to = start + (size_t)piece * op->pieces.bytes + at,
                              .nbytes = aq_min(bytes - at, op->pieces.part)};
    return true;
}

// ---- pieces ----

// The root of a broadcast copies what it sends to its own destination.
static void piece_start(const aq_coll_op_t *op, uint32_t owner, uint32_t piece)
{
    const size_t bytes = piece_bytes(op, share_bytes(op, owner), piece);
    const size_t at = share_at(op, owner) + (size_t)piece * op->pieces.bytes;
    const char *from = (const char *)op->call.src + at;
    char *keep = (char *)op->call.dst + at;
    aq_coll_send_piece(op, owner, aq_coll_my_rank(op), piece, from, bytes);
    if (is_broadcast(op) && bytes && keep != from)
        memcpy(keep, from, bytes);
}

// Sends the next pieces of each share to its owner, the next rank first, so that not all ranks send
// to one rank at the same time.
static void pieces_send(const aq_coll_op_t *op, uint32_t first)
{
    const uint32_t size = team_size(op), me = aq_coll_my_rank(op);
    for (uint32_t i = 1; i < size; i++) {
        const uint32_t owner = (me + i) % size;
        const bool goes = share_goes(op, me, owner);
        for (uint32_t p = first; goes && p < first + BATCH; p++)
            piece_start(op, owner, p);
    }
}

static bool piece_is_here(const aq_coll_op_t *op, uint32_t piece)
{
    uint32_t r = 0;
    while (r < team_size(op) &&
           atomic_load_explicit(&slot_of(op, r, piece)->missing, memory_order_acquire) == 0)
        r++;
    return r == team_size(op);
}

// Combines a piece of this rank's share into `keep`. The source of this rank is not changed unless
// it is `keep`: an operator overwrites its second operand only.
static void piece_combine(const aq_coll_op_t *op, uint32_t piece, char *keep, size_t bytes)
{
    const uint32_t me = aq_coll_my_rank(op), size = team_size(op);
    const size_t at = (size_t)piece * op->pieces.bytes, count = bytes / op->call.unit;
    const char *own = (const char *)op->call.src + share_at(op, me) + at;
    const char *left = me ? box_of(op, 0) + at : own;
    for (uint32_t r = 1; r < size; r++) {
        char *right = r == me ? keep : box_of(op, r) + at;
        if (r == me && keep != own)
            memcpy(keep, own, bytes);
        op->call.fn(left, right, count, op->call.cdata);
        left = right;
    }
    if (left != keep)
        memcpy(keep, left, bytes);
}

// Completes pieces of this rank's share, and sends them.
static void pieces_pass(const aq_coll_op_t *op, uint32_t from, uint32_t to)
{
    const uint32_t size = team_size(op), me = aq_coll_my_rank(op);
    const size_t mine = share_bytes(op, me);
    char *keep = (char *)op->call.dst + share_at(op, me);
    for (uint32_t p = from; p < to && !is_broadcast(op); p++)
        piece_combine(op, p, keep + p * op->pieces.bytes, piece_bytes(op, mine, p));
    for (uint32_t i = 1; i < size; i++) {
        const uint32_t rank = (me + i) % size;
        const bool goes = result_goes(op, me, rank);
        for (uint32_t p = from; goes && p < to; p++)
            aq_coll_send_piece(op, rank, size + me, p, keep + p * op->pieces.bytes,
                               piece_bytes(op, mine, p));
    }
}

// ---- progress ----

static void invite_senders(aq_coll_op_t *op)
{
    op->ready.invited = true;
    for (uint32_t r = 0; r < team_size(op); r++)
        if (goes_unasked(op, r, aq_coll_my_rank(op)))
            aq_coll_send_ready(op, r);
}

// Completes and sends the pieces of this rank's share that are here from all, at most BATCH.
// Returns false if there is none.
static bool pieces_finish(aq_coll_op_t *op)
{
    const uint32_t mine = pieces_in(op, share_bytes(op, aq_coll_my_rank(op)));
    const uint32_t from = op->shares.finished, to = aq_min(mine, from + BATCH);
    while (op->shares.finished < to && piece_is_here(op, op->shares.finished))
        op->shares.finished++;
    pieces_pass(op, from, op->shares.finished);
    return op->shares.finished > from;
}

static void pieces_start(aq_coll_op_t *op)
{
    op->shares.started = true;
    for (uint32_t first = 0; first < op->pieces.count; first += BATCH) {
        pieces_send(op, first);
        pieces_finish(op);
    }
}

static bool results_are_here(aq_coll_op_t *op)
{
    while (op->shares.here < team_size(op) &&
           !atomic_load_explicit(&result_slot(op, op->shares.here)->missing, memory_order_acquire))
        op->shares.here++;
    return op->shares.here == team_size(op);
}

static bool advance_shares(aq_coll_op_t *op)
{
    if (op->ready.needed && !op->ready.invited)
        invite_senders(op);
    if (!op->shares.started && !aq_coll_can_send(op))
        return false;
    if (!op->shares.started)
        pieces_start(op);
    while (pieces_finish(op))
        ;
    return op->shares.finished == pieces_in(op, share_bytes(op, aq_coll_my_rank(op))) &&
           results_are_here(op);
}

const aq_coll_way_t aq_coll_by_shares = {.plan = plan_shares,
                                         .prepare = prepare_shares,
                                         .advance = advance_shares,
                                         .sender = share_sender,
                                         .awaits_ready = share_awaits_ready,
                                         .part = share_part};
