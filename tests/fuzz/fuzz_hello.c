// Fuzzer of the private data with which a connection of conduit ibv begins. The first byte of an
// input says whether the proof in the rest is replaced by a valid one, which only a rank of the job
// can make. What must hold: without it nothing is accepted; with it, what is accepted names another
// rank of the job, and is what was sent.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../conduits/ibv/ibv_proof.h"

enum { RANKS = 5, OWN = 3, CALLED = 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t key[AQ_KEY_BYTES] = {1, 2, 3};
static const uint8_t nonce[AQ_IBV_NONCE_BYTES] = {4, 5, 6}; // of the call to rank CALLED

static void require(bool holds)
{
    if (!holds)
        abort();
}

// Puts in a valid proof, of an accept or of a request. False: there is no room for one.
static bool prove(bool accept, uint8_t *bytes, size_t size)
{
    aq_ibv_conn_private_data_t said;
    if (size < sizeof said)
        return false;
    memcpy(&said, bytes, sizeof said);
    if (accept)
        aq_ibv_prove_accept(key, OWN, nonce, &said);
    else
        aq_ibv_prove_call(key, OWN, &said);
    memcpy(bytes, &said, sizeof said);
    return true;
}

static void check_request(uint8_t *bytes, size_t size, bool insider)
{
    aq_ibv_conn_private_data_t theirs = {.rank = RANKS};
    bool proved = insider && prove(false, bytes, size);
    bool taken = aq_ibv_request_genuine(key, OWN, RANKS, bytes, size, &theirs);
    require(taken == (proved && theirs.rank < RANKS && theirs.rank != OWN));
    require(!taken || memcmp(&theirs, bytes, sizeof theirs) == 0);
}

static void check_accept(uint8_t *bytes, size_t size, bool insider)
{
    aq_ibv_conn_private_data_t theirs = {.rank = RANKS};
    bool proved = insider && prove(true, bytes, size);
    bool taken = aq_ibv_accept_genuine(key, OWN, CALLED, nonce, bytes, size, &theirs);
    require(taken == (proved && theirs.rank == CALLED));
    require(!taken || memcmp(&theirs, bytes, sizeof theirs) == 0);
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
