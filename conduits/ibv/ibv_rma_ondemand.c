// Put and get into memory of a peer that is not registered, or for which this process has no key
// yet: segments LARGE and EVERYTHING. The peer is asked, by messages of the conduit's own, which
// are requests and replies like those of the client: they take credits, and go into rings.
//
//      put, get --miss--> transfer --MOVE (may have the data of a put)-------> peer: pins
//                            |     <--MOVED, with the key ------------------
//                            |------RDMA write or read --------------------->
//                            |
//                            '------COPY, when the peer can pin nothing ----> peer: copies
//                                  <--answer -------------------------------
//
// What is always true:
// - Nothing here waits. What finds no room is kept, and tried again by each poll: requests and
//   answers (letters), and transfers.
// - Who waits for a peer's process holds no buffer and no entry of a send queue: replies always
// find
//   some, as the device gives them back. So the source of a put that may change meanwhile is
//   copied to memory that is nobody else's.
// - From the moment when a transfer has asked it is whoever's handles the answer.
#include "ibv_conduit.h"

#include <stdlib.h>
#include <string.h>

#include "../../other/base/minmax.h"
#include "../../other/base/log.h"

typedef struct aq_ibv_transfer {
    struct aq_ibv_transfer *next;
    aq_ibv_conduit_t *ibv;
    aq_ibv_rma_t rma; // what is left
    aq_ibv_wait_t wait;
    aq_ibv_hold_t hold; // bytes 0: none
    bool by_peer;       // it cannot pin, and copies
    char source[];      // of a put, unless that is stable
} aq_ibv_transfer_t;

// What the peer is to copy, and what it has copied. A put has the data behind it, and so has the
// answer to a get.
typedef struct copy {
    uint64_t address;  // there
    uint64_t transfer; // its cookie, of the process that asks
    uint32_t bytes;
    uint32_t is_get;
} copy_t;

enum {
    FIREHOSE_ARGS = sizeof(aq_firehose_message_t) / sizeof(int32_t),
    COPY_ARGS = sizeof(copy_t) / sizeof(int32_t),
};

// A message that found no room; also the description of one.
typedef struct aq_ibv_letter {
    struct aq_ibv_letter *next;
    aq_ibv_peer_t *link;
    aq_am_t am;
    int32_t args[FIREHOSE_ARGS];
    char payload[];
} aq_ibv_letter_t;

_Static_assert((int)FIREHOSE_ARGS >= (int)COPY_ARGS && (int)FIREHOSE_ARGS <= AQ_AM_MAX_ARGS,
               "both travel as arguments");

static _Noreturn void end_job(const aq_ibv_conduit_t *ibv)
{
    ibv->base.env->boot->ops->abort(ibv->base.env->boot, 1);
}

static _Noreturn void no_memory(const aq_ibv_conduit_t *ibv, size_t bytes)
{
    aq_log_error("out of memory for a message of conduit ibv (%zu bytes)", bytes);
    end_job(ibv);
}

// ---- messages ----

// False: there is no room now.
static bool post(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_am_t *am)
{
    aq_status_t status = aq_ibv_send(&ibv->base, link, am);
    if (status != AQ_OK && status != AQ_AGAIN)
        end_job(ibv);
    return status == AQ_OK;
}

static void keep_letter(aq_ibv_conduit_t *ibv, aq_ibv_letter_t *letter)
{
    atomic_fetch_add_explicit(&ibv->waiting.answers, letter->am.reply, memory_order_relaxed);
    aq_lock_take(&ibv->waiting.lock);
    letter->next = ibv->waiting.letters;
    ibv->waiting.letters = letter;
    atomic_store_explicit(&ibv->waiting.any, true, memory_order_release);
    aq_lock_drop(&ibv->waiting.lock);
}

static void send_or_keep(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_am_t *am)
{
    if (post(ibv, link, am))
        return;
    aq_ibv_letter_t *letter = malloc(sizeof *letter + am->nbytes);
    if (!letter)
        no_memory(ibv, sizeof *letter + am->nbytes);
    letter->link = link;
    letter->am = *am;
    letter->am.args = memcpy(letter->args, am->args, am->nargs * sizeof *am->args);
    if (am->nbytes)
        letter->am.payload = memcpy(letter->payload, am->payload, am->nbytes);
    keep_letter(ibv, letter);
}

void aq_ibv_reach_request(void *context, uint32_t peer, const aq_firehose_message_t *message,
                          const void *data, uint32_t data_bytes)
{
    aq_ibv_conduit_t *ibv = context;
    const aq_am_t am = {.args = (const int32_t *)(const void *)message,
                        .payload = data,
                        .nbytes = data_bytes,
                        .category = AQ_IBV_FIREHOSE,
                        .nargs = FIREHOSE_ARGS};
    send_or_keep(ibv, atomic_load_explicit(&ibv->link_of[peer], memory_order_acquire), &am);
}

// ---- transfers ----

static void advance(aq_ibv_rma_t *rma, size_t bytes)
{
    rma->remote += bytes;
    rma->local += bytes;
    rma->nbytes -= bytes;
}

static void keep(aq_ibv_transfer_t *transfer)
{
    aq_ibv_waiting_t *waiting = &transfer->ibv->waiting;
    aq_lock_take(&waiting->lock);
    transfer->next = waiting->transfers;
    waiting->transfers = transfer;
    atomic_store_explicit(&waiting->any, true, memory_order_release);
    aq_lock_drop(&waiting->lock);
}

static void end(aq_ibv_transfer_t *transfer)
{
    atomic_fetch_sub_explicit(&transfer->ibv->waiting.begun, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(transfer->rma.pending, 1, memory_order_release);
    free(transfer);
}

// REACHED: the transfer has its hold. ASKED: it is no longer the caller's.
static aq_ibv_reached_t ask(aq_ibv_transfer_t *transfer)
{
    const aq_ibv_rma_t *rma = &transfer->rma;
    return aq_ibv_keys_remote(&transfer->ibv->keys, rma->link->rank, rma->remote, rma->nbytes,
                              !rma->is_get, rma->is_get ? NULL : rma->local, &transfer->wait,
                              &transfer->hold);
}

// The name of a transfer in the message that asks the peer to copy so many bytes.
static aq_cookie_t note_copy(aq_ibv_transfer_t *transfer, size_t bytes)
{
    aq_ibv_waiting_t *waiting = &transfer->ibv->waiting;
    const aq_pending_op_t op = {
        .context = transfer, .nbytes = bytes, .rank = transfer->rma.link->rank};
    aq_lock_take(&waiting->copies_lock);
    const aq_cookie_t cookie = aq_cookies_add(&waiting->copies, &op);
    aq_lock_drop(&waiting->copies_lock);
    if (!cookie)
        no_memory(transfer->ibv, sizeof op);
    return cookie;
}

static bool take_copy(aq_ibv_conduit_t *ibv, aq_cookie_t cookie, uint32_t rank, aq_pending_op_t *op)
{
    aq_lock_take(&ibv->waiting.copies_lock);
    const bool found = aq_cookies_take(&ibv->waiting.copies, cookie, rank, op);
    aq_lock_drop(&ibv->waiting.copies_lock);
    return found;
}

// True: the transfer is no longer the caller's. False: there is no room.
static bool ask_for_copy(aq_ibv_transfer_t *transfer)
{
    const aq_ibv_rma_t *rma = &transfer->rma;
    const size_t most = AQ_IBV_BUFFER_BYTES - aq_ibv_payload_at(AQ_IBV_COPY, COPY_ARGS);
    const size_t bytes = aq_min(rma->nbytes, most);
    const copy_t copy = {.address = rma->remote,
                         .transfer = note_copy(transfer, bytes),
                         .bytes = (uint32_t)bytes,
                         .is_get = rma->is_get};
    const aq_am_t am = {.args = (const int32_t *)(const void *)&copy,
                        .payload = rma->local,
                        .nbytes = rma->is_get ? 0 : copy.bytes,
                        .category = AQ_IBV_COPY,
                        .nargs = COPY_ARGS};
    if (post(transfer->ibv, rma->link, &am))
        return true;
    aq_pending_op_t op;
    (void)take_copy(transfer->ibv, copy.transfer, rma->link->rank, &op);
    return false;
}

// One step; true: there is another one.
static bool step(aq_ibv_transfer_t *transfer)
{
    if (transfer->by_peer) {
        if (!ask_for_copy(transfer))
            keep(transfer);
        return false;
    }
    if (!transfer->hold.bytes) {
        aq_ibv_reached_t reached = ask(transfer);
        if (reached == AQ_IBV_FULL)
            keep(transfer);
        return reached == AQ_IBV_REACHED;
    }
    size_t begun = aq_ibv_rma_begin(transfer->ibv, &transfer->rma, &transfer->hold);
    if (!begun) {
        keep(transfer);
        return false;
    }
    transfer->hold.bytes = 0;
    advance(&transfer->rma, begun);
    return true;
}

static void go_on(aq_ibv_transfer_t *transfer)
{
    while (transfer->rma.nbytes)
        if (!step(transfer))
            return;
    end(transfer);
}

// The peer has answered; see aq_ibv_wait_t.
static void answered(aq_ibv_wait_t *wait, aq_status_t status, const aq_ibv_hold_t *hold)
{
    aq_ibv_transfer_t *transfer =
        (aq_ibv_transfer_t *)(void *)((char *)wait - offsetof(aq_ibv_transfer_t, wait));
    if (hold)
        transfer->hold = *hold;
    else if (status == AQ_OK)
        advance(&transfer->rma, transfer->rma.nbytes);
    else
        transfer->by_peer = status != AQ_AGAIN;
    go_on(transfer);
}

// For as much of it as one firehose may have.
static aq_ibv_transfer_t *make(aq_ibv_conduit_t *ibv, const aq_ibv_rma_t *rma)
{
    const uint64_t region = ibv->keys.region_bytes;
    const bool copied = !rma->is_get && !rma->stable;
    size_t nbytes = aq_min(rma->nbytes, region - rma->remote % region);
    if (copied)
        nbytes = aq_min(nbytes, ibv->limits.bounce_bytes);
    aq_ibv_transfer_t *transfer = malloc(sizeof *transfer + (copied ? nbytes : 0));
    if (!transfer)
        no_memory(ibv, sizeof *transfer + nbytes);
    *transfer = (aq_ibv_transfer_t){.ibv = ibv, .rma = *rma, .wait.done = answered};
    transfer->rma.nbytes = nbytes;
    if (copied)
        transfer->rma.local = memcpy(transfer->source, rma->local, nbytes);
    atomic_fetch_add_explicit(&ibv->waiting.begun, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(rma->pending, 1, memory_order_relaxed);
    return transfer;
}

aq_status_t aq_ibv_reach_begin(aq_ibv_conduit_t *ibv, const aq_ibv_rma_t *rma, size_t *begun)
{
    if (atomic_load_explicit(&ibv->waiting.begun, memory_order_relaxed) >= ibv->limits.depth_total)
        return AQ_AGAIN;
    aq_ibv_transfer_t *transfer = make(ibv, rma);
    const size_t nbytes = transfer->rma.nbytes;
    aq_ibv_reached_t reached = ask(transfer);
    if (reached == AQ_IBV_FULL) {
        end(transfer);
        return AQ_AGAIN;
    }
    if (reached == AQ_IBV_REACHED)
        go_on(transfer);
    *begun = nbytes;
    return AQ_OK;
}

// ---- arrivals ----

static _Noreturn void refuse(const aq_ibv_conduit_t *ibv, const aq_ibv_peer_t *link,
                             const char *why)
{
    aq_log_error("fatal: a message of rank %u is wrong: %s", link->rank, why);
    end_job(ibv);
}

static void firehose_arrived(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_arrival_t *in)
{
    aq_firehose_message_t message, answer;
    if (in->nargs != FIREHOSE_ARGS)
        refuse(ibv, link, "what firehose says has another number of arguments");
    memcpy(&message, in->args, sizeof message);
    if (in->reply) {
        if (aq_ibv_keys_answered(&ibv->keys, link->rank, &message) != AQ_OK)
            end_job(ibv);
        return;
    }
    if (aq_ibv_keys_serve(&ibv->keys, link->rank, &message, in->payload, (uint32_t)in->nbytes,
                          &answer) != AQ_OK)
        end_job(ibv);
    const aq_am_t am = {.args = (const int32_t *)(const void *)&answer,
                        .category = AQ_IBV_FIREHOSE,
                        .nargs = FIREHOSE_ARGS,
                        .reply = true};
    send_or_keep(ibv, link, &am);
}

static void copied(aq_ibv_conduit_t *ibv, const aq_ibv_peer_t *link, const copy_t *copy,
                   const aq_arrival_t *in)
{
    aq_pending_op_t op;
    if (!take_copy(ibv, copy->transfer, link->rank, &op))
        refuse(ibv, link, "it answers a copy for which no transfer waits");
    aq_ibv_transfer_t *transfer = op.context;
    if (in->nbytes != (transfer->rma.is_get ? op.nbytes : 0))
        refuse(ibv, link, "it brings more or less of a copy than was asked for");
    atomic_fetch_add_explicit(&ibv->by_peer, 1, memory_order_relaxed);
    if (transfer->rma.is_get)
        memcpy(transfer->rma.local, in->payload, op.nbytes);
    advance(&transfer->rma, op.nbytes);
    go_on(transfer);
}

static void copy_arrived(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_arrival_t *in)
{
    copy_t copy;
    if (in->nargs != COPY_ARGS)
        refuse(ibv, link, "a copy has another number of arguments");
    memcpy(&copy, in->args, sizeof copy);
    if (in->reply) {
        copied(ibv, link, &copy, in);
        return;
    }
    if (copy.is_get ? copy.bytes > AQ_IBV_BUFFER_BYTES - aq_ibv_payload_at(AQ_IBV_COPY, COPY_ARGS)
                    : copy.bytes != in->nbytes)
        refuse(ibv, link, "a copy has another length than its data, or than a message holds");
    if (!aq_ibv_keys_legal(&ibv->keys, link->rank, copy.address, copy.bytes))
        end_job(ibv);
    void *here = (void *)(uintptr_t)copy.address;
    if (!copy.is_get)
        memcpy(here, in->payload, copy.bytes);
    const aq_am_t am = {.args = in->args,
                        .payload = here,
                        .nbytes = copy.is_get ? copy.bytes : 0,
                        .category = AQ_IBV_COPY,
                        .nargs = COPY_ARGS,
                        .reply = true};
    send_or_keep(ibv, link, &am);
}

void aq_ibv_reach_arrived(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_arrival_t *in)
{
    if (in->category == AQ_IBV_FIREHOSE)
        firehose_arrived(ibv, link, in);
    else
        copy_arrived(ibv, link, in);
}

// ---- what found no room ----

static void send_letters(aq_ibv_conduit_t *ibv, aq_ibv_letter_t *letter)
{
    aq_ibv_letter_t *next;
    for (; letter; letter = next) {
        next = letter->next;
        atomic_fetch_sub_explicit(&ibv->waiting.answers, letter->am.reply, memory_order_relaxed);
        if (post(ibv, letter->link, &letter->am))
            free(letter);
        else
            keep_letter(ibv, letter);
    }
}

bool aq_ibv_reach_go_on(aq_ibv_conduit_t *ibv)
{
    aq_ibv_waiting_t *waiting = &ibv->waiting;
    if (!atomic_load_explicit(&waiting->any, memory_order_relaxed))
        return true;
    aq_lock_take(&waiting->lock);
    aq_ibv_letter_t *letters = waiting->letters;
    aq_ibv_transfer_t *next, *transfer = waiting->transfers;
    waiting->letters = NULL;
    waiting->transfers = NULL;
    atomic_store_explicit(&waiting->any, false, memory_order_relaxed);
    aq_lock_drop(&waiting->lock);
    send_letters(ibv, letters);
    for (; transfer; transfer = next) {
        next = transfer->next;
        go_on(transfer);
    }
    return atomic_load_explicit(&waiting->answers, memory_order_relaxed) == 0;
}
