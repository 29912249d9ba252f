// SPDX-License-Identifier: BSD-3-Clause
// Divides what the machine allows (firehose_limits.c) between the two pools, by the settings.
// Conduits ibv and ofi call it before aq_firehose_start.
#include "firehose_params.h"

#include "../other/base/log/log.h"
#include "../other/base/settings/settings.h"
#include "../other/base/minmax.h"

#include <unistd.h>

#define LEAST_REGION (UINT64_C(128) << 10) // shortest default length
#define MOST_REGION (UINT64_C(16) << 20)
#define FEW_REGIONS 16
#define MOST_REGIONS (UINT32_C(1) << 23)

// ---- the pools ----

// Divides the memory between the pools: each gets what its setting says, or what the other leaves.
static void share_bytes(const aq_firehose_limits_t *limits, aq_firehose_params_t *params)
{
    uint64_t main = aq_settings_bytes(AQ_SET_FIREHOSE_M);
    uint64_t victim = aq_settings_bytes(AQ_SET_FIREHOSE_MAXVICTIM_M);
    if (!main && victim)
        main = limits->bytes - aq_min(limits->bytes, victim);
    else if (!main)
        main = limits->segment_pinned ? aq_min(limits->buffer_bytes, limits->bytes / 4 * 3)
                                      : limits->bytes / 4 * 3;
    if (!victim)
        victim = limits->bytes - aq_min(limits->bytes, main);
    params->main.bytes = main & ~(params->page_bytes - 1);
    params->victim.bytes = victim & ~(params->page_bytes - 1);
}

// The user's value; otherwise 128 KiB, or less if a pool is so small that it would have no choice
// of what to evict.
static uint64_t length_of_regions(const aq_firehose_limits_t *limits,
                                  const aq_firehose_params_t *params)
{
    uint64_t length = aq_settings_bytes(AQ_SET_FIREHOSE_MAXREGION_SIZE);
    uint64_t main = params->main.bytes, victim = params->victim.bytes;
    uint64_t smaller = main ? aq_min(main, victim) : victim;
    if (length == 0) {
        for (length = LEAST_REGION; length < MOST_REGION; length *= 2)
            if (length * limits->regions >= main + victim)
                break;
    } else if (!aq_settings_given(AQ_SET_FIREHOSE_MAXREGION_SIZE)) {
        while (length > params->page_bytes && smaller < FEW_REGIONS * length)
            length /= 2;
    }
    return (length + params->page_bytes - 1) & ~(params->page_bytes - 1);
}

static uint32_t count_regions(aq_setting_id_t id, uint64_t bytes, uint64_t longest, uint64_t share)
{
    uint64_t given = (uint64_t)aq_settings_int(id);
    uint64_t fit = aq_min(bytes / longest, MOST_REGIONS);
    if (fit == 0 && bytes > 0)
        fit = 1; // less than one region: regions stay shorter
    return (uint32_t)(given ? aq_min(given, fit) : aq_min(fit, share));
}

static void share_regions(const aq_firehose_limits_t *limits, aq_firehose_params_t *params)
{
    double whole = (double)params->main.bytes + (double)params->victim.bytes;
    uint64_t main_share =
        whole > 0 ? (uint64_t)((double)limits->regions * ((double)params->main.bytes / whole)) : 0;
    params->main.regions =
        count_regions(AQ_SET_FIREHOSE_R, params->main.bytes, params->region_bytes, main_share);
    params->victim.regions = count_regions(AQ_SET_FIREHOSE_MAXVICTIM_R, params->victim.bytes,
                                           params->region_bytes, limits->regions - main_share);
    params->per_peer = limits->peers ? params->main.regions / limits->peers : 0;
}

// Warns of values that are legal but not useful; they are the same at all processes.
static void params_warn(const aq_firehose_limits_t *limits, const aq_firehose_params_t *params)
{
    uint64_t whole = params->main.bytes + params->victim.bytes;
    if (!aq_log_is_first())
        return;
    if (whole > limits->bytes)
        aq_log_warn("GASNET_FIREHOSE_M and GASNET_FIREHOSE_MAXVICTIM_M are %llu MB together, and "
                    "this process may pin %llu MB; lower them or raise GASNET_PHYSMEM_MAX",
                    (unsigned long long)whole >> 20, (unsigned long long)limits->bytes >> 20);
    if (!limits->segment_pinned && params->per_peer == 0 && limits->peers > 0)
        aq_log_warn("the main pool of firehose has %u regions for %u processes, so that all their "
                    "transfers go by messages; raise GASNET_FIREHOSE_R or GASNET_FIREHOSE_M, or "
                    "lower GASNET_FIREHOSE_MAXREGION_SIZE",
                    params->main.regions, limits->peers);
}

static void params_print(const aq_firehose_params_t *params)
{
    aq_log_counts("firehose: main pool %llu KiB in %u regions, %u for each peer; victim pool %llu "
                  "KiB in %u regions; regions of at most %llu KiB",
                  (unsigned long long)params->main.bytes / 1024, params->main.regions,
                  params->per_peer, (unsigned long long)params->victim.bytes / 1024,
                  params->victim.regions, (unsigned long long)params->region_bytes / 1024);
}

void aq_firehose_params_read(const aq_firehose_limits_t *limits, aq_firehose_params_t *params)
{
    *params = (aq_firehose_params_t){
        .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
        .region_bytes = LEAST_REGION,
        .put_in_move = (uint32_t)aq_settings_bytes(AQ_SET_PUTINMOVE_LIMIT),
        .table_scale = aq_settings_real(AQ_SET_FIREHOSE_TABLE_SCALE),
        .verbose = aq_settings_bool(AQ_SET_FIREHOSE_VERBOSE),
    };
    if (!aq_settings_bool(AQ_SET_USE_FIREHOSE))
        return; // empty pools: all data is copied
    share_bytes(limits, params);
    params->region_bytes = length_of_regions(limits, params);
    share_regions(limits, params);
    params_warn(limits, params);
    if (params->verbose)
        params_print(params);
}
