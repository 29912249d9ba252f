// SPDX-License-Identifier: BSD-3-Clause
// Proof of the job's key when a connection of conduit ibv is made, in the private data of the
// messages of librdmacm:
//
//      caller                                  peer
//      request: nonce A, MAC ---------------->  valid, and A is new: queue pair, accept
//      valid for A: connected <---------------  accept: nonce B, MAC that covers A
//
// The MAC is keyed BLAKE2b over its purpose (request or accept), both ranks, A, and all the rest of
// the message, so that without the key nobody can change, for example, an address or an endpoint
// in it.
//
// - Replay of an accept fails: A is new with each call.
// - Replay of a request to another process or job fails, since the MAC covers the ranks and depends
//   on the key. Replay to the same process fails, since it keeps the nonces of all requests that it
//   received, which are few (AQ_IBV_CALLS_MAX from each peer), and refuses a nonce that it knows.
// - What remains: an attacker on the network who delays a request and delivers a copy of it first.
//   The attacker is accepted in place of the caller. The caller's own request is then refused, so
//   the job ends with a message that names the rank. librdmacm has no message from the caller after
//   the accept, in which the caller could prove itself. Such an attacker gains little: verbs
//   devices neither encrypt nor authenticate what follows, so the attacker could read and forge
//   packets of every connection anyway. The network of verbs devices has to be trusted.
//
// Connections that are made by datagrams (ibv_datagram.h) have the same proof, without that
// weakness.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../spawner/boot/boot.h"

enum {
    AQ_IBV_PROOF_BYTES = 16,
    AQ_IBV_NONCE_BYTES = 16,
    AQ_IBV_CALLS_MAX = 5,    // calls to a peer before it counts as unreachable
    AQ_IBV_ENDPOINTS = 1024, // of a process, as many as the private data can name
};

// The private data of request and accept, in the byte order of the machine.
typedef struct aq_ibv_conn_private_data {
    uint8_t proof[AQ_IBV_PROOF_BYTES]; // covers all that follows
    uint8_t nonce[AQ_IBV_NONCE_BYTES];
    uint64_t rings_at;
    uint32_t rank;
    uint32_t rings_key;
    uint32_t endpoint : 10;    // that sends this
    uint32_t to_endpoint : 10; // that this is for
    uint32_t ring_depth : 6;   // 0: there are no rings
    uint32_t atomics : 2;      // aq_ibv_atomics_t
    uint32_t unused : 4;
    uint16_t grant;  // requests that the other side may have outstanding
    uint16_t number; // of a window: with which messages of the other side name it; else 0
} aq_ibv_conn_private_data_t;

_Static_assert(sizeof(aq_ibv_conn_private_data_t) == 56,
               "a request over InfiniBand has room for 56 bytes");

// Adds a nonce and the proof for a request to rank `to`. Everything else has been filled in.
void aq_ibv_prove_call(const uint8_t key[AQ_KEY_BYTES], uint32_t to,
                       aq_ibv_conn_private_data_t *hello);
bool aq_ibv_call_holds(const uint8_t key[AQ_KEY_BYTES], uint32_t to,
                       const aq_ibv_conn_private_data_t *hello);

// The same for the accept of a request whose nonce is `called`.
void aq_ibv_prove_accept(const uint8_t key[AQ_KEY_BYTES], uint32_t to,
                         const uint8_t called[AQ_IBV_NONCE_BYTES],
                         aq_ibv_conn_private_data_t *hello);
bool aq_ibv_accept_holds(const uint8_t key[AQ_KEY_BYTES], uint32_t to,
                         const uint8_t called[AQ_IBV_NONCE_BYTES],
                         const aq_ibv_conn_private_data_t *hello);

// The same for a datagram of ibv_datagram.h to rank `to`: bytes, at least AQ_IBV_PROOF_BYTES, whose
// first AQ_IBV_PROOF_BYTES are the proof of all the others. It has no nonce of its own, since all
// datagrams about a connection say the same: a copy of one changes nothing.
void aq_ibv_prove_datagram(const uint8_t key[AQ_KEY_BYTES], uint32_t to, void *datagram,
                           size_t bytes);
bool aq_ibv_datagram_holds(const uint8_t key[AQ_KEY_BYTES], uint32_t to, const void *datagram,
                           size_t bytes);

// The nonces of the genuine requests from one peer.
typedef struct aq_ibv_nonces {
    uint8_t all[AQ_IBV_CALLS_MAX][AQ_IBV_NONCE_BYTES];
    unsigned count;
} aq_ibv_nonces_t;

// Records a request. False: it is a repetition, or exceeds the number of calls that a peer makes.
bool aq_ibv_nonces_note(aq_ibv_nonces_t *nonces, const uint8_t nonce[AQ_IBV_NONCE_BYTES]);

// A call of one rank to another.
typedef struct aq_ibv_call {
    uint32_t from, to;
    const uint8_t *nonce; // AQ_IBV_NONCE_BYTES of its request
} aq_ibv_call_t;

// Whether what came with a request to this rank, or with an accept of its call, is from a process
// of the job, by the proof in it. Does not check whether the request is a repetition.
bool aq_ibv_request_genuine(const uint8_t key[AQ_KEY_BYTES], uint32_t rank, uint32_t size,
                            const void *data, size_t bytes, aq_ibv_conn_private_data_t *theirs);
bool aq_ibv_accept_genuine(const uint8_t key[AQ_KEY_BYTES], const aq_ibv_call_t *call,
                           const void *data, size_t bytes, aq_ibv_conn_private_data_t *theirs);

// Whether a peer's private data belong to a connection from its endpoint `from` to endpoint `to` of
// this process.
static inline bool aq_ibv_private_data_between(const aq_ibv_conn_private_data_t *theirs,
                                               uint32_t from, uint32_t to)
{
    return theirs->endpoint == from && theirs->to_endpoint == to;
}
