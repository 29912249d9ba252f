#include "am_route.h"

#include <stdatomic.h>
#include <string.h>

#include "counters.h"
#include "fatal.h"

// The first argument: to (12 bits), from (12 bits), handler (8 bits).
enum { ENDPOINT_BITS = 12, HANDLER_BITS = 8 };

enum { LOGGED_MOST = 4 }; // messages that were dropped, of which each is logged

_Static_assert(GASNET_MAXEPS <= 1 << ENDPOINT_BITS, "the index of an endpoint fits into a route");
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

void aq_route_wrap(aq_route_t route, aq_am_t *am, int32_t args[AQ_AM_MAX_ARGS])
{
    args[0] = (int32_t)route_pack(route, am->handler);
    if (am->nargs)
        memcpy(args + 1, am->args, am->nargs * sizeof *args);
    am->args = args;
    am->nargs++;
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
gex_EP_t aq_route_endpoint(const aq_arrival_t *inner, aq_route_t route)
{
    const gex_EP_t ep = aq_endpoint_at(route.to);
    if (ep && ep->handlers)
        return ep;
    count_dropped(ep, route.to);
    log_dropped(inner, route,
                ep ? "that endpoint was created without GEX_EP_CAPABILITY_AM"
                   : "this process has no such endpoint; create it, and synchronize, "
                     "before peers send to it");
    return NULL;
}

void aq_route_read(const aq_arrival_t *arrival, aq_arrival_t *inner, aq_route_t *route)
{
    if (!arrival->nargs || arrival->category > AQ_AM_LONG)
        aq_fatal("a message of rank %u to a further endpoint is none: category %u, %u arguments",
                 arrival->source, arrival->category, arrival->nargs);
    const uint32_t word = (uint32_t)arrival->args[0];
    *route = route_unpack(word);
    *inner = *arrival;
    inner->args = arrival->args + 1;
    inner->nargs--;
    inner->handler = (uint8_t)(word & ((1u << HANDLER_BITS) - 1));
    if (inner->handler == AQ_HANDLER_ROUTE)
        aq_fatal("a message from endpoint %u of rank %u has two routes", route->from,
                 arrival->source);
}
