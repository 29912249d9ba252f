// SPDX-License-Identifier: BSD-3-Clause
// How a message goes on to its destinations.
#pragma once

#include "large_state.h"

// Sends the header to a destination. In the handler of the message.
void aq_large_forward(aq_large_child_t *child, aq_msg_head_t *head, const gasnetx_params_t *params);

// Begins to fetch the data, after the handler has returned.
void aq_large_forward_begin(gasnetx_Large_t message);

void aq_large_forward_register(void);
