/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages with a negotiated payload: prepare, fill, commit or cancel. */
#include "../conform_argn.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 60            /* messages of the sizes test to every rank */
#define MANY 5000            /* messages of each rank in a row */
#define CANCELS 500          /* cancelled prepares of each rank */
#define IMMEDIATE_SENDS 2000 /* messages of each rank */
#define ARGS 3

/* The specification says "suitably aligned for any data type"; for GASNet-EX 2025.8.0 set 8. */
#ifndef CONFORM_BUFFER_ALIGN
#define CONFORM_BUFFER_ALIGN alignof(max_align_t)
#endif

static void negotiated_request(gex_Token_t, void *, size_t, gex_AM_Arg_t, gex_AM_Arg_t,
                               gex_AM_Arg_t);
static void negotiated_reply(gex_Token_t, void *, size_t, gex_AM_Arg_t, gex_AM_Arg_t, gex_AM_Arg_t);

static gex_AM_Entry_t entries[] = {{.gex_fnptr = (gex_AM_Fn_t)negotiated_request,
                                    .gex_flags = GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQUEST,
                                    .gex_nargs = ARGS,
                                    .gex_name = "negotiated_request"},
                                   {.gex_fnptr = (gex_AM_Fn_t)negotiated_reply,
                                    .gex_flags = GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REPLY,
                                    .gex_nargs = ARGS,
                                    .gex_name = "negotiated_reply"}};

static conform_count_t got_requests, got_replies;

void conform_npam_setup(void)
{
    conform_register(entries, 2);
}

/* The arguments of one prepare. */
typedef struct {
    argn_cat_t cat;
    void *own; /* the client's buffer, or NULL */
    size_t least, most;
    void *dest; /* as prepare gets it, may be NULL */
    gex_Event_t *lc;
    gex_Flags_t flags;
} prepare_t;

static gex_AM_SrcDesc_t prepare_request(gex_Rank_t to, const prepare_t *prep)
{
    if (prep->cat == ARGN_MEDIUM)
        return gex_AM_PrepareRequestMedium(job.am, to, prep->own, prep->least, prep->most, prep->lc,
                                           prep->flags, ARGS);
    return gex_AM_PrepareRequestLong(job.am, to, prep->own, prep->least, prep->most, prep->dest,
                                     prep->lc, prep->flags, ARGS);
}

static gex_AM_SrcDesc_t prepare_reply(gex_Token_t token, const prepare_t *prep)
{
    if (prep->cat == ARGN_MEDIUM)
        return gex_AM_PrepareReplyMedium(token, prep->own, prep->least, prep->most, prep->lc,
                                         prep->flags, ARGS);
    return gex_AM_PrepareReplyLong(token, prep->own, prep->least, prep->most, prep->dest, prep->lc,
                                   prep->flags, ARGS);
}

/* Returns the negotiated size. */
static size_t check_descriptor(gex_AM_SrcDesc_t sd, const prepare_t *prep)
{
    void *const addr = gex_AM_SrcDescAddr(sd);
    const size_t size = gex_AM_SrcDescSize(sd);

    CHECK(sd != GEX_AM_SRCDESC_NO_OP, "prepare without IMMEDIATE must give a descriptor");
    CHECK(size >= prep->least && size <= prep->most, "size %zu is not between %zu and %zu", size,
          prep->least, prep->most);
    if (prep->own != NULL)
        CHECK(addr == prep->own, "the address should be that of the client's buffer, %p, but is %p",
              prep->own, addr);
    else
        CHECK(addr != NULL && (uintptr_t)addr % CONFORM_BUFFER_ALIGN == 0,
              "the library's buffer must be aligned for any type: %p", addr);
    return size;
}

static void cancel_request(argn_cat_t cat, gex_AM_SrcDesc_t sd)
{
    const int err =
        cat == ARGN_MEDIUM ? gex_AM_CancelRequestMedium(sd, 0) : gex_AM_CancelRequestLong(sd, 0);

    CHECK(err == 0, "a cancel must return 0, but returned %d", err);
}

static void cancel_reply(argn_cat_t cat, gex_AM_SrcDesc_t sd)
{
    const int err =
        cat == ARGN_MEDIUM ? gex_AM_CancelReplyMedium(sd, 0) : gex_AM_CancelReplyLong(sd, 0);

    CHECK(err == 0, "a cancel must return 0, but returned %d", err);
}

static unsigned char *long_dest(gex_Rank_t owner, gex_Rank_t peer, int reply, gex_AM_Arg_t sequence)
{
    return conform_slot(owner, peer, reply) + sequence % 7;
}

static uint64_t load_key(gex_Rank_t sender, gex_AM_Arg_t sequence, int reply)
{
    return conform_mix(sender, (uint32_t)sequence, 900 + (unsigned)reply);
}

/* A handler may cancel a prepared reply and then send another one. */
static void negotiated_request(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t sequence,
                               gex_AM_Arg_t want, gex_AM_Arg_t is_long)
{
    const gex_Rank_t from = conform_source(token);
    unsigned char own[600];
    const int with_own = sequence % 2;
    const prepare_t prep = {.cat = is_long ? ARGN_LONG : ARGN_MEDIUM,
                            .own = with_own ? own : NULL,
                            .least = 1 + (size_t)sequence % 100,
                            .most = sizeof(own),
                            .dest = sequence % 3 ? long_dest(from, job.rank, 1, sequence) : NULL,
                            .lc = with_own ? GEX_EVENT_NOW : NULL};
    gex_AM_Arg_t a[ARGS] = {sequence, 0, is_long};
    argn_msg_t m = {.handler = entries[1].gex_index,
                    .n = ARGS,
                    .a = a,
                    .dest = long_dest(from, job.rank, 1, sequence)};
    gex_AM_SrcDesc_t sd;

    CHECK(nbytes == (size_t)want, "%d bytes were committed, but %zu came", (int)want, nbytes);
    CHECK(is_long || (uintptr_t)buf % 8 == 0, "a Medium's payload must be aligned to 8: %p", buf);
    CHECK_FILL(buf, nbytes, load_key(from, sequence, 0), "negotiated request");
    if (sequence % 5 == 0)
        cancel_reply(prep.cat, prepare_reply(token, &prep));
    sd = prepare_reply(token, &prep);
    m.nbytes = check_descriptor(sd, &prep);
    m.nbytes = sequence % 4 == 0 ? 0 : m.nbytes - m.nbytes / (size_t)(sequence % 4 + 1);
    a[1] = (gex_AM_Arg_t)m.nbytes;
    conform_fill(gex_AM_SrcDescAddr(sd), m.nbytes, load_key(job.rank, sequence, 1));
    atomic_fetch_add(&got_requests, 1); /* before the reply: see phase_finish of conform_am.c */
    if (sequence % 2 == 0)
        argn_commit_reply(prep.cat, sd, &m);
    else
        CHECK(argn_commit_reply_v2(prep.cat, sd, &m) == 0, "commit_v2 must return 0");
    memset(own, 0x11, sizeof(own));
}

static void negotiated_reply(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t sequence,
                             gex_AM_Arg_t want, gex_AM_Arg_t is_long)
{
    CHECK(nbytes == (size_t)want, "%d bytes were committed, but %zu came", (int)want, nbytes);
    CHECK(is_long || (uintptr_t)buf % 8 == 0, "a Medium's payload must be aligned to 8: %p", buf);
    CHECK_FILL(buf, nbytes, load_key(conform_source(token), sequence, 1), "negotiated reply");
    atomic_fetch_add(&got_replies, 1);
}

static void phase_start(void)
{
    atomic_store(&got_requests, 0);
    atomic_store(&got_replies, 0);
    conform_barrier();
}

static void phase_finish(uint64_t sent)
{
    GASNET_BLOCKUNTIL(atomic_load(&got_replies) >= sent);
    conform_barrier();
    CHECK(atomic_load(&got_replies) == sent && atomic_load(&got_requests) == sent,
          "%llu requests and replies expected, but %llu and %llu came", (unsigned long long)sent,
          (unsigned long long)atomic_load(&got_requests),
          (unsigned long long)atomic_load(&got_replies));
}

/* Commits `nbytes` of a descriptor as message `sequence`; returns what the commit returned. */
static int commit_request(const prepare_t *prep, gex_Rank_t to, gex_AM_SrcDesc_t sd, size_t nbytes,
                          gex_AM_Arg_t sequence, int v2, gex_Flags_t flags)
{
    const gex_AM_Arg_t a[ARGS] = {sequence, (gex_AM_Arg_t)nbytes, prep->cat == ARGN_LONG};
    const argn_msg_t m = {.handler = entries[0].gex_index,
                          .n = ARGS,
                          .a = a,
                          .nbytes = nbytes,
                          .dest = long_dest(to, job.rank, 0, sequence),
                          .flags = flags};

    conform_fill(gex_AM_SrcDescAddr(sd), nbytes, load_key(job.rank, sequence, 0));
    if (v2)
        return argn_commit_request_v2(prep->cat, sd, &m);
    argn_commit_request(prep->cat, sd, &m);
    return 0;
}

static size_t least_limit(const prepare_t *prep, gex_Rank_t to)
{
    const gex_Flags_t flag =
        prep->own != NULL ? GEX_FLAG_AM_PREPARE_LEAST_CLIENT : GEX_FLAG_AM_PREPARE_LEAST_ALLOC;
    const size_t max = prep->cat == ARGN_MEDIUM
                           ? gex_AM_MaxRequestMedium(job.am, to, prep->lc, flag, ARGS)
                           : gex_AM_MaxRequestLong(job.am, to, prep->lc, flag, ARGS);
    const size_t room = conform_slot_size() - 16;

    return max < room ? max : room;
}

/* Round 0 asks for the largest guaranteed size, round 1 for exactly one byte. The others ask for a
 * size between, with a maximum that may be above every limit. */
static void choose_sizes(prepare_t *prep, gex_Rank_t to, int round, uint64_t *stream)
{
    const size_t limit = least_limit(prep, to);
    const size_t room = conform_slot_size() - 16;

    if (round == 0) {
        prep->least = limit;
        prep->most = limit;
        return;
    }
    prep->least = round == 1 ? 1 : 1 + conform_random(stream) % (round % 2 ? 300 : limit);
    prep->most = prep->least;
    if (round > 1 && round % 3 != 0)
        prep->most += conform_random(stream) % (room - prep->least + 1);
}

static size_t choose_commit(size_t size, int round, uint64_t *stream)
{
    if (round % 5 == 4)
        return 0;
    return round % 2 ? size : conform_random(stream) % (size + 1);
}

static void size_round(argn_cat_t cat, int round, unsigned char *own, uint64_t *stream,
                       gex_AM_Arg_t sequence)
{
    for (gex_Rank_t k = 0; k < job.size; k++) {
        const gex_Rank_t to = (job.rank + k) % job.size;
        gex_Event_t event = GEX_EVENT_INVALID;
        gex_Event_t *const lcs[] = {NULL, GEX_EVENT_NOW, GEX_EVENT_GROUP, &event};
        const int way = (int)(((unsigned)round / 2 + k) % 4);
        prepare_t prep = {.cat = cat, .own = way > 0 ? own + round % 3 : NULL, .lc = lcs[way]};
        gex_AM_SrcDesc_t sd;
        size_t size;

        prep.dest = round % 2 ? long_dest(to, job.rank, 0, sequence) : NULL;
        choose_sizes(&prep, to, round, stream);
        sd = prepare_request(to, &prep);
        size = check_descriptor(sd, &prep);
        CHECK(commit_request(&prep, to, sd, choose_commit(size, round, stream), sequence,
                             round % 4 == 3, 0) == 0,
              "commit without IMMEDIATE must return 0");
        if (way == 2)
            gex_NBI_Wait(GEX_EC_AM, 0);
        else if (way == 3)
            gex_Event_Wait(event);
        if (way > 0)
            memset(own, 0x99, size + 2);
    }
}

static void test_sizes(void)
{
    unsigned char *own = conform_alloc(conform_slot_size() + 16);
    uint64_t stream = conform_stream(51);
    gex_AM_Arg_t sequence = 0;
    uint64_t sent = 0;

    phase_start();
    for (int cat = ARGN_MEDIUM; cat <= ARGN_LONG; cat++) {
        for (int round = 0; round < ROUNDS; round++) {
            size_round((argn_cat_t)cat, round, own, &stream, sequence++);
            sent += job.size;
            GASNET_BLOCKUNTIL(atomic_load(&got_replies) >= sent);
        }
    }
    phase_finish(sent);
    free(own);
}

static void test_args(void)
{
    for (int v2 = 0; v2 < 2; v2++) {
        argn_echo_all(ARGN_OWN_BUFFER, v2);
        argn_echo_all(ARGN_LIBRARY_BUFFER, v2);
    }
}

/* Many Mediums in a row without a wait between them. */
static void test_many(void)
{
    unsigned char own[256];
    uint64_t stream = conform_stream(52);

    phase_start();
    for (int i = 0; i < MANY; i++) {
        const gex_Rank_t to = (gex_Rank_t)(conform_random(&stream) % job.size);
        const prepare_t prep = {.cat = ARGN_MEDIUM,
                                .own = i % 3 == 0 ? own : NULL,
                                .least = 1 + (size_t)i % 200,
                                .most = 256,
                                .lc = i % 3 == 0 ? GEX_EVENT_NOW : NULL};
        gex_AM_SrcDesc_t sd = prepare_request(to, &prep);

        commit_request(&prep, to, sd, check_descriptor(sd, &prep), i, i % 2, 0);
    }
    GASNET_BLOCKUNTIL(atomic_load(&got_replies) >= MANY);
    conform_barrier();
    CHECK(atomic_load(&got_replies) == MANY, "%d replies expected, but %llu came", MANY,
          (unsigned long long)atomic_load(&got_replies));
}

/* A cancel must release all resources of its descriptor: with a leak the traffic would stop. */
static void test_cancel(void)
{
    unsigned char own[400];

    phase_start();
    for (int i = 0; i < CANCELS; i++) {
        const gex_Rank_t to = (job.rank + (gex_Rank_t)i) % job.size;
        gex_Event_t event;
        const prepare_t prep = {.cat = i % 4 < 2 ? ARGN_MEDIUM : ARGN_LONG,
                                .own = i % 2 ? own : NULL,
                                .least = 1 + (size_t)i % 300,
                                .most = 400,
                                .lc = i % 2 ? (i % 3 ? &event : GEX_EVENT_NOW) : NULL};
        gex_AM_SrcDesc_t sd = prepare_request(to, &prep);

        conform_fill(gex_AM_SrcDescAddr(sd), check_descriptor(sd, &prep), 5);
        cancel_request(prep.cat, sd);
    }
    for (gex_Rank_t r = 0; r < job.size; r++) {
        const prepare_t prep = {.cat = ARGN_MEDIUM, .least = 1, .most = 400};
        gex_AM_SrcDesc_t sd = prepare_request(r, &prep);

        commit_request(&prep, r, sd, check_descriptor(sd, &prep), 1, 0, 0);
    }
    phase_finish(job.size);
}

/* The arguments before a payload do not shift it, however short it is. */
static void test_align(void)
{
    for (unsigned nargs = 0; nargs <= gex_AM_MaxArgs(); nargs++)
        for (size_t size = 1; size <= 2 * CONFORM_BUFFER_ALIGN; size++) {
            const prepare_t prep = {.cat = ARGN_MEDIUM, .least = size, .most = size};
            gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(job.am, (job.rank + 1) % job.size,
                                                              NULL, size, size, NULL, 0, nargs);

            check_descriptor(sd, &prep);
            cancel_request(prep.cat, sd);
        }
    conform_barrier();
}

/* Prepares and commits with IMMEDIATE. A message that was refused a few times is cancelled and
 * never arrives. */
static int send_immediate(gex_Rank_t to, gex_AM_Arg_t sequence)
{
    const prepare_t prep = {
        .cat = ARGN_MEDIUM, .least = 100, .most = 200, .flags = GEX_FLAG_IMMEDIATE};
    gex_AM_SrcDesc_t sd = prepare_request(to, &prep);

    if (sd == GEX_AM_SRCDESC_NO_OP)
        return 0;
    for (int tries = 0; tries < 3; tries++) {
        if (commit_request(&prep, to, sd, check_descriptor(sd, &prep), sequence, 1,
                           GEX_FLAG_IMMEDIATE) == 0)
            return 1;
    }
    cancel_request(prep.cat, sd);
    return 0;
}

static void test_immediate(void)
{
    uint64_t sent = 0;
    uint64_t all[64];
    uint64_t total = 0, answered = 0;

    phase_start();
    for (int i = 0; i < IMMEDIATE_SENDS; i++) {
        if (send_immediate((job.rank + (gex_Rank_t)i) % job.size, i))
            sent++;
        else
            gasnet_AMPoll();
    }
    GASNET_BLOCKUNTIL(atomic_load(&got_replies) >= sent);
    conform_barrier();
    CHECK(atomic_load(&got_replies) == sent, "%llu messages were accepted, but %llu were answered",
          (unsigned long long)sent, (unsigned long long)atomic_load(&got_replies));
    conform_exchange(sent, all);
    for (gex_Rank_t r = 0; r < job.size; r++)
        total += all[r];
    conform_exchange(atomic_load(&got_requests), all);
    for (gex_Rank_t r = 0; r < job.size; r++)
        answered += all[r];
    CHECK(total == answered, "%llu messages were accepted in the job, but %llu arrived",
          (unsigned long long)total, (unsigned long long)answered);
}

const conform_test_t conform_npam_tests[] = {
    {"npam_args", test_args, "negotiated messages with 0..16 arguments, both commits"},
    {"npam_sizes", test_sizes, "least, most and committed sizes; buffers; local completion"},
    {"npam_many", test_many, "thousands in a row"},
    {"npam_cancel", test_cancel, "cancelled messages never arrive and cost nothing"},
    {"npam_align", test_align, "the library's buffers, with any number of arguments"},
    {"npam_immediate", test_immediate, "IMMEDIATE at prepare and at commit, exact count"},
    {NULL, NULL, NULL}};
