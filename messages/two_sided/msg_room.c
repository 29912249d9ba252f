// SPDX-License-Identifier: BSD-3-Clause
// Room for messages: takes it for sends, counts what arrives and is taken, and in a task returns
// room to peers and notifies peers and the client of stops and starts. msg_send.c, msg_recv.c and
// the files of large messages call it.
#include "msg_room.h"

#include "../../core/am/am_send.h"
#include "../../core/ground/arg64.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/ground/fatal.h"
#include "../../core/progress/progress.h"
#include "../../extended/rma/layer_table.h"
#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "msg_peers.h"

#define SHARE_MIN ((size_t)64 << 10)

static aq_msg_room_t *due; // list of peers that the task has to serve; under aq_msg.lock
static atomic_bool turning;

// The client's, for peers that have stopped or started; under aq_msg.lock.
static gasnetx_Msg_StopFn_t stop_fn;
static void *stop_context;

static bool task_turn(aq_task_t *task);
static aq_task_t room_task = {.turn = task_turn};

void aq_msg_room_list(aq_msg_room_t *room)
{
    if (room->listed)
        return;
    room->listed = true;
    room->next = due;
    due = room;
    aq_progress_busy(&room_task, 1);
}

static const aq_msg_peer_t *room_peer(const aq_msg_room_t *room)
{
    return (const void *)((const char *)room - offsetof(aq_msg_peer_t, room));
}

static uint32_t room_jobrank(const aq_msg_room_t *room)
{
    return (uint32_t)(room_peer(room) - aq_msg.peers);
}

// ---- the sender ----

aq_leave_t aq_msg_room_ask(uint32_t jobrank, size_t envelope, size_t nbytes, bool is_eager)
{
    aq_lock_take(&aq_msg.lock);
    const aq_leave_t leave =
        aq_msg_room_take(&aq_msg_peer(jobrank)->room, envelope, nbytes, is_eager);
    aq_lock_drop(&aq_msg.lock);
    return leave;
}

void aq_msg_room_force(uint32_t jobrank, size_t cost)
{
    aq_lock_take(&aq_msg.lock);
    aq_msg_peer(jobrank)->room.used += cost;
    aq_lock_drop(&aq_msg.lock);
}

int aq_msg_room_refuse(void)
{
    aq_lock_take(&aq_msg.lock);
    aq_msg.counts.refused++;
    aq_lock_drop(&aq_msg.lock);
    return GASNET_ERR_RESOURCE;
}

typedef struct wish {
    uint32_t jobrank;
    size_t cost;
} wish_t;

static bool is_room(void *context)
{
    const wish_t *wish = context;
    aq_lock_take(&aq_msg.lock);
    const bool is = aq_msg_peer(wish->jobrank)->room.used + wish->cost <= aq_msg.share;
    aq_lock_drop(&aq_msg.lock);
    return is;
}

void aq_msg_room_await(uint32_t jobrank, size_t cost)
{
    wish_t wish = {jobrank, cost};
    aq_progress_wait_until(is_room, &wish, aq_wait_word(AQ_WAIT_ROOM, jobrank), NULL);
}

static void on_room(gex_Token_t token, int32_t given_high, int32_t given_low, int32_t changes)
{
    const uint32_t source = token->arrival->source;
    const uint64_t given = aq_join(given_high, given_low);
    aq_lock_take(&aq_msg.lock);
    aq_msg_room_t *room = &aq_msg_peer(source)->room;
    const bool valid = given <= room->used;
    room->used -= valid ? given : 0;
    if ((int32_t)((uint32_t)changes - room->changes) > 0) {
        room->changes = (uint32_t)changes;
        room->changed = true;
        aq_msg_room_list(room);
    }
    aq_lock_drop(&aq_msg.lock);
    if (!valid)
        aq_fatal("rank %u gives back more room for messages than this rank has used (%llu bytes)",
                 source, (unsigned long long)given);
    if (aq_threads)
        aq_progress_wake();
}

// ---- the receiver ----

static bool peer_has_sent(const aq_msg_peer_t *peer)
{
    return peer->room.has_sent || peer->order.expected || peer->order.early;
}

void aq_msg_room_change(void)
{
    (void)aq_msg_peer(0);
    for (uint32_t i = 0; i < aq_job.size; i++)
        if (peer_has_sent(&aq_msg.peers[i]))
            aq_msg_room_list(&aq_msg.peers[i].room);
}

static void kept_add(size_t cost)
{
    gasnetx_msg_counts_t *counts = &aq_msg.counts;
    counts->kept_messages++;
    counts->kept_memory += cost;
    counts->most_memory = aq_max(counts->most_memory, counts->kept_memory);
}

static void kept_remove(size_t cost)
{
    aq_msg.counts.kept_messages--;
    aq_msg.counts.kept_memory -= cost;
}

void aq_msg_room_keep(aq_msg_room_t *room, size_t cost)
{
    kept_add(cost);
    room->kept += cost;
    if (room->kept > aq_msg.share)
        aq_fatal("rank %u has sent more messages than there is room for (%zu bytes); all ranks "
                 "need the same GASNET_MSG_MEMORY",
                 room_jobrank(room), aq_msg.share);
}

void aq_msg_room_unkeep(aq_msg_room_t *room, size_t cost)
{
    room->kept -= cost;
    kept_remove(cost);
}

void aq_msg_room_drop(size_t nbytes)
{
    aq_msg.counts.dropped_messages++;
    aq_msg.counts.dropped_bytes += nbytes;
}

void aq_msg_room_arrive(uint32_t jobrank, size_t cost)
{
    aq_lock_take(&aq_msg.lock);
    aq_msg_room_t *room = &aq_msg_peer(jobrank)->room;
    room->has_sent = true;
    aq_msg_room_hear(room, atomic_load_explicit(&aq_msg.mode, memory_order_relaxed));
    kept_add(cost);
    aq_lock_drop(&aq_msg.lock);
}

void aq_msg_room_leave(uint32_t jobrank, size_t cost)
{
    aq_lock_take(&aq_msg.lock);
    kept_remove(cost);
    aq_msg_room_give(&aq_msg_peer(jobrank)->room, cost);
    aq_lock_drop(&aq_msg.lock);
}

// ---- the task ----

// What the task has to do for a peer.
typedef struct duty {
    uint32_t jobrank;
    bool tells_client, stopped; // tells the client that the peer has stopped or started
    size_t given;
    uint32_t changes;
    bool tells_peer;
} duty_t;

static duty_t duty_of(aq_msg_room_t *room)
{
    const duty_t duty = {.jobrank = room_jobrank(room),
                         .tells_client = room->changed,
                         .stopped = room->changes % 2,
                         .given = room->given,
                         .changes = aq_msg.changes,
                         .tells_peer =
                             (peer_has_sent(room_peer(room)) && room->told != aq_msg.changes) ||
                             room->given >= aq_msg.share_half};
    room->listed = room->changed = false;
    if (duty.tells_peer) {
        room->given = 0;
        room->told = aq_msg.changes;
    }
    return duty;
}

// False: there is nothing to do for any peer.
static bool duty_take(duty_t *duty)
{
    aq_lock_take(&aq_msg.lock);
    aq_msg_room_t *room = due;
    if (room) {
        due = room->next;
        *duty = duty_of(room);
    }
    aq_lock_drop(&aq_msg.lock);
    return room;
}

static bool peer_tell(const duty_t *duty)
{
    const int32_t args[] = {aq_high(duty->given), aq_low(duty->given), (int32_t)duty->changes};
    aq_am_t am = {
        .args = args, .category = AQ_AM_SHORT, .handler = AQ_HANDLER_MSG_ROOM, .nargs = 3};
    return aq_am_request(duty->jobrank, &am, GEX_FLAG_IMMEDIATE) == 0;
}

// Undoes a duty whose message could not be sent now; another turn sends it.
static void duty_return(const duty_t *duty)
{
    aq_lock_take(&aq_msg.lock);
    aq_msg_room_t *room = &aq_msg.peers[duty->jobrank].room;
    room->given += duty->given;
    room->told = duty->changes - 1;
    aq_msg_room_list(room);
    aq_lock_drop(&aq_msg.lock);
}

static void client_tell(uint32_t jobrank, bool stopped)
{
    aq_lock_take(&aq_msg.lock);
    gasnetx_Msg_StopFn_t fn = stop_fn;
    void *context = stop_context;
    aq_lock_drop(&aq_msg.lock);
    if (fn)
        fn(jobrank, stopped, context);
}

// Returns false if a message found no room, so that the task stops for this turn.
static bool duty_do(const duty_t *duty)
{
    if (duty->tells_client)
        client_tell(duty->jobrank, duty->stopped);
    const bool ok = !duty->tells_peer || peer_tell(duty);
    if (!ok)
        duty_return(duty);
    aq_progress_busy(&room_task, -1);
    return ok;
}

static bool task_turn(aq_task_t *task)
{
    duty_t duty;
    (void)task;
    if (atomic_exchange_explicit(&turning, true, memory_order_acquire))
        return false;
    while (duty_take(&duty) && duty_do(&duty)) {
    }
    atomic_store_explicit(&turning, false, memory_order_release);
    return false;
}

// With the lock: lists the peers that have stopped already, so that a new function of the client is
// called for each.
static void stops_repeat(void)
{
    (void)aq_msg_peer(0);
    for (uint32_t i = 0; i < aq_job.size; i++) {
        aq_msg_room_t *room = &aq_msg.peers[i].room;
        room->changed |= room->changes % 2;
        if (room->changed)
            aq_msg_room_list(room);
    }
}

int gasnetx_Msg_OnStop(gasnetx_Msg_StopFn_t fn, void *context)
{
    aq_job_need("gasnetx_Msg_OnStop");
    aq_lock_take(&aq_msg.lock);
    stop_fn = fn;
    stop_context = context;
    stops_repeat();
    aq_lock_drop(&aq_msg.lock);
    return GASNET_OK;
}

void aq_msg_room_register(void)
{
    aq_msg.share = aq_max(aq_settings_bytes(AQ_SET_MSG_MEMORY) / aq_job.size, SHARE_MIN);
    aq_msg.share_eager = aq_msg.share / 4 * 3;
    aq_msg.share_half = aq_msg.share / 2;
    aq_progress_add(&room_task);
    aq_endpoint_internal(AQ_HANDLER_MSG_ROOM, (gex_AM_Fn_t)on_room,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 3, "room for messages");
}
