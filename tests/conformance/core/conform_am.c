/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages with a fixed payload: arguments, sizes, local completion, tokens. */
#include "../conform_argn.h"

#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = {
    0,    1,    2,    3,    7,    8,    9,    15,    16,    17,    31,    32,     33,    63,
    64,   65,   127,  128,  129,  255,  256,  257,   511,   512,   513,   1023,   1024,  1025,
    2047, 2048, 4095, 4096, 4097, 8192, 8193, 16384, 32769, 65536, 65537, 200001, 524288};
static const size_t size_count = sizeof(sizes) / sizeof(sizes[0]);

enum { LOAD_ARGS = 2, TOKEN_ARGS = 3 };

static conform_count_t got_requests, got_replies;

static void test_args(void)
{
    argn_echo_all(ARGN_FIXED, 0);
}

/* ---- payloads; the arguments are a sequence number and the size in bytes ---- */

static uint64_t load_key(gex_Rank_t sender, gex_AM_Arg_t sequence, int reply)
{
    return conform_mix(sender, (uint32_t)sequence, 500 + (unsigned)reply);
}

static void load_medium_request(gex_Token_t, void *, size_t, gex_AM_Arg_t, gex_AM_Arg_t);
static void load_medium_reply(gex_Token_t, void *, size_t, gex_AM_Arg_t, gex_AM_Arg_t);
static void load_long_request(gex_Token_t, void *, size_t, gex_AM_Arg_t, gex_AM_Arg_t);
static void load_long_reply(gex_Token_t, void *, size_t, gex_AM_Arg_t, gex_AM_Arg_t);
static void token_short(gex_Token_t, gex_AM_Arg_t, gex_AM_Arg_t, gex_AM_Arg_t);
static void token_load(gex_Token_t, void *, size_t, gex_AM_Arg_t, gex_AM_Arg_t, gex_AM_Arg_t);
static void infer_0(gex_Token_t);
static void infer_1(gex_Token_t, gex_AM_Arg_t);
static void infer_load_2(gex_Token_t, void *, size_t, gex_AM_Arg_t, gex_AM_Arg_t);
static void infer_reply_0(gex_Token_t);
static void infer_reply_load_1(gex_Token_t, void *, size_t, gex_AM_Arg_t);
static void event_request(gex_Token_t, gex_AM_Arg_t);
static void event_reply(gex_Token_t, void *, size_t, gex_AM_Arg_t);
static void zero_request(gex_Token_t, void *, size_t, gex_AM_Arg_t, gex_AM_Arg_t);
static void zero_reply(gex_Token_t, void *, size_t, gex_AM_Arg_t, gex_AM_Arg_t);

enum {
    MEDIUM_REQUEST,
    MEDIUM_REPLY,
    LONG_REQUEST,
    LONG_REPLY,
    TOKEN_SHORT,
    TOKEN_LOAD,
    INFER_0,
    INFER_1,
    INFER_LOAD_2,
    INFER_REPLY_0,
    INFER_REPLY_LOAD_1,
    EVENT_REQUEST,
    EVENT_REPLY,
    ZERO_REQUEST,
    ZERO_REPLY,
    ENTRIES
};

#define ENTRY(fn, kind, nargs)                                                                     \
    {                                                                                              \
        .gex_fnptr = (gex_AM_Fn_t)(fn), .gex_flags = (kind), .gex_nargs = (nargs), .gex_name = #fn \
    }
#define REQUEST GEX_FLAG_AM_REQUEST
#define REPLY GEX_FLAG_AM_REPLY

static gex_AM_Entry_t entries[ENTRIES] = {
    [MEDIUM_REQUEST] = ENTRY(load_medium_request, GEX_FLAG_AM_MEDIUM | REQUEST, LOAD_ARGS),
    [MEDIUM_REPLY] = ENTRY(load_medium_reply, GEX_FLAG_AM_MEDIUM | REPLY, LOAD_ARGS),
    [LONG_REQUEST] = ENTRY(load_long_request, GEX_FLAG_AM_LONG | REQUEST, LOAD_ARGS),
    [LONG_REPLY] = ENTRY(load_long_reply, GEX_FLAG_AM_LONG | REPLY, LOAD_ARGS),
    [TOKEN_SHORT] = ENTRY(token_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQREP, TOKEN_ARGS),
    [TOKEN_LOAD] = ENTRY(token_load, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQREP, TOKEN_ARGS),
    [INFER_0] = ENTRY(infer_0, GEX_FLAG_AM_SHORT | REQUEST, 0),
    [INFER_1] = ENTRY(infer_1, GEX_FLAG_AM_SHORT | REQUEST, 1),
    [INFER_LOAD_2] = ENTRY(infer_load_2, GEX_FLAG_AM_MEDLONG | REQUEST, 2),
    [INFER_REPLY_0] = ENTRY(infer_reply_0, GEX_FLAG_AM_SHORT | REPLY, 0),
    [INFER_REPLY_LOAD_1] = ENTRY(infer_reply_load_1, GEX_FLAG_AM_MEDLONG | REPLY, 1),
    [EVENT_REQUEST] = ENTRY(event_request, GEX_FLAG_AM_SHORT | REQUEST, 1),
    [EVENT_REPLY] = ENTRY(event_reply, GEX_FLAG_AM_MEDIUM | REPLY, 1),
    [ZERO_REQUEST] = ENTRY(zero_request, GEX_FLAG_AM_LONG | REQUEST, 2),
    [ZERO_REPLY] = ENTRY(zero_reply, GEX_FLAG_AM_LONG | REPLY, 2),
};

void conform_am_setup(void)
{
    conform_register(entries, ENTRIES);
}

static void phase_start(void)
{
    atomic_store(&got_requests, 0);
    atomic_store(&got_replies, 0);
    conform_barrier();
}

/* Ends a phase in which this rank sent `sent` requests. Waits for the replies, and checks that this
 * rank received exactly as many replies and as many requests as it sent. A handler counts its
 * request before it replies: with a thread that receives, the reply and the barrier that follows it
 * may overtake the rest of the handler. */
static void phase_finish(uint64_t sent)
{
    GASNET_BLOCKUNTIL(atomic_load(&got_replies) >= sent);
    conform_barrier();
    CHECK(atomic_load(&got_replies) == sent, "%llu replies expected, but %llu came",
          (unsigned long long)sent, (unsigned long long)atomic_load(&got_replies));
    CHECK(atomic_load(&got_requests) == sent, "%llu requests expected, but %llu came",
          (unsigned long long)sent, (unsigned long long)atomic_load(&got_requests));
}

static void load_medium_request(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t sequence,
                                gex_AM_Arg_t want)
{
    const gex_Rank_t from = conform_source(token);
    const size_t max = gex_Token_MaxReplyMedium(token, GEX_EVENT_NOW, 0, LOAD_ARGS);
    const size_t back = nbytes < max ? nbytes : max;

    CHECK(nbytes == (size_t)want, "a Medium of %d bytes arrived with %zu", (int)want, nbytes);
    CHECK((uintptr_t)buf % 8 == 0, "a Medium's payload must be aligned to 8: %p", buf);
    CHECK_FILL(buf, nbytes, load_key(from, sequence, 0), "Medium request");
    conform_fill(buf, back, load_key(job.rank, sequence, 1));
    atomic_fetch_add(&got_requests, 1);
    gex_AM_ReplyMedium2(token, entries[MEDIUM_REPLY].gex_index, buf, back, GEX_EVENT_NOW, 0,
                        sequence, (gex_AM_Arg_t)back);
    memset(buf, 0xee, nbytes); /* the handler owns the buffer until it returns */
}

static void load_medium_reply(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t sequence,
                              gex_AM_Arg_t want)
{
    CHECK(nbytes == (size_t)want, "a Medium reply of %d bytes arrived with %zu", (int)want, nbytes);
    CHECK((uintptr_t)buf % 8 == 0, "a Medium's payload must be aligned to 8: %p", buf);
    CHECK_FILL(buf, nbytes, load_key(conform_source(token), sequence, 1), "Medium reply");
    memset(buf, 0xdd, nbytes);
    atomic_fetch_add(&got_replies, 1);
}

static unsigned char *long_place(gex_Rank_t owner, gex_Rank_t peer, int reply, gex_AM_Arg_t seq)
{
    return conform_slot(owner, peer, reply) + seq % 9;
}

static void load_long_request(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t sequence,
                              gex_AM_Arg_t want)
{
    const gex_Rank_t from = conform_source(token);
    const size_t max = gex_Token_MaxReplyLong(token, GEX_EVENT_NOW, 0, LOAD_ARGS);
    const size_t back = nbytes < max ? nbytes : max;
    unsigned char *const place = long_place(job.rank, from, 0, sequence);

    CHECK(buf == place, "a Long should land at %p, not at %p", (void *)place, buf);
    CHECK(nbytes == (size_t)want, "a Long of %d bytes arrived with %zu", (int)want, nbytes);
    CHECK_FILL(buf, nbytes, load_key(from, sequence, 0), "Long request");
    conform_fill(buf, back, load_key(job.rank, sequence, 1));
    atomic_fetch_add(&got_requests, 1);
    /* from the reply on the sender may write to `place` again, so this handler leaves it alone */
    gex_AM_ReplyLong2(token, entries[LONG_REPLY].gex_index, buf, back,
                      long_place(from, job.rank, 1, sequence), GEX_EVENT_NOW, 0, sequence,
                      (gex_AM_Arg_t)back);
}

static void load_long_reply(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t sequence,
                            gex_AM_Arg_t want)
{
    const gex_Rank_t from = conform_source(token);
    unsigned char *const place = long_place(job.rank, from, 1, sequence);

    CHECK(buf == place, "a Long reply should land at %p, not at %p", (void *)place, buf);
    CHECK(nbytes == (size_t)want, "a Long reply of %d bytes arrived with %zu", (int)want, nbytes);
    CHECK_FILL(buf, nbytes, load_key(from, sequence, 1), "Long reply");
    atomic_fetch_add(&got_replies, 1);
}

/* Sends, waits for local completion in one of three ways, and then overwrites the source: the
 * target must not notice. */
static void send_load(argn_cat_t cat, gex_Rank_t to, unsigned char *src, size_t nbytes, int way,
                      gex_AM_Arg_t sequence)
{
    gex_Event_t event = GEX_EVENT_INVALID;
    gex_Event_t *const lcs[] = {GEX_EVENT_NOW, GEX_EVENT_GROUP, &event};
    const gex_AM_Arg_t a[LOAD_ARGS] = {sequence, (gex_AM_Arg_t)nbytes};
    const argn_msg_t m = {.handler =
                              entries[cat == ARGN_MEDIUM ? MEDIUM_REQUEST : LONG_REQUEST].gex_index,
                          .n = LOAD_ARGS,
                          .a = a,
                          .src = src,
                          .nbytes = nbytes,
                          .dest = long_place(to, job.rank, 0, sequence),
                          .lc = lcs[way]};
    int err;

    conform_fill(src, nbytes, load_key(job.rank, sequence, 0));
    err = argn_request(cat, to, &m);
    CHECK(err == 0, "a request without IMMEDIATE must return 0, but returned %d", err);
    if (way == 1)
        gex_NBI_Wait(GEX_EC_AM, 0);
    else if (way == 2)
        gex_Event_Wait(event);
    memset(src, 0x55, nbytes);
}

static size_t load_max(argn_cat_t cat, gex_Rank_t to, int way)
{
    gex_Event_t event;
    gex_Event_t *const lcs[] = {GEX_EVENT_NOW, GEX_EVENT_GROUP, &event};
    const size_t room = conform_slot_size() - 16;
    size_t max;

    if (cat == ARGN_MEDIUM)
        return gex_AM_MaxRequestMedium(job.am, to, lcs[way], 0, LOAD_ARGS);
    max = gex_AM_MaxRequestLong(job.am, to, lcs[way], 0, LOAD_ARGS);
    return max < room ? max : room;
}

/* Sends one size to every rank and waits for all replies, after which the slots are free again. */
static void load_round(argn_cat_t cat, size_t index, int way, unsigned char *src, uint64_t *sent,
                       gex_AM_Arg_t sequence)
{
    for (gex_Rank_t k = 0; k < job.size; k++) {
        const gex_Rank_t to = (job.rank + k) % job.size;
        const size_t max = load_max(cat, to, way);
        /* the two indices past the list stand for the largest size and for one byte less */
        const size_t nbytes = index < size_count ? sizes[index] : max - (index - size_count);

        if (nbytes > max)
            continue;
        send_load(cat, to, src + (index * 5 + k) % 16, nbytes, way, sequence);
        (*sent)++;
    }
    GASNET_BLOCKUNTIL(atomic_load(&got_replies) >= *sent);
}

static void send_all_sizes(argn_cat_t cat)
{
    unsigned char *src;
    size_t most = 0;
    gex_AM_Arg_t sequence = 0;
    uint64_t sent = 0;

    for (gex_Rank_t r = 0; r < job.size; r++) {
        for (int way = 0; way < 3; way++) {
            const size_t max = load_max(cat, r, way);

            most = max > most ? max : most;
        }
    }
    src = conform_alloc(most + 16);
    phase_start();
    for (int way = 0; way < 3; way++) {
        for (size_t i = 0; i < size_count + 2; i++)
            load_round(cat, i, way, src, &sent, sequence++);
    }
    phase_finish(sent);
    free(src);
}

static void test_medium(void)
{
    send_all_sizes(ARGN_MEDIUM);
}

static void test_long(void)
{
    send_all_sizes(ARGN_LONG);
}

/* ---- queries of a token ---- */

static void check_token(gex_Token_t token, int is_request, int is_long, int which,
                        gex_AM_Arg_t sender)
{
    gex_Token_Info_t info;
    const gex_TI_t known = gex_Token_Info(token, &info, GEX_TI_ALL);

    CHECK((known & GEX_TI_SRCRANK) && (known & GEX_TI_EP), "SRCRANK and EP are required");
    CHECK(info.gex_srcrank == (gex_Rank_t)sender, "the token names rank %u, but the sender is %d",
          (unsigned)info.gex_srcrank, (int)sender);
    CHECK(info.gex_ep == job.am_ep, "the token names another endpoint");
    if (known & GEX_TI_ENTRY) {
        CHECK(info.gex_entry->gex_index == entries[which].gex_index,
              "the token's entry has index %u, not %u", (unsigned)info.gex_entry->gex_index,
              (unsigned)entries[which].gex_index);
        CHECK(info.gex_entry->gex_fnptr == entries[which].gex_fnptr,
              "the token's entry has another handler");
        CHECK(info.gex_entry->gex_nargs == TOKEN_ARGS, "the token's entry has %u arguments, not %d",
              info.gex_entry->gex_nargs, (int)TOKEN_ARGS);
    }
    if (known & GEX_TI_IS_REQ)
        CHECK(!info.gex_is_req == !is_request, "is_req is %d, but the message %s a request",
              (int)info.gex_is_req, is_request ? "is" : "is not");
    if (known & GEX_TI_IS_LONG)
        CHECK(!info.gex_is_long == !is_long, "is_long is %d, but the message %s a Long",
              (int)info.gex_is_long, is_long ? "is" : "is not");
}

/* A token reports the same limits as the team does for the same pair of ranks. */
static void check_token_max(gex_Token_t token, gex_Rank_t from)
{
    gex_Event_t event;
    const gex_Event_t *const lcs[] = {GEX_EVENT_NOW, &event};

    for (int i = 0; i < 2; i++) {
        for (unsigned n = 0; n <= 16; n += 4) {
            const size_t medium = gex_Token_MaxReplyMedium(token, lcs[i], 0, n);
            const size_t longs = gex_Token_MaxReplyLong(token, lcs[i], 0, n);

            CHECK(medium == gex_AM_MaxReplyMedium(job.am, from, lcs[i], 0, n),
                  "the token limits Medium replies to %zu bytes, the team to another size", medium);
            CHECK(longs == gex_AM_MaxReplyLong(job.am, from, lcs[i], 0, n),
                  "the token limits Long replies to %zu bytes, the team to another size", longs);
            CHECK(medium >= 512 && longs >= 512, "limits of %zu and %zu bytes are below 512",
                  medium, longs);
        }
    }
}

static void token_short(gex_Token_t token, gex_AM_Arg_t request, gex_AM_Arg_t is_long,
                        gex_AM_Arg_t sender)
{
    check_token(token, request, is_long, TOKEN_SHORT, sender);
    atomic_fetch_add(request ? &got_requests : &got_replies, 1);
    if (request) {
        check_token_max(token, (gex_Rank_t)sender);
        gex_AM_ReplyShort3(token, entries[TOKEN_SHORT].gex_index, 0, 0, 0, (gex_AM_Arg_t)job.rank);
    }
}

static void token_load(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t request,
                       gex_AM_Arg_t is_long, gex_AM_Arg_t sender)
{
    const gex_AM_Index_t handler = entries[TOKEN_LOAD].gex_index;

    check_token(token, request, is_long, TOKEN_LOAD, sender);
    CHECK_FILL(buf, nbytes, 4711, "payload of the token test");
    atomic_fetch_add(request ? &got_requests : &got_replies, 1);
    if (request) {
        check_token_max(token, (gex_Rank_t)sender);
        if (is_long)
            gex_AM_ReplyLong3(token, handler, buf, nbytes,
                              conform_slot((gex_Rank_t)sender, job.rank, 1), GEX_EVENT_NOW, 0, 0, 1,
                              (gex_AM_Arg_t)job.rank);
        else
            gex_AM_ReplyMedium3(token, handler, buf, nbytes, GEX_EVENT_NOW, 0, 0, 0,
                                (gex_AM_Arg_t)job.rank);
    }
}

static void send_tokens(gex_TM_t tm, unsigned char *load, size_t nbytes)
{
    const gex_AM_Arg_t me = (gex_AM_Arg_t)job.rank;

    for (gex_Rank_t r = 0; r < job.size; r++) {
        gex_AM_RequestShort3(tm, r, entries[TOKEN_SHORT].gex_index, 0, 1, 0, me);
        gex_AM_RequestMedium3(tm, r, entries[TOKEN_LOAD].gex_index, load, nbytes, GEX_EVENT_NOW, 0,
                              1, 0, me);
        gex_AM_RequestLong3(tm, r, entries[TOKEN_LOAD].gex_index, load, nbytes,
                            conform_slot(r, job.rank, 0), GEX_EVENT_NOW, 0, 1, 1, me);
    }
}

/* Sends through the team and through a TM-pair, which name the same endpoints. */
static void test_token(void)
{
    unsigned char load[40];

    conform_fill(load, sizeof(load), 4711);
    phase_start();
    send_tokens(job.am, load, sizeof(load));
    phase_finish((uint64_t)job.size * 3);
    phase_start();
    send_tokens(gex_TM_Pair(job.am_ep, gex_EP_QueryIndex(job.am_ep)), load, sizeof(load));
    phase_finish((uint64_t)job.size * 3);
}

/* ---- calls that infer the number of arguments ---- */

static void infer_0(gex_Token_t token)
{
    atomic_fetch_add(&got_requests, 1);
    gex_AM_ReplyShort(token, entries[INFER_REPLY_0].gex_index, 0);
}

static void infer_1(gex_Token_t token, gex_AM_Arg_t a)
{
    CHECK(a == INT32_MIN, "the argument is %d instead of INT32_MIN", (int)a);
    atomic_fetch_add(&got_requests, 1);
    gex_AM_ReplyMedium(token, entries[INFER_REPLY_LOAD_1].gex_index, &a, sizeof(a), GEX_EVENT_NOW,
                       0, a);
}

static void infer_load_2(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t a,
                         gex_AM_Arg_t b)
{
    CHECK(nbytes == 4 && memcmp(buf, &b, 4) == 0, "the payload should be the second argument");
    CHECK(a == -1 && b == INT32_MAX, "the arguments are %d and %d instead of -1 and INT32_MAX",
          (int)a, (int)b);
    atomic_fetch_add(&got_requests, 1);
    gex_AM_ReplyLong(token, entries[INFER_REPLY_LOAD_1].gex_index, &b, sizeof(b),
                     conform_slot(conform_source(token), job.rank, 1), GEX_EVENT_NOW, 0, b);
}

static void infer_reply_0(gex_Token_t token)
{
    (void)token;
    atomic_fetch_add(&got_replies, 1);
}

static void infer_reply_load_1(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t a)
{
    (void)token;
    CHECK(nbytes == 4 && memcmp(buf, &a, 4) == 0, "the payload should be the argument");
    atomic_fetch_add(&got_replies, 1);
}

static void test_infer(void)
{
    gex_AM_Arg_t load = INT32_MAX;

    phase_start();
    for (gex_Rank_t r = 0; r < job.size; r++) {
        gex_AM_RequestShort(job.am, r, entries[INFER_0].gex_index, 0);
        gex_AM_RequestShort(job.am, r, entries[INFER_1].gex_index, 0, INT32_MIN);
        gex_AM_RequestMedium(job.am, r, entries[INFER_LOAD_2].gex_index, &load, sizeof(load),
                             GEX_EVENT_NOW, 0, -1, INT32_MAX);
        GASNET_BLOCKUNTIL(atomic_load(&got_replies) >= (uint64_t)r * 4 + 3);
        gex_AM_RequestLong(job.am, r, entries[INFER_LOAD_2].gex_index, &load, sizeof(load),
                           conform_slot(r, job.rank, 0), GEX_EVENT_NOW, 0, -1, INT32_MAX);
        GASNET_BLOCKUNTIL(atomic_load(&got_replies) >= (uint64_t)r * 4 + 4);
    }
    phase_finish((uint64_t)job.size * 4);
}

/* ---- a reply whose local completion is an event; the client waits for it later ---- */

#define EVENTS 8
static unsigned char event_load[EVENTS][1000];
static gex_Event_t events[EVENTS];
static uint64_t event_source[EVENTS];
static conform_count_t event_ready, event_given;

static void event_request(gex_Token_t token, gex_AM_Arg_t sequence)
{
    const uint64_t i = atomic_fetch_add(&event_given, 1);

    CHECK(i < EVENTS, "more than %d requests arrived", EVENTS);
    event_source[i] = conform_source(token);
    conform_fill(event_load[i], sizeof(event_load[i]), load_key(job.rank, sequence, 1));
    atomic_fetch_add(&got_requests, 1);
    gex_AM_ReplyMedium1(token, entries[EVENT_REPLY].gex_index, event_load[i], sizeof(event_load[i]),
                        &events[i], 0, sequence);
    atomic_fetch_add(&event_ready, 1);
}

static void event_reply(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t sequence)
{
    CHECK(nbytes == sizeof(event_load[0]), "the reply has %zu bytes, not %zu", nbytes,
          sizeof(event_load[0]));
    CHECK_FILL(buf, nbytes, load_key(conform_source(token), sequence, 1), "reply with an event");
    atomic_fetch_add(&got_replies, 1);
}

static void test_reply_event(void)
{
    const gex_Rank_t to = (job.rank + 1) % job.size;

    phase_start();
    for (int round = 0; round < 20; round++) {
        atomic_store(&event_ready, 0);
        atomic_store(&event_given, 0);
        conform_barrier();
        for (int i = 0; i < EVENTS; i++)
            gex_AM_RequestShort1(job.am, to, entries[EVENT_REQUEST].gex_index, 0,
                                 round * EVENTS + i);
        GASNET_BLOCKUNTIL(atomic_load(&event_ready) == EVENTS);
        gex_Event_WaitAll(events, EVENTS, 0);
        memset(event_load, 0x33, sizeof(event_load));
        for (int i = 0; i < EVENTS; i++)
            CHECK(event_source[i] == (job.rank + job.size - 1) % job.size,
                  "the request came from rank %llu instead of the neighbour",
                  (unsigned long long)event_source[i]);
        GASNET_BLOCKUNTIL(atomic_load(&got_replies) == (uint64_t)EVENTS * ((unsigned)round + 1));
        conform_barrier();
    }
    phase_finish((uint64_t)20 * EVENTS);
}

/* ---- a Long without payload carries its address ---- */

static void zero_request(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t high,
                         gex_AM_Arg_t low)
{
    const uint64_t sent = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;

    CHECK(nbytes == 0, "no payload expected, but %zu bytes came", nbytes);
    CHECK((uintptr_t)buf == sent, "address 0x%llx expected, but %p came", (unsigned long long)sent,
          buf);
    atomic_fetch_add(&got_requests, 1);
    gex_AM_ReplyLong2(token, entries[ZERO_REPLY].gex_index, buf, 0, buf, GEX_EVENT_NOW, 0, high,
                      low);
}

static void zero_reply(gex_Token_t token, void *buf, size_t nbytes, gex_AM_Arg_t high,
                       gex_AM_Arg_t low)
{
    const uint64_t sent = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;

    (void)token;
    CHECK(nbytes == 0 && (uintptr_t)buf == sent,
          "address 0x%llx without payload expected, but %p with %zu bytes came",
          (unsigned long long)sent, buf, nbytes);
    atomic_fetch_add(&got_replies, 1);
}

static void send_long_zero(gex_Rank_t rank, void *dest)
{
    const uint64_t word = (uintptr_t)dest;
    unsigned char nothing = 0;

    gex_AM_RequestLong2(job.am, rank, entries[ZERO_REQUEST].gex_index, &nothing, 0, dest,
                        GEX_EVENT_NOW, 0, (gex_AM_Arg_t)(uint32_t)(word >> 32),
                        (gex_AM_Arg_t)(uint32_t)word);
}

static void test_long_zero(void)
{
    /* No memory need be there: the address is data for the handler, all 64 bits of it. */
    static const uint64_t anywhere[] = {0, 1, 0x0123456789abcdef, UINT64_MAX};
    uint64_t stream = conform_stream(31);
    uint64_t sent = 0;

    phase_start();
    for (gex_Rank_t r = 0; r < job.size; r++) {
        for (int i = 0; i < 10; i++, sent++)
            send_long_zero(r, job.base[r] + CONFORM_INBOX +
                                  conform_random(&stream) % ((size_t)8 << 20));
        for (size_t i = 0; i < sizeof anywhere / sizeof *anywhere; i++, sent++)
            send_long_zero(r, (void *)(uintptr_t)anywhere[i]);
    }
    phase_finish(sent);
}

const conform_test_t conform_am_tests[] = {
    {"am_args", test_args, "every kind of message with 0..16 arguments, and its reply"},
    {"am_infer", test_infer, "calls that infer the number of arguments"},
    {"am_medium", test_medium, "Medium payloads of all sizes and alignments, local completion"},
    {"am_long", test_long, "Long payloads of all sizes and alignments, local completion"},
    {"am_long_zero", test_long_zero, "a Long of 0 bytes passes its address"},
    {"am_token", test_token, "queries of a token: sender, entry, category, limits"},
    {"am_reply_event", test_reply_event, "a reply's local completion through an event"},
    {NULL, NULL, NULL}};
