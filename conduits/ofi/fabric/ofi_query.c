// SPDX-License-Identifier: BSD-3-Clause
// Builds hints and calls fi_getinfo. ofi_choice.c asks for the list first, and then for what the
// chosen provider can do beyond it.
#include "ofi_query.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "ofi_rank.h"

#define API FI_VERSION(1, 11)

// ofi_query_capable asks for what a provider can do beyond these hints. Progress is manual, because
// the progress threads of providers compete with ours.
static struct fi_info *hints_new(void)
{
    struct fi_info *hints = fi_allocinfo();
    if (!hints)
        return NULL;
    hints->caps = FI_MSG;
    hints->mode = OFI_MODES;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = OFI_MR_MODES;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    return hints;
}

// libfabric reads its variables when it is first asked. Its default, 128 datagrams under way to
// each peer, overflows the buffer of a socket, and ofi_rxd of libfabric 1.17 does not survive each
// loss: the job hangs, or ends with a truncated message. The value of the user remains.
static int getinfo_gently(const struct fi_info *hints, struct fi_info **out)
{
    const char *const variable = "FI_OFI_RXD_MAX_UNACKED";
    const bool ours = !getenv(variable) && setenv(variable, "16", 0) == 0;
    const int error = fi_getinfo(API, NULL, NULL, 0, hints, out);
    if (ours)
        (void)unsetenv(variable);
    return error;
}

static int list_ask(const struct fi_info *hints, struct fi_info **out)
{
    *out = NULL;
    const int error = hints ? getinfo_gently(hints, out) : -FI_ENOMEM;
    if (error)
        *out = NULL;
    return error;
}

int ofi_query_usable(struct fi_info **out)
{
    struct fi_info *hints = hints_new();
    const int error = list_ask(hints, out);
    fi_freeinfo(hints);
    return error;
}

struct fi_info *ofi_query_all(void)
{
    struct fi_info *hints = fi_allocinfo(), *found;
    if (!hints)
        return NULL;
    hints->mode = ~UINT64_C(0);
    hints->domain_attr->mode = ~UINT64_C(0);
    hints->domain_attr->mr_mode = ~OFI_MR_OLD_MODES;
    (void)list_ask(hints, &found);
    fi_freeinfo(hints);
    return found;
}

// ---- one provider ----

static void address_pin(struct fi_info *hints, const struct fi_info *chosen)
{
    const bool is_ip =
        chosen->addr_format == FI_SOCKADDR_IN || chosen->addr_format == FI_SOCKADDR_IN6;
    hints->addr_format = chosen->addr_format;
    if (!is_ip || !chosen->src_addr)
        return;
    hints->src_addr = malloc(chosen->src_addrlen);
    if (!hints->src_addr)
        return;
    memcpy(hints->src_addr, chosen->src_addr, chosen->src_addrlen);
    hints->src_addrlen = chosen->src_addrlen;
}

// Hints that only the chosen provider, domain and address fit.
static struct fi_info *hints_pinned(const struct fi_info *chosen)
{
    struct fi_info *hints = hints_new();
    if (!hints)
        return NULL;
    hints->fabric_attr->prov_name = strdup(chosen->fabric_attr->prov_name);
    hints->fabric_attr->name = chosen->fabric_attr->name ? strdup(chosen->fabric_attr->name) : NULL;
    hints->domain_attr->name = chosen->domain_attr->name ? strdup(chosen->domain_attr->name) : NULL;
    address_pin(hints, chosen);
    return hints;
}

// The chosen one as libfabric gives it for the hints; NULL: not with these.
static struct fi_info *chosen_ask(const struct fi_info *hints, const struct fi_info *chosen)
{
    struct fi_info *list, *found = NULL;
    if (list_ask(hints, &list) != 0)
        return NULL;
    for (const struct fi_info *info = list; info && !found; info = info->next)
        if (ofi_infos_same(info, chosen))
            found = fi_dupinfo(info);
    fi_freeinfo(list);
    return found;
}

bool ofi_query_multi(const struct fi_info *info)
{
    return !ofi_is_software(info->fabric_attr->prov_name) && info->caps & FI_MULTI_RECV;
}

// Replaces *best, the chosen one, by what libfabric gives for the hints; false: it gives nothing.
static bool best_improve(struct fi_info **best, const struct fi_info *hints)
{
    struct fi_info *found = chosen_ask(hints, *best);
    if (!found)
        return false;
    fi_freeinfo(*best);
    *best = found;
    return true;
}

// Providers may not report what was not asked for, or refuse everything because of one capability.
// tcp;ofi_rxm and net take 65,536 receives if they are asked, and fewer otherwise.
struct fi_info *ofi_query_capable(const struct fi_info *chosen, size_t receives)
{
    static const uint64_t optional[] = {FI_RMA, FI_ATOMIC, FI_MULTI_RECV};
    struct fi_info *hints = hints_pinned(chosen), *best = fi_dupinfo(chosen);
    for (size_t i = 0; hints && best && i < sizeof optional / sizeof optional[0]; i++) {
        hints->caps |= optional[i];
        if (!best_improve(&best, hints))
            hints->caps &= ~optional[i];
    }
    if (hints && best && !ofi_query_multi(best) && best->rx_attr->size < receives) {
        hints->rx_attr->size = receives;
        (void)best_improve(&best, hints);
    }
    fi_freeinfo(hints);
    return best;
}

// The endpoint may have got a name of its own since the choice, so addresses are not compared.
bool ofi_query_delivers(const struct fi_info *chosen)
{
    struct fi_info *hints = hints_pinned(chosen), *found = NULL;
    if (hints) {
        hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
        (void)list_ask(hints, &found);
    }
    fi_freeinfo(hints);
    fi_freeinfo(found);
    return found != NULL;
}
