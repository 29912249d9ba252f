// SPDX-License-Identifier: BSD-3-Clause
// Searches the ranking for what the user has named or excluded, so that the message names the
// setting to change. ofi_choice.c calls it if no provider is fit.
#include "ofi_explain.h"

#include <stdio.h>
#include <string.h>

// A list of names that grows: "tcp, udp". Longer lists end with "...".
typedef struct ofi_names {
    char text[400];
    size_t used;
} ofi_names_t;

static bool names_have(const ofi_names_t *names, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = strstr(names->text, name); at; at = strstr(at + 1, name))
        if ((at == names->text || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

static void names_add(ofi_names_t *names, const char *name)
{
    const size_t length = strlen(name), room = sizeof names->text - names->used;
    if (length == 0 || names_have(names, name))
        return;
    if (length + sizeof ", ..." + 1 > room)
        name = "...";
    if (strlen(name) + 3 > room || (strcmp(name, "...") == 0 && names_have(names, name)))
        return;
    names->used +=
        (size_t)snprintf(names->text + names->used, room, "%s%s", names->used ? ", " : "", name);
}

// The providers of a ranking; with a provider, the domains of it.
static void names_collect(const ofi_ranking_t *ranking, const char *provider, ofi_names_t *out)
{
    *out = (ofi_names_t){.used = 0};
    for (size_t i = 0; i < ranking->count; i++) {
        const struct fi_info *info = ranking->entries[i].info;
        if (!provider && ranking->entries[i].verdict != OFI_UNFIT)
            names_add(out, info->fabric_attr->prov_name);
        else if (provider && ofi_provider_is(info->fabric_attr->prov_name, provider) &&
                 info->domain_attr->name)
            names_add(out, info->domain_attr->name);
    }
}

// The best entry that the user names; NULL: there is none.
static const ofi_entry_t *entry_named(const ofi_ranking_t *ranking, const char *provider,
                                      const char *domain)
{
    for (size_t i = 0; i < ranking->count; i++) {
        const struct fi_info *info = ranking->entries[i].info;
        if (ofi_provider_is(info->fabric_attr->prov_name, provider) &&
            (!*domain || ofi_domain_is(info, domain)))
            return &ranking->entries[i];
    }
    return NULL;
}

static const ofi_entry_t *entry_in_domain(const ofi_ranking_t *ranking, const char *domain)
{
    for (size_t i = 0; i < ranking->count; i++)
        if (ofi_domain_is(ranking->entries[i].info, domain))
            return &ranking->entries[i];
    return NULL;
}

static void explain_provider(const ofi_ranking_t *ranking, const ofi_criteria_t *criteria,
                             char *errbuf, size_t errbuf_size)
{
    ofi_names_t names;
    names_collect(ranking, NULL, &names);
    snprintf(errbuf, errbuf_size,
             "GASNET_OFI_PROVIDER: libfabric finds no provider '%.80s' on this host; name one of "
             "%s, or install the package or the driver that brings it",
             criteria->provider, names.used ? names.text : "(none)");
}

static void explain_domain(const ofi_ranking_t *ranking, const ofi_criteria_t *criteria,
                           char *errbuf, size_t errbuf_size)
{
    ofi_names_t names;
    const char *provider = *criteria->provider   ? criteria->provider
                           : ranking->count != 0 ? ranking->entries[0].info->fabric_attr->prov_name
                                                 : "";
    names_collect(ranking, provider, &names);
    snprintf(errbuf, errbuf_size,
             "GASNET_OFI_DOMAIN: there is no domain '%.80s' on this host; provider %.80s has %s",
             criteria->domain, provider, names.used ? names.text : "none");
}

static void explain_entry(const ofi_entry_t *entry, char *errbuf, size_t errbuf_size)
{
    snprintf(errbuf, errbuf_size,
             "provider %.80s on %.80s cannot be used: %s; unset GASNET_OFI_PROVIDER and "
             "GASNET_OFI_DOMAIN, or see gasnet_info for others",
             entry->info->fabric_attr->prov_name,
             entry->info->domain_attr->name ? entry->info->domain_attr->name : "?", entry->why);
}

static void explain_nothing(const char *filter, char *errbuf, size_t errbuf_size)
{
    if (filter)
        snprintf(errbuf, errbuf_size,
                 "FI_PROVIDER=%.80s hides all providers from libfabric: unset it, or name one that "
                 "fi_info lists without it",
                 filter);
    else
        snprintf(errbuf, errbuf_size,
                 "libfabric finds no provider on this host: see what fi_info prints, and install "
                 "the package or the driver of the network");
}

static void explain_filter(const char *filter, char *errbuf, size_t errbuf_size)
{
    const size_t used = strlen(errbuf);
    if (filter && used < errbuf_size)
        snprintf(errbuf + used, errbuf_size - used,
                 "; FI_PROVIDER=%.80s hides all other providers from libfabric", filter);
}

void ofi_explain(const ofi_ranking_t *ranking, const ofi_criteria_t *criteria, const char *filter,
                 char *errbuf, size_t errbuf_size)
{
    const ofi_entry_t *named = entry_named(ranking, criteria->provider, criteria->domain);
    if (*criteria->provider == '\0')
        named = *criteria->domain ? entry_in_domain(ranking, criteria->domain)
                : ranking->count  ? &ranking->entries[0]
                                  : NULL;
    if (ranking->count == 0)
        explain_nothing(filter, errbuf, errbuf_size);
    else if (named)
        explain_entry(named, errbuf, errbuf_size);
    else if (*criteria->provider && !entry_named(ranking, criteria->provider, ""))
        explain_provider(ranking, criteria, errbuf, errbuf_size);
    else
        explain_domain(ranking, criteria, errbuf, errbuf_size);
    if (ranking->count != 0)
        explain_filter(filter, errbuf, errbuf_size);
}
