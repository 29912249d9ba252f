// SPDX-License-Identifier: BSD-3-Clause
// Derives keys from the key of the job, and makes and verifies proofs and checksums. udp_send.c
// signs datagrams with it, udp_receive.c verifies them.
#include "udp_auth.h"
#include "../profile/udp_profile.h"

#include <endian.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/settings/settings.h"

enum {
    HASH_BYTES = crypto_shorthash_siphash24_BYTES,
    DIGEST_BYTES = crypto_onetimeauth_poly1305_BYTES,
    FIELDS_MAX = UDP_HEADER_MAX - UDP_PROOF_BYTES,
    FRONT_MAX = UDP_FRAME_BYTES + AQ_AM_MAX_ARGS * 4 + 8,
};

_Static_assert(HASH_BYTES == sizeof(uint64_t), "a hash is one number");
_Static_assert(AQ_KEY_BYTES >= crypto_generichash_KEYBYTES_MIN,
               "the key of the job is long enough for the hash");

static const char *const mode_names[] = {
    [UDP_AUTH_OFF] = "off",   [UDP_AUTH_TOKEN] = "token",     [UDP_AUTH_HEADER] = "header",
    [UDP_AUTH_FULL] = "full", [UDP_AUTH_ENCRYPT] = "encrypt",
};

const char *udp_auth_name(udp_auth_mode_t mode)
{
    return mode_names[mode];
}

const char *udp_auth_promise(udp_auth_mode_t mode)
{
    static const char *const promises[] = {
        [UDP_AUTH_OFF] = "nothing is protected: anybody who reaches the ports can forge messages",
        [UDP_AUTH_TOKEN] =
            "stops other users of this host; an attacker who captures packets can forge anything",
        [UDP_AUTH_HEADER] = "stops forged, replayed and redirected messages; an attacker on the "
                            "path can read everything and alter data",
        [UDP_AUTH_FULL] = "stops forged, replayed and altered messages; an attacker on the path "
                          "can read everything",
        [UDP_AUTH_ENCRYPT] = "nobody without the job's key reads, forges, replays or alters "
                             "anything; datagrams can be dropped and delayed",
    };
    return promises[mode];
}

// ---- keys ----

// Derives a key for one purpose from the job's key. Each purpose has a different name.
static void key_derive(const uint8_t key[AQ_KEY_BYTES], const char *purpose, uint8_t *out,
                       size_t bytes)
{
    (void)crypto_generichash(out, bytes, (const uint8_t *)purpose, strlen(purpose) + 1, key,
                             AQ_KEY_BYTES);
}

aq_status_t udp_auth_derive(udp_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], udp_auth_mode_t mode,
                            bool checksum)
{
    uint8_t tag[crypto_generichash_BYTES_MIN];
    if (sodium_init() < 0) {
        aq_log_error("libsodium cannot start; install the package libsodium23 of this machine's "
                     "distribution");
        return AQ_ERR_RESOURCE;
    }
    *auth = (udp_auth_t){.mode = mode, .checksum = checksum && mode < UDP_AUTH_FULL};
    key_derive(key, "aqueduct conduit udp, version 4, tag", tag, sizeof tag);
    key_derive(key, "aqueduct conduit udp, version 4, header", auth->header_key,
               sizeof auth->header_key);
    key_derive(key, "aqueduct conduit udp, version 4, payload", auth->payload_key,
               sizeof auth->payload_key);
    key_derive(key, "aqueduct conduit udp, version 4, seal", auth->seal_key, sizeof auth->seal_key);
    for (unsigned i = 0; i < sizeof auth->job_tag; i++) // the same number with any byte order
        auth->job_tag = auth->job_tag << 8 | tag[i];
    return AQ_OK;
}

udp_auth_mode_t udp_auth_chosen(bool loopback)
{
    const char *word = aq_setting_text(aq_udp_setting(UDP_SET_AUTH));
    for (udp_auth_mode_t mode = UDP_AUTH_OFF; mode <= UDP_AUTH_ENCRYPT; mode++)
        if (strcmp(word, mode_names[mode]) == 0)
            return mode;
    return loopback ? UDP_AUTH_TOKEN : UDP_AUTH_ENCRYPT;
}

aq_status_t udp_auth_start(udp_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], bool loopback)
{
    const char *checksum = aq_setting_text(aq_udp_setting(UDP_SET_CHECKSUM));
    bool wanted = strcmp(checksum, "auto") == 0 ? !loopback : strcmp(checksum, "yes") == 0;
    return udp_auth_derive(auth, key, udp_auth_chosen(loopback), wanted);
}

typedef struct udp_pair {
    uint32_t source, dest;
    uint64_t generation;
} udp_pair_t;

static udp_pair_t pair_make(uint32_t source, uint32_t dest, uint64_t generation)
{
    return (udp_pair_t){htole32(source), htole32(dest), htole64(generation)};
}

uint64_t udp_auth_token(const udp_auth_t *auth, uint32_t source, uint32_t dest)
{
    const udp_pair_t pair = pair_make(source, dest, 0);
    uint64_t token;
    crypto_shorthash_siphash24((uint8_t *)&token, (const uint8_t *)&pair, sizeof pair,
                               auth->header_key);
    return token;
}

void udp_auth_seal_key(const udp_auth_t *auth, uint32_t source, uint32_t dest, uint64_t generation,
                       uint8_t out[UDP_SEAL_KEY_BYTES])
{
    const udp_pair_t pair = pair_make(source, dest, generation);
    (void)crypto_generichash(out, UDP_SEAL_KEY_BYTES, (const uint8_t *)&pair, sizeof pair,
                             auth->seal_key, sizeof auth->seal_key);
}

// ---- checksum ----

static uint64_t checksum_pieces(const struct iovec *pieces, unsigned count, uint64_t seed)
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, seed);
    for (unsigned i = 0; i < count; i++)
        XXH3_64bits_update(&state, pieces[i].iov_base, pieces[i].iov_len);
    return XXH3_64bits_digest(&state);
}

// The checksum of the fields, with the checksum itself as 0, and of the frames.
static uint32_t checksum_of(const uint8_t *datagram, size_t header, const struct iovec *frames,
                            unsigned count)
{
    const uint64_t seed = XXH3_64bits(datagram + UDP_PROOF_BYTES, header - (size_t)UDP_PROOF_BYTES);
    if (count == 0)
        return (uint32_t)seed;
    if (count == 1)
        return (uint32_t)XXH3_64bits_withSeed(frames->iov_base, frames->iov_len, seed);
    return (uint32_t)checksum_pieces(frames, count, seed);
}

bool udp_auth_intact(const udp_auth_t *auth, const udp_header_t *header, const uint8_t *datagram)
{
    uint8_t copy[UDP_HEADER_MAX];
    const size_t head = udp_header_bytes(header);
    const struct iovec frames = {(void *)(uintptr_t)(datagram + head), header->bytes - head};
    if (!auth->checksum)
        return true;
    memcpy(copy, datagram, head);
    udp_header_set_checksum(copy, 0);
    return checksum_of(copy, head, &frames, frames.iov_len > 0) == header->checksum;
}

// ---- keyed hashes ----

static uint64_t hash_fields(const udp_auth_t *auth, const uint8_t *datagram, size_t header)
{
    uint64_t hash;
    crypto_shorthash_siphash24((uint8_t *)&hash, datagram + UDP_PROOF_BYTES,
                               header - (size_t)UDP_PROOF_BYTES, auth->header_key);
    return hash;
}

// Each hash covers the previous one and a front. The length in the header determines where the last
// frame ends, so that no frame can be added or removed.
static bool hash_fronts(const udp_auth_t *auth, const udp_header_t *header, const uint8_t *frames,
                        size_t at_hand, uint64_t *hash)
{
    uint8_t link[HASH_BYTES + FRONT_MAX];
    udp_extent_t extent;
    const size_t bytes = header->bytes - udp_header_bytes(header);
    for (size_t at = 0; at < bytes; at += extent.whole) {
        if (at > at_hand ||
            !udp_frame_measure(frames + at, at_hand - at, bytes - at, header->class, &extent))
            return false;
        memcpy(link, hash, HASH_BYTES);
        memcpy(link + HASH_BYTES, frames + at, extent.front);
        crypto_shorthash_siphash24((uint8_t *)hash, link, HASH_BYTES + extent.front,
                                   auth->header_key);
    }
    return true;
}

static void digest_frames(const udp_auth_t *auth, const struct iovec *frames, unsigned count,
                          uint8_t *digest)
{
    crypto_onetimeauth_poly1305_state state;
    if (count == 1) {
        crypto_onetimeauth_poly1305(digest, frames->iov_base, frames->iov_len, auth->payload_key);
        return;
    }
    crypto_onetimeauth_poly1305_init(&state, auth->payload_key);
    for (unsigned i = 0; i < count; i++)
        crypto_onetimeauth_poly1305_update(&state, frames[i].iov_base, frames[i].iov_len);
    crypto_onetimeauth_poly1305_final(&state, digest);
}

static uint64_t hash_all(const udp_auth_t *auth, const uint8_t *datagram, size_t header,
                         const struct iovec *frames, unsigned count)
{
    uint8_t all[FIELDS_MAX + DIGEST_BYTES];
    uint64_t hash;
    const size_t fields = header - UDP_PROOF_BYTES;
    memcpy(all, datagram + UDP_PROOF_BYTES, fields);
    digest_frames(auth, frames, count, all + fields);
    crypto_shorthash_siphash24((uint8_t *)&hash, all, fields + DIGEST_BYTES, auth->header_key);
    return hash;
}

// The proof in the modes without hashes.
static uint64_t proof_plain(const udp_auth_t *auth, uint64_t token)
{
    return auth->mode == UDP_AUTH_TOKEN ? token : 0;
}

// Computes the proof of a datagram in a mode with hashes; in others leaves *proof as it is. False:
// the fronts are not those of valid frames, or not readable.
static bool proof_hash(const udp_auth_t *auth, const udp_header_t *header, const uint8_t *datagram,
                       const struct iovec *frames, unsigned count, uint64_t *proof)
{
    const size_t head = udp_header_bytes(header);
    if (auth->mode == UDP_AUTH_FULL)
        *proof = hash_all(auth, datagram, head, frames, count);
    if (auth->mode != UDP_AUTH_HEADER)
        return true;
    *proof = hash_fields(auth, datagram, head);
    if (!count)
        return header->bytes == head;
    return hash_fronts(auth, header, frames->iov_base, frames->iov_len, proof);
}

void udp_auth_sign(const udp_auth_t *auth, uint8_t *datagram, const udp_header_t *header,
                   const struct iovec *frames, unsigned count, uint64_t token)
{
    uint64_t proof = proof_plain(auth, token);
    if (auth->checksum)
        udp_header_set_checksum(datagram,
                                checksum_of(datagram, udp_header_bytes(header), frames, count));
    if (!proof_hash(auth, header, datagram, frames, count, &proof))
        abort(); // this process wrote frames that it cannot decode
    memcpy(datagram, &proof, sizeof proof);
}

bool udp_auth_genuine(const udp_auth_t *auth, const udp_header_t *header, const uint8_t *datagram,
                      size_t at_hand, uint64_t token)
{
    const size_t head = udp_header_bytes(header);
    const struct iovec frames = {(void *)(uintptr_t)(datagram + head), at_hand - head};
    uint64_t proof = proof_plain(auth, token), got;
    if (auth->mode == UDP_AUTH_OFF)
        return true;
    memcpy(&got, datagram, sizeof got);
    return proof_hash(auth, header, datagram, &frames, frames.iov_len > 0, &proof) &&
           got == proof; // one instruction, whose duration leaks nothing
}
