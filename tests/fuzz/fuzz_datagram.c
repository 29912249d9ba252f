// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the datagrams by which conduit ibv makes connections. The first byte of an input says
// whether the proof in the rest is replaced by a valid proof, which only a rank of the job can
// make. Invariants: without a valid proof nothing is accepted; an accepted datagram names another
// rank of the job, its fields are in their ranges, and it is equal to the bytes that were sent.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../conduits/ibv/peers/ibv_datagram.h"
#include "../../conduits/ibv/peers/ibv_handshake.h"
#include "fuzz_check.h"

enum { RANKS = 5, OWN = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t key[AQ_KEY_BYTES] = {1, 2, 3};

static void check_accepted(const aq_ibv_datagram_t *theirs, const uint8_t *bytes, size_t size)
{
    static const aq_ibv_datagram_t none;
    require(theirs->peer.rank < RANKS && theirs->peer.rank != OWN);
    require(theirs->count <= AQ_IBV_PAIRS_MAX && size == aq_ibv_datagram_bytes(theirs->count));
    require((theirs->count == 0) == (theirs->flags == AQ_IBV_SAYS_NO));
    for (unsigned i = 0; i < theirs->count; i++)
        require(theirs->pairs[i].number < 1 << 24 && theirs->pairs[i].psn < 1 << 24 &&
                theirs->pairs[i].mtu >= 1 && theirs->pairs[i].mtu <= 5);
    require(memcmp(theirs, bytes, size) == 0);
    require(memcmp((const uint8_t *)theirs + size, &none, sizeof none - size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size ? size : 1);
    if (bytes && size > 0) {
        aq_ibv_datagram_t theirs;
        const bool insider = data[0] & 1 && size > AQ_IBV_PROOF_BYTES;
        memcpy(bytes, data + 1, --size);
        if (insider)
            aq_ibv_prove_datagram(key, OWN, bytes, size);
        const bool accepted = aq_ibv_datagram_read(key, OWN, RANKS, bytes, size, &theirs);
        require(insider || !accepted);
        if (accepted)
            check_accepted(&theirs, bytes, size);
    }
    free(bytes);
    return 0;
}
