// Which device and port, what they can do, and the objects that all connections share.
//
// librdmacm knows verbs devices by the addresses of their network interfaces: the first address of
// this host that belongs to an active port, and passes GASNET_IBV_PORTS, is where this process
// listens. So the GID of RoCE and the path of InfiniBand follow from addresses, and iWARP needs
// nothing of its own.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ibv_conduit.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../firehose/firehose.h"
#include "../../other/base/minmax.h"
#include "../../other/base/log.h"
#include "../../other/base/settings.h"
#include "ibv_ports.h"
#include "ibv_settings.h"

enum {
    APART_NS = 10000,
    LARGE_BOUNCES = 16,
    LISTEN_BACKLOG = 1024,
    LONGEST_BOUNCE = 1 << 20,
    MOST_GRANTS = 1024,   // buffers for requests, whatever the number of peers
    DEFAULT_DEPTH = 4096, // operations under way, likewise
    POSTED_AHEAD = 16,
    MOST_SILENT = 7,
    MOST_SILENT_TOTAL = 1024,
    VENDOR_RXE = 0xffffff, // rdma_rxe
    VENDOR_SIW = 0x626d74, // siw
};

// ---- which ----

// The port that GASNET_IBV_PORTS and the rules of ibv_ports.h choose; device[0] is 0 when there is
// none.
typedef struct chosen {
    char device[AQ_IBV_NAME_BYTES];
    unsigned port;
} chosen_t;

static aq_status_t choose(chosen_t *chosen)
{
    aq_ibv_ports_t ports;
    *chosen = (chosen_t){0};
    aq_status_t status = aq_ibv_ports_read(&ports);
    if (status != AQ_OK)
        return status;
    aq_ibv_use_t *uses = calloc(ports.count + 1, sizeof *uses);
    if (uses)
        aq_ibv_choose(&ports, aq_settings_text(AQ_SET_IBV_PORTS), 1, uses);
    for (size_t i = 0; uses && i < ports.count; i++)
        if (uses[i] == AQ_IBV_USED) {
            memcpy(chosen->device, ports.list[i].device, sizeof chosen->device);
            chosen->port = ports.list[i].number;
        }
    free(uses);
    aq_ibv_ports_free(&ports);
    return AQ_OK;
}

// Addresses that other hosts can use.
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
static struct rdma_cm_id *try_address(struct rdma_event_channel *channel,
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
            found = try_address(channel, each->ifa_addr, chosen);
    freeifaddrs(all);
    return found;
}

static aq_status_t find_port(aq_ibv_conduit_t *ibv, char *why, size_t why_size)
{
    chosen_t chosen;
    aq_status_t status = choose(&chosen);
    if (status == AQ_OK && !chosen.port) {
        (void)aq_ibv_usable(why, why_size);
        status = AQ_ERR_ABSENT;
    }
    if (status != AQ_OK)
        return status;
    ibv->channel = rdma_create_event_channel();
    if (!ibv->channel) {
        snprintf(why, why_size,
                 "librdmacm cannot be used (%s): load the kernel module rdma_ucm, or use conduit "
                 "udp",
                 strerror(errno));
        return AQ_ERR_ABSENT;
    }
    ibv->listener = find_listener(ibv->channel, &chosen);
    if (!ibv->listener) {
        snprintf(why, why_size,
                 "port %u of verbs device %s has no network interface that is up with an IP "
                 "address, by which its peers could call it: give it one, or choose another port "
                 "with GASNET_IBV_PORTS",
                 chosen.port, chosen.device);
        return AQ_ERR_ABSENT;
    }
    ibv->verbs = ibv->listener->verbs;
    ibv->port = ibv->listener->port_num;
    if (rdma_listen(ibv->listener, LISTEN_BACKLOG) == 0) {
        memcpy(&ibv->here, rdma_get_local_addr(ibv->listener), sizeof(struct sockaddr_in6));
        return AQ_OK;
    }
    snprintf(why, why_size, "librdmacm refuses to listen on device %s: %s",
             ibv_get_device_name(ibv->verbs->device), strerror(errno));
    return AQ_ERR_RESOURCE;
}

// ---- how much ----

static unsigned setting(aq_setting_id_t id, uint64_t zero_means)
{
    int64_t value = aq_settings_int(id);
    return value ? (unsigned)value : aq_min(zero_means, UINT32_MAX);
}

static void find_depths(aq_ibv_limits_t *limits, uint64_t peers, const struct ibv_device_attr *can)
{
    limits->depth_each =
        aq_min((unsigned)aq_settings_int(AQ_SET_NETWORKDEPTH_PP), (unsigned)can->max_qp_wr);
    uint64_t most = aq_min(limits->depth_each * peers, (unsigned)can->max_cqe);
    limits->depth_total =
        aq_min(setting(AQ_SET_NETWORKDEPTH_TOTAL, aq_min(most, DEFAULT_DEPTH)), most);
    // A Long takes two of them at once.
    limits->depth_each = limits->depth_each < 2 ? 2 : limits->depth_each;
    limits->depth_total = limits->depth_total < 2 ? 2 : limits->depth_total;
    limits->apart_ns = APART_NS;
}

static void find_credits(aq_ibv_limits_t *limits, uint64_t peers, const struct ibv_device_attr *can)
{
    unsigned total = setting(AQ_SET_AM_CREDITS_TOTAL, limits->depth_total);
    aq_credit_limits_t wanted = {
        .each = aq_min((unsigned)aq_settings_int(AQ_SET_AM_CREDITS_PP), limits->depth_each),
        .total = aq_min(total, limits->depth_total),
        .slack = (unsigned)aq_settings_int(AQ_SET_AM_CREDITS_SLACK),
    };
    limits->credits = aq_credit_fit(wanted, (uint32_t)peers);
    // One buffer for each request that may come, and for each reply.
    const unsigned most = aq_min((unsigned)can->max_srq_wr, (unsigned)can->max_cqe);
    limits->grants = aq_min(aq_min(limits->credits.each * peers, MOST_GRANTS), most / 2);
    limits->credits.total =
        aq_min(aq_min(limits->credits.total, limits->credits.each * peers), most - limits->grants);
    limits->credits = aq_credit_fit(limits->credits, (uint32_t)peers);
    limits->arrivals = limits->grants + limits->credits.total;
}

// One more buffer for each reply to what goes by rings of others, since that takes no credit.
static void find_rings(aq_ibv_conduit_t *ibv, const struct ibv_device_attr *can)
{
    aq_ibv_limits_t *limits = &ibv->limits;
    const unsigned most = aq_min((unsigned)can->max_srq_wr, (unsigned)can->max_cqe);
    aq_ibv_rings_limits(ibv);
    limits->rings = aq_min(limits->rings, (most - limits->arrivals) / limits->ring_depth);
    limits->ring_replies = limits->rings * limits->ring_depth;
    limits->arrivals += limits->ring_replies;
    limits->ahead = aq_min(POSTED_AHEAD, most - limits->arrivals);
}

// Messages that tell nothing keep the entries of send queues that they have, until others do.
static void find_silent(aq_ibv_limits_t *limits, const struct ibv_device_attr *can)
{
    limits->silent_each = aq_min(MOST_SILENT, limits->depth_each / 4);
    limits->silent_total = aq_min(MOST_SILENT_TOTAL, (unsigned)can->max_cqe - limits->depth_total);
}

static void find_bytes(aq_ibv_limits_t *limits, const struct ibv_port_attr *port)
{
    const uint64_t bounce = aq_settings_bytes(AQ_SET_NONBULKPUT_BOUNCE_LIMIT);
    const size_t longest = AQ_IBV_BUFFER_BYTES - aq_ibv_payload_at(AQ_AM_LONG, AQ_AM_MAX_ARGS);
    limits->packed_long = aq_min(aq_settings_bytes(AQ_SET_PACKEDLONG_LIMIT), longest);
    limits->bounce_bytes = aq_min(bounce, LONGEST_BOUNCE) & ~(size_t)4095;
    if (limits->bounce_bytes < AQ_IBV_BUFFER_BYTES)
        limits->bounce_bytes = AQ_IBV_BUFFER_BYTES;
    limits->operation_bytes = port->max_msg_sz ? port->max_msg_sz : 1u << 30;
}

// The two such devices of Linux call themselves by numbers that belong to no vendor.
static bool is_in_software(const struct ibv_device_attr *can)
{
    return can->vendor_id == VENDOR_RXE || can->vendor_id == VENDOR_SIW;
}

void aq_ibv_limits_find(aq_ibv_conduit_t *ibv, const struct ibv_device_attr *can,
                        const struct ibv_port_attr *port)
{
    aq_ibv_limits_t *limits = &ibv->limits;
    const uint64_t peers = ibv->peers ? ibv->peers : 1;
    int reads = can->max_qp_rd_atom < can->max_qp_init_rd_atom ? can->max_qp_rd_atom
                                                               : can->max_qp_init_rd_atom;
    find_depths(limits, peers, can);
    find_credits(limits, peers, can);
    find_bytes(limits, port);
    find_rings(ibv, can);
    find_silent(limits, can);
    limits->bounces = aq_min(setting(AQ_SET_BBUF_COUNT, limits->depth_total), limits->depth_total);
    limits->large_bounces = aq_min(LARGE_BOUNCES, limits->depth_total);
    limits->reads = (uint8_t)aq_min(setting(AQ_SET_QP_RD_ATOM, (unsigned)reads),
                                    reads < 255 ? (unsigned)reads : 255);
    limits->in_software = is_in_software(can);
}

// ---- what is shared ----

static int make_queue_pair(aq_ibv_conduit_t *ibv, unsigned inline_bytes)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = ibv->send_cq,
        .recv_cq = ibv->receive_cq,
        .srq = ibv->srq,
        .cap = {.max_send_wr = 2, .max_send_sge = 1, .max_inline_data = inline_bytes},
        .qp_type = IBV_QPT_RC,
    };
    struct ibv_qp *qp = ibv_create_qp(ibv->pd, &attr);
    if (!qp)
        return -1;
    ibv_destroy_qp(qp);
    return 0;
}

// The device does not say it: what it refuses is too much.
static unsigned find_inline(aq_ibv_conduit_t *ibv)
{
    int64_t wanted = aq_settings_int(AQ_SET_INLINESEND_LIMIT);
    unsigned bytes =
        wanted < 0 || wanted > AQ_IBV_INLINE_MOST ? AQ_IBV_INLINE_MOST : (unsigned)wanted;
    while (bytes && make_queue_pair(ibv, bytes) != 0)
        bytes = bytes < 16 ? 0 : bytes / 2;
    return bytes;
}

static struct ibv_comp_channel *arrivals_channel(const aq_ibv_conduit_t *ibv)
{
    return ibv->thread_wanted ? ibv->arrivals_source.channel : ibv->completions;
}

static aq_status_t make_objects(aq_ibv_conduit_t *ibv)
{
    struct ibv_srq_init_attr srq = {
        .attr = {.max_wr = ibv->limits.arrivals + ibv->limits.ahead, .max_sge = 1}};
    const int sends = (int)(ibv->limits.depth_total + ibv->limits.silent_total),
              arrivals = (int)srq.attr.max_wr;
    if (aq_ibv_sleep_open(ibv) && (ibv->pd = ibv_alloc_pd(ibv->verbs)) != NULL &&
        (ibv->send_cq = ibv_create_cq(ibv->verbs, sends, NULL, ibv->completions, 0)) != NULL &&
        (ibv->receive_cq = ibv_create_cq(ibv->verbs, arrivals, NULL, arrivals_channel(ibv), 0)) !=
            NULL &&
        (ibv->srq = ibv_create_srq(ibv->pd, &srq)) != NULL) {
        ibv->limits.inline_bytes = find_inline(ibv);
        return AQ_OK;
    }
    aq_log_error("device %s refuses %s (%s): lower %s", ibv_get_device_name(ibv->verbs->device),
                 !ibv->completions  ? "a completion channel"
                 : !ibv->pd         ? "a protection domain"
                 : !ibv->send_cq    ? "a completion queue for sends"
                 : !ibv->receive_cq ? "a completion queue for arrivals"
                                    : "a shared receive queue",
                 strerror(errno),
                 !ibv->send_cq ? "GASNET_NETWORKDEPTH_TOTAL" : "GASNET_AM_CREDITS_TOTAL");
    return AQ_ERR_RESOURCE;
}

// ---- memory ----

static uint32_t processes_here(const aq_boot_t *boot)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < boot->size; r++)
        count += boot->host_of_rank[r] == boot->host_of_rank[boot->rank];
    return count;
}

static void find_memory(aq_ibv_conduit_t *ibv, const struct ibv_device_attr *can)
{
    ibv->limits.regions = (uint32_t)can->max_mr;
    ibv->memory =
        (aq_ibv_memory_t){.calls = &aq_ibv_calls,
                          .pd = ibv->pd,
                          .device = ibv_get_device_name(ibv->verbs->device),
                          .atomics = ibv->atomics != AQ_IBV_ATOMICS_NONE,
                          .region_bytes = can->max_mr_size,
                          .piece_bytes = aq_ibv_memory_piece_bytes(can->max_mr_size),
                          .overlap = ibv->limits.bounce_bytes, // the longest Long
                          .most = aq_firehose_pinnable(processes_here(ibv->base.env->boot)),
                          .limited = aq_settings_given(AQ_SET_PHYSMEM_MAX)};
}

// What the device can do, and that it is enough for what the user wants.
static aq_status_t query(aq_ibv_conduit_t *ibv, struct ibv_device_attr *can,
                         struct ibv_port_attr *port, char *why, size_t why_size)
{
    const char *device = ibv_get_device_name(ibv->verbs->device);
    if (ibv_query_device(ibv->verbs, can) == 0 && ibv_query_port(ibv->verbs, ibv->port, port) == 0)
        return aq_ibv_settings_fit(device, can, ibv->peers ? ibv->peers : 1, why, why_size);
    snprintf(why, why_size, "device %s does not tell its limits: %s", device, strerror(errno));
    return AQ_ERR_RESOURCE;
}

aq_status_t aq_ibv_device_open(aq_ibv_conduit_t *ibv)
{
    struct ibv_device_attr can;
    struct ibv_port_attr port;
    char why[512] = "";
    aq_status_t status = find_port(ibv, why, sizeof why);
    aq_ibv_memory_keep();
    if (status == AQ_OK)
        status = aq_ibv_memory_fork_safe(&aq_ibv_calls, why, sizeof why);
    if (status == AQ_OK)
        status = query(ibv, &can, &port, why, sizeof why);
    // Hosts of a job are alike: it is enough that one tells.
    status = aq_boot_agree(ibv->base.env->boot, status, why);
    if (status != AQ_OK)
        return status;
    aq_ibv_limits_find(ibv, &can, &port);
    ibv->atomics = aq_ibv_atomics_of(can.atomic_cap);
    status = make_objects(ibv);
    if (status == AQ_OK)
        find_memory(ibv, &can);
    return status;
}

aq_status_t aq_ibv_keys_open(aq_ibv_conduit_t *ibv)
{
    const aq_conduit_env_t *env = ibv->base.env;
    const aq_ibv_keys_setup_t setup = {.mode = env->segment_mode,
                                       .memory = &ibv->memory,
                                       .device_regions = ibv->limits.regions,
                                       .processes = processes_here(env->boot),
                                       .ranks = env->size,
                                       .peers = ibv->peers,
                                       .starts = env->segment_addr,
                                       .lengths = env->segment_size,
                                       .request = aq_ibv_reach_request,
                                       .context = ibv};
    return aq_ibv_keys_start(&ibv->keys, &setup);
}

void aq_ibv_device_close(aq_ibv_conduit_t *ibv)
{
    if (ibv->srq)
        ibv_destroy_srq(ibv->srq);
    if (ibv->receive_cq)
        ibv_destroy_cq(ibv->receive_cq);
    if (ibv->send_cq)
        ibv_destroy_cq(ibv->send_cq);
    aq_ibv_sleep_close(ibv);
    if (ibv->pd)
        ibv_dealloc_pd(ibv->pd);
    if (ibv->listener)
        rdma_destroy_id(ibv->listener);
    if (ibv->channel)
        rdma_destroy_event_channel(ibv->channel);
}
