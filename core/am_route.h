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

#include "conduit.h"
#include "endpoint.h"
#include "identity.h"
#include "route.h"

enum { AQ_HANDLER_ROUTE = GEX_AM_INDEX_BASE - 3, AQ_HANDLER_ROUTE_TAGGED = 51 };

enum { AQ_ROUTE_TAGGED_ARGS = 3 }; // before those of the client: the route and the tag

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

// Turns a message to a job rank, with the client's handler and arguments, into one with a route,
// and with a tag if the sending endpoint has an identity. args becomes the arguments of the message
// and has to live as long as the message.
void aq_route_wrap(aq_route_t route, uint32_t jobrank, aq_am_t *am, int32_t args[AQ_AM_MAX_ARGS]);

// Reads a message to AQ_HANDLER_ROUTE: fills in *inner, the client's message, and *route. Ends the
// job if no correct peer sends this message.
void aq_route_read(const aq_arrival_t *arrival, aq_arrival_t *inner, aq_route_t *route);

// As aq_route_read, for a message to AQ_HANDLER_ROUTE_TAGGED. Returns whether its tag is that of
// the endpoint that it leads to.
aq_tag_t aq_route_read_tagged(const aq_arrival_t *arrival, aq_arrival_t *inner, aq_route_t *route);

// Returns the endpoint of this process that the message leads to. NULL: the message is dropped,
// because there is no such endpoint, or none with active messages (logged), or the endpoint has an
// identity (counted).
gex_EP_t aq_route_endpoint(const aq_arrival_t *inner, aq_route_t route);

// As aq_route_endpoint, for a message with or without a tag.
gex_EP_t aq_route_endpoint_tagged(const aq_arrival_t *inner, aq_route_t route, aq_tag_t tag);

#endif
