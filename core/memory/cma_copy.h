// SPDX-License-Identifier: BSD-3-Clause
// Put and get between processes of a host by one copy, which the kernel makes, to memory that is
// not mapped here: all memory of a process with GASNET_SEGMENT_EVERYTHING, segments in memory of
// the client, and those for which there was no file or no room.
//
// The target publishes in shared memory which of its segments exist. So an access that begins after
// a segment was destroyed travels as a message, which the target refuses.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../conduit.h"
#include "../gasnetex_core.h"

// Once, after the conduits are open.
void aq_cma_copy_start(void);

// Publishes to the neighbours the serial of the binding whose segment they may access at this
// endpoint; serial 0: they may access none without a message. Any thread; does not block.
void aq_cma_copy_open(gex_EP_Index_t ep, uint64_t serial);

// Performs a put or get to memory of an endpoint of a rank. False: the rank is no neighbour, it has
// published no such memory or has destroyed it, the kernel does not allow the access, or the memory
// does not exist there; the bytes may have been copied in part. If the kernel allows no access at
// all, one rank of the neighbourhood logs that, once. Any thread; does not block.
bool aq_cma_copy(const aq_rma_t *rma, uint32_t rank, gex_EP_Index_t ep);
