// SPDX-License-Identifier: BSD-3-Clause
// Chooses the further ports that are like the first one, and opens device, protection domain and
// path of each. ibv_device.c calls it after the first port is open.
#include "ibv_rail_ports.h"
#include "../verbs/ibv_paging.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"
#include "../verbs/ibv_settings.h"

// ---- the choice ----

static enum ibv_mtu mtu_of(uint32_t bytes)
{
    enum ibv_mtu mtu = IBV_MTU_256;
    while (mtu < IBV_MTU_4096 && (128u << (mtu + 1)) <= bytes)
        mtu++;
    return mtu;
}

static aq_ibv_rail_port_t rail_port_of(const aq_ibv_port_t *port)
{
    const aq_ibv_gid_t *gid = aq_ibv_chosen_gid(port);
    const uint32_t reads = aq_min(port->limits.reads_in, port->limits.reads_out);
    aq_ibv_rail_port_t rail = {.number = (uint8_t)port->number,
                               .link = port->link,
                               .mtu = mtu_of(port->mtu),
                               .address.lid = port->lid,
                               .gid_index = gid ? (uint8_t)gid->index : 0,
                               .reads = (uint8_t)aq_min(reads, 255u)};
    memcpy(rail.device, port->device, sizeof rail.device);
    if (gid)
        memcpy(rail.address.gid, gid->address, sizeof rail.address.gid);
    return rail;
}

// Whether a port can be used together with the first one.
static bool is_alike(const aq_ibv_rail_port_t *first, const aq_ibv_rail_port_t *other)
{
    return first->link == other->link && first->mtu == other->mtu;
}

static aq_status_t difference_explain(const aq_ibv_rail_port_t *first,
                                      const aq_ibv_rail_port_t *other, char *errbuf,
                                      size_t errbuf_size)
{
    snprintf(errbuf, errbuf_size,
             "port %u of %s (%s, MTU %u) and port %u of %s (%s, MTU %u) cannot be used together: "
             "give them the same MTU, or name only ports of one network in GASNET_IBV_PORTS",
             first->number, first->device, aq_ibv_link_name(first->link),
             aq_ibv_mtu_bytes(first->mtu), other->number, other->device,
             aq_ibv_link_name(other->link), aq_ibv_mtu_bytes(other->mtu));
    return AQ_ERR_CONFIG;
}

// Takes a further port if it can be used beside the first one. AQ_ERR_CONFIG: the user named it,
// and it cannot.
static aq_status_t further_take(aq_ibv_rail_ports_t *rails, const aq_ibv_port_t *port,
                                aq_ibv_use_t *use, const char *filter, char *errbuf,
                                size_t errbuf_size)
{
    const aq_ibv_rail_port_t rail = rail_port_of(port), *first = &rails->list[0];
    if (!is_alike(first, &rail)) {
        *use = AQ_IBV_UNLIKE;
        return *filter ? difference_explain(first, &rail, errbuf, errbuf_size) : AQ_OK;
    }
    // The queue pairs of rails are connected without librdmacm, which iWARP does not allow.
    if (rail.link == AQ_IBV_LINK_IWARP)
        *use = AQ_IBV_NO_RAILS;
    else
        rails->list[rails->count++] = rail;
    return AQ_OK;
}

aq_status_t aq_ibv_rail_ports_choose(aq_ibv_rail_ports_t *rails, const aq_ibv_choice_t *choice,
                                     char *errbuf, size_t errbuf_size)
{
    const aq_ibv_ports_t *ports = choice->ports;
    aq_status_t status = AQ_OK;
    *rails = (aq_ibv_rail_ports_t){.queue_pairs = 1};
    for (size_t i = 0; i < ports->count && status == AQ_OK; i++) {
        if (choice->uses[i] != AQ_IBV_USED || rails->count == AQ_IBV_RAIL_PORTS_MAX)
            continue;
        if (rails->count)
            status = further_take(rails, &ports->list[i], &choice->uses[i], choice->filter, errbuf,
                                  errbuf_size);
        else
            rails->list[rails->count++] = rail_port_of(&ports->list[i]);
    }
    if (rails->count && rails->list[0].link != AQ_IBV_LINK_IWARP)
        rails->queue_pairs = aq_ibv_queue_pairs_wanted(rails->count);
    return status;
}

// ---- open and close ----

aq_ibv_path_source_t aq_ibv_rail_source(const aq_ibv_rail_port_t *port)
{
    return (aq_ibv_path_source_t){.path = &port->path,
                                  .address = port->address,
                                  .port = port->number,
                                  .gid_index = port->gid_index,
                                  .ethernet = port->link == AQ_IBV_LINK_ROCE};
}

static struct ibv_context *device_open(const char *name)
{
    struct ibv_context *verbs = NULL;
    struct ibv_device **devices = ibv_get_device_list(NULL);
    for (struct ibv_device **device = devices; devices && *device && !verbs; device++)
        if (strcmp(ibv_get_device_name(*device), name) == 0)
            verbs = ibv_open_device(*device);
    if (devices)
        ibv_free_device_list(devices);
    return verbs;
}

static bool rail_port_open(aq_ibv_rail_port_t *port, const aq_ibv_memory_t *first)
{
    struct ibv_device_attr can;
    char why[256] = "";
    port->verbs = device_open(port->device);
    if (port->verbs && ibv_query_device(port->verbs, &can) == 0 &&
        aq_ibv_path_find(port->verbs, port->number, &port->path, why, sizeof why) == AQ_OK)
        port->pd = ibv_alloc_pd(port->verbs);
    if (port->pd) {
        port->own = (aq_ibv_memory_t){
            .calls = first->calls,
            .pd = port->pd,
            .device = port->device,
            .region_bytes = can.max_mr_size,
            .piece_bytes = first->piece_bytes,
            .overlap = first->overlap,
            .most = first->most,
            .limited = first->limited,
            .paged = first->paged ? aq_ibv_memory_pages(port->verbs, false) : AQ_IBV_NOT_PAGED};
        return true;
    }
    aq_log_warn("port %u of %s cannot be opened beside the first port of this process (%s): name "
                "only other ports in GASNET_IBV_PORTS",
                port->number, port->device, *why ? why : strerror(errno));
    if (port->verbs)
        ibv_close_device(port->verbs);
    return false;
}

void aq_ibv_rail_ports_open(aq_ibv_rail_ports_t *rails, const aq_ibv_rail_port_t *first)
{
    const unsigned chosen = rails->count;
    rails->list[0].path = first->path;
    rails->list[0].verbs = first->verbs;
    rails->list[0].pd = first->pd;
    rails->list[0].memory = first->memory;
    const aq_ibv_path_source_t source = aq_ibv_rail_source(&rails->list[0]);
    aq_ibv_paging_try(first->memory, &source);
    rails->count = chosen ? 1 : 0;
    for (unsigned i = 1; i < chosen; i++) {
        rails->list[rails->count] = rails->list[i];
        rails->count += rail_port_open(&rails->list[rails->count], first->memory);
    }
    for (unsigned i = 1; i < rails->count; i++) {
        const aq_ibv_path_source_t from = aq_ibv_rail_source(&rails->list[i]);
        rails->list[i].memory = &rails->list[i].own;
        aq_ibv_paging_try(rails->list[i].memory, &from);
    }
    if (aq_ibv_rails_exist(rails))
        rails->queue_pairs = aq_ibv_queue_pairs_wanted(rails->count);
}

void aq_ibv_rail_ports_close(aq_ibv_rail_ports_t *rails)
{
    for (unsigned i = 1; i < rails->count; i++) {
        ibv_dealloc_pd(rails->list[i].pd);
        ibv_close_device(rails->list[i].verbs);
    }
    rails->count = 0;
}
