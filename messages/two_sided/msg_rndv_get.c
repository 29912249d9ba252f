// SPDX-License-Identifier: BSD-3-Clause
// Fetches the bytes of announced messages: reads them where the system allows that, and otherwise
// asks for them in pieces, a few at a time. Handlers may not send requests, so a task does.
#include <string.h>

#include "../../core/am/am_args.h"
#include "../../core/am/am_send.h"
#include "../../core/ground/arg64.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/ground/fatal.h"
#include "../../core/memory/cma_read.h"
#include "../../core/progress/progress.h"
#include "../../extended/rma/layer_table.h"
#include "../../other/base/minmax.h"
#include "msg_device.h"
#include "msg_read.h"
#include "msg_coop_copy.h"
#include "request.h"
#include "msg_peers.h"

enum { PIECES = 4 }; // of a message that are under way at a time

static gasnetx_Request_t first, *last = &first; // under aq_msg.lock
static atomic_bool turning;

static bool task_turn(aq_task_t *task);
static aq_task_t get_task = {.turn = task_turn};

static void gets_append(gasnetx_Request_t receive)
{
    receive->next = NULL;
    aq_lock_take(&aq_msg.lock);
    *last = receive;
    last = &receive->next;
    aq_lock_drop(&aq_msg.lock);
}

void aq_msg_rndv_get(gasnetx_Request_t receive)
{
    receive->want = receive->status.received;
    receive->issued = receive->moved = receive->placed = 0;
    receive->cookie = 0;
    receive->way = AQ_RNDV_NEW;
    gets_append(receive);
    aq_progress_busy(&get_task, 1);
}

// Gets 0 bytes, by a receive without a handle, so that the sender completes.
void aq_msg_rts_drop(const aq_msg_head_t *rts)
{
    static const aq_request_hooks_t hooks = {.complete = aq_request_free};
    static const aq_msg_call_t none = {.tm = GEX_TM_INVALID};
    gasnetx_Request_t receive = aq_request_new(&none);
    receive->rts = *rts;
    receive->hooks = &hooks;
    aq_msg_rndv_get(receive);
}

static gasnetx_Request_t gets_take(void)
{
    aq_lock_take(&aq_msg.lock);
    gasnetx_Request_t all = first;
    first = NULL;
    last = &first;
    aq_lock_drop(&aq_msg.lock);
    return all;
}

bool aq_msg_rndv_get_end(const aq_msg_head_t *rts)
{
    const int32_t args[] = {aq_high(rts->cookie), aq_low(rts->cookie)};
    return aq_am_request_short(rts->source, AQ_HANDLER_MSG_DONE, 2, args, GEX_FLAG_IMMEDIATE) == 0;
}

// The address of a piece of the receive, if the sender may have mapped that memory; 0: it cannot.
static uint64_t dest_of(const struct gasnetx_request *receive, uint64_t offset, size_t bytes)
{
    const char *dest = (const char *)receive->call.memory + offset;
    if ((receive->hooks && receive->hooks->arrived) || !aq_msg_is_neighbour(receive->rts.source))
        return 0;
    return aq_process_shows(dest, bytes) ? (uintptr_t)dest : 0;
}

bool aq_msg_rndv_get_ask(gasnetx_Request_t receive, uint64_t offset, size_t bytes)
{
    const aq_msg_head_t *rts = &receive->rts;
    const uint64_t dest = dest_of(receive, offset, bytes);
    const int32_t args[] = {aq_high(rts->cookie),
                            aq_low(rts->cookie),
                            aq_high(offset),
                            aq_low(offset),
                            (int32_t)bytes,
                            aq_high(receive->want),
                            aq_low(receive->want),
                            aq_high(receive->cookie),
                            aq_low(receive->cookie),
                            aq_high(dest),
                            aq_low(dest)};
    return aq_am_request_short(rts->source, AQ_HANDLER_MSG_RNDV_GET, 11, args,
                               GEX_FLAG_IMMEDIATE) == 0;
}

static size_t bytes_under_way(const struct gasnetx_request *receive)
{
    aq_lock_take(&aq_msg.lock);
    const size_t bytes = receive->issued - aq_min(receive->moved, receive->issued);
    aq_lock_drop(&aq_msg.lock);
    return bytes;
}

// Adds bytes to one of the two counters of a receive: asked for, and in memory. The receive
// completes when both have all bytes, in whatever order a peer sends pieces; until then it may be
// in the list of gets.
static void bytes_count(gasnetx_Request_t receive, size_t *counter, size_t bytes)
{
    aq_pending_op_t op;
    aq_lock_take(&aq_msg.lock);
    *counter += bytes;
    const bool all = receive->issued == receive->want && receive->moved == receive->want &&
                     aq_cookies_take(&aq_msg.cookies, receive->cookie, receive->rts.source, &op);
    aq_lock_drop(&aq_msg.lock);
    if (all)
        aq_request_complete(receive);
}

// Asks for pieces. Returns whether all were asked for; then the receive may be complete and freed.
static bool pieces_ask(gasnetx_Request_t receive)
{
    const size_t piece = aq_job.limits.medium, want = receive->want;
    size_t issued = receive->issued;
    while (issued < want && bytes_under_way(receive) < PIECES * piece) {
        const size_t bytes = aq_min(want - issued, piece);
        if (!aq_msg_rndv_get_ask(receive, issued, bytes))
            return false;
        issued += bytes;
        bytes_count(receive, &receive->issued, bytes);
    }
    return issued == want;
}

// Tells the sender that all bytes have arrived, and completes the receive.
static bool receive_end(gasnetx_Request_t receive)
{
    if (!aq_msg_rndv_get_end(&receive->rts))
        return false;
    aq_request_complete(receive);
    return true;
}

// The ways of a get, the best one first.
static aq_rndv_way_t way_choose(gasnetx_Request_t receive)
{
    if (!receive->want)
        return AQ_RNDV_OVER;
    if (aq_msg_coop_copy_begin(receive))
        return AQ_RNDV_COOP_COPY;
    if (aq_msg_read(&receive->rts, 0, receive->call.memory, receive->want))
        return AQ_RNDV_OVER;
    return aq_msg_device_begin(receive) ? AQ_RNDV_DEVICE : AQ_RNDV_PIECES;
}

// Advances a get. Returns whether nothing is left to be sent for it.
static bool get_go_on(gasnetx_Request_t receive)
{
    if (receive->way == AQ_RNDV_NEW)
        receive->way = way_choose(receive);
    if (receive->way == AQ_RNDV_COOP_COPY)
        receive->way = aq_msg_coop_copy_turn(receive);
    if (receive->way == AQ_RNDV_DEVICE)
        receive->way = aq_msg_device_turn(receive);
    if (receive->way == AQ_RNDV_OVER)
        return receive_end(receive);
    if (receive->way == AQ_RNDV_COOP_COPY || receive->way == AQ_RNDV_DEVICE)
        return false;
    if (!receive->cookie)
        receive->cookie = aq_request_cookie(receive, receive->rts.source);
    return pieces_ask(receive);
}

void aq_msg_rndv_gets_turn(void)
{
    gasnetx_Request_t next;
    if (atomic_exchange_explicit(&turning, true, memory_order_acquire))
        return;
    for (gasnetx_Request_t receive = gets_take(); receive; receive = next) {
        next = receive->next;
        if (get_go_on(receive))
            aq_progress_busy(&get_task, -1);
        else
            gets_append(receive);
    }
    atomic_store_explicit(&turning, false, memory_order_release);
}

static bool task_turn(aq_task_t *task)
{
    (void)task;
    aq_msg_rndv_gets_turn();
    return false;
}

// ---- pieces that arrive ----

// Whether a receive waits for a piece: it is in range, and the peer has not sent more than all
// bytes.
static bool piece_fits(const struct gasnetx_request *receive, uint64_t offset, size_t nbytes)
{
    return !receive->call.is_send && offset <= receive->want && nbytes <= receive->want - offset &&
           nbytes <= receive->want - receive->placed;
}

// The receive that waits for a piece. sent: the piece is in the message; otherwise the peer has
// copied it to its place. Ends the job if there is none.
static gasnetx_Request_t piece_place(uint32_t source, aq_cookie_t cookie, uint64_t offset,
                                     size_t nbytes, bool sent)
{
    aq_lock_take(&aq_msg.lock);
    const aq_pending_op_t *op = aq_cookies_find(&aq_msg.cookies, cookie, source);
    gasnetx_Request_t receive = op ? op->context : NULL;
    const bool fits = receive && piece_fits(receive, offset, nbytes) &&
                      (sent || dest_of(receive, offset, nbytes));
    if (fits) {
        receive->placed += nbytes;
        aq_msg.counts.pieces += sent;
    }
    aq_lock_drop(&aq_msg.lock);
    if (!fits)
        aq_fatal("rank %u has sent a piece of a message for which no receive waits", source);
    return receive;
}

static void on_piece(gex_Token_t token)
{
    const aq_arrival_t *arrival = token->arrival;
    aq_args_t args = aq_args_of(token);
    const aq_cookie_t cookie = aq_args_64(&args);
    const uint64_t offset = aq_args_64(&args);
    gasnetx_Request_t receive = piece_place(arrival->source, cookie, offset, arrival->nbytes, true);
    if (receive->hooks && receive->hooks->arrived) {
        receive->hooks->arrived(receive, offset, arrival->payload, arrival->nbytes);
        return;
    }
    memcpy((uint8_t *)receive->call.memory + offset, arrival->payload, arrival->nbytes);
    bytes_count(receive, &receive->moved, arrival->nbytes);
}

// The sender has copied a piece into memory of the receive.
static void on_placed(gex_Token_t token, int32_t cookie_high, int32_t cookie_low,
                      int32_t offset_high, int32_t offset_low, int32_t bytes)
{
    gasnetx_Request_t receive =
        piece_place(token->arrival->source, aq_join(cookie_high, cookie_low),
                    aq_join(offset_high, offset_low), (uint32_t)bytes, false);
    bytes_count(receive, &receive->moved, (uint32_t)bytes);
}

void aq_msg_piece_register(int handler, gex_Flags_t kind, const char *name)
{
    aq_endpoint_internal_bare(handler, on_piece, GEX_FLAG_AM_MEDIUM | kind, 4, name);
}

void aq_msg_rndv_get_register(void)
{
    aq_progress_add(&get_task);
    aq_msg_piece_register(AQ_HANDLER_MSG_PIECE, GEX_FLAG_AM_REPLY, "piece of a message");
}

void aq_msg_placed_register(void)
{
    aq_endpoint_internal(AQ_HANDLER_MSG_PLACED, (gex_AM_Fn_t)on_placed,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 5, "piece of a message was copied");
}
