// SPDX-License-Identifier: BSD-3-Clause
// The trees of collectives. A tree has two levels: inside a neighbourhood, which its first member
// (or the root) represents, and between neighbourhoods. Both are k-nomial: in a tree over 0 to n-1,
// the parent of v is v with its lowest nonzero digit, in base k, set to 0. Or the tree is binary:
// the subtrees below 0 are the halves of 1 to n-1, and so on.
//
//     k = 2, n = 8:   0 - 1, 2 - 3, 4 - (5, 6 - 7)      k >= n: all are children of 0
//     binary, n = 8:  0 - 1 - (2 - 3, 4), 5 - (6, 7)
//
// The descendants of a number follow the number without a gap, ordered by the subtrees of its
// children. So operators that do not commute are applied in the order of the ranks.
#include <stdlib.h>

#include "../../core/gasnet_fwd.h"
#include "../../core/ground/fatal.h"
#include "coll_tree.h"
#include "coll_limits.h"

// ---- the map ----

static uint32_t *allocate_words(size_t count)
{
    return aq_allocate(count * sizeof(uint32_t), "the tree of a team");
}

// Numbers the groups by their first members and counts the members: start[g + 1] is the size of
// group g.
static uint32_t number_groups(uint32_t size, const uint32_t *nbrhd, uint32_t nbrhds,
                              uint32_t *group, uint32_t *start)
{
    uint32_t *number = allocate_words(nbrhds), groups = 0;
    for (uint32_t i = 0; i < nbrhds; i++)
        number[i] = UINT32_MAX;
    start[0] = 0;
    for (uint32_t r = 0; r < size; r++) {
        uint32_t *g = &number[nbrhd[r]];
        if (*g == UINT32_MAX) {
            *g = groups++;
            start[groups] = 0;
        }
        group[r] = *g;
        start[*g + 1]++;
    }
    free(number);
    return groups;
}

static bool in_rank_order(const uint32_t *group, uint32_t size)
{
    for (uint32_t r = 1; r < size; r++)
        if (group[r] < group[r - 1])
            return false;
    return true;
}

static void sort_by_group(aq_coll_map_t *map, const uint32_t *group)
{
    uint32_t *next = allocate_words(map->groups);
    map->order = allocate_words(map->size);
    map->where = allocate_words(map->size);
    for (uint32_t g = 0; g < map->groups; g++)
        next[g] = map->start[g];
    for (uint32_t r = 0; r < map->size; r++) {
        map->where[r] = next[group[r]]++;
        map->order[map->where[r]] = r;
    }
    free(next);
}

void aq_coll_map_make(aq_coll_map_t *map, uint32_t size, const uint32_t *nbrhd, uint32_t nbrhds)
{
    uint32_t *group = allocate_words(size), *start = allocate_words((size_t)size + 1);
    *map = (aq_coll_map_t){.size = size, .start = start};
    map->groups = number_groups(size, nbrhd, nbrhds, group, start);
    for (uint32_t g = 0; g < map->groups; g++) {
        map->largest = start[g + 1] > map->largest ? start[g + 1] : map->largest;
        start[g + 1] += start[g];
    }
    if (!in_rank_order(group, size))
        sort_by_group(map, group);
    free(group);
    uint32_t *shorter = realloc(start, ((size_t)map->groups + 1) * sizeof *start);
    map->start = shorter ? shorter : start;
}

void aq_coll_map_free(aq_coll_map_t *map)
{
    free(map->start);
    free(map->order);
    free(map->where);
}

uint32_t aq_coll_map_rank(const aq_coll_map_t *map, uint32_t place)
{
    return map->order ? map->order[place] : place;
}

uint32_t aq_coll_map_start(const aq_coll_map_t *map, uint32_t group)
{
    return map->start ? map->start[group] : group;
}

uint32_t aq_coll_map_leader(const aq_coll_map_t *map, uint32_t group)
{
    return aq_coll_map_rank(map, aq_coll_map_start(map, group));
}

uint32_t aq_coll_map_members(const aq_coll_map_t *map, uint32_t group)
{
    return aq_coll_map_start(map, group + 1) - aq_coll_map_start(map, group);
}

uint32_t aq_coll_map_group(const aq_coll_map_t *map, uint32_t rank)
{
    uint32_t place = map->where ? map->where[rank] : rank;
    uint32_t low = 0, high = map->groups - 1;
    while (low < high) { // the last group that starts at or before the place
        uint32_t middle = high - (high - low) / 2;
        if (aq_coll_map_start(map, middle) <= place)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

// ---- one level ----

// A subtree of a binary tree: its top is `from`, and its two subtrees are halves of the rest.
typedef struct halves {
    uint32_t from, to;      // its numbers are from .. to-1
    uint32_t parent, index; // of its top
} halves_t;

static uint32_t halves_second(const halves_t *tree)
{
    return tree->from + 1 + (tree->to - tree->from) / 2;
}

// The subtree with the top v among 0 to n-1.
static halves_t halves_at(uint32_t v, uint32_t n)
{
    halves_t tree = {.to = n};
    while (tree.from != v) {
        const uint32_t second = halves_second(&tree);
        const bool in_second = v >= second;
        tree = (halves_t){in_second ? second : tree.from + 1, in_second ? tree.to : second,
                          tree.from, in_second};
    }
    return tree;
}

static uint32_t halves_children(uint32_t v, uint32_t n, uint32_t *child)
{
    const halves_t tree = halves_at(v, n);
    uint32_t count = 0;
    if (tree.from + 1 < tree.to)
        child[count++] = tree.from + 1;
    if (halves_second(&tree) < tree.to)
        child[count++] = halves_second(&tree);
    return count;
}

// Fills in the children of v among 0 to n-1, ascending; returns their number.
static uint32_t children_of(uint32_t v, uint32_t n, uint32_t width, uint32_t *child)
{
    uint32_t count = 0;
    if (width == AQ_COLL_HALVES)
        return halves_children(v, n, child);
    for (uint64_t weight = 1; v % (weight * width) == 0 && v + weight < n; weight *= width)
        for (uint64_t digit = 1; digit < width && v + digit * weight < n; digit++)
            child[count++] = (uint32_t)(v + digit * weight);
    return count;
}

static uint32_t children_of_zero(uint32_t n, uint32_t width)
{
    uint32_t count = 0;
    if (width == AQ_COLL_HALVES)
        return n > 2 ? 2 : n - 1;
    for (uint64_t weight = 1; weight < n; weight *= width) {
        uint64_t digits = (n - 1) / weight;
        count += (uint32_t)(digits < width - 1 ? digits : width - 1);
    }
    return count;
}

// Returns the parent of v, which is not 0; *index is the position of v among the parent's children.
static uint32_t parent_of(uint32_t v, uint32_t n, uint32_t width, uint32_t *index)
{
    if (width == AQ_COLL_HALVES) {
        const halves_t tree = halves_at(v, n);
        *index = tree.index;
        return tree.parent;
    }
    uint64_t weight = 1;
    uint32_t before = 0;
    for (; v % (weight * width) == 0; weight *= width)
        before += width - 1;
    uint32_t digit = (uint32_t)(v / weight % width);
    *index = before + digit - 1;
    return (uint32_t)(v - digit * weight);
}

// ---- both ----

enum { FLAT = 1 << 30 };

// A flatter tree needs fewer turns of processes that share a processor. But a large payload would
// keep the first process of a large neighbourhood busy for too long. Up to tree.bytes consecutive
// messages cost more than bytes. In a broadcast along halves no rank sends more than the payload
// twice.
aq_coll_shape_t aq_coll_shape(size_t bytes, bool down)
{
    const aq_coll_limits_t *limits = &aq_coll_limits;
    if (bytes <= limits->tree.bytes)
        return (aq_coll_shape_t){.inside = FLAT, .across = limits->tree.small};
    const bool halves = down && bytes >= limits->tree.halves;
    return (aq_coll_shape_t){.inside = limits->tree.inside,
                             .across = halves ? AQ_COLL_HALVES : limits->tree.across};
}

uint32_t aq_coll_tree_most(const aq_coll_map_t *map, aq_coll_shape_t shape)
{
    return children_of_zero(map->largest, shape.inside) +
           children_of_zero(map->groups, shape.across);
}

// The tree as seen from the root: the group of the root has number 0, and the root has number 0 in
// its group.
typedef struct view {
    const aq_coll_map_t *map;
    uint32_t root_group, root_index;
} view_t;

static view_t view_from(const aq_coll_map_t *map, uint32_t root)
{
    uint32_t group = aq_coll_map_group(map, root);
    uint32_t place = map->where ? map->where[root] : root;
    return (view_t){map, group, place - aq_coll_map_start(map, group)};
}

// The rank of member v of a group, counted from its representative.
static uint32_t rank_in(const view_t *view, uint32_t group, uint32_t v)
{
    uint32_t members = aq_coll_map_members(view->map, group);
    uint32_t first = group == view->root_group ? view->root_index : 0;
    return aq_coll_map_rank(view->map, aq_coll_map_start(view->map, group) + (first + v) % members);
}

static uint32_t group_at(const view_t *view, uint32_t v)
{
    return (uint32_t)(((uint64_t)view->root_group + v) % view->map->groups);
}

static uint32_t leader_at(const view_t *view, uint32_t v)
{
    return rank_in(view, group_at(view, v), 0);
}

void aq_coll_tree_make(const aq_coll_map_t *map, aq_coll_shape_t shape, uint32_t root,
                       uint32_t rank, aq_coll_tree_t *tree, uint32_t *child)
{
    view_t view = view_from(map, root);
    uint32_t group = aq_coll_map_group(map, rank), members = aq_coll_map_members(map, group);
    uint32_t place = map->where ? map->where[rank] : rank;
    uint32_t first = group == view.root_group ? view.root_index : 0;
    uint32_t inside = (place - aq_coll_map_start(map, group) + members - first) % members;
    uint32_t across = (group + map->groups - view.root_group) % map->groups;

    *tree = (aq_coll_tree_t){.parent = GEX_RANK_INVALID};
    tree->children = children_of(inside, members, shape.inside, child);
    for (uint32_t c = 0; c < tree->children; c++)
        child[c] = rank_in(&view, group, child[c]);
    if (inside) {
        tree->parent =
            rank_in(&view, group, parent_of(inside, members, shape.inside, &tree->index));
        return;
    }
    uint32_t *further = child + tree->children;
    uint32_t count = children_of(across, map->groups, shape.across, further);
    for (uint32_t c = 0; c < count; c++)
        further[c] = leader_at(&view, further[c]);
    tree->children += count;
    if (across) {
        uint32_t above = parent_of(across, map->groups, shape.across, &tree->index);
        tree->parent = leader_at(&view, above);
        tree->index +=
            children_of_zero(aq_coll_map_members(map, group_at(&view, above)), shape.inside);
    }
}
