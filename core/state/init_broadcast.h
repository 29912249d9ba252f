// SPDX-License-Identifier: BSD-3-Clause
// What rank 0 tells all other ranks at the end of init, and ranks that join later: bytes that a
// layer has found out at rank 0 only, for example in a file that is not on all hosts.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "../../other/base/log/status.h"

// Registers the bytes, the same at all ranks and until the end of the job. Each rank calls it once
// at most, when layers start. The bytes of rank 0 replace those of the others if rank 0 calls
// aq_init_broadcast_tell. is_legal checks them when they have arrived.
void aq_init_broadcast(void *bytes, size_t nbytes, bool (*is_legal)(const void *bytes));

// At rank 0: has the bytes broadcast, as they are then, when ranks start or join. At other ranks:
// does nothing.
void aq_init_broadcast_tell(void);

// Whether this is rank 0 and it has called aq_init_broadcast_tell.
bool aq_init_broadcast_told(void);

// Collective over the job, by the boot: copies the bytes of rank 0 to all others. May block. Logs
// faults; AQ_ERR_PEER, if the bytes are not legal.
aq_status_t aq_init_broadcast_spread(void);
