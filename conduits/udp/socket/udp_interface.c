// SPDX-License-Identifier: BSD-3-Clause
// Chooses the interface and finds its address and MTU; udp_socket.c calls it when it opens a
// socket.
#include "udp_interface.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"

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

// Whether peers on other hosts can use the address: link-local addresses are not valid there.
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
        aq_log_error("%s: '%s' is neither an address nor a name that is known here (%s); give an "
                     "address such as 192.168.0.1",
                     variable, text, gai_strerror(code));
        return AQ_ERR_CONFIG;
    }
    memset(out, 0, sizeof *out);
    memcpy(&out->any, list->ai_addr, list->ai_addrlen);
    out->length = list->ai_addrlen;
    freeaddrinfo(list);
    return AQ_OK;
}

static bool find_route(const udp_sockaddr_t *target, udp_interface_t *out)
{
    udp_sockaddr_t source;
    return aq_sockaddr_source(target, &source) && interface_find(has_address, &source, out);
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
    aq_log_error("GASNET_WORKERIP: no interface of this host is in the network %s; choose a "
                 "network that `ip address` lists on every host of the job",
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

static bool find_route_to(const char *target, udp_interface_t *out)
{
    udp_sockaddr_t address;
    return aq_sockaddr_read(target, &address) && find_route(&address, out);
}

static bool find_peer(const char *text, udp_interface_t *out)
{
    return text && find_route_to(text, out) && !out->loopback;
}

static bool find_default(udp_interface_t *out)
{
    return find_route_to(AQ_FAR_V4, out) || find_route_to(AQ_FAR_V6, out) ||
           interface_find(is_outside, NULL, out);
}

aq_status_t udp_interface_choose(const udp_interface_hints_t *hints, udp_interface_t *out)
{
    if (hints->local) {
        if (interface_find(is_loopback, NULL, out))
            return AQ_OK;
        aq_log_error("the loopback interface, which joins ranks on one host, is down: start it "
                     "with `ip link set lo up`");
        return AQ_ERR_RESOURCE;
    }
    if (*hints->worker)
        return choose_network(hints->worker, out);
    if (*hints->master)
        return choose_master(hints->master, out);
    if (find_peer(hints->peer, out) || find_default(out))
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
    if (known && request.ifr_mtu >= UDP_MTU_MIN) {
        *mtu = (size_t)request.ifr_mtu;
        return AQ_OK;
    }
    aq_log_error(
        "interface %s cannot carry datagrams (%s); choose another one with GASNET_WORKERIP",
        interface->name, known ? "its MTU is below 768" : strerror(error));
    return AQ_ERR_RESOURCE;
}
