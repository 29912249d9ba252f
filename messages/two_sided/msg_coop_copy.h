// SPDX-License-Identifier: BSD-3-Clause
// Cooperative copy: the two processes of a host copy a long message together, so that both
// processors work.
//
//                 front                                back
//     message     [ receiver reads -->  | left | <-- sender writes ]
//
// - What is left is a word in shared memory, from which both sides claim pieces. The receiver does
//   not wait for a sender that does not poll: the receiver claims the rest.
// - A piece that the sender has claimed is a piece of a message that is not complete, so the memory
//   at both sides stays valid until it is written.
// - Claims have a generation, so that a late sender does not take pieces of a later message.
#pragma once

#include "msg_state.h"

// The receiver: asks the sender of a long message to take part in the copy. False: another way has
// to be used, because the message is short, claims or room are used up, or the system does not
// allow the copy.
bool aq_msg_coop_copy_begin(gasnetx_Request_t receive);

// The receiver: copies what is left. Returns how the receive continues: as before, while the sender
// has not written all that it has claimed; complete; or in pieces, if the system does not allow
// this copy.
aq_rndv_way_t aq_msg_coop_copy_turn(gasnetx_Request_t receive);

void aq_msg_coop_copy_register(void);
