// SPDX-License-Identifier: BSD-3-Clause
// The route of a message: the endpoints of its sender and of its receiver.
#ifndef AQ_ROUTE_H
#define AQ_ROUTE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../gasnetex_core.h"

// The endpoints of a message; both 0 where it needs no route.
typedef struct aq_route {
    _Alignas(4) gex_EP_Index_t from; // of the sender
    gex_EP_Index_t to;               // of the receiver
} aq_route_t;

// Both indices as one number, since each message tests whether it needs a route.
static inline uint32_t aq_route_word(aq_route_t route)
{
    uint32_t both;
    memcpy(&both, &route, sizeof both);
    return both;
}

static inline bool aq_route_needed(aq_route_t route)
{
    return aq_route_word(route) != 0;
}

#endif
