// Proof of the job's key, both ways, when a helper calls: each side hashes with the key what the
// other one chose at random, so that nobody learns the key and no old proof is worth anything.
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

#endif
