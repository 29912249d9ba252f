// SPDX-License-Identifier: BSD-3-Clause
// The side of a message that sends.
#include <string.h>

#include "../../core/am/am_args.h"
#include "../../core/am/am_send.h"
#include "../../core/ground/arg64.h"
#include "../../core/record/counters.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/ground/fatal.h"
#include "../../core/memory/cma_read.h"
#include "../../core/record/trace.h"
#include "../../extended/rma/layer_table.h"
#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "msg_device.h"
#include "msg_read.h"
#include "msg_credits.h"
#include "../../core/am/am_answer.h"
#include "msg_peers.h"
#include "request.h"
#include "msg_check.h"

// ---- messages ----

typedef struct choice {
    aq_msg_protocol_t protocol;
    uint32_t jobrank; // of the receiver
    uint32_t number;  // of a message that is not refused
} choice_t;

// Chooses the protocol of a message. Fills in the members one by one, since a returned structure
// would be loaded before its stores have completed.
static void protocol_choose(const aq_msg_call_t *call, choice_t *choice)
{
    const uint32_t jobrank = aq_tm_jobrank(call->tm, call->rank);
    choice->jobrank = jobrank;
    aq_lock_take(&aq_msg.lock);
    aq_msg_peer_t *peer = aq_msg_peer(jobrank);
    choice->protocol = aq_msg_credits_take(&peer->credits, AQ_MSG_COST, call->bytes,
                                           aq_msg_is_eager(jobrank, call->bytes));
    if (choice->protocol != AQ_PROTOCOL_REFUSED)
        choice->number = peer->sent++;
    aq_lock_drop(&aq_msg.lock);
}

static void send_count(uint32_t jobrank, size_t nbytes)
{
    aq_count_bytes_to(jobrank, AQ_COUNT_SEND, AQ_COUNT_SEND_BYTES, nbytes);
}

// Traces a message that has left. begin: from aq_trace_begin.
static inline void send_trace(uint64_t begin, const aq_msg_call_t *call, const choice_t *choice)
{
    if (__builtin_expect(begin != 0, 0))
        aq_trace_two_sided(AQ_TRACED_SEND, begin, choice->jobrank, call->bytes, call->tag,
                           choice->number);
}

// Sends a message with its bytes. In the primordial team the message does not have the id of the
// team, so that a short one fits into half a cache line.
static void eager_send(const aq_msg_call_t *call, const choice_t *choice)
{
    const uint64_t team = aq_team_of(call->tm)->id;
    const int32_t args[] = {(int32_t)choice->number, (int32_t)call->tag, aq_high(team),
                            aq_low(team)};
    aq_am_t am = {.args = args,
                  .payload = call->memory,
                  .nbytes = call->bytes,
                  .category = AQ_AM_MEDIUM,
                  .handler = team ? AQ_HANDLER_MSG_EAGER : AQ_HANDLER_MSG_EAGER_JOB,
                  .nargs = team ? 4 : 2};
    const uint64_t begin = aq_trace_begin(AQ_TRACE_AM);
    send_count(choice->jobrank, call->bytes);
    aq_am_request(choice->jobrank, &am, 0);
    send_trace(begin, call, choice);
}

static void rts_send(gasnetx_Request_t send, const choice_t *choice)
{
    const uint32_t jobrank = choice->jobrank;
    const uint64_t team = aq_team_of(send->call.tm)->id;
    send->issued = send->moved = 0;
    const aq_cookie_t cookie = aq_request_cookie(send, jobrank);
    send->rts.number = choice->number;
    send->rts.cookie = cookie;
    int32_t args[8 + AQ_MSG_MEMORY_ARGS] = {
        (int32_t)choice->number,   (int32_t)send->call.tag,  aq_high(team),   aq_low(team),
        aq_high(send->call.bytes), aq_low(send->call.bytes), aq_high(cookie), aq_low(cookie)};
    aq_msg_read_args(jobrank, send->call.memory, args + 8);
    aq_am_t am = {
        .args = args, .category = AQ_AM_SHORT, .handler = AQ_HANDLER_MSG_RTS, .nargs = 15};
    const aq_msg_call_t call = send->call; // the send may be complete, and gone, before this ends
    const uint64_t begin = aq_trace_begin(AQ_TRACE_AM);
    send_count(jobrank, call.bytes);
    aq_am_request(jobrank, &am, 0);
    send_trace(begin, &call, choice);
}

int aq_msg_send(gasnetx_Request_t send)
{
    choice_t choice;
    protocol_choose(&send->call, &choice);
    if (choice.protocol == AQ_PROTOCOL_REFUSED)
        return aq_msg_credits_refuse();
    send->begun = true;
    send->status.flags = 0; // it may have been cancelled before
    atomic_store_explicit(&send->complete, false, memory_order_relaxed);
    if (choice.protocol == AQ_PROTOCOL_RNDV) {
        rts_send(send, &choice);
        return GASNET_OK;
    }
    eager_send(&send->call, &choice);
    aq_request_complete(send);
    return GASNET_OK;
}

// ---- serving what was announced ----

// The send that was announced to a peer with a cookie. Ends the job if there is none.
static gasnetx_Request_t send_find(uint32_t source, aq_cookie_t cookie)
{
    gasnetx_Request_t send = aq_request_of_cookie(source, cookie);
    if (!send || !send->call.is_send)
        aq_fatal("rank %u asks for a message that it was not offered (cookie 0x%llx)", source,
                 (unsigned long long)cookie);
    return send;
}

void aq_msg_send_end(uint32_t jobrank, aq_cookie_t cookie, gasnetx_Request_t send)
{
    aq_pending_op_t op;
    aq_lock_take(&aq_msg.lock);
    const bool taken = aq_cookies_take(&aq_msg.cookies, cookie, jobrank, &op);
    const bool ends = taken && !send->claims;
    struct aq_msg_exposures *exposures = NULL;
    if (taken) {
        send->received = true;
        exposures = send->exposures;
        send->exposures = NULL;
    }
    aq_lock_drop(&aq_msg.lock);
    aq_msg_device_end(jobrank, exposures);
    if (ends)
        aq_request_complete(send);
}

// Counts a get before it is served. Ends the job if the peer asks for bytes twice.
static void get_count(uint32_t source, gasnetx_Request_t send, const aq_msg_rndv_get_t *get)
{
    aq_lock_take(&aq_msg.lock);
    send->issued += get->bytes;
    const bool wrong = send->issued > get->want;
    aq_lock_drop(&aq_msg.lock);
    if (wrong)
        aq_fatal("rank %u asks for bytes of a message twice, or for others than before (%u at %llu "
                 "of %llu)",
                 source, get->bytes, (unsigned long long)get->offset,
                 (unsigned long long)get->want);
}

// Copies a piece to its destination if that is mapped here, and sends the piece otherwise.
static void piece_reply(gex_Token_t token, const char *piece, const aq_msg_rndv_get_t *get)
{
    void *dest =
        get->dest ? aq_process_mapped(token->arrival->source, get->dest, get->bytes) : NULL;
    if (dest) {
        memcpy(dest, piece, get->bytes);
        aq_am_answer(token, AQ_HANDLER_MSG_PLACED, 5,
                     (const int32_t[]){aq_high(get->answer), aq_low(get->answer),
                                       aq_high(get->offset), aq_low(get->offset),
                                       (int32_t)get->bytes});
    } else {
        aq_am_answer_medium(token, AQ_HANDLER_MSG_PIECE, piece, get->bytes, 4,
                            (const int32_t[]){aq_high(get->answer), aq_low(get->answer),
                                              aq_high(get->offset), aq_low(get->offset)});
    }
}

static void piece_serve(gex_Token_t token, aq_cookie_t cookie, gasnetx_Request_t send,
                        const aq_msg_rndv_get_t *get)
{
    get_count(token->arrival->source, send, get);
    piece_reply(token, (const char *)send->call.memory + get->offset, get);
    aq_lock_take(&aq_msg.lock);
    send->moved += get->bytes;
    const bool all = send->moved == get->want;
    aq_lock_drop(&aq_msg.lock);
    if (all)
        aq_msg_send_end(token->arrival->source, cookie, send);
}

static void on_rndv_get(gex_Token_t token)
{
    const uint32_t source = token->arrival->source;
    aq_args_t args = aq_args_of(token);
    const aq_cookie_t cookie = aq_args_64(&args);
    aq_msg_rndv_get_t get = {.offset = aq_args_64(&args)};
    get.bytes = (uint32_t)aq_args_32(&args);
    get.want = aq_args_64(&args);
    get.answer = aq_args_64(&args);
    get.dest = aq_args_64(&args);
    gasnetx_Request_t send = send_find(source, cookie);
    if (get.want > send->call.bytes || get.offset > get.want || get.bytes > get.want - get.offset ||
        get.bytes > aq_job.limits.medium)
        aq_fatal("rank %u asks for bytes that a message to it does not have (%u at %llu of %zu)",
                 source, get.bytes, (unsigned long long)get.offset, send->call.bytes);
    if (send->hooks && send->hooks->get_arrived)
        send->hooks->get_arrived(send, &get);
    else
        piece_serve(token, cookie, send, &get);
}

static void on_done(gex_Token_t token, int32_t cookie_high, int32_t cookie_low)
{
    const uint32_t source = token->arrival->source;
    const aq_cookie_t cookie = aq_join(cookie_high, cookie_low);
    aq_msg_send_end(source, cookie, send_find(source, cookie));
}

// The default limit of eager messages inside a host: for longer ones, one copy from memory to
// memory is faster than two through a ring.
enum { EAGER_NBRHD = 8192 };

void aq_msg_send_register(void)
{
    aq_msg.eager = aq_settings_bytes(AQ_SET_MSG_EAGER);
    aq_msg.eager = aq_min(aq_msg.eager, aq_job.limits.medium);
    aq_msg.eager = aq_min(aq_msg.eager, aq_msg.credits / 4 - AQ_MSG_COST);
    aq_msg.eager_nbrhd = aq_settings_given(AQ_SET_MSG_EAGER)
                             ? aq_msg.eager
                             : aq_min(aq_msg.eager, (size_t)EAGER_NBRHD);
    aq_endpoint_internal_bare(AQ_HANDLER_MSG_RNDV_GET, on_rndv_get,
                              GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 11,
                              "rendezvous get of a message");
    aq_endpoint_internal(AQ_HANDLER_MSG_DONE, (gex_AM_Fn_t)on_done,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, "message received");
}

// ---- calls ----

static aq_msg_call_t call_of(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, const void *src,
                             size_t nbytes)
{
    return (aq_msg_call_t){tm, rank, tag, true, false, (void *)(uintptr_t)src, nbytes};
}

static int send_check(const char *name, const aq_msg_call_t *call)
{
    const int error = aq_msg_check(name, call->tm, call->rank, call->tag, false);
    return error ? error : aq_msg_check_bytes(name, call->bytes);
}

// Sends a message with its bytes, or an RTS, and returns the request then. NULL: the message has
// left with its bytes.
static gasnetx_Request_t message_send(const aq_msg_call_t *call, const choice_t *choice)
{
    if (choice->protocol == AQ_PROTOCOL_EAGER) {
        eager_send(call, choice);
        return GASNETX_REQUEST_NULL;
    }
    gasnetx_Request_t send = aq_request_new(call);
    send->begun = true;
    rts_send(send, choice);
    return send;
}

int gasnetx_Msg_SendNB(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, const void *src, size_t nbytes,
                       gasnetx_Request_t *request)
{
    const aq_msg_call_t call = call_of(tm, rank, tag, src, nbytes);
    const int error = send_check("gasnetx_Msg_SendNB", &call);
    if (error)
        return error;
    choice_t choice;
    protocol_choose(&call, &choice);
    if (choice.protocol == AQ_PROTOCOL_REFUSED)
        return aq_msg_credits_refuse();
    *request = message_send(&call, &choice);
    return GASNET_OK;
}

int gasnetx_Msg_Send(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, const void *src, size_t nbytes)
{
    const aq_msg_call_t call = call_of(tm, rank, tag, src, nbytes);
    const int error = send_check("gasnetx_Msg_Send", &call);
    if (error)
        return error;
    choice_t choice;
    while (protocol_choose(&call, &choice), choice.protocol == AQ_PROTOCOL_REFUSED)
        aq_msg_credits_await(choice.jobrank, AQ_MSG_COST);
    gasnetx_Request_t request = message_send(&call, &choice);
    return gasnetx_Request_Wait(&request, NULL);
}

int gasnetx_Msg_SendInit(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, const void *src, size_t nbytes,
                         gasnetx_Request_t *request)
{
    aq_msg_call_t call = call_of(tm, rank, tag, src, nbytes);
    const int error = send_check("gasnetx_Msg_SendInit", &call);
    if (error)
        return error;
    call.persistent = true;
    *request = aq_request_new(&call);
    return GASNET_OK;
}
