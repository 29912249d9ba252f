// SPDX-License-Identifier: BSD-3-Clause
// The datagrams by which connections are made without librdmacm (ibv_connect_ud.h): what a datagram
// says, how it is written, and the checks of one that arrives.
//
//      [ private data: proof, ranks, endpoints, ... ][ flags, count, shared receive queue, rings ]
//      [ queue pair ] ... count times
//
// The private data are those of librdmacm's messages (ibv_proof.h), and their proof covers the
// whole datagram. One datagram carries the numbers of all queue pairs of a link, one or more for
// each rail. With XRC (ibv_xrc.h) it carries the number of the shared receive queue, and of queue
// pairs the sending one and, with AQ_IBV_SAYS_KNOWN, the receiving one.
//
// All datagrams of one side about one round of a link say the same, except for the flags, whose
// order does not matter (ibv_handshake.h). So a datagram that an attacker has recorded and replays
// is one more duplicate. It has no effect on another process or job, since the proof covers the
// ranks and depends on the key of the job.
#pragma once

#include "ibv_proof.h"
#include "../verbs/ibv_queue_pair.h"

enum {
    AQ_IBV_PAIRS_MAX = 16, // queue pairs of a link; a datagram has to fit into every network's MTU
};

// What a datagram says, in the byte order of the machine.
typedef struct aq_ibv_datagram {
    aq_ibv_conn_private_data_t peer; // what the sender says of itself
    uint16_t flags;                  // AQ_IBV_SAYS_...
    uint16_t count;                  // queue pairs; 0: a refusal
    uint32_t srq;                    // number of the shared receive queue; 0: no XRC
    uint32_t rings_key;              // of the rings of the sender, at the port of its queue pair
    uint32_t round;                  // of the handshake
    aq_ibv_pair_info_t pairs[AQ_IBV_PAIRS_MAX];
} aq_ibv_datagram_t;

_Static_assert(sizeof(aq_ibv_pair_info_t) == 32 && sizeof(aq_ibv_datagram_t) == 72 + 16 * 32,
               "a datagram travels without padding");

// Bytes of a datagram with so many queue pairs.
static inline size_t aq_ibv_datagram_bytes(unsigned count)
{
    return offsetof(aq_ibv_datagram_t, pairs) + count * sizeof(aq_ibv_pair_info_t);
}

// Reads a datagram that has arrived at this rank. True: its proof holds, and every field is in its
// range, so that *out may be used; all bytes of *out beyond the datagram are 0. False: it is not
// from a process of the job, and has to be ignored.
bool aq_ibv_datagram_read(const uint8_t key[AQ_KEY_BYTES], uint32_t rank, uint32_t size,
                          const void *bytes, size_t count, aq_ibv_datagram_t *out);
