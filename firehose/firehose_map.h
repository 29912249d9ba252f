// Regions by address: who asks whether an address is in a pinned region gets the answer, and a
// hold on the region, without a lock.
//
//      addresses   |   block 7   |   block 8   |   block 9   |     at least 4 pages each
//                      [=a=][=======b=======]       [==c==]
//
//      hash(7) -> b -> a        hash(8) -> b        hash(9) -> c
//
// - A region stands in the chain of each block that it touches, so that one chain has all who may
//   have an address. Record r has the links r * span to r * span + span - 1, one for each block.
// - Chains are changed under the owner's lock and read without: a reader may be led astray by a
//   record that is taken out or used again. So a chain is a hint, and `users` decides: a reader
//   counts itself in, which fails on a region that is RETIRED, and looks at the addresses again.
//   While it is counted, they stay as they are.
// - Records are never given back before the map is, so that a stray reader reads a record.
// - Regions with a user are not evicted; the others wait in a queue, oldest first, and a hit only
//   marks its region: one that was used since it was last looked at goes to the end once more.
#ifndef AQ_FIREHOSE_MAP_H
#define AQ_FIREHOSE_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "../other/base/status.h"

typedef struct aq_firehose_map aq_firehose_map_t;
struct aq_firehose_wait;

// What the network needs to use a pinned region.
typedef struct aq_firehose_key {
    void *handle;    // of the process that pinned it
    uint64_t remote; // for its peers; travels
} aq_firehose_key_t;

#define AQ_FIREHOSE_RETIRED (1u << 31) // in users: takes no new ones, and ends with the last

typedef enum aq_firehose_state {
    AQ_FIREHOSE_FREE,
    AQ_FIREHOSE_MOVING, // firehoses into peers: the answer is under way
    AQ_FIREHOSE_LIVE,   // in chains
    AQ_FIREHOSE_GOING,  // retired, with users left
} aq_firehose_state_t;

typedef struct aq_firehose_region {
    // What a hit reads: one line of the cache.
    _Alignas(64) _Atomic uintptr_t start; // start and end are whole pages
    _Atomic uintptr_t end;                // first address behind it
    atomic_uint users;
    atomic_bool writable;
    atomic_bool used; // since it was last passed over for eviction
    aq_firehose_key_t key;
    aq_firehose_map_t *map;

    // Under the owner's lock.
    _Alignas(64) TAILQ_ENTRY(
        aq_firehose_region) queue; // of the live to evict, of the free, of what is going
    aq_firehose_state_t state;
    bool queued;
    bool carries;                            // MOVING: the first in waits put its data in the move
    uint32_t holders;                        // peers' firehoses on it; each is a user too
    uint32_t generation;                     // how often a firehose was moved
    STAILQ_HEAD(, aq_firehose_wait) waiting; // MOVING: for the answer
} aq_firehose_region_t;

_Static_assert(offsetof(aq_firehose_region_t, queue) == 64, "a hit reads one line of a region");

TAILQ_HEAD(aq_firehose_queue, aq_firehose_region);

struct aq_firehose_map {
    unsigned block_shift, hash_shift, span_shift;
    uint32_t capacity;
    uint32_t fresh;                // records from here on were never in use, and cost no memory yet
    _Atomic uint32_t *chains;      // the first link of each, with 1 added; 0: none
    _Atomic uint32_t *next;        // the same, by link
    aq_firehose_region_t *records; // in memory
    void *memory;
    struct aq_firehose_queue free, evictable;
    uint32_t evictable_count;
    // A retired region lost its last user. Called by whoever that was, without the owner's lock.
    void (*last)(void *owner, aq_firehose_region_t *region);
    void *owner;
};

// Room for `capacity` regions of up to region_bytes, in pages of page_bytes, a power of two; scale
// makes the hash table larger or smaller. AQ_ERR_RESOURCE: no memory (logged).
aq_status_t aq_firehose_map_start(aq_firehose_map_t *map, uint32_t capacity, uint64_t region_bytes,
                                  uint64_t page_bytes, double scale);
void aq_firehose_map_stop(aq_firehose_map_t *map);

// ---- without the lock ----

// The region in which an address lies, writable if write, with one more user; NULL: none was
// found, which now and then happens to one that is there.
aq_firehose_region_t *aq_firehose_map_find(aq_firehose_map_t *map, uintptr_t at, bool write);

void aq_firehose_map_release(aq_firehose_region_t *region);

// ---- under the owner's lock ----

// The same with certainty.
aq_firehose_region_t *aq_firehose_map_find_locked(aq_firehose_map_t *map, uintptr_t at, bool write);

// The lowest region that has an address from start to before end; NULL: none. Takes as long as
// there are pages in between.
aq_firehose_region_t *aq_firehose_map_touching(aq_firehose_map_t *map, uintptr_t start,
                                               uintptr_t end);

// A free record, out of the map; NULL: all are in use.
aq_firehose_region_t *aq_firehose_map_take(aq_firehose_map_t *map);
void aq_firehose_map_give(aq_firehose_region_t *region);

// Makes a record, with key set, a live region that has some users already.
void aq_firehose_map_add(aq_firehose_region_t *region, uintptr_t start, uintptr_t end,
                         bool writable, uint32_t users);

// Takes a live region out of the map if it has no user; else returns false.
bool aq_firehose_map_retire_idle(aq_firehose_region_t *region);

// Takes a live region out of the map. False: it has users, and is GOING until the last one leaves.
bool aq_firehose_map_retire(aq_firehose_region_t *region);

// One user less, who held the lock; true: it was the last of a retired region.
bool aq_firehose_map_release_locked(aq_firehose_region_t *region);

// Retires the idle region that was not used for longest, roughly; NULL: none is idle.
aq_firehose_region_t *aq_firehose_map_evict(aq_firehose_map_t *map);

// Whether a live region may be evicted.
void aq_firehose_map_evictable(aq_firehose_region_t *region, bool yes);

static inline uint64_t aq_firehose_map_bytes(const aq_firehose_region_t *region)
{
    return atomic_load_explicit(&region->end, memory_order_relaxed) -
           atomic_load_explicit(&region->start, memory_order_relaxed);
}

#endif
