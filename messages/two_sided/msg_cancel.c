// SPDX-License-Identifier: BSD-3-Clause
// Cancels receives that have no message, and sends that no receive has taken.
//
//      sender:  cancel, a Short -----------------------> receiver: keeps the RTS, and drops it
//               complete, with "cancelled" <------------ Short reply
//
// If a receive has taken the message, nothing answers, and the send completes as every other. A
// cancel that overtakes its RTS waits for it. A message that was sent with its bytes is complete at
// its sender, who cannot cancel it.
#include "msg_cancel.h"

#include "../../core/am/am_answer.h"
#include "../../core/am/am_send.h"
#include "../../core/ground/arg64.h"
#include "../../core/ground/fatal.h"
#include "../../extended/rma/layer_table.h"
#include "msg_credits.h"
#include "msg_peers.h"
#include "msg_send.h"
#include "request.h"

// What the receiver is told.
typedef struct cancel {
    struct cancel *next;
    uint32_t source, number; // of the RTS
    aq_cookie_t cookie;
} cancel_t;

// CANCEL_LATE: a receive has taken the message.
typedef enum outcome { CANCEL_DONE, CANCEL_LATE, CANCEL_OVERTAKES } outcome_t;

static _Atomic(cancel_t *) overtaking; // those that wait for their RTSs; written with the lock

// ---- at the receiver, with the lock ----

static bool names(const cancel_t *cancel, const aq_msg_kept_t *kept)
{
    return kept->head.number == cancel->number && kept->head.cookie == cancel->cookie;
}

// An RTS that has arrived before its turn. NULL: there is none.
static aq_msg_kept_t *early_find(const aq_msg_peer_t *peer, const cancel_t *cancel)
{
    aq_order_entry_t *early = peer->order.early;
    while (early && !names(cancel, aq_msg_kept_of(early)))
        early = early->next;
    return early ? aq_msg_kept_of(early) : NULL;
}

// An RTS that no receive has taken. NULL: there is none.
static aq_msg_kept_t *unexpected_find(const aq_msg_peer_t *peer, const cancel_t *cancel)
{
    aq_match_entry_t *entry = aq_match_first(&peer->source);
    while (entry && !names(cancel, (const aq_msg_kept_t *)(void *)entry))
        entry = aq_match_next(entry);
    return (aq_msg_kept_t *)(void *)entry;
}

static void unexpected_drop(aq_msg_peer_t *peer, aq_msg_kept_t *kept)
{
    (void)aq_match_remove(&kept->entry);
    aq_msg_credits_unkeep(&peer->credits, AQ_MSG_COST);
    aq_msg_credits_give(&peer->credits, AQ_MSG_COST);
    free(kept);
}

static outcome_t cancel_obey(const cancel_t *cancel)
{
    aq_msg_peer_t *peer = aq_msg_peer(cancel->source);
    aq_msg_kept_t *kept = early_find(peer, cancel);
    if (kept) {
        const bool again = kept->cancelled;
        kept->cancelled = true; // it keeps its place until its turn
        return again ? CANCEL_LATE : CANCEL_DONE;
    }
    if (!aq_order_has_passed(&peer->order, cancel->number))
        return CANCEL_OVERTAKES;
    kept = unexpected_find(peer, cancel);
    if (!kept)
        return CANCEL_LATE;
    unexpected_drop(peer, kept);
    return CANCEL_DONE;
}

// A rank has no more RTSs under way than its credits allow, and cancels each once.
static void overtaking_limit(uint32_t source)
{
    size_t count = 0;
    for (const cancel_t *one = atomic_load_explicit(&overtaking, memory_order_relaxed); one;
         one = one->next)
        count += one->source == source;
    if (count > aq_msg.credits / AQ_MSG_COST)
        aq_fatal("rank %u cancels more messages than it may have sent (%zu)", source, count);
}

static void cancel_keep(const cancel_t *cancel)
{
    overtaking_limit(cancel->source);
    cancel_t *copy =
        aq_allocate_for_rank(sizeof *copy, "the cancel of a message of", cancel->source);
    *copy = *cancel;
    copy->next = atomic_load_explicit(&overtaking, memory_order_relaxed);
    atomic_store_explicit(&overtaking, copy, memory_order_relaxed);
}

// Takes a cancel for an RTS of a source out of those that wait. NULL: there is none.
static cancel_t *cancel_take(uint32_t source, uint32_t number)
{
    cancel_t *before = NULL, *cancel = atomic_load_explicit(&overtaking, memory_order_relaxed);
    for (; cancel && (cancel->source != source || cancel->number != number); cancel = cancel->next)
        before = cancel;
    if (cancel && before)
        before->next = cancel->next;
    else if (cancel)
        atomic_store_explicit(&overtaking, cancel->next, memory_order_relaxed);
    return cancel;
}

// ---- at the receiver, without the lock ----

static void cancel_answer(gex_Token_t token, outcome_t outcome, aq_cookie_t cookie)
{
    if (outcome == CANCEL_DONE)
        aq_am_answer(token, AQ_HANDLER_MSG_CANCELLED, 2,
                     (const int32_t[]){aq_high(cookie), aq_low(cookie)});
}

static void on_cancel(gex_Token_t token, int32_t number, int32_t cookie_high, int32_t cookie_low)
{
    const cancel_t cancel = {.source = token->arrival->source,
                             .number = (uint32_t)number,
                             .cookie = aq_join(cookie_high, cookie_low)};
    aq_lock_take(&aq_msg.lock);
    const outcome_t outcome = cancel_obey(&cancel);
    if (outcome == CANCEL_OVERTAKES)
        cancel_keep(&cancel);
    aq_lock_drop(&aq_msg.lock);
    cancel_answer(token, outcome, cancel.cookie);
}

static bool overtaken_obey(gex_Token_t token, uint32_t number)
{
    outcome_t outcome = CANCEL_LATE;
    aq_lock_take(&aq_msg.lock);
    cancel_t *cancel = cancel_take(token->arrival->source, number);
    if (cancel)
        outcome = cancel_obey(cancel);
    aq_lock_drop(&aq_msg.lock);
    if (!cancel)
        return false;
    cancel_answer(token, outcome, cancel->cookie);
    free(cancel);
    return true;
}

void aq_msg_cancel_overtaken(gex_Token_t token, uint32_t number)
{
    while (atomic_load_explicit(&overtaking, memory_order_relaxed) && overtaken_obey(token, number))
        continue;
}

// ---- at the sender ----

static void on_cancelled(gex_Token_t token, int32_t cookie_high, int32_t cookie_low)
{
    const uint32_t source = token->arrival->source;
    const aq_cookie_t cookie = aq_join(cookie_high, cookie_low);
    gasnetx_Request_t send = aq_request_of_cookie(source, cookie);
    if (!send || !send->call.is_send)
        aq_fatal("rank %u cancels a message that was not sent to it (cookie 0x%llx)", source,
                 (unsigned long long)cookie);
    send->status.flags = GASNETX_MSG_CANCELLED;
    aq_msg_send_end(source, cookie, send);
}

// The receiver has taken the message if the send has claims, or its cookie is gone; without the
// cookie in it, no further cancel is sent.
static int send_cancel(gasnetx_Request_t send)
{
    const uint32_t jobrank = aq_msg_jobrank(send->call.tm, send->call.rank);
    aq_thread_check_call("gasnetx_Request_Cancel of a send");
    aq_lock_take(&aq_msg.lock);
    const aq_cookie_t cookie = send->rts.cookie;
    const int32_t args[] = {(int32_t)send->rts.number, aq_high(cookie), aq_low(cookie)};
    const bool is_open = !send->claims && aq_cookies_find(&aq_msg.cookies, cookie, jobrank);
    send->rts.cookie = send->claims ? cookie : 0;
    aq_lock_drop(&aq_msg.lock);
    if (!is_open)
        return GASNET_ERR_NOT_READY;
    aq_am_request_short(jobrank, AQ_HANDLER_MSG_CANCEL, 3, args, 0);
    return GASNET_OK;
}

// ---- the call ----

static int receive_cancel(gasnetx_Request_t receive)
{
    aq_lock_take(&aq_msg.lock);
    const bool removed = aq_match_remove(&receive->entry);
    aq_lock_drop(&aq_msg.lock);
    if (!removed)
        return GASNET_ERR_NOT_READY;
    receive->status = (gasnetx_msg_status_t){.flags = GASNETX_MSG_CANCELLED};
    aq_request_complete(receive);
    return GASNET_OK;
}

int gasnetx_Request_Cancel(gasnetx_Request_t request)
{
    aq_job_need("gasnetx_Request_Cancel");
    if (!request || request->counts || request->hooks || !request->begun ||
        aq_request_is_complete(request))
        return GASNET_ERR_NOT_READY;
    return request->call.is_send ? send_cancel(request) : receive_cancel(request);
}

void aq_msg_cancel_register(void)
{
    aq_endpoint_internal(AQ_HANDLER_MSG_CANCEL, (gex_AM_Fn_t)on_cancel,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 3, "cancel of a message");
    aq_endpoint_internal(AQ_HANDLER_MSG_CANCELLED, (gex_AM_Fn_t)on_cancelled,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 2, "message cancelled");
}
