// SPDX-License-Identifier: BSD-3-Clause
// The transfers as state machines. ofi_rma.c begins one if no key reaches the memory; the thread
// that begins it, polls, and answers of the peer take its steps.
#include "ofi_ondemand.h"

#include <stdlib.h>
#include <string.h>

#include "../../../core/ground/fatal.h"
#include "../../../other/base/minmax.h"
#include "ofi_rma_begin.h"

typedef struct ofi_transfer {
    struct ofi_transfer *next;
    ofi_conduit_t *ofi;
    ofi_link_t *link;
    aq_rma_t rma; // what is left
    aq_firehose_wait_t wait;
    aq_firehose_region_t *hold; // on memory of the peer; NULL: none
    bool by_peer;               // the peer cannot register the memory, and copies
    char source[];              // of a put, unless that is stable
} ofi_transfer_t;

// The arguments of OFI_FETCH: what the peer has to send. The answer has the same and the data.
typedef struct ofi_fetch {
    uint64_t address; // at the peer
    uint64_t cookie;  // of the transfer
    uint64_t bytes;
} ofi_fetch_t;

enum {
    TRANSFERS_MAX = OFI_REQUESTS_MAX,
    FIREHOSE_ARGS = sizeof(aq_firehose_message_t) / sizeof(int32_t),
    FETCH_ARGS = sizeof(ofi_fetch_t) / sizeof(int32_t),
};

// A call of aq_firehose_reach in this thread has a credit, which a request uses.
static _Thread_local bool credit_is_lent;

static ofi_ondemand_t *ondemand_of(ofi_conduit_t *ofi)
{
    return &ofi->rma->ondemand;
}

static _Noreturn void fail_no_memory(size_t bytes)
{
    aq_fatal("out of memory for put and get of conduit ofi (%zu bytes)", bytes);
}

// ---- messages ----

static void message_send(ofi_conduit_t *ofi, ofi_link_t *link, unsigned class,
                         const aq_firehose_message_t *message, const void *data,
                         uint32_t data_bytes)
{
    const ofi_frame_t frame = {.kind = OFI_FIREHOSE, .nargs = FIREHOSE_ARGS, .bytes = data_bytes};
    aq_lock_take(&ofi->lock);
    ofi_send_own(ofi, link, class, &frame, (const int32_t *)(const void *)message, data);
    aq_lock_drop(&ofi->lock);
}

void ofi_ondemand_request(void *context, uint32_t peer, const aq_firehose_message_t *message,
                          const void *data, uint32_t data_bytes)
{
    ofi_conduit_t *ofi = context;
    credit_is_lent = false;
    message_send(ofi, ofi->links.by_rank[peer], OFI_REQUESTS, message, data, data_bytes);
}

// ---- transfers ----

static void transfer_keep(ofi_transfer_t *transfer)
{
    ofi_conduit_t *ofi = transfer->ofi;
    ofi_ondemand_t *ondemand = ondemand_of(ofi);
    aq_lock_take(&ofi->lock);
    transfer->next = ondemand->kept;
    ondemand->kept = transfer;
    atomic_store_explicit(&ondemand->any, true, memory_order_relaxed);
    aq_lock_drop(&ofi->lock);
}

static void transfer_end(ofi_transfer_t *transfer)
{
    atomic_fetch_sub_explicit(&ondemand_of(transfer->ofi)->begun, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(transfer->rma.pending, 1, memory_order_release);
    free(transfer);
}

// Whether the data of a put may travel with the request.
static const void *transfer_data(const ofi_transfer_t *transfer)
{
    const aq_rma_t *rma = &transfer->rma;
    const size_t most = ofi_payload_most(transfer->ofi->packet_bytes, OFI_FIREHOSE);
    return rma->kind == AQ_RMA_PUT && rma->nbytes <= most ? rma->local : NULL;
}

// HIT: the transfer has its hold. PENDING: the caller no longer owns the transfer. FULL: no room.
static aq_firehose_reached_t transfer_ask(ofi_transfer_t *transfer)
{
    aq_credit_t *credit = &transfer->link->credit;
    const aq_rma_t *rma = &transfer->rma;
    const aq_firehose_target_t target = {.peer = transfer->link->rank,
                                         .write = rma->kind == AQ_RMA_PUT,
                                         .address = (uintptr_t)rma->remote,
                                         .bytes = rma->nbytes,
                                         .data = transfer_data(transfer)};
    if (!aq_credit_take(credit))
        return AQ_FIREHOSE_FULL;
    credit_is_lent = true;
    const aq_firehose_reached_t reached = aq_firehose_reach(
        transfer->ofi->rma->pins.firehose, &target, &transfer->wait, &transfer->hold);
    if (credit_is_lent)
        aq_credit_untake(credit);
    credit_is_lent = false;
    return reached;
}

// Sends a piece of a put in a packet. False: no room.
static bool transfer_send(ofi_transfer_t *transfer)
{
    aq_rma_t *rma = &transfer->rma, piece = *rma;
    piece.nbytes = aq_min(rma->nbytes, ofi_payload_most(transfer->ofi->packet_bytes, OFI_PUT));
    const size_t bytes = piece.nbytes;
    if (ofi_send_put(transfer->ofi, transfer->link, &piece) != AQ_OK)
        return false;
    atomic_fetch_add_explicit(&ondemand_of(transfer->ofi)->by_peer, 1, memory_order_relaxed);
    aq_rma_advance(rma, bytes);
    return true;
}

// Asks for a piece of a get. True: the caller no longer owns the transfer. False: no room.
static bool transfer_fetch(ofi_transfer_t *transfer)
{
    ofi_conduit_t *ofi = transfer->ofi;
    ofi_link_t *link = transfer->link;
    const size_t most = ofi_payload_most(ofi->packet_bytes, OFI_FETCH);
    ofi_fetch_t fetch = {.address = (uintptr_t)transfer->rma.remote,
                         .bytes = aq_min(transfer->rma.nbytes, most)};
    const aq_pending_op_t op = {.context = transfer, .nbytes = fetch.bytes, .rank = link->rank};
    if (!aq_credit_take(&link->credit))
        return false;
    aq_lock_take(&ofi->lock);
    fetch.cookie = aq_cookies_add(&ondemand_of(ofi)->fetches, &op);
    if (!fetch.cookie)
        fail_no_memory(sizeof op);
    ofi_send_own(ofi, link, OFI_REQUESTS, &(ofi_frame_t){.kind = OFI_FETCH, .nargs = FETCH_ARGS},
                 (const int32_t *)(const void *)&fetch, NULL);
    aq_lock_drop(&ofi->lock);
    return true;
}

// Takes one step with a peer that copies. True: the caller still owns the transfer.
static bool transfer_copy_step(ofi_transfer_t *transfer)
{
    const bool is_get = transfer->rma.kind == AQ_RMA_GET;
    const bool begun = is_get ? transfer_fetch(transfer) : transfer_send(transfer);
    if (!begun)
        transfer_keep(transfer);
    return begun && !is_get;
}

// Takes one step. True: the caller still owns the transfer, and takes the next step.
static bool transfer_step(ofi_transfer_t *transfer)
{
    if (transfer->by_peer)
        return transfer_copy_step(transfer);
    if (!transfer->hold) {
        const aq_firehose_reached_t reached = transfer_ask(transfer);
        if (reached == AQ_FIREHOSE_FULL)
            transfer_keep(transfer);
        return reached == AQ_FIREHOSE_HIT;
    }
    if (ofi_rma_begin_held(transfer->ofi, transfer->link, transfer->hold, &transfer->rma) !=
        AQ_OK) {
        transfer_keep(transfer);
        return false;
    }
    transfer->hold = NULL;
    return true;
}

static void transfer_go_on(ofi_transfer_t *transfer)
{
    while (transfer->rma.nbytes)
        if (!transfer_step(transfer))
            return;
    transfer_end(transfer);
}

// The peer has answered; see aq_firehose_wait_t.
static void transfer_answered(aq_firehose_wait_t *wait, aq_status_t status,
                              aq_firehose_region_t *region)
{
    ofi_transfer_t *transfer =
        (ofi_transfer_t *)(void *)((char *)wait - offsetof(ofi_transfer_t, wait));
    if (region)
        transfer->hold = region;
    else if (status == AQ_OK)
        aq_rma_advance(&transfer->rma, transfer->rma.nbytes);
    else
        transfer->by_peer = status != AQ_AGAIN;
    transfer_go_on(transfer);
}

// A transfer of as much of a put or get as one firehose may cover.
static ofi_transfer_t *transfer_make(ofi_conduit_t *ofi, ofi_link_t *link, const aq_rma_t *rma)
{
    const uint64_t region = ofi->rma->pins.region_bytes;
    const bool copied = rma->kind == AQ_RMA_PUT && !(rma->flags & AQ_RMA_STABLE);
    size_t nbytes = aq_min(rma->nbytes, region - (uintptr_t)rma->remote % region);
    if (copied)
        nbytes = aq_min(nbytes, ofi->packet_bytes);
    ofi_transfer_t *transfer = malloc(sizeof *transfer + (copied ? nbytes : 0));
    if (!transfer)
        fail_no_memory(sizeof *transfer + nbytes);
    *transfer =
        (ofi_transfer_t){.ofi = ofi, .link = link, .rma = *rma, .wait.done = transfer_answered};
    transfer->rma.nbytes = nbytes;
    if (copied)
        transfer->rma.local = memcpy(transfer->source, rma->local, nbytes);
    atomic_fetch_add_explicit(&ondemand_of(ofi)->begun, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(rma->pending, 1, memory_order_relaxed);
    return transfer;
}

static aq_status_t transfer_begin(ofi_conduit_t *ofi, ofi_link_t *link, aq_rma_t *rma)
{
    if (atomic_load_explicit(&ondemand_of(ofi)->begun, memory_order_relaxed) >= TRANSFERS_MAX)
        return AQ_AGAIN;
    ofi_transfer_t *transfer = transfer_make(ofi, link, rma);
    const size_t nbytes = transfer->rma.nbytes;
    const aq_firehose_reached_t reached = transfer_ask(transfer);
    if (reached == AQ_FIREHOSE_FULL) {
        transfer_end(transfer);
        return AQ_AGAIN;
    }
    if (reached == AQ_FIREHOSE_HIT)
        transfer_go_on(transfer);
    aq_rma_advance(rma, nbytes);
    return AQ_OK;
}

static bool is_open(const ofi_conduit_t *ofi, uint32_t rank, const aq_rma_t *rma)
{
    const aq_conduit_env_t *env = ofi->base.env;
    if (env->segment_mode == AQ_SEGMENT_EVERYTHING)
        return true;
    const uintptr_t offset = (uintptr_t)rma->remote - env->segment_addr[rank];
    const uintptr_t size = env->segment_size[rank];
    return offset < size && rma->nbytes <= size - offset;
}

aq_status_t ofi_ondemand_begin(ofi_conduit_t *ofi, ofi_link_t *link, aq_rma_t *rma)
{
    if (!is_open(ofi, link->rank, rma))
        return AQ_ERR_ABSENT;
    aq_firehose_region_t *hold = aq_firehose_look(ofi->rma->pins.firehose, link->rank,
                                                  (uintptr_t)rma->remote, rma->kind == AQ_RMA_PUT);
    if (!hold)
        return transfer_begin(ofi, link, rma);
    const aq_status_t status = ofi_rma_begin_held(ofi, link, hold, rma);
    if (status != AQ_OK)
        aq_firehose_release(hold);
    return status;
}

// ---- arrivals ----

static bool is_legal(const ofi_conduit_t *ofi, const ofi_link_t *link, uint64_t address,
                     uint64_t bytes)
{
    void *memory = (void *)(uintptr_t)address;
    if (ofi->base.env->segment_holds(memory, bytes))
        return true;
    aq_log_error("rank %u asks for %llu bytes at %p, which are not in the segment of this process; "
                 "check the addresses of its puts and gets",
                 link->rank, (unsigned long long)bytes, memory);
    return false;
}

static bool request_serve(ofi_conduit_t *ofi, ofi_link_t *link,
                          const aq_firehose_message_t *request, const ofi_frame_read_t *read)
{
    aq_firehose_message_t answer;
    if ((request->kind == AQ_FIREHOSE_MOVE &&
         !is_legal(ofi, link, request->address, request->bytes)) ||
        aq_firehose_serve(ofi->rma->pins.firehose, link->rank, request, read->payload,
                          read->frame.bytes, &answer) != AQ_OK)
        return false;
    message_send(ofi, link, OFI_REPLIES, &answer, NULL, 0);
    return true;
}

static bool firehose_arrived(ofi_conduit_t *ofi, ofi_link_t *link, const ofi_frame_read_t *read,
                             bool reply)
{
    aq_firehose_message_t message;
    if (read->frame.nargs != FIREHOSE_ARGS)
        return false;
    memcpy(&message, read->args, sizeof message);
    if (!reply)
        return request_serve(ofi, link, &message, read);
    return aq_firehose_answered(ofi->rma->pins.firehose, link->rank, &message) == AQ_OK;
}

static bool fetch_serve(ofi_conduit_t *ofi, ofi_link_t *link, const ofi_fetch_t *fetch)
{
    const ofi_frame_t frame = {
        .kind = OFI_FETCH, .nargs = FETCH_ARGS, .bytes = (uint32_t)fetch->bytes};
    if (fetch->bytes > ofi_payload_most(ofi->packet_bytes, OFI_FETCH) ||
        !is_legal(ofi, link, fetch->address, fetch->bytes))
        return false;
    aq_lock_take(&ofi->lock);
    ofi_send_own(ofi, link, OFI_REPLIES, &frame, (const int32_t *)(const void *)fetch,
                 (const void *)(uintptr_t)fetch->address);
    aq_lock_drop(&ofi->lock);
    return true;
}

// The transfer that waits for an answer; NULL: there is none, or the answer has another length.
static ofi_transfer_t *fetch_take(ofi_conduit_t *ofi, uint32_t rank, aq_cookie_t cookie,
                                  size_t bytes)
{
    ofi_ondemand_t *ondemand = ondemand_of(ofi);
    aq_pending_op_t op;
    aq_lock_take(&ofi->lock);
    const bool found = aq_cookies_take(&ondemand->fetches, cookie, rank, &op);
    aq_lock_drop(&ofi->lock);
    atomic_fetch_add_explicit(&ondemand->by_peer, found, memory_order_relaxed);
    return found && op.nbytes == bytes ? op.context : NULL;
}

static bool fetch_arrived(ofi_conduit_t *ofi, ofi_link_t *link, const ofi_frame_read_t *read,
                          bool reply)
{
    ofi_fetch_t fetch;
    if (read->frame.nargs != FETCH_ARGS)
        return false;
    memcpy(&fetch, read->args, sizeof fetch);
    if (!reply)
        return fetch_serve(ofi, link, &fetch);
    ofi_transfer_t *transfer = fetch_take(ofi, link->rank, fetch.cookie, read->frame.bytes);
    if (!transfer)
        return false;
    memcpy(transfer->rma.local, read->payload, read->frame.bytes);
    aq_rma_advance(&transfer->rma, read->frame.bytes);
    transfer_go_on(transfer);
    return true;
}

bool ofi_ondemand_arrived(ofi_conduit_t *ofi, ofi_link_t *link, const ofi_frame_read_t *read,
                          bool reply)
{
    if (!ofi->rma->pins.reaches)
        return false;
    return read->frame.kind == OFI_FIREHOSE ? firehose_arrived(ofi, link, read, reply)
                                            : fetch_arrived(ofi, link, read, reply);
}

// ---- progress ----

void ofi_ondemand_progress(ofi_conduit_t *ofi)
{
    ofi_ondemand_t *ondemand = ondemand_of(ofi);
    if (!atomic_load_explicit(&ondemand->any, memory_order_relaxed))
        return;
    aq_lock_take(&ofi->lock);
    ofi_transfer_t *next, *transfer = ondemand->kept;
    ondemand->kept = NULL;
    atomic_store_explicit(&ondemand->any, false, memory_order_relaxed);
    aq_lock_drop(&ofi->lock);
    for (; transfer; transfer = next) {
        next = transfer->next;
        transfer_go_on(transfer);
    }
}
