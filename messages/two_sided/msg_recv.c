// SPDX-License-Identifier: BSD-3-Clause
// The side of a message that receives: receives, and arrivals in the order in which they were sent.
#include <stdlib.h>
#include <string.h>

#include "../../core/am/am_args.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/ground/fatal.h"
#include "../../core/progress/poll_loop.h"
#include "../../core/record/trace.h"
#include "../../core/record/traffic.h"
#include "../../extended/rma/layer_table.h"
#include "../../other/base/minmax.h"
#include "msg_recv.h"
#include "msg_cancel.h"
#include "msg_peers.h"
#include "request.h"
#include "msg_check.h"
#include "msg_rndv_get.h"
#include "msg_credits.h"

// ---- delivery to a receive ----

// rank: of the source, as the receive has named it.
static void status_fill(gasnetx_msg_status_t *status, gex_TM_t tm, gex_Rank_t rank,
                        const aq_msg_head_t *head, size_t capacity)
{
    const bool any = rank == GASNETX_ANY_RANK;
    status->rank = !any                   ? rank
                   : tm == GEX_TM_INVALID ? head->source
                                          : gex_TM_TranslateJobrankToRank(tm, head->source);
    status->tag = head->tag;
    status->nbytes = head->nbytes;
    status->received = aq_min(head->nbytes, capacity);
    status->flags = capacity < head->nbytes ? GASNETX_MSG_TRUNCATED : 0;
    status->reserved = 0;
}

static void message_hand_over(gasnetx_Request_t receive, const aq_msg_head_t *head,
                              const void *bytes)
{
    status_fill(&receive->status, receive->call.tm, receive->call.rank, head, receive->call.bytes);
    if (head->cookie) {
        receive->rts = *head;
        aq_msg_rndv_get(receive);
        return;
    }
    if (receive->status.received)
        memcpy(receive->call.memory, bytes, receive->status.received);
    aq_request_complete(receive);
}

// Delivers a message to the receive that has taken it; a long message is fetched afterwards.
static void message_deliver(gasnetx_Request_t receive, const aq_msg_head_t *head, const void *bytes)
{
    const uint64_t begin = aq_trace_begin(AQ_TRACE_AM);
    message_hand_over(receive, head, bytes);
    if (__builtin_expect(begin != 0, 0))
        aq_trace_two_sided(AQ_TRACED_RECEIVE, begin, head->source, head->nbytes, head->tag,
                           head->number);
}

// ---- arrivals ----

static unsigned mode_now(void)
{
    return atomic_load_explicit(&aq_msg.mode, memory_order_relaxed);
}

// Bytes that a rank keeps of a message, as the sender counts them.
static size_t cost_of(const aq_msg_head_t *head)
{
    return AQ_MSG_COST + (head->cookie ? 0 : head->nbytes);
}

typedef struct arrival {
    const aq_msg_head_t *head;
    const void *bytes;
    aq_msg_kept_t *kept; // the message itself, if it was kept before
    bool dropped, cancelled;
} arrival_t;

// With the lock.
static aq_msg_kept_t *arrival_keep(const arrival_t *arrival)
{
    const size_t bytes = arrival->head->cookie ? 0 : arrival->head->nbytes;
    aq_msg_kept_t *kept = aq_allocate_for_rank(
        sizeof *kept + bytes, "a message that no receive has taken, of", arrival->head->source);
    kept->head = *arrival->head;
    kept->cancelled = false;
    kept->order.number = kept->head.number;
    if (bytes)
        memcpy(kept->bytes, arrival->bytes, bytes);
    aq_msg_credits_keep(&aq_msg_peer(kept->head.source)->credits, cost_of(&kept->head));
    return kept;
}

static aq_match_entry_t *unexpected_make(void *context)
{
    arrival_t *arrival = context;
    arrival->dropped = mode_now() & GASNETX_MSG_DROPS;
    if (arrival->dropped)
        return NULL;
    return &(arrival->kept ? arrival->kept : arrival_keep(arrival))->entry;
}

// With the lock: passes the next message of a source to the matching engine. Returns the receive
// that takes the message; NULL: the message is kept or dropped.
static inline __attribute__((always_inline)) gasnetx_Request_t
arrival_match(aq_msg_peer_t *peer, arrival_t *arrival, unsigned mode)
{
    const aq_msg_head_t *head = arrival->head;
    const aq_match_key_t key = {head->team, head->source, head->tag};
    aq_match_entry_t *receive = NULL;
    aq_order_pass(&peer->order);
    if ((mode & GASNETX_MSG_STOPPED) || arrival->cancelled)
        arrival->dropped = true;
    else
        receive = aq_match_arrive(&aq_msg.match, &peer->source, &key, unexpected_make, arrival);
    if (!receive && !arrival->dropped)
        return NULL;
    aq_msg_credits_give(&peer->credits, cost_of(head));
    if (!receive && !arrival->cancelled)
        aq_msg_credits_drop(head->nbytes);
    return (gasnetx_Request_t)(void *)receive;
}

// Delivers a matched message, without the lock. Returns whether a message that was kept can be
// freed.
static bool arrival_end(const arrival_t *arrival, gasnetx_Request_t receive)
{
    if (receive)
        message_deliver(receive, arrival->head, arrival->bytes);
    else if (arrival->dropped && arrival->head->cookie && !arrival->cancelled)
        aq_msg_rts_drop(arrival->head);
    return receive || arrival->dropped;
}

// Whether messages wait until this rank starts receiving again.
static bool arrivals_wait(unsigned mode)
{
    return mode == GASNETX_MSG_STOPPED;
}

// Matches an early message whose turn it is now. Returns false if there is none.
static bool early_match(aq_msg_peer_t *peer)
{
    gasnetx_Request_t receive = NULL;
    aq_lock_take(&aq_msg.lock);
    const unsigned mode = mode_now();
    aq_order_entry_t *early = arrivals_wait(mode) ? NULL : aq_order_take(&peer->order);
    aq_msg_kept_t *kept = early ? aq_msg_kept_of(early) : NULL;
    arrival_t arrival = {kept ? &kept->head : NULL, kept ? kept->bytes : NULL, kept, false,
                         kept && kept->cancelled};
    if (kept)
        receive = arrival_match(peer, &arrival, mode);
    if (receive || arrival.dropped)
        aq_msg_credits_unkeep(&peer->credits, cost_of(&kept->head));
    aq_lock_drop(&aq_msg.lock);
    const bool found = kept;
    if (found && arrival_end(&arrival, receive))
        free(kept);
    return found;
}

void aq_msg_arrivals_go_on(void)
{
    for (uint32_t i = 0; aq_msg.peers && i < aq_job.size; i++)
        while (early_match(&aq_msg.peers[i])) {
        }
}

static void message_arrive(const aq_msg_head_t *head, const void *bytes)
{
    arrival_t arrival = {head, bytes, NULL, false, false};
    gasnetx_Request_t receive = NULL;
    bool right = true;
    if (head->tag > GASNETX_TAG_MAX)
        aq_fatal("a message of rank %u is wrong: its tag is 0x%x", head->source, head->tag);
    aq_traffic_received(head->source, AQ_ARRIVED_SENDS, head->nbytes);
    aq_lock_take(&aq_msg.lock);
    const unsigned mode = mode_now();
    aq_msg_peer_t *peer = aq_msg_peer(head->source);
    aq_msg_credits_hear(&peer->credits, mode);
    const bool is_next = aq_order_is_next(&peer->order, head->number) && !arrivals_wait(mode);
    if (is_next)
        receive = arrival_match(peer, &arrival, mode);
    else
        right = aq_order_keep(&peer->order, &arrival_keep(&arrival)->order);
    const bool more = is_next && peer->order.early;
    aq_lock_drop(&aq_msg.lock);
    if (!right)
        aq_fatal("a message of rank %u is wrong: its number %u was here before", head->source,
                 head->number);
    (void)arrival_end(&arrival, receive);
    while (more && early_match(peer)) {
    }
}

static void on_eager(gex_Token_t token)
{
    const aq_arrival_t *arrival = token->arrival;
    aq_args_t args = aq_args_of(token);
    aq_msg_head_t head = {.source = arrival->source, .nbytes = arrival->nbytes};
    head.number = (uint32_t)aq_args_32(&args);
    head.tag = (uint32_t)aq_args_32(&args);
    head.team = arrival->handler == AQ_HANDLER_MSG_EAGER ? aq_args_64(&args) : 0;
    message_arrive(&head, arrival->payload);
}

static void on_rts(gex_Token_t token)
{
    aq_args_t args = aq_args_of(token);
    aq_msg_head_t head = {.source = token->arrival->source};
    head.number = (uint32_t)aq_args_32(&args);
    head.tag = (uint32_t)aq_args_32(&args);
    head.team = aq_args_64(&args);
    head.nbytes = aq_args_64(&args);
    head.cookie = aq_args_64(&args);
    head.address = aq_args_64(&args);
    head.process = aq_args_32(&args);
    head.proof_address = aq_args_64(&args);
    head.proof = aq_args_64(&args);
    if (!head.cookie)
        aq_fatal("a message of rank %u is wrong: it offers nothing", head.source);
    message_arrive(&head, NULL);
    aq_msg_cancel_overtaken(token, head.number);
}

void aq_msg_recv_register(void)
{
    aq_endpoint_internal_bare(AQ_HANDLER_MSG_EAGER, on_eager,
                              GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 4, "message");
    aq_endpoint_internal_bare(AQ_HANDLER_MSG_EAGER_JOB, on_eager,
                              GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 2,
                              "message in the primordial team");
    aq_endpoint_internal_bare(AQ_HANDLER_MSG_RTS, on_rts, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST,
                              15, "RTS of a message");
}

// ---- receives ----

static aq_match_key_t key_of(gex_TM_t tm, gex_Rank_t rank, uint32_t tag)
{
    const bool any = rank == GASNETX_ANY_RANK;
    return (aq_match_key_t){.team = tm == GEX_TM_INVALID ? AQ_MATCH_ANY_TEAM : aq_team_of(tm)->id,
                            .source = any ? AQ_MATCH_ANY_SOURCE : aq_msg_jobrank(tm, rank),
                            .tag = tag};
}

// With the lock.
static aq_match_source_t *source_of(const aq_match_key_t *key)
{
    return key->source == AQ_MATCH_ANY_SOURCE ? NULL : &aq_msg_peer(key->source)->source;
}

void aq_msg_receive(gasnetx_Request_t receive)
{
    const aq_match_key_t key = key_of(receive->call.tm, receive->call.rank, receive->call.tag);
    receive->begun = true;
    atomic_store_explicit(&receive->complete, false, memory_order_relaxed);
    aq_lock_take(&aq_msg.lock);
    aq_msg_kept_t *kept = (aq_msg_kept_t *)(void *)aq_match_receive(&aq_msg.match, source_of(&key),
                                                                    &key, &receive->entry);
    if (kept) {
        aq_msg_credits_t *credits = &aq_msg_peer(kept->head.source)->credits;
        aq_msg_credits_unkeep(credits, cost_of(&kept->head));
        aq_msg_credits_give(credits, cost_of(&kept->head));
    }
    aq_lock_drop(&aq_msg.lock);
    if (!kept)
        return;
    message_deliver(receive, &kept->head, kept->bytes);
    free(kept);
    aq_msg_rndv_gets_turn();
}

static aq_msg_call_t receive_call(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, void *dest,
                                  size_t capacity, bool persistent)
{
    return (aq_msg_call_t){tm, rank, tag, false, persistent, dest, capacity};
}

int gasnetx_Msg_RecvNB(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, void *dest, size_t capacity,
                       gasnetx_Request_t *request)
{
    const int error = aq_msg_check("gasnetx_Msg_RecvNB", tm, rank, tag, true);
    if (error)
        return error;
    const aq_msg_call_t call = receive_call(tm, rank, tag, dest, capacity, false);
    *request = aq_request_new(&call);
    aq_msg_receive(*request);
    return GASNET_OK;
}

int gasnetx_Msg_Recv(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, void *dest, size_t capacity,
                     gasnetx_msg_status_t *status)
{
    struct gasnetx_request request;
    const int error = aq_msg_check("gasnetx_Msg_Recv", tm, rank, tag, true);
    if (error)
        return error;
    const aq_msg_call_t call = receive_call(tm, rank, tag, dest, capacity, false);
    aq_request_init(&request, &call);
    aq_msg_receive(&request);
    aq_request_await(&request);
    if (status)
        *status = request.status;
    return GASNET_OK;
}

int gasnetx_Msg_RecvInit(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, void *dest, size_t capacity,
                         gasnetx_Request_t *request)
{
    const int error = aq_msg_check("gasnetx_Msg_RecvInit", tm, rank, tag, true);
    if (error)
        return error;
    const aq_msg_call_t call = receive_call(tm, rank, tag, dest, capacity, true);
    *request = aq_request_new(&call);
    return GASNET_OK;
}

int gasnetx_Msg_Probe(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, gasnetx_msg_status_t *status)
{
    const int error = aq_msg_check("gasnetx_Msg_Probe", tm, rank, tag, true);
    if (error)
        return error;
    const aq_match_key_t key = key_of(tm, rank, tag);
    aq_poll_in_loop();
    aq_lock_take(&aq_msg.lock);
    const aq_msg_kept_t *kept =
        (aq_msg_kept_t *)(void *)aq_match_probe(&aq_msg.match, source_of(&key), &key);
    if (kept && status)
        status_fill(status, tm, rank, &kept->head, SIZE_MAX);
    aq_lock_drop(&aq_msg.lock);
    return kept ? GASNET_OK : GASNET_ERR_NOT_READY;
}
