// SPDX-License-Identifier: BSD-3-Clause
// Active messages: sending (request, reply) and delivery.
//
// gex_AM_RequestShort2 -> aq_api_request_short -> conduit->send ~~~~~~~~~~~~~~~~~~~~> conduit->poll
//                                                                                            |
//                               handler <- aq_am_call <- aq_am_deliver <--------------------+
//                            `-> gex_AM_ReplyShort1 -> aq_api_reply_short -> conduit->send ...
#pragma once

#include "am_header.h"
#include "../ground/bounds.h"
#include "../ground/path.h"
#include "../conduit.h"
#include "../gasnetex_am.h"
#include "../endpoint/team.h"

// The object behind a handler's token, on the stack of aq_am_deliver.
struct aq_token {
    const aq_arrival_t *arrival;
    bool replied;
    bool deferred;        // the reply is sent by a later poll, as requests; see long_fragment.h
    uint8_t tag;          // aq_tag_t
    aq_ep_pair_t ep_pair; // of the arrival; the reply takes it in the other direction
};

// The endpoint that a handler runs for.
static inline gex_EP_t aq_token_endpoint(gex_Token_t token)
{
    return aq_endpoint_at(token->ep_pair.to);
}
// The destination of a request to a member of a team.
static inline aq_am_to_t aq_am_to_member(gex_TM_t tm, gex_Rank_t rank)
{
    const aq_team_t *team = aq_team_of(tm);
    return (aq_am_to_t){.jobrank = aq_team_jobrank(team, rank),
                        .ep_pair = aq_team_ep_pair(team, rank)};
}

// The destination of the reply to a request.
static inline aq_am_to_t aq_am_to_sender(gex_Token_t token)
{
    return (aq_am_to_t){.jobrank = token->arrival->source,
                        .ep_pair = {.from = token->ep_pair.to, .to = token->ep_pair.from},
                        .token = token};
}

// Runs the handler of a message that has arrived; see aq_conduit_env_t.
bool aq_am_deliver(const aq_arrival_t *arrival);

// Runs the handler of a message with a header, as aq_am_deliver. Returns false, too, if the message
// is dropped because this process has no such endpoint.
bool aq_am_deliver_headed(const aq_arrival_t *arrival, aq_ep_pair_t pair);

// As aq_am_deliver_headed, for a message with or without a tag.
bool aq_am_deliver_tagged(const aq_arrival_t *arrival, aq_ep_pair_t pair, aq_tag_t tag);

// As aq_am_deliver_tagged, for a message of the client that the trace knows by this number.
bool aq_am_deliver_numbered(const aq_arrival_t *arrival, aq_ep_pair_t pair, aq_tag_t tag,
                            uint64_t number);

// Calls a handler with the arguments of the message.
void aq_am_call(gex_AM_Fn_t fn, gex_Token_t token, const aq_arrival_t *arrival);

// Returns the address in this process of dest, an address in the segment of an endpoint of a rank,
// or NULL if the segment is not mapped.
void *aq_am_map_local(uint32_t jobrank, gex_EP_Index_t ep, void *dest);

// Checks the length of a message of the client, in every build.
static inline void aq_am_bound(const char *call, const aq_am_t *am)
{
    if (am->category == AQ_AM_MEDIUM)
        aq_bounds_bytes(call, am->nbytes, aq_job.limits.medium);
    else
        aq_bounds_bytes(call, am->nbytes,
                        am->reply ? aq_job.limits.long_reply : aq_job.limits.long_request);
}

// Checks of a debug build, shared with the negotiated-payload calls.
// `call` is the name of the call without its category.
void aq_am_check_payload(const char *call, uint32_t jobrank, gex_EP_Index_t ep, const aq_am_t *am);
void aq_am_check_handler(const char *call, const aq_am_t *am);
void aq_am_check_request(const char *call, gex_TM_t tm, gex_Rank_t rank, const aq_am_t *am);
void aq_am_check_reply(const char *call, gex_Token_t token, const aq_am_t *am);

// Whether this is the begin of a function that calls handlers. Any thread; async-signal-safe.
bool aq_am_is_delivery(const void *function);
