// SPDX-License-Identifier: BSD-3-Clause
// Authenticated encryption of a connection of the tree, in both directions. No input or output.
//
//   sealed stream = header (24) record record ...
//   record        = length (4, big-endian) | encrypted bytes, with their tag (length)
//
// Each direction is a stream of libsodium's secretstream (XChaCha20-Poly1305) with a key of its
// own, derived from the job's key and everything that both sides sent during authentication
// (auth.h). So a record opens only on its connection, in its direction, and in order: a record that
// is changed, inserted, replayed, reordered or missing makes the stream fail for good, and nothing
// of it is delivered. The stream has no end mark, because messages of the job say when a host is
// done.
#pragma once

#include "auth.h"

#define AQ_SEAL_HEADER ((size_t)24)
#define AQ_SEAL_PLAIN_MAX ((size_t)32 * 1024) // bytes of one record before encryption
#define AQ_SEAL_TAG ((size_t)17)
#define AQ_SEAL_RECORD_MAX (4 + AQ_SEAL_PLAIN_MAX + AQ_SEAL_TAG)

typedef struct aq_seal aq_seal_t;

// is_caller: for the side that called, else for the one that listened. NULL: no memory.
aq_seal_t *aq_seal_new(const aq_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], bool is_caller);
// Erases the keys. NULL is allowed.
void aq_seal_free(aq_seal_t *seal);

// Appends one record with plain[0, length) to wire; length is 1 to AQ_SEAL_PLAIN_MAX. The first
// call puts the header in front. Without memory, wire fails.
void aq_seal_record(aq_seal_t *seal, const uint8_t *plain, size_t length, aq_bytes_t *wire);

// Opens all complete records of wire[0, length) and appends their contents to plain. *used: bytes
// of wire that are consumed; fewer than AQ_SEAL_RECORD_MAX bytes are left. False: a record is not
// what the peer sealed; this and every later call deliver nothing.
bool aq_seal_open(aq_seal_t *seal, const uint8_t *wire, size_t length, size_t *used,
                  aq_bytes_t *plain);
