// Connections, made by librdmacm. The connector is a thread that handles all its events, those of
// the connections that this process asks for and those that peers ask for. So a process that
// computes can be connected to.
//
//      caller                            connector                        peer's connector
//      aq_ibv_connect:
//      resolve address, waits
//                    address resolved:   resolve route
//                    route resolved:     queue pair, connect  -------->   request: queue pair,
//                                                                         accept
//      <-- READY --- established  <-----------------------------------    ... established: READY
//
// - If two processes call each other at the same time, the request of the lower rank counts: its
//   process refuses the other request, and the peer drops its own.
// - A process makes one connection at a time, or with GASNET_CONNECT_STATIC a few
//   (GASNET_CONNECT_CALLS): so the requests that a process has to answer at the same time do not
//   grow with the job.
// - Each endpoint has connections of its own (aq_ibv_end). One listener and one thread make those
// of
//   all endpoints: the request says which endpoint of this process it is for.
#ifndef AQ_IBV_CONNECT_H
#define AQ_IBV_CONNECT_H

#include <pthread.h>

#include "ibv_addresses.h"
#include "ibv_device.h"
#include "ibv_lost.h"
#include "ibv_queues.h"

// What the connections of one endpoint of this process need.
typedef struct aq_ibv_end {
    const aq_ibv_limits_t *limits;
    const aq_ibv_queues_t *queues;
    aq_ibv_peers_t *peers;
    aq_ibv_conn_private_data_t own; // what is the same for all peers of the endpoint
    atomic_uint queue_pairs;        // of links, and of failed calls until they are cleaned up
    // Makes the queues and buffers of a window, with the connector's lock held. Called once, before
    // the first link; sets itself to NULL, and `failed` if it has logged why. NULL: they exist.
    bool (*furnish)(struct aq_ibv_end *end);
    bool failed;
} aq_ibv_end_t;

typedef struct aq_ibv_connector {
    const aq_conduit_env_t *env;
    const aq_ibv_device_t *device;
    const aq_ibv_addresses_t *addresses;
    aq_ibv_losses_t *losses; // its eventfd wakes the thread
    pthread_t thread;
    pthread_mutex_t lock;
    aq_ibv_end_t *ends[AQ_IBV_ENDPOINTS]; // by endpoint; NULL: not open. Under the lock
    pthread_cond_t connected;             // the state of a link has changed
    unsigned calling, most_calling;       // calls under way, and the most at a time; under the lock
} aq_ibv_connector_t;

// Starts the thread. Logs faults.
aq_status_t aq_ibv_connector_start(aq_ibv_connector_t *connector);
void aq_ibv_connector_stop(aq_ibv_connector_t *connector);

// From now on peers may connect to this endpoint, and it may call. The connector does not own the
// end, which has to stay valid until aq_ibv_connector_stop.
void aq_ibv_connector_add(aq_ibv_connector_t *connector, uint16_t endpoint, aq_ibv_end_t *end);

// Connects an endpoint of this process; see connect of aq_conduit_ops_t.
aq_status_t aq_ibv_connect(aq_ibv_connector_t *connector, uint16_t endpoint, const aq_peer_t *peer,
                           void **link);

// GASNET_CONNECT_STATIC: connects endpoint 0 to that of all ranks outside of the neighbourhood, a
// few at a time, and waits for all. AQ_ERR_PEER: one cannot be reached. AQ_ERR_RESOURCE: no memory.
// Both are logged.
aq_status_t aq_ibv_connect_all(aq_ibv_connector_t *connector);

#endif
