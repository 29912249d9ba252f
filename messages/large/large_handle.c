// SPDX-License-Identifier: BSD-3-Clause
// The receiver of large messages: runs their handlers, which say where the data go.
#include <string.h>

#include "../../core/ground/fatal.h"
#include "../../core/record/trace.h"
#include "../../other/base/minmax.h"
#include "large_handle.h"
#include "large_task.h"
#include "large_header.h"
#include "large_message.h"
#include "large_send.h"
#include "large_table.h"
#include "large_forward.h"
#include "../two_sided/request.h"
#include "../two_sided/msg_rndv_get.h"
#include "../two_sided/msg_check.h"

// The message whose handler runs in this thread.
static _Thread_local gasnetx_Large_t running;

static gasnetx_Large_t message_of(aq_large_work_t *work)
{
    return (gasnetx_Large_t)(void *)work;
}

// ---- the data of a message that is not forwarded ----

static aq_large_turn_t message_end(aq_large_work_t *work)
{
    aq_large_end(message_of(work));
    return AQ_LARGE_OVER;
}

static void receive_complete(gasnetx_Request_t receive)
{
    gasnetx_Large_t message = receive->context;
    aq_request_free(receive);
    message->work.run = message_end;
    aq_large_add(&message->work);
}

static void data_get(gasnetx_Large_t message)
{
    static const aq_request_hooks_t hooks = {.complete = receive_complete};
    aq_msg_rndv_get(aq_large_receive(message, &hooks));
    aq_msg_rndv_gets_turn();
}

// ---- handlers ----

static gasnetx_large_info_t info_of(gasnetx_Large_t message, aq_team_t *team)
{
    const aq_msg_head_t *head = &message->head;
    const gex_Rank_t rank = gex_TM_TranslateJobrankToRank(&team->head, head->source);
    if (rank == GEX_RANK_INVALID)
        aq_fatal("a large message of rank %u is wrong: the rank is no member of its team",
                 head->source);
    return (gasnetx_large_info_t){.tm = &team->head,
                                  .rank = rank,
                                  .id = head->tag,
                                  .nbytes = head->nbytes,
                                  .params = message->params};
}

static void handler_run(gasnetx_Large_t message, aq_team_t *team)
{
    const gasnetx_large_info_t info = info_of(message, team);
    const gasnetx_Large_Fn_t fn = aq_large_function(&message->head, message->params.types);
    const aq_msg_head_t *head = &message->head;
    const uint64_t begin = aq_trace_begin(AQ_TRACE_AM);
    running = message;
    fn(message, &info);
    running = NULL;
    aq_trace_two_sided(AQ_TRACED_LARGE_HANDLER, begin, head->source, head->nbytes, head->tag,
                       head->number);
}

// Runs the handler of a message, or waits if this process has not made the team yet, although the
// sender has.
aq_large_turn_t aq_large_handle(aq_large_work_t *work)
{
    gasnetx_Large_t message = message_of(work);
    aq_team_t *team = aq_team_find(message->head.team);
    if (aq_large_is_behind(message, !team) || !team)
        return AQ_LARGE_WAITS;
    handler_run(message, team);
    if (!message->head.cookie) {
        if (message->stored)
            memcpy(message->dest, message->bytes, message->stored);
        aq_large_end(message);
    } else if (message->children)
        aq_large_forward_begin(message);
    else
        data_get(message);
    return AQ_LARGE_OVER;
}

aq_large_turn_t aq_large_drop(aq_large_work_t *work)
{
    gasnetx_Large_t message = message_of(work);
    aq_lock_take(&aq_msg.lock);
    aq_msg_credits_drop(message->head.nbytes);
    aq_lock_drop(&aq_msg.lock);
    if (message->head.cookie)
        data_get(message);
    else
        aq_large_end(message);
    return AQ_LARGE_OVER;
}

// ---- what handlers call ----

static int message_refuse(const char *call)
{
    return aq_msg_refuse(call, "only the handler of a message may say where its data go");
}

int gasnetx_Large_Receive(gasnetx_Large_t message, void *dest, size_t capacity,
                          gasnetx_Large_ReceivedFn_t received, void *arg)
{
    aq_job_need("gasnetx_Large_Receive");
    if (!message || message != running)
        return message_refuse("gasnetx_Large_Receive");
    if (message->named)
        return aq_msg_refuse("gasnetx_Large_Receive", "the handler has named memory already");
    if (capacity && !dest)
        return aq_msg_refuse("gasnetx_Large_Receive", "the memory is NULL");
    message->named = true;
    message->dest = dest;
    message->stored = aq_min(message->head.nbytes, capacity);
    message->received = received;
    message->arg = arg;
    return GASNET_OK;
}

static bool is_destination(gasnetx_Large_t message, uint32_t jobrank)
{
    const aq_large_child_t *child = message->children;
    while (child && child->jobrank != jobrank)
        child = child->next;
    return child;
}

static aq_large_child_t *child_add(gasnetx_Large_t message, uint32_t jobrank)
{
    aq_large_child_t *child =
        aq_allocate_for_rank(sizeof *child, "a message that is forwarded to", jobrank);
    *child = (aq_large_child_t){.message = message, .jobrank = jobrank, .next = message->children};
    message->children = child;
    return child;
}

int gasnetx_Large_Forward(gasnetx_Large_t message, gex_TM_t tm, gex_Rank_t rank, uint32_t id,
                          const gasnetx_params_t *params)
{
    const int error = aq_large_check("gasnetx_Large_Forward", tm, rank, &params);
    if (error)
        return error;
    if (!message || message != running)
        return message_refuse("gasnetx_Large_Forward");
    const uint32_t jobrank = aq_tm_jobrank(tm, rank);
    if (is_destination(message, jobrank))
        return aq_msg_refuse("gasnetx_Large_Forward",
                             "the message is forwarded to this rank already");
    aq_msg_head_t head = {.team = aq_team_of(tm)->id, .tag = id, .nbytes = message->head.nbytes};
    aq_large_forward(child_add(message, jobrank), &head, params);
    return GASNET_OK;
}
