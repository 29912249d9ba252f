// SPDX-License-Identifier: BSD-3-Clause
// Converts addresses between their three forms: udp_conduit.c and udp_window.c write those that
// ranks exchange, udp_link.c reads them for the kernel, and messages to the user show them as text.
#include "udp_address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { PORT_AT = 2, ADDRESS_AT = 4 };

bool udp_address_read(const udp_address_t *address, udp_sockaddr_t *out)
{
    const uint8_t *bytes = address->bytes;
    memset(out, 0, sizeof *out);
    if (bytes[0] == 4) {
        out->length = sizeof out->v4;
        out->v4.sin_family = AF_INET;
        memcpy(&out->v4.sin_port, bytes + PORT_AT, sizeof out->v4.sin_port);
        memcpy(&out->v4.sin_addr, bytes + ADDRESS_AT, sizeof out->v4.sin_addr);
        return true;
    }
    if (bytes[0] != 6)
        return false;
    out->length = sizeof out->v6;
    out->v6.sin6_family = AF_INET6;
    memcpy(&out->v6.sin6_port, bytes + PORT_AT, sizeof out->v6.sin6_port);
    memcpy(&out->v6.sin6_addr, bytes + ADDRESS_AT, sizeof out->v6.sin6_addr);
    return true;
}

void udp_address_write(const udp_sockaddr_t *from, udp_address_t *out)
{
    uint8_t *bytes = out->bytes;
    memset(bytes, 0, sizeof out->bytes);
    if (from->any.sa_family == AF_INET) {
        bytes[0] = 4;
        memcpy(bytes + PORT_AT, &from->v4.sin_port, sizeof from->v4.sin_port);
        memcpy(bytes + ADDRESS_AT, &from->v4.sin_addr, sizeof from->v4.sin_addr);
    } else {
        bytes[0] = 6;
        memcpy(bytes + PORT_AT, &from->v6.sin6_port, sizeof from->v6.sin6_port);
        memcpy(bytes + ADDRESS_AT, &from->v6.sin6_addr, sizeof from->v6.sin6_addr);
    }
}

const char *udp_address_text(const udp_sockaddr_t *from, char text[UDP_ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (from->any.sa_family == AF_INET) {
        (void)inet_ntop(AF_INET, &from->v4.sin_addr, host, sizeof host);
        snprintf(text, UDP_ADDRESS_TEXT, "%s:%u", host, ntohs(from->v4.sin_port));
    } else {
        (void)inet_ntop(AF_INET6, &from->v6.sin6_addr, host, sizeof host);
        snprintf(text, UDP_ADDRESS_TEXT, "[%s]:%u", host, ntohs(from->v6.sin6_port));
    }
    return text;
}
