// SPDX-License-Identifier: BSD-3-Clause
// What a rank keeps of each other rank.
#pragma once

#include "msg_state.h"

// With the lock. Ends the job if memory is out.
void aq_msg_peers_make(void);
static inline aq_msg_peer_t *aq_msg_peer(uint32_t jobrank)
{
    if (__builtin_expect(!aq_msg.peers, 0))
        aq_msg_peers_make();
    return &aq_msg.peers[jobrank];
}

// Whether this process shares memory with a rank.
bool aq_msg_is_neighbour(uint32_t jobrank);

// Whether a message of so many bytes is sent to a rank at once if there are credits.
static inline bool aq_msg_is_eager(uint32_t jobrank, size_t nbytes)
{
    return nbytes <= aq_msg.eager_nbrhd ||
           (nbytes <= aq_msg.eager && !aq_msg_is_neighbour(jobrank));
}
