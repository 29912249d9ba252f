// SPDX-License-Identifier: BSD-3-Clause
// A long copy between two processes of a host that both of them make, so that both processors work.
//
//                 front                                back
//     message     [ receiver reads -->  | left | <-- sender writes ]
//
// - What is left is a word in shared memory, from which both sides claim pieces. A sender that does
//   not poll keeps nobody waiting: the receiver claims the rest.
// - A piece that the sender has claimed is a piece of a message that is not complete, so the memory
//   at both sides stays valid until it is written.
// - Claims have a generation: a sender that comes late finds none of its own.
#ifndef AQ_MSG_SHARE_H
#define AQ_MSG_SHARE_H

#include "msg_state.h"

// The receiver: asks the sender of a long message to share the copy. False: it has to be made some
// other way, because the message is short, claims or room are used up, or the system does not allow
// it.
bool aq_msg_share_begin(gasnetx_Request_t receive);

// The receiver: copies what is left. Returns how the receive goes on: as now, if the sender has
// still to write what it has claimed; over; or in pieces, if the system does not allow this copy.
aq_pull_way_t aq_msg_share_turn(gasnetx_Request_t receive);

void aq_msg_share_register(void);

#endif
