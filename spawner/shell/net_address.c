// SPDX-License-Identifier: BSD-3-Clause
// Addresses, listening and connecting.
#include "net_address.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../other/base/system/await.h"
#include "../../other/base/system/sockaddr.h"

#define BACKLOG 256

typedef struct net_address {
    struct sockaddr_storage any;
    socklen_t length;
} net_address_t;

static bool read_address(const char *text, uint16_t port, net_address_t *out)
{
    char number[8];
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM},
                    *list = NULL;
    snprintf(number, sizeof number, "%u", port);
    if (getaddrinfo(text, number, &hints, &list) != 0)
        return false;
    *out = (net_address_t){.length = list->ai_addrlen};
    memcpy(&out->any, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    return true;
}

static void write_address(const void *address, socklen_t length, char text[AQ_ADDRESS_TEXT])
{
    static const char prefix[] = "::ffff:"; // of an IPv4 address in an IPv6 socket
    const char *from = text;
    if (getnameinfo(address, length, text, AQ_ADDRESS_TEXT, NULL, 0, NI_NUMERICHOST) != 0) {
        text[0] = '\0';
        return;
    }
    if (strncmp(text, prefix, strlen(prefix)) == 0 && strchr(text, '.') != NULL)
        from += strlen(prefix);
    memmove(text, from, strlen(from) + 1);
}

bool aq_net_is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static bool can_announce(const struct ifaddrs *entry, char text[AQ_ADDRESS_TEXT])
{
    if (entry->ifa_addr == NULL || !(entry->ifa_flags & IFF_UP) ||
        (entry->ifa_flags & IFF_LOOPBACK))
        return false;
    if (entry->ifa_addr->sa_family == AF_INET)
        write_address(entry->ifa_addr, sizeof(struct sockaddr_in), text);
    else if (entry->ifa_addr->sa_family == AF_INET6)
        write_address(entry->ifa_addr, sizeof(struct sockaddr_in6), text);
    else
        return false;
    return text[0] != '\0' && strchr(text, '%') == NULL; // not a link-local address
}

static unsigned interface_mtu(const char *name)
{
    struct ifreq request = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    bool known = fd >= 0 && ioctl(fd, SIOCGIFMTU, &request) == 0;
    if (fd >= 0)
        (void)close(fd);
    return known ? (unsigned)request.ifr_mtu : 0;
}

unsigned aq_net_mtu(const char *address)
{
    struct ifaddrs *all = NULL;
    char text[AQ_ADDRESS_TEXT];
    unsigned mtu = 0;
    if (getifaddrs(&all) != 0)
        return 0;
    for (const struct ifaddrs *entry = all; entry != NULL && mtu == 0; entry = entry->ifa_next)
        if (can_announce(entry, text) && (address[0] == '\0' || strcmp(text, address) == 0))
            mtu = interface_mtu(entry->ifa_name);
    freeifaddrs(all);
    return mtu;
}

void aq_net_own_addresses(char *text, size_t size)
{
    struct ifaddrs *all = NULL;
    char address[AQ_ADDRESS_TEXT];
    text[0] = '\0';
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *entry = all; entry != NULL; entry = entry->ifa_next)
        if (can_announce(entry, address))
            aq_net_list(text, size, address);
    freeifaddrs(all);
}

bool aq_net_is_own(const char *text)
{
    net_address_t at;
    if (strcmp(text, "127.0.0.1") == 0 || strcmp(text, "::1") == 0)
        return true;
    if (!read_address(text, 0, &at))
        return false;
    int fd = socket(at.any.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool own = fd >= 0 && !aq_net_is_loopback(text) &&
               bind(fd, (const struct sockaddr *)&at.any, at.length) == 0;
    if (fd >= 0)
        (void)close(fd);
    return own;
}

bool aq_net_source(const char *target, char source[AQ_ADDRESS_TEXT])
{
    net_address_t to;
    aq_sockaddr_t address, from;
    source[0] = '\0';
    if (!read_address(target, 0, &to) || to.length > sizeof address.v6)
        return false;
    memcpy(&address.v6, &to.any, to.length);
    address.length = to.length;
    if (aq_sockaddr_source(&address, &from))
        write_address(&from.any, from.length, source);
    return source[0] != '\0';
}

bool aq_net_resolve(const char *name, char address[AQ_ADDRESS_TEXT])
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    if (getaddrinfo(name, NULL, &hints, &list) != 0)
        return false;
    write_address(list->ai_addr, list->ai_addrlen, address);
    freeaddrinfo(list);
    return address[0] != '\0';
}

void aq_net_list(char *list, size_t size, const char *address)
{
    size_t used = strlen(list);
    if (*address != '\0' && !aq_net_is_listed(list, address) && used + strlen(address) + 2 < size)
        snprintf(list + used, size - used, "%s%s", used > 0 ? "," : "", address);
}

bool aq_net_resolve_all(const char *name, char *text, size_t size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    char address[AQ_ADDRESS_TEXT];
    text[0] = '\0';
    if (getaddrinfo(name, NULL, &hints, &list) != 0)
        return false;
    for (const struct addrinfo *at = list; at != NULL; at = at->ai_next) {
        write_address(at->ai_addr, at->ai_addrlen, address);
        aq_net_list(text, size, address);
    }
    freeaddrinfo(list);
    return text[0] != '\0';
}

bool aq_net_is_numeric(const char *text)
{
    net_address_t ignored;
    return read_address(text, 0, &ignored);
}

// ---- listening ----

// Tries each port of the range once. Returns 0 or errno.
static int bind_in_range(int fd, const char *address, aq_ports_t ports)
{
    net_address_t at;
    int error = EADDRNOTAVAIL;
    for (unsigned port = ports.low; port <= ports.high; port++) {
        if (!read_address(address, (uint16_t)port, &at))
            return EINVAL;
        if (bind(fd, (const struct sockaddr *)&at.any, at.length) == 0)
            return 0;
        error = errno;
        if (error != EADDRINUSE && error != EACCES)
            break;
    }
    return error;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage at;
    socklen_t length = sizeof at;
    char number[8];
    unsigned port = 0;
    if (getsockname(fd, (struct sockaddr *)&at, &length) == 0 &&
        getnameinfo((struct sockaddr *)&at, length, NULL, 0, number, sizeof number,
                    NI_NUMERICSERV) == 0)
        (void)sscanf(number, "%u", &port);
    return (uint16_t)port;
}

int aq_net_listen(const char *address, aq_ports_t ports, aq_listener_t *out)
{
    net_address_t at;
    if (!read_address(address, 0, &at))
        return EINVAL;
    *out = (aq_listener_t){
        .fd = socket(at.any.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (out->fd < 0)
        return errno;
    int one = 1;
    (void)setsockopt(out->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    int error = bind_in_range(out->fd, address, ports);
    if (error == 0 && listen(out->fd, BACKLOG) != 0)
        error = errno;
    if (error != 0) {
        (void)close(out->fd);
        out->fd = -1;
        return error;
    }
    snprintf(out->address, sizeof out->address, "%s", address);
    out->port = port_of(out->fd);
    return 0;
}

int aq_net_accept(const aq_listener_t *listener, char address[AQ_ADDRESS_TEXT])
{
    net_address_t from = {.length = sizeof from.any};
    int fd = accept4(listener->fd, (struct sockaddr *)&from.any, &from.length,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        write_address(&from.any, from.length, address);
    return fd;
}

void aq_net_peer(int fd, char address[AQ_ADDRESS_TEXT])
{
    net_address_t at = {.length = sizeof at.any};
    address[0] = '\0';
    if (getpeername(fd, (struct sockaddr *)&at.any, &at.length) == 0)
        write_address(&at.any, at.length, address);
}

void aq_net_local(int fd, char address[AQ_ADDRESS_TEXT])
{
    net_address_t at = {.length = sizeof at.any};
    address[0] = '\0';
    if (getsockname(fd, (struct sockaddr *)&at.any, &at.length) == 0)
        write_address(&at.any, at.length, address);
}

// ---- connecting ----

// Returns 0 or errno.
static int wait_connected(int fd, int timeout_ms)
{
    int error = ETIMEDOUT;
    socklen_t length = sizeof error;
    if (aq_await(fd, POLLOUT, timeout_ms) &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    return error;
}

int aq_net_dial(const char *address, uint16_t port)
{
    net_address_t at;
    if (!read_address(address, port, &at)) {
        errno = EINVAL;
        return -1;
    }
    int fd = socket(at.any.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&at.any, at.length) == 0 || errno == EINPROGRESS ||
        errno == EINTR)
        return fd;
    int error = errno;
    (void)close(fd);
    errno = error;
    return -1;
}

int aq_net_dialed(int fd)
{
    int error = wait_connected(fd, 0);
    return error == ETIMEDOUT ? EINPROGRESS : error;
}

int aq_net_connect(const char *address, uint16_t port, int timeout_ms)
{
    int fd = aq_net_dial(address, port);
    if (fd < 0)
        return -1;
    int error = wait_connected(fd, timeout_ms);
    if (error == 0)
        return fd;
    (void)close(fd);
    errno = error;
    return -1;
}

int aq_net_connect_any(const char *list, uint16_t port, int timeout_ms)
{
    char address[AQ_ADDRESS_TEXT];
    int fd = -1;
    for (const char *at = list; fd < 0 && *at != '\0'; at += *at == ',') {
        size_t length = strcspn(at, ",");
        snprintf(address, sizeof address, "%.*s", (int)length, at);
        fd = aq_net_connect(address, port, timeout_ms);
        at += length;
    }
    return fd;
}

bool aq_net_is_listed(const char *list, const char *address)
{
    size_t wanted = strlen(address);
    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        if (length == wanted && strncmp(list, address, length) == 0)
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}
