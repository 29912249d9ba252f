// SPDX-License-Identifier: BSD-3-Clause
// Where a message goes (aq_am_to_t), and the conduit and link that take it there (aq_path_t).
#pragma once

#include <stdint.h>

#include "../gasnetex_am.h"
#include "ep_pair.h"

struct aq_conduit;

// The conduit and the link by which a message reaches a peer.
typedef struct aq_path {
    struct aq_conduit *conduit;
    void *link;
} aq_path_t;

// The destination of a message.
typedef struct aq_am_to {
    uint32_t jobrank;
    aq_ep_pair_t ep_pair; // the endpoints of the message
    gex_Token_t token;    // of the request, if the message is its reply; NULL: it is a request
} aq_am_to_t;

// A request from endpoint 0 to endpoint 0 of a job rank.
static inline aq_am_to_t aq_am_to_rank(uint32_t jobrank)
{
    return (aq_am_to_t){.jobrank = jobrank};
}
