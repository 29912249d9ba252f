// SPDX-License-Identifier: BSD-3-Clause
// The table of limits, and the call that asks for one.
#include "coll_limits.h"

#include <stddef.h>

#include "../../core/ground/fatal.h"
#include "../aqueduct_coll.h"

// A macro, because an object is no constant in an initializer.
#define FALLBACKS                                                                                  \
    {                                                                                              \
        .post_bytes = 1280, .post_ranks = 2, .post_ranks_one = 2, .combine_bytes = 32 << 10,       \
        .combine_share = 64, .combine_split = 16 << 10, .part_bytes = 16 << 10,                    \
        .unasked_bytes = 64 << 10, .rounds_ranks = 5, .rounds_bytes = 8 << 10,                     \
        .double_pair = 64 << 10, .double_ranks = 3, .double_bytes = 1 << 10,                       \
        .share_bytes = 8 << 10, .spread_ranks = 4, .spread_bytes = 128 << 10,                      \
        .split_bytes = 32 << 10, .split_ranks = AQ_SPLIT_RANKS, .split_share = 2 << 10,            \
        .tree_bytes = 4096, .tree_small = 4, .tree_inside = 32, .tree_across = 2,                  \
        .tree_halves = 128 << 10, .host_all = 0, .host_one = 16 << 10, .host_spread = 48 << 10,    \
        .host_ranks = 8                                                                            \
    }

_Alignas(64) aq_coll_limits_t aq_coll_limits = FALLBACKS;
const aq_coll_limits_t aq_coll_fallbacks = FALLBACKS;

#define AT(limit) offsetof(aq_coll_limits_t, limit)
enum { RANKS = 1 << 20, MIB = 1 << 20 };

static const aq_coll_limit_row_t rows[] = {
    {"post-bytes", AT(post_bytes), 0, AQ_POST_BYTES},
    {"post-ranks", AT(post_ranks), 1, RANKS},
    {"post-ranks-one", AT(post_ranks_one), 1, RANKS},
    {"combine-bytes", AT(combine_bytes), 0, MIB},
    {"combine-share", AT(combine_share), 1, MIB},
    {"combine-split", AT(combine_split), 64, 64 * MIB},
    {"part-bytes", AT(part_bytes), 512, MIB},
    {"unasked-bytes", AT(unasked_bytes), 0, MIB / 4},
    {"rounds-ranks", AT(rounds_ranks), 2, RANKS},
    {"rounds-bytes", AT(rounds_bytes), 0, MIB / 4},
    {"double-pair", AT(double_pair), 0, MIB / 4},
    {"double-ranks", AT(double_ranks), 2, RANKS},
    {"double-bytes", AT(double_bytes), 0, MIB / 4},
    {"share-bytes", AT(share_bytes), 1, 64 * MIB},
    {"spread-ranks", AT(spread_ranks), 2, RANKS},
    {"spread-bytes", AT(spread_bytes), 1, 64 * MIB},
    {"split-bytes", AT(split_bytes), 1024, 64 * MIB},
    {"split-ranks", AT(split_ranks), 1, AQ_SPLIT_RANKS},
    {"split-share", AT(split_share), 64, MIB},
    {"tree-bytes", AT(tree_bytes), 0, MIB / 4},
    {"tree-small", AT(tree_small), 2, 256},
    {"tree-inside", AT(tree_inside), 2, 256},
    {"tree-across", AT(tree_across), 2, 64},
    {"tree-halves", AT(tree_halves), 0, 64 * MIB},
    {"host-all", AT(host_all), 0, 64 * MIB},
    {"host-one", AT(host_one), 0, 64 * MIB},
    {"host-spread", AT(host_spread), 0, 64 * MIB},
    {"host-ranks", AT(host_ranks), 2, RANKS},
};
_Static_assert(sizeof rows / sizeof *rows == sizeof(aq_coll_limits_t) / sizeof(uint32_t),
               "each limit has a row");

const aq_coll_limit_row_t *aq_coll_limit_at(unsigned index)
{
    return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

// ---- calls ----

int gasnetx_Coll_QueryLimit(unsigned index, gasnetx_coll_limit_t *limit)
{
    const aq_coll_limit_row_t *row = aq_coll_limit_at(index);
    if (!row)
        return GASNET_ERR_BAD_ARG;
    *limit = (gasnetx_coll_limit_t){.name = row->name,
                                    .low = row->low,
                                    .high = row->high,
                                    .fallback = aq_coll_limit_get(&aq_coll_fallbacks, row),
                                    .value = aq_coll_limit_get(&aq_coll_limits, row)};
    return GASNET_OK;
}

void aq_coll_refuse_bytes(size_t bytes)
{
    aq_fatal("a collective of %zu bytes for each rank is more than the library can divide into "
             "parts (%zu bytes); make several calls",
             bytes, AQ_COLL_BYTES_MAX);
}
