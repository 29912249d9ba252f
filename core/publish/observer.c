// SPDX-License-Identifier: BSD-3-Clause
// Receives what conduits report, also from modules, and passes it to counters, probes and the
// trace. job_start.c registers it before the conduits open.
#include "observer.h"

#include "../../other/base/minmax.h"
#include "../../other/base/modules/observed.h"
#include "../../other/base/probes.h"
#include "../record/counters.h"
#include "../state/job.h"
#include "../record/trace.h"

static void on_retransmission(uint32_t peer, uint64_t bytes)
{
    aq_probe_resend(aq_job.rank, peer);
    aq_cell_add(&aq_count_record(peer)->trouble[AQ_TROUBLE_RESENT], 1);
    aq_count_own_add(AQ_OWN_RESENT, 1);
    aq_trace_instant(AQ_TRACE_NET, AQ_TRACED_RETRANSMISSION, peer, bytes);
}

static void on_eviction(uint64_t bytes)
{
    aq_probe_evict(bytes);
    aq_trace_instant(AQ_TRACE_FIREHOSE, AQ_TRACED_EVICTION, AQ_OBSERVED_NO_PEER, bytes);
}

static void on_observed(aq_observed_t what, uint32_t peer, uint64_t bytes)
{
    if (what == AQ_OBSERVED_EVICTION)
        on_eviction(bytes);
    else if (what == AQ_OBSERVED_DROP)
        aq_count_own_add(AQ_OWN_DROPPED + (unsigned)aq_min(bytes, AQ_OWN_DROPS - 1), 1);
    else
        on_retransmission(peer, bytes);
}

void aq_observer_start(void)
{
    aq_observed_by(on_observed);
}
