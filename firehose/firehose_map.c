// SPDX-License-Identifier: BSD-3-Clause
// The hash table, its chains of links, and the queue for eviction. firehose_local.c keeps the
// regions of this process in one such map, firehose_remote.c those of a peer in another.
#include "firehose_map.h"

#include "../other/base/log/log.h"
#include "../other/base/minmax.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_WITHOUT_LOCK 64 // a stray reader could follow a cycle
#define LEAST_CHAINS 16
#define BLOCK_PAGES 4  // short enough that many small regions make no long chain
#define MOST_BLOCKS 64 // blocks that the longest region overlaps, minus one

static uintptr_t start_of(const aq_firehose_region_t *region)
{
    return atomic_load_explicit(&region->start, memory_order_relaxed);
}

static uintptr_t end_of(const aq_firehose_region_t *region)
{
    return atomic_load_explicit(&region->end, memory_order_relaxed);
}

static _Atomic uint32_t *chain_of(const aq_firehose_map_t *map, uintptr_t block)
{
    return &map->chains[(uint64_t)block * UINT64_C(0x9E3779B97F4A7C15) >> map->hash_shift];
}

// The region of a link, which is not 0.
static aq_firehose_region_t *region_of(const aq_firehose_map_t *map, uint32_t link)
{
    return &map->records[(link - 1) >> map->span_shift];
}

static uint32_t next_of(const aq_firehose_map_t *map, uint32_t link)
{
    return atomic_load_explicit(&map->next[link - 1], memory_order_acquire);
}

// ---- start and stop ----

// The exponent of the smallest power of two that is not less than count.
static unsigned bits_for(uint64_t count)
{
    unsigned bits = 0;
    while (UINT64_C(1) << bits < count)
        bits++;
    return bits;
}

aq_status_t aq_firehose_map_start(aq_firehose_map_t *map, uint32_t capacity, uint64_t region_bytes,
                                  uint64_t page_bytes, double scale)
{
    memset(map, 0, sizeof *map);
    map->block_shift = bits_for(aq_max(BLOCK_PAGES * page_bytes, region_bytes / MOST_BLOCKS));
    uint64_t blocks = region_bytes >> map->block_shift;
    map->span_shift = bits_for(blocks + 2);
    // One chain for each link if all regions have maximum length.
    double chains = (double)capacity * (double)(blocks + 1) * scale;
    unsigned bits = bits_for(aq_max(LEAST_CHAINS, (uint64_t)chains));
    map->hash_shift = 64 - bits;
    map->capacity = capacity;
    TAILQ_INIT(&map->free);
    TAILQ_INIT(&map->evictable);
    map->chains = calloc((size_t)1 << bits, sizeof *map->chains);
    map->next = calloc(((size_t)capacity << map->span_shift) + 1, sizeof *map->next);
    map->memory = calloc((size_t)capacity + 1, sizeof *map->records);
    if (!map->chains || !map->next || !map->memory) {
        aq_firehose_map_stop(map);
        aq_log_error("no memory for %u regions of firehose; lower GASNET_FIREHOSE_R and "
                     "GASNET_FIREHOSE_MAXVICTIM_R",
                     capacity);
        return AQ_ERR_RESOURCE;
    }
    const uintptr_t line = _Alignof(aq_firehose_region_t);
    map->records = (aq_firehose_region_t *)(((uintptr_t)map->memory + line - 1) & ~(line - 1));
    return AQ_OK;
}

void aq_firehose_map_stop(aq_firehose_map_t *map)
{
    free(map->memory);
    free(map->next);
    free(map->chains);
    map->memory = NULL;
    map->next = NULL;
    map->chains = NULL;
}

// ---- finding ----

static bool region_covers(const aq_firehose_region_t *region, uintptr_t at, bool write)
{
    return start_of(region) <= at && at < end_of(region) &&
           (!write || atomic_load_explicit(&region->writable, memory_order_relaxed));
}

static bool try_use(aq_firehose_region_t *region)
{
    unsigned users = atomic_load_explicit(&region->users, memory_order_relaxed);
    do {
        if (users & AQ_FIREHOSE_RETIRED)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&region->users, &users, users + 1,
                                                    memory_order_acquire, memory_order_relaxed));
    return true;
}

static aq_firehose_region_t *map_find(const aq_firehose_map_t *map, uintptr_t at, bool write,
                                      unsigned steps)
{
    const _Atomic uint32_t *chain = chain_of(map, at >> map->block_shift);
    uint32_t link = atomic_load_explicit(chain, memory_order_acquire);
    for (; link && steps; link = next_of(map, link), steps--) {
        aq_firehose_region_t *region = region_of(map, link);
        if (!region_covers(region, at, write) || !try_use(region))
            continue;
        if (region_covers(region, at, write)) {
            if (!atomic_load_explicit(&region->used, memory_order_relaxed))
                atomic_store_explicit(&region->used, true, memory_order_relaxed);
            return region;
        }
        aq_firehose_map_release(region); // the record was reused meanwhile
    }
    return NULL;
}

aq_firehose_region_t *aq_firehose_map_find(aq_firehose_map_t *map, uintptr_t at, bool write)
{
    return map_find(map, at, write, STEPS_WITHOUT_LOCK);
}

// Under the lock no record is reused, so map_find() never releases one.
aq_firehose_region_t *aq_firehose_map_find_locked(aq_firehose_map_t *map, uintptr_t at, bool write)
{
    return map_find(map, at, write, UINT_MAX);
}

static aq_firehose_region_t *lowest_in_chain(const aq_firehose_map_t *map, uintptr_t block,
                                             uintptr_t start, uintptr_t end)
{
    aq_firehose_region_t *lowest = NULL;
    uint32_t link = atomic_load_explicit(chain_of(map, block), memory_order_relaxed);
    for (; link; link = next_of(map, link)) {
        aq_firehose_region_t *region = region_of(map, link);
        if (start_of(region) < end && start < end_of(region) &&
            (!lowest || start_of(region) < start_of(lowest)))
            lowest = region;
    }
    return lowest;
}

aq_firehose_region_t *aq_firehose_map_touching(aq_firehose_map_t *map, uintptr_t start,
                                               uintptr_t end)
{
    uintptr_t length = (uintptr_t)1 << map->block_shift;
    while (start < end) {
        // Search block by block, because blocks may share a chain.
        uintptr_t left = length - start % length;
        uintptr_t stop = left < end - start ? start + left : end;
        aq_firehose_region_t *region = lowest_in_chain(map, start >> map->block_shift, start, stop);
        if (region)
            return region;
        start = stop;
    }
    return NULL;
}

// ---- changing ----

aq_firehose_region_t *aq_firehose_map_take(aq_firehose_map_t *map)
{
    aq_firehose_region_t *region = TAILQ_FIRST(&map->free);
    if (region) {
        TAILQ_REMOVE(&map->free, region, queue);
    } else if (map->fresh < map->capacity) {
        region = &map->records[map->fresh++];
        region->map = map;
        atomic_store_explicit(&region->users, AQ_FIREHOSE_RETIRED, memory_order_relaxed);
        STAILQ_INIT(&region->waiting);
    }
    return region;
}

void aq_firehose_map_give(aq_firehose_region_t *region)
{
    region->state = AQ_FIREHOSE_FREE;
    TAILQ_INSERT_HEAD(&region->map->free, region, queue);
}

// A reader that is still at this link, from an earlier use of the record, goes on to the next one.
static void link_in(aq_firehose_map_t *map, uint32_t link, _Atomic uint32_t *chain)
{
    atomic_store_explicit(&map->next[link - 1], atomic_load_explicit(chain, memory_order_relaxed),
                          memory_order_release);
    atomic_store_explicit(chain, link, memory_order_release);
}

static void link_out(aq_firehose_map_t *map, uint32_t link, _Atomic uint32_t *from)
{
    uint32_t at;
    while ((at = atomic_load_explicit(from, memory_order_relaxed)) != link)
        from = &map->next[at - 1];
    atomic_store_explicit(from, next_of(map, link), memory_order_release);
}

// Adds a region to the chains of its blocks, or removes it.
static void region_relink(aq_firehose_region_t *region,
                          void (*change)(aq_firehose_map_t *, uint32_t, _Atomic uint32_t *))
{
    aq_firehose_map_t *map = region->map;
    uint32_t link = ((uint32_t)(region - map->records) << map->span_shift) + 1;
    uintptr_t last = (end_of(region) - 1) >> map->block_shift;
    for (uintptr_t block = start_of(region) >> map->block_shift; block <= last; block++)
        change(map, link++, chain_of(map, block));
}

void aq_firehose_map_evictable(aq_firehose_region_t *region, bool yes)
{
    aq_firehose_map_t *map = region->map;
    if (region->queued == yes)
        return;
    region->queued = yes;
    if (yes) {
        TAILQ_INSERT_TAIL(&map->evictable, region, queue);
        map->evictable_count++;
    } else {
        TAILQ_REMOVE(&map->evictable, region, queue);
        map->evictable_count--;
    }
}

void aq_firehose_map_add(aq_firehose_region_t *region, uintptr_t start, uintptr_t end,
                         bool writable, uint32_t users)
{
    atomic_store_explicit(&region->start, start, memory_order_relaxed);
    atomic_store_explicit(&region->end, end, memory_order_relaxed);
    atomic_store_explicit(&region->writable, writable, memory_order_relaxed);
    atomic_store_explicit(&region->used, false, memory_order_relaxed);
    atomic_store_explicit(&region->users, users, memory_order_release);
    region->state = AQ_FIREHOSE_LIVE;
    region_relink(region, link_in);
    aq_firehose_map_evictable(region, true);
}

static void region_unlink(aq_firehose_region_t *region)
{
    aq_firehose_map_evictable(region, false);
    region_relink(region, link_out);
    region->state = AQ_FIREHOSE_GOING;
}

bool aq_firehose_map_retire_idle(aq_firehose_region_t *region)
{
    unsigned users = 0;
    if (!atomic_compare_exchange_strong_explicit(&region->users, &users, AQ_FIREHOSE_RETIRED,
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    region_unlink(region);
    return true;
}

bool aq_firehose_map_retire(aq_firehose_region_t *region)
{
    // Out of the chains first: the last user gives the record to others.
    region_unlink(region);
    return atomic_fetch_or_explicit(&region->users, AQ_FIREHOSE_RETIRED, memory_order_acq_rel) == 0;
}

bool aq_firehose_map_release_locked(aq_firehose_region_t *region)
{
    return atomic_fetch_sub_explicit(&region->users, 1, memory_order_acq_rel) ==
           (AQ_FIREHOSE_RETIRED | 1);
}

void aq_firehose_map_release(aq_firehose_region_t *region)
{
    if (aq_firehose_map_release_locked(region))
        region->map->last(region->map->owner, region);
}

aq_firehose_region_t *aq_firehose_map_evict(aq_firehose_map_t *map)
{
    // Two rounds: the first may find that all regions were used.
    for (uint64_t looks = 2 * (uint64_t)map->evictable_count; looks > 0; looks--) {
        aq_firehose_region_t *region = TAILQ_FIRST(&map->evictable);
        if (!atomic_exchange_explicit(&region->used, false, memory_order_relaxed) &&
            aq_firehose_map_retire_idle(region))
            return region;
        TAILQ_REMOVE(&map->evictable, region, queue);
        TAILQ_INSERT_TAIL(&map->evictable, region, queue);
    }
    return NULL;
}
