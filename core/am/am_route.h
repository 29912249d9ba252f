// SPDX-License-Identifier: BSD-3-Clause
// Messages from or to further endpoints.
//
// Conduits receive for endpoint 0. A message between other endpoints travels as a message to the
// library's handler AQ_HANDLER_ROUTE of endpoint 0. Its first argument is the route: both endpoints
// and the handler of the client. The arguments of the client follow, and the payload is the same.
// Messages of the library itself (a put, a get) take a route, too, so that they travel between the
// windows of the endpoints; the handlers of the library serve all endpoints.
// A message from an endpoint with an identity goes to AQ_HANDLER_ROUTE_TAGGED, and its tag
// (identity.h) stands between route and arguments.
//
//     client -> am_api.c -> aq_route_wrap -> conduit ~~~> conduit -> aq_am_deliver -> aq_route_read
//                                                       handler of the endpoint <----+
#ifndef AQ_AM_ROUTE_H
#define AQ_AM_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "../conduit.h"
#include "../endpoint/endpoint.h"
#include "../endpoint/identity.h"
#include "../ground/route.h"

enum { AQ_HANDLER_ROUTE = GEX_AM_INDEX_BASE - 3, AQ_HANDLER_ROUTE_TAGGED = 51 };

// Of long_fragment.c.
enum {
    AQ_HANDLER_LONG_PIECE = AQ_HANDLER_ROUTE - 3,
    AQ_HANDLER_LONG_PIECE_DONE,
    AQ_HANDLER_LONG_FRAGMENTED,
    AQ_HANDLER_LONG_PIECE_TAGGED = AQ_HANDLER_ROUTE_TAGGED - 1
};

enum { AQ_ROUTE_TAGGED_ARGS = 3 }; // before those of the client: the route and the tag

// The first argument: to (12 bits), from (12 bits), handler (8 bits).
enum { AQ_ROUTE_ENDPOINT_BITS = 12, AQ_ROUTE_HANDLER_BITS = 8 };

static inline int32_t aq_route_pack(aq_route_t route, unsigned handler)
{
    return (int32_t)(((uint32_t)route.to << AQ_ROUTE_ENDPOINT_BITS | route.from)
                         << AQ_ROUTE_HANDLER_BITS |
                     handler);
}

static inline aq_route_t aq_route_unpack(uint32_t word)
{
    const uint32_t mask = (1u << AQ_ROUTE_ENDPOINT_BITS) - 1;
    const uint32_t endpoints = word >> AQ_ROUTE_HANDLER_BITS;
    return (aq_route_t){.from = (gex_EP_Index_t)(endpoints & mask),
                        .to = (gex_EP_Index_t)(endpoints >> AQ_ROUTE_ENDPOINT_BITS)};
}

// The bits of the first argument that are 0 unless an index is GASNET_MAXEPS or more.
enum {
    AQ_ROUTE_BEYOND_ONE = (1u << AQ_ROUTE_ENDPOINT_BITS) - GASNET_MAXEPS,
    AQ_ROUTE_BEYOND = AQ_ROUTE_BEYOND_ONE << AQ_ROUTE_ENDPOINT_BITS | AQ_ROUTE_BEYOND_ONE
};

// Whether the endpoint of this process that sends a message has an identity.
static inline bool aq_route_tagged(aq_route_t route)
{
    return atomic_load_explicit(&aq_identity_any, memory_order_relaxed) && aq_identity_sends(route);
}

// The arguments that aq_route_wrap adds; 0 if the message needs no route.
static inline unsigned aq_route_nargs(aq_route_t route)
{
    if (!aq_route_needed(route))
        return 0;
    return aq_route_tagged(route) ? AQ_ROUTE_TAGGED_ARGS : 1;
}

// As aq_route_wrap, for an endpoint with an identity.
void aq_route_wrap_tagged(aq_route_t route, uint32_t jobrank, aq_am_t *am, int32_t *args)
    __attribute__((cold));

// Turns a message to a job rank, with the client's handler and arguments, into one with a route,
// and with a tag if the sending endpoint has an identity. args becomes the arguments of the message
// and has to live as long as the message.
static inline void aq_route_wrap(aq_route_t route, uint32_t jobrank, aq_am_t *am,
                                 int32_t args[AQ_AM_MAX_ARGS])
{
    if (__builtin_expect(aq_route_tagged(route), 0)) {
        aq_route_wrap_tagged(route, jobrank, am, args);
        return;
    }
    args[0] = aq_route_pack(route, am->handler);
    aq_am_copy_args(args + 1, am->args, am->nargs);
    am->args = args;
    am->nargs++;
    am->handler = AQ_HANDLER_ROUTE;
}

// Ends the job with the reason why no correct peer sends this message, which should have `head`
// arguments before those of the client.
void aq_route_refuse(const aq_arrival_t *arrival, unsigned head) __attribute__((noreturn, cold));

static inline void aq_route_read_behind(const aq_arrival_t *arrival, unsigned head,
                                        aq_arrival_t *inner, aq_route_t *route)
{
    if (__builtin_expect(arrival->nargs < head || arrival->category > AQ_AM_LONG, 0))
        aq_route_refuse(arrival, head);
    const uint32_t word = (uint32_t)arrival->args[0];
    const unsigned handler = word & ((1u << AQ_ROUTE_HANDLER_BITS) - 1);
    if (__builtin_expect(word >> AQ_ROUTE_HANDLER_BITS & AQ_ROUTE_BEYOND, 0) ||
        __builtin_expect(handler == AQ_HANDLER_ROUTE || handler == AQ_HANDLER_ROUTE_TAGGED, 0))
        aq_route_refuse(arrival, head);
    *route = aq_route_unpack(word);
    *inner = *arrival;
    inner->args = arrival->args + head;
    inner->nargs = (uint8_t)(arrival->nargs - head);
    inner->handler = (uint8_t)handler;
}

// Reads a message to AQ_HANDLER_ROUTE: fills in *inner, the client's message, and *route. Ends the
// job if no correct peer sends this message.
static inline void aq_route_read(const aq_arrival_t *arrival, aq_arrival_t *inner,
                                 aq_route_t *route)
{
    aq_route_read_behind(arrival, 1, inner, route);
}

// As aq_route_read, for a message to AQ_HANDLER_ROUTE_TAGGED. Returns whether its tag is that of
// the endpoint that it leads to.
aq_tag_t aq_route_read_tagged(const aq_arrival_t *arrival, aq_arrival_t *inner, aq_route_t *route);

// Drops a message that ep, the endpoint that it leads to or NULL, does not accept: counts, logs.
// Returns NULL.
gex_EP_t aq_route_drop(const aq_arrival_t *inner, aq_route_t route, gex_EP_t ep)
    __attribute__((cold));

// Returns the endpoint of this process that the message leads to. NULL: the message is dropped,
// because there is no such endpoint, or none with active messages (logged), or the endpoint has an
// identity (counted).
static inline gex_EP_t aq_route_endpoint(const aq_arrival_t *inner, aq_route_t route)
{
    const gex_EP_t ep = aq_endpoint_at(route.to);
    const bool accepts = ep && ep->handlers && !ep->identity;
    return __builtin_expect(accepts, 1) ? ep : aq_route_drop(inner, route, ep);
}

// As aq_route_endpoint, for a message with or without a tag.
gex_EP_t aq_route_endpoint_tagged(const aq_arrival_t *inner, aq_route_t route, aq_tag_t tag);

#endif
