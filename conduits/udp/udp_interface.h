// Which interface of this host reaches the peers: loopback when all stay inside it; else the one
// that GASNET_WORKERIP or GASNET_MASTERIP tells, else the one that leads to another host of the
// job, as far as the spawner knows one, else that of the default route. IPv4, or IPv6 where there
// is nothing else.
#ifndef AQ_UDP_INTERFACE_H
#define AQ_UDP_INTERFACE_H

#include "udp_socket.h"

// With it a Medium of 512 bytes, which clients may count on, is possible.
enum { UDP_LEAST_MTU = 768 };

typedef struct udp_interface {
    udp_sockaddr_t address; // port 0
    char name[16];
    bool loopback;
} udp_interface_t;

// May block to look up a name. Logs faults.
aq_status_t udp_interface_choose(const udp_socket_setup_t *setup, udp_interface_t *out);

// The longest datagram for packets of so many bytes, in that family: a multiple of UDP_ALIGNMENT.
size_t udp_interface_datagram(size_t mtu, sa_family_t family);

// That of the interface, at least UDP_LEAST_MTU; one with less is refused. Logs.
aq_status_t udp_interface_mtu(const udp_interface_t *interface, size_t *mtu);

#endif
