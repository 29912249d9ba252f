// SPDX-License-Identifier: BSD-3-Clause
// Accounts of the pools, and their reaction to a limit. Under the lock.
#pragma once

#include "firehose_state.h"

// The size of one more region that fits into a pool now. The main pool may have to wait until the
// victim pool, if above its limit, has shrunk.
uint64_t aq_firehose_pool_room(const aq_firehose_t *firehose, aq_firehose_pool_t pool);

void aq_firehose_pool_add(aq_firehose_t *firehose, aq_firehose_pool_t pool, uint64_t bytes);
void aq_firehose_pool_drop(aq_firehose_t *firehose, aq_firehose_pool_t pool, uint64_t bytes);

// A limit was reached: from now on only the amount that is pinned now may be pinned, divided
// between the pools as before.
void aq_firehose_pool_shrink(aq_firehose_t *firehose, aq_firehose_pinned_t limit);
