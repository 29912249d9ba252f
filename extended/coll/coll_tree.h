// SPDX-License-Identifier: BSD-3-Clause
// Groups of a team, and the trees over them.
#ifndef AQ_COLL_TREE_H
#define AQ_COLL_TREE_H

#include "coll_op.h"

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

#endif
