// SPDX-License-Identifier: BSD-3-Clause
// Windows over udp: two ranks in one process, each with several windows, on the loopback interface.
// Messages, puts and gets between windows travel through the sockets of the windows; several
// endpoints of one rank may send to one window; a datagram that is replayed at another window, or
// names another endpoint as its source, is dropped in every mode of authentication.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../unit/child_errors.h"
#include "udp_harness.h"
#include "../../../../conduits/udp/link/udp_watch.h"
#include "../../../../core/aqueduct.h"
#include "../../../../other/base/modules/observed.h"
#include "../../../../conduits/udp/link/udp_send.h"
#include "../../../../conduits/udp/link/udp_receive.h"
#include "../../../../conduits/udp/link/udp_window.h"
#include "../../../../conduits/udp/link/udp_rma.h"

enum {
    SEGMENT = 1 << 20,
    VALUES = 4096,
    POLLS = 1000000,
    MODES = UDP_AUTH_ENCRYPT + 1,
    AT_SOURCE_ENDPOINT = 26, // in a datagram (docs/wire-udp.md): its lower bits, in the upper half
    ALL = AQ_POLL_REQUESTS | AQ_POLL_REPLIES,
};

static const char *const modes[MODES] = {"off", "token", "header", "full", "encrypt"};

// ---- two ranks ----

typedef struct rank {
    aq_conduit_env_t env;
    udp_conduit_t *main;
} rank_t;

static uint8_t segments[2][SEGMENT];
static uintptr_t segment_addr[2];
static const uintptr_t segment_size[2] = {SEGMENT, SEGMENT};
static unsigned seen[VALUES], deliveries, resent, dropped[GASNETX_DROP_REASONS];
static struct {
    aq_return_path_t path;
    uint32_t source;
    bool reply;
} last;

static void note_observed(aq_observed_t what, uint32_t rank, uint64_t bytes)
{
    if (what == AQ_OBSERVED_DROP) {
        assert_true(rank == AQ_OBSERVED_NO_PEER && bytes < GASNETX_DROP_REASONS);
        dropped[bytes]++;
        return;
    }
    assert_int_equal(what, AQ_OBSERVED_RETRANSMISSION);
    assert_true(rank < 2 && bytes > 0);
    resent++;
}

static bool in_a_segment(const void *addr, size_t nbytes)
{
    const uintptr_t offset = (uintptr_t)addr - (uintptr_t)segments;
    return offset <= sizeof segments && nbytes <= sizeof segments - offset;
}

static bool note_delivery(const aq_arrival_t *arrival)
{
    deliveries++;
    if (arrival->nargs)
        seen[(uint32_t)arrival->args[0] % VALUES]++;
    last.path = *arrival->path;
    last.source = arrival->source;
    last.reply = arrival->reply;
    return false;
}

static void rank_open(rank_t *rank, uint32_t number)
{
    segment_addr[number] = (uintptr_t)segments[number];
    rank->env = (aq_conduit_env_t){.rank = number,
                                   .size = 2,
                                   .nbrhd_size = 1,
                                   .segment_addr = segment_addr,
                                   .segment_size = segment_size,
                                   .segment_holds = in_a_segment,
                                   .deliver = note_delivery};
    aq_observed_by(note_observed);
    memset(dropped, 0, sizeof dropped);
    rank->main = udp_open_harness(&rank->env);
    assert_non_null(rank->main);
}

// Opens both ranks in a mode of authentication.
static rank_t *ranks_open(const char *mode)
{
    static rank_t ranks[64];
    static unsigned used;
    rank_t *pair = &ranks[used];
    used += 2;
    assert_true(used <= sizeof ranks / sizeof ranks[0]);
    setenv("GASNET_UDP_AUTH", mode, 1);
    rank_open(&pair[0], 0);
    rank_open(&pair[1], 1);
    memset(seen, 0, sizeof seen);
    deliveries = 0;
    return pair;
}

static udp_conduit_t *window_open(rank_t *rank, uint16_t endpoint)
{
    aq_conduit_t *window = NULL;
    const aq_conduit_t *main = &rank->main->base;
    assert_int_equal(main->ops->open_window(&rank->main->base, endpoint, &window), AQ_OK);
    assert_int_equal(window->endpoint, endpoint);
    assert_true(window->max_medium >= main->max_medium && window->max_long >= main->max_long);
    return udp_of(window);
}

static udp_link_t *connect_to(udp_conduit_t *from, uint32_t rank, uint16_t endpoint,
                              const char *description)
{
    const aq_peer_t peer = {.rank = rank, .endpoint = endpoint, .description = description};
    void *link = NULL;
    assert_int_equal(from->base.ops->connect(&from->base, &peer, &link), AQ_OK);
    assert_non_null(link);
    return link;
}

static udp_link_t *connect_window(udp_conduit_t *from, udp_conduit_t *to)
{
    char description[AQ_DESCRIPTION_BYTES] = "";
    to->base.ops->describe(&to->base, description);
    return connect_to(from, to->base.env->rank, to->base.endpoint, description);
}

// Connects two windows; returns the link from a to b.
static udp_link_t *join(udp_conduit_t *a, udp_conduit_t *b)
{
    (void)connect_window(b, a);
    return connect_window(a, b);
}

static aq_status_t send_value(udp_conduit_t *udp, udp_link_t *link, int32_t value, bool reply)
{
    const aq_am_t am = {.args = &value, .nargs = 1, .category = AQ_AM_SHORT, .reply = reply};
    return udp_send(&udp->base, link, &am);
}

static void poll_both(udp_conduit_t *a, udp_conduit_t *b)
{
    udp_poll(&a->base, ALL);
    udp_poll(&b->base, ALL);
}

static void poll_until(udp_conduit_t *a, udp_conduit_t *b, const unsigned *counter, unsigned value)
{
    for (unsigned i = 0; i < POLLS && *counter < value; i++)
        poll_both(a, b);
    assert_int_equal(*counter, value);
}

// ---- messages ----

static void check_round_trip(udp_conduit_t *a, udp_conduit_t *b, udp_link_t *link)
{
    const unsigned before = deliveries;
    assert_int_equal(send_value(a, link, 1, false), AQ_OK);
    poll_until(a, b, &deliveries, before + 1);
    assert_ptr_equal(last.path.conduit, &b->base);
    assert_int_equal(last.source, a->base.env->rank);
    assert_int_equal(send_value(b, last.path.link, 2, true), AQ_OK);
    poll_until(a, b, &deliveries, before + 2);
    assert_ptr_equal(last.path.conduit, &a->base);
    assert_ptr_equal(last.path.link, link);
    assert_true(last.reply);
}

static void messages_use_the_sockets_of_windows(void **state)
{
    (void)state;
    for (unsigned mode = 0; mode < MODES; mode++) {
        rank_t *rank = ranks_open(modes[mode]);
        udp_conduit_t *a = window_open(&rank[0], 1), *b = window_open(&rank[1], 1023);
        udp_link_t *link = join(a, b);
        assert_ptr_equal(connect_window(a, b), link);
        for (unsigned i = 0; i < 10; i++)
            check_round_trip(a, b, link);
        assert_true(a->socket.counts.sent >= 10 && b->socket.counts.received >= 10);
        assert_true(b->socket.counts.sent >= 10 && a->socket.counts.received >= 10);
        assert_int_equal(rank[0].main->socket.counts.sent, 0);
        assert_int_equal(rank[1].main->socket.counts.sent, 0);
        for (unsigned drop = 0; drop < UDP_DROPS; drop++)
            assert_int_equal(a->unauthenticated.drops[drop] + b->unauthenticated.drops[drop], 0);
    }
}

// All windows of one rank with all of the other one, enough of them that the table of links grows.
static void all_pairs_of_windows_communicate(void **state)
{
    enum { EACH = 24 };
    static udp_conduit_t *window[2][EACH];
    (void)state;
    rank_t *rank = ranks_open("encrypt");
    for (unsigned r = 0; r < 2; r++)
        for (unsigned i = 0; i < EACH; i++)
            window[r][i] = window_open(&rank[r], (uint16_t)(1 + i * 44));
    for (unsigned i = 0; i < EACH; i++)
        for (unsigned j = 0; j < EACH; j++)
            check_round_trip(window[0][i], window[1][j], join(window[0][i], window[1][j]));
    for (unsigned i = 0; i < EACH; i++) {
        assert_int_equal(window[1][i]->links.count, EACH);
        for (unsigned j = 0; j < EACH; j++)
            assert_non_null(udp_window_find(window[1][i], window[0][j]->ep_id));
        assert_null(udp_window_find(window[1][i], udp_ep_id(0, 1000)));
    }
}

static void an_idle_window_is_not_polled(void **state)
{
    (void)state;
    rank_t *rank = ranks_open("token");
    udp_conduit_t *a = window_open(&rank[0], 1), *b = window_open(&rank[0], 2);
    for (unsigned i = 0; i < 1000; i++)
        poll_both(rank[0].main, a);
    assert_int_equal(a->socket.counts.receive_calls, 1000);
    assert_int_equal(rank[0].main->socket.counts.receive_calls, 1000);
    assert_int_equal(b->socket.counts.receive_calls, 0);
    assert_int_equal(b->socket.slots, 1);
}

// ---- put and get ----

static void rma_wait(udp_conduit_t *a, udp_conduit_t *b, udp_link_t *link, aq_rma_t rma)
{
    atomic_uint pending = 0;
    rma.pending = &pending;
    while (rma.nbytes) {
        const aq_status_t status = udp_rma(&a->base, link, &rma);
        assert_true(status == AQ_OK || status == AQ_AGAIN);
        poll_both(a, b);
    }
    for (unsigned i = 0; i < POLLS && pending; i++)
        poll_both(a, b);
    assert_int_equal(pending, 0);
}

static void put_and_get_reach_the_segment(void **state)
{
    static const size_t sizes[] = {1, 8, 5000, 300000};
    static uint8_t out[SEGMENT], in[SEGMENT];
    (void)state;
    for (unsigned mode = 0; mode < MODES; mode++) {
        rank_t *rank = ranks_open(modes[mode]);
        udp_conduit_t *a = window_open(&rank[0], 3), *b = window_open(&rank[1], 4);
        udp_link_t *link = join(a, b);
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            uint8_t *place = segments[1] + 64 * (i + mode);
            memset(out, (int)(0x11 * (i + mode + 1)), sizes[i]);
            memset(in, 0, sizes[i]);
            rma_wait(a, b, link, (aq_rma_t){place, out, sizes[i], NULL, AQ_RMA_PUT, 0});
            assert_memory_equal(place, out, sizes[i]);
            rma_wait(a, b, link, (aq_rma_t){place, in, sizes[i], NULL, AQ_RMA_GET, 0});
            assert_memory_equal(in, out, sizes[i]);
        }
        assert_int_equal(rank[0].main->socket.counts.sent, 0);
    }
}

// ---- a peer that has not connected yet ----

static void a_datagram_from_an_unconnected_window_is_sent_again(void **state)
{
    (void)state;
    for (unsigned mode = 0; mode < MODES; mode++) {
        rank_t *rank = ranks_open(modes[mode]);
        udp_conduit_t *a = window_open(&rank[0], 1), *b = window_open(&rank[1], 1);
        udp_link_t *link = connect_window(a, b);
        assert_int_equal(send_value(a, link, 5, false), AQ_OK);
        for (unsigned i = 0; i < POLLS && b->unauthenticated.drops[UDP_DROP_UNCONNECTED] < 2; i++)
            poll_both(a, b);
        assert_true(b->unauthenticated.drops[UDP_DROP_UNCONNECTED] >= 2);
        assert_null(b->links.first);
        assert_int_equal(deliveries, 0);
        (void)connect_window(b, a);
        poll_until(a, b, &deliveries, 1);
        assert_int_equal(seen[5], 1);
    }
}

// ---- what cannot be opened ----

static void a_bad_description_is_refused(void **state)
{
    (void)state;
    rank_t *rank = ranks_open("token");
    udp_conduit_t *a = window_open(&rank[0], 1);
    const char description[AQ_DESCRIPTION_BYTES] = "no address";
    const aq_peer_t peer = {.rank = 1, .endpoint = 1, .description = description};
    void *link = NULL;
    assert_int_equal(a->base.ops->connect(&a->base, &peer, &link), AQ_ERR_RESOURCE);
    assert_null(link);
    assert_null(a->links.first);
}

// The fault is logged once, however many windows the program asks for.
static void open_too_many(void)
{
    rank_t *rank = ranks_open("token");
    aq_conduit_t *main = &rank[0].main->base, *window;
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0)
        _exit(1);
    for (uint16_t endpoint = 1; endpoint < 10; endpoint++)
        if (main->ops->open_window(main, endpoint, &window) != AQ_ERR_RESOURCE)
            _exit(1);
}

static void a_lack_of_files_is_reported_once(void **state)
{
    (void)state;
    char *said = child_errors(open_too_many);
    const char *first = strstr(said, "a UDP socket cannot be opened: Too many open files; allow");
    assert_non_null(first);
    assert_null(strstr(first + 1, "a UDP socket"));
    free(said);
}

// ---- attacks ----

typedef struct datagram {
    _Alignas(8) uint8_t bytes[2048];
    size_t length;
} datagram_t;

// A datagram from window a to an endpoint of rank 1, with one message. Once for each pair.
static datagram_t record(udp_conduit_t *a, uint16_t endpoint)
{
    char description[AQ_DESCRIPTION_BYTES] = "";
    datagram_t out = {.length = 0};
    udp_address_t address;
    udp_sockaddr_t here = a->socket.here;
    here.v4.sin_port = 0;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, &here.any, here.length), 0);
    assert_int_equal(getsockname(fd, &here.any, &here.length), 0);
    udp_address_write(&here, &address);
    memcpy(description, &address, sizeof address);
    udp_link_t *link = connect_to(a, 1, endpoint, description);
    assert_int_equal(send_value(a, link, 7, false), AQ_OK);
    udp_poll(&a->base, ALL);
    const ssize_t length = recv(fd, out.bytes, sizeof out.bytes, MSG_DONTWAIT);
    assert_true(length > 0);
    out.length = (size_t)length;
    close(fd);
    return out;
}

static void deliver_datagram(const datagram_t *datagram, udp_conduit_t *to)
{
    const uint64_t before = to->socket.counts.received;
    int fd = udp_socket_connect(&to->socket, &to->socket.here);
    assert_int_equal(send(fd, datagram->bytes, datagram->length, 0), datagram->length);
    for (unsigned i = 0; i < POLLS && to->socket.counts.received == before; i++)
        udp_poll(&to->base, ALL);
    assert_int_equal(to->socket.counts.received, before + 1);
    close(fd);
}

static void a_datagram_is_good_once_and_for_one_window(void **state)
{
    (void)state;
    for (unsigned mode = UDP_AUTH_TOKEN; mode < MODES; mode++) {
        rank_t *rank = ranks_open(modes[mode]);
        udp_conduit_t *a = window_open(&rank[0], 1), *b = window_open(&rank[1], 1),
                      *other = window_open(&rank[1], 2);
        udp_link_t *back = connect_window(b, a);
        (void)connect_window(other, a);
        const datagram_t genuine = record(a, 1);
        deliver_datagram(&genuine, other);
        assert_int_equal(other->unauthenticated.drops[UDP_DROP_MISDIRECTED], 1);
        deliver_datagram(&genuine, rank[1].main);
        assert_int_equal(rank[1].main->unauthenticated.drops[UDP_DROP_MISDIRECTED], 1);
        assert_int_equal(deliveries, 0);
        deliver_datagram(&genuine, b);
        assert_int_equal(deliveries, 1);
        deliver_datagram(&genuine, b);
        assert_int_equal(deliveries, 1);
        assert_int_equal(back->stats.drops[UDP_DROP_REPLAYED], 1);
        assert_int_equal(dropped[GASNETX_DROP_REPLAYED], 1);
    }
}

// Writes other endpoints into a genuine datagram. The windows named are all connected.
static void a_forged_endpoint_is_dropped(void **state)
{
    (void)state;
    for (unsigned mode = UDP_AUTH_TOKEN; mode < MODES; mode++) {
        rank_t *rank = ranks_open(modes[mode]);
        udp_conduit_t *a = window_open(&rank[0], 1), *second = window_open(&rank[0], 2),
                      *b = window_open(&rank[1], 1), *other = window_open(&rank[1], 2);
        (void)connect_window(b, a);
        (void)connect_window(b, second);
        (void)connect_window(other, a);
        const datagram_t genuine = record(a, 1);
        datagram_t forged = genuine;
        forged.bytes[AT_SOURCE_ENDPOINT] = 2 << 4;
        deliver_datagram(&forged, b);
        assert_int_equal(b->unauthenticated.drops[UDP_DROP_FORGED], 1);
        forged.bytes[AT_SOURCE_ENDPOINT] = 3 << 4; // not connected
        deliver_datagram(&forged, b);
        assert_int_equal(b->unauthenticated.drops[UDP_DROP_UNCONNECTED], 1);
        forged.bytes[AT_SOURCE_ENDPOINT] = 0; // the main receive side
        deliver_datagram(&forged, b);
        assert_int_equal(b->unauthenticated.drops[UDP_DROP_UNCONNECTED], 2);
        forged = genuine;
        forged.bytes[AT_SOURCE_ENDPOINT + 4] = 2 << 4; // the destination
        deliver_datagram(&forged, other);
        assert_int_equal(other->unauthenticated.drops[UDP_DROP_FORGED], 1);
        assert_int_equal(dropped[GASNETX_DROP_FORGED], 2);
        assert_int_equal(deliveries, 0);
    }
}

// No datagram of the main receive sides is accepted by a window, and the reverse.
static void windows_and_main_do_not_mix(void **state)
{
    (void)state;
    rank_t *rank = ranks_open("token");
    udp_conduit_t *a = window_open(&rank[0], 1), *b = window_open(&rank[1], 1);
    (void)connect_window(b, a);
    datagram_t forged = record(a, 1);
    forged.bytes[AT_SOURCE_ENDPOINT + 4] = 0;
    deliver_datagram(&forged, rank[1].main); // an endpoint is no rank of this job
    assert_int_equal(rank[1].main->unauthenticated.drops[UDP_DROP_MISDIRECTED], 1);
    assert_null(rank[1].main->links.first);
}

// ---- loss ----

static void nothing_is_lost_or_doubled_on_a_bad_network(void **state)
{
    enum { MESSAGES = 2000 };
    (void)state;
    setenv("GASNET_UDP_FAULT_DROP", "20", 1);
    setenv("GASNET_UDP_FAULT_DUPLICATE", "10", 1);
    setenv("GASNET_UDP_FAULT_REORDER", "20", 1);
    rank_t *rank = ranks_open("encrypt");
    unsetenv("GASNET_UDP_FAULT_DROP");
    unsetenv("GASNET_UDP_FAULT_DUPLICATE");
    unsetenv("GASNET_UDP_FAULT_REORDER");
    udp_conduit_t *a = window_open(&rank[0], 1), *b = window_open(&rank[1], 1);
    udp_link_t *link = join(a, b);
    assert_non_null(a->faults);
    assert_true(a->faults != rank[0].main->faults); // which threads would share
    for (int32_t i = 0; i < MESSAGES; i++) {
        while (send_value(a, link, i, false) == AQ_AGAIN)
            poll_both(a, b);
        if (i % 8 == 7)
            poll_both(a, b);
    }
    poll_until(a, b, &deliveries, MESSAGES);
    for (unsigned i = 0; i < MESSAGES; i++)
        assert_int_equal(seen[i], 1);
    assert_true(link->stats.resent > 0);
    assert_true(resent >= link->stats.resent);
}

// ---- silence ----

// A peer that has nothing to acknowledge is the business of the main receive side.
static void a_window_does_not_watch_a_peer_that_owes_nothing(void **state)
{
    (void)state;
    setenv("GASNET_UDP_PEER_TIMEOUT", "8", 1);
    rank_t *rank = ranks_open("token");
    setenv("GASNET_UDP_PEER_TIMEOUT", "0", 1);
    udp_conduit_t *a = window_open(&rank[0], 1), *b = window_open(&rank[1], 1);
    udp_link_t *link = join(a, b);
    check_round_trip(a, b, link);
    for (unsigned i = 0; i < POLLS && link->sender[UDP_REQUESTS].kept; i++)
        poll_both(a, b);
    assert_int_equal(link->sender[UDP_REQUESTS].kept, 0);
    const uint64_t sent = a->socket.counts.sent;
    a->watch.listened += UINT64_C(100000000000);
    assert_int_equal(udp_watch_link(a, link, 1), UDP_NEVER);
    assert_int_equal(link->watch.due_since, 0);
    assert_int_equal(a->socket.counts.sent, sent);
    link->sender[UDP_REQUESTS].timer = 1; // now it owes an acknowledgement
    assert_int_equal(udp_watch_link(a, link, 1), 1 + a->watch.step);
    assert_true(link->watch.due_since != 0);
    assert_null(a->watch.hosts);
}

// ---- reports ----

static void counters_and_memory_are_those_of_a_window(void **state)
{
    (void)state;
    rank_t *rank = ranks_open("token");
    aq_conduit_t *main = &rank[0].main->base;
    const size_t before = main->ops->report.memory_bytes(main);
    udp_conduit_t *a = window_open(&rank[0], 1), *b = window_open(&rank[1], 1);
    const size_t unused = a->base.ops->report.memory_bytes(&a->base);
    assert_int_equal(unused, UDP_SLOT_BYTES);
    assert_int_equal(main->ops->report.memory_bytes(main), before);
    udp_link_t *link = join(a, b);
    for (unsigned i = 0; i < 5; i++)
        check_round_trip(a, b, link);
    gasnetx_counters_t of_main = {0}, of_window = {0};
    main->ops->report.counters(main, &of_main);
    a->base.ops->report.counters(&a->base, &of_window);
    assert_int_equal(of_window.frames_sent, 5);
    assert_int_equal(of_main.frames_sent, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_use_the_sockets_of_windows),
        cmocka_unit_test(all_pairs_of_windows_communicate),
        cmocka_unit_test(an_idle_window_is_not_polled),
        cmocka_unit_test(put_and_get_reach_the_segment),
        cmocka_unit_test(a_datagram_from_an_unconnected_window_is_sent_again),
        cmocka_unit_test(a_bad_description_is_refused),
        cmocka_unit_test(a_lack_of_files_is_reported_once),
        cmocka_unit_test(a_datagram_is_good_once_and_for_one_window),
        cmocka_unit_test(a_forged_endpoint_is_dropped),
        cmocka_unit_test(windows_and_main_do_not_mix),
        cmocka_unit_test(nothing_is_lost_or_doubled_on_a_bad_network),
        cmocka_unit_test(a_window_does_not_watch_a_peer_that_owes_nothing),
        cmocka_unit_test(counters_and_memory_are_those_of_a_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
