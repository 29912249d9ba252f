// The device and port of this process, and the objects that all its endpoints share.
//
// librdmacm finds verbs devices by the addresses of their network interfaces: this process listens
// at the first address of this host that belongs to the port that GASNET_IBV_PORTS and the rules of
// ibv_ports.h choose. So the GID of RoCE and the path of InfiniBand follow from addresses, and
// iWARP needs nothing of its own.
#ifndef AQ_IBV_DEVICE_H
#define AQ_IBV_DEVICE_H

#include <rdma/rdma_cma.h>

#include "../../core/conduit.h"
#include "ibv_atomic.h"
#include "ibv_limits.h"
#include "ibv_memory.h"

typedef struct aq_ibv_device {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    struct sockaddr_storage here; // where it listens, with the port
    struct ibv_context *verbs;    // the device, owned by librdmacm
    uint8_t port;
    struct ibv_pd *pd;
    aq_ibv_atomics_t atomics; // on memory here
    uint32_t processes;       // of the job on this host, this one included
} aq_ibv_device_t;

// Finds device and port, listens there, fills in memory and the limits of endpoint 0 except
// inline_bytes, and makes the protection domain. Collective over the job. Logs faults.
aq_status_t aq_ibv_device_open(aq_ibv_device_t *device, const aq_conduit_env_t *env, uint32_t peers,
                               aq_ibv_limits_t *limits, aq_ibv_memory_t *memory);
void aq_ibv_device_close(aq_ibv_device_t *device);

#endif
