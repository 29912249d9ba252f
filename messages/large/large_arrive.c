// SPDX-License-Identifier: BSD-3-Clause
// Headers of large messages that arrive: they become work in the order in which they were sent.
#include <string.h>

#include "../../core/am/am.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/ground/fatal.h"
#include "../../core/record/trace.h"
#include "../../core/record/traffic.h"
#include "../../extended/rma/layer_table.h"
#include "large_arrive.h"
#include "large_task.h"
#include "large_handle.h"
#include "large_header.h"
#include "large_forward.h"

static __attribute__((noreturn)) void header_refuse(uint32_t source, const char *why)
{
    aq_fatal("a large message of rank %u is wrong: %s", source, why);
}

// Copies a header into a message, with the parameters first for their alignment.
static gasnetx_Large_t message_make(const aq_large_header_t *header)
{
    const size_t params_bytes = header->params_bytes, types_size = strlen(header->types) + 1;
    gasnetx_Large_t message =
        aq_allocate_for_rank(sizeof *message + params_bytes + types_size + header->data_bytes,
                             "a large message of", header->head.source);
    *message = (struct gasnetx_large){.work = {.run = aq_large_handle},
                                      .order = {.number = header->head.number},
                                      .head = header->head};
    uint8_t *at = aq_large_bytes_append(message->memory, header->params, params_bytes);
    message->params = (gasnetx_params_t){message->memory, params_bytes, (const char *)at};
    at = aq_large_bytes_append(at, header->types, types_size);
    message->bytes = at;
    aq_large_bytes_append(at, header->params + params_bytes, header->data_bytes);
    return message;
}

static gasnetx_Large_t message_read(uint32_t source, const uint8_t *payload, size_t nbytes)
{
    aq_large_header_t header;
    const char *why = aq_large_header_read(payload, nbytes, &header);
    if (why)
        header_refuse(source, why);
    header.head.source = source;
    return message_make(&header);
}

static aq_large_work_t *work_of(aq_order_entry_t *entry)
{
    return (aq_large_work_t *)(void *)((char *)entry - offsetof(struct gasnetx_large, order));
}

static void header_append(aq_order_t *order, aq_order_entry_t *entry, unsigned mode)
{
    aq_large_work_t *work = work_of(entry);
    if (mode & GASNETX_MSG_STOPPED)
        work->run = aq_large_drop;
    aq_order_pass(order);
    aq_large_append(work);
}

// With the lock: adds the headers that are next in order to the work of the task, unless this rank
// has stopped. gasnetx_Msg_Mode sets the mode before it calls aq_large_headers_go_on, so that no
// header is left behind.
static void headers_append(aq_order_t *order)
{
    const unsigned mode = atomic_load_explicit(&aq_msg.mode, memory_order_relaxed);
    if (mode == GASNETX_MSG_STOPPED)
        return;
    for (aq_order_entry_t *entry; (entry = aq_order_take(order));)
        header_append(order, entry, mode);
}

static void on_header(gex_Token_t token, void *payload, size_t nbytes)
{
    const uint32_t source = token->arrival->source;
    const uint64_t begin = aq_trace_begin(AQ_TRACE_AM);
    gasnetx_Large_t message = message_read(source, payload, nbytes);
    const aq_msg_head_t head = message->head; // another thread may handle, and free, the message
    aq_msg_credits_arrive(source, aq_large_cost(&head));
    aq_traffic_received(source, AQ_ARRIVED_SENDS, head.nbytes);
    aq_lock_take(&aq_large.lock);
    aq_order_t *order = aq_large_order(source, true);
    const bool right = aq_order_keep(order, &message->order);
    headers_append(order);
    aq_lock_drop(&aq_large.lock);
    if (!right)
        header_refuse(source, "its number was here before");
    aq_trace_two_sided(AQ_TRACED_LARGE_RECEIVE, begin, source, head.nbytes, head.tag, head.number);
}

void aq_large_headers_go_on(void)
{
    aq_lock_take(&aq_large.lock);
    for (uint32_t i = 0; i < aq_job.size && aq_large_order(i, false); i++)
        headers_append(aq_large_order(i, false));
    aq_lock_drop(&aq_large.lock);
}

void aq_large_register(void)
{
    aq_large_task_start();
    aq_endpoint_internal(AQ_HANDLER_LARGE_HEADER, (gex_AM_Fn_t)on_header,
                         GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, "large message");
    aq_large_forward_register();
}
