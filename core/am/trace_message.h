// SPDX-License-Identifier: BSD-3-Clause
// The number of a traced message, which connects the events of its sender and its receiver: their
// order cannot do that, since messages are not ordered.
//
//     to AQ_HANDLER_TRACED: [ number, upper 24 bits | handler, 8 bits ][ number, lower 32 bits ]
//                           [ arguments of the client ...
//
// The number is 0 if the sender does not trace the message. If the message needs a header, that
// stands in front. A message that would have more arguments than conduits take (15 or 16 of the
// client, from an endpoint with an identity) travels without a number. The number of a Long in
// pieces is in the message that follows them (long_fragment.h).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "am_header.h"
#include "../conduit.h"
#include "../record/trace.h"

enum {
    AQ_HANDLER_TRACED = 35,
    AQ_HANDLER_CLOCK_ASK, // trace_clock.c
    AQ_HANDLER_CLOCK_ANSWER,
    AQ_HANDLER_CLOCK_TELL
};

enum { AQ_TRACED_ARGS = 2 };

// The arguments that the number adds to a message of the client with `nargs`.
static inline unsigned aq_traced_nargs(aq_ep_pair_t pair, unsigned nargs)
{
    const unsigned all = nargs + AQ_TRACED_ARGS + aq_am_header_nargs(pair);
    return aq_tracing.numbers && all <= AQ_AM_MAX_ARGS ? AQ_TRACED_ARGS : 0;
}

// Adds the event of a message of the client that is sent now, with its number (0: it has none), for
// aq_traced_send_end.
uint64_t aq_traced_open(uint32_t jobrank, const aq_am_t *am, uint64_t number) __attribute__((cold));

// As aq_traced_open, if the message is to be traced, and gives the message its number,
// unless it does not fit; args becomes its arguments and has to live as long as the message.
uint64_t aq_traced_send_begin(aq_ep_pair_t pair, uint32_t jobrank, aq_am_t *am, bool fits,
                              int32_t args[AQ_AM_MAX_ARGS]) __attribute__((cold));
// Called when the message was sent, or refused: closes its event, or removes it. Returns `refused`.
// opened: from aq_traced_send_begin.
int aq_traced_send_end(uint64_t opened, int refused) __attribute__((cold));

// Reads a message to AQ_HANDLER_TRACED: fills in *inner, the client's message, and returns its
// number. Ends the job if no correct peer sends this message.
uint64_t aq_traced_read(const aq_arrival_t *arrival, aq_arrival_t *inner) __attribute__((cold));

// Opens the event of the handler of a message of the client; number 0: it came without one. Returns
// what aq_trace_close takes.
uint64_t aq_traced_handler_begin(const aq_arrival_t *arrival, uint64_t number)
    __attribute__((cold));
