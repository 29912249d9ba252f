// SPDX-License-Identifier: BSD-3-Clause
// Mutual authentication with the key of the job when a helper calls its parent: each side computes
// a keyed hash over random numbers that both sides chose. The key itself never travels, and an old
// tag cannot be replayed. The keys of the connection that follows are derived from the same numbers
// (seal.h).
#pragma once

#include "messages.h"

#define AQ_SESSION_KEY_BYTES 32u

typedef struct aq_auth {
    uint32_t node;
    uint8_t caller[AQ_NONCE_BYTES];   // chosen by the helper that calls
    uint8_t listener[AQ_NONCE_BYTES]; // chosen by the process that it calls
} aq_auth_t;

// Must be called once in a process, before the other functions. Logs a fault.
aq_status_t aq_auth_init(void);
void aq_auth_random(void *out, size_t length);
// Derives a key from a secret text that all processes of the job have.
void aq_auth_key(const uint8_t *text, size_t length, uint8_t key[AQ_KEY_BYTES]);
// Computes the tag with which one side proves that it has the key. by_caller: the caller's tag,
// else the listener's.
void aq_auth_tag(const aq_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                 uint8_t out[AQ_AUTH_BYTES]);
// Whether the tag that the other side sent is right. Takes constant time.
bool aq_auth_verify(const aq_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                    const uint8_t got[AQ_AUTH_BYTES]);

// Derives the key for what one side sends after authentication. Both sides derive the same key;
// every connection, host and direction has a different one. The caller of this function erases it
// after use.
void aq_auth_session_key(const aq_auth_t *auth, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                         uint8_t out[AQ_SESSION_KEY_BYTES]);
