// SPDX-License-Identifier: BSD-3-Clause
// What gasnet_info prints about the providers of this host.
#include <rdma/fabric.h>
#include <stdio.h>
#include <stdlib.h>

#include "ofi_choice.h"
#include "ofi_query.h"

typedef void ofi_print_t(void *arg, const char *label, const char *text);

static void entry_print(const ofi_entry_t *entry, ofi_print_t *print, void *arg)
{
    const struct fi_info *info = entry->info;
    char address[INET6_ADDRSTRLEN], text[OFI_WHY_BYTES + 200];
    ofi_address_text(info, address);
    snprintf(text, sizeof text, "%.60s%s%s: %s: %s",
             info->domain_attr->name ? info->domain_attr->name : "no name", *address ? ", " : "",
             address, entry->verdict == OFI_FIRST ? "used" : "not used", entry->why);
    print(arg, info->fabric_attr->prov_name, text);
}

// One line for a provider that is unfit in all its domains: there are many of them.
static bool is_repetition(const ofi_ranking_t *ranking, size_t i)
{
    const ofi_entry_t *entry = &ranking->entries[i];
    if (i == 0 || entry->verdict != OFI_UNFIT)
        return false;
    const struct fi_info *before = ranking->entries[i - 1].info;
    return ranking->entries[i - 1].verdict == OFI_UNFIT &&
           ofi_provider_is(entry->info->fabric_attr->prov_name, before->fabric_attr->prov_name) &&
           ofi_provider_is(before->fabric_attr->prov_name, entry->info->fabric_attr->prov_name);
}

static void choice_print(const char *label, const ofi_job_t *job, const struct fi_info *usable,
                         ofi_print_t *print, void *arg)
{
    const ofi_criteria_t criteria = ofi_criteria_of(job);
    ofi_ranking_t ranking;
    char text[OFI_WHY_BYTES + 200] = "no provider will do";
    if (!ofi_ranking_make(&ranking, usable, NULL, &criteria))
        return;
    if (ranking.count && ranking.entries[0].verdict == OFI_FIRST)
        snprintf(text, sizeof text, "%.60s on %.60s: %s",
                 ranking.entries[0].info->fabric_attr->prov_name,
                 ranking.entries[0].info->domain_attr->name, ranking.entries[0].why);
    print(arg, label, text);
    ofi_ranking_free(&ranking);
}

static void list_print(const struct fi_info *usable, const struct fi_info *all, ofi_print_t *print,
                       void *arg)
{
    const ofi_job_t job = {false, "", 0};
    const ofi_criteria_t criteria = ofi_criteria_of(&job);
    ofi_ranking_t ranking;
    if (!ofi_ranking_make(&ranking, usable, all, &criteria))
        return;
    if (ranking.count == 0)
        print(arg, "providers", "libfabric finds none on this host");
    for (size_t i = 0; i < ranking.count; i++)
        if (!is_repetition(&ranking, i))
            entry_print(&ranking.entries[i], print, arg);
    ofi_ranking_free(&ranking);
}

void ofi_info_print(ofi_print_t *print, void *arg)
{
    struct fi_info *usable, *all = ofi_query_all();
    const char *filter = getenv("FI_PROVIDER");
    char text[160];
    (void)ofi_query_usable(&usable);
    print(arg, "protection",
          "none of ours: messages are as safe as the network of the provider, which has to be "
          "trusted");
    if (filter && *filter) {
        snprintf(text, sizeof text, "%.80s: libfabric hides all other providers", filter);
        print(arg, "FI_PROVIDER", text);
    }
    choice_print("jobs on one host", &(ofi_job_t){true, "", 0}, usable, print, arg);
    choice_print("on several hosts", &(ofi_job_t){false, "", 0}, usable, print, arg);
    list_print(usable, all, print, arg);
    fi_freeinfo(usable);
    fi_freeinfo(all);
}
