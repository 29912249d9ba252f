// SPDX-License-Identifier: BSD-3-Clause
// Links: the addresses of peers, which the provider learns on first use of a peer.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/log/log.h"
#include "../fabric/ofi_profile.h"
#include "../state/ofi_state.h"

#define LOOK_NS UINT64_C(1000000000) // between looks for silent peers

// What a rank tells the others of its endpoint, besides the name. All but the domain has to be the
// same everywhere.
typedef struct ofi_hello {
    char provider[48];
    uint32_t format, name_bytes;
    uint32_t packet_bytes;
    uint32_t version;
    char domain[48]; // last
} ofi_hello_t;

static void hello_write(const ofi_conduit_t *ofi, ofi_hello_t *hello)
{
    const struct fi_info *info = ofi->fabric.info;
    *hello = (ofi_hello_t){.format = info->addr_format,
                           .name_bytes = (uint32_t)ofi->fabric.name_bytes,
                           .packet_bytes = (uint32_t)ofi->packet_bytes,
                           .version = OFI_WIRE_VERSION};
    strncpy(hello->provider, info->fabric_attr->prov_name, sizeof hello->provider - 1);
    if (info->domain_attr->name)
        strncpy(hello->domain, info->domain_attr->name, sizeof hello->domain - 1);
}

// The first rank whose endpoint differs from that of rank 0; ranks: none.
static uint32_t hello_differs(const ofi_hello_t *all, uint32_t ranks)
{
    uint32_t r = 1;
    while (r < ranks && memcmp(&all[r], &all[0], offsetof(ofi_hello_t, domain)) == 0)
        r++;
    return r < ranks ? r : ranks;
}

static const char *format_name(uint32_t format)
{
    return format == FI_SOCKADDR_IN    ? "IPv4 addresses"
           : format == FI_SOCKADDR_IN6 ? "IPv6 addresses"
                                       : "addresses of its own";
}

static void hellos_explain(const ofi_hello_t *all, uint32_t rank)
{
    const ofi_hello_t *mine = &all[0], *theirs = &all[rank];
    if (strcmp(mine->provider, theirs->provider) == 0 && mine->format == theirs->format)
        aq_log_error("conduit ofi: provider %.47s gives rank 0 addresses of %u bytes and packets "
                     "of %u bytes (version %u), and rank %u addresses of %u and packets of %u "
                     "bytes (version %u): install the same versions of libfabric and of this "
                     "library on all hosts",
                     mine->provider, mine->name_bytes, mine->packet_bytes, mine->version, rank,
                     theirs->name_bytes, theirs->packet_bytes, theirs->version);
    else
        aq_log_error("conduit ofi: rank 0 has chosen provider %.47s on %.47s with %s, and rank %u "
                     "%.47s on %.47s with %s: name a provider, and a domain or the network of its "
                     "addresses, that gasnet_info lists on all hosts in GASNET_OFI_PROVIDER and "
                     "GASNET_OFI_DOMAIN, the same for all ranks",
                     mine->provider, mine->domain, format_name(mine->format), rank,
                     theirs->provider, theirs->domain, format_name(theirs->format));
}

static aq_status_t hellos_refuse(aq_boot_t *boot, ofi_hello_t *all, uint32_t rank)
{
    if (boot->rank == 0) {
        // what comes from other ranks may lack its end
        all[rank].provider[sizeof all[rank].provider - 1] = '\0';
        all[rank].domain[sizeof all[rank].domain - 1] = '\0';
        hellos_explain(all, rank);
    }
    (void)boot->ops->barrier(boot); // rank 0 has logged before the first rank ends
    return AQ_ERR_CONFIG;
}

static aq_status_t hellos_exchange(ofi_conduit_t *ofi, ofi_hello_t *all)
{
    aq_boot_t *boot = ofi->base.env->boot;
    ofi_hello_t mine;
    hello_write(ofi, &mine);
    aq_status_t status = boot->ops->exchange(boot, &mine, sizeof mine, all);
    if (status != AQ_OK)
        return status;
    const uint32_t differs = hello_differs(all, boot->size);
    return differs == boot->size ? AQ_OK : hellos_refuse(boot, all, differs);
}

aq_status_t ofi_links_open(ofi_conduit_t *ofi)
{
    aq_boot_t *boot = ofi->base.env->boot;
    ofi_hello_t *all = malloc(boot->size * sizeof *all);
    const void *names;
    ofi->links.by_rank = calloc(boot->size, sizeof *ofi->links.by_rank);
    ofi->links.patience_s = (unsigned)aq_setting_int(aq_ofi_setting(OFI_SET_PATIENCE));
    if (!all || !ofi->links.by_rank) {
        free(all);
        aq_log_error("out of memory for the links of %u ranks", boot->size);
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = hellos_exchange(ofi, all);
    free(all);
    if (status != AQ_OK)
        return status;
    status = aq_boot_exchange_kept(boot, ofi->fabric.name, ofi->fabric.name_bytes, &names);
    ofi->links.names = names;
    return status;
}

// ---- links ----

static bool address_insert(ofi_conduit_t *ofi, ofi_link_t *link)
{
    const char *name = ofi->links.names + link->rank * ofi->fabric.name_bytes;
    const int count = fi_av_insert(ofi->fabric.addresses, name, 1, &link->address, 0, NULL);
    if (count == 1)
        return true;
    aq_log_error("provider %s does not accept the address of rank %u (%s): see that all hosts have "
                 "the same version of libfabric",
                 ofi->fabric.info->fabric_attr->prov_name, link->rank,
                 count < 0 ? fi_strerror(-count) : "no reason given");
    return false;
}

static ofi_link_t *link_new(ofi_conduit_t *ofi, uint32_t rank)
{
    ofi_link_t *link = calloc(1, sizeof *link);
    if (!link) {
        aq_log_error("out of memory for the connection to rank %u (%zu bytes)", rank, sizeof *link);
        return NULL;
    }
    link->rank = rank;
    aq_credit_start(&link->credit, &ofi->pool, ofi->limits.each, ofi->limits.each,
                    ofi->limits.slack);
    if (address_insert(ofi, link))
        return link;
    free(link);
    return NULL;
}

ofi_link_t *ofi_link_get(ofi_conduit_t *ofi, uint32_t rank)
{
    ofi_link_t *link = ofi->links.by_rank[rank];
    if (link)
        return link;
    link = link_new(ofi, rank);
    if (link) {
        ofi->links.by_rank[rank] = link;
        link->next_open = ofi->links.open;
        ofi->links.open = link;
    }
    return link;
}

void ofi_link_failed(ofi_conduit_t *ofi, ofi_link_t *link, int error)
{
    link->dead = true;
    ofi_losses_note(&ofi->losses, link->rank, ofi->fabric.info->fabric_attr->prov_name,
                    ofi->fabric.info->domain_attr->name, fi_strerror(error));
}

// ---- silent peers ----

// Whether something waits for the peer: it has not left, is under way, or has no credit. Requests
// whose handlers have not run are no sign: the peer may keep some credits for long.
static bool link_waits(const ofi_link_t *link)
{
    return link->accesses || atomic_load(&link->credit.free) == 0 ||
           link->out[OFI_REQUESTS].first || link->out[OFI_REPLIES].first;
}

static void silence_tell(const ofi_conduit_t *ofi, ofi_link_t *link)
{
    link->told = true;
    aq_log_notice("for %u s provider %s on %s has moved nothing between this process and rank %u, "
                  "for which it waits: that process does not call GASNet, or the network between "
                  "is cut",
                  ofi->links.patience_s, ofi->fabric.info->fabric_attr->prov_name,
                  ofi->fabric.info->domain_attr->name, link->rank);
}

// The first look may come soon after the wait began, so it counts for less than a second, and one
// more is needed.
static void link_look(const ofi_conduit_t *ofi, ofi_link_t *link)
{
    link->silent_looks =
        link->moved || link->dead || !link_waits(link) ? 0 : link->silent_looks + 1;
    link->moved = false;
    if (link->silent_looks > ofi->links.patience_s && !link->told)
        silence_tell(ofi, link);
}

void ofi_links_watch(ofi_conduit_t *ofi)
{
    const uint64_t now = aq_clock_ns();
    if (now < ofi->links.next_look || atomic_load(&ofi->losses.closing))
        return;
    ofi->links.next_look = now + LOOK_NS;
    for (ofi_link_t *link = ofi->links.open; link; link = link->next_open)
        link_look(ofi, link);
}
