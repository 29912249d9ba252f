// SPDX-License-Identifier: BSD-3-Clause
// Registers all memory at each port, and exchanges the keys. ibv_keys.c looks here before it
// asks firehose.
#include "ibv_implicit_odp.h"
#include "../verbs/ibv_profile.h"

#include <stdlib.h>
#include <string.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/settings/settings.h"

// What each rank tells the others: its keys, by port.
typedef struct keys {
    uint32_t of[AQ_IBV_RAIL_PORTS_MAX];
} keys_t;

// ---- here ----

static aq_ibv_memory_t *memory_at(aq_ibv_memory_t *first, const aq_ibv_rail_ports_t *rails,
                                  unsigned port)
{
    return port ? rails->list[port].memory : first;
}

static unsigned ports_of(const aq_ibv_rail_ports_t *rails)
{
    return rails && rails->count > 1 ? rails->count : 1;
}

static struct ibv_mr *all_register(aq_ibv_memory_t *memory, aq_ibv_access_t access)
{
    const aq_ibv_area_t all = {"all memory of this process", NULL, SIZE_MAX, access};
    struct ibv_mr *region = NULL;
    char why[512] = "";
    if (memory->paged != AQ_IBV_PAGED_WHOLE ||
        aq_ibv_memory_register(memory, &all, &region, why, sizeof why) == AQ_OK)
        return region;
    if (aq_setting_int(aq_ibv_setting(IBV_SET_ODP_VERBOSE)))
        aq_log_warn("%s. The job continues: memory is registered in parts, when it is used", why);
    return NULL;
}

void aq_ibv_implicit_odp_register(aq_ibv_implicit_odp_t *odp, aq_ibv_memory_t *memory,
                                  const aq_ibv_rail_ports_t *rails, bool for_peers)
{
    const aq_ibv_access_t access = for_peers ? AQ_IBV_ALL : AQ_IBV_ALL_HERE;
    *odp = (aq_ibv_implicit_odp_t){.here = {all_register(memory, access)}};
    for (unsigned i = 1; odp->here[0] && i < ports_of(rails); i++)
        odp->here[i] = all_register(memory_at(memory, rails, i), access);
}

void aq_ibv_implicit_odp_release(aq_ibv_implicit_odp_t *odp, aq_ibv_memory_t *memory,
                                 const aq_ibv_rail_ports_t *rails)
{
    for (unsigned i = 0; i < ports_of(rails); i++)
        if (odp->here[i])
            aq_ibv_memory_release(memory_at(memory, rails, i), odp->here[i], AQ_IBV_ALL);
    memset(odp->here, 0, sizeof odp->here);
}

// ---- there ----

// Keeps of each rank the ports that any rank has.
static void keys_take(aq_ibv_implicit_odp_t *odp, const keys_t *all)
{
    odp->everywhere = true;
    for (uint32_t rank = 0; rank < odp->ranks; rank++) {
        odp->everywhere &= all[rank].of[0] != 0;
        for (uint32_t port = odp->ports; port < AQ_IBV_RAIL_PORTS_MAX; port++)
            if (all[rank].of[port])
                odp->ports = port + 1;
    }
    odp->there = odp->ports ? calloc(odp->ranks, odp->ports * sizeof *odp->there) : NULL;
    for (uint32_t rank = 0; odp->there && rank < odp->ranks; rank++)
        memcpy(odp->there + (size_t)rank * odp->ports, all[rank].of,
               odp->ports * sizeof *odp->there);
}

aq_status_t aq_ibv_implicit_odp_publish(aq_ibv_implicit_odp_t *odp, aq_boot_t *boot)
{
    keys_t mine = {{0}}, *all = calloc(boot->size, sizeof *all);
    aq_status_t status = AQ_ERR_RESOURCE;
    for (unsigned i = 0; i < AQ_IBV_RAIL_PORTS_MAX; i++)
        mine.of[i] = odp->here[i] ? odp->here[i]->rkey : 0;
    if (all)
        status = boot->ops->exchange(boot, &mine, sizeof mine, all);
    odp->ranks = boot->size;
    if (status == AQ_OK)
        keys_take(odp, all);
    free(all);
    if (!all || (odp->ports && !odp->there)) {
        aq_log_error("there is no memory for the keys of %u ranks; free some", boot->size);
        return AQ_ERR_RESOURCE;
    }
    return status;
}

void aq_ibv_implicit_odp_free(aq_ibv_implicit_odp_t *odp)
{
    free(odp->there);
    odp->there = NULL;
    odp->ports = 0;
}
