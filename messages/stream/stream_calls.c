// SPDX-License-Identifier: BSD-3-Clause
// The calls that send on streams.
#include "../../core/ground/errors.h"
#include "../two_sided/msg_check.h"
#include "stream_list.h"
#include "stream_send.h"

static int send_checked(const char *call, gasnetx_Stream_t stream, aq_stream_span_t span,
                        const aq_stream_parcel_t *parcel, gex_Flags_t flags)
{
    if (parcel->id > GASNETX_STREAM_ID_MAX)
        return aq_msg_refuse(call, "ids of handlers are 0 to GASNETX_STREAM_ID_MAX");
    if (parcel->params_bytes > GASNETX_STREAM_PARAMS_MAX ||
        parcel->nbytes > stream->info.max_bytes - aq_stream_filled(parcel->params_bytes))
        return aq_msg_refuse(call, "the message is too long; gasnetx_Stream_Query says how long "
                                   "messages may be");
    if (!span.count)
        return aq_msg_refuse(call, "this rank has no such neighbour in the stream");
    if (stream->closed[span.first >= stream->children ? AQ_INBOX_UP : AQ_INBOX_DOWN])
        return aq_msg_refuse(call, "the stream is being freed");
    const int error = aq_stream_send(stream, span, parcel, flags);
    return error ? aq_refuse(error, "%s: there is no room for the message now", call) : error;
}

// Whether earlier sends of this rank wait at this rank itself, in rounds. On an ordered stream a
// later send of the client must not overtake them, so it is sent to this rank, too.
static bool own_sends_wait(gasnetx_Stream_t stream)
{
    const aq_stream_edge_t *own = &stream->edges[stream->children];
    aq_lock_take(&stream->lock);
    const bool wait = own->kept.messages || own->outgoing.first;
    aq_lock_drop(&stream->lock);
    return wait && (stream->flags & GASNETX_STREAM_ORDERED) && !aq_stream_in_handler;
}

// The edges of a send up: this rank itself if its handler takes part like a child's.
static aq_stream_span_t up_span(gasnetx_Stream_t stream, uint32_t id)
{
    const aq_stream_handler_t *handler = aq_stream_handler(stream, AQ_INBOX_UP, id);
    const bool takes_part = handler && (handler->entry.flags & GASNETX_STREAM_SELF);
    if (takes_part || (aq_stream_has_parent(stream) && own_sends_wait(stream)))
        return (aq_stream_span_t){stream->children, 1};
    return aq_stream_span(stream, AQ_INBOX_UP);
}

int gasnetx_Stream_Send(gasnetx_Stream_t stream, unsigned direction, uint32_t id, const void *data,
                        size_t nbytes, const void *params, size_t params_bytes, gex_Flags_t flags)
{
    static const char call[] = "gasnetx_Stream_Send";
    if (aq_stream_check(call, stream, true))
        return GASNET_ERR_BAD_ARG;
    const aq_stream_parcel_t parcel = {id, stream->rank, 0, data, params, nbytes, params_bytes};
    if (direction == GASNETX_UP && id == GASNETX_STREAM_BARRIER) {
        const gasnetx_stream_group_t barrier = {.id = id};
        return gasnetx_Stream_SendRecv(stream, &barrier, params, params_bytes, NULL);
    }
    if (direction == GASNETX_DOWN)
        return send_checked(call, stream, aq_stream_span(stream, AQ_INBOX_DOWN), &parcel, flags);
    if (direction != GASNETX_UP)
        return aq_msg_refuse(call, "the direction is GASNETX_UP or GASNETX_DOWN");
    return send_checked(call, stream, up_span(stream, id), &parcel, flags);
}

int gasnetx_Stream_SendTo(gasnetx_Stream_t stream, gex_Rank_t neighbour, uint32_t id,
                          const void *data, size_t nbytes, const void *params, size_t params_bytes,
                          gex_Flags_t flags)
{
    static const char call[] = "gasnetx_Stream_SendTo";
    if (aq_stream_check(call, stream, true))
        return GASNET_ERR_BAD_ARG;
    const aq_stream_parcel_t parcel = {id, stream->rank, 0, data, params, nbytes, params_bytes};
    aq_stream_span_t span = {0, 0};
    for (uint32_t i = 0; i < stream->edge_count; i++)
        if (!aq_stream_is_own(stream, i) && stream->edges[i].rank == neighbour)
            span = (aq_stream_span_t){i, 1};
    return send_checked(call, stream, span, &parcel, flags);
}
