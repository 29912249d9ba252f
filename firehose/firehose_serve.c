// SPDX-License-Identifier: BSD-3-Clause
// The firehoses of peers into this process, and the messages of peers. firehose_remote.c is the
// other side.
#include "firehose_serve.h"
#include "firehose_local.h"
#include "firehose_remote.h"

#include "../other/base/log/log.h"

#include <stdlib.h>
#include <string.h>

// ---- a move ----

// The guests of a peer. Under the lock. NULL: no memory (logged).
static aq_firehose_guest_t *guests_of(const aq_firehose_t *firehose, aq_firehose_peer_t *peer)
{
    if (!peer->guests)
        peer->guests = calloc(firehose->params.per_peer, sizeof *peer->guests);
    if (!peer->guests)
        aq_log_error("no memory for the firehoses of a peer; lower GASNET_FIREHOSE_R");
    return peer->guests;
}

static void guest_leave(aq_firehose_t *firehose, aq_firehose_guest_t *guest)
{
    aq_firehose_region_t *region = guest->region;
    guest->region = NULL;
    guest->revoked = false;
    if (region)
        aq_firehose_local_unhold(firehose, region);
}

// Moves the guest to another place. If that fails for any reason, the peer uses messages.
static aq_status_t move_to(aq_firehose_t *firehose, aq_firehose_guest_t *guest,
                           const aq_firehose_message_t *move)
{
    aq_firehose_region_t *region;
    guest_leave(firehose, guest);
    guest->generation = move->generation;
    aq_status_t status = aq_firehose_local_get(firehose, (uintptr_t)move->address, move->bytes,
                                               move->write, AQ_FIREHOSE_MAIN, &region);
    if (status == AQ_OK && aq_firehose_local_hold(firehose, region)) {
        guest->region = region;
        return AQ_OK;
    }
    if (status == AQ_OK)
        aq_firehose_map_release_locked(region); // it is live: this does not end it
    firehose->stats.refused++;
    return AQ_ERR_RESOURCE;
}

static void serve_move(aq_firehose_t *firehose, aq_firehose_peer_t *peer,
                       const aq_firehose_message_t *move, aq_firehose_message_t *answer)
{
    *answer = *move;
    answer->kind = AQ_FIREHOSE_MOVED;
    answer->status = AQ_ERR_RESOURCE;
    pthread_mutex_lock(&firehose->lock);
    firehose->stats.moves_served++;
    aq_firehose_guest_t *guest = guests_of(firehose, peer);
    if (guest) {
        guest += move->slot;
        answer->status = (uint16_t)move_to(firehose, guest, move);
    }
    if (answer->status == AQ_OK) {
        answer->address = guest->region->start;
        answer->bytes = aq_firehose_map_bytes(guest->region);
        answer->write = guest->region->writable;
        answer->key = guest->region->key.remote;
    }
    pthread_mutex_unlock(&firehose->lock);
}

void aq_firehose_serve_leave(aq_firehose_t *firehose)
{
    for (uint32_t rank = 0; rank < firehose->ranks; rank++) {
        const aq_firehose_peer_t *peer = aq_firehose_peer_look(firehose, rank);
        for (uint32_t slot = 0; peer && peer->guests && slot < firehose->params.per_peer; slot++)
            guest_leave(firehose, &peer->guests[slot]);
    }
}

static bool is_request(const aq_firehose_t *firehose, uint32_t rank,
                       const aq_firehose_message_t *request, uint32_t data_bytes)
{
    if (rank >= firehose->ranks || request->slot >= firehose->params.per_peer)
        return false;
    if (request->kind == AQ_FIREHOSE_REVOKE)
        return data_bytes == 0;
    return request->kind == AQ_FIREHOSE_MOVE && request->bytes > 0 &&
           request->bytes <= firehose->params.region_bytes && data_bytes <= request->bytes;
}

aq_status_t aq_firehose_serve(aq_firehose_t *firehose, uint32_t rank,
                              const aq_firehose_message_t *request, const void *data,
                              uint32_t data_bytes, aq_firehose_message_t *answer)
{
    if (!is_request(firehose, rank, request, data_bytes)) {
        aq_log_error("process %u sent an invalid request to firehose (kind %u, slot %u); "
                     "GASNET_FIREHOSE_... have to be the same in all processes of a job",
                     rank, request->kind, request->slot);
        return AQ_ERR_PEER;
    }
    aq_firehose_peer_t *peer = aq_firehose_peer_get(firehose, rank);
    if (!peer)
        return AQ_ERR_RESOURCE;
    if (request->kind == AQ_FIREHOSE_REVOKE) {
        aq_firehose_remote_revoke(peer, request, answer);
        return AQ_OK;
    }
    serve_move(firehose, peer, request, answer);
    if (data_bytes)
        memcpy((void *)(uintptr_t)request->address, data, data_bytes);
    return AQ_OK;
}

// ---- taking firehoses back ----

typedef struct aq_firehose_cursor {
    uint32_t rank, slot;
} aq_firehose_cursor_t;

static bool is_on(const aq_firehose_region_t *region, uintptr_t start, uintptr_t end)
{
    return region && region->start < end && start < region->end;
}

// The next guest on the memory that was not asked yet. Under the lock. NULL: no more.
static aq_firehose_guest_t *next_guest(aq_firehose_t *firehose, aq_firehose_cursor_t *at,
                                       uintptr_t start, uintptr_t end)
{
    for (; at->rank < firehose->ranks; at->rank++, at->slot = 0) {
        aq_firehose_peer_t *peer = aq_firehose_peer_look(firehose, at->rank);
        if (!peer || !peer->guests)
            continue;
        for (; at->slot < firehose->params.per_peer; at->slot++) {
            aq_firehose_guest_t *guest = &peer->guests[at->slot];
            if (is_on(guest->region, start, end) && !guest->revoked)
                return guest;
        }
    }
    return NULL;
}

static void serve_revoke(aq_firehose_t *firehose, uintptr_t start, uintptr_t end)
{
    aq_firehose_cursor_t at = {0, 0};
    for (;; at.slot++) {
        aq_firehose_message_t revoke = {.kind = AQ_FIREHOSE_REVOKE};
        pthread_mutex_lock(&firehose->lock);
        aq_firehose_guest_t *guest = next_guest(firehose, &at, start, end);
        if (guest) {
            guest->revoked = true;
            revoke.slot = at.slot;
            revoke.generation = guest->generation;
        }
        pthread_mutex_unlock(&firehose->lock);
        if (!guest)
            return;
        firehose->ops.request(firehose->context, at.rank, &revoke, NULL, 0);
    }
}

static aq_status_t serve_given(aq_firehose_t *firehose, aq_firehose_peer_t *peer,
                               const aq_firehose_message_t *answer)
{
    if (answer->slot >= firehose->params.per_peer)
        return AQ_ERR_PEER;
    pthread_mutex_lock(&firehose->lock);
    aq_firehose_guest_t *guest = peer->guests ? &peer->guests[answer->slot] : NULL;
    // An answer of an older generation is ignored: the slot was moved meanwhile.
    if (guest && guest->generation == answer->generation) {
        guest->revoked = false; // not released yet: ask again
        if (answer->bytes)
            guest_leave(firehose, guest);
    }
    pthread_mutex_unlock(&firehose->lock);
    return AQ_OK;
}

// Whether a region of that memory is still being unpinned.
static bool is_going(const aq_firehose_t *firehose, uintptr_t start, uintptr_t end)
{
    const aq_firehose_region_t *region;
    TAILQ_FOREACH(region, &firehose->going, queue)
    {
        if (is_on(region, start, end))
            return true;
    }
    return false;
}

aq_status_t aq_firehose_invalidate(aq_firehose_t *firehose, const void *memory, size_t bytes)
{
    const uintptr_t start = (uintptr_t)memory, end = start + bytes;
    pthread_mutex_lock(&firehose->lock);
    aq_firehose_local_forget(firehose, start, end);
    const bool going = is_going(firehose, start, end);
    pthread_mutex_unlock(&firehose->lock);
    if (going)
        serve_revoke(firehose, start, end);
    return going ? AQ_AGAIN : AQ_OK;
}

// ---- answers ----

aq_status_t aq_firehose_answered(aq_firehose_t *firehose, uint32_t rank,
                                 const aq_firehose_message_t *answer)
{
    aq_status_t status = AQ_ERR_PEER;
    aq_firehose_peer_t *peer =
        rank < firehose->ranks ? aq_firehose_peer_look(firehose, rank) : NULL;
    if (peer && answer->kind == AQ_FIREHOSE_MOVED)
        status = aq_firehose_remote_moved(peer, answer);
    else if (peer && answer->kind == AQ_FIREHOSE_GIVEN)
        status = serve_given(firehose, peer, answer);
    if (status == AQ_ERR_PEER)
        aq_log_error("process %u answered a request that firehose did not send (kind %u, slot %u); "
                     "all processes of a job have to use the same version of the library",
                     rank, answer->kind, answer->slot);
    return status;
}
