// SPDX-License-Identifier: BSD-3-Clause
// The state of firehose and the functions that its files share. firehose.h describes how it works.
#pragma once

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
    aq_firehose_stats_t stats;       // without the amounts and moves_sent
    atomic_ullong moves_sent;
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
