// SPDX-License-Identifier: BSD-3-Clause
// The loop of a process of the tree.
#pragma once

#include "node_state.h"

// Waits once and handles the events.
void aq_node_turn(aq_node_t *node);

// Ends remote shells and closes all links.
void aq_node_close(aq_node_t *node);

// From here on the hosts of go have ranks. Gives up children that are not ready, and sets how many
// contributions a collective step has.
void aq_node_go(aq_node_t *node, const aq_go_t *go);
