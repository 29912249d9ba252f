#include "proof.h"

#include <sodium.h>
#include <string.h>

#include "../other/log.h"

_Static_assert(AQ_KEY_BYTES >= crypto_generichash_KEYBYTES_MIN, "the job's key is long enough");
_Static_assert(AQ_PROOF_BYTES == crypto_generichash_BYTES, "a keyed hash of 256 bits");

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

void aq_proof_make(const aq_proof_t *proof, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                   uint8_t out[AQ_PROOF_BYTES])
{
    // What else is derived from the job's key has another name here.
    static const uint8_t caller[] = "aqueduct start, version 1, caller";
    static const uint8_t listener[] = "aqueduct start, version 1, listener";
    uint8_t node[4];
    crypto_generichash_state state;
    for (unsigned i = 0; i < sizeof node; i++)
        node[i] = (uint8_t)(proof->node >> (24 - 8 * i));
    (void)crypto_generichash_init(&state, key, AQ_KEY_BYTES, AQ_PROOF_BYTES);
    (void)crypto_generichash_update(&state, by_caller ? caller : listener,
                                    by_caller ? sizeof caller : sizeof listener);
    (void)crypto_generichash_update(&state, node, sizeof node);
    (void)crypto_generichash_update(&state, proof->caller, sizeof proof->caller);
    (void)crypto_generichash_update(&state, proof->listener, sizeof proof->listener);
    (void)crypto_generichash_final(&state, out, AQ_PROOF_BYTES);
}

bool aq_proof_holds(const aq_proof_t *proof, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                    const uint8_t got[AQ_PROOF_BYTES])
{
    uint8_t wanted[AQ_PROOF_BYTES];
    aq_proof_make(proof, key, by_caller, wanted);
    return sodium_memcmp(wanted, got, sizeof wanted) == 0;
}
