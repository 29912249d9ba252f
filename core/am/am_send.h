// SPDX-License-Identifier: BSD-3-Clause
// The one way of a message, request or reply: a header if it needs one, its path, and the first
// attempt, all inline in the calls of the client; the rest is in am_send.c.
#pragma once

#include "am_path.h"
#include "../progress/poll_loop.h"

// Continue after a first attempt that returned `status`, neither AQ_OK nor AQ_HANDLED. They find
// the path again, so that the first attempt keeps neither path nor destination in registers.
int aq_am_send_slow(aq_am_to_t to, aq_am_t *am, gex_Flags_t flags, aq_status_t status)
    __attribute__((cold));
int aq_am_request_slow(uint32_t jobrank, aq_am_t *am, gex_Flags_t flags, aq_status_t status)
    __attribute__((cold));
int aq_am_reply_slow(gex_Token_t token, aq_am_t *am, gex_Flags_t flags, aq_status_t status)
    __attribute__((cold));

// The first attempt.
static inline aq_status_t aq_am_try(aq_path_t path, gex_Token_t token, const aq_am_t *am,
                                    gex_Flags_t flags)
{
    const aq_status_t status = path.conduit->ops->am.send(path.conduit, path.link, am);
    if (__builtin_expect(status != AQ_OK, 0))
        return __builtin_expect(status == AQ_HANDLED, 1) ? AQ_OK : status;
    if (token)
        token->replied = true;
    else if (!(flags & GEX_FLAG_IMMEDIATE))
        aq_poll_sending(); // a client that only sends still serves other ranks
    return AQ_OK;
}

// As aq_am_send, between endpoints 0: a request, or the reply to a request. The caller of the
// latter has read the token's arrival and source.
static inline int aq_am_request_plain(uint32_t jobrank, aq_am_t *am, gex_Flags_t flags)
{
    const aq_status_t status = aq_am_try(aq_path_to(jobrank), NULL, am, flags);
    return __builtin_expect(status == AQ_OK, 1) ? 0
                                                : aq_am_request_slow(jobrank, am, flags, status);
}
static inline int aq_am_reply_plain(gex_Token_t token, const aq_arrival_t *request, uint32_t source,
                                    aq_am_t *am, gex_Flags_t flags)
{
    const aq_path_t path = aq_path_back(request->path, source, am);
    const aq_status_t status = aq_am_try(path, token, am, flags);
    return __builtin_expect(status == AQ_OK, 1) ? 0 : aq_am_reply_slow(token, am, flags, status);
}

// As aq_am_send, with a header.
static inline int aq_am_send_headed(aq_am_to_t to, const aq_am_t *am, gex_Flags_t flags)
{
    int32_t args[AQ_AM_MAX_ARGS];
    aq_am_t headed = *am;
    aq_am_header_add(to.ep_pair, to.jobrank, &headed, args);
    const aq_status_t status = aq_am_try(aq_am_path(to, &headed), to.token, &headed, flags);
    return __builtin_expect(status == AQ_OK, 1) ? 0 : aq_am_send_slow(to, &headed, flags, status);
}

// Sends a message that fits into one of the conduit. Blocks for room and polls, for a reply for
// replies only; if flags has IMMEDIATE, returns non-zero instead.
static inline int aq_am_send(aq_am_to_t to, aq_am_t *am, gex_Flags_t flags)
{
    if (__builtin_expect(aq_ep_pair_needs_header(to.ep_pair), 0))
        return aq_am_send_headed(to, am, flags);
    return to.token ? aq_am_reply_plain(to.token, to.token->arrival, to.jobrank, am, flags)
                    : aq_am_request_plain(to.jobrank, am, flags);
}

// For the library's own layers: as aq_am_send, a request to endpoint 0 of a job rank, and the reply
// of a request's handler.
int aq_am_request(uint32_t jobrank, aq_am_t *am, gex_Flags_t flags);
int aq_am_reply(gex_Token_t token, aq_am_t *am, gex_Flags_t flags);

// As aq_am_request, a Short.
int aq_am_request_short(uint32_t jobrank, gex_AM_Index_t handler, unsigned nargs,
                        const int32_t *args, gex_Flags_t flags);

// Whether the requests sent to a job rank before *mark was set have left this process; otherwise a
// later poll sends them. The call that finds 0 in *mark sets *mark.
bool aq_am_requests_flushed(uint32_t jobrank, uint64_t *mark);
