// SPDX-License-Identifier: BSD-3-Clause
// How often polls of udp receive from the socket: in each poll if the process has no neighbours or
// if polls are rare, and less often if there is shared memory to poll as well and nothing arrives.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../other/base/clock.h"
#include "udp_harness.h"
#include "../../../unit/assert_between.h"
#include "../../../../conduits/udp/link/udp_receive.h"
#include "../../../../conduits/udp/link/udp_buffer.h"

enum { POLLS = 20000, PAUSE_NS = 10000 }; // PAUSE_NS: the longest pause between two receives

static aq_conduit_env_t env = {.size = 2};
static udp_conduit_t *udp;

static int open_conduit(void **state)
{
    (void)state;
    udp = udp_open_harness(&env);
    return udp ? 0 : -1;
}

static uint64_t receive_calls(void)
{
    return udp->socket.counts.receive_calls;
}

static void poll_often(unsigned polls)
{
    while (polls--)
        assert_int_equal(udp_poll(&udp->base, AQ_POLL_REQUESTS | AQ_POLL_REPLIES), 0);
}

static void without_neighbours_each_poll_receives(void **state)
{
    (void)state;
    uint64_t before = receive_calls();
    env.nbrhd_size = 1;
    poll_often(POLLS);
    assert_int_equal(receive_calls() - before, POLLS);
}

// Reads the clock only to find the largest possible number of receives.
static void with_shared_memory_few_polls_receive(void **state)
{
    (void)state;
    uint64_t before = receive_calls(), began = aq_clock_ns();
    env.nbrhd_size = 2;
    poll_often(POLLS);
    assert_between(receive_calls() - before, 1, 1 + (aq_clock_ns() - began) / PAUSE_NS);
}

static void rare_polls_receive_each_time(void **state)
{
    (void)state;
    uint64_t before = receive_calls();
    env.nbrhd_size = 2;
    for (unsigned i = 0; i < 100; i++) {
        usleep(2 * PAUSE_NS / 1000);
        poll_often(1);
    }
    assert_int_equal(receive_calls() - before, 100);
}

static void poll_spinning(unsigned polls)
{
    while (polls--)
        assert_int_equal(udp_poll(&udp->base, AQ_POLL_REQUESTS | AQ_POLL_REPLIES | AQ_POLL_AGAIN),
                         0);
}

// The clock is read for timers, but a spinning process with neighbours does not read it in each
// poll.
static void a_spinning_process_reuses_the_last_time(void **state)
{
    (void)state;
    env.nbrhd_size = 2;
    udp_links_due(udp, UINT64_MAX - 1);
    poll_often(1);
    const uint64_t time = udp->receiving.polled_at;
    assert_true(time > 0);
    poll_spinning(POLLS);
    assert_int_equal(udp->receiving.polled_at, time);
    poll_often(1);
    assert_true(udp->receiving.polled_at > time);
}

// The clock is read after the receives, so that the time is known when a datagram arrives.
static void without_neighbours_a_spinning_poll_receives_several_times(void **state)
{
    (void)state;
    env.nbrhd_size = 1;
    udp_links_due(udp, UINT64_MAX - 1);
    for (unsigned i = 0; i < 100; i++) {
        const uint64_t before = receive_calls(), time = udp->receiving.polled_at;
        poll_spinning(1);
        assert_int_equal(receive_calls() - before, UDP_PEEKS);
        assert_true(udp->receiving.polled_at > time);
    }
}

static void send_junk(int fd, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const uint64_t before = udp->socket.counts.received;
        assert_int_equal(send(fd, "word", 4, 0), 4);
        while (udp->socket.counts.received == before)
            poll_often(1);
    }
}

// Datagrams of strangers do not make receives slower, except for a few when a warning is about to
// name one, and for none after it.
static void strangers_cost_little(void **state)
{
    (void)state;
    env.nbrhd_size = 1;
    int fd = udp_socket_connect(&udp->socket, &udp->socket.here);
    assert_true(fd >= 0);
    send_junk(fd, UDP_UNAUTHENTICATED_WARN - 2 -
                      (unsigned)udp->unauthenticated.drops[UDP_DROP_TRUNCATED]);
    assert_int_equal(udp->socket.names, 0);
    send_junk(fd, 1);
    const unsigned names = udp->socket.names;
    assert_between(names, 1, 64);
    assert_false(udp->unauthenticated.warned);
    send_junk(fd, 1);
    assert_true(udp->unauthenticated.warned);
    assert_int_equal(udp->socket.names, names - 1);
    send_junk(fd, 2 * names);
    assert_int_equal(udp->socket.names, 0);
    close(fd);
}

// Any arrival updates arrived_at, also bytes that fail authentication.
static void an_arrival_is_noticed(void **state)
{
    (void)state;
    env.nbrhd_size = 2;
    int fd = udp_socket_connect(&udp->socket, &udp->socket.here);
    assert_true(fd >= 0);
    assert_int_equal(send(fd, "word", 4, 0), 4);
    close(fd);
    uint64_t began = aq_clock_ns();
    while (!udp->socket.counts.received)
        poll_often(1);
    assert_true(udp->receiving.arrived_at >= began);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_neighbours_each_poll_receives),
        cmocka_unit_test(with_shared_memory_few_polls_receive),
        cmocka_unit_test(rare_polls_receive_each_time),
        cmocka_unit_test(a_spinning_process_reuses_the_last_time),
        cmocka_unit_test(without_neighbours_a_spinning_poll_receives_several_times),
        cmocka_unit_test(an_arrival_is_noticed),
        cmocka_unit_test(strangers_cost_little),
    };
    return cmocka_run_group_tests(tests, open_conduit, NULL);
}
