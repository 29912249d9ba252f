// SPDX-License-Identifier: BSD-3-Clause
// Operations in rounds: in round k each rank sends one message to a rank at distance 2^k, and
// receives one from the rank at that distance on the other side.
//
//                 round k sends                          to        a message that arrives
//     scan        the result over the last 2^k ranks     me + 2^k  is combined with the own result
//     gather all  the first 2^k blocks, of me, me+1 ...  me - 2^k  is appended to the blocks
//     exchange    blocks whose distance has bit k set    me + 2^k  replaces these blocks
//
// A scan sends to no rank past the last one; the others go around the team. Blocks are small here;
// a large scan waits until all receivers are ready (rendezvous).
#include <string.h>

#include "coll_mail.h"
#include "../../other/base/minmax.h"

static bool is_scan(const aq_coll_op_t *op)
{
    return op->call.kind == AQ_COLL_SCAN || op->call.kind == AQ_COLL_SCAN_EXCLUSIVE;
}

static uint32_t rounds_of(uint32_t size)
{
    uint32_t rounds = 0;
    while (rounds < 32 && (uint64_t)1 << rounds < size)
        rounds++;
    return rounds;
}

// The rank at the distance of a round, or GEX_RANK_INVALID.
static uint32_t rank_at(const aq_coll_op_t *op, uint32_t round, bool above)
{
    const uint64_t size = op->coll->map.size, distance = (uint64_t)1 << round,
                   me = aq_coll_my_rank(op);
    if (is_scan(op) && (above ? me + distance >= size : me < distance))
        return GEX_RANK_INVALID;
    return (uint32_t)((above ? me + distance : me + size - distance) % size);
}

static uint32_t receiver_in(const aq_coll_op_t *op, uint32_t round)
{
    return rank_at(op, round, op->call.kind != AQ_COLL_GATHER_ALL);
}

static uint32_t sender_in(const aq_coll_op_t *op, uint32_t round)
{
    return rank_at(op, round, op->call.kind == AQ_COLL_GATHER_ALL);
}

// The number of blocks that travel in a round.
static uint32_t blocks_in(const aq_coll_op_t *op, uint32_t round)
{
    const uint32_t size = op->coll->map.size, distance = 1u << round;
    uint32_t blocks = 0;
    if (is_scan(op))
        return 1;
    if (op->call.kind == AQ_COLL_GATHER_ALL)
        return aq_min(distance, size - distance);
    for (uint32_t i = 0; i < size; i++)
        blocks += (i & distance) != 0;
    return blocks;
}

// ---- layout ----

// Bytes that are kept beside the messages.
static size_t work_bytes(const aq_coll_op_t *op)
{
    if (is_scan(op))
        return op->call.kind == AQ_COLL_SCAN_EXCLUSIVE ? op->bytes : 0;
    return op->bytes * op->coll->map.size;
}

// After the record: slots, a box for each round, the work. An exchange packs what it sends into one
// box more; a gather of all receives into the work.
static size_t plan_rounds(aq_coll_op_t *op)
{
    const uint32_t rounds = rounds_of(op->coll->map.size);
    const uint32_t boxes = op->call.kind == AQ_COLL_GATHER_ALL ? 0
                           : op->call.kind == AQ_COLL_EXCHANGE ? rounds + 1
                                                               : rounds;
    op->rounds.count = rounds;
    op->pieces.part = aq_coll_part_limit();
    op->rows.stride =
        aq_coll_round_up(is_scan(op) ? op->bytes : op->bytes * (op->coll->map.size / 2 + 1));
    if (!is_scan(op))
        op->unasked = sizeof(aq_coll_mail_t) + op->bytes * op->coll->map.size;
    return aq_coll_rows_plan(op, aq_coll_round_up(sizeof *op), rounds) + boxes * op->rows.stride +
           work_bytes(op);
}

static uint32_t parts_in(const aq_coll_op_t *op, uint32_t round)
{
    return (uint32_t)((blocks_in(op, round) * op->bytes + op->pieces.part - 1) / op->pieces.part);
}

static void prepare_rounds(aq_coll_op_t *op)
{
    aq_coll_rows_place(op);
    op->rounds.work = op->rows.boxes;
    if (op->call.kind != AQ_COLL_GATHER_ALL)
        op->rounds.work +=
            (op->rounds.count + (op->call.kind == AQ_COLL_EXCHANGE)) * op->rows.stride;
    for (uint32_t round = 0; round < op->rounds.count; round++) {
        const uint32_t parts = sender_in(op, round) == GEX_RANK_INVALID ? 0 : parts_in(op, round);
        aq_coll_slot_init(&op->rows.slots[round], parts);
        op->ready.receivers += receiver_in(op, round) != GEX_RANK_INVALID;
    }
}

static char *box_of(const aq_coll_op_t *op, uint32_t round)
{
    if (op->call.kind == AQ_COLL_GATHER_ALL)
        return op->rounds.work + ((size_t)1 << round) * op->bytes;
    return op->rows.boxes + round * op->rows.stride;
}

// ---- expected arrivals ----

static uint32_t round_sender(const aq_coll_op_t *op, uint32_t row)
{
    return row < op->rounds.count ? sender_in(op, row) : GEX_RANK_INVALID;
}

static bool round_awaits_ready(const aq_coll_op_t *op, uint32_t rank)
{
    uint32_t round = 0;
    while (round < op->rounds.count && receiver_in(op, round) != rank)
        round++;
    return round < op->rounds.count && atomic_load(&op->ready.count) < op->ready.receivers;
}

static bool round_part(const aq_coll_op_t *op, uint32_t row, uint32_t part, aq_coll_part_t *found)
{
    if (part >= parts_in(op, row))
        return false;
    const size_t at = part * op->pieces.part, rest = blocks_in(op, row) * op->bytes - at;
    *found = (aq_coll_part_t){.slot = &op->rows.slots[row],
                              .to = box_of(op, row) + at,
                              .nbytes = aq_min(rest, op->pieces.part)};
    return true;
}

// ---- blocks of an exchange ----

static void blocks_pack(const aq_coll_op_t *op, uint32_t round, char *to)
{
    for (uint32_t i = 0; i < op->coll->map.size; i++)
        if (i >> round & 1) {
            memcpy(to, op->rounds.work + i * op->bytes, op->bytes);
            to += op->bytes;
        }
}

static void blocks_unpack(const aq_coll_op_t *op, uint32_t round, const char *from)
{
    for (uint32_t i = 0; i < op->coll->map.size; i++)
        if (i >> round & 1) {
            memcpy(op->rounds.work + i * op->bytes, from, op->bytes);
            from += op->bytes;
        }
}

// Copies the blocks of an exchange to the work, that of this rank first.
static void blocks_rotate(const aq_coll_op_t *op)
{
    const uint32_t size = op->coll->map.size, me = aq_coll_my_rank(op);
    for (uint32_t i = 0; i < size; i++)
        memcpy(op->rounds.work + i * op->bytes,
               (const char *)op->call.src + (me + i) % size * op->bytes, op->bytes);
}

// Copies the work to the destination.
static void blocks_place(const aq_coll_op_t *op)
{
    const uint32_t size = op->coll->map.size, me = aq_coll_my_rank(op);
    const bool upwards = op->call.kind == AQ_COLL_GATHER_ALL;
    for (uint32_t i = 0; i < size; i++)
        memcpy((char *)op->call.dst + (upwards ? me + i : me + size - i) % size * op->bytes,
               op->rounds.work + i * op->bytes, op->bytes);
}

// ---- the result of a scan ----

static char *scan_result(const aq_coll_op_t *op)
{
    return op->call.kind == AQ_COLL_SCAN ? op->call.dst : op->rounds.work;
}

static void scan_start(const aq_coll_op_t *op)
{
    if (op->bytes && scan_result(op) != op->call.src)
        memcpy(scan_result(op), op->call.src, op->bytes);
}

// The result of lower ranks in a box comes from the left of all that is known so far.
static void scan_combine(const aq_coll_op_t *op, uint32_t round, const char *box)
{
    if (sender_in(op, round) == GEX_RANK_INVALID)
        return;
    op->call.fn(box, scan_result(op), op->call.count, op->call.cdata);
    if (op->call.kind == AQ_COLL_SCAN)
        return;
    if (round)
        op->call.fn(box, op->call.dst, op->call.count, op->call.cdata);
    else
        memcpy(op->call.dst, box, op->bytes);
}

// ---- rounds ----

static void start_rounds(aq_coll_op_t *op)
{
    op->rounds.started = true;
    if (is_scan(op))
        scan_start(op);
    else if (op->call.kind == AQ_COLL_EXCHANGE)
        blocks_rotate(op);
    else
        memcpy(op->rounds.work, op->call.src, op->bytes);
}

// What a rank sends in a round.
static const char *round_payload(const aq_coll_op_t *op, uint32_t round)
{
    if (is_scan(op))
        return scan_result(op);
    if (op->call.kind == AQ_COLL_GATHER_ALL)
        return op->rounds.work;
    char *packed = op->rows.boxes + op->rounds.count * op->rows.stride;
    blocks_pack(op, round, packed);
    return packed;
}

static void send_round(const aq_coll_op_t *op, uint32_t round)
{
    const uint32_t to = receiver_in(op, round);
    if (to == GEX_RANK_INVALID)
        return;
    const char *payload = round_payload(op, round);
    aq_coll_send_piece(op, to, round, 0, payload, blocks_in(op, round) * op->bytes);
}

static void finish_round(const aq_coll_op_t *op, uint32_t round)
{
    if (is_scan(op))
        scan_combine(op, round, box_of(op, round));
    else if (op->call.kind == AQ_COLL_EXCHANGE)
        blocks_unpack(op, round, box_of(op, round));
}

static void invite_senders(aq_coll_op_t *op)
{
    op->ready.invited = true;
    for (uint32_t round = 0; round < op->rounds.count; round++)
        if (sender_in(op, round) != GEX_RANK_INVALID)
            aq_coll_send_ready(op, sender_in(op, round));
}

static bool advance_rounds(aq_coll_op_t *op)
{
    if (op->ready.needed && !op->ready.invited)
        invite_senders(op);
    if (!aq_coll_can_send(op))
        return false;
    if (!op->rounds.started)
        start_rounds(op);
    for (; op->rounds.finished < op->rounds.count; op->rounds.finished++) {
        if (op->rounds.sent == op->rounds.finished)
            send_round(op, op->rounds.sent++);
        if (atomic_load_explicit(&op->rows.slots[op->rounds.finished].missing,
                                 memory_order_acquire))
            return false;
        finish_round(op, op->rounds.finished);
    }
    if (!is_scan(op))
        blocks_place(op);
    return true;
}

const aq_coll_way_t aq_coll_by_rounds = {.plan = plan_rounds,
                                         .prepare = prepare_rounds,
                                         .advance = advance_rounds,
                                         .sender = round_sender,
                                         .awaits_ready = round_awaits_ready,
                                         .part = round_part};
