#include "ofi_route.h"

#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

static socklen_t target_read(const char *text, ofi_sockaddr_t *out)
{
    const in_port_t discard = htons(9); // connect wants a port; nothing is sent there
    memset(out, 0, sizeof *out);
    out->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = discard};
    if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1)
        return sizeof out->v4;
    out->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = discard};
    return inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1 ? sizeof out->v6 : 0;
}

// The source address that the kernel would use.
static bool source_find(const char *target, ofi_sockaddr_t *source)
{
    ofi_sockaddr_t to;
    const socklen_t length = target_read(target, &to);
    const int fd = length ? socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    socklen_t room = sizeof *source;
    if (fd < 0)
        return false;
    const bool found =
        connect(fd, &to.any, length) == 0 && getsockname(fd, &source->any, &room) == 0;
    close(fd);
    return found;
}

// No host has a documentation address, so the way there is the default route.
void ofi_route_find(const char *peer, ofi_wish_t *wish)
{
    wish->route.any.sa_family = AF_UNSPEC;
    wish->peer_known = peer && *peer && source_find(peer, &wish->route);
    if (!wish->peer_known && !source_find("192.0.2.1", &wish->route) &&
        !source_find("2001:db8::1", &wish->route))
        wish->route.any.sa_family = AF_UNSPEC;
}
