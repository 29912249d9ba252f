// SPDX-License-Identifier: BSD-3-Clause
// Cooperative copy: copies a long message from both ends at the same time, the receiver in turns of
// its get (msg_rndv_get.c), the sender in a task after a request of the receiver. Both claim pieces
// from one word in shared memory.
#include "msg_coop_copy.h"

#include "../../core/am/am_args.h"
#include "../../core/am/am_send.h"
#include "../../core/ground/arg64.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/ground/fatal.h"
#include "../../core/memory/cma_read.h"
#include "../../core/progress/progress.h"
#include "../../core/memory/scratch.h"
#include "../../extended/rma/layer_table.h"
#include "../../other/base/minmax.h"
#include "msg_read.h"
#include "msg_peers.h"
#include "request.h"

// The least bytes of a message that both sides copy: if the copy is by CMA (msg_read.h); if each
// side has mapped the memory of the other; and if only the receiver has.
// docs/performance/messages.md has the measurements.
#define COOP_COPY_CMA ((size_t)32 << 10)
#define COOP_COPY_MAPPED ((size_t)128 << 10)
#define COOP_COPY_HALF_MAPPED ((size_t)4 << 20)
#define PIECE_MAX ((size_t)512 << 10) // of a piece, unless there would be too many
enum { PIECES_MAX = 1 << 15 };

// ---- claims ----

// Of one message, in the scratch of its receiver.
struct aq_msg_claims {
    // generation (32 bits) | pieces before the first one that the sender has (16)
    //                      | pieces that the receiver has (16)
    _Alignas(64) _Atomic uint64_t left;
    atomic_uint written; // pieces, by the sender
    atomic_bool failed;  // the sender could not write a piece
};

enum { CLAIMS = AQ_SCRATCH_CLAIMS / sizeof(struct aq_msg_claims) };
static bool taken[CLAIMS]; // of this process; under aq_msg.lock

static struct aq_msg_claims *claims_of(uint32_t nbrhd_index, uint32_t slot)
{
    char *first = aq_scratch_of(nbrhd_index) + AQ_SCRATCH_CLAIMS_AT;
    return (struct aq_msg_claims *)(void *)first + slot;
}

static uint32_t claims_end(uint64_t left)
{
    return left >> 16 & 0xffff;
}

// Claims the first piece that is left, for the receiver.
static bool claims_front(struct aq_msg_claims *claims, uint32_t *piece)
{
    uint64_t left = atomic_load_explicit(&claims->left, memory_order_relaxed);
    do {
        *piece = left & 0xffff;
        if (*piece == claims_end(left))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&claims->left, &left, left + 1,
                                                    memory_order_acquire, memory_order_relaxed));
    return true;
}

// Claims the last piece that is left, for the sender.
static bool claims_back(struct aq_msg_claims *claims, uint32_t generation, uint32_t *piece)
{
    uint64_t left = atomic_load_explicit(&claims->left, memory_order_relaxed);
    do {
        *piece = claims_end(left) - 1;
        if (left >> 32 != generation || (left & 0xffff) == claims_end(left))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&claims->left, &left, left - (1u << 16),
                                                    memory_order_acquire, memory_order_relaxed));
    return true;
}

static uint32_t pieces_of(const struct gasnetx_request *request)
{
    return (uint32_t)((request->want - 1) / request->piece + 1);
}

// Bytes and offset of a piece. Ends the job if the piece is out of range, since the peer can write
// claims, too.
static size_t piece_bytes(const struct gasnetx_request *request, uint32_t piece, size_t *offset)
{
    if (piece >= pieces_of(request))
        aq_fatal("the claims of a message between this rank and rank %u are wrong (piece %u of %u)",
                 request->rts.source, piece, pieces_of(request));
    *offset = piece * request->piece;
    return aq_min(request->want - *offset, request->piece);
}

// ---- the receiver ----

static uint32_t slot_take(void)
{
    uint32_t slot = 0;
    aq_lock_take(&aq_msg.lock);
    while (slot < CLAIMS && taken[slot])
        slot++;
    if (slot < CLAIMS)
        taken[slot] = true;
    aq_lock_drop(&aq_msg.lock);
    return slot;
}

static void slot_drop(uint32_t slot)
{
    aq_lock_take(&aq_msg.lock);
    taken[slot] = false;
    aq_lock_drop(&aq_msg.lock);
}

// Asks the sender to take part. False: there is no room for the message now.
static bool coop_copy_ask(gasnetx_Request_t receive, uint32_t slot, uint32_t generation)
{
    int32_t args[8 + AQ_MSG_MEMORY_ARGS] = {aq_high(receive->rts.cookie),
                                            aq_low(receive->rts.cookie),
                                            aq_high(receive->want),
                                            aq_low(receive->want),
                                            aq_high(receive->piece),
                                            aq_low(receive->piece),
                                            (int32_t)slot,
                                            (int32_t)generation};
    aq_msg_read_args(receive->rts.source, receive->call.memory, args + 8);
    return aq_am_request_short(receive->rts.source, AQ_HANDLER_MSG_COOP_COPY, 15, args,
                               GEX_FLAG_IMMEDIATE) == 0;
}

// The bytes of a piece: half of the message, but at most PIECE_MAX, since each piece costs a call
// of the system.
static size_t piece_choose(size_t want)
{
    const size_t half = (want / 2 + 63) & ~(size_t)63;
    return aq_max(aq_min(half, PIECE_MAX), want / PIECES_MAX + 1);
}

static void claims_begin(gasnetx_Request_t receive, uint32_t generation)
{
    struct aq_msg_claims *claims = receive->claims;
    atomic_store_explicit(&claims->written, 0, memory_order_relaxed);
    atomic_store_explicit(&claims->failed, false, memory_order_relaxed);
    atomic_store_explicit(&claims->left, (uint64_t)generation << 32 | pieces_of(receive) << 16,
                          memory_order_release);
}

static bool coop_copy_pays(const struct gasnetx_request *receive)
{
    const size_t want = receive->want;
    const uint32_t source = receive->rts.source;
    if (want < COOP_COPY_CMA || source == aq_job.rank ||
        !aq_msg_is_neighbour(source)) // conduit mpi maps segments of others
        return false;
    const aq_msg_reach_t reach = aq_msg_reach(&receive->rts);
    if (reach != AQ_MSG_MAPPED)
        return reach == AQ_MSG_CMA;
    return want >= COOP_COPY_HALF_MAPPED ||
           (want >= COOP_COPY_MAPPED && aq_process_shows(receive->call.memory, want));
}

bool aq_msg_coop_copy_begin(gasnetx_Request_t receive)
{
    if (!coop_copy_pays(receive))
        return false;
    const uint32_t slot = slot_take();
    if (slot == CLAIMS)
        return false;
    receive->claims = claims_of(aq_job.nbrhd.my_index, slot);
    receive->piece = piece_choose(receive->want);
    const uint32_t generation =
        (uint32_t)(atomic_load_explicit(&receive->claims->left, memory_order_relaxed) >> 32) + 1;
    claims_begin(receive, generation);
    if (coop_copy_ask(receive, slot, generation))
        return true;
    receive->claims = NULL;
    slot_drop(slot);
    return false;
}

// Reads pieces until none is left. False: the system does not allow it.
static bool pieces_read(gasnetx_Request_t receive)
{
    uint32_t piece;
    size_t offset;
    bool ok = true;
    while (claims_front(receive->claims, &piece)) {
        const size_t bytes = piece_bytes(receive, piece, &offset);
        ok = ok && aq_msg_read(&receive->rts, offset, (char *)receive->call.memory + offset, bytes);
    }
    return ok;
}

aq_rndv_way_t aq_msg_coop_copy_turn(gasnetx_Request_t receive)
{
    struct aq_msg_claims *claims = receive->claims;
    receive->unreadable |= !pieces_read(receive);
    const uint64_t left = atomic_load_explicit(&claims->left, memory_order_relaxed);
    if (atomic_load_explicit(&claims->written, memory_order_acquire) !=
        pieces_of(receive) - claims_end(left))
        return AQ_RNDV_COOP_COPY;
    const bool failed =
        receive->unreadable || atomic_load_explicit(&claims->failed, memory_order_relaxed);
    receive->claims = NULL;
    slot_drop((uint32_t)(claims - claims_of(aq_job.nbrhd.my_index, 0)));
    return failed ? AQ_RNDV_PIECES : AQ_RNDV_OVER;
}

// ---- the sender ----

static gasnetx_Request_t helps; // sends whose receivers have asked; under aq_msg.lock
static atomic_bool helping;

static bool help_turn(aq_task_t *task);
static aq_task_t help_task = {.turn = help_turn};

static void help_append(gasnetx_Request_t send)
{
    send->next = helps;
    helps = send;
}

static gasnetx_Request_t helps_take(void)
{
    aq_lock_take(&aq_msg.lock);
    gasnetx_Request_t all = helps;
    helps = NULL;
    aq_lock_drop(&aq_msg.lock);
    return all;
}

// Writes one more piece. False: none is left, or this process may not write there.
static bool piece_write(gasnetx_Request_t send)
{
    uint32_t piece;
    size_t offset;
    struct aq_msg_claims *claims = send->claims;
    if (aq_msg_reach(&send->rts) == AQ_MSG_UNREACHABLE ||
        !claims_back(claims, send->generation, &piece))
        return false;
    const size_t bytes = piece_bytes(send, piece, &offset);
    if (!aq_msg_write(&send->rts, offset, (char *)send->call.memory + offset, bytes))
        atomic_store_explicit(&claims->failed, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&claims->written, 1, memory_order_release);
    return true;
}

// Ends the part of this process in a copy; completes the send if its receiver has reported the end.
static void help_end(gasnetx_Request_t send)
{
    aq_lock_take(&aq_msg.lock);
    send->claims = NULL;
    const bool received = send->received;
    aq_lock_drop(&aq_msg.lock);
    aq_progress_busy(&help_task, -1);
    if (received)
        aq_request_complete(send);
}

static void help_go_on(gasnetx_Request_t send)
{
    if (!piece_write(send)) {
        help_end(send);
        return;
    }
    aq_lock_take(&aq_msg.lock);
    help_append(send);
    aq_lock_drop(&aq_msg.lock);
}

// Writes one piece for each receiver, so that a poll is not longer than that.
static bool help_turn(aq_task_t *task)
{
    (void)task;
    gasnetx_Request_t next, send;
    if (atomic_exchange_explicit(&helping, true, memory_order_acquire))
        return false;
    const bool any = (send = helps_take());
    for (; send; send = next) {
        next = send->next;
        help_go_on(send);
    }
    atomic_store_explicit(&helping, false, memory_order_release);
    return any;
}

// With the lock: begins the part of this process in a copy. False: the send has a part already.
static bool help_begin(gasnetx_Request_t send, const aq_msg_head_t *receiver, uint64_t want,
                       uint64_t piece, uint32_t slot, uint32_t generation)
{
    if (send->claims)
        return false;
    send->rts = *receiver;
    send->want = want;
    send->piece = piece;
    send->claims = claims_of(aq_index_in_nbrhd(&aq_job.env, receiver->source), slot);
    send->generation = generation;
    send->received = false;
    help_append(send);
    return true;
}

static void coop_copy_refuse(const aq_msg_head_t *receiver, uint64_t want, uint64_t piece,
                             uint32_t slot)
{
    aq_fatal("rank %u asks to share the copy of a message in a wrong way (%llu bytes, pieces of "
             "%llu, claims %u)",
             receiver->source, (unsigned long long)want, (unsigned long long)piece, slot);
}

static void coop_copy_check(const aq_msg_head_t *receiver, uint64_t want, uint64_t piece,
                            uint32_t slot)
{
    if (slot >= CLAIMS || !piece || piece > want || (want - 1) / piece > PIECES_MAX ||
        !aq_msg_is_neighbour(receiver->source))
        coop_copy_refuse(receiver, want, piece, slot);
}

// Begins to help, unless the message is complete already: its receiver does not wait for an answer.
static void on_coop_copy(gex_Token_t token)
{
    aq_args_t args = aq_args_of(token);
    aq_msg_head_t receiver = {.source = token->arrival->source};
    const aq_cookie_t cookie = aq_args_64(&args);
    const uint64_t want = aq_args_64(&args), piece = aq_args_64(&args);
    const uint32_t slot = (uint32_t)aq_args_32(&args), generation = (uint32_t)aq_args_32(&args);
    receiver.nbytes = want;
    receiver.address = aq_args_64(&args);
    receiver.process = aq_args_32(&args);
    receiver.proof_address = aq_args_64(&args);
    receiver.proof = aq_args_64(&args);
    coop_copy_check(&receiver, want, piece, slot);
    aq_lock_take(&aq_msg.lock);
    const aq_pending_op_t *op = aq_cookies_find(&aq_msg.cookies, cookie, receiver.source);
    gasnetx_Request_t send = op ? op->context : NULL;
    const bool found = send && send->call.is_send && !(send->hooks && send->hooks->get_arrived);
    const bool fits = !found || want <= send->call.bytes;
    const bool begun = found && fits && help_begin(send, &receiver, want, piece, slot, generation);
    aq_lock_drop(&aq_msg.lock);
    if (!fits)
        coop_copy_refuse(&receiver, want, piece, slot);
    if (begun)
        aq_progress_busy(&help_task, 1);
}

void aq_msg_coop_copy_register(void)
{
    aq_progress_add(&help_task);
    aq_endpoint_internal_bare(AQ_HANDLER_MSG_COOP_COPY, on_coop_copy,
                              GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 15,
                              "cooperative copy of a message");
}
