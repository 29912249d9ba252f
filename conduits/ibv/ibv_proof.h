// Proof of the job's key when a connection of conduit ibv is made, in the private data of
// librdmacm's messages:
//
//      caller                                  peer
//      request: nonce A, MAC  -------------->  holds, and A was never seen: queue pair, accept
//      holds for A: connected <--------------  accept: nonce B, MAC over A too
//
// The MAC is keyed BLAKE2b over its purpose (request or accept), who speaks to whom, A, and all
// that the message says, so that nobody without the key can change, for example, an address in it.
//
// - A recorded accept is worth nothing: A is new with each call.
// - A recorded request is worth nothing to another process or job, since ranks and the key are in
//   the MAC. The process that it was for keeps the nonces of all requests that it got, which are
//   few (AQ_IBV_CALLS_MOST from each peer), and refuses a request that it has seen.
// - What remains: an attacker on the network who holds a request back and delivers a copy of it as
//   his own before it was ever seen. He is accepted in place of the caller, whose own request is
//   then refused, so that the job ends with a sentence that names the rank. librdmacm lets a caller
//   say nothing after the accept, by which he could be told from it. Such an attacker gains little:
//   verbs devices neither encrypt nor authenticate what follows, so that he can read and forge
//   packets of every connection as well. The network of verbs devices has to be trusted.
#ifndef AQ_IBV_PROOF_H
#define AQ_IBV_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "../../spawner/boot.h"

enum {
    AQ_IBV_PROOF_BYTES = 16,
    AQ_IBV_NONCE_BYTES = 16,
    AQ_IBV_CALLS_MOST = 5, // calls to a peer, until it cannot be reached
};

// What both sides of a connection say first. In the byte order of the machine.
typedef struct aq_ibv_conn_private_data {
    uint8_t proof[AQ_IBV_PROOF_BYTES]; // of all that follows
    uint8_t nonce[AQ_IBV_NONCE_BYTES];
    uint64_t rings_at;
    uint32_t rank;
    uint32_t rings_key;
    uint16_t ring_depth; // 0: there are no rings
    uint16_t grant;      // requests that the other side may have under way
    uint8_t atomics;     // aq_ibv_atomics_t
    uint8_t unused[3];
} aq_ibv_conn_private_data_t;

_Static_assert(sizeof(aq_ibv_conn_private_data_t) == 56,
               "a request over InfiniBand has room for 56 bytes");

// Chooses a nonce for a request to rank `to`, and proves it. All else is in the hello already.
void aq_ibv_prove_call(const uint8_t key[AQ_KEY_BYTES], uint32_t to,
                       aq_ibv_conn_private_data_t *hello);
bool aq_ibv_call_holds(const uint8_t key[AQ_KEY_BYTES], uint32_t to,
                       const aq_ibv_conn_private_data_t *hello);

// The same for the accept of a request, whose nonce is called.
void aq_ibv_prove_accept(const uint8_t key[AQ_KEY_BYTES], uint32_t to,
                         const uint8_t called[AQ_IBV_NONCE_BYTES],
                         aq_ibv_conn_private_data_t *hello);
bool aq_ibv_accept_holds(const uint8_t key[AQ_KEY_BYTES], uint32_t to,
                         const uint8_t called[AQ_IBV_NONCE_BYTES],
                         const aq_ibv_conn_private_data_t *hello);

// The genuine requests that came from one peer.
typedef struct aq_ibv_heard {
    uint8_t nonces[AQ_IBV_CALLS_MOST][AQ_IBV_NONCE_BYTES];
    unsigned count;
} aq_ibv_heard_t;

// Notes one more. False: it was heard before, or is more than a peer makes.
bool aq_ibv_heard_note(aq_ibv_heard_t *heard, const uint8_t nonce[AQ_IBV_NONCE_BYTES]);

// Whether what came with a request to this rank, or with an accept of its call to `peer`, is from a
// process of the job, by the proof in it. Does not tell whether a request was heard before.
bool aq_ibv_request_genuine(const uint8_t key[AQ_KEY_BYTES], uint32_t rank, uint32_t size,
                            const void *data, size_t bytes, aq_ibv_conn_private_data_t *theirs);
bool aq_ibv_accept_genuine(const uint8_t key[AQ_KEY_BYTES], uint32_t rank, uint32_t peer,
                           const uint8_t called[AQ_IBV_NONCE_BYTES], const void *data, size_t bytes,
                           aq_ibv_conn_private_data_t *theirs);

#endif
