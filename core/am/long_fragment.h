// SPDX-License-Identifier: BSD-3-Clause
// Longs to further endpoints that are too large for one message: conduits map and register the
// segments of endpoint 0 only.
//
//     sender                                            receiver
//     pieces (Long requests into the segment) ------->  acknowledge each
//     all acknowledged: the message without payload --> runs the client's handler
//
// A Long from an endpoint with an identity always travels in pieces, as Mediums with a tag
// (identity.h): conduits write only to memory that every endpoint may access.
//
// A request blocks until its pieces are acknowledged. The handler that replies cannot wait for a
// peer to run handlers, so a reply is copied, and later polls send it.
#pragma once

#include "am.h"

// Registers the handlers; once, at init.
void aq_long_fragment_start(void);

// Whether the conduit to this destination cannot carry a Long in one message, or may not.
bool aq_long_fragment_needed(aq_am_to_t to, const aq_am_t *am);

// Sends a Long with the client's handler and arguments. number: of the message in the trace; 0:
// none. The payload may be reused when the call returns. Ends the job if memory is out.
void aq_long_fragment_send(aq_am_to_t to, const aq_am_t *am, uint64_t number);
