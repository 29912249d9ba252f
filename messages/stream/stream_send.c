// SPDX-License-Identifier: BSD-3-Clause
// Sends on streams. A message enters the list of each edge and leaves it at once if there is room.
// Only messages that handlers send may wait in the list for room.
#include <stdlib.h>
#include <string.h>

#include "../../core/am/am_send.h"
#include "../../core/ground/arg64.h"
#include "../../core/record/counters.h"
#include "../../core/ground/fatal.h"
#include "../../core/progress/progress.h"
#include "../../core/record/trace.h"
#include "../../extended/rma/layer_table.h"
#include "stream_send.h"
#include "stream_list.h"
#include "stream_receive.h"

// ---- messages ----

static aq_stream_message_t *message_make(const aq_stream_parcel_t *parcel)
{
    const size_t filled = aq_stream_filled(parcel->params_bytes), nbytes = filled + parcel->nbytes;
    aq_stream_message_t *message =
        aq_allocate(sizeof *message + nbytes, "a message that a stream sends");
    memset(message, 0, sizeof *message + filled);
    message->id = parcel->id;
    message->source = parcel->source;
    message->flags = parcel->flags;
    message->params_bytes = (uint32_t)parcel->params_bytes;
    message->nbytes = nbytes;
    if (parcel->params_bytes)
        memcpy(message->payload, parcel->params, parcel->params_bytes);
    if (parcel->nbytes)
        memcpy(message->payload + filled, parcel->data, parcel->nbytes);
    return message;
}

static void messages_free(aq_item_list_t *messages)
{
    for (aq_item_t *item; (item = aq_items_take(messages)) != NULL;)
        free(item);
}

// Passes a message to the core. Returns whether the core had room.
static bool message_send(gasnetx_Stream_t stream, const aq_stream_message_t *message,
                         gex_Flags_t flags)
{
    const int32_t args[] = {aq_high(stream->id),           aq_low(stream->id),
                            (int32_t)message->item.number, (int32_t)message->source,
                            (int32_t)message->id,          (int32_t)message->params_bytes,
                            (int32_t)message->flags};
    aq_am_t am = {.args = args,
                  .payload = message->payload,
                  .nbytes = message->nbytes,
                  .category = AQ_AM_MEDIUM,
                  .handler = AQ_HANDLER_STREAM_MESSAGE,
                  .nargs = 7};
    return aq_am_request(stream->edges[message->item.edge].jobrank, &am, flags) == 0;
}

// ---- room, all with the lock ----

static bool edge_has_room(gasnetx_Stream_t stream, const aq_stream_edge_t *edge)
{
    return aq_stream_drops(stream) || (edge->underway.messages < edge->room.messages &&
                                       edge->underway.bytes < edge->room.bytes);
}

// Whether the first message that waits may leave. A message that only the core had no room for has
// its room at the neighbour already.
static bool edge_can_send(gasnetx_Stream_t stream, const aq_stream_edge_t *edge)
{
    const aq_stream_message_t *first = (const aq_stream_message_t *)(void *)edge->outgoing.first;
    return first && (first->numbered || edge_has_room(stream, edge));
}

// Whether a message could leave at once.
static bool edge_is_free(gasnetx_Stream_t stream, const aq_stream_edge_t *edge)
{
    return !edge->outgoing.first && edge_has_room(stream, edge);
}

// Whether a message of a handler may wait.
static bool edge_may_wait(gasnetx_Stream_t stream, const aq_stream_edge_t *edge)
{
    return aq_stream_in_handler && edge->waiting.messages < stream->keep.messages &&
           edge->waiting.bytes < stream->keep.bytes;
}

static bool span_has_room(gasnetx_Stream_t stream, aq_stream_span_t span)
{
    for (uint32_t i = span.first; i < span.first + span.count; i++) {
        const aq_stream_edge_t *edge = &stream->edges[i];
        if (!edge_is_free(stream, edge) && !edge_may_wait(stream, edge))
            return false;
    }
    return true;
}

bool aq_stream_waits(gasnetx_Stream_t stream, aq_stream_span_t span)
{
    for (uint32_t i = span.first; i < span.first + span.count; i++)
        if (stream->edges[i].outgoing.first)
            return true;
    return false;
}

bool aq_stream_can_flush(gasnetx_Stream_t stream)
{
    for (uint32_t i = 0; i < stream->edge_count; i++) {
        const aq_stream_edge_t *edge = &stream->edges[i];
        if (edge_can_send(stream, edge))
            return true;
    }
    return false;
}

static void message_add(gasnetx_Stream_t stream, uint32_t to, aq_stream_message_t *message)
{
    aq_stream_edge_t *edge = &stream->edges[to];
    message->item.edge = to;
    aq_items_append(&edge->outgoing, &message->item);
    edge->waiting.messages++;
    edge->waiting.bytes += message->nbytes;
    stream->counts.sent_messages++;
    stream->counts.sent_bytes += message->nbytes;
}

// ---- sending ----

// With the lock: gives a message its number, and takes room for it at the neighbour.
static void message_number(aq_stream_edge_t *edge, aq_stream_message_t *message)
{
    message->numbered = true;
    message->item.number = edge->sent++;
    edge->underway.messages++;
    edge->underway.bytes += message->nbytes;
}

// Takes the next message that may leave; NULL: there is none.
static aq_stream_message_t *outgoing_take(gasnetx_Stream_t stream, aq_stream_edge_t *edge)
{
    aq_stream_message_t *message = NULL;
    aq_lock_take(&stream->lock);
    if (edge_can_send(stream, edge)) {
        message = (aq_stream_message_t *)(void *)aq_items_take(&edge->outgoing);
        edge->waiting.messages--;
        edge->waiting.bytes -= message->nbytes;
        if (!message->numbered)
            message_number(edge, message);
    }
    aq_lock_drop(&stream->lock);
    return message;
}

// Puts a message back that the core had no room for; the task tries again.
static void outgoing_put_back(gasnetx_Stream_t stream, aq_stream_edge_t *edge,
                              aq_stream_message_t *message)
{
    aq_lock_take(&stream->lock);
    aq_items_prepend(&edge->outgoing, &message->item);
    edge->waiting.messages++;
    edge->waiting.bytes += message->nbytes;
    aq_stream_activate(stream);
    aq_lock_drop(&stream->lock);
}

// Passes a message to its edge, or puts it back. Returns whether it has left.
static bool outgoing_leave(gasnetx_Stream_t stream, aq_stream_edge_t *edge,
                           aq_stream_message_t *message, gex_Flags_t flags)
{
    if (aq_stream_is_own(stream, message->item.edge)) {
        aq_stream_arrive(stream, message);
        return true;
    }
    const bool sent = message_send(stream, message, flags);
    if (sent)
        free(message);
    else
        outgoing_put_back(stream, edge, message);
    return sent;
}

bool aq_stream_flush(gasnetx_Stream_t stream, uint32_t to, gex_Flags_t flags)
{
    bool sent = false;
    aq_stream_edge_t *edge = &stream->edges[to];
    for (aq_stream_message_t *message; (message = outgoing_take(stream, edge)) != NULL;) {
        const aq_trace_stream_t what = aq_stream_traced(stream, message);
        const uint64_t begin = aq_trace_begin(AQ_TRACE_AM);
        if (!outgoing_leave(stream, edge, message, flags))
            break;
        aq_count_bytes_to(edge->jobrank, AQ_COUNT_STREAM, AQ_COUNT_STREAM_BYTES, what.bytes);
        aq_trace_on_stream(AQ_TRACED_STREAM_SEND, begin, &what);
        sent = true;
    }
    return sent;
}

// Adds a message to all edges of a span, or to none.
static bool span_try(gasnetx_Stream_t stream, aq_stream_span_t span, aq_item_list_t *messages,
                     gex_Flags_t flags)
{
    aq_lock_take(&stream->lock);
    const bool room = (flags & AQ_STREAM_ALWAYS) || span_has_room(stream, span);
    for (uint32_t i = 0; room && i < span.count; i++)
        message_add(stream, span.first + i, (aq_stream_message_t *)(void *)aq_items_take(messages));
    stream->counts.refused += !room && (flags & GEX_FLAG_IMMEDIATE);
    aq_lock_drop(&stream->lock);
    return room;
}

typedef struct room_wait {
    gasnetx_Stream_t stream;
    aq_stream_span_t span;
} room_wait_t;

static bool room_is_there(void *context)
{
    const room_wait_t *wait = context;
    aq_lock_take(&wait->stream->lock);
    const bool room = span_has_room(wait->stream, wait->span);
    aq_lock_drop(&wait->stream->lock);
    return room;
}

// Waits for room, unless flags has IMMEDIATE, and adds a message to all edges.
static int span_add(gasnetx_Stream_t stream, aq_stream_span_t span, aq_item_list_t *messages,
                    gex_Flags_t flags)
{
    room_wait_t wait = {stream, span};
    while (!span_try(stream, span, messages, flags)) {
        if (flags & GEX_FLAG_IMMEDIATE)
            return GASNET_ERR_RESOURCE;
        aq_progress_wait_until(room_is_there, &wait,
                               aq_wait_word(AQ_WAIT_ROOM, stream->edges[span.first].jobrank), NULL);
    }
    return GASNET_OK;
}

int aq_stream_send(gasnetx_Stream_t stream, aq_stream_span_t span, const aq_stream_parcel_t *parcel,
                   gex_Flags_t flags)
{
    aq_item_list_t messages = {NULL, NULL};
    if (aq_stream_in_handler)
        flags |= GEX_FLAG_IMMEDIATE;
    for (uint32_t i = 0; i < span.count; i++)
        aq_items_append(&messages, &message_make(parcel)->item);
    const int error = span_add(stream, span, &messages, flags);
    messages_free(&messages);
    for (uint32_t i = 0; !error && i < span.count; i++)
        (void)aq_stream_flush(stream, span.first + i, flags & GEX_FLAG_IMMEDIATE);
    return error;
}
