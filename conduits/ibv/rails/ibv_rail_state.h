// SPDX-License-Identifier: BSD-3-Clause
// Rails: the queue pairs that a link has beside its first one, for puts and gets that are longer
// than a buffer. Each is on one of the ports of ibv_rail_ports.h, in turn, after that of the first
// one.
//
//      put of 512 KiB --+-- piece 0 --> first queue pair --> port 0 ==> port 0 of the peer
//                       +-- piece 1 --> rail 1 ------------> port 1 ==> port 1
//                       +-- piece 2 --> first queue pair
//                       '-- piece 3 --> rail 1
//
// What is always true:
// - Messages, atomics and short puts and gets use the first queue pair: so a Long is
//   ordered behind its payload, and all atomics on a memory are done by one device. Short puts and
//   gets take a rail when the first queue pair has no free entry.
// - A piece goes where fewest operations are outstanding; the first queue pair before the others.
//   Each piece counts in the `pending` of its operation, which is complete when all pieces are.
// - The first long put or get to a peer, of either side, makes the rails: each side tells the other
//   about its queue pairs, in messages of the conduit's own (ibv_rail_setup.c). Nothing waits for
//   them: until they are there, the first queue pair carries everything. A link has as many as the
//   side that has fewer.
// - Every operation on a rail is signaled, and can be posted again elsewhere: if it fails, the rail
//   is given up, and the first queue pair does all that was outstanding on it. A put that was done
//   but not acknowledged is done twice, with the same bytes, before it is complete. If the first
//   queue pair fails, another port carries its traffic (ibv_failover.h), or the peer is lost.
#pragma once

#include <poll.h>

#include "../../../core/conduit.h"
#include "../verbs/ibv_queues.h"
#include "../ports/ibv_rail_ports.h"
#include "../send/ibv_rma.h"
#include "ibv_task.h"

typedef struct aq_ibv_rail {
    aq_ibv_task_t loss; // in the list of lost rails, once it is given up
    struct ibv_qp *qp;  // NULL: none
    aq_ibv_peer_t *peer;
    uint32_t psn;
    unsigned port, port_there; // indices of ports, here and at the peer
    atomic_uint slots;         // free entries of the send queue
    atomic_bool up;            // takes puts and gets
} aq_ibv_rail_t;

// The rails of a link. Under the lock of aq_ibv_rails_t, except slots and up.
typedef struct aq_ibv_rail_set {
    unsigned count;
    // Bit i says of rail i:
    aq_ibv_peer_t *link;
    bool standby;       // see aq_ibv_rails_t
    uint64_t connected; // this side has connected it
    uint64_t ready;     // the peer has connected it
    uint64_t started;   // it took puts and gets, whether or not it still does
    uint64_t lost;      // this side has given it up
    bool tried;         // the connector's thread has been asked to connect the rails
    aq_ibv_rail_t list[AQ_IBV_RAILS_MAX - 1];
} aq_ibv_rail_set_t;

// What the rails of one endpoint have in common at one port.
typedef struct aq_ibv_rail_queue {
    struct ibv_comp_channel *channel;  // wakes sleepers; does not block
    struct ibv_comp_channel *sends;    // the same for cq and standby_cq; wakes the send thread if
                                       // there is one, and otherwise is `channel`
    struct ibv_comp_channel *receives; // the same for arrivals and the receive thread
    struct ibv_cq *cq;
    struct ibv_mr *slab; // the buffers of the endpoint, registered there; of port 0 NULL
    // The queues of standbys; NULL at port 0, and without standbys.
    struct ibv_cq *standby_cq, *arrivals;
    struct ibv_srq *srq;
    atomic_uint outstanding;
    aq_lock_t reaping; // only tried by threads of the client
} aq_ibv_rail_queue_t;

// What the first queue pair needs to take over an operation from a rail: the keys at its port.
typedef struct aq_ibv_rail_work {
    aq_ibv_rail_t *rail;
    uint32_t local_key, remote_key;
} aq_ibv_rail_work_t;

// What rails call of the other parts of the conduit.
typedef struct aq_ibv_rail_calls {
    // Sends a message of kind AQ_IBV_RAILS, now or later.
    void (*say)(void *context, aq_ibv_peer_t *link, const void *message, uint32_t bytes);
    void *context;
    // Wakes threads of this process that sleep until something completes. Any thread.
    void (*wake)(void *sleeper);
    void *sleeper;
    // Links have standbys: queue pairs on the other ports, number k on the k-th port after that of
    // the first one, at both sides, that may replace it. Says that one is connected, under the
    // lock. NULL: links have none.
    void (*stand_by)(void *failovers, aq_ibv_peer_t *link, unsigned way, struct ibv_qp *pair);
    void *failovers;
} aq_ibv_rail_calls_t;

typedef struct aq_ibv_rail_counts {
    atomic_ulong pieces; // that rails have done
    atomic_ulong moved;  // that rails have failed to do
    atomic_uint up;      // rails that take puts and gets
} aq_ibv_rail_counts_t;

typedef struct aq_ibv_rails {
    const aq_conduit_env_t *env;
    const aq_ibv_limits_t *limits;
    const aq_ibv_rail_ports_t *ports;
    aq_ibv_buffers_t *buffers;
    aq_ibv_keys_t *keys;
    aq_ibv_send_queue_t *queue;
    const aq_ibv_queues_t *first_queues; // of the endpoint, at port 0
    aq_ibv_rail_calls_t calls;
    aq_ibv_tasks_t *tasks;            // of the connector's thread
    aq_ibv_task_list_t finished;      // what the connector's thread has done
    aq_ibv_task_list_t lost;          // rails that were given up, which the peers do not know
    bool send_thread, receive_thread; // there is one; set before the queues are made
    aq_lock_t lock;
    atomic_bool open;   // the queues below exist
    bool failed;        // they cannot be made (logged)
    atomic_bool warned; // that a rail was given up
    aq_ibv_rail_queue_t queues[AQ_IBV_RAIL_PORTS_MAX];
    aq_ibv_rail_work_t *works; // by operation
    aq_ibv_op_t *stranded;     // operations of failed rails, for which the first one has no room
    atomic_uint any_strands;   // how many
    aq_ibv_rail_counts_t counts;
} aq_ibv_rails_t;

// As aq_ibv_rma_begin, over the rails of the link; and as aq_ibv_rma_begin_fenced.
aq_ibv_rma_begin_t aq_ibv_rma_begin_on_rails;
aq_ibv_rma_begin_t aq_ibv_rma_begin_fenced_on_rails;
