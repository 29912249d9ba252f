// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the message parts of collectives.
//
// An input describes an operation as one rank of a team sees it (12 bytes), then messages (12 bytes
// each). Invariants: an accepted part comes from the rank that must send it and lies inside the
// memory of the operation, and no piece gets more parts than it has.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/state/job.h"
#include "../../extended/coll/coll_tree.h"
#include "../../extended/coll/coll_way.h"
#include "../../extended/coll/coll_mail.h"
#include "../../extended/coll/coll_flat.h"
#include "fuzz_check.h"

enum { RANKS_MAX = 64, BYTES_MAX = 1 << 18, UNITS_MAX = 1 << 16, MESSAGE_MAX = 4096 };

// The fields are bytes, so that an input means the same on each machine.
typedef struct operation {
    uint8_t size, rank, root, kind, in_order, nbrhds, unit[2], count[2], medium[2];
} operation_input_t;
typedef struct message {
    uint8_t source, row, part[4], nbytes[4], repeat, unused;
} message_input_t;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t read16(const uint8_t bytes[2])
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t read32(const uint8_t bytes[4])
{
    return read16(bytes) | read16(bytes + 2) << 16;
}

// The memory in which an operation keeps what arrives in a row.
typedef struct range {
    char *start;
    size_t nbytes;
} range_t;

static range_t range_of(const aq_coll_op_t *op, uint32_t row)
{
    if (op->way == &aq_coll_by_rounds || op->way == &aq_coll_by_doubling) // the rest of the record
        return (range_t){op->rows.boxes, op->block - op->rows.boxes_at};
    if (op->way == &aq_coll_by_blocks)
        return (range_t){aq_coll_block_place(op, row), op->bytes};
    if (op->way == &aq_coll_by_shares)
        return row < op->coll->map.size && op->call.kind != AQ_COLL_BROADCAST
                   ? (range_t){op->rows.boxes, op->block - op->rows.boxes_at}
                   : (range_t){op->call.dst, op->bytes};
    return (range_t){row ? op->rows.boxes + (row - 1) * op->rows.stride : op->call.dst, op->bytes};
}

static uint32_t rows_of(const aq_coll_op_t *op)
{
    if (op->way == &aq_coll_by_tree)
        return op->tree.node.children + 1;
    if (op->way == &aq_coll_by_doubling)
        return op->doubling.rows;
    if (op->way == &aq_coll_by_shares)
        return 2 * op->coll->map.size;
    return op->way == &aq_coll_by_rounds ? op->rounds.count : op->coll->map.size;
}

// The slot of a part: there is one for each round, or result of a share, and else one for each
// piece.
static const aq_coll_slot_t *slot_of(const aq_coll_op_t *op, uint32_t row, uint32_t part)
{
    if (op->way == &aq_coll_by_rounds || op->way == &aq_coll_by_doubling)
        return &op->rows.slots[row];
    const uint32_t piece = part / op->pieces.parts, size = op->coll->map.size;
    require(piece < op->pieces.count);
    if (op->way == &aq_coll_by_shares && row >= size)
        return &op->rows.slots[size * op->pieces.count + row - size];
    return &op->rows.slots[row * op->pieces.count + piece];
}

static void deliver_message(aq_coll_op_t *op, const message_input_t *message)
{
    const aq_coll_mail_t mail = {.source = message->source,
                                 .row = message->row == UINT8_MAX ? UINT32_MAX - 1 : message->row,
                                 .part = read32(message->part),
                                 .nbytes = read32(message->nbytes)};
    aq_coll_part_t part;
    if (aq_coll_mail_part(op, &mail, &part))
        return;
    require(mail.row < rows_of(op));
    const range_t range = range_of(op, mail.row);
    require(op->way->sender(op, mail.row) == mail.source);
    require(part.to >= range.start && (size_t)(part.to - range.start) < range.nbytes);
    require(mail.nbytes == part.nbytes &&
            part.nbytes <= range.nbytes - (size_t)(part.to - range.start));
    require(part.slot == slot_of(op, mail.row, mail.part));
    require(part.slot->unbegun-- > 0);
    memset(part.to, 7, part.nbytes); // the address sanitizer detects a wrong range
}

static aq_coll_call_t call_of(const operation_input_t *operation, uint32_t ranks)
{
    const size_t unit = 1 + read16(operation->unit) % UNITS_MAX;
    const int kind = operation->kind < 128 ? operation->kind % AQ_COLL_SCATTER
                                           : AQ_COLL_SCATTER + operation->kind % 6;
    aq_coll_call_t call = {.kind = (aq_coll_kind_t)kind,
                           .root = operation->root % ranks,
                           .unit = unit,
                           .count = read16(operation->count)};
    call.count %= BYTES_MAX / unit + 1;
    call.in_order = (kind == AQ_COLL_TO_ONE || kind == AQ_COLL_TO_ALL) && operation->in_order % 2;
    return call;
}

static void run_operation(const operation_input_t *operation, const uint8_t *messages, size_t size)
{
    const uint32_t ranks = 1 + operation->size % RANKS_MAX, nbrhds = 1 + operation->nbrhds % ranks;
    uint32_t nbrhd[RANKS_MAX];
    for (uint32_t r = 0; r < ranks; r++)
        nbrhd[r] = r % nbrhds;
    aq_team_t team = {.head = {.rank = operation->rank % ranks, .size = ranks}};
    aq_coll_t coll = {.team = &team};
    aq_coll_map_make(&coll.map, ranks, nbrhd, nbrhds);
    aq_job.limits.medium = 1 + read16(operation->medium) % MESSAGE_MAX;
    aq_coll_call_t call = call_of(operation, ranks);
    call.dst = malloc(call.unit * call.count * (call.kind < AQ_COLL_SCATTER ? 1 : ranks) + 1);
    call.src = call.dst;
    aq_coll_op_t plan = {.call = call, .coll = &coll};
    plan.block = (aq_coll_op_plan(&plan) + 63) & ~(size_t)63;
    aq_coll_op_t *op = aligned_alloc(64, plan.block);
    if (call.dst && op) {
        *op = plan;
        op->way->prepare(op);
        for (; size >= sizeof(message_input_t);
             messages += sizeof(message_input_t), size -= sizeof(message_input_t)) {
            message_input_t message;
            memcpy(&message, messages, sizeof message);
            for (unsigned i = 0; i <= message.repeat % 4u; i++)
                deliver_message(op, &message);
        }
    }
    free(op);
    free(call.dst);
    aq_coll_map_free(&coll.map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    operation_input_t operation;
    if (size < sizeof operation)
        return 0;
    memcpy(&operation, data, sizeof operation);
    run_operation(&operation, data + sizeof operation, size - sizeof operation);
    return 0;
}
