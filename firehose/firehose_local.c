// SPDX-License-Identifier: BSD-3-Clause
// Regions of this process: misses, growth, eviction, invalidation.
#include "firehose_local.h"
#include "firehose_pool.h"
#include "../other/base/minmax.h"
#include "../other/base/modules/observed.h"

typedef struct aq_firehose_range {
    uintptr_t start, end; // page-aligned
} aq_firehose_range_t;

// A miss: what has to be pinned, and what may be pinned with it.
typedef struct aq_firehose_miss {
    aq_firehose_range_t exact; // the first byte, and as much behind it as possible
    aq_firehose_range_t wide;  // includes exact
    bool write;
    aq_firehose_pool_t pool;
} aq_firehose_miss_t;

static uint64_t range_length(aq_firehose_range_t range)
{
    return range.end - range.start;
}

static aq_firehose_range_t range_of(const aq_firehose_region_t *region)
{
    return (aq_firehose_range_t){atomic_load_explicit(&region->start, memory_order_relaxed),
                                 atomic_load_explicit(&region->end, memory_order_relaxed)};
}

// ---- the end of a region ----

static aq_firehose_pool_t pool_of(const aq_firehose_region_t *region)
{
    return region->holders ? AQ_FIREHOSE_MAIN : AQ_FIREHOSE_VICTIM;
}

// Unpins a retired region without users.
static void end_region(aq_firehose_t *firehose, aq_firehose_region_t *region)
{
    aq_firehose_range_t range = range_of(region);
    firehose->ops.unpin(firehose->context, range.start, range_length(range), &region->key);
    firehose->stats.unpins++;
    aq_firehose_pool_drop(firehose, pool_of(region), range_length(range));
    aq_firehose_map_give(region);
}

static void end_going(aq_firehose_t *firehose, aq_firehose_region_t *region)
{
    TAILQ_REMOVE(&firehose->going, region, queue);
    end_region(firehose, region);
}

void aq_firehose_local_last(void *owner, aq_firehose_region_t *region)
{
    aq_firehose_t *firehose = owner;
    pthread_mutex_lock(&firehose->lock);
    end_going(firehose, region);
    pthread_mutex_unlock(&firehose->lock);
}

static void region_retire(aq_firehose_t *firehose, aq_firehose_region_t *region)
{
    if (aq_firehose_map_retire(region))
        end_region(firehose, region);
    else
        TAILQ_INSERT_TAIL(&firehose->going, region, queue);
}

static bool region_evict(aq_firehose_t *firehose)
{
    aq_firehose_region_t *region = aq_firehose_map_evict(&firehose->map);
    if (!region)
        return false;
    aq_observed(AQ_OBSERVED_EVICTION, AQ_OBSERVED_NO_PEER, aq_firehose_map_bytes(region));
    end_region(firehose, region);
    firehose->stats.evictions++;
    return true;
}

// ---- holding for a peer ----

// Moves a region from one pool to the other, before or after its holders are counted.
static void region_change_pool(aq_firehose_t *firehose, aq_firehose_region_t *region,
                               aq_firehose_pool_t from, aq_firehose_pool_t to)
{
    aq_firehose_pool_drop(firehose, from, aq_firehose_map_bytes(region));
    aq_firehose_pool_add(firehose, to, aq_firehose_map_bytes(region));
}

bool aq_firehose_local_hold(aq_firehose_t *firehose, aq_firehose_region_t *region)
{
    const aq_firehose_account_t *main = &firehose->pools[AQ_FIREHOSE_MAIN];
    if (region->holders == 0) {
        if (main->now.regions >= main->most.regions ||
            main->now.bytes + aq_firehose_map_bytes(region) > main->most.bytes)
            return false;
        region_change_pool(firehose, region, AQ_FIREHOSE_VICTIM, AQ_FIREHOSE_MAIN);
        aq_firehose_map_evictable(region, false);
    }
    region->holders++;
    return true;
}

void aq_firehose_local_unhold(aq_firehose_t *firehose, aq_firehose_region_t *region)
{
    if (--region->holders == 0) {
        region_change_pool(firehose, region, AQ_FIREHOSE_MAIN, AQ_FIREHOSE_VICTIM);
        if (region->state == AQ_FIREHOSE_LIVE)
            aq_firehose_map_evictable(region, true);
    }
    if (aq_firehose_map_release_locked(region))
        end_going(firehose, region);
}

// ---- what to pin ----

// Absorbs an idle region: the range grows to include it, unless it gets too long.
static bool region_absorb(aq_firehose_t *firehose, aq_firehose_region_t *region,
                          aq_firehose_range_t *range)
{
    aq_firehose_range_t old = range_of(region);
    aq_firehose_range_t hull = {aq_min(range->start, old.start), aq_max(range->end, old.end)};
    if (range_length(hull) > firehose->params.region_bytes || !aq_firehose_map_retire_idle(region))
        return false;
    end_region(firehose, region);
    firehose->stats.merged++;
    *range = hull;
    return true;
}

// Absorbs regions in the way, or shortens the range up to where they begin.
static void clear_way(aq_firehose_t *firehose, aq_firehose_miss_t *miss)
{
    aq_firehose_region_t *region;
    while ((region = aq_firehose_map_touching(&firehose->map, miss->wide.start, miss->wide.end))) {
        aq_firehose_range_t old = range_of(region);
        if (region_absorb(firehose, region, &miss->wide))
            continue;
        if (old.end <= miss->exact.start) {
            miss->wide.start = old.end;
        } else {
            miss->wide.end = old.start;
            miss->exact.end = aq_min(miss->exact.end, old.start);
        }
    }
}

// Absorbs neighbours that are no longer than the range: so a page is pinned again only a few times,
// however large the region grows.
static void join_neighbours(aq_firehose_t *firehose, aq_firehose_range_t *range)
{
    bool grown;
    do {
        const uintptr_t sides[] = {range->start - 1, range->end};
        grown = false;
        for (int i = 0; i < 2 && !grown; i++) {
            aq_firehose_region_t *region =
                aq_firehose_map_touching(&firehose->map, sides[i], sides[i] + 1);
            grown = region && aq_firehose_map_bytes(region) <= range_length(*range) &&
                    region_absorb(firehose, region, range);
        }
    } while (grown);
}

// Widens a peer's request to the block around it, within memory that stays mapped.
static void miss_widen(const aq_firehose_t *firehose, aq_firehose_miss_t *miss)
{
    uintptr_t block = miss->exact.start - miss->exact.start % firehose->params.region_bytes;
    aq_firehose_range_t wide = {
        aq_max(block, firehose->stays_from),
        aq_min(block + (uintptr_t)firehose->params.region_bytes, firehose->stays_to)};
    if (wide.start <= miss->exact.start && miss->exact.end <= wide.end)
        miss->wide = wide;
}

// Shortens the miss to `room` bytes; false: not even one page is left.
static bool miss_cut(const aq_firehose_t *firehose, aq_firehose_miss_t *miss, uint64_t room)
{
    if (range_length(miss->wide) <= room)
        return true;
    if (range_length(miss->exact) > room)
        miss->exact.end = miss->exact.start + (room & ~(firehose->params.page_bytes - 1));
    miss->wide = miss->exact;
    return range_length(miss->exact) > 0;
}

// Evicts idle regions to make room, and shortens the miss if that is not enough.
static bool make_room(aq_firehose_t *firehose, aq_firehose_miss_t *miss)
{
    const aq_firehose_account_t *account = &firehose->pools[miss->pool];
    uint64_t most = account->most.bytes;
    if (miss->pool == AQ_FIREHOSE_MAIN) // eviction frees nothing for this pool
        most = account->now.bytes < most ? most - account->now.bytes : 0;
    if (account->most.regions == 0 || !miss_cut(firehose, miss, most))
        return false;
    while (aq_firehose_pool_room(firehose, miss->pool) < range_length(miss->wide) &&
           region_evict(firehose))
        ;
    return miss_cut(firehose, miss, aq_firehose_pool_room(firehose, miss->pool));
}

// ---- pinning ----

static bool range_halve(const aq_firehose_t *firehose, aq_firehose_range_t *range,
                        aq_firehose_range_t exact)
{
    if (range_length(*range) > range_length(exact)) {
        *range = exact;
        return true;
    }
    uint64_t pages = range_length(*range) / firehose->params.page_bytes;
    range->end = range->start + pages / 2 * firehose->params.page_bytes;
    return pages > 1;
}

// Pins a range. At a limit of the machine it first unpins idle regions, then shortens the range;
// *limit is the limit that was reached, if any.
static aq_status_t pin_within(aq_firehose_t *firehose, const aq_firehose_miss_t *miss,
                              aq_firehose_range_t *range, bool writable, aq_firehose_key_t *key,
                              aq_firehose_pinned_t *limit)
{
    for (;;) {
        aq_firehose_pinned_t pinned =
            firehose->ops.pin(firehose->context, range->start, range_length(*range), writable, key);
        if (pinned == AQ_FIREHOSE_PINNED)
            return AQ_OK;
        if (pinned == AQ_FIREHOSE_NO_ACCESS)
            return AQ_ERR_ARG;
        *limit = pinned;
        if (!region_evict(firehose) && !range_halve(firehose, range, miss->exact))
            return AQ_ERR_RESOURCE;
    }
}

// Tries to pin everything for reading and writing, then without the surroundings, then for reading
// only.
static aq_status_t pin_best_effort(aq_firehose_t *firehose, const aq_firehose_miss_t *miss,
                                   aq_firehose_range_t *range, bool *writable,
                                   aq_firehose_key_t *key, aq_firehose_pinned_t *limit)
{
    aq_status_t status = AQ_ERR_ARG;
    *writable = true;
    if (range_length(miss->wide) > range_length(miss->exact)) {
        *range = miss->wide;
        status = pin_within(firehose, miss, range, true, key, limit);
    }
    if (status == AQ_ERR_ARG) {
        *range = miss->exact;
        status = pin_within(firehose, miss, range, true, key, limit);
    }
    if (status == AQ_ERR_ARG && !miss->write) {
        *range = miss->exact;
        *writable = false;
        status = pin_within(firehose, miss, range, false, key, limit);
    }
    return status;
}

static aq_status_t pin_miss(aq_firehose_t *firehose, const aq_firehose_miss_t *miss,
                            aq_firehose_region_t **out)
{
    aq_firehose_pinned_t limit = AQ_FIREHOSE_PINNED;
    aq_firehose_range_t range;
    bool writable;
    // A record is available, because the pools have room.
    aq_firehose_region_t *region = aq_firehose_map_take(&firehose->map);
    aq_status_t status = pin_best_effort(firehose, miss, &range, &writable, &region->key, &limit);
    if (status == AQ_OK) {
        aq_firehose_map_add(region, range.start, range.end, writable, 1);
        aq_firehose_pool_add(firehose, AQ_FIREHOSE_VICTIM, range_length(range));
        firehose->stats.pins++;
        *out = region;
    } else {
        aq_firehose_map_give(region);
    }
    if (limit != AQ_FIREHOSE_PINNED)
        aq_firehose_pool_shrink(firehose, limit);
    return status;
}

// ---- misses ----

// Handles the region that has the first byte, if any. True: that region is the result. Otherwise it
// is no longer in the way, and if it was idle, the miss includes it.
static bool absorb_first(aq_firehose_t *firehose, uintptr_t address, aq_firehose_miss_t *miss,
                         aq_firehose_region_t **out)
{
    aq_firehose_region_t *first = aq_firehose_map_touching(&firehose->map, address, address + 1);
    if (!first)
        return false;
    aq_firehose_range_t old = range_of(first);
    if (miss->write && !atomic_load_explicit(&first->writable, memory_order_relaxed)) {
        region_retire(firehose, first);
        return false;
    }
    uintptr_t longest = old.start + (uintptr_t)firehose->params.region_bytes;
    aq_firehose_range_t grown = {old.start, aq_min(miss->exact.end, longest)};
    if (grown.end > old.end && region_absorb(firehose, first, &grown)) {
        miss->exact.end = grown.end;
        miss->wide = grown;
        return false;
    }
    *out = aq_firehose_map_find_locked(&firehose->map, address, miss->write);
    return true;
}

static aq_firehose_miss_t miss_of(const aq_firehose_t *firehose, uintptr_t address, uint64_t bytes,
                                  bool write, aq_firehose_pool_t pool)
{
    uintptr_t page = (uintptr_t)firehose->params.page_bytes;
    aq_firehose_range_t range = {address & ~(page - 1), (address + bytes + page - 1) & ~(page - 1)};
    // A length beyond the end of the address space is also longer than any region.
    if (bytes > firehose->params.region_bytes ||
        range_length(range) > firehose->params.region_bytes)
        range.end = range.start + (uintptr_t)firehose->params.region_bytes;
    return (aq_firehose_miss_t){.exact = range, .wide = range, .write = write, .pool = pool};
}

aq_status_t aq_firehose_local_get(aq_firehose_t *firehose, uintptr_t address, uint64_t bytes,
                                  bool write, aq_firehose_pool_t pool, aq_firehose_region_t **out)
{
    aq_firehose_miss_t miss = miss_of(firehose, address, bytes, write, pool);
    firehose->stats.misses++;
    if (absorb_first(firehose, address, &miss, out))
        return AQ_OK;
    if (pool == AQ_FIREHOSE_MAIN && range_length(miss.wide) == range_length(miss.exact))
        miss_widen(firehose, &miss);
    clear_way(firehose, &miss);
    join_neighbours(firehose, &miss.wide);
    if (!make_room(firehose, &miss))
        return firehose->pools[pool].most.regions && firehose->pools[pool].most.bytes
                   ? AQ_AGAIN
                   : AQ_ERR_ABSENT;
    aq_status_t status = pin_miss(firehose, &miss, out);
    bool in_use = firehose->pools[0].now.regions + firehose->pools[1].now.regions > 0;
    return status == AQ_ERR_RESOURCE && in_use ? AQ_AGAIN : status;
}

aq_status_t aq_firehose_pin(aq_firehose_t *firehose, const void *memory, size_t bytes, bool write,
                            aq_firehose_region_t **out)
{
    uintptr_t address = (uintptr_t)memory;
    aq_firehose_region_t *region = aq_firehose_map_find(&firehose->map, address, write);
    if (region) {
        if (aq_firehose_covered(region, address, bytes) == bytes ||
            aq_firehose_map_bytes(region) >= firehose->params.region_bytes) {
            *out = region;
            return AQ_OK;
        }
        aq_firehose_map_release(region); // it may grow
    }
    pthread_mutex_lock(&firehose->lock);
    aq_status_t status =
        aq_firehose_local_get(firehose, address, bytes, write, AQ_FIREHOSE_VICTIM, out);
    pthread_mutex_unlock(&firehose->lock);
    return status;
}

// ---- invalidation ----

static bool region_touches(const aq_firehose_region_t *region, aq_firehose_range_t range)
{
    aq_firehose_range_t own = range_of(region);
    return own.start < range.end && range.start < own.end;
}

// Finds overlapping regions by the pages of the range, or by scanning all regions if these are
// fewer.
void aq_firehose_local_forget(aq_firehose_t *firehose, uintptr_t start, uintptr_t end)
{
    aq_firehose_range_t range = {start, end};
    aq_firehose_map_t *map = &firehose->map;
    aq_firehose_region_t *region;
    if (range_length(range) / firehose->params.page_bytes < map->fresh) {
        while ((region = aq_firehose_map_touching(map, range.start, range.end))) {
            range.start = aq_min(range_of(region).end, range.end);
            region_retire(firehose, region);
        }
        return;
    }
    for (region = map->records; region < map->records + map->fresh; region++)
        if (region->state == AQ_FIREHOSE_LIVE && region_touches(region, range))
            region_retire(firehose, region);
}
