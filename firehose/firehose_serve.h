// SPDX-License-Identifier: BSD-3-Clause
// The firehoses of peers into this process.
#ifndef AQ_FIREHOSE_SERVE_H
#define AQ_FIREHOSE_SERVE_H

#include "firehose_state.h"

// Releases all firehoses of all peers into this process. Under the lock.
void aq_firehose_serve_leave(aq_firehose_t *firehose);

#endif
