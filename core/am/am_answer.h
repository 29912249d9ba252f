// SPDX-License-Identifier: BSD-3-Clause
// Replies in one message, with any route.
#ifndef AQ_AM_ANSWER_H
#define AQ_AM_ANSWER_H

#include "am_send.h"
#include "window_connect.h"

// As aq_am_reply, for a message that is not wrapped yet.
static inline int aq_am_reply_whole(gex_Token_t token, aq_am_t *am, gex_Flags_t flags)
{
    const aq_route_t route = aq_token_reply_route(token);
    int32_t args[AQ_AM_MAX_ARGS];
    if (__builtin_expect(!aq_route_needed(route), 1))
        return aq_am_send_reply(token, am, flags);
    aq_route_wrap(route, token->arrival->source, am, args);
    return aq_am_reply_by(aq_window_reply_route(route, token->arrival, am), token, am, flags);
}

// As aq_am_reply, for a handler of the library, with any route: sends a Short, or a Medium, which
// count as no messages of the client. The payload may change when the call returns.
void aq_am_answer(gex_Token_t token, gex_AM_Index_t handler, unsigned nargs, const int32_t *args);
void aq_am_answer_medium(gex_Token_t token, gex_AM_Index_t handler, const void *src, size_t nbytes,
                         unsigned nargs, const int32_t *args);

#endif
