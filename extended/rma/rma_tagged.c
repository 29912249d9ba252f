// SPDX-License-Identifier: BSD-3-Clause
// Put and get from an endpoint with an identity: messages that prove it (core/endpoint/identity.h),
// because the inline and native ways of conduits carry no proof.
//
//     put:  Medium request with a piece  --> [target checks tag and address, copies] --> put done
//     get:  Short request for a piece    --> [target checks tag and address] --> get done, with it
//     another identity, or memory that the target does not have: --> refused, with the reason
//
// Atomics and puts that notify have messages of their own (ratomic_am.c, notice.c), and are refused
// by the message of this file.
#include <string.h>

#include "../../core/am/am_args.h"
#include "../../core/memory/access.h"
#include "../../core/ground/arg64.h"
#include "../../core/ground/fatal.h"
#include "../../core/endpoint/identity.h"
#include "../gasnetex.h"
#include "layer_table.h"
#include "pending.h"
#include "rma.h"
#include "rma_tagged.h"
#include "../../other/base/minmax.h"
#include "../../core/am/am_answer.h"

// ---- at the target ----

// The reason to refuse a request; 0: it is admitted.
static int reason_of(gex_Token_t token, const void *addr, size_t nbytes)
{
    if (token->tag != AQ_TAG_RIGHT) {
        aq_identity_drop(token->ep_pair, token->arrival->source);
        return GASNETX_ERROR_IDENTITY;
    }
    return aq_segment_admits(token->ep_pair.to, addr, nbytes) ? 0 : GASNETX_ERROR_OUTSIDE;
}

bool aq_tagged_admits(gex_Token_t token, aq_pending_kind_t kind, const void *addr, size_t nbytes,
                      int32_t cookie_high, int32_t cookie_low)
{
    const uint64_t at = (uintptr_t)addr;
    const int reason = reason_of(token, addr, nbytes);
    if (reason)
        aq_am_answer(token, AQ_HANDLER_TAGGED_REFUSED, 6,
                     (const int32_t[]){(int32_t)kind, reason, aq_high(at), aq_low(at), cookie_high,
                                       cookie_low});
    return !reason;
}

static void on_put(gex_Token_t token)
{
    const aq_arrival_t *arrival = token->arrival;
    aq_args_t args = aq_args_of(token);
    void *dest = (void *)(uintptr_t)aq_args_64(&args);
    const int32_t *cookie = args.next;
    if (!aq_tagged_admits(token, AQ_PENDING_PUT, dest, arrival->nbytes, cookie[0], cookie[1]))
        return;
    memcpy(dest, arrival->payload, arrival->nbytes);
    aq_am_answer(token, AQ_HANDLER_PUT_DONE, 2, cookie);
}

static void on_get(gex_Token_t token, int32_t addr_high, int32_t addr_low, int32_t size,
                   int32_t cookie_high, int32_t cookie_low)
{
    const size_t nbytes = aq_pending_get_size(token, size);
    const void *src = aq_join_pointer(addr_high, addr_low);
    if (aq_tagged_admits(token, AQ_PENDING_GET, src, nbytes, cookie_high, cookie_low))
        aq_am_answer_medium(token, AQ_HANDLER_GET_DONE, src, nbytes, 2,
                            (const int32_t[]){cookie_high, cookie_low});
}

// ---- at the initiator ----

// The name of a refused operation in an error; NULL: the target never refuses such an operation.
static const char *refused_name(int32_t kind)
{
    switch (kind) {
    case AQ_PENDING_PUT:
        return "put";
    case AQ_PENDING_GET:
        return "get";
    case AQ_PENDING_ATOMIC:
    case AQ_PENDING_FETCH:
        return "atomic";
    default:
        return NULL;
    }
}

static void on_refused(gex_Token_t token)
{
    const uint32_t source = token->arrival->source;
    aq_args_t args = aq_args_of(token);
    const int32_t kind = aq_args_32(&args), reason = aq_args_32(&args);
    const char *name = refused_name(kind);
    if (!name || (reason != GASNETX_ERROR_IDENTITY && reason != GASNETX_ERROR_OUTSIDE))
        aq_fatal("rank %u has refused an operation in a way that is none: kind %d, reason %d",
                 source, kind, reason);
    void *addr = (void *)(uintptr_t)aq_args_64(&args);
    const aq_pending_op_t op = aq_pending_end((aq_pending_kind_t)kind, token, aq_args_64(&args));
    const aq_access_t access = {.call = name,
                                .addr = addr,
                                .nbytes = op.nbytes,
                                .rank = source,
                                .ep = token->ep_pair.from,
                                .reason = reason};
    aq_access_refuse(&access, 0, op.context);
    aq_event_end(op.context);
}

// Sends a piece. Only the first piece may fail because of IMMEDIATE: afterwards the operation has
// begun.
static int send_piece(const aq_rma_op_t *op, size_t offset, size_t n, gex_Event_t part)
{
    const bool is_get = op->access.kind == AQ_RMA_GET;
    const uintptr_t addr = (uintptr_t)op->access.remote + offset;
    char *local = (char *)op->access.local + offset;
    const aq_cookie_t cookie = aq_pending_add(is_get ? AQ_PENDING_GET : AQ_PENDING_PUT, op->rank,
                                              part, is_get ? local : NULL, n);
    const int32_t put_args[] = {aq_high(addr), aq_low(addr), aq_high(cookie), aq_low(cookie)};
    const int32_t get_args[] = {aq_high(addr), aq_low(addr), (int32_t)n, aq_high(cookie),
                                aq_low(cookie)};
    aq_am_t put = {.args = put_args,
                   .payload = local,
                   .nbytes = n,
                   .category = AQ_AM_MEDIUM,
                   .handler = AQ_HANDLER_PUT_TAGGED,
                   .nargs = 4};
    aq_am_t get = {
        .args = get_args, .category = AQ_AM_SHORT, .handler = AQ_HANDLER_GET_TAGGED, .nargs = 5};
    const gex_Flags_t flags = offset ? 0 : op->flags;
    return aq_pending_request(op->ep_pair, op->rank, is_get ? &get : &put, flags, cookie, part);
}

int aq_rma_tagged(const aq_rma_op_t *op, gex_Event_t part)
{
    for (size_t offset = 0, n; offset < op->access.nbytes; offset += n) {
        n = aq_min(op->access.nbytes - offset, aq_job.limits.medium);
        if (send_piece(op, offset, n, part))
            return 1;
    }
    return 0;
}

void aq_rma_tagged_register(void)
{
    aq_endpoint_internal_bare(AQ_HANDLER_PUT_TAGGED, on_put,
                              GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 4, "tagged put");
    aq_endpoint_internal(AQ_HANDLER_GET_TAGGED, (gex_AM_Fn_t)on_get,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 5, "tagged get");
    aq_endpoint_internal_bare(AQ_HANDLER_TAGGED_REFUSED, on_refused,
                              GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 6, "tagged operation refused");
}
