// SPDX-License-Identifier: BSD-3-Clause
// The sender of large messages.
#include <stdlib.h>

#include "../../core/ground/fatal.h"
#include "large_send.h"
#include "large_task.h"
#include "large_header.h"
#include "../two_sided/msg_read.h"
#include "../two_sided/params.h"
#include "../two_sided/request.h"
#include "../two_sided/msg_check.h"

// ---- completion ----

typedef struct sent {
    aq_large_work_t work;
    gasnetx_Large_SentFn_t fn;
    void *arg;
} sent_t;

static aq_large_turn_t sent_run(aq_large_work_t *work)
{
    sent_t *sent = (sent_t *)(void *)work;
    sent->fn(sent->arg);
    free(sent);
    return AQ_LARGE_OVER;
}

// The work that calls the client's completion function. NULL: there is no function.
static sent_t *sent_make(gasnetx_Large_SentFn_t fn, void *arg)
{
    if (!fn)
        return NULL;
    sent_t *sent = aq_allocate(sizeof *sent, "a large message");
    *sent = (sent_t){.work = {.run = sent_run}, .fn = fn, .arg = arg};
    return sent;
}

static void send_complete(gasnetx_Request_t send)
{
    sent_t *sent = send->context;
    send->hooks = NULL;
    aq_request_complete(send);
    aq_large_add(&sent->work);
}

// As send_complete, for a request of which the client has no handle.
static void send_complete_detached(gasnetx_Request_t send)
{
    sent_t *sent = send->context;
    aq_request_free(send);
    aq_large_add(&sent->work);
}

// ---- sends ----

int aq_large_check(const char *call, gex_TM_t tm, gex_Rank_t rank, const gasnetx_params_t **params)
{
    static const gasnetx_params_t none = {NULL, 0, NULL};
    const int error = aq_msg_check(call, tm, rank, 0, false);
    if (error)
        return error;
    if (!*params)
        *params = &none;
    const char *wrong = aq_params_wrong(*params);
    return wrong ? aq_msg_refuse(call, wrong) : GASNET_OK;
}

static void eager_send(uint32_t jobrank, aq_msg_head_t *head, const void *src,
                       const gasnetx_params_t *params, sent_t *sent)
{
    aq_large_header_send(jobrank, head, params, src);
    if (sent)
        aq_large_add(&sent->work);
}

// The request behind an RTS. has_handle: the client waits for the request.
static gasnetx_Request_t send_make(const aq_msg_call_t *call, sent_t *sent, bool has_handle)
{
    static const aq_request_hooks_t hooks = {.complete = send_complete},
                                    detached = {.complete = send_complete_detached};
    gasnetx_Request_t send = aq_request_new(call);
    send->begun = true;
    send->issued = send->moved = 0;
    if (sent)
        send->hooks = has_handle ? &hooks : &detached;
    send->context = sent;
    return send;
}

static void rts_send(uint32_t jobrank, aq_msg_head_t *head, gasnetx_Request_t send,
                     const gasnetx_params_t *params)
{
    head->address = (uintptr_t)send->call.memory;
    head->cookie = aq_request_cookie(send, jobrank);
    aq_msg_read_self(jobrank, head);
    aq_large_header_send(jobrank, head, params, NULL);
}

static int send_check(const char *name, const aq_msg_call_t *call, const gasnetx_params_t **params)
{
    const int error = aq_large_check(name, call->tm, call->rank, params);
    if (error)
        return error;
    if (call->bytes && !call->memory)
        return aq_msg_refuse(name, "the data are NULL");
    return aq_msg_check_bytes(name, call->bytes);
}

static aq_msg_protocol_t protocol_choose(const aq_msg_call_t *call)
{
    const uint32_t jobrank = aq_tm_jobrank(call->tm, call->rank);
    return aq_msg_credits_ask(jobrank, AQ_LARGE_COST, call->bytes,
                              aq_large_is_eager(jobrank, call->bytes));
}

static void message_send(const aq_msg_call_t *call, aq_msg_protocol_t protocol,
                         const gasnetx_params_t *params, sent_t *sent, gasnetx_Request_t *request)
{
    const uint32_t jobrank = aq_tm_jobrank(call->tm, call->rank);
    aq_msg_head_t head = {
        .team = aq_team_of(call->tm)->id, .tag = call->tag, .nbytes = call->bytes};
    if (request)
        *request = GASNETX_REQUEST_NULL;
    if (protocol == AQ_PROTOCOL_EAGER) {
        eager_send(jobrank, &head, call->memory, params, sent);
        return;
    }
    gasnetx_Request_t send = send_make(call, sent, request);
    if (request)
        *request = send;
    rts_send(jobrank, &head, send, params);
}

int gasnetx_Large_SendNB(gex_TM_t tm, gex_Rank_t rank, uint32_t id, const void *src, size_t nbytes,
                         const gasnetx_params_t *params, gasnetx_Large_SentFn_t fn, void *arg,
                         gasnetx_Request_t *request)
{
    const aq_msg_call_t call = {tm, rank, id, true, false, (void *)(uintptr_t)src, nbytes};
    const int error = send_check("gasnetx_Large_SendNB", &call, &params);
    if (error)
        return error;
    if (!fn && !request)
        return aq_msg_refuse("gasnetx_Large_SendNB", "a function or a request has to tell the end");
    const aq_msg_protocol_t protocol = protocol_choose(&call);
    if (protocol == AQ_PROTOCOL_REFUSED)
        return aq_msg_credits_refuse();
    message_send(&call, protocol, params, sent_make(fn, arg), request);
    return GASNET_OK;
}

int gasnetx_Large_Send(gex_TM_t tm, gex_Rank_t rank, uint32_t id, const void *src, size_t nbytes,
                       const gasnetx_params_t *params)
{
    const aq_msg_call_t call = {tm, rank, id, true, false, (void *)(uintptr_t)src, nbytes};
    gasnetx_Request_t request;
    aq_msg_protocol_t protocol;
    if (aq_large_inside())
        return aq_msg_refuse("gasnetx_Large_Send", "functions of large messages must not wait; use "
                                                   "gasnetx_Large_SendNB there");
    const int error = send_check("gasnetx_Large_Send", &call, &params);
    if (error)
        return error;
    while ((protocol = protocol_choose(&call)) == AQ_PROTOCOL_REFUSED)
        aq_msg_credits_await(aq_tm_jobrank(tm, rank), AQ_LARGE_COST);
    message_send(&call, protocol, params, NULL, &request);
    return gasnetx_Request_Wait(&request, NULL);
}
