// SPDX-License-Identifier: BSD-3-Clause
// Segments: their limits, their addresses, and which addresses lie inside. Two of three ranks share
// memory; a stub of the bootstrap answers for the other ranks.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../../core/endpoint/endpoint.h"
#include "../../../core/state/job.h"
#include "../../../core/memory/mapped.h"
#include "../../../core/memory/segment_table.h"
#include "../../../core/expose/segment.h"
#include "../../../core/endpoint/team.h"
#include "../../../other/base/settings/settings.h"

enum { RANKS = 3, ME = 1, PAGE = GASNET_PAGESIZE, LIMIT = 16 * PAGE, RINGS = 3 * PAGE };

static uintptr_t addr_of[RANKS], size_of[RANKS];
static intptr_t shift_of[RANKS];
static char *const here_of[2] = {(char *)0x500000, (char *)0x600000};

static struct {
    uint64_t answers[4][RANKS]; // of the next exchanges; this rank's own entry is overwritten
    unsigned exchanges, shares, barriers;
    unsigned calls; // calls of share_segments of the network, which shares no memory
    aq_status_t exchange_status, share_status;
    uintptr_t shared[2]; // the sizes that share_segments got
    unsigned hooks, pins;
} stub;

static aq_status_t stub_exchange(aq_boot_t *boot, const void *mine, size_t len, void *all)
{
    (void)boot;
    assert_int_equal(len, sizeof(uint64_t));
    assert_true(stub.exchanges < 4);
    if (stub.exchange_status != AQ_OK)
        return stub.exchange_status;
    uint64_t *answers = stub.answers[stub.exchanges++];
    memcpy(&answers[ME], mine, len);
    memcpy(all, answers, RANKS * len);
    return AQ_OK;
}

// The barrier at the end of an attach: by now each query about a segment must have its answer.
static aq_status_t stub_barrier(aq_boot_t *boot)
{
    (void)boot;
    gex_Segment_t mine = gex_EP_QuerySegment(&aq_endpoint);
    assert_non_null(mine);
    assert_ptr_equal(gex_Segment_QueryAddr(mine), here_of[1]);
    assert_int_equal(aq_job.shift[0], (intptr_t)here_of[0] - 0x700000);
    stub.barriers++;
    return AQ_OK;
}

static aq_status_t stub_share(aq_conduit_t *conduit, const uintptr_t *sizes, void **here)
{
    (void)conduit;
    assert_int_equal(stub.calls, ++stub.shares); // the core asks the network first
    for (unsigned i = 0; i < 2; i++) {
        stub.shared[i] = sizes[i];
        here[i] = here_of[i];
    }
    return stub.share_status;
}

static aq_status_t stub_decline(aq_conduit_t *conduit, const uintptr_t *sizes, void **here)
{
    (void)conduit, (void)sizes, (void)here;
    stub.calls++;
    return AQ_ERR_ABSENT;
}

// A network pins the segment after the client's hook has touched the pages.
static aq_status_t stub_pin(aq_conduit_t *conduit, void *addr, size_t size)
{
    (void)conduit;
    assert_ptr_equal(addr, here_of[1]);
    assert_true(size == LIMIT);
    assert_int_equal(stub.hooks, 1);
    stub.pins++;
    return AQ_OK;
}

static void touch_pages(void *addr, size_t size)
{
    assert_ptr_equal(addr, here_of[1]);
    assert_true(size == LIMIT);
    assert_int_equal(stub.shares, 1);
    assert_int_equal(stub.pins + stub.barriers, 0);
    stub.hooks++;
}

static size_t stub_memory(aq_conduit_t *conduit)
{
    (void)conduit;
    return RINGS;
}

static int start_job(void **state)
{
    (void)state;
    static const aq_boot_ops_t boot_ops = {.exchange = stub_exchange, .barrier = stub_barrier};
    static const aq_conduit_ops_t ops = {
        .memory = {.share_segments = stub_share},
        .report = {.memory_bytes = stub_memory},
    };
    static const aq_conduit_ops_t network_ops = {
        .memory = {.share_segments = stub_decline, .attach = stub_pin},
    };
    static aq_conduit_t conduit = {.ops = &ops}, network = {.ops = &network_ops};
    static _Atomic int32_t exit_word = AQ_BOOT_RUNNING;
    static aq_boot_t boot = {.ops = &boot_ops, .rank = ME, .size = RANKS, .exit_word = &exit_word};
    static gex_RankInfo_t members[2] = {{.gex_jobrank = 0}, {.gex_jobrank = ME}};
    aq_job.boot = &boot;
    aq_job.rank = ME;
    aq_job.size = RANKS;
    aq_job.host = aq_job.nbrhd =
        (aq_group_t){.members = members, .size = 2, .my_index = 1, .groups = 2};
    aq_job.conduits[0] = &conduit;
    aq_job.conduits[1] = &network;
    aq_job.conduit_count = 2;
    aq_job.segment_addr = addr_of;
    aq_job.segment_size = size_of;
    aq_job.shift = shift_of;
    aq_team.head = (struct gex_tm){.rank = ME, .size = RANKS, .peer_shift = shift_of};
    aq_team.ep = &aq_endpoint;
    return 0;
}

// No rank has a segment, and the limit is LIMIT.
static int clear_segments(void **state)
{
    (void)state;
    memset(&stub, 0, sizeof stub);
    for (unsigned r = 0; r < RANKS; r++) {
        addr_of[r] = size_of[r] = 0;
        shift_of[r] = AQ_UNMAPPED;
        stub.answers[0][r] = LIMIT;
    }
    char err[512];
    setenv("GASNET_MAX_SEGSIZE", "64KB/P", 1);
    if (aq_settings_load(err, sizeof err) != AQ_OK || aq_segment_agree_on_limit() != AQ_OK)
        return -1;
    memset(&stub, 0, sizeof stub);
    return 0;
}

// ---- which addresses lie inside ----

static bool segment_contains(uintptr_t addr, size_t nbytes)
{
    return aq_segment_contains(2, 0, (const void *)addr, nbytes);
}

static void assert_borders(uintptr_t start, uintptr_t size)
{
    addr_of[2] = start;
    size_of[2] = size;
    assert_true(segment_contains(start, 0));
    assert_true(segment_contains(start, 1));
    assert_true(segment_contains(start, size));
    assert_false(segment_contains(start, size + 1));
    assert_true(segment_contains(start + 1, size - 1));
    assert_false(segment_contains(start + 1, size));
    assert_true(segment_contains(start + size - 1, 1));
    assert_false(segment_contains(start + size - 1, 2));
    assert_true(segment_contains(start + size, 0));
    assert_false(segment_contains(start + size, 1));
    assert_false(segment_contains(start - 1, 0));
    assert_false(segment_contains(start - 1, 2));
    // start + nbytes overflows
    assert_false(segment_contains(start, SIZE_MAX));
    assert_false(segment_contains(start + 1, SIZE_MAX));
    assert_false(segment_contains(start + size, SIZE_MAX - size + 1));
    assert_false(segment_contains(start - 1, SIZE_MAX));
}

static void test_contains(void **state)
{
    (void)state;
    assert_borders(0x10000, PAGE);
    assert_borders(UINTPTR_MAX - 2 * PAGE + 1, PAGE);
    assert_borders(UINTPTR_MAX - PAGE, PAGE); // ends one byte before the last address
    size_of[2] = 0;
    assert_false(segment_contains(addr_of[2], 1));
    size_of[0] = PAGE; // the segment of rank 0 does not count for rank 2
    assert_false(segment_contains(0, 1));
    assert_true(aq_segment_contains(0, 0, NULL, 1));
}

static void test_unmapped(void **state)
{
    (void)state;
    for (unsigned r = 0; r < RANKS; r++)
        assert_true(aq_team_unmapped()[r] & 1);
}

// ---- limits ----

static void assert_limits(const char *setting, uint64_t first, uint64_t last, uint64_t local,
                          uint64_t global)
{
    char err[512];
    setenv("GASNET_MAX_SEGSIZE", setting, 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    memset(&stub, 0, sizeof stub);
    stub.answers[0][0] = first;
    stub.answers[0][2] = last;
    assert_int_equal(aq_segment_agree_on_limit(), AQ_OK);
    assert_true(gasnet_getMaxLocalSegmentSize() == local);
    assert_true(gasnet_getMaxGlobalSegmentSize() == global);
}

static void test_limits(void **state)
{
    (void)state;
    assert_limits("1MB/P", 2 << 20, 3 << 20, 1 << 20, 1 << 20);
    assert_limits("1MB/P", 2 << 20, 1 << 19, 1 << 20, 1 << 19); // the minimum over all ranks
    assert_limits("1MB/P", PAGE, 1 << 19, 1 << 20, PAGE);
    assert_limits("9999B/P", 1 << 20, 1 << 20, 2 * PAGE, 2 * PAGE); // whole pages
    assert_limits("1B/P", 1 << 20, 1 << 20, PAGE, PAGE);            // at least one page
    assert_limits("1MB/H", 1 << 20, 1 << 20, (1 << 19) - RINGS, (1 << 19) - RINGS);
    assert_limits("8KB/H", 1 << 20, 1 << 20, PAGE, PAGE); // the rings need all of it
    stub.exchange_status = AQ_ERR_PEER;
    assert_int_equal(aq_segment_agree_on_limit(), AQ_ERR_PEER);
}

// ---- attach ----

static const uintptr_t bad_sizes[] = {
    0, 1, PAGE - 1, PAGE + 1, LIMIT + 1, (UINTPTR_MAX >> 16) + 1, ~(uintptr_t)PAGE + 1};

static void test_refused_sizes(void **state)
{
    (void)state;
    gex_Segment_t segment = NULL;
    for (unsigned i = 0; i < sizeof bad_sizes / sizeof bad_sizes[0]; i++) {
        assert_int_equal(gex_Segment_Attach(&segment, &aq_team.head, bad_sizes[i]),
                         GASNET_ERR_BAD_ARG);
        assert_null(segment);
        assert_null(gex_EP_QuerySegment(&aq_endpoint));
    }
    assert_int_equal(stub.exchanges + stub.shares, 0);
}

static void test_failures(void **state)
{
    (void)state;
    stub.exchange_status = AQ_ERR_RESOURCE;
    assert_int_equal(gex_Segment_Attach(NULL, &aq_team.head, PAGE), GASNET_ERR_RESOURCE);
    assert_null(gex_EP_QuerySegment(&aq_endpoint));
    assert_int_equal(stub.shares, 0);
    stub.exchange_status = AQ_OK;
    stub.share_status = AQ_ERR_RESOURCE;
    gasnet_client_attach_hook = touch_pages; // must not run: no memory was mapped
    assert_int_equal(gex_Segment_Attach(NULL, &aq_team.head, PAGE), GASNET_ERR_RESOURCE);
    assert_null(gex_EP_QuerySegment(&aq_endpoint));
    assert_int_equal(stub.shares, 1);
    assert_int_equal(stub.hooks, 0);
    gasnet_client_attach_hook = NULL;
}

static void assert_unbound(gex_Rank_t rank)
{
    void *owner = &stub, *local = &stub;
    uintptr_t size = 5;
    assert_int_equal(gex_Segment_QueryBound(&aq_team.head, rank, &owner, &local, &size),
                     GASNET_ERR_NOT_READY);
    gex_Event_t event = gex_EP_QueryBoundSegmentNB(&aq_team.head, rank, &owner, &local, &size, 0);
    assert_ptr_equal(event, GEX_EVENT_INVALID);
    assert_true(size == 0);
    assert_null(owner);
    assert_null(local);
}

static void assert_bound(gex_Rank_t rank, void *owner_is, void *local_is, uintptr_t size_is)
{
    void *owner = &stub, *local = &stub;
    uintptr_t size = 5;
    assert_int_equal(gex_Segment_QueryBound(&aq_team.head, rank, &owner, &local, &size), GASNET_OK);
    assert_ptr_equal(owner, owner_is);
    assert_ptr_equal(local, local_is);
    assert_true(size == size_is);
    assert_int_equal(gex_Segment_QueryBound(&aq_team.head, rank, NULL, NULL, NULL), GASNET_OK);
}

static void assert_segment(gex_Segment_t segment)
{
    assert_ptr_equal(gex_EP_QuerySegment(&aq_endpoint), segment);
    assert_ptr_equal(gex_Segment_QueryAddr(segment), here_of[1]);
    assert_true(gex_Segment_QuerySize(segment) == LIMIT);
    gex_Segment_SetCData(segment, &stub);
    assert_ptr_equal(gex_Segment_QueryCData(segment), &stub);
}

static void test_attach(void **state)
{
    (void)state;
    for (gex_Rank_t r = 0; r < RANKS; r++)
        assert_unbound(r);
    stub.answers[0][0] = PAGE; // sizes, then addresses
    stub.answers[0][2] = 2 * PAGE;
    stub.answers[1][0] = 0x700000;
    stub.answers[1][2] = 0x800000;
    gex_Segment_t segment = NULL;
    gasnet_client_attach_hook = touch_pages;
    assert_int_equal(gex_Segment_Attach(&segment, &aq_team.head, LIMIT), GASNET_OK);
    assert_segment(segment);
    assert_int_equal(stub.barriers, 1);
    assert_int_equal(stub.hooks, 1);
    assert_int_equal(stub.pins, 1);
    assert_true(stub.shared[0] == PAGE && stub.shared[1] == LIMIT);
    assert_bound(0, (void *)0x700000, here_of[0], PAGE);
    assert_bound(ME, here_of[1], here_of[1], LIMIT);
    assert_bound(2, (void *)0x800000, NULL, 2 * PAGE); // no shared memory
    assert_int_equal(gex_Segment_Attach(&segment, &aq_team.head, PAGE), GASNET_ERR_RESOURCE);
    assert_int_equal(stub.shares, 1); // a process attaches once
    assert_int_equal(stub.hooks, 1);
    gasnet_client_attach_hook = NULL;
}

// ---- what peers may write and read ----

static bool segment_holds(uintptr_t addr, size_t nbytes)
{
    return aq_segment_holds((const void *)addr, nbytes);
}

static void assert_holds(uintptr_t start, uintptr_t size)
{
    assert_true(segment_holds(start, 1));
    assert_true(segment_holds(start, size));
    assert_false(segment_holds(start, size + 1));
    assert_true(segment_holds(start + size - 1, 1));
    assert_false(segment_holds(start + size - 1, 2));
    assert_false(segment_holds(start + size, 1));
    assert_false(segment_holds(start - 1, 1));
    assert_false(segment_holds(start - 1, 2));
    assert_false(segment_holds(start, SIZE_MAX));
    assert_false(segment_holds(start + 1, SIZE_MAX));
    assert_false(segment_holds(start - 1, SIZE_MAX));
    assert_false(segment_holds(start + size, SIZE_MAX - size + 1));
}

// A Long without payload may have any address.
static void test_holds_nothing(void **state)
{
    (void)state;
    assert_true(segment_holds(0, 0) && segment_holds(UINTPTR_MAX, 0));
    assert_false(segment_holds(0, 1) || segment_holds(UINTPTR_MAX, 1) ||
                 segment_holds((uintptr_t)&stub, 1));
    assert_false(segment_holds(0, SIZE_MAX));
}

static gex_Segment_t create_and_bind(gex_EP_t ep, char *addr, size_t size)
{
    gex_Segment_t made;
    assert_int_equal(gex_Segment_Create(&made, &aq_client, addr, size, GEX_MK_HOST, 0), GASNET_OK);
    // A segment counts only once it is bound.
    assert_false(segment_holds((uintptr_t)gex_Segment_QueryAddr(made), 1));
    assert_int_equal(gex_EP_BindSegment(ep, made, 0), GASNET_OK);
    return made;
}

static gex_EP_t second_endpoint(void)
{
    static gex_EP_t made;
    if (!made)
        assert_int_equal(gex_EP_Create(&made, &aq_client, GEX_EP_CAPABILITY_RMA, 0), GASNET_OK);
    return made;
}

// Segments that the client creates and binds, to the primordial endpoint and to a second one.
static void test_holds_bound(void **state)
{
    (void)state;
    static char memory[4 * PAGE];
    const uintptr_t at = (uintptr_t)memory;
    gex_Segment_t first = create_and_bind(&aq_endpoint, memory + 1, 99);
    assert_holds(at + 1, 99);
    gex_Segment_t second = create_and_bind(second_endpoint(), memory + PAGE, PAGE);
    assert_holds(at + PAGE, PAGE);
    assert_holds(at + 1, 99);
    assert_false(segment_holds(at + 1, 2 * PAGE - 1)); // from one segment into the other
    gex_Segment_Destroy(first, 0);
    assert_false(segment_holds(at + 1, 1));
    assert_holds(at + PAGE, PAGE);
    gex_Segment_Destroy(second, 0);
    assert_false(segment_holds(at + PAGE, 1));
}

// One thread binds a long segment and a short one at another address in turn. No reader may see the
// address of one segment with the length of the other.
enum { CHECKS = 1000000, SHORT = 16 };
static char near_memory[4 * PAGE], far_memory[4 * PAGE];
static atomic_uint bind_rounds;
static atomic_bool stop_binding;

static void *bind_in_turn(void *arg)
{
    const gex_EP_Index_t ep = gex_EP_QueryIndex(arg);
    for (; !atomic_load(&stop_binding); atomic_fetch_add(&bind_rounds, 1)) {
        aq_segment_bind_bounds(ep, (uintptr_t)near_memory, PAGE);
        aq_segment_bind_bounds(ep, (uintptr_t)far_memory, SHORT);
    }
    aq_segment_bind_bounds(ep, 0, 0);
    return NULL;
}

static void test_holds_while_binding(void **state)
{
    (void)state;
    pthread_t thread;
    unsigned wrong = 0;
    aq_threads = true;
    assert_int_equal(pthread_create(&thread, NULL, bind_in_turn, second_endpoint()), 0);
    while (!atomic_load(&bind_rounds))
        sched_yield();
    for (unsigned i = 0; i < CHECKS; i++)
        wrong += segment_holds((uintptr_t)far_memory, SHORT + 1) ||
                 segment_holds((uintptr_t)near_memory, PAGE + 1);
    atomic_store(&stop_binding, true);
    pthread_join(thread, NULL);
    aq_threads = false;
    assert_int_equal(wrong, 0);
}

static void test_holds_attached(void **state)
{
    (void)state;
    assert_holds((uintptr_t)here_of[1], LIMIT); // bound by test_attach
    assert_false(segment_holds((uintptr_t)here_of[0], 1));
    static char memory[PAGE];
    gex_Segment_t second = create_and_bind(second_endpoint(), memory, PAGE);
    assert_holds((uintptr_t)memory, PAGE);
    assert_holds((uintptr_t)here_of[1], LIMIT);
    gex_Segment_Destroy(second, 0);
}

// All memory is the segment, as far as it exists.
static void test_holds_everything(void **state)
{
    (void)state;
    aq_segment_everything();
    char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_true(segment_holds((uintptr_t)&stub, sizeof stub) && segment_holds(0, 0));
    assert_true(segment_holds((uintptr_t)pages, 3 * PAGE));
    munmap(pages + PAGE, PAGE);
    assert_true(segment_holds((uintptr_t)pages, PAGE));
    assert_true(segment_holds((uintptr_t)pages + 2 * PAGE, PAGE));
    assert_false(segment_holds((uintptr_t)pages + PAGE - 1, 2));
    assert_false(segment_holds((uintptr_t)pages + 2 * PAGE - 1, 1));
    assert_false(segment_holds(0, 1) || segment_holds(UINTPTR_MAX - 1, 1));
    assert_false(segment_holds(UINTPTR_MAX - 1, 2) || segment_holds(2, SIZE_MAX) ||
                 segment_holds(UINTPTR_MAX, 1));
    assert_true(aq_mapped(pages, PAGE, true));
    munmap(pages, 3 * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_contains, clear_segments),
        cmocka_unit_test_setup(test_unmapped, clear_segments),
        cmocka_unit_test_setup(test_limits, clear_segments),
        cmocka_unit_test_setup(test_refused_sizes, clear_segments),
        cmocka_unit_test_setup(test_failures, clear_segments),
        cmocka_unit_test_setup(test_holds_nothing, clear_segments),
        cmocka_unit_test_setup(test_holds_bound, clear_segments),
        cmocka_unit_test_setup(test_holds_while_binding, clear_segments),
        cmocka_unit_test_setup(test_attach, clear_segments),
        cmocka_unit_test(test_holds_attached),
        cmocka_unit_test(test_holds_everything), // runs last: its effect cannot be undone
    };
    return cmocka_run_group_tests(tests, start_job, NULL);
}
