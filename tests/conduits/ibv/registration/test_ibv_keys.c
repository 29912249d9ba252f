// SPDX-License-Identifier: BSD-3-Clause
// Keys for local memory and memory of a peer, in each segment mode: two instances in one process, a
// device that rejects invalid keys, and messages that the test delivers.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../conduits/ibv/registration/ibv_keys.h"
#include "../../../../other/base/settings/settings.h"
#include "../../../unit/child_errors.h"
#include "../../../unit/default_settings.h"
#include "../fake_verbs.h"

enum { RANKS = 2, PAGE = 4096, PAGES = 64, MESSAGES = 8, IN_MOVE = 3072 };

// The memory of each process. Its segment is in the middle: offsets FROM to TO - 1.
static _Alignas(PAGE) char bytes[RANKS][PAGES * PAGE];
enum { FROM = 16 * PAGE, LENGTH = 20 * PAGE + 100, TO = FROM + LENGTH };

static aq_ibv_memory_t memories[RANKS], second_memories[RANKS];
static aq_ibv_rail_ports_t rails[RANKS];
static unsigned ports;                // of each rank
static aq_ibv_paging_t paging[RANKS]; // of the devices
static aq_ibv_keys_t keys[RANKS];

static struct {
    uint32_t from;
    aq_firehose_message_t message;
    char data[IN_MOVE];
    uint32_t data_bytes;
} sent[MESSAGES];
static uint32_t sent_count;

static uintptr_t address_of(uint32_t rank, size_t offset)
{
    return (uintptr_t)bytes[rank] + offset;
}

// ---- the job ----

static pthread_barrier_t all_there;
static char exchanged[RANKS][4096];

static aq_status_t boot_exchange(aq_boot_t *boot, const void *mine, size_t len, void *all)
{
    assert_true(len <= sizeof exchanged[0]);
    memcpy(exchanged[boot->rank], mine, len);
    pthread_barrier_wait(&all_there);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        memcpy((char *)all + rank * len, exchanged[rank], len);
    pthread_barrier_wait(&all_there);
    return AQ_OK;
}

static const aq_boot_ops_t boot_ops = {.exchange = boot_exchange};

static struct attachment {
    uint32_t rank;
    size_t bytes;
    aq_status_t status;
} attachments[RANKS];

static void *attach_segment(void *arg)
{
    struct attachment *it = arg;
    aq_boot_t boot = {.ops = &boot_ops, .rank = it->rank, .size = RANKS};
    it->status = aq_ibv_keys_attach(&keys[it->rank], &boot, bytes[it->rank] + FROM, it->bytes);
    return NULL;
}

static void *publish_keys(void *arg)
{
    struct attachment *it = arg;
    aq_boot_t boot = {.ops = &boot_ops, .rank = it->rank, .size = RANKS};
    it->status = aq_ibv_keys_publish(&keys[it->rank], &boot);
    return NULL;
}

// At all ranks.
static void publish_all(void)
{
    pthread_t other;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        attachments[rank] = (struct attachment){.rank = rank};
    assert_int_equal(pthread_create(&other, NULL, publish_keys, &attachments[1]), 0);
    publish_keys(&attachments[0]);
    pthread_join(other, NULL);
    assert_int_equal(attachments[0].status, AQ_OK);
    assert_int_equal(attachments[1].status, AQ_OK);
}

static uintptr_t starts[RANKS], lengths[RANKS];

static void attach_all(size_t length_0, size_t length_1)
{
    pthread_t other;
    lengths[0] = length_0;
    lengths[1] = length_1;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        starts[rank] = (uintptr_t)bytes[rank] + FROM;
    attachments[0] = (struct attachment){.rank = 0, .bytes = length_0};
    attachments[1] = (struct attachment){.rank = 1, .bytes = length_1};
    assert_int_equal(pthread_create(&other, NULL, attach_segment, &attachments[1]), 0);
    attach_segment(&attachments[0]);
    pthread_join(other, NULL);
}

// ---- messages ----

static void send_request(void *context, uint32_t peer, const aq_firehose_message_t *message,
                         const void *data, uint32_t data_bytes)
{
    uint32_t from = (uint32_t)((aq_ibv_memory_t *)context - memories);
    assert_int_equal(peer, 1 - from);
    assert_true(sent_count < MESSAGES && data_bytes <= IN_MOVE);
    sent[sent_count].from = from;
    sent[sent_count].message = *message;
    sent[sent_count].data_bytes = data_bytes;
    if (data_bytes > 0)
        memcpy(sent[sent_count].data, data, data_bytes);
    sent_count++;
}

// Delivers a request, and the answer to it.
static void deliver(uint32_t which)
{
    aq_firehose_message_t answer;
    uint32_t from = sent[which].from;
    assert_int_equal(aq_ibv_keys_serve(&keys[1 - from], from, &sent[which].message,
                                       sent[which].data, sent[which].data_bytes, &answer),
                     AQ_OK);
    assert_int_equal(aq_ibv_keys_answered(&keys[from], 1 - from, &answer), AQ_OK);
}

// ---- waits ----

typedef struct waiter {
    aq_ibv_wait_t wait;
    unsigned calls;
    aq_status_t status;
    bool has_hold;
    aq_ibv_hold_t hold;
} waiter_t;

static void complete_wait(aq_ibv_wait_t *wait, aq_status_t status, const aq_ibv_hold_t *hold)
{
    waiter_t *waiter = (waiter_t *)(void *)wait;
    waiter->calls++;
    waiter->status = status;
    waiter->has_hold = hold != NULL;
    if (hold != NULL)
        waiter->hold = *hold;
}

static aq_ibv_reached_t reach(size_t offset, size_t length, bool write, const void *data,
                              waiter_t *waiter)
{
    const aq_firehose_target_t target = {
        .peer = 1, .write = write, .address = address_of(1, offset), .bytes = length, .data = data};
    *waiter = (waiter_t){.wait.done = complete_wait};
    return aq_ibv_keys_remote(&keys[0], &target, &waiter->wait, &waiter->hold);
}

// The reverse: process 1 asks for the first bytes of process 0, to write.
static aq_ibv_reached_t reach_back(size_t length, waiter_t *waiter)
{
    const aq_firehose_target_t target = {
        .write = true, .address = address_of(0, FROM), .bytes = length};
    return aq_ibv_keys_remote(&keys[1], &target, &waiter->wait, &waiter->hold);
}

// ---- start and end ----

static int set_up(void **state)
{
    (void)state;
    fake_verbs_start();
    sent_count = 0;
    ports = 1;
    memset(paging, 0, sizeof paging);
    memset(bytes, 0, sizeof bytes);
    return default_settings();
}

static void load_setting(const char *name, const char *value)
{
    char err[512];
    setenv(name, value, 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
}

static void start(aq_segment_mode_t mode, uint64_t piece)
{
    pthread_barrier_init(&all_there, NULL, RANKS);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        memories[rank] = (aq_ibv_memory_t){.calls = &fake_verbs_calls,
                                           .device = "fake0",
                                           .region_bytes = 1 << 30,
                                           .piece_bytes = piece,
                                           .overlap = 100,
                                           .most = 64 << 20,
                                           .paged = paging[rank]};
        second_memories[rank] = memories[rank];
        rails[rank] = (aq_ibv_rail_ports_t){
            .count = ports,
            .list = {{.memory = &memories[rank]}, {.memory = &second_memories[rank]}}};
        aq_ibv_keys_setup_t setup = {.mode = mode,
                                     .memory = &memories[rank],
                                     .rails = &rails[rank],
                                     .device_regions = FAKE_VERBS_REGIONS,
                                     .processes = 2,
                                     .ranks = RANKS,
                                     .peers = RANKS - 1,
                                     .starts = starts,
                                     .lengths = lengths,
                                     .request = send_request,
                                     .context = &memories[rank]};
        assert_int_equal(aq_ibv_keys_start(&keys[rank], &setup), AQ_OK);
    }
}

// Stops both instances, and checks that nothing stays registered.
static void tear_down(void)
{
    for (uint32_t rank = 0; rank < RANKS; rank++)
        aq_ibv_keys_stop(&keys[rank]);
    assert_int_equal(fake_verbs.regions, 0);
    assert_int_equal(fake_verbs.bytes, 0);
    pthread_barrier_destroy(&all_there);
}

// ---- segment FAST ----

// Each address of the segments has a key, which is valid to the end of the address's piece.
static void check_fast(void)
{
    waiter_t waiter;
    aq_ibv_hold_t hold;
    for (size_t at = FROM; at < TO; at += 100) {
        assert_int_equal(reach(at, TO - at, true, NULL, &waiter), AQ_IBV_REACHED);
        fake_verbs_use(waiter.hold.key, address_of(1, at), waiter.hold.bytes, true, false);
        assert_null(waiter.hold.region);
        assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0] + at, TO - at, true, &hold), AQ_OK);
        fake_verbs_use(hold.key, address_of(0, at), hold.bytes, true, true);
        assert_int_equal(hold.bytes, waiter.hold.bytes);
        assert_null(hold.region);
    }
    assert_int_equal(reach(FROM - 1, 1, false, NULL, &waiter), AQ_IBV_MESSAGES);
    assert_int_equal(reach(TO, 1, false, NULL, &waiter), AQ_IBV_MESSAGES);
    assert_int_equal(reach(TO - 8, 9, false, NULL, &waiter), AQ_IBV_MESSAGES);
}

static void test_fast(void **state)
{
    (void)state;
    static const uint64_t pieces[] = {1 << 30, 4 * PAGE, PAGE};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        waiter_t waiter;
        start(AQ_SEGMENT_FAST, pieces[i]);
        assert_int_equal(reach(FROM, 1, false, NULL, &waiter), AQ_IBV_MESSAGES); // not attached
        attach_all(LENGTH, LENGTH);
        assert_int_equal(attachments[0].status, AQ_OK);
        assert_int_equal(fake_verbs.regions,
                         2 * (pieces[i] > LENGTH ? 1 : (LENGTH - 1) / pieces[i] + 1));
        check_fast();
        assert_int_equal(sent_count, 0);
        // The table has one key per piece.
        assert_int_equal(aq_ibv_keys_table_bytes(&keys[0]), sizeof(uint32_t) * fake_verbs.regions);
        tear_down();
    }
}

// Segments of different lengths, and none at all.
static void test_fast_uneven(void **state)
{
    (void)state;
    waiter_t waiter;
    start(AQ_SEGMENT_FAST, PAGE);
    attach_all(0, 3 * PAGE);
    assert_int_equal(attachments[0].status, AQ_OK);
    assert_int_equal(reach(FROM + 2 * PAGE, PAGE, true, NULL, &waiter), AQ_IBV_REACHED);
    fake_verbs_use(waiter.hold.key, address_of(1, FROM + 2 * PAGE), PAGE, true, false);
    assert_int_equal(reach(FROM + 3 * PAGE, 1, true, NULL, &waiter), AQ_IBV_MESSAGES);
    assert_int_equal(reach_back(1, &waiter), AQ_IBV_MESSAGES);
    tear_down();
}

static void register_neither(void)
{
    start(AQ_SEGMENT_FAST, 1 << 30);
    fake_verbs.none = address_of(0, FROM);
    attach_all(LENGTH, LENGTH);
    if (attachments[0].status != AQ_ERR_ARG || attachments[1].status != AQ_ERR_ARG)
        _exit(1);
}

static void register_one(void)
{
    start(AQ_SEGMENT_FAST, 1 << 30);
    fake_verbs.none = address_of(1, FROM);
    attach_all(LENGTH, LENGTH);
    if (attachments[0].status != AQ_ERR_ARG || attachments[1].status != AQ_ERR_ARG)
        _exit(1);
    tear_down();
}

// If any rank cannot register its segment, attach fails on all ranks, and one rank logs why.
static void test_fast_refused(void **state)
{
    (void)state;
    void (*const refusals[])(void) = {register_one, register_neither};
    for (size_t i = 0; i < 2; i++) {
        char *text = child_errors(refusals[i]);
        const char *sentence = strstr(text, "the segment (");
        assert_non_null(sentence);
        assert_null(strstr(sentence + 1, "the segment ("));
        free(text);
    }
}

// A limit prevents registration of the second segment: both ranks continue in mode LARGE, and one
// of them logs the reason.
static void fall_back(void)
{
    waiter_t waiter;
    aq_ibv_hold_t hold;
    start(AQ_SEGMENT_FAST, 1 << 30);
    fake_verbs.most_bytes = LENGTH + 8 * PAGE;
    attach_all(LENGTH, LENGTH);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_int_equal(attachments[rank].status, AQ_OK);
        assert_int_equal(keys[rank].setup.mode, AQ_SEGMENT_LARGE);
    }
    assert_int_equal(fake_verbs.regions, 0);
    assert_int_equal(reach(FROM - 1, 1, true, NULL, &waiter), AQ_IBV_MESSAGES);
    assert_int_equal(reach(FROM + 10, 100, true, NULL, &waiter), AQ_IBV_PENDING);
    deliver(0);
    assert_int_equal(waiter.status, AQ_OK);
    fake_verbs_use(waiter.hold.key, address_of(1, FROM + 10), 100, true, false);
    aq_ibv_keys_release(&waiter.hold);
    assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0] + FROM, 8, true, &hold), AQ_OK);
    fake_verbs_use(hold.key, address_of(0, FROM), 8, true, true);
    aq_ibv_keys_release(&hold);
    tear_down();
}

static void test_fast_falls_back(void **state)
{
    (void)state;
    char *text = child_errors(fall_back);
    const char *sentence = strstr(text, "the segment (");
    assert_non_null(sentence);
    assert_non_null(
        strstr(sentence, "The job continues without: put and get register parts of it"));
    assert_null(strstr(sentence + 1, "the segment ("));
    free(text);
}

// ---- memory of this process ----

// What is in the segment has its key; other memory is pinned, if it may be.
static void test_expose(void **state)
{
    (void)state;
    aq_ibv_hold_t hold;
    for (unsigned stays = 0; stays < 2; stays++) {
        load_setting("GASNET_DISABLE_MUNMAP", stays ? "1" : "0");
        start(AQ_SEGMENT_FAST, 4 * PAGE);
        attach_all(LENGTH, LENGTH);
        const size_t at = FROM + 5 * PAGE;
        assert_int_equal(aq_ibv_keys_expose(&keys[0], bytes[0] + at, 100, &hold), AQ_OK);
        assert_null(hold.region);
        fake_verbs_use(hold.key, address_of(0, at), 100, false, false);
        const aq_status_t status = aq_ibv_keys_expose(&keys[0], bytes[0] + 10, 1000, &hold);
        assert_int_equal(status, stays ? AQ_OK : AQ_ERR_ABSENT);
        if (stays) {
            assert_int_equal(hold.bytes, 1000);
            fake_verbs_use(hold.key, address_of(0, 10), 1000, false, false);
            aq_ibv_keys_release(&hold);
        }
        tear_down();
    }
}

static void test_local(void **state)
{
    (void)state;
    aq_ibv_hold_t hold, again;
    start(AQ_SEGMENT_FAST, 1 << 30);
    attach_all(LENGTH, LENGTH);
    unsigned before = fake_verbs.registrations;
    assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0] + 10, 1000, false, &hold), AQ_OK);
    assert_non_null(hold.region);
    assert_int_equal(hold.bytes, 1000);
    fake_verbs_use(hold.key, address_of(0, 10), 1000, false, true);
    aq_ibv_keys_release(&hold);
    assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0] + 20, 100, true, &again), AQ_OK);
    assert_int_equal(again.key, hold.key); // the region stays registered between uses
    assert_int_equal(fake_verbs.registrations, before + 1);
    aq_ibv_keys_release(&again);
    // Read-only memory.
    fake_verbs.read_only = address_of(0, 40 * PAGE);
    assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0] + 50 * PAGE, 8, false, &hold), AQ_OK);
    fake_verbs_use(hold.key, address_of(0, 50 * PAGE), 8, false, true);
    assert_int_equal(fake_verbs.access, IBV_ACCESS_REMOTE_READ);
    aq_ibv_keys_release(&hold);
    assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0] + 60 * PAGE, 8, true, &hold), AQ_ERR_ARG);
    tear_down();
}

static void test_local_absent(void **state)
{
    (void)state;
    aq_ibv_hold_t hold;
    load_setting("GASNET_USE_FIREHOSE", "0");
    start(AQ_SEGMENT_FAST, 1 << 30);
    attach_all(LENGTH, LENGTH);
    assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0], 8, true, &hold), AQ_ERR_ABSENT);
    assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0] + FROM, 8, true, &hold), AQ_OK);
    tear_down();
    // The result is the same if memory may be unmapped at any time.
    load_setting("GASNET_USE_FIREHOSE", "1");
    load_setting("GASNET_DISABLE_MUNMAP", "0");
    start(AQ_SEGMENT_LARGE, 1 << 30);
    attach_all(LENGTH, LENGTH);
    assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0], 8, true, &hold), AQ_ERR_ABSENT);
    assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0] + FROM, 8, true, &hold), AQ_OK);
    aq_ibv_keys_release(&hold);
    tear_down();
    // A limit of the machine has the same result, and is logged once.
    load_setting("GASNET_DISABLE_MUNMAP", "1");
    start(AQ_SEGMENT_FAST, 1 << 30);
    attach_all(LENGTH, LENGTH);
    fake_verbs.most_regions = 2;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0], 8, true, &hold), AQ_ERR_ABSENT);
    tear_down();
}

// Memory that is already registered counts against the limit of firehose.
static void test_budget(void **state)
{
    (void)state;
    waiter_t waiter;
    aq_firehose_stats_t stats;
    memories[0] = (aq_ibv_memory_t){
        .calls = &fake_verbs_calls, .region_bytes = 1 << 30, .most = 1 << 20, .bytes = 256 << 10};
    aq_ibv_keys_setup_t setup = {.mode = AQ_SEGMENT_FAST,
                                 .memory = &memories[0],
                                 .device_regions = 1000,
                                 .processes = 1,
                                 .ranks = 1};
    assert_int_equal(aq_ibv_keys_start(&keys[0], &setup), AQ_OK);
    aq_firehose_stats(keys[0].firehose, &stats);
    assert_int_equal(stats.victim_most.bytes, 768 << 10);
    aq_ibv_keys_stop(&keys[0]);
    load_setting("GASNET_USE_FIREHOSE", "0");
    setup.mode = AQ_SEGMENT_LARGE;
    assert_int_equal(aq_ibv_keys_start(&keys[0], &setup), AQ_OK);
    assert_int_equal(reach(FROM, 8, true, NULL, &waiter), AQ_IBV_MESSAGES);
    aq_ibv_keys_stop(&keys[0]);
}

// ---- segments LARGE and EVERYTHING ----

static void test_large(void **state)
{
    (void)state;
    waiter_t first, second, late;
    start(AQ_SEGMENT_LARGE, 1 << 30);
    attach_all(LENGTH, LENGTH);
    assert_int_equal(fake_verbs.regions, 0); // nothing is registered beforehand
    assert_int_equal(aq_ibv_keys_table_bytes(&keys[0]), sizeof(void *)); // enough for 64 ranks
    assert_int_equal(reach(FROM + 10, 100, true, NULL, &first), AQ_IBV_PENDING);
    assert_int_equal(reach(FROM + 10, 50, true, NULL, &second), AQ_IBV_PENDING);
    assert_int_equal(sent_count, 1); // both operations wait for one request
    assert_int_equal(first.calls + second.calls, 0);
    deliver(0);
    assert_int_equal(first.calls, 1);
    assert_int_equal(second.calls, 1);
    assert_int_equal(first.status, AQ_OK);
    assert_true(first.has_hold && second.has_hold);
    assert_int_equal(first.hold.bytes, 100);
    assert_int_equal(second.hold.bytes, 50);
    fake_verbs_use(first.hold.key, address_of(1, FROM + 10), 100, true, false);
    assert_int_equal(reach(FROM + 20, 30, false, NULL, &late), AQ_IBV_REACHED);
    fake_verbs_use(late.hold.key, address_of(1, FROM + 20), 30, false, false);
    assert_int_equal(sent_count, 1);
    aq_ibv_keys_release(&first.hold);
    aq_ibv_keys_release(&second.hold);
    aq_ibv_keys_release(&late.hold);
    tear_down();
}

// The data of a small put travels with the request.
static void test_put_in_move(void **state)
{
    (void)state;
    waiter_t waiter;
    start(AQ_SEGMENT_LARGE, 1 << 30);
    attach_all(LENGTH, LENGTH);
    assert_int_equal(reach(FROM + 5, 6, true, "hello", &waiter), AQ_IBV_PENDING);
    deliver(0);
    assert_int_equal(waiter.calls, 1);
    assert_int_equal(waiter.status, AQ_OK);
    assert_false(waiter.has_hold);
    assert_string_equal(bytes[1] + FROM + 5, "hello");
    tear_down();
}

// While all firehoses are in use, a request is refused. Once one is released, it moves.
static void test_full(void **state)
{
    (void)state;
    waiter_t first, second;
    load_setting("GASNET_FIREHOSE_R", "1");
    load_setting("GASNET_FIREHOSE_MAXREGION_SIZE", "4KB");
    start(AQ_SEGMENT_LARGE, 1 << 30);
    attach_all(LENGTH, LENGTH);
    assert_int_equal(reach(FROM, 8, false, NULL, &first), AQ_IBV_PENDING);
    deliver(0);
    assert_int_equal(first.status, AQ_OK);
    assert_int_equal(reach(FROM + 10 * PAGE, 8, false, NULL, &second), AQ_IBV_FULL);
    aq_ibv_keys_release(&first.hold);
    assert_int_equal(reach(FROM + 10 * PAGE, 2 * PAGE, false, NULL, &second), AQ_IBV_PENDING);
    deliver(1);
    assert_int_equal(second.hold.bytes, PAGE); // the rest needs another firehose
    fake_verbs_use(second.hold.key, address_of(1, FROM + 10 * PAGE), PAGE, false, false);
    aq_ibv_keys_release(&second.hold);
    tear_down();
}

// A peer requests memory outside of the segment: refused in mode LARGE. In mode EVERYTHING, all
// memory belongs to the segment.
static void test_outside_of_segment(void **state)
{
    (void)state;
    waiter_t waiter;
    aq_firehose_message_t answer;
    static const size_t places[][2] = {{FROM - 1, 1}, {FROM - 1, 2}, {TO, 1}, {TO - 1, 2}, {0, 8}};
    start(AQ_SEGMENT_LARGE, 1 << 30);
    attach_all(LENGTH, LENGTH);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        aq_firehose_message_t move = {.kind = AQ_FIREHOSE_MOVE,
                                      .address = address_of(1, places[i][0]),
                                      .bytes = places[i][1]};
        assert_int_equal(aq_ibv_keys_serve(&keys[1], 0, &move, NULL, 0, &answer), AQ_ERR_PEER);
    }
    assert_int_equal(fake_verbs.registrations, 0);
    tear_down();
    start(AQ_SEGMENT_EVERYTHING, 1 << 30);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        aq_ibv_reached_t reached = reach(places[i][0], places[i][1], true, NULL, &waiter);
        if (reached == AQ_IBV_PENDING)
            deliver(sent_count - 1);
        assert_true(reached == AQ_IBV_REACHED || waiter.status == AQ_OK);
        fake_verbs_use(waiter.hold.key, address_of(1, places[i][0]), waiter.hold.bytes, true,
                       false);
        aq_ibv_keys_release(&waiter.hold);
    }
    tear_down();
}

// If the peer may pin nothing, the operation falls back to messages.
static void test_no_room(void **state)
{
    (void)state;
    waiter_t waiter;
    start(AQ_SEGMENT_LARGE, 1 << 30);
    attach_all(LENGTH, LENGTH);
    fake_verbs.most_regions = 0;
    assert_int_equal(reach(FROM, 8, true, NULL, &waiter), AQ_IBV_PENDING);
    deliver(0);
    assert_int_equal(waiter.calls, 1);
    assert_false(waiter.has_hold);
    assert_true(waiter.status != AQ_OK && waiter.status != AQ_AGAIN);
    tear_down();
}

// ---- devices that page all memory ----

static void page_all(void)
{
    fake_verbs.whole = true;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        paging[rank] = AQ_IBV_PAGED_WHOLE;
}

// No rank has used firehose, and nothing is pinned.
static void check_no_firehose(void)
{
    aq_firehose_stats_t stats;
    assert_int_equal(sent_count, 0);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        aq_firehose_stats(keys[rank].firehose, &stats);
        assert_int_equal(stats.pins + stats.moves_sent + stats.moves_served, 0);
        assert_int_equal(memories[rank].bytes, 0);
    }
}

// All local memory, in and outside of the segment, has a key for its whole length.
static void check_local_whole(void)
{
    aq_ibv_hold_t hold;
    const unsigned before = fake_verbs.registrations;
    for (size_t at = 0; at < PAGES * PAGE; at += PAGE + 100) {
        const size_t length = PAGES * PAGE - at;
        assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0] + at, length, true, &hold), AQ_OK);
        fake_verbs_use(hold.key, address_of(0, at), hold.bytes, true, true);
        assert_int_equal(hold.bytes, length);
        aq_ibv_keys_release(&hold);
    }
    assert_int_equal(fake_verbs.registrations, before);
}

// The segments have keys of their own; all other memory here has one. Peers cannot use that one.
static void test_whole_fast(void **state)
{
    (void)state;
    load_setting("GASNET_USE_FIREHOSE", "0"); // not needed
    page_all();
    start(AQ_SEGMENT_FAST, 1 << 30);
    assert_int_equal(fake_verbs.regions, RANKS);
    assert_int_equal(fake_verbs.access, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE);
    attach_all(LENGTH, LENGTH);
    assert_int_equal(fake_verbs.regions, 2 * RANKS);
    check_fast();
    check_local_whole();
    check_no_firehose();
    assert_int_equal(fake_verbs.regions, 2 * RANKS);
    tear_down();
}

// Reaches memory of the peer without a message.
static void check_remote_whole(size_t at, size_t length)
{
    waiter_t waiter;
    assert_int_equal(reach(at, length, true, NULL, &waiter), AQ_IBV_REACHED);
    assert_int_equal(waiter.hold.bytes, length);
    assert_null(waiter.hold.region);
    fake_verbs_use(waiter.hold.key, address_of(1, at), length, true, false);
}

static void test_whole_large(void **state)
{
    (void)state;
    waiter_t waiter;
    load_setting("GASNET_USE_FIREHOSE", "0");
    page_all();
    start(AQ_SEGMENT_LARGE, 1 << 30);
    attach_all(LENGTH, LENGTH);
    assert_true(keys[0].reaches);
    check_remote_whole(FROM, LENGTH);
    check_local_whole();
    assert_int_equal(reach(FROM - 1, 1, true, NULL, &waiter), AQ_IBV_MESSAGES);
    assert_int_equal(reach(TO - 8, 9, false, NULL, &waiter), AQ_IBV_MESSAGES);
    check_no_firehose();
    assert_int_equal(fake_verbs.regions, RANKS);
    tear_down();
}

static void test_whole_everything(void **state)
{
    (void)state;
    page_all();
    start(AQ_SEGMENT_EVERYTHING, 1 << 30);
    publish_all();
    check_remote_whole(0, PAGES * PAGE);
    check_local_whole();
    check_no_firehose();
    assert_int_equal(fake_verbs.regions, RANKS);
    assert_true(aq_ibv_keys_quit(&keys[0])); // releases the region
    assert_int_equal(fake_verbs.regions, RANKS - 1);
    tear_down();
}

// A rank whose device cannot page all memory uses firehose, and its peers do for its memory.
static void test_whole_mixed(void **state)
{
    (void)state;
    waiter_t waiter = {.wait.done = complete_wait};
    aq_ibv_hold_t hold;
    fake_verbs.whole = true;
    paging[0] = AQ_IBV_PAGED;
    paging[1] = AQ_IBV_PAGED_WHOLE;
    start(AQ_SEGMENT_LARGE, 1 << 30);
    attach_all(LENGTH, LENGTH);
    check_remote_whole(FROM, LENGTH);
    assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0], 8, true, &hold), AQ_OK);
    assert_non_null(hold.region);
    aq_ibv_keys_release(&hold);
    assert_int_equal(reach_back(8, &waiter), AQ_IBV_PENDING);
    deliver(0);
    assert_int_equal(waiter.status, AQ_OK);
    fake_verbs_use(waiter.hold.key, address_of(0, FROM), 8, true, false);
    aq_ibv_keys_release(&waiter.hold);
    tear_down();
}

// Devices that refuse the region, although they say that they can page all memory: firehose serves,
// or without it messages do.
static void test_whole_refused(void **state)
{
    (void)state;
    waiter_t waiter;
    load_setting("GASNET_ODP_VERBOSE", "0");
    page_all();
    fake_verbs.whole = false;
    start(AQ_SEGMENT_LARGE, 1 << 30);
    attach_all(LENGTH, LENGTH);
    assert_int_equal(aq_ibv_keys_table_bytes(&keys[0]), sizeof(void *)); // of firehose only
    assert_int_equal(reach(FROM, 8, true, NULL, &waiter), AQ_IBV_PENDING);
    deliver(0);
    assert_int_equal(waiter.status, AQ_OK);
    aq_ibv_keys_release(&waiter.hold);
    tear_down();
    load_setting("GASNET_USE_FIREHOSE", "0");
    start(AQ_SEGMENT_LARGE, 1 << 30);
    attach_all(LENGTH, LENGTH);
    assert_false(keys[0].reaches);
    assert_int_equal(reach(FROM, 8, true, NULL, &waiter), AQ_IBV_MESSAGES);
    tear_down();
}

static void fall_back_whole(void)
{
    page_all();
    start(AQ_SEGMENT_FAST, 1 << 30);
    fake_verbs.most_bytes = LENGTH + 8 * PAGE;
    attach_all(LENGTH, LENGTH);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_int_equal(keys[rank].setup.mode, AQ_SEGMENT_LARGE);
    check_remote_whole(FROM, LENGTH);
    check_local_whole();
    assert_int_equal(fake_verbs.regions, RANKS);
    tear_down();
}

// If a segment cannot be registered, peers get the key of all memory.
static void test_whole_falls_back(void **state)
{
    (void)state;
    char *text = child_errors(fall_back_whole);
    assert_non_null(strstr(text, "The job continues without"));
    free(text);
}

// Each port has a key of its own, on both sides.
static void test_whole_ports(void **state)
{
    (void)state;
    for (unsigned large = 0; large < 2; large++) {
        const size_t at = large ? FROM : 10;
        aq_ibv_hold_t hold;
        waiter_t waiter;
        assert_int_equal(set_up(NULL), 0);
        ports = 2;
        page_all();
        start(large ? AQ_SEGMENT_LARGE : AQ_SEGMENT_EVERYTHING, 1 << 30);
        assert_int_equal(fake_verbs.regions, 2 * RANKS);
        if (large)
            attach_all(LENGTH, LENGTH);
        else
            publish_all();
        assert_int_equal(aq_ibv_keys_table_bytes(&keys[0]),
                         sizeof(void *) + 2 * RANKS * sizeof(uint32_t));
        assert_int_equal(aq_ibv_keys_local(&keys[0], bytes[0] + at, 8, true, &hold), AQ_OK);
        const uint32_t here = aq_ibv_keys_local_at(&keys[0], 1, bytes[0] + at, &hold);
        assert_int_not_equal(here, hold.key);
        fake_verbs_use(here, address_of(0, at), 8, true, true);
        assert_int_equal(aq_ibv_keys_local_at(&keys[0], 0, bytes[0] + at, &hold), hold.key);
        assert_int_equal(reach(at, 8, true, NULL, &waiter), AQ_IBV_REACHED);
        const uint32_t there =
            aq_ibv_keys_remote_at(&keys[0], 1, 1, address_of(1, at), &waiter.hold);
        assert_int_not_equal(there, waiter.hold.key);
        fake_verbs_use(there, address_of(1, at), 8, true, false);
        assert_int_equal(aq_ibv_keys_remote_at(&keys[0], 2, 1, address_of(1, at), &waiter.hold), 0);
        check_no_firehose();
        tear_down();
    }
}

// In mode FAST the segment has its own key at each port, and other memory the one of the port.
static void test_whole_ports_fast(void **state)
{
    (void)state;
    static const size_t places[] = {10, FROM, TO - 8, TO};
    uint32_t found[4];
    ports = 2;
    page_all();
    start(AQ_SEGMENT_FAST, 1 << 30);
    attach_all(LENGTH, LENGTH);
    for (unsigned i = 0; i < 4; i++) {
        aq_ibv_hold_t hold;
        char *at = bytes[0] + places[i];
        assert_int_equal(aq_ibv_keys_local(&keys[0], at, 8, true, &hold), AQ_OK);
        found[i] = aq_ibv_keys_local_at(&keys[0], 1, at, &hold);
        assert_int_not_equal(found[i], hold.key);
        fake_verbs_use(found[i], (uintptr_t)at, 8, true, true);
    }
    assert_int_equal(found[0], found[3]);
    assert_int_equal(found[1], found[2]);
    assert_int_not_equal(found[0], found[1]);
    check_no_firehose();
    tear_down();
}

#define KEYS_TEST(test) cmocka_unit_test_setup(test, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KEYS_TEST(test_fast),
        KEYS_TEST(test_fast_uneven),
        KEYS_TEST(test_fast_refused),
        KEYS_TEST(test_fast_falls_back),
        KEYS_TEST(test_expose),
        KEYS_TEST(test_local),
        KEYS_TEST(test_local_absent),
        KEYS_TEST(test_budget),
        KEYS_TEST(test_large),
        KEYS_TEST(test_put_in_move),
        KEYS_TEST(test_full),
        KEYS_TEST(test_outside_of_segment),
        KEYS_TEST(test_no_room),
        KEYS_TEST(test_whole_fast),
        KEYS_TEST(test_whole_large),
        KEYS_TEST(test_whole_everything),
        KEYS_TEST(test_whole_mixed),
        KEYS_TEST(test_whole_refused),
        KEYS_TEST(test_whole_falls_back),
        KEYS_TEST(test_whole_ports),
        KEYS_TEST(test_whole_ports_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
