// SPDX-License-Identifier: BSD-3-Clause
// Answers to readers who look at the ranks of this host.
#pragma once

#include "helper_state.h"

// Answers a look at the ranks of this host. A question for a stack is answered
// later, by aq_helper_check_asks, which is to be called after each wait. Nothing here blocks.
void aq_helper_look_start(aq_helper_t *helper);

// Listens for readers on this host, unless another helper of the job does here. Call it after the
// fork of the supervisor, which would inherit the socket.
void aq_helper_look_listen(aq_helper_t *helper);

// Hands what the launcher tells a reader to the reader, or to the child that leads to its host.
// False: the frame is not legal.
bool aq_helper_take_told(aq_helper_t *helper, const aq_frame_t *frame);

void aq_helper_look(aq_helper_t *helper, const aq_query_t *order);

void aq_helper_check_asks(aq_helper_t *helper);
