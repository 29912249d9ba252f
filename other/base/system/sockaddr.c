// SPDX-License-Identifier: BSD-3-Clause
// Connects a UDP socket, which sends nothing, and reads which source address the kernel has chosen.
#include "sockaddr.h"

#include <arpa/inet.h>
#include <unistd.h>

enum { DISCARD_PORT = 9 }; // connect wants a port

bool aq_sockaddr_read(const char *text, aq_sockaddr_t *out)
{
    *out = (aq_sockaddr_t){.v4 = {.sin_family = AF_INET}, .length = sizeof out->v4};
    if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1)
        return true;
    *out = (aq_sockaddr_t){.v6 = {.sin6_family = AF_INET6}, .length = sizeof out->v6};
    return inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1;
}

bool aq_sockaddr_source(const aq_sockaddr_t *target, aq_sockaddr_t *source)
{
    aq_sockaddr_t to = *target;
    const int fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (to.any.sa_family == AF_INET)
        to.v4.sin_port = htons(DISCARD_PORT);
    else
        to.v6.sin6_port = htons(DISCARD_PORT);
    source->length = sizeof source->v6;
    const bool found =
        connect(fd, &to.any, to.length) == 0 && getsockname(fd, &source->any, &source->length) == 0;
    close(fd);
    return found;
}
