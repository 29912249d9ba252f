// SPDX-License-Identifier: BSD-3-Clause
// Streams through the shared memory of a team.
#include "coll_stream.h"

#include <string.h>

#include "../../other/base/minmax.h"
#include "coll_flat.h"

enum {
    EACH_MIN = 512,    // bytes for each rank in a chunk
    COMBINERS_MAX = 4, // ranks of a team that each combine everything
    CROWD_MAX = 512,   // ranks times chunks, where ranks share processors
};

static uint32_t team_size(const aq_coll_op_t *op)
{
    return op->coll->shm->size;
}

// Whether a rank takes the bytes of this one.
static bool is_reader(const aq_coll_op_t *op, uint32_t rank)
{
    if (op->call.kind == AQ_COLL_TO_ONE)
        return rank == op->call.root;
    return op->call.kind == AQ_COLL_TO_ALL || aq_coll_block_goes(op, rank);
}

// ---- chunks ----

void aq_stream_plan(aq_coll_op_t *op, size_t nbytes)
{
    const size_t unit = op->call.fn ? op->call.unit : 1, others = team_size(op) - 1;
    op->chunks.bytes = aq_coll_is_for_each(op) ? AQ_POST_BYTES / others & ~(size_t)63
                                               : AQ_POST_BYTES / unit * unit;
    op->chunks.count =
        op->chunks.bytes ? (uint32_t)((nbytes + op->chunks.bytes - 1) / op->chunks.bytes) : 0;
    op->chunks.total = nbytes;
}

// Limit on the chunks where ranks share processors. Each rank has to run once in four chunks before
// the others can go on; with more chunks, copies by the kernel are faster.
static uint32_t crowd_chunks(const aq_coll_op_t *op)
{
    switch (op->call.kind) {
    case AQ_COLL_TO_ALL: // each combines everything, too
        return AQ_SHM_POSTS;
    case AQ_COLL_TO_ONE:
    case AQ_COLL_GATHER:
        return CROWD_MAX / team_size(op);
    default:
        return 2 * AQ_SHM_POSTS;
    }
}

bool aq_stream_is_worth(const aq_coll_op_t *op)
{
    if (op->chunks.bytes < EACH_MIN ||
        (op->call.kind == AQ_COLL_TO_ALL && team_size(op) > COMBINERS_MAX))
        return false;
    return op->coll->shm->looks > 1 || op->chunks.count <= crowd_chunks(op);
}

static size_t length_of(const aq_coll_op_t *op, uint32_t chunk)
{
    return aq_min(op->chunks.bytes, op->chunks.total - chunk * op->chunks.bytes);
}

size_t aq_stream_length(const aq_coll_op_t *op)
{
    return length_of(op, op->chunks.took);
}

static char *place_of(const aq_coll_op_t *op, uint32_t rank, uint32_t chunk)
{
    return aq_shm_area(op, rank)->far[(op->post.phase + chunk) % AQ_SHM_POSTS];
}

// Where the bytes for a reader begin in a chunk of a rank.
static size_t part_of(const aq_coll_op_t *op, uint32_t rank, uint32_t reader)
{
    return aq_coll_is_for_each(op) ? (reader - (reader > rank)) * op->chunks.bytes : 0;
}

// ---- progress, as others see it ----

static uint64_t tell(const aq_coll_op_t *op, uint32_t chunks)
{
    return (uint64_t)op->post.phase << 32 | chunks;
}

static bool is_told(const aq_coll_op_t *op, const _Atomic uint64_t *word, uint32_t chunks)
{
    const uint64_t told = atomic_load_explicit(word, memory_order_acquire);
    return told >> 32 == op->post.phase && (uint32_t)told >= chunks;
}

static void word_set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
    aq_shm_wake();
}

static bool all_took(const aq_coll_op_t *op, uint32_t chunks)
{
    uint32_t r = 0;
    while (r < team_size(op) &&
           (r == op->coll->shm->rank || !is_reader(op, r) || aq_shm_done(op, r) ||
            is_told(op, &aq_shm_area(op, r)->took, chunks)))
        r++;
    return r == team_size(op);
}

// ---- writing ----

// Whether a chunk may be written: all have taken the chunk that was in its place, or, for the first
// chunks, all are done with the operation that used the place before.
static bool has_room(const aq_coll_op_t *op, uint32_t chunk)
{
    aq_shm_t *shm = op->coll->shm;
    if (chunk >= AQ_SHM_POSTS)
        return all_took(op, chunk - AQ_SHM_POSTS + 1);
    return aq_shm_is_over(shm,
                          aq_shm_before(op->post.phase, AQ_SHM_POSTS - chunk, shm->last_small));
}

static void chunk_write(const aq_coll_op_t *op, uint32_t chunk)
{
    const uint32_t me = op->coll->shm->rank;
    char *place = place_of(op, me, chunk);
    const size_t at = chunk * op->chunks.bytes, nbytes = length_of(op, chunk);
    if (!aq_coll_is_for_each(op)) {
        memcpy(place, (const char *)op->call.src + at, nbytes);
        return;
    }
    for (uint32_t r = 0; r < team_size(op); r++)
        if (r != me)
            memcpy(place + part_of(op, me, r), aq_coll_block_for(op, r) + at, nbytes);
}

bool aq_stream_write(aq_coll_op_t *op)
{
    aq_shm_t *shm = op->coll->shm;
    aq_area_t *area = aq_shm_area(op, shm->rank);
    while (op->chunks.staged < op->chunks.count && has_room(op, op->chunks.staged)) {
        chunk_write(op, op->chunks.staged++);
        shm->last_large = op->post.phase;
        word_set(&area->staged, tell(op, op->chunks.staged));
    }
    return op->chunks.staged == op->chunks.count;
}

// ---- reading ----

const char *aq_stream_next(const aq_coll_op_t *op, uint32_t rank)
{
    if (!is_told(op, &aq_shm_area(op, rank)->staged, op->chunks.took + 1))
        return NULL;
    return place_of(op, rank, op->chunks.took) + part_of(op, rank, op->coll->shm->rank);
}

static void took_set(aq_coll_op_t *op, uint32_t chunks)
{
    op->chunks.took = chunks;
    op->chunks.empty_polls = 0;
    word_set(&aq_shm_area(op, op->coll->shm->rank)->took, tell(op, op->chunks.took));
}

void aq_stream_take(aq_coll_op_t *op)
{
    took_set(op, op->chunks.took + 1);
}

void aq_stream_take_rest(aq_coll_op_t *op)
{
    took_set(op, op->chunks.count);
}
