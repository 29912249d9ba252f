// SPDX-License-Identifier: BSD-3-Clause
// Finds the path of a message, whatever its endpoints are. Sends, Prepare, and put and get ask for
// it.
#pragma once

#include "am.h"
#include "../endpoint/peer_link.h"
#include "window_ask.h"

// Returns the path to endpoint 0 of a job rank; connects first if needed.
static inline aq_path_t aq_path_to(uint32_t jobrank)
{
    const uintptr_t link = aq_job_link(jobrank);
    return (aq_path_t){aq_link_conduit(link), aq_link_pointer(link)};
}

// Returns the path of the reply to a request of job rank `source`: the link of the request if the
// conduit has named one. Copies the cookie of the request to the reply.
static inline aq_path_t aq_path_back(const aq_return_path_t *path, uint32_t source, aq_am_t *reply)
{
    if (path) {
        reply->cookie = path->cookie;
        if (path->link)
            return (aq_path_t){path->conduit, path->link};
    }
    return aq_path_to(source);
}

static inline aq_path_t aq_path_of_window(aq_ep_pair_t pair, uintptr_t link)
{
    return (aq_path_t){aq_window_conduit(pair.from, link), aq_link_pointer(link)};
}

// As aq_path_to, for a request with a header: from window to window if both endpoints have one.
static inline aq_path_t aq_path_between(aq_ep_pair_t pair, uint32_t jobrank)
{
    if (!pair.from || !pair.to)
        return aq_path_to(jobrank);
    aq_window_link_t *between = aq_window_find_link(pair, jobrank);
    const uintptr_t link =
        between ? atomic_load_explicit(&between->ready, memory_order_acquire) : 0;
    if (__builtin_expect(link != 0, 1))
        return aq_path_of_window(pair, link);
    aq_window_ask(pair, jobrank);
    return aq_path_to(jobrank);
}

// As aq_path_back, for the reply to a request with a header.
static inline aq_path_t aq_path_back_between(aq_ep_pair_t pair, const aq_arrival_t *request,
                                             aq_am_t *reply)
{
    const aq_window_link_t *between = NULL;
    if (!request->path && aq_ep_pair_needs_header(pair))
        between = aq_window_find_link(pair, request->source);
    const uintptr_t link =
        between ? atomic_load_explicit(&between->replies, memory_order_acquire) : 0;
    return link ? aq_path_of_window(pair, link)
                : aq_path_back(request->path, request->source, reply);
}

// Returns the path of any message. If it is a reply, copies the cookie of its request to it.
static inline aq_path_t aq_am_path(aq_am_to_t to, aq_am_t *am)
{
    return to.token ? aq_path_back_between(to.ep_pair, to.token->arrival, am)
                    : aq_path_between(to.ep_pair, to.jobrank);
}
