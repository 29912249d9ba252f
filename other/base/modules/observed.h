// SPDX-License-Identifier: BSD-3-Clause
// What a conduit reports to observers of the job: retransmissions, evictions, drops. A conduit that
// is a module reaches the library through host.h.
#pragma once

#include <stdint.h>

typedef enum aq_observed {
    AQ_OBSERVED_RETRANSMISSION, // to a rank
    AQ_OBSERVED_EVICTION,       // of pinned memory, to make room
    AQ_OBSERVED_DROP            // of a packet; instead of bytes GASNETX_DROP_* (core/aqueduct.h)
} aq_observed_t;

#define AQ_OBSERVED_NO_PEER UINT32_MAX

// Reports an event of this moment, with a job rank or AQ_OBSERVED_NO_PEER. Any thread, also with
// locks of the conduit held; does not block.
void aq_observed(aq_observed_t what, uint32_t peer, uint64_t bytes);

// Sets the function that aq_observed calls; without one it does nothing.
typedef void aq_observer_t(aq_observed_t what, uint32_t peer, uint64_t bytes);
void aq_observed_by(aq_observer_t *observer);
