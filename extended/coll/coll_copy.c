// SPDX-License-Identifier: BSD-3-Clause
// Blocks between ranks that share memory: the operations of coll_flat.c, by copies.
//
// - A rank that has a block for others posts it (coll_shm.h), and they copy it: short blocks from
//   its area, and long ones from memory that is mapped here, or through the kernel (cma_read.h). If
//   the kernel refuses, the rank reports "ready" and gets the block by messages (coll_flat.c).
//   Memory that is not mapped may also go through the area in chunks (coll_stream.h), if the rank
//   that posts it decides so.
// - An operation with short blocks is complete when this rank has copied all of those that it
//   awaits, and one with long blocks when the other ranks have copied theirs too. So a rank that
//   shares its processor has to run once for short blocks.
#include <string.h>

#include "coll_stream.h"
#include "coll_flat.h"
#include "coll_mail.h"

// ---- layout ----

static bool is_rooted(const aq_coll_op_t *op)
{
    return op->call.kind != AQ_COLL_GATHER_ALL && op->call.kind != AQ_COLL_EXCHANGE;
}

// The block of a rank among those that a rank posts.
static size_t block_offset(const aq_coll_op_t *op, uint32_t rank)
{
    return aq_coll_is_for_each(op) ? rank * op->bytes : 0;
}

// After the record of a long operation: slots, as of blocks by messages, and two bytes for each
// rank.
static size_t plan_copy(aq_coll_op_t *op)
{
    op->unasked = 0;
    op->copy.sent = block_offset(op, 1) ? op->bytes * op->coll->map.size : op->bytes;
    op->post.is_short = aq_shm_is_short(op, op->copy.sent);
    if (op->post.is_short)
        return sizeof *op;
    const size_t bytes = aq_coll_by_blocks.plan(op);
    op->ready.needed = true;
    op->rows.slots_at = bytes;
    return bytes + 2 * (size_t)op->coll->map.size;
}

static void prepare_copy(aq_coll_op_t *op)
{
    const uint32_t size = op->coll->map.size;
    aq_shm_join(op, op->post.is_short ? op->copy.sent : 0, !is_rooted(op));
    if (op->post.is_short)
        return;
    op->rows.slots = (aq_coll_slot_t *)(op + 1);
    aq_stream_plan(op, op->bytes);
    op->ready.askers = (_Atomic uint8_t *)((char *)op + op->rows.slots_at);
    op->copy.taken = (uint8_t *)op->ready.askers + size;
    memset((char *)(op + 1), 0, op->rows.slots_at - sizeof *op + 2 * (size_t)size);
}

// ---- expected arrivals: only the blocks that this rank has asked for ----

static uint32_t copy_sender(const aq_coll_op_t *op, uint32_t row)
{
    return op->rows.slots ? aq_coll_by_blocks.sender(op, row) : GEX_RANK_INVALID;
}

static bool copy_awaits_ready(const aq_coll_op_t *op, uint32_t rank)
{
    return op->ready.askers && rank < op->coll->map.size && aq_coll_block_goes(op, rank) &&
           !atomic_load_explicit(&op->ready.askers[rank], memory_order_relaxed);
}

// ---- sending ----

static bool has_blocks(const aq_coll_op_t *op)
{
    const bool is_root = op->coll->shm->rank == op->call.root;
    return !is_rooted(op) || is_root == (op->call.kind != AQ_COLL_GATHER);
}

static void post_address(aq_coll_op_t *op)
{
    aq_post_t *post = aq_shm_post(op, op->coll->shm->rank);
    op->copy.streams = aq_stream_is_worth(op) && !aq_process_shows(op->call.src, op->copy.sent);
    post->shows = op->copy.streams ? AQ_SHOWS_STREAM : 0;
    post->src = (uintptr_t)op->call.src;
}

// Posts the blocks for the others. Returns false if there is no room yet.
static bool post_blocks(aq_coll_op_t *op)
{
    if (has_blocks(op)) {
        if (!aq_shm_room(op))
            return false;
        if (op->post.is_short)
            memcpy(aq_shm_bytes(op, op->coll->shm->rank, op->copy.sent), op->call.src,
                   op->copy.sent);
        else
            post_address(op);
        aq_shm_publish(op);
    }
    aq_coll_block_keep(op);
    op->post.written = true;
    return true;
}

// Sends the blocks of the ranks that could not copy theirs.
static void answer_askers(aq_coll_op_t *op)
{
    for (uint32_t r = 0; r < op->coll->map.size; r++)
        if (atomic_load_explicit(&op->ready.askers[r], memory_order_relaxed) == AQ_COLL_REQUESTED) {
            atomic_store_explicit(&op->ready.askers[r], AQ_COLL_ANSWERED, memory_order_relaxed);
            op->copy.answered++;
            aq_coll_block_send(op, r);
        }
}

// ---- receiving ----

enum { NOT_HERE, STREAMS, AWAITED, HERE }; // in op->copy.taken

static void block_ask(const aq_coll_op_t *op, uint32_t rank)
{
    aq_lock_take(&aq_coll_lock);
    op->rows.slots[rank].unbegun = op->pieces.parts;
    atomic_store_explicit(&op->rows.slots[rank].missing, op->pieces.parts, memory_order_relaxed);
    aq_lock_drop(&aq_coll_lock);
    aq_coll_send_ready(op, rank);
}

// Takes the long block of a rank that has posted it; returns the state of the block.
static uint8_t block_take(aq_coll_op_t *op, uint32_t rank)
{
    char *to = aq_coll_block_place(op, rank);
    if (aq_shm_post(op, rank)->shows & AQ_SHOWS_STREAM) {
        op->copy.sources++;
        return STREAMS;
    }
    const uint64_t address = aq_shm_post(op, rank)->src + block_offset(op, op->coll->shm->rank);
    const void *from = aq_shm_see(op, rank, address, to, op->bytes);
    if (!from) {
        block_ask(op, rank);
        return AWAITED;
    }
    if (from != to)
        memcpy(to, from, op->bytes);
    aq_shm_took(op, rank, op->bytes);
    return HERE;
}

static bool block_is_here(aq_coll_op_t *op, uint32_t rank)
{
    uint8_t *taken = &op->copy.taken[rank];
    if (!aq_coll_block_comes(op, rank))
        return true;
    if (*taken == NOT_HERE && aq_shm_posted(op, rank))
        *taken = block_take(op, rank);
    if (*taken == AWAITED &&
        !atomic_load_explicit(&op->rows.slots[rank].missing, memory_order_acquire))
        *taken = HERE;
    if (*taken == STREAMS && aq_stream_is_taken(op)) {
        aq_shm_took(op, rank, op->bytes);
        *taken = HERE;
    }
    return *taken == HERE;
}

// Whether all ranks with a block for this one have posted, so that it is known which blocks stream.
static bool all_have_posted(const aq_coll_op_t *op)
{
    uint32_t r = 0;
    while (r < op->coll->shm->size &&
           (op->copy.taken[r] != NOT_HERE || !aq_coll_block_comes(op, r)))
        r++;
    return r == op->coll->shm->size;
}

// Whether the next chunk of each block that streams is here.
static bool chunks_are_here(const aq_coll_op_t *op)
{
    uint32_t r = 0;
    while (r < op->coll->shm->size && (op->copy.taken[r] != STREAMS || aq_stream_next(op, r)))
        r++;
    return r == op->coll->shm->size;
}

static void chunks_take(aq_coll_op_t *op)
{
    const size_t at = aq_stream_at(op), nbytes = aq_stream_length(op);
    for (uint32_t r = 0; r < op->coll->shm->size; r++)
        if (op->copy.taken[r] == STREAMS)
            memcpy(aq_coll_block_place(op, r) + at, aq_stream_next(op, r), nbytes);
    aq_stream_take(op);
}

// Reads the rest of the blocks that stream by calls of the kernel, if it allows that.
static void rest_take(aq_coll_op_t *op)
{
    const size_t at = aq_stream_at(op), nbytes = op->bytes - at;
    const size_t mine = block_offset(op, op->coll->shm->rank) + at;
    for (uint32_t r = 0; r < op->coll->shm->size; r++) {
        if (op->copy.taken[r] != STREAMS)
            continue;
        char *to = aq_coll_block_place(op, r) + at;
        const void *from = aq_shm_see(op, r, aq_shm_post(op, r)->src + mine, to, nbytes);
        if (!from)
            return;
        if (from != to)
            memcpy(to, from, nbytes);
    }
    aq_stream_take_rest(op);
}

// Takes the chunks that are here, and writes those of this rank meanwhile. Returns true if all are
// taken.
static bool take_chunks(aq_coll_op_t *op)
{
    if (!all_have_posted(op))
        return false;
    while (!aq_stream_is_taken(op) && chunks_are_here(op)) {
        chunks_take(op);
        if (op->copy.streams)
            aq_stream_write(op);
    }
    if (!aq_stream_is_taken(op) && ++op->chunks.empty_polls == AQ_STREAM_PATIENCE)
        rest_take(op);
    return aq_stream_is_taken(op);
}

// Takes the blocks that are here. Returns true if these are all.
static bool take_posted(aq_coll_op_t *op)
{
    const aq_shm_t *shm = op->coll->shm;
    for (uint32_t i = op->copy.here; i + 1 < shm->size; i++)
        if (block_is_here(op, aq_shm_rank_after(shm, i)) && i == op->copy.here)
            op->copy.here++;
    return op->copy.here + 1 == shm->size;
}

// Returns true if all blocks are here.
static bool take_blocks(aq_coll_op_t *op)
{
    return take_posted(op) || (op->copy.sources && take_chunks(op) && take_posted(op));
}

// Whether the ranks that need a block of this one have copied it.
static bool all_have_copied(aq_coll_op_t *op)
{
    const uint32_t size = op->coll->shm->size;
    while (op->copy.served < size &&
           (!aq_coll_block_goes(op, op->copy.served) || aq_shm_done(op, op->copy.served)))
        op->copy.served++;
    return op->copy.served == size;
}

static bool advance_long(aq_coll_op_t *op)
{
    if (op->copy.answered != atomic_load_explicit(&op->ready.count, memory_order_acquire))
        answer_askers(op);
    if (op->copy.streams)
        aq_stream_write(op);
    if (!op->copy.copied && take_blocks(op)) {
        op->copy.copied = true;
        aq_shm_tell_done(op);
    }
    if (!op->copy.copied || !all_have_copied(op))
        return false;
    aq_shm_complete(op, !is_rooted(op));
    return true;
}

// ---- short blocks ----

static void short_take(const aq_coll_op_t *op, uint32_t rank)
{
    const char *posted = aq_shm_bytes(op, rank, op->copy.sent);
    memcpy(aq_coll_block_place(op, rank), posted + block_offset(op, op->coll->shm->rank),
           op->bytes);
    aq_shm_took(op, rank, op->bytes);
}

static bool short_take_all(aq_coll_op_t *op)
{
    const aq_shm_t *shm = op->coll->shm;
    for (; op->copy.here + 1 < shm->size; op->copy.here++) {
        const uint32_t rank = aq_shm_rank_after(shm, op->copy.here);
        if (!aq_coll_block_comes(op, rank))
            continue;
        if (!aq_shm_posted_soon(op, rank))
            return false;
        short_take(op, rank);
    }
    return true;
}

static bool advance_short(aq_coll_op_t *op)
{
    if (!short_take_all(op))
        return false;
    if (!is_rooted(op)) {
        aq_shm_end(op);
        return true;
    }
    aq_shm_tell_done(op);
    aq_shm_complete(op, false);
    return true;
}

static bool advance_copy(aq_coll_op_t *op)
{
    if (!aq_shm_turn(op) || (!op->post.written && !post_blocks(op)))
        return false;
    return op->post.is_short ? advance_short(op) : advance_long(op);
}

const aq_coll_way_t aq_coll_by_copy = {.plan = plan_copy,
                                       .prepare = prepare_copy,
                                       .advance = advance_copy,
                                       .sender = copy_sender,
                                       .awaits_ready = copy_awaits_ready,
                                       .part = aq_coll_block_part};
