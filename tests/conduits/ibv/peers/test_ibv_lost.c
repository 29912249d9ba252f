// SPDX-License-Identifier: BSD-3-Clause
// Conduit ibv ends a job when the connection to a peer is lost, but only after the launcher had
// time to report the end of the job and the reason for that end.
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../../other/base/clock.h"
#include "../../../unit/child_errors.h"
#include "../../../unit/default_settings.h"
#include "../fake_fabric.h"

#define SECOND UINT64_C(1000000000)

static aq_ibv_conduit_t *ibv;
static aq_conduit_env_t env;
static aq_boot_t boot;
static aq_boot_ops_t ops;
static _Atomic int32_t exit_word;

__attribute__((noreturn)) static void end_job(aq_boot_t *unused, int code)
{
    (void)unused;
    _exit(code == 1 ? 0 : 1);
}

// Starts two connected processes, in a job with this exit timeout, in nanoseconds.
static void start_fabric(uint64_t timeout)
{
    assert_int_equal(default_settings(), 0);
    fake_fabric_start(2, false);
    fake_fabric_link(0, 1);
    ibv = fake_nodes[0].ibv;
    env = *ibv->base.env;
    boot = *env.boot;
    ops = (aq_boot_ops_t){.abort = end_job};
    exit_word = AQ_BOOT_RUNNING;
    boot.ops = &ops;
    boot.exit_word = &exit_word;
    env.boot = &boot;
    env.exit_timeout_ns = timeout;
    ibv->base.env = &env;
    ibv->shared->losses.env = &env;
    ibv->shared->losses.wake = eventfd(0, EFD_CLOEXEC);
}

static void end_fabric(void)
{
    close(ibv->shared->losses.wake);
    fake_fabric_end();
}

static void lose_connection(uint64_t ago)
{
    aq_ibv_peer_lost(&ibv->shared->losses, fake_fabric_link(0, 1), "it was closed");
    ibv->shared->losses.at = aq_clock_ns() - ago;
}

static void watch_losses(void)
{
    (void)aq_ibv_losses_watch(&ibv->shared->losses);
}

// Returns whether the watch ends the job; if so, it must print this message.
static bool loss_ends_job_with(const char *message)
{
    char *text = child_errors(watch_losses);
    const bool found = strstr(text, message);
    assert_true(found || !*text);
    free(text);
    return found;
}

static bool loss_ends_job(void)
{
    return loss_ends_job_with("the connection to rank 1 is lost (it was closed)");
}

static void test_waits_for_half_of_the_timeout(void **state)
{
    (void)state;
    start_fabric(2000 * SECOND);
    assert_int_equal(aq_ibv_losses_watch(&ibv->shared->losses), -1);
    lose_connection(500 * SECOND);
    assert_true(aq_ibv_losses_watch(&ibv->shared->losses) > 0);
    assert_false(loss_ends_job());
    lose_connection(1000 * SECOND);
    assert_true(loss_ends_job());
    end_fabric();
}

static void test_short_timeout(void **state)
{
    (void)state;
    start_fabric(SECOND / 10);
    lose_connection(SECOND);
    assert_true(loss_ends_job());
    end_fabric();
}

static void test_end_of_job_is_no_loss(void **state)
{
    (void)state;
    start_fabric(SECOND);
    lose_connection(1000 * SECOND);
    exit_word = 1;
    assert_int_equal(aq_ibv_losses_watch(&ibv->shared->losses), -1);
    assert_false(loss_ends_job());
    end_fabric();
}

static void *end_later(void *unused)
{
    (void)unused;
    aq_clock_sleep_ns(SECOND / 20);
    exit_word = 1;
    return NULL;
}

// A peer that rejects a connection may have ended the job, or died: the report of that arrives a
// little later.
static void test_unreached(void **state)
{
    pthread_t thread;
    (void)state;
    start_fabric(2000 * SECOND);
    aq_ibv_losses_await_end(&ibv->shared->losses); // returns at once: no peer was lost
    aq_ibv_peer_unreached(&ibv->shared->losses, fake_fabric_link(0, 1), "10.0.0.1", "10.0.0.2",
                          "port 1 of rxe1", "a test");
    aq_ibv_peer_lost(&ibv->shared->losses, fake_fabric_link(0, 1), "a second loss is not logged");
    assert_true(aq_ibv_losses_watch(&ibv->shared->losses) > 0);
    ibv->shared->losses.at -= 1000 * SECOND;
    assert_true(loss_ends_job_with(
        "rank 1 cannot be reached at 10.0.0.2 from 10.0.0.1, port 1 of rxe1 (a test)"));
    assert_int_equal(pthread_create(&thread, NULL, end_later, NULL), 0);
    aq_ibv_losses_await_end(&ibv->shared->losses);
    assert_int_equal(exit_word, 1);
    assert_int_equal(aq_ibv_losses_watch(&ibv->shared->losses), -1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end_fabric();
}

// If the device gives up because the peer has no buffers, the message names that as the cause, not
// the network.
static void test_starved(void **state)
{
    (void)state;
    start_fabric(2 * SECOND);
    fake_nodes[0].cut_off = fake_nodes[0].starved = true;
    assert_int_equal(fake_fabric_request(0, 1, 512, false), AQ_OK);
    (void)fake_fabric_poll(0);
    assert_true(ibv->shared->losses.at != 0 && fake_fabric_link(0, 1)->entries->dead);
    ibv->shared->losses.at -= SECOND;
    assert_true(loss_ends_job_with("rank 1 has no buffer for a message of this rank"));
    fake_nodes[0].cut_off = fake_nodes[0].starved = false;
    end_fabric();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_for_half_of_the_timeout),
        cmocka_unit_test(test_short_timeout),
        cmocka_unit_test(test_end_of_job_is_no_loss),
        cmocka_unit_test(test_unreached),
        cmocka_unit_test(test_starved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
