// SPDX-License-Identifier: BSD-3-Clause
// Datagrams on their way out.
#pragma once

#include "udp_state.h"

// Datagrams to one peer that are sent together with few system calls. The caller holds the link's
// lock from the first datagram until the batch is sent.
enum { UDP_SEND_BATCH = 32 };
typedef struct udp_send_batch {
    unsigned count;
    udp_buffer_t *room; // memory for encrypted datagrams; NULL: not needed yet
    size_t room_used;
    udp_outgoing_t out[UDP_SEND_BATCH];
    struct iovec pieces[UDP_SEND_BATCH][3];
} udp_send_batch_t;

// How a put or a get reply is sent in a datagram of its own.
typedef struct udp_single {
    udp_send_batch_t *batch; // NULL: send it now
    bool in_place;           // the payload stays in place until the datagram is acknowledged
    bool wants_ack;          // the caller will wait for the acknowledgement
    atomic_uint *pending;    // of a put
} udp_single_t;

aq_status_t udp_send(aq_conduit_t *conduit, void *link, const aq_am_t *am);
bool udp_requests_flushed(aq_conduit_t *conduit, void *link, uint64_t *mark);

// With the link's lock held: the open datagram of a class, with room for a frame of `bytes` and for
// the completion of a put (pending is NULL otherwise). NULL: no room now.
udp_buffer_t *udp_datagram_for(udp_conduit_t *udp, udp_link_t *link, unsigned class, size_t bytes,
                               atomic_uint *pending);

// Sends the datagrams of a batch and empties it.
void udp_send_batch_flush(udp_conduit_t *udp, udp_send_batch_t *batch);

// With the link's lock held: sends a put or get reply in a datagram of its own. False: the flow has
// no room.
bool udp_send_single(udp_conduit_t *udp, udp_link_t *link, const udp_rma_t *rma, udp_single_t how,
                     uint64_t now);

// Adds the completion of a put to the datagram that carries the put. The caller has checked for
// room.
void udp_buffer_add_completion(udp_buffer_t *buffer, atomic_uint *pending);

// Sends the open datagrams of all links whose flows have room.
void udp_flush_dirty(udp_conduit_t *udp, uint64_t *now);

static inline void udp_flush(udp_conduit_t *udp, uint64_t *now)
{
    if (atomic_load_explicit(&udp->sending.any_dirty, memory_order_acquire))
        udp_flush_dirty(udp, now);
}

// With the link's lock held: retransmits a datagram with a current header.
void udp_send_again(udp_conduit_t *udp, udp_link_t *link, const udp_action_t *action, uint64_t now);

// With the link's lock held: sends a datagram of any kind but UDP_DATA, which has no frames.
void udp_send_plain(udp_conduit_t *udp, udp_link_t *link, udp_kind_t kind, unsigned class,
                    uint32_t epoch, uint64_t now);

// As udp_send_plain, for a request for an epoch or its confirmation, which is sent twice: all other
// traffic of the class waits for it, and a lossy network would delay it most.
void udp_send_epoch(udp_conduit_t *udp, udp_link_t *link, udp_kind_t kind, unsigned class,
                    uint32_t epoch, uint64_t now);
