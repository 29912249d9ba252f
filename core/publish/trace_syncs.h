// SPDX-License-Identifier: BSD-3-Clause
// When the client has synchronized its operations: the ends of asynchronous events.
#pragma once

#include <stdint.h>

#include "../record/trace_ring.h"

// Collects the synchronizations in all rings. If memory is out, some are missing.
void aq_trace_syncs_find(void);

// The time at which the operation of a record was synchronized; 0: never, as far as the rings tell.
uint64_t aq_trace_syncs_end(const aq_trace_record_t *record);

void aq_trace_syncs_free(void);
