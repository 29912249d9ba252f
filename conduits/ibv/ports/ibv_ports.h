// SPDX-License-Identifier: BSD-3-Clause
// The verbs devices of this host and their ports, and the choice among them.
//
//      device rxe0 --+-- port 1 --+-- GID 0   fe80::...             RoCE v2
//                    |            +-- GID 1   ::ffff:10.84.0.1      RoCE v2     <- used
//                    +-- port 2 (down)
//      device mlx5_0 (cannot be opened)
//
// What is always true:
// - A list has the devices in the order of the system, the ports of each device in ascending order,
//   and so the addresses (GIDs) of each port.
// - A device that cannot be queried is in the list once, with port 0 and the reason.
// - The list is a copy, and keeps no device open. The choice looks only at the list, so it can be
//   tested without a device.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../other/base/log/status.h"

#define AQ_IBV_NAME_BYTES 64 // longest name of a device, with its final zero

struct ibv_context;
struct ibv_device_attr;
struct ibv_odp_caps;

// ---- what is there ----

typedef enum aq_ibv_link {
    AQ_IBV_LINK_OTHER, // a network that this conduit does not know
    AQ_IBV_LINK_INFINIBAND,
    AQ_IBV_LINK_ROCE,
    AQ_IBV_LINK_IWARP,
} aq_ibv_link_t;

typedef enum aq_ibv_port_state {
    AQ_IBV_STATE_UNKNOWN,
    AQ_IBV_STATE_DOWN,
    AQ_IBV_STATE_INITIALIZING,
    AQ_IBV_STATE_ARMED,
    AQ_IBV_STATE_ACTIVE,
} aq_ibv_port_state_t;

typedef enum aq_ibv_gid_type {
    AQ_IBV_GID_PLAIN, // InfiniBand and iWARP
    AQ_IBV_GID_ROCE_V1,
    AQ_IBV_GID_ROCE_V2,
} aq_ibv_gid_type_t;

typedef struct aq_ibv_gid {
    uint8_t address[16]; // an IPv6 address, or an IPv4 one mapped into it; never all zero
    uint32_t index;      // in the port's table
    aq_ibv_gid_type_t type;
} aq_ibv_gid_t;

// The limits of a device; of one object unless stated otherwise.
typedef struct aq_ibv_device_limits {
    uint64_t region_bytes;        // of a memory region
    uint32_t regions;             // of the device
    uint32_t queue_pairs;         // of the device
    uint32_t requests;            // outstanding in a queue
    uint32_t pieces;              // of memory in one request
    uint32_t completions;         // in a completion queue
    uint32_t shared_requests;     // in a shared receive queue; 0: not supported
    uint32_t reads_out, reads_in; // RDMA reads and atomics outstanding on a queue pair
    bool atomics_coherent;        // with the processor's atomics
    bool atomics;
    bool pages;        // on demand, registered memory (ODP; see aq_ibv_memory_can_page)
    bool pages_all;    // the same for all memory of a process, registered once (implicit ODP)
    bool shared_pairs; // processes of a host can share queue pairs to another (XRC)
    bool dynamic;      // has dynamically connected queue pairs (DC)
} aq_ibv_device_limits_t;

typedef struct aq_ibv_port {
    char device[AQ_IBV_NAME_BYTES];
    unsigned number; // from 1
    int fault;       // port 0: the errno with which the device refused
    aq_ibv_link_t link;
    aq_ibv_port_state_t state;
    uint16_t lid;                  // InfiniBand
    uint32_t mtu;                  // bytes
    uint64_t message_bytes;        // longest message
    aq_ibv_device_limits_t limits; // of its device
    aq_ibv_gid_t *gids;
    size_t gid_count;
} aq_ibv_port_t;

typedef struct aq_ibv_ports {
    aq_ibv_port_t *list;
    size_t count;
} aq_ibv_ports_t;

// The limits of a device, from what it reports. Verbs do not say which devices have DC: those of
// driver mlx5 (vendor 0x02c9, from Connect-IB on) do.
aq_ibv_device_limits_t aq_ibv_device_limits(const struct ibv_device_attr *device,
                                            const struct ibv_odp_caps *paging);

// Reads the devices of this host; no device is no error. May block for some milliseconds.
// AQ_ERR_RESOURCE: no memory; nothing is logged.
aq_status_t aq_ibv_ports_read(aq_ibv_ports_t *out);
void aq_ibv_ports_free(aq_ibv_ports_t *ports);

// ---- which is used ----

// Why a port is used, or is not.
typedef enum aq_ibv_use {
    AQ_IBV_USED,
    AQ_IBV_OTHER_DEVICE, // not in the filter
    AQ_IBV_OTHER_PORT,   // the filter names its device, with other ports
    AQ_IBV_CLOSED,       // the device refuses
    AQ_IBV_NO_LINK,      // a network that this conduit does not know
    AQ_IBV_NO_ORDER,     // iWARP, without GASNET_IBV_IWARP
    AQ_IBV_NOT_ACTIVE,
    AQ_IBV_NO_GID,    // RoCE without an address
    AQ_IBV_NOT_FIRST, // another port of the device is used, and the filter does not name this one
    AQ_IBV_SPARE,     // enough ports are used
    AQ_IBV_NEAR_ONLY, // not the first port, without an address beyond its own network, and not
                      // named
    AQ_IBV_FARTHER,   // type Auto gives this process another port
    AQ_IBV_UNLIKE,    // not of the same kind of network and MTU as the first, and not named
    AQ_IBV_NO_RAILS,  // not the first port, and of a network without rails (iWARP)
} aq_ibv_use_t;

// A choice of ports of a host.
typedef struct aq_ibv_choice {
    const aq_ibv_ports_t *ports;
    aq_ibv_use_t *uses; // one for each port
    const char *filter; // owned by the environment
    size_t rails;       // ports to use, at most
} aq_ibv_choice_t;

// Decides for each port of the list; uses[i] belongs to list[i]. Uses the first usable ports of the
// list, at most `rails`. Further RoCE ports than the first need an address that is valid beyond
// their own network, unless the filter names ports. Returns how many are used. aq_ibv_filter_check
// has accepted the filter.
size_t aq_ibv_choose(const aq_ibv_ports_t *ports, const char *filter, size_t rails,
                     aq_ibv_use_t *uses);

// The best address of a port; NULL: it has no usable one. RoCE: an address that is valid beyond the
// host and its own network before one that is not, then version 2 before 1, then IPv4 before IPv6.
// InfiniBand and iWARP: the first of the table.
const aq_ibv_gid_t *aq_ibv_best_gid(const aq_ibv_port_t *port);

// The address that a port uses: that of GASNET_IBV_GID_INDEX, if the port has it, or the best.
const aq_ibv_gid_t *aq_ibv_chosen_gid(const aq_ibv_port_t *port);

// ---- in words ----

const char *aq_ibv_link_name(aq_ibv_link_t link);
const char *aq_ibv_port_state_name(aq_ibv_port_state_t state);
const char *aq_ibv_gid_type_name(const aq_ibv_port_t *port, const aq_ibv_gid_t *gid);

// What a device can do beyond the basics of verbs: "on-demand paging: ...; XRC: yes; DC: no".
void aq_ibv_abilities_words(const aq_ibv_device_limits_t *limits, char *text, size_t size);

// Why a port is not used, with the remedy, to stand behind the name of the port: "is down; ...".
// NULL: it is used.
const char *aq_ibv_use_words(const aq_ibv_port_t *port, aq_ibv_use_t use);

// A message about a list of which no port is used: what was found, what was wanted, the remedy.
void aq_ibv_explain(const aq_ibv_ports_t *ports, const char *filter, const aq_ibv_use_t *uses,
                    char *errbuf, size_t errbuf_size);

// ---- for the conduit's table ----

// Whether this host has a port to use, by its devices and GASNET_IBV_PORTS. Writes into errbuf
// which port it is, or what aq_ibv_explain or aq_ibv_filter_check says. Does not log.
bool aq_ibv_usable(char *errbuf, size_t errbuf_size);

// Lists all devices, ports, addresses and limits, and why a port is not used; calls `print` for
// each line.
void aq_ibv_report(void (*print)(void *arg, const char *label, const char *text), void *arg);
