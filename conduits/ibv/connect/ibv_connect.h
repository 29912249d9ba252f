// SPDX-License-Identifier: BSD-3-Clause
// Connections: what is common to both ways of making them, by librdmacm (ibv_connect_cm.h) and by
// datagrams (ibv_connect_ud.h). The connector is a thread that handles all events, those of the
// connections that this process asks for and those that peers ask for. So a process that computes
// can be connected to.
//
//      thread that needs a link          connector                           peer's connector
//      aq_ibv_connect: ops->call ------> ops->progress  <--- messages --->   ops->progress
//      waits
//      <-------------- READY ----------- queue pair connected                READY
//
// - A process makes one connection at a time, or with GASNET_CONNECT_STATIC a few
//   (GASNET_CONNECT_CALLS): so the requests that a process has to answer at the same time do not
//   grow with the job.
// - Each endpoint has connections of its own (aq_ibv_end). One connector makes those of all
//   endpoints: the request says which endpoint of this process it is for.
#pragma once

#include <pthread.h>

#include "../peers/ibv_addresses.h"
#include "../rails/ibv_failover.h"
#include "ibv_device.h"
#include "../peers/ibv_lost.h"
#include "../rails/ibv_port_watch.h"
#include "../verbs/ibv_queue_pair.h"
#include "../verbs/ibv_queues.h"
#include "../rails/ibv_task.h"
#include "../peers/ibv_xrc.h"

enum {
    AQ_IBV_RNR_TIMER = 0, // a peer without a buffer is tried again after 655 ms
};

// What the connections of one endpoint of this process need.
typedef struct aq_ibv_end {
    const aq_ibv_limits_t *limits;
    const aq_ibv_queues_t *queues;
    aq_ibv_peers_t *peers;
    aq_ibv_failovers_t *failovers;  // NULL: links cannot move to another port
    aq_ibv_xrc_t *xrc;              // NULL: each link has a queue pair of its own
    aq_ibv_conn_private_data_t own; // what is the same for all peers of the endpoint
    atomic_uint queue_pairs;        // of links, and of failed calls until they are cleaned up
    // Makes the queues and buffers of a window, with the connector's lock held. Called once, before
    // the first link; sets itself to NULL, and `failed` if it has logged why. NULL: they exist.
    bool (*furnish)(struct aq_ibv_end *end);
    bool failed;
} aq_ibv_end_t;

struct aq_ibv_connector;

// A way of making connections. The operations log faults.
typedef struct aq_ibv_connect_ops {
    const char *name; // as in GASNET_IBV_CONNECT
    // Prepares; from now on peers may call. Sets the connector's fd.
    aq_status_t (*open)(struct aq_ibv_connector *connector);
    // Under the lock: begins to connect an idle link, whose state becomes CALLING, or FAILED.
    aq_status_t (*call)(struct aq_ibv_connector *connector, aq_ibv_peer_t *link);
    // In the connector's thread: handles all events that are there. Takes the lock.
    void (*progress)(struct aq_ibv_connector *connector);
    // In the connector's thread: how long it may sleep without an event, in ms; -1: for ever. Takes
    // the lock if it needs it.
    int (*timeout)(struct aq_ibv_connector *connector);
} aq_ibv_connect_ops_t;

typedef struct aq_ibv_connector {
    const aq_ibv_connect_ops_t *ops;
    int fd; // readable if there is an event
    const aq_conduit_env_t *env;
    const aq_ibv_device_t *device;
    const aq_ibv_addresses_t *addresses; // by port; those of librdmacm are of the first port
    struct aq_ibv_ud *ud;    // see ibv_connect_ud.h; NULL: connections are not made by datagrams
    aq_ibv_losses_t *losses; // its eventfd wakes the thread
    aq_ibv_tasks_t tasks;    // that the thread does besides
    aq_ibv_port_watch_t watch;
    pthread_t thread;
    pthread_mutex_t lock;
    aq_ibv_end_t *ends[AQ_IBV_ENDPOINTS]; // by endpoint; NULL: not open. Under the lock
    pthread_cond_t connected;             // the state of a link has changed
    unsigned calling, most_calling;       // calls under way, and the most at a time; under the lock
    uint64_t all_ns;                      // how long aq_ibv_connect_all took
} aq_ibv_connector_t;

// Starts the thread; ops, env, device, addresses and losses are set. Logs faults.
aq_status_t aq_ibv_connector_start(aq_ibv_connector_t *connector);
void aq_ibv_connector_stop(aq_ibv_connector_t *connector);

// From now on peers may connect to this endpoint, and it may call. The connector does not own the
// end, which has to stay valid until aq_ibv_connector_stop.
void aq_ibv_connector_add(aq_ibv_connector_t *connector, uint16_t endpoint, aq_ibv_end_t *end);

// Connects an endpoint of this process; see connect of aq_conduit_ops_t.
aq_status_t aq_ibv_connect(aq_ibv_connector_t *connector, uint16_t endpoint, const aq_peer_t *peer,
                           void **link);

// GASNET_CONNECT_STATIC: connects endpoint 0 to that of all ranks outside of the neighbourhood, or
// of those ranks r of which peers[r] is set, a few at a time, and waits for all. AQ_ERR_PEER: one
// cannot be reached. AQ_ERR_RESOURCE: no memory. Both are logged.
aq_status_t aq_ibv_connect_all(aq_ibv_connector_t *connector, const bool *peers);

// ---- for the ways of making connections; under the lock ----

// Sets the state of a link, and wakes the threads that wait for it.
void aq_ibv_link_set_state(aq_ibv_connector_t *connector, aq_ibv_peer_t *link,
                           aq_ibv_state_t state);

// The endpoint of this process that a link belongs to.
aq_ibv_end_t *aq_ibv_link_end(const aq_ibv_connector_t *connector, const aq_ibv_peer_t *link);

// The link of an endpoint of this process to one of a peer, with what the endpoint needs for it.
// NULL: there is no memory for either (logged).
aq_ibv_peer_t *aq_ibv_link_get(aq_ibv_end_t *end, uint32_t rank, uint16_t endpoint);

// How often the device retries a message for which the peer has no buffer (RNR). As long as each
// credit has a buffer that does not happen, so it is a fault, and the job should end. With more
// peers than grants, a peer that computes may lack a buffer for any length of time.
uint8_t aq_ibv_rnr_retries(const aq_ibv_limits_t *limits);

// What this process says to a peer, without nonce and proof; chooses the grant of a new peer.
aq_ibv_conn_private_data_t aq_ibv_private_data_for(const aq_ibv_end_t *end, aq_ibv_peer_t *link);

// Prepares a link for its first queue pair, link->pair: gives it a failover if the endpoint has
// failovers. False: no memory (logged).
bool aq_ibv_link_prepare(aq_ibv_end_t *end, aq_ibv_peer_t *link);

// The first queue pair was made: the link posts to it, or by way of its failover.
void aq_ibv_link_furnished(aq_ibv_peer_t *link);

// The attributes for a new queue pair of an endpoint.
struct ibv_qp_init_attr aq_ibv_queue_pair_attr(aq_ibv_end_t *end);

// Where the paths of this process begin, at its first port, at any port, and those of the first
// queue pair of a link.
aq_ibv_path_source_t aq_ibv_connect_source(const aq_ibv_device_t *device);
aq_ibv_path_source_t aq_ibv_port_source(const aq_ibv_device_t *device, unsigned port);
aq_ibv_path_source_t aq_ibv_link_source(const aq_ibv_device_t *device, const aq_ibv_peer_t *link);

// Whether the device says that a port of this process is up.
bool aq_ibv_port_is_active(const aq_ibv_device_t *device, unsigned port);

// Takes a new queue pair to INIT. Returns 0 or an errno.
int aq_ibv_connect_init(const aq_ibv_device_t *device, struct ibv_qp *qp);

// The same for a sending queue pair that was just made, and counts it. False: the device refused
// one of the two (qp is NULL and errno set, or qp was destroyed); logged.
bool aq_ibv_connect_adopt(const aq_ibv_connector_t *connector, aq_ibv_end_t *end,
                          struct ibv_qp *qp);

// Makes the first queue pair of a link at its first port, in INIT, and counts it. False: the device
// refuses (logged).
bool aq_ibv_connect_make_pair(const aq_ibv_connector_t *connector, aq_ibv_peer_t *link);

// This side's end of a link, whose first queue pair was made.
aq_ibv_pair_info_t aq_ibv_connect_end(const aq_ibv_connector_t *connector,
                                      const aq_ibv_peer_t *link);

// A link cannot be connected: ends the job, unless the job is ending already. why: the outcome of
// the last attempt.
void aq_ibv_link_unreached(aq_ibv_connector_t *connector, const aq_ibv_peer_t *link,
                           const char *why);

// Logs that the device refuses a queue pair.
void aq_ibv_log_no_queue_pair(int error);

// Wakes the connector's thread, so that it calls ops->timeout again. Any thread.
void aq_ibv_connector_wake(aq_ibv_connector_t *connector);
