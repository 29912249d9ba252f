// SPDX-License-Identifier: BSD-3-Clause
// Puts and gets on a device that does what the standards of iWARP allow and others do not: writes
// complete before earlier reads, the newest first; the data of a write reach the peer only when a
// later read asks for something there; a read completes when nothing else does; and little travels
// inline.
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/ibv/send/ibv_rma.h"
#include "../../../../conduits/ibv/verbs/ibv_wire.h"
#include "../../../unit/assert_between.h"
#include "../../../unit/default_settings.h"
#include "../fake_verbs.h"

enum { DEPTH = 64, INLINE = 16, WORKS = 4096, WORDS = 200, LONGER = 25, SLAB_KEY = 77 };

// ---- the device ----

typedef struct work {
    struct ibv_send_wr wr;
    struct ibv_sge piece;
    uint8_t bytes[AQ_IBV_BUFFER_BYTES]; // of a write: what its source has
    bool complete, placed;
} work_t;

static work_t *works;
static unsigned work_count;

static void *address(uint64_t number)
{
    return (void *)(uintptr_t)number;
}

static void work_check(const struct ibv_send_wr *wr)
{
    assert_between(work_count, 0, WORKS - 1);
    assert_int_equal(wr->num_sge, 1);
    assert_true(wr->opcode == IBV_WR_RDMA_READ || wr->opcode == IBV_WR_RDMA_WRITE);
    if (wr->send_flags & IBV_SEND_INLINE)
        assert_between(wr->sg_list->length, 0, INLINE);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp, (void)bad;
    for (; wr; wr = wr->next) {
        work_check(wr);
        work_t *work = &works[work_count++];
        *work = (work_t){.wr = *wr, .piece = *wr->sg_list};
        if (wr->send_flags & IBV_SEND_INLINE)
            memcpy(work->bytes, address(work->piece.addr), work->piece.length);
    }
    return 0;
}

// The last moment to look at the source of a write.
static void write_complete(work_t *work)
{
    work->complete = true;
    if (!(work->wr.send_flags & IBV_SEND_INLINE))
        memcpy(work->bytes, address(work->piece.addr), work->piece.length);
}

// Before a read, the writes in front of it reach the peer.
static void read_complete(work_t *read)
{
    for (work_t *work = works; work < read; work++)
        if (work->wr.opcode == IBV_WR_RDMA_WRITE && !work->placed) {
            memcpy(address(work->wr.wr.rdma.remote_addr), work->bytes, work->piece.length);
            work->placed = true;
        }
    memcpy(address(read->piece.addr), address(read->wr.wr.rdma.remote_addr), read->piece.length);
    read->complete = true;
}

// The next one to complete: the newest write, and without one the oldest read.
static work_t *next_work(void)
{
    for (unsigned i = work_count; i-- > 0;)
        if (works[i].wr.opcode == IBV_WR_RDMA_WRITE && !works[i].complete)
            return &works[i];
    for (unsigned i = 0; i < work_count; i++)
        if (!works[i].complete)
            return &works[i];
    return NULL;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    work_t *work;
    (void)cq, (void)most;
    while ((work = next_work())) {
        if (work->wr.opcode == IBV_WR_RDMA_WRITE)
            write_complete(work);
        else
            read_complete(work);
        wc[0] = (struct ibv_wc){.wr_id = work->wr.wr_id, .status = IBV_WC_SUCCESS};
        if (work->wr.send_flags & IBV_SEND_SIGNALED)
            return 1;
    }
    return 0;
}

static struct ibv_context context = {.ops = {.post_send = post_send, .poll_cq = poll_cq}};
static struct ibv_qp qp = {.context = &context};
static struct ibv_cq cq = {.context = &context};

// ---- this process and its peer ----

static uint64_t dest[WORDS * LONGER], src[WORDS]; // memory of the peer
static uint8_t slab[DEPTH][AQ_IBV_BUFFER_BYTES];
static aq_ibv_limits_t limits;
static aq_ibv_memory_t memory;
static aq_ibv_keys_t keys;
static aq_ibv_send_queue_t queue;
static struct ibv_mr slab_mr = {.lkey = SLAB_KEY};
static aq_ibv_buffer_t all_buffers[DEPTH];
static aq_ibv_buffers_t pools;
static aq_ibv_rma_path_t path;
static aq_ibv_peer_t peer;

static void limits_begin(void)
{
    const struct ibv_device_attr can = {
        .max_qp_wr = DEPTH, .max_cqe = 1 << 10, .max_srq_wr = 1 << 10};
    const struct ibv_port_attr port = {.max_msg_sz = 1 << 30};
    limits = (aq_ibv_limits_t){.peers = 0};
    aq_ibv_limits_find(&limits, 1, false, &can, &port);
    limits.inline_bytes = INLINE;
    limits.apart_ns = UINT64_MAX; // nothing is reaped because time has passed
}

static void keys_begin(void)
{
    fake_verbs_start();
    memory = (aq_ibv_memory_t){.calls = &fake_verbs_calls,
                               .device = "fake",
                               .region_bytes = 1 << 30,
                               .piece_bytes = 1 << 30,
                               .most = 1 << 30};
    const aq_ibv_keys_setup_t setup = {.mode = AQ_SEGMENT_FAST,
                                       .memory = &memory,
                                       .device_regions = 1 << 10,
                                       .processes = 1,
                                       .ranks = 2,
                                       .peers = 1};
    assert_int_equal(aq_ibv_keys_start(&keys, &setup), AQ_OK);
}

static int set_up(void **state)
{
    (void)state;
    if (default_settings() != 0 || !(works = calloc(WORKS, sizeof *works)))
        return -1;
    work_count = 0;
    limits_begin();
    keys_begin();
    queue = (aq_ibv_send_queue_t){.limits = &limits, .cq = &cq};
    assert_true(aq_ibv_send_queue_open(&queue));
    pools = (aq_ibv_buffers_t){.slab_mr = &slab_mr, .bounces.bytes = sizeof slab[0]};
    for (unsigned i = 0; i < DEPTH; i++) {
        all_buffers[i] = (aq_ibv_buffer_t){.bytes = slab[i], .home = &pools.bounces};
        aq_ibv_buffer_put(&all_buffers[i]);
    }
    path =
        (aq_ibv_rma_path_t){.limits = &limits, .buffers = &pools, .keys = &keys, .queue = &queue};
    peer = (aq_ibv_peer_t){.rank = 1, .qp = &qp, .entries = &peer.own};
    atomic_init(&peer.own.slots, limits.depth_each);
    memset(dest, 0, sizeof dest);
    for (uint64_t i = 0; i < WORDS; i++)
        src[i] = 7000 + i;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    aq_ibv_keys_stop(&keys);
    free(queue.ops);
    free(works);
    return 0;
}

static void begin(aq_ibv_rma_begin_t *how, aq_rma_kind_t kind, void *local, void *remote,
                  size_t nbytes, atomic_uint *pending)
{
    const aq_rma_t rma = {
        .remote = remote, .local = local, .nbytes = nbytes, .pending = pending, .kind = kind};
    const aq_ibv_hold_t there = {.bytes = nbytes, .key = 1};
    while (!how(&path, &peer, &rma, &there))
        assert_true(aq_ibv_reap(&queue) > 0);
}

// Begins puts and gets of words in turn, waits for the puts and then for the gets, and returns how
// many words were wrong at those moments.
static unsigned wrong_words(aq_ibv_rma_begin_t *how)
{
    uint64_t out, in[WORDS] = {0};
    atomic_uint puts = 0, gets = 0;
    unsigned wrong = 0;
    for (uint64_t i = 0; i < WORDS; i++) {
        out = 100 + i;
        begin(how, AQ_RMA_PUT, &out, &dest[i], sizeof out, &puts);
        begin(how, AQ_RMA_GET, &in[i], &src[i], sizeof in[i], &gets);
    }
    while (puts)
        aq_ibv_reap(&queue);
    for (uint64_t i = 0; i < WORDS; i++)
        wrong += dest[i] != 100 + i;
    while (gets)
        aq_ibv_reap(&queue);
    for (uint64_t i = 0; i < WORDS; i++)
        wrong += in[i] != 7000 + i;
    return wrong;
}

static void assert_all_is_back(void)
{
    assert_int_equal(queue.ops_used, 0);
    assert_int_equal(peer.own.slots, limits.depth_each);
}

// ---- tests ----

// The device is as bad as it has to be for these tests.
static void test_order_is_needed(void **state)
{
    (void)state;
    assert_true(wrong_words(aq_ibv_rma_begin) > 0);
}

static void test_words(void **state)
{
    (void)state;
    aq_ibv_limits_loosen(&limits);
    assert_int_equal(wrong_words(aq_ibv_rma_begin_fenced), 0);
    assert_all_is_back();
    for (unsigned i = 0; i < work_count; i++)
        assert_true(works[i].wr.send_flags & IBV_SEND_SIGNALED);
}

// Puts that go through buffers, each of which is in use until its own write is complete.
static void test_buffers(void **state)
{
    uint64_t out[LONGER];
    atomic_uint puts = 0;
    (void)state;
    aq_ibv_limits_loosen(&limits);
    for (uint64_t i = 0; i < WORDS; i++) {
        for (uint64_t j = 0; j < LONGER; j++)
            out[j] = i * LONGER + j;
        begin(aq_ibv_rma_begin_fenced, AQ_RMA_PUT, out, &dest[i * LONGER], sizeof out, &puts);
    }
    while (puts)
        aq_ibv_reap(&queue);
    for (uint64_t i = 0; i < WORDS * LONGER; i++)
        assert_int_equal(dest[i], i);
    assert_all_is_back();
}

// No message is without a completion, and none goes through a ring.
static void test_limits(void **state)
{
    (void)state;
    assert_true(limits.rings.count > 0);
    const unsigned arrivals = limits.arrivals - limits.rings.replies;
    aq_ibv_limits_loosen(&limits);
    assert_int_equal(limits.rings.count, 0);
    assert_int_equal(limits.arrivals, arrivals);
    assert_false(aq_ibv_unsignaled_take(&queue, &peer));
    const aq_ibv_limits_t window = aq_ibv_limits_of_window(&limits);
    assert_true(window.device.unordered);
    assert_int_equal(window.rings.count, 0);
    assert_int_equal(window.unsignaled_each, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order_is_needed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_buffers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
