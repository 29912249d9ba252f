// SPDX-License-Identifier: BSD-3-Clause
// The way by which an operation moves its data.
#include "coll_way.h"
#include "coll_doubling.h"
#include "coll_combine.h"

#include "../../other/base/minmax.h"
#include "coll_limits.h"

static const aq_coll_way_t *choose_block_way(const aq_coll_t *coll, size_t bytes)
{
    const uint32_t size = coll->map.size;
    const aq_coll_limits_t *limits = &aq_coll_limits;
    return size >= limits->rounds.ranks && bytes && bytes <= limits->rounds.bytes / size
               ? &aq_coll_by_rounds
               : &aq_coll_by_blocks;
}

// Whether no two members share memory.
static bool is_spread(const aq_coll_t *coll)
{
    return coll->map.groups == coll->map.size && coll->map.size > 1;
}

static bool takes_doubling(const aq_coll_t *coll, size_t bytes)
{
    const aq_coll_limits_t *limits = &aq_coll_limits;
    const uint32_t size = coll->map.size;
    const size_t most = size == 2                        ? limits->doubling.pair
                        : size <= limits->doubling.ranks ? limits->doubling.bytes
                                                         : 0;
    return is_spread(coll) && bytes && bytes <= aq_min(most, (size_t)limits->unasked_bytes) &&
           aq_coll_doubles(size);
}

static bool takes_shares(const aq_coll_t *coll, const aq_coll_call_t *call)
{
    const bool down = call->kind == AQ_COLL_BROADCAST;
    const aq_coll_limits_t *limits = &aq_coll_limits;
    const size_t size = coll->map.size,
                 least = down ? limits->shares.spread_bytes : limits->shares.bytes;
    return is_spread(coll) && call->count >= size && call->unit * call->count / size >= least &&
           (!down || (size > 2 && size <= limits->shares.spread_ranks));
}

static const aq_coll_way_t *choose_to_all_way(const aq_coll_t *coll, const aq_coll_call_t *call)
{
    if (aq_coll_combines(coll, call))
        return &aq_coll_by_combining;
    if (takes_doubling(coll, call->unit * call->count))
        return &aq_coll_by_doubling;
    return takes_shares(coll, call) ? &aq_coll_by_shares : &aq_coll_by_tree;
}

static const aq_coll_way_t *choose_way(const aq_coll_t *coll, const aq_coll_call_t *call)
{
    const bool shared = coll->shm && call->count;
    switch (call->kind) {
    case AQ_COLL_TO_ONE:
        return aq_coll_combines(coll, call) ? &aq_coll_by_combining : &aq_coll_by_tree;
    case AQ_COLL_TO_ALL:
        return choose_to_all_way(coll, call);
    case AQ_COLL_BROADCAST:
        if (shared)
            return &aq_coll_by_copy;
        return takes_shares(coll, call) ? &aq_coll_by_shares : &aq_coll_by_tree;
    case AQ_COLL_SCATTER:
    case AQ_COLL_GATHER:
        return shared ? &aq_coll_by_copy : &aq_coll_by_blocks;
    case AQ_COLL_GATHER_ALL:
    case AQ_COLL_EXCHANGE:
        return shared ? &aq_coll_by_copy : choose_block_way(coll, call->unit * call->count);
    default:
        return &aq_coll_by_rounds; // scans
    }
}

// A large all-reduce over few ranks: each rank is the root of a share of the elements, so that all
// ranks combine at the same time (a reduce-scatter and an all-gather in one).
uint32_t aq_coll_shares(const aq_coll_t *coll, const aq_coll_call_t *call)
{
    size_t bytes = call->unit * call->count;
    uint32_t size = coll->map.size;
    const aq_coll_limits_t *limits = &aq_coll_limits;
    if (call->kind != AQ_COLL_TO_ALL || call->in_order || bytes < limits->split.bytes ||
        size > limits->split.ranks || bytes / size < limits->split.share || call->count < size ||
        choose_way(coll, call) != &aq_coll_by_tree)
        return 1;
    return size;
}

size_t aq_coll_op_plan(aq_coll_op_t *op)
{
    op->bytes = aq_coll_bytes(op->call.unit, op->call.count);
    op->way = choose_way(op->coll, &op->call);
    op->ready.needed = op->bytes > aq_coll_limits.unasked_bytes;
    op->unasked = sizeof(aq_coll_mail_t) + (op->ready.needed ? 0 : op->bytes);
    return op->way->plan(op);
}
