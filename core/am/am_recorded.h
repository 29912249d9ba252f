// SPDX-License-Identifier: BSD-3-Clause
// Messages of any length between any two endpoints, which are counted and traced.
#pragma once

#include "am.h"

// Sends a message with the client's handler and arguments, or one of the library for a put, get or
// atomic, which is not counted. Blocks for room and polls, for a reply for replies only; if flags
// has IMMEDIATE, returns non-zero instead, unless the message is a Long that takes several
// messages.
int aq_am_send_recorded(aq_am_to_t to, aq_am_t *am, gex_Flags_t flags);
