// SPDX-License-Identifier: BSD-3-Clause
// The way of a message after a first attempt (am_send.h) that found no room: tries again by
// retry.c. Also the sends of the library's own layers.
#include "am_send.h"

#include "../ground/fatal.h"
#include "retry.h"

typedef struct send_attempt {
    aq_path_t path;
    const aq_am_t *am;
} send_attempt_t;

static aq_status_t send_attempt(void *context)
{
    const send_attempt_t *attempt = context;
    return attempt->path.conduit->ops->am.send(attempt->path.conduit, attempt->path.link,
                                               attempt->am);
}

// A reply waits without running requests, because the handler that sends the reply may not be
// entered again.
int aq_am_send_slow(aq_am_to_t to, aq_am_t *am, gex_Flags_t flags, aq_status_t status)
{
    send_attempt_t attempt = {aq_am_path(to, am), am};
    if (status == AQ_AGAIN)
        status = aq_retry(send_attempt, &attempt, aq_retry_mode(flags, to.token),
                          attempt.path.conduit->endpoint, to.jobrank);
    if (status == AQ_AGAIN)
        return 1;
    if (status != AQ_OK)
        aq_fatal("sending to rank %u failed: %s", to.jobrank, aq_status_name(status));
    if (to.token)
        to.token->replied = true;
    return 0;
}

int aq_am_request_slow(uint32_t jobrank, aq_am_t *am, gex_Flags_t flags, aq_status_t status)
{
    return aq_am_send_slow(aq_am_to_rank(jobrank), am, flags, status);
}

int aq_am_reply_slow(gex_Token_t token, aq_am_t *am, gex_Flags_t flags, aq_status_t status)
{
    return aq_am_send_slow(aq_am_to_sender(token), am, flags, status);
}

int aq_am_request(uint32_t jobrank, aq_am_t *am, gex_Flags_t flags)
{
    return aq_am_request_plain(jobrank, am, flags);
}

int aq_am_request_short(uint32_t jobrank, gex_AM_Index_t handler, unsigned nargs,
                        const int32_t *args, gex_Flags_t flags)
{
    aq_am_t am = {
        .args = args, .category = AQ_AM_SHORT, .handler = handler, .nargs = (uint8_t)nargs};
    return aq_am_request_plain(jobrank, &am, flags);
}

int aq_am_reply(gex_Token_t token, aq_am_t *am, gex_Flags_t flags)
{
    return aq_am_send(aq_am_to_sender(token), am, flags);
}

bool aq_am_requests_flushed(uint32_t jobrank, uint64_t *mark)
{
    const aq_path_t path = aq_path_to(jobrank);
    return !path.conduit->ops->am.requests_flushed ||
           path.conduit->ops->am.requests_flushed(path.conduit, path.link, mark);
}
