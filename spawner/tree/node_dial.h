// SPDX-License-Identifier: BSD-3-Clause
// Children that the daemons of a universe fork.
#pragma once

#include "node_state.h"

// Called before and after each wait.
void aq_node_watch_dials(aq_node_t *node);
void aq_node_check_dials(aq_node_t *node);
