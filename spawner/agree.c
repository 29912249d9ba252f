// Agreement of all ranks on a status, with any spawner; for the core and for conduits.
#include <stdlib.h>

#include "../other/base/log.h"
#include "boot.h"

aq_status_t aq_boot_agree_quietly(aq_boot_t *boot, aq_status_t status, bool *first)
{
    const uint8_t mine = (uint8_t)status;
    uint8_t *all = calloc(boot->size, sizeof *all);
    uint32_t bad = 0;
    *first = true;
    if (all == NULL) {
        aq_log_error("no memory for one byte per rank; free some");
        return status != AQ_OK ? status : AQ_ERR_RESOURCE;
    }
    aq_status_t exchanged = boot->ops->exchange(boot, &mine, sizeof mine, all);
    while (bad < boot->size && all[bad] == AQ_OK)
        bad++;
    *first = exchanged == AQ_OK && bad == boot->rank;
    if (exchanged == AQ_OK && bad < boot->size)
        exchanged = (aq_status_t)all[bad];
    free(all);
    return exchanged;
}

aq_status_t aq_boot_agree(aq_boot_t *boot, aq_status_t status, const char *why)
{
    bool first;
    aq_status_t agreed = aq_boot_agree_quietly(boot, status, &first);
    if (agreed == AQ_OK)
        return AQ_OK;
    if (first && *why)
        aq_log_error("%s", why);
    (void)boot->ops->barrier(boot);
    return agreed;
}
