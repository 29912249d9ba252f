#include "udp_auth.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../other/log.h"
#include "../../other/settings.h"

_Static_assert((int)UDP_AUTH_BYTES == crypto_shorthash_siphash24_BYTES, "SipHash, 64 bits");
_Static_assert(AQ_KEY_BYTES >= crypto_generichash_KEYBYTES_MIN, "the job's key is long enough");

enum {
    LONGEST_FIELDS = 112, // the header, which one SipHash reads from one place ...
    DIGEST_BYTES = crypto_onetimeauth_poly1305_BYTES, // ... with this behind it
};

// ---- keys ----

aq_status_t udp_auth_derive(udp_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], udp_auth_mode_t mode,
                            bool checksum)
{
    // What else is derived from the job's key has another name here.
    static const uint8_t purpose[] = "aqueduct conduit udp, version 1";
    uint8_t keys[sizeof auth->header_key + sizeof auth->payload_key + sizeof auth->job_tag];
    if (sodium_init() < 0) {
        aq_log_error("libsodium cannot start on this machine: install the package libsodium23 that "
                     "belongs to it");
        return AQ_ERR_RESOURCE;
    }
    (void)crypto_generichash(keys, sizeof keys, purpose, sizeof purpose, key, AQ_KEY_BYTES);
    *auth = (udp_auth_t){.mode = mode, .checksum = checksum && mode != UDP_AUTH_FULL};
    memcpy(auth->header_key, keys, sizeof auth->header_key);
    memcpy(auth->payload_key, keys + sizeof auth->header_key, sizeof auth->payload_key);
    for (unsigned i = 0; i < sizeof auth->job_tag; i++) // the same number on every machine
        auth->job_tag = auth->job_tag << 8 | keys[sizeof keys - 1 - i];
    sodium_memzero(keys, sizeof keys);
    return AQ_OK;
}

static udp_auth_mode_t chosen_mode(void)
{
    const char *word = aq_settings_text(AQ_SET_UDP_AUTH);
    if (strcmp(word, "off") == 0)
        return UDP_AUTH_OFF;
    return strcmp(word, "full") == 0 ? UDP_AUTH_FULL : UDP_AUTH_HEADER;
}

aq_status_t udp_auth_start(udp_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], bool loopback)
{
    const char *checksum = aq_settings_text(AQ_SET_UDP_CHECKSUM);
    bool wanted = strcmp(checksum, "auto") == 0 ? !loopback : strcmp(checksum, "yes") == 0;
    return udp_auth_derive(auth, key, chosen_mode(), wanted);
}

// ---- checksum ----

static uint32_t checksum_of_pieces(const struct iovec *payload, unsigned count)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (unsigned i = 0; i < count; i++)
        XXH3_64bits_update(&state, payload[i].iov_base, payload[i].iov_len);
    return (uint32_t)XXH3_64bits_digest(&state);
}

uint32_t udp_auth_checksum(const udp_auth_t *auth, const struct iovec *payload, unsigned count)
{
    if (!auth->checksum)
        return 0;
    if (count == 1)
        return (uint32_t)XXH3_64bits(payload->iov_base, payload->iov_len);
    return checksum_of_pieces(payload, count);
}

bool udp_auth_intact(const udp_auth_t *auth, uint32_t checksum, const void *payload, size_t length)
{
    return !auth->checksum || (uint32_t)XXH3_64bits(payload, length) == checksum;
}

// ---- keyed hash ----

static void digest_payload(const udp_auth_t *auth, const struct iovec *payload, unsigned count,
                           uint8_t *digest)
{
    if (count == 1) {
        crypto_onetimeauth_poly1305(digest, payload->iov_base, payload->iov_len, auth->payload_key);
        return;
    }
    crypto_onetimeauth_poly1305_state state;
    crypto_onetimeauth_poly1305_init(&state, auth->payload_key);
    for (unsigned i = 0; i < count; i++)
        crypto_onetimeauth_poly1305_update(&state, payload[i].iov_base, payload[i].iov_len);
    crypto_onetimeauth_poly1305_final(&state, digest);
}

static void sign_full(const udp_auth_t *auth, const void *fields, size_t bytes,
                      const struct iovec *payload, unsigned count, uint8_t *hash)
{
    uint8_t all[LONGEST_FIELDS + DIGEST_BYTES];
    if (bytes > LONGEST_FIELDS)
        abort(); // the header has outgrown this place
    memcpy(all, fields, bytes);
    digest_payload(auth, payload, count, all + bytes);
    crypto_shorthash_siphash24(hash, all, bytes + DIGEST_BYTES, auth->header_key);
}

void udp_auth_sign(const udp_auth_t *auth, const void *fields, size_t bytes,
                   const struct iovec *payload, unsigned count, uint8_t hash[UDP_AUTH_BYTES])
{
    if (auth->mode == UDP_AUTH_HEADER)
        crypto_shorthash_siphash24(hash, fields, bytes, auth->header_key);
    else if (auth->mode == UDP_AUTH_FULL)
        sign_full(auth, fields, bytes, payload, count, hash);
    else
        memset(hash, 0, UDP_AUTH_BYTES);
}

bool udp_auth_genuine(const udp_auth_t *auth, const void *fields, size_t bytes, const void *payload,
                      size_t length, const uint8_t hash[UDP_AUTH_BYTES])
{
    if (auth->mode == UDP_AUTH_OFF)
        return true;
    uint8_t right[UDP_AUTH_BYTES];
    struct iovec piece = {(void *)(uintptr_t)payload, length};
    udp_auth_sign(auth, fields, bytes, &piece, 1, right);
    return udp_auth_same(right, hash);
}
