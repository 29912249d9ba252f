// The inside of firehose, for its own files. The picture is in firehose.h.
#ifndef AQ_FIREHOSE_STATE_H
#define AQ_FIREHOSE_STATE_H

#include <pthread.h>

#include "firehose.h"

// The pools of a process: what is pinned, and what may be. A region is in the main pool while a
// peer has a firehose on it.
typedef enum aq_firehose_pool { AQ_FIREHOSE_MAIN, AQ_FIREHOSE_VICTIM } aq_firehose_pool_t;

typedef struct aq_firehose_account {
    aq_firehose_amount_t now, most;
} aq_firehose_account_t;

// A firehose of a peer into this process.
typedef struct aq_firehose_guest {
    aq_firehose_region_t *region; // NULL: none
    uint32_t generation;
    bool revoked; // asked to give it up, and not answered yet
} aq_firehose_guest_t;

// Made on first use.
typedef struct aq_firehose_peer {
    pthread_mutex_t lock;            // for map and moving
    aq_firehose_map_t map;           // our firehoses into the peer; slot i is record i
    struct aq_firehose_queue moving; // those of which the answer is under way
    aq_firehose_guest_t *guests;     // its firehoses into us, by slot; under the process's lock
} aq_firehose_peer_t;

// Peers side by side; made when memory of one of them is reached, or one reaches ours: a job may
// have many ranks, of which a process has to do with few.
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
    _Atomic(aq_firehose_peers_t *) *peers; // by rank / AQ_FIREHOSE_SIDE_BY_SIDE

    pthread_mutex_t lock;  // for what follows; never taken while a peer's is held, nor the reverse
    aq_firehose_map_t map; // regions of this process
    struct aq_firehose_queue going;
    aq_firehose_account_t pools[2];
    bool told[AQ_FIREHOSE_OUTCOMES]; // which limits were reported
    aq_firehose_stats_t stats;       // but for the amounts and moves_asked
    atomic_ullong moves_asked;
};

static inline size_t aq_firehose_table_length(uint32_t ranks)
{
    return ((size_t)ranks + AQ_FIREHOSE_SIDE_BY_SIDE - 1) / AQ_FIREHOSE_SIDE_BY_SIDE;
}

// NULL: there is none yet. Takes no lock.
static inline aq_firehose_peer_t *aq_firehose_peer_look(const aq_firehose_t *firehose,
                                                        uint32_t rank)
{
    const aq_firehose_peers_t *peers = atomic_load_explicit(
        &firehose->peers[rank / AQ_FIREHOSE_SIDE_BY_SIDE], memory_order_acquire);
    return peers ? atomic_load_explicit(&peers->of[rank % AQ_FIREHOSE_SIDE_BY_SIDE],
                                        memory_order_acquire)
                 : NULL;
}

// ---- firehose_pool.c: accounts, and what is done when the machine gives less. Under the lock.

// Bytes of one more region that there is room for in a pool, with what is pinned now; the main
// pool may have to wait until the victim pool, above its limit, has shrunk.
uint64_t aq_firehose_pool_room(const aq_firehose_t *firehose, aq_firehose_pool_t pool);

void aq_firehose_pool_add(aq_firehose_t *firehose, aq_firehose_pool_t pool, uint64_t bytes);
void aq_firehose_pool_drop(aq_firehose_t *firehose, aq_firehose_pool_t pool, uint64_t bytes);

// A limit was met: what is pinned now is all that may be from here on, shared as before.
void aq_firehose_pool_shrink(aq_firehose_t *firehose, aq_firehose_pinned_t limit);

// ---- firehose_local.c: under the lock

// As aq_firehose_pin; the region is in use by one more. For the main pool with its surroundings.
aq_status_t aq_firehose_local_get(aq_firehose_t *firehose, uintptr_t address, uint64_t bytes,
                                  bool write, aq_firehose_pool_t pool,
                                  aq_firehose_region_t **region);

// A peer's firehose is on a region, as one of its users, or no longer. False: the main pool is
// full.
bool aq_firehose_local_hold(aq_firehose_t *firehose, aq_firehose_region_t *region);
void aq_firehose_local_unhold(aq_firehose_t *firehose, aq_firehose_region_t *region);

// Unpins a retired region without users.
void aq_firehose_local_end(aq_firehose_t *firehose, aq_firehose_region_t *region);

// Unpins the regions that touch a range, now or when their last user leaves.
void aq_firehose_local_forget(aq_firehose_t *firehose, uintptr_t start, uintptr_t end);

// The last user of a retired region left; takes the lock.
void aq_firehose_local_last(void *firehose, aq_firehose_region_t *region);

// ---- firehose_remote.c

// NULL: no memory (logged).
aq_firehose_peer_t *aq_firehose_peer_get(aq_firehose_t *firehose, uint32_t peer);
void aq_firehose_peer_end(aq_firehose_peer_t *peer);

// REVOKE.
void aq_firehose_remote_revoke(aq_firehose_peer_t *peer, const aq_firehose_message_t *request,
                               aq_firehose_message_t *answer);

// ---- firehose_serve.c

// GIVEN.
aq_status_t aq_firehose_serve_given(aq_firehose_t *firehose, aq_firehose_peer_t *peer,
                                    const aq_firehose_message_t *answer);

// Takes all firehoses from all peers. Under the lock.
void aq_firehose_serve_leave(aq_firehose_t *firehose);

// Asks peers to give up their firehoses on some memory. Takes the lock.
void aq_firehose_serve_revoke(aq_firehose_t *firehose, uintptr_t start, uintptr_t end);

#endif
