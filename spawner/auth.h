// Proof of the job's key, both ways, when a helper calls: each side hashes with the key what the
// other one chose at random, so that nobody learns the key and an old proof is worth nothing. The
// same numbers give the keys of the connection that follows (seal.h).
#ifndef AQ_PROOF_H
#define AQ_PROOF_H

#include "messages.h"

#define AQ_SESSION_KEY_BYTES 32u

typedef struct aq_proof {
    uint32_t node;
    uint8_t caller[AQ_NONCE_BYTES];   // chosen by the helper that calls
    uint8_t listener[AQ_NONCE_BYTES]; // chosen by the process that it calls
} aq_proof_t;

// Once in a process, before the others. Logs a fault.
aq_status_t aq_proof_start(void);
void aq_proof_random(void *out, size_t length);
// by_caller: that of the side that calls.
void aq_proof_make(const aq_proof_t *proof, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                   uint8_t out[AQ_PROOF_BYTES]);
// In constant time.
bool aq_proof_holds(const aq_proof_t *proof, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                    const uint8_t got[AQ_PROOF_BYTES]);

// The key for what one side sends on the connection after the proof. Both sides get the same one;
// another connection, host or direction has another one. The caller of this erases it after use.
void aq_proof_session_key(const aq_proof_t *proof, const uint8_t key[AQ_KEY_BYTES], bool by_caller,
                          uint8_t out[AQ_SESSION_KEY_BYTES]);

#endif
