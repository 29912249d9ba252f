// SPDX-License-Identifier: BSD-3-Clause
// Put, get and Long with a known key, on a fake device that moves bytes at once: which of them use
// memory of the client in place, and what a fenced put posts.
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/ibv/send/ibv_rma.h"
#include "../../../../conduits/ibv/send/ibv_send.h"
#include "../../../../conduits/ibv/verbs/ibv_wire.h"
#include "../../../../other/base/settings/settings.h"
#include "../../../unit/default_settings.h"
#include "../fake_verbs.h"
#include "../../../unit/assert_between.h"

enum { PEER = 1, OPS = 4, BYTES = 1 << 16, POSTS = 8, SLAB_KEY = 77, PEER_KEY = 99 };

static char outside[BYTES + 1], target[BYTES + 1]; // memory of this process, and of the peer
static uint8_t slab[OPS][AQ_IBV_BUFFER_BYTES], large_slab[OPS][BYTES];
static aq_ibv_limits_t limits;
static aq_ibv_send_queue_t queue;
static aq_ibv_buffers_t pools;
static aq_ibv_keys_t keys;
static aq_ibv_rma_path_t path;
static aq_ibv_peer_t peer;
static struct ibv_mr slab_mr = {.lkey = SLAB_KEY};
static aq_ibv_buffer_t buffers[OPS], large_buffers[OPS];
static aq_ibv_memory_t memory;
static aq_credit_pool_t credits;
static const uintptr_t starts[] = {0, (uintptr_t)target};
static const uintptr_t lengths[] = {0, sizeof target};

// ---- the device ----

static struct ibv_send_wr posted[POSTS];
static struct ibv_sge pieces[POSTS];
static unsigned posted_count, polled_count;

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp, (void)bad;
    for (; wr; wr = wr->next) {
        assert_between(posted_count, 0, POSTS - 1);
        const bool reads = wr->opcode == IBV_WR_RDMA_READ;
        assert_true(wr->send_flags & IBV_SEND_SIGNALED);
        pieces[posted_count] = *wr->sg_list;
        posted[posted_count++] = *wr;
        if (wr->opcode == IBV_WR_SEND)
            continue;
        void *local = (void *)(uintptr_t)wr->sg_list->addr;
        void *remote = (void *)(uintptr_t)wr->wr.rdma.remote_addr;
        assert_int_equal(wr->wr.rdma.rkey, PEER_KEY);
        if (!(wr->send_flags & IBV_SEND_INLINE) && wr->sg_list->lkey != SLAB_KEY)
            fake_verbs_use(wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length, reads, true);
        memcpy(reads ? local : remote, reads ? remote : local, wr->sg_list->length);
    }
    return 0;
}

// One completion a call.
static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    (void)cq, (void)count;
    if (polled_count == posted_count)
        return 0;
    wc[0] = (struct ibv_wc){.wr_id = posted[polled_count++].wr_id, .status = IBV_WC_SUCCESS};
    return 1;
}

static struct ibv_context context = {.ops = {.post_send = post_send, .poll_cq = poll_cq}};
static struct ibv_qp qp = {.context = &context};
static struct ibv_cq cq = {.context = &context};

// ---- this process and its peer ----

static void pool_fill(aq_ibv_pool_t *pool, aq_ibv_buffer_t *all, void *bytes, size_t each)
{
    pool->bytes = each;
    for (size_t i = 0; i < OPS; i++) {
        all[i] = (aq_ibv_buffer_t){.bytes = (uint8_t *)bytes + i * each, .home = pool};
        aq_ibv_buffer_put(&all[i]);
    }
}

static unsigned pool_count(const aq_ibv_pool_t *pool)
{
    unsigned count = 0;
    for (const aq_ibv_buffer_t *each = pool->free; each; each = each->next)
        count++;
    return count;
}

static void begin_job(void)
{
    const struct ibv_device_attr can = {.max_qp_wr = OPS, .max_cqe = OPS, .max_srq_wr = 1 << 10};
    const struct ibv_port_attr port = {.max_msg_sz = 1 << 30};
    limits = (aq_ibv_limits_t){.peers = 0};
    aq_ibv_limits_find(&limits, 1, false, &can, &port);
    limits.inline_bytes = 64;
    fake_verbs_start();
    posted_count = polled_count = 0;
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
    uint32_t *segment_keys = calloc(2, sizeof *segment_keys);
    assert_non_null(segment_keys);
    segment_keys[PEER] = PEER_KEY;
    keys.segments = (aq_ibv_segments_t){.starts = starts,
                                        .lengths = lengths,
                                        .keys = segment_keys,
                                        .ranks = 2,
                                        .stride = 1,
                                        .cut = {.shift = 30}};
    queue = (aq_ibv_send_queue_t){.limits = &limits, .cq = &cq};
    assert_true(aq_ibv_send_queue_open(&queue));
    pools = (aq_ibv_buffers_t){.slab_mr = &slab_mr};
    pool_fill(&pools.bounces, buffers, slab, sizeof slab[0]);
    pool_fill(&pools.large_bounces, large_buffers, large_slab, sizeof large_slab[0]);
    path =
        (aq_ibv_rma_path_t){.limits = &limits, .buffers = &pools, .keys = &keys, .queue = &queue};
    peer = (aq_ibv_peer_t){.rank = PEER, .qp = &qp, .entries = &peer.own};
    atomic_init(&peer.own.slots, limits.depth_each);
    atomic_init(&credits.free, OPS);
    aq_credit_start(&peer.credit, &credits, OPS, OPS, 1);
    for (size_t i = 0; i < sizeof target; i++) {
        outside[i] = (char)(i * 7);
        target[i] = (char)(i * 3);
    }
}

static void end_job(void)
{
    assert_int_equal(peer.own.slots, limits.depth_each);
    assert_int_equal(queue.ops_used, 0);
    assert_int_equal(pool_count(&pools.bounces), OPS);
    assert_int_equal(pool_count(&pools.large_bounces), OPS);
    aq_ibv_keys_stop(&keys);
    free(queue.ops);
    assert_int_equal(fake_verbs.regions, 0);
}

static int start(void **state)
{
    (void)state;
    return default_settings();
}

static void set(const char *name, const char *value)
{
    char err[256];
    setenv(name, value, 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    unsetenv(name);
}

static size_t begin(aq_ibv_rma_begin_t *how, bool is_get, bool stable, size_t nbytes,
                    atomic_uint *pending)
{
    const aq_rma_t rma = {.remote = target,
                          .local = outside,
                          .nbytes = nbytes,
                          .pending = pending,
                          .kind = is_get ? AQ_RMA_GET : AQ_RMA_PUT,
                          .flags = stable ? AQ_RMA_STABLE : 0};
    const aq_ibv_hold_t there = {.bytes = nbytes, .key = PEER_KEY};
    return how(&path, &peer, &rma, &there);
}

// Does a put or get as a whole. Returns whether the device used the memory of the client itself.
static bool in_place(bool is_get, bool stable, size_t nbytes)
{
    atomic_uint pending = 0;
    const unsigned first = posted_count;
    assert_int_equal(begin(aq_ibv_rma_begin, is_get, stable, nbytes, &pending), nbytes);
    while (pending)
        assert_int_equal(aq_ibv_reap(&queue), 1);
    assert_memory_equal(outside, target, nbytes);
    assert_int_equal(posted_count, first + 1);
    return pieces[first].addr == (uintptr_t)outside;
}

// How the source of a put, or the payload of a Long, reaches the device.
typedef enum way { IN_LINE, IN_MESSAGE, COPIED, IN_PLACE } way_t;

// The way of everything that was posted, after which nothing is outstanding. The memory of the peer
// is as the source now.
static way_t finish(size_t nbytes)
{
    way_t way = IN_MESSAGE;
    unsigned writes = 0, copies = 0;
    for (unsigned i = 0; i < posted_count; i++) {
        if (posted[i].opcode != IBV_WR_RDMA_WRITE)
            continue;
        writes++;
        copies += pieces[i].lkey == SLAB_KEY && pieces[i].addr != (uintptr_t)outside;
        way = copies > 0 ? COPIED : posted[i].send_flags & IBV_SEND_INLINE ? IN_LINE : IN_PLACE;
    }
    assert_int_equal(copies, way == COPIED);
    assert_int_equal(writes, way != IN_MESSAGE);
    while (queue.ops_used)
        assert_int_equal(aq_ibv_reap(&queue), 1);
    assert_int_equal(memcmp(outside, target, nbytes) == 0, writes > 0);
    posted_count = polled_count = 0;
    memset(target, 0, sizeof target);
    return way;
}

// A put whose source the client wants back when the call returns, as the core begins it.
static way_t put_way(size_t nbytes)
{
    atomic_uint pending = 0;
    const bool waits = nbytes >= aq_ibv_limits_put_waits_from(&limits);
    assert_int_equal(begin(aq_ibv_rma_begin, false, waits, nbytes, &pending), nbytes);
    return finish(nbytes);
}

// A Long as the core sends it: the payload of a request may be put ahead.
static way_t long_way(size_t nbytes, bool reply)
{
    atomic_uint pending = 0;
    aq_ibv_sender_t sender = {.limits = &limits, .buffers = &pools, .queue = &queue, .keys = &keys};
    const bool ahead = !reply && nbytes >= aq_ibv_limits_long_ahead_from(&limits);
    const aq_am_t am = {.payload = outside,
                        .nbytes = nbytes,
                        .dest = target,
                        .category = AQ_AM_LONG,
                        .reply = reply,
                        .payload_delivered = ahead};
    if (ahead)
        assert_int_equal(begin(aq_ibv_rma_begin, false, true, nbytes, &pending), nbytes);
    assert_int_equal(aq_ibv_send(&sender, &peer, &am), AQ_OK);
    assert_int_equal(posted[posted_count - 1].opcode, IBV_WR_SEND);
    if (!reply)
        assert_true(aq_credit_give(&peer.credit, 1));
    return finish(nbytes);
}

// ---- tests ----

// GASNET_NONBULKPUT_BOUNCE_LIMIT, as the manual of GASNet has it: up to the limit through a buffer,
// beyond it in place while the call waits; but inline, or in the message, what is short.
static void test_nonbulk_puts(void **state)
{
    (void)state;
    begin_job();
    assert_int_equal(put_way(64), IN_LINE);
    assert_int_equal(put_way(65), COPIED);
    assert_int_equal(put_way(BYTES), COPIED);
    assert_int_equal(put_way(BYTES + 1), IN_PLACE);
    end_job();
    set("GASNET_NONBULKPUT_BOUNCE_LIMIT", "5000"); // no whole number of pages
    begin_job();
    assert_int_equal(put_way(4097), COPIED);
    assert_int_equal(put_way(5000), COPIED);
    assert_int_equal(put_way(5001), IN_PLACE);
    end_job();
    set("GASNET_NONBULKPUT_BOUNCE_LIMIT", "10"); // less than what travels inline
    begin_job();
    assert_int_equal(put_way(64), IN_LINE);
    assert_int_equal(put_way(65), IN_PLACE);
    end_job();
    set("GASNET_NONBULKPUT_BOUNCE_LIMIT", "0");
    begin_job();
    assert_int_equal(put_way(64), IN_LINE);
    assert_int_equal(put_way(65), IN_PLACE);
    assert_int_equal(put_way(BYTES), IN_PLACE);
    end_job();
}

static void set_both(const char *bounce, const char *packed)
{
    setenv("GASNET_PACKEDLONG_LIMIT", packed, 1);
    set("GASNET_NONBULKPUT_BOUNCE_LIMIT", bounce);
    unsetenv("GASNET_PACKEDLONG_LIMIT");
}

static void test_longs(void **state)
{
    (void)state;
    begin_job();
    assert_int_equal(long_way(limits.packed_long, false), IN_MESSAGE);
    assert_int_equal(long_way(limits.packed_long + 1, false), COPIED);
    assert_int_equal(long_way(BYTES, false), COPIED);
    assert_int_equal(long_way(BYTES + 1, false), IN_PLACE);
    assert_int_equal(long_way(BYTES, true), COPIED);
    end_job();
    set_both("5000", "0");
    begin_job();
    assert_int_equal(long_way(64, false), IN_LINE);
    assert_int_equal(long_way(65, false), COPIED);
    assert_int_equal(long_way(5000, false), COPIED);
    assert_int_equal(long_way(5001, false), IN_PLACE);
    end_job();
    set_both("0", "100");
    begin_job();
    assert_int_equal(long_way(100, false), IN_MESSAGE);
    assert_int_equal(long_way(101, false), IN_PLACE);
    assert_int_equal(long_way(BYTES, false), IN_PLACE);
    assert_int_equal(long_way(101, true), COPIED); // a handler cannot wait
    end_job();
    set_both("0", "0");
    begin_job();
    assert_int_equal(long_way(64, false), IN_LINE);
    assert_int_equal(long_way(65, false), IN_PLACE);
    end_job();
}

// GASNET_NONBULKPUT_BOUNCE_LIMIT: which puts from outside of the segment are not copied.
static void test_bounce_limit(void **state)
{
    (void)state;
    begin_job();
    assert_false(in_place(false, true, 4096));
    assert_true(in_place(false, true, 4097));
    end_job();
    set("GASNET_NONBULKPUT_BOUNCE_LIMIT", "0");
    begin_job();
    assert_true(in_place(false, true, 64)); // travels inline
    assert_true(in_place(false, true, 65));
    assert_true(in_place(false, true, 4096));
    assert_false(in_place(true, true, 4096));
    assert_true(in_place(true, true, 4097));
    assert_false(in_place(false, false, 65)); // the source may change before it is complete
    end_job();
    set("GASNET_NONBULKPUT_BOUNCE_LIMIT", "1000");
    begin_job();
    assert_false(in_place(false, true, 1000));
    assert_true(in_place(false, true, 1001));
    end_job();
}

// A fenced put writes, then reads the last byte of what it wrote, and is complete after both.
static void test_fenced(void **state)
{
    (void)state;
    begin_job();
    const size_t sizes[] = {1, 64, 65, 5000, BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        atomic_uint pending = 0;
        posted_count = polled_count = 0;
        assert_int_equal(begin(aq_ibv_rma_begin_fenced, false, true, sizes[i], &pending), sizes[i]);
        assert_int_equal(pending, 2);
        assert_int_equal(posted_count, 2);
        assert_int_equal(posted[0].opcode, IBV_WR_RDMA_WRITE);
        assert_int_equal(posted[1].opcode, IBV_WR_RDMA_READ);
        assert_int_equal(pieces[1].length, 1);
        assert_int_equal(pieces[1].lkey, SLAB_KEY);
        assert_int_equal(posted[1].wr.rdma.remote_addr, (uintptr_t)target + sizes[i] - 1);
        assert_int_equal(aq_ibv_reap(&queue), 1);
        assert_int_equal(pending, 1);
        assert_int_equal(aq_ibv_reap(&queue), 1);
        assert_int_equal(pending, 0);
        assert_memory_equal(outside, target, sizes[i]);
    }
    assert_int_equal(path.fences, sizeof sizes / sizeof sizes[0]);
    atomic_uint pending = 0;
    posted_count = polled_count = 0;
    assert_int_equal(begin(aq_ibv_rma_begin_fenced, true, true, 8, &pending), 8);
    assert_int_equal(pending, 1); // a get needs no fence
    assert_int_equal(aq_ibv_reap(&queue), 1);
    end_job();
}

// Without room for both, neither is begun.
static void test_fence_without_room(void **state)
{
    (void)state;
    begin_job();
    for (unsigned slots = 0; slots < 2; slots++) {
        atomic_uint pending = 0;
        atomic_store(&peer.own.slots, slots);
        assert_int_equal(begin(aq_ibv_rma_begin_fenced, false, true, 100, &pending), 0);
        assert_int_equal(pending, 0);
        assert_int_equal(peer.own.slots, slots);
        assert_int_equal(posted_count, 0);
    }
    atomic_store(&peer.own.slots, limits.depth_each);
    end_job();
}

// A put or get that finds no entry or no buffer goes on with those of operations that are complete.
static void test_reaps_for_room(void **state)
{
    atomic_uint pending = 0;
    (void)state;
    begin_job();
    limits.apart_ns = UINT64_MAX; // nothing is reaped because time has passed
    atomic_store(&peer.own.slots, 1);
    assert_int_equal(begin(aq_ibv_rma_begin, false, true, 8, &pending), 8);
    assert_int_equal(begin(aq_ibv_rma_begin, true, true, 100, &pending), 100);
    assert_int_equal(pending, 1);
    assert_int_equal(aq_ibv_reap(&queue), 1);
    atomic_store(&peer.own.slots, limits.depth_each);
    for (unsigned i = 0; i < OPS; i++)
        assert_int_equal(begin(aq_ibv_rma_begin, true, true, 100, &pending), 100);
    assert_int_equal(pending, OPS);
    assert_int_equal(begin(aq_ibv_rma_begin, true, true, 100, &pending), 100);
    assert_int_equal(pending, OPS);
    while (pending)
        assert_int_equal(aq_ibv_reap(&queue), 1);
    polled_count = posted_count; // nothing is left to complete
    atomic_store(&peer.own.slots, 0);
    assert_int_equal(begin(aq_ibv_rma_begin, true, true, 100, &pending), 0);
    assert_int_equal(pending, 0);
    atomic_store(&peer.own.slots, limits.depth_each);
    end_job();
}

// GASNET_PUT_STRIPE_SZ and GASNET_GET_STRIPE_SZ, in KB.
static void test_stripes(void **state)
{
    (void)state;
    begin_job();
    assert_int_equal(limits.stripe[0], 128 << 10);
    end_job();
    set("GASNET_PUT_STRIPE_SZ", "64");
    begin_job();
    assert_int_equal(limits.stripe[0], 64 << 10);
    end_job();
    set("GASNET_GET_STRIPE_SZ", "0");
    begin_job();
    assert_int_equal(limits.stripe[1], limits.device.operation_bytes);
    end_job();
    set("GASNET_GET_STRIPE_SZ", "1");
    begin_job();
    assert_int_equal(limits.stripe[1], 4096);
    end_job();
    set("GASNET_GET_STRIPE_SZ", "100G");
    begin_job();
    assert_int_equal(limits.stripe[1], limits.device.operation_bytes);
    end_job();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nonbulk_puts, start),
        cmocka_unit_test_setup(test_longs, start),
        cmocka_unit_test_setup(test_bounce_limit, start),
        cmocka_unit_test_setup(test_fenced, start),
        cmocka_unit_test_setup(test_fence_without_room, start),
        cmocka_unit_test_setup(test_reaps_for_room, start),
        cmocka_unit_test_setup(test_stripes, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
