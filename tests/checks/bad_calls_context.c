// SPDX-License-Identifier: BSD-3-Clause
// Calls at places where they are not allowed: CONTEXT/CALL. Put and get with wrong places:
// PLACE/CALL.
#include <gasnet_coll.h>

#include "bad_calls.h"

#include <stdio.h>
#include <string.h>

static char buffer[64];
static char name[128], pattern[256];

// ---- in a handler, with a lock held, between Prepare and Commit ----

static void request_short(void)
{
    gex_AM_RequestShort1(bad_tm, bad_other, BAD_H_SHORT, 0, 1);
}

static void request_medium(void)
{
    gex_AM_RequestMedium0(bad_tm, bad_other, BAD_H_MEDIUM, buffer, 8, GEX_EVENT_NOW, 0);
}

static void request_long(void)
{
    gex_AM_RequestLong0(bad_tm, bad_other, BAD_H_LONG, buffer, 8, bad_segment, GEX_EVENT_NOW, 0);
}

static void prepare_medium(void)
{
    gex_AM_PrepareRequestMedium(bad_tm, bad_other, NULL, 64, 64, NULL, 0, 0);
}

static void prepare_long(void)
{
    gex_AM_PrepareRequestLong(bad_tm, bad_other, NULL, 64, 64, NULL, NULL, 0, 0);
}

static void poll(void)
{
    gasnet_AMPoll();
}

// A condition that holds already needs no turn.
static void block_until(void)
{
    volatile int turns = 0;
    GASNET_BLOCKUNTIL(turns++ > 0);
}

static void event_wait(void)
{
    gex_Event_Wait(GEX_EVENT_INVALID);
}

static void event_test(void)
{
    gex_Event_Test(GEX_EVENT_INVALID);
}

static void wait_some(void)
{
    gex_Event_t event = GEX_EVENT_INVALID;
    gex_Event_WaitSome(&event, 1, 0);
}

static void wait_all(void)
{
    gex_Event_t event = GEX_EVENT_INVALID;
    gex_Event_WaitAll(&event, 1, 0);
}

static void test_some(void)
{
    gex_Event_t event = GEX_EVENT_INVALID;
    gex_Event_TestSome(&event, 1, 0);
}

static void test_all(void)
{
    gex_Event_t event = GEX_EVENT_INVALID;
    gex_Event_TestAll(&event, 1, 0);
}

static void nbi_wait(void)
{
    gex_NBI_Wait(GEX_EC_ALL, 0);
}

static void nbi_test(void)
{
    gex_NBI_Test(GEX_EC_ALL, 0);
}

static void begin_region(void)
{
    gex_NBI_BeginAccessRegion(0);
}

static void end_region(void)
{
    gex_NBI_EndAccessRegion(0);
}

static void barrier(void)
{
    gex_Coll_BarrierNB(bad_tm, 0);
}

static void broadcast(void)
{
    gex_Coll_BroadcastNB(bad_tm, 0, buffer, buffer, 8, 0);
}

static void reduce_one(void)
{
    gex_Coll_ReduceToOneNB(bad_tm, 0, buffer, buffer, GEX_DT_I32, 4, 1, GEX_OP_ADD, NULL, NULL, 0);
}

static void reduce_all(void)
{
    gex_Coll_ReduceToAllNB(bad_tm, buffer, buffer, GEX_DT_I32, 4, 1, GEX_OP_ADD, NULL, NULL, 0);
}

static void named_barrier(void)
{
    gasnet_barrier(1, 0);
}

static void barrier_notify(void)
{
    gasnet_barrier_notify(1, 0);
}

static void barrier_wait(void)
{
    gasnet_barrier_wait(1, 0);
}

static void barrier_try(void)
{
    gasnet_barrier_try(1, 0);
}

static void attach(void)
{
    gex_Segment_Attach(NULL, bad_tm, BAD_SEGMENT);
}

static void bound_segment(void)
{
    gex_EP_QueryBoundSegmentNB(bad_tm, bad_other, NULL, NULL, NULL, 0);
}

// ---- put and get; the place of the moment, in the memory of the other rank ----

static gex_Rank_t peer;
static char *place;
static uint64_t value;

static void put(void)
{
    gex_RMA_PutBlocking(bad_tm, peer, place, buffer, 8, 0);
}

static void put_nb(void)
{
    gex_Event_Wait(gex_RMA_PutNB(bad_tm, peer, place, buffer, 8, GEX_EVENT_NOW, 0));
}

static void put_nbi(void)
{
    gex_RMA_PutNBI(bad_tm, peer, place, buffer, 8, GEX_EVENT_NOW, 0);
}

static void put_value(void)
{
    gex_RMA_PutBlockingVal(bad_tm, peer, place, 7, 8, 0);
}

static void put_value_nb(void)
{
    gex_Event_Wait(gex_RMA_PutNBVal(bad_tm, peer, place, 7, 8, 0));
}

static void put_value_nbi(void)
{
    gex_RMA_PutNBIVal(bad_tm, peer, place, 7, 8, 0);
}

static void get(void)
{
    gex_RMA_GetBlocking(bad_tm, buffer, peer, place, 8, 0);
}

static void get_nb(void)
{
    gex_Event_Wait(gex_RMA_GetNB(bad_tm, buffer, peer, place, 8, 0));
}

static void get_nbi(void)
{
    gex_RMA_GetNBI(bad_tm, buffer, peer, place, 8, 0);
}

static void get_value(void)
{
    value = gex_RMA_GetBlockingVal(bad_tm, peer, place, 8, 0);
}

typedef struct named_call {
    const char *name;     // of the mode
    const char *function; // that the message names
    void (*call)(void);
} named_call_t;

// The header makes a put or get of memory out of one of a value, and the message names that.
static const named_call_t rma_calls[] = {
    {"gex_RMA_PutBlocking", "gex_RMA_PutBlocking", put},
    {"gex_RMA_PutNB", "gex_RMA_PutNB", put_nb},
    {"gex_RMA_PutNBI", "gex_RMA_PutNBI", put_nbi},
    {"gex_RMA_PutBlockingVal", "gex_RMA_PutBlocking", put_value},
    {"gex_RMA_PutNBVal", "gex_RMA_PutNB", put_value_nb},
    {"gex_RMA_PutNBIVal", "gex_RMA_PutNBI", put_value_nbi},
    {"gex_RMA_GetBlocking", "gex_RMA_GetBlocking", get},
    {"gex_RMA_GetNB", "gex_RMA_GetNB", get_nb},
    {"gex_RMA_GetNBI", "gex_RMA_GetNBI", get_nbi},
    {"gex_RMA_GetBlockingVal", "gex_RMA_GetBlocking", get_value}};

static const named_call_t context_calls[] = {
    {"gex_AM_RequestShort", NULL, request_short},
    {"gex_AM_RequestMedium", NULL, request_medium},
    {"gex_AM_RequestLong", NULL, request_long},
    {"gex_AM_PrepareRequestMedium", NULL, prepare_medium},
    {"gex_AM_PrepareRequestLong", NULL, prepare_long},
    {"gasnet_AMPoll", NULL, poll},
    {"GASNET_BLOCKUNTIL", NULL, block_until},
    {"gex_Event_Wait", NULL, event_wait},
    {"gex_Event_Test", NULL, event_test},
    {"gex_Event_WaitSome", NULL, wait_some},
    {"gex_Event_WaitAll", NULL, wait_all},
    {"gex_Event_TestSome", NULL, test_some},
    {"gex_Event_TestAll", NULL, test_all},
    {"gex_NBI_Wait", NULL, nbi_wait},
    {"gex_NBI_Test", NULL, nbi_test},
    {"gex_NBI_BeginAccessRegion", NULL, begin_region},
    {"gex_NBI_EndAccessRegion", NULL, end_region},
    {"gex_Coll_BarrierNB", NULL, barrier},
    {"gex_Coll_BroadcastNB", NULL, broadcast},
    {"gex_Coll_ReduceToOneNB", NULL, reduce_one},
    {"gex_Coll_ReduceToAllNB", NULL, reduce_all},
    {"gasnet_barrier", NULL, named_barrier},
    {"gasnet_barrier_notify", NULL, barrier_notify},
    {"gasnet_barrier_wait", NULL, barrier_wait},
    {"gasnet_barrier_try", NULL, barrier_try},
    {"gex_Segment_Attach", NULL, attach},
    {"gex_EP_QueryBoundSegmentNB", "gex_EP_QueryBoundSegmentNB without GEX_FLAG_IMMEDIATE",
     bound_segment},
    {"gex_RMA_PutBlocking", NULL, put},
    {"gex_RMA_PutNB", NULL, put_nb},
    {"gex_RMA_PutNBI", NULL, put_nbi},
    {"gex_RMA_GetBlocking", NULL, get},
    {"gex_RMA_GetNB", NULL, get_nb},
    {"gex_RMA_GetNBI", NULL, get_nbi},
};

enum {
    CONTEXT_CALLS = sizeof context_calls / sizeof context_calls[0],
    RMA_CALLS = sizeof rma_calls / sizeof rma_calls[0],
};

static const named_call_t *chosen;
static bad_call_t made;

static void good_place(void)
{
    peer = bad_other;
    place = bad_segment;
}

static void in_request(gex_Token_t token)
{
    (void)token;
    good_place();
    chosen->call();
}

static void with_lock(void)
{
    static gex_HSL_t lock = GEX_HSL_INITIALIZER;
    good_place();
    gex_HSL_Lock(&lock);
    chosen->call();
}

static void when_prepared(void)
{
    good_place();
    gex_AM_PrepareRequestMedium(bad_tm, bad_other, NULL, 64, 64, NULL, 0, 0);
    chosen->call();
}

static const struct {
    const char *name, *words;
    int rank;
    void (*call)(void);
    void (*in_request)(gex_Token_t token);
    void (*in_reply)(gex_Token_t token);
} contexts[] = {
    {"request-handler", "in a handler", 1, NULL, in_request, NULL},
    {"reply-handler", "in a handler", 0, NULL, NULL, in_request},
    {"lock", "with a handler-safe lock held \\(this thread holds 1\\)", 0, with_lock, NULL, NULL},
    {"prepared", "between a Prepare and its Commit or Cancel", 0, when_prepared, NULL, NULL},
};
enum { CONTEXTS = sizeof contexts / sizeof contexts[0] };

size_t bad_context_count(void)
{
    return (size_t)CONTEXTS * CONTEXT_CALLS;
}

const bad_call_t *bad_context_call(size_t number)
{
    size_t c = number / CONTEXT_CALLS;
    chosen = &context_calls[number % CONTEXT_CALLS];
    snprintf(name, sizeof name, "%s/%s", contexts[c].name, chosen->name);
    snprintf(pattern, sizeof pattern, "%s is not allowed %s",
             chosen->function ? chosen->function : chosen->name, contexts[c].words);
    made = (bad_call_t){name,
                        BAD_FATAL,
                        contexts[c].rank,
                        pattern,
                        contexts[c].call,
                        contexts[c].in_request,
                        contexts[c].in_reply};
    return &made;
}

static void call_at(char *where)
{
    peer = 1;
    place = where;
    bad_expect("8 bytes at %p are not inside the segment of rank 1 (%p to %p, %zu bytes)",
               (void *)place, (void *)bad_segment, (void *)(bad_segment + BAD_SEGMENT),
               BAD_SEGMENT);
    chosen->call();
}

static void before(void)
{
    call_at(bad_segment - 8);
}

static void after(void)
{
    call_at(bad_segment + BAD_SEGMENT);
}

static void crossing(void)
{
    call_at(bad_segment + BAD_SEGMENT - 7);
}

static void without_segment(void)
{
    peer = 1;
    place = buffer;
    bad_expect("8 bytes at %p are not inside the segment of rank 1, which has none attached",
               (void *)place);
    chosen->call();
}

static void wrong_rank(void)
{
    peer = 2;
    place = bad_segment;
    chosen->call();
}

static void far_rank(void)
{
    peer = GEX_RANK_INVALID;
    place = bad_segment;
    chosen->call();
}

static const struct {
    const char *name, *words;
    void (*call)(void);
    bad_end_t end;
} places[] = {
    {"before", "8 bytes", before, BAD_FATAL},
    {"after", "8 bytes", after, BAD_FATAL},
    {"crossing", "8 bytes", crossing, BAD_FATAL},
    {"nosegment", "8 bytes", without_segment, BAD_FATAL},
    {"rank", "rank 2 is not below the team's size 2", wrong_rank, BAD_FATAL_ALWAYS},
    {"far-rank", "rank 4294967295 is not below the team's size 2", far_rank, BAD_FATAL_ALWAYS},
};
enum { PLACES = sizeof places / sizeof places[0] };

size_t bad_rma_count(void)
{
    return (size_t)PLACES * RMA_CALLS;
}

const bad_call_t *bad_rma_call(size_t number)
{
    size_t p = number / RMA_CALLS;
    chosen = &rma_calls[number % RMA_CALLS];
    snprintf(name, sizeof name, "%s/%s", places[p].name, chosen->name);
    if (places[p].end == BAD_FATAL)
        snprintf(pattern, sizeof pattern, "%s: %s", chosen->function, places[p].words);
    else // the client's inline code does not know the name of its call
        snprintf(pattern, sizeof pattern, "(%s|a put, get or atomic): %s", chosen->function,
                 places[p].words);
    made = (bad_call_t){name, places[p].end, 0, pattern, places[p].call, NULL, NULL};
    return &made;
}
