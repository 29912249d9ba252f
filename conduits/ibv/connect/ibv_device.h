// SPDX-License-Identifier: BSD-3-Clause
// The device and port of this process, and the objects that all its endpoints share.
//
// GASNET_IBV_PORTS and the rules of ibv_ports.h choose the port. librdmacm finds verbs devices by
// the addresses of their network interfaces: this process listens at the first address of this host
// that belongs to the port. So the GID of RoCE and the path of InfiniBand follow from addresses,
// and iWARP needs nothing of its own. If the port has no IP address, or GASNET_IBV_CONNECT=ud, this
// process opens the device itself, and connections are made by datagrams (ibv_connect_ud.h).
#pragma once

#include <rdma/rdma_cma.h>

#include "../../../core/conduit.h"
#include "../peers/ibv_addresses.h"
#include "../send/ibv_atomic.h"
#include "../verbs/ibv_limits.h"
#include "../verbs/ibv_memory.h"
#include "../verbs/ibv_path.h"
#include "../ports/ibv_rail_ports.h"

typedef struct aq_ibv_device {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    struct sockaddr_storage here; // where it listens, with the port
    struct ibv_context *verbs;    // the device; librdmacm owns it if there is a listener
    uint8_t port;
    aq_ibv_path_t path; // of its packets
    // For connections by datagrams.
    aq_ibv_port_address_t address;
    uint8_t gid_index, mtu; // enum ibv_mtu
    bool ethernet;          // RoCE: peers are found by their GIDs, not by their LIDs
    bool datagrams_only;    // there is no listener
    struct ibv_pd *pd;
    bool xrc;                  // the job uses XRC; see ibv_xrc.h
    aq_ibv_atomics_t atomics;  // on memory here
    aq_ibv_rail_ports_t rails; // this port and further ones
    uint32_t processes;        // of the job on this host, this one included
} aq_ibv_device_t;

// Finds device and port, listens there, fills in memory and the limits of endpoint 0 except
// inline_bytes, and makes the protection domain. Collective over the job. Logs faults.
aq_status_t aq_ibv_device_open(aq_ibv_device_t *device, const aq_conduit_env_t *env, uint32_t peers,
                               aq_ibv_limits_t *limits, aq_ibv_memory_t *memory);
// What GASNET_IBV_CONNECT says.
typedef enum aq_ibv_connect_choice {
    AQ_IBV_CONNECT_AUTO,
    AQ_IBV_CONNECT_RDMACM,
    AQ_IBV_CONNECT_UD,
} aq_ibv_connect_choice_t;

aq_ibv_connect_choice_t aq_ibv_connect_choice(void);

void aq_ibv_device_close(aq_ibv_device_t *device);
