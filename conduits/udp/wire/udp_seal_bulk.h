// SPDX-License-Identifier: BSD-3-Clause
// AES-256-GCM and ChaCha20-Poly1305 by OpenSSL's libcrypto. It is loaded when a job encrypts a
// long text, so that a program that does not neither links nor loads it.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

enum { UDP_BULK_NONCE_BYTES = 12, UDP_BULK_TAG_BYTES = 16 };

// Loads libcrypto; returns whether it is loaded. Not thread-safe.
bool udp_bulk_load(void);
// The version, "OpenSSL 3.0.19 ..."; NULL: not loaded.
const char *udp_bulk_name(void);

// A context for one key and direction of use. NULL: not loaded, or no memory.
void *udp_bulk_new(bool aes, const uint8_t key[32], bool encrypt);
void udp_bulk_free(void *context);

// As udp_seal_close and udp_seal_open, with the parts of a datagram as separate arguments. The tag
// of what was encrypted last is taken after that.
bool udp_bulk_encrypt(void *context, const uint8_t nonce[UDP_BULK_NONCE_BYTES], struct iovec fields,
                      const struct iovec *pieces, unsigned count, uint8_t *out);
bool udp_bulk_tag(void *context, uint8_t tag[UDP_BULK_TAG_BYTES]);
bool udp_bulk_decrypt(void *context, const uint8_t nonce[UDP_BULK_NONCE_BYTES], struct iovec fields,
                      struct iovec text, const uint8_t tag[UDP_BULK_TAG_BYTES]);
