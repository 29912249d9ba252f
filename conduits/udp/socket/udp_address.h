// SPDX-License-Identifier: BSD-3-Clause
// Addresses in their three forms (as peers exchange them, as the kernel wants them, as users read
// them), and a datagram that is sent to one.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "../../../other/base/system/sockaddr.h"

enum {
    UDP_ADDRESS_BYTES = 20,
    UDP_ADDRESS_TEXT = 64, // room for an address as text, with its final zero
    UDP_ALIGNMENT = 8,     // the alignment of received datagrams, in bytes
};

// The address of a process, as peers exchange it: the same bytes on every machine.
typedef struct udp_address {
    uint8_t bytes[UDP_ADDRESS_BYTES]; // family (4 or 6), 0, port (big-endian), address
} udp_address_t;

typedef aq_sockaddr_t udp_sockaddr_t;

// Converts an address for the kernel; false: it is invalid.
bool udp_address_read(const udp_address_t *address, udp_sockaddr_t *out);
void udp_address_write(const udp_sockaddr_t *from, udp_address_t *out);
// Writes the address as text, for example "127.0.0.1:4711" or "[::1]:4711"; returns text.
const char *udp_address_text(const udp_sockaddr_t *from, char text[UDP_ADDRESS_TEXT]);

typedef struct udp_outgoing {
    const udp_sockaddr_t *to;
    const struct iovec *pieces;
    unsigned count;
} udp_outgoing_t;

static inline size_t udp_outgoing_bytes(const udp_outgoing_t *datagram)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < datagram->count; i++)
        bytes += datagram->pieces[i].iov_len;
    return bytes;
}
