// SPDX-License-Identifier: BSD-3-Clause
// Connections of helpers to the process that started them.
#pragma once

#include "node_state.h"

// Called before each wait: watches callers and ports; after each wait: closes callers that did not
// authenticate in time and, once every child has called, all ports.
void aq_node_watch_calls(aq_node_t *node);

void aq_node_check_calls(aq_node_t *node);

// Closes callers and ports, and logs how many callers were refused beyond those already reported.
void aq_node_close_calls(aq_node_t *node);
