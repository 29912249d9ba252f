/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters of aqueduct.h: exact for messages, puts, gets and drops, for endpoint 0 and a
 * further one, and readable without a call. */
#include "../conform.h"

#include <gasnet_ratomic.h>
#include <stdlib.h>

#if __has_include(<aqueduct.h>)
#include <aqueduct.h>
#endif

#ifndef GASNETX_COUNTERS
const conform_test_t conform_counters_tests[] = {{NULL, NULL, NULL}};
#else

enum {
    SHORT = 90, /* handlers at both endpoints */
    MEDIUM,
    LONG,
    BACK,
    MEDIUM_BACK,
    LONG_BACK,
    SHORTS = 5, /* messages of each kind to one peer */
    MEDIUMS = 4,
    LONGS = 3,
    BYTES = 100, /* payload of a Medium or Long */
    PUTS = 7,
    GETS = 6,
    ADDS = 5,
    ABSENT = 1001, /* an endpoint that no rank creates */
    LARGE = 1000,  /* payload in a flood */
    FLOOD = 3000,
    ROUND_TRIPS = 400,
    THREADS_EACH = 500
};

typedef const volatile gasnetx_counters_t *block_t;

/* An endpoint, its counters, and what has arrived at it. */
typedef struct {
    gex_EP_t ep;
    gex_EP_Index_t index;
    block_t counters;
    conform_count_t requests, replies;
} place_t;

static place_t places[2]; /* endpoint 0, and one more */
static block_t process;

static place_t *place_of(gex_Token_t token)
{
    gex_Token_Info_t info;

    gex_Token_Info(token, &info, GEX_TI_EP);
    return &places[info.gex_ep != places[0].ep];
}

static void on_short(gex_Token_t token)
{
    atomic_fetch_add(&place_of(token)->requests, 1);
    gex_AM_ReplyShort0(token, BACK, 0);
}

static void on_medium(gex_Token_t token, void *load, size_t nbytes)
{
    atomic_fetch_add(&place_of(token)->requests, 1);
    gex_AM_ReplyMedium0(token, MEDIUM_BACK, load, nbytes / 2, GEX_EVENT_NOW, 0);
}

static void on_long(gex_Token_t token, void *load, size_t nbytes)
{
    atomic_fetch_add(&place_of(token)->requests, 1);
    gex_AM_ReplyLong0(token, LONG_BACK, load, nbytes / 2,
                      conform_slot(conform_source(token), job.rank, 1), GEX_EVENT_NOW, 0);
}

static void on_back(gex_Token_t token)
{
    atomic_fetch_add(&place_of(token)->replies, 1);
}

static void on_load_back(gex_Token_t token, void *load, size_t nbytes)
{
    (void)load, (void)nbytes;
    atomic_fetch_add(&place_of(token)->replies, 1);
}

static void start_place(place_t *place, gex_EP_t ep)
{
    const gex_Flags_t request = GEX_FLAG_AM_REQUEST, reply = GEX_FLAG_AM_REPLY;
    gex_AM_Entry_t entries[] = {
        {SHORT, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_SHORT | request, 0, NULL, NULL},
        {MEDIUM, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_MEDIUM | request, 0, NULL, NULL},
        {LONG, (gex_AM_Fn_t)on_long, GEX_FLAG_AM_LONG | request, 0, NULL, NULL},
        {BACK, (gex_AM_Fn_t)on_back, GEX_FLAG_AM_SHORT | reply, 0, NULL, NULL},
        {MEDIUM_BACK, (gex_AM_Fn_t)on_load_back, GEX_FLAG_AM_MEDIUM | reply, 0, NULL, NULL},
        {LONG_BACK, (gex_AM_Fn_t)on_load_back, GEX_FLAG_AM_LONG | reply, 0, NULL, NULL}};

    place->ep = ep;
    place->index = gex_EP_QueryIndex(ep);
    CHECK(gex_EP_RegisterHandlers(ep, entries, 6) == GASNET_OK, "the handlers must be registered");
    place->counters = gasnetx_Counters(ep);
    CHECK(place->counters && place->counters->version == GASNETX_COUNTERS_VERSION &&
              place->counters->size == sizeof(gasnetx_counters_t) &&
              place->counters->endpoint == place->index,
          "endpoint %u must have counters", (unsigned)place->index);
}

static gex_EP_t create_endpoint(void)
{
    gex_EP_t ep;

    CHECK(gex_EP_Create(&ep, job.client, GEX_EP_CAPABILITY_AM, 0) == GASNET_OK,
          "an endpoint must be created");
    return ep;
}

/* All ranks create theirs in one order, so that indices are the same everywhere. */
static void start_places(void)
{
    if (!process) {
        start_place(&places[0], job.ep);
        start_place(&places[1], create_endpoint());
        process = gasnetx_Counters(GEX_EP_INVALID);
        CHECK(process && process->endpoint == UINT64_MAX, "the process must have counters");
    }
    for (int i = 0; i < 2; i++)
        places[i].requests = places[i].replies = 0;
    conform_barrier();
}

static gasnetx_counters_t now(block_t block)
{
    gasnetx_Counters_Update();
    return *(const gasnetx_counters_t *)(uintptr_t)block;
}

#define GREW(after, before, field, by)                                                             \
    CHECK((after).field - (before).field == (uint64_t)(by), "%s grew by %llu, not by %llu",        \
          #field, (unsigned long long)((after).field - (before).field), (unsigned long long)(by))

static gex_TM_t pair_of(const place_t *place)
{
    return gex_TM_Pair(place->ep, place->index);
}

static void send_mix(const place_t *place, gex_Rank_t to)
{
    unsigned char load[BYTES] = {1};
    gex_AM_SrcDesc_t sd;

    for (int i = 0; i < SHORTS; i++)
        gex_AM_RequestShort0(pair_of(place), to, SHORT, 0);
    for (int i = 0; i < MEDIUMS - 1; i++)
        gex_AM_RequestMedium0(pair_of(place), to, MEDIUM, load, BYTES, GEX_EVENT_NOW, 0);
    sd = gex_AM_PrepareRequestMedium(pair_of(place), to, NULL, BYTES, BYTES, NULL, 0, 0);
    ((unsigned char *)gex_AM_SrcDescAddr(sd))[0] = 1;
    gex_AM_CommitRequestMedium0(sd, MEDIUM, BYTES);
    for (int i = 0; !place->index && i < LONGS; i++)
        gex_AM_RequestLong0(pair_of(place), to, LONG, load, BYTES, conform_slot(to, job.rank, 0),
                            GEX_EVENT_NOW, 0);
}

/* Every rank sends the same to every rank, so that it sends as many replies as it gets. */
static void messages_of(place_t *place)
{
    const uint64_t longs = place->index ? 0 : LONGS;
    const uint64_t want = (SHORTS + MEDIUMS + longs) * job.size;
    const gasnetx_counters_t before = now(place->counters), all_before = now(process);
    gasnetx_counters_t after, all_after;

    conform_barrier();
    for (gex_Rank_t r = 0; r < job.size; r++)
        send_mix(place, r);
    GASNET_BLOCKUNTIL(place->requests == want && place->replies == want);
    conform_barrier();
    after = now(place->counters);
    all_after = now(process);
    GREW(after, before, request_shorts, SHORTS * job.size);
    GREW(after, before, request_mediums, MEDIUMS * job.size);
    GREW(after, before, request_longs, longs * job.size);
    GREW(after, before, request_bytes, (MEDIUMS + longs) * BYTES * job.size);
    GREW(after, before, reply_shorts, SHORTS * job.size);
    GREW(after, before, reply_mediums, MEDIUMS * job.size);
    GREW(after, before, reply_longs, longs * job.size);
    GREW(after, before, reply_bytes, (MEDIUMS + longs) * (BYTES / 2) * job.size);
    GREW(all_after, all_before, request_mediums, MEDIUMS * job.size);
    GREW(all_after, all_before, reply_shorts, SHORTS * job.size);
    GREW(all_after, all_before, request_bytes, (MEDIUMS + longs) * BYTES * job.size);
}

static void test_messages(void)
{
    start_places();
    messages_of(&places[0]);
    messages_of(&places[1]);
}

/* Operations on mapped memory are not counted. CONFORM_COUNTS says that none is mapped. */
static void test_rma(void)
{
    const gex_Rank_t next = (job.rank + 1) % job.size;
    unsigned char *there = conform_slot(next, job.rank, 0);
    uint64_t value[2] = {1, 2};
    gasnetx_counters_t before, after;
    uint64_t counted;

    start_places();
    before = now(places[0].counters);
    for (int i = 0; i < PUTS; i++)
        gex_RMA_PutBlocking(job.tm, next, there, value, sizeof(value), 0);
    for (int i = 0; i < GETS; i++)
        gex_RMA_GetNBI(job.tm, value, next, there, sizeof(value[0]), 0);
    gex_NBI_Wait(GEX_EC_ALL, 0);
    conform_barrier();
    after = now(places[0].counters);
    counted = after.puts - before.puts ? 1 : 0;
    CHECK(counted || !getenv("CONFORM_COUNTS"), "puts over the network were not counted");
    GREW(after, before, puts, counted * PUTS);
    GREW(after, before, put_bytes, counted * PUTS * sizeof(value));
    GREW(after, before, gets, counted * GETS);
    GREW(after, before, get_bytes, counted * GETS * sizeof(value[0]));
    GREW(after, before, request_shorts, 0); /* the library's own messages */
    GREW(after, before, reply_shorts, 0);
    GREW(after, before, reply_mediums, 0);
}

static void test_atomics(void)
{
    const gex_Rank_t next = (job.rank + 1) % job.size;
    gasnetx_counters_t before, after;
    uint64_t counted;
    gex_AD_t ad;

    start_places();
    gex_AD_Create(&ad, job.tm, GEX_DT_U64, GEX_OP_ADD, 0);
    before = now(process);
    for (int i = 0; i < ADDS; i++)
        gex_Event_Wait(
            gex_AD_OpNB_U64(ad, NULL, next, conform_slot(next, job.rank, 0), GEX_OP_ADD, 1, 0, 0));
    conform_barrier();
    after = now(process);
    counted = after.atomics - before.atomics ? 1 : 0;
    CHECK(counted || !getenv("CONFORM_COUNTS"), "atomics over the network were not counted");
    GREW(after, before, atomics, counted * ADDS);
    GREW(after, before, reply_shorts, 0);
    conform_barrier();
    gex_AD_Destroy(ad);
}

/* Only polls bring the new count to the block. */
static void test_without_call(void)
{
    start_places();
    for (int i = 0; i < 2; i++) {
        const place_t *place = &places[i];
        const uint64_t before = now(place->counters).request_shorts;
        const uint64_t all_before = now(process).request_shorts;

        for (gex_Rank_t r = 0; r < job.size; r++)
            gex_AM_RequestShort0(pair_of(place), r, SHORT, 0);
        GASNET_BLOCKUNTIL(place->requests == job.size && place->replies == job.size);
        while (gasnetx_counter(&place->counters->request_shorts) != before + job.size ||
               gasnetx_counter(&process->request_shorts) < all_before + job.size)
            gasnet_AMPoll();
        CHECK(place->counters->updates % 2 == 0 && place->counters->time_ns,
              "a block that is not being written has an even number");
    }
}

static void await_drop(block_t block, unsigned reason, uint64_t want)
{
    while (now(block).dropped[reason] < want)
        gasnet_AMPoll();
    CHECK(now(block).dropped[reason] == want, "%llu messages were dropped, not %llu",
          (unsigned long long)now(block).dropped[reason], (unsigned long long)want);
}

static void test_drops(void)
{
    const gex_Rank_t next = (job.rank + 1) % job.size;
    const gex_EP_t doomed = (start_places(), create_endpoint());
    const gex_EP_Index_t index = gex_EP_QueryIndex(doomed);
    const block_t counters = gasnetx_Counters(doomed);
    const uint64_t absent = now(places[0].counters).dropped[GASNETX_DROP_ENDPOINT];
    const uint64_t destroyed = now(counters).dropped[GASNETX_DROP_DESTROYED];

    CHECK(gasnetx_EP_Destroy(doomed) == GASNET_OK, "an endpoint must be destroyed");
    conform_barrier();
    gex_AM_RequestShort0(gex_TM_Pair(places[1].ep, ABSENT), next, SHORT, 0);
    gex_AM_RequestShort0(gex_TM_Pair(places[1].ep, index), next, SHORT, 0);
    await_drop(places[0].counters, GASNETX_DROP_ENDPOINT, absent + 1);
    await_drop(counters, GASNETX_DROP_DESTROYED, destroyed + 1);
    conform_barrier();
}

/* What GEX_FLAG_IMMEDIATE refuses is counted apart. */
static void test_refused(void)
{
    const gex_Rank_t next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;
    unsigned char load[LARGE] = {0};
    uint64_t sent = 0, refused = 0, *all = conform_alloc(job.size * sizeof(*all));
    gasnetx_counters_t before, after;

    start_places();
    before = now(places[0].counters);
    for (int i = 0; i < FLOOD; i++) {
        const int no = gex_AM_RequestMedium0(job.tm, next, MEDIUM, load, LARGE, GEX_EVENT_NOW,
                                             GEX_FLAG_IMMEDIATE);
        sent += !no;
        refused += !!no;
    }
    after = now(places[0].counters);
    GREW(after, before, request_mediums, sent);
    GREW(after, before, request_bytes, sent * LARGE);
    GREW(after, before, refused, refused);
    CHECK(refused || job.size == 1, "%d messages found room, though nobody received them",
          (int)FLOOD);
    CHECK(!refused || job.size > 1, "%lu messages to this rank itself were refused",
          (unsigned long)refused);
    CHECK(after.no_room - before.no_room >= refused, "each refusal is for want of room");
    conform_exchange(sent, all);
    GASNET_BLOCKUNTIL(places[0].requests == all[last] && places[0].replies == sent);
    free(all);
}

static uint64_t lost(const gasnetx_counters_t *c)
{
    return c->dropped[GASNETX_DROP_REPLAYED] + c->dropped[GASNETX_DROP_DUPLICATE];
}

/* The network: with GASNET_UDP_FAULT_... what it loses, flips and repeats is counted. */
static void test_network(void)
{
    const int is_bad = getenv("GASNET_UDP_FAULT_DROP") != NULL;
    const gex_Rank_t next = (job.rank + 1) % job.size;
    gasnetx_counters_t after;

    start_places();
    for (unsigned i = 1; i <= ROUND_TRIPS; i++) {
        gex_AM_RequestShort0(job.tm, next, SHORT, 0);
        GASNET_BLOCKUNTIL(places[0].replies == i);
    }
    GASNET_BLOCKUNTIL(places[0].requests == ROUND_TRIPS);
    conform_barrier();
    after = now(process);
    CHECK(!after.dropped[GASNETX_DROP_INJECTED] == !is_bad, "%llu losses by injection",
          (unsigned long long)after.dropped[GASNETX_DROP_INJECTED]);
    CHECK(!is_bad || (after.retransmissions && lost(&after)),
          "a bad network needs retransmissions (%llu), which bring duplicates (%llu)",
          (unsigned long long)after.retransmissions, (unsigned long long)lost(&after));
    CHECK(getenv("CONFORM_HOSTILE") ||
              !after.dropped[GASNETX_DROP_FORGED] == !getenv("GASNET_UDP_FAULT_FLIP"),
          "%llu packets were not authentic",
          (unsigned long long)after.dropped[GASNETX_DROP_FORGED]);
    CHECK(!getenv("CONFORM_RECEIVED") || after.frames_received >= (uint64_t)2 * ROUND_TRIPS,
          "%llu frames were received", (unsigned long long)after.frames_received);
    CHECK(!getenv("CONFORM_RECORDS") ||
              (after.frames_sent >= (uint64_t)2 * ROUND_TRIPS && !after.packets_sent),
          "%llu frames were sent through mailboxes, and %llu packets",
          (unsigned long long)after.frames_sent, (unsigned long long)after.packets_sent);
    CHECK(!getenv("CONFORM_FRAMES") || (after.frames_sent >= ROUND_TRIPS && after.packets_sent &&
                                        after.packets_sent <= after.frames_sent),
          "%llu frames in %llu packets", (unsigned long long)after.frames_sent,
          (unsigned long long)after.packets_sent);
}

#ifdef GASNET_PAR
static void *send_and_read(void *arg)
{
    place_t *place = &places[*(int *)arg % 2];
    uint64_t last = 0;

    for (int i = 0; i < THREADS_EACH; i++) {
        const uint64_t seen = gasnetx_counter(&place->counters->request_shorts);

        CHECK(seen >= last, "a counter went back");
        last = seen;
        gex_AM_RequestShort0(pair_of(place), job.rank, SHORT, 0);
        if (i % 100 == 0)
            gasnetx_Counters_Update();
    }
    return NULL;
}

/* Threads share an endpoint, and end: no count is lost. */
static void test_threads(void)
{
    gasnetx_counters_t before[2], after;

    start_places();
    for (int i = 0; i < 2; i++)
        before[i] = now(places[i].counters);
    conform_in_threads(job.threads, send_and_read);
    for (int i = 0; i < 2; i++) {
        const uint64_t want = (uint64_t)THREADS_EACH * ((unsigned)(job.threads + !i) / 2);

        GASNET_BLOCKUNTIL(places[i].requests == want && places[i].replies == want);
        after = now(places[i].counters);
        GREW(after, before[i], request_shorts, want);
        GREW(after, before[i], reply_shorts, want);
    }
}
#endif

const conform_test_t conform_counters_tests[] = {
    {"counters_messages", test_messages, "exact counts of messages and bytes at two endpoints"},
    {"counters_rma", test_rma, "puts and gets that are not stores"},
    {"counters_atomics", test_atomics, "atomics on memory that is not mapped"},
    {"counters_no_call", test_without_call, "polls update the block"},
    {"counters_drops", test_drops, "messages to endpoints that are not there"},
    {"counters_refused", test_refused, "messages that found no room"},
    {"counters_network", test_network, "frames, retransmissions and drops of the network"},
#ifdef GASNET_PAR
    {"counters_threads", test_threads, "threads that share an endpoint"},
#endif
    {NULL, NULL, NULL},
};
#endif
