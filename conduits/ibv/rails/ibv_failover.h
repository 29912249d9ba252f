// SPDX-License-Identifier: BSD-3-Clause
// Failovers: what the links of a process with several ports have, so that their messages survive
// the failure of a port. The send queue and the receiver use queues of ours in place of the
// device's, whose operations do the following (ibv_replay.h says what):
//
//      send_queue  --> queue pair of a failover --> journal --> queue pair of the present way
//      send_queue  <-- completions <------------------------ of the present way only
//      receiver    <-- arrivals <--------------------------- of the present way only
//      receiver    --> receive buffers --> the shared receive queue that lacks one
//
// What is always true:
// - A process with one port has no failovers: its links use the queues of the device.
// - Way 0 of a failover is the first queue pair of its link, way k the standby of the link on the
//   k-th port after that (ibv_rail_state.h). Each port has a shared receive queue of full size.
// - Links that datagrams connect begin at different ports, so that messages use all of them: the
//   link of ranks a and b begins at port (a + b - 1) mod ports if both have as many ports, or at a
//   later one if that port is down when they connect. Other links begin at port 0.
// - Keys in the journal are those of port 0; posting on another way translates them.
// - Failovers move while arrivals are polled: under the receiver's lock, since the resync says what
//   is in the ring of the peer. The lock of a failover guards its journal.
// - If no way is left, or something cannot be repeated, the peer is lost (ibv_lost.h).
#pragma once

#include "../verbs/ibv_queues.h"
#include "ibv_replay.h"
#include "../send/ibv_ring.h"
#include "ibv_rail_state.h"

// A work request in the journal.
typedef struct aq_ibv_failover_work {
    struct ibv_send_wr wr; // as posted
    struct ibv_sge piece;
    uint64_t id;                    // of the caller
    uint32_t local_key, remote_key; // of port 0
    uint8_t bytes[AQ_IBV_INLINE_MAX];
} aq_ibv_failover_work_t;

// The resync on the wire: the first message of a way but way 0.
typedef struct aq_ibv_failover_resync {
    uint32_t source; // number of the sender at the receiver, as in aq_ibv_head_t
    uint32_t rings_key;
    aq_ibv_replay_resync_t replay;
} aq_ibv_failover_resync_t;

typedef struct aq_ibv_failover {
    struct ibv_qp qp; // first: what the send queue posts to
    struct aq_ibv_failover *next;
    struct aq_ibv_failovers *failovers;
    aq_ibv_peer_t *link;
    aq_lock_t lock;
    aq_ibv_replay_t replay;
    struct ibv_qp *ways[AQ_IBV_WAYS_MAX]; // of the device
    uint32_t rings_key; // of the peer's rings at the present way's port; 0: that of port 0
    aq_ibv_failover_resync_t resync; // of the peer, the last one
    bool counted;                    // in failures
    bool closed;                     // the present way, which has failed
    bool lost;
    bool requested; // the standbys of the link were requested
    aq_ibv_failover_work_t works[];
} aq_ibv_failover_t;

typedef struct aq_ibv_failovers {
    const aq_ibv_limits_t *limits;
    const aq_ibv_peers_t *peers;
    aq_ibv_losses_t *losses;
    aq_ibv_rings_t *rings;
    aq_ibv_rails_t *rails;
    const aq_ibv_queues_t *queues; // of port 0
    struct ibv_context context;    // with our operations
    struct ibv_cq sends, arrivals;
    struct ibv_srq srq;
    _Atomic(aq_ibv_failover_t *) first;
    atomic_uint unrequested; // failovers whose standbys were not requested
    atomic_uint failures;    // failovers that have to move
    atomic_uint warned;      // bit k: of port k
    atomic_bool spread;      // some links send by other ports than port 0
    aq_lock_t refilling;
    unsigned missing[AQ_IBV_RAIL_PORTS_MAX]; // receive buffers, by port; under refilling
    atomic_ulong moves, repeated;            // links, and work requests posted again
} aq_ibv_failovers_t;

// The parts that `failovers` names are set. From now on sends, arrivals and srq can be used.
void aq_ibv_failovers_open(aq_ibv_failovers_t *failovers);
void aq_ibv_failovers_close(aq_ibv_failovers_t *failovers);

// Under the connector's lock: gives a link a failover, if it has none. False: no memory (logged).
bool aq_ibv_failover_make(aq_ibv_failovers_t *failovers, aq_ibv_peer_t *link);

// Then: the queue pair to which the link posts. Its first one, link->pair, was made at
// link->first_port.
struct ibv_qp *aq_ibv_failover_pair(aq_ibv_peer_t *link);

// The port at which a link of endpoint 0 to a rank begins, given over how many ports that one
// spreads its links, and in which round of their handshake (ibv_handshake.h).
unsigned aq_ibv_failovers_first_port(const aq_ibv_failovers_t *failovers, uint32_t rank,
                                     unsigned ports_there, unsigned round);

// Before the link is READY: what its ends tell each other, the key of the rings at the port of the
// first queue pair.
uint32_t aq_ibv_failover_rings_key(const aq_ibv_peer_t *link);
void aq_ibv_failover_hear_key(aq_ibv_peer_t *link, uint32_t rings_key);

// Asks for the standbys of new links. Any thread that polls and holds no locks.
void aq_ibv_failovers_ask(aq_ibv_failovers_t *failovers);

// A port has gone down, or is up again. The links that it carries move, if they can; otherwise the
// device decides how long it retries. No link moves to a port that is down. Any thread.
void aq_ibv_failovers_port(aq_ibv_failovers_t *failovers, unsigned port, bool up);

// See stand_by of aq_ibv_rails_t.
void aq_ibv_failover_stand_by(void *failovers, aq_ibv_peer_t *link, unsigned way,
                              struct ibv_qp *pair);
