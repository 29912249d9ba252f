// SPDX-License-Identifier: BSD-3-Clause
// Windows of conduit ibv over fake devices: each has its own queues, links, credits and buffers,
// and one without a link has none.
#include "../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../other/base/settings/settings.h"
#include "../../unit/default_settings.h"
#include "fake_fabric.h"
#include "../../unit/assert_between.h"

static int set_up(void **state)
{
    char err[512];
    (void)state;
    if (default_settings() != 0)
        return -1;
    return aq_settings_load(err, sizeof err) == AQ_OK ? 0 : -1;
}

static void load_settings(const char *name, const char *value)
{
    char err[512];
    setenv(name, value, 1);
    if (aq_settings_load(err, sizeof err) != AQ_OK)
        fail_msg("%s", err);
}

static int tear_down(void **state)
{
    (void)state;
    fake_fabric_end();
    return 0;
}

enum { RANKS = 3, EACH = 4, NODES = RANKS * EACH };

static const fake_counts_t *counts_of(unsigned node)
{
    return &fake_nodes[node].counts;
}

static bool may_talk(unsigned a, unsigned b)
{
    return a / EACH != b / EACH;
}

// Each window hears all windows of other ranks, which all have the same endpoints there, and only
// what is for itself.
static void test_all_pairs(void **state)
{
    const unsigned peers = NODES - EACH;
    (void)state;
    fake_fabric_start_windows(RANKS, EACH);
    for (unsigned from = 0; from < NODES; from++)
        for (unsigned to = 0; to < NODES; to++)
            if (may_talk(from, to))
                for (unsigned i = 0; i <= to % EACH; i++)
                    fake_fabric_round(from, to, true);
    for (unsigned node = 0; node < NODES; node++) {
        const unsigned got = peers * (1 + node % EACH);
        assert_int_equal(fake_nodes[node].ibv->peers.count, peers);
        assert_int_equal(counts_of(node)->requests, got);
        assert_int_equal(counts_of(node)->replies, RANKS == 3 ? 2 * (1 + 2 + 3 + 4) : 0);
        assert_int_equal(fake_nodes[node].ibv->receiver.arrived, got + counts_of(node)->replies);
        assert_int_equal(counts_of(node)->waits, 0);
    }
}

// Sends requests of many lengths between all windows, with and without replies.
static void send_many(unsigned count)
{
    fake_fabric_start_windows(RANKS, EACH);
    for (unsigned i = 0; i < count; i++) {
        const unsigned from = i % NODES, to = (i * 7 + i / 5) % NODES;
        if (may_talk(from, to) && fake_fabric_request(from, to, i % 5 * 300, i % 7 < 4) == AQ_AGAIN)
            fake_fabric_poll(to);
        fake_fabric_poll(i * 11 % NODES);
    }
    fake_fabric_settle();
}

// All credits have returned to the links that they are from, and no message waited for a buffer.
static void check_credits(void)
{
    for (unsigned a = 0; a < NODES; a++) {
        unsigned away = 0;
        assert_int_equal(counts_of(a)->waits, 0);
        for (unsigned b = 0; b < NODES; b++)
            if (may_talk(a, b)) {
                const aq_credit_t *mine = &fake_fabric_link(a, b)->credit;
                const unsigned kept = atomic_load(&fake_fabric_link(b, a)->credit.banked);
                assert_int_equal(atomic_load(&mine->free) + kept, mine->most);
                away += kept;
            }
        assert_int_equal(atomic_load(&fake_nodes[a].ibv->peers.credits.free) + away,
                         fake_nodes[a].ibv->limits.credits.total);
    }
}

static void test_credits_come_back(void **state)
{
    (void)state;
    send_many(6000);
    check_credits();
}

// A window has at most 4 rings for its peers, and its messages travel through them.
static void test_rings(void **state)
{
    (void)state;
    load_settings("GASNET_AMRDMA_CYCLE", "1");
    load_settings("GASNET_AMRDMA_DEPTH", "4");
    send_many(6000);
    check_credits();
    unsigned long in_rings = 0;
    for (unsigned node = 0; node < NODES; node++) {
        const aq_ibv_conduit_t *ibv = fake_nodes[node].ibv;
        assert_int_equal(ibv->limits.rings.count, 4);
        assert_between(ibv->rings.active_count, 1, 4);
        assert_between(atomic_load(&ibv->ring_writer.held), 1, 4);
        assert_true(ibv->rings.messages > 0);
        in_rings += ibv->rings.messages;
    }
    assert_true(in_rings > 1000);
}

// A request and its reply through rings are two writes: no receive buffer is used up.
static void test_rings_need_no_buffers(void **state)
{
    (void)state;
    load_settings("GASNET_AMRDMA_CYCLE", "1");
    fake_fabric_start_windows(2, 1);
    for (unsigned i = 0; i < 4; i++)
        fake_fabric_round(0, 1, true);
    fake_fabric_clear_counts();
    const unsigned long before = fake_nodes[0].ibv->receiver.arrived;
    for (unsigned i = 0; i < 10; i++)
        fake_fabric_round(0, 1, true);
    assert_int_equal(counts_of(1)->requests, 10);
    assert_int_equal(counts_of(0)->replies, 10);
    assert_int_equal(counts_of(0)->writes + counts_of(1)->writes, 20);
    assert_int_equal(counts_of(0)->sends + counts_of(1)->sends, 0);
    assert_int_equal(fake_nodes[0].ibv->receiver.arrived, before);
}

static void test_no_rings(void **state)
{
    (void)state;
    load_settings("GASNET_AMRDMA_CYCLE", "1");
    load_settings("GASNET_AMRDMA_MAX_PEERS", "0");
    send_many(600);
    for (unsigned node = 0; node < NODES; node++) {
        assert_int_equal(fake_nodes[node].ibv->limits.rings.replies, 0);
        assert_int_equal(counts_of(node)->writes, 0);
    }
}

// A window that sleeps takes its rings back, so that any message wakes it.
static void test_sleeper_has_no_rings(void **state)
{
    (void)state;
    load_settings("GASNET_AMRDMA_CYCLE", "1");
    fake_fabric_start_windows(2, 1);
    for (unsigned i = 0; i < 4; i++)
        fake_fabric_round(1, 0, true);
    aq_ibv_receiver_t *receiver = &fake_nodes[0].ibv->receiver;
    assert_false(aq_ibv_rings_quiet(receiver, true));
    fake_fabric_settle();
    assert_true(aq_ibv_rings_quiet(receiver, true));
    const aq_ibv_rings_t *rings = &fake_nodes[0].ibv->rings;
    assert_int_equal(rings->granted, 1);
    assert_int_equal(rings->freed, 1);
    fake_fabric_clear_counts();
    fake_fabric_round(1, 0, true);
    assert_int_equal(counts_of(1)->sends, 1);
    assert_int_equal(counts_of(1)->writes, 0);
}

// The first peers of a window get credits with buffers, and a window never grants all that it has
// to a few peers.
static void test_grants(void **state)
{
    enum { PEERS = 150 };
    (void)state;
    fake_fabric_start_windows(2, 1);
    aq_ibv_conduit_t *ibv = fake_nodes[0].ibv;
    unsigned sum = 0, first = 0;
    for (unsigned i = 0; i < PEERS; i++) {
        const unsigned grant = aq_ibv_peer_grant(&ibv->peers);
        sum += grant;
        first = i ? first : grant;
        assert_true(grant >= 1);
    }
    assert_true(first > 8);
    assert_true(sum <= ibv->limits.grants);
    assert_true(ibv->limits.grants + ibv->limits.credits.total <= ibv->limits.arrivals);
}

// Peers bank credits of a window as long as another of its requests can leave.
static void test_slack(void **state)
{
    (void)state;
    fake_fabric_start_windows(2, 1);
    aq_ibv_peers_t *peers = &fake_nodes[0].ibv->peers;
    const unsigned total = peers->limits->credits.total;
    unsigned slack = 0;
    for (unsigned i = 0; i < 2 * total; i++) {
        aq_ibv_peer_t *link = aq_ibv_peer_get(peers, 1, (uint16_t)(2 + i));
        assert_non_null(link);
        const aq_ibv_conn_private_data_t theirs = {.grant = 4, .number = (uint16_t)i};
        link->grant = 4;
        aq_ibv_peer_start(peers, link, &theirs);
        assert_int_equal(link->number_there, i);
        slack += link->credit.slack;
    }
    assert_between(slack, total / 2, total - 1);
}

// On a device with a short receive queue a window grants less, and still no message waits.
static void test_small_device(void **state)
{
    (void)state;
    fake_most_buffers = 40;
    fake_fabric_start_windows(2, 2);
    fake_most_buffers = 0;
    for (unsigned i = 0; i < 1000; i++) {
        const unsigned from = i % 4, to = 2 - from / 2 * 2 + i / 4 % 2;
        if (fake_fabric_request(from, to, i % 3 * 900, i % 2) == AQ_AGAIN)
            fake_fabric_settle();
    }
    fake_fabric_settle();
    for (unsigned node = 0; node < 4; node++) {
        assert_true(fake_nodes[node].ibv->limits.arrivals <= 40);
        assert_int_equal(counts_of(node)->waits, 0);
        assert_true(counts_of(node)->requests > 100);
    }
}

// A failed message of a window counts as the loss of its peer.
static void test_lost_peer(void **state)
{
    (void)state;
    fake_fabric_start_windows(2, 2);
    aq_ibv_losses_t *losses = &fake_nodes[1].ibv->shared->losses;
    losses->wake = eventfd(0, EFD_CLOEXEC);
    fake_fabric_round(1, 2, true);
    fake_nodes[1].cut_off = true;
    assert_int_equal(fake_fabric_request(1, 2, 1000, true), AQ_OK);
    for (unsigned i = 0; i < 64 && !atomic_load(&losses->at); i++)
        fake_fabric_poll(1);
    assert_true(losses->at);
    assert_non_null(strstr(losses->why, "the connection to rank 1 is lost"));
    assert_true(fake_fabric_link(1, 2)->entries->dead);
    close(losses->wake);
}

// A window without a link has neither buffers nor queues; its polls find nothing, and the memory
// that it needs does not depend on the job.
static void test_unused_window(void **state)
{
    (void)state;
    fake_fabric_start(2, false);
    aq_ibv_conduit_t *main = fake_nodes[0].ibv;
    pthread_mutex_init(&main->shared->connector.lock, NULL);
    const unsigned regions = main->shared->memory.regions;
    aq_ibv_conduit_t *window = aq_ibv_window_open(main, 1023);
    assert_non_null(window);
    assert_ptr_equal(main->shared->connector.ends[1023], &window->end);
    assert_int_equal(window->base.endpoint, 1023);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(aq_ibv_poll(&window->receiver, AQ_POLL_REPLIES | AQ_POLL_REQUESTS), 0);
    assert_int_equal(main->shared->memory.regions, regions);
    assert_int_equal(window->buffers.slab_bytes, 0);
    assert_null(window->peers.by_number);
    assert_true(sizeof *window < 16384);
    assert_true(window->base.max_medium >= main->base.max_medium);
    aq_ibv_arm(&window->sleeper);
    aq_ibv_sleep(&window->sleeper, 1000);
    aq_ibv_disarm(&window->sleeper);
    free(window);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_pairs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_credits_come_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rings_need_no_buffers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_rings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sleeper_has_no_rings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grants, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slack, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_small_device, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lost_peer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unused_window, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
