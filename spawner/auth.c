#include "auth.h"

#include <sodium.h>
#include <string.h>

#include "../other/base/log.h"

_Static_assert(AQ_KEY_BYTES >= crypto_generichash_KEYBYTES_MIN, "the job's key is long enough");
_Static_assert(AQ_PROOF_BYTES == crypto_generichash_BYTES, "a keyed hash of 256 bits");
_Static_assert(AQ_SESSION_KEY_BYTES == crypto_generichash_BYTES, "and so is a session key");

aq_status_t aq_proof_start(void)
{
    if (sodium_init() >= 0)
        return AQ_OK;
    aq_log_error("libsodium cannot start on this machine: install the package libsodium23 that "
                 "belongs to it");
    return AQ_ERR_RESOURCE;
}

void aq_proof_random(void *out, size_t length)
{
    randombytes_buf(out, length);
}

// Hashes what both sides know, under a name that says what the result is for.
static void proof_hash(const aq_proof_t *proof, const uint8_t key[AQ_KEY_BYTES], const char *name,
                       uint8_t out[crypto_generichash_BYTES])
{
    uint8_t node[4];
    crypto_generichash_state state;
    for (unsigned i = 0; i < sizeof node; i++)
        node[i] = (uint8_t)(proof->node >> (24 - 8 * i));
    (void)crypto_generichash_init(&state, key, AQ_KEY_BYTES, crypto_generichash_BYTES);
    (void)crypto_generichash_update(&state, (const uint8_t *)name, strlen(name) + 1);
    (void)crypto_generichash_update(&state, node, sizeof node);
    (void)crypto_generichash_update(&state, proof->caller, sizeof proof->caller);
    (void)crypto_generichash_update(&state, proof->listener, sizeof proof->listener);
    (void)crypto_generichash_final(&state, out, crypto_generichash_BYTES);
    sodium_memzero(&state, sizeof state);
}

void aq_proof_make(const aq_proof_t *proof, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                   uint8_t out[AQ_PROOF_BYTES])
{
    proof_hash(proof, key,
               by_caller ? "aqueduct start, version 1, caller"
                         : "aqueduct start, version 1, listener",
               out);
}

void aq_proof_session_key(const aq_proof_t *proof, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                          uint8_t out[AQ_SESSION_KEY_BYTES])
{
    proof_hash(proof, key,
               by_caller ? "aqueduct start, version 1, key of the caller"
                         : "aqueduct start, version 1, key of the listener",
               out);
}

bool aq_proof_holds(const aq_proof_t *proof, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                    const uint8_t got[AQ_PROOF_BYTES])
{
    uint8_t wanted[AQ_PROOF_BYTES];
    aq_proof_make(proof, key, by_caller, wanted);
    return sodium_memcmp(wanted, got, sizeof wanted) == 0;
}
