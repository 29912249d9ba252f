// SPDX-License-Identifier: BSD-3-Clause
// Forwarding of a message whose data do not come with its header.
//
//      pieces:   0 ..... base ..... fetched ..... issued .... count
//                        |          |             |
//                        |          |             read from the source, or asked for
//                        |          here, without a gap
//                        all destinations have the pieces before
//
// In internal memory piece i is at place i % AQ_LARGE_PIECES, and issued - base is at most
// AQ_LARGE_PIECES. If the client receives the whole message, its pieces are in the client's memory,
// and only issued - fetched is limited.
#include <stdlib.h>
#include <string.h>

#include "../../core/am/am_send.h"
#include "../../core/ground/arg64.h"
#include "../../core/ground/fatal.h"
#include "../../extended/rma/layer_table.h"
#include "../../other/base/minmax.h"
#include "large_forward.h"
#include "large_task.h"
#include "large_header.h"
#include "large_message.h"
#include "../two_sided/msg_read.h"
#include "../two_sided/request.h"
#include "../two_sided/msg_rndv_get.h"
#include "../two_sided/msg_send.h"

typedef enum slot { FREE, ISSUED, COPIED, HERE } slot_t;

struct aq_large_pieces {
    size_t bytes; // of a piece
    uint64_t count, base;
    uint64_t issued, fetched;     // written under aq_large.lock
    slot_t slot[AQ_LARGE_PIECES]; // of fetched to issued; under aq_large.lock
    size_t get_bytes;             // bytes that gets asked for
    uint64_t held;                // in internal memory, as they were counted
    uint64_t steps;               // that were done
    bool reads;                   // the memory of the source
    bool ended;                   // the source was told that no more is asked for
    uint8_t *memory;              // NULL: that of the client
};

// ---- pieces ----

static size_t piece_bytes(gasnetx_Large_t message, uint64_t i)
{
    const size_t bytes = message->pieces->bytes;
    return aq_min(bytes, message->head.nbytes - i * bytes);
}

static uint8_t *piece_place(gasnetx_Large_t message, uint64_t i)
{
    const struct aq_large_pieces *pieces = message->pieces;
    return pieces->memory ? pieces->memory + i % AQ_LARGE_PIECES * pieces->bytes
                          : message->dest + i * pieces->bytes;
}

// Copies what the client receives of a piece in internal memory.
static void piece_receive(gasnetx_Large_t message, uint64_t i)
{
    const size_t offset = i * message->pieces->bytes;
    if (message->pieces->memory && offset < message->stored)
        memcpy(message->dest + offset, piece_place(message, i),
               aq_min(message->stored - offset, piece_bytes(message, i)));
}

// ---- from the source ----

// Marks the piece at an offset as being copied. False: the piece was not asked for.
static bool piece_claim(gasnetx_Large_t message, uint64_t offset, size_t bytes, uint64_t *i)
{
    struct aq_large_pieces *pieces = message->pieces;
    *i = offset / pieces->bytes;
    aq_lock_take(&aq_large.lock);
    slot_t *slot = &pieces->slot[*i % AQ_LARGE_PIECES];
    const bool issued = *i >= pieces->fetched && *i < pieces->issued && *slot == ISSUED &&
                        offset % pieces->bytes == 0 && bytes == piece_bytes(message, *i);
    if (issued)
        *slot = COPIED;
    aq_lock_drop(&aq_large.lock);
    return issued;
}

static void piece_arrived(gasnetx_Request_t receive, uint64_t offset, const void *piece,
                          size_t bytes)
{
    gasnetx_Large_t message = receive->context;
    uint64_t i;
    if (!piece_claim(message, offset, bytes, &i))
        aq_fatal("rank %u has sent a piece of a large message that was not asked for",
                 message->head.source);
    memcpy(piece_place(message, i), piece, bytes);
    aq_lock_take(&aq_large.lock);
    message->pieces->slot[i % AQ_LARGE_PIECES] = HERE;
    aq_lock_drop(&aq_large.lock);
}

// Counts the next piece as fetched if it has arrived. Returns whether it has.
static bool piece_fetched(struct aq_large_pieces *pieces)
{
    slot_t *slot = &pieces->slot[pieces->fetched % AQ_LARGE_PIECES];
    aq_lock_take(&aq_large.lock);
    const bool here = *slot == HERE;
    if (here) {
        *slot = FREE;
        pieces->fetched++;
        aq_large.counts.pieces_fetched++;
    }
    aq_lock_drop(&aq_large.lock);
    return here;
}

static void arrivals_take(gasnetx_Large_t message)
{
    while (piece_fetched(message->pieces)) {
        piece_receive(message, message->pieces->fetched - 1);
        message->pieces->steps++;
    }
}

static void slot_set(struct aq_large_pieces *pieces, uint64_t issued, slot_t slot)
{
    aq_lock_take(&aq_large.lock);
    pieces->slot[aq_min(issued, pieces->issued) % AQ_LARGE_PIECES] = slot;
    pieces->issued = issued;
    aq_lock_drop(&aq_large.lock);
}

// Reads the next piece from the memory of the source. False: that is not possible.
static bool piece_read(gasnetx_Large_t message)
{
    struct aq_large_pieces *pieces = message->pieces;
    const uint64_t i = pieces->issued;
    pieces->reads = pieces->reads && aq_msg_read(&message->head, i * pieces->bytes,
                                                 piece_place(message, i), piece_bytes(message, i));
    if (pieces->reads)
        slot_set(pieces, i + 1, HERE);
    return pieces->reads;
}

// Asks for the next piece, which may arrive at once, in another thread. False: there is no room
// now.
static bool piece_ask(gasnetx_Large_t message)
{
    struct aq_large_pieces *pieces = message->pieces;
    gasnetx_Request_t receive = message->receive;
    const uint64_t i = pieces->issued;
    if (!receive->cookie)
        receive->cookie = aq_request_cookie(receive, message->head.source);
    slot_set(pieces, i + 1, ISSUED);
    if (!aq_msg_rndv_get_ask(receive, i * pieces->bytes, piece_bytes(message, i))) {
        slot_set(pieces, i, FREE);
        return false;
    }
    pieces->get_bytes += piece_bytes(message, i);
    pieces->steps++;
    return true;
}

// ---- to the destinations ----

// Notes that a destination is complete: it has everything, or has dropped the rest.
static void child_complete(gasnetx_Request_t send)
{
    aq_large_child_t *child = send->context;
    aq_lock_take(&aq_large.lock);
    child->complete = true;
    aq_lock_drop(&aq_large.lock);
}

// Notes a rendezvous get of a destination. Gets arrive in any order, but a destination sends them
// in the order of the bytes, so the furthest one says what it wants.
static void child_get(gasnetx_Request_t send, const aq_msg_rndv_get_t *get)
{
    aq_large_child_t *child = send->context;
    aq_lock_take(&aq_large.lock);
    const bool first = !child->get.answer;
    const bool same = child->get.answer == get->answer && child->get.want == get->want;
    if (first)
        child->get = (aq_msg_rndv_get_t){.answer = get->answer, .want = get->want};
    child->get.offset = aq_max(child->get.offset, get->offset + get->bytes);
    child->get_bytes += get->bytes;
    const bool wrong = !get->answer || !(first || same) || child->get_bytes > get->want;
    aq_lock_drop(&aq_large.lock);
    if (wrong)
        aq_fatal("rank %u asks for bytes of a large message twice, or for others than before",
                 child->jobrank);
}

void aq_large_forward(aq_large_child_t *child, aq_msg_head_t *head, const gasnetx_params_t *params)
{
    static const aq_request_hooks_t hooks = {.complete = child_complete, .get_arrived = child_get};
    const aq_msg_call_t call = {.is_send = true, .bytes = head->nbytes};
    child->complete = !child->message->head.cookie;
    if (!child->complete) {
        child->send = aq_request_new(&call);
        child->send->hooks = &hooks;
        child->send->context = child;
        head->cookie = child->send->cookie = aq_request_cookie(child->send, child->jobrank);
    }
    aq_msg_credits_force(child->jobrank, aq_large_cost(head));
    aq_large_header_send(child->jobrank, head, params, child->message->bytes);
}

static bool piece_send(const aq_large_child_t *child, uint64_t offset, size_t bytes)
{
    const size_t piece = child->message->pieces->bytes;
    const int32_t args[] = {aq_high(child->get.answer), aq_low(child->get.answer), aq_high(offset),
                            aq_low(offset)};
    aq_am_t am = {.args = args,
                  .payload = piece_place(child->message, offset / piece) + offset % piece,
                  .nbytes = bytes,
                  .category = AQ_AM_MEDIUM,
                  .handler = AQ_HANDLER_LARGE_PIECE,
                  .nargs = 4};
    return aq_am_request(child->jobrank, &am, GEX_FLAG_IMMEDIATE) == 0;
}

// The end of the bytes that a destination has asked for and that have arrived here.
static uint64_t child_limit(const aq_large_child_t *child)
{
    const struct aq_large_pieces *pieces = child->message->pieces;
    aq_lock_take(&aq_large.lock);
    const uint64_t wanted = child->complete ? child->served : child->get.offset;
    aq_lock_drop(&aq_large.lock);
    return aq_min(wanted, pieces->fetched * pieces->bytes);
}

// Whether a destination has all that it wants, and no get of it is on the way.
static bool child_has_all(const aq_large_child_t *child)
{
    aq_lock_take(&aq_large.lock);
    const bool all = !child->complete && child->get.answer && child->served == child->get.want &&
                     child->get_bytes == child->get.want;
    aq_lock_drop(&aq_large.lock);
    return all;
}

static void child_serve(aq_large_child_t *child)
{
    const size_t piece = child->message->pieces->bytes;
    const uint64_t limit = child_limit(child);
    while (child->served < limit) {
        const uint64_t end = aq_min(limit, (child->served / piece + 1) * piece);
        if (!piece_send(child, child->served, end - child->served))
            return;
        child->served = end;
        child->message->pieces->steps++;
    }
    if (child_has_all(child))
        aq_msg_send_end(child->jobrank, child->send->cookie, child->send);
}

// Returns how many destinations are not complete; *base: the first piece that one of them needs.
static unsigned children_serve(gasnetx_Large_t message, uint64_t *base)
{
    unsigned left = 0;
    *base = message->pieces->fetched;
    for (aq_large_child_t *child = message->children; child; child = child->next) {
        child_serve(child);
        aq_lock_take(&aq_large.lock);
        const bool complete = child->complete;
        aq_lock_drop(&aq_large.lock);
        if (complete)
            continue;
        left++;
        *base = aq_min(*base, child->served / message->pieces->bytes);
    }
    return left;
}

// ---- the task ----

// The number of pieces that are needed: all while a destination is left, otherwise those that the
// client receives.
static uint64_t pieces_needed(gasnetx_Large_t message, unsigned left)
{
    const struct aq_large_pieces *pieces = message->pieces;
    return left ? pieces->count : (message->stored + pieces->bytes - 1) / pieces->bytes;
}

static void pieces_fetch(gasnetx_Large_t message, uint64_t needed)
{
    struct aq_large_pieces *pieces = message->pieces;
    const uint64_t first = pieces->memory ? pieces->base : pieces->fetched;
    const uint64_t limit = aq_min(needed, first + AQ_LARGE_PIECES);
    while (pieces->issued < limit && (piece_read(message) || piece_ask(message))) {
    }
    arrivals_take(message);
}

static void held_count(struct aq_large_pieces *pieces)
{
    const uint64_t held =
        pieces->memory ? pieces->issued - aq_min(pieces->base, pieces->issued) : 0;
    aq_lock_take(&aq_large.lock);
    aq_large.counts.pieces_held += held - pieces->held;
    aq_large.counts.most_held = aq_max(aq_large.counts.most_held, held);
    aq_lock_drop(&aq_large.lock);
    pieces->held = held;
}

// Tells the source that no more will be asked for, unless it knows from the last get.
static void source_end(gasnetx_Large_t message, uint64_t needed)
{
    struct aq_large_pieces *pieces = message->pieces;
    if (!pieces->ended && pieces->issued >= needed && pieces->fetched == pieces->issued)
        pieces->ended =
            pieces->get_bytes == message->head.nbytes || aq_msg_rndv_get_end(&message->head);
}

static void under_way_count(int change)
{
    aq_lock_take(&aq_large.lock);
    aq_large.counts.forwarded += change > 0;
    aq_large.counts.under_way += (uint64_t)change;
    aq_lock_drop(&aq_large.lock);
}

static void forward_end(gasnetx_Large_t message)
{
    struct aq_large_pieces *pieces = message->pieces;
    pieces->base = pieces->issued;
    held_count(pieces);
    under_way_count(-1);
    if (message->receive->cookie)
        aq_request_cookie_take(message->head.source, message->receive->cookie);
    aq_request_free(message->receive);
    free(pieces->memory);
    free(pieces);
    aq_large_end(message);
}

static aq_large_turn_t forward_go_on(aq_large_work_t *work)
{
    gasnetx_Large_t message = (gasnetx_Large_t)(void *)work;
    struct aq_large_pieces *pieces = message->pieces;
    const uint64_t steps = pieces->steps;
    arrivals_take(message);
    const unsigned left = children_serve(message, &pieces->base);
    const uint64_t needed = pieces_needed(message, left);
    pieces_fetch(message, needed);
    held_count(pieces);
    source_end(message, needed);
    if (left || !pieces->ended)
        return pieces->steps > steps ? AQ_LARGE_MOVED : AQ_LARGE_WAITS;
    forward_end(message);
    return AQ_LARGE_OVER;
}

static struct aq_large_pieces *pieces_make(gasnetx_Large_t message)
{
    struct aq_large_pieces *pieces =
        aq_allocate_zeroed(1, sizeof *pieces, "a message that is forwarded");
    pieces->bytes = aq_job.limits.medium;
    pieces->count = (message->head.nbytes - 1) / pieces->bytes + 1;
    pieces->reads = true;
    if (message->stored != message->head.nbytes)
        pieces->memory = aq_allocate(aq_min(pieces->count, AQ_LARGE_PIECES) * pieces->bytes,
                                     "pieces of a message that is forwarded");
    return pieces;
}

void aq_large_forward_begin(gasnetx_Large_t message)
{
    static const aq_request_hooks_t hooks = {.arrived = piece_arrived};
    message->pieces = pieces_make(message);
    message->receive = aq_large_receive(message, &hooks);
    message->receive->want = message->head.nbytes;
    message->receive->placed = 0;
    under_way_count(1);
    message->work.run = forward_go_on;
    aq_large_add(&message->work);
}

void aq_large_forward_register(void)
{
    aq_msg_piece_register(AQ_HANDLER_LARGE_PIECE, GEX_FLAG_AM_REQUEST,
                          "piece of a forwarded message");
}
