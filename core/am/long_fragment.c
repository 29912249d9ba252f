// SPDX-License-Identifier: BSD-3-Clause
// Longs in pieces, at both ends: am_long.c begins them, polls continue replies (deferred.c), and
// handlers acknowledge pieces and deliver the message.
#include "long_fragment.h"

#include <stdlib.h>
#include <string.h>

#include "../ground/arg64.h"
#include "../ground/cookie.h"
#include "../ground/fatal.h"
#include "../progress/deferred.h"
#include "../progress/progress.h"
#include "../memory/segment_table.h"
#include "../../other/base/minmax.h"
#include "am_send.h"
#include "am_answer.h"
#include "am_args.h"

// The message without its payload, as it travels.
typedef struct pushed {
    uint64_t dest, nbytes;
    uint64_t number; // in the trace; 0: none
    uint16_t from, to;
    uint8_t handler, nargs, reply, zero;
    int32_t args[AQ_HANDLER_MAX_ARGS];
} pushed_t;

typedef struct push {
    aq_deferred_t deferred; // of a reply
    uint32_t jobrank;
    aq_ep_pair_t ep_pair;
    bool tagged; // the sending endpoint has an identity
    pushed_t message;
    const char *payload;
    size_t sent;        // bytes whose pieces were sent
    atomic_uint pieces; // sent and not acknowledged
    aq_cookie_t cookie;
} push_t;

static aq_cookies_t pushes; // by cookie
static aq_lock_t cookies_lock;

static void push_start(push_t *push, aq_am_to_t to, const aq_am_t *am, uint64_t number)
{
    const bool tagged = aq_ep_pair_tagged(to.ep_pair);
    *push = (push_t){.jobrank = to.jobrank,
                     .ep_pair = to.ep_pair,
                     .tagged = tagged,
                     .payload = am->payload,
                     .message = {.dest = (uintptr_t)am->dest,
                                 .nbytes = am->nbytes,
                                 .number = number,
                                 .from = to.ep_pair.from,
                                 .to = to.ep_pair.to,
                                 .handler = am->handler,
                                 .nargs = am->nargs,
                                 .reply = am->reply}};
    if (am->nargs)
        memcpy(push->message.args, am->args, am->nargs * sizeof *am->args);
    aq_lock_take(&cookies_lock);
    push->cookie = aq_cookies_add(&pushes, &(aq_pending_op_t){.context = push, .rank = to.jobrank});
    aq_lock_drop(&cookies_lock);
    if (!push->cookie)
        aq_fatal("out of memory for a Long of %zu bytes to rank %u", am->nbytes, to.jobrank);
}

static void push_end(push_t *push)
{
    aq_pending_op_t op;
    aq_lock_take(&cookies_lock);
    (void)aq_cookies_take(&pushes, push->cookie, push->jobrank, &op);
    aq_lock_drop(&cookies_lock);
}

// Returns false if IMMEDIATE and there is no room.
// Pieces are requests over endpoint 0, which every poll of the receiver serves.
static bool send_piece(push_t *push, aq_am_t *am, gex_Flags_t flags)
{
    push->sent += am->nbytes; // before a handler can run
    atomic_fetch_add_explicit(&push->pieces, 1, memory_order_relaxed);
    if (aq_am_request(push->jobrank, am, flags) == 0)
        return true;
    push->sent -= am->nbytes;
    atomic_fetch_sub_explicit(&push->pieces, 1, memory_order_relaxed);
    return false;
}

static bool send_plain_piece(push_t *push, gex_Flags_t flags)
{
    const int32_t args[] = {aq_high(push->cookie), aq_low(push->cookie)};
    const aq_conduit_t *conduit = aq_path_to(push->jobrank).conduit;
    const size_t rest = push->message.nbytes - push->sent;
    aq_am_t am = {.args = args,
                  .nargs = 2,
                  .category = AQ_AM_LONG,
                  .handler = AQ_HANDLER_LONG_PIECE,
                  .payload = push->payload + push->sent,
                  .nbytes = aq_min(rest, conduit->max_long_unmapped),
                  .dest = (char *)(uintptr_t)push->message.dest + push->sent};
    return send_piece(push, &am, flags);
}

static bool send_tagged_piece(push_t *push, gex_Flags_t flags)
{
    int32_t headed[AQ_AM_MAX_ARGS];
    const uint64_t dest = push->message.dest + push->sent;
    const size_t rest = push->message.nbytes - push->sent;
    const int32_t args[] = {aq_high(dest), aq_low(dest), aq_high(push->cookie),
                            aq_low(push->cookie)};
    aq_am_t am = {.args = args,
                  .nargs = 4,
                  .category = AQ_AM_MEDIUM,
                  .handler = AQ_HANDLER_LONG_PIECE_TAGGED,
                  .payload = push->payload + push->sent,
                  .nbytes = aq_min(rest, aq_job.limits.medium)};
    aq_am_header_add(push->ep_pair, push->jobrank, &am, headed);
    return send_piece(push, &am, flags);
}

static bool send_message(const push_t *push, gex_Flags_t flags)
{
    int32_t headed[AQ_AM_MAX_ARGS];
    aq_am_t am = {.category = AQ_AM_MEDIUM,
                  .handler = AQ_HANDLER_LONG_FRAGMENTED,
                  .payload = &push->message,
                  .nbytes = sizeof push->message};
    if (push->tagged)
        aq_am_header_add(push->ep_pair, push->jobrank, &am, headed);
    return aq_am_request(push->jobrank, &am, flags) == 0;
}

// Sends what can be sent. Returns whether the message was sent.
static bool push_advance(push_t *push, gex_Flags_t flags)
{
    while (push->sent < push->message.nbytes)
        if (!(push->tagged ? send_tagged_piece(push, flags) : send_plain_piece(push, flags)))
            return false;
    return !atomic_load_explicit(&push->pieces, memory_order_acquire) && send_message(push, flags);
}

bool aq_long_fragment_needed(aq_am_to_t to, const aq_am_t *am)
{
    return aq_ep_pair_tagged(to.ep_pair) ||
           (to.ep_pair.to && !am->dest_mapped &&
            am->nbytes > aq_path_to(to.jobrank).conduit->max_long_unmapped);
}

static bool push_advance_all(void *push)
{
    return push_advance(push, 0);
}

static void send_request(aq_am_to_t to, const aq_am_t *am, uint64_t number)
{
    push_t push;
    push_start(&push, to, am, number);
    aq_progress_wait_until(push_advance_all, &push, aq_wait_word(AQ_WAIT_ROOM, to.jobrank), NULL);
    push_end(&push);
}

// ---- replies ----

// Whether this thread is sending a reply. The polls of that send begin no other replies, which
// could nest without end.
static _Thread_local bool in_reply;

static bool reply_ready(aq_deferred_t *deferred)
{
    const push_t *push = (const push_t *)deferred;
    return !in_reply && (push->sent < push->message.nbytes ||
                         !atomic_load_explicit(&push->pieces, memory_order_acquire));
}

static bool reply_run(aq_deferred_t *deferred)
{
    push_t *push = (push_t *)deferred;
    in_reply = true;
    const bool sent = push_advance(push, GEX_FLAG_IMMEDIATE);
    in_reply = false;
    if (!sent)
        return false;
    push_end(push);
    free(push);
    return true;
}

static void send_reply(aq_am_to_t to, const aq_am_t *am, uint64_t number)
{
    push_t *push = aq_allocate_for_rank(sizeof *push + am->nbytes, "a Long reply to", to.jobrank);
    push_start(push, to, am, number);
    push->payload = memcpy(push + 1, am->payload, am->nbytes);
    push->deferred = (aq_deferred_t){.ready = reply_ready, .run = reply_run};
    to.token->replied = to.token->deferred = true;
    aq_deferred_add(&push->deferred);
}

void aq_long_fragment_send(aq_am_to_t to, const aq_am_t *am, uint64_t number)
{
    if (to.token)
        send_reply(to, am, number);
    else
        send_request(to, am, number);
}

// ---- at the receiver, and acknowledgements ----

// The conduit has checked that the payload goes into a segment before it wrote the payload.
static void on_piece(gex_Token_t token, void *payload, size_t nbytes, int32_t high, int32_t low)
{
    (void)payload, (void)nbytes;
    aq_am_answer(token, AQ_HANDLER_LONG_PIECE_DONE, 2, (const int32_t[]){high, low});
}

// Without the identity the piece is not written. The message that follows the pieces counts as
// dropped.
static void on_tagged_piece(gex_Token_t token)
{
    const aq_arrival_t *arrival = token->arrival;
    aq_args_t args = aq_args_of(token);
    void *dest = (void *)(uintptr_t)aq_args_64(&args);
    if (token->tag == AQ_TAG_RIGHT) {
        if (!aq_segment_admits(token->ep_pair.to, dest, arrival->nbytes))
            aq_fatal("a Long of rank %u (%zu bytes to %p) is not inside a segment of this process",
                     arrival->source, arrival->nbytes, dest);
        memcpy(dest, arrival->payload, arrival->nbytes);
    }
    aq_am_answer(token, AQ_HANDLER_LONG_PIECE_DONE, 2, args.next);
}

static void on_piece_done(gex_Token_t token, int32_t high, int32_t low)
{
    const uint32_t rank = token->arrival->source;
    aq_lock_take(&cookies_lock);
    const aq_pending_op_t *op = aq_cookies_find(&pushes, aq_join(high, low), rank);
    push_t *push = op ? op->context : NULL;
    const bool expected = push && atomic_load_explicit(&push->pieces, memory_order_relaxed);
    if (expected)
        atomic_fetch_sub_explicit(&push->pieces, 1, memory_order_release);
    aq_lock_drop(&cookies_lock);
    if (!expected)
        aq_fatal("rank %u has acknowledged a piece of a Long that was not sent (cookie 0x%llx)",
                 rank, (unsigned long long)aq_join(high, low));
}

static void check_pushed(gex_Token_t token, const pushed_t *message, gex_EP_Index_t to)
{
    const aq_arrival_t *arrival = token->arrival;
    const void *dest = (void *)(uintptr_t)message->dest;
    if (arrival->nbytes != sizeof *message || message->nargs > AQ_HANDLER_MAX_ARGS ||
        message->handler < GEX_AM_INDEX_BASE || message->from >= GASNET_MAXEPS ||
        message->to >= GASNET_MAXEPS ||
        !(token->tag == AQ_TAG_RIGHT ? aq_segment_admits(to, dest, message->nbytes)
                                     : aq_segment_holds(dest, message->nbytes)))
        aq_fatal("rank %u announces a Long of %llu bytes at 0x%llx to handler %u with %u "
                 "arguments, which is none, or not inside of a segment",
                 arrival->source, (unsigned long long)message->nbytes,
                 (unsigned long long)message->dest, message->handler, message->nargs);
}

static aq_arrival_t pushed_arrival(const aq_arrival_t *carrier, const pushed_t *message)
{
    return (aq_arrival_t){.args = message->args,
                          .payload = (void *)(uintptr_t)message->dest,
                          .nbytes = message->nbytes,
                          .path = carrier->path,
                          .source = carrier->source,
                          .category = AQ_AM_LONG,
                          .handler = message->handler,
                          .nargs = message->nargs,
                          .reply = message->reply};
}

// A message with a tag has its endpoints from its arguments, another one from its payload.
static void on_pushed(gex_Token_t token, void *payload, size_t nbytes)
{
    pushed_t message = {0};
    memcpy(&message, payload, aq_min(nbytes, sizeof message));
    const aq_ep_pair_t named = {.from = message.from, .to = message.to};
    const aq_ep_pair_t pair = token->tag == AQ_TAG_NONE ? named : token->ep_pair;
    const aq_arrival_t inner = pushed_arrival(token->arrival, &message);
    if (token->tag != AQ_TAG_WRONG)
        check_pushed(token, &message, pair.to);
    token->replied = aq_am_deliver_numbered(&inner, pair, token->tag, message.number);
}

void aq_long_fragment_start(void)
{
    aq_endpoint_internal(AQ_HANDLER_LONG_PIECE, (gex_AM_Fn_t)on_piece,
                         GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 2, "piece of a Long");
    aq_endpoint_internal(AQ_HANDLER_LONG_PIECE_DONE, (gex_AM_Fn_t)on_piece_done,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 2, "piece of a Long, done");
    aq_endpoint_internal(AQ_HANDLER_LONG_FRAGMENTED, (gex_AM_Fn_t)on_pushed,
                         GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, "Long in pieces");
    aq_endpoint_internal_bare(AQ_HANDLER_LONG_PIECE_TAGGED, on_tagged_piece,
                              GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 4,
                              "tagged piece of a Long");
}
