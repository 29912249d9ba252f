// SPDX-License-Identifier: BSD-3-Clause
// The first step of ibv_conduit.c: chooses the ports (ports/ibv_affinity.c), listens or opens the
// device, and lets all ranks agree on network and XRC.
#include "ibv_device.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/settings/settings.h"
#include "../ports/ibv_affinity.h"
#include "../ports/ibv_ports.h"
#include "../verbs/ibv_settings.h"
#include "../verbs/ibv_profile.h"

enum { LISTEN_BACKLOG = 1024 };

// ---- the port ----

// The port that was chosen; device[0] is 0 when there is none.
typedef struct chosen {
    char device[AQ_IBV_NAME_BYTES];
    unsigned port;
    aq_ibv_link_t link;
    aq_ibv_port_address_t address;
    uint32_t gid_index;
    bool is_ip; // packets with that GID are IP packets (RoCE v2)
} chosen_t;

static chosen_t chosen_of(const aq_ibv_port_t *port)
{
    chosen_t chosen = {.port = port->number, .link = port->link, .address.lid = port->lid};
    const aq_ibv_gid_t *gid = aq_ibv_chosen_gid(port);
    memcpy(chosen.device, port->device, sizeof chosen.device);
    memcpy(chosen.address.gid, gid->address, sizeof chosen.address.gid);
    chosen.gid_index = gid->index;
    chosen.is_ip = gid->type == AQ_IBV_GID_ROCE_V2;
    return chosen;
}

static aq_status_t chosen_find(const aq_ibv_choice_t *choice, aq_ibv_rail_ports_t *rails,
                               chosen_t *chosen, char *errbuf, size_t errbuf_size)
{
    for (size_t i = 0; i < choice->ports->count && !chosen->port; i++)
        if (choice->uses[i] == AQ_IBV_USED)
            *chosen = chosen_of(&choice->ports->list[i]);
    return aq_ibv_rail_ports_choose(rails, choice, errbuf, errbuf_size);
}

// Reads the ports of this host, and makes room for the choice.
static aq_status_t ports_read(aq_ibv_ports_t *ports, aq_ibv_use_t **uses, char *errbuf,
                              size_t errbuf_size)
{
    *uses = NULL;
    if (aq_ibv_ports_read(ports) == AQ_OK)
        *uses = calloc(ports->count + 1, sizeof **uses);
    if (*uses)
        return AQ_OK;
    snprintf(errbuf, errbuf_size,
             "there is no memory for a list of the verbs devices; free some on this host");
    return AQ_ERR_RESOURCE;
}

// Chooses the first port, and those that are used beside it.
static aq_status_t port_choose(const aq_conduit_env_t *env, aq_ibv_rail_ports_t *rails,
                               chosen_t *chosen, char *errbuf, size_t errbuf_size)
{
    aq_ibv_ports_t ports;
    aq_ibv_choice_t choice = {.rails = aq_ibv_ports_wanted()};
    *chosen = (chosen_t){0};
    if (ports_read(&ports, &choice.uses, errbuf, errbuf_size) == AQ_OK)
        choice.ports = &ports;
    aq_status_t status = aq_ibv_affinity_choose(env, &choice, errbuf, errbuf_size);
    if (status == AQ_OK)
        status = chosen_find(&choice, rails, chosen, errbuf, errbuf_size);
    free(choice.uses);
    aq_ibv_ports_free(&ports);
    return status;
}

// Whether other hosts can use the address.
static bool is_candidate(const struct ifaddrs *interface)
{
    const struct sockaddr *address = interface->ifa_addr;
    if (!address || !(interface->ifa_flags & IFF_UP) || interface->ifa_flags & IFF_LOOPBACK)
        return false;
    if (address->sa_family != AF_INET6)
        return address->sa_family == AF_INET;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
    return !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr);
}

// A listener on an address, if that belongs to a port that may be used.
static struct rdma_cm_id *address_try(struct rdma_event_channel *channel,
                                      const struct sockaddr *address, const chosen_t *chosen)
{
    struct rdma_cm_id *id;
    struct sockaddr_storage any_port = {0};
    memcpy(&any_port, address,
           address->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                         : sizeof(struct sockaddr_in6));
    if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) != 0)
        return NULL;
    if (rdma_bind_addr(id, (struct sockaddr *)&any_port) == 0 && id->verbs &&
        id->port_num == chosen->port &&
        strcmp(ibv_get_device_name(id->verbs->device), chosen->device) == 0)
        return id;
    rdma_destroy_id(id);
    return NULL;
}

static struct rdma_cm_id *find_listener(struct rdma_event_channel *channel, const chosen_t *chosen)
{
    struct ifaddrs *all;
    struct rdma_cm_id *found = NULL;
    if (getifaddrs(&all) != 0)
        return NULL;
    for (struct ifaddrs *each = all; each && !found; each = each->ifa_next)
        if (is_candidate(each))
            found = address_try(channel, each->ifa_addr, chosen);
    freeifaddrs(all);
    return found;
}

aq_ibv_connect_choice_t aq_ibv_connect_choice(void)
{
    const char *text = aq_setting_text(aq_ibv_setting(IBV_SET_CONNECT));
    return strcmp(text, "ud") == 0       ? AQ_IBV_CONNECT_UD
           : strcmp(text, "rdmacm") == 0 ? AQ_IBV_CONNECT_RDMACM
                                         : AQ_IBV_CONNECT_AUTO;
}

static void explain_no_address(const chosen_t *chosen, char *errbuf, size_t errbuf_size)
{
    const bool wants_rdmacm = aq_ibv_connect_choice() == AQ_IBV_CONNECT_RDMACM;
    snprintf(errbuf, errbuf_size,
             "port %u of verbs device %s has no network interface that is up with an IP address, "
             "by which its peers could call it: give it one, or choose another port with "
             "GASNET_IBV_PORTS%s",
             chosen->port, chosen->device, wants_rdmacm ? ", or unset GASNET_IBV_CONNECT" : "");
}

// Listens with librdmacm. AQ_ERR_ABSENT: that is not possible on this port.
static aq_status_t device_listen(aq_ibv_device_t *device, const chosen_t *chosen, char *errbuf,
                                 size_t errbuf_size)
{
    device->channel = rdma_create_event_channel();
    if (!device->channel) {
        snprintf(
            errbuf, errbuf_size,
            "librdmacm cannot be used (%s): load the kernel module rdma_ucm, or use conduit udp",
            strerror(errno));
        return AQ_ERR_ABSENT;
    }
    device->listener = find_listener(device->channel, chosen);
    if (!device->listener) {
        explain_no_address(chosen, errbuf, errbuf_size);
        return AQ_ERR_ABSENT;
    }
    device->verbs = device->listener->verbs;
    if (rdma_listen(device->listener, LISTEN_BACKLOG) == 0) {
        memcpy(&device->here, rdma_get_local_addr(device->listener), sizeof(struct sockaddr_in6));
        return AQ_OK;
    }
    snprintf(errbuf, errbuf_size, "librdmacm refuses to listen on device %s: %s",
             ibv_get_device_name(device->verbs->device), strerror(errno));
    return AQ_ERR_RESOURCE;
}

// Whether an address of an interface is that of a GID.
static bool address_is_gid(const struct sockaddr *address, const uint8_t gid[16])
{
    if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return false;
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
        return memcmp(&six->sin6_addr, gid, sizeof six->sin6_addr) == 0;
    }
    enum { MAPPED = 12 };
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
    return aq_ibv_gid_is_ipv4(gid) &&
           memcmp(gid + MAPPED, &four->sin_addr, sizeof four->sin_addr) == 0;
}

// Whether the device can send packets with the GID: those of RoCE v2 need its address on an
// interface, be it a link-local one.
static bool gid_works(const chosen_t *chosen)
{
    struct ifaddrs *all;
    bool found = !chosen->is_ip;
    if (found || getifaddrs(&all) != 0)
        return found;
    for (const struct ifaddrs *each = all; each && !found; each = each->ifa_next)
        found = address_is_gid(each->ifa_addr, chosen->address.gid);
    freeifaddrs(all);
    return found;
}

// Opens the device without librdmacm. AQ_ERR_ABSENT: its port cannot carry datagrams.
static aq_status_t device_open_itself(aq_ibv_device_t *device, const chosen_t *chosen, char *errbuf,
                                      size_t errbuf_size)
{
    if (!gid_works(chosen)) {
        explain_no_address(chosen, errbuf, errbuf_size);
        return AQ_ERR_ABSENT;
    }
    struct ibv_device **all = ibv_get_device_list(NULL);
    for (struct ibv_device **each = all; each && *each && !device->verbs; each++)
        if (strcmp(ibv_get_device_name(*each), chosen->device) == 0)
            device->verbs = ibv_open_device(*each);
    if (all)
        ibv_free_device_list(all);
    device->datagrams_only = device->verbs;
    if (device->verbs)
        return AQ_OK;
    snprintf(errbuf, errbuf_size, "verbs device %s cannot be opened: %s", chosen->device,
             strerror(errno));
    return AQ_ERR_RESOURCE;
}

// Opens the device as GASNET_IBV_CONNECT says. iWARP has no datagrams.
static aq_status_t device_begin(aq_ibv_device_t *device, const chosen_t *chosen, char *errbuf,
                                size_t errbuf_size)
{
    const aq_ibv_connect_choice_t choice = aq_ibv_connect_choice();
    if (choice == AQ_IBV_CONNECT_UD && chosen->link == AQ_IBV_LINK_IWARP) {
        snprintf(errbuf, errbuf_size,
                 "GASNET_IBV_CONNECT=ud needs datagrams, which device %s (iWARP) does not have; "
                 "unset the variable",
                 chosen->device);
        return AQ_ERR_CONFIG;
    }
    if (choice != AQ_IBV_CONNECT_UD) {
        aq_status_t status = device_listen(device, chosen, errbuf, errbuf_size);
        if (status != AQ_ERR_ABSENT || choice == AQ_IBV_CONNECT_RDMACM ||
            chosen->link == AQ_IBV_LINK_IWARP)
            return status;
    }
    return device_open_itself(device, chosen, errbuf, errbuf_size);
}

static aq_status_t find_port(aq_ibv_device_t *device, const aq_conduit_env_t *env, char *errbuf,
                             size_t errbuf_size)
{
    chosen_t chosen;
    aq_status_t status = port_choose(env, &device->rails, &chosen, errbuf, errbuf_size);
    if (status == AQ_OK && !chosen.port) {
        (void)aq_ibv_usable(errbuf, errbuf_size);
        status = AQ_ERR_ABSENT;
    }
    if (status != AQ_OK)
        return status;
    device->port = (uint8_t)chosen.port;
    device->address = chosen.address;
    device->gid_index = (uint8_t)chosen.gid_index;
    device->ethernet = chosen.link == AQ_IBV_LINK_ROCE;
    return device_begin(device, &chosen, errbuf, errbuf_size);
}

// ---- open and close ----

static uint32_t processes_here(const aq_boot_t *boot)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < boot->size; r++)
        count += boot->host_of_rank[r] == boot->host_of_rank[boot->rank];
    return count;
}

static aq_ibv_memory_t memory_of(const aq_ibv_device_t *device, const aq_ibv_limits_t *limits,
                                 const struct ibv_device_attr *can)
{
    return (aq_ibv_memory_t){
        .calls = &aq_ibv_calls,
        .pd = device->pd,
        .device = ibv_get_device_name(device->verbs->device),
        .atomics = device->atomics != AQ_IBV_ATOMICS_NONE,
        .paged = aq_ibv_memory_pages(device->verbs, device->atomics != AQ_IBV_ATOMICS_NONE),
        .region_bytes = can->max_mr_size,
        .piece_bytes = aq_ibv_memory_piece_bytes(can->max_mr_size),
        .overlap = limits->bounce_bytes, // the longest Long that one write carries
        .most = aq_firehose_pinnable(device->processes),
        .limited = aq_settings_given(AQ_SET_PHYSMEM_MAX)};
}

// Whether the port is still active; it was, when it was chosen.
static aq_status_t port_check(const aq_ibv_device_t *device, const struct ibv_port_attr *port,
                              char *errbuf, size_t errbuf_size)
{
    if (port->state == IBV_PORT_ACTIVE)
        return AQ_OK;
    snprintf(errbuf, errbuf_size,
             "port %u of verbs device %s has gone down since it was chosen: see that its cable and "
             "its network interface are up, or choose another port with GASNET_IBV_PORTS",
             device->port, ibv_get_device_name(device->verbs->device));
    return AQ_ERR_RESOURCE;
}

// Finds out what the device supports, and checks that it is enough for the settings.
static aq_status_t device_query(const aq_ibv_device_t *device, uint32_t peers,
                                struct ibv_device_attr *can, struct ibv_port_attr *port,
                                char *errbuf, size_t errbuf_size)
{
    const char *name = ibv_get_device_name(device->verbs->device);
    if (ibv_query_device(device->verbs, can) != 0 ||
        ibv_query_port(device->verbs, device->port, port) != 0) {
        snprintf(errbuf, errbuf_size, "device %s does not report its limits: %s", name,
                 strerror(errno));
        return AQ_ERR_RESOURCE;
    }
    const aq_status_t status = port_check(device, port, errbuf, errbuf_size);
    return status == AQ_OK ? aq_ibv_settings_fit(name, can, peers ? peers : 1, errbuf, errbuf_size)
                           : status;
}

static aq_ibv_network_t network_of(const aq_ibv_device_t *device)
{
    aq_ibv_network_t network = {.port = device->port,
                                .link = AQ_IBV_LINK_INFINIBAND,
                                .datagrams = device->datagrams_only,
                                .xrc = device->xrc};
    memcpy(network.subnet, device->address.gid, sizeof network.subnet);
    if (device->verbs->device->transport_type == IBV_TRANSPORT_IWARP)
        network.link = AQ_IBV_LINK_IWARP;
    else if (device->ethernet)
        network.link = AQ_IBV_LINK_ROCE;
    snprintf(network.device, sizeof network.device, "%s",
             ibv_get_device_name(device->verbs->device));
    snprintf(network.host, sizeof network.host, "%s", aq_log_host());
    return network;
}

// Whether this process can use XRC, and is to. The first rank, which decides for the job, warns if
// its device has none.
static bool xrc_find(const aq_ibv_device_t *device, const struct ibv_device_attr *can)
{
    if (!aq_ibv_xrc_wanted())
        return false;
    if (can->device_cap_flags & IBV_DEVICE_XRC)
        return true;
    if (aq_log_is_first())
        aq_log_warn(
            "verbs device %s has no extended reliable connections (XRC), for which "
            "GASNET_USE_XRC=1 asks; each peer gets a queue pair of its own: unset the variable",
            ibv_get_device_name(device->verbs->device));
    return false;
}

// Collective. Whether this process can reach rank 0, as far as the kinds of networks and the
// subnets show. The job uses XRC if rank 0 can.
static aq_status_t network_check(aq_boot_t *boot, aq_ibv_device_t *device, aq_status_t status,
                                 char *errbuf, size_t errbuf_size)
{
    aq_ibv_network_t mine = {.port = 0}, first;
    if (status == AQ_OK)
        mine = network_of(device);
    first = mine;
    const aq_status_t told = boot->ops->broadcast(boot, &first, sizeof first, 0);
    if (told != AQ_OK || status != AQ_OK || first.port == 0)
        return told != AQ_OK ? told : status;
    device->xrc = first.xrc;
    return aq_ibv_networks_meet(&mine, boot->rank, &first, 0, errbuf, errbuf_size) ? AQ_OK
                                                                                   : AQ_ERR_CONFIG;
}

aq_status_t aq_ibv_device_open(aq_ibv_device_t *device, const aq_conduit_env_t *env, uint32_t peers,
                               aq_ibv_limits_t *limits, aq_ibv_memory_t *memory)
{
    struct ibv_device_attr can;
    struct ibv_port_attr port;
    char why[512] = "";
    aq_status_t status = find_port(device, env, why, sizeof why);
    aq_firehose_memory_keep();
    if (status == AQ_OK)
        status = aq_ibv_memory_fork_safe(&aq_ibv_calls, why, sizeof why);
    if (status == AQ_OK)
        status = device_query(device, peers, &can, &port, why, sizeof why);
    if (status == AQ_OK)
        status = aq_ibv_path_find(device->verbs, device->port, &device->path, why, sizeof why);
    if (status == AQ_OK)
        device->xrc = xrc_find(device, &can);
    status = network_check(env->boot, device, status, why, sizeof why);
    // The hosts of a job are alike, so one message for the job is enough.
    status = aq_boot_agree(env->boot, status, why);
    if (status != AQ_OK)
        return status;
    aq_ibv_limits_find(limits, peers, env->threads, &can, &port);
    if (device->verbs->device->transport_type == IBV_TRANSPORT_IWARP)
        aq_ibv_limits_loosen(limits);
    device->mtu = (uint8_t)device->path.mtu;
    device->processes = processes_here(env->boot);
    device->atomics = aq_ibv_atomics_of(can.atomic_cap);
    device->pd = ibv_alloc_pd(device->verbs);
    if (!device->pd) {
        aq_log_error(
            "device %s refuses a protection domain (%s): start fewer processes on this host",
            ibv_get_device_name(device->verbs->device), strerror(errno));
        return AQ_ERR_RESOURCE;
    }
    *memory = memory_of(device, limits, &can);
    if (device->xrc) // whose links have one queue pair
        device->rails =
            (aq_ibv_rail_ports_t){.count = 1, .queue_pairs = 1, .list[0] = device->rails.list[0]};
    const aq_ibv_rail_port_t first = {
        .path = device->path, .verbs = device->verbs, .pd = device->pd, .memory = memory};
    aq_ibv_rail_ports_open(&device->rails, &first);
    return AQ_OK;
}

void aq_ibv_device_close(aq_ibv_device_t *device)
{
    aq_ibv_rail_ports_close(&device->rails);
    if (device->pd)
        ibv_dealloc_pd(device->pd);
    if (device->listener)
        rdma_destroy_id(device->listener);
    if (device->channel)
        rdma_destroy_event_channel(device->channel);
    if (device->datagrams_only)
        ibv_close_device(device->verbs);
}
