// SPDX-License-Identifier: BSD-3-Clause
// Delivers arrived messages: finds the handler, checks that the message fits it, and runs it
// (am_call.c). Conduits call aq_am_deliver in their polls. Also the checks of messages in debug
// builds.
#include "am.h"

#include "../../other/base/probes.h"
#include "../ground/fatal.h"
#include "../state/job.h"
#include "../memory/segment_table.h"
#include "../endpoint/team.h"
#include "trace_message.h"
#include "../record/traffic.h"

static const char *const category_names[] = {"Short", "Medium", "Long"};

// ---- checks of debug builds ----

void aq_am_check_payload(const char *call, uint32_t jobrank, gex_EP_Index_t ep, const aq_am_t *am)
{
    if (am->category == AQ_AM_LONG)
        aq_segment_check(call, category_names[am->category], jobrank, ep, am->dest, am->nbytes);
}

void aq_am_check_handler(const char *call, const aq_am_t *am)
{
    AQ_CHECK(am->handler >= GEX_AM_INDEX_BASE,
             "%s%s: handler index %u is below GEX_AM_INDEX_BASE (%d)", call,
             category_names[am->category], am->handler, GEX_AM_INDEX_BASE);
}

void aq_am_check_request(const char *call, gex_TM_t tm, gex_Rank_t rank, const aq_am_t *am)
{
    aq_thread_check_context(call, category_names[am->category]);
    aq_am_check_handler(call, am);
    const aq_team_t *team = aq_team_of(tm);
    AQ_CHECK(team->ep->handlers,
             "%s%s from endpoint %u, which was created without GEX_EP_CAPABILITY_AM", call,
             category_names[am->category], team->ep->index);
    aq_am_check_payload(call, aq_team_jobrank(team, rank), aq_team_ep_pair(team, rank).to, am);
}

void aq_am_check_reply(const char *call, gex_Token_t token, const aq_am_t *am)
{
    aq_thread_check_reply_context(call, category_names[am->category]);
    AQ_CHECK(!token->arrival->reply, "%s%s in the handler of a reply: only a request is replied to",
             call, category_names[am->category]);
    AQ_CHECK(!token->replied, "%s%s: a second reply to one request from rank %u (handler %u)", call,
             category_names[am->category], token->arrival->source, token->arrival->handler);
    if (token->arrival->handler >= GEX_AM_INDEX_BASE) // the library's handlers reply to each other
        aq_am_check_handler(call, am);
    aq_am_check_payload(call, token->arrival->source, token->ep_pair.from, am);
}

// ---- memory of a Long ----

void *aq_am_map_local(uint32_t jobrank, gex_EP_Index_t ep, void *dest)
{
    intptr_t shift = jobrank < aq_job.size ? aq_team_shift(jobrank, ep) : AQ_UNMAPPED;
    return shift & 1 ? NULL : (void *)((uintptr_t)dest + (uintptr_t)shift);
}

// ---- delivery ----

// "Request" or "Reply"; followed by the category, the name of the sender's call.
static const char *direction_name(const aq_arrival_t *arrival)
{
    return arrival->reply ? "Reply" : "Request";
}

static const gex_Flags_t category_flags[] = {GEX_FLAG_AM_SHORT, GEX_FLAG_AM_MEDIUM,
                                             GEX_FLAG_AM_LONG};

static gex_Flags_t direction_flag(const aq_arrival_t *arrival)
{
    return arrival->reply ? GEX_FLAG_AM_REPLY : GEX_FLAG_AM_REQUEST;
}

// Whether the handler is registered for this message. If not, refuse_arrival reports what does not
// match.
static bool is_registered(const gex_AM_Entry_t *entry, const aq_arrival_t *arrival)
{
    return entry->gex_fnptr && arrival->category <= AQ_AM_LONG &&
           arrival->nargs <= AQ_HANDLER_MAX_ARGS &&
           (entry->gex_nargs == arrival->nargs || entry->gex_nargs == AQ_ANY_NARGS) &&
           (entry->gex_flags & category_flags[arrival->category]) &&
           (entry->gex_flags & direction_flag(arrival));
}

// Ends the job: no correct peer sends this message.
static __attribute__((noreturn, cold, noinline)) void refuse_arrival(const gex_AM_Entry_t *entry,
                                                                     const aq_arrival_t *arrival)
{
    const char *name = entry->gex_name ? entry->gex_name : "(no name)";
    if (arrival->category > AQ_AM_LONG || arrival->nargs > AQ_HANDLER_MAX_ARGS)
        aq_fatal("a message of rank %u is none: category %u, %u arguments, handler %u",
                 arrival->source, arrival->category, arrival->nargs, arrival->handler);
    const char *category = category_names[arrival->category];
    if (!entry->gex_fnptr)
        aq_fatal("gex_AM_%s%s of rank %u: handler %u is not registered here",
                 direction_name(arrival), category, arrival->source, arrival->handler);
    if (entry->gex_nargs != arrival->nargs && entry->gex_nargs != AQ_ANY_NARGS)
        aq_fatal("gex_AM_%s%s of rank %u: handler %u %s takes %u arguments, %u were sent",
                 direction_name(arrival), category, arrival->source, arrival->handler, name,
                 entry->gex_nargs, arrival->nargs);
    if (!(entry->gex_flags & category_flags[arrival->category]))
        aq_fatal("gex_AM_%s%s of rank %u: handler %u %s is not registered for the category %s",
                 direction_name(arrival), category, arrival->source, arrival->handler, name,
                 category);
    aq_fatal("gex_AM_%s%s of rank %u: handler %u %s is not registered for a %s",
             direction_name(arrival), category, arrival->source, arrival->handler, name,
             arrival->reply ? "reply" : "request");
}

// Runs the handler in a debug build, which tracks the context of this thread.
static void call_checked(gex_Token_t token, const aq_arrival_t *arrival, bool bare)
{
    const aq_handlers_t *handlers =
        arrival->handler < GEX_AM_INDEX_BASE ? &aq_handlers : aq_token_endpoint(token)->handlers;
    const gex_AM_Entry_t *entry = &handlers->entry[arrival->handler];
    aq_thread_handler_depth++;
    if (bare)
        ((void (*)(gex_Token_t))entry->gex_fnptr)(token);
    else
        aq_am_call(entry->gex_fnptr, token, arrival);
    aq_thread_handler_depth--;
    AQ_CHECK(!aq_thread_held_locks,
             "handler %u %s returned with %u handler-safe locks held: unlock them first",
             arrival->handler, entry->gex_name ? entry->gex_name : "(no name)",
             aq_thread_held_locks);
    AQ_CHECK(!aq_thread_self()->prepared,
             "handler %u %s returned between a Prepare and its Commit or Cancel", arrival->handler,
             entry->gex_name ? entry->gex_name : "(no name)");
}

// `bare`: the handler has the token as its only parameter, so no choice by the number of arguments
// is needed. So are all handlers of Shorts without arguments, the most common messages.
static inline void call_handler(gex_AM_Fn_t fn, gex_Token_t token, bool bare)
{
    if (AQ_CHECKS)
        call_checked(token, token->arrival, bare);
    else if (bare)
        ((void (*)(gex_Token_t))fn)(token);
    else
        aq_am_call(fn, token, token->arrival);
}

static inline bool run_handler(gex_AM_Fn_t fn, gex_Token_t token, bool bare)
{
    const aq_arrival_t *arrival = token->arrival;
    aq_probe_handler_start(arrival->source, arrival->handler, arrival->reply, arrival->nbytes);
    call_handler(fn, token, bare);
    aq_probe_handler_end();
    return token->replied;
}

// Whether the message has another shape than the one in the dispatch of its handler: one branch for
// three comparisons.
static inline bool dispatch_differs(const aq_dispatch_t *to, const aq_arrival_t *arrival)
{
    return ((unsigned)(to->category ^ arrival->category) | (unsigned)(to->nargs ^ arrival->nargs) |
            (unsigned)(to->reply ^ arrival->reply)) != 0;
}

static bool run_traced(gex_AM_Fn_t fn, gex_Token_t token, uint64_t number)
{
    const uint64_t opened = aq_traced_handler_begin(token->arrival, number);
    const bool replied = run_handler(fn, token, false);
    aq_trace_close(opened);
    return replied;
}

static bool deliver_to(const aq_handlers_t *handlers, const aq_arrival_t *arrival,
                       aq_ep_pair_t pair, aq_tag_t tag);

// The number of the message that this thread delivers next.
static _Thread_local uint64_t arrived_number __attribute__((tls_model("initial-exec")));

__attribute__((cold)) bool aq_am_deliver_numbered(const aq_arrival_t *arrival, aq_ep_pair_t pair,
                                                  aq_tag_t tag, uint64_t number)
{
    arrived_number = number;
    const bool replied = aq_am_deliver_tagged(arrival, pair, tag);
    arrived_number = 0;
    return replied;
}

// Delivers a message with a number, or refuses the message.
static __attribute__((noinline, cold)) bool deliver_traced(const gex_AM_Entry_t *entry,
                                                           const aq_arrival_t *arrival,
                                                           aq_ep_pair_t pair, aq_tag_t tag)
{
    aq_arrival_t inner;
    if (arrival->handler != AQ_HANDLER_TRACED)
        refuse_arrival(entry, arrival);
    const uint64_t number = aq_traced_read(arrival, &inner);
    return aq_am_deliver_numbered(&inner, pair, tag, number);
}

// Returns false if the reply is deferred, since no conduit has sent it yet.
static bool deliver_to(const aq_handlers_t *handlers, const aq_arrival_t *arrival,
                       aq_ep_pair_t pair, aq_tag_t tag)
{
    const gex_AM_Entry_t *entry = &handlers->entry[arrival->handler];
    if (!is_registered(entry, arrival))
        return deliver_traced(entry, arrival, pair, tag);
    if (aq_traffic_on && arrival->handler >= GEX_AM_INDEX_BASE)
        aq_traffic_arrived(arrival);
    struct aq_token token = {.arrival = arrival, .ep_pair = pair, .tag = (uint8_t)tag};
    const uint64_t number = arrived_number;
    arrived_number = 0;
    const bool replied =
        aq_trace_wants(AQ_TRACE_AM) && arrival->handler >= GEX_AM_INDEX_BASE
            ? run_traced(entry->gex_fnptr, &token, number)
            : run_handler(entry->gex_fnptr, &token, handlers->dispatch[arrival->handler].bare);
    return replied && !token.deferred;
}

bool aq_am_deliver_headed(const aq_arrival_t *arrival, aq_ep_pair_t pair)
{
    if (arrival->handler < GEX_AM_INDEX_BASE) // of the library, for all endpoints
        return deliver_to(&aq_handlers, arrival, pair, AQ_TAG_NONE);
    const gex_EP_t ep = aq_am_endpoint(arrival, pair);
    if (!ep)
        return false;
    const aq_dispatch_t *to = &ep->handlers->dispatch[arrival->handler];
    if (__builtin_expect(dispatch_differs(to, arrival), 0))
        return deliver_to(ep->handlers, arrival, pair, AQ_TAG_NONE);
    struct aq_token token = {.arrival = arrival, .ep_pair = pair};
    return run_handler(to->fn, &token, to->bare) && !token.deferred;
}

// Handlers of the library check the tag themselves.
bool aq_am_deliver_tagged(const aq_arrival_t *arrival, aq_ep_pair_t pair, aq_tag_t tag)
{
    if (arrival->handler < GEX_AM_INDEX_BASE)
        return deliver_to(&aq_handlers, arrival, pair, tag);
    const gex_EP_t ep = aq_am_endpoint_tagged(arrival, pair, tag);
    return ep && deliver_to(ep->handlers, arrival, pair, tag);
}

// Delivers a message without a header, or from an endpoint with an identity.
static __attribute__((noinline)) bool deliver_other(const aq_arrival_t *arrival)
{
    aq_arrival_t inner;
    aq_ep_pair_t pair = {0};
    if (arrival->handler != AQ_HANDLER_HEADER_TAGGED)
        return deliver_to(&aq_handlers, arrival, pair, AQ_TAG_NONE);
    const aq_tag_t tag = aq_am_header_read_tagged(arrival, &inner, &pair);
    return aq_am_deliver_tagged(&inner, pair, tag);
}

// Delivers a message that has a header, or whose handler is registered for several shapes, or
// refuses the message.
static __attribute__((noinline)) bool deliver_several(const aq_arrival_t *arrival)
{
    aq_arrival_t inner;
    aq_ep_pair_t pair;
    if (arrival->handler != AQ_HANDLER_HEADER)
        return deliver_other(arrival);
    aq_am_header_read(arrival, &inner, &pair);
    return aq_am_deliver_headed(&inner, pair);
}

bool aq_am_deliver(const aq_arrival_t *arrival)
{
    const aq_dispatch_t *to = &aq_handlers.dispatch[arrival->handler];
    if (__builtin_expect(dispatch_differs(to, arrival), 0))
        return deliver_several(arrival);
    return run_handler(to->fn, &(struct aq_token){.arrival = arrival}, to->bare);
}

bool aq_am_is_delivery(const void *function)
{
    const void *deliver = (const void *)(uintptr_t)aq_am_deliver;
    const void *headed = (const void *)(uintptr_t)aq_am_deliver_headed;
    return function == deliver || function == headed ||
           function == (const void *)(uintptr_t)deliver_to ||
           function == (const void *)(uintptr_t)aq_am_call;
}

// ---- queries ----

gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask)
{
    (void)mask;
    const aq_arrival_t *arrival = token->arrival;
    const gex_EP_t ep = aq_token_endpoint(token);
    *info = (gex_Token_Info_t){.gex_srcrank = arrival->source,
                               .gex_ep = ep,
                               .gex_entry = &ep->handlers->entry[arrival->handler],
                               .gex_is_req = !arrival->reply,
                               .gex_is_long = arrival->category == AQ_AM_LONG};
    return GEX_TI_ALL;
}

unsigned int gex_AM_MaxArgs(void)
{
    return AQ_HANDLER_MAX_ARGS;
}
