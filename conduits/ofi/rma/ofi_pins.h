// SPDX-License-Identifier: BSD-3-Clause
// Pins: memory that is registered when it is used first and stays registered: firehose, with the
// provider's registration as its pinner.
//
//      here         memory outside of what is registered, where operations need a descriptor
//                   (FI_MR_LOCAL)
//      at a peer    segments that are not registered as a whole, where the provider takes only
//                   memory that exists (FI_MR_ALLOCATED)
//
// What is always true:
// - Firehose has its own lock when it calls the provider under the lock of the conduit. So no
//   caller of firehose holds the lock of the conduit; a region of a complete operation is released
//   when the lock was dropped.
// - All ranks have the same limits, those of the weakest, or none uses firehose.
// - Without need for firehose there is none, and both flags are false.
#pragma once

#include "ofi_rma_state.h"

// Before the client has memory that may be pinned: tells malloc to keep its memory, if firehose may
// be needed.
void ofi_pins_prepare(const ofi_conduit_t *ofi);

// Collective, after the keys were shared: starts firehose where it is needed. segment: of this
// process. request: see aq_firehose_ops_t; its context is the conduit. May block. Logs faults.
aq_status_t ofi_pins_open(ofi_conduit_t *ofi, const void *segment, size_t bytes,
                          ofi_pins_request_t *request);

// Unregisters everything that no operation uses. Prints the counters if GASNET_STATS is set.
void ofi_pins_close(ofi_conduit_t *ofi);

// A region with the beginning of memory of this process, in use until it is released; write: the
// provider writes there. NULL: use a copy.
aq_firehose_region_t *ofi_pins_local(const ofi_conduit_t *ofi, const void *memory, size_t bytes,
                                     bool write);

// The name that memory of a peer, the beginning of which is in a region, has for the provider.
struct fi_rma_iov ofi_pins_remote(const ofi_conduit_t *ofi, const aq_firehose_region_t *region,
                                  const void *memory, size_t bytes);
