// SPDX-License-Identifier: BSD-3-Clause
// Long messages that a network device reads: the receiver asks the sender to expose parts, and
// reads each by the conduit (msg_rndv_get.c calls it in turns); the sender exposes and conceals
// parts in handlers.
#include "msg_device.h"

#include <stdlib.h>

#include "../../core/am/am_args.h"
#include "../../core/am/am_send.h"
#include "../../core/ground/arg64.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/expose/exposure.h"
#include "../../core/ground/fatal.h"
#include "../../extended/rma/layer_table.h"
#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "../../core/am/am_answer.h"
#include "request.h"

enum {
    PARTS = 4,             // of a message that are exposed at a time
    BLOCK_BYTES = 1 << 17, // the default of what firehose pins at once
};

// ---- the receiver ----

// What the receiver knows of a part. The handler of an answer owns it while it is ISSUED, and the
// turn of the task otherwise.
typedef struct part {
    enum { PART_NEW, PART_ISSUED, PART_ANSWERED, PART_READ } _Atomic state;
    atomic_uint pending; // reads that are under way
    uint64_t offset;     // of the first byte to ask for, or, once answered, of the exposed bytes
    size_t left;         // bytes of the part from there on; 0: all are read
    aq_exposure_t exposed;
    aq_rma_t get;
} part_t;

struct aq_msg_reads {
    uint64_t next; // offset of the first byte that belongs to no part yet
    bool refused;
    part_t parts[PARTS];
};

bool aq_msg_device_begin(gasnetx_Request_t receive)
{
    const aq_msg_head_t *rts = &receive->rts;
    if (!rts->address || receive->want < aq_msg.device || !aq_exposure_possible(rts->source))
        return false;
    receive->reads = calloc(1, sizeof *receive->reads);
    if (!receive->reads)
        return false;
    receive->cookie = aq_request_cookie(receive, rts->source);
    return true;
}

// Asks the sender to expose a part. False: there is no room for the message now.
static bool part_ask(gasnetx_Request_t receive, part_t *part)
{
    const int32_t args[] = {aq_high(receive->rts.cookie), aq_low(receive->rts.cookie),
                            aq_high(part->offset),        aq_low(part->offset),
                            (int32_t)part->left,          (int32_t)(part - receive->reads->parts),
                            aq_high(receive->cookie),     aq_low(receive->cookie)};
    return aq_am_request_short(receive->rts.source, AQ_HANDLER_MSG_EXPOSE, 8, args,
                               GEX_FLAG_IMMEDIATE) == 0;
}

// Gives a part that has been read the next bytes of the message. False: none are left.
static bool part_take(gasnetx_Request_t receive, part_t *part)
{
    struct aq_msg_reads *reads = receive->reads;
    const size_t block = BLOCK_BYTES - (receive->rts.address + reads->next) % BLOCK_BYTES;
    if (!part->left && !reads->refused) {
        part->offset = reads->next;
        part->left = aq_min(receive->want - reads->next, block);
        reads->next += part->left;
    }
    return part->left && !reads->refused;
}

static void part_begin(gasnetx_Request_t receive, part_t *part)
{
    if (!part_take(receive, part))
        return;
    // Set the state before the request: the answer may arrive at once, in another thread.
    atomic_store_explicit(&part->state, PART_ISSUED, memory_order_release);
    if (!part_ask(receive, part))
        atomic_store_explicit(&part->state, PART_NEW, memory_order_relaxed);
}

static void part_answered(gasnetx_Request_t receive, part_t *part)
{
    const size_t bytes = part->exposed.bytes;
    part->get = (aq_rma_t){.remote = (void *)(uintptr_t)(receive->rts.address + part->offset),
                           .local = (char *)receive->call.memory + part->offset,
                           .nbytes = bytes,
                           .pending = &part->pending,
                           .kind = AQ_RMA_GET};
    receive->reads->refused |= !bytes;
    part->offset += bytes;
    part->left -= bytes;
    atomic_store_explicit(&part->state, bytes ? PART_READ : PART_NEW, memory_order_relaxed);
}

static void reads_count(size_t nbytes)
{
    aq_lock_take(&aq_msg.lock);
    aq_msg.counts.device_reads++;
    aq_msg.counts.device_bytes += nbytes;
    aq_lock_drop(&aq_msg.lock);
}

static void part_read(gasnetx_Request_t receive, part_t *part)
{
    if (part->get.nbytes)
        aq_exposure_read(receive->rts.source, &part->get, part->exposed.key);
    if (part->get.nbytes || atomic_load_explicit(&part->pending, memory_order_acquire))
        return;
    reads_count(part->exposed.bytes);
    atomic_store_explicit(&part->state, PART_NEW, memory_order_relaxed);
}

// Advances a part. Returns whether it has nothing left to do.
static bool part_go_on(gasnetx_Request_t receive, part_t *part)
{
    if (atomic_load_explicit(&part->state, memory_order_acquire) == PART_ANSWERED)
        part_answered(receive, part);
    if (atomic_load_explicit(&part->state, memory_order_relaxed) == PART_READ)
        part_read(receive, part);
    if (atomic_load_explicit(&part->state, memory_order_relaxed) == PART_NEW)
        part_begin(receive, part);
    const bool is_new = atomic_load_explicit(&part->state, memory_order_relaxed) == PART_NEW;
    return is_new && (!part->left || receive->reads->refused);
}

static aq_rndv_way_t reads_end(gasnetx_Request_t receive)
{
    const bool refused = receive->reads->refused;
    (void)aq_request_cookie_take(receive->rts.source, receive->cookie);
    receive->cookie = 0;
    free(receive->reads);
    receive->reads = NULL;
    return refused ? AQ_RNDV_PIECES : AQ_RNDV_OVER;
}

aq_rndv_way_t aq_msg_device_turn(gasnetx_Request_t receive)
{
    bool idle = true;
    for (unsigned i = 0; i < PARTS; i++)
        idle &= part_go_on(receive, &receive->reads->parts[i]);
    return idle ? reads_end(receive) : AQ_RNDV_DEVICE;
}

// With the lock. The part for which an answer waits; NULL: there is none.
static part_t *part_find(uint32_t source, aq_cookie_t cookie, uint32_t index)
{
    const aq_pending_op_t *op = aq_cookies_find(&aq_msg.cookies, cookie, source);
    gasnetx_Request_t receive = op ? op->context : NULL;
    if (!receive || receive->call.is_send || !receive->reads || index >= PARTS)
        return NULL;
    part_t *part = &receive->reads->parts[index];
    const bool issued = atomic_load_explicit(&part->state, memory_order_acquire) == PART_ISSUED;
    return issued ? part : NULL;
}

static bool answer_keep(uint32_t source, aq_cookie_t cookie, uint32_t index,
                        const aq_exposure_t *exposed)
{
    aq_lock_take(&aq_msg.lock);
    part_t *part = part_find(source, cookie, index);
    const bool right = part && exposed->bytes <= part->left;
    if (right) {
        part->exposed = *exposed;
        atomic_store_explicit(&part->state, PART_ANSWERED, memory_order_release);
    }
    aq_lock_drop(&aq_msg.lock);
    return right;
}

static void on_exposed(gex_Token_t token)
{
    const uint32_t source = token->arrival->source;
    aq_args_t args = aq_args_of(token);
    const aq_cookie_t cookie = aq_args_64(&args);
    const uint32_t index = (uint32_t)aq_args_32(&args);
    aq_exposure_t exposed = {.bytes = (uint32_t)aq_args_32(&args)};
    exposed.key = aq_args_64(&args);
    if (!answer_keep(source, cookie, index, &exposed))
        aq_fatal("rank %u exposes a part of a message for which no receive waits (part %u, %zu "
                 "bytes)",
                 source, index, exposed.bytes);
}

// ---- the sender ----

// The exposed bytes of each part of a message; bytes 0: none.
struct aq_msg_exposures {
    aq_exposure_t parts[PARTS];
};

typedef struct ask {
    uint32_t source, part, bytes;
    aq_cookie_t cookie;
    uint64_t offset;
} ask_t;

// With the lock. NULL: no message with these bytes was announced to the rank.
static gasnetx_Request_t send_find(const ask_t *ask)
{
    const aq_pending_op_t *op = aq_cookies_find(&aq_msg.cookies, ask->cookie, ask->source);
    gasnetx_Request_t send = op ? op->context : NULL;
    if (!send || !send->call.is_send || (send->hooks && send->hooks->get_arrived))
        return NULL;
    const size_t bytes = send->call.bytes;
    return ask->part < PARTS && ask->bytes && ask->offset <= bytes &&
                   ask->bytes <= bytes - ask->offset
               ? send
               : NULL;
}

// With the lock: swaps an exposure with that of a part. False: no memory for it.
static bool part_swap(gasnetx_Request_t send, unsigned part, aq_exposure_t *exposure)
{
    if (!send->exposures)
        send->exposures = calloc(1, sizeof *send->exposures);
    if (!send->exposures)
        return false;
    const aq_exposure_t before = send->exposures->parts[part];
    send->exposures->parts[part] = *exposure;
    *exposure = before;
    return true;
}

static void exposure_end(uint32_t jobrank, const aq_exposure_t *exposure)
{
    if (exposure->bytes)
        aq_exposure_end(jobrank, exposure);
}

// Replaces the exposure of a part, or ends it if memory is exhausted. Returns where the bytes are;
// NULL: memory is out. Ends the job if these bytes were not announced to the rank.
static const char *part_replace(const ask_t *ask, aq_exposure_t exposure)
{
    const char *memory = NULL;
    aq_lock_take(&aq_msg.lock);
    gasnetx_Request_t send = send_find(ask);
    if (send && part_swap(send, ask->part, &exposure))
        memory = (const char *)send->call.memory + ask->offset;
    aq_lock_drop(&aq_msg.lock);
    if (!send)
        aq_fatal("rank %u asks to read bytes that were not offered to it (cookie 0x%llx, %u at "
                 "%llu)",
                 ask->source, (unsigned long long)ask->cookie, ask->bytes,
                 (unsigned long long)ask->offset);
    exposure_end(ask->source, &exposure);
    return memory;
}

// Exposes the first bytes of a part for a peer. 0 bytes: that is not possible.
static aq_exposure_t part_expose(const ask_t *ask)
{
    static const aq_exposure_t none;
    aq_exposure_t exposure;
    const char *memory = part_replace(ask, none);
    if (!memory || !aq_exposure_begin(ask->source, memory, ask->bytes, &exposure))
        return none;
    (void)part_replace(ask, exposure);
    return exposure;
}

static void on_expose(gex_Token_t token)
{
    aq_args_t args = aq_args_of(token);
    ask_t ask = {.source = token->arrival->source, .cookie = aq_args_64(&args)};
    ask.offset = aq_args_64(&args);
    ask.bytes = (uint32_t)aq_args_32(&args);
    ask.part = (uint32_t)aq_args_32(&args);
    const aq_exposure_t exposure = part_expose(&ask);
    aq_am_answer(token, AQ_HANDLER_MSG_EXPOSED, 6,
                 (const int32_t[]){args.next[0], args.next[1], (int32_t)ask.part,
                                   (int32_t)exposure.bytes, aq_high(exposure.key),
                                   aq_low(exposure.key)});
}

void aq_msg_device_end(uint32_t jobrank, struct aq_msg_exposures *exposures)
{
    if (!exposures)
        return;
    for (unsigned i = 0; i < PARTS; i++)
        exposure_end(jobrank, &exposures->parts[i]);
    free(exposures);
}

void aq_msg_device_register(void)
{
    const size_t least = aq_settings_bytes(AQ_SET_MSG_DEVICE);
    aq_msg.device = least ? least : SIZE_MAX;
    aq_endpoint_internal_bare(AQ_HANDLER_MSG_EXPOSE, on_expose,
                              GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 8,
                              "part of a message to expose");
    aq_endpoint_internal_bare(AQ_HANDLER_MSG_EXPOSED, on_exposed,
                              GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 6,
                              "part of a message is exposed");
}
