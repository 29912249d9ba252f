// SPDX-License-Identifier: BSD-3-Clause
// The checks of a datagram, before ibv_connect_ud.c uses any field of it.
#include "ibv_datagram.h"
#include "ibv_handshake.h"

#include <string.h>

enum { NUMBERS = 1 << 24, MTUS = 5 };

static bool pair_is_valid(const aq_ibv_pair_info_t *pair)
{
    return pair->number > 0 && pair->number < NUMBERS && pair->psn < NUMBERS && pair->mtu > 0 &&
           pair->mtu <= MTUS;
}

// With XRC the receiving queue pair stands behind the sending one as soon as there is one.
static bool srq_is_valid(const aq_ibv_datagram_t *datagram)
{
    const unsigned pairs = datagram->flags & AQ_IBV_SAYS_KNOWN ? 2 : 1;
    return !datagram->srq || (datagram->srq < NUMBERS && datagram->count == pairs);
}

// A refusal has no queue pairs, and every other datagram has some.
static bool says_valid(const aq_ibv_datagram_t *datagram)
{
    const bool refusal = datagram->flags == AQ_IBV_SAYS_NO;
    if (datagram->flags & ~(AQ_IBV_SAYS_KNOWN | AQ_IBV_SAYS_WANT) && !refusal)
        return false;
    if (datagram->round > UINT16_MAX)
        return false;
    for (unsigned i = 0; i < datagram->count; i++)
        if (!pair_is_valid(&datagram->pairs[i]))
            return false;
    return refusal == (datagram->count == 0) && srq_is_valid(datagram);
}

bool aq_ibv_datagram_read(const uint8_t key[AQ_KEY_BYTES], uint32_t rank, uint32_t size,
                          const void *bytes, size_t count, aq_ibv_datagram_t *out)
{
    if (count < aq_ibv_datagram_bytes(0) || count > sizeof *out ||
        !aq_ibv_datagram_holds(key, rank, bytes, count))
        return false;
    memset(out, 0, sizeof *out);
    memcpy(out, bytes, count);
    return out->count <= AQ_IBV_PAIRS_MAX && aq_ibv_datagram_bytes(out->count) == count &&
           out->peer.rank < size && out->peer.rank != rank && says_valid(out);
}
