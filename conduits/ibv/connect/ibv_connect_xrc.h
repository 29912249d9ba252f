// SPDX-License-Identifier: BSD-3-Clause
// What ibv_connect_ud.c does differently for a link with XRC (ibv_xrc.h). All functions are called
// under the connector's lock, for links of endpoint 0.
//
//      caller                                  peer
//      { WANT, sending, SRQ } -------------->  makes or opens the receiving one for the caller
//      connects its sending queue pair;  <---  { KNOWN, WANT, sending, SRQ, receiving }
//      makes or opens the receiving one
//      for the peer
//      READY
//      { KNOWN, sending, SRQ, receiving } -->  connects its sending queue pair
//                                              READY
//
// SRQ: the number of the sender's shared receive queue; sending and receiving: its queue pairs.
//
// - KNOWN says that the place of the datagram's sender has a receiving queue pair, connected with
//   the sending one of the datagram's receiver. Its number comes with KNOWN. So a sending queue
//   pair is connected when its first link becomes READY, and not before.
#pragma once

#include "ibv_connect.h"
#include "../peers/ibv_datagram.h"

// Gives a link the sending queue pair to the peer's place. False: the device refuses one, or there
// is no memory (logged).
bool aq_ibv_xrc_furnish(aq_ibv_connector_t *connector, aq_ibv_peer_t *link);

// Adds to a datagram, whose flags and first queue pair are filled in, what the peer has to know.
void aq_ibv_xrc_say(const aq_ibv_end_t *end, const aq_ibv_peer_t *link,
                    aq_ibv_datagram_t *datagram);

// Does what the handshake says about queue pairs: AQ_IBV_DO_CONNECT and AQ_IBV_DO_READY. Returns 0
// or an errno. ETIMEDOUT: as of aq_ibv_pair_connect. EALREADY: another rank of this place is making
// the receiving queue pair. After both another attempt is right, which repeats nothing. Others: the
// link cannot be connected (logged).
int aq_ibv_xrc_follow(aq_ibv_connector_t *connector, aq_ibv_peer_t *link, unsigned actions,
                      const aq_ibv_datagram_t *theirs);
