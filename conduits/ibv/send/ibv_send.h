// SPDX-License-Identifier: BSD-3-Clause
// Messages out: takes everything that a message needs, all of it or nothing, then writes and posts
// the message.
//
//      request --> credit ---+
//      reply   --------------+--> entry of the send queue, bounce buffer --> shared receive queue
//      both, if the peer has granted a ring with a free slot ------------> that slot
//
// The receiver has a posted buffer for each credit, and for the reply to each request, so the
// device never has to wait for a receive buffer as long as there are no more peers than grants;
// beyond that it waits and retransmits by itself.
#pragma once

#include "../../../core/conduit.h"
#include "ibv_ring_writer.h"

typedef struct aq_ibv_sender {
    const aq_ibv_limits_t *limits;
    aq_ibv_buffers_t *buffers;
    aq_ibv_send_queue_t *queue;
    const aq_ibv_keys_t *keys;
    const aq_ibv_peers_t *peers;
    atomic_bool credits_due; // a hidden reply found no room
} aq_ibv_sender_t;

// See send of aq_conduit_ops_t.
aq_status_t aq_ibv_send(aq_ibv_sender_t *sender, aq_ibv_peer_t *link, const aq_am_t *am);

// Banks the credit of a request whose handler returned without a reply.
void aq_ibv_bank(aq_ibv_sender_t *sender, aq_ibv_peer_t *link);

// Sends the hidden replies that found no room before.
void aq_ibv_send_due(aq_ibv_sender_t *sender);

// Asks the peer to leave its ring here. False: there is no room for the request now.
bool aq_ibv_send_ask(aq_ibv_sender_t *sender, aq_ibv_peer_t *link);

// Answers such a request of the peer, which also returns its credit.
void aq_ibv_send_answer(aq_ibv_sender_t *sender, aq_ibv_peer_t *link);

// Cookie of a request that came through a ring and took no credit: its reply returns none.
#define AQ_IBV_COOKIE_RING UINT64_C(1)
