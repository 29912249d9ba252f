// SPDX-License-Identifier: BSD-3-Clause
// Put and get in memory of peers that is not registered, or for which this process has no key yet:
// the peer is asked by messages of the conduit's own.
//
//      put, get --miss--> transfer --OFI_FIREHOSE (may have the data of a put)--> peer: registers
//                            |     <--OFI_FIREHOSE, with the key ---------------
//                            |------write or read ---------------------------->
//                            |
//                            '------OFI_PUT, OFI_FETCH, when the peer can ----> peer: copies
//                                   register nothing
//
// What is always true:
// - The front of an operation that has begun here ends here, whatever the peer answers: the core
//   never has to continue it by messages.
// - Nothing here waits. A transfer that finds no room is kept, and each poll tries it again.
// - A request is made with a credit, so that its message leaves at once; a reply needs none.
// - A transfer that waits has neither buffer nor operation of the provider. So the source of a put
//   that may change meanwhile is copied.
// - After asking, a transfer is owned by the thread that handles the answer.
#pragma once

#include "ofi_rma_state.h"

// Begins a put or get at its front, and removes what has begun. AQ_ERR_ABSENT: the memory is not in
// the segment of the peer; nothing has begun. Does not hold the lock.
aq_status_t ofi_ondemand_begin(ofi_conduit_t *ofi, ofi_link_t *link, aq_rma_t *rma);

// Request of aq_firehose_ops_t; the context is the conduit.
void ofi_ondemand_request(void *context, uint32_t peer, const aq_firehose_message_t *message,
                          const void *data, uint32_t data_bytes);

// Handles a frame of kind OFI_FIREHOSE or OFI_FETCH. False: it is malformed. Without the lock.
bool ofi_ondemand_arrived(ofi_conduit_t *ofi, ofi_link_t *link, const ofi_frame_read_t *read,
                          bool reply);

// For polls, without the lock: continues what found no room.
void ofi_ondemand_progress(ofi_conduit_t *ofi);
