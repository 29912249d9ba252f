// SPDX-License-Identifier: BSD-3-Clause
// The accounts of both pools. firehose_local.c enters each pin and unpin here, and each limit of
// the machine that it reaches.
#include "firehose_pool.h"

#include "../other/base/log/log.h"
#include "../other/base/minmax.h"

#include <stdio.h>

static uint64_t room_in(const aq_firehose_account_t *account)
{
    if (account->now.regions >= account->most.regions || account->now.bytes >= account->most.bytes)
        return 0;
    return account->most.bytes - account->now.bytes;
}

static aq_firehose_account_t pools_sum(const aq_firehose_t *firehose)
{
    const aq_firehose_account_t *main = &firehose->pools[AQ_FIREHOSE_MAIN];
    const aq_firehose_account_t *victim = &firehose->pools[AQ_FIREHOSE_VICTIM];
    return (aq_firehose_account_t){
        .now = {main->now.regions + victim->now.regions, main->now.bytes + victim->now.bytes},
        .most = {main->most.regions + victim->most.regions, main->most.bytes + victim->most.bytes},
    };
}

uint64_t aq_firehose_pool_room(const aq_firehose_t *firehose, aq_firehose_pool_t pool)
{
    aq_firehose_account_t whole = pools_sum(firehose);
    return aq_min(room_in(&firehose->pools[pool]), room_in(&whole));
}

void aq_firehose_pool_add(aq_firehose_t *firehose, aq_firehose_pool_t pool, uint64_t bytes)
{
    firehose->pools[pool].now.regions++;
    firehose->pools[pool].now.bytes += bytes;
}

void aq_firehose_pool_drop(aq_firehose_t *firehose, aq_firehose_pool_t pool, uint64_t bytes)
{
    firehose->pools[pool].now.regions--;
    firehose->pools[pool].now.bytes -= bytes;
}

static void limit_warn(aq_firehose_t *firehose, aq_firehose_pinned_t limit)
{
    aq_firehose_account_t whole = pools_sum(firehose);
    if (firehose->told[limit])
        return;
    firehose->told[limit] = true;
    aq_log_warn("memory for the network: %s. From now on at most %llu KiB in %u regions are kept "
                "pinned, which makes large transfers slower",
                aq_firehose_remedy(limit), (unsigned long long)whole.most.bytes / 1024,
                whole.most.regions);
}

void aq_firehose_pool_shrink(aq_firehose_t *firehose, aq_firehose_pinned_t limit)
{
    aq_firehose_account_t whole = pools_sum(firehose);
    double part = limit == AQ_FIREHOSE_DEVICE
                      ? (double)whole.now.regions / (double)whole.most.regions
                      : (double)whole.now.bytes / (double)whole.most.bytes;
    for (int i = 0; i < 2 && part < 1; i++) {
        aq_firehose_amount_t *most = &firehose->pools[i].most;
        if (limit == AQ_FIREHOSE_DEVICE)
            most->regions = (uint32_t)(part * most->regions);
        else
            most->bytes =
                (uint64_t)(part * (double)most->bytes) & ~(firehose->params.page_bytes - 1);
    }
    limit_warn(firehose, limit);
}
