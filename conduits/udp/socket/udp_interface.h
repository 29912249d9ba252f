// SPDX-License-Identifier: BSD-3-Clause
// The choice of the interface that reaches the peers: loopback if all ranks are on this host;
// otherwise the interface that GASNET_WORKERIP or GASNET_MASTERIP names, or the one that leads to
// another host of the job if the spawner knows one, or that of the default route. IPv4 is
// preferred; IPv6 is used if there is nothing else.
#pragma once

#include "../../../other/base/log/status.h"
#include "udp_address.h"

// The least MTU: a datagram with a Medium of 512 bytes, on which clients may rely, fits.
enum { UDP_MTU_MIN = 768 };
// Sizes of packets that every path of IPv6 carries (RFC 8200), and that every host accepts by IPv4
// (RFC 791).
enum { UDP_SAFE_MTU = 1280, UDP_NARROW_MTU = 576 };

// The input of the choice. Strings belong to the caller; worker and master are an address or a
// name, or "" if the user gave none.
typedef struct udp_interface_hints {
    bool local;         // all ranks are on this host: use the loopback interface
    const char *worker; // GASNET_WORKERIP: a network of this host
    const char *master; // GASNET_MASTERIP: the launching host
    const char *peer;   // numeric address of another host of the job; NULL or "": not known
} udp_interface_hints_t;

typedef struct udp_interface {
    udp_sockaddr_t address; // port 0
    char name[16];
    bool loopback;
} udp_interface_t;

// May block to resolve a name. Logs faults.
aq_status_t udp_interface_choose(const udp_interface_hints_t *hints, udp_interface_t *out);

// The longest datagram for a given MTU and address family: a multiple of UDP_ALIGNMENT.
size_t udp_interface_datagram(size_t mtu, sa_family_t family);

// The MTU of the interface. An interface with less than UDP_MTU_MIN is refused; logs faults.
aq_status_t udp_interface_mtu(const udp_interface_t *interface, size_t *mtu);
