// SPDX-License-Identifier: BSD-3-Clause
// The transfers that ask the peer for a key, and the messages that found no room. ibv_table.c
// begins a transfer if no key is known; answers (ibv_receive.c) and polls continue it.
#include "ibv_rma_ondemand.h"

#include <stdlib.h>
#include <string.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"

typedef struct aq_ibv_transfer {
    struct aq_ibv_transfer *next;
    aq_ibv_ondemand_t *owner;
    aq_ibv_peer_t *link;
    aq_rma_t rma; // what is left
    aq_ibv_wait_t wait;
    aq_ibv_hold_t hold; // bytes 0: none
    bool by_peer;       // the peer cannot pin the memory, and copies
    char source[];      // of a put, unless that is stable
} aq_ibv_transfer_t;

// The arguments of COPY: what the peer has to copy, or has copied. The data of a put follows, and
// so does that of the answer to a get.
typedef struct copy {
    uint64_t address;  // at the peer
    uint64_t transfer; // cookie of the asking process
    uint32_t bytes;
    uint32_t is_get;
} copy_t;

enum {
    FIREHOSE_ARGS = sizeof(aq_firehose_message_t) / sizeof(int32_t),
    COPY_ARGS = sizeof(copy_t) / sizeof(int32_t),
};

// A message that found no room.
typedef struct aq_ibv_deferred_msg {
    struct aq_ibv_deferred_msg *next;
    aq_ibv_peer_t *link;
    aq_am_t am;
    int32_t args[FIREHOSE_ARGS];
    char payload[];
} aq_ibv_deferred_msg_t;

_Static_assert((int)FIREHOSE_ARGS >= (int)COPY_ARGS && (int)FIREHOSE_ARGS <= AQ_AM_MAX_ARGS,
               "both travel as arguments");

static _Noreturn void end_job(const aq_ibv_ondemand_t *ondemand)
{
    ondemand->env->boot->ops->abort(ondemand->env->boot, 1);
}

static _Noreturn void fail_no_memory(const aq_ibv_ondemand_t *ondemand, size_t bytes)
{
    aq_log_error("out of memory for a message of conduit ibv (%zu bytes)", bytes);
    end_job(ondemand);
}

// ---- what finds no room ----

// Wakes the send thread if no operation is outstanding; otherwise the next completion makes it try
// again.
static void kept_tell(const aq_ibv_ondemand_t *ondemand)
{
    if (ondemand->wake && !atomic_load(&ondemand->sender->queue->ops_used))
        ondemand->wake(ondemand->sleeper);
}

// ---- messages ----

// False: there is no room now.
static bool message_send(aq_ibv_ondemand_t *ondemand, aq_ibv_peer_t *link, const aq_am_t *am)
{
    aq_status_t status = aq_ibv_send(ondemand->sender, link, am);
    if (status != AQ_OK && status != AQ_AGAIN)
        end_job(ondemand);
    return status == AQ_OK;
}

static void deferred_msg_keep(aq_ibv_ondemand_t *ondemand, aq_ibv_deferred_msg_t *msg)
{
    atomic_fetch_add_explicit(&ondemand->answers, msg->am.reply, memory_order_relaxed);
    aq_lock_take(&ondemand->lock);
    msg->next = ondemand->deferred;
    ondemand->deferred = msg;
    atomic_store_explicit(&ondemand->any, true, memory_order_release);
    aq_lock_drop(&ondemand->lock);
    kept_tell(ondemand);
}

static void message_send_or_defer(aq_ibv_ondemand_t *ondemand, aq_ibv_peer_t *link,
                                  const aq_am_t *am)
{
    if (message_send(ondemand, link, am))
        return;
    aq_ibv_deferred_msg_t *msg = malloc(sizeof *msg + am->nbytes);
    if (!msg)
        fail_no_memory(ondemand, sizeof *msg + am->nbytes);
    msg->link = link;
    msg->am = *am;
    msg->am.args = memcpy(msg->args, am->args, am->nargs * sizeof *am->args);
    if (am->nbytes)
        msg->am.payload = memcpy(msg->payload, am->payload, am->nbytes);
    deferred_msg_keep(ondemand, msg);
}

void aq_ibv_ondemand_request(void *context, uint32_t peer, const aq_firehose_message_t *message,
                             const void *data, uint32_t data_bytes)
{
    aq_ibv_ondemand_t *ondemand = context;
    const aq_am_t am = {.args = (const int32_t *)(const void *)message,
                        .payload = data,
                        .nbytes = data_bytes,
                        .category = AQ_IBV_FIREHOSE,
                        .nargs = FIREHOSE_ARGS};
    message_send_or_defer(
        ondemand, atomic_load_explicit(&ondemand->peers->by_number[peer], memory_order_acquire),
        &am);
}

void aq_ibv_ondemand_say(void *context, aq_ibv_peer_t *link, const void *message, uint32_t bytes)
{
    static const int32_t none;
    const aq_am_t am = {
        .args = &none, .payload = message, .nbytes = bytes, .category = AQ_IBV_RAILS};
    message_send_or_defer(context, link, &am);
}

// ---- transfers ----

static void transfer_keep(aq_ibv_transfer_t *transfer)
{
    aq_ibv_ondemand_t *ondemand = transfer->owner;
    aq_lock_take(&ondemand->lock);
    transfer->next = ondemand->transfers;
    ondemand->transfers = transfer;
    atomic_store_explicit(&ondemand->any, true, memory_order_release);
    aq_lock_drop(&ondemand->lock);
    kept_tell(ondemand);
}

static void transfer_end(aq_ibv_transfer_t *transfer)
{
    atomic_fetch_sub_explicit(&transfer->owner->begun, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(transfer->rma.pending, 1, memory_order_release);
    free(transfer);
}

// REACHED: the transfer has its hold. PENDING: the caller no longer owns the transfer.
static aq_ibv_reached_t transfer_ask(aq_ibv_transfer_t *transfer)
{
    const aq_rma_t *rma = &transfer->rma;
    const bool is_get = rma->kind == AQ_RMA_GET;
    const aq_firehose_target_t target = {.peer = transfer->link->rank,
                                         .write = !is_get,
                                         .address = (uintptr_t)rma->remote,
                                         .bytes = rma->nbytes,
                                         .data = is_get ? NULL : rma->local};
    return aq_ibv_keys_remote(transfer->owner->keys, &target, &transfer->wait, &transfer->hold);
}

// The cookie that names a transfer in its COPY of so many bytes.
static aq_cookie_t copy_add(aq_ibv_transfer_t *transfer, size_t bytes)
{
    aq_ibv_ondemand_t *ondemand = transfer->owner;
    const aq_pending_op_t op = {.context = transfer, .nbytes = bytes, .rank = transfer->link->rank};
    aq_lock_take(&ondemand->copies_lock);
    const aq_cookie_t cookie = aq_cookies_add(&ondemand->copies, &op);
    aq_lock_drop(&ondemand->copies_lock);
    if (!cookie)
        fail_no_memory(ondemand, sizeof op);
    return cookie;
}

static bool copy_take(aq_ibv_ondemand_t *ondemand, aq_cookie_t cookie, uint32_t rank,
                      aq_pending_op_t *op)
{
    aq_lock_take(&ondemand->copies_lock);
    const bool found = aq_cookies_take(&ondemand->copies, cookie, rank, op);
    aq_lock_drop(&ondemand->copies_lock);
    return found;
}

// True: the caller no longer owns the transfer. False: there is no room.
static bool transfer_ask_for_copy(aq_ibv_transfer_t *transfer)
{
    const aq_rma_t *rma = &transfer->rma;
    aq_ibv_peer_t *link = transfer->link;
    const bool is_get = rma->kind == AQ_RMA_GET;
    const size_t most = AQ_IBV_BUFFER_BYTES - aq_ibv_payload_at(AQ_IBV_COPY, COPY_ARGS);
    const size_t bytes = aq_min(rma->nbytes, most);
    const copy_t copy = {.address = (uintptr_t)rma->remote,
                         .transfer = copy_add(transfer, bytes),
                         .bytes = (uint32_t)bytes,
                         .is_get = is_get};
    const aq_am_t am = {.args = (const int32_t *)(const void *)&copy,
                        .payload = rma->local,
                        .nbytes = is_get ? 0 : copy.bytes,
                        .category = AQ_IBV_COPY,
                        .nargs = COPY_ARGS};
    if (message_send(transfer->owner, link, &am))
        return true;
    aq_pending_op_t op;
    (void)copy_take(transfer->owner, copy.transfer, link->rank, &op);
    return false;
}

// Takes one step. True: the caller still owns the transfer, and takes the next step.
static bool transfer_step(aq_ibv_transfer_t *transfer)
{
    if (transfer->by_peer) {
        if (!transfer_ask_for_copy(transfer))
            transfer_keep(transfer);
        return false;
    }
    if (!transfer->hold.bytes) {
        aq_ibv_reached_t reached = transfer_ask(transfer);
        if (reached == AQ_IBV_FULL)
            transfer_keep(transfer);
        return reached == AQ_IBV_REACHED;
    }
    const aq_ibv_ondemand_t *owner = transfer->owner;
    size_t begun = owner->begin(owner->path, transfer->link, &transfer->rma, &transfer->hold);
    if (!begun) {
        transfer_keep(transfer);
        return false;
    }
    transfer->hold.bytes = 0;
    aq_rma_advance(&transfer->rma, begun);
    return true;
}

static void transfer_go_on(aq_ibv_transfer_t *transfer)
{
    while (transfer->rma.nbytes)
        if (!transfer_step(transfer))
            return;
    transfer_end(transfer);
}

// The peer has answered; see aq_ibv_wait_t.
static void transfer_answered(aq_ibv_wait_t *wait, aq_status_t status, const aq_ibv_hold_t *hold)
{
    aq_ibv_transfer_t *transfer =
        (aq_ibv_transfer_t *)(void *)((char *)wait - offsetof(aq_ibv_transfer_t, wait));
    if (hold)
        transfer->hold = *hold;
    else if (status == AQ_OK)
        aq_rma_advance(&transfer->rma, transfer->rma.nbytes);
    else
        transfer->by_peer = status != AQ_AGAIN;
    transfer_go_on(transfer);
}

// A transfer of as much of a put or get as one firehose may cover.
static aq_ibv_transfer_t *transfer_make(aq_ibv_ondemand_t *ondemand, aq_ibv_peer_t *link,
                                        const aq_rma_t *rma)
{
    const uint64_t region = ondemand->keys->region_bytes;
    const bool copied = rma->kind == AQ_RMA_PUT && !(rma->flags & AQ_RMA_STABLE);
    size_t nbytes = aq_min(rma->nbytes, region - (uintptr_t)rma->remote % region);
    if (copied)
        nbytes = aq_min(nbytes, ondemand->limits->bounce_bytes);
    aq_ibv_transfer_t *transfer = malloc(sizeof *transfer + (copied ? nbytes : 0));
    if (!transfer)
        fail_no_memory(ondemand, sizeof *transfer + nbytes);
    *transfer = (aq_ibv_transfer_t){
        .owner = ondemand, .link = link, .rma = *rma, .wait.done = transfer_answered};
    transfer->rma.nbytes = nbytes;
    if (copied)
        transfer->rma.local = memcpy(transfer->source, rma->local, nbytes);
    atomic_fetch_add_explicit(&ondemand->begun, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(rma->pending, 1, memory_order_relaxed);
    return transfer;
}

aq_status_t aq_ibv_ondemand_begin(aq_ibv_ondemand_t *ondemand, aq_ibv_peer_t *link, aq_rma_t *rma)
{
    if (atomic_load_explicit(&ondemand->begun, memory_order_relaxed) >=
        ondemand->limits->depth_total)
        return AQ_AGAIN;
    aq_ibv_transfer_t *transfer = transfer_make(ondemand, link, rma);
    const size_t nbytes = transfer->rma.nbytes;
    aq_ibv_reached_t reached = transfer_ask(transfer);
    if (reached == AQ_IBV_FULL) {
        transfer_end(transfer);
        return AQ_AGAIN;
    }
    if (reached == AQ_IBV_REACHED)
        transfer_go_on(transfer);
    aq_rma_advance(rma, nbytes);
    return AQ_OK;
}

// ---- arrivals ----

static _Noreturn void message_refuse(const aq_ibv_ondemand_t *ondemand, const aq_ibv_peer_t *link,
                                     const char *why)
{
    aq_log_error("fatal: a message of rank %u is wrong: %s", link->rank, why);
    end_job(ondemand);
}

static void firehose_arrived(aq_ibv_ondemand_t *ondemand, aq_ibv_peer_t *link,
                             const aq_arrival_t *in)
{
    aq_firehose_message_t message, answer;
    if (in->nargs != FIREHOSE_ARGS)
        message_refuse(ondemand, link, "a message of firehose has a wrong number of arguments");
    memcpy(&message, in->args, sizeof message);
    if (in->reply) {
        if (aq_ibv_keys_answered(ondemand->keys, link->rank, &message) != AQ_OK)
            end_job(ondemand);
        return;
    }
    if (aq_ibv_keys_serve(ondemand->keys, link->rank, &message, in->payload, (uint32_t)in->nbytes,
                          &answer) != AQ_OK)
        end_job(ondemand);
    const aq_am_t am = {.args = (const int32_t *)(const void *)&answer,
                        .category = AQ_IBV_FIREHOSE,
                        .nargs = FIREHOSE_ARGS,
                        .reply = true};
    message_send_or_defer(ondemand, link, &am);
}

// The peer has copied a piece of a transfer.
static void copy_answered(aq_ibv_ondemand_t *ondemand, const aq_ibv_peer_t *link,
                          const copy_t *copy, const aq_arrival_t *in)
{
    aq_pending_op_t op;
    if (!copy_take(ondemand, copy->transfer, link->rank, &op))
        message_refuse(ondemand, link, "it answers a copy for which no transfer waits");
    aq_ibv_transfer_t *transfer = op.context;
    const bool is_get = transfer->rma.kind == AQ_RMA_GET;
    if (in->nbytes != (is_get ? op.nbytes : 0))
        message_refuse(ondemand, link, "it carries another length of a copy than was requested");
    atomic_fetch_add_explicit(&ondemand->by_peer, 1, memory_order_relaxed);
    if (is_get)
        memcpy(transfer->rma.local, in->payload, op.nbytes);
    aq_rma_advance(&transfer->rma, op.nbytes);
    transfer_go_on(transfer);
}

// Copies for a peer, after checking that the peer may touch this memory.
static void copy_serve(aq_ibv_ondemand_t *ondemand, aq_ibv_peer_t *link, const copy_t *copy,
                       const aq_arrival_t *in)
{
    const size_t most = AQ_IBV_BUFFER_BYTES - aq_ibv_payload_at(AQ_IBV_COPY, COPY_ARGS);
    if (copy->is_get ? copy->bytes > most : copy->bytes != in->nbytes)
        message_refuse(ondemand, link,
                       "a copy has another length than its data, or than a message holds");
    if (!aq_ibv_keys_legal(ondemand->keys, link->rank, copy->address, copy->bytes))
        end_job(ondemand);
    void *here = (void *)(uintptr_t)copy->address;
    if (!copy->is_get)
        memcpy(here, in->payload, copy->bytes);
    const aq_am_t am = {.args = in->args,
                        .payload = here,
                        .nbytes = copy->is_get ? copy->bytes : 0,
                        .category = AQ_IBV_COPY,
                        .nargs = COPY_ARGS,
                        .reply = true};
    message_send_or_defer(ondemand, link, &am);
}

static void copy_arrived(aq_ibv_ondemand_t *ondemand, aq_ibv_peer_t *link, const aq_arrival_t *in)
{
    copy_t copy;
    if (in->nargs != COPY_ARGS)
        message_refuse(ondemand, link, "a copy has a wrong number of arguments");
    memcpy(&copy, in->args, sizeof copy);
    if (in->reply)
        copy_answered(ondemand, link, &copy, in);
    else
        copy_serve(ondemand, link, &copy, in);
}

void aq_ibv_ondemand_arrived(aq_ibv_ondemand_t *ondemand, aq_ibv_peer_t *link,
                             const aq_arrival_t *in)
{
    if (in->category == AQ_IBV_FIREHOSE)
        firehose_arrived(ondemand, link, in);
    else
        copy_arrived(ondemand, link, in);
}

// ---- progress ----

static void deferred_msgs_send(aq_ibv_ondemand_t *ondemand, aq_ibv_deferred_msg_t *msg)
{
    aq_ibv_deferred_msg_t *next;
    for (; msg; msg = next) {
        next = msg->next;
        atomic_fetch_sub_explicit(&ondemand->answers, msg->am.reply, memory_order_relaxed);
        if (message_send(ondemand, msg->link, &msg->am))
            free(msg);
        else
            deferred_msg_keep(ondemand, msg);
    }
}

bool aq_ibv_ondemand_progress(aq_ibv_ondemand_t *ondemand)
{
    if (!atomic_load_explicit(&ondemand->any, memory_order_relaxed))
        return true;
    aq_lock_take(&ondemand->lock);
    aq_ibv_deferred_msg_t *deferred = ondemand->deferred;
    aq_ibv_transfer_t *next, *transfer = ondemand->transfers;
    ondemand->deferred = NULL;
    ondemand->transfers = NULL;
    atomic_store_explicit(&ondemand->any, false, memory_order_relaxed);
    aq_lock_drop(&ondemand->lock);
    deferred_msgs_send(ondemand, deferred);
    for (; transfer; transfer = next) {
        next = transfer->next;
        transfer_go_on(transfer);
    }
    return atomic_load_explicit(&ondemand->answers, memory_order_relaxed) == 0;
}
