// SPDX-License-Identifier: BSD-3-Clause
// Encrypts and decrypts datagrams, with the key of their generation: short texts by libsodium, long
// ones by udp_seal_bulk.c. udp_send.c and udp_receive.c call it.
#include "udp_seal.h"

#include <endian.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "udp_seal_bulk.h"

enum {
    BULK_MIN = 512, // from this size on OpenSSL is faster than libsodium
    NONCE_BYTES = crypto_aead_aes256gcm_NPUBBYTES,
};

_Static_assert((int)crypto_aead_aes256gcm_NPUBBYTES == crypto_aead_chacha20poly1305_IETF_NPUBBYTES,
               "both ciphers have nonces of 96 bits");
_Static_assert((int)UDP_SEAL_TAG_BYTES == crypto_aead_aes256gcm_ABYTES, "tags of 128 bits");
_Static_assert((int)UDP_SEAL_TAG_BYTES == crypto_aead_chacha20poly1305_IETF_ABYTES,
               "tags of 128 bits");
_Static_assert((int)UDP_SEAL_KEY_BYTES == crypto_aead_aes256gcm_KEYBYTES, "keys of 256 bits");

struct udp_seal_key {
    crypto_aead_aes256gcm_state aes;
    uint64_t generation;
    udp_cipher_t cipher;
    uint8_t raw[UDP_SEAL_KEY_BYTES];
    bool encrypts;
    bool bulk_sought;
    void *bulk; // owned; NULL: not sought yet, or libsodium does everything
};

static bool uses_bulk;

bool udp_seal_has_aes(void)
{
    return sodium_init() >= 0 && crypto_aead_aes256gcm_is_available();
}

void udp_seal_use_bulk(void)
{
    uses_bulk = true;
}

static void bulk_load(void)
{
    (void)udp_bulk_load();
}

// Loading OpenSSL takes longer than the rest of a short job's start, and many jobs send no long
// texts.
static bool bulk_is_loaded(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    return uses_bulk && pthread_once(&once, bulk_load) == 0;
}

const char *udp_seal_bulk_name(void)
{
    const char *name = bulk_is_loaded() ? udp_bulk_name() : NULL;
    return name ? name : "libsodium";
}

// ---- keys ----

static udp_seal_key_t *key_new(const udp_seal_t *seal, uint64_t generation, bool encrypt)
{
    udp_seal_key_t *key = aligned_alloc(_Alignof(udp_seal_key_t), sizeof *key);
    if (!key)
        return NULL;
    key->generation = generation;
    key->cipher = seal->cipher;
    key->encrypts = encrypt;
    key->bulk_sought = false;
    key->bulk = NULL;
    udp_auth_seal_key(seal->auth, seal->source, seal->dest, generation, key->raw);
    if (key->cipher == UDP_CIPHER_AES)
        (void)crypto_aead_aes256gcm_beforenm(&key->aes, key->raw);
    return key;
}

// The context of OpenSSL for a text of that length; NULL: libsodium processes it.
static void *key_bulk(udp_seal_key_t *key, size_t length)
{
    if (length < BULK_MIN)
        return NULL;
    if (!key->bulk_sought && bulk_is_loaded())
        key->bulk = udp_bulk_new(key->cipher == UDP_CIPHER_AES, key->raw, key->encrypts);
    key->bulk_sought = true;
    return key->bulk;
}

static void key_free(udp_seal_key_t *key)
{
    if (!key)
        return;
    udp_bulk_free(key->bulk);
    sodium_memzero(key, sizeof *key);
    free(key);
}

// Replaces the key of two generations ago.
static void key_install(udp_seal_t *seal, udp_seal_key_t *key)
{
    udp_seal_key_t **place = &seal->key[key->generation % 2];
    key_free(*place);
    *place = key;
    if (key->generation > seal->newest)
        seal->newest = key->generation;
}

static udp_seal_key_t *key_find(const udp_seal_t *seal, uint64_t generation)
{
    udp_seal_key_t *key = seal->key[generation % 2];
    return key && key->generation == generation ? key : NULL;
}

void udp_seal_stop(udp_seal_t *seal)
{
    key_free(seal->key[0]);
    key_free(seal->key[1]);
    seal->key[0] = seal->key[1] = NULL;
}

// ---- texts ----

typedef struct nonce {
    uint8_t bytes[NONCE_BYTES];
} nonce_t;

static nonce_t nonce_of(uint64_t packet)
{
    nonce_t nonce = {{0}};
    packet = htole64(packet);
    memcpy(nonce.bytes, &packet, sizeof packet);
    return nonce;
}

// Copies the pieces into one, which libsodium needs.
static size_t pieces_gather(const struct iovec *pieces, unsigned count, uint8_t *out)
{
    size_t length = 0;
    for (unsigned i = 0; i < count; i++) {
        if (out + length != pieces[i].iov_base)
            memcpy(out + length, pieces[i].iov_base, pieces[i].iov_len);
        length += pieces[i].iov_len;
    }
    return length;
}

static void text_encrypt(const udp_seal_key_t *key, const nonce_t *nonce, struct iovec fields,
                         struct iovec text, uint8_t *tag)
{
    uint8_t *bytes = text.iov_base;
    if (key->cipher == UDP_CIPHER_AES)
        crypto_aead_aes256gcm_encrypt_detached_afternm(bytes, tag, NULL, bytes, text.iov_len,
                                                       fields.iov_base, fields.iov_len, NULL,
                                                       nonce->bytes, &key->aes);
    else
        crypto_aead_chacha20poly1305_ietf_encrypt_detached(bytes, tag, NULL, bytes, text.iov_len,
                                                           fields.iov_base, fields.iov_len, NULL,
                                                           nonce->bytes, key->raw);
}

static bool text_decrypt(udp_seal_key_t *key, const nonce_t *nonce, struct iovec fields,
                         struct iovec text, const uint8_t *tag)
{
    uint8_t *bytes = text.iov_base;
    void *bulk = key_bulk(key, text.iov_len);
    if (bulk)
        return udp_bulk_decrypt(bulk, nonce->bytes, fields, text, tag);
    if (key->cipher == UDP_CIPHER_AES)
        return crypto_aead_aes256gcm_decrypt_detached_afternm(bytes, NULL, bytes, text.iov_len, tag,
                                                              fields.iov_base, fields.iov_len,
                                                              nonce->bytes, &key->aes) == 0;
    return crypto_aead_chacha20poly1305_ietf_decrypt_detached(bytes, NULL, bytes, text.iov_len, tag,
                                                              fields.iov_base, fields.iov_len,
                                                              nonce->bytes, key->raw) == 0;
}

static size_t pieces_length(const struct iovec *pieces, unsigned count)
{
    size_t length = 0;
    for (unsigned i = 0; i < count; i++)
        length += pieces[i].iov_len;
    return length;
}

static struct iovec fields_of(uint8_t *datagram, size_t header)
{
    return (struct iovec){datagram + UDP_PROOF_BYTES, header - UDP_PROOF_BYTES};
}

// ---- datagrams ----

bool udp_seal_close(udp_seal_t *seal, uint64_t packet, uint8_t *datagram, size_t header,
                    const struct iovec *frames, unsigned count)
{
    uint8_t *out = datagram + header;
    const uint64_t generation = packet / UDP_SEAL_PACKETS;
    const nonce_t nonce = nonce_of(packet);
    udp_seal_key_t *key = key_find(seal, generation);
    if (!key) {
        key = key_new(seal, generation, true);
        if (!key)
            return false;
        udp_seal_stop(seal); // the previous generation has encrypted its last packet
        key_install(seal, key);
    }
    void *bulk = key_bulk(key, pieces_length(frames, count));
    if (bulk)
        return udp_bulk_encrypt(bulk, nonce.bytes, fields_of(datagram, header), frames, count,
                                out) &&
               udp_bulk_tag(bulk, datagram);
    text_encrypt(key, &nonce, fields_of(datagram, header),
                 (struct iovec){out, pieces_gather(frames, count, out)}, datagram);
    return true;
}

bool udp_seal_open(udp_seal_t *seal, uint64_t packet, uint8_t *datagram, size_t header,
                   size_t length)
{
    const uint64_t generation = packet / UDP_SEAL_PACKETS;
    const nonce_t nonce = nonce_of(packet);
    if (generation > seal->newest + 1 || generation + 1 < seal->newest)
        return false; // the replay window is narrower than a generation
    udp_seal_key_t *key = key_find(seal, generation);
    udp_seal_key_t *fresh = key ? NULL : key_new(seal, generation, false);
    if (!key && !fresh)
        return false;
    const bool genuine = text_decrypt(key ? key : fresh, &nonce, fields_of(datagram, header),
                                      (struct iovec){datagram + header, length - header}, datagram);
    if (fresh && genuine)
        key_install(seal, fresh);
    else
        key_free(fresh);
    return genuine;
}
