// SPDX-License-Identifier: BSD-3-Clause
// The side of a message that sends.
#pragma once

#include "msg_state.h"

// Begins a persistent request. GASNET_ERR_RESOURCE: credits are used up, and nothing was done.
int aq_msg_send(gasnetx_Request_t request);

// Ends a send that was announced with a cookie, when the peer has all bytes that it wants. In a
// handler, too.
void aq_msg_send_end(uint32_t jobrank, aq_cookie_t cookie, gasnetx_Request_t send);

void aq_msg_send_register(void);
