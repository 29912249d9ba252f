// SPDX-License-Identifier: BSD-3-Clause
// Extended reliable connections (XRC): a process sends to all ranks of a place by one queue pair,
// in place of one for each rank. This part decides which queue pair a link uses, who makes it, and
// which number goes where. It calls the device only to open and close the domain.
//
//      rank 0, on host A                             host B
//      link to rank 4 --+                                             +--> receive queue of rank 4
//      link to rank 5 --+--> sending queue pair --> receiving queue --+--> receive queue of rank 5
//      link to rank 6 --+    of rank 0, to B        pair from rank 0  +--> receive queue of rank 6
//
// What is always true:
// - A place is the ranks of a host that listen at the same port. They share an XRC domain, in which
//   a queue pair of one reaches the shared receive queues of all, and a table in shared memory, by
//   rank of the job: the number of the place's receiving queue pair from that rank.
// - A process has one sending queue pair to each place that it has a link to, made with the first
//   such link. Every work request names the shared receive queue of its receiver.
// - A place has one receiving queue pair from each rank that has a link to one of its ranks. The
//   first of them that hears of the sending queue pair claims the row, makes the receiving one, and
//   publishes its number. So all ranks of the place tell the same number, whichever is asked, and
//   all datagrams of a link say the same (ibv_handshake.h).
// - A number in the table does not change. A claim lasts for calls of the device, and for no
//   message: so places that wait for claims do not wait for each other.
// - A sending queue pair that is not connected yet has no free entries. So a link may receive
//   before it can send: a reply finds no room until the number is there that connects the pair.
// - The device keeps a receiving queue pair as long as a process has it open. Each rank of the
//   place opens it with its link, so the end of the one that made it does not cut off the others.
#pragma once

#include <infiniband/verbs.h>

#include "../verbs/ibv_path.h"
#include "ibv_peer.h"

// A sending queue pair of this process.
typedef struct aq_ibv_xrc_sender {
    struct aq_ibv_xrc_sender *next;
    uint32_t host;     // of the place; see host_of_rank of aq_boot_t
    uint16_t address;  // of the place's port; see aq_ibv_address_row_t
    struct ibv_qp *qp; // NULL: not made yet
    uint32_t psn;      // of the first packet
    uint32_t receiver; // number of the receiving queue pair; 0: not connected
    aq_ibv_entries_t entries;
} aq_ibv_xrc_sender_t;

// Under the connector's lock, except for the table, which other processes read and write.
typedef struct aq_ibv_xrc {
    struct ibv_xrcd *domain;
    int file; // whose inode stands for the domain, and which has the table
    uint32_t ranks;
    _Atomic uint32_t *receivers; // the table, by rank
    aq_ibv_xrc_sender_t *senders;
    unsigned made; // receiving queue pairs that this process made
} aq_ibv_xrc_t;

// ---- sending ----

// The sending queue pair to a place. A new one has no qp. NULL: no memory (logged).
aq_ibv_xrc_sender_t *aq_ibv_xrc_sender_get(aq_ibv_xrc_t *xrc, uint32_t host, uint16_t address);

// What to do with the number of the receiving queue pair that a rank of the place tells.
typedef enum aq_ibv_xrc_told {
    AQ_IBV_XRC_CONNECT,   // connect the sending one with it, then call aq_ibv_xrc_sender_connected
    AQ_IBV_XRC_KNOWN,     // it is connected with it
    AQ_IBV_XRC_DISAGREES, // another rank of the place told another number: they share no domain
} aq_ibv_xrc_told_t;

aq_ibv_xrc_told_t aq_ibv_xrc_sender_told(const aq_ibv_xrc_sender_t *sender, uint32_t number);

// The links of the sender may use its entries, of which there are `depth`.
void aq_ibv_xrc_sender_connected(aq_ibv_xrc_sender_t *sender, uint32_t number, unsigned depth);

// How many sending queue pairs there are.
unsigned aq_ibv_xrc_senders(const aq_ibv_xrc_t *xrc);

// ---- receiving ----

// How to get this place's receiving queue pair from a rank.
typedef enum aq_ibv_xrc_claim {
    AQ_IBV_XRC_MAKE, // this process makes it, then calls aq_ibv_xrc_publish
    AQ_IBV_XRC_WAIT, // another process is making it: ask again later
    AQ_IBV_XRC_OPEN, // it is there: open it by *number
} aq_ibv_xrc_claim_t;

aq_ibv_xrc_claim_t aq_ibv_xrc_claim(aq_ibv_xrc_t *xrc, uint32_t rank, uint32_t *number);

// Ends a claim. number: of the queue pair, connected with the rank's sending one; 0: it could not
// be made, and the next process that asks makes it.
void aq_ibv_xrc_publish(aq_ibv_xrc_t *xrc, uint32_t rank, uint32_t number);

// ---- the domain ----

// Collective over the job: shares domain and table with the other ranks of this host that listen at
// the same port. AQ_ERR_RESOURCE, AQ_ERR_PEER: memory cannot be shared, or the device refuses
// (logged).
aq_status_t aq_ibv_xrc_open(aq_ibv_xrc_t *xrc, aq_boot_t *boot, struct ibv_context *verbs,
                            const aq_ibv_port_address_t *port);

// Ends it before any queue pair was made. No effect if it was not opened.
void aq_ibv_xrc_close(aq_ibv_xrc_t *xrc);
