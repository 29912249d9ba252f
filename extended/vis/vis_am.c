// SPDX-License-Identifier: BSD-3-Clause
// Non-contiguous transfers over active messages.
//
//     put:  Medium request [runs | data] --> [target: check, scatter] --> Short reply: done
//     get:  Medium request [runs] --> [target: check, gather] --> Medium reply [data]: scattered,
//     done
//
// A piece that fills a message by itself travels as a contiguous put or get, without the copies.
#include <stdlib.h>
#include <string.h>

#include "../../core/endpoint/endpoint.h"
#include "../../core/thread/event.h"
#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"
#include "../../core/memory/segment_table.h"
#include "../../core/endpoint/team.h"
#include "../../core/ground/arg64.h"
#include "../gasnetex.h"
#include "../rma/layer_table.h"
#include "../rma/pending.h"
#include "../rma/rma.h"
#include "vis_am.h"
#include "vis_pieces.h"
#include "vis_copy.h"
#include "vis_pack.h"
#include "../../other/base/minmax.h"
#include "../../core/am/am_send.h"
#include "../../core/am/am_answer.h"

// A message of a get whose answer is outstanding.
typedef struct chunk {
    gex_Event_t part;
    aq_vis_cursor_t local; // destination of the data; last, see aq_vis_cursor_copy
} chunk_t;

// A transfer in progress.
typedef struct transfer {
    aq_am_gather_t gather; // of the put that is being sent, if `gathers`; has to be first
    size_t meta, data;     // bytes of that: runs, which are in the buffer, and contents
    bool gathers, stable;
    const char *call;
    uint32_t jobrank;
    aq_ep_pair_t ep_pair;
    bool separate; // each piece has a message of its own: one of the endpoints has an identity
    size_t large;  // bytes of the smallest separate piece if others follow
    gex_Flags_t immediate; // until the first message was sent
    gex_Event_t part;
    bool is_get;
    char *buffer; // of aq_job.limits.medium bytes
    aq_vis_cursor_t remote, local;
} transfer_t;

// Arguments of a request.
enum { RUNS, ENDPOINT, COOKIE, ARGS = COOKIE + 2 };

static aq_vis_message_t message_of(gex_Token_t token)
{
    const aq_arrival_t *arrival = token->arrival;
    return (aq_vis_message_t){arrival->payload, arrival->nbytes, (uint32_t)arrival->args[RUNS]};
}

// Ends the job if memory of the runs is not mapped: with GASNET_SEGMENT_EVERYTHING any address is
// in the segment, but may not exist.
static void check_memory(aq_pending_kind_t kind, gex_Token_t token, const aq_vis_message_t *message)
{
    for (uint32_t i = 0; i < message->runs; i++) {
        aq_vis_run_t run;
        memcpy(&run, message->bytes + i * sizeof run, sizeof run);
        for (uint32_t k = 0; k < run.count; k++)
            aq_pending_check_target(
                kind, token, (void *)(uintptr_t)(run.addr + (uint64_t)run.stride * k), run.nbytes);
    }
}

// Ends the job if a message is wrong; returns the number of bytes that its runs name.
static size_t check_message(aq_pending_kind_t kind, gex_Token_t token,
                            const aq_vis_message_t *message)
{
    const int32_t ep = token->arrival->args[ENDPOINT];
    uintptr_t start = 0, memory = 0;
    size_t nbytes;
    aq_segment_open_bounds((gex_EP_Index_t)ep, &start, &memory);
    const char *wrong = aq_vis_pack_check(message, start, memory, aq_job.limits.medium, &nbytes);
    if (wrong)
        aq_fatal("a message of a non-contiguous transfer from rank %u (%zu bytes, %u runs) to "
                 "endpoint %u is wrong: %s (%p to %p)",
                 token->arrival->source, message->size, message->runs, (unsigned)ep, wrong,
                 (void *)start, (void *)(start + memory));
    if (memory == UINTPTR_MAX)
        check_memory(kind, token, message);
    return nbytes;
}

// ---- at the target ----

static void on_put(gex_Token_t token)
{
    const aq_vis_message_t message = message_of(token);
    const size_t nbytes = check_message(AQ_PENDING_PUT, token, &message);
    const size_t meta = message.runs * sizeof(aq_vis_run_t);
    if (message.size - meta != nbytes)
        aq_fatal("a non-contiguous put from rank %u names %zu bytes and brings %zu",
                 token->arrival->source, nbytes, message.size - meta);
    aq_vis_unpack(message.bytes, message.runs, message.bytes + meta);
    aq_am_answer(token, AQ_HANDLER_PUT_DONE, 2, token->arrival->args + COOKIE);
}

// What a get asks for, written into the answer.
typedef struct answer {
    aq_am_gather_t gather; // first
    aq_vis_message_t message;
} answer_t;

static void answer_write(aq_am_gather_t *gather, void *to)
{
    const answer_t *answer = (const answer_t *)(const void *)gather;
    aq_vis_repack(answer->message.bytes, answer->message.runs, to);
}

static void answer_gathered(gex_Token_t token, answer_t *answer, size_t nbytes)
{
    aq_am_t am = {.args = token->arrival->args + COOKIE,
                  .nbytes = nbytes,
                  .gather = &answer->gather,
                  .category = AQ_AM_MEDIUM,
                  .handler = AQ_HANDLER_VIS_GET_DONE,
                  .nargs = 2,
                  .reply = true};
    (void)aq_am_reply(token, &am, 0);
}

static void answer_copied(gex_Token_t token, answer_t *answer, size_t nbytes)
{
    char *data = aq_allocate(nbytes + 1, "a non-contiguous get");
    answer_write(&answer->gather, data);
    aq_am_answer_medium(token, AQ_HANDLER_VIS_GET_DONE, data, nbytes, 2,
                        token->arrival->args + COOKIE);
    free(data);
}

static bool token_gathers(gex_Token_t token)
{
    aq_am_t am = {.reply = true};
    return !aq_ep_pair_needs_header(token->ep_pair) &&
           aq_conduit_can(aq_am_path(aq_am_to_sender(token), &am).conduit, AQ_CAN_GATHER);
}

static void on_get(gex_Token_t token)
{
    answer_t answer = {{answer_write}, message_of(token)};
    const size_t nbytes = check_message(AQ_PENDING_VIS_GET, token, &answer.message);
    (token_gathers(token) ? answer_gathered : answer_copied)(token, &answer, nbytes);
}

// ---- at the initiator ----

static void on_get_done(gex_Token_t token, void *payload, size_t nbytes, int32_t cookie_high,
                        int32_t cookie_low)
{
    chunk_t *chunk =
        aq_pending_end_sized(AQ_PENDING_VIS_GET, token, aq_join(cookie_high, cookie_low), nbytes)
            .context;
    aq_event_follow(chunk->part);
    aq_vis_scatter(&chunk->local, payload, nbytes);
    aq_event_end(chunk->part);
    free(chunk);
}

static size_t common_bytes(const aq_vis_cursor_t *a, const aq_vis_cursor_t *b)
{
    return aq_min(a->left, b->left);
}

// The smallest size in bytes of a separate piece. Where the conduit writes messages from
// the pieces, packing is one copy, which costs less than a message that is half full.
static size_t large_bytes(bool gathers)
{
    return gathers ? aq_job.limits.medium : aq_job.limits.medium / 2;
}

// Whether the next piece, of nbytes, has a message of its own. The last piece does from half a
// message on, since no further piece would fill the rest of the message.
static bool is_separate(const transfer_t *t, size_t nbytes)
{
    const bool last = aq_vis_cursor_is_last(&t->remote) && aq_vis_cursor_is_last(&t->local);
    return t->separate || nbytes >= (last ? large_bytes(false) : t->large);
}

// Adds as many rows as fit, if both sides continue with rows of the same size; false: fewer than 2.
static bool pack_rows(aq_vis_pack_t *pack, aq_vis_cursor_t *remote, aq_vis_cursor_t *local)
{
    ptrdiff_t there = 0, here = 0;
    const size_t rows =
        aq_min(aq_vis_cursor_rows(remote, &there), aq_vis_cursor_rows(local, &here));
    const size_t n = rows && remote->left == local->left
                         ? aq_vis_pack_add_rows(pack, remote->at, remote->left, there, rows)
                         : 0;
    if (n == 0)
        return false;
    aq_vis_cursor_skip_rows(remote, n);
    aq_vis_cursor_skip_rows(local, n);
    return true;
}

// Packs as many remote pieces as fit into the buffer.
static aq_vis_pack_t pack_runs(transfer_t *t)
{
    aq_vis_pack_t pack = {.out = t->buffer, .limit = aq_job.limits.medium, .together = !t->is_get};
    aq_vis_cursor_t ahead;
    aq_vis_cursor_copy(&ahead, &t->local);
    while (t->remote.left && ahead.left && common_bytes(&t->remote, &ahead) < t->large) {
        if (pack_rows(&pack, &t->remote, &ahead))
            continue;
        size_t n = aq_vis_pack_add(&pack, t->remote.at, common_bytes(&t->remote, &ahead));
        if (!n)
            break;
        aq_vis_cursor_skip(&t->remote, n);
        aq_vis_cursor_skip(&ahead, n);
    }
    aq_vis_pack_end(&pack);
    if (t->is_get)
        aq_vis_cursor_copy(&t->local, &ahead);
    return pack;
}

// Writes the runs of a put and its contents into one message.
static void put_write(aq_am_gather_t *gather, void *to)
{
    transfer_t *t = (transfer_t *)(void *)gather;
    memcpy(to, t->buffer, t->meta);
    aq_vis_gather((char *)to + t->meta, &t->local, t->data);
}

static int send_packed(transfer_t *t, uint8_t handler, const aq_vis_pack_t *pack, size_t data,
                       aq_cookie_t cookie)
{
    int32_t args[ARGS] = {(int32_t)pack->runs, (int32_t)t->ep_pair.to, aq_high(cookie),
                          aq_low(cookie)};
    aq_am_t am = {.args = args,
                  .payload = t->buffer,
                  .nbytes = pack->runs * sizeof pack->last + data,
                  .category = AQ_AM_MEDIUM,
                  .handler = handler,
                  .nargs = ARGS};
    if (data && t->gathers) {
        t->data = data;
        am.payload = NULL;
        am.gather = &t->gather;
    }
    return aq_pending_request(t->ep_pair, t->jobrank, &am, t->immediate, cookie, t->part);
}

static int put_chunk(transfer_t *t)
{
    aq_vis_pack_t pack = pack_runs(t);
    t->meta = pack.runs * sizeof pack.last;
    if (!t->gathers)
        aq_vis_gather(t->buffer + t->meta, &t->local, pack.nbytes);
    return send_packed(t, AQ_HANDLER_VIS_PUT, &pack, pack.nbytes,
                       aq_pending_add(AQ_PENDING_PUT, t->jobrank, t->part, NULL, pack.nbytes));
}

static int get_chunk(transfer_t *t)
{
    chunk_t *chunk = aq_allocate(sizeof *chunk, "a part of a non-contiguous get");
    aq_vis_cursor_copy(&chunk->local, &t->local);
    aq_vis_pack_t pack = pack_runs(t);
    chunk->part = t->part;
    if (send_packed(t, AQ_HANDLER_VIS_GET, &pack, 0,
                    aq_pending_add(AQ_PENDING_VIS_GET, t->jobrank, chunk, NULL, pack.nbytes)) == 0)
        return 0;
    free(chunk);
    return 1;
}

static int send_large(transfer_t *t, size_t nbytes)
{
    const aq_rma_op_t op = {.call = t->call,
                            .access = {.remote = t->remote.at,
                                       .local = t->local.at,
                                       .nbytes = nbytes,
                                       .kind = t->is_get ? AQ_RMA_GET : AQ_RMA_PUT,
                                       .flags = t->stable ? AQ_RMA_STABLE : 0},
                            .rank = t->jobrank,
                            .ep_pair = t->ep_pair,
                            .flags = t->immediate};
    if (aq_rma_start_part(&op, t->part))
        return 1;
    aq_vis_cursor_skip(&t->remote, nbytes);
    aq_vis_cursor_skip(&t->local, nbytes);
    return 0;
}

// Whether the network writes the message from pieces of memory, without a copy before.
static bool pair_gathers(aq_ep_pair_t pair, uint32_t jobrank)
{
    return !aq_ep_pair_needs_header(pair) &&
           aq_conduit_can(aq_path_to(jobrank).conduit, AQ_CAN_GATHER);
}

int aq_vis_over_am(const aq_vis_t *vis, uint32_t jobrank, gex_Event_t part)
{
    transfer_t t;
    t.call = vis->call;
    t.jobrank = jobrank;
    t.ep_pair = aq_team_ep_pair(aq_team_of(vis->tm), vis->rank);
    t.separate = aq_ep_pair_tagged(t.ep_pair) || aq_segment_guarded(jobrank, t.ep_pair.to);
    t.immediate = vis->flags & GEX_FLAG_IMMEDIATE;
    t.gather.write = put_write;
    t.gathers = pair_gathers(t.ep_pair, jobrank);
    t.large = large_bytes(t.gathers);
    t.stable = aq_vis_keeps_source(vis);
    t.part = part;
    t.is_get = vis->is_get;
    t.buffer = aq_allocate(aq_job.limits.medium, "a non-contiguous transfer");
    aq_vis_cursor_start(&t.remote, &vis->remote);
    aq_vis_cursor_start(&t.local, &vis->local);
    int no_op = 0;
    while (!no_op && t.remote.left && t.local.left) {
        size_t n = common_bytes(&t.remote, &t.local);
        no_op = is_separate(&t, n) ? send_large(&t, n) : t.is_get ? get_chunk(&t) : put_chunk(&t);
        t.immediate = 0; // only the first message may be refused; the operation has begun
    }
    free(t.buffer);
    return no_op;
}

void aq_vis_am_register(void)
{
    const gex_Flags_t request = GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST;
    aq_endpoint_internal_bare(AQ_HANDLER_VIS_PUT, on_put, request, ARGS, "VIS put");
    aq_endpoint_internal_bare(AQ_HANDLER_VIS_GET, on_get, request, ARGS, "VIS get");
    aq_endpoint_internal(AQ_HANDLER_VIS_GET_DONE, (gex_AM_Fn_t)on_get_done,
                         GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 2, "VIS get done");
}
