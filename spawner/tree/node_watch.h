// SPDX-License-Identifier: BSD-3-Clause
// What a process of the tree waits for.
#pragma once

#include "node_state.h"

// The inner part of a turn: waits for the watched descriptors, at most ms milliseconds (-1: no
// limit), and calls the watchers. Nothing is watched afterwards.
void aq_node_wait(aq_node_t *node, int ms);

void aq_node_watch(aq_node_t *node, int fd, short events, aq_watcher_t *call, void *item);
