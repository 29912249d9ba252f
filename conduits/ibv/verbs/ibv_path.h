// SPDX-License-Identifier: BSD-3-Clause
// The path from a port to a peer, as far as the user chooses it: MTU, partition, service level,
// traffic class and GID. Every way of making connections sets these attributes of its queue pairs
// from here.
//
//      attribute        librdmacm (ibv_connect_cm.c)          datagrams (ibv_connect_ud.c)
//      MTU              aq_ibv_path_set                       the lesser of both sides' paths
//      partition        aq_ibv_path_set                       of all queue pairs
//      service level    aq_ibv_path_set                       of datagrams too
//      traffic class    aq_ibv_path_set                       of datagrams too
//      GID              follows from the IP address           gid_index
#pragma once

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../other/base/log/status.h"

typedef struct aq_ibv_path {
    enum ibv_mtu mtu;      // the longest packet: the lesser of GASNET_MAX_MTU and the active MTU
    uint16_t pkey_index;   // in the port's table of partition keys
    int gid_index;         // in the port's table of GIDs; -1: GASNET_IBV_GID_INDEX is not set
    uint8_t service_level; // 0 to 15
    uint8_t traffic_class;
    bool chosen; // MTU, partition, service level or traffic class are not those of the network
} aq_ibv_path_t;

// The address of a port of a verbs device.
typedef struct aq_ibv_port_address {
    uint8_t gid[16];
    uint16_t lid; // InfiniBand
    uint16_t unused;
} aq_ibv_port_address_t;

enum { AQ_IBV_ADDRESS_TEXT = 80 };

// Whether a GID is an IPv4 address, mapped into an IPv6 one.
bool aq_ibv_gid_is_ipv4(const uint8_t gid[16]);

// The address of a port in words: its GID, as an IPv4 address if it is one, and a LID that is not
// 0: "10.84.0.2", "fe80::2", "fe80::2, LID 3". Returns text.
const char *aq_ibv_port_address_text(const aq_ibv_port_address_t *address,
                                     char text[AQ_IBV_ADDRESS_TEXT]);

// A port of this process, as far as the way from it to a peer depends on it.
typedef struct aq_ibv_path_source {
    const aq_ibv_path_t *path;
    aq_ibv_port_address_t address;
    uint8_t port;      // of its device
    uint8_t gid_index; // of the GID in the address
    bool ethernet;     // RoCE: peers are found by their GIDs, not by their LIDs
} aq_ibv_path_source_t;

// What a port offers.
typedef struct aq_ibv_path_port {
    const char *device;
    unsigned number;
    enum ibv_mtu active;  // 0: unknown
    const uint16_t *keys; // partition keys, with membership, in the order of the port's table
    unsigned key_count;
    bool has_gid; // GASNET_IBV_GID_INDEX names an entry that is in use, or is not set
} aq_ibv_path_port_t;

// Decides from the settings. AQ_ERR_CONFIG: the port does not have what a setting names; errbuf
// says what, in one sentence. Does not log.
aq_status_t aq_ibv_path_choose(const aq_ibv_path_port_t *port, aq_ibv_path_t *path, char *errbuf,
                               size_t errbuf_size);

// The same for a port of an open device. AQ_ERR_RESOURCE: the device does not report its state.
aq_status_t aq_ibv_path_find(struct ibv_context *verbs, uint8_t port, aq_ibv_path_t *path,
                             char *errbuf, size_t errbuf_size);

// Changes the attributes of a queue pair, as far as the mask contains them, to those of the path:
// the partition when it goes to INIT; the MTU, service level and traffic class when it goes to RTR.
// A path whose MTU is longer than the one in attr leaves that: the peer's port may have the lesser.
void aq_ibv_path_set(const aq_ibv_path_t *path, struct ibv_qp_attr *attr, int mask);

// The way of packets to a port of a peer: by its LID if both are InfiniBand ports of one subnet,
// and by its GID otherwise.
struct ibv_ah_attr aq_ibv_path_way(const aq_ibv_path_source_t *from,
                                   const aq_ibv_port_address_t *to);

// Bytes of a packet.
static inline unsigned aq_ibv_mtu_bytes(enum ibv_mtu mtu)
{
    return 128u << mtu;
}
