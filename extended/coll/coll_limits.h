// SPDX-License-Identifier: BSD-3-Clause
// The limits by which collectives choose how they move data, one table for the job.
//
// What is always true:
// - All ranks have the same table, so that all choose alike. It changes only before the first
//   operation, and in gasnetx_Coll_SetLimit, when no rank has an operation that is not complete.
// - Each limit is in the range of its row, so any table of a file is safe, but perhaps slow.
#pragma once

#include <stddef.h>
#include <stdint.h>

// The upper ends of two ranges, since arrays have these sizes: bytes of a short post (coll_shm.h),
// and ranks among which an all-reduce is divided.
enum { AQ_POST_BYTES = 8192, AQ_SPLIT_RANKS = 32 };

// The ranges, and the names in tuning files, are in the rows of coll_limits.c; aqueduct_coll(3)
// lists both.
typedef struct aq_coll_limits {
    // ---- ranks that share memory ----
    // In a team of at most `ranks` ranks (ranks_one if only the root gets the result) an operation
    // is short, so that ranks post their bytes, up to `bytes` bytes; above, they post an address:
    // few ranks wait for each other, which costs less than the second copy. In a larger team an
    // operation is short up to AQ_POST_BYTES bytes.
    struct {
        uint32_t bytes, ranks, ranks_one;
    } post;
    struct {
        // Each rank combines all that is posted for a reduction to all, if that is at most so many
        // bytes together; above, each combines a share.
        uint32_t bytes;
        // A reduction to all is combined in shares if a share has at least so many bytes; else it
        // goes along the tree, as between hosts.
        uint32_t share;
        // All ranks combine a share if one has at least so many bytes; below, as many ranks as
        // there are processors.
        uint32_t split;
    } combine;
    // ---- other teams ----
    uint32_t part_bytes;    // of a piece of a tree and of each message; at most one Medium
    uint32_t unasked_bytes; // largest payload that is sent before the receiver is ready
    // At least so many ranks exchange blocks in rounds if those of one rank have at most so many
    // bytes together; else blocks go directly.
    struct {
        uint32_t ranks, bytes;
    } rounds;
    // Between ranks of which no two share memory. Two ranks reduce up to `pair` bytes to all by
    // doubling, and up to `ranks` ranks up to `bytes`: more ranks would send more messages than
    // along a tree.
    struct {
        uint32_t pair, ranks, bytes;
    } doubling;
    // Between such ranks, too: an all-reduce goes in shares if each share has at least `bytes`
    // bytes (all ranks send to all), and a broadcast over 3 to spread_ranks ranks from spread_bytes
    // a share on.
    struct {
        uint32_t bytes, spread_ranks, spread_bytes;
    } shares;
    // An all-reduce of at least `bytes` bytes along trees, over at most `ranks` ranks, is divided
    // into a reduction for each rank, unless these would have less than `share` bytes.
    struct {
        uint32_t bytes, ranks, share;
    } split;
    // Widths of trees: up to `bytes` bytes, all ranks of a neighbourhood are children of its first,
    // and a neighbourhood has `small` children; above, `inside` and `across`, at each level. A
    // broadcast of at least `halves` bytes goes along a binary tree of hosts.
    struct {
        uint32_t bytes, small, inside, across, halves;
    } tree;
    // ---- teams of several hosts with several members on some of them ----
    // What is divided by host (coll_hosts.c): a reduction to all of at least `all` bytes, to one of
    // at least `one`, a broadcast of at least `spread`, and any if hosts have `ranks` members or
    // more on average.
    struct {
        uint32_t all, one, spread, ranks;
    } host;
} aq_coll_limits_t;

extern aq_coll_limits_t aq_coll_limits;          // of this job
extern const aq_coll_limits_t aq_coll_fallbacks; // the defaults

typedef struct aq_coll_limit_row {
    const char *name;   // in files
    size_t offset;      // in aq_coll_limits_t
    uint32_t low, high; // inclusive
} aq_coll_limit_row_t;

// Returns a row, or NULL behind the last one.
const aq_coll_limit_row_t *aq_coll_limit_at(unsigned index);

static inline uint32_t *aq_coll_limit_of(aq_coll_limits_t *limits, const aq_coll_limit_row_t *row)
{
    return (uint32_t *)(void *)((char *)limits + row->offset);
}

static inline uint32_t aq_coll_limit_get(const aq_coll_limits_t *limits,
                                         const aq_coll_limit_row_t *row)
{
    return *(const uint32_t *)(const void *)((const char *)limits + row->offset);
}

// Ends the job: more bytes for a rank than the parts of a collective have numbers.
__attribute__((noreturn, cold)) void aq_coll_refuse_bytes(size_t bytes);

// Parts and chunks have numbers of 32 bits, and at least 512 bytes each.
#define AQ_COLL_BYTES_MAX ((size_t)1 << 40)

// The bytes of a call for each rank, of which the product fits into size_t.
static inline size_t aq_coll_bytes(size_t unit, size_t count)
{
    if (__builtin_expect(unit * count > AQ_COLL_BYTES_MAX, 0))
        aq_coll_refuse_bytes(unit * count);
    return unit * count;
}
