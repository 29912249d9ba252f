// SPDX-License-Identifier: BSD-3-Clause
// Pinned regions by address: a lookup returns the region of an address, with a reference to it,
// without a lock.
//
//      addresses   |   block 7   |   block 8   |   block 9   |     at least 4 pages each
//                      [=a=][=======b=======]       [==c==]
//
//      hash(7) -> b -> a        hash(8) -> b        hash(9) -> c
//
// - A region is in the chain of each block that it overlaps, so that one chain has all candidates
//   for an address. Record r has the links r * span to r * span + span - 1, one for each block.
// - Chains are modified under the owner's lock and read without it: a reader may follow a record
//   that is removed or reused meanwhile. So a chain is only a hint, and `users` decides: a reader
//   increments it, which fails for a RETIRED region, and then checks the addresses again, which
//   cannot change while it is a user.
// - Records are not freed before the map, so that a stray reader always reads a record.
// - Links are stored with release and loaded with acquire: otherwise a reader could take a record
//   that was never used before, whose fresh memory has 0 users, for an idle region.
// - `users` brings the addresses and the key to the reader that increments it (release when the
//   region is added, acquire), and the end of the reader's use to the one that retires the region
//   or, after others, releases it last. tests/model/weak_firehose.pml checks all these orders.
//   Everything else is under locks: the owner's, and that of a peer.
// - Regions with a user are not evicted. The others are in a queue, oldest first. A hit only sets a
//   mark: a region that was used since eviction last considered it goes to the end of the queue
//   once more.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "../other/base/log/status.h"

typedef struct aq_firehose_map aq_firehose_map_t;
struct aq_firehose_wait;

// What the network needs to access a pinned region.
typedef struct aq_firehose_key {
    void *handle;    // for the process that pinned it
    uint64_t remote; // for its peers; sent in messages
} aq_firehose_key_t;

// Flag in users: no new users; the region ends with the last one.
#define AQ_FIREHOSE_RETIRED (1u << 31)

typedef enum aq_firehose_state {
    AQ_FIREHOSE_FREE,
    AQ_FIREHOSE_MOVING, // firehoses into peers: waiting for the answer
    AQ_FIREHOSE_LIVE,   // in the chains
    AQ_FIREHOSE_GOING,  // retired, but still used
} aq_firehose_state_t;

typedef struct aq_firehose_region {
    // Everything that a hit reads is in one cache line.
    _Alignas(64) _Atomic uintptr_t start; // start and end are page-aligned
    _Atomic uintptr_t end;                // first address behind the region
    atomic_uint users;
    atomic_bool writable;
    atomic_bool used; // used since eviction last considered it
    aq_firehose_key_t key;
    aq_firehose_map_t *map;

    // Protected by the owner's lock. The queue is that of evictable, free or retired records.
    _Alignas(64) TAILQ_ENTRY(aq_firehose_region) queue;
    aq_firehose_state_t state;
    bool queued;
    bool carries;        // MOVING: the first waiting operation sent its data with the move
    uint32_t holders;    // peers' firehoses on it, each of which is also a user
    uint32_t generation; // number of moves of a firehose
    STAILQ_HEAD(, aq_firehose_wait) waiting; // MOVING: operations that wait for the answer
} aq_firehose_region_t;

_Static_assert(offsetof(aq_firehose_region_t, queue) == 64, "a hit reads one line of a region");

TAILQ_HEAD(aq_firehose_queue, aq_firehose_region);

struct aq_firehose_map {
    unsigned block_shift, hash_shift, span_shift;
    uint32_t capacity;
    uint32_t fresh;                // records from here on were never used, and take no memory yet
    _Atomic uint32_t *chains;      // first link of each chain, plus 1; 0: empty
    _Atomic uint32_t *next;        // next link of each link, plus 1; 0: end
    aq_firehose_region_t *records; // aligned inside of memory
    void *memory;
    struct aq_firehose_queue free, evictable;
    uint32_t evictable_count;
    // Called when a retired region lost its last user, by the thread that released it, without the
    // owner's lock.
    void (*last)(void *owner, aq_firehose_region_t *region);
    void *owner;
};

// Creates a map for `capacity` regions of up to region_bytes, in pages of page_bytes, a power of
// two. scale multiplies the size of the hash table. AQ_ERR_RESOURCE: no memory (logged).
aq_status_t aq_firehose_map_start(aq_firehose_map_t *map, uint32_t capacity, uint64_t region_bytes,
                                  uint64_t page_bytes, double scale);
void aq_firehose_map_stop(aq_firehose_map_t *map);

// ---- without the lock ----

// Returns the region of an address, writable if write is set, and adds a user. NULL: none was
// found; occasionally a region is missed although it exists.
aq_firehose_region_t *aq_firehose_map_find(aq_firehose_map_t *map, uintptr_t at, bool write);

void aq_firehose_map_release(aq_firehose_region_t *region);

// ---- under the owner's lock ----

// As aq_firehose_map_find, but never misses a region.
aq_firehose_region_t *aq_firehose_map_find_locked(aq_firehose_map_t *map, uintptr_t at, bool write);

// The lowest region that overlaps the range from start up to end; NULL: none. The time is
// proportional to the number of pages in the range.
aq_firehose_region_t *aq_firehose_map_touching(aq_firehose_map_t *map, uintptr_t start,
                                               uintptr_t end);

// Returns a free record, not in the map; NULL: all are in use.
aq_firehose_region_t *aq_firehose_map_take(aq_firehose_map_t *map);
void aq_firehose_map_give(aq_firehose_region_t *region);

// Turns a record, with its key set, into a live region that has some users already.
void aq_firehose_map_add(aq_firehose_region_t *region, uintptr_t start, uintptr_t end,
                         bool writable, uint32_t users);

// Removes a live region from the map if it has no user; otherwise returns false.
bool aq_firehose_map_retire_idle(aq_firehose_region_t *region);

// Removes a live region from the map. False: it has users and stays GOING until the last one
// releases it.
bool aq_firehose_map_retire(aq_firehose_region_t *region);

// Removes a user while the caller holds the lock; true: it was the last user of a retired region.
bool aq_firehose_map_release_locked(aq_firehose_region_t *region);

// Retires roughly the least recently used idle region; NULL: none is idle.
aq_firehose_region_t *aq_firehose_map_evict(aq_firehose_map_t *map);

// Sets whether a live region may be evicted.
void aq_firehose_map_evictable(aq_firehose_region_t *region, bool yes);

static inline uint64_t aq_firehose_map_bytes(const aq_firehose_region_t *region)
{
    return atomic_load_explicit(&region->end, memory_order_relaxed) -
           atomic_load_explicit(&region->start, memory_order_relaxed);
}
