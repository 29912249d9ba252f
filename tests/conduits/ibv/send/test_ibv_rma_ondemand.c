// SPDX-License-Identifier: BSD-3-Clause
// Put and get that must request a key from the peer: two instances in one process, with a network
// that accepts as many messages as the test allows, and a device that checks keys and copies at
// once, but completes operations later.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../conduits/ibv/send/ibv_rma_ondemand.h"
#include "../../../../other/base/settings/settings.h"
#include "../../../unit/child_errors.h"
#include "../../../unit/default_settings.h"
#include "../fake_verbs.h"
#include "../../../unit/assert_between.h"

enum { RANKS = 2, PAGE = 4096, PAGES = 64, MOST = 4096, OPERATIONS = 20000 };

static char *bytes[RANKS]; // memory for put and get; begins at a block of firehose
static aq_ibv_memory_t memories[RANKS];
static aq_ibv_keys_t keys[RANKS];
static aq_ibv_limits_t limits = {.depth_total = 16, .bounce_bytes = 2 * PAGE};
static aq_ibv_peers_t peers[RANKS];
static aq_ibv_sender_t senders[RANKS];
static aq_ibv_ondemand_t ondemands[RANKS];
static aq_ibv_peer_t links[RANKS]; // link of each rank to the other rank
static _Atomic(aq_ibv_peer_t *) link_of[RANKS][RANKS];
static aq_conduit_env_t envs[RANKS];
static atomic_uint pending;

// ---- the network ----

typedef struct message {
    struct message *next;
    uint32_t from;
    aq_arrival_t arrival;
    int32_t args[AQ_AM_MAX_ARGS];
    char payload[MOST];
} message_t;

static message_t *first, **last = &first;
static unsigned room, sent; // messages that may still be sent; messages sent

aq_status_t aq_ibv_send(aq_ibv_sender_t *sender, aq_ibv_peer_t *link, const aq_am_t *am)
{
    assert_ptr_equal(link, &links[sender - senders]);
    assert_true(am->nargs <= AQ_AM_MAX_ARGS);
    assert_true(aq_ibv_payload_at(am->category, am->nargs) + am->nbytes <= AQ_IBV_BUFFER_BYTES);
    if (room == 0)
        return AQ_AGAIN;
    room--;
    sent++;
    message_t *message = calloc(1, sizeof *message);
    assert_non_null(message);
    message->from = (uint32_t)(sender - senders);
    memcpy(message->args, am->args, am->nargs * sizeof *am->args);
    if (am->nbytes > 0)
        memcpy(message->payload, am->payload, am->nbytes);
    message->arrival = (aq_arrival_t){.args = message->args,
                                      .payload = message->payload,
                                      .nbytes = am->nbytes,
                                      .source = link->number_there,
                                      .category = am->category,
                                      .nargs = am->nargs,
                                      .reply = am->reply};
    *last = message;
    last = &message->next;
    return AQ_OK;
}

// Delivers one message. Returns false if there is none.
static bool deliver(void)
{
    message_t *message = first;
    if (message == NULL)
        return false;
    first = message->next;
    if (first == NULL)
        last = &first;
    uint32_t to = 1 - message->from;
    aq_ibv_ondemand_arrived(&ondemands[to], &links[to], &message->arrival);
    free(message);
    return true;
}

__attribute__((noreturn)) static void exit_child(aq_boot_t *boot, int code)
{
    (void)boot;
    _exit(code - 1); // child_errors expects 0
}

static const aq_boot_ops_t boot_ops = {.abort = exit_child};
static aq_boot_t boot = {.ops = &boot_ops};

// ---- the device ----

enum { BUSY = 64 };
static aq_ibv_hold_t busy[BUSY];
static unsigned busy_count, device_room, begun_count;

static size_t device_begin(aq_ibv_rma_path_t *path, aq_ibv_peer_t *link, const aq_rma_t *rma,
                           const aq_ibv_hold_t *there)
{
    const bool is_get = rma->kind == AQ_RMA_GET;
    (void)path, (void)link;
    assert_ptr_equal(rma->pending, &pending);
    if (device_room == 0 || busy_count == BUSY)
        return 0;
    device_room--;
    begun_count++;
    fake_verbs_use(there->key, (uintptr_t)rma->remote, there->bytes, !is_get, false);
    memcpy(is_get ? rma->local : rma->remote, is_get ? rma->remote : rma->local, there->bytes);
    atomic_fetch_add(rma->pending, 1);
    busy[busy_count++] = *there;
    return there->bytes;
}

static void complete_operations(void)
{
    while (busy_count > 0) {
        aq_ibv_keys_release(&busy[--busy_count]);
        atomic_fetch_sub(&pending, 1);
    }
}

// Polls until nothing is outstanding, with room for everything.
static void settle_all(void)
{
    do {
        room = device_room = 1000;
        complete_operations();
        aq_ibv_ondemand_progress(&ondemands[0]);
        aq_ibv_ondemand_progress(&ondemands[1]);
    } while (deliver() || pending > 0);
    room = device_room = 1000;
}

// ---- start and end ----

static void load_setting(const char *name, const char *value)
{
    char err[512];
    setenv(name, value, 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
}

static void start(aq_segment_mode_t mode)
{
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        memories[rank] = (aq_ibv_memory_t){.calls = &fake_verbs_calls,
                                           .device = "fake0",
                                           .region_bytes = 1 << 30,
                                           .most = 1 << 26};
        envs[rank] = (aq_conduit_env_t){.boot = &boot, .rank = rank, .size = RANKS};
        peers[rank].by_number = link_of[rank];
        ondemands[rank] = (aq_ibv_ondemand_t){.env = &envs[rank],
                                              .limits = &limits,
                                              .peers = &peers[rank],
                                              .keys = &keys[rank],
                                              .sender = &senders[rank],
                                              .begin = device_begin};
        links[rank] = (aq_ibv_peer_t){.rank = 1 - rank, .number_there = rank};
        link_of[rank][1 - rank] = &links[rank];
        const aq_ibv_keys_setup_t setup = {.mode = mode,
                                           .memory = &memories[rank],
                                           .device_regions = FAKE_VERBS_REGIONS,
                                           .processes = 2,
                                           .ranks = RANKS,
                                           .peers = RANKS - 1,
                                           .request = aq_ibv_ondemand_request,
                                           .context = &ondemands[rank]};
        assert_int_equal(aq_ibv_keys_start(&keys[rank], &setup), AQ_OK);
    }
}

static int set_up(void **state)
{
    (void)state;
    fake_verbs_start();
    for (uint32_t rank = 0; rank < RANKS; rank++)
        memset(bytes[rank], 0, PAGES * PAGE);
    room = device_room = 1000;
    sent = begun_count = 0;
    return default_settings();
}

static void tear_down(void)
{
    assert_int_equal(pending, 0);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_int_equal(ondemands[rank].begun, 0);
        aq_ibv_keys_stop(&keys[rank]);
        aq_cookies_stop(&ondemands[rank].copies);
    }
    assert_int_equal(fake_verbs.regions, 0);
}

// ---- operations of process 0 ----

static void fill_bytes(char *at, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        at[i] = (char)(seed + i * 7 + i / 100);
}

static aq_status_t begin_transfer(size_t there, char *local, size_t length, bool is_get,
                                  bool stable, size_t *begun)
{
    aq_rma_t rma = {.remote = bytes[1] + there,
                    .local = local,
                    .nbytes = length,
                    .pending = &pending,
                    .kind = is_get ? AQ_RMA_GET : AQ_RMA_PUT,
                    .flags = stable ? AQ_RMA_STABLE : 0};
    const aq_status_t status = aq_ibv_ondemand_begin(&ondemands[0], &links[0], &rma);
    *begun = length - rma.nbytes;
    return status;
}

// Puts or gets all of it, piece by piece.
static void transfer_all(size_t there, char *local, size_t length, bool is_get, bool stable)
{
    for (size_t done = 0, begun; done < length; done += begun)
        if (begin_transfer(there + done, local + done, length - done, is_get, stable, &begun) !=
            AQ_OK)
            settle_all();
}

// The data of a small put travels with the request: one message to the peer, one back.
static void test_in_move(void **state)
{
    (void)state;
    size_t begun;
    start(AQ_SEGMENT_EVERYTHING);
    fill_bytes(bytes[0], 3000, 1);
    assert_int_equal(begin_transfer(100, bytes[0], 3000, false, true, &begun), AQ_OK);
    assert_int_equal(begun, 3000);
    assert_int_equal(pending, 1);
    settle_all();
    assert_memory_equal(bytes[1] + 100, bytes[0], 3000);
    assert_int_equal(sent, 2);
    assert_int_equal(begun_count, 0);
    tear_down();
}

// The caller may change the source of a put when the call returns, unless the put is declared
// stable.
static void test_source_of_put(void **state)
{
    (void)state;
    size_t begun;
    char was[2 * PAGE];
    start(AQ_SEGMENT_EVERYTHING);
    fill_bytes(was, sizeof was, 2);
    memcpy(bytes[0], was, sizeof was);
    assert_int_equal(begin_transfer(0, bytes[0], 2 * PAGE, false, false, &begun), AQ_OK);
    assert_int_equal(begun, 2 * PAGE);
    memset(bytes[0], 0, sizeof was);
    settle_all();
    assert_memory_equal(bytes[1], was, sizeof was);
    assert_int_equal(begun_count, 1);
    assert_int_equal(begin_transfer(20 * PAGE, bytes[0], 2 * PAGE, false, true, &begun), AQ_OK);
    memcpy(bytes[0], was, sizeof was);
    settle_all();
    assert_memory_equal(bytes[1] + 20 * PAGE, was, sizeof was);
    tear_down();
}

static void test_get(void **state)
{
    (void)state;
    start(AQ_SEGMENT_EVERYTHING);
    fill_bytes(bytes[1], 30 * PAGE, 3);
    transfer_all(5, bytes[0] + 50, 30 * PAGE - 5, true, true);
    settle_all();
    assert_memory_equal(bytes[0] + 50, bytes[1] + 5, 30 * PAGE - 5);
    assert_int_equal(sent, 2);
    tear_down();
}

// The request, the answer and the operation are each refused at first for lack of room.
static void test_no_room(void **state)
{
    (void)state;
    size_t begun;
    start(AQ_SEGMENT_EVERYTHING);
    fill_bytes(bytes[0], 2 * PAGE, 4);
    room = device_room = 0;
    assert_int_equal(begin_transfer(0, bytes[0], 2 * PAGE, false, true, &begun), AQ_OK);
    assert_false(deliver());
    aq_ibv_ondemand_progress(&ondemands[0]);
    assert_false(deliver());
    room = 1;
    aq_ibv_ondemand_progress(&ondemands[0]);
    assert_true(deliver()); // the request
    assert_false(deliver());
    assert_true(aq_ibv_ondemand_progress(&ondemands[0]));
    assert_false(aq_ibv_ondemand_progress(&ondemands[1])); // cannot send its answer yet
    room = 1;
    assert_true(aq_ibv_ondemand_progress(&ondemands[1]));
    assert_true(deliver()); // the answer
    assert_int_equal(begun_count, 0);
    aq_ibv_ondemand_progress(&ondemands[0]);
    assert_int_equal(begun_count, 0);
    device_room = 1;
    aq_ibv_ondemand_progress(&ondemands[0]);
    assert_int_equal(begun_count, 1);
    assert_memory_equal(bytes[1], bytes[0], 2 * PAGE);
    assert_int_equal(sent, 2);
    settle_all();
    tear_down();
}

// The only firehose is in use, and is released later. The number of waiting transfers is limited.
static void test_full(void **state)
{
    (void)state;
    size_t begun;
    load_setting("GASNET_FIREHOSE_R", "1");
    load_setting("GASNET_FIREHOSE_MAXREGION_SIZE", "4KB");
    start(AQ_SEGMENT_EVERYTHING);
    assert_int_equal(begin_transfer(0, bytes[0], 8, true, true, &begun), AQ_OK);
    assert_int_equal(begin_transfer(PAGE, bytes[0], 8, true, true, &begun), AQ_AGAIN);
    assert_int_equal(begun, 0);
    assert_int_equal(pending, 1);
    for (unsigned i = 1; i < limits.depth_total; i++)
        assert_int_equal(begin_transfer(0, bytes[0], 8, true, true, &begun), AQ_OK);
    assert_int_equal(begin_transfer(0, bytes[0], 8, true, true, &begun), AQ_AGAIN);
    settle_all();
    assert_int_equal(sent, 2);
    assert_int_equal(begin_transfer(PAGE, bytes[0], 8, true, true, &begun), AQ_OK);
    settle_all();
    tear_down();
}

// If the peer can register nothing, the peer copies, piece by piece.
static void test_by_peer(void **state)
{
    (void)state;
    start(AQ_SEGMENT_EVERYTHING);
    fake_verbs.most_regions = 0;
    fill_bytes(bytes[0], 10000, 5);
    transfer_all(50, bytes[0], 10000, false, true);
    settle_all();
    assert_memory_equal(bytes[1] + 50, bytes[0], 10000);
    // 3 pieces, or 4 if a block of firehose ends in between.
    assert_between(ondemands[0].by_peer, 3, 4);
    transfer_all(50, bytes[0] + 20000, 10000, true, true);
    settle_all();
    assert_memory_equal(bytes[1] + 50, bytes[0] + 20000, 10000);
    assert_int_equal(ondemands[0].by_peer, 6);
    assert_int_equal(begun_count, 0);
    tear_down();
}

// A request for memory outside of the segment ends the job.
static void request_outside_of_segment(void)
{
    struct {
        uint64_t address, transfer;
        uint32_t bytes, is_get;
    } copy = {.address = (uintptr_t)bytes[1] + 100, .bytes = 8, .is_get = 1};
    const aq_arrival_t arrival = {
        .args = (const int32_t *)(const void *)&copy, .category = AQ_IBV_COPY, .nargs = 6};
    start(AQ_SEGMENT_LARGE);
    keys[1].start = (uintptr_t)bytes[1];
    keys[1].bytes = 108;
    aq_ibv_ondemand_arrived(&ondemands[1], &links[1], &arrival);
    keys[1].bytes = 107;
    aq_ibv_ondemand_arrived(&ondemands[1], &links[1], &arrival);
}

static void test_outside_of_segment(void **state)
{
    (void)state;
    char *text = child_errors(request_outside_of_segment);
    assert_non_null(strstr(text, "rank 0 asks for 8 bytes"));
    free(text);
}

// Random puts and gets of all lengths, with little room and few firehoses. Outstanding operations
// use different places.
static void test_random(void **state)
{
    (void)state;
    static char model[PAGES * PAGE], back[PAGES * PAGE];
    uint64_t random = 1;
    load_setting("GASNET_FIREHOSE_M", "32K");
    load_setting("GASNET_FIREHOSE_MAXVICTIM_M", "16K");
    load_setting("GASNET_FIREHOSE_MAXREGION_SIZE", "8K");
    start(AQ_SEGMENT_EVERYTHING);
    for (unsigned i = 0; i < OPERATIONS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint32_t number = (uint32_t)(random >> 33);
        const size_t at = i % 8 * 8 * PAGE + number % (8 * PAGE - 5000),
                     length = 1 + number / 64 % 5000;
        const bool is_get = number / 7 % 2, stable = number / 11 % 2;
        room = number % 3;
        device_room = number / 3 % 3;
        fake_verbs.most_regions = number % 100 == 0 ? 0 : FAKE_VERBS_REGIONS;
        if (!is_get) {
            fill_bytes(model + at, length, i);
            memcpy(bytes[0] + at, model + at, length);
        }
        transfer_all(at, is_get ? back + at : bytes[0] + at, length, is_get, stable);
        if (!stable && !is_get)
            memset(bytes[0] + at, 0, length);
        if (i % 8 == 7 || is_get)
            settle_all();
        else
            deliver();
        if (is_get)
            assert_memory_equal(back + at, model + at, length);
    }
    settle_all();
    assert_memory_equal(bytes[1], model, sizeof model);
    assert_true(ondemands[0].by_peer > 0 && begun_count > 0);
    tear_down();
}

#define REACH_TEST(test) cmocka_unit_test_setup(test, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REACH_TEST(test_in_move),
        REACH_TEST(test_source_of_put),
        REACH_TEST(test_get),
        REACH_TEST(test_no_room),
        REACH_TEST(test_full),
        REACH_TEST(test_by_peer),
        REACH_TEST(test_outside_of_segment),
        REACH_TEST(test_random),
    };
    for (uint32_t rank = 0; rank < RANKS; rank++)
        bytes[rank] = aligned_alloc(PAGES * PAGE, PAGES * PAGE);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        free(bytes[rank]);
    return failed;
}
