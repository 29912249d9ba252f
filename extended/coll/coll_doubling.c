// SPDX-License-Identifier: BSD-3-Clause
// Small reductions to all between ranks that share no memory: recursive doubling, for any number of
// ranks that is a product of small numbers.
//
// In round k groups of `radix` ranks at a distance exchange what they have: afterwards each rank
// has the result over the distance * radix ranks around it.
//
//     6 ranks: radix 2, distance 1    0-1 2-3 4-5
//              radix 3, distance 2    0-2-4 1-3-5
//
// - So a round takes one message of each rank to each other one of its group, at the same time, and
//   there are fewer rounds than a tree has levels up and down.
// - Ranks combine what a group has in the order of the ranks: an operator need not commute, and all
//   ranks get the same bits.
#include <string.h>

#include "coll_doubling.h"
#include "coll_mail.h"
#include "../../other/base/minmax.h"

// ---- rounds ----

// The smallest radix that divides the ranks that are left; 0: none does.
static uint32_t radix_of(uint32_t left)
{
    uint32_t radix = 2;
    while (radix <= AQ_COLL_RADIX_MAX && left % radix)
        radix++;
    return radix <= AQ_COLL_RADIX_MAX ? radix : 0;
}

bool aq_coll_doubles(uint32_t size)
{
    while (size > 1 && radix_of(size))
        size /= radix_of(size);
    return size == 1;
}

// One round. Rows are numbered through all rounds, one for each rank of the group.
typedef struct round {
    uint32_t radix, distance, row;
} round_t;

static round_t round_first(const aq_coll_op_t *op)
{
    return (round_t){radix_of(op->coll->map.size), 1, 0};
}

static round_t round_next(const aq_coll_op_t *op, round_t round)
{
    const uint32_t distance = round.distance * round.radix;
    return (round_t){radix_of(op->coll->map.size / distance), distance, round.row + round.radix};
}

static round_t round_number(const aq_coll_op_t *op, uint32_t number)
{
    round_t round = round_first(op);
    while (number--)
        round = round_next(op, round);
    return round;
}

// The position of this rank in its group.
static uint32_t my_digit(const aq_coll_op_t *op, round_t round)
{
    return aq_coll_my_rank(op) / round.distance % round.radix;
}

static uint32_t rank_of(const aq_coll_op_t *op, round_t round, uint32_t digit)
{
    return aq_coll_my_rank(op) - my_digit(op, round) * round.distance + digit * round.distance;
}

// ---- layout ----

static void count_rounds(aq_coll_op_t *op)
{
    round_t round = round_first(op);
    for (op->doubling.count = 0; round.distance < op->coll->map.size; op->doubling.count++)
        round = round_next(op, round);
    op->doubling.rows = round.row;
}

// After the record: a slot and a box for each row.
static size_t plan_doubling(aq_coll_op_t *op)
{
    op->pieces.part = aq_coll_part_limit();
    op->pieces.parts = (uint32_t)((op->bytes + op->pieces.part - 1) / op->pieces.part);
    op->rows.stride = aq_coll_round_up(op->bytes);
    count_rounds(op);
    return aq_coll_rows_plan(op, aq_coll_round_up(sizeof *op), op->doubling.rows) +
           op->doubling.rows * op->rows.stride;
}

static void prepare_round(aq_coll_op_t *op, round_t round)
{
    for (uint32_t digit = 0; digit < round.radix; digit++) {
        const uint32_t parts = digit == my_digit(op, round) ? 0 : op->pieces.parts;
        aq_coll_slot_init(&op->rows.slots[round.row + digit], parts);
    }
}

static void prepare_doubling(aq_coll_op_t *op)
{
    aq_coll_rows_place(op);
    op->doubling.work = (char *)(uintptr_t)op->call.src;
    for (uint32_t i = 0; i < op->doubling.count; i++)
        prepare_round(op, round_number(op, i));
}

// ---- expected arrivals ----

static uint32_t doubling_sender(const aq_coll_op_t *op, uint32_t row)
{
    round_t round = round_first(op);
    if (row >= op->doubling.rows)
        return GEX_RANK_INVALID;
    while (row >= round.row + round.radix)
        round = round_next(op, round);
    const uint32_t rank = rank_of(op, round, row - round.row);
    return rank == aq_coll_my_rank(op) ? GEX_RANK_INVALID : rank;
}

// Payloads are small, so no rank waits until a receiver is ready.
static bool doubling_awaits_ready(const aq_coll_op_t *op, uint32_t rank)
{
    (void)op;
    (void)rank;
    return false;
}

static bool doubling_part(const aq_coll_op_t *op, uint32_t row, uint32_t part,
                          aq_coll_part_t *found)
{
    const size_t at = part * op->pieces.part;
    if (at >= op->bytes)
        return false;
    *found = (aq_coll_part_t){.slot = &op->rows.slots[row],
                              .to = op->rows.boxes + row * op->rows.stride + at,
                              .nbytes = aq_min(op->bytes - at, op->pieces.part)};
    return true;
}

// ---- moving ----

static void round_send(const aq_coll_op_t *op, round_t round)
{
    const uint32_t mine = my_digit(op, round);
    for (uint32_t i = 1; i < round.radix; i++)
        aq_coll_send_piece(op, rank_of(op, round, (mine + i) % round.radix), round.row + mine, 0,
                           op->doubling.work, op->bytes);
}

static bool round_is_here(const aq_coll_op_t *op, round_t round)
{
    uint32_t digit = 0;
    while (digit < round.radix && atomic_load_explicit(&op->rows.slots[round.row + digit].missing,
                                                       memory_order_acquire) == 0)
        digit++;
    return digit == round.radix;
}

// Copies the source of the client to the destination before it is used as a right operand, which
// operators overwrite.
static void work_own(aq_coll_op_t *op)
{
    if (op->doubling.work != op->call.src || op->call.src == op->call.dst)
        return;
    memcpy(op->call.dst, op->call.src, op->bytes);
    op->doubling.work = op->call.dst;
}

static void round_combine(aq_coll_op_t *op, round_t round)
{
    const uint32_t mine = my_digit(op, round);
    if (mine)
        work_own(op);
    char *boxes = op->rows.boxes + round.row * op->rows.stride;
    char *left = mine ? boxes : op->doubling.work;
    for (uint32_t digit = 1; digit < round.radix; digit++) {
        char *right = digit == mine ? op->doubling.work : boxes + digit * op->rows.stride;
        op->call.fn(left, right, op->call.count, op->call.cdata);
        left = right;
    }
    op->doubling.work = left;
}

static bool advance_doubling(aq_coll_op_t *op)
{
    round_t round = round_number(op, op->doubling.combined);
    for (; op->doubling.combined < op->doubling.count; op->doubling.combined++) {
        if (op->doubling.sent == op->doubling.combined) {
            round_send(op, round);
            op->doubling.sent++;
        }
        if (!round_is_here(op, round))
            return false;
        round_combine(op, round);
        round = round_next(op, round);
    }
    if (op->doubling.work != op->call.dst)
        memcpy(op->call.dst, op->doubling.work, op->bytes);
    return true;
}

const aq_coll_way_t aq_coll_by_doubling = {.plan = plan_doubling,
                                           .prepare = prepare_doubling,
                                           .advance = advance_doubling,
                                           .sender = doubling_sender,
                                           .awaits_ready = doubling_awaits_ready,
                                           .part = doubling_part};
