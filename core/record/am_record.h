// SPDX-License-Identifier: BSD-3-Clause
// Counts the active messages of the client, and fires their probe. The fast path begins a record
// before it sends, and cancels it if the message is refused; the other paths record what they sent.
#pragma once

#include "../../other/base/probes.h"
#include "../conduit.h"
#include "counters.h"

// The counts of messages of this kind, and of their bytes.
static inline aq_count_t aq_am_record_kind(const aq_am_t *am)
{
    return (aq_count_t)((am->reply ? AQ_COUNT_REPLY_SHORT : AQ_COUNT_REQUEST_SHORT) + am->category);
}

static inline aq_count_t aq_am_record_bytes(const aq_am_t *am)
{
    return am->reply ? AQ_COUNT_REPLY_BYTES : AQ_COUNT_REQUEST_BYTES;
}

// Counts a message of the client from endpoint 0 in a cell, and its bytes in the record of its
// rank.
static inline void aq_am_record_in(_Atomic uint64_t *cell, aq_peer_record_t *record,
                                   uint32_t jobrank, const aq_am_t *am)
{
    // Copied before the addition and the probe, after which the compiler would load *am again.
    const aq_am_t sent = *am;
    aq_cell_add(cell, 1);
    if (sent.category != AQ_AM_SHORT)
        aq_cell_add(&record->endpoint0[aq_am_record_bytes(&sent)], sent.nbytes);
    aq_probe_message_send(jobrank, sent.handler, sent.category, sent.reply, sent.nbytes);
}

// The cell that counts messages of this kind on the fast way.
static inline _Atomic uint64_t *aq_am_record_cell(const aq_fast_counts_t *fast, uint32_t jobrank,
                                                  const aq_am_t *am)
{
    if (am->category != AQ_AM_SHORT)
        return &fast->peers[jobrank].endpoint0[aq_am_record_kind(am)];
    return am->reply ? &fast->replies[jobrank] : &fast->requests[jobrank];
}

// Counts a message of the client that takes the fast path, before it is sent, which is cheaper than
// afterwards.
static inline void aq_am_record_begin(const aq_fast_counts_t *fast, uint32_t jobrank,
                                      const aq_am_t *am)
{
    aq_am_record_in(aq_am_record_cell(fast, jobrank, am), &fast->peers[jobrank], jobrank, am);
}

// As aq_am_record_begin, for a message that is refused after all.
void aq_am_record_cancel(uint32_t jobrank, const aq_am_t *am) __attribute__((cold));

// Counts a message of the client, which has left an endpoint of this process for a rank.
static inline void aq_am_record_sent(gex_EP_Index_t from, uint32_t jobrank, const aq_am_t *am)
{
    if (!from) {
        aq_peer_record_t *record = aq_count_record(jobrank);
        aq_am_record_in(&record->endpoint0[aq_am_record_kind(am)], record, jobrank, am);
        return;
    }
    aq_probe_message_send(jobrank, am->handler, am->category, am->reply, am->nbytes);
    aq_count_further(from, jobrank, aq_am_record_kind(am), aq_am_record_bytes(am), am->nbytes);
}
