#include "am_route.h"

#include <stdatomic.h>
#include <string.h>

#include "arg64.h"
#include "counters.h"
#include "fatal.h"
#include "identity.h"

// The first argument: to (12 bits), from (12 bits), handler (8 bits).
enum { ENDPOINT_BITS = 12, HANDLER_BITS = 8 };

enum { LOGGED_MOST = 4 }; // messages that were dropped, of which each is logged

_Static_assert(GASNET_MAXEPS <= 1 << ENDPOINT_BITS, "the index of an endpoint fits into a route");
// The bits of a route that are 0 unless the index of an endpoint is GASNET_MAXEPS or more.
#define BEYOND_ONE ((1u << ENDPOINT_BITS) - GASNET_MAXEPS)
#define BEYOND ((BEYOND_ONE << ENDPOINT_BITS | BEYOND_ONE) << HANDLER_BITS)

_Static_assert((GASNET_MAXEPS & (GASNET_MAXEPS - 1)) == 0, "bits tell an index that is too large");
_Static_assert(AQ_HANDLERS <= 1 << HANDLER_BITS, "a handler fits into a route");

static uint32_t route_pack(aq_route_t route, unsigned handler)
{
    return ((uint32_t)route.to << ENDPOINT_BITS | route.from) << HANDLER_BITS | handler;
}

static aq_route_t route_unpack(uint32_t word)
{
    const uint32_t mask = (1u << ENDPOINT_BITS) - 1;
    return (aq_route_t){.from = (gex_EP_Index_t)(word >> HANDLER_BITS & mask),
                        .to = (gex_EP_Index_t)(word >> (HANDLER_BITS + ENDPOINT_BITS))};
}

// Puts the arguments of the message behind `head` arguments that are in args already.
static inline void wrap_behind(unsigned head, aq_am_t *am, int32_t *args)
{
    if (am->nargs)
        memcpy(args + head, am->args, am->nargs * sizeof *args);
    am->args = args;
    am->nargs += head;
}

static __attribute__((cold, noinline)) void wrap_tagged(aq_route_t route, uint32_t jobrank,
                                                        aq_am_t *am, int32_t *args)
{
    const uint64_t tag = aq_identity_tag(route, jobrank);
    args[0] = (int32_t)route_pack(route, am->handler);
    args[1] = aq_high(tag);
    args[2] = aq_low(tag);
    wrap_behind(AQ_ROUTE_TAGGED_ARGS, am, args);
    am->handler = AQ_HANDLER_ROUTE_TAGGED;
}

void aq_route_wrap(aq_route_t route, uint32_t jobrank, aq_am_t *am, int32_t args[AQ_AM_MAX_ARGS])
{
    if (__builtin_expect(aq_route_tagged(route), 0)) {
        wrap_tagged(route, jobrank, am, args);
        return;
    }
    args[0] = (int32_t)route_pack(route, am->handler);
    wrap_behind(1, am, args);
    am->handler = AQ_HANDLER_ROUTE;
}

// The index of an endpoint that was destroyed keeps its counters. One that never was has none.
static void count_dropped(gex_EP_t ep, gex_EP_Index_t to)
{
    const bool existed = to < aq_endpoint_count();
    aq_count_at(existed ? to : 0,
                existed && !ep ? AQ_COUNT_DROP_DESTROYED : AQ_COUNT_DROP_ENDPOINT);
}

static void log_dropped(const aq_arrival_t *inner, aq_route_t route, const char *why)
{
    static atomic_uint dropped;
    const unsigned before = atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
    if (before < LOGGED_MOST)
        aq_log_error("a message from endpoint %u of rank %u to handler %u of endpoint %u is "
                     "dropped: %s%s",
                     route.from, inner->source, inner->handler, route.to, why,
                     before + 1 < LOGGED_MOST ? "" : " (further ones are not logged)");
}

// A peer may name an endpoint that this process has not created yet, never creates, or has
// destroyed. Neither process needs to end for it.
static __attribute__((cold, noinline)) gex_EP_t drop(const aq_arrival_t *inner, aq_route_t route,
                                                     gex_EP_t ep)
{
    if (ep && ep->handlers) {
        aq_identity_drop(route, inner->source);
        return NULL;
    }
    count_dropped(ep, route.to);
    log_dropped(inner, route,
                ep ? "that endpoint was created without GEX_EP_CAPABILITY_AM"
                   : "this process has no such endpoint; create it, and synchronize, "
                     "before peers send to it");
    return NULL;
}

gex_EP_t aq_route_endpoint(const aq_arrival_t *inner, aq_route_t route)
{
    const gex_EP_t ep = aq_endpoint_at(route.to);
    return ep && ep->handlers && !ep->identity ? ep : drop(inner, route, ep);
}

gex_EP_t aq_route_endpoint_tagged(const aq_arrival_t *inner, aq_route_t route, aq_tag_t tag)
{
    const gex_EP_t ep = aq_endpoint_at(route.to);
    const bool accepts = ep && ep->handlers && tag == (ep->identity ? AQ_TAG_RIGHT : AQ_TAG_NONE);
    return accepts ? ep : drop(inner, route, ep);
}

// Reads a message with a head of this many arguments.
static void route_read(const aq_arrival_t *arrival, unsigned head, aq_arrival_t *inner,
                       aq_route_t *route)
{
    if (arrival->nargs < head || arrival->category > AQ_AM_LONG)
        aq_fatal("a message of rank %u to a further endpoint is none: category %u, %u arguments",
                 arrival->source, arrival->category, arrival->nargs);
    const uint32_t word = (uint32_t)arrival->args[0];
    *route = route_unpack(word);
    *inner = *arrival;
    inner->args = arrival->args + head;
    inner->nargs -= head;
    inner->handler = (uint8_t)(word & ((1u << HANDLER_BITS) - 1));
    if (__builtin_expect(word & BEYOND, 0))
        aq_fatal("a message of rank %u goes from endpoint %u to endpoint %u, and indices are below "
                 "%d",
                 arrival->source, route->from, route->to, GASNET_MAXEPS);
    if (inner->handler == AQ_HANDLER_ROUTE || inner->handler == AQ_HANDLER_ROUTE_TAGGED)
        aq_fatal("a message from endpoint %u of rank %u has two routes", route->from,
                 arrival->source);
}

void aq_route_read(const aq_arrival_t *arrival, aq_arrival_t *inner, aq_route_t *route)
{
    route_read(arrival, 1, inner, route);
}

aq_tag_t aq_route_read_tagged(const aq_arrival_t *arrival, aq_arrival_t *inner, aq_route_t *route)
{
    route_read(arrival, AQ_ROUTE_TAGGED_ARGS, inner, route);
    const uint64_t tag = aq_join(arrival->args[1], arrival->args[2]);
    const gex_EP_t ep = aq_endpoint_at(route->to);
    const bool proven =
        ep && ep->identity && aq_identity_proven(ep->identity, *route, arrival->source, tag);
    return proven ? AQ_TAG_RIGHT : AQ_TAG_WRONG;
}
