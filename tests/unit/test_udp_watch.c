// Silent peers over udp: when time counts, what is reported of a silent peer, and that a host
// answers by its kernel. tests/beds/veth/silence tests hosts that are gone.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child_errors.h"
#include "udp_alone.h"
#include "../../conduits/udp/udp_watch.h"

#define SECOND ((uint64_t)1000000000)

static aq_conduit_env_t env = {.size = 2, .nbrhd_size = 1};
static udp_conduit_t *udp;

static int start(void **state)
{
    (void)state;
    setenv("GASNET_UDP_SILENCE_WARN", "16", 1);
    setenv("GASNET_UDP_HOST_TIMEOUT", "80", 1);
    udp = udp_open_alone(&env);
    return udp ? 0 : -1;
}

static void must(bool so)
{
    if (!so)
        _exit(1);
}

// A check, with or without a receive that found the socket empty since the last check.
static void look(uint64_t now, bool empty)
{
    if (empty)
        udp_watch_heard_all(&udp->watch);
    udp_watch_listen(&udp->watch, now);
}

static void time_counts_while_somebody_listens(void **state)
{
    (void)state;
    const udp_watch_t *watch = &udp->watch;
    assert_int_equal(watch->step, 2 * SECOND); // an eighth of the shortest
    look(1000 * SECOND, true);
    const uint64_t before = watch->listened;
    look(1001 * SECOND, true);
    assert_int_equal(watch->listened - before, SECOND);
    look(1002 * SECOND, false); // the socket may hold more datagrams
    assert_int_equal(watch->listened - before, SECOND);
    look(1003 * SECOND, true);
    assert_int_equal(watch->listened - before, 3 * SECOND);
    look(9000 * SECOND, true); // this process was away
    assert_int_equal(watch->listened - before, 5 * SECOND);
}

// A link that waits for an answer from now on.
static udp_link_t *owing_link(bool met)
{
    udp_link_t *link = udp_link_get(udp, 1);
    must(link != NULL);
    link->sender[UDP_REQUESTS].timer = 1;
    link->met = met;
    link->asked = 0;
    must(udp_watch_link(udp, link, SECOND) == SECOND + udp->watch.step);
    return link;
}

static void wait_and_tell(bool met)
{
    udp_link_t *link = owing_link(met);
    udp->watch.listened += 16 * SECOND;
    (void)udp_watch_link(udp, link, SECOND);
    must(!udp->watch.told);
    udp->watch.listened += 1;
    (void)udp_watch_link(udp, link, SECOND);
    must(udp->watch.told);
    udp->watch.listened += 100 * SECOND;
    must(udp_watch_link(udp, link, SECOND) == UDP_NEVER);
}

static void wait_for_unknown(void)
{
    wait_and_tell(false);
}

static void wait_for_known(void)
{
    wait_and_tell(true);
}

static void wait_in_vain_for_silence(void)
{
    udp_link_t *link = owing_link(true);
    udp->watch.listened += 15 * SECOND;
    udp_link_heard(udp, link);
    udp->watch.listened += 15 * SECOND;
    (void)udp_watch_link(udp, link, SECOND);
    must(!udp->watch.told);
}

static void silence_is_told_once(void **state)
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
    char *said = child_errors(wait_in_vain_for_silence);
    assert_string_equal(said, "");
    free(said);
}

// Checks again, one step later.
static void next_look(uint64_t *now)
{
    *now += udp->watch.host_timeout;
    udp->watch.listened += udp->watch.host_timeout / 8;
    assert_int_equal(udp_watch_hosts(udp, *now), *now + udp->watch.step);
}

// This host plays another one: no process listens at that TCP port, and the kernel refuses the
// connection. It is probed at the start, and after it was silent for a quarter of the time-out.
static void a_kernel_answers(void **state)
{
    (void)state;
    udp_host_t host = {.address = udp->socket.here, .probe = -1, .heard = udp->watch.listened};
    uint64_t now = SECOND;
    assert_null(atomic_load(&udp->watch.hosts)); // as all is on loopback
    assert_int_equal(udp_watch_hosts(udp, now), UDP_NEVER);
    atomic_store(&udp->watch.hosts, &host);
    for (unsigned looks = 0; looks < 4 && !host.answers; looks++)
        next_look(&now);
    assert_true(host.answers);
    assert_int_equal(host.probes, 0);
    for (unsigned looks = 0; looks < 40; looks++) { // five times the limit
        next_look(&now);
        assert_true(udp->watch.listened - host.heard <= udp->watch.host_timeout / 2);
    }
    atomic_store(&udp->watch.hosts, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_counts_while_somebody_listens),
        cmocka_unit_test(silence_is_told_once),
        cmocka_unit_test(a_kernel_answers),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
