// SPDX-License-Identifier: BSD-3-Clause
// Asks a target whether it has the memory of an operation, in jobs with GASNET_ERRORS=return, if
// the initiator cannot know: all memory is the segment (GASNET_SEGMENT_EVERYTHING), the segment is
// one of gex_Segment_Create, which the target may have destroyed, or it is a reserved one, of which
// the target has allocated parts.
#pragma once

#include <stdbool.h>

#include "../../core/memory/access.h"

// Whether an operation that fits into the known segment still has to be probed.
static inline bool aq_probe_needed(gex_EP_Index_t ep)
{
    return __builtin_expect(aq_job.returns_errors, 0) &&
           (ep || aq_reserved.size || aq_segment_may_vanish());
}

// Whether the target has the memory; if not, sets access->reason. Blocks for a round trip, and
// polls. Memory that the target unmaps after its answer still ends the job.
bool aq_probe(aq_access_t *access, bool writes);
