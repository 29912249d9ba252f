// SPDX-License-Identifier: BSD-3-Clause
// Groups of a team, and the trees over them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The members of a team by neighbourhood. Groups are numbered by their first member.
typedef struct aq_coll_map {
    uint32_t size, groups;
    uint32_t largest; // members of the largest group
    // First place of each group, and the end; NULL: each rank is a group.
    uint32_t *start;
    uint32_t *order; // ranks, group by group; NULL: in the order of the ranks
    uint32_t *where; // place of each rank in `order`; NULL if `order` is NULL
} aq_coll_map_t;

// Widths of trees: the number of children of a member at each level. At least 2; or AQ_COLL_HALVES:
// a binary tree, in which no member has more than two children in all.
enum { AQ_COLL_HALVES = 1 };
typedef struct aq_coll_shape {
    uint32_t inside, across; // inside a neighbourhood, between neighbourhoods
} aq_coll_shape_t;

// The position of a rank in the tree from a root.
typedef struct aq_coll_tree {
    uint32_t parent; // GEX_RANK_INVALID at the root
    uint32_t index;  // position among the children of the parent
    uint32_t children;
} aq_coll_tree_t;

// nbrhd[r]: neighbourhood of rank r, below `nbrhds`. Ends the job if memory is out.
void aq_coll_map_make(aq_coll_map_t *map, uint32_t size, const uint32_t *nbrhd, uint32_t nbrhds);
void aq_coll_map_free(aq_coll_map_t *map);
uint32_t aq_coll_map_rank(const aq_coll_map_t *map, uint32_t place);
uint32_t aq_coll_map_group(const aq_coll_map_t *map, uint32_t rank);
// The first member of a group.
uint32_t aq_coll_map_leader(const aq_coll_map_t *map, uint32_t group);
// First place and number of members of a group.
uint32_t aq_coll_map_start(const aq_coll_map_t *map, uint32_t group);
uint32_t aq_coll_map_members(const aq_coll_map_t *map, uint32_t group);

// The shape for so many bytes. down: they only go from the root to all.
aq_coll_shape_t aq_coll_shape(size_t bytes, bool down);

// The largest number of children of any rank.
uint32_t aq_coll_tree_most(const aq_coll_map_t *map, aq_coll_shape_t shape);
// Fills in the position of a rank in the tree; child[] receives tree->children ranks. If root is 0,
// the rank and the subtrees of its children follow each other in the order of places.
void aq_coll_tree_make(const aq_coll_map_t *map, aq_coll_shape_t shape, uint32_t root,
                       uint32_t rank, aq_coll_tree_t *tree, uint32_t *child);
