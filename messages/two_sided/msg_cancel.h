// SPDX-License-Identifier: BSD-3-Clause
// Cancelling: the client's call, and its messages.
#pragma once

#include "msg_state.h"

// In the handler of an RTS, after the RTS was matched or kept: obeys a cancel that has overtaken
// it.
void aq_msg_cancel_overtaken(gex_Token_t token, uint32_t number);

void aq_msg_cancel_register(void);
