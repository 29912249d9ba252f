// SPDX-License-Identifier: BSD-3-Clause
// The firehoses of peers into this process.
#pragma once

#include "firehose_state.h"

// Releases all firehoses of all peers into this process. Under the lock.
void aq_firehose_serve_leave(aq_firehose_t *firehose);
