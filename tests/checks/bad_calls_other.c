// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls on events, regions, barriers, locks and queries.
#include "bad_calls.h"

#include <stddef.h>

static char buffer[64];

static gex_Event_t put(void)
{
    return gex_RMA_PutNB(bad_tm, 1, bad_segment, buffer, 8, GEX_EVENT_NOW, 0);
}

// ---- events ----

static void wait_no_op(void)
{
    gex_Event_Wait(GEX_EVENT_NO_OP);
}

static void test_no_op(void)
{
    gex_Event_Test(GEX_EVENT_NO_OP);
}

static void wait_all_no_op(void)
{
    gex_Event_t events[] = {GEX_EVENT_INVALID, GEX_EVENT_NO_OP};
    gex_Event_WaitAll(events, 2, 0);
}

static void test_some_no_op(void)
{
    gex_Event_t events[] = {GEX_EVENT_INVALID, GEX_EVENT_NO_OP};
    gex_Event_TestSome(events, 2, 0);
}

static void wait_twice(void)
{
    gex_Event_t event = put();
    gex_Event_Wait(event);
    bad_expect("the event %p was synchronized before", (void *)event);
    gex_Event_Wait(event);
}

static void leaf_no_op(void)
{
    gex_Event_QueryLeaf(GEX_EVENT_NO_OP, GEX_EC_LC);
}

static void leaf_of_leaf(void)
{
    gex_Event_t leaf = gex_Event_QueryLeaf(put(), GEX_EC_PUT);
    bad_expect("the event %p is not a root event", (void *)leaf);
    gex_Event_QueryLeaf(leaf, GEX_EC_PUT);
}

static void leaf_category(void)
{
    gex_Event_QueryLeaf(put(), GEX_EC_LC | GEX_EC_PUT);
}

static void region_twice(void)
{
    gex_NBI_BeginAccessRegion(0);
    gex_NBI_BeginAccessRegion(0);
}

static void region_end(void)
{
    gex_NBI_EndAccessRegion(0);
}

// ---- barriers ----

static void barrier_wait(void)
{
    gasnet_barrier_wait(7, 0);
}

static void barrier_try(void)
{
    gasnet_barrier_try(7, 0);
}

static void barrier_notify_twice(void)
{
    gasnet_barrier_notify(7, 0);
    gasnet_barrier_notify(8, 0);
}

static void barrier_notified(void)
{
    gasnet_barrier_notify(7, 0);
    gasnet_barrier(8, 0);
}

// ---- locks ----

static gex_HSL_t lock = GEX_HSL_INITIALIZER;

static void expect_lock(void)
{
    bad_expect("the lock at %p", (void *)&lock);
}

static void unlock_free(void)
{
    expect_lock();
    gex_HSL_Unlock(&lock);
}

static void lock_twice(void)
{
    expect_lock();
    gex_HSL_Lock(&lock);
    gex_HSL_Lock(&lock);
}

static void lock_tried(void)
{
    expect_lock();
    if (gex_HSL_Trylock(&lock) == GASNET_OK)
        gex_HSL_Lock(&lock);
}

static void destroy_held(void)
{
    expect_lock();
    gex_HSL_Lock(&lock);
    gex_HSL_Destroy(&lock);
}

// ---- ranks of queries, and the rest ----

static void translate_rank(void)
{
    gex_TM_TranslateRankToJobrank(bad_tm, 2);
}

static void bound_rank(void)
{
    gex_Segment_QueryBound(bad_tm, 2, NULL, NULL, NULL);
}

static void bound_nb_rank(void)
{
    gex_EP_QueryBoundSegmentNB(bad_tm, GEX_RANK_INVALID, NULL, NULL, NULL, GEX_FLAG_IMMEDIATE);
}

static void pair_index(void)
{
    gex_TM_Pair(bad_ep, GASNET_MAXEPS);
}

static void wait_mode(void)
{
    gasnet_set_waitmode(17);
}

const bad_call_t bad_other_calls[] = {
    {"wait-no-op", BAD_FATAL, 0, "gex_Event_Wait: the event is GEX_EVENT_NO_OP", wait_no_op, NULL,
     NULL},
    {"test-no-op", BAD_FATAL, 0, "gex_Event_Test: the event is GEX_EVENT_NO_OP", test_no_op, NULL,
     NULL},
    {"wait-all-no-op", BAD_FATAL, 0, "gex_Event_WaitAll: the event is GEX_EVENT_NO_OP",
     wait_all_no_op, NULL, NULL},
    {"test-some-no-op", BAD_FATAL, 0, "gex_Event_TestSome: the event is GEX_EVENT_NO_OP",
     test_some_no_op, NULL, NULL},
    {"wait-twice", BAD_FATAL, 0, "gex_Event_Wait: the event", wait_twice, NULL, NULL},
    {"leaf-no-op", BAD_FATAL, 0, "gex_Event_QueryLeaf: the event is GEX_EVENT_NO_OP", leaf_no_op,
     NULL, NULL},
    {"leaf-of-leaf", BAD_FATAL, 0, "gex_Event_QueryLeaf: the event", leaf_of_leaf, NULL, NULL},
    {"leaf-category", BAD_FATAL, 0,
     "gex_Event_QueryLeaf: category 0x3 is not one of GEX_EC_GET, PUT, AM, LC, RMW", leaf_category,
     NULL, NULL},
    {"region-twice", BAD_FATAL, 0,
     "gex_NBI_BeginAccessRegion: this thread has an open access region already", region_twice, NULL,
     NULL},
    {"region-end", BAD_FATAL, 0, "gex_NBI_EndAccessRegion: this thread has no open access region",
     region_end, NULL, NULL},
    {"barrier-wait", BAD_FATAL, 0, "gasnet_barrier_wait without a gasnet_barrier_notify before it",
     barrier_wait, NULL, NULL},
    {"barrier-try", BAD_FATAL, 0, "gasnet_barrier_try without a gasnet_barrier_notify before it",
     barrier_try, NULL, NULL},
    {"barrier-notify-twice", BAD_FATAL, 0,
     "gasnet_barrier_notify: the previous barrier \\(id 7\\) was not waited for",
     barrier_notify_twice, NULL, NULL},
    {"barrier-notified", BAD_FATAL, 0,
     "gasnet_barrier: the previous barrier \\(id 7\\) was not waited for", barrier_notified, NULL,
     NULL},
    {"unlock-free", BAD_FATAL, 0, "gex_HSL_Unlock: the lock at 0x[0-9a-f]+ is not held",
     unlock_free, NULL, NULL},
    {"lock-twice", BAD_FATAL, 0, "gex_HSL_Lock: this thread holds the lock at 0x[0-9a-f]+ already",
     lock_twice, NULL, NULL},
    {"lock-tried", BAD_FATAL, 0, "gex_HSL_Lock: this thread holds the lock at 0x[0-9a-f]+ already",
     lock_tried, NULL, NULL},
    {"destroy-held", BAD_FATAL, 0, "gex_HSL_Destroy: the lock at 0x[0-9a-f]+ is held", destroy_held,
     NULL, NULL},
    {"translate-rank", BAD_FATAL_ALWAYS, 0,
     "gex_TM_TranslateRankToJobrank: rank 2 is not below the team's size 2", translate_rank, NULL,
     NULL},
    {"bound-rank", BAD_FATAL_ALWAYS, 0,
     "gex_Segment_QueryBound: rank 2 is not below the team's size 2", bound_rank, NULL, NULL},
    {"bound-nb-rank", BAD_FATAL_ALWAYS, 0,
     "gex_EP_QueryBoundSegmentNB: rank 4294967295 is not below the team's size 2", bound_nb_rank,
     NULL, NULL},
    {"pair-index", BAD_FATAL, 0,
     "gex_TM_Pair: endpoint index 1024 is not below GASNET_MAXEPS \\(1024\\)", pair_index, NULL,
     NULL},
    {"wait-mode", BAD_FATAL, 0,
     "gasnet_set_waitmode: mode 17 is not GASNET_WAIT_SPIN, _BLOCK or _SPINBLOCK", wait_mode, NULL,
     NULL},
    {NULL, BAD_FATAL, 0, NULL, NULL, NULL, NULL}};
