// Which interface of this host reaches the peers: loopback when all stay inside it; else the one
// that GASNET_WORKERIP or GASNET_MASTERIP tells, else the one that leads to another host of the
// job, as far as the spawner knows one, else that of the default route. IPv4, or IPv6 where there
// is nothing else.
#ifndef AQ_UDP_INTERFACE_H
#define AQ_UDP_INTERFACE_H

#include "../../other/base/status.h"
#include "udp_address.h"

// With it a Medium of 512 bytes, which clients may count on, is possible.
enum { UDP_LEAST_MTU = 768 };

// What decides the choice. Strings belong to the caller; worker and master are an address or a
// name, or "" if the user gave none.
typedef struct udp_interface_wish {
    bool local;         // all ranks are on this host: use the loopback interface
    const char *worker; // GASNET_WORKERIP: a network of this host
    const char *master; // GASNET_MASTERIP: the launching host
    const char *peer;   // numeric address of another host of the job; NULL or "": not known
} udp_interface_wish_t;

typedef struct udp_interface {
    udp_sockaddr_t address; // port 0
    char name[16];
    bool loopback;
} udp_interface_t;

// May block to look up a name. Logs faults.
aq_status_t udp_interface_choose(const udp_interface_wish_t *wish, udp_interface_t *out);

// The longest datagram for packets of so many bytes, in that family: a multiple of UDP_ALIGNMENT.
size_t udp_interface_datagram(size_t mtu, sa_family_t family);

// That of the interface, at least UDP_LEAST_MTU; one with less is refused. Logs.
aq_status_t udp_interface_mtu(const udp_interface_t *interface, size_t *mtu);

#endif
