// SPDX-License-Identifier: BSD-3-Clause
// Agreement of all ranks on a status, and tables that all keep, with any spawner; for the core and
// for conduits.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../other/base/log/log.h"
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

// Ranks that are absent give 0.
static bool are_same(const uint64_t *all, uint32_t count, uint64_t mine)
{
    uint32_t r = 0;
    while (r < count && (all[r] == mine || all[r] == 0))
        r++;
    return r == count;
}

aq_status_t aq_boot_shares_loopback(aq_boot_t *boot, bool *shares)
{
    struct stat space = {0};
    (void)stat("/proc/self/ns/net", &space);
    const uint64_t mine = space.st_ino;
    *shares = false;
    if (!aq_boot_is_on_one_host(boot))
        return AQ_OK;
    uint64_t *all = calloc(boot->size, sizeof *all);
    if (all == NULL) {
        aq_log_error("no memory for 8 bytes per rank; free some");
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = boot->ops->exchange(boot, &mine, sizeof mine, all);
    *shares = are_same(all, boot->size, mine);
    free(all);
    return status;
}

// Takes the next bytes of the memory that the ranks of this host share; NULL: they do not fit.
static uint8_t *take_kept(aq_boot_t *boot, size_t bytes)
{
    size_t rounded = (bytes + 7) / 8 * 8;
    uint8_t *at = boot->kept;
    if (at == NULL || rounded > boot->kept_left)
        return NULL;
    boot->kept += rounded;
    boot->kept_left -= rounded;
    return at;
}

aq_status_t aq_boot_exchange_kept(aq_boot_t *boot, const void *mine, size_t len, const void **all)
{
    size_t bytes = len * boot->size;
    uint8_t *own = malloc(bytes + 1), *shared = take_kept(boot, bytes);
    *all = own;
    if (own == NULL) {
        aq_log_error("out of memory for what %u ranks tell each other (%zu bytes each)", boot->size,
                     len);
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = boot->ops->exchange(boot, mine, len, own);
    if (status != AQ_OK || shared == NULL)
        return status;
    if (boot->keeps)
        memcpy(shared, own, bytes);
    free(own);
    *all = shared;
    return boot->ops->barrier(boot);
}

static bool is_shared(const aq_boot_t *boot, const uint8_t *kept)
{
    const uint8_t *end = boot->kept != NULL ? boot->kept + boot->kept_left : NULL;
    return end != NULL && kept < end && kept >= end - (size_t)boot->size * AQ_KEPT_BYTES;
}

aq_status_t aq_boot_extend_kept(aq_boot_t *boot, const void *mine, size_t len, uint32_t first,
                                const void *kept)
{
    const bool shared = is_shared(boot, kept);
    const size_t from = first * len, to = aq_boot_present(boot) * len;
    uint8_t *rows = malloc(len * boot->size + 1);
    if (rows == NULL) {
        aq_log_error("out of memory for what %u ranks tell each other (%zu bytes each)", boot->size,
                     len);
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = boot->ops->exchange(boot, mine, len, rows);
    if (status == AQ_OK && (!shared || boot->keeps))
        memcpy((uint8_t *)(uintptr_t)kept + from, rows + from, to - from);
    free(rows);
    return status == AQ_OK && shared ? boot->ops->barrier(boot) : status;
}
