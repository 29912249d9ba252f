// SPDX-License-Identifier: BSD-3-Clause
// Addresses of hosts, and the address of this host on the way to another one.
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

// Documentation addresses, which no host has: the way there is the default route, if there is one.
#define AQ_FAR_V4 "192.0.2.1"
#define AQ_FAR_V6 "2001:db8::1"

typedef struct aq_sockaddr {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t length;
} aq_sockaddr_t;

// Reads a numeric IPv4 or IPv6 address; the port is 0. False: the text is something else.
bool aq_sockaddr_read(const char *text, aq_sockaddr_t *out);

// The source address that the kernel would use for a target, whose port does not matter. Sends
// nothing. False: no route leads there.
bool aq_sockaddr_source(const aq_sockaddr_t *target, aq_sockaddr_t *source);

// The same for a target that is numeric text.
static inline bool aq_sockaddr_source_to(const char *target, aq_sockaddr_t *source)
{
    aq_sockaddr_t address;
    return aq_sockaddr_read(target, &address) && aq_sockaddr_source(&address, source);
}
