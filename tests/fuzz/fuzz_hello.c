// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the private data with which a connection of conduit ibv begins. The first byte of an
// input says whether the proof in the rest is replaced by a valid proof, which only a rank of the
// job can make. Invariants: without a valid proof nothing is accepted; accepted data name another
// rank of the job, and are equal to the data that were sent.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../conduits/ibv/peers/ibv_proof.h"
#include "fuzz_check.h"

enum { RANKS = 5, OWN = 3, CALLED = 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t key[AQ_KEY_BYTES] = {1, 2, 3};
static const uint8_t nonce[AQ_IBV_NONCE_BYTES] = {4, 5, 6}; // of the call to rank CALLED

// Writes a valid proof of an accept or of a request into the data. Returns false if the data are
// too short for a proof.
static bool write_proof(bool accept, uint8_t *bytes, size_t size)
{
    aq_ibv_conn_private_data_t data;
    if (size < sizeof data)
        return false;
    memcpy(&data, bytes, sizeof data);
    if (accept)
        aq_ibv_prove_accept(key, OWN, nonce, &data);
    else
        aq_ibv_prove_call(key, OWN, &data);
    memcpy(bytes, &data, sizeof data);
    return true;
}

static void check_request(uint8_t *bytes, size_t size, bool insider)
{
    aq_ibv_conn_private_data_t theirs = {.rank = RANKS};
    bool has_proof = insider && write_proof(false, bytes, size);
    bool accepted = aq_ibv_request_genuine(key, OWN, RANKS, bytes, size, &theirs);
    require(accepted == (has_proof && theirs.rank < RANKS && theirs.rank != OWN));
    require(!accepted || memcmp(&theirs, bytes, sizeof theirs) == 0);
}

static void check_accept(uint8_t *bytes, size_t size, bool insider)
{
    aq_ibv_conn_private_data_t theirs = {.rank = RANKS};
    bool has_proof = insider && write_proof(true, bytes, size);
    const aq_ibv_call_t call = {.from = OWN, .to = CALLED, .nonce = nonce};
    bool accepted = aq_ibv_accept_genuine(key, &call, bytes, size, &theirs);
    require(accepted == (has_proof && theirs.rank == CALLED));
    require(!accepted || memcmp(&theirs, bytes, sizeof theirs) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size ? size : 1);
    if (bytes && size > 0) {
        memcpy(bytes, data + 1, size - 1);
        (data[0] & 2 ? check_accept : check_request)(bytes, size - 1, data[0] & 1);
    }
    free(bytes);
    return 0;
}
