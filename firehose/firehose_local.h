// SPDX-License-Identifier: BSD-3-Clause
// The regions of this process. Under the lock.
#pragma once

#include "firehose_state.h"

// As aq_firehose_pin; adds one user to the region. For the main pool the region includes the
// surroundings of the address.
aq_status_t aq_firehose_local_get(aq_firehose_t *firehose, uintptr_t address, uint64_t bytes,
                                  bool write, aq_firehose_pool_t pool,
                                  aq_firehose_region_t **region);

// Records that a peer's firehose uses a region, or no longer does. False: the main pool is full.
bool aq_firehose_local_hold(aq_firehose_t *firehose, aq_firehose_region_t *region);
void aq_firehose_local_unhold(aq_firehose_t *firehose, aq_firehose_region_t *region);

// Unpins the regions that overlap a range, now or when their last user releases them.
void aq_firehose_local_forget(aq_firehose_t *firehose, uintptr_t start, uintptr_t end);

// Called when the last user released a retired region; takes the lock.
void aq_firehose_local_last(void *firehose, aq_firehose_region_t *region);
