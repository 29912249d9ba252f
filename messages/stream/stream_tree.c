// SPDX-License-Identifier: BSD-3-Clause
// Trees of streams.
#include "stream_tree.h"

#include <stdlib.h>

#include "../../core/ground/bounds.h"
#include "../../core/ground/fatal.h"

gex_Rank_t gasnetx_Stream_TreeParent(gex_Rank_t rank, gex_Rank_t size, gex_Rank_t root,
                                     gex_Rank_t arity)
{
    static const char call[] = "gasnetx_Stream_TreeParent";
    aq_bounds_rank(call, "rank", rank, size);
    aq_bounds_rank(call, "root", root, size);
    const gex_Rank_t place = rank >= root ? rank - root : rank + (size - root);
    if (!place)
        return GASNETX_STREAM_ROOT;
    const gex_Rank_t parent = (place - 1) / (arity ? arity : 1);
    return parent < size - root ? parent + root : parent - (size - root);
}

static bool is_member(const gex_Rank_t *parents, gex_Rank_t rank)
{
    return parents[rank] != GASNETX_STREAM_ABSENT;
}

static bool is_root(const gex_Rank_t *parents, gex_Rank_t rank)
{
    return parents[rank] == GASNETX_STREAM_ROOT;
}

// ---- the check ----

static const char *parent_check(const gex_Rank_t *parents, gex_Rank_t size, gex_Rank_t rank)
{
    const gex_Rank_t parent = parents[rank];
    if (!is_member(parents, rank) || is_root(parents, rank))
        return NULL;
    if (parent >= size)
        return "names a parent that is not in the team";
    if (parent == rank)
        return "names itself as its parent";
    return is_member(parents, parent) ? NULL : "names a parent that has no part in the stream";
}

static const char *parents_check(const gex_Rank_t *parents, gex_Rank_t size, gex_Rank_t *culprit)
{
    const char *why = NULL;
    gex_Rank_t roots = 0;
    for (gex_Rank_t rank = 0; rank < size && !why; rank++) {
        *culprit = rank;
        why = parent_check(parents, size, rank);
        roots += is_root(parents, rank);
        if (roots > 1 && !why)
            why = "is the second root; a stream has one";
    }
    return why;
}

// Whether the parents of a rank lead to the root, or to a rank whose parents do. Marks the ranks on
// the way.
static bool way_is_finite(const gex_Rank_t *parents, gex_Rank_t size, gex_Rank_t rank, bool *known)
{
    gex_Rank_t steps = 0, at = rank;
    while (!known[at] && !is_root(parents, at) && steps++ < size)
        at = parents[at];
    if (!known[at] && !is_root(parents, at))
        return false;
    for (at = rank; !known[at]; at = parents[at]) {
        known[at] = true;
        if (is_root(parents, at))
            break;
    }
    return true;
}

const char *aq_stream_tree_check(const gex_Rank_t *parents, gex_Rank_t size, gex_Rank_t *culprit)
{
    const char *why = parents_check(parents, size, culprit);
    if (why)
        return why;
    bool *known = aq_allocate_zeroed(size, sizeof *known, "the tree of a stream");
    for (gex_Rank_t rank = 0; rank < size && !why; rank++) {
        *culprit = rank;
        if (is_member(parents, rank) && !way_is_finite(parents, size, rank, known))
            why = "has no way to a root: its parents make a circle";
    }
    free(known);
    return why;
}

// ---- places ----

static gex_Rank_t depth_of(const gex_Rank_t *parents, gex_Rank_t rank)
{
    gex_Rank_t depth = 0;
    for (; !is_root(parents, rank); rank = parents[rank])
        depth++;
    return depth;
}

// The steps up from rank `from` to rank `to`; 0: `to` is not above `from`.
static gex_Rank_t steps_to(const gex_Rank_t *parents, gex_Rank_t from, gex_Rank_t to)
{
    gex_Rank_t steps = 0;
    for (; from != to; from = parents[from], steps++)
        if (is_root(parents, from))
            return 0;
    return steps;
}

void aq_stream_tree_place(const gex_Rank_t *parents, gex_Rank_t size, gex_Rank_t rank,
                          gasnetx_stream_info_t *info)
{
    *info = (gasnetx_stream_info_t){.parent = parents[rank], .depth = depth_of(parents, rank)};
    for (gex_Rank_t other = 0; other < size; other++) {
        if (!is_member(parents, other))
            continue;
        const gex_Rank_t steps = steps_to(parents, other, rank);
        info->root = is_root(parents, other) ? other : info->root;
        info->members++;
        info->place += other < rank;
        info->child_count += parents[other] == rank;
        info->height = steps > info->height ? steps : info->height;
    }
}
