// SPDX-License-Identifier: BSD-3-Clause
// The endpoints of a message: that of its sender and that of its receiver.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../gasnetex_core.h"

// The endpoints of a message; both 0 where it needs no header.
typedef struct aq_ep_pair {
    _Alignas(4) gex_EP_Index_t from; // of the sender
    gex_EP_Index_t to;               // of the receiver
} aq_ep_pair_t;

// Both indices as one number, since each message tests whether it needs a header.
static inline uint32_t aq_ep_pair_word(aq_ep_pair_t pair)
{
    uint32_t both;
    memcpy(&both, &pair, sizeof both);
    return both;
}

static inline bool aq_ep_pair_needs_header(aq_ep_pair_t pair)
{
    return aq_ep_pair_word(pair) != 0;
}
