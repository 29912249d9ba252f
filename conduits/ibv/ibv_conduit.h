// The ibv conduit: messages, put, get and atomics over a verbs device (InfiniBand, RoCE, iWARP).
// This header has the process's instance of it, made of parts that each have a header of their own.
//
// What is always true:
// - A peer that this process never contacted has no queue pair and no link. librdmacm makes a
//   connection when one of two processes first needs it. The connector, a thread of the conduit,
//   answers, so that peers can connect to a process that computes.
// - All messages arrive in buffers of one shared receive queue, or in rings. A request takes a
//   credit, whose buffer is posted at the receiver; the reply finds the buffer that the sender of
//   the request has posted for it.
// - The number of everything is decided at the start: buffers, operations, credits. A caller
//   that finds none gets AQ_AGAIN. The completion of an operation gives its resources back, and
//   needs the peer's device but not its process: so replies always get through.
// - Names begin with aq_ibv_, since libibverbs uses ibv_.
// - Each part includes only the parts below it:
//
//      table        the operations that the core calls
//      conduit      open and close                       dump       what is outstanding
//      sleep        waiting, the receive thread          connect    the connector
//      receive      messages in
//      ring         rings that peers write here          ondemand   put and get that have to ask
//      send         messages out                         rma        put and get with a key
//      ring_writer  rings of peers                       atomic     remote atomics
//      send_queue   operations, posts and completions    device     port and shared objects
//      lost         peers that are lost
//      peer         links and credits                    proof      the key of the job
//      buffer       registered buffers                   firehose   keys of memory
//      limits       how many of everything               memory, segments
//      wire         what travels                         addresses, ports, filter, settings
#ifndef AQ_IBV_CONDUIT_H
#define AQ_IBV_CONDUIT_H

#include "ibv_addresses.h"
#include "ibv_atomic.h"
#include "ibv_connect.h"
#include "ibv_device.h"
#include "ibv_sleep.h"

typedef struct aq_ibv_conduit {
    aq_conduit_t base;
    aq_ibv_limits_t limits;
    aq_ibv_device_t device;
    aq_ibv_memory_t memory; // what is registered
    aq_ibv_keys_t keys;     // of the segments, and of other memory here
    aq_ibv_buffers_t buffers;
    aq_ibv_peers_t peers;
    aq_ibv_losses_t losses;
    aq_ibv_send_queue_t send_queue;
    aq_ibv_ring_writer_t ring_writer;
    aq_ibv_sender_t sender;
    aq_ibv_rings_t rings;
    aq_ibv_rma_path_t rma;
    aq_ibv_atomic_path_t atomic;
    aq_ibv_ondemand_t ondemand;
    aq_ibv_receiver_t receiver;
    aq_ibv_sleeper_t sleeper;
    aq_ibv_addresses_t addresses;
    aq_ibv_connector_t connector;
} aq_ibv_conduit_t;

static inline aq_ibv_conduit_t *aq_ibv_of(aq_conduit_t *conduit)
{
    return (aq_ibv_conduit_t *)(void *)conduit;
}

// Connects the parts with each other; base.env is set. Called first.
void aq_ibv_parts_join(aq_ibv_conduit_t *ibv);

// Buffers, operations, rings and credits, as the limits say; posts the first receive buffers. The
// device, its limits and the memory are there. Logs faults.
aq_status_t aq_ibv_parts_open(aq_ibv_conduit_t *ibv);
void aq_ibv_parts_close(aq_ibv_conduit_t *ibv);

// The private data of this process for a connection, without grant, nonce and proof.
aq_ibv_conn_private_data_t aq_ibv_own_private_data(const aq_ibv_conduit_t *ibv);

// Makes an instance whose table is ops. Logs faults.
aq_status_t aq_ibv_conduit_open(const aq_conduit_ops_t *ops, const aq_conduit_env_t *env,
                                aq_ibv_conduit_t **out);
void aq_ibv_conduit_close(aq_ibv_conduit_t *ibv);

// Collective over the job: the segment of this process is in place.
aq_status_t aq_ibv_conduit_attach(aq_ibv_conduit_t *ibv, void *segment, size_t size);

#endif
