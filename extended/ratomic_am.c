// Remote atomics over active messages: the processor of the target does them.
//
//     Short request with operation and operands --> [target] --> Short reply: done, or done and the
//     old value
#include <stdatomic.h>

#include "../core/am.h"
#include "../core/endpoint.h"
#include "../core/event.h"
#include "../core/layers.h"
#include "../core/words.h"
#include "handlers.h"
#include "ratomic.h"

enum {
    HANDLER_OP = AQ_HANDLER_RATOMIC,
    HANDLER_DONE,
    HANDLER_FETCHED,
};

#define ORDER_FLAGS (GEX_FLAG_AD_ACQ | GEX_FLAG_AD_REL)
_Static_assert(!(ORDER_FLAGS & (AQ_API_DT_64 | AQ_API_DT_REAL | GEX_DT_I32 | GEX_DT_U32)),
               "type and flags travel in one argument");

static void on_op(gex_Token_t token, int32_t op, int32_t type_flags, int32_t addr_high,
                  int32_t addr_low, int32_t a_high, int32_t a_low, int32_t b_high, int32_t b_low,
                  int32_t part_high, int32_t part_low, int32_t result_high, int32_t result_low)
{
    gex_Flags_t flags = (gex_Flags_t)type_flags & ORDER_FLAGS;
    gex_DT_t dt = (gex_DT_t)type_flags & ~ORDER_FLAGS;
    uint64_t old = aq_ratomic_apply(aq_join_pointer(addr_high, addr_low), dt, (gex_OP_t)op,
                                    aq_join(a_high, a_low), aq_join(b_high, b_low), flags);
    if ((gex_OP_t)op & AQ_API_OP_FETCHING)
        gex_AM_ReplyShort7(token, HANDLER_FETCHED, 0, (int32_t)dt, aq_high(old), aq_low(old),
                           part_high, part_low, result_high, result_low);
    else
        gex_AM_ReplyShort2(token, HANDLER_DONE, 0, part_high, part_low);
}

static void on_done(gex_Token_t token, int32_t part_high, int32_t part_low)
{
    (void)token;
    aq_event_end(aq_join_pointer(part_high, part_low));
}

static void on_fetched(gex_Token_t token, int32_t dt, int32_t old_high, int32_t old_low,
                       int32_t part_high, int32_t part_low, int32_t result_high, int32_t result_low)
{
    (void)token;
    aq_event_follow(aq_join_pointer(part_high, part_low));
    aq_api_put_bits(aq_join_pointer(result_high, result_low), aq_join(old_high, old_low),
                    aq_ratomic_bytes((gex_DT_t)dt));
    aq_event_end(aq_join_pointer(part_high, part_low));
}

int aq_ratomic_over_am(uint32_t jobrank, const aq_api_atomic_t *atomic, gex_Event_t part)
{
    const uint64_t addr = (uintptr_t)atomic->addr, result = (uintptr_t)atomic->result;
    const uint64_t a = atomic->operand1, b = atomic->operand2, event = (uintptr_t)part;
    const int32_t args[] = {
        (int32_t)atomic->op, (int32_t)(atomic->dt | (atomic->flags & ORDER_FLAGS)),
        aq_high(addr),       aq_low(addr),
        aq_high(a),          aq_low(a),
        aq_high(b),          aq_low(b),
        aq_high(event),      aq_low(event),
        aq_high(result),     aq_low(result)};
    const aq_am_t am = {.args = args,
                        .category = AQ_AM_SHORT,
                        .handler = HANDLER_OP,
                        .nargs = sizeof args / sizeof args[0]};
    if (atomic->flags & GEX_FLAG_AD_REL)
        atomic_thread_fence(memory_order_release);
    aq_event_begin(part);
    if (aq_am_request(jobrank, &am, atomic->flags & GEX_FLAG_IMMEDIATE) == 0)
        return 0;
    aq_event_end(part);
    return 1;
}

static void start(void)
{
    aq_endpoint_internal(HANDLER_OP, (gex_AM_Fn_t)on_op, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST,
                         12, "atomic");
    aq_endpoint_internal(HANDLER_DONE, (gex_AM_Fn_t)on_done, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY,
                         2, "atomic done");
    aq_endpoint_internal(HANDLER_FETCHED, (gex_AM_Fn_t)on_fetched,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 7, "atomic fetched");
}

static __attribute__((constructor)) void add_layer(void)
{
    static aq_layer_t layer = {start, NULL};
    aq_layers_add(&layer);
}
