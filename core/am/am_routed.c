// SPDX-License-Identifier: BSD-3-Clause
// Sends the messages that do not take the fast path of am_api.c: in pieces, with a route, traced,
// or as they are, and counts them. Commit (am_prepare.c) and puts and gets by messages
// (extended/rma) come here, too.
#include "am_routed.h"

#include "am_encapsulated.h"
#include "am_answer.h"
#include "long_fragment.h"
#include "../memory/segment_table.h"
#include "trace_message.h"
#include "window_connect.h"

// Whether a Long from an endpoint without an identity goes to one with an identity, which drops it.
// It travels without its payload, because a payload for memory that is not open to all ends the
// job.
static bool is_unwanted(aq_route_t route, uint32_t jobrank)
{
    return aq_segment_guarded(jobrank, route.to) && !aq_route_tagged(route);
}

static int send_wrapped_request(aq_route_t route, uint32_t jobrank, const aq_am_t *am,
                                gex_Flags_t flags)
{
    int32_t args[AQ_AM_MAX_ARGS];
    aq_am_t routed = *am;
    aq_route_wrap(route, jobrank, &routed, args);
    return aq_am_request_by(aq_window_request_route(route, jobrank), jobrank, &routed, flags);
}

// A Long to endpoint 0 may be longer than one message.
static __attribute__((noinline)) int send_long_request(aq_route_t route, uint32_t jobrank,
                                                       const aq_am_t *am, gex_Flags_t flags)
{
    int32_t args[AQ_AM_MAX_ARGS];
    aq_am_t routed = *am;
    if (is_unwanted(route, jobrank)) {
        routed.category = AQ_AM_SHORT;
        routed.nbytes = 0;
        return send_wrapped_request(route, jobrank, &routed, flags);
    }
    if (aq_long_fragment_needed(jobrank, route, am)) {
        aq_long_fragment_request(jobrank, route, am, 0);
        return 0;
    }
    if (route.to)
        return send_wrapped_request(route, jobrank, am, flags);
    if (route.from)
        aq_route_wrap(route, jobrank, &routed, args);
    return aq_am_request_long(jobrank, &routed, flags);
}

static inline int send_request(aq_route_t route, uint32_t jobrank, const aq_am_t *am,
                               gex_Flags_t flags)
{
    if (am->category == AQ_AM_LONG)
        return send_long_request(route, jobrank, am, flags);
    if (!aq_route_needed(route))
        return aq_am_send_request(jobrank, am, flags);
    return send_wrapped_request(route, jobrank, am, flags);
}

static int send_reply(gex_Token_t token, const aq_am_t *am, gex_Flags_t flags)
{
    const aq_route_t route = aq_token_reply_route(token);
    aq_am_t routed = *am;
    if (am->category == AQ_AM_LONG && aq_long_fragment_needed(token->arrival->source, route, am)) {
        aq_long_fragment_reply(token, am, 0);
        return 0;
    }
    return aq_am_reply_whole(token, &routed, flags);
}

// Whether the client sends this message. Puts and gets of the library come here, too.
static bool is_of_client(const aq_am_t *am)
{
    return am->handler >= GEX_AM_INDEX_BASE;
}

// ---- with an event in the trace ----

// Whether the message may have a number: an unwanted Long travels without its payload, and is
// dropped at its target.
static bool may_have_number(aq_route_t route, uint32_t jobrank, const aq_am_t *am)
{
    return am->category != AQ_AM_LONG || !is_unwanted(route, jobrank);
}

// Whether the message is a Long that travels in pieces, with its number in the message behind them.
static bool is_pushed(aq_route_t route, uint32_t jobrank, const aq_am_t *am)
{
    return am->category == AQ_AM_LONG && !is_unwanted(route, jobrank) &&
           aq_long_fragment_needed(jobrank, route, am);
}

static __attribute__((noinline, cold)) int request_traced(aq_route_t route, uint32_t jobrank,
                                                          const aq_am_t *am, gex_Flags_t flags)
{
    int32_t args[AQ_AM_MAX_ARGS];
    aq_am_t traced = *am;
    if (is_pushed(route, jobrank, am)) {
        const aq_carried_t carried = aq_carried_begin(route.from, jobrank, am);
        aq_long_fragment_request(jobrank, route, am, carried.number);
        return aq_traced_send_end(carried.opened, 0);
    }
    const bool fits = may_have_number(route, jobrank, am);
    const uint64_t opened = aq_traced_send_begin(route, jobrank, &traced, fits, args);
    return aq_traced_send_end(opened, send_request(route, jobrank, &traced, flags));
}

static __attribute__((noinline, cold)) int reply_traced(gex_Token_t token, const aq_am_t *am,
                                                        gex_Flags_t flags)
{
    const aq_route_t route = aq_token_reply_route(token);
    const uint32_t jobrank = token->arrival->source;
    int32_t args[AQ_AM_MAX_ARGS];
    aq_am_t traced = *am;
    if (is_pushed(route, jobrank, am)) {
        const aq_carried_t carried = aq_carried_begin(route.from, jobrank, am);
        aq_long_fragment_reply(token, am, carried.number);
        return aq_traced_send_end(carried.opened, 0);
    }
    const bool fits = may_have_number(route, jobrank, am);
    const uint64_t opened = aq_traced_send_begin(route, jobrank, &traced, fits, args);
    return aq_traced_send_end(opened, send_reply(token, &traced, flags));
}

static inline bool is_traced(const aq_am_t *am)
{
    return __builtin_expect(aq_tracing.numbers, 0) && is_of_client(am);
}

// ---- calls ----

int aq_am_request_routed(aq_route_t route, uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags)
{
    const int refused = is_traced(am) ? request_traced(route, jobrank, am, flags)
                                      : send_request(route, jobrank, am, flags);
    if (!refused && is_of_client(am))
        aq_am_count_sent(route.from, jobrank, am);
    return refused;
}

int aq_am_reply_routed(gex_Token_t token, const aq_am_t *am, gex_Flags_t flags)
{
    const int refused =
        is_traced(am) ? reply_traced(token, am, flags) : send_reply(token, am, flags);
    if (!refused && is_of_client(am))
        aq_am_count_sent(token->route.to, token->arrival->source, am);
    return refused;
}
