// SPDX-License-Identifier: BSD-3-Clause
// Keyed BLAKE2b of libsodium, over the nonces of both sides and a name for each purpose. caller.c,
// dial.c and the helper exchange the tags; seal.c takes the session keys.
#include "auth.h"

#include <sodium.h>
#include <string.h>

#include "../../other/base/log/log.h"

_Static_assert(AQ_KEY_BYTES >= crypto_generichash_KEYBYTES_MIN,
               "the key of the job is long enough for the hash");
_Static_assert(AQ_KEY_BYTES >= crypto_generichash_BYTES_MIN, "a key can be a hash");
_Static_assert(AQ_AUTH_BYTES == crypto_generichash_BYTES, "a tag is a keyed hash of 256 bits");
_Static_assert(AQ_SESSION_KEY_BYTES == crypto_generichash_BYTES,
               "a session key is a hash of 256 bits");

aq_status_t aq_auth_init(void)
{
    if (sodium_init() >= 0)
        return AQ_OK;
    aq_log_error("libsodium cannot start; install the package libsodium23 of this machine's "
                 "distribution");
    return AQ_ERR_RESOURCE;
}

void aq_auth_random(void *out, size_t length)
{
    randombytes_buf(out, length);
}

void aq_auth_key(const uint8_t *text, size_t length, uint8_t key[AQ_KEY_BYTES])
{
    static const char name[] = "aqueduct start, version 1, key of a job";
    (void)crypto_generichash(key, AQ_KEY_BYTES, text, length, (const uint8_t *)name, sizeof name);
}

// Hashes what both sides know. The name separates hashes of different purposes.
static void auth_hash(const aq_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], const char *name,
                      uint8_t out[crypto_generichash_BYTES])
{
    uint8_t node[4];
    crypto_generichash_state state;
    for (unsigned i = 0; i < sizeof node; i++)
        node[i] = (uint8_t)(auth->node >> (24 - 8 * i));
    (void)crypto_generichash_init(&state, key, AQ_KEY_BYTES, crypto_generichash_BYTES);
    (void)crypto_generichash_update(&state, (const uint8_t *)name, strlen(name) + 1);
    (void)crypto_generichash_update(&state, node, sizeof node);
    (void)crypto_generichash_update(&state, auth->caller, sizeof auth->caller);
    (void)crypto_generichash_update(&state, auth->listener, sizeof auth->listener);
    (void)crypto_generichash_final(&state, out, crypto_generichash_BYTES);
    sodium_memzero(&state, sizeof state);
}

void aq_auth_tag(const aq_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                 uint8_t out[AQ_AUTH_BYTES])
{
    auth_hash(auth, key,
              by_caller ? "aqueduct start, version 1, caller"
                        : "aqueduct start, version 1, listener",
              out);
}

void aq_auth_session_key(const aq_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                         uint8_t out[AQ_SESSION_KEY_BYTES])
{
    auth_hash(auth, key,
              by_caller ? "aqueduct start, version 1, key of the caller"
                        : "aqueduct start, version 1, key of the listener",
              out);
}

bool aq_auth_verify(const aq_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                    const uint8_t got[AQ_AUTH_BYTES])
{
    uint8_t wanted[AQ_AUTH_BYTES];
    aq_auth_tag(auth, key, by_caller, wanted);
    return sodium_memcmp(wanted, got, sizeof wanted) == 0;
}

uint64_t aq_boot_number(const uint8_t key[AQ_KEY_BYTES])
{
    static const char purpose[] = "aqueduct: the number of a job for those who watch";
    uint64_t number = 0;
    uint8_t hash[crypto_generichash_BYTES_MIN];
    if (sodium_init() < 0 || crypto_generichash(hash, sizeof hash, (const uint8_t *)purpose,
                                                sizeof purpose, key, AQ_KEY_BYTES) != 0)
        return 0;
    memcpy(&number, hash, sizeof number);
    return number;
}
