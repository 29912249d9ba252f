// Addresses for the tree: which of this host's a peer can call, and who may call. All addresses are
// numeric text, IPv4 or IPv6, so that no name is looked up but GASNET_MASTERIP.
#ifndef AQ_NET_ADDRESS_H
#define AQ_NET_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../other/base/settings_lists.h"
#include "../other/base/status.h"

#define AQ_ADDRESS_TEXT 64

typedef struct aq_listener {
    int fd;
    char address[AQ_ADDRESS_TEXT];
    uint16_t port;
} aq_listener_t;

// Addresses of this host that mean something to others, commas between, as many as fit.
void aq_net_own_addresses(char *text, size_t room);
bool aq_net_is_loopback(const char *address);
// The address from which the kernel sends to another one; nothing is sent.
bool aq_net_source(const char *target, char source[AQ_ADDRESS_TEXT]);
// A numeric address or a name; may block to look the name up.
bool aq_net_resolve(const char *name, char address[AQ_ADDRESS_TEXT]);

// Listens on that address only, on a port of the range ({0}: any). 0 or errno.
int aq_net_listen(const char *address, aq_ports_t ports, aq_listener_t *out);
// The next caller and its address; -1: none waits.
int aq_net_accept(const aq_listener_t *listener, char address[AQ_ADDRESS_TEXT]);
// Blocks for at most that long. -1 with errno.
int aq_net_connect(const char *address, uint16_t port, int timeout_ms);
// The address at the other end of a connection, and at this one; "" when there is none.
void aq_net_peer(int fd, char address[AQ_ADDRESS_TEXT]);
void aq_net_local(int fd, char address[AQ_ADDRESS_TEXT]);

// Whether a list with commas between has an address.
bool aq_net_is_listed(const char *list, const char *address);

#endif
