// SPDX-License-Identifier: BSD-3-Clause
// Wrong active messages: negotiated payload.
#include "bad_calls.h"

#include <stddef.h>

static char buffer[64];
static char *const nowhere = buffer; // an address outside of all segments

static gex_AM_SrcDesc_t prepare_medium(void)
{
    return gex_AM_PrepareRequestMedium(bad_tm, 1, NULL, 64, 64, NULL, 0, 0);
}

static gex_AM_SrcDesc_t prepare_long(void *dest)
{
    return gex_AM_PrepareRequestLong(bad_tm, 1, NULL, 64, 64, dest, NULL, 0, 0);
}

static void prepare_rank(void)
{
    gex_AM_PrepareRequestMedium(bad_tm, 2, NULL, 64, 64, NULL, 0, 0);
}

static void prepare_nargs(void)
{
    gex_AM_PrepareRequestMedium(bad_tm, 1, NULL, 64, 64, NULL, 0, 258);
}

static void prepare_reply_nargs(gex_Token_t token)
{
    gex_AM_PrepareReplyLong(token, NULL, 64, 64, NULL, NULL, 0, 17);
}

static void prepare_least(void)
{
    size_t limit = gex_AM_MaxRequestMedium(bad_tm, 1, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 0);
    bad_expect("least_payload %zu is more than the limit of %zu", limit + 1, limit);
    gex_AM_PrepareRequestMedium(bad_tm, 1, NULL, limit + 1, limit + 1, NULL, 0, 0);
}

static void prepare_least_most(void)
{
    gex_AM_PrepareRequestLong(bad_tm, 1, NULL, 64, 63, NULL, NULL, 0, 0);
}

static void commit_size(void)
{
    gex_AM_SrcDesc_t sd = prepare_medium();
    size_t room = gex_AM_SrcDescSize(sd);
    bad_expect("%zu bytes are more than the %zu prepared", room + 1, room);
    gex_AM_CommitRequestMedium0(sd, BAD_H_MEDIUM, room + 1);
}

static void commit_long_size(void)
{
    gex_AM_SrcDesc_t sd = prepare_long(NULL);
    size_t room = gex_AM_SrcDescSize(sd);
    bad_expect("%zu bytes are more than the %zu prepared", room + 1, room);
    gex_AM_CommitRequestLong0(sd, BAD_H_LONG, room + 1, bad_segment);
}

static void commit_nargs(void)
{
    gex_AM_CommitRequestMedium2(prepare_medium(), BAD_H_MEDIUM, 8, 1, 2);
}

static void commit_index(void)
{
    gex_AM_CommitRequestMedium0(prepare_medium(), 5, 8);
}

static void commit_category(void)
{
    gex_AM_CommitRequestLong0(prepare_medium(), BAD_H_LONG, 8, bad_segment);
}

static void commit_direction(void)
{
    gex_AM_CommitReplyLong0(prepare_long(NULL), BAD_H_LONG_REPLY, 8, bad_segment);
}

static void commit_dest(void)
{
    bad_expect("dest_addr %p is not the one given to Prepare, %p", (void *)(bad_segment + 8),
               (void *)bad_segment);
    gex_AM_CommitRequestLong0(prepare_long(bad_segment), BAD_H_LONG, 8, bad_segment + 8);
}

static void commit_outside(void)
{
    bad_expect("8 bytes at %p are not inside the segment of rank 1 (%p to %p, %zu bytes)",
               (void *)nowhere, (void *)bad_segment, (void *)(bad_segment + BAD_SEGMENT),
               BAD_SEGMENT);
    gex_AM_CommitRequestLong0(prepare_long(NULL), BAD_H_LONG, 8, nowhere);
}

static void commit_twice(void)
{
    gex_AM_SrcDesc_t sd = prepare_medium();
    gex_AM_CommitRequestMedium0(sd, BAD_H_MEDIUM, 8);
    bad_expect("for the source descriptor %p", (void *)sd);
    gex_AM_CommitRequestMedium0(sd, BAD_H_MEDIUM, 8);
}

static void commit_stranger(void)
{
    gex_AM_SrcDesc_t stranger = (gex_AM_SrcDesc_t)(void *)buffer;
    bad_expect("%p is not the one that this thread prepared, %p", (void *)stranger,
               (void *)prepare_medium());
    gex_AM_CommitRequestMedium0(stranger, BAD_H_MEDIUM, 8);
}

static void cancel_twice(void)
{
    gex_AM_SrcDesc_t sd = prepare_medium();
    gex_AM_CancelRequestMedium(sd, 0);
    bad_expect("for the source descriptor %p", (void *)sd);
    gex_AM_CancelRequestMedium(sd, 0);
}

static void cancel_category(void)
{
    gex_AM_CancelRequestLong(prepare_medium(), 0);
}

// ---- in handlers ----

static void reply_prepared(gex_Token_t token)
{
    gex_AM_PrepareReplyMedium(token, NULL, 64, 64, NULL, 0, 0);
    gex_AM_ReplyShort0(token, BAD_H_SHORT_REPLY, 0);
}

static void prepare_reply_twice(gex_Token_t token)
{
    gex_AM_PrepareReplyMedium(token, NULL, 64, 64, NULL, 0, 0);
    gex_AM_PrepareReplyMedium(token, NULL, 64, 64, NULL, 0, 0);
}

static void prepare_replied(gex_Token_t token)
{
    gex_AM_ReplyShort0(token, BAD_H_SHORT_REPLY, 0);
    gex_AM_PrepareReplyLong(token, NULL, 64, 64, bad_segment, NULL, 0, 0);
}

static void prepare_in_reply(gex_Token_t token)
{
    gex_AM_PrepareReplyMedium(token, NULL, 64, 64, NULL, 0, 0);
}

static void commit_reply_request(gex_Token_t token)
{
    gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyMedium(token, NULL, 64, 64, NULL, 0, 0);
    gex_AM_CommitRequestMedium0(sd, BAD_H_MEDIUM, 8);
}

static void cancel_reply_request(gex_Token_t token)
{
    gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyMedium(token, NULL, 64, 64, NULL, 0, 0);
    gex_AM_CancelRequestMedium(sd, 0);
}

static void return_prepared(gex_Token_t token)
{
    gex_AM_PrepareReplyMedium(token, NULL, 64, 64, NULL, 0, 0);
}

#define PREPARED " is not allowed between a Prepare and its Commit or Cancel"

const bad_call_t bad_prepare_calls[] = {
    {"prepare-rank", BAD_FATAL_ALWAYS, 0,
     "gex_AM_PrepareRequestMedium: rank 2 is not below the team's size 2", prepare_rank, NULL,
     NULL},
    {"prepare-nargs", BAD_FATAL_ALWAYS, 0,
     "gex_AM_PrepareRequestMedium: 258 arguments, at most 16 are possible", prepare_nargs, NULL,
     NULL},
    {"prepare-reply-nargs", BAD_FATAL_ALWAYS, 1,
     "gex_AM_PrepareReplyLong: 17 arguments, at most 16 are possible", NULL, prepare_reply_nargs,
     NULL},
    {"prepare-least", BAD_FATAL_ALWAYS, 0, "gex_AM_PrepareRequestMedium: least_payload",
     prepare_least, NULL, NULL},
    {"prepare-least-most", BAD_FATAL_ALWAYS, 0,
     "gex_AM_PrepareRequestLong: least_payload 64 is more than most_payload 63", prepare_least_most,
     NULL, NULL},
    {"commit-size", BAD_FATAL_ALWAYS, 0, "gex_AM_CommitRequestMedium: ", commit_size, NULL, NULL},
    {"commit-long-size", BAD_FATAL_ALWAYS, 0, "gex_AM_CommitRequestLong: ", commit_long_size, NULL,
     NULL},
    {"commit-nargs", BAD_FATAL_ALWAYS, 0,
     "gex_AM_CommitRequestMedium: 2 arguments, but 0 were prepared", commit_nargs, NULL, NULL},
    {"commit-index", BAD_FATAL, 0,
     "gex_AM_CommitRequestMedium: handler index 5 is below GEX_AM_INDEX_BASE \\(64\\)",
     commit_index, NULL, NULL},
    {"commit-category", BAD_FATAL, 0,
     "gex_AM_CommitRequestLong: the source descriptor comes from gex_AM_PrepareRequestMedium",
     commit_category, NULL, NULL},
    {"commit-direction", BAD_FATAL, 0,
     "gex_AM_CommitReplyLong: the source descriptor comes from gex_AM_PrepareRequestLong",
     commit_direction, NULL, NULL},
    {"commit-dest", BAD_FATAL, 0, "gex_AM_CommitRequestLong: dest_addr", commit_dest, NULL, NULL},
    {"commit-outside", BAD_FATAL, 0, "gex_AM_CommitRequestLong: 8 bytes", commit_outside, NULL,
     NULL},
    {"commit-twice", BAD_FATAL, 0, "gex_AM_CommitRequestMedium: this thread has no Prepare open",
     commit_twice, NULL, NULL},
    {"commit-stranger", BAD_FATAL, 0, "gex_AM_CommitRequestMedium: the source descriptor",
     commit_stranger, NULL, NULL},
    {"cancel-twice", BAD_FATAL, 0, "gex_AM_CancelRequestMedium: this thread has no Prepare open",
     cancel_twice, NULL, NULL},
    {"cancel-category", BAD_FATAL, 0,
     "gex_AM_CancelRequestLong: the source descriptor comes from gex_AM_PrepareRequestMedium",
     cancel_category, NULL, NULL},
    {"reply-prepared", BAD_FATAL, 1, "gex_AM_ReplyShort" PREPARED, NULL, reply_prepared, NULL},
    {"prepare-reply-twice", BAD_FATAL, 1, "gex_AM_PrepareReplyMedium" PREPARED, NULL,
     prepare_reply_twice, NULL},
    {"prepare-replied", BAD_FATAL, 1,
     "gex_AM_PrepareReplyLong: a second reply to one request from rank 0 \\(handler 106\\)", NULL,
     prepare_replied, NULL},
    {"prepare-in-reply", BAD_FATAL, 0,
     "gex_AM_PrepareReplyMedium in the handler of a reply: only a request is replied to", NULL,
     NULL, prepare_in_reply},
    {"commit-reply-request", BAD_FATAL, 1,
     "gex_AM_CommitRequestMedium: the source descriptor comes from gex_AM_PrepareReplyMedium", NULL,
     commit_reply_request, NULL},
    {"cancel-reply-request", BAD_FATAL, 1,
     "gex_AM_CancelRequestMedium: the source descriptor comes from gex_AM_PrepareReplyMedium", NULL,
     cancel_reply_request, NULL},
    {"return-prepared", BAD_FATAL, 1,
     "handler 106 act returned between a Prepare and its Commit or Cancel", NULL, return_prepared,
     NULL},
    {NULL, BAD_FATAL, 0, NULL, NULL, NULL, NULL}};
