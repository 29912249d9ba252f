// SPDX-License-Identifier: BSD-3-Clause
// Messages of the client between any two endpoints: cut into pieces, wrapped with a route, or sent
// as they are.
#ifndef AQ_AM_ROUTED_H
#define AQ_AM_ROUTED_H

#include "am.h"

// Sends a request of the client, with the client's handler and arguments. Blocks for room and
// polls; if flags has IMMEDIATE, returns non-zero instead, unless the message is a Long that takes
// several messages.
int aq_am_request_routed(aq_route_t route, uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags);

// As aq_am_request_routed, for the reply of a request's handler. Polls for replies only.
int aq_am_reply_routed(gex_Token_t token, const aq_am_t *am, gex_Flags_t flags);

#endif
