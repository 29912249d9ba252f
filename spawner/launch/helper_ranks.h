// SPDX-License-Identifier: BSD-3-Clause
// The ranks of the host of a helper. Nothing here blocks.
#pragma once

#include "helper_state.h"

// Makes the page and the streams. False: no memory or no descriptors.
bool aq_helper_prepare(aq_helper_t *helper);

// Forks the supervisor, which starts the ranks. go: NULL in a member. False, with errno set.
bool aq_helper_start_ranks(aq_helper_t *helper, const aq_go_t *go);

// Queues input for rank 0. length 0: end of input.
void aq_helper_take_input(aq_helper_t *helper, const uint8_t *data, size_t length);

// Adds the pipes of the ranks to the next wait; if blocked, not those of their output.
void aq_helper_watch_ranks(aq_helper_t *helper, bool blocked);

// Reports to the parent what the ranks announced on the page or contribute there.
void aq_helper_check_page(aq_helper_t *helper);

// Completes a step in which ranks join. False: more than the reserve has.
bool aq_helper_admit(aq_helper_t *helper);

// Reads what is left in the pipes.
void aq_helper_drain(aq_helper_t *helper);

// Packs lines of the ranks into frames for the parent.
void aq_helper_pass_lines(aq_helper_t *helper);
