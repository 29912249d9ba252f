// SPDX-License-Identifier: BSD-3-Clause
// How two windows connect: the first message between their endpoints starts it, and travels between
// the receive sides of endpoint 0 meanwhile.
//
//     window i of this process                         window j of the peer
//     "endpoint i reaches me thus: ..." ---------->    connects to window i
//     connects to window j, may send   <----------     "endpoint j reaches me thus: ..."
//
// The peer's requests to window i wait until the peer has asked, too: only the answer tells it that
// window i has connected. Its replies need not wait.
#ifndef AQ_WINDOW_CONNECT_H
#define AQ_WINDOW_CONNECT_H

#include "am.h"
#include "../endpoint/window.h"

enum { AQ_HANDLER_WINDOW = AQ_HANDLER_LONG_PIECE - 1 };

// Registers the handler; once, at init.
void aq_window_connect_start(void);

// As aq_window_open; the polls of this process serve windows from now on.
aq_window_t *aq_window_use(gex_EP_Index_t endpoint);

// Asks a job rank to connect the windows of a route, at most once. Does nothing if there is no room
// for a message now. Not in a handler.
void aq_window_ask(aq_route_t route, uint32_t jobrank) __attribute__((cold));

static inline aq_am_route_t aq_window_route(aq_route_t route, uintptr_t link)
{
    return (aq_am_route_t){aq_window_conduit(route.from, link), aq_link_pointer(link)};
}

// Returns conduit and link for a request with a route: from window to window if both endpoints have
// one.
static inline aq_am_route_t aq_window_request_route(aq_route_t route, uint32_t jobrank)
{
    if (!route.from || !route.to)
        return aq_am_request_route(jobrank);
    aq_window_link_t *between = aq_window_find_link(route, jobrank);
    const uintptr_t link =
        between ? atomic_load_explicit(&between->ready, memory_order_acquire) : 0;
    if (__builtin_expect(link != 0, 1))
        return aq_window_route(route, link);
    aq_window_ask(route, jobrank);
    return aq_am_request_route(jobrank);
}

// As aq_am_reply_route, for the reply to a request with a route.
static inline aq_am_route_t aq_window_reply_route(aq_route_t route, const aq_arrival_t *request,
                                                  aq_am_t *reply)
{
    const aq_window_link_t *between =
        request->path ? NULL : aq_window_find_link(route, request->source);
    const uintptr_t link =
        between ? atomic_load_explicit(&between->replies, memory_order_acquire) : 0;
    return link ? aq_window_route(route, link) : aq_am_reply_route(request, reply);
}

#endif
