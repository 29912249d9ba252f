// SPDX-License-Identifier: BSD-3-Clause
// Remote atomics over active messages: the processor of the target performs them.
//
//     Short request with operation and operands --> [target] --> Short reply: done, or done and the
//     old value
#include <stdatomic.h>

#include "../../core/am/am_args.h"
#include "../../core/am/am_answer.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/thread/event.h"
#include "../../core/ground/fatal.h"
#include "../../core/endpoint/identity.h"
#include "../../core/ground/arg64.h"
#include "../rma/format.h"
#include "../rma/layer_table.h"
#include "../rma/pending.h"
#include "ratomic_am.h"
#include "ratomic_eval.h"
#include "ratomic_check.h"
#include "../rma/rma_tagged.h"

// One argument of the request holds the data type in its low half and the order in its high half.
#define ORDER_FLAGS (GEX_FLAG_AD_ACQ | GEX_FLAG_AD_REL)
#define ORDER_SHIFT 16
_Static_assert((ORDER_FLAGS << ORDER_SHIFT >> ORDER_SHIFT) == ORDER_FLAGS, "the order fits");
_Static_assert((AQ_API_DT_64 | AQ_API_DT_REAL | GEX_DT_I32 | GEX_DT_U32) < 1 << ORDER_SHIFT,
               "the data type fits");

static aq_pending_kind_t kind_of(gex_OP_t op)
{
    return op & AQ_API_OP_FETCHING ? AQ_PENDING_FETCH : AQ_PENDING_ATOMIC;
}

// Ends the job unless the operation of a peer is legal.
static void check_op(gex_Token_t token, gex_OP_t op, gex_DT_t dt, const void *at)
{
    const uint32_t source = token->arrival->source;
    const gex_OP_t legal = aq_ratomic_ops_of(dt);
    if (__builtin_expect(!legal, 0))
        aq_fatal("an atomic of rank %u has no data type (0x%x)", source, dt);
    if (__builtin_expect(!(op & legal) || (op & (op - 1)), 0))
        aq_fatal("an atomic of rank %u has an operation (0x%x) that %s does not have", source, op,
                 aq_dt_name(dt));
    const size_t nbytes = aq_ratomic_bytes(dt);
    if (__builtin_expect((uintptr_t)at % nbytes != 0, 0))
        aq_fatal("an atomic of rank %u (%zu bytes at %p) is not aligned", source, nbytes, at);
}

// Whether the target of a legal operation is in a segment. Otherwise ends the job, or, if the
// sender has an identity, refuses the operation.
static bool admits_op(gex_Token_t token, gex_OP_t op, const void *at, size_t nbytes,
                      int32_t cookie_high, int32_t cookie_low)
{
    if (__builtin_expect(token->tag != AQ_TAG_NONE, 0))
        return aq_tagged_admits(token, kind_of(op), at, nbytes, cookie_high, cookie_low);
    aq_pending_check_target(AQ_PENDING_ATOMIC, token, at, nbytes);
    return true;
}

static void on_op(gex_Token_t token)
{
    aq_args_t args = aq_args_of(token);
    const gex_OP_t op = (gex_OP_t)aq_args_32(&args);
    const int32_t type_flags = aq_args_32(&args);
    const gex_Flags_t flags = (uint32_t)type_flags >> ORDER_SHIFT & ORDER_FLAGS;
    const gex_DT_t dt = (gex_DT_t)type_flags & ((1u << ORDER_SHIFT) - 1);
    void *at = (void *)(uintptr_t)aq_args_64(&args);
    const uint64_t a = aq_args_64(&args), b = aq_args_64(&args);
    const int32_t *cookie = args.next;
    check_op(token, op, dt, at);
    if (!admits_op(token, op, at, aq_ratomic_bytes(dt), cookie[0], cookie[1]))
        return;
    const uint64_t old = aq_ratomic_apply(at, dt, op, a, b, flags);
    if (op & AQ_API_OP_FETCHING)
        aq_am_answer(token, AQ_HANDLER_RATOMIC_FETCHED, 4,
                     (const int32_t[]){aq_high(old), aq_low(old), cookie[0], cookie[1]});
    else
        aq_am_answer(token, AQ_HANDLER_RATOMIC_DONE, 2, cookie);
}

static void on_done(gex_Token_t token, int32_t cookie_high, int32_t cookie_low)
{
    aq_event_end(
        aq_pending_end(AQ_PENDING_ATOMIC, token, aq_join(cookie_high, cookie_low)).context);
}

static void on_fetched(gex_Token_t token, int32_t old_high, int32_t old_low, int32_t cookie_high,
                       int32_t cookie_low)
{
    const aq_pending_op_t op =
        aq_pending_end(AQ_PENDING_FETCH, token, aq_join(cookie_high, cookie_low));
    aq_event_follow(op.context);
    aq_api_put_bits(op.dest, aq_join(old_high, old_low), op.nbytes);
    aq_event_end(op.context);
}

int aq_ratomic_over_am(aq_atomic_target_t target, const aq_api_atomic_t *atomic, gex_Event_t part)
{
    const aq_cookie_t cookie = aq_pending_add(kind_of(atomic->op), target.jobrank, part,
                                              atomic->result, aq_ratomic_bytes(atomic->dt));
    const uint64_t addr = (uintptr_t)atomic->addr, a = atomic->operand1, b = atomic->operand2;
    const int32_t args[] = {
        (int32_t)atomic->op, (int32_t)(atomic->dt | (atomic->flags & ORDER_FLAGS) << ORDER_SHIFT),
        aq_high(addr),       aq_low(addr),
        aq_high(a),          aq_low(a),
        aq_high(b),          aq_low(b),
        aq_high(cookie),     aq_low(cookie)};
    aq_am_t am = {.args = args,
                  .category = AQ_AM_SHORT,
                  .handler = AQ_HANDLER_RATOMIC_OP,
                  .nargs = sizeof args / sizeof args[0]};
    if (atomic->flags & GEX_FLAG_AD_REL)
        atomic_thread_fence(memory_order_release);
    return aq_pending_request(target.ep_pair, target.jobrank, &am,
                              atomic->flags & GEX_FLAG_IMMEDIATE, cookie, part);
}

void aq_ratomic_am_register(void)
{
    aq_endpoint_internal_bare(AQ_HANDLER_RATOMIC_OP, on_op, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST,
                              10, "atomic");
    aq_endpoint_internal(AQ_HANDLER_RATOMIC_DONE, (gex_AM_Fn_t)on_done,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 2, "atomic done");
    aq_endpoint_internal(AQ_HANDLER_RATOMIC_FETCHED, (gex_AM_Fn_t)on_fetched,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 4, "atomic fetched");
}
