// SPDX-License-Identifier: BSD-3-Clause
// Credits for messages: takes them for sends, counts what arrives and is taken, and in a task
// returns credits to peers and notifies peers and the client of stops and starts. msg_send.c,
// msg_recv.c and the files of large messages call it.
#include "msg_credits.h"

#include "../../core/am/am_send.h"
#include "../../core/ground/arg64.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/ground/fatal.h"
#include "../../core/progress/progress.h"
#include "../../extended/rma/layer_table.h"
#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "msg_peers.h"

#define CREDITS_MIN ((size_t)64 << 10)

static aq_msg_credits_t *due; // list of peers that the task has to serve; under aq_msg.lock
static atomic_bool turning;

// The client's, for peers that have stopped or started; under aq_msg.lock.
static gasnetx_Msg_StopFn_t stop_fn;
static void *stop_context;

static bool task_turn(aq_task_t *task);
static aq_task_t credits_task = {.turn = task_turn};

void aq_msg_credits_list(aq_msg_credits_t *credits)
{
    if (credits->listed)
        return;
    credits->listed = true;
    credits->next = due;
    due = credits;
    aq_progress_busy(&credits_task, 1);
}

static const aq_msg_peer_t *credits_peer(const aq_msg_credits_t *credits)
{
    return (const void *)((const char *)credits - offsetof(aq_msg_peer_t, credits));
}

static uint32_t credits_jobrank(const aq_msg_credits_t *credits)
{
    return (uint32_t)(credits_peer(credits) - aq_msg.peers);
}

// ---- the sender ----

aq_msg_protocol_t aq_msg_credits_ask(uint32_t jobrank, size_t envelope, size_t nbytes,
                                     bool is_eager)
{
    aq_lock_take(&aq_msg.lock);
    const aq_msg_protocol_t protocol =
        aq_msg_credits_take(&aq_msg_peer(jobrank)->credits, envelope, nbytes, is_eager);
    aq_lock_drop(&aq_msg.lock);
    return protocol;
}

void aq_msg_credits_force(uint32_t jobrank, size_t cost)
{
    aq_lock_take(&aq_msg.lock);
    aq_msg_peer(jobrank)->credits.used += cost;
    aq_lock_drop(&aq_msg.lock);
}

int aq_msg_credits_refuse(void)
{
    aq_lock_take(&aq_msg.lock);
    aq_msg.counts.refused++;
    aq_lock_drop(&aq_msg.lock);
    return GASNET_ERR_RESOURCE;
}

typedef struct need {
    uint32_t jobrank;
    size_t cost;
} need_t;

static bool has_credits(void *context)
{
    const need_t *need = context;
    aq_lock_take(&aq_msg.lock);
    const bool is = aq_msg_peer(need->jobrank)->credits.used + need->cost <= aq_msg.credits;
    aq_lock_drop(&aq_msg.lock);
    return is;
}

void aq_msg_credits_await(uint32_t jobrank, size_t cost)
{
    need_t need = {jobrank, cost};
    aq_progress_wait_until(has_credits, &need, aq_wait_word(AQ_WAIT_ROOM, jobrank), NULL);
}

static void on_credits(gex_Token_t token, int32_t given_high, int32_t given_low, int32_t changes)
{
    const uint32_t source = token->arrival->source;
    const uint64_t given = aq_join(given_high, given_low);
    aq_lock_take(&aq_msg.lock);
    aq_msg_credits_t *credits = &aq_msg_peer(source)->credits;
    const bool valid = given <= credits->used;
    credits->used -= valid ? given : 0;
    if ((int32_t)((uint32_t)changes - credits->changes) > 0) {
        credits->changes = (uint32_t)changes;
        credits->changed = true;
        aq_msg_credits_list(credits);
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
    return peer->credits.has_sent || peer->order.expected || peer->order.early;
}

void aq_msg_credits_change(void)
{
    (void)aq_msg_peer(0);
    for (uint32_t i = 0; i < aq_job.size; i++)
        if (peer_has_sent(&aq_msg.peers[i]))
            aq_msg_credits_list(&aq_msg.peers[i].credits);
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

void aq_msg_credits_keep(aq_msg_credits_t *credits, size_t cost)
{
    kept_add(cost);
    credits->kept += cost;
    if (credits->kept > aq_msg.credits)
        aq_fatal("rank %u has sent more messages than there is room for (%zu bytes); all ranks "
                 "need the same GASNET_MSG_MEMORY",
                 credits_jobrank(credits), aq_msg.credits);
}

void aq_msg_credits_unkeep(aq_msg_credits_t *credits, size_t cost)
{
    credits->kept -= cost;
    kept_remove(cost);
}

void aq_msg_credits_drop(size_t nbytes)
{
    aq_msg.counts.dropped_messages++;
    aq_msg.counts.dropped_bytes += nbytes;
}

void aq_msg_credits_arrive(uint32_t jobrank, size_t cost)
{
    aq_lock_take(&aq_msg.lock);
    aq_msg_credits_t *credits = &aq_msg_peer(jobrank)->credits;
    credits->has_sent = true;
    aq_msg_credits_hear(credits, atomic_load_explicit(&aq_msg.mode, memory_order_relaxed));
    kept_add(cost);
    aq_lock_drop(&aq_msg.lock);
}

void aq_msg_credits_leave(uint32_t jobrank, size_t cost)
{
    aq_lock_take(&aq_msg.lock);
    kept_remove(cost);
    aq_msg_credits_give(&aq_msg_peer(jobrank)->credits, cost);
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

static duty_t duty_of(aq_msg_credits_t *credits)
{
    const duty_t duty = {
        .jobrank = credits_jobrank(credits),
        .tells_client = credits->changed,
        .stopped = credits->changes % 2,
        .given = credits->given,
        .changes = aq_msg.changes,
        .tells_peer = (peer_has_sent(credits_peer(credits)) && credits->told != aq_msg.changes) ||
                      credits->given >= aq_msg.credits_half};
    credits->listed = credits->changed = false;
    if (duty.tells_peer) {
        credits->given = 0;
        credits->told = aq_msg.changes;
    }
    return duty;
}

// False: there is nothing to do for any peer.
static bool duty_take(duty_t *duty)
{
    aq_lock_take(&aq_msg.lock);
    aq_msg_credits_t *credits = due;
    if (credits) {
        due = credits->next;
        *duty = duty_of(credits);
    }
    aq_lock_drop(&aq_msg.lock);
    return credits;
}

static bool peer_tell(const duty_t *duty)
{
    const int32_t args[] = {aq_high(duty->given), aq_low(duty->given), (int32_t)duty->changes};
    return aq_am_request_short(duty->jobrank, AQ_HANDLER_MSG_CREDITS, 3, args,
                               GEX_FLAG_IMMEDIATE) == 0;
}

// Undoes a duty whose message could not be sent now; another turn sends it.
static void duty_return(const duty_t *duty)
{
    aq_lock_take(&aq_msg.lock);
    aq_msg_credits_t *credits = &aq_msg.peers[duty->jobrank].credits;
    credits->given += duty->given;
    credits->told = duty->changes - 1;
    aq_msg_credits_list(credits);
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
    aq_progress_busy(&credits_task, -1);
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
        aq_msg_credits_t *credits = &aq_msg.peers[i].credits;
        credits->changed |= credits->changes % 2;
        if (credits->changed)
            aq_msg_credits_list(credits);
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

void aq_msg_credits_register(void)
{
    aq_msg.credits = aq_max(aq_settings_bytes(AQ_SET_MSG_MEMORY) / aq_job.size, CREDITS_MIN);
    aq_msg.credits_eager = aq_msg.credits / 4 * 3;
    aq_msg.credits_half = aq_msg.credits / 2;
    aq_progress_add(&credits_task);
    aq_endpoint_internal(AQ_HANDLER_MSG_CREDITS, (gex_AM_Fn_t)on_credits,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 3, "credits for messages");
}
