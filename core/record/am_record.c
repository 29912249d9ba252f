// SPDX-License-Identifier: BSD-3-Clause
// Takes the count of a refused message back (am_record.h).
#include "am_record.h"

#include "../state/job.h"

void aq_am_record_cancel(uint32_t jobrank, const aq_am_t *am)
{
    const aq_fast_counts_t *fast = aq_threads ? &aq_thread_counts.fast : &aq_job.fast;
    aq_cell_add(aq_am_record_cell(fast, jobrank, am), (uint64_t)-1);
    aq_cell_add(&fast->peers[jobrank].endpoint0[aq_am_record_bytes(am)], -am->nbytes);
}
