// SPDX-License-Identifier: BSD-3-Clause
// Silent peers over udp: which time counts as silence, what is reported about a silent peer, and
// that the kernel of a host answers a probe. tests/beds/veth/silence tests hosts that are gone.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../unit/child_errors.h"
#include "udp_harness.h"
#include "../../../../conduits/udp/link/udp_watch.h"
#include "../../../../conduits/udp/link/udp_link.h"

#define SECOND ((uint64_t)1000000000)

static aq_conduit_env_t env = {.size = 2, .nbrhd_size = 1};
static udp_conduit_t *udp;

static int open_conduit(void **state)
{
    (void)state;
    setenv("GASNET_UDP_SILENCE_WARN", "16", 1);
    setenv("GASNET_UDP_HOST_TIMEOUT", "80", 1);
    udp = udp_open_harness(&env);
    return udp ? 0 : -1;
}

static void exit_unless(bool so)
{
    if (!so)
        _exit(1);
}

// Checks the time. `empty`: since the last check a receive has found the socket empty.
static void check_time(uint64_t now, bool empty)
{
    if (empty)
        udp_watch_drained(&udp->watch);
    udp_watch_listen(&udp->watch, now);
}

static void time_counts_while_the_process_listens(void **state)
{
    (void)state;
    const udp_watch_t *watch = &udp->watch;
    assert_int_equal(watch->step, 2 * SECOND); // an eighth of the shortest limit, 16 s
    check_time(1000 * SECOND, true);
    const uint64_t before = watch->listened;
    check_time(1001 * SECOND, true);
    assert_int_equal(watch->listened - before, SECOND);
    check_time(1002 * SECOND, false); // the socket may hold more datagrams
    assert_int_equal(watch->listened - before, SECOND);
    check_time(1003 * SECOND, true);
    assert_int_equal(watch->listened - before, 3 * SECOND);
    check_time(9000 * SECOND, true); // a long pause of this process counts as one step
    assert_int_equal(watch->listened - before, 5 * SECOND);
}

// Returns a link that waits for an answer from now on.
static udp_link_t *owing_link(bool seen)
{
    udp_link_t *link = udp_link_get(udp, 1);
    exit_unless(link != NULL);
    link->sender[UDP_REQUESTS].timer = 1;
    link->watch.seen = seen;
    link->watch.due_since = 0;
    exit_unless(udp_watch_link(udp, link, SECOND) == SECOND + udp->watch.step);
    return link;
}

static void wait_until_reported(bool seen)
{
    udp_link_t *link = owing_link(seen);
    udp->watch.listened += 16 * SECOND;
    (void)udp_watch_link(udp, link, SECOND);
    exit_unless(!udp->watch.warned);
    udp->watch.listened += 1;
    (void)udp_watch_link(udp, link, SECOND);
    exit_unless(udp->watch.warned);
    udp->watch.listened += 100 * SECOND;
    exit_unless(udp_watch_link(udp, link, SECOND) == UDP_NEVER);
}

static void wait_for_unknown(void)
{
    wait_until_reported(false);
}

static void wait_for_known(void)
{
    wait_until_reported(true);
}

static void wait_with_an_answer(void)
{
    udp_link_t *link = owing_link(true);
    udp->watch.listened += 15 * SECOND;
    udp_link_received(udp, link);
    udp->watch.listened += 15 * SECOND;
    (void)udp_watch_link(udp, link, SECOND);
    exit_unless(!udp->watch.warned);
}

static void silence_is_reported_once(void **state)
{
    static const struct {
        void (*speak)(void);
        const char *said[3];
    } cases[] = {
        {wait_for_unknown,
         {"nothing was heard of rank 1 at 127.0.0.1:", "GASNET_UDP_PORTS", "GASNET_WORKERIP"}},
        {wait_for_known,
         {"rank 1 at 127.0.0.1:", "has not answered for 16 s", "computes without polling"}},
    };
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        char *said = child_errors(cases[i].speak);
        for (unsigned part = 0; part < 3; part++)
            assert_non_null(strstr(said, cases[i].said[part]));
        assert_null(strchr(strchr(said, '\n') + 1, '\n'));
        free(said);
    }
    char *said = child_errors(wait_with_an_answer);
    assert_string_equal(said, "");
    free(said);
}

// Checks the hosts again; an eighth of the host time-out counts as listened.
static void check_hosts_later(uint64_t *now)
{
    *now += udp->watch.host_timeout;
    udp->watch.listened += udp->watch.host_timeout / 8;
    assert_int_equal(udp_watch_hosts(udp, *now), *now + udp->watch.step);
}

// This host plays another host: no process listens at that TCP port, and the kernel refuses the
// connection. A host is probed at the start, and after a silence of a quarter of the time-out.
static void a_kernel_answers(void **state)
{
    (void)state;
    udp_host_t host = {.address = udp->socket.here, .probe = -1, .last_rx = udp->watch.listened};
    uint64_t now = SECOND;
    assert_null(atomic_load(&udp->watch.hosts)); // loopback has no other hosts
    assert_int_equal(udp_watch_hosts(udp, now), UDP_NEVER);
    atomic_store(&udp->watch.hosts, &host);
    for (unsigned checks = 0; checks < 4 && !host.answers; checks++)
        check_hosts_later(&now);
    assert_true(host.answers);
    assert_int_equal(host.probes, 0);
    for (unsigned checks = 0; checks < 40; checks++) { // five times the limit
        check_hosts_later(&now);
        assert_true(udp->watch.listened - host.last_rx <= udp->watch.host_timeout / 2);
    }
    atomic_store(&udp->watch.hosts, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_counts_while_the_process_listens),
        cmocka_unit_test(silence_is_reported_once),
        cmocka_unit_test(a_kernel_answers),
    };
    return cmocka_run_group_tests(tests, open_conduit, NULL);
}
