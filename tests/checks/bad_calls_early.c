// SPDX-License-Identifier: BSD-3-Clause
// Calls that need a job where there is none: before init, as before/CALL, and after an init that
// has failed, as failed/CALL. They are fatal in every build.
#include "bad_calls.h"

#include <stdio.h>
#include <stdlib.h>

#include <aqueduct.h>
#include <aqueduct_large.h>
#include <aqueduct_msg.h>
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>

static char word[8];

static void job_rank(void)
{
    (void)gex_System_QueryJobRank();
}

static void job_size(void)
{
    (void)gex_System_QueryJobSize();
}

static void neighbours(void)
{
    gex_System_QueryNbrhdInfo(NULL, NULL, NULL);
}

static void hosts(void)
{
    gex_System_QueryHostInfo(NULL, NULL, NULL);
}

static void position(void)
{
    gex_System_QueryMyPosition(NULL, NULL, NULL, NULL);
}

static void concurrency(void)
{
    (void)gex_System_QueryHiddenAMConcurrencyLevel();
}

static void nodes(void)
{
    (void)gasnet_nodes();
}

static void objects(void)
{
    gasnet_QueryGexObjects(NULL, &bad_ep, &bad_tm, NULL);
}

static void polls(void)
{
    gasnet_AMPoll();
}

static void block(void)
{
    GASNET_BLOCKUNTIL(word[0]);
}

static void segment_limit(void)
{
    (void)gasnet_getMaxLocalSegmentSize();
}

static void attach(void)
{
    (void)gex_Segment_Attach(NULL, bad_tm, BAD_SEGMENT);
}

static void create_segment(void)
{
    gex_Segment_t segment;
    (void)gex_Segment_Create(&segment, NULL, NULL, BAD_SEGMENT, GEX_MK_HOST, 0);
}

static void bound_segment(void)
{
    (void)gex_Segment_QueryBound(bad_tm, 0, NULL, NULL, NULL);
}

static void create_endpoint(void)
{
    (void)gex_EP_Create(&bad_ep, NULL, GEX_EP_CAPABILITY_RMA, 0);
}

static void handlers(void)
{
    (void)gex_EP_RegisterHandlers(bad_ep, NULL, 0);
}

static void limit(void)
{
    (void)gex_AM_LUBRequestMedium();
}

// Before init these are what any network takes.
static void early_limits(void)
{
    if (gex_AM_LUBRequestMedium() != 512 || gex_AM_LUBReplyMedium() != 512 ||
        gex_AM_LUBRequestLong() != 512 || gex_AM_LUBReplyLong() != 512)
        bad_abort("the limits before init are not 512");
    job_size();
}

static void most(void)
{
    (void)gex_AM_MaxRequestLong(bad_tm, 0, GEX_EVENT_NOW, 0, 0);
}

static void barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(bad_tm, 0));
}

static void barrier_notify(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void barrier_wait(void)
{
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void barrier_try(void)
{
    (void)gasnet_barrier_try(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void broadcast(void)
{
    gex_Event_Wait(gex_Coll_BroadcastNB(bad_tm, 0, word, word, sizeof word, 0));
}

static void split(void)
{
    (void)gex_TM_Split(&bad_tm, bad_tm, 0, 0, NULL, 0, 0);
}

static void domain(void)
{
    gex_AD_t ad;
    gex_AD_Create(&ad, bad_tm, GEX_DT_U64, GEX_OP_FADD, 0);
}

// Hot calls check nothing: they follow a null handle, and the message names none of them.
static void put(void)
{
    (void)gex_RMA_PutBlocking(bad_tm, 0, word, word, sizeof word, 0);
}

static void request(void)
{
    (void)gex_AM_RequestShort0(bad_tm, 0, BAD_H_SHORT, 0);
}

static void growth(void)
{
    (void)gasnetx_Job_QueryGrowth(NULL);
}

static void counters_update(void)
{
    gasnetx_Counters_Update();
}

static void next_error(void)
{
    gasnetx_error_t error;
    (void)gasnetx_Error_Next(&error);
}

static void error_counts(void)
{
    uint64_t failed, dropped;
    gasnetx_Error_Counts(&failed, &dropped);
}

static void aligned(void)
{
    (void)gasnetx_Segments_Aligned();
}

static void message_memory(void)
{
    void *memory;
    (void)gasnetx_Msg_Alloc(sizeof word, &memory);
}

static void message_mode(void)
{
    (void)gasnetx_Msg_Mode(0);
}

static void message_counts(void)
{
    gasnetx_msg_counts_t counts;
    (void)gasnetx_Msg_Counts(&counts);
}

static void large_counts(void)
{
    gasnetx_large_counts_t counts;
    (void)gasnetx_Large_QueryCounts(&counts);
}

static void legacy_put(void)
{
    gasnet_put(0, word, word, sizeof word);
}

static void legacy_get(void)
{
    gasnet_wait_syncnb(gasnet_get_nb(word, 0, word, sizeof word));
}

static void legacy_request(void)
{
    (void)gasnet_AMRequestShort0(0, BAD_H_SHORT);
}

typedef struct early {
    const char *name;
    void (*call)(void);
} early_t;

static const early_t named[] = {{"gex_System_QueryJobRank", job_rank},
                                {"gex_System_QueryJobSize", job_size},
                                {"gex_System_QueryNbrhdInfo", neighbours},
                                {"gex_System_QueryHostInfo", hosts},
                                {"gex_System_QueryMyPosition", position},
                                {"gex_System_QueryHiddenAMConcurrencyLevel", concurrency},
                                {"gasnet_QueryGexObjects", objects},
                                {"gasnet_getMaxLocalSegmentSize", segment_limit},
                                {"gex_Segment_Attach", attach},
                                {"gex_Segment_Create", create_segment},
                                {"gex_Segment_QueryBound", bound_segment},
                                {"gex_EP_Create", create_endpoint},
                                {"gex_EP_RegisterHandlers", handlers},
                                {"gex_AM_MaxRequestLong", most},
                                {"gex_Coll_BarrierNB", barrier},
                                {"gasnet_barrier_notify", barrier_notify},
                                {"gasnet_barrier_wait", barrier_wait},
                                {"gasnet_barrier_try", barrier_try},
                                {"gex_Coll_BroadcastNB", broadcast},
                                {"gex_TM_Split", split},
                                {"gex_AD_Create", domain},
                                {"gasnetx_Job_QueryGrowth", growth},
                                {"gasnetx_Counters_Update", counters_update},
                                {"gasnetx_Error_Next", next_error},
                                {"gasnetx_Error_Counts", error_counts},
                                {"gasnetx_Segments_Aligned", aligned},
                                {"gasnetx_Msg_Alloc", message_memory},
                                {"gasnetx_Msg_Mode", message_mode},
                                {"gasnetx_Msg_Counts", message_counts},
                                {"gasnetx_Large_QueryCounts", large_counts}};
enum { NAMED = sizeof named / sizeof named[0] };

static void (*early_call)(void);

static void before(void)
{
    early_call();
    puts("went on");
}

// As by a client that ignores what init returns.
static void after_failure(void)
{
    setenv("GASNET_SPIN_US", "none", 1);
    if (gex_Client_Init(NULL, &bad_ep, &bad_tm, "BAD_CALLS", NULL, NULL, 0) == GASNET_OK)
        bad_abort("gex_Client_Init takes GASNET_SPIN_US=none");
    before();
}

static void after_legacy_failure(void)
{
    setenv("GASNET_SPIN_US", "none", 1);
    if (gasnet_init(NULL, NULL) == GASNET_OK)
        bad_abort("gasnet_init takes GASNET_SPIN_US=none");
    before();
}

// Those that are named by another function, or by none.
static const struct {
    const char *name, *pattern;
    void (*call)(void), (*way)(void);
} others[] = {
    {"before/gasnet_nodes", "gex_System_QueryJobSize was called before", nodes, before},
    {"before/gasnet_AMPoll", "a function that polls or waits was called before", polls, before},
    {"before/GASNET_BLOCKUNTIL", "a function that polls or waits was called before", block, before},
    {"failed/gasnet_AMPoll", "a function that polls or waits was called after", polls,
     after_failure},
    {"before/limits", "gex_System_QueryJobSize was called before", early_limits, before},
    {"failed/gex_AM_LUBRequestMedium", "gex_AM_LUBRequestMedium was called after", limit,
     after_failure},
    {"failed/gex_System_QueryJobSize", "gex_System_QueryJobSize was called after", job_size,
     after_failure},
    {"failed/gex_Segment_Attach", "gex_Segment_Attach was called after", attach, after_failure},
    {"failed/gasnet_barrier_notify", "gasnet_barrier_notify was called after", barrier_notify,
     after_legacy_failure},
    {"nojob/gex_RMA_PutBlocking", "a null handle was used before", put, before},
    {"nojob/gex_AM_RequestShort", "a null handle was used before", request, before},
    {"before/gasnet_put", "(a null handle was used|gasnet_put was called) before", legacy_put,
     before},
    {"before/gasnet_get_nb", "(a null handle was used|gasnet_get_nb was called) before", legacy_get,
     before},
    {"before/gasnet_AMRequestShort",
     "(a null handle was used|gasnet_AMRequestShort was called) before", legacy_request, before},
    {"failed/gasnet_put", "(a null handle was used|gasnet_put was called) after", legacy_put,
     after_legacy_failure},
    {"failed/gex_RMA_PutBlocking", "a null handle was used after", put, after_failure},
    {"failed/gex_AM_RequestShort", "a null handle was used after", request, after_failure}};
enum { OTHERS = sizeof others / sizeof others[0] };

size_t bad_early_count(void)
{
    return NAMED + OTHERS;
}

const bad_call_t *bad_early_call(size_t number)
{
    static char name[64], pattern[128];
    static bad_call_t made;
    made = (bad_call_t){name, BAD_FATAL_ALWAYS, -1, pattern, before, NULL, NULL};
    if (number < NAMED) {
        early_call = named[number].call;
        snprintf(name, sizeof name, "before/%s", named[number].name);
        snprintf(pattern, sizeof pattern, "%s was called before gex_Client_Init",
                 named[number].name);
    } else {
        early_call = others[number - NAMED].call;
        made.call = others[number - NAMED].way;
        snprintf(name, sizeof name, "%s", others[number - NAMED].name);
        snprintf(pattern, sizeof pattern, "%s gex_Client_Init", others[number - NAMED].pattern);
    }
    return &made;
}
