#include "ofi_choice.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <string.h>

#include "../../other/base/minmax.h"
#include "ofi_profile.h"

#define API FI_VERSION(1, 11)

// All that the conduit can do without, libfabric adds to the hints if the provider has it.
static struct fi_info *hints_new(void)
{
    struct fi_info *hints = fi_allocinfo();
    if (!hints)
        return NULL;
    hints->caps = FI_MSG;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    return hints;
}

static bool info_is_wanted(const struct fi_info *info)
{
    const char *provider = aq_setting_text(aq_ofi_setting(OFI_SET_PROVIDER));
    const char *domain = aq_setting_text(aq_ofi_setting(OFI_SET_DOMAIN));
    return (!*provider || strcmp(provider, info->fabric_attr->prov_name) == 0) &&
           (!*domain || strcmp(domain, info->domain_attr->name) == 0);
}

aq_status_t ofi_choice_make(const char *address, struct fi_info **out, char *why, size_t why_size)
{
    struct fi_info *hints = hints_new(), *found = NULL;
    const int error = hints ? fi_getinfo(API, *address ? NULL : "127.0.0.1", NULL,
                                         *address ? 0 : FI_SOURCE, hints, &found)
                            : -FI_ENOMEM;
    *out = NULL;
    for (struct fi_info *info = found; info && !*out; info = info->next)
        if (info_is_wanted(info))
            *out = fi_dupinfo(info);
    fi_freeinfo(found);
    fi_freeinfo(hints);
    if (*out)
        return AQ_OK;
    snprintf(why, why_size, "libfabric finds no provider (%s)", fi_strerror(-error));
    return AQ_ERR_ABSENT;
}

void ofi_traits_read(const struct fi_info *info, ofi_traits_t *out)
{
    const int mr = info->domain_attr->mr_mode;
    *out = (ofi_traits_t){
        .rma = info->caps & FI_RMA,
        .atomics = info->caps & FI_ATOMIC,
        .delivery_complete = true,
        .multi_receive = false,
        .in_software = true,
        .mr_local = mr & FI_MR_LOCAL,
        .mr_virt_addr = mr & FI_MR_VIRT_ADDR,
        .mr_allocated = mr & FI_MR_ALLOCATED,
        .mr_prov_key = mr & FI_MR_PROV_KEY,
        .mr_endpoint = mr & FI_MR_ENDPOINT,
        .inject_most = info->tx_attr->inject_size,
        .message_most = info->ep_attr->max_msg_size,
        .sends_most = info->tx_attr->size,
    };
}
