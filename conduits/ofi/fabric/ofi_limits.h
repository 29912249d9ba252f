// SPDX-License-Identifier: BSD-3-Clause
// How a job of some size uses a provider: credits, receive buffers, the length of packets.
//
// What is always true: each peer has at least one credit from the start, and for each credit that
// peers have, and for each request of this process that has no answer, a receive buffer is posted.
// So the first message of any peer finds one, whatever the number of ranks.
#pragma once

#include "../../common/credit.h"
#include "ofi_choice.h"

enum {
    OFI_REQUESTS_MAX = 256,      // under way from one process
    OFI_INBOXES_BYTES = 8 << 20, // of all receive buffers, until packets have the least length
    OFI_PACKET_BYTES = 16384,    // the longest packet,
    OFI_PACKET_MIN = 1024,       // and that of jobs with so many ranks that all have to be short
};

// The receive buffers that a process with so many peers would post.
static inline size_t ofi_receives_wanted(uint32_t peers)
{
    return (size_t)(peers > OFI_REQUESTS_MAX ? peers : OFI_REQUESTS_MAX) + OFI_REQUESTS_MAX;
}

// Sets the credits of a job. peers: at least 1. credits: requests under way to each peer. False:
// the provider does not take a receive buffer for each peer, and one more.
bool ofi_limits_set(const ofi_traits_t *traits, uint32_t peers, unsigned credits,
                    aq_credit_limits_t *out);

// Packets that may arrive before any of them was handled.
static inline unsigned ofi_receives_needed(const aq_credit_limits_t *limits, uint32_t peers)
{
    return (unsigned)peers * limits->each + limits->total;
}

// The longest packet of a job whose processes post buffers for so many: a multiple of 8.
// message_most: of the provider.
size_t ofi_packet_most(size_t message_most, unsigned receives);
