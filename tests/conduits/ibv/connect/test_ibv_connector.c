// SPDX-License-Identifier: BSD-3-Clause
// The thread that makes connections of conduit ibv: it makes progress after each wake-up and each
// event, and ends when it is stopped.
#include "../../../unit/unit_test.h"

#include <semaphore.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../../conduits/ibv/connect/ibv_connect.h"

enum { TIMES = 10 };

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

static void test_thread(void **state)
{
    static const aq_ibv_connect_ops_t ops = {
        .name = "stub", .open = stub_open, .progress = stub_progress, .timeout = stub_timeout};
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
        cmocka_unit_test(test_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
