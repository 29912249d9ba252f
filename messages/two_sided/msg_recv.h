// SPDX-License-Identifier: BSD-3-Clause
// The side of a message that receives.
#pragma once

#include "msg_state.h"

void aq_msg_receive(gasnetx_Request_t request);

// Matches the messages that have arrived while this rank had stopped receiving.
void aq_msg_arrivals_go_on(void);

void aq_msg_recv_register(void);
