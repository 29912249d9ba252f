// SPDX-License-Identifier: BSD-3-Clause
// The request that fetches the data of a large message, for large_handle.c and large_forward.c, and
// the end of the message: the client's completion function, the credits and the memory.
#include <stdlib.h>

#include "../../core/record/trace.h"
#include "../two_sided/request.h"
#include "large_message.h"

void aq_large_end(gasnetx_Large_t message)
{
    const aq_msg_head_t *head = &message->head;
    const uint64_t begin = aq_trace_begin(AQ_TRACE_AM);
    if (message->received)
        message->received(message->arg, head->nbytes, message->stored);
    aq_trace_two_sided(AQ_TRACED_LARGE_END, begin, head->source, head->nbytes, head->tag,
                       head->number);
    aq_msg_credits_leave(head->source, aq_large_cost(head));
    for (aq_large_child_t *child = message->children, *next; child; child = next) {
        next = child->next;
        if (child->send)
            aq_request_free(child->send);
        free(child);
    }
    free(message);
}

gasnetx_Request_t aq_large_receive(gasnetx_Large_t message, const aq_request_hooks_t *hooks)
{
    const aq_msg_call_t call = {.memory = message->dest, .bytes = message->stored};
    gasnetx_Request_t receive = aq_request_new(&call);
    receive->rts = message->head;
    receive->status.received = message->stored;
    receive->hooks = hooks;
    receive->context = message;
    return receive;
}
