// SPDX-License-Identifier: BSD-3-Clause
// The UDP socket: addresses, interfaces, ports, and datagrams that arrive as they were sent.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../../conduits/udp/socket/udp_faults.h"
#include "../../../../conduits/udp/socket/udp_interface.h"
#include "../../../../conduits/udp/socket/udp_socket.h"
#include "../../../../conduits/udp/socket/udp_stats.h"
#include "../../../../other/base/settings/settings.h"
#include "../../../unit/child_errors.h"
#include "../../../unit/assert_between.h"

#define SECOND 1000000000u

enum { LONGEST = 65504, MANY = 200, SHAPES = 8 };

static const udp_socket_setup_t local = {.interface = {.local = true, .worker = "", .master = ""},
                                         .receive_bytes = 4 << 20,
                                         .send_bytes = 1 << 20};
static udp_socket_t here, there;
static uint8_t bytes[LONGEST];

static int open_both(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 31 + i / 256);
    return udp_socket_open(&here, &local, NULL) == AQ_OK &&
                   udp_socket_open(&there, &local, NULL) == AQ_OK
               ? 0
               : -1;
}

static int close_both(void **state)
{
    (void)state;
    udp_socket_close(&here);
    udp_socket_close(&there);
    return 0;
}

static void exit_unless(bool so)
{
    if (!so)
        _exit(1);
}

// Waits for a datagram; a wake-up does not count as one.
static bool wait_for(udp_socket_t *socket, uint64_t limit_ns)
{
    return udp_socket_wait(socket, udp_socket_wakings(socket), limit_ns);
}

// ---- addresses ----

static void test_address(void **state)
{
    (void)state;
    static const udp_address_t v4 = {{4, 0, 0x12, 0x67, 192, 168, 0, 7}};
    static const udp_address_t v6 = {
        {6, 0, 0xff, 0xff, 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
    static const udp_address_t none = {{0}}, strange = {{5}};
    udp_sockaddr_t address;
    udp_address_t again;
    char text[UDP_ADDRESS_TEXT];
    assert_true(udp_address_read(&v4, &address));
    assert_string_equal(udp_address_text(&address, text), "192.168.0.7:4711");
    udp_address_write(&address, &again);
    assert_memory_equal(&again, &v4, sizeof v4);
    assert_true(udp_address_read(&v6, &address));
    assert_string_equal(udp_address_text(&address, text), "[2001:db8::1]:65535");
    udp_address_write(&address, &again);
    assert_memory_equal(&again, &v6, sizeof v6);
    assert_false(udp_address_read(&none, &address));
    assert_false(udp_address_read(&strange, &address));
}

static void test_sizes(void **state)
{
    (void)state;
    assert_int_equal(udp_interface_datagram(1500, AF_INET), 1472);
    assert_int_equal(udp_interface_datagram(1500, AF_INET6), 1448);
    assert_int_equal(udp_interface_datagram(65536, AF_INET), 65504);
    assert_int_equal(udp_interface_datagram(9000, AF_INET), 8968);
}

// ---- opening ----

static void test_open(void **state)
{
    (void)state;
    udp_address_t address;
    udp_sockaddr_t again;
    assert_true(here.loopback);
    assert_true(here.datagram_bytes >= LONGEST || here.here.any.sa_family == AF_INET6);
    assert_true(here.receive_bytes > 0 && here.send_bytes > 0);
    assert_int_equal(udp_socket_reach(&here, &there.here), here.datagram_bytes);
    udp_address_write(&here.here, &address);
    assert_true(udp_address_read(&address, &again));
    assert_int_equal(again.length, here.here.length);
    assert_memory_equal(&again.any, &here.here.any, again.length);
    assert_memory_not_equal(&here.here.any, &there.here.any, again.length);
}

// Returns the first of several consecutive free ports: each was bound a moment ago. They are below
// the range of ports that the kernel chooses, and other runs of this test begin at another port.
static uint16_t free_ports(unsigned count)
{
    unsigned start = 20000 + (unsigned)getpid() % 1000 * 8;
    for (uint16_t low = (uint16_t)start; low < 32000; low += (uint16_t)count) {
        unsigned open = 0;
        for (; open < count; open++) {
            struct sockaddr_in address = {.sin_family = AF_INET,
                                          .sin_port = htons((uint16_t)(low + open)),
                                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
            int fd = socket(AF_INET, SOCK_DGRAM, 0);
            int code = bind(fd, (struct sockaddr *)&address, sizeof address);
            close(fd);
            if (code != 0)
                break;
        }
        if (open == count)
            return low;
    }
    fail_msg("no ports are free");
    return 0;
}

static uint16_t port_of(const udp_socket_t *socket)
{
    return ntohs(socket->here.any.sa_family == AF_INET ? socket->here.v4.sin_port
                                                       : socket->here.v6.sin6_port);
}

static udp_socket_setup_t full_range;

static void open_crowded(void)
{
    udp_socket_t socket;
    exit_unless(udp_socket_open(&socket, &full_range, NULL) == AQ_ERR_RESOURCE);
}

// Each socket takes another port of the range, starting at the offset of its rank; then no port is
// left.
static void test_ports(void **state)
{
    (void)state;
    enum { PORTS = 4 };
    udp_socket_t sockets[PORTS];
    uint16_t low = free_ports(PORTS);
    unsigned seen = 0;
    full_range = local;
    full_range.port_low = low;
    full_range.port_high = low + PORTS - 1;
    full_range.spread = 6; // all sockets try the same port first
    for (unsigned i = 0; i < PORTS; i++) {
        assert_int_equal(udp_socket_open(&sockets[i], &full_range, NULL), AQ_OK);
        seen |= 1u << (port_of(&sockets[i]) - low);
    }
    assert_int_equal(seen, (1u << PORTS) - 1);
    char *said = child_errors(open_crowded);
    assert_non_null(strstr(said, "GASNET_UDP_PORTS: every port from "));
    assert_non_null(strstr(said, "give a wider range"));
    free(said);
    for (unsigned i = 0; i < PORTS; i++)
        udp_socket_close(&sockets[i]);
}

// Opens windows with a limit of open files that is lower than their number; returns how many.
static unsigned open_windows(udp_socket_t *windows, unsigned most)
{
    udp_socket_setup_t setup = local;
    unsigned opened = 0;
    setup.beside = &here;
    while (opened < most && udp_socket_open(&windows[opened], &setup, NULL) == AQ_OK)
        opened++;
    return opened;
}

// Windows neither end at the soft limit of open files, nor change it, nor take small descriptors
// from the client. In a child, because the limits change.
static void try_limits(rlim_t soft, rlim_t hard, unsigned least, unsigned most)
{
    enum { WINDOWS = 100 };
    static udp_socket_t windows[WINDOWS];
    struct rlimit limit = {soft, hard}, after;
    const int client = dup(0);
    close(client);
    exit_unless(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    const unsigned opened = open_windows(windows, WINDOWS);
    exit_unless(opened >= least && opened <= most);
    exit_unless(getrlimit(RLIMIT_NOFILE, &after) == 0 && after.rlim_cur == soft);
    for (unsigned i = 0; hard > FD_SETSIZE + WINDOWS && i < opened; i++)
        exit_unless(windows[i].fd >= FD_SETSIZE);
    exit_unless(hard <= FD_SETSIZE || dup(0) == client);
    _exit(0);
}

static void in_child(rlim_t soft, rlim_t hard, unsigned least, unsigned most)
{
    int code;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        try_limits(soft, hard, least, most);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
}

static void test_open_files(void **state)
{
    (void)state;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max > FD_SETSIZE + 200)
        in_child(40, FD_SETSIZE + 200, 100, 100);
    in_child(40, 60, 20, 60); // the hard limit holds
}

static void test_spread(void **state)
{
    (void)state;
    udp_socket_setup_t setup = local;
    udp_socket_t socket;
    setup.port_low = free_ports(3);
    setup.port_high = setup.port_low + 2;
    for (setup.spread = 0; setup.spread < 6; setup.spread++) {
        assert_int_equal(udp_socket_open(&socket, &setup, NULL), AQ_OK);
        assert_int_equal(port_of(&socket), setup.port_low + setup.spread % 3);
        udp_socket_close(&socket);
    }
}

// The granted sizes are between the kernel's minimum and the doubled request.
static void test_buffers(void **state)
{
    (void)state;
    udp_socket_setup_t setup = local;
    udp_socket_t socket;
    setup.receive_bytes = setup.send_bytes = 64 << 10;
    assert_int_equal(udp_socket_open(&socket, &setup, NULL), AQ_OK);
    assert_int_equal(socket.receive_bytes, 128 << 10);
    assert_int_equal(socket.send_bytes, 128 << 10);
    udp_socket_close(&socket);
}

// ---- choosing the interface ----

static const struct {
    const char *worker, *master, *said;
} faults[] = {
    {"no.such.name.invalid", "", "GASNET_WORKERIP: 'no.such.name.invalid' is neither an address"},
    {"", "no.such.name.invalid", "GASNET_MASTERIP: 'no.such.name.invalid' is neither an address"},
    {"203.0.113.0", "", "GASNET_WORKERIP: no interface of this host is in the network 203.0.113.0"},
    {"", "127.0.0.1", "GASNET_MASTERIP: no network leads from here to 127.0.0.1"},
};
static unsigned fault;

static void open_elsewhere(void)
{
    udp_socket_setup_t setup = local;
    udp_socket_t socket;
    setup.interface.local = false;
    setup.interface.worker = faults[fault].worker;
    setup.interface.master = faults[fault].master;
    exit_unless(udp_socket_open(&socket, &setup, NULL) == AQ_ERR_CONFIG);
    exit_unless(socket.fd == -1);
}

static void test_no_interface(void **state)
{
    (void)state;
    for (fault = 0; fault < sizeof faults / sizeof faults[0]; fault++) {
        char *said = child_errors(open_elsewhere);
        assert_non_null(strstr(said, faults[fault].said));
        free(said);
    }
}

// All names and addresses of the loopback network choose the loopback interface.
static void test_worker(void **state)
{
    (void)state;
    static const char *const words[] = {"127.0.0.1", "127.0.0.0", "127.3.2.1", "localhost"};
    udp_socket_setup_t setup = local;
    udp_interface_t interface;
    setup.interface.local = false;
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        setup.interface.worker = words[i];
        assert_int_equal(udp_interface_choose(&setup.interface, &interface), AQ_OK);
        assert_true(interface.loopback);
    }
}

// Each IPv4 address of this host chooses the interface that has this address.
static void test_every_interface(void **state)
{
    (void)state;
    struct ifaddrs *all, *entry;
    char text[INET_ADDRSTRLEN];
    udp_socket_setup_t setup = local;
    udp_interface_t interface;
    setup.interface.local = false;
    setup.interface.worker = text;
    assert_int_equal(getifaddrs(&all), 0);
    for (entry = all; entry; entry = entry->ifa_next) {
        if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET)
            continue;
        struct sockaddr_in *address = (struct sockaddr_in *)(void *)entry->ifa_addr;
        assert_non_null(inet_ntop(AF_INET, &address->sin_addr, text, sizeof text));
        assert_int_equal(udp_interface_choose(&setup.interface, &interface), AQ_OK);
        assert_int_equal(interface.address.v4.sin_addr.s_addr, address->sin_addr.s_addr);
    }
    freeifaddrs(all);
}

// ---- datagrams ----

// Receives all datagrams that are ready, and compares each with its content: bytes[] from position
// i modulo 64 on for datagram i. Returns their number. Requests the sender's address each other
// time.
static unsigned receive_some(udp_socket_t *socket, unsigned at, const size_t *lengths)
{
    udp_incoming_t in[UDP_SLOTS];
    unsigned count;
    assert_int_equal(udp_socket_receive(socket, in, UDP_SLOTS, 1, &count), AQ_OK);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(in[i].length, lengths[at + i]);
        assert_int_equal((uintptr_t)in[i].bytes % UDP_ALIGNMENT, 0);
        assert_memory_equal(in[i].bytes, bytes + (at + i) % 64, in[i].length);
        assert_true(in[i].from->length == here.here.length ||
                    (in[i].from->length == 0 && !socket->names));
        assert_memory_equal(&in[i].from->any, &here.here.any, in[i].from->length);
    }
    socket->names = socket->names ? 0 : UDP_SLOTS;
    return count;
}

// Sends datagrams of these lengths, each in three pieces, and receives in between, so that it works
// however often the kernel's buffer is full.
static void exchange_datagrams(const size_t *lengths, unsigned count)
{
    udp_outgoing_t out[MANY];
    struct iovec pieces[MANY][3];
    unsigned sent = 0, received = 0;
    for (unsigned i = 0; i < count; i++) {
        uint8_t *from = bytes + i % 64;
        size_t cut = lengths[i] / 3;
        pieces[i][0] = (struct iovec){from, cut};
        pieces[i][1] = (struct iovec){from + cut, cut};
        pieces[i][2] = (struct iovec){from + 2 * cut, lengths[i] - 2 * cut};
        out[i] = (udp_outgoing_t){&there.here, pieces[i], 3};
    }
    while (received < count) {
        unsigned taken;
        aq_status_t status = udp_socket_send(&here, out + sent, count - sent, &taken);
        sent += taken;
        assert_true(status == AQ_OK ? sent == count : status == AQ_AGAIN);
        if (wait_for(&there, SECOND))
            received += receive_some(&there, received, lengths);
    }
    assert_int_equal(received, count);
    assert_int_equal(sent, count);
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    static const size_t lengths[] = {1, 8, 96, 1000, 1472, 9000, 65000, LONGEST - 64};
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        exchange_datagrams(&lengths[i], 1);
    assert_int_equal(here.counts.sent, sizeof lengths / sizeof lengths[0]);
    assert_int_equal(there.counts.received, here.counts.sent);
}

// A peek distinguishes an empty datagram from none.
static void test_peek(void **state)
{
    (void)state;
    char head[8];
    const char text[] = "a datagram";
    struct iovec pieces[] = {{head, sizeof head}, {bytes, sizeof text}};
    assert_int_equal(udp_socket_peek(&there, head, sizeof head), -1);
    for (size_t length = 0; length <= sizeof text; length += sizeof text) {
        assert_true(sendto(here.fd, text, length, 0, &there.here.any, there.here.length) >= 0);
        assert_int_equal(udp_socket_peek(&there, head, sizeof head), length);
        assert_true(udp_socket_take(&there, pieces, 2));
        assert_memory_equal(head, text, length ? sizeof head : 0);
    }
    assert_int_equal(udp_socket_peek(&there, head, sizeof head), -1);
}

// Datagrams of equal, growing, shrinking and grouped lengths: whatever the kernel splits arrives in
// order.
static void test_many(void **state)
{
    (void)state;
    size_t lengths[MANY];
    bool segments = here.segments;
    for (unsigned shape = 0; shape < SHAPES; shape++) {
        for (unsigned i = 0; i < MANY; i++)
            lengths[i] = shape == 0   ? 96
                         : shape == 1 ? 100 + i
                         : shape == 2 ? 1000 - i
                         : shape == 3 ? 1024 - i % 7 / 6 * 512
                         : shape == 4 ? (i / 5 % 2 ? 1472 : 104)
                         : shape == 5 ? (i % 2 ? 30000 : 8)
                         : shape == 6 ? 99
                                      : 24000;
        exchange_datagrams(lengths, MANY);
    }
    assert_int_equal(here.counts.sent, SHAPES * MANY);
    assert_int_equal(here.segments, segments); // the kernel refused no message
    assert_int_equal(there.counts.received, SHAPES * MANY);
    assert_int_equal(here.counts.refused + here.counts.unreachable + here.counts.too_long, 0);
}

// Many datagrams of the same length are sent with few system calls, with and without the kernel's
// help.
static void test_few_calls(void **state)
{
    (void)state;
    size_t lengths[MANY];
    for (unsigned i = 0; i < MANY; i++)
        lengths[i] = 512;
    exchange_datagrams(lengths, MANY);
    assert_between(here.counts.send_calls, 1, 2);
    here.segments = false;
    exchange_datagrams(lengths, MANY);
    assert_between(here.counts.send_calls, 3, 2 + (MANY + 31) / 32);
}

// Lets the kernel coalesce received datagrams, as on every interface but loopback.
static void join_datagrams(udp_socket_t *socket)
{
    assert_int_equal(setsockopt(socket->fd, SOL_UDP, UDP_GRO, &(int){1}, sizeof(int)), 0);
    socket->joins = true;
}

// Coalesced datagrams are returned as the receiver asks for them, and a wait does not forget them.
static void test_few_at_a_time(void **state)
{
    (void)state;
    udp_outgoing_t out[MANY];
    struct iovec pieces[MANY];
    udp_incoming_t in[3];
    unsigned count, taken, received = 0;
    join_datagrams(&there);
    for (unsigned i = 0; i < MANY; i++) {
        pieces[i] = (struct iovec){bytes + i % 64, 96};
        out[i] = (udp_outgoing_t){&there.here, &pieces[i], 1};
    }
    assert_int_equal(udp_socket_send(&here, out, MANY, &taken), AQ_OK);
    while (received < MANY) {
        assert_true(wait_for(&there, SECOND));
        assert_int_equal(udp_socket_receive(&there, in, 3, 1, &count), AQ_OK);
        assert_between(count, 1, 3);
        for (unsigned i = 0; i < count; i++)
            assert_memory_equal(in[i].bytes, bytes + (received + i) % 64, 96);
        received += count;
    }
    assert_int_equal(received, MANY);
    assert_false(wait_for(&there, 0));
}

// A peer never sends coalesced datagrams of which all but the first would be unaligned: the
// receiver drops them.
static void test_unaligned(void **state)
{
    (void)state;
    enum { EACH = 100, TRAIN = 5 };
    udp_incoming_t in[UDP_SLOTS];
    unsigned count;
    size_t length = 96;
    if (!here.segments)
        return; // this kernel does not coalesce
    join_datagrams(&there);
    assert_int_equal(setsockopt(here.fd, SOL_UDP, UDP_SEGMENT, &(int){EACH}, sizeof(int)), 0);
    assert_int_equal(sendto(here.fd, bytes, EACH * TRAIN, 0, &there.here.any, there.here.length),
                     EACH * TRAIN);
    assert_int_equal(setsockopt(here.fd, SOL_UDP, UDP_SEGMENT, &(int){0}, sizeof(int)), 0);
    assert_true(wait_for(&there, SECOND));
    assert_int_equal(udp_socket_receive(&there, in, UDP_SLOTS, 1, &count), AQ_OK);
    assert_int_equal(count, 0);
    assert_int_equal(there.counts.truncated, 1);
    exchange_datagrams(&length, 1);
}

// Datagrams to several peers in turn: each peer receives its own.
static void test_several_peers(void **state)
{
    (void)state;
    udp_outgoing_t out[MANY];
    struct iovec pieces[MANY];
    udp_incoming_t in[UDP_SLOTS];
    unsigned count, taken, mine = 0, theirs = 0;
    for (unsigned i = 0; i < MANY; i++) {
        pieces[i] = (struct iovec){bytes + i % 2, 96};
        out[i] = (udp_outgoing_t){i % 2 ? &here.here : &there.here, &pieces[i], 1};
    }
    assert_int_equal(udp_socket_send(&here, out, MANY, &taken), AQ_OK);
    assert_int_equal(taken, MANY);
    for (; mine < MANY / 2 && wait_for(&here, SECOND); mine += count) {
        assert_int_equal(udp_socket_receive(&here, in, UDP_SLOTS, 1, &count), AQ_OK);
        for (unsigned i = 0; i < count; i++)
            assert_memory_equal(in[i].bytes, bytes + 1, 96);
    }
    for (; theirs < MANY / 2 && wait_for(&there, SECOND); theirs += count) {
        assert_int_equal(udp_socket_receive(&there, in, 1, 1, &count), AQ_OK);
        assert_between(count, 0, 1);
        for (unsigned i = 0; i < count; i++)
            assert_memory_equal(in[i].bytes, bytes, 96);
    }
    assert_int_equal(mine, MANY / 2);
    assert_int_equal(theirs, MANY / 2);
}

// A datagram that the kernel cannot send, and a peer that does not exist, only increment a counter.
static void test_lost(void **state)
{
    (void)state;
    static uint8_t huge[70000];
    struct iovec long_piece = {huge, sizeof huge}, piece = {bytes, 96};
    udp_sockaddr_t nowhere = there.here;
    udp_socket_t gone;
    size_t lengths[1] = {96};
    unsigned taken;
    assert_int_equal(udp_socket_open(&gone, &local, NULL), AQ_OK);
    nowhere = gone.here;
    udp_socket_close(&gone);
    udp_outgoing_t out[] = {{&there.here, &long_piece, 1}, {&nowhere, &piece, 1}};
    assert_int_equal(udp_socket_send(&here, out, 2, &taken), AQ_OK);
    assert_int_equal(taken, 2);
    assert_int_equal(here.counts.too_long, 1);
    exchange_datagrams(lengths, 1);
}

// Makes the socket's descriptor refer to the wake-up descriptor, which is no socket.
static void replace_descriptor(udp_socket_t *socket)
{
    assert_int_equal(dup2(socket->wake_fd, socket->fd), socket->fd);
}

// A closed descriptor, or one that is no longer a socket, makes the socket unusable; only one line
// is logged, not one for each datagram.
static void use_broken(void)
{
    struct iovec piece = {bytes, 96};
    udp_outgoing_t out[] = {{&there.here, &piece, 1}, {&there.here, &piece, 1}};
    udp_incoming_t in[UDP_SLOTS];
    unsigned taken, count;
    replace_descriptor(&here);
    exit_unless(udp_socket_send(&here, out, 2, &taken) == AQ_ERR_RESOURCE && taken == 0);
    exit_unless(here.broken == ENOTSOCK);
    exit_unless(udp_socket_send_one(&here, -1, &out[0]) == AQ_ERR_RESOURCE);
    close(there.fd);
    exit_unless(udp_socket_receive(&there, in, UDP_SLOTS, 1, &count) == AQ_ERR_RESOURCE &&
                count == 0);
    exit_unless(there.broken == EBADF);
}

// A peek notices a broken descriptor as well, and so does a socket with injected faults.
static void use_broken_otherwise(void)
{
    struct iovec piece = {bytes, 96};
    const udp_outgoing_t out = {&there.here, &piece, 1};
    const udp_faults_rates_t none = {0};
    char head[8];
    replace_descriptor(&there);
    exit_unless(udp_socket_peek(&there, head, sizeof head) == -1 && there.broken == ENOTSOCK);
    exit_unless(udp_faults_make(&none, 1, &here.faults) == AQ_OK);
    replace_descriptor(&here);
    exit_unless(udp_socket_send_one(&here, -1, &out) == AQ_OK && here.broken == ENOTSOCK);
}

static void test_broken(void **state)
{
    (void)state;
    char *said = child_errors(use_broken);
    assert_string_equal(said, "");
    free(said);
    said = child_errors(use_broken_otherwise);
    assert_string_equal(said, "");
    free(said);
}

// Errors that a network or a forged ICMP message can cause do not end the job.
static void test_unbroken(void **state)
{
    (void)state;
    struct iovec piece = {bytes, 96};
    udp_sockaddr_t everybody = there.here;
    unsigned taken;
    if (everybody.any.sa_family == AF_INET)
        everybody.v4.sin_addr.s_addr = INADDR_BROADCAST;
    const udp_outgoing_t out = {&everybody, &piece, 1};
    assert_int_equal(udp_socket_send(&here, &out, 1, &taken), AQ_OK);
    assert_int_equal(taken, 1);
    assert_int_equal(here.broken, 0);
    if (everybody.any.sa_family == AF_INET)
        assert_int_equal(here.counts.unreachable, 1);
}

static void test_nothing_there(void **state)
{
    (void)state;
    udp_incoming_t in[UDP_SLOTS];
    unsigned count = 7, taken = 7;
    assert_int_equal(udp_socket_receive(&here, in, UDP_SLOTS, 1, &count), AQ_OK);
    assert_int_equal(count, 0);
    assert_int_equal(udp_socket_send(&here, NULL, 0, &taken), AQ_OK);
    assert_int_equal(taken, 0);
    assert_false(wait_for(&here, 0));
    assert_false(wait_for(&here, 1000));
}

// A wake-up before the wait ends the wait as well, once.
static void test_wake(void **state)
{
    (void)state;
    const uint32_t before = udp_socket_wakings(&here);
    udp_socket_wake(&here);
    udp_socket_wake(&here);
    assert_false(udp_socket_wait(&here, before, UINT64_MAX));
    assert_int_equal(read(here.wake_fd, &(uint64_t){0}, sizeof(uint64_t)), -1); // it is empty
    assert_false(wait_for(&here, 0));
}

// Threads that announce their waits. Each thread must return once for each wake-up.
enum { SLEEPERS = 8, WAKINGS = 200 };
static atomic_uint announced, returned;

static void *sleep_often(void *nothing)
{
    for (unsigned i = 0; i < WAKINGS; i++) {
        const uint32_t known = udp_socket_wakings(&here);
        atomic_fetch_add(&announced, 1);
        while (atomic_load(&announced) < (i + 1) * SLEEPERS) // all know the same wake-ups
            sched_yield();
        (void)udp_socket_wait(&here, known, UINT64_MAX);
        atomic_fetch_add(&returned, 1);
        while (atomic_load(&returned) < (i + 1) * SLEEPERS)
            sched_yield();
    }
    return nothing;
}

// All threads return, whether they sleep already or are about to; a thread that missed a wake-up
// would sleep for ever.
static void test_wake_all(void **state)
{
    (void)state;
    pthread_t thread[SLEEPERS];
    aq_threads = true;
    for (unsigned t = 0; t < SLEEPERS; t++)
        assert_int_equal(pthread_create(&thread[t], NULL, sleep_often, NULL), 0);
    for (unsigned i = 0; i < WAKINGS; i++) {
        while (atomic_load(&announced) < (i + 1) * SLEEPERS)
            sched_yield();
        if (i % 2)
            usleep(100); // by now some threads sleep
        udp_socket_wake(&here);
        while (atomic_load(&returned) < (i + 1) * SLEEPERS)
            sched_yield();
    }
    for (unsigned t = 0; t < SLEEPERS; t++)
        assert_int_equal(pthread_join(thread[t], NULL), 0);
    aq_threads = false;
    assert_int_equal(here.wakings.waiting + here.wakings.late, 0);
    assert_false(wait_for(&here, 0));
    assert_int_equal(read(here.wake_fd, &(uint64_t){0}, sizeof(uint64_t)), -1);
}

// ---- with faults ----

// Half of the datagrams arrive, twice each: the delayed ones are sent while the receiver of the
// same socket waits.
static void test_with_faults(void **state)
{
    (void)state;
    udp_faults_rates_t rates = {.drop = 50, .duplicate = 100, .delay = 100, .delay_ns = 1000000};
    udp_socket_t faulty;
    udp_faults_t *layer;
    assert_int_equal(udp_faults_make(&rates, 5, &layer), AQ_OK);
    assert_int_equal(udp_socket_open(&faulty, &local, layer), AQ_OK);
    struct iovec piece = {bytes, 96};
    udp_outgoing_t out[MANY];
    udp_incoming_t in[UDP_SLOTS];
    unsigned taken, count, received = 0;
    for (unsigned i = 0; i < MANY; i++)
        out[i] = (udp_outgoing_t){&faulty.here, &piece, 1};
    assert_int_equal(udp_socket_send(&faulty, out, MANY, &taken), AQ_OK);
    assert_int_equal(taken, MANY);
    unsigned wanted = 2 * (unsigned)(MANY - udp_faults_count(layer).dropped);
    assert_between(wanted, MANY / 2, MANY * 3 / 2);
    for (; received < wanted && wait_for(&faulty, SECOND); received += count)
        assert_int_equal(udp_socket_receive(&faulty, in, UDP_SLOTS, 1, &count), AQ_OK);
    assert_int_equal(received, wanted);
    assert_int_equal(faulty.counts.sent, wanted);
    assert_false(wait_for(&faulty, 0));
    udp_socket_close(&faulty);
    udp_faults_stop(layer);
}

// ---- the sender's address ----

// The source address is requested only for the next `names` datagrams.
static void test_names(void **state)
{
    (void)state;
    udp_incoming_t in[UDP_SLOTS];
    unsigned count;
    there.names = 3;
    for (unsigned i = 0; i < 6; i++) {
        assert_true(sendto(here.fd, bytes, 96, 0, &there.here.any, there.here.length) >= 0);
        assert_true(wait_for(&there, SECOND));
        assert_int_equal(udp_socket_receive(&there, in, UDP_SLOTS, 1, &count), AQ_OK);
        assert_int_equal(count, 1);
        assert_int_equal(in[0].from->length, i < 3 ? here.here.length : 0);
        for (unsigned empty = 0; empty < 2; empty++) // so that one datagram is expected again
            assert_int_equal(udp_socket_receive(&there, in, UDP_SLOTS, 1, &count), AQ_OK);
    }
    assert_int_equal(there.names, 0);
}

// ---- settings ----

static void test_settings(void **state)
{
    (void)state;
    char fault_text[512];
    setenv("GASNET_UDP_PORTS", "5000-5010", 1);
    setenv("GASNET_UDP_RCVBUF", "1MB", 1);
    setenv("GASNET_WORKERIP", "10.0.0.0", 1);
    assert_int_equal(aq_settings_load(fault_text, sizeof fault_text), AQ_OK);
    udp_socket_setup_t setup = udp_socket_settings(true, 3);
    assert_int_equal(setup.port_low, 5000);
    assert_int_equal(setup.port_high, 5010);
    assert_int_equal(setup.receive_bytes, 1 << 20);
    assert_int_equal(setup.spread, 3);
    assert_string_equal(setup.interface.worker, "10.0.0.0");
    assert_string_equal(setup.interface.master, "");
    setenv("GASNET_UDP_PORTS", "5010-5000", 1);
    assert_int_equal(aq_settings_load(fault_text, sizeof fault_text), AQ_ERR_CONFIG);
    assert_non_null(strstr(fault_text, "GASNET_UDP_PORTS: '5010-5000' is not a port"));
}

// ---- counters ----

static void count_strangers(void)
{
    udp_unauthenticated_t unauthenticated = {{0}, false};
    udp_address_t address = {{4, 0, 0x12, 0x67, 192, 168, 0, 7}};
    udp_sockaddr_t from;
    exit_unless(udp_address_read(&address, &from));
    for (unsigned i = 1; i < UDP_UNAUTHENTICATED_WARN; i++) {
        exit_unless(udp_unauthenticated_drop(&unauthenticated, UDP_DROP_FORGED, &from) ==
                    (i == UDP_UNAUTHENTICATED_WARN - 1));
        (void)udp_unauthenticated_drop(&unauthenticated, UDP_DROP_VERSION, &from);
    }
    exit_unless(!unauthenticated.warned);
    for (unsigned i = 0; i < 1000; i++)
        exit_unless(!udp_unauthenticated_drop(&unauthenticated, UDP_DROP_FORGED, &from));
    exit_unless(unauthenticated.drops[UDP_DROP_FORGED] == UDP_UNAUTHENTICATED_WARN - 1 + 1000);
}

static void count_nameless(void)
{
    udp_unauthenticated_t unauthenticated = {{0}, false};
    const udp_sockaddr_t nobody = {.length = 0};
    for (unsigned i = 1; i < 2 * UDP_UNAUTHENTICATED_WARN; i++)
        exit_unless(udp_unauthenticated_drop(&unauthenticated, UDP_DROP_FORGED, &nobody) ==
                    (i >= UDP_UNAUTHENTICATED_WARN - 1));
    exit_unless(!unauthenticated.warned);
    exit_unless(!udp_unauthenticated_drop(&unauthenticated, UDP_DROP_FORGED, &nobody));
    exit_unless(unauthenticated.warned);
}

static void test_strangers(void **state)
{
    (void)state;
    char *said = child_errors(count_strangers);
    char *first = strstr(said, "100 datagrams were dropped (forged), the last of them from "
                               "192.168.0.7:4711; ");
    assert_non_null(first);
    assert_null(strstr(strchr(first, '\n'), "dropped"));
    free(said);
    said = child_errors(count_nameless);
    assert_non_null(strstr(said, "200 datagrams were dropped (forged), the last of them from an "
                                 "unknown sender; "));
    free(said);
}

static void test_stats(void **state)
{
    (void)state;
    udp_stats_t one = {.datagrams_out = 12, .resent = 2, .frames_out = 45, .rtt_ns = 12300};
    udp_stats_t sum = {.datagrams_out = 1, .rtt_ns = 5000, .memory = 99};
    udp_unauthenticated_t unauthenticated = {{0}, false};
    char *text;
    size_t size;
    one.drops[UDP_DROP_DUPLICATE] = 3;
    one.drops[UDP_DROP_OLD_EPOCH] = 1;
    unauthenticated.drops[UDP_DROP_FORGED] = 9;
    FILE *out = open_memstream(&text, &size);
    udp_stats_print_peer(out, 4, 7, &one);
    udp_stats_add(&sum, &one);
    udp_stats_print_all(out, 4, &sum, &unauthenticated, &here);
    fclose(out);
    static const char *const parts[] = {
        "udp: rank 4 with rank 7: sent 12 datagrams (2 again), 45 frames (4.50 a datagram), ",
        "round trip 12.3 us; dropped 3 duplicate, 1 old epoch\n",
        "udp: rank 4 in all: sent 13 datagrams (2 again)",
        ("dropped 9 forged, 3 duplicate, 1 old epoch; arrived datagrams took up to 99 "
         "bytes; socket 127.0.0.1:"),
    };
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_non_null(strstr(text, parts[i]));
    assert_int_equal(text[size - 1], '\n');
    free(text);
}

static void test_drop_names(void **state)
{
    (void)state;
    udp_stats_t one = {0};
    char *text;
    size_t size;
    for (unsigned kind = 0; kind < UDP_DROPS; kind++)
        one.drops[kind] = 1;
    FILE *out = open_memstream(&text, &size);
    udp_stats_print_peer(out, 4, 7, &one);
    fclose(out);
    assert_non_null(strstr(text, "1 old epoch"));
    assert_null(strstr(text, "(null)"));
    free(text);
}

#define WITH_BOTH(test) cmocka_unit_test_setup_teardown(test, open_both, close_both)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_address),
        cmocka_unit_test(test_sizes),
        WITH_BOTH(test_open_files),
        WITH_BOTH(test_open),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_no_interface),
        cmocka_unit_test(test_worker),
        cmocka_unit_test(test_every_interface),
        WITH_BOTH(test_one_at_a_time),
        WITH_BOTH(test_peek),
        WITH_BOTH(test_many),
        WITH_BOTH(test_few_calls),
        WITH_BOTH(test_few_at_a_time),
        WITH_BOTH(test_unaligned),
        WITH_BOTH(test_several_peers),
        WITH_BOTH(test_names),
        WITH_BOTH(test_lost),
        WITH_BOTH(test_broken),
        WITH_BOTH(test_unbroken),
        WITH_BOTH(test_nothing_there),
        WITH_BOTH(test_wake),
        WITH_BOTH(test_wake_all),
        cmocka_unit_test(test_with_faults),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_strangers),
        WITH_BOTH(test_stats),
        cmocka_unit_test(test_drop_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
