// SPDX-License-Identifier: BSD-3-Clause
// Starting the children of a process of the tree.
#pragma once

#include "node_state.h"

// Starts as many children as the window allows.
void aq_node_start_more(aq_node_t *node);
// Called before each wait: gives orphaned hosts a new parent, and watches the output of remote
// shells; after each wait: children that take too long.
void aq_node_adopt(aq_node_t *node);
void aq_node_watch_start(aq_node_t *node);
void aq_node_check_start(aq_node_t *node);
// Handles the end of a process that may be a remote shell of this node.
void aq_node_child_reaped(aq_node_t *node, pid_t pid, int status);
// Gives up a child, and reports its host, and those behind it unless this process starts them now.
void aq_node_lose_child(aq_node_t *node, aq_child_t *child, const char *why);
// Gives up a child that the job does without.
void aq_node_dismiss_child(aq_node_t *node, aq_child_t *child);
