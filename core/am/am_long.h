// SPDX-License-Identifier: BSD-3-Clause
// Sends a Long of any length between any endpoints.
#pragma once

#include "am.h"

// How a Long travels.
typedef enum aq_long_way {
    AQ_LONG_WHOLE,     // in one message
    AQ_LONG_FRAGMENTS, // long_fragment.h
    AQ_LONG_REFUSED,   // without its payload, since its target drops it
} aq_long_way_t;

aq_long_way_t aq_long_way(aq_am_to_t to, const aq_am_t *am);

// As aq_am_send, by the way that aq_long_way has returned. With IMMEDIATE, too, the call blocks if
// the Long takes several messages. number: of a Long in fragments in the trace; 0: none.
int aq_am_send_long(aq_am_to_t to, const aq_am_t *am, gex_Flags_t flags, aq_long_way_t way,
                    uint64_t number);
