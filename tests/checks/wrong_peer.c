/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wrong_peer: a job of 2 ranks in which rank 1 sends one message that no correct library sends.
 * Rank 0 has to end the job with one sentence that names rank 1, and to leave memory outside of its
 * segment as it was.
 *   wrong_peer --list          prints a line for each mode: NAME PATTERN
 *   wrong_peer MODE GUARD      runs it; GUARD is a file of GUARD_BYTES bytes, which rank 0 maps as
 * the memory that must not change. Prints "went on" where nobody complained. The library of a build
 * without debug checks sends whatever the client asks for, so that this client can play a peer that
 * is wrong.
 */
#include "../core/endpoint/pushed_long.h"
#include "wrong_peer.h"

#include <fcntl.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

gex_TM_t tm;
gex_Rank_t me;
const wrong_mode_t *mode;
char bytes[GUARD_BYTES];
static char *guard;   // of rank 0, in both ranks
static char *segment; // of rank 0, in both ranks

// ---- client messages ----

static void am_unregistered(void)
{
    gex_AM_RequestShort0(tm, 0, H_NONE, 0);
}

static void am_arguments(void)
{
    gex_AM_RequestShort2(tm, 0, H_SHORT, 0, 1, 2);
}

static void am_category(void)
{
    gex_AM_RequestShort0(tm, 0, H_MEDIUM, 0);
}

static void am_request_to_reply(void)
{
    gex_AM_RequestShort0(tm, 0, H_REPLY, 0);
}

static void am_reply_to_request(gex_Token_t to)
{
    gex_AM_ReplyShort1(to, H_SHORT, 0, 1);
}

static void am_long_outside(void)
{
    gex_AM_RequestLong0(tm, 0, H_LONG, bytes, 64, guard, GEX_EVENT_NOW, 0);
}

static void am_long_across(void)
{
    gex_AM_RequestLong0(tm, 0, H_LONG, bytes, 64, segment + SEGMENT - 63, GEX_EVENT_NOW, 0);
}

static void am_long_before(void)
{
    gex_AM_RequestLong0(tm, 0, H_LONG, bytes, 64, segment - 1, GEX_EVENT_NOW, 0);
}

static void am_long_reply(gex_Token_t to)
{
    gex_AM_ReplyLong0(to, H_LONG, bytes, 64, guard, GEX_EVENT_NOW, 0);
}

// ---- put and get ----

static void put_outside(void)
{
    gex_AM_RequestLong2(tm, 0, H_PUT, bytes, 64, guard, GEX_EVENT_NOW, 0, 0, 1);
}

static void get_outside(void)
{
    gex_AM_RequestShort5(tm, 0, H_GET, 0, BOTH(guard), 64, BOTH(1));
}

static void get_too_long(void)
{
    gex_AM_RequestShort5(tm, 0, H_GET, 0, BOTH(segment), SEGMENT, BOTH(1));
}

static void get_negative(void)
{
    gex_AM_RequestShort5(tm, 0, H_GET, 0, BOTH(segment), -1, BOTH(1));
}

static void put_done_forged(gex_Token_t to)
{
    gex_AM_ReplyShort2(to, H_PUT_DONE, 0, BOTH(guard));
}

static void get_done_forged(gex_Token_t to)
{
    gex_AM_ReplyMedium2(to, H_GET_DONE, bytes, 64, GEX_EVENT_NOW, 0, BOTH(guard));
}

// What the first operation of a process was given, and what it would be given next.
#define SECOND ((uint64_t)2 << 32)

static void get_first(void)
{
    static char here[64];
    void *there;
    gex_Segment_QueryBound(tm, 1, &there, NULL, NULL);
    gex_RMA_GetBlocking(tm, here, 1, there, sizeof here, 0);
}

static void get_done_twice(gex_Token_t to)
{
    gex_AM_ReplyMedium2(to, H_GET_DONE, bytes, 64, GEX_EVENT_NOW, 0, BOTH(FIRST));
}

static void get_done_guessed(gex_Token_t to)
{
    gex_AM_ReplyMedium2(to, H_GET_DONE, bytes, 64, GEX_EVENT_NOW, 0, BOTH(SECOND));
}

// ---- atomics ----

static void atomic(int32_t op, int32_t type, const void *at)
{
    gex_AM_RequestShort10(tm, 0, H_ATOMIC, 0, op, type, BOTH(at), BOTH(1), BOTH(2), BOTH(1));
}

static void atomic_outside(void)
{
    atomic((int32_t)GEX_OP_ADD, (int32_t)GEX_DT_U64, guard);
}

static void atomic_across(void)
{
    atomic((int32_t)GEX_OP_ADD, (int32_t)GEX_DT_U64, segment + SEGMENT - 4);
}

static void atomic_unaligned(void)
{
    atomic((int32_t)GEX_OP_ADD, (int32_t)GEX_DT_U64, segment + 4);
}

static void atomic_type(void)
{
    atomic((int32_t)GEX_OP_ADD, 0x7f, segment);
}

static void atomic_op(void)
{
    atomic((int32_t)GEX_OP_AND, (int32_t)GEX_DT_DBL, segment);
}

static void atomic_two_ops(void)
{
    atomic((int32_t)(GEX_OP_ADD | GEX_OP_SUB), (int32_t)GEX_DT_U64, segment);
}

static void atomic_done_forged(gex_Token_t to)
{
    gex_AM_ReplyShort2(to, H_ATOMIC_DONE, 0, BOTH(guard));
}

static void atomic_fetched_forged(gex_Token_t to)
{
    gex_AM_ReplyShort4(to, H_ATOMIC_FETCHED, 0, BOTH(1), BOTH(guard));
}

// ---- non-contiguous transfers ----

typedef struct run {
    uint64_t addr;
    int64_t stride;
    uint32_t nbytes, count;
} run_t;

static void vis_put(const void *at, int64_t stride, uint32_t count)
{
    char message[sizeof(run_t) + 64] = {0};
    const run_t run = {(uintptr_t)at, stride, 8, count};
    memcpy(message, &run, sizeof run);
    gex_AM_RequestMedium4(tm, 0, H_VIS_PUT, message, sizeof run + (size_t)8 * count, GEX_EVENT_NOW,
                          0, 1, 0, BOTH(1));
}

static void vis_put_outside(void)
{
    vis_put(guard, 8, 2);
}

static void vis_put_stride(void)
{
    vis_put(segment, (int64_t)1 << 40, 2);
}

static void vis_put_endpoint(void)
{
    const run_t run = {(uintptr_t)segment, 0, 8, 1};
    char message[sizeof run + 8] = {0};
    memcpy(message, &run, sizeof run);
    gex_AM_RequestMedium4(tm, 0, H_VIS_PUT, message, sizeof message, GEX_EVENT_NOW, 0, 1, 0x100,
                          BOTH(1));
}

static void vis_get_outside(void)
{
    const run_t run = {(uintptr_t)guard, 0, 8, 1};
    gex_AM_RequestMedium4(tm, 0, H_VIS_GET, &run, sizeof run, GEX_EVENT_NOW, 0, 1, 0, BOTH(1));
}

static void vis_get_runs(void)
{
    const run_t run = {(uintptr_t)segment, 0, 8, 1};
    gex_AM_RequestMedium4(tm, 0, H_VIS_GET, &run, sizeof run, GEX_EVENT_NOW, 0, 100, 0, BOTH(1));
}

static void vis_get_done_forged(gex_Token_t to)
{
    gex_AM_ReplyMedium2(to, H_VIS_GET_DONE, bytes, 64, GEX_EVENT_NOW, 0, BOTH(guard));
}

static void vis_notice_internal(void)
{
    gex_AM_RequestMedium2(tm, 0, H_VIS_NOTICE, bytes, 64, GEX_EVENT_NOW, 0, H_MEMSET_DONE, 0);
}

static void vis_notice_unregistered(void)
{
    gex_AM_RequestMedium2(tm, 0, H_VIS_NOTICE, bytes, 64, GEX_EVENT_NOW, 0, H_NONE, 0);
}

// ---- notices of puts ----

static void notice_outside(void)
{
    gex_AM_RequestShort6(tm, 0, H_NOTICE_COUNT, 0, BOTH(1), BOTH(guard), BOTH(1));
}

static void notice_misaligned(void)
{
    gex_AM_RequestShort6(tm, 0, H_NOTICE_COUNT, 0, BOTH(1), BOTH(segment + 4), BOTH(1));
}

static void notice_put_outside(void)
{
    gex_AM_RequestLong6(tm, 0, H_NOTICE_COUNT_PUT, bytes, 64, segment, GEX_EVENT_NOW, 0, BOTH(1),
                        BOTH(guard), BOTH(1));
}

static void notice_run(int32_t handler)
{
    gex_AM_RequestShort16(tm, 0, H_NOTICE_RUN, 0, BOTH(1), BOTH(0), BOTH(1), handler, 0, 1, 2, 3, 4,
                          5, 6, 7, 8);
}

static void notice_internal(void)
{
    notice_run(H_MEMSET_DONE);
}

static void notice_unregistered(void)
{
    notice_run(H_NONE);
}

static void notice_long(void)
{
    notice_run(9 << 8 | H_NONE);
}

// ---- collectives: the first broadcast of rank 0 awaits 64 bytes from rank 1 ----

static char broadcast[64];

static void begin_broadcast(void)
{
    gex_Event_t event = gex_Coll_BroadcastNB(tm, 1, broadcast, NULL, sizeof broadcast, 0);
    if (event == GEX_EVENT_INVALID)
        printf("the broadcast is complete\n");
}

// Longer than what is sent unasked.
static void begin_long_broadcast(void)
{
    static char all[1 << 18];
    (void)gex_Coll_BroadcastNB(tm, 1, all, NULL, sizeof all, 0);
}

static void coll_part(int32_t row, int32_t part, size_t nbytes)
{
    gex_AM_RequestMedium5(tm, 0, H_COLL_PART, bytes, nbytes, GEX_EVENT_NOW, 0, BOTH(TEAM), 1, row,
                          part);
}

static void coll_row(void)
{
    coll_part(1000, 0, 64);
}

static void coll_early_row(void)
{
    coll_row();
    gex_AM_RequestShort1(tm, 0, H_SHORT, 0, 0); // does not overtake
}

static void coll_twice(void)
{
    coll_part(0, 0, 64);
    coll_part(0, 0, 64);
}

static void coll_part_number(void)
{
    coll_part(0, 1 << 20, 64);
}

static void coll_too_long(void)
{
    coll_part(0, 0, 65);
}

static void coll_too_short(void)
{
    coll_part(0, 0, 63);
}

static void coll_not_ready(void)
{
    gex_AM_RequestShort3(tm, 0, H_COLL_READY, 0, BOTH(TEAM), 1);
}

// ---- barriers ----

static void barrier_round(void)
{
    gex_AM_RequestShort6(tm, 0, H_BARRIER, 0, BOTH(TEAM), 1, 1000000, BOTH(0));
}

static void barrier_next_round(void)
{
    gex_AM_RequestShort6(tm, 0, H_BARRIER, 0, BOTH(TEAM), 1, 1, BOTH(0));
}

static void barrier_phase(void)
{
    gex_AM_RequestShort6(tm, 0, H_BARRIER, 0, BOTH(TEAM), 1000, 0, BOTH(0));
}

// ---- gasnet_memset ----

typedef struct memset_request {
    void *dest;
    size_t nbytes;
    uint64_t cookie;
    int val;
} memset_request_t;

static void memset_outside(void)
{
    const memset_request_t request = {guard, 64, 1, 0};
    gex_AM_RequestMedium0(tm, 0, H_MEMSET, &request, sizeof request, GEX_EVENT_NOW, 0);
}

static void memset_across(void)
{
    const memset_request_t request = {segment + 1, SEGMENT, 1, 0};
    gex_AM_RequestMedium0(tm, 0, H_MEMSET, &request, sizeof request, GEX_EVENT_NOW, 0);
}

static void memset_cut_off(void)
{
    const memset_request_t request = {segment, 64, 1, 0};
    gex_AM_RequestMedium0(tm, 0, H_MEMSET, &request, 8, GEX_EVENT_NOW, 0);
}

static void memset_done_forged(gex_Token_t to)
{
    const uint64_t cookie = (uintptr_t)guard;
    gex_AM_ReplyMedium0(to, H_MEMSET_DONE, &cookie, sizeof cookie, GEX_EVENT_NOW, 0);
}

static void memset_done_cut_off(gex_Token_t to)
{
    gex_AM_ReplyMedium0(to, H_MEMSET_DONE, bytes, 0, GEX_EVENT_NOW, 0);
}

// ---- further endpoints ----

static void route_missing(void)
{
    gex_AM_RequestShort0(tm, 0, H_ROUTE, 0);
}

// To endpoint 0, for the library's own handler of puts.
static void route_twice(void)
{
    gex_AM_RequestShort1(tm, 0, H_ROUTE, 0, 1 << 8 | H_ROUTE);
}

// Beyond the indices of endpoints.
static void route_from_beyond(void)
{
    gex_AM_RequestShort1(tm, 0, H_ROUTE, 0, 1024 << 8 | H_PUT_DONE);
}

static void route_to_beyond(void)
{
    gex_AM_RequestShort1(tm, 0, H_ROUTE, 0, 1024 << 20 | H_PUT_DONE);
}

static void route_unregistered(void)
{
    gex_AM_RequestShort1(tm, 0, H_ROUTE, 0, 1 << 8 | H_NONE);
}

static void send_pushed(pushed_t message, size_t nbytes)
{
    gex_AM_RequestMedium0(tm, 0, H_LONG_FRAGMENTED, &message, nbytes, GEX_EVENT_NOW, 0);
}

static void pushed_outside(void)
{
    send_pushed((pushed_t){.dest = guard, .nbytes = 64, .handler = H_LONG}, sizeof(pushed_t));
}

static void pushed_across(void)
{
    send_pushed((pushed_t){.dest = segment + 1, .nbytes = SEGMENT, .handler = H_LONG},
                sizeof(pushed_t));
}

static void pushed_arguments(void)
{
    send_pushed((pushed_t){.dest = segment, .nbytes = 8, .handler = H_LONG, .nargs = 17},
                sizeof(pushed_t));
}

static void pushed_internal(void)
{
    send_pushed((pushed_t){.dest = segment, .nbytes = 8, .handler = H_PUT, .nargs = 2},
                sizeof(pushed_t));
}

static void pushed_cut_off(void)
{
    send_pushed((pushed_t){.dest = segment, .nbytes = 8, .handler = H_LONG}, 16);
}

// core/am/window_connect.c
typedef struct hello {
    uint16_t from, to;
    uint8_t conduit, verdict, zero[2];
    char description[64];
} hello_t;

static void send_hello(hello_t message, size_t nbytes)
{
    gex_AM_RequestMedium0(tm, 0, H_WINDOW, &message, nbytes, GEX_EVENT_NOW, 0);
}

static void hello_cut_off(void)
{
    send_hello((hello_t){.from = 1, .to = 1, .conduit = 1}, 8);
}

static void hello_primordial(void)
{
    send_hello((hello_t){.from = 1, .to = 0, .conduit = 1}, sizeof(hello_t));
}

static void hello_endpoint(void)
{
    send_hello((hello_t){.from = GASNET_MAXEPS, .to = 1, .conduit = 1}, sizeof(hello_t));
}

static void hello_conduit(void)
{
    send_hello((hello_t){.from = 1, .to = 1, .conduit = 7}, sizeof(hello_t));
}

static void hello_verdict(void)
{
    send_hello((hello_t){.from = 1, .to = 1, .conduit = 1, .verdict = 1}, sizeof(hello_t));
}

static void hello_unsolicited(gex_Token_t to)
{
    const hello_t answer = {.from = 1, .to = 1, .conduit = 1, .verdict = 1};
    gex_AM_ReplyMedium0(to, H_WINDOW, (void *)(uintptr_t)&answer, sizeof answer, GEX_EVENT_NOW, 0);
}

static void piece_outside(void)
{
    gex_AM_RequestLong2(tm, 0, H_LONG_PIECE, bytes, 64, guard, GEX_EVENT_NOW, 0, 0, 1);
}

static void piece_done_forged(gex_Token_t to)
{
    gex_AM_ReplyShort2(to, H_LONG_PIECE_DONE, 0, BOTH(guard));
}

void wrong_peer_stop(const char *why)
{
    printf("wrong_peer: %s\n", why);
    fflush(stdout);
    gasnet_exit(3);
}

// ---- the table ----

#define HELLO "a message of rank 1 about the window of endpoint [0-9]+ is none"
#define OUTSIDE "not inside a segment of this process"
// Conduit udp has a sentence of its own.
#define LONG                                                                                       \
    "(a Long of rank 1 .64 bytes to 0x[0-9a-f]+. is not inside a segment|rank 1 names 64 bytes "   \
    "at 0x[0-9a-f]+ of segment key [0-9]+ of rank 0, which are not in a segment)"
#define FORGED "for which no operation waits"

static const wrong_mode_t modes[] = {
    {"am-unregistered", "gex_AM_RequestShort of rank 1: handler 250 is not registered here",
     .request = am_unregistered},
    {"am-arguments", "gex_AM_RequestShort of rank 1: handler 102 short takes 1 arguments, 2",
     .request = am_arguments},
    {"am-category", "of rank 1: handler 103 medium is not registered for the category Short",
     .request = am_category},
    {"am-request-to-reply", "of rank 1: handler 105 reply is not registered for a request",
     .request = am_request_to_reply},
    {"am-reply-to-request", "of rank 1: handler 102 short is not registered for a reply",
     .reply = am_reply_to_request},
    {"am-long-outside", LONG, .request = am_long_outside},
    {"am-long-across", LONG, .request = am_long_across},
    {"am-long-before", LONG, .request = am_long_before},
    {"am-long-reply", LONG, .reply = am_long_reply},
    {"put-outside", LONG, .request = put_outside},
    {"get-outside", "a get of rank 1 .64 bytes at 0x[0-9a-f]+. is " OUTSIDE,
     .request = get_outside},
    {"get-too-long", "a get of rank 1 asks for 65536 bytes, and a message holds [0-9]+",
     .request = get_too_long},
    {"get-negative", "a get of rank 1 asks for 4294967295 bytes, and a message holds [0-9]+",
     .request = get_negative},
    {"put-done-forged", "rank 1 has answered a put " FORGED, .reply = put_done_forged},
    {"get-done-forged", "rank 1 has answered a get " FORGED, .reply = get_done_forged},
    {"get-done-twice", "rank 1 has answered a get " FORGED, .reply = get_done_twice,
     .before = get_first},
    {"get-done-guessed", "rank 1 has answered a get " FORGED, .reply = get_done_guessed,
     .before = get_first},
    {"atomic-outside", "an atomic of rank 1 .8 bytes at 0x[0-9a-f]+. is " OUTSIDE,
     .request = atomic_outside},
    {"atomic-across", "an atomic of rank 1 .8 bytes at 0x[0-9a-f]+. is not aligned",
     .request = atomic_across},
    {"atomic-unaligned", "an atomic of rank 1 .8 bytes at 0x[0-9a-f]+. is not aligned",
     .request = atomic_unaligned},
    {"atomic-type", "an atomic of rank 1 has no data type .0x7f.", .request = atomic_type},
    {"atomic-op", "an atomic of rank 1 has an operation .0x[0-9a-f]+. that GEX_DT_DBL does not",
     .request = atomic_op},
    {"atomic-two-ops", "an atomic of rank 1 has an operation .0x[0-9a-f]+. that GEX_DT_U64 does",
     .request = atomic_two_ops},
    {"atomic-done-forged", "rank 1 has answered an atomic " FORGED, .reply = atomic_done_forged},
    {"atomic-fetched-forged", "rank 1 has answered a fetching atomic " FORGED,
     .reply = atomic_fetched_forged},
    {"vis-put-outside", "transfer from rank 1 .* is wrong: a run is not inside the segment",
     .request = vis_put_outside},
    {"vis-put-stride", "transfer from rank 1 .* is wrong: a run is longer than the segment",
     .request = vis_put_stride},
    {"vis-put-endpoint", "transfer from rank 1 .* to endpoint 256 is wrong: a run is",
     .request = vis_put_endpoint},
    {"vis-get-outside", "transfer from rank 1 .* is wrong: a run is not inside the segment",
     .request = vis_get_outside},
    {"vis-get-runs", "transfer from rank 1 .* is wrong: the list of runs is cut off",
     .request = vis_get_runs},
    {"vis-get-done-forged", "rank 1 has answered a non-contiguous get " FORGED,
     .reply = vis_get_done_forged},
    {"vis-notice-internal",
     "a peer completion of rank 1 names handler 41, which is not a handler of the client",
     .request = vis_notice_internal},
    {"vis-notice-unregistered", "of rank 1: handler 250 is not registered here",
     .request = vis_notice_unregistered},
    {"notice-outside", "a notice of rank 1 has a counter at .*, which is not inside a segment",
     .request = notice_outside},
    {"notice-misaligned", "a notice of rank 1 has a counter at .*, which is not aligned to 8 bytes",
     .request = notice_misaligned},
    {"notice-put-outside", "a notice of rank 1 has a counter at .*, which is not inside a segment",
     .request = notice_put_outside},
    {"notice-internal", "a notice of rank 1 names handler 41 with 0 arguments, which is not",
     .request = notice_internal},
    {"notice-unregistered", "of rank 1: handler 250 is not registered here",
     .request = notice_unregistered},
    {"notice-long", "a notice of rank 1 names handler 250 with 9 arguments, which is not",
     .request = notice_long},
    {"coll-row", "a message of a collective from rank 1 is wrong", .request = coll_row,
     .before = begin_broadcast},
    {"coll-part", "a message of a collective from rank 1 is wrong", .request = coll_part_number,
     .before = begin_broadcast},
    {"coll-too-long", "a message of a collective from rank 1 is wrong", .request = coll_too_long,
     .before = begin_broadcast},
    {"coll-too-short", "a message of a collective from rank 1 is wrong", .request = coll_too_short,
     .before = begin_broadcast},
    {"coll-not-ready", "a message of a collective from rank 1 is wrong", .request = coll_not_ready,
     .before = begin_broadcast},
    {"coll-long-not-ready", "a message of a collective from rank 1 is wrong",
     .request = coll_not_ready, .before = begin_long_broadcast},
    {"coll-early-row", "a message of a collective from rank 1 is wrong", .request = coll_early_row,
     .after = begin_broadcast},
    {"coll-twice", "a message of a collective from rank 1 is wrong", .request = coll_twice,
     .before = begin_broadcast},
    {"barrier-round", "a message of a barrier from rank 1 is wrong", .request = barrier_round},
    {"barrier-next-round", "a message of a barrier from rank 1 is wrong",
     .request = barrier_next_round},
    {"barrier-phase", "a message of a barrier from rank 1 is wrong", .request = barrier_phase},
    {"memset-outside", "a memset of rank 1 .64 bytes at 0x[0-9a-f]+. is " OUTSIDE,
     .request = memset_outside},
    {"memset-across", "a memset of rank 1 .65536 bytes at 0x[0-9a-f]+. is " OUTSIDE,
     .request = memset_across},
    {"memset-cut-off", "a memset of rank 1 has 8 bytes of arguments", .request = memset_cut_off},
    {"memset-done-forged", "rank 1 has answered a memset " FORGED, .reply = memset_done_forged},
    {"route-missing", "a message of rank 1 to a further endpoint is none",
     .request = route_missing},
    {"route-twice", "a message from endpoint 1 of rank 1 has two headers", .request = route_twice},
    {"route-from-beyond", "of rank 1 goes from endpoint 1024 to endpoint 0, and indices are below",
     .request = route_from_beyond},
    {"route-to-beyond", "of rank 1 goes from endpoint 0 to endpoint 1024, and indices are below",
     .request = route_to_beyond},
    {"route-unregistered", "gex_AM_RequestShort of rank 1: handler 250 is not registered here",
     .request = route_unregistered},
    {"pushed-outside",
     "rank 1 announces a Long of 64 bytes at 0x[0-9a-f]+ to handler 104 .* not inside",
     .request = pushed_outside},
    {"pushed-across", "rank 1 announces a Long of 65536 bytes .* not inside",
     .request = pushed_across},
    {"pushed-arguments", "rank 1 announces a Long of .* with 17 arguments",
     .request = pushed_arguments},
    {"pushed-internal", "rank 1 announces a Long of .* to handler 1 ", .request = pushed_internal},
    {"pushed-cut-off", "rank 1 announces a Long of ", .request = pushed_cut_off},
    {"hello-cut-off", HELLO, .request = hello_cut_off},
    {"hello-primordial", HELLO, .request = hello_primordial},
    {"hello-endpoint", HELLO, .request = hello_endpoint},
    {"hello-conduit", HELLO, .request = hello_conduit},
    {"hello-verdict", HELLO, .request = hello_verdict},
    {"hello-not-asked", "rank 1 has answered for the window of its endpoint 1, which endpoint 1",
     .reply = hello_unsolicited},
    {"piece-outside", LONG, .request = piece_outside},
    {"piece-done-forged", "rank 1 has acknowledged a piece of a Long that was not sent",
     .reply = piece_done_forged},
    {"memset-done-cut-off", "the answer of rank 1 to a memset has 0 bytes",
     .reply = memset_done_cut_off},
};

enum { MODES = sizeof modes / sizeof modes[0] };

// ---- the job ----

static void on_guard(gex_Token_t token, gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    (void)token;
    guard = (char *)(uintptr_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}

static void on_act(gex_Token_t token)
{
    mode->reply(token);
}

static int arrived;

static void on_short(gex_Token_t token, gex_AM_Arg_t a)
{
    (void)token, (void)a;
    arrived = 1;
}

static void on_payload(gex_Token_t token, void *payload, size_t nbytes)
{
    (void)token, (void)payload, (void)nbytes;
}

static void on_reply(gex_Token_t token)
{
    (void)token;
}

static void start(int *argc, char ***argv)
{
    const gex_Flags_t request = GEX_FLAG_AM_REQUEST, reply = GEX_FLAG_AM_REPLY;
    gex_AM_Entry_t table[] = {
        {H_GUARD, (gex_AM_Fn_t)on_guard, GEX_FLAG_AM_SHORT | request, 2, NULL, "guard"},
        {H_ACT, (gex_AM_Fn_t)on_act, GEX_FLAG_AM_SHORT | request, 0, NULL, "act"},
        {H_SHORT, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_SHORT | request, 1, NULL, "short"},
        {H_MEDIUM, (gex_AM_Fn_t)on_payload, GEX_FLAG_AM_MEDIUM | request, 0, NULL, "medium"},
        {H_LONG, (gex_AM_Fn_t)on_payload, GEX_FLAG_AM_LONG | request | reply, 0, NULL, "long"},
        {H_REPLY, (gex_AM_Fn_t)on_reply, GEX_FLAG_AM_SHORT | reply, 0, NULL, "reply"}};
    gex_EP_t ep;
    gex_Segment_t mine;
    void *address = NULL;
    if (gex_Client_Init(NULL, &ep, &tm, "WRONG_PEER", argc, argv, GEX_FLAG_USES_GASNET1) !=
            GASNET_OK ||
        gex_TM_QuerySize(tm) != 2)
        wrong_peer_stop("no job of 2 ranks");
    me = gex_TM_QueryRank(tm);
    if (gex_EP_RegisterHandlers(ep, table, sizeof table / sizeof table[0]) != GASNET_OK ||
        !wrong_message_register() || gex_Segment_Attach(&mine, tm, SEGMENT) != GASNET_OK ||
        gex_Segment_QueryBound(tm, 0, &address, NULL, NULL) != GASNET_OK)
        wrong_peer_stop("the handlers or the segment are refused");
    segment = address;
}

static void map_guard(const char *file)
{
    const int fd = open(file, O_RDWR);
    void *at =
        fd < 0 ? MAP_FAILED : mmap(NULL, GUARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        wrong_peer_stop("the file of the guard cannot be mapped");
    guard = at;
}

// What comes ends the job, unless it is not found to be wrong.
static void linger(void)
{
    const time_t end = time(NULL) + LINGER_SECONDS;
    while (time(NULL) < end) {
        gasnet_AMPoll();
        if (arrived && mode->after)
            mode->after();
        arrived = 0;
    }
    printf("went on\n");
    fflush(stdout);
    _Exit(4);
}

static void run(const char *file)
{
    if (mode->both)
        mode->both();
    if (me == 0) {
        map_guard(file);
        if (mode->before)
            mode->before();
        gex_AM_RequestShort2(tm, 1, H_GUARD, 0, BOTH(guard));
        if (mode->reply)
            gex_AM_RequestShort0(tm, 1, H_ACT, 0);
    } else {
        GASNET_BLOCKUNTIL(guard != NULL);
        if (mode->request)
            mode->request();
    }
    linger();
}

static void modes_list(const wrong_mode_t *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%s %s\n", all[i].name, all[i].pattern);
}

static const wrong_mode_t *mode_find(const wrong_mode_t *all, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, all[i].name) == 0)
            return &all[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--list") == 0) {
        modes_list(modes, MODES);
        modes_list(wrong_message_modes, wrong_message_mode_count);
        modes_list(wrong_two_sided_modes, wrong_two_sided_mode_count);
        return 0;
    }
    mode = mode_find(modes, MODES, name);
    if (!mode)
        mode = mode_find(wrong_message_modes, wrong_message_mode_count, name);
    if (!mode)
        mode = mode_find(wrong_two_sided_modes, wrong_two_sided_mode_count, name);
    if (!mode || argc != 3) {
        fprintf(stderr, "usage: wrong_peer MODE GUARD; wrong_peer --list prints the modes\n");
        return 2;
    }
    start(&argc, &argv);
    run(argv[2]);
}
