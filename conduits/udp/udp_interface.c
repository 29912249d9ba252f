#include "udp_interface.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../other/base/log.h"
#include "../../other/base/minmax.h"

_Static_assert(sizeof((udp_interface_t *)0)->name == IF_NAMESIZE, "room for any name");

// The bytes of an address, without port; *length is their number.
static const uint8_t *bytes_of(const struct sockaddr *address, size_t *length)
{
    if (address->sa_family == AF_INET) {
        *length = sizeof(struct in_addr);
        return (const uint8_t *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
    }
    *length = sizeof(struct in6_addr);
    return (const uint8_t *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
}

// ---- properties of an interface ----

typedef bool udp_fits_t(const struct ifaddrs *entry, const udp_sockaddr_t *wanted);

static bool is_loopback(const struct ifaddrs *entry, const udp_sockaddr_t *wanted)
{
    (void)wanted;
    return entry->ifa_flags & IFF_LOOPBACK;
}

static bool is_outside(const struct ifaddrs *entry, const udp_sockaddr_t *wanted)
{
    (void)wanted;
    return !(entry->ifa_flags & IFF_LOOPBACK);
}

static bool has_address(const struct ifaddrs *entry, const udp_sockaddr_t *wanted)
{
    size_t length, other;
    const uint8_t *mine = bytes_of(entry->ifa_addr, &length);
    const uint8_t *theirs = bytes_of(&wanted->any, &other);
    return length == other && memcmp(mine, theirs, length) == 0;
}

static bool in_network(const struct ifaddrs *entry, const udp_sockaddr_t *wanted)
{
    size_t length, other;
    const uint8_t *mine = bytes_of(entry->ifa_addr, &length);
    const uint8_t *theirs = bytes_of(&wanted->any, &other);
    if (length != other || !entry->ifa_netmask)
        return false;
    const uint8_t *mask = bytes_of(entry->ifa_netmask, &other);
    for (size_t i = 0; i < length; i++)
        if ((mine[i] ^ theirs[i]) & mask[i])
            return false;
    return true;
}

// Compares prefixes: 10.1.0.0 matches every address that begins with 10.1.
static bool has_same_prefix(const struct ifaddrs *entry, const udp_sockaddr_t *wanted)
{
    size_t length, other;
    const uint8_t *mine = bytes_of(entry->ifa_addr, &length);
    const uint8_t *theirs = bytes_of(&wanted->any, &other);
    while (other && !theirs[other - 1])
        other--;
    return entry->ifa_addr->sa_family == wanted->any.sa_family && other &&
           memcmp(mine, theirs, other) == 0;
}

// Whether peers on other hosts can use the address: link-local addresses mean nothing to them.
static bool is_announceable(const struct ifaddrs *entry, sa_family_t family)
{
    if (!entry->ifa_addr || entry->ifa_addr->sa_family != family || !(entry->ifa_flags & IFF_UP))
        return false;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)entry->ifa_addr;
    return family == AF_INET || !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
}

static void interface_fill(const struct ifaddrs *entry, udp_interface_t *out)
{
    *out = (udp_interface_t){.loopback = entry->ifa_flags & IFF_LOOPBACK};
    out->address.length =
        entry->ifa_addr->sa_family == AF_INET ? sizeof out->address.v4 : sizeof out->address.v6;
    memcpy(&out->address.any, entry->ifa_addr, out->address.length);
    snprintf(out->name, sizeof out->name, "%s", entry->ifa_name);
}

static bool interface_find(udp_fits_t *fits, const udp_sockaddr_t *wanted, udp_interface_t *out)
{
    static const sa_family_t families[] = {AF_INET, AF_INET6};
    struct ifaddrs *all;
    bool found = false;
    if (getifaddrs(&all) != 0)
        return false;
    for (unsigned f = 0; f < 2 && !found; f++)
        for (struct ifaddrs *entry = all; entry && !found; entry = entry->ifa_next) {
            found = is_announceable(entry, families[f]) && fits(entry, wanted);
            if (found)
                interface_fill(entry, out);
        }
    freeifaddrs(all);
    return found;
}

// ---- choice by the user ----

static aq_status_t name_resolve(const char *variable, const char *text, udp_sockaddr_t *out)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *list = NULL;
    int code = getaddrinfo(text, NULL, &hints, &list);
    if (code != 0) {
        aq_log_error(
            "%s: '%s' is neither an address nor a name that is known here (%s); give an address "
            "such as 192.168.0.1",
            variable, text, gai_strerror(code));
        return AQ_ERR_CONFIG;
    }
    memset(out, 0, sizeof *out);
    memcpy(&out->any, list->ai_addr, list->ai_addrlen);
    out->length = list->ai_addrlen;
    freeaddrinfo(list);
    return AQ_OK;
}

// The source address that the kernel would use for a target. Sends nothing.
static bool route_to(const udp_sockaddr_t *target, udp_sockaddr_t *source)
{
    int fd = socket(target->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    udp_sockaddr_t to = *target;
    if (to.any.sa_family == AF_INET)
        to.v4.sin_port = htons(9);
    else
        to.v6.sin6_port = htons(9);
    source->length = sizeof source->v6;
    bool found =
        connect(fd, &to.any, to.length) == 0 && getsockname(fd, &source->any, &source->length) == 0;
    close(fd);
    return found;
}

static bool find_route(const udp_sockaddr_t *target, udp_interface_t *out)
{
    udp_sockaddr_t source;
    return route_to(target, &source) && interface_find(has_address, &source, out);
}

static aq_status_t choose_network(const char *text, udp_interface_t *out)
{
    udp_sockaddr_t wanted;
    aq_status_t status = name_resolve("GASNET_WORKERIP", text, &wanted);
    if (status != AQ_OK)
        return status;
    if (interface_find(has_address, &wanted, out) || interface_find(in_network, &wanted, out) ||
        interface_find(has_same_prefix, &wanted, out))
        return AQ_OK;
    aq_log_error(
        "GASNET_WORKERIP: no interface of this host is in the network %s; choose a network "
        "that `ip address` lists on every host of the job",
        text);
    return AQ_ERR_CONFIG;
}

static aq_status_t choose_master(const char *text, udp_interface_t *out)
{
    udp_sockaddr_t wanted;
    aq_status_t status = name_resolve("GASNET_MASTERIP", text, &wanted);
    if (status != AQ_OK)
        return status;
    if (find_route(&wanted, out) && !out->loopback)
        return AQ_OK;
    aq_log_error("GASNET_MASTERIP: no network leads from here to %s that other hosts are in, too; "
                 "give the address by which they know the launching host",
                 text);
    return AQ_ERR_CONFIG;
}

static bool find_peer(const char *text, udp_interface_t *out)
{
    udp_sockaddr_t peer = {.v4 = {.sin_family = AF_INET}, .length = sizeof peer.v4};
    if (!text || !*text)
        return false;
    if (inet_pton(AF_INET, text, &peer.v4.sin_addr) != 1) {
        peer = (udp_sockaddr_t){.v6 = {.sin6_family = AF_INET6}, .length = sizeof peer.v6};
        if (inet_pton(AF_INET6, text, &peer.v6.sin6_addr) != 1)
            return false;
    }
    return find_route(&peer, out) && !out->loopback;
}

// Looks up the route to documentation addresses, which no host has: it is the default route, if
// any.
static bool find_default(udp_interface_t *out)
{
    udp_sockaddr_t far4 = {.v4 = {.sin_family = AF_INET}, .length = sizeof far4.v4};
    udp_sockaddr_t far6 = {.v6 = {.sin6_family = AF_INET6}, .length = sizeof far6.v6};
    (void)inet_pton(AF_INET, "192.0.2.1", &far4.v4.sin_addr);
    (void)inet_pton(AF_INET6, "2001:db8::1", &far6.v6.sin6_addr);
    return find_route(&far4, out) || find_route(&far6, out) ||
           interface_find(is_outside, NULL, out);
}

aq_status_t udp_interface_choose(const udp_interface_wish_t *wish, udp_interface_t *out)
{
    if (wish->local) {
        if (interface_find(is_loopback, NULL, out))
            return AQ_OK;
        aq_log_error(
            "the loopback interface, which joins ranks on one host, is down: start it with "
            "`ip link set lo up`");
        return AQ_ERR_RESOURCE;
    }
    if (*wish->worker)
        return choose_network(wish->worker, out);
    if (*wish->master)
        return choose_master(wish->master, out);
    if (find_peer(wish->peer, out) || find_default(out))
        return AQ_OK;
    aq_log_error("this host has no interface that reaches others, but the job is spread over "
                 "several hosts: connect it to a network");
    return AQ_ERR_RESOURCE;
}

// ---- sizes ----

size_t udp_interface_datagram(size_t mtu, sa_family_t family)
{
    enum { LONGEST_PACKET = 65535, UDP = 8, IPV4 = 20, IPV6 = 40 };
    size_t packet = aq_min(mtu, LONGEST_PACKET);
    size_t datagram = packet - UDP - (family == AF_INET ? IPV4 : IPV6);
    return datagram / UDP_ALIGNMENT * UDP_ALIGNMENT;
}

aq_status_t udp_interface_mtu(const udp_interface_t *interface, size_t *mtu)
{
    struct ifreq request = {0};
    memcpy(request.ifr_name, interface->name, sizeof interface->name);
    int fd = socket(interface->address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool known = fd >= 0 && ioctl(fd, SIOCGIFMTU, &request) == 0;
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (known && request.ifr_mtu >= UDP_LEAST_MTU) {
        *mtu = (size_t)request.ifr_mtu;
        return AQ_OK;
    }
    aq_log_error("interface %s cannot carry datagrams (%s); choose another one with "
                 "GASNET_WORKERIP",
                 interface->name, known ? "its MTU is below 768" : strerror(error));
    return AQ_ERR_RESOURCE;
}
