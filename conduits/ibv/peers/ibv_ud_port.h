// SPDX-License-Identifier: BSD-3-Clause
// A queue pair for datagrams (UD) at a port of this process, with its buffers: what
// ibv_connect_ud.h sends and receives by.
//
// - Datagrams may be lost: one for which there is no room, here or at the peer, is.
// - The caller serializes all calls.
#pragma once

#include "ibv_addresses.h"

enum { AQ_IBV_UD_BYTES = 600 }; // of the longest datagram

typedef struct aq_ibv_ud_port {
    // The owner sets these before it opens the port.
    struct ibv_pd *pd;
    aq_ibv_path_source_t from;
    const aq_ibv_addresses_t *addresses; // of the peers' ports, exchanged before the first send
    struct ibv_comp_channel *channel;    // its fd is readable when a datagram has arrived
    struct ibv_cq *receive_cq, *send_cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint8_t *slots;        // for datagrams that arrive, then for those that are sent
    uint32_t free_sends;   // bit by slot
    struct ibv_ah **paths; // by number of the address; NULL: not used yet
} aq_ibv_ud_port_t;

// False: the device refuses memory (mr is NULL) or a queue pair; errno says why. The port has to be
// closed in any case.
bool aq_ibv_ud_port_open(aq_ibv_ud_port_t *port);
void aq_ibv_ud_port_close(aq_ibv_ud_port_t *port);

typedef enum aq_ibv_ud_sent {
    AQ_IBV_UD_SENT,
    AQ_IBV_UD_NO_ROOM, // the datagram is lost
    AQ_IBV_UD_NO_PATH, // it is lost: the device finds no path to the rank; errno says why
} aq_ibv_ud_sent_t;

// Sends a datagram to a rank, whose port has an address. On an Ethernet the system asks the network
// for that address on first use, which blocks for up to a second.
aq_ibv_ud_sent_t aq_ibv_ud_port_send(aq_ibv_ud_port_t *port, uint32_t rank, const void *datagram,
                                     size_t bytes);

// Passes all datagrams that have arrived to a function, and listens for the next one. The function
// may send; it does not keep the bytes.
void aq_ibv_ud_port_take(aq_ibv_ud_port_t *port,
                         void (*handle)(void *context, const void *datagram, size_t bytes),
                         void *context);
