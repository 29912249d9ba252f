// SPDX-License-Identifier: BSD-3-Clause
// Requests: their memory, cookies and completion.
#pragma once

#include "msg_state.h"

// Fills in a request that has not begun. Members that only some requests need are set later.
static inline void aq_request_init(gasnetx_Request_t request, const aq_msg_call_t *call)
{
    atomic_init(&request->complete, false);
    request->entry.list[AQ_MATCH_OF_SOURCE] = request->entry.list[AQ_MATCH_OF_ALL] = NULL;
    request->call = *call;
    request->begun = request->counts = false;
    request->status = (gasnetx_msg_status_t){0};
    request->cookie = 0;
    request->claims = NULL;
    request->reads = NULL;
    request->exposures = NULL;
    request->unreadable = false;
    request->hooks = NULL;
}

static inline bool aq_request_is_complete(const struct gasnetx_request *request)
{
    return atomic_load_explicit(&request->complete, memory_order_acquire);
}

// A request that is not initialized, and a request that has not begun. Ends the job if memory is
// out.
gasnetx_Request_t aq_request_allocate(void);

static inline gasnetx_Request_t aq_request_new(const aq_msg_call_t *call)
{
    aq_lock_take(&aq_msg.lock);
    gasnetx_Request_t request = aq_msg.free_requests;
    if (request)
        aq_msg.free_requests = request->next;
    aq_lock_drop(&aq_msg.lock);
    if (!request)
        request = aq_request_allocate();
    aq_request_init(request, call);
    return request;
}

void aq_request_free(gasnetx_Request_t request);

void aq_request_complete(gasnetx_Request_t request);

void aq_request_await(gasnetx_Request_t request); // polls until it is complete

// The cookie of a request for messages of a peer, and the request of such a cookie. NULL: there is
// none.
aq_cookie_t aq_request_cookie(gasnetx_Request_t request, uint32_t jobrank); // or ends the job
gasnetx_Request_t aq_request_of_cookie(uint32_t jobrank, aq_cookie_t cookie);

// Ends a cookie. False: there is none.
bool aq_request_cookie_take(uint32_t jobrank, aq_cookie_t cookie);
