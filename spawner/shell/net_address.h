// SPDX-License-Identifier: BSD-3-Clause
// Network addresses for the tree: the own addresses that a peer can call, and the peers that may
// call. All addresses are numeric text, IPv4 or IPv6, so only GASNET_MASTERIP needs a name lookup.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../other/base/settings/settings_lists.h"
#include "../../other/base/log/status.h"

#define AQ_ADDRESS_TEXT 64

typedef struct aq_listener {
    int fd;
    char address[AQ_ADDRESS_TEXT];
    uint16_t port;
} aq_listener_t;

// Writes the addresses of this host that other hosts can use, separated by commas, as many as fit.
void aq_net_own_addresses(char *text, size_t size);
bool aq_net_is_loopback(const char *address);
// The MTU of the interface that has this address of this host; "": of the first one that others can
// use. 0: unknown.
unsigned aq_net_mtu(const char *address);
// Whether the text is a numeric address of this host; 127.0.0.1 and ::1 are.
bool aq_net_is_own(const char *text);
// Finds the address from which the kernel sends to target. Sends nothing.
bool aq_net_source(const char *target, char source[AQ_ADDRESS_TEXT]);
// Resolves a numeric address or a name; a name lookup may block.
bool aq_net_resolve(const char *name, char address[AQ_ADDRESS_TEXT]);
// Writes the numeric addresses of a name, separated by commas, as many as fit. A name lookup may
// block. False: the name is not known.
bool aq_net_resolve_all(const char *name, char *text, size_t size);
// Whether the text is an address, not a name.
bool aq_net_is_numeric(const char *text);

// Listens on that address only, on a port of the range ({0}: any port). Returns 0 or errno.
int aq_net_listen(const char *address, aq_ports_t ports, aq_listener_t *out);
// Accepts the next caller and its address. -1: no caller waits.
int aq_net_accept(const aq_listener_t *listener, char address[AQ_ADDRESS_TEXT]);
// Begins to connect, without blocking. Returns the descriptor, or -1 with errno set. The connection
// is complete once the descriptor is writable; aq_net_dialed then returns 0 or errno, and before it
// EINPROGRESS.
int aq_net_dial(const char *address, uint16_t port);
int aq_net_dialed(int fd);
// Connects; blocks for at most timeout_ms. Returns the descriptor, or -1 with errno set.
int aq_net_connect(const char *address, uint16_t port, int timeout_ms);
// As aq_net_connect, with each address of a comma-separated list in turn, until one answers; errno
// is that of the last one.
int aq_net_connect_any(const char *list, uint16_t port, int timeout_ms);
// The remote and the local address of a connection; "" if there is none.
void aq_net_peer(int fd, char address[AQ_ADDRESS_TEXT]);
void aq_net_local(int fd, char address[AQ_ADDRESS_TEXT]);

// Whether a comma-separated list contains the address.
bool aq_net_is_listed(const char *list, const char *address);
// Appends the address to such a list, if it fits and is not there yet.
void aq_net_list(char *list, size_t size, const char *address);
