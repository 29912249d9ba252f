// SPDX-License-Identifier: BSD-3-Clause
// A long message that the network device reads from the sender's memory, without a copy by a
// processor. Only what a receive has taken is exposed, part by part, and the parts of a message
// that are exposed at a time are few.
//
//      receiver                               sender
//      EXPOSE part, offset, bytes  ------->   conceals the old bytes of the part, exposes these
//      reads them by the device    <-------   EXPOSED part, bytes, key
//      EXPOSE the rest, or the next bytes
//      ...
//      DONE                        ------->   conceals all parts; the send is complete
//
// - A part ends where a block of memory ends, so that the pages of one part suffice for it.
// - A sender that cannot expose a part answers with 0 bytes, and the receiver begins again, in
//   pieces.
#pragma once

#include "msg_state.h"

// The receiver: begins to read a message. False: the message has to be fetched in another way,
// because it is short, or not contiguous in memory, or no device can read it.
bool aq_msg_device_begin(gasnetx_Request_t receive);

// The receiver: advances. Returns how the receive continues: as before; complete; or in pieces,
// from the begin of the message, if a part was refused. Not in a handler.
aq_rndv_way_t aq_msg_device_turn(gasnetx_Request_t receive);

// The sender: ends what it has exposed of a message for a receiver, if anything, and frees the
// list. Also in a handler.
void aq_msg_device_end(uint32_t jobrank, struct aq_msg_exposures *exposures);

void aq_msg_device_register(void);
