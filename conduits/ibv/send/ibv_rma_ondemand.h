// SPDX-License-Identifier: BSD-3-Clause
// On-demand RMA: put and get into memory of a peer that is not registered, or for which this
// process has no key yet (segments LARGE and EVERYTHING). The peer is asked by messages of the
// conduit's own, which are requests and replies like those of the client: they take credits and use
// the same buffers.
//
//      put, get --miss--> transfer --MOVE (may have the data of a put)-------> peer: pins
//                            |     <--MOVED, with the key ------------------
//                            |------RDMA write or read --------------------->
//                            |
//                            '------COPY, when the peer can pin nothing ----> peer: copies
//                                  <--answer -------------------------------
//
// What is always true:
// - Nothing here waits. Messages (aq_ibv_deferred_msg) and transfers that find no room are kept,
//   and each poll tries them again.
// - A transfer that waits for a peer's process holds no buffer and no entry of a send queue, so
//   replies always find some as the device completes its operations. The source of a put that may
//   change meanwhile is therefore copied to memory of its own.
// - After asking, a transfer is owned by the thread that handles the answer.
#pragma once

#include "../../../core/ground/cookie.h"
#include "ibv_rma.h"
#include "ibv_send.h"

typedef struct aq_ibv_ondemand {
    const aq_conduit_env_t *env;
    const aq_ibv_limits_t *limits;
    const aq_ibv_peers_t *peers;
    aq_ibv_keys_t *keys;
    aq_ibv_sender_t *sender;
    aq_ibv_rma_path_t *path;
    aq_ibv_rma_begin_t *begin; // a put or get on that path
    // Makes the send thread, if there is one, call aq_ibv_ondemand_progress. Any thread.
    void (*wake)(void *sleeper);
    void *sleeper;
    aq_lock_t lock; // guards the two lists of what found no room
    struct aq_ibv_transfer *transfers;
    struct aq_ibv_deferred_msg *deferred;
    atomic_bool any;
    atomic_uint answers; // of the deferred messages
    atomic_uint begun;   // transfers that are not complete
    aq_lock_t copies_lock;
    aq_cookies_t copies;  // transfers whose COPY has not been answered yet
    atomic_ulong by_peer; // pieces that the peer has copied
} aq_ibv_ondemand_t;

// Begins a put or get that has to ask the peer for a key first, and removes what has begun from
// *rma. AQ_AGAIN: too many are outstanding.
aq_status_t aq_ibv_ondemand_begin(aq_ibv_ondemand_t *ondemand, aq_ibv_peer_t *link, aq_rma_t *rma);

// Sends a request of firehose to a peer; see aq_ibv_keys_setup_t. The context is an
// aq_ibv_ondemand_t.
void aq_ibv_ondemand_request(void *context, uint32_t peer, const aq_firehose_message_t *message,
                             const void *data, uint32_t data_bytes);

// Sends a message of kind AQ_IBV_RAILS, which gets no answer, as soon as there is room. The context
// is an aq_ibv_ondemand_t.
void aq_ibv_ondemand_say(void *context, aq_ibv_peer_t *link, const void *message, uint32_t bytes);

// Handles a message of kind AQ_IBV_FIREHOSE or AQ_IBV_COPY. A request is answered at once, or as
// soon as there is room.
void aq_ibv_ondemand_arrived(aq_ibv_ondemand_t *ondemand, aq_ibv_peer_t *link,
                             const aq_arrival_t *in);

// Continues what found no room. False: an answer still finds none, which lasts for moments only.
bool aq_ibv_ondemand_progress(aq_ibv_ondemand_t *ondemand);
