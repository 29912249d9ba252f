// SPDX-License-Identifier: BSD-3-Clause
// Messages of conduit ibv over fake devices that count requests: which messages need a buffer, a
// credit or a slot, what is posted and polled, and that no message waits for a buffer.
#include "../../../unit/unit_test.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../../../other/base/settings/settings.h"
#include "../../../unit/default_settings.h"
#include "../fake_fabric.h"
#include "../../../unit/assert_between.h"

static void load_settings(void)
{
    char err[512];
    if (aq_settings_load(err, sizeof err) != AQ_OK)
        fail_msg("%s", err);
}

static int set_up(void **state)
{
    (void)state;
    return default_settings();
}

static int tear_down(void **state)
{
    (void)state;
    fake_fabric_end();
    return 0;
}

// Starts nodes that grant a ring to a peer on its first message.
static void start_with_rings(unsigned nodes, const char *depth)
{
    setenv("GASNET_AMRDMA_CYCLE", "1", 1);
    setenv("GASNET_AMRDMA_DEPTH", depth, 1);
    load_settings();
    fake_fabric_start(nodes, false);
}

static const fake_counts_t *counts_of(unsigned node)
{
    return &fake_nodes[node].counts;
}

// ---- rings ----

// Sends messages until both nodes have rings at each other.
static void give_rings(unsigned a, unsigned b)
{
    for (unsigned i = 0; i < 4; i++)
        fake_fabric_round(a, b, true);
    assert_non_null(fake_fabric_link(b, a)->in.owned);
    assert_non_null(fake_fabric_link(a, b)->in.owned);
}

static void test_rings_need_nothing_else(void **state)
{
    (void)state;
    start_with_rings(2, "16");
    aq_ibv_peer_t *link = fake_fabric_link(0, 1);
    give_rings(0, 1);
    fake_fabric_clear_counts();
    const unsigned credits = atomic_load(&link->credit.free);
    const unsigned pool = atomic_load(&fake_nodes[0].ibv->peers.credits.free);
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(fake_fabric_request(0, 1, i % 2 ? 100 : 0, true), AQ_OK);
    // Outstanding requests hold neither a credit nor a receive buffer.
    assert_int_equal(atomic_load(&link->credit.free), credits);
    assert_int_equal(atomic_load(&fake_nodes[0].ibv->peers.credits.free), pool);
    fake_fabric_settle();
    assert_int_equal(counts_of(1)->requests, 10);
    assert_int_equal(counts_of(0)->replies, 10);
    assert_int_equal(counts_of(0)->sends + counts_of(1)->sends, 0);
    assert_int_equal(counts_of(0)->writes, 10);
    assert_int_equal(counts_of(1)->writes, 10);
    assert_int_equal(atomic_load(&link->credit.free), credits);
    assert_int_equal(atomic_load(&fake_nodes[0].ibv->peers.credits.free), pool);
}

// When requests with and without replies use up rings and credits at the same time, all credits
// return to their owners, and no message waits for a buffer.
static void test_credits_come_back(void **state)
{
    (void)state;
    setenv("GASNET_AM_CREDITS_PP", "4", 1);
    start_with_rings(3, "4");
    for (unsigned i = 0; i < 4000; i++) {
        const unsigned from = i % 3, to = (i + 1 + i / 3 % 2) % 3;
        if (fake_fabric_request(from, to, i % 5 * 20, i % 7 < 4) == AQ_AGAIN || i % 11 == 0)
            fake_fabric_poll(i / 2 % 3);
    }
    fake_fabric_settle();
    for (unsigned a = 0; a < 3; a++) {
        unsigned away = 0;
        assert_int_equal(counts_of(a)->waits, 0);
        for (unsigned b = 0; b < 3; b++)
            if (a != b) {
                const unsigned free = atomic_load(&fake_fabric_link(a, b)->credit.free);
                const unsigned kept = atomic_load(&fake_fabric_link(b, a)->credit.banked);
                assert_int_equal(free + kept, 4);
                away += kept;
            }
        assert_int_equal(atomic_load(&fake_nodes[a].ibv->peers.credits.free) + away, 8);
        assert_true(fake_nodes[a].ibv->rings.messages > 100);
    }
}

// A message that finds no free slot in the ring takes a credit and a buffer.
static void test_full_ring_is_bypassed(void **state)
{
    (void)state;
    start_with_rings(2, "2");
    give_rings(0, 1);
    fake_fabric_settle();
    fake_fabric_clear_counts();
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(fake_fabric_request(0, 1, 0, false), AQ_OK);
    assert_between(counts_of(0)->writes, 1, 2);
    assert_int_equal(counts_of(0)->writes + counts_of(0)->sends, 6);
    fake_fabric_settle();
    assert_int_equal(counts_of(1)->requests, 6);
}

// Before the end, all messages have left this node even if the receiver does not poll.
static void test_drain(void **state)
{
    (void)state;
    load_settings();
    fake_fabric_start(2, false);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(fake_fabric_request(0, 1, 1000, true), AQ_OK);
    assert_int_equal(atomic_load(&fake_nodes[0].ibv->send_queue.ops_used), 5);
    aq_ibv_drain(&fake_nodes[0].ibv->send_queue, &fake_nodes[0].ibv->peers);
    assert_int_equal(atomic_load(&fake_nodes[0].ibv->send_queue.ops_used), 0);
    assert_int_equal(counts_of(1)->requests, 0);
}

static unsigned yields;

// Replaces the C library's function, to count the calls.
int sched_yield(void)
{
    yields++;
    return (int)syscall(SYS_sched_yield);
}

static unsigned yields_of_poll(unsigned what)
{
    const unsigned before = yields;
    assert_int_equal(aq_ibv_poll(&fake_nodes[0].ibv->receiver, what), 0);
    return yields - before;
}

// A wait for a device in software yields the processor to the kernel, which does the device's work.
// A wait for a hardware device does not yield, nor does a wait for a device without work.
static void test_software_device_gets_processor(void **state)
{
    const unsigned all = AQ_POLL_REPLIES | AQ_POLL_REQUESTS;
    const struct ibv_port_attr port = {.max_msg_sz = 1 << 30};
    const unsigned vendors[] = {0, 0xffffff, 0x626d74, 0x02c9};
    (void)state;
    load_settings();
    fake_fabric_start(2, false);
    aq_ibv_conduit_t *ibv = fake_nodes[0].ibv;
    fake_fabric_settle();
    const aq_ibv_limits_t limits = ibv->limits;
    for (unsigned i = 0; i < 4; i++) {
        const bool in_software = i == 1 || i == 2;
        const struct ibv_device_attr can = {.vendor_id = vendors[i],
                                            .max_qp_wr = 1 << 15,
                                            .max_cqe = 1 << 22,
                                            .max_srq_wr = 1 << 15};
        aq_ibv_limits_find(&ibv->limits, 1, false, &can, &port);
        const bool found = ibv->limits.device.in_software;
        assert_true(found == (ibv->limits.apart_ns > 100000)); // its posts take long
        ibv->limits = limits;
        ibv->limits.device.in_software = found;
        assert_int_equal(yields_of_poll(all), 0);
        aq_ibv_op_t *op = aq_ibv_op_take(&ibv->send_queue, fake_fabric_link(0, 1));
        assert_int_equal(yields_of_poll(all), in_software);
        assert_int_equal(yields_of_poll(all | AQ_POLL_AGAIN), in_software);
        for (unsigned turn = 0; turn < 8; turn++) // a busy sender does not yield
            assert_int_equal(yields_of_poll(all | AQ_POLL_SENDING), 0);
        aq_ibv_op_put(&ibv->send_queue, op);
    }
    ibv->limits = limits;
}

// A thread that spins checks the rings several times for each poll of the completion queue.
static void test_spinning_looks_at_rings(void **state)
{
    (void)state;
    const unsigned what = AQ_POLL_REPLIES | AQ_POLL_REQUESTS;
    start_with_rings(2, "16");
    give_rings(0, 1);
    fake_fabric_settle();
    fake_fabric_clear_counts();
    const unsigned long before = fake_nodes[0].ibv->rings.looks;
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(aq_ibv_poll(&fake_nodes[0].ibv->receiver, what | AQ_POLL_AGAIN), 0);
    assert_int_equal(counts_of(0)->receive_polls, 10);
    assert_int_equal(fake_nodes[0].ibv->rings.looks - before, 10 * AQ_IBV_RING_LOOKS);
    assert_int_equal(aq_ibv_poll(&fake_nodes[0].ibv->receiver, what), 0);
    assert_int_equal(counts_of(0)->receive_polls, 11);
    assert_int_equal(fake_nodes[0].ibv->rings.looks - before, 10 * AQ_IBV_RING_LOOKS + 1);
}

// A poll checks one slot of each ring in use.
static void test_poll_looks_at_rings_in_use(void **state)
{
    (void)state;
    start_with_rings(9, "4");
    assert_int_equal(fake_nodes[0].ibv->limits.rings.count, 8);
    for (unsigned users = 0; users < 4; users++) {
        const unsigned long before = fake_nodes[0].ibv->rings.looks;
        fake_fabric_poll(0);
        assert_int_equal(fake_nodes[0].ibv->rings.looks - before, users);
        give_rings(users + 1, 0);
        fake_fabric_settle();
    }
}

// One ring for two peers: the busy peer takes over the ring of the quiet peer, even if the quiet
// peer no longer sends anything.
static void test_quiet_peer_loses_its_ring(void **state)
{
    (void)state;
    setenv("GASNET_AMRDMA_MAX_PEERS", "1", 1);
    setenv("GASNET_AMRDMA_CYCLE", "32", 1);
    load_settings();
    fake_fabric_start(3, false);
    for (unsigned i = 0; i < 40; i++)
        fake_fabric_round(1, 0, true);
    assert_non_null(fake_fabric_link(0, 1)->in.owned);
    assert_true(fake_fabric_link(1, 0)->out.at != 0);
    for (unsigned i = 0; i < 120; i++)
        fake_fabric_round(2, 0, true);
    assert_null(fake_fabric_link(0, 1)->in.owned);
    assert_true(fake_fabric_link(1, 0)->out.at == 0);
    assert_non_null(fake_fabric_link(0, 2)->in.owned);
    fake_fabric_clear_counts();
    fake_fabric_round(2, 0, true);
    assert_int_equal(counts_of(2)->writes, 1);
    assert_int_equal(counts_of(0)->waits + counts_of(1)->waits + counts_of(2)->waits, 0);
}

// Before a node sleeps it takes its rings back, so that later messages wake it. A peer that keeps
// sending gets a ring again.
static void test_sleeper_has_no_rings(void **state)
{
    (void)state;
    start_with_rings(3, "8");
    give_rings(1, 0);
    give_rings(2, 0);
    assert_int_equal(fake_nodes[0].ibv->rings.active_count, 2);
    fake_fabric_clear_counts();
    assert_false(aq_ibv_rings_quiet(&fake_nodes[0].ibv->receiver, false));
    assert_int_equal(counts_of(0)->posts, 0);
    assert_false(aq_ibv_rings_quiet(&fake_nodes[0].ibv->receiver, true)); // asks the owners
    assert_false(aq_ibv_rings_quiet(&fake_nodes[0].ibv->receiver, true)); // only once
    assert_int_equal(counts_of(0)->sends, 2);
    fake_fabric_poll(1);
    assert_false(
        aq_ibv_rings_quiet(&fake_nodes[0].ibv->receiver, true)); // one owner has not answered yet
    // A message that was written before the answer is not lost.
    assert_int_equal(fake_fabric_request(2, 0, 0, false), AQ_OK);
    fake_fabric_settle();
    assert_int_equal(counts_of(0)->requests, 1);
    assert_true(aq_ibv_rings_quiet(&fake_nodes[0].ibv->receiver, true));
    fake_fabric_clear_counts();
    assert_int_equal(fake_fabric_request(1, 0, 0, true), AQ_OK);
    assert_int_equal(counts_of(1)->sends, 1); // a send causes a completion, which wakes the node
    fake_fabric_settle();
    give_rings(1, 0);
    assert_int_equal(fake_nodes[0].ibv->rings.active_count, 1);
}

// An owner that has not yet learned of its ring when it is asked to give up the ring is asked
// again.
static void test_ring_is_asked_for_again(void **state)
{
    (void)state;
    start_with_rings(2, "8");
    aq_ibv_conduit_t *ibv = fake_nodes[0].ibv;
    aq_ibv_peer_t *owner = fake_fabric_link(1, 0);
    assert_int_equal(fake_fabric_request(1, 0, 0, false), AQ_OK);
    fake_fabric_poll(0);
    assert_int_equal(ibv->rings.active_count, 1);
    // The request to give up the ring overtakes the announcement of the ring.
    const aq_ibv_head_t head = {.ring = atomic_exchange(&fake_fabric_link(0, 1)->in.news, 0)};
    assert_int_equal(head.ring, 1);
    assert_false(aq_ibv_rings_quiet(&ibv->receiver, true));
    fake_fabric_settle();
    aq_ibv_ring_hear(&fake_nodes[1].ibv->ring_writer, owner, &head);
    assert_int_equal(fake_fabric_request(1, 0, 0, false), AQ_OK);
    assert_int_equal(counts_of(1)->writes, 1);
    assert_false(aq_ibv_rings_quiet(&ibv->receiver, true));
    fake_fabric_settle();
    assert_true(aq_ibv_rings_quiet(&ibv->receiver, true));
    assert_int_equal(counts_of(0)->requests, 2);
}

// A process uses no more rings of peers than it has buffers for their replies.
static void test_rings_in_use_are_limited(void **state)
{
    (void)state;
    setenv("GASNET_AMRDMA_MAX_PEERS", "2", 1);
    start_with_rings(6, "4");
    for (unsigned turn = 0; turn < 4; turn++)
        for (unsigned to = 1; to < 6; to++)
            fake_fabric_round(0, to, true);
    assert_int_equal(fake_nodes[0].ibv->ring_writer.held, 2);
    unsigned given = 0;
    for (unsigned node = 1; node < 6; node++)
        given += fake_fabric_link(node, 0)->in.owned != NULL;
    assert_between(given, 2, 5);
    for (unsigned node = 0; node < 6; node++)
        assert_int_equal(counts_of(node)->waits, 0);
}

// ---- credits ----

static unsigned granted_credits(unsigned node, unsigned peers)
{
    unsigned sum = 0;
    for (unsigned p = 0; p < peers; p++)
        sum += fake_fabric_link(node, p + 1)->grant;
    return sum;
}

// All peers send as many messages as their credits allow, at once: each message finds a buffer, and
// the number of buffers does not grow with the number of peers.
static void test_buffers_for_all_peers(void **state)
{
    (void)state;
    setenv("GASNET_AMRDMA_MAX_PEERS", "0", 1);
    setenv("GASNET_AM_CREDITS_PP", "64", 1);
    setenv("GASNET_AM_CREDITS_TOTAL", "100", 1);
    load_settings();
    fake_fabric_start(FAKE_NODES, false);
    const aq_ibv_limits_t *limits = &fake_nodes[0].ibv->limits;
    assert_int_equal(limits->grants, 1024);
    assert_int_equal(limits->arrivals, 1024 + 100);
    const unsigned sum = granted_credits(0, FAKE_NODES - 1);
    assert_between(sum, 512, 1024);
    for (unsigned node = 1; node < FAKE_NODES; node++)
        while (fake_fabric_request(node, 0, 0, true) == AQ_OK)
            continue;
    assert_int_equal(counts_of(0)->waits, 0);
    assert_int_equal(counts_of(0)->least_buffers, limits->arrivals + limits->ahead - sum);
    fake_fabric_settle();
    assert_int_equal(counts_of(0)->requests, sum);
    for (unsigned node = 0; node < FAKE_NODES; node++)
        assert_int_equal(counts_of(node)->waits, 0);
}

// With more peers than buffers, messages without a buffer wait in the device if all peers send at
// once, and none is lost. No message waits as long as no more peers send at a time than there are
// buffers.
static void test_more_peers_than_buffers(void **state)
{
    (void)state;
    enum { BUFFERS = 40 };
    fake_most_buffers = BUFFERS;
    load_settings();
    fake_fabric_start(FAKE_NODES, false);
    fake_most_buffers = 0;
    assert_int_equal(fake_nodes[0].ibv->limits.arrivals, BUFFERS);
    assert_true(granted_credits(0, FAKE_NODES - 1) >= FAKE_NODES - 1); // each peer has a grant
    for (unsigned node = 1; node < FAKE_NODES; node++) {
        assert_int_equal(fake_fabric_request(node, 0, 0, true), AQ_OK);
        if (node % BUFFERS == 0)
            fake_fabric_settle();
    }
    fake_fabric_settle();
    assert_int_equal(counts_of(0)->waits, 0);
    for (unsigned node = 1; node < FAKE_NODES; node++)
        assert_int_equal(fake_fabric_request(node, 0, 0, true), AQ_OK);
    assert_int_equal(counts_of(0)->waits, FAKE_NODES - 1 - BUFFERS);
    fake_fabric_settle();
    assert_int_equal(counts_of(0)->requests, 2 * (FAKE_NODES - 1));
    for (unsigned node = 1; node < FAKE_NODES; node++)
        assert_int_equal(counts_of(node)->replies, 2);
}

// Each of 1,024 peers may have at least one request outstanding. The peers share the rest of the
// grants.
static void test_grants_of_many_peers(void **state)
{
    (void)state;
    load_settings();
    fake_fabric_start(2, false);
    aq_ibv_conduit_t *ibv = fake_nodes[0].ibv;
    static const unsigned peers[] = {20, 100, 500, 1024};
    for (unsigned i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        unsigned sum = 0;
        ibv->limits.peers = peers[i];
        ibv->limits.grants = 1024 < 32 * peers[i] ? 1024 : 32 * peers[i];
        aq_ibv_credits_open(&ibv->peers);
        for (unsigned p = 0; p < peers[i]; p++) {
            const unsigned grant = aq_ibv_peer_grant(&ibv->peers);
            assert_between(grant, 1, 32);
            sum += grant;
        }
        assert_true(sum <= ibv->limits.grants);
    }
}

// ---- posts ----

static uint64_t from_memory[64], to_memory[64];

// Begins an inline put as ibv_rma.c does.
static void begin_put(unsigned from, aq_ibv_peer_t *link, unsigned place, atomic_uint *pending)
{
    aq_ibv_conduit_t *ibv = fake_nodes[from].ibv;
    aq_ibv_op_t *op = aq_ibv_op_take(&ibv->send_queue, link);
    assert_non_null(op);
    op->pending = pending;
    atomic_fetch_add(pending, 1);
    aq_ibv_work_local(&op->work, &from_memory[place], sizeof from_memory[place], 0);
    aq_ibv_work_rdma(&op->work, IBV_WR_RDMA_WRITE, (uintptr_t)&to_memory[place], 0);
    aq_ibv_work_in_line(&op->work);
    aq_ibv_post_later(&ibv->send_queue, op);
}

static void poll_sending(unsigned node)
{
    aq_ibv_poll(&fake_nodes[node].ibv->receiver,
                AQ_POLL_REPLIES | AQ_POLL_REQUESTS | AQ_POLL_SENDING);
}

static void begin_puts(unsigned nodes)
{
    load_settings();
    fake_fabric_start(nodes, false);
    for (unsigned node = 0; node < nodes; node++) // so that a slow machine does not matter
        fake_nodes[node].ibv->limits.apart_ns = UINT64_MAX;
    memset(to_memory, 0, sizeof to_memory);
    for (unsigned i = 0; i < 64; i++)
        from_memory[i] = i + 1;
}

// 64 puts in a row cost a few calls of post_send and a few completions, and all complete.
static void test_puts_are_posted_together(void **state)
{
    (void)state;
    begin_puts(2);
    aq_ibv_peer_t *link = fake_fabric_link(0, 1);
    atomic_uint pending = 0;
    for (unsigned i = 0; i < 64; i++) {
        begin_put(0, link, i, &pending);
        from_memory[i] = 0; // the caller may reuse its source
        poll_sending(0);
    }
    while (pending)
        fake_fabric_poll(0);
    assert_int_equal(counts_of(0)->works, 64);
    assert_between(counts_of(0)->posts, 4, 32);
    assert_int_equal(counts_of(0)->signaled, counts_of(0)->posts);
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(to_memory[i], i + 1);
    assert_int_equal(atomic_load(&link->entries->slots), fake_nodes[0].ibv->limits.depth_each);
    assert_int_equal(fake_nodes[0].ibv->send_queue.ops_used, 0);
}

// How many puts, each of which a poll completes, until a request is delivered that has arrived.
static unsigned puts_before_request(void)
{
    const unsigned before = counts_of(0)->requests;
    atomic_uint pending = 0;
    unsigned puts = 0;
    assert_int_equal(fake_fabric_request(1, 0, 0, false), AQ_OK);
    for (; counts_of(0)->requests == before && puts < 64; puts++) {
        begin_put(0, fake_fabric_link(0, 1), puts, &pending);
        fake_fabric_poll(0);
        assert_int_equal(pending, 0);
    }
    return puts;
}

// A thread that waits for its own puts and gets looks for arrivals in one of four polls.
static void test_reaping_puts_off_arrivals(void **state)
{
    (void)state;
    begin_puts(2);
    fake_fabric_settle();
    assert_between(puts_before_request(), 1, 4);
    assert_int_equal(puts_before_request(), 4);
    assert_int_equal(puts_before_request(), 4);
}

// Puts in the list are posted before a message of the same node, by a reap, and by a poll.
static void test_puts_do_not_wait(void **state)
{
    (void)state;
    begin_puts(3);
    aq_ibv_peer_t *link = fake_fabric_link(0, 1);
    atomic_uint pending = 0;
    unsigned next = 0;
    for (unsigned how = 0; how < 3; how++) {
        while (!fake_nodes[0].ibv->send_queue.list.count)
            begin_put(0, link, next++, &pending);
        assert_int_equal(to_memory[next - 1], 0);
        if (how == 0)
            assert_int_equal(fake_fabric_request(0, 1, 0, false), AQ_OK);
        else if (how == 1)
            aq_ibv_reap(&fake_nodes[0].ibv->send_queue);
        else
            fake_fabric_poll(0);
        assert_int_equal(to_memory[next - 1], next);
    }
    fake_fabric_settle();
    assert_int_equal(pending, 0);
}

// A thread that only puts makes progress, however short the send queue is.
static void test_puts_in_a_short_queue(void **state)
{
    (void)state;
    setenv("GASNET_NETWORKDEPTH_PP", "12", 1);
    begin_puts(2);
    aq_ibv_peer_t *link = fake_fabric_link(0, 1);
    atomic_uint pending = 0;
    for (unsigned i = 0; i < 64; i++)
        begin_put(0, link, i, &pending);
    aq_ibv_reap(&fake_nodes[0].ibv->send_queue);
    assert_int_equal(pending, 0);
    assert_int_equal(to_memory[63], 64);
}

// Checks the cost of a request and its reply for each side: one post, with an occasional send
// completion; one receive completion; and, once per several messages, a call that posts buffers.
static void cost_of_rounds(unsigned rounds, bool by_ring)
{
    const unsigned each = fake_nodes[0].ibv->limits.unsignaled_each + 1;
    const unsigned refills = fake_nodes[0].ibv->limits.ahead / 2 + 1;
    fake_fabric_settle();
    fake_fabric_clear_counts();
    for (unsigned i = 0; i < rounds; i++) {
        assert_int_equal(fake_fabric_request(0, 1, 0, true), AQ_OK);
        assert_between(fake_fabric_poll(1), 1, 2); // the message, and possibly a completion
        assert_between(fake_fabric_poll(0), 1, 2);
    }
    for (unsigned node = 0; node < 2; node++) {
        assert_int_equal(counts_of(node)->posts, rounds);
        assert_int_equal(counts_of(node)->works, rounds);
        assert_int_equal(by_ring ? counts_of(node)->writes : counts_of(node)->sends, rounds);
        assert_between(counts_of(node)->signaled, rounds / each, rounds / each + 1);
        assert_between(counts_of(node)->send_polls, rounds / each, rounds / each + rounds / 16 + 2);
        if (by_ring) {
            assert_int_equal(counts_of(node)->refills, 0);
            assert_between(counts_of(node)->receive_polls, 0, rounds / 8 + 1);
        } else {
            assert_between(counts_of(node)->refills, rounds / refills, rounds / refills + 1);
            assert_between(counts_of(node)->refilled, rounds - refills, rounds + refills);
            assert_int_equal(counts_of(node)->receive_polls, rounds);
        }
        assert_int_equal(counts_of(node)->waits, 0);
    }
}

static void test_cost_of_a_short(void **state)
{
    (void)state;
    setenv("GASNET_AMRDMA_MAX_PEERS", "0", 1);
    load_settings();
    fake_fabric_start(2, false);
    assert_between(fake_nodes[0].ibv->limits.unsignaled_each, 4, 16);
    assert_between(fake_nodes[0].ibv->limits.ahead, 8, 32);
    fake_fabric_round(0, 1, true);
    cost_of_rounds(640, false);
}

static void test_cost_of_a_short_in_rings(void **state)
{
    (void)state;
    start_with_rings(2, "16");
    give_rings(0, 1);
    cost_of_rounds(640, true);
}

// Unsignaled messages do not occupy queue entries for long, whatever the number of peers.
static void test_unsignaled_messages(void **state)
{
    (void)state;
    setenv("GASNET_AMRDMA_MAX_PEERS", "0", 1);
    setenv("GASNET_NETWORKDEPTH_PP", "8", 1);
    load_settings();
    fake_fabric_start(FAKE_NODES, false);
    aq_ibv_conduit_t *ibv = fake_nodes[0].ibv;
    ibv->limits.unsignaled_total = 32;
    for (unsigned i = 0; i < 10 * FAKE_NODES; i++) {
        fake_fabric_round(0, 1 + i % (FAKE_NODES - 1), true);
        unsigned held = 0;
        for (aq_ibv_peer_t *link = atomic_load(&ibv->peers.first); link; link = link->next)
            held += ibv->limits.depth_each - atomic_load(&link->entries->slots);
        assert_int_equal(held, atomic_load(&ibv->send_queue.unsignaled));
        assert_between(held, 0, ibv->limits.unsignaled_total);
    }
    assert_between(atomic_load(&ibv->send_queue.unsignaled), 24, 32);
    assert_int_equal(ibv->send_queue.ops_used, 0);
}

// A drain waits for all messages sent, including the unsignaled ones.
static void test_drain_waits_for_unsignaled_messages(void **state)
{
    (void)state;
    setenv("GASNET_AMRDMA_MAX_PEERS", "0", 1);
    load_settings();
    fake_fabric_start(3, false);
    assert_int_equal(fake_fabric_request(0, 1, 0, false), AQ_OK);
    assert_int_equal(fake_fabric_request(0, 2, 0, false), AQ_OK);
    assert_int_equal(counts_of(0)->signaled, 0);
    aq_ibv_drain(&fake_nodes[0].ibv->send_queue, &fake_nodes[0].ibv->peers);
    assert_int_equal(counts_of(0)->signaled, 2);
    assert_int_equal(fake_nodes[0].ibv->send_queue.ops_used, 0);
    assert_int_equal(fake_nodes[0].ibv->send_queue.unsignaled, 0);
    aq_ibv_drain(&fake_nodes[0].ibv->send_queue, &fake_nodes[0].ibv->peers);
    assert_int_equal(counts_of(0)->works, 4);
    fake_fabric_settle();
    assert_int_equal(counts_of(1)->requests + counts_of(2)->requests, 2);
}

static void test_unsignaled_messages_fail(void **state)
{
    (void)state;
    setenv("GASNET_AMRDMA_MAX_PEERS", "0", 1);
    load_settings();
    fake_fabric_start(2, false);
    aq_ibv_conduit_t *ibv = fake_nodes[0].ibv;
    aq_ibv_peer_t *link = fake_fabric_link(0, 1);
    ibv->shared->losses.wake = eventfd(0, EFD_CLOEXEC);
    fake_nodes[0].cut_off = true;
    assert_int_equal(fake_fabric_request(0, 1, 0, true), AQ_OK);
    assert_int_equal(ibv->send_queue.ops_used, 0);
    for (unsigned i = 0; i < 64 && !atomic_load(&ibv->shared->losses.at); i++)
        fake_fabric_poll(0);
    assert_true(ibv->shared->losses.at);
    assert_non_null(strstr(ibv->shared->losses.why, "the connection to rank 1 is lost"));
    assert_true(link->entries->dead);
    close(ibv->shared->losses.wake);
}

// A poll that finds nothing polls the receive completion queue once, and rarely the send completion
// queue.
static void test_idle_poll(void **state)
{
    (void)state;
    start_with_rings(2, "16");
    give_rings(0, 1);
    fake_fabric_clear_counts();
    for (unsigned i = 0; i < 10; i++)
        fake_fabric_poll(0);
    assert_between(counts_of(0)->send_polls, 0, 1);
    assert_int_equal(counts_of(0)->receive_polls, 10);
    fake_fabric_clear_counts();
    fake_fabric_round(0, 1, true);
    assert_int_equal(counts_of(0)->posts, 1);
    assert_int_equal(counts_of(1)->posts, 1);
}

// ---- effects of settings ----

static void test_depths_and_credits(void **state)
{
    (void)state;
    setenv("GASNET_NETWORKDEPTH_PP", "10", 1);
    setenv("GASNET_NETWORKDEPTH_TOTAL", "25", 1);
    setenv("GASNET_AM_CREDITS_PP", "40", 1); // limited by the depth
    setenv("GASNET_AM_CREDITS_TOTAL", "15", 1);
    setenv("GASNET_AM_CREDITS_SLACK", "3", 1);
    setenv("GASNET_BBUF_COUNT", "7", 1);
    setenv("GASNET_AMRDMA_MAX_PEERS", "0", 1);
    load_settings();
    fake_fabric_start(4, false);
    const aq_ibv_limits_t *limits = &fake_nodes[0].ibv->limits;
    assert_int_equal(limits->depth_each, 10);
    assert_int_equal(limits->depth_total, 25);
    assert_int_equal(limits->bounces, 7);
    assert_int_equal(limits->arrivals, 3 * 10 + 15);
    // 10 requests may be outstanding to one peer, and 15 to all.
    unsigned sent[4] = {0};
    for (unsigned to = 1; to < 4; to++)
        while (fake_fabric_request(0, to, 0, false) == AQ_OK)
            sent[to]++;
    assert_int_equal(sent[1], 10);
    assert_int_equal(sent[2], 5);
    assert_int_equal(sent[3], 0);
    // Peers keep up to 3 credits of requests without replies, and return the rest.
    fake_fabric_settle();
    assert_int_equal(atomic_load(&fake_fabric_link(1, 0)->credit.banked), 10 % 4);
    assert_int_equal(counts_of(1)->sends, 10 / 4);
    assert_int_equal(counts_of(0)->waits + counts_of(1)->waits + counts_of(2)->waits, 0);
}

// The resources for messages do not grow with the number of peers.
static void test_limits_of_many_peers(void **state)
{
    const struct ibv_device_attr can = {
        .max_qp_wr = 1 << 15, .max_cqe = 1 << 22, .max_srq_wr = 1 << 15};
    const struct ibv_port_attr port = {.max_msg_sz = 1 << 30};
    aq_ibv_limits_t few;
    (void)state;
    load_settings();
    fake_fabric_start(2, false);
    aq_ibv_conduit_t *ibv = fake_nodes[0].ibv;
    aq_ibv_limits_find(&ibv->limits, 64, false, &can, &port);
    few = ibv->limits;
    aq_ibv_limits_find(&ibv->limits, 60000, false, &can, &port);
    assert_int_equal(ibv->limits.arrivals, few.arrivals);
    assert_int_equal(ibv->limits.depth_total, few.depth_total);
    assert_int_equal(ibv->limits.bounces, few.bounces);
    assert_int_equal(ibv->limits.rings.count, few.rings.count);
    // A device with a short queue still has a buffer for each credit.
    const struct ibv_device_attr little = {
        .max_qp_wr = 1 << 15, .max_cqe = 1 << 22, .max_srq_wr = 100};
    aq_ibv_limits_find(&ibv->limits, 60000, false, &little, &port);
    assert_int_equal(ibv->limits.arrivals, 100);
    assert_int_equal(ibv->limits.grants + ibv->limits.credits.total + ibv->limits.rings.replies,
                     100);
}

// Messages too long for inline need a bounce buffer each.
static void test_bounce_buffers_limit_messages(void **state)
{
    (void)state;
    setenv("GASNET_BBUF_COUNT", "7", 1);
    setenv("GASNET_AMRDMA_MAX_PEERS", "0", 1);
    load_settings();
    fake_fabric_start(2, false);
    aq_ibv_buffer_t *kept = aq_ibv_buffer_take(&fake_nodes[0].ibv->buffers.bounces);
    for (unsigned i = 0; i < 5; i++)
        assert_non_null(aq_ibv_buffer_take(&fake_nodes[0].ibv->buffers.bounces));
    assert_int_equal(fake_fabric_request(0, 1, 1000, false), AQ_OK);
    // The last buffer is free again after the completion of its message.
    assert_int_equal(fake_fabric_request(0, 1, 1000, false), AQ_OK);
    assert_non_null(kept);
    fake_fabric_settle();
    assert_int_equal(counts_of(1)->requests, 2);
}

// The receive thread does not sleep while it has credits to return to a peer: no event would wake
// the thread when the send queue has room for them.
static void test_thread_stays_up_for_credits(void **state)
{
    (void)state;
    enum { MOST = 4096 };
    static aq_ibv_op_t *taken[MOST];
    unsigned count = 0;
    setenv("GASNET_AMRDMA_MAX_PEERS", "0", 1);
    setenv("GASNET_AM_CREDITS_PP", "1", 1);
    setenv("GASNET_AM_CREDITS_SLACK", "0", 1);
    load_settings();
    fake_fabric_start(2, false);
    fake_fabric_round(0, 1, true);
    aq_ibv_conduit_t *ibv = fake_nodes[1].ibv;
    aq_credit_t *credit = &fake_fabric_link(0, 1)->credit;
    while (count < MOST &&
           (taken[count] = aq_ibv_op_take(&ibv->send_queue, fake_fabric_link(1, 0))))
        count++;
    assert_int_equal(fake_fabric_request(0, 1, 0, false), AQ_OK);
    assert_int_equal(atomic_load(&credit->free), 0);
    assert_int_equal(aq_ibv_poll_by_thread(&ibv->sleeper), 1); // the message
    for (unsigned i = 0; i < 10; i++)
        assert_true(aq_ibv_poll_by_thread(&ibv->sleeper) > 0); // no room yet
    while (count)
        aq_ibv_op_put(&ibv->send_queue, taken[--count]);
    assert_int_equal(aq_ibv_poll_by_thread(&ibv->sleeper), 0);
    fake_fabric_settle();
    assert_int_equal(atomic_load(&credit->free), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rings_need_nothing_else, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_credits_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_thread_stays_up_for_credits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_ring_is_bypassed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_drain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_poll_looks_at_rings_in_use, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_software_device_gets_processor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_spinning_looks_at_rings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_quiet_peer_loses_its_ring, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sleeper_has_no_rings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ring_is_asked_for_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rings_in_use_are_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_buffers_for_all_peers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more_peers_than_buffers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grants_of_many_peers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reaping_puts_off_arrivals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_puts_are_posted_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_puts_do_not_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_puts_in_a_short_queue, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cost_of_a_short, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cost_of_a_short_in_rings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unsignaled_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_drain_waits_for_unsignaled_messages, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_unsignaled_messages_fail, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_idle_poll, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_depths_and_credits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits_of_many_peers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounce_buffers_limit_messages, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
