// SPDX-License-Identifier: BSD-3-Clause
// The table of limits, and the call that asks for one.
#include "coll_limits.h"

#include <stddef.h>

#include "../../core/ground/fatal.h"
#include "../aqueduct_coll.h"

// A macro, because an object is no constant in an initializer.
#define FALLBACKS                                                                                  \
    {                                                                                              \
        .post = {.bytes = 1280, .ranks = 2, .ranks_one = 2},                                       \
        .combine = {.bytes = 32 << 10, .share = 64, .split = 16 << 10},                            \
        .rounds = {.ranks = 5, .bytes = 8 << 10},                                                  \
        .doubling = {.pair = 64 << 10, .ranks = 3, .bytes = 1 << 10},                              \
        .shares = {.bytes = 8 << 10, .spread_ranks = 4, .spread_bytes = 128 << 10},                \
        .split = {.bytes = 32 << 10, .ranks = AQ_SPLIT_RANKS, .share = 2 << 10},                   \
        .tree = {.bytes = 4096, .small = 4, .inside = 32, .across = 2, .halves = 128 << 10},       \
        .host = {.all = 0, .one = 16 << 10, .spread = 48 << 10, .ranks = 8},                       \
        .part_bytes = 16 << 10, .unasked_bytes = 64 << 10                                          \
    }

_Alignas(64) aq_coll_limits_t aq_coll_limits = FALLBACKS;
const aq_coll_limits_t aq_coll_fallbacks = FALLBACKS;

#define AT(limit) offsetof(aq_coll_limits_t, limit)
enum { RANKS = 1 << 20, MIB = 1 << 20 };

static const aq_coll_limit_row_t rows[] = {
    {"post-bytes", AT(post.bytes), 0, AQ_POST_BYTES},
    {"post-ranks", AT(post.ranks), 1, RANKS},
    {"post-ranks-one", AT(post.ranks_one), 1, RANKS},
    {"combine-bytes", AT(combine.bytes), 0, MIB},
    {"combine-share", AT(combine.share), 1, MIB},
    {"combine-split", AT(combine.split), 64, 64 * MIB},
    {"part-bytes", AT(part_bytes), 512, MIB},
    {"unasked-bytes", AT(unasked_bytes), 0, MIB / 4},
    {"rounds-ranks", AT(rounds.ranks), 2, RANKS},
    {"rounds-bytes", AT(rounds.bytes), 0, MIB / 4},
    {"double-pair", AT(doubling.pair), 0, MIB / 4},
    {"double-ranks", AT(doubling.ranks), 2, RANKS},
    {"double-bytes", AT(doubling.bytes), 0, MIB / 4},
    {"share-bytes", AT(shares.bytes), 1, 64 * MIB},
    {"spread-ranks", AT(shares.spread_ranks), 2, RANKS},
    {"spread-bytes", AT(shares.spread_bytes), 1, 64 * MIB},
    {"split-bytes", AT(split.bytes), 1024, 64 * MIB},
    {"split-ranks", AT(split.ranks), 1, AQ_SPLIT_RANKS},
    {"split-share", AT(split.share), 64, MIB},
    {"tree-bytes", AT(tree.bytes), 0, MIB / 4},
    {"tree-small", AT(tree.small), 2, 256},
    {"tree-inside", AT(tree.inside), 2, 256},
    {"tree-across", AT(tree.across), 2, 64},
    {"tree-halves", AT(tree.halves), 0, 64 * MIB},
    {"host-all", AT(host.all), 0, 64 * MIB},
    {"host-one", AT(host.one), 0, 64 * MIB},
    {"host-spread", AT(host.spread), 0, 64 * MIB},
    {"host-ranks", AT(host.ranks), 2, RANKS},
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
