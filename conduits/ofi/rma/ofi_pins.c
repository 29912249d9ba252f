// SPDX-License-Identifier: BSD-3-Clause
// Connects firehose to the provider: starts it with limits on which all ranks agree, and registers
// and unregisters memory for it.
#include "ofi_pins.h"

#include <stdlib.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/settings/settings.h"

#define ACCESS_READ (FI_WRITE | FI_REMOTE_READ)
#define ACCESS_ALL (ACCESS_READ | FI_READ | FI_REMOTE_WRITE)
#define REGIONS_ASSUMED 65536 // of a provider that does not say how many it takes

// ---- what firehose calls ----

static int region_register(ofi_conduit_t *ofi, const void *memory, size_t bytes, bool writable,
                           struct fid_mr **region)
{
    int error = ofi_fabric_register(&ofi->fabric, memory, bytes,
                                    writable ? ACCESS_ALL : ACCESS_READ, region);
    if (!error && fi_mr_key(*region) == FI_KEY_NOTAVAIL) {
        fi_close(&(*region)->fid);
        error = -FI_ENOKEY;
    }
    return error;
}

static aq_firehose_pinned_t pins_pin(void *context, uintptr_t start, uint64_t bytes, bool writable,
                                     aq_firehose_key_t *key)
{
    ofi_conduit_t *ofi = context;
    struct fid_mr *region;
    aq_lock_take(&ofi->lock);
    const int error = region_register(ofi, (const void *)start, bytes, writable, &region);
    if (!error)
        *key = (aq_firehose_key_t){.handle = region, .remote = fi_mr_key(region)};
    aq_lock_drop(&ofi->lock);
    return error ? aq_firehose_why(-error, bytes) : AQ_FIREHOSE_PINNED;
}

static void pins_unpin(void *context, uintptr_t start, uint64_t bytes, const aq_firehose_key_t *key)
{
    ofi_conduit_t *ofi = context;
    struct fid_mr *region = key->handle;
    (void)start, (void)bytes;
    aq_lock_take(&ofi->lock);
    fi_close(&region->fid);
    aq_lock_drop(&ofi->lock);
}

// ---- opening ----

// What each rank tells the others.
typedef struct pin_limits {
    uint64_t bytes, regions; // that it may pin
    uint64_t reaches;        // whether peers may ask for its memory
    uint64_t peers;          // ranks that are reached by the provider
} pin_limits_t;

static bool reach_is_wanted(const ofi_conduit_t *ofi)
{
    const aq_segment_mode_t mode = ofi->base.env->segment_mode;
    return ofi->rma->wanted && ofi->fabric.traits.mr_allocated && !ofi->rma->keys.reached &&
           (mode != AQ_SEGMENT_EVERYTHING || aq_firehose_memory_stays());
}

void ofi_pins_prepare(const ofi_conduit_t *ofi)
{
    const ofi_traits_t *traits = &ofi->fabric.traits;
    if (ofi->rma->wanted && (traits->mr_local || traits->mr_allocated))
        aq_firehose_memory_keep();
}

static pin_limits_t limits_of(const ofi_conduit_t *ofi)
{
    const aq_conduit_env_t *env = ofi->base.env;
    const aq_boot_t *boot = env->boot;
    const ofi_keys_t *keys = &ofi->rma->keys;
    const uint64_t used = ofi->buffers.bytes + (keys->region && !keys->whole ? keys->bytes : 0);
    const size_t regions = ofi->fabric.info->domain_attr->mr_cnt;
    uint32_t here = 0;
    for (uint32_t rank = 0; rank < boot->size; rank++)
        here += boot->host_of_rank[rank] == boot->host_of_rank[boot->rank];
    const uint64_t most = aq_firehose_pinnable(here);
    return (pin_limits_t){.bytes = most - aq_min(most, used),
                          .regions = aq_firehose_regions(regions ? regions : REGIONS_ASSUMED, here),
                          .reaches = reach_is_wanted(ofi),
                          .peers = env->size - env->nbrhd_size};
}

// Afterwards all ranks have the limits of the weakest.
static aq_status_t limits_agree(const ofi_conduit_t *ofi, pin_limits_t *limits)
{
    aq_boot_t *boot = ofi->base.env->boot;
    pin_limits_t *all = calloc(boot->size, sizeof *all);
    if (!all) {
        aq_log_error("there is no memory for the limits of %u ranks; free some", boot->size);
        return AQ_ERR_RESOURCE;
    }
    const aq_status_t status = boot->ops->exchange(boot, limits, sizeof *limits, all);
    for (uint32_t rank = 0; status == AQ_OK && rank < boot->size; rank++) {
        limits->bytes = aq_min(limits->bytes, all[rank].bytes);
        limits->regions = aq_min(limits->regions, all[rank].regions);
        limits->reaches = aq_min(limits->reaches, all[rank].reaches);
        limits->peers = aq_max(limits->peers, all[rank].peers);
    }
    free(all);
    return status;
}

static aq_status_t firehose_start(ofi_conduit_t *ofi, const pin_limits_t *agreed,
                                  ofi_pins_request_t *request)
{
    const aq_firehose_ops_t ops = {.pin = pins_pin, .unpin = pins_unpin, .request = request};
    const aq_conduit_env_t *env = ofi->base.env;
    ofi_pins_t *pins = &ofi->rma->pins;
    const aq_firehose_limits_t limits = {.bytes = agreed->bytes,
                                         .regions = agreed->regions,
                                         .peers = (uint32_t)agreed->peers,
                                         .segment_pinned = !agreed->reaches,
                                         .buffer_bytes = ofi->buffers.bytes};
    aq_firehose_params_t params;
    aq_firehose_params_read(&limits, &params);
    pins->region_bytes = params.region_bytes;
    pins->reaches = agreed->reaches && params.per_peer > 0;
    pins->local =
        ofi->fabric.traits.mr_local && params.victim.regions > 0 && aq_firehose_memory_stays();
    return aq_firehose_start(&params, &ops, ofi, pins->reaches ? env->size : 0, &pins->firehose);
}

// Whether some rank may need firehose: the same at all ranks.
static bool pins_are_needed(const ofi_conduit_t *ofi)
{
    const ofi_traits_t *traits = &ofi->fabric.traits;
    const ofi_keys_t *keys = &ofi->rma->keys;
    return keys->reached ? traits->mr_local && !keys->whole : traits->rma && traits->mr_allocated;
}

aq_status_t ofi_pins_open(ofi_conduit_t *ofi, const void *segment, size_t bytes,
                          ofi_pins_request_t *request)
{
    bool first;
    if (!pins_are_needed(ofi))
        return AQ_OK;
    pin_limits_t limits = limits_of(ofi);
    aq_status_t status = limits_agree(ofi, &limits);
    if (status != AQ_OK || !(limits.reaches || ofi->rma->keys.reached))
        return status;
    status = firehose_start(ofi, &limits, request);
    if (status == AQ_OK && limits.reaches)
        aq_firehose_stays(ofi->rma->pins.firehose, segment, bytes);
    return aq_boot_agree_quietly(ofi->base.env->boot, status, &first);
}

// ---- the end ----

static void counters_print(const ofi_conduit_t *ofi)
{
    aq_firehose_stats_t stats;
    const ofi_ondemand_t *ondemand = &ofi->rma->ondemand;
    aq_firehose_stats(ofi->rma->pins.firehose, &stats);
    aq_log_counts("ofi: rank %u in registered memory: %lu puts and gets by the provider, %lu "
                  "pieces copied by peers, %lu in place here; %llu moves asked, %llu served, %llu "
                  "refused; %llu pins, %llu unpins, %llu evictions",
                  ofi->base.env->rank, (unsigned long)ondemand->by_provider,
                  atomic_load(&ondemand->by_peer), (unsigned long)ofi->rma->in_place,
                  (unsigned long long)stats.moves_sent, (unsigned long long)stats.moves_served,
                  (unsigned long long)stats.refused, (unsigned long long)stats.pins,
                  (unsigned long long)stats.unpins, (unsigned long long)stats.evictions);
}

void ofi_pins_close(ofi_conduit_t *ofi)
{
    const ofi_pins_t *pins = ofi->rma ? &ofi->rma->pins : NULL;
    if (pins && pins->firehose && aq_firehose_quit(pins->firehose) &&
        aq_settings_bool(AQ_SET_STATS))
        counters_print(ofi);
}

// ---- regions ----

aq_firehose_region_t *ofi_pins_local(const ofi_conduit_t *ofi, const void *memory, size_t bytes,
                                     bool write)
{
    aq_firehose_region_t *region;
    const ofi_pins_t *pins = &ofi->rma->pins;
    return aq_firehose_pin(pins->firehose, memory, bytes, write, &region) == AQ_OK ? region : NULL;
}

struct fi_rma_iov ofi_pins_remote(const ofi_conduit_t *ofi, const aq_firehose_region_t *region,
                                  const void *memory, size_t bytes)
{
    const uintptr_t address = (uintptr_t)memory;
    const uintptr_t start = atomic_load_explicit(&region->start, memory_order_relaxed);
    return (struct fi_rma_iov){.addr = ofi->fabric.traits.mr_virt_addr ? address : address - start,
                               .len = aq_firehose_covered(region, address, bytes),
                               .key = region->key.remote};
}
