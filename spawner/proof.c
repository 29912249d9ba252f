#include "proof.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "../other/log.h"

_Static_assert(AQ_KEY_BYTES >= crypto_generichash_KEYBYTES_MIN, "the job's key is long enough");
_Static_assert(AQ_PROOF_BYTES == crypto_generichash_BYTES, "a keyed hash of 256 bits");

#define NONCE crypto_secretbox_NONCEBYTES
#define SEAL (NONCE + crypto_secretbox_MACBYTES) // bytes that a sealed text is longer

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

// ---- sealed texts: | nonce | encrypted, with what authenticates it | ----

static void sealing_key(const uint8_t key[AQ_KEY_BYTES], uint8_t out[crypto_secretbox_KEYBYTES])
{
    static const uint8_t name[] = "aqueduct start, version 1, job";
    (void)crypto_generichash(out, crypto_secretbox_KEYBYTES, name, sizeof name, key, AQ_KEY_BYTES);
}

static aq_bytes_t room_for(size_t length)
{
    uint8_t *data = malloc(length > 0 ? length : 1);
    return (aq_bytes_t){.data = data, .used = length, .room = length, .failed = data == NULL};
}

aq_bytes_t aq_proof_seal(const aq_bytes_t *plain, const uint8_t key[AQ_KEY_BYTES])
{
    uint8_t derived[crypto_secretbox_KEYBYTES];
    aq_bytes_t sealed = room_for(plain->used + SEAL);
    sealed.failed = sealed.failed || plain->failed;
    if (sealed.failed)
        return sealed;
    sealing_key(key, derived);
    aq_proof_random(sealed.data, NONCE);
    (void)crypto_secretbox_easy(sealed.data + NONCE, plain->data, plain->used, sealed.data,
                                derived);
    sodium_memzero(derived, sizeof derived);
    return sealed;
}

aq_bytes_t aq_proof_open(const uint8_t *sealed, size_t length, const uint8_t key[AQ_KEY_BYTES])
{
    uint8_t derived[crypto_secretbox_KEYBYTES];
    if (length < SEAL)
        return (aq_bytes_t){.failed = true};
    aq_bytes_t plain = room_for(length - SEAL);
    if (plain.failed)
        return plain;
    sealing_key(key, derived);
    plain.failed = crypto_secretbox_open_easy(plain.data, sealed + NONCE, length - NONCE, sealed,
                                              derived) != 0;
    sodium_memzero(derived, sizeof derived);
    return plain;
}
