// SPDX-License-Identifier: BSD-3-Clause
// The firehoses of this process into peers.
#pragma once

#include "firehose_state.h"

// Returns a peer, created if necessary. NULL: no memory (logged).
aq_firehose_peer_t *aq_firehose_peer_get(aq_firehose_t *firehose, uint32_t peer);
void aq_firehose_peer_end(aq_firehose_peer_t *peer);

// Serves a REVOKE.
void aq_firehose_remote_revoke(aq_firehose_peer_t *peer, const aq_firehose_message_t *request,
                               aq_firehose_message_t *answer);

// Processes a MOVED.
aq_status_t aq_firehose_remote_moved(aq_firehose_peer_t *peer, const aq_firehose_message_t *answer);
