// SPDX-License-Identifier: BSD-3-Clause
// Arrivals on streams: messages, which enter the inbox, and control messages.
#include <stdlib.h>
#include <string.h>

#include "../../core/am/am_args.h"
#include "../../core/am/am_send.h"
#include "../../core/ground/arg64.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/ground/fatal.h"
#include "../../core/record/traffic.h"
#include "../../extended/rma/layer_table.h"
#include "../../other/base/clock.h"
#include "../../other/base/minmax.h"
#include "stream_receive.h"
#include "stream_list.h"

// ---- checks ----

static gasnetx_Stream_t stream_check(uint32_t source, uint64_t id)
{
    gasnetx_Stream_t stream = aq_stream_find(id);
    if (!stream)
        aq_fatal("rank %u has sent a message of a stream that this rank does not have (0x%llx)",
                 source, (unsigned long long)id);
    return stream;
}

// The edge of the job rank that has sent a message. Ends the job if the rank is no neighbour.
static uint32_t edge_check(gasnetx_Stream_t stream, uint32_t source)
{
    const uint32_t parent = stream->children + 1;
    uint32_t low = 0, high = stream->children;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (stream->edges[middle].jobrank < source)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < stream->children && stream->edges[low].jobrank == source)
        return low;
    if (parent < stream->edge_count && stream->edges[parent].jobrank == source)
        return parent;
    aq_fatal("rank %u has sent a message of a stream in which it is no neighbour", source);
}

// ---- messages ----

void aq_stream_count_dropped(gasnetx_Stream_t stream, size_t nbytes)
{
    stream->counts.dropped_messages++;
    stream->counts.dropped_bytes += nbytes;
}

static bool edge_is_full(gasnetx_Stream_t stream, const aq_stream_edge_t *edge)
{
    return edge->kept.messages >= stream->keep.messages || edge->kept.bytes >= stream->keep.bytes;
}

// Whether to drop a message. Ends the job if the neighbour has sent more than there was room for,
// or sends after its end.
static bool arrival_is_dropped(gasnetx_Stream_t stream, const aq_stream_edge_t *edge)
{
    const bool full = edge_is_full(stream, edge);
    if (edge->ended && edge->arrived - edge->announced < 0x80000000u)
        aq_fatal("rank %u sends more messages on a stream than it has announced", edge->jobrank);
    if (aq_stream_drops(stream))
        return full || stream->stop.here;
    if (full)
        aq_fatal("rank %u sends more messages on a stream than there is room for (%u messages, "
                 "%zu bytes)",
                 edge->jobrank, edge->kept.messages, edge->kept.bytes);
    return false;
}

static void arrival_count(gasnetx_Stream_t stream, aq_stream_edge_t *edge, size_t nbytes)
{
    gasnetx_stream_counts_t *counts = &stream->counts;
    edge->kept.messages++;
    edge->kept.bytes += nbytes;
    counts->kept_messages++;
    counts->kept_bytes += nbytes;
    counts->most_messages = aq_max(counts->most_messages, edge->kept.messages);
    counts->most_bytes = aq_max(counts->most_bytes, edge->kept.bytes);
}

// With the lock: returns whether the message was kept.
static bool arrival_keep(gasnetx_Stream_t stream, aq_stream_edge_t *edge,
                         aq_stream_message_t *message)
{
    const aq_round_t *round = message->item.round;
    const uint64_t now = round && round->limit_ns != UINT64_MAX ? aq_clock_ns() : 0;
    const size_t nbytes = message->nbytes;
    switch (aq_inbox_arrive(&stream->inbox, &message->item, now)) {
    case AQ_ARRIVAL_TWICE:
        aq_fatal("rank %u has sent message %u of a stream twice", edge->jobrank,
                 message->item.number);
    case AQ_ARRIVAL_LATE:
        return false;
    case AQ_ARRIVAL_KEPT:
        arrival_count(stream, edge, nbytes);
        aq_stream_activate(stream);
    }
    return true;
}

// Chooses the handler of a message. Messages of this rank to itself skip handlers without
// GASNETX_STREAM_SELF.
static void handler_choose(gasnetx_Stream_t stream, aq_stream_message_t *message)
{
    const uint32_t edge = message->item.edge;
    const unsigned direction = edge > stream->children ? AQ_INBOX_DOWN : AQ_INBOX_UP;
    aq_stream_handler_t *handler = aq_stream_handler(stream, direction, message->id);
    if (handler && aq_stream_is_own(stream, edge) && !(handler->entry.flags & GASNETX_STREAM_SELF))
        handler = NULL;
    message->handler = handler;
    message->item.round = handler && handler->synchronizes ? &handler->round : NULL;
}

void aq_stream_arrive(gasnetx_Stream_t stream, aq_stream_message_t *message)
{
    aq_stream_edge_t *edge = &stream->edges[message->item.edge];
    const aq_trace_stream_t what = aq_stream_traced(stream, message);
    const uint64_t begin = aq_trace_begin(AQ_TRACE_AM);
    bool kept = false;
    handler_choose(stream, message);
    aq_traffic_received(what.peer, AQ_ARRIVED_STREAMS, what.bytes);
    aq_lock_take(&stream->lock);
    if (!arrival_is_dropped(stream, edge))
        kept = arrival_keep(stream, edge, message);
    edge->arrived++;
    if (!kept)
        aq_stream_count_dropped(stream, what.bytes);
    aq_lock_drop(&stream->lock);
    if (!kept)
        free(message);
    aq_trace_on_stream(AQ_TRACED_STREAM_RECEIVE, begin, &what);
}

static void on_message(gex_Token_t token)
{
    const aq_arrival_t *arrival = token->arrival;
    const uint32_t from = arrival->source;
    const size_t nbytes = arrival->nbytes;
    aq_args_t args = aq_args_of(token);
    gasnetx_Stream_t stream = stream_check(from, aq_args_64(&args));
    const uint32_t edge = edge_check(stream, from), number = (uint32_t)aq_args_32(&args);
    const uint32_t source = (uint32_t)aq_args_32(&args), handler = (uint32_t)aq_args_32(&args);
    const uint32_t params = (uint32_t)aq_args_32(&args), flags = (uint32_t)aq_args_32(&args);
    if (params > GASNETX_STREAM_PARAMS_MAX || aq_stream_filled(params) > nbytes ||
        source >= gex_TM_QuerySize(stream->tm) || handler > GASNETX_STREAM_SCAN)
        aq_fatal("a message of rank %u on a stream is wrong: handler 0x%x, source %u, %u bytes of "
                 "parameters in %zu",
                 from, handler, source, params, nbytes);
    aq_stream_message_t *message =
        aq_allocate_for_rank(sizeof *message + nbytes, "a message on a stream, of", from);
    *message = (aq_stream_message_t){.item = {.edge = edge, .number = number},
                                     .id = handler,
                                     .source = source,
                                     .params_bytes = params,
                                     .flags = flags & GASNETX_STREAM_COMBINED,
                                     .nbytes = nbytes};
    if (nbytes)
        memcpy(message->payload, arrival->payload, nbytes);
    aq_stream_arrive(stream, message);
}

// ---- control messages ----

void aq_stream_control(gasnetx_Stream_t stream, uint32_t to, aq_stream_control_t kind, uint64_t a,
                       uint64_t b)
{
    aq_stream_edge_t *edge = &stream->edges[to];
    const int32_t args[] = {aq_high(stream->id), aq_low(stream->id), (int32_t)kind, aq_high(a),
                            aq_low(a),           aq_high(b),         aq_low(b)};
    aq_lock_take(&stream->lock);
    edge->controls_sent++;
    aq_lock_drop(&stream->lock);
    aq_am_request_short(edge->jobrank, AQ_HANDLER_STREAM_CONTROL, 7, args, 0);
}

// With the lock: adds handled messages to the next credit. Returns the credit if it is due.
static aq_stream_load_t credit_take(gasnetx_Stream_t stream, aq_stream_edge_t *edge,
                                    aq_stream_load_t load)
{
    aq_stream_load_t credit = {0, 0};
    edge->handled.messages += load.messages;
    edge->handled.bytes += load.bytes;
    if (edge->handled.messages >= stream->keep.messages - stream->keep.messages / 2 ||
        edge->handled.bytes >= stream->keep.bytes - stream->keep.bytes / 2) {
        credit = edge->handled;
        edge->handled = (aq_stream_load_t){0, 0};
    }
    return credit;
}

// With the lock. Returns whether so much was under way to the neighbour.
static bool credit_apply(aq_stream_edge_t *edge, uint64_t messages, uint64_t bytes)
{
    if (messages > edge->underway.messages || bytes > edge->underway.bytes)
        return false;
    edge->underway.messages -= (uint32_t)messages;
    edge->underway.bytes -= bytes;
    return true;
}

void aq_stream_return_credits(gasnetx_Stream_t stream, uint32_t from, aq_stream_load_t load)
{
    aq_stream_edge_t *edge = &stream->edges[from];
    if (aq_stream_drops(stream))
        return;
    aq_lock_take(&stream->lock);
    const aq_stream_load_t credit = credit_take(stream, edge, load);
    if (aq_stream_is_own(stream, from) && credit_apply(edge, credit.messages, credit.bytes))
        aq_stream_activate(stream);
    aq_lock_drop(&stream->lock);
    if (credit.messages && !aq_stream_is_own(stream, from))
        aq_stream_control(stream, from, AQ_STREAM_CREDIT, credit.messages, credit.bytes);
}

// With the lock: a neighbour has stopped or started receiving. Such messages may overtake each
// other.
static void stop_note(gasnetx_Stream_t stream, aq_stream_edge_t *edge, uint32_t serial,
                      bool stopped)
{
    if ((int32_t)(serial - edge->stop_serial) <= 0)
        return;
    edge->stop_serial = serial;
    edge->stopped = stopped;
    stream->stop.news = stream->spec.on_stop != NULL;
}

static bool end_note(bool *ended, uint32_t *announced, uint64_t count)
{
    const bool first = !*ended;
    *ended = true;
    *announced = (uint32_t)count;
    return first;
}

// With the lock. Returns false if the message is wrong.
static bool control_note(gasnetx_Stream_t stream, aq_stream_edge_t *edge, aq_stream_control_t kind,
                         uint64_t a, uint64_t b)
{
    edge->controls_arrived++;
    switch (kind) {
    case AQ_STREAM_CREDIT:
        return credit_apply(edge, a, b);
    case AQ_STREAM_STOP:
        stop_note(stream, edge, (uint32_t)a, b != 0);
        return true;
    case AQ_STREAM_END:
        return end_note(&edge->ended, &edge->announced, a);
    case AQ_STREAM_BYE:
        return end_note(&edge->gone, &edge->controls_announced, a);
    }
    return false;
}

static void on_control(gex_Token_t token)
{
    const uint32_t from = token->arrival->source;
    aq_args_t args = aq_args_of(token);
    gasnetx_Stream_t stream = stream_check(from, aq_args_64(&args));
    aq_stream_edge_t *edge = &stream->edges[edge_check(stream, from)];
    const aq_stream_control_t kind = (aq_stream_control_t)aq_args_32(&args);
    const uint64_t a = aq_args_64(&args), b = aq_args_64(&args);
    aq_lock_take(&stream->lock);
    const bool right = control_note(stream, edge, kind, a, b);
    aq_stream_activate(stream);
    aq_lock_drop(&stream->lock);
    if (!right)
        aq_fatal("a control message of rank %u on a stream is wrong (kind %d)", from, (int)kind);
}

void aq_stream_receive_register(void)
{
    aq_endpoint_internal_bare(AQ_HANDLER_STREAM_MESSAGE, on_message,
                              GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 7, "message of a stream");
    aq_endpoint_internal_bare(AQ_HANDLER_STREAM_CONTROL, on_control,
                              GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 7, "control of a stream");
}

// ---- stop and start ----

// Stops or starts the handlers of this rank, and tells all neighbours.
static int receiving_set(const char *call, gasnetx_Stream_t stream, bool stopped)
{
    if (aq_stream_check(call, stream, true))
        return GASNET_ERR_BAD_ARG;
    aq_lock_take(&stream->lock);
    const bool changes = stream->stop.here != stopped;
    stream->stop.here = stopped;
    const uint32_t serial = stream->stop.serial += changes;
    aq_stream_activate(stream);
    aq_lock_drop(&stream->lock);
    for (uint32_t i = 0; changes && i < stream->edge_count; i++)
        if (!aq_stream_is_own(stream, i))
            aq_stream_control(stream, i, AQ_STREAM_STOP, serial, stopped);
    return GASNET_OK;
}

int gasnetx_Stream_Stop(gasnetx_Stream_t stream)
{
    return receiving_set("gasnetx_Stream_Stop", stream, true);
}

int gasnetx_Stream_Start(gasnetx_Stream_t stream)
{
    return receiving_set("gasnetx_Stream_Start", stream, false);
}
