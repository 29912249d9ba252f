// SPDX-License-Identifier: BSD-3-Clause
// identities: a job of 3 ranks. Endpoint 1 of ranks 0 and 1 has identity A, endpoint 1 of rank 2
// has identity B, and endpoint 2 of each rank has none.
//   identities accept      everything between the endpoints of identity A works
//   identities drop        everything else is dropped and counted, and the job goes on; puts and
//                          gets report an error (with GASNET_ERRORS=return)
//   identities forge       as `drop`, for messages of the library that rank 2 makes up; not in a
//                          build with debug checks, which refuses to send them
//   identities drops N     rank 2 sends N messages that rank 0 drops
//   identities again       endpoint 1 is destroyed and made again without an identity: it takes
//                          messages of all
//   identities put WAY     rank 2 puts, or ...
//   identities get WAY     ... gets, from the endpoint WAY: other, none, same (whose address is not
//                          in the segment); the job ends with a sentence
// Prints "N drops, M complaints".
#include "pushed_long.h"

#include <aqueduct.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>
#include <gasnetex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { SEGMENT = 1 << 20, HALF = SEGMENT / 2, LINGER_SECONDS = 5 };

// Handlers. The first two are of the primordial endpoint.
enum {
    H_IDENTITY = 100, // Medium: the identity that rank 0 has chosen
    H_REQUEST_SHORT,  // these exist at every endpoint
    H_REQUEST_MEDIUM,
    H_REQUEST_LONG,
    H_REPLY_SHORT,
    H_REPLY_MEDIUM,
    H_REPLY_LONG,
    H_NOTICE,
    H_LONG_NOTICE
};

// The library's own: core/am/am_header.h, core/am/long_fragment.h.
enum { H_ROUTE_TAGGED = 51, H_LONG_FRAGMENTED = 60, H_ROUTE };

static gex_TM_t tm;
static gex_EP_t primordial, own[3]; // own[1] has an identity, own[2] none
static gex_Client_t client;
static gex_Rank_t me;
static char *segments[3]; // of endpoint 1 of each rank
static gasnetx_identity_t identity;
static volatile int has_identity, requests, replies, notices;
static unsigned long complaints;
static char buffer[SEGMENT];

#define complain(...)                                                                              \
    (complaints++, printf("rank %u, line %d: ", me, __LINE__), printf(__VA_ARGS__), fflush(stdout))

static void barrier(void)
{
    gex_Coll_BarrierBlocking(tm, 0);
}

// Every byte differs from its neighbours, and with the key.
static void fill(char *at, size_t nbytes, unsigned key)
{
    for (size_t i = 0; i < nbytes; i++)
        at[i] = (char)(i * 7 + key);
}

static int is_filled(const char *at, size_t nbytes, unsigned key)
{
    for (size_t i = 0; i < nbytes; i++)
        if (at[i] != (char)(i * 7 + key))
            return 0;
    return 1;
}

// ---- handlers ----

static void on_identity(gex_Token_t token, void *payload, size_t nbytes)
{
    (void)token;
    memcpy(&identity, payload, nbytes);
    has_identity = 1;
}

static void on_request_short(gex_Token_t token, gex_AM_Arg_t key)
{
    requests++;
    gex_AM_ReplyShort1(token, H_REPLY_SHORT, 0, key);
}

static void on_request_medium(gex_Token_t token, void *payload, size_t nbytes, gex_AM_Arg_t key)
{
    if (!is_filled(payload, nbytes, (unsigned)key))
        complain("a Medium of %zu bytes is not what was sent\n", nbytes);
    requests++;
    gex_AM_ReplyMedium1(token, H_REPLY_MEDIUM, payload, nbytes, GEX_EVENT_NOW, 0, key);
}

static gex_Rank_t source_of(gex_Token_t token)
{
    gex_Token_Info_t info;
    (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    return info.gex_srcrank;
}

// The reply goes into the upper half of the segment of the requester.
static void on_request_long(gex_Token_t token, void *payload, size_t nbytes, gex_AM_Arg_t key)
{
    if (payload != segments[me] || !is_filled(payload, nbytes, (unsigned)key))
        complain("a Long of %zu bytes is not what was sent\n", nbytes);
    requests++;
    gex_AM_ReplyLong1(token, H_REPLY_LONG, payload, nbytes, segments[source_of(token)] + HALF,
                      GEX_EVENT_NOW, 0, key);
}

static void on_reply_short(gex_Token_t token, gex_AM_Arg_t key)
{
    (void)token, (void)key;
    replies++;
}

static void on_reply_payload(gex_Token_t token, void *payload, size_t nbytes, gex_AM_Arg_t key)
{
    (void)token;
    if (!is_filled(payload, nbytes, (unsigned)key))
        complain("a reply of %zu bytes is not what was sent\n", nbytes);
    replies++;
}

static void on_notice(gex_Token_t token, gex_AM_Arg_t key)
{
    (void)token;
    if (key != 77)
        complain("a notice has the argument %d\n", key);
    notices++;
}

static void on_long_notice(gex_Token_t token, void *payload, size_t nbytes, gex_AM_Arg_t key)
{
    (void)payload;
    if (nbytes)
        complain("a Long without a payload has %zu bytes\n", nbytes);
    on_notice(token, key);
}

static void register_at(gex_EP_t ep)
{
    const gex_Flags_t shorts = GEX_FLAG_AM_SHORT, mediums = GEX_FLAG_AM_MEDIUM,
                      longs = GEX_FLAG_AM_LONG, request = GEX_FLAG_AM_REQUEST,
                      reply = GEX_FLAG_AM_REPLY;
    gex_AM_Entry_t table[] = {
        {H_REQUEST_SHORT, (gex_AM_Fn_t)on_request_short, shorts | request, 1, NULL, "short"},
        {H_REQUEST_MEDIUM, (gex_AM_Fn_t)on_request_medium, mediums | request, 1, NULL, "medium"},
        {H_REQUEST_LONG, (gex_AM_Fn_t)on_request_long, longs | request, 1, NULL, "long"},
        {H_REPLY_SHORT, (gex_AM_Fn_t)on_reply_short, shorts | reply, 1, NULL, "short reply"},
        {H_REPLY_MEDIUM, (gex_AM_Fn_t)on_reply_payload, mediums | reply, 1, NULL, "medium reply"},
        {H_REPLY_LONG, (gex_AM_Fn_t)on_reply_payload, longs | reply, 1, NULL, "long reply"},
        {H_NOTICE, (gex_AM_Fn_t)on_notice, shorts | GEX_FLAG_AM_REQREP, 1, NULL, "notice"},
        {H_LONG_NOTICE, (gex_AM_Fn_t)on_long_notice, longs | request, 1, NULL, "long notice"}};
    if (gex_EP_RegisterHandlers(ep, table, sizeof table / sizeof table[0]) != GASNET_OK)
        complain("handlers are refused\n");
}

// ---- the job ----

// Rank 0 chooses identity A and tells it to rank 1; rank 2 chooses one of its own.
static void choose_identity(void)
{
    if (me != 1 && getrandom(&identity, sizeof identity, 0) != sizeof identity)
        complain("there are no random bytes\n");
    if (me == 0)
        gex_AM_RequestMedium0(tm, 1, H_IDENTITY, &identity, sizeof identity, GEX_EVENT_NOW, 0);
    if (me == 1)
        GASNET_BLOCKUNTIL(has_identity);
}

static void make_endpoint(int i, const gasnetx_identity_t *accepts)
{
    if (gasnetx_EP_Create(&own[i], client, GEX_EP_CAPABILITY_ALL, 0, accepts) != GASNET_OK ||
        gex_EP_QueryIndex(own[i]) != i)
        complain("endpoint %d is not made\n", i);
    register_at(own[i]);
}

static void make_segment(void)
{
    gex_Segment_t made;
    if (gex_Segment_Create(&made, client, NULL, SEGMENT, GEX_MK_HOST, 0) != GASNET_OK ||
        gex_EP_BindSegment(own[1], made, 0) != GASNET_OK ||
        gex_EP_PublishBoundSegment(tm, &own[1], 1, 0) != GASNET_OK)
        complain("the segment of endpoint 1 is refused\n");
    for (gex_Rank_t r = 0; r < 3; r++)
        gex_EP_QueryBoundSegmentNB(gex_TM_Pair(own[1], 1), r, (void **)&segments[r], NULL, NULL,
                                   GEX_FLAG_IMMEDIATE);
}

static void start(int *argc, char ***argv)
{
    gex_AM_Entry_t table[] = {{H_IDENTITY, (gex_AM_Fn_t)on_identity,
                               GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL, "identity"}};
    gex_Segment_t attached;
    if (gex_Client_Init(&client, &primordial, &tm, "IDENTITIES", argc, argv,
                        GEX_FLAG_USES_GASNET1) != GASNET_OK ||
        gex_TM_QuerySize(tm) != 3)
        exit(3);
    me = gex_TM_QueryRank(tm);
    gex_EP_RegisterHandlers(primordial, table, 1);
    register_at(primordial);
    if (gex_Segment_Attach(&attached, tm, GASNET_PAGESIZE) != GASNET_OK)
        gasnet_exit(3);
    own[0] = primordial;
    choose_identity();
    make_endpoint(1, &identity);
    make_endpoint(2, NULL);
    make_segment();
    barrier();
}

// Messages and operations that an endpoint of this process has dropped.
static uint64_t drops(int ep)
{
    const volatile gasnetx_counters_t *counters = gasnetx_Counters(own[ep]);
    gasnetx_Counters_Update();
    return gasnetx_counter(&counters->dropped[GASNETX_DROP_IDENTITY]);
}

// Waits until an endpoint has dropped so many, and finds that it drops no more.
static void await_drops(int ep, uint64_t wanted)
{
    const time_t end = time(NULL) + 60;
    while (drops(ep) < wanted && time(NULL) < end)
        gasnet_AMPoll();
    for (int i = 0; i < 1000; i++)
        gasnet_AMPoll();
    if (drops(ep) != wanted)
        complain("endpoint %d has dropped %lu, not %lu\n", ep, (unsigned long)drops(ep),
                 (unsigned long)wanted);
}

// ---- an endpoint that had an identity ----

// All ranks send to endpoint 1 of the next one: a Short, and a Long without a payload, since the
// endpoint has no segment.
static void again(void)
{
    const gex_TM_t pair = gex_TM_Pair(primordial, 1);
    gasnetx_EP_Destroy(own[1]);
    make_endpoint(1, NULL);
    barrier();
    gex_AM_RequestShort1(pair, (me + 1) % 3, H_NOTICE, 0, 77);
    gex_AM_RequestLong1(pair, (me + 1) % 3, H_LONG_NOTICE, NULL, 0, NULL, GEX_EVENT_NOW, 0, 77);
    GASNET_BLOCKUNTIL(notices == 2);
    barrier();
}

// ---- between endpoints of one identity ----

static void messages(gex_Rank_t to)
{
    static const size_t sizes[] = {0, 1, 8, 100, 4096, 65536, 100003, HALF};
    const gex_TM_t pair = gex_TM_Pair(own[1], 1);
    int sent = 0;
    requests = replies = 0;
    barrier();
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0] && me < 2; i++) {
        fill(buffer, sizes[i], i + me);
        gex_AM_RequestShort1(pair, to, H_REQUEST_SHORT, 0, 1);
        sent++;
        if (sizes[i] <= gex_AM_LUBRequestMedium() && sizes[i] <= gex_AM_LUBReplyMedium()) {
            gex_AM_RequestMedium1(pair, to, H_REQUEST_MEDIUM, buffer, sizes[i], GEX_EVENT_NOW, 0,
                                  (gex_AM_Arg_t)(i + me));
            gex_AM_SrcDesc_t sd =
                gex_AM_PrepareRequestMedium(pair, to, NULL, sizes[i], sizes[i], NULL, 0, 1);
            memcpy(gex_AM_SrcDescAddr(sd), buffer, sizes[i]);
            gex_AM_CommitRequestMedium1(sd, H_REQUEST_MEDIUM, sizes[i], (gex_AM_Arg_t)(i + me));
            sent += 2;
        }
        if (sizes[i] <= gex_AM_LUBRequestLong() && sizes[i] <= gex_AM_LUBReplyLong()) {
            gex_AM_RequestLong1(pair, to, H_REQUEST_LONG, buffer, sizes[i], segments[to],
                                GEX_EVENT_NOW, 0, (gex_AM_Arg_t)(i + me));
            sent++;
        }
        GASNET_BLOCKUNTIL(replies == sent); // the next Long goes to the same place
    }
    barrier();
    if (me < 2 && requests != sent)
        complain("%d requests came, not %d\n", requests, sent);
}

static void puts_and_gets(gex_Rank_t to)
{
    static const size_t sizes[] = {0, 1, 8, 4096, 65537, HALF};
    const gex_TM_t pair = gex_TM_Pair(own[1], 1);
    char *back = malloc(HALF);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0] && me < 2; i++) {
        fill(buffer, sizes[i], 3 * i + me);
        memset(back, 0, HALF);
        gex_RMA_PutBlocking(pair, to, segments[to], buffer, sizes[i], 0);
        gex_Event_Wait(gex_RMA_GetNB(pair, back, to, segments[to], sizes[i], 0));
        if (!is_filled(back, sizes[i], 3 * i + me))
            complain("%zu bytes are not what was put\n", sizes[i]);
        fill(buffer, sizes[i], 5 * i + me);
        gex_RMA_PutNBI(pair, to, segments[to] + HALF, buffer, sizes[i], GEX_EVENT_DEFER, 0);
        gex_NBI_Wait(GEX_EC_ALL, 0);
        gex_RMA_GetNBI(pair, back, to, segments[to] + HALF, sizes[i], 0);
        gex_NBI_Wait(GEX_EC_ALL, 0);
        if (!is_filled(back, sizes[i], 5 * i + me))
            complain("%zu bytes are not what was put\n", sizes[i]);
    }
    free(back);
    barrier();
}

static void strided(gex_Rank_t to)
{
    const gex_TM_t pair = gex_TM_Pair(own[1], 1);
    const ptrdiff_t wide[] = {64}, narrow[] = {16};
    const size_t count[] = {20};
    char back[20 * 16];
    if (me < 2) {
        fill(buffer, sizeof back, 11 + me);
        gex_VIS_StridedPutBlocking(pair, to, segments[to], wide, buffer, narrow, 16, count, 1, 0);
        gex_VIS_StridedGetBlocking(pair, back, narrow, to, segments[to], wide, 16, count, 1, 0);
        if (!is_filled(back, sizeof back, 11 + me))
            complain("a strided put and get change the bytes\n");
    }
    barrier();
}

// A put of each size with a counter and a handler.
static void notify(gex_Rank_t to)
{
    static const size_t sizes[] = {0, 8, 4096, 100003};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    const gex_TM_t pair = gex_TM_Pair(own[1], 1);
    uint64_t *counter = (uint64_t *)(void *)(segments[me < 2 ? to : me] + HALF);
    const gasnetx_notice_t notice = {
        .counter = counter, .add = 3, .handler = H_NOTICE, .nargs = 1, .args = {77}};
    memset(segments[me] + HALF, 0, sizeof *counter);
    notices = 0;
    barrier();
    for (unsigned i = 0; i < SIZES && me < 2; i++) {
        gex_Event_t event;
        fill(buffer, sizes[i], i + me);
        if (gasnetx_RMA_PutNotifyBlocking(pair, to, segments[to], buffer, sizes[i], &notice, 0) ||
            gasnetx_RMA_PutNotifyNB(pair, to, segments[to], buffer, sizes[i], &notice,
                                    GEX_EVENT_NOW, &event, 0))
            complain("a put that notifies is refused\n");
        else
            gex_Event_Wait(event);
    }
    if (me < 2)
        GASNET_BLOCKUNTIL(notices == 2 * SIZES);
    barrier();
    if (me < 2 && __atomic_load_n((uint64_t *)(void *)(segments[me] + HALF), __ATOMIC_ACQUIRE) !=
                      (uint64_t)6 * SIZES)
        complain("the counter of the notices is wrong\n");
    if (me < 2 && !is_filled(segments[me], sizes[SIZES - 1], SIZES - 1 + to))
        complain("the bytes of the puts are wrong\n");
    barrier();
}

// The team of endpoint 1 of these ranks, from 0 on; GEX_TM_INVALID: it is refused.
static gex_TM_t make_team(gex_Rank_t size)
{
    gex_EP_Location_t members[] = {{0, 1}, {1, 1}, {2, 1}};
    gex_TM_t team = tm;
    gex_TM_Create(&team, me < size, tm, members, me < size ? size : 0, NULL, 0,
                  GEX_FLAG_TM_NO_SCRATCH);
    return team;
}

// Atomics and collectives of the two endpoints of identity A.
static void team_works(void)
{
    const gex_TM_t team = make_team(2);
    const uint64_t mine = me + 1;
    uint64_t old[2] = {0}, sum = 0;
    gex_AD_t ad;
    memset(segments[me], 0, 64);
    barrier();
    if (me < 2) {
        gex_AD_Create(&ad, team, GEX_DT_U64, GEX_OP_ADD | GEX_OP_FADD, 0);
        for (gex_Rank_t r = 0; r < 2; r++) {
            gex_Event_Wait(gex_AD_OpNB_U64(ad, NULL, r, segments[r], GEX_OP_ADD, 5, 0, 0));
            gex_AD_OpNBI_U64(ad, &old[r], r, segments[r], GEX_OP_FADD, 5, 0, 0);
            gex_NBI_Wait(GEX_EC_ALL, 0);
            if (old[r] != 5 && old[r] != 10 && old[r] != 15)
                complain("the old value of rank %u was %lu\n", r, (unsigned long)old[r]);
        }
        gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &sum, &mine, GEX_DT_U64, sizeof mine, 1,
                                              GEX_OP_ADD, NULL, NULL, 0));
        if (sum != 3 || *(uint64_t *)(void *)segments[me] != 20)
            complain("the sum is %lu\n", (unsigned long)sum);
        gex_AD_Destroy(ad);
        gex_TM_Destroy(team, NULL, 0);
    }
    barrier();
}

static void accept_all(void)
{
    const gex_Rank_t to = 1 - me;
    messages(to);
    puts_and_gets(to);
    strided(to);
    notify(to);
    team_works();
    if (drops(1) || drops(2))
        complain("%lu and %lu were dropped\n", (unsigned long)drops(1), (unsigned long)drops(2));
}

// ---- between endpoints of different identities ----

static void send_each(gex_TM_t pair, gex_Rank_t to, int times)
{
    const size_t most = gex_AM_LUBRequestLong(), large = HALF < most ? HALF : most;

    for (int i = 0; i < times; i++) {
        gex_AM_RequestShort1(pair, to, H_REQUEST_SHORT, 0, 0);
        gex_AM_RequestMedium1(pair, to, H_REQUEST_MEDIUM, buffer, 1000, GEX_EVENT_NOW, 0, 0);
        gex_AM_RequestLong1(pair, to, H_REQUEST_LONG, buffer, 64, segments[to], GEX_EVENT_NOW, 0,
                            0);
        gex_AM_RequestLong1(pair, to, H_REQUEST_LONG, buffer, large, segments[to], GEX_EVENT_NOW, 0,
                            0);
    }
}

// From another identity, from none and from the primordial endpoint to A; from A to none and to the
// primordial endpoint.
static void drop_messages(uint64_t dropped[3])
{
    requests = 0;
    memset(segments[me], 0, SEGMENT);
    memset(buffer, 1, sizeof buffer);
    barrier();
    if (me == 2) {
        send_each(gex_TM_Pair(own[1], 1), 0, 5);
        send_each(gex_TM_Pair(own[2], 1), 0, 3);
        send_each(gex_TM_Pair(primordial, 1), 0, 2);
    }
    if (me == 1) {
        send_each(gex_TM_Pair(own[1], 1), 2, 1);
        gex_AM_RequestShort1(gex_TM_Pair(own[1], 2), 2, H_REQUEST_SHORT, 0, 0);
        gex_AM_RequestShort1(gex_TM_Pair(own[1], 0), 2, H_REQUEST_SHORT, 0, 0);
    }
    if (me == 0)
        dropped[1] += 40;
    if (me == 2)
        dropped[0]++, dropped[1] += 4, dropped[2]++;
    for (int ep = 0; ep < 3; ep++)
        await_drops(ep, dropped[ep]);
    barrier();
    if (requests)
        complain("%d messages came through\n", requests);
    for (size_t i = 0; i < SEGMENT; i++)
        if (segments[me][i]) {
            complain("byte %zu of the segment has changed\n", i);
            break;
        }
}

static void expect_error(const char *what, int reason)
{
    gasnetx_error_t error;
    if (gasnetx_Error_Next(&error) != GASNET_OK)
        complain("%s: there is no error\n", what);
    else if (error.reason != reason || error.rank != 0)
        complain("%s: the error of %s has reason %d, not %d, and rank %u\n", what, error.operation,
                 error.reason, reason, error.rank);
    if (gasnetx_Error_Next(&error) == GASNET_OK)
        complain("%s: a second error, of %s\n", what, error.operation);
}

static void refused_accesses(gex_TM_t pair, char *at, int reason)
{
    char mine[64] = "mine", same[64] = "mine";
    const ptrdiff_t stride[] = {32};
    const size_t count[] = {1};
    gex_RMA_PutBlocking(pair, 0, at, mine, sizeof mine, 0);
    expect_error("put", reason);
    gex_RMA_GetBlocking(pair, mine, 0, at, sizeof mine, 0);
    expect_error("get", reason);
    gex_RMA_PutNBI(pair, 0, at, mine, sizeof mine, GEX_EVENT_NOW, 0);
    gex_NBI_Wait(GEX_EC_ALL, 0);
    expect_error("implicit put", reason);
    gex_Event_Wait(gex_RMA_GetNB(pair, mine, 0, at, 1, 0));
    expect_error("explicit get", reason);
    gex_VIS_StridedPutBlocking(pair, 0, at, stride, mine, stride, 32, count, 1, 0);
    expect_error("strided put", reason);
    if (memcmp(mine, same, sizeof mine) != 0)
        complain("a get that was refused has changed memory\n");
}

// A put that notifies, from another identity and from none.
static void refused_notices(void)
{
    const gasnetx_notice_t notice = {
        .counter = (uint64_t *)(void *)segments[0], .add = 1, .handler = H_NOTICE, .nargs = 1};
    if (gasnetx_RMA_PutNotifyBlocking(gex_TM_Pair(own[1], 1), 0, segments[0], buffer, 8, &notice,
                                      0) != GASNET_OK)
        complain("a put that notifies is not sent\n");
    expect_error("put with a notice", GASNETX_ERROR_IDENTITY);
    if (gasnetx_RMA_PutNotifyBlocking(gex_TM_Pair(own[1], 1), 0, segments[0], buffer, 0, &notice,
                                      0) != GASNET_OK)
        complain("a notice is not sent\n");
    expect_error("notice", GASNETX_ERROR_IDENTITY);
    gex_System_SetVerboseErrors(0);
    if (gasnetx_RMA_PutNotifyBlocking(gex_TM_Pair(own[2], 1), 0, segments[0], buffer, 8, &notice,
                                      0) != GASNET_ERR_BAD_ARG)
        complain("a put that notifies is not refused\n");
    gex_System_SetVerboseErrors(1);
}

// Other identities are refused by the target, which counts them; the rest by the initiator.
static void drop_accesses(uint64_t dropped[3])
{
    memset(segments[me], 0, SEGMENT);
    barrier();
    if (me == 2) {
        refused_accesses(gex_TM_Pair(own[1], 1), segments[0], GASNETX_ERROR_IDENTITY);
        refused_accesses(gex_TM_Pair(own[2], 1), segments[0], GASNETX_ERROR_IDENTITY);
        refused_accesses(tm, segments[0], GASNETX_ERROR_OUTSIDE);
        refused_notices();
    }
    if (me == 1)
        refused_accesses(gex_TM_Pair(own[1], 1), segments[0] + SEGMENT, GASNETX_ERROR_OUTSIDE);
    if (me == 0)
        dropped[1] += 7;
    gex_System_SetVerboseErrors(0);
    if (make_team(3) != GEX_TM_INVALID)
        complain("there is a team of different identities\n");
    gex_System_SetVerboseErrors(1);
    barrier();
    await_drops(1, dropped[1]);
    for (size_t i = 0; i < SEGMENT; i++)
        if (segments[me][i]) {
            complain("byte %zu of the segment has changed\n", i);
            break;
        }
    barrier();
}

// Messages of the library, with tags that rank 2 makes up.
static void forge(uint64_t dropped[3])
{
    const gex_AM_Arg_t route = 1 << 20 | 1 << 8; // from endpoint 1 to endpoint 1
    const pushed_t pushed = {.dest = segments[0],
                             .nbytes = 8,
                             .from = 1,
                             .to = 1,
                             .handler = H_REQUEST_LONG,
                             .nargs = 1};
    barrier();
    for (int i = 0; i < 4 && me == 2; i++) {
        const gex_AM_Arg_t tag = i == 0 ? 0 : i == 1 ? -1 : rand();
        gex_AM_RequestShort4(tm, 0, H_ROUTE_TAGGED, 0, route | H_REQUEST_SHORT, tag, rand(), 0);
        gex_AM_RequestShort1(tm, 0, H_ROUTE, 0, route | H_REQUEST_SHORT);
        gex_AM_RequestMedium3(tm, 0, H_ROUTE_TAGGED, &pushed, sizeof pushed, GEX_EVENT_NOW, 0,
                              route | H_LONG_FRAGMENTED, tag, rand());
    }
    if (me == 0)
        dropped[1] += 12;
    await_drops(1, dropped[1]);
    barrier();
    if (requests)
        complain("%d forged messages came through\n", requests);
}

static void drop_many(uint64_t dropped[3], int count)
{
    for (int i = 0; i < count && me == 2; i++)
        gex_AM_RequestShort1(gex_TM_Pair(own[1], 1), 0, H_REQUEST_SHORT, 0, 0);
    if (me == 0)
        dropped[1] += (uint64_t)count;
    await_drops(1, dropped[1]);
    barrier();
}

// The job ends with a sentence.
static void end_job(const char *operation, const char *way)
{
    const gex_TM_t pair = gex_TM_Pair(own[strcmp(way, "none") == 0 ? 2 : 1], 1);
    const gex_Rank_t actor = strcmp(way, "same") == 0 ? 1 : 2;
    char *at = segments[0] + (actor == 1 ? SEGMENT : 0);
    const time_t end = time(NULL) + LINGER_SECONDS;
    if (me == actor && strcmp(operation, "put") == 0)
        gex_RMA_PutBlocking(pair, 0, at, buffer, 8, 0);
    else if (me == actor)
        gex_RMA_GetBlocking(pair, buffer, 0, at, 8, 0);
    while (time(NULL) < end)
        gasnet_AMPoll();
    printf("went on\n");
}

int main(int argc, char **argv)
{
    uint64_t dropped[3] = {0};
    const char *what = argc > 1 ? argv[1] : "";
    start(&argc, &argv);
    if (strcmp(what, "accept") == 0)
        accept_all();
    else if (strcmp(what, "drop") == 0)
        drop_messages(dropped), drop_accesses(dropped), messages(1 - me), puts_and_gets(1 - me);
    else if (strcmp(what, "forge") == 0)
        forge(dropped);
    else if (strcmp(what, "again") == 0)
        again();
    else if (strcmp(what, "drops") == 0)
        drop_many(dropped, argc > 2 ? atoi(argv[2]) : 0);
    else
        end_job(what, argc > 2 ? argv[2] : "");
    barrier();
    printf("rank %u: %lu drops, %lu complaints\n", me,
           (unsigned long)(dropped[0] + dropped[1] + dropped[2]), complaints);
    fflush(stdout);
    if (complaints)
        gasnet_exit(1);
    barrier();
    gasnet_exit(0);
    return 0;
}
