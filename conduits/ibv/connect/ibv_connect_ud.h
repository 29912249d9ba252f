// SPDX-License-Identifier: BSD-3-Clause
// Connections made by datagrams, without librdmacm and IP addresses. Each process has a queue pair
// for datagrams (UD) at each of its ports (ibv_ud_port.h), whose number and whose port's GID and
// LID all ranks learn at the start (ibv_addresses.h). Two processes connect by a handshake
// (ibv_handshake.h) of datagrams (ibv_datagram.h), and this file connects the queue pairs as
// librdmacm would.
//
//      call        ----> handshake ----> actions: send a datagram, connect the queue pairs,
//      datagram    ----> handshake ---->          the link is READY, or cannot be used
//      time passes ----> handshake ---->
//
// - Everything here happens under the connector's lock.
// - A datagram for which the device has no room, here or at the peer, counts as lost: it is
//   repeated.
// - The port of a handshake's round is that of the link's first queue pair, and of the datagrams:
//   what a side hears in a round has come by the port that the link is to use.
// - A process that has ended does not answer; its peers learn of that from the launcher, or from
//   the device when an operation fails.
#pragma once

#include "ibv_connect.h"

extern const aq_ibv_connect_ops_t aq_ibv_connect_ud;

// Makes the queue pairs for datagrams, and posts their buffers; env, device and ends[0] of the
// connector are set. AQ_ERR_RESOURCE: the device refuses something (logged).
aq_status_t aq_ibv_ud_open(aq_ibv_connector_t *connector);
void aq_ibv_ud_close(aq_ibv_connector_t *connector);

// Where this process listens with one of its ports; no address, if it has fewer ports.
aq_ibv_listens_t aq_ibv_ud_listens(const aq_ibv_connector_t *connector, unsigned port);

typedef struct aq_ibv_ud_counts {
    unsigned long sent, repeated, dropped; // repeated: of the sent ones; dropped: no room to send
    unsigned long received, ignored;       // ignored: of the received ones, not from the job
} aq_ibv_ud_counts_t;

// What happened so far; all 0 if connections are not made by datagrams. Takes the connector's lock.
aq_ibv_ud_counts_t aq_ibv_ud_counts(aq_ibv_connector_t *connector);
