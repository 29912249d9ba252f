// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic only, so that a unit test can run it for jobs of any size. ofi_conduit.c applies the
// results.
#include "ofi_limits.h"

#include "../../../other/base/minmax.h"

// Half of the receives that the provider takes is for requests of peers, half for answers. Where
// that is less than one for each peer, answers get what is left. In a buffer for several packets
// there is room for more of them than the provider takes buffers.
bool ofi_limits_set(const ofi_traits_t *traits, uint32_t peers, unsigned credits,
                    aq_credit_limits_t *out)
{
    const uint64_t half = aq_min((uint64_t)traits->receives_most / 2, (uint64_t)OFI_REQUESTS_MAX);
    const uint64_t requests = aq_max(half, (uint64_t)peers);
    if (!traits->multi_receive && traits->receives_most <= requests)
        return false;
    const uint64_t left = traits->multi_receive ? half : traits->receives_most - requests;
    const uint64_t each = aq_max(aq_min((uint64_t)credits, requests / peers), UINT64_C(1));
    const uint64_t total = aq_min(each * peers, aq_min(left, (uint64_t)OFI_REQUESTS_MAX));
    *out = aq_credit_fit((aq_credit_limits_t){.each = (unsigned)each,
                                              .total = (unsigned)total,
                                              .slack = (unsigned)each * 3 / 4},
                         peers);
    return true;
}

size_t ofi_packet_most(size_t message_most, unsigned receives)
{
    const size_t fair = (size_t)OFI_INBOXES_BYTES / aq_max(receives, 1u);
    const size_t most = aq_min(aq_max(fair, (size_t)OFI_PACKET_MIN), (size_t)OFI_PACKET_BYTES);
    return aq_min(most, message_most) & ~(size_t)7;
}
