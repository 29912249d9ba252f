// Put and get over active messages, for conduits that have no better way.
//
//     put:  Long request with a piece --> [target copies it] --> Short reply: one piece done
//     get:  Short request for a piece --> [target] --> Medium reply with it: copied, one piece done
#include <string.h>

#include "../core/am.h"
#include "../core/endpoint.h"
#include "../core/event.h"
#include "../core/job.h"
#include "../core/layers.h"
#include "../core/words.h"
#include "gasnetex.h"
#include "handlers.h"
#include "rma.h"

static void on_put(gex_Token_t token, void *payload, size_t nbytes, int32_t part_high,
                   int32_t part_low)
{
    (void)payload, (void)nbytes;
    gex_AM_ReplyShort2(token, AQ_HANDLER_PUT_DONE, 0, part_high, part_low);
}

static void on_put_done(gex_Token_t token, int32_t part_high, int32_t part_low)
{
    (void)token;
    aq_event_end(aq_join_pointer(part_high, part_low));
}

static void on_get(gex_Token_t token, int32_t src_high, int32_t src_low, int32_t nbytes,
                   int32_t dest_high, int32_t dest_low, int32_t part_high, int32_t part_low)
{
    gex_AM_ReplyMedium4(token, AQ_HANDLER_GET_DONE, aq_join_pointer(src_high, src_low),
                        (uint32_t)nbytes, GEX_EVENT_NOW, 0, dest_high, dest_low, part_high,
                        part_low);
}

static void on_get_done(gex_Token_t token, void *payload, size_t nbytes, int32_t dest_high,
                        int32_t dest_low, int32_t part_high, int32_t part_low)
{
    (void)token;
    aq_event_follow(aq_join_pointer(part_high, part_low));
    memcpy(aq_join_pointer(dest_high, dest_low), payload, nbytes);
    aq_event_end(aq_join_pointer(part_high, part_low));
}

// Sends one piece. Only the first may fail for IMMEDIATE's sake: after it the operation has begun.
static int send_piece(const aq_rma_t *rma, const aq_am_t *am, gex_Event_t part, bool first)
{
    aq_event_begin(part);
    if (aq_am_request(rma->rank, am, first ? rma->flags & GEX_FLAG_IMMEDIATE : 0) == 0)
        return 0;
    aq_event_end(part);
    return 1;
}

static size_t piece_at(const aq_rma_t *rma, size_t offset, size_t limit)
{
    size_t rest = rma->nbytes - offset;
    return rest < limit ? rest : limit;
}

static int put(const aq_rma_t *rma, gex_Event_t part)
{
    int32_t args[] = {aq_high((uintptr_t)part), aq_low((uintptr_t)part)};
    for (size_t offset = 0, n; offset < rma->nbytes; offset += n) {
        n = piece_at(rma, offset, aq_job.max_long_unmapped);
        aq_am_t am = {.args = args,
                      .payload = (char *)rma->local + offset,
                      .nbytes = n,
                      .dest = (char *)rma->remote + offset,
                      .category = AQ_AM_LONG,
                      .handler = AQ_HANDLER_PUT,
                      .nargs = 2};
        if (send_piece(rma, &am, part, offset == 0))
            return 1;
    }
    return 0;
}

static int get(const aq_rma_t *rma, gex_Event_t part)
{
    for (size_t offset = 0, n; offset < rma->nbytes; offset += n) {
        n = piece_at(rma, offset, aq_job.max_medium);
        const char *src = (char *)rma->remote + offset, *dest = (char *)rma->local + offset;
        int32_t args[] = {
            aq_high((uintptr_t)src),  aq_low((uintptr_t)src),  (int32_t)n,
            aq_high((uintptr_t)dest), aq_low((uintptr_t)dest), aq_high((uintptr_t)part),
            aq_low((uintptr_t)part)};
        aq_am_t am = {.args = args, .category = AQ_AM_SHORT, .handler = AQ_HANDLER_GET, .nargs = 7};
        if (send_piece(rma, &am, part, offset == 0))
            return 1;
    }
    return 0;
}

const aq_rma_method_t aq_rma_over_am = {put, get};

static void start(void)
{
    aq_endpoint_internal(AQ_HANDLER_PUT, (gex_AM_Fn_t)on_put,
                         GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 2, "put");
    aq_endpoint_internal(AQ_HANDLER_PUT_DONE, (gex_AM_Fn_t)on_put_done,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 2, "put done");
    aq_endpoint_internal(AQ_HANDLER_GET, (gex_AM_Fn_t)on_get,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 7, "get");
    aq_endpoint_internal(AQ_HANDLER_GET_DONE, (gex_AM_Fn_t)on_get_done,
                         GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 4, "get done");
}

static __attribute__((constructor)) void add_layer(void)
{
    static aq_layer_t layer = {start, NULL};
    aq_layers_add(&layer);
}
