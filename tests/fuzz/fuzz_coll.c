// Fuzzer of the parts of collectives. Build with clang -fsanitize=fuzzer,address,undefined, run
// with the folder corpus-coll.
//
// An input is: an operation as one rank of a team sees it (12 bytes), then messages (12 bytes
// each). What must hold: a part that is accepted comes from the rank that owes it, lies where the
// operation keeps its bytes, and no piece gets more parts than it has.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/job.h"
#include "../../extended/coll.h"

enum { RANKS_MOST = 64, BYTES_MOST = 1 << 18, UNITS_MOST = 1 << 16, MESSAGE_MOST = 4096 };

// All as bytes, so that an input means the same everywhere.
typedef struct words {
    uint8_t size, rank, root, kind, in_order, nbrhds, unit[2], count[2], medium[2];
} words_t;
typedef struct letter {
    uint8_t source, row, part[4], nbytes[4], repeat, unused;
} letter_t;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static uint32_t word16(const uint8_t bytes[2])
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t word32(const uint8_t bytes[4])
{
    return word16(bytes) | word16(bytes + 2) << 16;
}

// Where an operation without a tree keeps the block of a rank.
static char *place_of_block(const aq_coll_op_t *op, uint32_t rank)
{
    return (char *)op->call.dst + (op->call.kind == AQ_COLL_SCATTER ? 0 : rank * op->bytes);
}

static void deliver(aq_coll_op_t *op, const letter_t *letter)
{
    const aq_coll_mail_t mail = {.source = letter->source,
                                 .row = letter->row == UINT8_MAX ? UINT32_MAX - 1 : letter->row,
                                 .part = word32(letter->part),
                                 .nbytes = word32(letter->nbytes)};
    aq_coll_part_t part;
    if (aq_coll_mail_part(op, &mail, &part))
        return;
    const bool flat = aq_coll_is_flat(op->call.kind);
    char *start = flat       ? place_of_block(op, mail.row)
                  : mail.row ? op->boxes + (mail.row - 1) * op->stride
                             : op->call.dst;
    require(flat ? mail.row < op->coll->map.size : mail.row <= op->tree.children);
    require(aq_coll_op_sender(op, mail.row) == mail.source);
    require(part.to >= start && (size_t)(part.to - start) < op->bytes);
    require(mail.nbytes == part.nbytes && part.nbytes <= op->bytes - (size_t)(part.to - start));
    const uint32_t piece = mail.part / op->parts_of_piece;
    require(piece < op->pieces && part.slot == &op->slots[mail.row * op->pieces + piece]);
    require(part.slot->unbegun-- > 0);
    memset(part.to, 7, part.nbytes); // the address sanitizer looks
}

static aq_coll_call_t call_of(const words_t *words, uint32_t ranks)
{
    const size_t unit = 1 + word16(words->unit) % UNITS_MOST;
    const int kind =
        words->kind < 128 ? words->kind % AQ_COLL_SCATTER : AQ_COLL_SCATTER + words->kind % 4;
    aq_coll_call_t call = {.kind = (aq_coll_kind_t)kind,
                           .root = words->root % ranks,
                           .unit = unit,
                           .count = word16(words->count)};
    call.count %= BYTES_MOST / unit + 1;
    call.in_order = (kind == AQ_COLL_TO_ONE || kind == AQ_COLL_TO_ALL) && words->in_order % 2;
    return call;
}

static void run(const words_t *words, const uint8_t *letters, size_t size)
{
    const uint32_t ranks = 1 + words->size % RANKS_MOST, nbrhds = 1 + words->nbrhds % ranks;
    uint32_t nbrhd[RANKS_MOST];
    for (uint32_t r = 0; r < ranks; r++)
        nbrhd[r] = r % nbrhds;
    aq_team_t team = {.head = {.rank = words->rank % ranks, .size = ranks}};
    aq_coll_t coll = {.team = &team};
    aq_coll_map_make(&coll.map, ranks, nbrhd, nbrhds);
    aq_job.max_medium = 1 + word16(words->medium) % MESSAGE_MOST;
    aq_coll_call_t call = call_of(words, ranks);
    call.dst = malloc(call.unit * call.count * (aq_coll_is_flat(call.kind) ? ranks : 1) + 1);
    call.src = call.dst;
    aq_coll_op_t plan = {.call = call, .coll = &coll};
    aq_coll_op_t *op = aligned_alloc(64, (aq_coll_op_plan(&plan) + 63) & ~(size_t)63);
    if (call.dst && op) {
        *op = plan;
        aq_coll_op_prepare(op);
        for (; size >= sizeof(letter_t); letters += sizeof(letter_t), size -= sizeof(letter_t)) {
            letter_t letter;
            memcpy(&letter, letters, sizeof letter);
            for (unsigned i = 0; i <= letter.repeat % 4u; i++)
                deliver(op, &letter);
        }
    }
    free(op);
    free(call.dst);
    aq_coll_map_free(&coll.map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    words_t words;
    if (size < sizeof words)
        return 0;
    memcpy(&words, data, sizeof words);
    run(&words, data + sizeof words, size - sizeof words);
    return 0;
}
