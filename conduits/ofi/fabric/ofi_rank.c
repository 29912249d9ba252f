// SPDX-License-Identifier: BSD-3-Clause
// The table of known providers, the reasons that exclude an entry, and the score that orders the
// others. ofi_choice.c takes the first entry; ofi_explain.c and ofi_info.c report the rest.
#include "ofi_rank.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// ---- providers ----

typedef enum ofi_kind {
    KIND_HARDWARE,
    KIND_SOFTWARE,
    KIND_HOST,
    KIND_UNKNOWN,
    KIND_DEBUG
} ofi_kind_t;

// In order of preference. Of those in software: tcp;ofi_rxm has a descriptor to sleep on and
// reports lost peers; net;ofi_rxm reports them; net loses an operation silently then. sockets
// starts threads, and udp;ofi_rxd never gives up on a peer. shm checks neither keys nor bounds, and
// a peer that dies there is not noticed.
static const struct ofi_rank_row {
    const char *name;
    ofi_kind_t kind;
} ofi_rank_rows[] = {
    {"cxi", KIND_HARDWARE},
    {"efa", KIND_HARDWARE},
    {"psm3", KIND_HARDWARE},
    {"psm2", KIND_HARDWARE},
    {"opx", KIND_HARDWARE},
    {"verbs;ofi_rxm", KIND_HARDWARE},
    {"verbs;ofi_rxd", KIND_HARDWARE},
    {"bgq", KIND_HARDWARE},
    {"gni", KIND_HARDWARE},
    {"ucx", KIND_HARDWARE},
    {"mlx", KIND_HARDWARE},
    {"psm", KIND_HARDWARE},
    {"verbs", KIND_HARDWARE},
    {"usnic", KIND_HARDWARE},
    {"tcp;ofi_rxm", KIND_SOFTWARE},
    {"tcp", KIND_SOFTWARE},
    {"net;ofi_rxm", KIND_SOFTWARE},
    {"net", KIND_SOFTWARE},
    {"sockets", KIND_SOFTWARE},
    {"udp;ofi_rxd", KIND_SOFTWARE},
    {"udp", KIND_SOFTWARE},
    {"shm", KIND_HOST},
    {"sm2", KIND_HOST},
};

enum { RANK_ROWS = sizeof ofi_rank_rows / sizeof ofi_rank_rows[0], RANK_STEP = 100 };

static unsigned provider_row(const char *provider)
{
    unsigned row = 0;
    while (row < RANK_ROWS && strcmp(ofi_rank_rows[row].name, provider) != 0)
        row++;
    return row;
}

static ofi_kind_t provider_kind(const char *provider)
{
    const unsigned row = provider_row(provider);
    if (strstr(provider, "ofi_hook") || strstr(provider, "debug"))
        return KIND_DEBUG;
    return row < RANK_ROWS ? ofi_rank_rows[row].kind : KIND_UNKNOWN;
}

bool ofi_is_software(const char *provider)
{
    const ofi_kind_t kind = provider_kind(provider);
    const size_t length = strlen(provider);
    return kind == KIND_SOFTWARE || kind == KIND_HOST ||
           (length > 8 && strcmp(provider + length - 8, ";ofi_rxd") == 0);
}

// Compares letters of either case, and ':' as ';'.
static bool names_equal(const char *name, const char *given, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char letter = given[i] == ':' ? ';' : given[i];
        if (!name[i] || strncasecmp(&name[i], &letter, 1) != 0)
            return false;
    }
    return true;
}

static bool provider_is_exactly(const char *provider, const char *name)
{
    return strlen(provider) == strlen(name) && names_equal(provider, name, strlen(name));
}

bool ofi_provider_is(const char *provider, const char *name)
{
    const size_t length = strlen(name);
    return names_equal(provider, name, length) &&
           (provider[length] == '\0' || provider[length] == ';');
}

// ---- addresses ----

static const ofi_sockaddr_t *address_of(const struct fi_info *info)
{
    const ofi_sockaddr_t *address = info->src_addr;
    if (!address)
        return NULL;
    if (info->addr_format == FI_SOCKADDR_IN && info->src_addrlen >= sizeof address->v4)
        return address;
    if (info->addr_format == FI_SOCKADDR_IN6 && info->src_addrlen >= sizeof address->v6)
        return address;
    return NULL;
}

void ofi_address_text(const struct fi_info *info, char text[INET6_ADDRSTRLEN])
{
    const ofi_sockaddr_t *address = address_of(info);
    text[0] = '\0';
    if (address && info->addr_format == FI_SOCKADDR_IN)
        inet_ntop(AF_INET, &address->v4.sin_addr, text, INET6_ADDRSTRLEN);
    else if (address)
        inet_ntop(AF_INET6, &address->v6.sin6_addr, text, INET6_ADDRSTRLEN);
}

static bool is_loopback(const struct fi_info *info)
{
    const ofi_sockaddr_t *address = address_of(info);
    if (!address)
        return false;
    return info->addr_format == FI_SOCKADDR_IN ? (ntohl(address->v4.sin_addr.s_addr) >> 24) == 127
                                               : IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static bool is_link_local(const struct fi_info *info)
{
    const ofi_sockaddr_t *address = address_of(info);
    return address && info->addr_format == FI_SOCKADDR_IN6 &&
           IN6_IS_ADDR_LINKLOCAL(&address->v6.sin6_addr);
}

static bool is_on_route(const struct fi_info *info, const aq_sockaddr_t *route)
{
    const ofi_sockaddr_t *address = address_of(info);
    if (!address)
        return false;
    if (info->addr_format == FI_SOCKADDR_IN)
        return route->any.sa_family == AF_INET &&
               address->v4.sin_addr.s_addr == route->v4.sin_addr.s_addr;
    return route->any.sa_family == AF_INET6 &&
           memcmp(&address->v6.sin6_addr, &route->v6.sin6_addr, sizeof route->v6.sin6_addr) == 0;
}

static const char *text_or(const char *text, const char *other)
{
    return text ? text : other;
}

bool ofi_domain_is(const struct fi_info *info, const char *name)
{
    char address[INET6_ADDRSTRLEN];
    ofi_address_text(info, address);
    return strcmp(text_or(info->domain_attr->name, ""), name) == 0 ||
           strcmp(text_or(info->fabric_attr->name, ""), name) == 0 ||
           (*address && strcmp(address, name) == 0);
}

// ---- what makes an entry unfit ----

typedef struct ofi_bit {
    uint64_t bit;
    const char *name;
} ofi_bit_t;

// The first bit of `value` that is not `accepted`; NULL: there is none.
static const char *bit_name(const ofi_bit_t *bits, size_t count, uint64_t value, uint64_t accepted)
{
    value &= ~accepted;
    for (size_t i = 0; i < count; i++)
        if (value & bits[i].bit)
            return bits[i].name;
    return value ? "of a newer libfabric" : NULL;
}

// Numbers stand for names that not every version of libfabric has: 2.1 lacks FI_BUFFERED_RECV, and
// the compiler warns of FI_LOCAL_MR.
static const char *mode_name(uint64_t mode)
{
    static const ofi_bit_t bits[] = {
        {FI_RX_CQ_DATA, "FI_RX_CQ_DATA"},           {FI_MSG_PREFIX, "FI_MSG_PREFIX"},
        {UINT64_C(1) << 55, "FI_LOCAL_MR"},         {FI_ASYNC_IOV, "FI_ASYNC_IOV"},
        {UINT64_C(1) << 51, "FI_BUFFERED_RECV"},    {FI_NOTIFY_FLAGS_ONLY, "FI_NOTIFY_FLAGS_ONLY"},
        {FI_RESTRICTED_COMP, "FI_RESTRICTED_COMP"},
    };
    return bit_name(bits, sizeof bits / sizeof bits[0], mode, OFI_MODES);
}

static const char *mr_mode_name(uint64_t mode)
{
    static const ofi_bit_t bits[] = {
        {FI_MR_RAW, "FI_MR_RAW"},
        {FI_MR_MMU_NOTIFY, "FI_MR_MMU_NOTIFY"},
        {FI_MR_RMA_EVENT, "FI_MR_RMA_EVENT"},
        {FI_MR_HMEM, "FI_MR_HMEM"},
        {FI_MR_COLLECTIVE, "FI_MR_COLLECTIVE"},
    };
    return bit_name(bits, sizeof bits / sizeof bits[0], mode, OFI_MR_MODES | OFI_MR_OLD_MODES);
}

static const char *endpoint_name(enum fi_ep_type type)
{
    return type == FI_EP_MSG     ? "connections (FI_EP_MSG)"
           : type == FI_EP_DGRAM ? "unreliable datagrams (FI_EP_DGRAM)"
                                 : "endpoints of another type";
}

// True, and the reason in why, if the conduit cannot use the attributes.
static bool attributes_unfit(const struct fi_info *info, char *why)
{
    const char *mode = mode_name(info->mode),
               *mr = mr_mode_name((uint64_t)info->domain_attr->mr_mode);
    if (info->ep_attr->type != FI_EP_RDM)
        snprintf(why, OFI_WHY_BYTES,
                 "it has %s, and the conduit needs reliable ones without connections (FI_EP_RDM)",
                 endpoint_name(info->ep_attr->type));
    else if (!(info->caps & FI_MSG))
        snprintf(why, OFI_WHY_BYTES, "it sends no messages (FI_MSG)");
    else if (info->ep_attr->max_msg_size < OFI_MESSAGE_MIN)
        snprintf(why, OFI_WHY_BYTES, "its messages have at most %zu bytes, and %u are needed",
                 info->ep_attr->max_msg_size, OFI_MESSAGE_MIN);
    else if (mode)
        snprintf(why, OFI_WHY_BYTES, "it demands mode %s, which the conduit does not have", mode);
    else if (mr)
        snprintf(why, OFI_WHY_BYTES,
                 "it demands that memory is registered with %s, which the conduit does not do", mr);
    else
        return false;
    return true;
}

// ---- what bars an entry from a job ----

static bool user_bars(const struct fi_info *info, const ofi_criteria_t *criteria, char *why)
{
    if (*criteria->provider && !ofi_provider_is(info->fabric_attr->prov_name, criteria->provider))
        snprintf(why, OFI_WHY_BYTES, "GASNET_OFI_PROVIDER=%.80s excludes it", criteria->provider);
    else if (*criteria->domain && !ofi_domain_is(info, criteria->domain))
        snprintf(why, OFI_WHY_BYTES, "GASNET_OFI_DOMAIN=%.80s excludes it", criteria->domain);
    else
        return false;
    return true;
}

// Other fabrics have networks of their own, so the address of a peer says nothing of them.
static bool off_route(const struct fi_info *info, const ofi_criteria_t *criteria)
{
    return criteria->peer_known && !*criteria->domain && address_of(info) &&
           provider_kind(info->fabric_attr->prov_name) == KIND_SOFTWARE &&
           !is_on_route(info, &criteria->route);
}

static bool job_bars(const struct fi_info *info, const ofi_criteria_t *criteria, char *why)
{
    const char *provider = info->fabric_attr->prov_name;
    const ofi_kind_t kind = provider_kind(provider);
    if (kind == KIND_DEBUG && !*criteria->provider)
        snprintf(why, OFI_WHY_BYTES, "it is for debugging; GASNET_OFI_PROVIDER=%.80s chooses it",
                 provider);
    else if (!criteria->single_host && (kind == KIND_HOST || is_loopback(info)))
        snprintf(why, OFI_WHY_BYTES, "it reaches this host only");
    else if (is_link_local(info) && !*criteria->domain)
        snprintf(why, OFI_WHY_BYTES, "its address is link-local, which means nothing to peers");
    else if (!criteria->single_host && off_route(info, criteria))
        snprintf(why, OFI_WHY_BYTES,
                 "its address is not on the way to the other hosts of the job; GASNET_OFI_DOMAIN "
                 "can choose it");
    else
        return false;
    return true;
}

// ---- the score ----

// An address of InfiniBand (FI_SOCKADDR_IB) comes after all those of IP, since on RoCE nothing can
// be bound to it, although verbs;ofi_rxm lists one.
static uint32_t network_penalty(const struct fi_info *info, const ofi_criteria_t *criteria)
{
    uint32_t penalty = info->addr_format == FI_SOCKADDR_IN6 ? 10 : 0;
    if (info->addr_format == FI_SOCKADDR_IB)
        return 60;
    if (!address_of(info))
        return 0;
    if (criteria->single_host)
        return penalty + (is_loopback(info) ? 0 : 20);
    return is_on_route(info, &criteria->route) ? 0 : penalty + 20 + (is_link_local(info) ? 20 : 0);
}

static uint32_t entry_score(const struct fi_info *info, const ofi_criteria_t *criteria)
{
    const char *provider = info->fabric_attr->prov_name;
    uint32_t score = provider_row(provider) * RANK_STEP + network_penalty(info, criteria);
    if (*criteria->provider && !provider_is_exactly(provider, criteria->provider))
        score += (RANK_ROWS + 1) * RANK_STEP;
    return score;
}

static const char *use_reason(const struct fi_info *info, const ofi_criteria_t *criteria)
{
    const ofi_kind_t kind = provider_kind(info->fabric_attr->prov_name);
    if (*criteria->provider || *criteria->domain)
        return *criteria->provider ? "as GASNET_OFI_PROVIDER says" : "as GASNET_OFI_DOMAIN says";
    if (kind == KIND_HARDWARE)
        return "a fabric with hardware";
    if (kind == KIND_UNKNOWN || kind == KIND_DEBUG)
        return "there is no provider that this version of the library knows";
    if (criteria->single_host)
        return is_loopback(info) ? "there is no hardware; messages stay on this host"
                                 : "there is no hardware";
    return is_on_route(info, &criteria->route)
               ? "there is no hardware; its network leads to other hosts"
               : "there is no hardware";
}

// ---- the list ----

bool ofi_infos_same(const struct fi_info *a, const struct fi_info *b)
{
    return strcmp(a->fabric_attr->prov_name, b->fabric_attr->prov_name) == 0 &&
           strcmp(text_or(a->domain_attr->name, ""), text_or(b->domain_attr->name, "")) == 0 &&
           strcmp(text_or(a->fabric_attr->name, ""), text_or(b->fabric_attr->name, "")) == 0 &&
           a->addr_format == b->addr_format && a->src_addrlen == b->src_addrlen &&
           (!a->src_addr || !b->src_addr || memcmp(a->src_addr, b->src_addr, a->src_addrlen) == 0);
}

static bool ranking_has(const ofi_ranking_t *ranking, const struct fi_info *info)
{
    for (size_t i = 0; i < ranking->count; i++)
        if (ofi_infos_same(ranking->entries[i].info, info))
            return true;
    return false;
}

static void entry_judge(ofi_entry_t *entry, bool usable, const ofi_criteria_t *criteria)
{
    entry->score = entry_score(entry->info, criteria);
    if (attributes_unfit(entry->info, entry->why)) {
        entry->verdict = OFI_UNFIT;
    } else if (!usable) {
        entry->verdict = OFI_UNFIT;
        snprintf(entry->why, sizeof entry->why,
                 "libfabric does not offer it with the attributes that the conduit needs");
    } else if (user_bars(entry->info, criteria, entry->why) ||
               job_bars(entry->info, criteria, entry->why)) {
        entry->verdict = OFI_BARRED;
    } else {
        entry->verdict = OFI_LATER;
    }
}

// Keeps the order of equal ones.
static void ranking_insert(ofi_ranking_t *ranking, const ofi_entry_t *entry)
{
    size_t at = ranking->count++;
    for (; at > 0; at--) {
        const ofi_entry_t *before = &ranking->entries[at - 1];
        if (before->verdict < entry->verdict ||
            (before->verdict == entry->verdict && before->score <= entry->score))
            break;
        ranking->entries[at] = *before;
    }
    ranking->entries[at] = *entry;
}

static void ranking_add(ofi_ranking_t *ranking, const struct fi_info *list, bool usable,
                        const ofi_criteria_t *criteria)
{
    for (const struct fi_info *info = list; info; info = info->next) {
        ofi_entry_t entry = {.info = info};
        if (ranking_has(ranking, info))
            continue;
        entry_judge(&entry, usable, criteria);
        ranking_insert(ranking, &entry);
    }
}

static void ranking_name_first(ofi_ranking_t *ranking, const ofi_criteria_t *criteria)
{
    ofi_entry_t *first = &ranking->entries[0];
    if (ranking->count == 0 || first->verdict != OFI_LATER)
        return;
    first->verdict = OFI_FIRST;
    snprintf(first->why, sizeof first->why, "%s", use_reason(first->info, criteria));
    for (size_t i = 1; i < ranking->count && ranking->entries[i].verdict == OFI_LATER; i++)
        snprintf(ranking->entries[i].why, sizeof first->why, "%.80s on %.80s precedes it",
                 first->info->fabric_attr->prov_name, text_or(first->info->domain_attr->name, "?"));
}

static size_t list_length(const struct fi_info *list)
{
    size_t length = 0;
    for (; list; list = list->next)
        length++;
    return length;
}

bool ofi_ranking_make(ofi_ranking_t *out, const struct fi_info *usable, const struct fi_info *all,
                      const ofi_criteria_t *criteria)
{
    const size_t most = list_length(usable) + list_length(all) + 1;
    *out = (ofi_ranking_t){.entries = calloc(most, sizeof *out->entries)};
    if (!out->entries)
        return false;
    ranking_add(out, usable, true, criteria);
    ranking_add(out, all, false, criteria);
    ranking_name_first(out, criteria);
    return true;
}

void ofi_ranking_free(ofi_ranking_t *ranking)
{
    free(ranking->entries);
    *ranking = (ofi_ranking_t){0};
}
