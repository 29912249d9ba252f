// SPDX-License-Identifier: BSD-3-Clause
// The send thread of conduit ibv over fake devices: what was sent completes, what waits goes on,
// and sleepers wake, although nobody polls.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../unit/default_settings.h"
#include "../fake_fabric.h"
#include "../../../unit/assert_between.h"

enum { LONG_BYTES = 1000 }; // of a message that takes a buffer

static struct ibv_comp_channel sends, completions;
static atomic_uint acknowledged;
static aq_ibv_conduit_t *ibv; // node 0
static const aq_conduit_env_t threads = {.threads = true};

// ---- the channel ----

static void complete(struct ibv_cq *cq)
{
    if (cq == ibv->queues.send_cq)
        eventfd_write(sends.fd, 1);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
    eventfd_t count;
    *cq = ibv->queues.send_cq;
    *context = NULL;
    return eventfd_read(channel->fd, &count);
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count)
{
    (void)cq;
    atomic_fetch_add(&acknowledged, count);
}

// ---- the nodes ----

static int set_up(void **state)
{
    char err[512];
    (void)state;
    if (default_settings() != 0)
        return -1;
    setenv("GASNET_SND_THREAD", "1", 1);
    setenv("GASNET_AMRDMA_MAX_PEERS", "0", 1);
    if (aq_settings_load(err, sizeof err) != AQ_OK)
        return -1;
    fake_fabric_start(2, true);
    ibv = fake_nodes[0].ibv;
    sends.fd = eventfd(0, EFD_NONBLOCK);
    completions.fd = eventfd(0, EFD_NONBLOCK);
    ibv->queues.sends = &sends;
    ibv->queues.completions = &completions;
    fake_fabric_round(0, 1, true);
    fake_fabric_event = complete;
    aq_ibv_sleeper_choose_threads(&ibv->sleeper, &threads);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    aq_ibv_sleeper_close(&ibv->sleeper);
    fake_fabric_event = NULL;
    fake_fabric_end();
    close(sends.fd);
    close(completions.fd);
    return 0;
}

static void send_some(unsigned count)
{
    while (count--)
        assert_int_equal(fake_fabric_request(0, 1, LONG_BYTES, false), AQ_OK);
}

static unsigned outstanding(void)
{
    return atomic_load(&ibv->send_queue.ops_used);
}

// Takes all operations, in `taken`; returns how many.
static unsigned take_all(aq_ibv_op_t **taken)
{
    unsigned count = 0;
    while ((taken[count] = aq_ibv_op_take(&ibv->send_queue, fake_fabric_link(0, 1))) != NULL)
        count++;
    return count;
}

static bool rings(int bell)
{
    eventfd_t count;
    return eventfd_read(bell, &count) == 0;
}

// ---- tests ----

// Rounds of messages that nobody polls for: each completes, and its buffer comes back.
static void test_completes(void **state)
{
    enum { ROUNDS = 50 };
    (void)state;
    assert_int_equal(aq_ibv_sleeper_open(&ibv->sleeper), AQ_OK);
    assert_non_null(ibv->sleeper.send.thread);
    assert_null(ibv->sleeper.receive.thread);
    for (unsigned round = 0; round < ROUNDS; round++) {
        send_some(1 + round % 2);
        while (outstanding()) // a failure ends at the time limit of the test
            usleep(100);
        fake_fabric_poll(1); // returns credits
        if (round % 8 == 7)
            fake_fabric_poll(0);
    }
    aq_ibv_sleeper_stop_threads(&ibv->sleeper);
    ibv->sleeper.send.thread = NULL;
    aq_ibv_source_close(&ibv->sleeper.send.source);
    assert_between(atomic_load(&acknowledged), 1, 2 * ROUNDS);
}

// The thread exists in programs whose mode allows it, unless the client runs it, and only there.
static void test_modes(void **state)
{
    (void)state;
    assert_true(ibv->sleeper.send.wanted);
    assert_false(ibv->sleeper.receive.wanted);
    assert_true(ibv->rails.send_thread);
    static const aq_conduit_env_t without[] = {{.threads = false},
                                               {.threads = true, .deferred = true}};
    for (unsigned i = 0; i < 2; i++) {
        aq_ibv_sleeper_choose_threads(&ibv->sleeper, &threads);
        aq_ibv_sleeper_choose_threads(&ibv->sleeper, &without[i]);
        assert_false(ibv->sleeper.send.wanted);
        assert_false(ibv->rails.send_thread);
    }
}

// A reap posts the puts that wait in the list, and the next one finds them complete.
static void test_list_is_posted(void **state)
{
    static uint64_t from = 7, to;
    atomic_uint pending = 0;
    unsigned puts = 0;
    (void)state;
    ibv->limits.apart_ns = UINT64_MAX;
    while (!ibv->send_queue.list.count) {
        aq_ibv_op_t *op = aq_ibv_op_take(&ibv->send_queue, fake_fabric_link(0, 1));
        aq_ibv_work_local(&op->work, &from, sizeof from, 0);
        aq_ibv_work_rdma(&op->work, IBV_WR_RDMA_WRITE, (uintptr_t)&to, 0);
        aq_ibv_work_in_line(&op->work);
        op->pending = &pending;
        pending = ++puts;
        aq_ibv_post_later(&ibv->send_queue, op);
    }
    while (aq_ibv_reap_by_thread(&ibv->sleeper))
        ;
    assert_int_equal(outstanding(), 0);
    assert_int_equal(pending, 0);
}

// The thread has reaped everything while a put was on its way to the list: the put does not wait
// there for a completion that does not come.
static void test_list_does_not_wait(void **state)
{
    static uint64_t from = 7, to;
    enum { BUSY = 20 };
    (void)state;
    aq_ibv_peer_t *link = fake_fabric_link(0, 1);
    aq_ibv_op_t *op = aq_ibv_op_take(&ibv->send_queue, link);
    aq_ibv_work_local(&op->work, &from, sizeof from, 0);
    aq_ibv_work_rdma(&op->work, IBV_WR_RDMA_WRITE, (uintptr_t)&to, 0);
    aq_ibv_work_in_line(&op->work);
    ibv->limits.apart_ns = UINT64_MAX;
    assert_int_equal(outstanding(), 1);
    atomic_fetch_sub(&link->entries->slots, BUSY);
    aq_ibv_post_later(&ibv->send_queue, op);
    assert_int_equal(to, 7);
    atomic_fetch_add(&link->entries->slots, BUSY);
}

// A sleeper leaves the completions of sends to the thread, whose reap wakes it.
static void test_sleeper_is_woken(void **state)
{
    aq_ibv_sleeper_t *sleeper = &ibv->sleeper;
    (void)state;
    sleeper->bell = eventfd(0, EFD_NONBLOCK);
    atomic_store(&sleeper->open, true);
    fake_fabric_clear_counts();
    aq_ibv_arm(sleeper);
    assert_int_equal(fake_nodes[0].counts.notifies, 1); // of arrivals
    assert_int_equal(aq_ibv_reap_by_thread(sleeper), 0);
    assert_false(rings(sleeper->bell));
    send_some(3);
    assert_int_equal(aq_ibv_reap_by_thread(sleeper), 3);
    assert_true(rings(sleeper->bell));
    aq_ibv_disarm(sleeper);
    sleeper->send.wanted = false;
    fake_fabric_clear_counts();
    aq_ibv_arm(sleeper);
    assert_int_equal(fake_nodes[0].counts.notifies, 2);
    aq_ibv_disarm(sleeper);
}

static void *reap_in_thread(void *reaped)
{
    *(int *)reaped = aq_ibv_reap_by_thread(&ibv->sleeper);
    return NULL;
}

// Another thread that reaps may have looked before the last completion, for which no event comes:
// the send thread does not sleep before it has looked itself.
static void test_waits_for_others(void **state)
{
    pthread_t thread;
    int reaped = -1;
    (void)state;
    send_some(2);
    assert_true(aq_lock_try(&ibv->send_queue.reaping));
    assert_int_equal(pthread_create(&thread, NULL, reap_in_thread, &reaped), 0);
    usleep(20000);
    aq_lock_drop(&ibv->send_queue.reaping);
    pthread_join(thread, NULL);
    assert_int_equal(reaped, 2);
    assert_int_equal(outstanding(), 0);
}

static void say(void)
{
    static const uint8_t message[8];
    aq_ibv_ondemand_say(&ibv->ondemand, fake_fabric_link(0, 1), message, sizeof message);
}

// What has found no room goes on when completions make some. While operations are outstanding, no
// nudge is needed for that.
static void test_kept_goes_on(void **state)
{
    enum { MOST = 4096 };
    static aq_ibv_op_t *taken[MOST];
    (void)state;
    ibv->sleeper.send.nudge = eventfd(0, EFD_NONBLOCK);
    const unsigned count = take_all(taken);
    say();
    assert_true(atomic_load(&ibv->ondemand.any));
    assert_false(rings(ibv->sleeper.send.nudge));
    assert_int_equal(aq_ibv_reap_by_thread(&ibv->sleeper), 0);
    assert_true(atomic_load(&ibv->ondemand.any));
    for (unsigned i = 0; i < count; i++)
        aq_ibv_op_put(&ibv->send_queue, taken[i]);
    assert_int_equal(aq_ibv_reap_by_thread(&ibv->sleeper), 0);
    assert_false(atomic_load(&ibv->ondemand.any));
    assert_int_equal(fake_nodes[1].counts.waits, 0);
}

// What is kept when nothing is outstanding nudges the thread, but the thread does not nudge itself.
static void test_kept_nudges(void **state)
{
    (void)state;
    aq_ibv_peer_t *link = fake_fabric_link(0, 1);
    unsigned credits = 0;
    int reaped;
    ibv->sleeper.send.nudge = eventfd(0, EFD_NONBLOCK);
    while (aq_ibv_reap(&ibv->send_queue))
        ;
    while (aq_credit_take(&link->credit))
        credits++;
    say();
    assert_int_equal(outstanding(), 0);
    assert_true(atomic_load(&ibv->ondemand.any));
    assert_true(rings(ibv->sleeper.send.nudge));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, reap_in_thread, &reaped), 0);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&ibv->ondemand.any));
    assert_false(rings(ibv->sleeper.send.nudge));
    assert_true(aq_credit_give(&link->credit, credits));
    assert_int_equal(aq_ibv_reap_by_thread(&ibv->sleeper), 0);
    assert_false(atomic_load(&ibv->ondemand.any)); // the message is gone
}

#define SEND_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SEND_TEST(test_completes),        SEND_TEST(test_modes),
        SEND_TEST(test_list_is_posted),   SEND_TEST(test_list_does_not_wait),
        SEND_TEST(test_sleeper_is_woken), SEND_TEST(test_waits_for_others),
        SEND_TEST(test_kept_nudges),      SEND_TEST(test_kept_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
