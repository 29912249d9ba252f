/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that choose among the calls of the API by the number of arguments. */
#include "conform_argn.h"

/* The names of these calls end in the number of arguments; only the preprocessor can build them. */
#define V0
#define V1 , a[0]
#define V2 V1, a[1]
#define V3 V2, a[2]
#define V4 V3, a[3]
#define V5 V4, a[4]
#define V6 V5, a[5]
#define V7 V6, a[6]
#define V8 V7, a[7]
#define V9 V8, a[8]
#define V10 V9, a[9]
#define V11 V10, a[10]
#define V12 V11, a[11]
#define V13 V12, a[12]
#define V14 V13, a[13]
#define V15 V14, a[14]
#define V16 V15, a[15]

/* Forces one more expansion: a call may be a macro, which must see the values one by one. */
#define CALL(f, ...) f(__VA_ARGS__)
#define EACH(X)                                                                                    \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

#ifdef CONFORM_BROKEN_COMMIT
/* In GASNet-EX 2025.8.0 two macros open one parenthesis too many, and one takes no flags. */
#undef gex_AM_CommitReplyMedium6
#undef gex_AM_CommitReplyMedium13
#undef gex_AM_CommitReplyLong0_v2
#define gex_AM_CommitReplyMedium6(sd, handler, nbytes, ...)                                        \
    gex_AM_CommitReplyMedium6_v2(sd, handler, nbytes, 0, __VA_ARGS__)
#define gex_AM_CommitReplyMedium13(sd, handler, nbytes, ...)                                       \
    gex_AM_CommitReplyMedium13_v2(sd, handler, nbytes, 0, __VA_ARGS__)
#define gex_AM_CommitReplyLong0_v2(sd, handler, nbytes, dest, flags)                               \
    (gex_AM_CommitReplyLong0(sd, handler, nbytes, dest), (void)(flags), 0)
#endif

static int reject_number(unsigned n)
{
    CHECK(n <= ARGN_MAX, "a message has up to 16 arguments, not %u", n);
    return 1;
}

#define REQUEST_SHORT(n)                                                                           \
    case n:                                                                                        \
        return CALL(gex_AM_RequestShort##n, job.am, rank, m->handler, m->flags V##n);
#define REQUEST_MEDIUM(n)                                                                          \
    case n:                                                                                        \
        return CALL(gex_AM_RequestMedium##n, job.am, rank, m->handler, m->src, m->nbytes, m->lc,   \
                    m->flags V##n);
#define REQUEST_LONG(n)                                                                            \
    case n:                                                                                        \
        return CALL(gex_AM_RequestLong##n, job.am, rank, m->handler, m->src, m->nbytes, m->dest,   \
                    m->lc, m->flags V##n);

static int request_short(gex_Rank_t rank, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(REQUEST_SHORT)
    }
    return reject_number(m->n);
}

static int request_medium(gex_Rank_t rank, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(REQUEST_MEDIUM)
    }
    return reject_number(m->n);
}

static int request_long(gex_Rank_t rank, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(REQUEST_LONG)
    }
    return reject_number(m->n);
}

int argn_request(argn_cat_t cat, gex_Rank_t rank, const argn_msg_t *m)
{
    if (cat == ARGN_SHORT)
        return request_short(rank, m);
    return cat == ARGN_MEDIUM ? request_medium(rank, m) : request_long(rank, m);
}

#define REPLY_SHORT(n)                                                                             \
    case n:                                                                                        \
        return CALL(gex_AM_ReplyShort##n, token, m->handler, m->flags V##n);
#define REPLY_MEDIUM(n)                                                                            \
    case n:                                                                                        \
        return CALL(gex_AM_ReplyMedium##n, token, m->handler, m->src, m->nbytes, m->lc,            \
                    m->flags V##n);
#define REPLY_LONG(n)                                                                              \
    case n:                                                                                        \
        return CALL(gex_AM_ReplyLong##n, token, m->handler, m->src, m->nbytes, m->dest, m->lc,     \
                    m->flags V##n);

static int reply_short(gex_Token_t token, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(REPLY_SHORT)
    }
    return reject_number(m->n);
}

static int reply_medium(gex_Token_t token, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(REPLY_MEDIUM)
    }
    return reject_number(m->n);
}

static int reply_long(gex_Token_t token, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(REPLY_LONG)
    }
    return reject_number(m->n);
}

int argn_reply(argn_cat_t cat, gex_Token_t token, const argn_msg_t *m)
{
    if (cat == ARGN_SHORT)
        return reply_short(token, m);
    return cat == ARGN_MEDIUM ? reply_medium(token, m) : reply_long(token, m);
}

#define COMMIT_REQUEST_MEDIUM(n)                                                                   \
    case n:                                                                                        \
        CALL(gex_AM_CommitRequestMedium##n, sd, m->handler, m->nbytes V##n);                       \
        return;
#define COMMIT_REQUEST_LONG(n)                                                                     \
    case n:                                                                                        \
        CALL(gex_AM_CommitRequestLong##n, sd, m->handler, m->nbytes, m->dest V##n);                \
        return;
#define COMMIT_REPLY_MEDIUM(n)                                                                     \
    case n:                                                                                        \
        CALL(gex_AM_CommitReplyMedium##n, sd, m->handler, m->nbytes V##n);                         \
        return;
#define COMMIT_REPLY_LONG(n)                                                                       \
    case n:                                                                                        \
        CALL(gex_AM_CommitReplyLong##n, sd, m->handler, m->nbytes, m->dest V##n);                  \
        return;

static void commit_request_medium(gex_AM_SrcDesc_t sd, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(COMMIT_REQUEST_MEDIUM)
    }
    reject_number(m->n);
}

static void commit_request_long(gex_AM_SrcDesc_t sd, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(COMMIT_REQUEST_LONG)
    }
    reject_number(m->n);
}

void argn_commit_request(argn_cat_t cat, gex_AM_SrcDesc_t sd, const argn_msg_t *m)
{
    if (cat == ARGN_MEDIUM)
        commit_request_medium(sd, m);
    else
        commit_request_long(sd, m);
}

static void commit_reply_medium(gex_AM_SrcDesc_t sd, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(COMMIT_REPLY_MEDIUM)
    }
    reject_number(m->n);
}

static void commit_reply_long(gex_AM_SrcDesc_t sd, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(COMMIT_REPLY_LONG)
    }
    reject_number(m->n);
}

void argn_commit_reply(argn_cat_t cat, gex_AM_SrcDesc_t sd, const argn_msg_t *m)
{
    if (cat == ARGN_MEDIUM)
        commit_reply_medium(sd, m);
    else
        commit_reply_long(sd, m);
}

#define COMMIT_REQUEST_MEDIUM_V2(n)                                                                \
    case n:                                                                                        \
        return CALL(gex_AM_CommitRequestMedium##n##_v2, sd, m->handler, m->nbytes, m->flags V##n);
#define COMMIT_REQUEST_LONG_V2(n)                                                                  \
    case n:                                                                                        \
        return CALL(gex_AM_CommitRequestLong##n##_v2, sd, m->handler, m->nbytes, m->dest,          \
                    m->flags V##n);
#define COMMIT_REPLY_MEDIUM_V2(n)                                                                  \
    case n:                                                                                        \
        return CALL(gex_AM_CommitReplyMedium##n##_v2, sd, m->handler, m->nbytes, m->flags V##n);
#define COMMIT_REPLY_LONG_V2(n)                                                                    \
    case n:                                                                                        \
        return CALL(gex_AM_CommitReplyLong##n##_v2, sd, m->handler, m->nbytes, m->dest,            \
                    m->flags V##n);

static int commit_request_medium_v2(gex_AM_SrcDesc_t sd, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(COMMIT_REQUEST_MEDIUM_V2)
    }
    return reject_number(m->n);
}

static int commit_request_long_v2(gex_AM_SrcDesc_t sd, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(COMMIT_REQUEST_LONG_V2)
    }
    return reject_number(m->n);
}

int argn_commit_request_v2(argn_cat_t cat, gex_AM_SrcDesc_t sd, const argn_msg_t *m)
{
    return cat == ARGN_MEDIUM ? commit_request_medium_v2(sd, m) : commit_request_long_v2(sd, m);
}

static int commit_reply_medium_v2(gex_AM_SrcDesc_t sd, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(COMMIT_REPLY_MEDIUM_V2)
    }
    return reject_number(m->n);
}

static int commit_reply_long_v2(gex_AM_SrcDesc_t sd, const argn_msg_t *m)
{
    const gex_AM_Arg_t *a = m->a;

    switch (m->n) {
        EACH(COMMIT_REPLY_LONG_V2)
    }
    return reject_number(m->n);
}

int argn_commit_reply_v2(argn_cat_t cat, gex_AM_SrcDesc_t sd, const argn_msg_t *m)
{
    return cat == ARGN_MEDIUM ? commit_reply_medium_v2(sd, m) : commit_reply_long_v2(sd, m);
}
