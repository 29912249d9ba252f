// SPDX-License-Identifier: BSD-3-Clause
// The routing of frames from children.
#pragma once

#include "node_state.h"

// Handles frames of a child that have already arrived.
void aq_node_take_frames(aq_node_t *node, aq_child_t *child);
