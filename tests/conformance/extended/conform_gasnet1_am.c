/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of GASNet-1: every category and number of arguments, by the calls that name the
 * number and by those that infer it. */
#include "conform_gasnet1.h"

#include <stdlib.h>
#include <string.h>

#define ARGS_MAX 16

typedef gasnet_handlerarg_t arg_t;

/* Kinds of messages. Both sides can compute the content of a message from its kind and its number
 * of arguments. */
enum { SHORT, MEDIUM, LONG, LONG_ASYNC, KINDS };

static gasnet_handler_t handler_of[2][ARGS_MAX + 1]; /* without and with payload */
static conform_count_t replies;

static arg_t arg_value(gex_Rank_t from, int n, int i)
{
    return (arg_t)(uint32_t)conform_mix(from, (uint64_t)n, (uint64_t)i);
}

static size_t payload_size(int kind, int n, int reply)
{
    size_t most = gasnet_AMMaxMedium();

    if (kind != MEDIUM)
        most = reply ? gasnet_AMMaxLongReply() : gasnet_AMMaxLongRequest();
    if (most > conform_slot_size())
        most = conform_slot_size();
    return n < ARGS_MAX ? (size_t)n * 31 : most;
}

static uint64_t payload_key(gex_Rank_t from, int n, int reply)
{
    return conform_mix(from, (uint64_t)n, reply ? 8 : 9);
}

/* The names of the calls end in the number of arguments; only the preprocessor can build them. */
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
#define P0
#define P1 , arg_t a0
#define P2 P1, arg_t a1
#define P3 P2, arg_t a2
#define P4 P3, arg_t a3
#define P5 P4, arg_t a4
#define P6 P5, arg_t a5
#define P7 P6, arg_t a6
#define P8 P7, arg_t a7
#define P9 P8, arg_t a8
#define P10 P9, arg_t a9
#define P11 P10, arg_t a10
#define P12 P11, arg_t a11
#define P13 P12, arg_t a12
#define P14 P13, arg_t a13
#define P15 P14, arg_t a14
#define P16 P15, arg_t a15
#define L0
#define L1 , a0
#define L2 L1, a1
#define L3 L2, a2
#define L4 L3, a3
#define L5 L4, a4
#define L6 L5, a5
#define L7 L6, a6
#define L8 L7, a7
#define L9 L8, a8
#define L10 L9, a9
#define L11 L10, a10
#define L12 L11, a11
#define L13 L12, a12
#define L14 L13, a13
#define L15 L14, a14
#define L16 L15, a15

/* Forces one more expansion: a call may be a macro, which must see the values one by one. */
#define CALL(f, ...) f(__VA_ARGS__)
#define EACH(X)                                                                                    \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

/* ---- sending ---- */

typedef struct {
    int kind, n;
    const arg_t *a;
    void *src;
    size_t nbytes;
    void *dest;
} message_t;

#define REQUEST_CASE(m, to, numbered, N)                                                           \
    if (m->kind == SHORT)                                                                          \
        return numbered ? CALL(gasnet_AMRequestShort##N, to, h V##N)                               \
                        : CALL(gasnet_AMRequestShort, to, h V##N);                                 \
    if (m->kind == MEDIUM)                                                                         \
        return numbered ? CALL(gasnet_AMRequestMedium##N, to, h, m->src, m->nbytes V##N)           \
                        : CALL(gasnet_AMRequestMedium, to, h, m->src, m->nbytes V##N);             \
    if (m->kind == LONG)                                                                           \
        return numbered ? CALL(gasnet_AMRequestLong##N, to, h, m->src, m->nbytes, m->dest V##N)    \
                        : CALL(gasnet_AMRequestLong, to, h, m->src, m->nbytes, m->dest V##N);      \
    return numbered ? CALL(gasnet_AMRequestLongAsync##N, to, h, m->src, m->nbytes, m->dest V##N)   \
                    : CALL(gasnet_AMRequestLongAsync, to, h, m->src, m->nbytes, m->dest V##N);
#define REPLY_CASE(m, token, numbered, N)                                                          \
    if (m->kind == SHORT)                                                                          \
        return numbered ? CALL(gasnet_AMReplyShort##N, token, h V##N)                              \
                        : CALL(gasnet_AMReplyShort, token, h V##N);                                \
    if (m->kind == MEDIUM)                                                                         \
        return numbered ? CALL(gasnet_AMReplyMedium##N, token, h, m->src, m->nbytes V##N)          \
                        : CALL(gasnet_AMReplyMedium, token, h, m->src, m->nbytes V##N);            \
    return numbered ? CALL(gasnet_AMReplyLong##N, token, h, m->src, m->nbytes, m->dest V##N)       \
                    : CALL(gasnet_AMReplyLong, token, h, m->src, m->nbytes, m->dest V##N);
#define SENDERS(N)                                                                                 \
    static int request_##N(const message_t *m, gasnet_node_t to, gasnet_handler_t h, int numbered) \
    {                                                                                              \
        const arg_t *a = m->a;                                                                     \
        (void)a;                                                                                   \
        REQUEST_CASE(m, to, numbered, N)                                                           \
    }                                                                                              \
    static int reply_##N(const message_t *m, gasnet_token_t token, gasnet_handler_t h,             \
                         int numbered)                                                             \
    {                                                                                              \
        const arg_t *a = m->a;                                                                     \
        (void)a;                                                                                   \
        REPLY_CASE(m, token, numbered, N)                                                          \
    }
EACH(SENDERS)

#define REQUEST_NAME(N) request_##N,
#define REPLY_NAME(N) reply_##N,
static int (*const request[])(const message_t *, gasnet_node_t, gasnet_handler_t,
                              int) = {EACH(REQUEST_NAME)};
static int (*const reply[])(const message_t *, gasnet_token_t, gasnet_handler_t,
                            int) = {EACH(REPLY_NAME)};

static void fill_args(arg_t *a, int n)
{
    for (int i = 0; i < n; i++)
        a[i] = arg_value(job.rank, n, i);
}

/* ---- handlers ---- */

static unsigned char reply_payload[ARGS_MAX + 1][4096]; /* by number of arguments, for all peers */

static void send_reply(gasnet_token_t token, gasnet_node_t to, int kind, int n)
{
    arg_t a[ARGS_MAX];
    message_t m = {kind, n, a, reply_payload[n], payload_size(kind, n, 1), NULL};
    int err;

    fill_args(a, n);
    if (m.nbytes > sizeof(reply_payload[n]))
        m.nbytes = sizeof(reply_payload[n]);
    m.dest = conform_slot(to, job.rank, 1);
    err = reply[n](&m, token, handler_of[kind != SHORT][n], n % 2);
    CHECK(err == GASNET_OK, "a reply must return GASNET_OK, but returned %d", err);
}

static void check_arrival(gasnet_token_t token, const arg_t *a, int n, const void *payload,
                          size_t nbytes)
{
    gasnet_node_t from = (gasnet_node_t)-1;
    gex_Token_Info_t info;
    int kind = SHORT;

    CHECK(gasnet_AMGetMsgSource(token, &from) == GASNET_OK && from < job.size,
          "the source should be below %u, but is %u", (unsigned)job.size, (unsigned)from);
    gex_Token_Info(token, &info, GEX_TI_ALL);
    CHECK(info.gex_srcrank == from,
          "gasnet_AMGetMsgSource names source %u, gex_Token_Info names %u", (unsigned)from,
          (unsigned)info.gex_srcrank);
    for (int i = 0; i < n; i++)
        CHECK(a[i] == arg_value(from, n, i), "argument %d of %d should be %d, but is %d", i, n,
              (int)arg_value(from, n, i), (int)a[i]);
    if (payload) {
        kind = info.gex_is_long ? LONG : MEDIUM;
        CHECK(!info.gex_is_long || payload == conform_slot(job.rank, from, !info.gex_is_req),
              "a Long with %d arguments arrived at %p", n, payload);
        CHECK(nbytes == payload_size(kind, n, !info.gex_is_req) ||
                  (!info.gex_is_req && nbytes == sizeof(reply_payload[n])),
              "a payload of %zu bytes has the wrong size for %d arguments", nbytes, n);
        CHECK_FILL(payload, nbytes, payload_key(from, n, !info.gex_is_req), "payload");
    }
    if (info.gex_is_req)
        send_reply(token, from, kind, n);
    else
        atomic_fetch_add(&replies, 1);
}

#define HANDLERS(N)                                                                                \
    static void on_short_##N(gasnet_token_t token P##N)                                            \
    {                                                                                              \
        const arg_t a[] = {0 L##N};                                                                \
        check_arrival(token, a + 1, N, NULL, 0);                                                   \
    }                                                                                              \
    static void on_payload_##N(gasnet_token_t token, void *payload, size_t nbytes P##N)            \
    {                                                                                              \
        const arg_t a[] = {0 L##N};                                                                \
        check_arrival(token, a + 1, N, payload ? payload : reply_payload, nbytes);                 \
    }
EACH(HANDLERS)

/* A Medium of 0 bytes may come with any address; a Long of 0 bytes comes with its own. */
#define ENTRIES(N) {0, (void (*)())on_short_##N}, {0, (void (*)())on_payload_##N},
static const gasnet_handlerentry_t entries[] = {EACH(ENTRIES)};
enum { ENTRY_COUNT = sizeof(entries) / sizeof(entries[0]) };

int conform_gasnet1_handlers(gasnet_handlerentry_t *table)
{
    memcpy(table, entries, sizeof(entries));
    for (int n = 0; n <= ARGS_MAX; n++)
        handler_of[0][n] = handler_of[1][n] = 0;
    return ENTRY_COUNT;
}

void conform_gasnet1_chosen(const gasnet_handlerentry_t *table)
{
    for (int i = 0; i < ENTRY_COUNT; i++)
        handler_of[i % 2][i / 2] = table[i].index;
    for (int n = 0; n <= ARGS_MAX; n++)
        conform_fill(reply_payload[n], sizeof(reply_payload[n]), payload_key(job.rank, n, 1));
}

/* ---- tests ---- */

static void send_request(gasnet_node_t to, int kind, int n, int numbered, void *src)
{
    arg_t a[ARGS_MAX];
    message_t m = {kind, n, a, src, payload_size(kind, n, 0), conform_slot(to, job.rank, 0)};
    const uint64_t before = atomic_load(&replies);
    int err;

    fill_args(a, n);
    conform_fill(src, m.nbytes, payload_key(job.rank, n, 0));
    err = request[n](&m, to, handler_of[kind != SHORT][n], numbered);
    CHECK(err == GASNET_OK, "a request must return GASNET_OK, but returned %d", err);
    if (kind != LONG_ASYNC)
        memset(src, 0xee, m.nbytes); /* the request has returned: its source may change */
    GASNET_BLOCKUNTIL(atomic_load(&replies) == before + 1);
}

static void test_am(void)
{
    size_t most =
        gasnet_AMMaxMedium() > conform_slot_size() ? gasnet_AMMaxMedium() : conform_slot_size();
    void *src = conform_alloc(most);

    CHECK(gasnet_AMMaxArgs() == ARGS_MAX, "there should be 16 arguments, but there are %zu",
          gasnet_AMMaxArgs());
    for (gex_Rank_t k = 0; k < job.size; k++) {
        for (int kind = 0; kind < KINDS; kind++) {
            for (int n = 0; n <= ARGS_MAX; n++) {
                send_request((job.rank + k) % job.size, kind, n, 1, src);
                send_request((job.rank + k) % job.size, kind, n, 0, src);
            }
        }
    }
    free(src);
}

const conform_test_t conform_gasnet1_am_tests[] = {
    {"gasnet1_am", test_am, "requests and replies of each category with 0..16 arguments"},
    {NULL, NULL, NULL}};
