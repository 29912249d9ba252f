// SPDX-License-Identifier: BSD-3-Clause
// Reductions between ranks that share memory: each reads the operands of the others in their memory
// or in their areas (coll_shm.h), and combines them.
//
//                 short                           long
//     all post    their bytes                     the addresses of their source and destination
//     to one      the root combines the posts     the root combines the sources; or all do, each
//                                                 its share of the elements, in the root's memory
//     to all      each combines the posts; or     each combines its share in its own memory, and
//                 its share, in its own post      copies the shares of the others from theirs
//
// - As many ranks combine shares as there are processors: more would wait for ranks that wait for a
//   processor. The post of the root (of rank 0, if all get the result) has the number.
// - Elements are combined in the order of the ranks, from the last one to the first, and each of a
//   long operation at one rank. So all ranks get the same bits, also of sums of reals.
// - Long sources are read directly in segments that all have mapped. Otherwise they go through the
//   areas (coll_stream.h), and each rank that gets the result combines all of it; or the kernel
//   reads them, if it lets all members read each other's memory, which they agree on at the first
//   operation that needs it; or pieces go along the tree (coll_move.c). All ranks see the same
//   posts and so choose alike, and a rank that has posted accepts messages.
// - A chunk of the elements goes through all ranks before the next one, so that the result is
//   combined in the nearest cache.
#include <string.h>

#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"
#include "../../core/memory/segment_table.h"
#include "../../other/base/minmax.h"
#include "coll_stream.h"

enum {
    CHUNK = 16 << 10,
    LINE = 64,
};

typedef enum combine_step {
    STEP_POST,   // write the post
    STEP_LOOK,   // await the posts of all
    STEP_AGREE,  // await whether all can read each other
    STEP_STREAM, // await the chunks of all
    STEP_SHARES, // await the shares of all
    STEP_ROOT,   // await the root
    STEP_ALL,    // await all
    STEP_TREE,
} combine_step_t;

static bool is_to_all(const aq_coll_op_t *op)
{
    return op->call.kind == AQ_COLL_TO_ALL;
}

// Whether each rank combines a share of the posts.
static bool is_shared(const aq_coll_op_t *op)
{
    return is_to_all(op) && op->bytes * op->coll->shm->size > aq_coll_limits.combine.bytes;
}

static uint32_t my_rank(const aq_coll_op_t *op)
{
    return op->coll->shm->rank;
}

static bool gets_result(const aq_coll_op_t *op)
{
    return is_to_all(op) || op->call.root == my_rank(op);
}

bool aq_coll_combines(const aq_coll_t *coll, const aq_coll_call_t *call)
{
    const size_t bytes = call->unit * call->count, size = coll->map.size;
    if (!coll->shm || !bytes || call->unit > CHUNK)
        return false;
    if (call->kind != AQ_COLL_TO_ALL)
        return call->kind == AQ_COLL_TO_ONE;
    return bytes * size <= aq_coll_limits.combine.bytes ||
           bytes / size >= aq_coll_limits.combine.share;
}

// ---- layout: a long operation may have to go along the tree ----

static size_t plan_combine(aq_coll_op_t *op)
{
    op->unasked = 0;
    op->post.is_short = aq_shm_is_short(op, op->bytes);
    return op->post.is_short ? sizeof *op : aq_coll_by_tree.plan(op);
}

static void prepare_combine(aq_coll_op_t *op)
{
    if (!op->post.is_short) {
        aq_coll_by_tree.prepare(op);
        aq_stream_plan(op, op->bytes);
    }
    aq_shm_join(op, op->post.is_short ? op->bytes : 0, is_to_all(op));
}

static uint32_t combine_sender(const aq_coll_op_t *op, uint32_t row)
{
    return op->post.is_short ? GEX_RANK_INVALID : aq_coll_by_tree.sender(op, row);
}

static bool combine_awaits_ready(const aq_coll_op_t *op, uint32_t rank)
{
    return !op->post.is_short && aq_coll_by_tree.awaits_ready(op, rank);
}

static bool combine_part(const aq_coll_op_t *op, uint32_t row, uint32_t part, aq_coll_part_t *found)
{
    return !op->post.is_short && aq_coll_by_tree.part(op, row, part, found);
}

// ---- short ----

// Buffers of the thread that advances operations, of which there is one at a time.
static _Alignas(64) char sum[CHUNK], read_room[CHUNK];

static const char *short_source(const aq_coll_op_t *op, uint32_t rank)
{
    return rank == my_rank(op) ? op->call.src : aq_shm_bytes(op, rank, op->bytes);
}

// Combines posted elements.
static void short_combine(const aq_coll_op_t *op, size_t from, size_t to, char *result)
{
    const size_t at = from * op->call.unit, nbytes = to * op->call.unit - at;
    uint32_t rank = op->coll->shm->size - 1;
    memcpy(result, short_source(op, rank) + at, nbytes);
    aq_shm_took(op, rank, nbytes);
    while (rank--) {
        op->call.fn(short_source(op, rank) + at, result, to - from, op->call.cdata);
        aq_shm_took(op, rank, nbytes);
    }
}

static void short_combine_all(const aq_coll_op_t *op)
{
    char *result = op->call.src == op->call.dst ? sum : op->call.dst;
    short_combine(op, 0, op->call.count, result);
    if (result == sum)
        memcpy(op->call.dst, sum, op->bytes);
}

// Returns false if there is no room yet.
static bool short_post(aq_coll_op_t *op)
{
    if (!aq_shm_room(op))
        return false;
    aq_shm_post(op, my_rank(op))->combiners = op->coll->shm->combiners;
    memcpy(aq_shm_bytes(op, my_rank(op), op->bytes), op->call.src, op->bytes);
    aq_shm_publish(op);
    op->post.written = true;
    return true;
}

static bool all_have_posted(aq_coll_op_t *op)
{
    const aq_shm_t *shm = op->coll->shm;
    while (op->combine.seen < shm->size &&
           (op->combine.seen == shm->rank || aq_shm_posted_soon(op, op->combine.seen)))
        op->combine.seen++;
    return op->combine.seen == shm->size;
}

static bool advance_to_one(aq_coll_op_t *op)
{
    const bool is_root = op->call.root == my_rank(op);
    if (is_root && !all_have_posted(op))
        return false;
    if (is_root)
        short_combine_all(op);
    aq_shm_tell_done(op);
    aq_shm_complete(op, false);
    return true;
}

static bool advance_to_all(aq_coll_op_t *op)
{
    if (!all_have_posted(op))
        return false;
    short_combine_all(op);
    aq_shm_end(op);
    return true;
}

// ---- short, in shares ----

// Sets how many ranks combine: all take the number from the same post.
static void combiners_take(aq_coll_op_t *op)
{
    const uint32_t told = aq_shm_post(op, op->call.root)->combiners;
    const uint32_t size = op->coll->shm->size;
    op->combine.combiners =
        op->bytes / size >= aq_coll_limits.combine.split ? size : aq_max(1u, aq_min(told, size));
}

// The elements before a share; shares begin at cache lines if elements are small.
static size_t share_start(const aq_coll_op_t *op, uint32_t share)
{
    const size_t grain = op->call.unit < LINE ? LINE / op->call.unit : 1;
    const size_t grains = (op->call.count + grain - 1) / grain, shares = op->combine.combiners;
    if (share >= shares)
        return op->call.count;
    const size_t start = grains / shares * share + aq_min((size_t)share, grains % shares);
    return aq_min(start * grain, op->call.count);
}

// A range of elements.
typedef struct share {
    size_t from, to;
} share_t;

// The share that a rank combines. If fewer ranks combine than there are, the root is among them.
static share_t share_of(const aq_coll_op_t *op, uint32_t rank)
{
    const uint32_t size = op->coll->shm->size, root = op->call.root;
    uint32_t number = rank;
    if (op->combine.combiners < size)
        number = rank >= root ? rank - root : rank + size - root;
    return (share_t){share_start(op, number), share_start(op, number + 1)};
}

static bool share_is_empty(share_t share)
{
    return share.from == share.to;
}

// Whether a rank has combined its share, if it has one.
static bool is_combined(const aq_coll_op_t *op, uint32_t rank)
{
    if (share_is_empty(share_of(op, rank)))
        return true;
    const uint32_t combined =
        atomic_load_explicit(&aq_shm_area(op, rank)->combined, memory_order_acquire);
    return (int32_t)(combined - op->post.phase) >= 0;
}

static void tell_combined(const aq_coll_op_t *op)
{
    atomic_store_explicit(&aq_shm_area(op, my_rank(op))->combined, op->post.phase,
                          memory_order_release);
    aq_shm_wake();
}

// The result replaces this rank's share of its own post, since no other rank needs that as an
// operand.
static void posted_share_combine(const aq_coll_op_t *op)
{
    const uint32_t me = my_rank(op);
    const share_t share = share_of(op, me);
    const size_t unit = op->call.unit;
    if (share_is_empty(share))
        return;
    short_combine(op, share.from, share.to, sum);
    memcpy(aq_shm_bytes(op, me, op->bytes) + share.from * unit, sum,
           (share.to - share.from) * unit);
    tell_combined(op);
}

static void posted_share_copy(const aq_coll_op_t *op, uint32_t rank)
{
    const share_t share = share_of(op, rank);
    const size_t from = share.from * op->call.unit, nbytes = share.to * op->call.unit - from;
    memcpy((char *)op->call.dst + from, aq_shm_bytes(op, rank, op->bytes) + from, nbytes);
    if (nbytes)
        aq_shm_took(op, rank, nbytes);
}

static bool advance_shared(aq_coll_op_t *op)
{
    const uint32_t size = op->coll->shm->size;
    if (op->combine.step == STEP_POST) {
        if (!all_have_posted(op))
            return false;
        combiners_take(op);
        posted_share_combine(op);
        op->combine.seen = 0;
        op->combine.step = STEP_SHARES;
    }
    for (; op->combine.seen < size; op->combine.seen++) {
        const uint32_t rank = op->combine.seen + 1 < size
                                  ? aq_shm_rank_after(op->coll->shm, op->combine.seen)
                                  : my_rank(op);
        if (!is_combined(op, rank))
            return false;
        posted_share_copy(op, rank);
    }
    aq_shm_end(op);
    return true;
}

static bool advance_short(aq_coll_op_t *op)
{
    const bool posts = is_to_all(op) || op->call.root != my_rank(op);
    if (!op->post.written && posts && !short_post(op))
        return false;
    if (is_shared(op))
        return advance_shared(op);
    return is_to_all(op) ? advance_to_all(op) : advance_to_one(op);
}

// ---- long: the post ----

static bool all_are_mapped(const aq_coll_op_t *op)
{
    uint32_t rank = 0;
    while (rank < op->coll->shm->size &&
           !(aq_team_shift(aq_team_jobrank(op->coll->team, rank), 0) & 1))
        rank++;
    return rank == op->coll->shm->size;
}

// Which memory of this rank the others reach without the kernel, provided that all have mapped what
// this rank has mapped.
static uint32_t shown_by(const aq_coll_op_t *op)
{
    const bool writes = gets_result(op);
    if (aq_job.env.segment_mode == AQ_SEGMENT_EVERYTHING || !all_are_mapped(op))
        return 0;
    return (aq_segment_holds(op->call.src, op->bytes) ? AQ_SHOWS_SRC : 0) |
           (!writes || aq_segment_holds(op->call.dst, op->bytes) ? AQ_SHOWS_DST : 0);
}

static bool post_addresses(aq_coll_op_t *op)
{
    aq_post_t *post = aq_shm_post(op, my_rank(op));
    if (!aq_shm_room(op))
        return false;
    post->shows = shown_by(op) | (aq_stream_is_worth(op) ? AQ_SHOWS_STREAM : 0);
    post->src = (uintptr_t)op->call.src;
    post->dst = (uintptr_t)op->call.dst;
    post->combiners = op->coll->shm->combiners;
    aq_shm_publish(op);
    op->combine.shows = AQ_SHOWS_SRC | AQ_SHOWS_DST | AQ_SHOWS_STREAM;
    op->combine.step = STEP_LOOK;
    return true;
}

// ---- long: shares ----

static const void *find_source(const aq_coll_op_t *op, uint32_t rank, size_t at, void *room,
                               size_t nbytes)
{
    if (rank == my_rank(op))
        return (const char *)op->call.src + at;
    if (op->combine.step == STEP_STREAM)
        return aq_stream_next(op, rank);
    return aq_shm_see(op, rank, aq_shm_post(op, rank)->src + at, room, nbytes);
}

static const void *see_source(const aq_coll_op_t *op, uint32_t rank, size_t at, void *room,
                              size_t nbytes)
{
    const void *found = find_source(op, rank, at, room, nbytes);
    if (!found)
        aq_fatal("%zu bytes of rank %u for a reduction cannot be read (process_vm_readv) though "
                 "earlier ones could; if the job forbids the call later on, set GASNET_PSHM_COPY=0",
                 nbytes, aq_team_jobrank(op->coll->team, rank));
    aq_shm_took(op, rank, nbytes);
    return found;
}

// Combines the elements of all ranks from byte `at` on; `to` receives the result. in_place: a
// source may be there too.
static void combine_chunk(const aq_coll_op_t *op, size_t at, size_t nbytes, char *to, bool in_place)
{
    uint32_t rank = op->coll->shm->size - 1;
    char *result = in_place ? sum : to;
    const void *last = see_source(op, rank, at, result, nbytes);
    if (last != result)
        memcpy(result, last, nbytes);
    while (rank--)
        op->call.fn(see_source(op, rank, at, read_room, nbytes), result, nbytes / op->call.unit,
                    op->call.cdata);
    if (result != to)
        memcpy(to, result, nbytes);
}

// Combines elements into the memory of a rank that begins at dst.
static void combine_elements(const aq_coll_op_t *op, uint32_t owner, char *dst, size_t from,
                             size_t to)
{
    const aq_post_t *post = aq_shm_post(op, owner);
    const bool in_place = post->src == post->dst && owner + 1 != op->coll->shm->size;
    const size_t unit = op->call.unit, step = CHUNK / unit;
    for (; from < to; from += step) {
        const size_t count = aq_min(step, to - from);
        combine_chunk(op, from * unit, count * unit, dst + from * unit, in_place);
    }
}

// Returns false if this rank has no share.
static bool combine_share(const aq_coll_op_t *op, uint32_t owner, char *dst)
{
    const share_t share = share_of(op, my_rank(op));
    combine_elements(op, owner, dst, share.from, share.to);
    return !share_is_empty(share);
}

static void share_copy(const aq_coll_op_t *op, uint32_t rank)
{
    const share_t share = share_of(op, rank);
    const size_t from = share.from * op->call.unit, nbytes = share.to * op->call.unit - from;
    char *to = (char *)op->call.dst + from;
    if (!nbytes)
        return;
    const void *there = aq_shm_see(op, rank, aq_shm_post(op, rank)->dst + from, to, nbytes);
    if (!there)
        aq_fatal("%zu bytes of the result of a reduction cannot be read in rank %u", nbytes,
                 aq_team_jobrank(op->coll->team, rank));
    if (there != to)
        memcpy(to, there, nbytes);
    aq_shm_took(op, rank, nbytes);
}

// Copies the shares of the others; returns true if all are copied.
static bool shares_copy(aq_coll_op_t *op)
{
    const aq_shm_t *shm = op->coll->shm;
    for (; op->combine.seen + 1 < shm->size; op->combine.seen++) {
        const uint32_t rank = aq_shm_rank_after(shm, op->combine.seen);
        if (!is_combined(op, rank))
            return false;
        share_copy(op, rank);
    }
    return true;
}

// ---- long: streams ----

// Whether the next chunk of each other rank is here. If all get the result, this rank has also
// written its own, so that the result may replace its source.
static bool chunks_are_here(const aq_coll_op_t *op)
{
    const uint32_t size = op->coll->shm->size;
    uint32_t rank = 0;
    while (rank < size &&
           (rank == my_rank(op) ? !is_to_all(op) || op->chunks.staged > op->chunks.took
                                : aq_stream_next(op, rank) != NULL))
        rank++;
    return rank == size;
}

static void chunks_combine(aq_coll_op_t *op)
{
    const bool in_place = op->call.src == op->call.dst && my_rank(op) + 1 != op->coll->shm->size;
    const size_t at = aq_stream_at(op);
    combine_chunk(op, at, aq_stream_length(op), (char *)op->call.dst + at, in_place);
    aq_stream_take(op);
}

// Whether the root reads the rest of the sources through the kernel, since chunks do not come. If
// all get the result, no rank may, because the others may have overwritten their sources.
static bool is_vain(aq_coll_op_t *op)
{
    return !is_to_all(op) && gets_result(op) && !aq_stream_is_taken(op) &&
           ++op->chunks.empty_polls == AQ_STREAM_PATIENCE && aq_shm_reads_all(op->coll->shm);
}

// Combines the rest of sources that the kernel reads.
static combine_step_t rest_combine(aq_coll_op_t *op)
{
    op->combine.step = STEP_ROOT;
    combine_elements(op, op->call.root, op->call.dst, aq_stream_at(op) / op->call.unit,
                     op->call.count);
    aq_shm_tell_done(op);
    op->combine.seen = 0;
    return STEP_ROOT;
}

static combine_step_t step_stream(aq_coll_op_t *op)
{
    const bool reads = gets_result(op), writes = is_to_all(op) || !reads;
    bool written = !writes || aq_stream_write(op);
    while (reads && !aq_stream_is_taken(op) && chunks_are_here(op)) {
        chunks_combine(op);
        written = !writes || aq_stream_write(op);
    }
    if (is_vain(op))
        return rest_combine(op);
    if (!written || (reads && !aq_stream_is_taken(op)))
        return STEP_STREAM;
    aq_shm_tell_done(op);
    op->combine.seen = 0;
    return is_to_all(op) ? STEP_ALL : STEP_ROOT;
}

// ---- long: steps ----

// The address at which this process has mapped the destination of the root, or NULL.
static char *root_memory(const aq_coll_op_t *op)
{
    const uint32_t root = op->call.root;
    return aq_process_mapped(aq_team_jobrank(op->coll->team, root), aq_shm_post(op, root)->dst,
                             op->bytes);
}

static combine_step_t step_to_all(const aq_coll_op_t *op)
{
    if (combine_share(op, my_rank(op), op->call.dst))
        tell_combined(op);
    return STEP_SHARES;
}

static combine_step_t step_to_one(const aq_coll_op_t *op)
{
    const uint32_t root = op->call.root;
    const bool split = op->combine.shows & AQ_SHOWS_DST &&
                       op->bytes / op->combine.combiners >= aq_coll_limits.combine.split;
    if (split)
        combine_share(op, root, root_memory(op));
    else if (root == my_rank(op))
        combine_elements(op, root, op->call.dst, 0, op->call.count);
    aq_shm_tell_done(op);
    return split ? STEP_ALL : STEP_ROOT;
}

static combine_step_t step_combine(aq_coll_op_t *op)
{
    op->combine.seen = 0;
    combiners_take(op);
    return is_to_all(op) ? step_to_all(op) : step_to_one(op);
}

// Chooses the step after the posts of all. All ranks see the same posts, and so choose alike.
static combine_step_t step_after_look(aq_coll_op_t *op)
{
    aq_shm_t *shm = op->coll->shm;
    const uint8_t need = is_to_all(op) ? AQ_SHOWS_SRC | AQ_SHOWS_DST : AQ_SHOWS_SRC;
    if ((op->combine.shows & need) == need)
        return step_combine(op);
    if (op->combine.shows & AQ_SHOWS_STREAM)
        return STEP_STREAM;
    if (shm->reads == AQ_READS_ALL)
        return step_combine(op);
    if (shm->reads == AQ_READS_REFUSED)
        return STEP_TREE;
    const aq_shm_reads_t mine = aq_shm_reads_all(shm) ? AQ_READS_ALL : AQ_READS_REFUSED;
    atomic_store_explicit(&aq_shm_area(op, shm->rank)->reads, mine, memory_order_release);
    aq_shm_wake();
    op->combine.seen = 0;
    return STEP_AGREE;
}

static combine_step_t step_look(aq_coll_op_t *op)
{
    const aq_shm_t *shm = op->coll->shm;
    for (; op->combine.seen < shm->size && aq_shm_posted(op, op->combine.seen); op->combine.seen++)
        op->combine.shows &= (uint8_t)aq_shm_post(op, op->combine.seen)->shows;
    return op->combine.seen < shm->size ? STEP_LOOK : step_after_look(op);
}

static combine_step_t step_agree(aq_coll_op_t *op)
{
    aq_shm_t *shm = op->coll->shm;
    uint32_t reads = AQ_READS_UNKNOWN;
    for (uint32_t r = 0; r < shm->size; r++) {
        const uint32_t theirs =
            atomic_load_explicit(&aq_shm_area(op, r)->reads, memory_order_acquire);
        if (theirs == AQ_READS_UNKNOWN)
            return STEP_AGREE;
        reads = aq_max(reads, theirs);
    }
    shm->reads = reads == AQ_READS_ALL ? AQ_READS_ALL : AQ_READS_REFUSED;
    return shm->reads == AQ_READS_ALL ? step_combine(op) : STEP_TREE;
}

static bool all_are_done(aq_coll_op_t *op)
{
    while (op->combine.seen < op->coll->shm->size && aq_shm_done(op, op->combine.seen))
        op->combine.seen++;
    return op->combine.seen == op->coll->shm->size;
}

// The step after copying the shares of the others.
static combine_step_t step_shares(aq_coll_op_t *op)
{
    if (!shares_copy(op))
        return STEP_SHARES;
    aq_shm_tell_done(op);
    op->combine.seen = 0;
    return STEP_ALL;
}

// Whether the last step is complete.
static bool is_over(aq_coll_op_t *op)
{
    if (op->combine.step == STEP_ROOT)
        return aq_shm_done(op, op->call.root);
    if (op->combine.step == STEP_ALL)
        return all_are_done(op);
    if (op->combine.step != STEP_TREE || !aq_coll_by_tree.advance(op))
        return false;
    aq_shm_tell_done(op);
    return true;
}

static bool advance_long(aq_coll_op_t *op)
{
    if (op->combine.step == STEP_POST && !post_addresses(op))
        return false;
    if (op->combine.step == STEP_LOOK)
        op->combine.step = (uint8_t)step_look(op);
    if (op->combine.step == STEP_AGREE)
        op->combine.step = (uint8_t)step_agree(op);
    if (op->combine.step == STEP_STREAM)
        op->combine.step = (uint8_t)step_stream(op);
    if (op->combine.step == STEP_SHARES)
        op->combine.step = (uint8_t)step_shares(op);
    if (!is_over(op))
        return false;
    aq_shm_complete(op, true);
    return true;
}

static bool advance_combine(aq_coll_op_t *op)
{
    if (!aq_shm_turn(op))
        return false;
    return op->post.is_short ? advance_short(op) : advance_long(op);
}

const aq_coll_way_t aq_coll_by_combining = {.plan = plan_combine,
                                            .prepare = prepare_combine,
                                            .advance = advance_combine,
                                            .sender = combine_sender,
                                            .awaits_ready = combine_awaits_ready,
                                            .part = combine_part};
