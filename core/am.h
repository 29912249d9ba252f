// Active messages: the way out (request, reply) and the way in (deliver).
//
// gex_AM_RequestShort2 -> aq_api_request_short -> aq_am_request -> conduit->send ~~> conduit->poll
//                                                                                            |
//                               handler <- aq_am_call <- aq_am_deliver <--------------------+
//                            `-> gex_AM_ReplyShort1 -> aq_api_reply_short -> aq_am_reply -> ...
#ifndef AQ_AM_H
#define AQ_AM_H

#include "conduit.h"
#include "gasnetex_am.h"
#include "job.h"

// What a handler's token points to; lives on the stack of aq_am_deliver.
struct aq_token {
    const aq_arrival_t *arrival;
    bool replied;
};

// Sends a request to a job rank. Blocks for room, polling, unless flags has IMMEDIATE: then returns
// non-zero if there is no room.
int aq_am_request(uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags);

// As aq_am_request, for a Long, whose payload may have to be put first. Then it always blocks.
int aq_am_request_long(uint32_t jobrank, aq_am_t *am, gex_Flags_t flags);

// Whether the requests sent to a job rank until *mark was set (by the call that finds 0 there) have
// left this process: else they do with a later poll.
bool aq_am_requests_flushed(uint32_t jobrank, uint64_t *mark);

// Sends the reply of a request's handler, with the cookie of the request in am->cookie. Blocks for
// room, polling for replies, unless IMMEDIATE.
int aq_am_reply(gex_Token_t token, aq_am_t *am, gex_Flags_t flags);

// The conduit and the link by which a message reaches a peer.
typedef struct aq_am_route {
    aq_conduit_t *conduit;
    void *link;
} aq_am_route_t;

// The route of a request to a job rank; connects first if need be.
static inline aq_am_route_t aq_am_request_route(uint32_t jobrank)
{
    const uintptr_t link = aq_job_link(jobrank);
    return (aq_am_route_t){aq_link_conduit(link), aq_link_pointer(link)};
}

// The route of the reply to a request: the link of the request, where the conduit has named it.
// Copies the cookie of the request to the reply.
static inline aq_am_route_t aq_am_reply_route(const aq_arrival_t *request, aq_am_t *reply)
{
    const aq_return_path_t *path = request->path;
    if (path) {
        reply->cookie = path->cookie;
        if (path->link)
            return (aq_am_route_t){path->conduit, path->link};
    }
    return aq_am_request_route(request->source);
}

// Runs the handler of a message that has arrived; see aq_conduit_env_t.
bool aq_am_deliver(const aq_arrival_t *arrival);

// Calls a handler with the arguments of the message.
void aq_am_call(gex_AM_Fn_t fn, gex_Token_t token, const aq_arrival_t *arrival);

// The address in this process of a place in the segment of a rank; NULL where that is not mapped.
void *aq_am_map_local(uint32_t jobrank, void *dest);

// Checks of a debug build, shared with the negotiated-payload calls.
// `call` is the name of the call without its category.
void aq_am_check_payload(const char *call, uint32_t jobrank, const aq_am_t *am);
void aq_am_check_handler(const char *call, const aq_am_t *am);
void aq_am_check_request(const char *call, gex_TM_t tm, gex_Rank_t rank, const aq_am_t *am);
void aq_am_check_reply(const char *call, gex_Token_t token, const aq_am_t *am);

#endif
