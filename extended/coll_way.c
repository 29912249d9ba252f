// The way by which an operation moves its data.
#include "coll.h"

#include "../core/job.h"
#include "../other/base/minmax.h"
#include "coll_limits.h"

size_t aq_coll_part_limit(void)
{
    return aq_min(aq_job.max_medium, aq_coll_limits.part_bytes);
}

static const aq_coll_way_t *choose_block_way(const aq_coll_t *coll, size_t bytes)
{
    const uint32_t size = coll->map.size;
    const aq_coll_limits_t *limits = &aq_coll_limits;
    return size >= limits->rounds_ranks && bytes && bytes <= limits->rounds_bytes / size
               ? &aq_coll_by_rounds
               : &aq_coll_by_blocks;
}

// All ranks choose alike, because the choice depends only on the team and single-valued arguments.
static const aq_coll_way_t *choose_way(const aq_coll_op_t *op)
{
    const bool shared = op->coll->board && op->call.count;
    switch (op->call.kind) {
    case AQ_COLL_TO_ONE:
    case AQ_COLL_TO_ALL:
        return aq_coll_combines(op->coll, &op->call) ? &aq_coll_by_combining : &aq_coll_by_tree;
    case AQ_COLL_BROADCAST:
        return shared ? &aq_coll_by_copy : &aq_coll_by_tree;
    case AQ_COLL_SCATTER:
    case AQ_COLL_GATHER:
        return shared ? &aq_coll_by_copy : &aq_coll_by_blocks;
    case AQ_COLL_GATHER_ALL:
    case AQ_COLL_EXCHANGE:
        return shared ? &aq_coll_by_copy
                      : choose_block_way(op->coll, op->call.unit * op->call.count);
    default:
        return &aq_coll_by_rounds; // scans
    }
}

size_t aq_coll_op_plan(aq_coll_op_t *op)
{
    const size_t bytes = op->call.unit * op->call.count;
    op->way = choose_way(op);
    op->rendezvous = bytes > aq_coll_limits.unasked_bytes;
    op->unasked = sizeof(aq_coll_mail_t) + (op->rendezvous ? 0 : bytes);
    return op->way->plan(op);
}

bool aq_coll_op_awaits_ready(const aq_coll_op_t *op, uint32_t rank)
{
    return op->rendezvous && rank != GEX_RANK_INVALID && op->way->awaits_ready(op, rank);
}

void aq_coll_op_note_ready(aq_coll_op_t *op, uint32_t rank)
{
    if (op->askers)
        atomic_store_explicit(&op->askers[rank], AQ_COLL_ASKED, memory_order_relaxed);
    atomic_fetch_add_explicit(&op->ready, 1, memory_order_release);
}
