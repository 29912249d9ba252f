// SPDX-License-Identifier: BSD-3-Clause
// Peer completion of non-contiguous puts: a handler of the client, like the handler of a reply,
// that runs at the target after the data has arrived.
//
//     pieces of the put --> [target] --> all acknowledged --> Medium request: run handler h
#include <stdlib.h>
#include <string.h>

#include "../../core/memory/access.h"
#include "../../core/am/am_encapsulated.h"
#include "../../core/ground/arg64.h"
#include "../../core/ground/bounds.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/thread/event.h"
#include "../../core/ground/fatal.h"
#include "../../core/progress/deferred.h"
#include "../gasnet_vis.h"
#include "../rma/layer_table.h"
#include "vis_notice.h"
#include "../../core/am/am_send.h"

static _Thread_local aq_vis_notice_t armed __attribute__((tls_model("initial-exec")));

void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *source_addr,
                                      size_t nbytes, gex_Flags_t flags)
{
    (void)flags;
    AQ_CHECK(!handler || handler >= GEX_AM_INDEX_BASE,
             "gex_VIS_SetPeerCompletionHandler: handler index %u is below GEX_AM_INDEX_BASE (%d)",
             handler, GEX_AM_INDEX_BASE);
    if (handler)
        aq_bounds_bytes("gex_VIS_SetPeerCompletionHandler", nbytes, GEX_VIS_MAX_PEERCOMPLETION);
    armed = (aq_vis_notice_t){handler, source_addr, nbytes};
}

aq_vis_notice_t aq_vis_notice_take(void)
{
    aq_vis_notice_t notice = armed;
    armed.handler = 0;
    return notice;
}

// [upper bits of the number for the trace, 0: none][handler, 8 bits], [lower bits of the number]
enum { ARGS = 2, HANDLER_BITS = 8 };

void aq_vis_notice_send(const aq_vis_notice_t *notice, uint32_t jobrank)
{
    aq_am_t run = {.nbytes = notice->nbytes,
                   .category = AQ_AM_MEDIUM,
                   .handler = notice->handler,
                   .reply = true};
    const aq_encapsulated_t encapsulated = aq_encapsulated_begin(0, jobrank, &run);
    const int32_t args[ARGS] = {
        (int32_t)((uint32_t)(encapsulated.number >> 32) << HANDLER_BITS | notice->handler),
        aq_low(encapsulated.number)};
    aq_am_t am = {.args = args,
                  .payload = notice->payload,
                  .nbytes = notice->nbytes,
                  .category = AQ_AM_MEDIUM,
                  .handler = AQ_HANDLER_VIS_NOTICE,
                  .nargs = ARGS};
    (void)aq_encapsulated_end(&encapsulated, aq_am_request(jobrank, &am, 0));
}

static void on_notice(gex_Token_t token, void *payload, size_t nbytes, int32_t what, int32_t number)
{
    const uint32_t handler = (uint32_t)what & UINT8_MAX, upper = (uint32_t)what >> HANDLER_BITS;
    if (handler < GEX_AM_INDEX_BASE)
        aq_fatal(
            "a peer completion of rank %u names handler %u, which is not a handler of the client",
            token->arrival->source, handler);
    aq_arrival_t arrival = {.payload = payload,
                            .nbytes = nbytes,
                            .source = token->arrival->source,
                            .category = AQ_AM_MEDIUM,
                            .handler = (uint8_t)handler,
                            .reply = true};
    aq_encapsulated_deliver(&arrival, (aq_ep_pair_t){0}, AQ_TAG_NONE,
                            (uint64_t)upper << 32 | (uint32_t)number);
}

// ---- notices that wait for the pieces of their put ----

typedef struct waiting {
    aq_deferred_t deferred;
    aq_event_t *pieces;
    gex_Event_t part;
    uint32_t jobrank;
    aq_vis_notice_t notice;
    char payload[GEX_VIS_MAX_PEERCOMPLETION];
} waiting_t;

static bool notice_ready(aq_deferred_t *deferred)
{
    return aq_event_finished(((waiting_t *)deferred)->pieces, ~0u);
}

// Sends the notice once the put is complete. A failed put sends none; its error goes to the event
// of the client.
static bool notice_end(aq_deferred_t *deferred)
{
    waiting_t *w = (waiting_t *)deferred;
    if (!aq_access_pass_on(aq_event_part(w->pieces, AQ_PART_PUT), w->part))
        aq_vis_notice_send(&w->notice, w->jobrank);
    aq_event_free(w->pieces);
    aq_event_end(w->part);
    free(w);
    return true;
}

void aq_vis_notice_later(const aq_vis_notice_t *notice, uint32_t jobrank, aq_event_t *pieces,
                         gex_Event_t part)
{
    waiting_t *w = aq_allocate(sizeof *w, "a peer completion");
    w->deferred = (aq_deferred_t){.ready = notice_ready, .run = notice_end};
    w->pieces = pieces;
    w->part = part;
    w->jobrank = jobrank;
    w->notice = *notice;
    w->notice.payload = w->payload;
    if (notice->nbytes)
        memcpy(w->payload, notice->payload, notice->nbytes);
    aq_event_begin(part);
    aq_deferred_add(&w->deferred);
}

void aq_vis_notice_register(void)
{
    aq_endpoint_internal(AQ_HANDLER_VIS_NOTICE, (gex_AM_Fn_t)on_notice,
                         GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, ARGS, "VIS notice");
}
