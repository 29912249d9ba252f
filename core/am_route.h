// Messages from or to further endpoints.
//
// Conduits receive for endpoint 0. A message between other endpoints travels as a message to the
// library's handler AQ_HANDLER_ROUTE of endpoint 0. Its first argument is the route: both endpoints
// and the handler of the client. The arguments of the client follow, and the payload is the same.
// Messages of the library itself (a put, a get) take a route, too, so that they travel between the
// windows of the endpoints; the handlers of the library serve all endpoints.
//
//     client -> am_api.c -> aq_route_wrap -> conduit ~~~> conduit -> aq_am_deliver -> aq_route_read
//                                                       handler of the endpoint <----+
#ifndef AQ_AM_ROUTE_H
#define AQ_AM_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "conduit.h"
#include "endpoint.h"
#include "route.h"

enum { AQ_HANDLER_ROUTE = GEX_AM_INDEX_BASE - 3 };

// Turns a message with the client's handler and arguments into one with a route. args becomes the
// arguments of the message and has to live as long as the message.
void aq_route_wrap(aq_route_t route, aq_am_t *am, int32_t args[AQ_AM_MAX_ARGS]);

// Reads a message to AQ_HANDLER_ROUTE: fills in *inner, the client's message, and *route. Ends the
// job if no correct peer sends this message.
void aq_route_read(const aq_arrival_t *arrival, aq_arrival_t *inner, aq_route_t *route);

// Returns the endpoint of this process that the message leads to. NULL: there is none, or none with
// active messages; logs that the message is dropped.
gex_EP_t aq_route_endpoint(const aq_arrival_t *inner, aq_route_t route);

#endif
