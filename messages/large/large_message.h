// SPDX-License-Identifier: BSD-3-Clause
// The data and the end of a message that has arrived.
#pragma once

#include "large_state.h"

// Makes a request for the data of a message that came without them.
gasnetx_Request_t aq_large_receive(gasnetx_Large_t message, const aq_request_hooks_t *hooks);

// Runs the completion function of the client, and frees the message. Of the task.
void aq_large_end(gasnetx_Large_t message);
