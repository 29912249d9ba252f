// SPDX-License-Identifier: BSD-3-Clause
// Put and get over active messages, for conduits that have no better way.
//
//     put:  Long request with a piece --> [target copies it] --> Short reply: one piece done
//     get:  Short request for a piece --> [target] --> Medium reply with it: copied, one piece done
#include <string.h>

#include "../../core/endpoint/endpoint.h"
#include "../../core/thread/event.h"
#include "../../core/state/job.h"
#include "../../core/ground/arg64.h"
#include "../gasnetex.h"
#include "layer_table.h"
#include "pending.h"
#include "rma.h"
#include "../../other/base/minmax.h"
#include "../../core/am/am_answer.h"

// The conduit has checked that the payload goes into a segment before it wrote the payload.
static void on_put(gex_Token_t token, void *payload, size_t nbytes, int32_t cookie_high,
                   int32_t cookie_low)
{
    (void)payload, (void)nbytes;
    aq_am_answer(token, AQ_HANDLER_PUT_DONE, 2, (const int32_t[]){cookie_high, cookie_low});
}

static void on_put_done(gex_Token_t token, int32_t cookie_high, int32_t cookie_low)
{
    aq_event_end(aq_pending_end(AQ_PENDING_PUT, token, aq_join(cookie_high, cookie_low)).context);
}

static void on_get(gex_Token_t token, int32_t src_high, int32_t src_low, int32_t size,
                   int32_t cookie_high, int32_t cookie_low)
{
    const size_t nbytes = aq_pending_get_size(token, size);
    const void *src = aq_join_pointer(src_high, src_low);
    aq_pending_check_target(AQ_PENDING_GET, token, src, nbytes);
    aq_am_answer_medium(token, AQ_HANDLER_GET_DONE, src, nbytes, 2,
                        (const int32_t[]){cookie_high, cookie_low});
}

static void on_get_done(gex_Token_t token, void *payload, size_t nbytes, int32_t cookie_high,
                        int32_t cookie_low)
{
    const aq_pending_op_t op =
        aq_pending_end_sized(AQ_PENDING_GET, token, aq_join(cookie_high, cookie_low), nbytes);
    aq_event_follow(op.context);
    memcpy(op.dest, payload, nbytes);
    aq_event_end(op.context);
}

// Sends a piece. Only the first piece may fail because of IMMEDIATE: afterwards the operation has
// begun.
static int send_piece(const aq_rma_op_t *op, aq_am_t *am, aq_cookie_t cookie, gex_Event_t part,
                      bool first)
{
    return aq_pending_request(op->ep_pair, op->rank, am, first ? op->flags : 0, cookie, part);
}

static size_t piece_at(const aq_rma_op_t *op, size_t offset, size_t limit)
{
    size_t rest = op->access.nbytes - offset;
    return aq_min(rest, limit);
}

static int put_over_am(const aq_rma_op_t *op, gex_Event_t part)
{
    for (size_t offset = 0, n; offset < op->access.nbytes; offset += n) {
        n = piece_at(op, offset, aq_job.limits.long_unmapped);
        const aq_cookie_t cookie = aq_pending_add(AQ_PENDING_PUT, op->rank, part, NULL, n);
        const int32_t args[] = {aq_high(cookie), aq_low(cookie)};
        aq_am_t am = {.args = args,
                      .payload = (char *)op->access.local + offset,
                      .nbytes = n,
                      .dest = (char *)op->access.remote + offset,
                      .category = AQ_AM_LONG,
                      .handler = AQ_HANDLER_PUT,
                      .nargs = 2};
        if (send_piece(op, &am, cookie, part, offset == 0))
            return 1;
    }
    return 0;
}

static int get_over_am(const aq_rma_op_t *op, gex_Event_t part)
{
    for (size_t offset = 0, n; offset < op->access.nbytes; offset += n) {
        n = piece_at(op, offset, aq_job.limits.medium);
        const uintptr_t src = (uintptr_t)op->access.remote + offset;
        const aq_cookie_t cookie =
            aq_pending_add(AQ_PENDING_GET, op->rank, part, (char *)op->access.local + offset, n);
        const int32_t args[] = {aq_high(src), aq_low(src), (int32_t)n, aq_high(cookie),
                                aq_low(cookie)};
        aq_am_t am = {.args = args, .category = AQ_AM_SHORT, .handler = AQ_HANDLER_GET, .nargs = 5};
        if (send_piece(op, &am, cookie, part, offset == 0))
            return 1;
    }
    return 0;
}

int aq_rma_over_am(const aq_rma_op_t *op, gex_Event_t part)
{
    return op->access.kind == AQ_RMA_GET ? get_over_am(op, part) : put_over_am(op, part);
}

void aq_rma_am_register(void)
{
    aq_endpoint_internal(AQ_HANDLER_PUT, (gex_AM_Fn_t)on_put,
                         GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 2, "put");
    aq_endpoint_internal(AQ_HANDLER_PUT_DONE, (gex_AM_Fn_t)on_put_done,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 2, "put done");
    aq_endpoint_internal(AQ_HANDLER_GET, (gex_AM_Fn_t)on_get,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 5, "get");
    aq_endpoint_internal(AQ_HANDLER_GET_DONE, (gex_AM_Fn_t)on_get_done,
                         GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 2, "get done");
}
