// SPDX-License-Identifier: BSD-3-Clause
// The children of a process of the tree, and frames that it makes for them and for the launcher.
#pragma once

#include "node_state.h"

// Must be called first.
void aq_node_init(aq_node_t *node, const aq_node_ops_t *ops);

// Adds children for the hosts [low, high): at most one for each of `parts` parts; 0: one for each
// host. Children move in memory. False: no memory.
bool aq_node_split(aq_node_t *node, uint32_t low, uint32_t high, uint32_t parts);
// Computes part number `index` of `parts` of [low, high).
void aq_node_part(uint32_t low, uint32_t high, uint32_t parts, uint32_t index, uint32_t *from,
                  uint32_t *to);

// Sends frames to all children that are up.
void aq_node_down(aq_node_t *node, const aq_bytes_t *frames);

// Whether all children are done.
bool aq_node_is_quiet(const aq_node_t *node);

// Reports to the launcher that the hosts [low, high) cannot take part: low for that reason, the
// others because they are behind it.
void aq_node_report(aq_node_t *node, uint32_t low, uint32_t high, const char *why);

// The child through which rank 0 is reached; NULL: rank 0 is not behind this node.
aq_child_t *aq_node_first_child(aq_node_t *node);

// The child through which the helper of that host is reached; NULL: it is not behind this node.
aq_child_t *aq_node_child_of(aq_node_t *node, uint32_t host);

// Sends the child the job, for the hosts of its subtree.
void aq_node_send_job(aq_node_t *node, aq_child_t *child);
