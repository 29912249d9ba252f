// SPDX-License-Identifier: BSD-3-Clause
// Notices to neighbours that an endpoint of this process has lost its segment, because the segment
// or the endpoint was destroyed: they give up their mapping of it (segment_map.h).
//
// The notices are requests. What does not find room at once is sent by later polls, so nothing
// waits. A message that a client sends afterwards, or a barrier, finds the mapping gone; an access
// to the memory of a destroyed segment faults at once.
#pragma once

#include "../endpoint/endpoint.h"

enum { AQ_HANDLER_SEGMENT_REVOKED = 54 };

// Registers the handler; once, at init.
void aq_segment_revoke_start(void);

// For a further endpoint whose segment was published, and which has just lost it: tells all
// neighbours. Does nothing for other endpoints. Any thread; does not block; allowed with a lock
// held.
void aq_segment_revoke(gex_EP_t ep);
