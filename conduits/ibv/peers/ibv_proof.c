// SPDX-License-Identifier: BSD-3-Clause
// Computes and checks the proofs with libsodium. ibv_connect_cm.c and ibv_connect_ud.c prove what
// they send; the checks precede every use of what arrives.
#include "ibv_proof.h"

#include <sodium.h>
#include <string.h>

static const uint8_t no_nonce[AQ_IBV_NONCE_BYTES];

// Anything else that is derived from the job's key uses another name.
static const char call_name[] = "aqueduct conduit ibv, version 3, request";
static const char accept_name[] = "aqueduct conduit ibv, version 3, accept";
static const char datagram_name[] = "aqueduct conduit ibv, version 3, datagram";

static void proof_make(const uint8_t key[AQ_KEY_BYTES], const char *name, uint32_t to,
                       const uint8_t called[AQ_IBV_NONCE_BYTES],
                       const aq_ibv_conn_private_data_t *hello, uint8_t proof[AQ_IBV_PROOF_BYTES])
{
    crypto_generichash_state state;
    (void)crypto_generichash_init(&state, key, AQ_KEY_BYTES, AQ_IBV_PROOF_BYTES);
    (void)crypto_generichash_update(&state, (const uint8_t *)name, strlen(name) + 1);
    (void)crypto_generichash_update(&state, (const uint8_t *)&to, sizeof to);
    (void)crypto_generichash_update(&state, called, AQ_IBV_NONCE_BYTES);
    (void)crypto_generichash_update(&state, hello->nonce, sizeof *hello - sizeof hello->proof);
    (void)crypto_generichash_final(&state, proof, AQ_IBV_PROOF_BYTES);
}

static bool proof_holds(const uint8_t key[AQ_KEY_BYTES], const char *name, uint32_t to,
                        const uint8_t called[AQ_IBV_NONCE_BYTES],
                        const aq_ibv_conn_private_data_t *hello)
{
    uint8_t proof[AQ_IBV_PROOF_BYTES];
    proof_make(key, name, to, called, hello, proof);
    return sodium_memcmp(proof, hello->proof, sizeof proof) == 0;
}

void aq_ibv_prove_call(const uint8_t key[AQ_KEY_BYTES], uint32_t to,
                       aq_ibv_conn_private_data_t *hello)
{
    randombytes_buf(hello->nonce, sizeof hello->nonce);
    proof_make(key, call_name, to, no_nonce, hello, hello->proof);
}

bool aq_ibv_call_holds(const uint8_t key[AQ_KEY_BYTES], uint32_t to,
                       const aq_ibv_conn_private_data_t *hello)
{
    return proof_holds(key, call_name, to, no_nonce, hello);
}

void aq_ibv_prove_accept(const uint8_t key[AQ_KEY_BYTES], uint32_t to,
                         const uint8_t called[AQ_IBV_NONCE_BYTES],
                         aq_ibv_conn_private_data_t *hello)
{
    randombytes_buf(hello->nonce, sizeof hello->nonce);
    proof_make(key, accept_name, to, called, hello, hello->proof);
}

bool aq_ibv_accept_holds(const uint8_t key[AQ_KEY_BYTES], uint32_t to,
                         const uint8_t called[AQ_IBV_NONCE_BYTES],
                         const aq_ibv_conn_private_data_t *hello)
{
    return proof_holds(key, accept_name, to, called, hello);
}

static void datagram_proof(const uint8_t key[AQ_KEY_BYTES], uint32_t to, const uint8_t *datagram,
                           size_t bytes, uint8_t proof[AQ_IBV_PROOF_BYTES])
{
    crypto_generichash_state state;
    (void)crypto_generichash_init(&state, key, AQ_KEY_BYTES, AQ_IBV_PROOF_BYTES);
    (void)crypto_generichash_update(&state, (const uint8_t *)datagram_name, sizeof datagram_name);
    (void)crypto_generichash_update(&state, (const uint8_t *)&to, sizeof to);
    (void)crypto_generichash_update(&state, datagram + AQ_IBV_PROOF_BYTES,
                                    bytes - AQ_IBV_PROOF_BYTES);
    (void)crypto_generichash_final(&state, proof, AQ_IBV_PROOF_BYTES);
}

void aq_ibv_prove_datagram(const uint8_t key[AQ_KEY_BYTES], uint32_t to, void *datagram,
                           size_t bytes)
{
    datagram_proof(key, to, datagram, bytes, datagram);
}

bool aq_ibv_datagram_holds(const uint8_t key[AQ_KEY_BYTES], uint32_t to, const void *datagram,
                           size_t bytes)
{
    uint8_t proof[AQ_IBV_PROOF_BYTES];
    datagram_proof(key, to, datagram, bytes, proof);
    return sodium_memcmp(proof, datagram, sizeof proof) == 0;
}

bool aq_ibv_nonces_note(aq_ibv_nonces_t *nonces, const uint8_t nonce[AQ_IBV_NONCE_BYTES])
{
    for (unsigned i = 0; i < nonces->count; i++)
        if (memcmp(nonces->all[i], nonce, AQ_IBV_NONCE_BYTES) == 0)
            return false;
    if (nonces->count == AQ_IBV_CALLS_MAX)
        return false;
    memcpy(nonces->all[nonces->count++], nonce, AQ_IBV_NONCE_BYTES);
    return true;
}

static bool private_data_read(const void *data, size_t bytes, aq_ibv_conn_private_data_t *theirs)
{
    if (!data || bytes < sizeof *theirs)
        return false;
    memcpy(theirs, data, sizeof *theirs);
    return true;
}

bool aq_ibv_request_genuine(const uint8_t key[AQ_KEY_BYTES], uint32_t rank, uint32_t size,
                            const void *data, size_t bytes, aq_ibv_conn_private_data_t *theirs)
{
    return private_data_read(data, bytes, theirs) && theirs->rank < size && theirs->rank != rank &&
           aq_ibv_call_holds(key, rank, theirs);
}

bool aq_ibv_accept_genuine(const uint8_t key[AQ_KEY_BYTES], const aq_ibv_call_t *call,
                           const void *data, size_t bytes, aq_ibv_conn_private_data_t *theirs)
{
    return private_data_read(data, bytes, theirs) && theirs->rank == call->to &&
           aq_ibv_accept_holds(key, call->from, call->nonce, theirs);
}
