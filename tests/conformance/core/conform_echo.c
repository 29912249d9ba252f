/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The echo of conform_argn.h: handlers with 0..16 arguments. The values are computed from the
 * sender, the number of arguments and the direction, so the receiver knows what to expect.
 */
#include "../conform_argn.h"

#include <string.h>

/* P<n> declares the parameters of a handler; N<n> lists their names. */
#define P0
#define P1 , gex_AM_Arg_t a0
#define P2 P1, gex_AM_Arg_t a1
#define P3 P2, gex_AM_Arg_t a2
#define P4 P3, gex_AM_Arg_t a3
#define P5 P4, gex_AM_Arg_t a4
#define P6 P5, gex_AM_Arg_t a5
#define P7 P6, gex_AM_Arg_t a6
#define P8 P7, gex_AM_Arg_t a7
#define P9 P8, gex_AM_Arg_t a8
#define P10 P9, gex_AM_Arg_t a9
#define P11 P10, gex_AM_Arg_t a10
#define P12 P11, gex_AM_Arg_t a11
#define P13 P12, gex_AM_Arg_t a12
#define P14 P13, gex_AM_Arg_t a13
#define P15 P14, gex_AM_Arg_t a14
#define P16 P15, gex_AM_Arg_t a15
#define N0
#define N1 a0,
#define N2 N1 a1,
#define N3 N2 a2,
#define N4 N3 a3,
#define N5 N4 a4,
#define N6 N5 a5,
#define N7 N6 a6,
#define N8 N7 a7,
#define N9 N8 a8,
#define N10 N9 a9,
#define N11 N10 a10,
#define N12 N11 a11,
#define N13 N12 a12,
#define N14 N13 a13,
#define N15 N14 a14,
#define N16 N15 a15,

#define COUNTS (ARGN_MAX + 1)
#define PAYLOAD_MAX 64

enum { SHORT_REQUEST, SHORT_REPLY, LOAD_REQUEST, LOAD_REPLY, TABLES };

static gex_AM_Entry_t tables[TABLES][COUNTS];
static argn_way_t way_now;
static int v2_now;
static conform_count_t requests, replies;

static size_t payload_size(unsigned n)
{
    return (size_t)n * 3 + 1;
}

static uint64_t payload_key(int reply, gex_Rank_t sender, unsigned n)
{
    return conform_mix(sender, n, 77 + (unsigned)reply);
}

static unsigned char *long_dest(gex_Rank_t owner, gex_Rank_t peer, int reply, unsigned n)
{
    return conform_slot(owner, peer, reply) + (size_t)n * PAYLOAD_MAX + n % 5;
}

static void make_args(int reply, gex_Rank_t sender, unsigned n, gex_AM_Arg_t *a)
{
    for (unsigned i = 0; i < n; i++)
        a[i] = (gex_AM_Arg_t)(uint32_t)conform_mix(sender * 2u + (unsigned)reply, n, i);
}

static void check_args(int reply, gex_Rank_t sender, unsigned n, const gex_AM_Arg_t *a)
{
    gex_AM_Arg_t want[COUNTS];

    make_args(reply, sender, n, want);
    for (unsigned i = 0; i < n; i++)
        CHECK(a[i] == want[i], "argument %u of %u from rank %u should be %d, but is %d", i, n,
              (unsigned)sender, (int)want[i], (int)a[i]);
}

/* Prepares, fills and commits with a fixed number of bytes. */
static void reply_negotiated(argn_cat_t cat, gex_Token_t token, argn_msg_t *m)
{
    void *own = way_now == ARGN_OWN_BUFFER ? m->src : NULL;
    gex_Event_t *lc = own != NULL ? GEX_EVENT_NOW : NULL;
    gex_AM_SrcDesc_t sd;

    if (cat == ARGN_MEDIUM)
        sd = gex_AM_PrepareReplyMedium(token, own, m->nbytes, m->nbytes, lc, 0, m->n);
    else
        sd = gex_AM_PrepareReplyLong(token, own, m->nbytes, m->nbytes, m->dest, lc, 0, m->n);
    CHECK(sd != GEX_AM_SRCDESC_NO_OP, "prepare without IMMEDIATE must give a descriptor");
    if (own == NULL)
        memcpy(gex_AM_SrcDescAddr(sd), m->src, m->nbytes);
    if (v2_now) {
        const int err = argn_commit_reply_v2(cat, sd, m);
        CHECK(err == 0, "commit without IMMEDIATE must return 0, but returned %d", err);
    } else {
        argn_commit_reply(cat, sd, m);
    }
}

static void send_reply(gex_Token_t token, argn_cat_t cat, gex_Rank_t to, unsigned n)
{
    gex_AM_Arg_t a[COUNTS];
    unsigned char load[PAYLOAD_MAX];
    const int table = cat == ARGN_SHORT ? SHORT_REPLY : LOAD_REPLY;
    argn_msg_t m = {.handler = tables[table][n].gex_index,
                    .n = n,
                    .a = a,
                    .src = load,
                    .nbytes = payload_size(n),
                    .dest = long_dest(to, job.rank, 1, n),
                    .lc = GEX_EVENT_NOW};

    make_args(1, job.rank, n, a);
    conform_fill(load, m.nbytes, payload_key(1, job.rank, n));
    if (way_now == ARGN_FIXED || cat == ARGN_SHORT) {
        const int err = argn_reply(cat, token, &m);
        CHECK(err == 0, "a reply without IMMEDIATE must return 0, but returned %d", err);
    } else {
        reply_negotiated(cat, token, &m);
    }
}

static void check_load(int reply, gex_Rank_t sender, unsigned n, const void *buf, size_t nbytes)
{
    CHECK(nbytes == payload_size(n), "the payload with %u arguments should have %zu bytes, not %zu",
          n, payload_size(n), nbytes);
    CHECK_FILL(buf, nbytes, payload_key(reply, sender, n), "payload of the echo");
}

static void got_short(gex_Token_t token, int reply, unsigned n, const gex_AM_Arg_t *a)
{
    const gex_Rank_t from = conform_source(token);

    check_args(reply, from, n, a);
    atomic_fetch_add(reply ? &replies : &requests, 1);
    if (!reply)
        send_reply(token, ARGN_SHORT, from, n);
}

static void got_load(gex_Token_t token, int reply, unsigned n, const gex_AM_Arg_t *a,
                     const void *buf, size_t nbytes)
{
    const gex_Rank_t from = conform_source(token);
    const int is_long = buf == long_dest(job.rank, from, reply, n);

    CHECK(is_long || (uintptr_t)buf % 8 == 0, "a Medium's payload must be aligned to 8: %p", buf);
    check_args(reply, from, n, a);
    check_load(reply, from, n, buf, nbytes);
    atomic_fetch_add(reply ? &replies : &requests, 1);
    if (!reply)
        send_reply(token, is_long ? ARGN_LONG : ARGN_MEDIUM, from, n);
}

#define SHORT_HANDLERS(n)                                                                          \
    static void short_request_##n(gex_Token_t token P##n)                                          \
    {                                                                                              \
        const gex_AM_Arg_t a[] = {N##n 0};                                                         \
        got_short(token, 0, n, a);                                                                 \
    }                                                                                              \
    static void short_reply_##n(gex_Token_t token P##n)                                            \
    {                                                                                              \
        const gex_AM_Arg_t a[] = {N##n 0};                                                         \
        got_short(token, 1, n, a);                                                                 \
    }
#define LOAD_HANDLERS(n)                                                                           \
    static void load_request_##n(gex_Token_t token, void *buf, size_t nbytes P##n)                 \
    {                                                                                              \
        const gex_AM_Arg_t a[] = {N##n 0};                                                         \
        got_load(token, 0, n, a, buf, nbytes);                                                     \
    }                                                                                              \
    static void load_reply_##n(gex_Token_t token, void *buf, size_t nbytes P##n)                   \
    {                                                                                              \
        const gex_AM_Arg_t a[] = {N##n 0};                                                         \
        got_load(token, 1, n, a, buf, nbytes);                                                     \
    }
#define EACH(X)                                                                                    \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#define SHORT_REQUEST_NAME(n) (gex_AM_Fn_t) short_request_##n,
#define SHORT_REPLY_NAME(n) (gex_AM_Fn_t) short_reply_##n,
#define LOAD_REQUEST_NAME(n) (gex_AM_Fn_t) load_request_##n,
#define LOAD_REPLY_NAME(n) (gex_AM_Fn_t) load_reply_##n,

EACH(SHORT_HANDLERS)
EACH(LOAD_HANDLERS)

static const gex_AM_Fn_t handlers[TABLES][COUNTS] = {{EACH(SHORT_REQUEST_NAME)},
                                                     {EACH(SHORT_REPLY_NAME)},
                                                     {EACH(LOAD_REQUEST_NAME)},
                                                     {EACH(LOAD_REPLY_NAME)}};
static const gex_Flags_t handler_flags[TABLES] = {
    GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY,
    GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQUEST, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REPLY};

void conform_argn_setup(void)
{
    for (int t = 0; t < TABLES; t++) {
        for (unsigned n = 0; n < COUNTS; n++)
            tables[t][n] = (gex_AM_Entry_t){.gex_fnptr = handlers[t][n],
                                            .gex_flags = handler_flags[t],
                                            .gex_nargs = n,
                                            .gex_name = "echo"};
        conform_register(tables[t], COUNTS);
    }
}

static void request_negotiated(argn_cat_t cat, gex_Rank_t to, argn_msg_t *m)
{
    void *own = way_now == ARGN_OWN_BUFFER ? m->src : NULL;
    gex_Event_t *lc = own != NULL ? GEX_EVENT_NOW : NULL;
    gex_AM_SrcDesc_t sd;

    if (cat == ARGN_MEDIUM)
        sd = gex_AM_PrepareRequestMedium(job.am, to, own, m->nbytes, m->nbytes, lc, 0, m->n);
    else
        sd = gex_AM_PrepareRequestLong(job.am, to, own, m->nbytes, m->nbytes, m->dest, lc, 0, m->n);
    CHECK(sd != GEX_AM_SRCDESC_NO_OP, "prepare without IMMEDIATE must give a descriptor");
    if (own == NULL)
        memcpy(gex_AM_SrcDescAddr(sd), m->src, m->nbytes);
    if (v2_now) {
        const int err = argn_commit_request_v2(cat, sd, m);
        CHECK(err == 0, "commit without IMMEDIATE must return 0, but returned %d", err);
    } else {
        argn_commit_request(cat, sd, m);
    }
}

static void send_request(argn_cat_t cat, gex_Rank_t to, unsigned n)
{
    gex_AM_Arg_t a[COUNTS];
    unsigned char load[PAYLOAD_MAX];
    const int table = cat == ARGN_SHORT ? SHORT_REQUEST : LOAD_REQUEST;
    argn_msg_t m = {.handler = tables[table][n].gex_index,
                    .n = n,
                    .a = a,
                    .src = load,
                    .nbytes = payload_size(n),
                    .dest = long_dest(to, job.rank, 0, n),
                    .lc = GEX_EVENT_NOW};

    make_args(0, job.rank, n, a);
    conform_fill(load, m.nbytes, payload_key(0, job.rank, n));
    if (way_now == ARGN_FIXED || cat == ARGN_SHORT) {
        const int err = argn_request(cat, to, &m);
        CHECK(err == 0, "a request without IMMEDIATE must return 0, but returned %d", err);
    } else {
        request_negotiated(cat, to, &m);
    }
}

void argn_echo_all(argn_way_t way, int v2)
{
    const uint64_t expected = (uint64_t)job.size * COUNTS * 3;

    way_now = way;
    v2_now = v2;
    atomic_store(&requests, 0);
    atomic_store(&replies, 0);
    conform_barrier();
    for (gex_Rank_t k = 0; k < job.size; k++) {
        for (unsigned n = 0; n < COUNTS; n++) {
            for (int cat = ARGN_SHORT; cat <= ARGN_LONG; cat++)
                send_request((argn_cat_t)cat, (job.rank + k) % job.size, n);
        }
    }
    GASNET_BLOCKUNTIL(atomic_load(&replies) >= expected);
    conform_barrier();
    CHECK(atomic_load(&replies) == expected, "%llu replies expected, but %llu came",
          (unsigned long long)expected, (unsigned long long)atomic_load(&replies));
    CHECK(atomic_load(&requests) == expected, "%llu requests expected, but %llu came",
          (unsigned long long)expected, (unsigned long long)atomic_load(&requests));
}
