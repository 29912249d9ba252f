// SPDX-License-Identifier: BSD-3-Clause
// Start and stop of firehose, and its counters.
#include "firehose_local.h"
#include "firehose_remote.h"
#include "firehose_serve.h"

#include "../other/base/log/log.h"

#include <stdlib.h>

aq_status_t aq_firehose_start(const aq_firehose_params_t *params, const aq_firehose_ops_t *ops,
                              void *context, uint32_t ranks, aq_firehose_t **out)
{
    aq_firehose_t *firehose = calloc(1, sizeof *firehose);
    _Atomic(aq_firehose_peers_t *) *peers =
        calloc(ranks ? aq_firehose_table_length(ranks) : 1, sizeof *peers);
    aq_status_t status = firehose && peers ? AQ_OK : AQ_ERR_RESOURCE;
    if (status != AQ_OK)
        aq_log_error("no memory for the table of %u processes; use fewer on a host", ranks);
    else
        status =
            aq_firehose_map_start(&firehose->map, params->main.regions + params->victim.regions,
                                  params->region_bytes, params->page_bytes, params->table_scale);
    if (status != AQ_OK) {
        free(peers);
        free(firehose);
        return status;
    }
    firehose->params = *params;
    firehose->ops = *ops;
    firehose->context = context;
    firehose->ranks = ranks;
    firehose->peers = peers;
    firehose->map.last = aq_firehose_local_last;
    firehose->map.owner = firehose;
    firehose->pools[AQ_FIREHOSE_MAIN].most = params->main;
    firehose->pools[AQ_FIREHOSE_VICTIM].most = params->victim;
    TAILQ_INIT(&firehose->going);
    pthread_mutex_init(&firehose->lock, NULL);
    *out = firehose;
    return AQ_OK;
}

size_t aq_firehose_table_bytes(const aq_firehose_t *firehose)
{
    return aq_firehose_table_length(firehose->ranks) * sizeof *firehose->peers;
}

void aq_firehose_stays(aq_firehose_t *firehose, const void *memory, size_t bytes)
{
    uintptr_t page = (uintptr_t)firehose->params.page_bytes;
    firehose->stays_from = ((uintptr_t)memory + page - 1) & ~(page - 1);
    firehose->stays_to = ((uintptr_t)memory + bytes) & ~(page - 1);
}

static void counters_print(aq_firehose_t *firehose)
{
    aq_firehose_stats_t stats;
    aq_firehose_stats(firehose, &stats);
    aq_log_counts("firehose: %llu misses, %llu pins, %llu unpins, %llu evictions, %llu merged; "
                  "%llu moves asked, %llu served, %llu refused; "
                  "pinned: main %u regions, %llu KiB, victim %u regions, %llu KiB",
                  (unsigned long long)stats.misses, (unsigned long long)stats.pins,
                  (unsigned long long)stats.unpins, (unsigned long long)stats.evictions,
                  (unsigned long long)stats.merged, (unsigned long long)stats.moves_sent,
                  (unsigned long long)stats.moves_served, (unsigned long long)stats.refused,
                  stats.main.regions, (unsigned long long)stats.main.bytes / 1024,
                  stats.victim.regions, (unsigned long long)stats.victim.bytes / 1024);
}

void aq_firehose_stop(aq_firehose_t *firehose)
{
    if (firehose->params.verbose)
        counters_print(firehose);
    for (uint32_t i = 0; i < firehose->map.fresh; i++) {
        aq_firehose_region_t *region = &firehose->map.records[i];
        if (region->state != AQ_FIREHOSE_FREE)
            firehose->ops.unpin(firehose->context, region->start, aq_firehose_map_bytes(region),
                                &region->key);
    }
    for (uint32_t rank = 0; rank < firehose->ranks; rank++)
        aq_firehose_peer_end(aq_firehose_peer_look(firehose, rank));
    for (size_t i = 0; i < aq_firehose_table_length(firehose->ranks); i++)
        free(firehose->peers[i]);
    aq_firehose_map_stop(&firehose->map);
    pthread_mutex_destroy(&firehose->lock);
    free(firehose->peers);
    free(firehose);
}

bool aq_firehose_quit(aq_firehose_t *firehose)
{
    if (pthread_mutex_trylock(&firehose->lock) != 0)
        return false;
    aq_firehose_serve_leave(firehose);
    aq_firehose_local_forget(firehose, 0, UINTPTR_MAX);
    pthread_mutex_unlock(&firehose->lock);
    if (firehose->params.verbose)
        counters_print(firehose);
    return true;
}

void aq_firehose_stats(aq_firehose_t *firehose, aq_firehose_stats_t *stats)
{
    pthread_mutex_lock(&firehose->lock);
    *stats = firehose->stats;
    stats->moves_sent = atomic_load_explicit(&firehose->moves_sent, memory_order_relaxed);
    stats->main = firehose->pools[AQ_FIREHOSE_MAIN].now;
    stats->main_most = firehose->pools[AQ_FIREHOSE_MAIN].most;
    stats->victim = firehose->pools[AQ_FIREHOSE_VICTIM].now;
    stats->victim_most = firehose->pools[AQ_FIREHOSE_VICTIM].most;
    pthread_mutex_unlock(&firehose->lock);
}
