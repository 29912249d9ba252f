// SPDX-License-Identifier: BSD-3-Clause
// Authenticated encryption of datagrams (GASNET_UDP_AUTH=encrypt).
//
// What is always true:
// - Each direction of each pair of endpoints has its own keys. The nonce is the
//   packet number, which never repeats, so that no key meets a nonce twice. After UDP_SEAL_PACKETS
//   packets a new generation of the key begins; it follows from the packet number, so that no
//   message has to announce it.
// - The fields of the header are authenticated; the frames are also encrypted. Nothing of a
//   datagram is used before its tag is verified.
// - The cipher is AES-256-GCM if the processors of all ranks have instructions for it, otherwise
//   ChaCha20-Poly1305. libsodium implements both. If OpenSSL's library is installed, it processes
//   everything longer than a few hundred bytes, because it is several times as fast there; the
//   results are the same.
//
//      fields (authenticated) ----------.
//      frames ---> encrypted ----------> tag          key: job's key, source, dest, generation
//
// 2^22 packets of 64 KiB are 2^34 blocks under one key: an attacker's advantage stays below 2^-59.
#pragma once

#include "udp_auth.h"

enum { UDP_SEAL_TAG_BYTES = UDP_PROOF_BYTES };

#define UDP_SEAL_PACKETS (UINT64_C(1) << 22) // packets that one generation of a key encrypts

typedef enum udp_cipher { UDP_CIPHER_CHACHA20, UDP_CIPHER_AES } udp_cipher_t;

// The key of one generation and direction. Opaque, about 700 bytes; one thread at a time.
typedef struct udp_seal_key udp_seal_key_t;

// Whether this processor has AES-GCM instructions.
bool udp_seal_has_aes(void);

// From here on OpenSSL's library processes long texts, if it is installed; without it libsodium
// does everything. The first long text loads the library, which takes milliseconds. Before other
// threads encrypt.
void udp_seal_use_bulk(void);

// The library that processes long texts: "OpenSSL 3.0.19 ..." or "libsodium".
const char *udp_seal_bulk_name(void);

// The keys of one direction of a pair. The receiver keeps the generations before and after a
// change; the sender needs one. One thread at a time.
typedef struct udp_seal {
    const udp_auth_t *auth;
    udp_cipher_t cipher;
    uint32_t source, dest;  // endpoint ids
    uint64_t newest;        // generation
    udp_seal_key_t *key[2]; // owned; generation g is in key[g % 2]; NULL: not needed yet
} udp_seal_t;

// Borrows auth. Derives no key yet.
static inline void udp_seal_start(udp_seal_t *seal, const udp_auth_t *auth, udp_cipher_t cipher,
                                  uint32_t source, uint32_t dest)
{
    *seal = (udp_seal_t){.auth = auth, .cipher = cipher, .source = source, .dest = dest};
}

// Frees the keys.
void udp_seal_stop(udp_seal_t *seal);

// Encrypts the frames, `count` pieces (possibly none), to behind the datagram's encoded header of
// the given size, and writes the tag into that. There is room for all pieces; it does not overlap
// them, or is equal to the only piece. False: no memory for a key.
bool udp_seal_close(udp_seal_t *seal, uint64_t packet, uint8_t *datagram, size_t header,
                    const struct iovec *frames, unsigned count);

// Verifies a complete datagram and decrypts its frames in place. False: it is forged, or (rarely)
// there is no memory for a key; then the bytes of the frames are undefined.
bool udp_seal_open(udp_seal_t *seal, uint64_t packet, uint8_t *datagram, size_t header,
                   size_t length);
