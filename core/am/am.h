// SPDX-License-Identifier: BSD-3-Clause
// Active messages: sending (request, reply) and delivery.
//
// gex_AM_RequestShort2 -> aq_api_request_short -> conduit->send ~~~~~~~~~~~~~~~~~~~~> conduit->poll
//                                                                                            |
//                               handler <- aq_am_call <- aq_am_deliver <--------------------+
//                            `-> gex_AM_ReplyShort1 -> aq_api_reply_short -> conduit->send ...
#ifndef AQ_AM_H
#define AQ_AM_H

#include "../../other/base/probes.h"
#include "am_route.h"
#include "../ground/bounds.h"
#include "../conduit.h"
#include "../record/counters.h"
#include "../gasnetex_am.h"
#include "../endpoint/peer_link.h"

// The object behind a handler's token, on the stack of aq_am_deliver.
struct aq_token {
    const aq_arrival_t *arrival;
    bool replied;
    bool deferred;    // the reply is sent by a later poll, as requests; see long_fragment.h
    uint8_t tag;      // aq_tag_t
    aq_route_t route; // of the arrival; the reply takes it in the other direction
};

// The endpoint that a handler runs for.
static inline gex_EP_t aq_token_endpoint(gex_Token_t token)
{
    return aq_endpoint_at(token->route.to);
}
static inline aq_route_t aq_token_reply_route(gex_Token_t token)
{
    return (aq_route_t){.from = token->route.to, .to = token->route.from};
}

// The conduit and the link by which a message reaches a peer.
typedef struct aq_am_route {
    aq_conduit_t *conduit;
    void *link;
} aq_am_route_t;

// Returns the route of a request to a job rank; connects first if needed.
static inline aq_am_route_t aq_am_request_route(uint32_t jobrank)
{
    const uintptr_t link = aq_job_link(jobrank);
    return (aq_am_route_t){aq_link_conduit(link), aq_link_pointer(link)};
}

// Returns the route of the reply to a request: the link of the request if the conduit has named
// one. Copies the cookie of the request to the reply.
static inline aq_am_route_t aq_am_reply_route_to(const aq_return_path_t *path, uint32_t source,
                                                 aq_am_t *reply)
{
    if (path) {
        reply->cookie = path->cookie;
        if (path->link)
            return (aq_am_route_t){path->conduit, path->link};
    }
    return aq_am_request_route(source);
}
static inline aq_am_route_t aq_am_reply_route(const aq_arrival_t *request, aq_am_t *reply)
{
    return aq_am_reply_route_to(request->path, request->source, reply);
}

// The counts of messages of this kind, and of their bytes.
static inline aq_count_t aq_am_count_of(const aq_am_t *am)
{
    return (aq_count_t)((am->reply ? AQ_COUNT_REPLY_SHORT : AQ_COUNT_REQUEST_SHORT) + am->category);
}

static inline aq_count_t aq_am_bytes_of(const aq_am_t *am)
{
    return am->reply ? AQ_COUNT_REPLY_BYTES : AQ_COUNT_REQUEST_BYTES;
}

// Counts a message of the client from endpoint 0 in a cell, and its bytes in the record of its
// rank.
static inline void aq_am_count_in(_Atomic uint64_t *cell, aq_peer_record_t *record,
                                  uint32_t jobrank, const aq_am_t *am)
{
    // Copied before the addition and the probe, after which the compiler would load *am again.
    const aq_am_t sent = *am;
    aq_cell_add(cell, 1);
    if (sent.category != AQ_AM_SHORT)
        aq_cell_add(&record->endpoint0[aq_am_bytes_of(&sent)], sent.nbytes);
    aq_probe_message_send(jobrank, sent.handler, sent.category, sent.reply, sent.nbytes);
}

// The cell that counts messages of this kind on the fast way.
static inline _Atomic uint64_t *aq_am_fast_cell(const aq_fast_counts_t *fast, uint32_t jobrank,
                                                const aq_am_t *am)
{
    if (am->category != AQ_AM_SHORT)
        return &fast->peers[jobrank].endpoint0[aq_am_count_of(am)];
    return am->reply ? &fast->replies[jobrank] : &fast->requests[jobrank];
}

// Counts a message of the client that takes the fast way.
static inline void aq_am_count_fast(const aq_fast_counts_t *fast, uint32_t jobrank,
                                    const aq_am_t *am)
{
    aq_am_count_in(aq_am_fast_cell(fast, jobrank, am), &fast->peers[jobrank], jobrank, am);
}

// Counts a message of the client, which has left an endpoint of this process for a rank.
static inline void aq_am_count_sent(gex_EP_Index_t from, uint32_t jobrank, const aq_am_t *am)
{
    if (!from) {
        aq_peer_record_t *record = aq_count_record(jobrank);
        aq_am_count_in(&record->endpoint0[aq_am_count_of(am)], record, jobrank, am);
        return;
    }
    aq_probe_message_send(jobrank, am->handler, am->category, am->reply, am->nbytes);
    aq_count_further(from, jobrank, aq_am_count_of(am), aq_am_bytes_of(am), am->nbytes);
}

// Runs the handler of a message that has arrived; see aq_conduit_env_t.
bool aq_am_deliver(const aq_arrival_t *arrival);

// Runs the handler of a message with a route, as aq_am_deliver. Returns false, too, if the message
// is dropped because this process has no such endpoint.
bool aq_am_deliver_routed(const aq_arrival_t *arrival, aq_route_t route);

// As aq_am_deliver_routed, for a message with or without a tag.
bool aq_am_deliver_tagged(const aq_arrival_t *arrival, aq_route_t route, aq_tag_t tag);

// As aq_am_deliver_tagged, for a message of the client that the trace knows by this number.
bool aq_am_deliver_numbered(const aq_arrival_t *arrival, aq_route_t route, aq_tag_t tag,
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
        aq_bounds_bytes(call, am->nbytes, aq_job.max_medium);
    else
        aq_bounds_bytes(call, am->nbytes, am->reply ? aq_job.max_long : aq_job.max_long_request);
}

// Checks of a debug build, shared with the negotiated-payload calls.
// `call` is the name of the call without its category.
void aq_am_check_payload(const char *call, uint32_t jobrank, gex_EP_Index_t ep, const aq_am_t *am);
void aq_am_check_handler(const char *call, const aq_am_t *am);
void aq_am_check_request(const char *call, gex_TM_t tm, gex_Rank_t rank, const aq_am_t *am);
void aq_am_check_reply(const char *call, gex_Token_t token, const aq_am_t *am);

// Whether this is the begin of a function that calls handlers. Any thread; async-signal-safe.
bool aq_am_is_delivery(const void *function);

#endif
