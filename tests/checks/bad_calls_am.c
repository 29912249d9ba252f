// SPDX-License-Identifier: BSD-3-Clause
// Wrong active messages: fixed payload.
#include "bad_calls.h"

#include <stdlib.h>

static char buffer[64];

// ---- requests ----

static void request_rank(void)
{
    gex_AM_RequestShort1(bad_tm, 2, BAD_H_SHORT, 0, 1);
}

static void request_medium_rank(void)
{
    gex_AM_RequestMedium0(bad_tm, GEX_RANK_INVALID, BAD_H_MEDIUM, buffer, 8, GEX_EVENT_NOW, 0);
}

static void request_long_rank(void)
{
    gex_AM_RequestLong0(bad_tm, 1000000, BAD_H_LONG, buffer, 8, bad_segment, GEX_EVENT_NOW, 0);
}

static void request_index(void)
{
    gex_AM_RequestShort1(bad_tm, 1, GEX_AM_INDEX_BASE - 1, 0, 1);
}

static void request_none(void)
{
    gex_AM_RequestShort1(bad_tm, 1, BAD_H_NONE, 0, 1);
}

static void request_more_args(void)
{
    gex_AM_RequestShort2(bad_tm, 1, BAD_H_SHORT, 0, 1, 2);
}

static void request_fewer_args(void)
{
    gex_AM_RequestShort0(bad_tm, 1, BAD_H_SHORT, 0);
}

static void request_category(void)
{
    gex_AM_RequestMedium1(bad_tm, 1, BAD_H_SHORT, buffer, 8, GEX_EVENT_NOW, 0, 1);
}

static void request_long_category(void)
{
    gex_AM_RequestLong0(bad_tm, 1, BAD_H_MEDIUM, buffer, 8, bad_segment, GEX_EVENT_NOW, 0);
}

static void request_reply_handler(void)
{
    gex_AM_RequestShort0(bad_tm, 1, BAD_H_SHORT_REPLY, 0);
}

static void request_medium_size(void)
{
    size_t limit = gex_AM_MaxRequestMedium(bad_tm, 1, GEX_EVENT_NOW, 0, 0);
    void *payload = calloc(1, limit + 1);
    bad_expect("a payload of %zu bytes is more than the limit of %zu", limit + 1, limit);
    gex_AM_RequestMedium0(bad_tm, 1, BAD_H_MEDIUM, payload, limit + 1, GEX_EVENT_NOW, 0);
    free(payload);
}

static void request_long_size(void)
{
    size_t limit = gex_AM_MaxRequestLong(bad_tm, 1, GEX_EVENT_NOW, 0, 0);
    bad_expect("a payload of %zu bytes is more than the limit of %zu", limit + 1, limit);
    gex_AM_RequestLong0(bad_tm, 1, BAD_H_LONG, buffer, limit + 1, bad_segment, GEX_EVENT_NOW, 0);
}

static void request_long_to(char *dest)
{
    bad_expect("16 bytes at %p are not inside the segment of rank 1 (%p to %p, %zu bytes)",
               (void *)dest, (void *)bad_segment, (void *)(bad_segment + BAD_SEGMENT), BAD_SEGMENT);
    gex_AM_RequestLong0(bad_tm, 1, BAD_H_LONG, buffer, 16, dest, GEX_EVENT_NOW, 0);
}

static void request_long_before(void)
{
    request_long_to(bad_segment - 16);
}

static void request_long_crossing(void)
{
    request_long_to(bad_segment + BAD_SEGMENT - 15);
}

static void request_long_nosegment(void)
{
    bad_expect("16 bytes at %p are not inside the segment of rank 1, which has none attached",
               (void *)buffer);
    gex_AM_RequestLong0(bad_tm, 1, BAD_H_LONG, buffer, 16, buffer, GEX_EVENT_NOW, 0);
}

// ---- replies, in the handler of a request from rank 0 ----

static gex_Token_t kept;

static void keep_token(gex_Token_t token)
{
    kept = token;
}

static void reply_twice(gex_Token_t token)
{
    gex_AM_ReplyShort0(token, BAD_H_SHORT_REPLY, 0);
    gex_AM_ReplyShort0(token, BAD_H_SHORT_REPLY, 0);
}

static void reply_medium_twice(gex_Token_t token)
{
    gex_AM_ReplyMedium0(token, BAD_H_MEDIUM_REPLY, buffer, 8, GEX_EVENT_NOW, 0);
    gex_AM_ReplyMedium0(token, BAD_H_MEDIUM_REPLY, buffer, 8, GEX_EVENT_NOW, 0);
}

static void reply_again(gex_Token_t token)
{
    gex_AM_ReplyShort0(token, BAD_H_SHORT_REPLY, 0);
}

static void reply_index(gex_Token_t token)
{
    gex_AM_ReplyShort0(token, 0, 0);
}

static void reply_none(gex_Token_t token)
{
    gex_AM_ReplyShort0(token, BAD_H_NONE, 0);
}

static void reply_args(gex_Token_t token)
{
    gex_AM_ReplyShort16(token, BAD_H_SHORT_REPLY, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                        15, 16);
}

static void reply_category(gex_Token_t token)
{
    gex_AM_ReplyMedium0(token, BAD_H_SHORT_REPLY, buffer, 8, GEX_EVENT_NOW, 0);
}

static void reply_request_handler(gex_Token_t token)
{
    gex_AM_ReplyMedium0(token, BAD_H_MEDIUM, buffer, 8, GEX_EVENT_NOW, 0);
}

static void reply_medium_size(gex_Token_t token)
{
    size_t limit = gex_Token_MaxReplyMedium(token, GEX_EVENT_NOW, 0, 0);
    void *payload = calloc(1, limit + 1);
    bad_expect("a payload of %zu bytes is more than the limit of %zu", limit + 1, limit);
    gex_AM_ReplyMedium0(token, BAD_H_MEDIUM_REPLY, payload, limit + 1, GEX_EVENT_NOW, 0);
    free(payload);
}

static void reply_long_size(gex_Token_t token)
{
    size_t limit = gex_Token_MaxReplyLong(token, GEX_EVENT_NOW, 0, 0);
    bad_expect("a payload of %zu bytes is more than the limit of %zu", limit + 1, limit);
    gex_AM_ReplyLong0(token, BAD_H_LONG_REPLY, buffer, limit + 1, bad_segment, GEX_EVENT_NOW, 0);
}

static void reply_long_after(gex_Token_t token)
{
    char *end = bad_segment + BAD_SEGMENT;
    bad_expect("8 bytes at %p are not inside the segment of rank 0 (%p to %p, %zu bytes)",
               (void *)end, (void *)bad_segment, (void *)end, BAD_SEGMENT);
    gex_AM_ReplyLong0(token, BAD_H_LONG_REPLY, buffer, 8, end, GEX_EVENT_NOW, 0);
}

static void reply_with_lock(gex_Token_t token)
{
    static gex_HSL_t lock = GEX_HSL_INITIALIZER;
    gex_HSL_Lock(&lock);
    gex_AM_ReplyShort0(token, BAD_H_SHORT_REPLY, 0);
}

static void return_with_lock(gex_Token_t token)
{
    static gex_HSL_t lock = GEX_HSL_INITIALIZER;
    (void)token;
    gex_HSL_Lock(&lock);
}

// The token of a request is of no use when its handler has returned.
static void reply_outside(void)
{
    gex_AM_RequestShort0(bad_tm, 0, BAD_H_ACT, 0);
    GASNET_BLOCKUNTIL(kept);
    gex_AM_ReplyShort0(kept, BAD_H_SHORT_REPLY, 0);
}

const bad_call_t bad_am_calls[] = {
    {"request-rank", BAD_FATAL_ALWAYS, 0,
     "gex_AM_RequestShort: rank 2 is not below the team's size 2", request_rank, NULL, NULL},
    {"request-medium-rank", BAD_FATAL_ALWAYS, 0,
     "gex_AM_RequestMedium: rank 4294967295 is not below the team's size 2", request_medium_rank,
     NULL, NULL},
    {"request-long-rank", BAD_FATAL_ALWAYS, 0,
     "gex_AM_RequestLong: rank 1000000 is not below the team's size 2", request_long_rank, NULL,
     NULL},
    {"request-index", BAD_FATAL, 0,
     "gex_AM_RequestShort: handler index 63 is below GEX_AM_INDEX_BASE \\(64\\)", request_index,
     NULL, NULL},
    {"request-none", BAD_FATAL_ALWAYS, 1,
     "gex_AM_RequestShort of rank 0: handler 250 is not registered here", request_none, NULL, NULL},
    {"request-more-args", BAD_FATAL_ALWAYS, 1,
     "gex_AM_RequestShort of rank 0: handler 100 short takes 1 arguments, 2 were sent",
     request_more_args, NULL, NULL},
    {"request-fewer-args", BAD_FATAL_ALWAYS, 1,
     "gex_AM_RequestShort of rank 0: handler 100 short takes 1 arguments, 0 were sent",
     request_fewer_args, NULL, NULL},
    {"request-category", BAD_FATAL_ALWAYS, 1,
     "gex_AM_RequestMedium of rank 0: handler 100 short is not registered for the category Medium",
     request_category, NULL, NULL},
    {"request-long-category", BAD_FATAL_ALWAYS, 1,
     "gex_AM_RequestLong of rank 0: handler 102 medium is not registered for the category Long",
     request_long_category, NULL, NULL},
    {"request-reply-handler", BAD_FATAL_ALWAYS, 1,
     "gex_AM_RequestShort of rank 0: handler 101 short_reply is not registered for a request",
     request_reply_handler, NULL, NULL},
    {"request-medium-size", BAD_FATAL_ALWAYS, 0, "gex_AM_RequestMedium: a payload",
     request_medium_size, NULL, NULL},
    {"request-long-size", BAD_FATAL_ALWAYS, 0, "gex_AM_RequestLong: a payload", request_long_size,
     NULL, NULL},
    {"request-long-before", BAD_FATAL, 0, "gex_AM_RequestLong: 16 bytes", request_long_before, NULL,
     NULL},
    {"request-long-crossing", BAD_FATAL, 0, "gex_AM_RequestLong: 16 bytes", request_long_crossing,
     NULL, NULL},
    {"request-long-nosegment", BAD_FATAL, 0, "gex_AM_RequestLong: 16 bytes", request_long_nosegment,
     NULL, NULL},
    {"reply-outside", BAD_FATAL, 0,
     "gex_AM_ReplyShort outside of a handler: only the handler of a request may reply",
     reply_outside, keep_token, NULL},
    {"reply-twice", BAD_FATAL, 1,
     "gex_AM_ReplyShort: a second reply to one request from rank 0 \\(handler 106\\)", NULL,
     reply_twice, NULL},
    {"reply-medium-twice", BAD_FATAL, 1,
     "gex_AM_ReplyMedium: a second reply to one request from rank 0 \\(handler 106\\)", NULL,
     reply_medium_twice, NULL},
    {"reply-in-reply", BAD_FATAL, 0,
     "gex_AM_ReplyShort in the handler of a reply: only a request is replied to", NULL, NULL,
     reply_again},
    {"reply-index", BAD_FATAL, 1,
     "gex_AM_ReplyShort: handler index 0 is below GEX_AM_INDEX_BASE \\(64\\)", NULL, reply_index,
     NULL},
    {"reply-none", BAD_FATAL_ALWAYS, 0,
     "gex_AM_ReplyShort of rank 1: handler 250 is not registered here", NULL, reply_none, NULL},
    {"reply-args", BAD_FATAL_ALWAYS, 0,
     "gex_AM_ReplyShort of rank 1: handler 101 short_reply takes 0 arguments, 16 were sent", NULL,
     reply_args, NULL},
    {"reply-category", BAD_FATAL_ALWAYS, 0,
     "gex_AM_ReplyMedium of rank 1: handler 101 short_reply is not registered for the category "
     "Medium",
     NULL, reply_category, NULL},
    {"reply-request-handler", BAD_FATAL_ALWAYS, 0,
     "gex_AM_ReplyMedium of rank 1: handler 102 medium is not registered for a reply", NULL,
     reply_request_handler, NULL},
    {"reply-medium-size", BAD_FATAL_ALWAYS, 1, "gex_AM_ReplyMedium: a payload", NULL,
     reply_medium_size, NULL},
    {"reply-long-size", BAD_FATAL_ALWAYS, 1, "gex_AM_ReplyLong: a payload", NULL, reply_long_size,
     NULL},
    {"reply-long-after", BAD_FATAL, 1, "gex_AM_ReplyLong: 8 bytes", NULL, reply_long_after, NULL},
    {"reply-with-lock", BAD_FATAL, 1,
     "gex_AM_ReplyShort is not allowed with a handler-safe lock held \\(this thread holds 1\\)",
     NULL, reply_with_lock, NULL},
    {"return-with-lock", BAD_FATAL, 1,
     "handler 106 act returned with 1 handler-safe locks held: unlock them first", NULL,
     return_with_lock, NULL},
    {NULL, BAD_FATAL, 0, NULL, NULL, NULL, NULL}};
