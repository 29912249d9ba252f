// SPDX-License-Identifier: BSD-3-Clause
// Peers: what one endpoint of this process keeps for each endpoint that it is connected to, the
// table that finds them by number, and the credits that they share.
#pragma once

#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../../core/ground/lock.h"
#include "../../common/credit.h"
#include "ibv_handshake.h"
#include "../verbs/ibv_limits.h"
#include "ibv_proof.h"

// Which atomics the device may do on memory of a process. See ibv_atomic.c.
typedef enum aq_ibv_atomics {
    AQ_IBV_ATOMICS_NONE,
    AQ_IBV_ATOMICS_EXCLUSIVE, // where nothing else does any on the same memory
    AQ_IBV_ATOMICS_ALL,       // they are atomic with respect to those of processors
} aq_ibv_atomics_t;

typedef enum aq_ibv_state {
    AQ_IBV_IDLE,
    AQ_IBV_CALLING,   // this process asked for the connection
    AQ_IBV_ANSWERING, // the peer asked, and this process agreed
    AQ_IBV_READY,
    AQ_IBV_FAILED,
} aq_ibv_state_t;

struct aq_ibv_peer;

// How a connection comes about. Under the connector's lock.
typedef struct aq_ibv_connection {
    aq_ibv_state_t state;
    bool used; // this process has asked for the link; see GASNET_CONNECTFILE_OUT
    // By datagrams.
    aq_ibv_handshake_t handshake;
    uint32_t psn;      // of the first packet that this process sends
    unsigned pathless; // attempts in a row that found no path to the peer
    struct aq_ibv_peer *next;
    struct aq_ibv_xrc_sender *sender; // what the link sends by; see ibv_xrc.h; NULL: no XRC
    struct ibv_qp *receiver;          // the queue pair here from the peer; NULL: no XRC, or not yet
    // By librdmacm.
    unsigned tries;
    struct rdma_cm_id *id; // of the call or answer under way, and of the connection; NULL: none
    uint8_t nonce[AQ_IBV_NONCE_BYTES]; // of this process's last request
    aq_ibv_nonces_t nonces;            // requests of the peer
} aq_ibv_connection_t;

// The ring in the peer's memory that this process writes.
typedef struct aq_ibv_ring_out {
    uint64_t base; // address of all rings of the peer
    uint32_t key, depth;
    aq_lock_t lock;      // guards the next four; held while a write to the ring is posted
    _Atomic uint64_t at; // address of the ring that the peer granted; 0: none
    uint32_t free_slots;
    uint32_t position; // of the last message written, from 1
    unsigned generation;
    atomic_bool left;   // the next message has to carry AQ_IBV_LEFT
    atomic_bool answer; // a request AQ_IBV_ASK has not been answered yet
} aq_ibv_ring_out_t;

// The ring here that the peer writes, and what the peer is to learn with the next message.
typedef struct aq_ibv_ring_in {
    _Atomic uint8_t news; // number of a ring that was granted, from 1; 0: no news
    atomic_uint returned; // slots that are free again, with the generation of the ring
    // Under the receiver's lock.
    struct aq_ibv_ring *owned; // NULL: none
    unsigned generation;
    uint32_t received; // messages of the peer in this cycle
    uint32_t regains;  // a peer that lost its ring to a sleep gets one after so many; 0: no
} aq_ibv_ring_in_t;

// What is known of the send queue of a queue pair.
typedef struct aq_ibv_entries {
    atomic_uint slots;      // entries that are free
    atomic_uint unsignaled; // posted ones without a completion, behind the last one that has
    atomic_bool dead;       // nothing completes any more
} aq_ibv_entries_t;

// The link of core/conduit.h.
typedef struct aq_ibv_peer {
    struct aq_ibv_peer *next; // all peers that were ever contacted
    uint32_t rank;
    uint16_t endpoint, here; // of the peer, and of this process; both 0, or both windows
    uint32_t number;         // in the table of peers here
    uint32_t number_there;   // of this process in the peer's table
    unsigned grant;          // requests that this process lets the peer have outstanding
    uint32_t srq_there;      // with XRC: number of the peer's shared receive queue; else 0
    // All change under the connector's lock until READY.
    struct ibv_qp *qp;         // to which this process posts: the next one, or that of the failover
    aq_ibv_entries_t *entries; // of qp: `own`, unless links share qp
    struct ibv_qp *pair;       // the first queue pair, which the connector makes
    unsigned first_port;       // of `pair`, here and at the peer; see ibv_rail_ports.h
    struct aq_ibv_failover *failover; // see ibv_failover.h; NULL: none
    atomic_bool started;              // the credits below count
    aq_ibv_atomics_t atomics;         // on the peer's memory
    aq_ibv_entries_t own;             // see entries
    aq_credit_t credit;
    aq_ibv_ring_out_t out;
    aq_ibv_ring_in_t in;
    aq_ibv_connection_t conn;
    _Atomic(struct aq_ibv_rail_set *) rails;    // further queue pairs; NULL: none yet
    _Atomic(struct aq_ibv_rail_set *) standbys; // those that may replace the first one
} aq_ibv_peer_t;

// Every message names its sender by the sender's number in the receiver's table. Numbers of
// endpoint 0 are ranks. A window gives its peers numbers from 0 on, and tells them when they
// connect.
typedef struct aq_ibv_peers {
    const aq_ibv_limits_t *limits;
    uint32_t rank;                       // of this process
    uint16_t endpoint;                   // of this process
    uint32_t numbers;                    // size of the table
    _Atomic(aq_ibv_peer_t *) *by_number; // NULL: never contacted
    _Atomic(aq_ibv_peer_t *) first;
    atomic_uint count;
    aq_credit_pool_t credits;
    atomic_uint grants_left;
    unsigned ungranted; // peers that have no grant yet
} aq_ibv_peers_t;

// The credits that this endpoint has and those that it can grant: all of them, by the limits.
void aq_ibv_credits_open(aq_ibv_peers_t *peers);

// Makes the table, for a job of so many ranks, and the credits. False: no memory.
bool aq_ibv_peers_open(aq_ibv_peers_t *peers, uint32_t ranks);

// Under the connector's lock: the link of an endpoint of a rank, created if there is none. NULL: no
// memory, or a window has no number left (logged).
aq_ibv_peer_t *aq_ibv_peer_get(aq_ibv_peers_t *peers, uint32_t rank, uint16_t endpoint);

// Under the connector's lock: how many requests a new peer may have outstanding; at least 1.
unsigned aq_ibv_peer_grant(aq_ibv_peers_t *peers);

// Under the connector's lock: takes in what the peer said when it connected. From then on the link
// may carry requests.
void aq_ibv_peer_start(aq_ibv_peers_t *peers, aq_ibv_peer_t *link,
                       const aq_ibv_conn_private_data_t *theirs);

void aq_ibv_peers_free(aq_ibv_peers_t *peers);
