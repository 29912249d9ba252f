// SPDX-License-Identifier: BSD-3-Clause
// Opens the objects of libfabric in their order, and registers memory. ofi_conduit.c opens the
// fabric; ofi_buffers.c, ofi_keys.c and ofi_pins.c register.
#include "ofi_fabric.h"

#include <string.h>

#include "../../../other/base/log/log.h"

// ofi_rxm asks the device for a completion queue with places for 1,024 peers.
static const char *remedy_of(const char *provider, const char *call)
{
    if (strcmp(call, "fi_enable") == 0 && strcmp(provider, "verbs;ofi_rxm") == 0)
        return "the device may not have so long a completion queue; with FI_UNIVERSE_SIZE=N, for "
               "N the number of ranks, it is shorter";
    return "gasnet_info lists the providers of this host, and GASNET_OFI_PROVIDER chooses one";
}

aq_status_t ofi_fabric_error(const ofi_fabric_t *fabric, const char *call, int error)
{
    const struct fi_info *info = fabric->info;
    const char *provider = info ? info->fabric_attr->prov_name : "?";
    aq_log_error("%s of libfabric failed with provider %s, domain %s: %s; %s", call, provider,
                 info ? info->domain_attr->name : "?", fi_strerror(-error),
                 remedy_of(provider, call));
    return AQ_ERR_RESOURCE;
}

// ---- opening ----

static int addresses_open(ofi_fabric_t *fabric)
{
    struct fi_av_attr attr = {.type = fabric->info->domain_attr->av_type};
    if (attr.type == FI_AV_UNSPEC)
        attr.type = FI_AV_TABLE;
    return fi_av_open(fabric->domain, &attr, &fabric->addresses, NULL);
}

// A provider without a descriptor to wait for has its queue polled.
static int queue_open(ofi_fabric_t *fabric, size_t completions, bool descriptor)
{
    struct fi_cq_attr attr = {
        .size = completions, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD};
    fabric->queue_fd = -1;
    if (descriptor && fi_cq_open(fabric->domain, &attr, &fabric->queue, NULL) == 0) {
        if (fi_control(&fabric->queue->fid, FI_GETWAIT, &fabric->queue_fd) == 0)
            return 0;
        fabric->queue_fd = -1;
        fi_close(&fabric->queue->fid);
    }
    attr.wait_obj = FI_WAIT_NONE;
    return fi_cq_open(fabric->domain, &attr, &fabric->queue, NULL);
}

static int endpoint_set_up(ofi_fabric_t *fabric, size_t least_receive)
{
    int error = fi_ep_bind(fabric->endpoint, &fabric->addresses->fid, 0);
    if (error == 0)
        error = fi_ep_bind(fabric->endpoint, &fabric->queue->fid, FI_TRANSMIT | FI_RECV);
    if (error == 0)
        error = fi_enable(fabric->endpoint);
    if (error == 0 && fabric->traits.multi_receive &&
        fi_setopt(&fabric->endpoint->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least_receive,
                  sizeof least_receive) != 0)
        fabric->traits.multi_receive = false;
    fabric->name_bytes = sizeof fabric->name;
    return error ? error : fi_getname(&fabric->endpoint->fid, fabric->name, &fabric->name_bytes);
}

static const char *objects_open(ofi_fabric_t *fabric, int *error)
{
    *error = fi_fabric(fabric->info->fabric_attr, &fabric->fabric, NULL);
    if (*error)
        return "fi_fabric";
    *error = fi_domain(fabric->fabric, fabric->info, &fabric->domain, NULL);
    return *error ? "fi_domain" : NULL;
}

aq_status_t ofi_fabric_open(ofi_fabric_t *fabric, struct fi_info *info, size_t completions,
                            size_t least_receive, bool descriptor)
{
    int error;
    *fabric = (ofi_fabric_t){.info = info, .queue_fd = -1, .next_key = 1};
    ofi_traits_read(info, &fabric->traits);
    const char *call = objects_open(fabric, &error);
    if (!call && (error = addresses_open(fabric)))
        call = "fi_av_open";
    if (!call && (error = queue_open(fabric, completions, descriptor)))
        call = "fi_cq_open";
    if (!call && (error = fi_endpoint(fabric->domain, info, &fabric->endpoint, NULL)))
        call = "fi_endpoint";
    if (!call && (error = endpoint_set_up(fabric, least_receive)))
        call = "fi_enable";
    return call ? ofi_fabric_error(fabric, call, error) : AQ_OK;
}

// ---- registration ----

static int region_bind(const ofi_fabric_t *fabric, struct fid_mr *region)
{
    int error = fi_mr_bind(region, &fabric->endpoint->fid, 0);
    return error ? error : fi_mr_enable(region);
}

int ofi_fabric_register(ofi_fabric_t *fabric, const void *memory, size_t bytes, uint64_t access,
                        struct fid_mr **out)
{
    const uint64_t key = fabric->traits.mr_prov_key ? 0 : fabric->next_key++;
    int error = fi_mr_reg(fabric->domain, memory, bytes, access, 0, key, 0, out, NULL);
    if (error || !fabric->traits.mr_endpoint)
        return error;
    error = region_bind(fabric, *out);
    if (error)
        fi_close(&(*out)->fid);
    return error;
}

// ---- injections ----

bool ofi_fabric_injects_no_more(ofi_fabric_t *fabric, int error)
{
    if (error != -FI_EINVAL && error != -FI_EMSGSIZE && error != -FI_EOPNOTSUPP &&
        error != -FI_ENOSYS)
        return false;
    fabric->traits.inject_most = 0;
    return true;
}
