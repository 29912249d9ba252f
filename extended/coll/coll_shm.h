// SPDX-License-Identifier: BSD-3-Clause
// The shared memory of a team: each member has an area there, in which it posts what the operations
// of the others need.
//
//     area of a rank:    post[phase % 4]   phase, then the bytes of this rank or their address
//                        (or [4 + phase % 32], of a small broadcast and the like)
//                        combined          phase of the last operation whose share is computed
//                        staged, took      chunks of a long operation (coll_stream.h)
//                        done              phase of the last operation that needs no area of
//                                          another rank any more
//
// - The operations of a team have phases, and use the areas one after the other.
// - A rank writes a post only when all members are done with the operation that used the post
//   before. Reading the posts of all members implies that all have finished the previous operation,
//   so most operations need not check.
// - The phase of a post is stored with release and loaded with acquire, as `done` is: a rank has
//   read the posts of others before they can see its next post or its `done`, and it writes to a
//   post after it has seen the posts of all (tests/model/weak_shm.pml).
// - Other processes can write to areas. So lengths are never read from an area, and an address is
//   used only if it is in a segment, or in a process that has proved its number.
#pragma once

#include "../../core/memory/cma_read.h"
#include "../../core/record/traffic.h"
#include "coll_op.h"
#include "coll_limits.h"

enum {
    AQ_SHM_POSTS = 4,
    AQ_SHM_MORE = 32,  // posts of one rank to others, which may be so many operations behind
    AQ_POST_NEAR = 32, // bytes that fit into the cache line of the phase
    AQ_POST_SMALL = AQ_SHM_POSTS * AQ_POST_BYTES / AQ_SHM_MORE, // bytes of a small post
};

// In aq_post_t.shows: which memory of the rank all others reach without the kernel, as its segment,
// and whether its source goes through its area (coll_stream.h).
enum { AQ_SHOWS_SRC = 1, AQ_SHOWS_DST = 2, AQ_SHOWS_STREAM = 4 };

typedef struct aq_post {
    _Alignas(64) _Atomic uint32_t phase;
    uint32_t shows;
    uint64_t src, dst;  // addresses; of long operations
    uint32_t combiners; // of the root: how many ranks combine
    _Alignas(AQ_POST_NEAR) char near[AQ_POST_NEAR];
} aq_post_t;

// The bytes of posts come last, so that a team that posts little needs one page.
typedef struct aq_area {
    aq_post_t post[AQ_SHM_POSTS + AQ_SHM_MORE];
    _Alignas(64) _Atomic uint32_t done;
    _Atomic uint32_t combined;
    _Atomic uint64_t staged, took; // phase << 32 | chunks of a stream
    // Members of the team that have left, and all of them.
    _Alignas(64) _Atomic uint32_t left, lookers;
    _Atomic uint32_t reads; // whether the rank can read all others: aq_shm_reads_t
    _Alignas(64) char far[AQ_SHM_POSTS][AQ_POST_BYTES]; // in place of near
} aq_area_t;
_Static_assert(sizeof(aq_area_t) <= AQ_SHM_AREA_BYTES, "areas overlap in the scratch");

typedef enum aq_shm_reads {
    AQ_READS_UNKNOWN,
    AQ_READS_ALL,
    AQ_READS_REFUSED,
} aq_shm_reads_t;

typedef struct aq_shm_member {
    aq_area_t *area;
    uint32_t neighbour; // its index in the neighbourhood
} aq_shm_member_t;

struct aq_shm {
    uint32_t size, rank;
    uint32_t combiners;         // ranks that combine at the same time, as this rank sees it
    uint32_t looks;             // times to look for a post before giving up the turn
    uint32_t phases, completed; // operations so far
    uint32_t all_done;          // a phase that all members are done with
    // The last phases in which this rank has posted bytes in one of the 32 small posts, and of the
    // 4.
    uint32_t last_small, last_large;
    aq_shm_reads_t reads; // what all members have agreed on
    aq_shm_member_t member[];
};

// Rank number i behind this one. Each rank begins with its successor, so that not all ranks copy
// from one rank at the same time.
static inline uint32_t aq_shm_rank_after(const aq_shm_t *shm, uint32_t i)
{
    const uint32_t next = shm->rank + 1 + i;
    return next < shm->size ? next : next - shm->size;
}

static inline aq_area_t *aq_shm_area(const aq_coll_op_t *op, uint32_t rank)
{
    return op->coll->shm->member[rank].area;
}

static inline aq_post_t *aq_shm_post(const aq_coll_op_t *op, uint32_t rank)
{
    return &aq_shm_area(op, rank)->post[op->post.index];
}

// Where a rank posts the bytes of a short operation; larger posts have a larger alignment, which
// operators may need.
static inline char *aq_shm_bytes(const aq_coll_op_t *op, uint32_t rank, size_t nbytes)
{
    if (nbytes <= AQ_POST_NEAR)
        return aq_shm_post(op, rank)->near;
    char(*far)[AQ_POST_BYTES] = aq_shm_area(op, rank)->far;
    return op->post.index < AQ_SHM_POSTS
               ? far[op->post.index]
               : far[0] + (size_t)(op->post.index - AQ_SHM_POSTS) * AQ_POST_SMALL;
}

// Whether ranks post so many bytes themselves, and not their address.
static inline bool aq_shm_is_short(const aq_coll_op_t *op, size_t nbytes)
{
    const aq_coll_limits_t *limits = &aq_coll_limits;
    const uint32_t few =
        op->call.kind == AQ_COLL_TO_ONE ? limits->post.ranks_one : limits->post.ranks;
    return nbytes <= limits->post.bytes || (nbytes <= AQ_POST_BYTES && op->coll->shm->size > few);
}

// Gives an operation its phase. Called in the order of the operations. nbytes: what a rank posts;
// 0: addresses. all_post: all ranks post; otherwise one rank or all but one do, and small bytes use
// the AQ_SHM_MORE posts.
void aq_shm_join(aq_coll_op_t *op, size_t nbytes, bool all_post);

// Whether the operations before this one are complete in this process.
static inline bool aq_shm_turn(const aq_coll_op_t *op)
{
    return op->coll->shm->completed + 1 == op->post.phase;
}

// Looks whether all members are done with a phase.
bool aq_shm_room_look(aq_shm_t *shm, uint32_t phase);

// The last phase that used what an operation of `phase` overwrites: the one `depth` before, or the
// `other` one, if that came later and overlaps.
static inline uint32_t aq_shm_before(uint32_t phase, uint32_t depth, uint32_t other)
{
    return phase - other < depth ? other : phase - depth;
}

static inline bool aq_shm_is_over(aq_shm_t *shm, uint32_t phase)
{
    return (int32_t)(shm->all_done - phase) >= 0 || aq_shm_room_look(shm, phase);
}

// Whether this rank may write its post: all members are done with the operations that used it. The
// first phases are below the number of posts, and nothing is awaited then: the difference is
// negative.
static inline bool aq_shm_room(const aq_coll_op_t *op)
{
    aq_shm_t *shm = op->coll->shm;
    const bool more = op->post.index >= AQ_SHM_POSTS;
    const uint32_t depth = more ? AQ_SHM_MORE : AQ_SHM_POSTS;
    const uint32_t other = more ? shm->last_large : shm->last_small;
    return aq_shm_is_over(shm, op->post.is_far ? aq_shm_before(op->post.phase, depth, other)
                                               : op->post.phase - depth);
}

// Shows the post of this rank to the others, once it is written.
void aq_shm_publish(const aq_coll_op_t *op);

static inline bool aq_shm_posted(const aq_coll_op_t *op, uint32_t rank)
{
    return atomic_load_explicit(&aq_shm_post(op, rank)->phase, memory_order_acquire) ==
           op->post.phase;
}

// As aq_shm_posted, but looks several times unless ranks share processors: a short operation takes
// no longer than a turn of a waiting thread.
static inline bool aq_shm_posted_soon(const aq_coll_op_t *op, uint32_t rank)
{
    for (uint32_t i = 0; i < op->coll->shm->looks; i++)
        if (aq_shm_posted(op, rank))
            return true;
    return false;
}

// Tells the others that this rank does not use their areas and memory for this operation any more.
void aq_shm_tell_done(const aq_coll_op_t *op);

// Whether a rank has told that it is done with this operation.
static inline bool aq_shm_done(const aq_coll_op_t *op, uint32_t rank)
{
    const uint32_t done = atomic_load_explicit(&aq_shm_area(op, rank)->done, memory_order_acquire);
    return (int32_t)(done - op->post.phase) >= 0;
}

// Completes an operation in this process, which has told that it is done, so that the next one has
// its turn. all: this rank has seen the posts of all members.
void aq_shm_complete(const aq_coll_op_t *op, bool all);

// As aq_shm_tell_done and aq_shm_complete, for an operation that ends when this rank has seen the
// posts of all members: none of them can wait for this rank, so none is woken.
void aq_shm_end(const aq_coll_op_t *op);

// Returns bytes at an address of a rank: where they are, or copied to `room`. NULL: this process
// cannot read them.
const void *aq_shm_see(const aq_coll_op_t *op, uint32_t rank, uint64_t address, void *room,
                       size_t nbytes);

// Counts bytes that this rank takes from the area or the memory of a rank, in the traffic matrix
// (core/record/traffic.h).
void aq_shm_count(const aq_coll_op_t *op, uint32_t rank, size_t nbytes);
static inline void aq_shm_took(const aq_coll_op_t *op, uint32_t rank, size_t nbytes)
{
    if (__builtin_expect(aq_traffic_on, 0))
        aq_shm_count(op, rank, nbytes);
}

// Whether the kernel lets this process read the memory of all members, which have posted something.
bool aq_shm_reads_all(aq_shm_t *shm);

// Wakes ranks that wait for a word of this rank's area, after it was written.
void aq_shm_wake(void);

// Makes this process's side of the shared memory. areas: of all members, in rank order; the caller
// frees the array. Local.
aq_shm_t *aq_shm_new(const aq_team_t *team, void *const *areas);
// From now on this process does not access the areas. shm may be NULL.
void aq_shm_free(aq_shm_t *shm);
// Makes an area ready for another team; returns false while other processes may still access it.
bool aq_shm_reset(void *area);
