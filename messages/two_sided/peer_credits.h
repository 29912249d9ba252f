// SPDX-License-Identifier: BSD-3-Clause
// The credits that this rank has used at a peer, and the peer's credits here. msg_credits.h
// describes how both use it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Of a peer; all zero at first. Under aq_msg.lock.
typedef struct aq_msg_credits {
    size_t used;      // at the peer
    size_t given;     // here, but not yet reported to the peer
    size_t kept;      // here, of its messages with two sides that no receive has taken
    uint32_t changes; // of the peer, as reported; odd: it has stopped
    uint32_t told;    // of the changes of this rank, the last one that the peer was told of
    bool has_sent;    // large messages of it have arrived
    bool listed;      // the task has something to do for the peer
    bool changed;     // and for the peer it has to call the client
    struct aq_msg_credits *next;
} aq_msg_credits_t;
