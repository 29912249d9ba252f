// SPDX-License-Identifier: BSD-3-Clause
// Firehoses between two processes, message by message. test_firehose_cluster.c tests them in random
// order.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../unit/unit_test.h"

#include <string.h>

#include "../../firehose/firehose_state.h"
#include "fake_pinner.h"

enum { PAGES = 64, REGION_PAGES = 8, SLOTS = 2, VICTIMS = 1, IN_MOVE = 512, MESSAGES = 16 };

// Process 0 (the asker) accesses the memory of process 1 (the owner).
static fake_memory_t memories[2];
static aq_firehose_t *asker, *owner;
static _Alignas(4096) char bytes[PAGES * FAKE_PAGE];

static struct {
    uint32_t from;
    aq_firehose_message_t message;
    char data[IN_MOVE];
    uint32_t data_bytes;
} sent[MESSAGES];
static uint32_t sent_count;

static void send_request(void *context, uint32_t peer, const aq_firehose_message_t *message,
                         const void *data, uint32_t data_bytes)
{
    uint32_t from = context == &memories[1];
    assert_int_equal(peer, 1 - from);
    assert_true(sent_count < MESSAGES && data_bytes <= IN_MOVE);
    sent[sent_count].from = from;
    sent[sent_count].message = *message;
    sent[sent_count].data_bytes = data_bytes;
    if (data_bytes)
        memcpy(sent[sent_count].data, data, data_bytes);
    sent_count++;
}

// Delivers a request that was sent, and returns the answer.
static aq_firehose_message_t serve_request(uint32_t which)
{
    aq_firehose_message_t answer;
    uint32_t from = sent[which].from;
    assert_true(which < sent_count);
    assert_int_equal(aq_firehose_serve(from ? asker : owner, from, &sent[which].message,
                                       sent[which].data, sent[which].data_bytes, &answer),
                     AQ_OK);
    return answer;
}

static void answer_asker(aq_firehose_message_t answer)
{
    assert_int_equal(aq_firehose_answered(asker, 1, &answer), AQ_OK);
}

static int start(void **state)
{
    (void)state;
    const aq_firehose_ops_t ops = {fake_memory_pin, fake_memory_unpin, send_request};
    const aq_firehose_params_t params = {
        .main = {SLOTS, SLOTS * REGION_PAGES * FAKE_PAGE},
        .victim = {VICTIMS, VICTIMS * REGION_PAGES * FAKE_PAGE},
        .per_peer = SLOTS,
        .region_bytes = REGION_PAGES * FAKE_PAGE,
        .page_bytes = FAKE_PAGE,
        .put_in_move = IN_MOVE,
        .table_scale = 1,
    };
    sent_count = 0;
    memset(bytes, 0, sizeof bytes);
    for (int i = 0; i < 2; i++) {
        fake_memory_start(&memories[i], (uintptr_t)bytes, PAGES, 100);
        memories[i].most = (aq_firehose_amount_t){SLOTS + VICTIMS, UINT64_MAX};
        memories[i].limit = AQ_FIREHOSE_DEVICE;
        assert_int_equal(aq_firehose_start(&params, &ops, &memories[i], 2, i ? &owner : &asker),
                         AQ_OK);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    aq_firehose_stop(asker);
    aq_firehose_stop(owner);
    for (int i = 0; i < 2; i++)
        fake_memory_stop(&memories[i]);
    return 0;
}

typedef struct waiting {
    aq_firehose_wait_t wait;
    bool completed;
    aq_status_t status;
    aq_firehose_region_t *region;
} waiting_t;

static void complete_wait(aq_firehose_wait_t *wait, aq_status_t status,
                          aq_firehose_region_t *region)
{
    waiting_t *waiting = (waiting_t *)(void *)wait;
    assert_false(waiting->completed);
    waiting->completed = true;
    waiting->status = status;
    waiting->region = region;
}

static uintptr_t at(uint32_t page)
{
    return (uintptr_t)bytes + (uintptr_t)page * FAKE_PAGE;
}

static aq_firehose_reached_t reach(uint32_t page, uint32_t pages, bool write, waiting_t *waiting)
{
    const aq_firehose_target_t target = {
        .peer = 1, .write = write, .address = at(page), .bytes = (size_t)pages * FAKE_PAGE};
    *waiting = (waiting_t){.wait.done = complete_wait};
    return aq_firehose_reach(asker, &target, &waiting->wait, &waiting->region);
}

// Moves a firehose onto some pages, and returns its region, which is in use.
static aq_firehose_region_t *move_firehose(uint32_t page, uint32_t pages, bool write)
{
    waiting_t waiting;
    uint32_t before = sent_count;
    assert_int_equal(reach(page, pages, write, &waiting), AQ_FIREHOSE_PENDING);
    assert_int_equal(sent_count, before + 1);
    answer_asker(serve_request(before));
    sent_count = before;
    assert_true(waiting.completed);
    assert_int_equal(waiting.status, AQ_OK);
    fake_memory_use(&memories[1], waiting.region->key.remote, at(page), FAKE_PAGE, write);
    return waiting.region;
}

static void move_and_release(uint32_t page)
{
    aq_firehose_release(move_firehose(page, 1, true));
}

// Requests a move to memory that is not mapped: the owner refuses, and the asker's oldest slot is
// empty afterwards.
static void move_to_unmapped(void)
{
    waiting_t waiting;
    memories[1].access[PAGES - 1] = FAKE_NONE;
    assert_int_equal(reach(PAGES - 1, 1, true, &waiting), AQ_FIREHOSE_PENDING);
    answer_asker(serve_request(0));
    sent_count = 0;
    assert_true(waiting.completed && waiting.status == AQ_ERR_RESOURCE);
}

static aq_firehose_region_t *pin_own(uint32_t page)
{
    aq_firehose_region_t *region = NULL;
    assert_int_equal(aq_firehose_pin(owner, (void *)at(page), FAKE_PAGE, true, &region), AQ_OK);
    return region;
}

static void assert_pages(const aq_firehose_region_t *region, uint32_t first, uint32_t last)
{
    assert_int_equal(region->start, at(first));
    assert_int_equal(region->end, at(last));
}

// ---- hits and moves ----

static void test_hit(void **state)
{
    (void)state;
    waiting_t waiting;
    aq_firehose_region_t *region = move_firehose(3, 2, true);
    assert_pages(region, 3, 5);
    assert_int_equal(reach(4, 3, false, &waiting), AQ_FIREHOSE_HIT);
    assert_ptr_equal(waiting.region, region);
    assert_int_equal(aq_firehose_covered(region, at(4), 3 * FAKE_PAGE), FAKE_PAGE);
    assert_int_equal(sent_count, 0);
    aq_firehose_release(region);
    aq_firehose_release(waiting.region);
}

// A look-up sends no request.
static void test_lookup(void **state)
{
    (void)state;
    assert_null(aq_firehose_look(asker, 1, at(3), false));
    aq_firehose_region_t *region = move_firehose(3, 2, true);
    assert_ptr_equal(aq_firehose_look(asker, 1, at(4), true), region);
    assert_null(aq_firehose_look(asker, 1, at(5), false));
    assert_int_equal(sent_count, 0);
    aq_firehose_release(region);
    aq_firehose_release(region);
}

// At the end of a process nothing stays pinned, not even for peers, except for regions that an
// operation still uses.
static void test_quit(void **state)
{
    (void)state;
    move_and_release(3);
    move_and_release(20);
    aq_firehose_region_t *busy = pin_own(40);
    assert_int_equal(memories[1].now.regions, 3);
    assert_true(aq_firehose_quit(owner));
    assert_int_equal(memories[1].now.regions, 1);
    aq_firehose_release(busy);
    assert_int_equal(memories[1].now.regions, 0);
}

static void test_full(void **state)
{
    (void)state;
    waiting_t waiting;
    aq_firehose_region_t *one = move_firehose(0, 1, true), *two = move_firehose(20, 1, true);
    assert_int_equal(reach(40, 1, true, &waiting), AQ_FIREHOSE_FULL);
    aq_firehose_release(one);
    aq_firehose_region_t *three = move_firehose(40, 1, true);
    assert_int_equal(memories[1].now.regions, 3); // the victim pool keeps the first region
    aq_firehose_release(two);
    aq_firehose_release(three);
}

// In memory that stays mapped, the owner pins the whole block; elsewhere only the requested pages.
static void test_block(void **state)
{
    (void)state;
    uint32_t block = (uint32_t)(at(20) / FAKE_PAGE % REGION_PAGES);
    block = 20 - block; // first page of a block
    aq_firehose_stays(owner, (void *)(at(block + 2) - 100), 30 * FAKE_PAGE + 50);
    aq_firehose_region_t *first = move_firehose(block + 3, 1, true);
    assert_pages(first, block + 2, block + REGION_PAGES); // only the part that stays mapped
    aq_firehose_release(first);
    aq_firehose_region_t *whole = move_firehose(block + REGION_PAGES + 3, 2, true);
    assert_pages(whole, block + REGION_PAGES, block + 2 * REGION_PAGES);
    aq_firehose_release(whole);
    aq_firehose_region_t *outside = move_firehose(1, 1, true);
    assert_pages(outside, 1, 2);
    aq_firehose_release(outside);
}

// ---- operations that wait together ----

static void test_join(void **state)
{
    (void)state;
    waiting_t first, second, third;
    memories[1].access[1] = FAKE_READ;
    assert_int_equal(reach(0, 3, false, &first), AQ_FIREHOSE_PENDING);
    assert_int_equal(reach(1, 1, false, &second), AQ_FIREHOSE_PENDING);
    assert_int_equal(sent_count, 1);
    assert_int_equal(reach(1, 1, true, &third), AQ_FIREHOSE_PENDING); // needs write access
    assert_int_equal(sent_count, 2);
    answer_asker(serve_request(0));
    assert_true(first.completed && second.completed && !third.completed);
    assert_ptr_equal(first.region, second.region);
    answer_asker(serve_request(1));
    assert_true(third.completed && third.status == AQ_ERR_RESOURCE);
    aq_firehose_release(first.region);
    aq_firehose_release(second.region);
}

static void test_put_in_move(void **state)
{
    (void)state;
    waiting_t put = {.wait.done = complete_wait}, get;
    char data[IN_MOVE];
    const aq_firehose_target_t to = {.peer = 1,
                                     .write = true,
                                     .address = at(2) + 10,
                                     .bytes = sizeof data,
                                     .data = data},
                               from = {.peer = 1, .address = at(2) + 20, .bytes = 100};
    memset(data, 'x', sizeof data);
    assert_int_equal(aq_firehose_reach(asker, &to, &put.wait, &put.region), AQ_FIREHOSE_PENDING);
    memset(data, 'y', sizeof data); // the caller may reuse the buffer
    get = (waiting_t){.wait.done = complete_wait};
    assert_int_equal(aq_firehose_reach(asker, &from, &get.wait, &get.region), AQ_FIREHOSE_PENDING);
    assert_int_equal(sent_count, 1);
    answer_asker(serve_request(0));
    assert_int_equal(bytes[2 * FAKE_PAGE + 10], 'x');
    assert_int_equal(bytes[2 * FAKE_PAGE + 10 + IN_MOVE - 1], 'x');
    assert_int_equal(bytes[2 * FAKE_PAGE + 10 + IN_MOVE], 0);
    assert_true(put.completed && put.status == AQ_OK && !put.region);
    assert_true(get.completed && get.status == AQ_OK && get.region);
    aq_firehose_release(get.region);
}

// The data arrives even if the memory cannot be pinned.
static void test_put_in_refused_move(void **state)
{
    (void)state;
    waiting_t put = {.wait.done = complete_wait};
    const aq_firehose_target_t target = {
        .peer = 1, .write = true, .address = at(2), .bytes = 3, .data = "abc"};
    memories[1].access[2] = FAKE_NONE;
    assert_int_equal(aq_firehose_reach(asker, &target, &put.wait, &put.region),
                     AQ_FIREHOSE_PENDING);
    answer_asker(serve_request(0));
    assert_memory_equal(bytes + 2 * FAKE_PAGE, "abc", 3);
    assert_true(put.completed && put.status == AQ_OK && !put.region);
}

// The owner uses a page in the middle of the requested ones, so that the region ends before that
// page. An operation that waits for a page behind it must request again.
static void test_cut_move(void **state)
{
    (void)state;
    waiting_t first, behind;
    aq_firehose_region_t *used = pin_own(12);
    assert_int_equal(reach(10, 5, true, &first), AQ_FIREHOSE_PENDING);
    assert_int_equal(reach(13, 1, true, &behind), AQ_FIREHOSE_PENDING);
    answer_asker(serve_request(0));
    assert_pages(first.region, 10, 12);
    assert_true(behind.completed && behind.status == AQ_AGAIN && !behind.region);
    aq_firehose_release(first.region);
    aq_firehose_release(used);
}

// ---- the two pools ----

static void test_held_is_not_evicted(void **state)
{
    (void)state;
    aq_firehose_region_t *region = move_firehose(0, 1, true);
    assert_int_equal(owner->map.evictable_count, 0); // a held region is no candidate for eviction
    aq_firehose_release(region);
    aq_firehose_release(pin_own(20));
    aq_firehose_release(pin_own(40));
    assert_int_equal(memories[1].pins[0], 1);
    assert_int_equal(memories[1].pins[20], 0);
    assert_int_equal(memories[1].pins[40], 1);
}

// Regions that peers give up move to the victim pool, which has its own limit.
static void test_given_up(void **state)
{
    (void)state;
    move_and_release(0);
    move_and_release(20);
    move_to_unmapped(); // gives up page 0
    assert_int_equal(memories[1].now.regions, 2);
    move_and_release(40);
    assert_int_equal(memories[1].now.regions, 3);
    move_to_unmapped(); // gives up page 20
    assert_int_equal(memories[1].now.regions, 2);
    assert_int_equal(memories[1].pins[40], 1);
}

// The owner uses regions that peers held before. Meanwhile the pools are full, and the owner pins
// no more than the limits allow.
static void test_used_by_both(void **state)
{
    (void)state;
    waiting_t waiting;
    move_and_release(0);
    move_and_release(20);
    aq_firehose_region_t *one = pin_own(0), *two = pin_own(20);
    move_and_release(40);
    assert_int_equal(memories[1].now.regions, 3);
    assert_int_equal(reach(50, 1, true, &waiting), AQ_FIREHOSE_PENDING);
    answer_asker(serve_request(0));
    assert_int_equal(waiting.status, AQ_ERR_RESOURCE);
    assert_int_equal(owner->pools[AQ_FIREHOSE_VICTIM].now.regions, 2);
    aq_firehose_release(one);
    aq_firehose_release(two);
    sent_count = 0;
    move_and_release(50);
    assert_int_equal(memories[1].now.regions, 3);
    aq_firehose_stats_t stats;
    aq_firehose_stats(owner, &stats);
    assert_int_equal(stats.main_most.regions, SLOTS); // the machine's limit was not reached
    assert_int_equal(stats.refused, 1);
}

// ---- invalidation ----

static aq_status_t invalidate(uint32_t page)
{
    return aq_firehose_invalidate(owner, (void *)at(page), FAKE_PAGE);
}

static void answer_owner(aq_firehose_message_t answer)
{
    assert_int_equal(aq_firehose_answered(owner, 0, &answer), AQ_OK);
}

static void test_revoke(void **state)
{
    (void)state;
    waiting_t waiting;
    aq_firehose_release(move_firehose(3, 2, true));
    assert_int_equal(invalidate(10), AQ_OK);
    assert_int_equal(invalidate(4), AQ_AGAIN);
    assert_int_equal(invalidate(4), AQ_AGAIN);
    assert_int_equal(sent_count, 1); // one revoke only
    answer_owner(serve_request(0));
    assert_int_equal(invalidate(4), AQ_OK);
    assert_int_equal(memories[1].now.regions, 0);
    assert_int_equal(reach(3, 1, true, &waiting), AQ_FIREHOSE_PENDING);
    answer_asker(serve_request(1));
    aq_firehose_release(waiting.region);
}

static void test_revoke_in_use(void **state)
{
    (void)state;
    waiting_t waiting;
    aq_firehose_region_t *region = move_firehose(3, 2, true);
    assert_int_equal(invalidate(4), AQ_AGAIN);
    answer_owner(serve_request(0));
    assert_int_equal(reach(3, 1, true, &waiting),
                     AQ_FIREHOSE_PENDING); // a revoked region is no hit
    sent_count = 0;
    fake_memory_use(&memories[1], region->key.remote, at(3), FAKE_PAGE, true);
    aq_firehose_release(region);
    assert_int_equal(invalidate(4), AQ_AGAIN); // sends another revoke
    assert_int_equal(sent_count, 1);
    answer_owner(serve_request(0));
    assert_int_equal(invalidate(4), AQ_OK);
}

// A revoke for the previous place of a firehose arrives late: the firehose stays where it is.
static void test_late_revoke(void **state)
{
    (void)state;
    waiting_t waiting;
    move_and_release(3);
    move_and_release(20);
    assert_int_equal(invalidate(3), AQ_AGAIN); // sent[0]
    assert_int_equal(reach(40, 1, true, &waiting), AQ_FIREHOSE_PENDING);
    answer_asker(serve_request(1)); // reuses the slot of page 3
    aq_firehose_release(waiting.region);
    aq_firehose_message_t given = serve_request(0);
    assert_int_equal(reach(40, 1, true, &waiting), AQ_FIREHOSE_HIT);
    answer_owner(given);
    fake_memory_use(&memories[1], waiting.region->key.remote, at(40), FAKE_PAGE, true);
    aq_firehose_release(waiting.region);
    assert_int_equal(invalidate(3), AQ_OK);
}

// ---- invalid messages ----

static void test_invalid_messages(void **state)
{
    (void)state;
    static const aq_firehose_message_t requests[] = {
        {.kind = AQ_FIREHOSE_MOVED, .bytes = 1},
        {.kind = AQ_FIREHOSE_MOVE, .bytes = 0},
        {.kind = AQ_FIREHOSE_MOVE, .bytes = REGION_PAGES * FAKE_PAGE + 1},
        {.kind = AQ_FIREHOSE_MOVE, .bytes = 1, .slot = SLOTS},
        {.kind = AQ_FIREHOSE_REVOKE, .slot = SLOTS},
        {.kind = 77},
    };
    static const aq_firehose_message_t answers[] = {
        {.kind = AQ_FIREHOSE_MOVE},
        {.kind = AQ_FIREHOSE_MOVED},
        {.kind = AQ_FIREHOSE_MOVED, .slot = SLOTS},
        {.kind = AQ_FIREHOSE_GIVEN, .slot = SLOTS},
    };
    aq_firehose_message_t answer;
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
        assert_int_equal(aq_firehose_serve(owner, 0, &requests[i], NULL, 0, &answer), AQ_ERR_PEER);
    assert_int_equal(aq_firehose_serve(owner, 2, &requests[0], NULL, 0, &answer), AQ_ERR_PEER);
    move_and_release(0);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        assert_int_equal(aq_firehose_answered(asker, 1, &answers[i]), AQ_ERR_PEER);
    assert_int_equal(aq_firehose_answered(asker, 0, &answers[1]), AQ_ERR_PEER);
}

// An answer with a region that is too long, or empty, is refused.
static void test_too_long(void **state)
{
    (void)state;
    waiting_t waiting;
    assert_int_equal(reach(0, 1, true, &waiting), AQ_FIREHOSE_PENDING);
    aq_firehose_message_t answer = serve_request(0), wrong = answer;
    wrong.bytes = 64 * REGION_PAGES * FAKE_PAGE;
    assert_int_equal(aq_firehose_answered(asker, 1, &wrong), AQ_ERR_PEER);
    wrong.bytes = 0;
    assert_int_equal(aq_firehose_answered(asker, 1, &wrong), AQ_ERR_PEER);
    assert_false(waiting.completed);
    answer_asker(answer);
    aq_firehose_release(waiting.region);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, start, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_hit),         TEST(test_full),
        TEST(test_block),       TEST(test_join),
        TEST(test_put_in_move), TEST(test_put_in_refused_move),
        TEST(test_cut_move),    TEST(test_held_is_not_evicted),
        TEST(test_given_up),    TEST(test_used_by_both),
        TEST(test_revoke),      TEST(test_revoke_in_use),
        TEST(test_late_revoke), TEST(test_invalid_messages),
        TEST(test_too_long),    TEST(test_lookup),
        TEST(test_quit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
