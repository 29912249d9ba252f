// SPDX-License-Identifier: BSD-3-Clause
// Path MTU of udp, in a separate network namespace: datagrams are as long as the route to the peer
// and its interface carry without fragmentation, and follow changes of the route, and what losses
// show.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <arpa/inet.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../conduits/udp/link/udp_send.h"
#include "../../../../conduits/udp/link/udp_receive.h"
#include "../../../../conduits/udp/socket/udp_interface.h"
#include "../../../../other/base/clock.h"
#include "../../../../other/base/settings/settings.h"

enum {
    HEADERS = 28,      // of IPv4 and UDP
    OUR_MTU = 1500,    // of our interface
    PEER_BYTES = 1200, // the longest datagram of the peer
    SECONDS_MAX = 20,  // to wait for a time-out
};

static const uint32_t hosts[] = {0, 1};
static aq_conduit_t *conduit;
static udp_conduit_t *udp;

static int run_command(const char *command)
{
    char line[512];
    snprintf(line, sizeof line, "PATH=$PATH:/usr/sbin:/sbin; %s", command);
    return system(line); // NOLINT: all commands are constants of this file
}

// Adds a peer behind our interface. The peer does not answer.
static aq_status_t exchange_peer_info(aq_boot_t *boot, const void *mine, size_t length, void *all)
{
    udp_peer_info_t *peer_info = all;
    udp_sockaddr_t peer = {.v4 = {.sin_family = AF_INET, .sin_port = htons(4711)},
                           .length = sizeof peer.v4};
    assert_int_equal(length, sizeof *peer_info);
    assert_int_equal(boot->size, 2);
    memcpy(&peer_info[0], mine, length);
    assert_int_equal(peer_info[0].datagram_bytes, (OUR_MTU - HEADERS) / 8 * 8);
    inet_pton(AF_INET, "10.9.0.2", &peer.v4.sin_addr);
    udp_address_write(&peer, &peer_info[1].address);
    peer_info[1].datagram_bytes = PEER_BYTES;
    return AQ_OK;
}

static int start_network(void **state)
{
    static const aq_boot_ops_t ops = {.exchange = exchange_peer_info};
    static aq_boot_t boot = {.ops = &ops, .size = 2, .host_of_rank = hosts};
    static const uintptr_t nowhere[2]; // no rank has a segment
    static const aq_conduit_env_t env = {
        .boot = &boot, .size = 2, .segment_addr = nowhere, .segment_size = nowhere};
    char err[512];
    (void)state;
    if (run_command("command -v ip >/dev/null") ||
        (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET)))
        return 0;
    if (run_command("ip link add v0 type veth peer name v1 && ip address add 10.9.0.1/24 dev v0 && "
                    "ip link set v0 up && ip link set v1 up && ip link set lo up && "
                    "ip route add 10.9.0.2/32 dev v0 mtu 1400"))
        return -1;
    setenv("GASNET_WORKERIP", "10.9.0.1", 1);
    setenv("GASNET_CONNECT_TIMEOUT", "0", 1); // no peer answers
    if (aq_settings_load(err, sizeof err) != AQ_OK || aq_udp_conduit.open(&env, &conduit) != AQ_OK)
        return -1;
    udp = udp_of(conduit);
    return 0;
}

static udp_link_t *link_or_skip(void)
{
    void *link;
    if (!conduit) {
        print_message(
            "no network namespace can be made here, or ip is missing (package iproute2)\n");
        skip();
    }
    assert_int_equal(aq_udp_conduit.connect(conduit, &(aq_peer_t){.rank = 1}, &link), AQ_OK);
    return link;
}

static void send_message(udp_link_t *link, size_t nbytes)
{
    static uint8_t bytes[2048];
    const aq_am_t am = {.payload = bytes, .nbytes = nbytes, .category = AQ_AM_MEDIUM};
    assert_int_equal(aq_udp_conduit.am.send(conduit, link, &am), AQ_OK);
}

// Sends the messages that fill four datagrams, and checks that exactly four full datagrams leave.
static void expect_full_datagrams(udp_link_t *link, size_t mtu)
{
    const udp_stats_t before = link->stats;
    const size_t frame = udp_frame_bytes(AQ_AM_MEDIUM, 0, 96);
    const size_t frames = ((mtu - HEADERS) / 8 * 8 - UDP_HEADER_MAX) / frame;
    assert_int_equal(link->datagram_bytes, (mtu - HEADERS) / 8 * 8);
    for (size_t i = 0; i < 4 * frames; i++)
        send_message(link, 96);
    udp_flush(udp, &(uint64_t){0});
    assert_int_equal(link->stats.datagrams_out - before.datagrams_out, 4);
    assert_int_equal(link->stats.bytes_out - before.bytes_out,
                     4 * (UDP_HEADER_MIN + frames * frame));
}

static void max_medium_fits_the_shortest_datagram(void **state)
{
    (void)state;
    (void)link_or_skip();
    assert_int_equal(conduit->max_medium + udp_frame_payload_at(AQ_AM_MEDIUM, AQ_AM_MAX_ARGS) +
                         UDP_HEADER_MAX,
                     PEER_BYTES);
}

static void datagrams_follow_the_path(void **state)
{
    (void)state;
    udp_link_t *link = link_or_skip();
    expect_full_datagrams(link, PEER_BYTES + HEADERS); // the route carries more
    // The MTU of the path shrinks, and the peer does not answer: the next time-out reads the MTU
    // again.
    assert_int_equal(run_command("ip route change 10.9.0.2/32 dev v0 mtu 1000"), 0);
    const uint64_t end = aq_clock_ns() + (uint64_t)SECONDS_MAX * 1000000000;
    while (!link->sender[UDP_REQUESTS].counts.epochs && aq_clock_ns() < end)
        udp_poll(conduit, AQ_POLL_REQUESTS | AQ_POLL_REPLIES);
    assert_int_equal(link->datagram_bytes, (1000 - HEADERS) / 8 * 8);
}

// Nothing is acknowledged here, so each test that sends resets the flow.
static void flow_restart(udp_link_t *link)
{
    udp_sender_t *sender = &link->sender[UDP_REQUESTS];
    const udp_sender_setup_t setup = sender->setup;
    udp_sender_stop(sender);
    assert_int_equal(udp_sender_start(sender, &setup), AQ_OK);
}

// A frame that is longer than the path's limit has a datagram of its own, which the kernel
// fragments.
static void a_long_frame_goes_by_itself(void **state)
{
    (void)state;
    udp_link_t *link = link_or_skip();
    flow_restart(link);
    const udp_stats_t before = link->stats;
    send_message(link, 8);
    send_message(link, conduit->max_medium);
    send_message(link, 8);
    udp_flush(udp, &(uint64_t){0});
    assert_int_equal(link->stats.datagrams_out - before.datagrams_out, 3);
    assert_true(link->stats.bytes_out - before.bytes_out >
                link->datagram_bytes + 2 * (size_t)UDP_HEADER_MIN);
    assert_int_equal(udp->socket.counts.too_long, 0);
}

// Packets of 100 bytes have no room for payload behind the headers. Datagrams do not get that
// short: the kernel fragments them, and the pieces of a put contain data.
static void a_short_route_leaves_room_for_payloads(void **state)
{
    (void)state;
    static uint8_t bytes[20000];
    udp_link_t *link = link_or_skip();
    atomic_uint pending = 0;
    flow_restart(link);
    assert_int_equal(run_command("ip route change 10.9.0.2/32 dev v0 mtu 100"), 0);
    link->datagram_bytes = udp_socket_reach(&udp->socket, &link->to);
    assert_int_equal(link->datagram_bytes, (UDP_MTU_MIN - HEADERS) / 8 * 8);
    const udp_stats_t before = link->stats;
    aq_rma_t put = {.remote = bytes,
                    .local = bytes,
                    .nbytes = sizeof bytes,
                    .pending = &pending,
                    .kind = AQ_RMA_PUT};
    assert_int_equal(aq_udp_conduit.rma.begin(conduit, link, &put), AQ_OK);
    const size_t begun = sizeof bytes - put.nbytes;
    const uint64_t pieces = link->stats.datagrams_out - before.datagrams_out;
    assert_true(pieces > 0 && begun / pieces > UDP_MTU_MIN / 2);
    assert_int_equal(atomic_load(&pending), pieces);
    assert_int_equal(udp->socket.counts.too_long, 0);
}

enum { LONG = 1464, MIDDLE = 1200, SHORT = 500 };

// A long datagram arrives only after it was allowed to be fragmented.
static bool lose_long(udp_path_t *path)
{
    unsigned sends = 0;
    while (!udp_path_cuts(path, LONG, sends))
        sends++;
    assert_true(sends > 0);
    return udp_path_learn(path, LONG, sends + 1);
}

static void long_datagrams_that_vanish_shorten_the_next(void **state)
{
    (void)state;
    udp_path_t path;
    unsigned lost = 1;
    udp_path_start(&path, AF_INET);
    assert_false(udp_path_learn(&path, SHORT, 1));
    while (!lose_long(&path))
        lost++;
    assert_true(lost > 2);
    assert_int_equal(path.mtu, UDP_SAFE_MTU);
    assert_int_equal(path.most, (UDP_SAFE_MTU - HEADERS) / 8 * 8);
    assert_true(udp_path_cuts(&path, LONG, 0));
    assert_false(udp_path_learn(&path, LONG, 1)); // says nothing about the path any more
    assert_false(udp_path_cuts(&path, SHORT, 100));
}

static void a_long_path_falls_step_by_step(void **state)
{
    (void)state;
    udp_path_t path;
    udp_path_start(&path, AF_INET);
    while (!udp_path_learn(&path, 8968, 10))
        continue;
    assert_int_equal(path.mtu, 1500);
    while (!lose_long(&path))
        continue;
    assert_int_equal(path.mtu, UDP_SAFE_MTU);
}

// A path of IPv4 may be narrower than the least one of IPv6.
static void a_path_of_ipv4_falls_below_the_safe_mtu(void **state)
{
    (void)state;
    udp_path_t path;
    udp_path_start(&path, AF_INET);
    assert_true(udp_path_cuts(&path, MIDDLE, 10));
    while (!udp_path_learn(&path, MIDDLE, 10))
        continue;
    assert_int_equal(path.mtu, UDP_NARROW_MTU);
    udp_path_start(&path, AF_INET6);
    assert_false(udp_path_cuts(&path, MIDDLE, 10));
    assert_false(udp_path_is_blocked(&path, MIDDLE, 20));
}

// Neither a long datagram that got through, nor short ones that did not, speak of a narrow path.
static void mere_losses_do_not_shorten_datagrams(void **state)
{
    (void)state;
    udp_path_t path;
    udp_path_start(&path, AF_INET);
    for (unsigned i = 0; i < 1000; i++) {
        assert_false(lose_long(&path));
        assert_false(udp_path_learn(&path, i % 2 ? LONG : SHORT, i % 2 ? 2 : 4));
    }
    udp_path_start(&path, 0); // loopback
    assert_false(udp_path_cuts(&path, LONG, 100));
    for (unsigned i = 0; i < 1000; i++)
        assert_false(udp_path_learn(&path, LONG, 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(max_medium_fits_the_shortest_datagram),
        cmocka_unit_test(datagrams_follow_the_path),
        cmocka_unit_test(a_long_frame_goes_by_itself),
        cmocka_unit_test(a_short_route_leaves_room_for_payloads),
        cmocka_unit_test(long_datagrams_that_vanish_shorten_the_next),
        cmocka_unit_test(a_long_path_falls_step_by_step),
        cmocka_unit_test(a_path_of_ipv4_falls_below_the_safe_mtu),
        cmocka_unit_test(mere_losses_do_not_shorten_datagrams),
    };
    return cmocka_run_group_tests(tests, start_network, NULL);
}
