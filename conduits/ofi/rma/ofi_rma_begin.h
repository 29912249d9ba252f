// SPDX-License-Identifier: BSD-3-Clause
// The begin of a put or get whose memory at the peer has a name: memory here is used in place,
// registered first, or copied.
#pragma once

#include "ofi_rma_op.h"

// Begins a put or get at its front, at most there->len bytes of it, and removes what has begun.
// at_peer: the region of firehose that has this memory, or NULL; it belongs to the operation if
// that begins. AQ_AGAIN: there is no room now. The caller does not hold the lock.
aq_status_t ofi_rma_begin(ofi_conduit_t *ofi, ofi_link_t *link, const struct fi_rma_iov *there,
                          aq_firehose_region_t *at_peer, aq_rma_t *rma);

// The same in a region of firehose that has the beginning of the memory.
aq_status_t ofi_rma_begin_held(ofi_conduit_t *ofi, ofi_link_t *link, aq_firehose_region_t *hold,
                               aq_rma_t *rma);
