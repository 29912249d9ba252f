// SPDX-License-Identifier: BSD-3-Clause
// The connector of conduit ibv, over a way of making connections that connects at once: which ranks
// it calls, and its thread, which makes progress after each wake-up and each event.
#include "../../../unit/unit_test.h"

#include <semaphore.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../../conduits/ibv/connect/ibv_connect.h"
#include "../../../unit/default_settings.h"

enum { TIMES = 10, RANKS = 6 };

static sem_t progressed;
static unsigned events, progress;

static aq_status_t stub_open(aq_ibv_connector_t *connector)
{
    connector->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return connector->fd < 0 ? AQ_ERR_RESOURCE : AQ_OK;
}

static void stub_progress(aq_ibv_connector_t *connector)
{
    uint64_t count;
    progress++;
    events += read(connector->fd, &count, sizeof count) == sizeof count;
    sem_post(&progressed);
}

static int stub_timeout(aq_ibv_connector_t *connector)
{
    (void)connector;
    return -1;
}

static uint32_t called[RANKS], calls;

static aq_status_t stub_call(aq_ibv_connector_t *connector, aq_ibv_peer_t *link)
{
    assert_true(calls < RANKS);
    called[calls++] = link->rank;
    link->conn.state = AQ_IBV_READY;
    atomic_fetch_add(&connector->ends[0]->queue_pairs, 1);
    return AQ_OK;
}

static const aq_ibv_connect_ops_t ops = {.name = "stub",
                                         .open = stub_open,
                                         .call = stub_call,
                                         .progress = stub_progress,
                                         .timeout = stub_timeout};

// Connects rank 2, whose neighbour is rank 4, to the others, or to some.
static void connect_ranks(const bool *peers)
{
    static const uint32_t nbrhd[] = {2, 4};
    const aq_conduit_env_t env = {.rank = 2, .size = RANKS, .nbrhd = nbrhd, .nbrhd_size = 2};
    const aq_ibv_limits_t limits = {.peers = RANKS, .credits = {8, 8, 1}, .grants = 8};
    aq_ibv_peers_t table = {.limits = &limits, .rank = env.rank};
    aq_ibv_end_t end = {.peers = &table};
    aq_ibv_connector_t connector = {.ops = &ops, .env = &env, .ends = {&end}};
    assert_true(aq_ibv_peers_open(&table, RANKS));
    pthread_mutex_init(&connector.lock, NULL);
    calls = 0;
    assert_int_equal(aq_ibv_connect_all(&connector, peers), AQ_OK);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        free(table.by_number[rank]);
    free(table.by_number);
}

static void test_called_ranks(void **state)
{
    static const bool some[RANKS] = {[0] = true, [2] = true, [4] = true, [5] = true};
    (void)state;
    assert_int_equal(default_settings(), 0);
    connect_ranks(NULL);
    assert_int_equal(calls, 4);
    assert_memory_equal(called, ((uint32_t[]){3, 5, 0, 1}), calls * sizeof *called);
    connect_ranks(some);
    assert_int_equal(calls, 2);
    assert_memory_equal(called, ((uint32_t[]){5, 0}), calls * sizeof *called);
}

static void test_thread(void **state)
{
    static aq_ibv_losses_t losses;
    static aq_ibv_connector_t connector = {.ops = &ops, .losses = &losses};
    const uint64_t one = 1;
    (void)state;
    sem_init(&progressed, 0, 0);
    assert_int_equal(aq_ibv_connector_start(&connector), AQ_OK);
    for (unsigned i = 0; i < TIMES; i++) {
        aq_ibv_connector_wake(&connector);
        sem_wait(&progressed);
        assert_int_equal(write(connector.fd, &one, sizeof one), sizeof one);
        sem_wait(&progressed);
    }
    assert_int_equal(progress, 2 * TIMES);
    assert_int_equal(events, TIMES);
    aq_ibv_connector_stop(&connector);
    close(connector.fd);
    close(losses.wake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_called_ranks),
        cmocka_unit_test(test_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
