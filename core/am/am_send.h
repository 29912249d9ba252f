// SPDX-License-Identifier: BSD-3-Clause
// The first attempt to send a message, inline in the calls of the client.
#ifndef AQ_AM_SEND_H
#define AQ_AM_SEND_H

#include "am.h"
#include "../progress/poll_loop.h"

// Continue after a first attempt that returned `status`, neither AQ_OK nor AQ_HANDLED; as
// aq_am_request and aq_am_reply, which return non-zero if flags has IMMEDIATE and there is no room.
// They find the route again, so that the first attempt does not keep it in registers.
int aq_am_request_again(uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags, aq_status_t status)
    __attribute__((cold));
int aq_am_reply_again(const aq_arrival_t *request, aq_am_t *am, gex_Flags_t flags,
                      aq_status_t status) __attribute__((cold));

// As aq_am_request_again and aq_am_reply_again, by a route that the caller has found.
int aq_am_again_by(aq_am_route_t route, uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags,
                   aq_status_t status) __attribute__((cold));

// As aq_am_request and aq_am_reply, by a route that the caller has found.
static inline int aq_am_request_by(aq_am_route_t route, uint32_t jobrank, const aq_am_t *am,
                                   gex_Flags_t flags)
{
    const aq_status_t status = route.conduit->ops->am.send(route.conduit, route.link, am);
    if (__builtin_expect(status != AQ_OK, 0))
        return status == AQ_HANDLED ? 0 : aq_am_again_by(route, jobrank, am, flags, status);
    if (!(flags & GEX_FLAG_IMMEDIATE))
        aq_poll_sending();
    return 0;
}
static inline int aq_am_reply_by(aq_am_route_t route, gex_Token_t token, const aq_am_t *am,
                                 gex_Flags_t flags)
{
    const aq_status_t status = route.conduit->ops->am.send(route.conduit, route.link, am);
    if (__builtin_expect(status != AQ_OK, 0) &&
        aq_am_again_by(route, token->arrival->source, am, flags, status))
        return 1;
    token->replied = true;
    return 0;
}

// As aq_am_request.
static inline int aq_am_send_request(uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags)
{
    const aq_am_route_t route = aq_am_request_route(jobrank);
    const aq_status_t status = route.conduit->ops->am.send(route.conduit, route.link, am);
    if (__builtin_expect(status != AQ_OK, 0))
        return status == AQ_HANDLED ? 0 : aq_am_request_again(jobrank, am, flags, status);
    if (!(flags & GEX_FLAG_IMMEDIATE))
        aq_poll_sending(); // a client that only sends still serves other ranks
    return 0;
}

// As aq_am_reply, by a caller that has read the token's arrival and its source.
static inline int aq_am_send_reply_to(const aq_arrival_t *request, uint32_t source,
                                      gex_Token_t token, aq_am_t *am, gex_Flags_t flags)
{
    const aq_am_route_t route = aq_am_reply_route_to(request->path, source, am);
    const aq_status_t status = route.conduit->ops->am.send(route.conduit, route.link, am);
    if (__builtin_expect(status != AQ_OK, 0) &&
        aq_am_reply_again(token->arrival, am, flags, status))
        return 1;
    token->replied = true;
    return 0;
}
static inline int aq_am_send_reply(gex_Token_t token, aq_am_t *am, gex_Flags_t flags)
{
    return aq_am_send_reply_to(token->arrival, token->arrival->source, token, am, flags);
}

// Sends a request to endpoint 0 of a job rank. Blocks for room and polls; if flags has IMMEDIATE,
// returns non-zero instead.
int aq_am_request(uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags);

// As aq_am_request, for a Long. If the payload has to be put first, the call blocks even with
// IMMEDIATE.
int aq_am_request_long(uint32_t jobrank, aq_am_t *am, gex_Flags_t flags);

// Whether the requests sent to a job rank before *mark was set have left this process; otherwise a
// later poll sends them. The call that finds 0 in *mark sets *mark.
bool aq_am_requests_flushed(uint32_t jobrank, uint64_t *mark);

// Sends the reply of a request's handler, with the cookie of the request in am->cookie. A reply
// that needs a route is wrapped already. Blocks for room and polls for replies; if flags has
// IMMEDIATE, returns non-zero instead.
int aq_am_reply(gex_Token_t token, aq_am_t *am, gex_Flags_t flags);

#endif
