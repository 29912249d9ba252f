// SPDX-License-Identifier: BSD-3-Clause
// Reads the devices of this host from libibverbs.
#include "ibv_ports.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../verbs/ibv_memory.h"

enum { VENDOR_MELLANOX = 0x02c9, PART_CONNECT_IB = 4113 }; // the first part of driver mlx5

_Static_assert(AQ_IBV_NAME_BYTES >= IBV_SYSFS_NAME_MAX, "room for any name");

static aq_ibv_link_t link_of(const struct ibv_context *context, const struct ibv_port_attr *port)
{
    if (context->device->transport_type == IBV_TRANSPORT_IWARP)
        return AQ_IBV_LINK_IWARP;
    if (context->device->transport_type != IBV_TRANSPORT_IB)
        return AQ_IBV_LINK_OTHER;
    return port->link_layer == IBV_LINK_LAYER_ETHERNET ? AQ_IBV_LINK_ROCE : AQ_IBV_LINK_INFINIBAND;
}

static aq_ibv_port_state_t state_of(enum ibv_port_state state)
{
    switch (state) {
    case IBV_PORT_DOWN:
        return AQ_IBV_STATE_DOWN;
    case IBV_PORT_INIT:
        return AQ_IBV_STATE_INITIALIZING;
    case IBV_PORT_ARMED:
        return AQ_IBV_STATE_ARMED;
    case IBV_PORT_ACTIVE:
    case IBV_PORT_ACTIVE_DEFER:
        return AQ_IBV_STATE_ACTIVE;
    default:
        return AQ_IBV_STATE_UNKNOWN;
    }
}

static aq_ibv_gid_type_t gid_type_of(uint32_t type)
{
    return type == IBV_GID_TYPE_ROCE_V2   ? AQ_IBV_GID_ROCE_V2
           : type == IBV_GID_TYPE_ROCE_V1 ? AQ_IBV_GID_ROCE_V1
                                          : AQ_IBV_GID_PLAIN;
}

static uint32_t count_of(int value)
{
    return value > 0 ? (uint32_t)value : 0;
}

aq_ibv_device_limits_t aq_ibv_device_limits(const struct ibv_device_attr *device,
                                            const struct ibv_odp_caps *paging)
{
    const bool atomics = device->atomic_cap != IBV_ATOMIC_NONE;
    const aq_ibv_paging_t pages = aq_ibv_memory_can_page(paging, atomics);
    return (aq_ibv_device_limits_t){
        .region_bytes = device->max_mr_size,
        .regions = count_of(device->max_mr),
        .queue_pairs = count_of(device->max_qp),
        .requests = count_of(device->max_qp_wr),
        .pieces = count_of(device->max_sge),
        .completions = count_of(device->max_cqe),
        .shared_requests = device->max_srq > 0 ? count_of(device->max_srq_wr) : 0,
        .reads_out = count_of(device->max_qp_init_rd_atom),
        .reads_in = count_of(device->max_qp_rd_atom),
        .atomics = atomics,
        .atomics_coherent = device->atomic_cap == IBV_ATOMIC_GLOB,
        .pages = pages != AQ_IBV_NOT_PAGED,
        .pages_all = pages == AQ_IBV_PAGED_WHOLE,
        .shared_pairs = device->device_cap_flags & IBV_DEVICE_XRC,
        .dynamic =
            device->vendor_id == VENDOR_MELLANOX && device->vendor_part_id >= PART_CONNECT_IB,
    };
}

// Reads the addresses of a port; false: no memory. A table that cannot be read counts as empty.
static bool read_gids(struct ibv_context *context, int room, aq_ibv_port_t *port)
{
    struct ibv_gid_entry entry;
    if (room <= 0)
        return true;
    port->gids = calloc((size_t)room, sizeof *port->gids);
    if (port->gids == NULL)
        return false;
    for (uint32_t i = 0; i < (uint32_t)room; i++) {
        static const uint8_t none[16];
        if (ibv_query_gid_ex(context, port->number, i, &entry, 0) != 0 ||
            memcmp(entry.gid.raw, none, sizeof none) == 0)
            continue;
        aq_ibv_gid_t *gid = &port->gids[port->gid_count++];
        *gid = (aq_ibv_gid_t){.index = i, .type = gid_type_of(entry.gid_type)};
        memcpy(gid->address, entry.gid.raw, sizeof gid->address);
    }
    return true;
}

// Appends an entry to the list; NULL: no memory.
static aq_ibv_port_t *add_port(aq_ibv_ports_t *ports, const char *device, unsigned number)
{
    aq_ibv_port_t *list = realloc(ports->list, (ports->count + 1) * sizeof *list);
    if (list == NULL)
        return NULL;
    ports->list = list;
    aq_ibv_port_t *port = &list[ports->count++];
    *port = (aq_ibv_port_t){.number = number};
    snprintf(port->device, sizeof port->device, "%s", device);
    return port;
}

static bool add_refusal(aq_ibv_ports_t *ports, const char *device, int error)
{
    aq_ibv_port_t *port = add_port(ports, device, 0);
    if (port != NULL)
        port->fault = error != 0 ? error : EIO;
    return port != NULL;
}

static bool read_port(struct ibv_context *context, const aq_ibv_device_limits_t *limits,
                      unsigned number, aq_ibv_ports_t *ports)
{
    struct ibv_port_attr attr;
    aq_ibv_port_t *port = add_port(ports, ibv_get_device_name(context->device), number);
    if (port == NULL)
        return false;
    port->limits = *limits;
    if (ibv_query_port(context, (uint8_t)number, &attr) != 0)
        return true; // its state stays unknown
    port->link = link_of(context, &attr);
    port->state = state_of(attr.state);
    port->lid = attr.lid;
    port->mtu = attr.active_mtu ? 128u << attr.active_mtu : 0;
    port->message_bytes = attr.max_msg_sz;
    return read_gids(context, attr.gid_tbl_len, port);
}

// False: no memory.
static bool read_device(struct ibv_device *device, aq_ibv_ports_t *ports)
{
    struct ibv_device_attr attr = {.phys_port_cnt = 0};
    struct ibv_device_attr_ex more = {.comp_mask = 0};
    const char *name = ibv_get_device_name(device);
    errno = 0;
    struct ibv_context *context = ibv_open_device(device);
    if (context == NULL)
        return add_refusal(ports, name, errno);
    int error = ibv_query_device(context, &attr);
    if (ibv_query_device_ex(context, NULL, &more) != 0)
        more.odp_caps = (struct ibv_odp_caps){0};
    bool ok = error == 0 || add_refusal(ports, name, error);
    const aq_ibv_device_limits_t limits = aq_ibv_device_limits(&attr, &more.odp_caps);
    for (unsigned number = 1; ok && error == 0 && number <= attr.phys_port_cnt; number++)
        ok = read_port(context, &limits, number, ports);
    ibv_close_device(context);
    return ok;
}

aq_status_t aq_ibv_ports_read(aq_ibv_ports_t *out)
{
    bool ok = true;
    struct ibv_device **devices = ibv_get_device_list(NULL);
    *out = (aq_ibv_ports_t){0};
    for (struct ibv_device **device = devices; devices != NULL && *device && ok; device++)
        ok = read_device(*device, out);
    if (devices != NULL)
        ibv_free_device_list(devices);
    if (ok)
        return AQ_OK;
    aq_ibv_ports_free(out);
    return AQ_ERR_RESOURCE;
}

void aq_ibv_ports_free(aq_ibv_ports_t *ports)
{
    for (size_t i = 0; i < ports->count; i++)
        free(ports->list[i].gids);
    free(ports->list);
    *ports = (aq_ibv_ports_t){0};
}
