// SPDX-License-Identifier: BSD-3-Clause
// The state of firehose and the functions that its files share. firehose.h describes how it works.
#ifndef AQ_FIREHOSE_STATE_H
#define AQ_FIREHOSE_STATE_H

#include <pthread.h>

#include "firehose.h"

// The pools of a process, with current amounts and limits. A region is in the main pool while a
// peer has a firehose on it.
typedef enum aq_firehose_pool { AQ_FIREHOSE_MAIN, AQ_FIREHOSE_VICTIM } aq_firehose_pool_t;

typedef struct aq_firehose_account {
    aq_firehose_amount_t now, most;
} aq_firehose_account_t;

// A firehose of a peer into this process.
typedef struct aq_firehose_guest {
    aq_firehose_region_t *region; // NULL: not in use
    uint32_t generation;
    bool revoked; // the peer was asked to release it and has not answered yet
} aq_firehose_guest_t;

// The firehoses between this process and a peer. Created on first use.
typedef struct aq_firehose_peer {
    pthread_mutex_t lock;            // protects map and moving
    aq_firehose_map_t map;           // this process's firehoses into the peer; slot i is record i
    struct aq_firehose_queue moving; // firehoses that wait for the answer to a move
    // The peer's firehoses into this process, by slot; protected by the process's lock.
    aq_firehose_guest_t *guests;
} aq_firehose_peer_t;

// A block of consecutive peers, created when this process accesses memory of one of them or one
// accesses ours: a job may have many ranks, and a process communicates with few of them.
enum { AQ_FIREHOSE_SIDE_BY_SIDE = 64 };
typedef struct aq_firehose_peers {
    _Atomic(aq_firehose_peer_t *) of[AQ_FIREHOSE_SIDE_BY_SIDE];
} aq_firehose_peers_t;

struct aq_firehose {
    aq_firehose_params_t params;
    aq_firehose_ops_t ops;
    void *context;
    uint32_t ranks;
    uintptr_t stays_from, stays_to;        // see aq_firehose_stays
    _Atomic(aq_firehose_peers_t *) *peers; // indexed by rank / AQ_FIREHOSE_SIDE_BY_SIDE

    pthread_mutex_t lock; // protects the members below; never held together with the lock of a peer
    aq_firehose_map_t map; // regions of this process
    struct aq_firehose_queue going;
    aq_firehose_account_t pools[2];
    bool told[AQ_FIREHOSE_OUTCOMES]; // limits that were reported
    aq_firehose_stats_t stats;       // without the amounts and moves_asked
    atomic_ullong moves_asked;
};

static inline size_t aq_firehose_table_length(uint32_t ranks)
{
    return ((size_t)ranks + AQ_FIREHOSE_SIDE_BY_SIDE - 1) / AQ_FIREHOSE_SIDE_BY_SIDE;
}

// Looks a peer up; NULL: not created yet. Takes no lock.
static inline aq_firehose_peer_t *aq_firehose_peer_look(const aq_firehose_t *firehose,
                                                        uint32_t rank)
{
    const aq_firehose_peers_t *peers = atomic_load_explicit(
        &firehose->peers[rank / AQ_FIREHOSE_SIDE_BY_SIDE], memory_order_acquire);
    return peers ? atomic_load_explicit(&peers->of[rank % AQ_FIREHOSE_SIDE_BY_SIDE],
                                        memory_order_acquire)
                 : NULL;
}

// ---- firehose_pool.c: accounts of the pools, and their reaction to a limit. Under the lock.

// The size of one more region that fits into a pool now. The main pool may have to wait until the
// victim pool, if above its limit, has shrunk.
uint64_t aq_firehose_pool_room(const aq_firehose_t *firehose, aq_firehose_pool_t pool);

void aq_firehose_pool_add(aq_firehose_t *firehose, aq_firehose_pool_t pool, uint64_t bytes);
void aq_firehose_pool_drop(aq_firehose_t *firehose, aq_firehose_pool_t pool, uint64_t bytes);

// A limit was reached: from now on only the amount that is pinned now may be pinned, divided
// between the pools as before.
void aq_firehose_pool_shrink(aq_firehose_t *firehose, aq_firehose_pinned_t limit);

// ---- firehose_local.c: under the lock

// As aq_firehose_pin; adds one user to the region. For the main pool the region includes the
// surroundings of the address.
aq_status_t aq_firehose_local_get(aq_firehose_t *firehose, uintptr_t address, uint64_t bytes,
                                  bool write, aq_firehose_pool_t pool,
                                  aq_firehose_region_t **region);

// Records that a peer's firehose uses a region, or no longer does. False: the main pool is full.
bool aq_firehose_local_hold(aq_firehose_t *firehose, aq_firehose_region_t *region);
void aq_firehose_local_unhold(aq_firehose_t *firehose, aq_firehose_region_t *region);

// Unpins a retired region without users.
void aq_firehose_local_end(aq_firehose_t *firehose, aq_firehose_region_t *region);

// Unpins the regions that overlap a range, now or when their last user releases them.
void aq_firehose_local_forget(aq_firehose_t *firehose, uintptr_t start, uintptr_t end);

// Called when the last user released a retired region; takes the lock.
void aq_firehose_local_last(void *firehose, aq_firehose_region_t *region);

// ---- firehose_remote.c

// Returns a peer, created if necessary. NULL: no memory (logged).
aq_firehose_peer_t *aq_firehose_peer_get(aq_firehose_t *firehose, uint32_t peer);
void aq_firehose_peer_end(aq_firehose_peer_t *peer);

// Serves a REVOKE.
void aq_firehose_remote_revoke(aq_firehose_peer_t *peer, const aq_firehose_message_t *request,
                               aq_firehose_message_t *answer);

// ---- firehose_serve.c

// Processes a GIVEN.
aq_status_t aq_firehose_serve_given(aq_firehose_t *firehose, aq_firehose_peer_t *peer,
                                    const aq_firehose_message_t *answer);

// Releases all firehoses of all peers into this process. Under the lock.
void aq_firehose_serve_leave(aq_firehose_t *firehose);

// Asks peers to release their firehoses on a range of memory. Takes the lock.
void aq_firehose_serve_revoke(aq_firehose_t *firehose, uintptr_t start, uintptr_t end);

#endif
