// Proof of the job's key, both ways, when a helper calls: each side hashes with the key what the
// other one chose at random, so that nobody learns the key and no old proof is worth anything. And
// what only those may read who have the key: the job, with its environment.
#ifndef AQ_PROOF_H
#define AQ_PROOF_H

#include "messages.h"

typedef struct aq_proof {
    uint32_t node;
    uint8_t caller[AQ_NONCE_BYTES];   // chosen by the helper that calls
    uint8_t listener[AQ_NONCE_BYTES]; // chosen by whom it calls
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

// Encrypts with the key, and authenticates. The result is new; failed when there is no memory.
aq_bytes_t aq_proof_seal(const aq_bytes_t *plain, const uint8_t key[AQ_KEY_BYTES]);
// The reverse. Failed: it was not sealed with this key or is not what it was, or no memory.
aq_bytes_t aq_proof_open(const uint8_t *sealed, size_t length, const uint8_t key[AQ_KEY_BYTES]);

#endif
