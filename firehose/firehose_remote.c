// SPDX-License-Identifier: BSD-3-Clause
// This process's firehoses into peers: which exist, and how one is moved. firehose_serve.c is the
// other side.
#include "firehose_remote.h"

#include "../other/base/log/log.h"
#include "../other/base/minmax.h"

#include <stdlib.h>

// ---- a peer ----

static uint32_t slot_of(const aq_firehose_region_t *region)
{
    return (uint32_t)(region - region->map->records);
}

// The last user has released a firehose that was revoked.
static void slot_last(void *owner, aq_firehose_region_t *region)
{
    aq_firehose_peer_t *peer = owner;
    pthread_mutex_lock(&peer->lock);
    aq_firehose_map_give(region);
    pthread_mutex_unlock(&peer->lock);
}

static aq_firehose_peer_t *peer_start(const aq_firehose_t *firehose)
{
    aq_firehose_peer_t *peer = calloc(1, sizeof *peer);
    const aq_firehose_params_t *params = &firehose->params;
    if (!peer) {
        aq_log_error("no memory for the firehoses of a peer; use fewer processes on a host");
        return NULL;
    }
    if (aq_firehose_map_start(&peer->map, params->per_peer, params->region_bytes,
                              params->page_bytes, params->table_scale) != AQ_OK) {
        free(peer);
        return NULL;
    }
    peer->map.last = slot_last;
    peer->map.owner = peer;
    TAILQ_INIT(&peer->moving);
    pthread_mutex_init(&peer->lock, NULL);
    return peer;
}

void aq_firehose_peer_end(aq_firehose_peer_t *peer)
{
    if (!peer)
        return;
    aq_firehose_map_stop(&peer->map);
    pthread_mutex_destroy(&peer->lock);
    free(peer->guests);
    free(peer);
}

// Returns the block of a peer. Under the lock. NULL: no memory (logged).
static aq_firehose_peers_t *get_neighbours(aq_firehose_t *firehose, uint32_t rank)
{
    _Atomic(aq_firehose_peers_t *) *place = &firehose->peers[rank / AQ_FIREHOSE_SIDE_BY_SIDE];
    aq_firehose_peers_t *peers = atomic_load_explicit(place, memory_order_relaxed);
    if (peers)
        return peers;
    peers = calloc(1, sizeof *peers);
    if (!peers)
        aq_log_error("no memory for the firehoses of peers; use fewer processes on a host");
    atomic_store_explicit(place, peers, memory_order_release);
    return peers;
}

aq_firehose_peer_t *aq_firehose_peer_get(aq_firehose_t *firehose, uint32_t rank)
{
    aq_firehose_peer_t *peer = aq_firehose_peer_look(firehose, rank);
    if (peer)
        return peer;
    pthread_mutex_lock(&firehose->lock);
    aq_firehose_peers_t *peers = get_neighbours(firehose, rank);
    peer = aq_firehose_peer_look(firehose, rank);
    if (peers && !peer) {
        peer = peer_start(firehose);
        atomic_store_explicit(&peers->of[rank % AQ_FIREHOSE_SIDE_BY_SIDE], peer,
                              memory_order_release);
    }
    pthread_mutex_unlock(&firehose->lock);
    return peer;
}

// ---- asking ----

// Returns a firehose that is being moved to this place already.
static aq_firehose_region_t *find_moving(const aq_firehose_peer_t *peer, uintptr_t address,
                                         bool write)
{
    aq_firehose_region_t *region;
    TAILQ_FOREACH(region, &peer->moving, queue)
    {
        if (region->start <= address && address < region->end && (region->writable || !write))
            return region;
    }
    return NULL;
}

static aq_firehose_region_t *take_slot(aq_firehose_peer_t *peer)
{
    aq_firehose_region_t *region = aq_firehose_map_take(&peer->map);
    return region ? region : aq_firehose_map_evict(&peer->map);
}

static void start_move(aq_firehose_peer_t *peer, aq_firehose_region_t *region,
                       const aq_firehose_message_t *move, bool carries, aq_firehose_wait_t *wait)
{
    region->start = (uintptr_t)move->address;
    region->end = (uintptr_t)(move->address + move->bytes);
    region->writable = move->write;
    region->state = AQ_FIREHOSE_MOVING;
    region->generation++;
    region->carries = carries;
    STAILQ_INSERT_TAIL(&region->waiting, wait, link);
    TAILQ_INSERT_TAIL(&peer->moving, region, queue);
}

// Under the lock of the peer: decides what is known at once. HIT and FULL are final; for PENDING
// with *send set, the caller has to send the move.
static aq_firehose_reached_t firehose_request(aq_firehose_peer_t *peer, aq_firehose_message_t *move,
                                              bool carries, aq_firehose_wait_t *wait,
                                              aq_firehose_region_t **out, bool *send)
{
    uintptr_t address = (uintptr_t)move->address;
    *out = aq_firehose_map_find_locked(&peer->map, address, move->write);
    if (*out)
        return AQ_FIREHOSE_HIT;
    aq_firehose_region_t *region = find_moving(peer, address, move->write);
    *send = !region;
    if (region) {
        STAILQ_INSERT_TAIL(&region->waiting, wait, link);
        return AQ_FIREHOSE_PENDING;
    }
    region = take_slot(peer);
    if (!region)
        return AQ_FIREHOSE_FULL;
    start_move(peer, region, move, carries, wait);
    move->slot = slot_of(region);
    move->generation = region->generation;
    return AQ_FIREHOSE_PENDING;
}

aq_firehose_region_t *aq_firehose_look(const aq_firehose_t *firehose, uint32_t rank,
                                       uintptr_t address, bool write)
{
    aq_firehose_peer_t *peer = aq_firehose_peer_look(firehose, rank);
    return peer ? aq_firehose_map_find(&peer->map, address, write) : NULL;
}

aq_firehose_reached_t aq_firehose_reach(aq_firehose_t *firehose, const aq_firehose_target_t *target,
                                        aq_firehose_wait_t *wait, aq_firehose_region_t **out)
{
    aq_firehose_peer_t *peer = aq_firehose_peer_get(firehose, target->peer);
    if (!peer)
        return AQ_FIREHOSE_FULL;
    *out = aq_firehose_map_find(&peer->map, target->address, target->write);
    if (*out)
        return AQ_FIREHOSE_HIT;
    uint64_t longest = firehose->params.region_bytes;
    bool carries = target->data && target->bytes <= firehose->params.put_in_move;
    bool send = false;
    aq_firehose_message_t move = {.kind = AQ_FIREHOSE_MOVE,
                                  .write = target->write,
                                  .address = target->address,
                                  .bytes = aq_min(target->bytes, longest)};
    wait->address = target->address;
    pthread_mutex_lock(&peer->lock);
    aq_firehose_reached_t reached = firehose_request(peer, &move, carries, wait, out, &send);
    pthread_mutex_unlock(&peer->lock);
    if (!send || reached != AQ_FIREHOSE_PENDING)
        return reached;
    atomic_fetch_add_explicit(&firehose->moves_sent, 1, memory_order_relaxed);
    firehose->ops.request(firehose->context, target->peer, &move, carries ? target->data : NULL,
                          carries ? (uint32_t)target->bytes : 0);
    return reached;
}

// ---- answers ----

// Completes a waiting operation; data: its data travelled with the move.
static void wait_complete(aq_firehose_wait_t *wait, aq_status_t status,
                          aq_firehose_region_t *region, bool data)
{
    if (data)
        wait->done(wait, AQ_OK, NULL);
    else if (status != AQ_OK)
        wait->done(wait, status, NULL);
    else if (wait->address - region->start < aq_firehose_map_bytes(region))
        wait->done(wait, AQ_OK, region);
    else {
        aq_firehose_release(region); // the peer pinned less than was requested
        wait->done(wait, AQ_AGAIN, NULL);
    }
}

static uint32_t count_waits(const aq_firehose_region_t *region)
{
    uint32_t count = 0;
    const aq_firehose_wait_t *wait;
    STAILQ_FOREACH(wait, &region->waiting, link)
    count++;
    return count;
}

static bool is_moving(const aq_firehose_peer_t *peer, const aq_firehose_message_t *answer)
{
    uint64_t blocks = UINT64_C(1) << peer->map.span_shift;
    if (answer->slot >= peer->map.fresh || answer->bytes == 0 ||
        answer->bytes > (blocks - 1) << peer->map.block_shift)
        return false;
    const aq_firehose_region_t *region = &peer->map.records[answer->slot];
    return region->state == AQ_FIREHOSE_MOVING && region->generation == answer->generation;
}

// Under the lock of the peer. From here on the waiting operations are users of the region.
static void end_move(aq_firehose_peer_t *peer, aq_firehose_region_t *region,
                     const aq_firehose_message_t *answer)
{
    TAILQ_REMOVE(&peer->moving, region, queue);
    if (answer->status == AQ_OK) {
        region->key = (aq_firehose_key_t){.remote = answer->key};
        aq_firehose_map_add(region, (uintptr_t)answer->address,
                            (uintptr_t)(answer->address + answer->bytes), answer->write,
                            count_waits(region) - region->carries);
    } else {
        aq_firehose_map_give(region);
    }
}

aq_status_t aq_firehose_remote_moved(aq_firehose_peer_t *peer, const aq_firehose_message_t *answer)
{
    STAILQ_HEAD(, aq_firehose_wait) waiting = STAILQ_HEAD_INITIALIZER(waiting);
    pthread_mutex_lock(&peer->lock);
    if (!is_moving(peer, answer)) {
        pthread_mutex_unlock(&peer->lock);
        return AQ_ERR_PEER;
    }
    aq_firehose_region_t *region = &peer->map.records[answer->slot];
    bool carries = region->carries;
    end_move(peer, region, answer);
    STAILQ_CONCAT(&waiting, &region->waiting);
    pthread_mutex_unlock(&peer->lock);
    while (!STAILQ_EMPTY(&waiting)) {
        aq_firehose_wait_t *wait = STAILQ_FIRST(&waiting);
        STAILQ_REMOVE_HEAD(&waiting, link); // the caller owns the wait again
        wait_complete(wait, (aq_status_t)answer->status, region, carries);
        carries = false;
    }
    return AQ_OK;
}

// ---- giving up ----

// False: an operation uses the firehose, or its move is in progress.
static bool slot_give_up(aq_firehose_region_t *region)
{
    if (region->state == AQ_FIREHOSE_LIVE && aq_firehose_map_retire(region))
        aq_firehose_map_give(region);
    return region->state == AQ_FIREHOSE_FREE;
}

void aq_firehose_remote_revoke(aq_firehose_peer_t *peer, const aq_firehose_message_t *request,
                               aq_firehose_message_t *answer)
{
    bool given = true; // a firehose that was moved meanwhile is released
    pthread_mutex_lock(&peer->lock);
    aq_firehose_region_t *region = &peer->map.records[request->slot];
    if (request->slot < peer->map.fresh && region->generation == request->generation)
        given = slot_give_up(region);
    pthread_mutex_unlock(&peer->lock);
    *answer = *request;
    answer->kind = AQ_FIREHOSE_GIVEN;
    answer->bytes = given;
}
