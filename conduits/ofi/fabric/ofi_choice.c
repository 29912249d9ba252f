// SPDX-License-Identifier: BSD-3-Clause
// From the list of libfabric (ofi_query.c) over its order (ofi_rank.c) to one provider. The core
// calls ofi_usable when it chooses a conduit; ofi_conduit.c makes the choice for the job when it
// opens.
#include "ofi_choice.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../other/base/settings/settings.h"
#include "ofi_explain.h"
#include "ofi_profile.h"
#include "ofi_query.h"

// peer: numeric address of another host of the job; else the default route counts.
static void route_find(const char *peer, ofi_criteria_t *criteria)
{
    criteria->peer_known = aq_sockaddr_source_to(peer, &criteria->route);
    if (!criteria->peer_known && !aq_sockaddr_source_to(AQ_FAR_V4, &criteria->route) &&
        !aq_sockaddr_source_to(AQ_FAR_V6, &criteria->route))
        criteria->route.any.sa_family = AF_UNSPEC;
}

ofi_criteria_t ofi_criteria_of(const ofi_job_t *job)
{
    const char *master = aq_settings_text(AQ_SET_MASTERIP);
    ofi_criteria_t criteria = {.provider = aq_setting_text(aq_ofi_setting(OFI_SET_PROVIDER)),
                               .domain = aq_setting_text(aq_ofi_setting(OFI_SET_DOMAIN)),
                               .single_host = job->single_host};
    route_find(*job->peer ? job->peer : master, &criteria);
    return criteria;
}

// ---- the list of libfabric ----

// What ofi_usable has found, for the ofi_choice_make that follows in the same process.
static struct fi_info *choice_kept;

static struct fi_info *list_take(void)
{
    struct fi_info *list = choice_kept;
    choice_kept = NULL;
    if (!list)
        (void)ofi_query_usable(&list);
    return list;
}

static void choice_explain(const struct fi_info *usable, const ofi_criteria_t *criteria,
                           char *errbuf, size_t errbuf_size)
{
    ofi_ranking_t ranking;
    const char *filter = getenv("FI_PROVIDER");
    struct fi_info *all = ofi_query_all();
    snprintf(errbuf, errbuf_size, "there is no memory for the list of providers");
    if (ofi_ranking_make(&ranking, usable, all, criteria)) {
        ofi_explain(&ranking, criteria, filter && *filter ? filter : NULL, errbuf, errbuf_size);
        ofi_ranking_free(&ranking);
    }
    fi_freeinfo(all);
}

// The best entry of a list, which remains its owner; NULL: no entry is fit, or there is no memory.
static const struct fi_info *choice_best(const struct fi_info *list, const ofi_criteria_t *criteria)
{
    ofi_ranking_t ranking;
    const struct fi_info *best = NULL;
    if (!ofi_ranking_make(&ranking, list, NULL, criteria))
        return NULL;
    if (ranking.count && ranking.entries[0].verdict == OFI_FIRST)
        best = ranking.entries[0].info;
    ofi_ranking_free(&ranking);
    return best;
}

aq_status_t ofi_choice_make(const ofi_job_t *job, struct fi_info **out, char *errbuf,
                            size_t errbuf_size)
{
    const ofi_criteria_t criteria = ofi_criteria_of(job);
    struct fi_info *list = list_take();
    const struct fi_info *best = choice_best(list, &criteria);
    *out = best ? ofi_query_capable(best, job->receives) : NULL;
    if (best && !*out)
        snprintf(errbuf, errbuf_size, "there is no memory for the provider");
    else if (!best)
        choice_explain(list, &criteria, errbuf, errbuf_size);
    fi_freeinfo(list);
    return *out ? AQ_OK : AQ_ERR_ABSENT;
}

// Reports a provider for several hosts, if there is one, else one for this host.
bool ofi_usable(char *errbuf, size_t errbuf_size)
{
    const ofi_criteria_t here = ofi_criteria_of(&(ofi_job_t){true, "", 0});
    const ofi_criteria_t wide = ofi_criteria_of(&(ofi_job_t){false, "", 0});
    struct fi_info *list = list_take();
    const struct fi_info *best = choice_best(list, &wide);
    if (!best)
        best = choice_best(list, &here);
    if (best)
        snprintf(errbuf, errbuf_size, "%s on %s", best->fabric_attr->prov_name,
                 best->domain_attr->name ? best->domain_attr->name : "?");
    else
        choice_explain(list, &here, errbuf, errbuf_size);
    choice_kept = list;
    return best != NULL;
}

// ---- what the chosen one can do ----

void ofi_traits_read(const struct fi_info *info, ofi_traits_t *out)
{
    const int mr = info->domain_attr->mr_mode;
    *out = (ofi_traits_t){
        .rma = info->caps & FI_RMA,
        .atomics = info->caps & FI_ATOMIC,
        .delivery_complete = ofi_query_delivers(info),
        .multi_receive = ofi_query_multi(info),
        .in_software = ofi_is_software(info->fabric_attr->prov_name),
        .mr_local = mr & FI_MR_LOCAL,
        .mr_virt_addr = mr & FI_MR_VIRT_ADDR,
        .mr_allocated = mr & FI_MR_ALLOCATED,
        .mr_prov_key = mr & FI_MR_PROV_KEY,
        .mr_endpoint = mr & FI_MR_ENDPOINT,
        .inject_most = info->tx_attr->inject_size,
        .message_most = info->ep_attr->max_msg_size,
        .sends_most = info->tx_attr->size,
        .receives_most = info->rx_attr->size,
    };
}
