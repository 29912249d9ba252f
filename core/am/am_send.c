// SPDX-License-Identifier: BSD-3-Clause
#include "am_send.h"

#include "../ground/fatal.h"
#include "retry.h"

static void __attribute__((noreturn, cold)) send_failed(uint32_t jobrank, aq_status_t status)
{
    aq_fatal("sending to rank %u failed: %s", jobrank, aq_status_name(status));
}

typedef struct send_attempt {
    aq_am_route_t route;
    const aq_am_t *am;
} send_attempt_t;

static aq_status_t send_attempt(void *context)
{
    const send_attempt_t *attempt = context;
    return attempt->route.conduit->ops->am.send(attempt->route.conduit, attempt->route.link,
                                                attempt->am);
}

// A reply waits without running requests, because the handler that sends the reply may not be
// entered again.
int aq_am_again_by(aq_am_route_t route, uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags,
                   aq_status_t status)
{
    send_attempt_t attempt = {route, am};
    if (status == AQ_AGAIN)
        status = aq_retry(send_attempt, &attempt, aq_retry_mode(flags, am->reply),
                          route.conduit->endpoint, jobrank);
    if (status == AQ_AGAIN)
        return 1;
    if (status != AQ_OK)
        send_failed(jobrank, status);
    return 0;
}

int aq_am_request_again(uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags, aq_status_t status)
{
    return aq_am_again_by(aq_am_request_route(jobrank), jobrank, am, flags, status);
}

int aq_am_reply_again(const aq_arrival_t *request, aq_am_t *am, gex_Flags_t flags,
                      aq_status_t status)
{
    return aq_am_again_by(aq_am_reply_route(request, am), request->source, am, flags, status);
}

int aq_am_request(uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags)
{
    return aq_am_send_request(jobrank, am, flags);
}

int aq_am_reply(gex_Token_t token, aq_am_t *am, gex_Flags_t flags)
{
    return aq_am_send_reply(token, am, flags);
}
