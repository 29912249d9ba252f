// SPDX-License-Identifier: BSD-3-Clause
// Workers that a boot module starts (workers.h): the helper of one host each. The launcher's part.
#pragma once

#include "node_state.h"

// Finds the host of a worker that has described itself: child->host becomes its name in the list,
// child->number its number. False: it is none of the list, or has called already; logged.
bool aq_host_workers_take(const aq_node_t *node, aq_child_t *child, const char *host);

// Writes the names of the hosts that have not called, "n1, n3", as far as they fit.
void aq_host_workers_name_absent(const aq_node_t *node, char *text, size_t size);

// Once all workers are here: orders them by host, and sends each the job. Must not be called while
// children of the node are in use. False: no memory, logged.
bool aq_host_workers_number(aq_node_t *node);
