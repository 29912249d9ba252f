// SPDX-License-Identifier: BSD-3-Clause
// Reads the attributes of a port, and applies the settings to them: for librdmacm's queue pairs
// (ibv_connect_cm.c), for those of this conduit (ibv_queue_pair.c), and for datagrams
// (ibv_ud_port.c).
#include "ibv_path.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../other/base/minmax.h"
#include "../../../other/base/settings/settings.h"
#include "ibv_profile.h"

enum {
    MEMBER = 0x8000, // of a partition key: the membership, full or limited
    KEYS_MAX = 1024,
    SUBNET_BYTES = 8, // of a GID: the prefix that all ports of an InfiniBand subnet share
    HOPS = 64,
};

static unsigned number_of(aq_ibv_setting_id_t id)
{
    return (unsigned)aq_setting_int(aq_ibv_setting(id));
}

static enum ibv_mtu mtu_of(enum ibv_mtu active)
{
    const char *text = aq_setting_text(aq_ibv_setting(IBV_SET_MAX_MTU));
    const long most = strtol(text, NULL, 10);
    enum ibv_mtu mtu = active ? active : IBV_MTU_1024;
    while (most > 0 && mtu > IBV_MTU_256 && aq_ibv_mtu_bytes(mtu) > (unsigned long)most)
        mtu--;
    return mtu;
}

static aq_status_t partition_find(const aq_ibv_path_port_t *port, aq_ibv_path_t *path, char *errbuf,
                                  size_t errbuf_size)
{
    const unsigned wanted = number_of(IBV_SET_PKEY) & ~(unsigned)MEMBER;
    if (!wanted)
        return AQ_OK;
    for (unsigned i = 0; i < port->key_count; i++)
        if ((port->keys[i] & ~(unsigned)MEMBER) == wanted) {
            path->pkey_index = (uint16_t)i;
            return AQ_OK;
        }
    snprintf(errbuf, errbuf_size,
             "port %u of verbs device %s is in no partition 0x%x: set GASNET_IBV_PKEY to one of "
             "the keys in the folder pkeys of the port below /sys/class/infiniband, or ask the "
             "administrator of the network",
             port->number, port->device, wanted);
    return AQ_ERR_CONFIG;
}

aq_status_t aq_ibv_path_choose(const aq_ibv_path_port_t *port, aq_ibv_path_t *path, char *errbuf,
                               size_t errbuf_size)
{
    *path = (aq_ibv_path_t){
        .mtu = mtu_of(port->active),
        .gid_index = (int)aq_setting_int(aq_ibv_setting(IBV_SET_GID_INDEX)),
        .service_level = (uint8_t)number_of(IBV_SET_SERVICE_LEVEL),
        .traffic_class = (uint8_t)number_of(IBV_SET_TRAFFIC_CLASS),
    };
    aq_status_t status = partition_find(port, path, errbuf, errbuf_size);
    path->chosen = (port->active && path->mtu != port->active) || path->pkey_index ||
                   path->service_level || path->traffic_class;
    if (status != AQ_OK || port->has_gid)
        return status;
    snprintf(errbuf, errbuf_size,
             "port %u of verbs device %s has no GID with index %d: set GASNET_IBV_GID_INDEX to "
             "one that gasnet_info lists, or unset it",
             port->number, port->device, path->gid_index);
    return AQ_ERR_CONFIG;
}

// ---- an open device ----

static unsigned keys_read(struct ibv_context *verbs, uint8_t port, uint16_t *keys, unsigned most)
{
    __be16 key;
    unsigned count = 0;
    while (count < most && ibv_query_pkey(verbs, port, (int)count, &key) == 0)
        keys[count++] = ntohs(key);
    return count;
}

static bool gid_exists(struct ibv_context *verbs, uint8_t port)
{
    static const union ibv_gid none;
    union ibv_gid gid = none;
    const int64_t index = aq_setting_int(aq_ibv_setting(IBV_SET_GID_INDEX));
    return index < 0 || (ibv_query_gid(verbs, port, (int)index, &gid) == 0 &&
                         memcmp(&gid, &none, sizeof gid) != 0);
}

aq_status_t aq_ibv_path_find(struct ibv_context *verbs, uint8_t port, aq_ibv_path_t *path,
                             char *errbuf, size_t errbuf_size)
{
    struct ibv_port_attr attr;
    uint16_t keys[KEYS_MAX];
    const char *device = ibv_get_device_name(verbs->device);
    if (ibv_query_port(verbs, port, &attr) != 0) {
        snprintf(errbuf, errbuf_size, "port %u of verbs device %s does not report its state: %s",
                 port, device, strerror(errno));
        return AQ_ERR_RESOURCE;
    }
    const aq_ibv_path_port_t offers = {
        .device = device,
        .number = port,
        .active = attr.active_mtu,
        .keys = keys,
        .key_count = keys_read(verbs, port, keys, aq_min(attr.pkey_tbl_len, (unsigned)KEYS_MAX)),
        .has_gid = gid_exists(verbs, port),
    };
    const aq_status_t status = aq_ibv_path_choose(&offers, path, errbuf, errbuf_size);
    if (verbs->device->transport_type == IBV_TRANSPORT_IWARP)
        path->chosen = false; // TCP and IP decide
    return status;
}

void aq_ibv_path_set(const aq_ibv_path_t *path, struct ibv_qp_attr *attr, int mask)
{
    if (mask & IBV_QP_PKEY_INDEX && path->pkey_index)
        attr->pkey_index = path->pkey_index;
    if (mask & IBV_QP_PATH_MTU && attr->path_mtu > path->mtu)
        attr->path_mtu = path->mtu;
    if (!(mask & IBV_QP_AV))
        return;
    if (path->service_level)
        attr->ah_attr.sl = path->service_level;
    if (path->traffic_class)
        attr->ah_attr.grh.traffic_class = path->traffic_class;
}

bool aq_ibv_gid_is_ipv4(const uint8_t gid[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(gid, mapped, sizeof mapped) == 0;
}

const char *aq_ibv_port_address_text(const aq_ibv_port_address_t *address,
                                     char text[AQ_IBV_ADDRESS_TEXT])
{
    char gid[INET6_ADDRSTRLEN], lid[16] = "";
    if (aq_ibv_gid_is_ipv4(address->gid))
        inet_ntop(AF_INET, address->gid + 12, gid, sizeof gid);
    else
        inet_ntop(AF_INET6, address->gid, gid, sizeof gid);
    if (address->lid)
        snprintf(lid, sizeof lid, ", LID %u", address->lid);
    snprintf(text, AQ_IBV_ADDRESS_TEXT, "%s%s", gid, lid);
    return text;
}

struct ibv_ah_attr aq_ibv_path_way(const aq_ibv_path_source_t *from,
                                   const aq_ibv_port_address_t *to)
{
    struct ibv_ah_attr way = {
        .dlid = to->lid, .sl = from->path->service_level, .port_num = from->port};
    way.is_global = from->ethernet || memcmp(from->address.gid, to->gid, SUBNET_BYTES) != 0;
    memcpy(way.grh.dgid.raw, to->gid, sizeof way.grh.dgid.raw);
    way.grh.sgid_index = from->gid_index;
    way.grh.hop_limit = HOPS;
    way.grh.traffic_class = from->path->traffic_class;
    return way;
}
