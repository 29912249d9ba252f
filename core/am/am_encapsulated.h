// SPDX-License-Identifier: BSD-3-Clause
// A message of the client that travels inside of a message of the library, which runs the client's
// handler at its end: the notices of puts. It counts, and is traced, as the client's message.
//
//     aq_encapsulated_begin -> a message of the library, with the number among its arguments
//     aq_encapsulated_end   ~~~> its handler -> aq_encapsulated_deliver -> the client's handler
#pragma once

#include "am.h"

// The bits of a number that have to travel.
enum { AQ_ENCAPSULATED_NUMBER_BITS = 52 };

typedef struct aq_encapsulated {
    const aq_am_t *am; // of the client
    uint64_t number;   // to travel; 0: the message is not traced
    uint64_t opened;   // of the trace
    uint32_t jobrank;
    gex_EP_Index_t from;
} aq_encapsulated_t;

// Before the message is sent, from an endpoint to a rank. The caller keeps *am until
// aq_encapsulated_end.
aq_encapsulated_t aq_encapsulated_begin(gex_EP_Index_t from, uint32_t jobrank, const aq_am_t *am);

// Called when the message was sent, or refused: counts it, or removes its event. Returns `refused`.
int aq_encapsulated_end(const aq_encapsulated_t *encapsulated, int refused);

// Runs the client's handler of a message that came with this number. The message is dropped if this
// process has no such endpoint, or the endpoint does not accept the tag.
void aq_encapsulated_deliver(const aq_arrival_t *arrival, aq_ep_pair_t pair, aq_tag_t tag,
                             uint64_t number);
