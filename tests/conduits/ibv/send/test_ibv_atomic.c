// SPDX-License-Identifier: BSD-3-Clause
// Remote atomics by the device: in which memory and with which operations they are allowed, and
// their results. The device is the one of fake_verbs.h, with a queue pair that performs atomics on
// memory of this process.
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/ibv/send/ibv_atomic.h"
#include "../../../../other/base/settings/settings.h"
#include "../../../unit/default_settings.h"
#include "../fake_verbs.h"

enum { PEER = 1, WORDS = 4, OPS = 2 };

static uint64_t target[WORDS]; // segment of the peer
static uint8_t slab[OPS][64];  // bounce buffers of this process
static struct ibv_send_wr posted;
static bool arrived; // the posted request is complete, and not polled yet
static aq_ibv_limits_t limits;
static aq_ibv_send_queue_t queue;
static aq_ibv_buffers_t pools;
static aq_ibv_keys_t keys;
static aq_ibv_atomic_path_t path;
static aq_ibv_peer_t peer;
static struct ibv_mr slab_mr;
static aq_ibv_buffer_t buffers[OPS];
static aq_ibv_segment_t segment;
static uintptr_t starts[2], lengths[2]; // of the segments, by rank
static uint32_t segment_keys[2];
static aq_ibv_memory_t memory;

// ---- the device ----

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp, (void)bad;
    const uint64_t at = wr->wr.atomic.remote_addr;
    const uint32_t key = wr->wr.atomic.rkey;
    assert_false(arrived);
    assert_int_equal(wr->num_sge, 1);
    assert_int_equal(wr->sg_list->length, 8);
    assert_int_equal(wr->sg_list->lkey, slab_mr.lkey);
    fake_verbs_use(key, at, 8, true, false);
    assert_true(fake_verbs.rights[key - FAKE_VERBS_FOR_PEERS - 1] & IBV_ACCESS_REMOTE_ATOMIC);
    uint64_t *word = (uint64_t *)(uintptr_t)at, old = *word;
    if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        *word += wr->wr.atomic.compare_add;
    } else {
        assert_int_equal(wr->opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
        if (*word == wr->wr.atomic.compare_add)
            *word = wr->wr.atomic.swap;
    }
    memcpy((void *)(uintptr_t)wr->sg_list->addr, &old, sizeof old);
    posted = *wr;
    arrived = true;
    return 0;
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    (void)cq, (void)count;
    if (!arrived)
        return 0;
    arrived = false;
    wc[0] = (struct ibv_wc){.wr_id = posted.wr_id, .status = IBV_WC_SUCCESS};
    return 1;
}

static struct ibv_context context = {.ops = {.post_send = post_send, .poll_cq = poll_cq}};
static struct ibv_qp qp = {.context = &context};
static struct ibv_cq cq = {.context = &context};

// ---- this process and its peer ----

static int start(void **state)
{
    char why[256];
    (void)state;
    fake_verbs_start();
    memset(target, 0, sizeof target);
    memory = (aq_ibv_memory_t){.calls = &fake_verbs_calls,
                               .device = "fake",
                               .region_bytes = 1 << 20,
                               .piece_bytes = 1 << 20,
                               .most = 1 << 20,
                               .atomics = true};
    const aq_ibv_cut_t cut = aq_ibv_segment_cut(&memory, sizeof target);
    segment = (aq_ibv_segment_t){.start = (uintptr_t)target, .bytes = sizeof target, .cut = cut};
    assert_int_equal(aq_ibv_segment_register(&memory, &segment, why, sizeof why), AQ_OK);
    starts[PEER] = segment.start;
    lengths[PEER] = segment.bytes;
    segment_keys[PEER] = segment.pieces[0]->rkey;
    slab_mr.lkey = 77;
    limits.depth_total = OPS;
    queue = (aq_ibv_send_queue_t){.limits = &limits, .cq = &cq};
    assert_true(aq_ibv_send_queue_open(&queue));
    pools = (aq_ibv_buffers_t){.slab_mr = &slab_mr};
    path = (aq_ibv_atomic_path_t){.buffers = &pools, .keys = &keys, .queue = &queue};
    keys.segments = (aq_ibv_segments_t){
        .starts = starts, .lengths = lengths, .keys = segment_keys, .stride = 1, .cut = cut};
    peer = (aq_ibv_peer_t){
        .rank = PEER, .qp = &qp, .entries = &peer.own, .atomics = AQ_IBV_ATOMICS_ALL};
    atomic_init(&peer.own.slots, OPS);
    for (int i = 0; i < OPS; i++) {
        buffers[i] = (aq_ibv_buffer_t){.bytes = slab[i], .home = &pools.bounces};
        aq_ibv_buffer_put(&buffers[i]);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(queue.ops);
    aq_ibv_segment_release(&memory, &segment);
    assert_int_equal(fake_verbs.regions, 0);
    return 0;
}

static aq_status_t begin_atomic(aq_atomic_kind_t kind, uint64_t a, uint64_t b, void *result,
                                bool exclusive, atomic_uint *pending)
{
    const aq_atomic_t atomic = {.dest = &target[1],
                                .operand1 = a,
                                .operand2 = b,
                                .result = result,
                                .kind = kind,
                                .exclusive_ops = exclusive};
    return aq_ibv_atomic(&path, &peer, &atomic, pending);
}

static uint64_t perform_atomic(aq_atomic_kind_t kind, uint64_t a, uint64_t b)
{
    uint64_t result = 99;
    atomic_uint pending = 0;
    assert_int_equal(begin_atomic(kind, a, b, &result, false, &pending), AQ_OK);
    assert_int_equal(pending, 1);
    assert_int_equal(result, 99); // the result is written on completion only
    assert_int_equal(aq_ibv_reap(&queue), 1);
    assert_int_equal(pending, 0);
    return result;
}

// ---- tests ----

static void test_operations(void **state)
{
    (void)state;
    assert_int_equal(perform_atomic(AQ_ATOMIC_ADD, 5, 0), 0);
    assert_int_equal(perform_atomic(AQ_ATOMIC_ADD, UINT64_MAX, 0), 5);
    assert_int_equal(perform_atomic(AQ_ATOMIC_CAS, 4, 70), 4);
    assert_int_equal(perform_atomic(AQ_ATOMIC_CAS, 4, 80), 70);
    assert_int_equal(perform_atomic(AQ_ATOMIC_ADD, 0, 0), 70);
    assert_int_equal(target[0] | target[2] | target[3], 0);
    assert_int_equal(atomic_load(&path.begun), 5);
}

// Atomics whose caller does not want the old value. A second atomic finds no room while the first
// is outstanding.
static void test_resources(void **state)
{
    atomic_uint pending = 0;
    (void)state;
    atomic_store(&peer.own.slots, 1);
    assert_int_equal(begin_atomic(AQ_ATOMIC_ADD, 1, 0, NULL, false, &pending), AQ_OK);
    arrived = false;
    assert_int_equal(begin_atomic(AQ_ATOMIC_ADD, 1, 0, NULL, false, &pending), AQ_AGAIN);
    arrived = true;
    assert_int_equal(begin_atomic(AQ_ATOMIC_ADD, 1, 0, NULL, false, &pending), AQ_OK);
    assert_int_equal(aq_ibv_reap(&queue), 1);
    assert_int_equal(pending, 0);
    assert_int_equal(target[1], 2);
    pools.bounces.free = NULL;
    assert_int_equal(begin_atomic(AQ_ATOMIC_ADD, 1, 0, NULL, false, &pending), AQ_AGAIN);
    assert_int_equal(peer.own.slots, 1);
}

// A device whose atomics are not coherent with those of processors performs them only if the client
// uses no other kinds of atomics on that memory (exclusive_ops).
static void test_coherence(void **state)
{
    atomic_uint pending = 0;
    (void)state;
    peer.atomics = AQ_IBV_ATOMICS_EXCLUSIVE;
    assert_int_equal(begin_atomic(AQ_ATOMIC_ADD, 1, 0, NULL, false, &pending), AQ_ERR_ABSENT);
    assert_int_equal(begin_atomic(AQ_ATOMIC_ADD, 1, 0, NULL, true, &pending), AQ_OK);
    assert_int_equal(aq_ibv_reap(&queue), 1);
    peer.atomics = AQ_IBV_ATOMICS_NONE;
    assert_int_equal(begin_atomic(AQ_ATOMIC_ADD, 1, 0, NULL, true, &pending), AQ_ERR_ABSENT);
    assert_int_equal(target[1], 1);
}

static void test_outside_of_segment(void **state)
{
    atomic_uint pending = 0;
    (void)state;
    lengths[PEER] = 8;
    assert_int_equal(begin_atomic(AQ_ATOMIC_ADD, 1, 0, NULL, true, &pending), AQ_ERR_ABSENT);
    lengths[PEER] = 16;
    assert_int_equal(begin_atomic(AQ_ATOMIC_ADD, 1, 0, NULL, true, &pending), AQ_OK);
}

static void test_setting(void **state)
{
    static const struct {
        const char *value;
        enum ibv_atomic_cap can;
        aq_ibv_atomics_t then;
    } cases[] = {
        {NULL, IBV_ATOMIC_NONE, AQ_IBV_ATOMICS_NONE},
        {NULL, IBV_ATOMIC_HCA, AQ_IBV_ATOMICS_NONE},
        {NULL, IBV_ATOMIC_GLOB, AQ_IBV_ATOMICS_ALL},
        {"auto", IBV_ATOMIC_GLOB, AQ_IBV_ATOMICS_ALL},
        {"0", IBV_ATOMIC_HCA, AQ_IBV_ATOMICS_NONE},
        {"0", IBV_ATOMIC_GLOB, AQ_IBV_ATOMICS_NONE},
        {"1", IBV_ATOMIC_HCA, AQ_IBV_ATOMICS_EXCLUSIVE},
        {"1", IBV_ATOMIC_GLOB, AQ_IBV_ATOMICS_ALL},
        {"1", IBV_ATOMIC_NONE, AQ_IBV_ATOMICS_NONE},
    };
    char why[256];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(default_settings(), 0);
        if (cases[i].value)
            setenv("GASNET_IBV_ATOMICS", cases[i].value, 1);
        assert_int_equal(aq_settings_load(why, sizeof why), AQ_OK);
        assert_int_equal(aq_ibv_atomics_of(cases[i].can), cases[i].then);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_operations, start, tear_down),
        cmocka_unit_test_setup_teardown(test_resources, start, tear_down),
        cmocka_unit_test_setup_teardown(test_coherence, start, tear_down),
        cmocka_unit_test_setup_teardown(test_outside_of_segment, start, tear_down),
        cmocka_unit_test(test_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
