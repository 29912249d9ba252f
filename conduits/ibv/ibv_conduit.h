// SPDX-License-Identifier: BSD-3-Clause
// The ibv conduit: messages, put, get and atomics over a verbs device (InfiniBand, RoCE, iWARP).
// This header has its instances, one for each endpoint of this process that receives messages. They
// are made of parts that each have a header of their own.
//
// What is always true:
// - A peer that this process never contacted has no queue pair and no link. A connection is made
//   when one of two processes first needs it. The connector, a thread of the conduit, answers, so
//   that peers can connect to a process that computes.
// - All messages arrive in buffers of one shared receive queue, or in rings. A request takes a
//   credit, whose buffer is posted at the receiver; the reply finds the buffer that the sender of
//   the request has posted for it.
// - The number of everything is decided at the start: buffers, operations, credits. A caller that
//   finds none gets AQ_AGAIN. The completion of an operation gives its resources back, and needs
//   the peer's device but not its process: so replies always get through.
// - Endpoint 0 and each window have queues, queue pairs, buffers, credits and locks of their own.
//   They share what aq_ibv_shared_t has, which does not change while messages travel, except
//   firehose and the connector.
// - A window that has no link yet has no queues and buffers. The connector makes them with its
//   first link, and publishes the completion queue of arrivals last; until then polls find an empty
//   one.
// - Names begin with aq_ibv_, since libibverbs uses ibv_.
// - Each part includes only the parts below it:
//
//      table        the operations that the core calls
//      conduit      open and close                       dump       what is outstanding
//      sleep        waiting; receive and send thread     connect_cm, connect_ud, connect_xrc
//      receive      messages in                          connect    the connector
//      failover     links that move to another port      task       what the connector does beside
//      ring         rings that peers write here          ondemand   put and get that have to ask
//      send         messages out                         rma        put and get with a key
//      ring_writer  rings of peers                       atomic     remote atomics
//      rail         further queue pairs of links         rail_ports further ports
//      rail_set     how these are made                   task       calls that may block
//      send_queue   operations, posts and completions    device     port and shared objects
//      lost         peers that are lost                  queues     queues of an endpoint
//      peer         links and credits                    proof      the key of the job
//      queue_pair   queue pairs without librdmacm        datagram   how their ends are told
//      replay       how a link moves to another queue pair
//      port_watch   ports that go down and come up
//      xrc          queue pairs that links share
//      buffer       registered buffers                   firehose   keys of memory
//      limits       how many of everything               memory, paging, segments, whole
//      wire         what travels                         addresses, ports, filter, path, settings
#pragma once

#include "peers/ibv_addresses.h"
#include "send/ibv_atomic.h"
#include "connect/ibv_connect.h"
#include "connect/ibv_device.h"
#include "receive/ibv_sleep.h"

// What all endpoints of this process use.
typedef struct aq_ibv_shared {
    aq_ibv_device_t device;
    aq_ibv_memory_t memory; // what is registered
    aq_ibv_keys_t keys;     // of the segments, and of other memory here
    aq_ibv_losses_t losses;
    aq_ibv_addresses_t addresses[AQ_IBV_RAIL_PORTS_MAX]; // by port
    aq_ibv_xrc_t xrc;                                    // of endpoint 0; ranks is 0 without XRC
    aq_ibv_connector_t connector;
    bool connect_file; // GASNET_CONNECTFILE_OUT is to be written at the end
    // The windows, the newest first; changed by open_window only.
    _Atomic(struct aq_ibv_conduit *) windows;
} aq_ibv_shared_t;

typedef struct aq_ibv_conduit {
    aq_conduit_t base;
    aq_ibv_shared_t *shared;
    struct aq_ibv_conduit *next; // window
    aq_ibv_end_t end;            // for the connector
    aq_ibv_limits_t limits;
    aq_ibv_queues_t queues;
    aq_ibv_buffers_t buffers;
    aq_ibv_peers_t peers;
    aq_ibv_send_queue_t send_queue;
    aq_ibv_ring_writer_t ring_writer;
    aq_ibv_sender_t sender;
    aq_ibv_rings_t rings;
    aq_ibv_rma_path_t rma;
    aq_ibv_rails_t rails;
    aq_ibv_failovers_t failovers;
    aq_ibv_atomic_path_t atomic;
    aq_ibv_ondemand_t ondemand;
    aq_ibv_receiver_t receiver;
    aq_ibv_sleeper_t sleeper;
} aq_ibv_conduit_t;

static inline aq_ibv_conduit_t *aq_ibv_of(aq_conduit_t *conduit)
{
    return (aq_ibv_conduit_t *)(void *)conduit;
}

// Connects the parts with each other; base and shared are set. Called first.
void aq_ibv_parts_join(aq_ibv_conduit_t *ibv);

// Buffers, operations, rings and credits, as the limits say; posts the first receive buffers, and
// begins to receive. The limits, the queues and the memory are there. Logs faults.
aq_status_t aq_ibv_parts_open(aq_ibv_conduit_t *ibv);
void aq_ibv_parts_close(aq_ibv_conduit_t *ibv);

// The private data of this endpoint for a connection, as far as they are the same for all peers.
aq_ibv_conn_private_data_t aq_ibv_own_private_data(const aq_ibv_conduit_t *ibv);

// Makes an instance whose table is ops. Logs faults.
aq_status_t aq_ibv_conduit_open(const aq_conduit_ops_t *ops, const aq_conduit_env_t *env,
                                aq_ibv_conduit_t **out);
void aq_ibv_conduit_close(aq_ibv_conduit_t *ibv);

// Makes the instance of another endpoint; see open_window of aq_conduit_ops_t. NULL: no memory
// (logged).
aq_ibv_conduit_t *aq_ibv_window_open(aq_ibv_conduit_t *main, uint16_t endpoint);

// Collective over the job: the segment of this process is in place.
aq_status_t aq_ibv_conduit_attach(aq_ibv_conduit_t *ibv, void *segment, size_t size);
