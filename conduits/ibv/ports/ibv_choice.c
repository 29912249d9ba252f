// SPDX-License-Identifier: BSD-3-Clause
// Chooses the ports to use from a list, and explains why the others are not used.
#include "ibv_ports.h"
#include "ibv_filter.h"
#include "../verbs/ibv_profile.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../../other/base/settings/settings.h"

// ---- addresses ----

static bool is_ipv4(const uint8_t address[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(address, mapped, sizeof mapped) == 0;
}

// Whether an address is valid only on this host, or only on its own network.
static bool is_near(const uint8_t address[16])
{
    static const uint8_t loopback[16] = {[15] = 1};
    if (is_ipv4(address))
        return address[12] == 127 || (address[12] == 169 && address[13] == 254);
    return (address[0] == 0xfe && (address[1] & 0xc0) == 0x80) ||
           memcmp(address, loopback, sizeof loopback) == 0;
}

// How well a RoCE port can be reached by this address; higher is better.
static unsigned rank_of(const aq_ibv_gid_t *gid)
{
    return (is_near(gid->address) ? 0 : 4u) + (gid->type == AQ_IBV_GID_ROCE_V2 ? 2u : 0) +
           (is_ipv4(gid->address) ? 1u : 0);
}

const aq_ibv_gid_t *aq_ibv_best_gid(const aq_ibv_port_t *port)
{
    const aq_ibv_gid_t *best = port->gid_count > 0 ? &port->gids[0] : NULL;
    if (port->link != AQ_IBV_LINK_ROCE)
        return best;
    for (size_t i = 1; i < port->gid_count; i++)
        if (rank_of(&port->gids[i]) > rank_of(best))
            best = &port->gids[i];
    return best;
}

const aq_ibv_gid_t *aq_ibv_chosen_gid(const aq_ibv_port_t *port)
{
    const int64_t index = aq_setting_int(aq_ibv_setting(IBV_SET_GID_INDEX));
    for (size_t i = 0; i < port->gid_count; i++)
        if (port->gids[i].index == index)
            return &port->gids[i];
    return aq_ibv_best_gid(port);
}

// ---- the choice ----

// Whether a port could be used, whatever the filter says.
static aq_ibv_use_t port_fitness(const aq_ibv_port_t *port)
{
    if (port->number == 0)
        return AQ_IBV_CLOSED;
    if (port->state != AQ_IBV_STATE_ACTIVE)
        return AQ_IBV_NOT_ACTIVE;
    if (port->link == AQ_IBV_LINK_OTHER)
        return AQ_IBV_NO_LINK;
    if (port->link == AQ_IBV_LINK_IWARP && !aq_setting_bool(aq_ibv_setting(IBV_SET_IWARP)))
        return AQ_IBV_NO_ORDER;
    return aq_ibv_best_gid(port) != NULL ? AQ_IBV_USED : AQ_IBV_NO_GID;
}

// Whether a usable port of the same device stands in front of list[i].
static bool has_elder(const aq_ibv_ports_t *ports, size_t i)
{
    for (size_t j = i; j-- > 0 && strcmp(ports->list[j].device, ports->list[i].device) == 0;)
        if (port_fitness(&ports->list[j]) == AQ_IBV_USED)
            return true;
    return false;
}

static aq_ibv_use_t use_of(const aq_ibv_ports_t *ports, size_t i, const char *filter)
{
    const aq_ibv_port_t *port = &ports->list[i];
    aq_ibv_filter_verdict_t verdict = aq_ibv_filter_match(filter, port->device, port->number);
    if (verdict == AQ_IBV_FILTER_OTHER_DEVICE)
        return AQ_IBV_OTHER_DEVICE;
    if (verdict == AQ_IBV_FILTER_OTHER_PORT && port->number != 0)
        return AQ_IBV_OTHER_PORT;
    aq_ibv_use_t use = port_fitness(port);
    if (use == AQ_IBV_USED && verdict == AQ_IBV_FILTER_FIRST_ACTIVE && has_elder(ports, i))
        return AQ_IBV_NOT_FIRST;
    return use;
}

// Nothing says that such a port is in the same network as the ports of other hosts.
static bool is_near_only(const aq_ibv_port_t *port)
{
    return port->link == AQ_IBV_LINK_ROCE && is_near(aq_ibv_best_gid(port)->address);
}

size_t aq_ibv_choose(const aq_ibv_ports_t *ports, const char *filter, size_t rails,
                     aq_ibv_use_t *uses)
{
    size_t used = 0;
    for (size_t i = 0; i < ports->count; i++) {
        uses[i] = use_of(ports, i, filter);
        if (uses[i] == AQ_IBV_USED && used && !*filter && is_near_only(&ports->list[i]))
            uses[i] = AQ_IBV_NEAR_ONLY;
        if (uses[i] == AQ_IBV_USED && used == rails)
            uses[i] = AQ_IBV_SPARE;
        used += uses[i] == AQ_IBV_USED;
    }
    return used;
}

// ---- words ----

const char *aq_ibv_link_name(aq_ibv_link_t link)
{
    static const char *const names[] = {"another network", "InfiniBand", "RoCE", "iWARP"};
    return names[link];
}

const char *aq_ibv_port_state_name(aq_ibv_port_state_t state)
{
    static const char *const names[] = {"in an unknown state", "down", "initializing", "armed",
                                        "active"};
    return names[state];
}

const char *aq_ibv_gid_type_name(const aq_ibv_port_t *port, const aq_ibv_gid_t *gid)
{
    return gid->type == AQ_IBV_GID_ROCE_V2   ? "RoCE v2"
           : gid->type == AQ_IBV_GID_ROCE_V1 ? "RoCE v1"
                                             : aq_ibv_link_name(port->link);
}

// The remedy for a port that is not active: an Ethernet port comes up with its interface, an
// InfiniBand port by a subnet manager.
static const char *words_of_state(const aq_ibv_port_t *port)
{
    switch (port->state) {
    case AQ_IBV_STATE_DOWN:
        return port->link == AQ_IBV_LINK_INFINIBAND
                   ? "is down; connect its cable, or see with ibstat what is wrong"
                   : "is down; bring its network interface up (ip link set NAME up)";
    case AQ_IBV_STATE_INITIALIZING:
    case AQ_IBV_STATE_ARMED:
        return "is not active yet; start a subnet manager (opensm) in its network";
    default:
        return "does not report its state; inspect it with ibv_devinfo";
    }
}

const char *aq_ibv_use_words(const aq_ibv_port_t *port, aq_ibv_use_t use)
{
    switch (use) {
    case AQ_IBV_OTHER_DEVICE:
        return "is of a device that is not in GASNET_IBV_PORTS";
    case AQ_IBV_OTHER_PORT:
        return "is not among the ports that GASNET_IBV_PORTS has of its device";
    case AQ_IBV_CLOSED:
        return "cannot be opened; load the module ib_uverbs, and let this user read and write "
               "/dev/infiniband/uverbs*";
    case AQ_IBV_NO_LINK:
        return "is of a network that is neither InfiniBand nor RoCE nor iWARP";
    case AQ_IBV_NO_ORDER:
        return "is of iWARP, where a put that is complete may not have reached its destination; "
               "use conduit ofi with GASNET_OFI_PROVIDER='verbs;ofi_rxm', or conduit udp, or try "
               "GASNET_IBV_IWARP=1";
    case AQ_IBV_NOT_ACTIVE:
        return words_of_state(port);
    case AQ_IBV_NO_GID:
        return "has no address (GID); give its network interface an IP address";
    case AQ_IBV_NOT_FIRST:
        return "is not the first active one of its device; name it in GASNET_IBV_PORTS to have it";
    case AQ_IBV_SPARE:
        return "is not needed, since enough ports before it are used; name it in GASNET_IBV_PORTS, "
               "or raise GASNET_NUM_QPS, to have it";
    case AQ_IBV_NEAR_ONLY:
        return "has no address that is valid beyond its own network; give its network interface an "
               "IP address, or name it in GASNET_IBV_PORTS, to have it beside the first";
    case AQ_IBV_FARTHER:
        return "is not the one that GASNET_IBV_PORTS_TYPE=auto gives to this process";
    case AQ_IBV_UNLIKE:
        return "is of another kind of network or has another MTU than the first one, so that they "
               "cannot be used together; give them the same MTU, or name it in GASNET_IBV_PORTS "
               "instead of the first";
    case AQ_IBV_NO_RAILS:
        return "is of iWARP, where a connection has one queue pair, on the first port; name it in "
               "GASNET_IBV_PORTS instead of the first to have it";
    case AQ_IBV_USED:
        break;
    }
    return NULL;
}

// ---- nothing can be used ----

#define NAMED_MAX 4 // ports that a message names

static size_t text_put(char *buf, size_t size, size_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static size_t text_put(char *buf, size_t size, size_t at, const char *format, ...)
{
    va_list args;
    if (at >= size)
        return at;
    va_start(args, format);
    int length = vsnprintf(buf + at, size - at, format, args);
    va_end(args);
    return at + (length > 0 ? (size_t)length : 0);
}

static bool was_filtered(aq_ibv_use_t use)
{
    return use == AQ_IBV_OTHER_DEVICE || use == AQ_IBV_OTHER_PORT;
}

static size_t put_port(char *errbuf, size_t errbuf_size, size_t at, const aq_ibv_port_t *port)
{
    return port->number == 0
               ? text_put(errbuf, errbuf_size, at, "device %s", port->device)
               : text_put(errbuf, errbuf_size, at, "port %u of %s", port->number, port->device);
}

static void explain_filter(const aq_ibv_ports_t *ports, const char *filter, char *errbuf,
                           size_t errbuf_size)
{
    size_t at = text_put(errbuf, errbuf_size, 0,
                         "no port that GASNET_IBV_PORTS='%s' names was found, but", filter);
    for (size_t i = 0; i < ports->count && i < NAMED_MAX; i++) {
        const aq_ibv_port_t *port = &ports->list[i];
        at = text_put(errbuf, errbuf_size, at, i > 0 ? ", " : " ");
        at = put_port(errbuf, errbuf_size, at, port);
        if (port->number != 0)
            at = text_put(errbuf, errbuf_size, at, " (%s, %s)", aq_ibv_link_name(port->link),
                          aq_ibv_port_state_name(port->state));
    }
    text_put(errbuf, errbuf_size, at, "%s; name one that is active, or unset the variable",
             ports->count > NAMED_MAX ? " and more" : "");
}

static void explain_ports(const aq_ibv_ports_t *ports, const aq_ibv_use_t *uses, char *errbuf,
                          size_t errbuf_size)
{
    size_t named = 0, at = text_put(errbuf, errbuf_size, 0, "an active port is needed, but");
    for (size_t i = 0; i < ports->count && named < NAMED_MAX; i++) {
        if (was_filtered(uses[i]))
            continue;
        at = text_put(errbuf, errbuf_size, at, named++ > 0 ? ". Also, " : " ");
        at = put_port(errbuf, errbuf_size, at, &ports->list[i]);
        at = text_put(errbuf, errbuf_size, at, " %s", aq_ibv_use_words(&ports->list[i], uses[i]));
    }
}

void aq_ibv_explain(const aq_ibv_ports_t *ports, const char *filter, const aq_ibv_use_t *uses,
                    char *errbuf, size_t errbuf_size)
{
    bool filtered = true;
    for (size_t i = 0; i < ports->count; i++)
        filtered = filtered && was_filtered(uses[i]);
    if (ports->count == 0)
        snprintf(errbuf, errbuf_size,
                 "no verbs device was found, and one with an active port is needed; load the "
                 "driver of the network card (for Ethernet without one: rdma link add rxe0 type "
                 "rxe netdev NAME), or choose conduit udp");
    else if (filtered)
        explain_filter(ports, filter, errbuf, errbuf_size);
    else
        explain_ports(ports, uses, errbuf, errbuf_size);
}
