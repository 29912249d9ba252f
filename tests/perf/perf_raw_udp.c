/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limits of UDP on this machine, without GASNet: a round trip of a datagram between two
 * processes that spin on connected sockets, and a stream of large datagrams.
 */
#include "perf.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* PING is the size of a Short over conduit udp. IN_FLIGHT datagrams fit into the caches. */
enum { PING = 64, BULK = 65000, IN_FLIGHT = 4, BUFFER = 1 << 22 };

static int here, there; /* the sockets of the parent and of the child */
static char bytes_out[BULK], bytes_in[BULK];

static int open_socket(struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    int buffer = BUFFER;
    socklen_t length = sizeof *address;

    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || bind(fd, (struct sockaddr *)address, length) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &length) != 0)
        aq_perf_raw_die("open a UDP socket");
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) != 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    return fd;
}

static void open_pair(void)
{
    struct sockaddr_in a, b;

    here = open_socket(&a);
    there = open_socket(&b);
    if (connect(here, (struct sockaddr *)&b, sizeof b) != 0 ||
        connect(there, (struct sockaddr *)&a, sizeof a) != 0)
        aq_perf_raw_die("connect two UDP sockets");
}

static void send_all(int fd, size_t bytes)
{
    while (send(fd, bytes_out, bytes, 0) < 0)
        ;
}

static size_t receive_datagram(int fd)
{
    ssize_t got;

    do
        got = recv(fd, bytes_in, sizeof bytes_in, 0);
    while (got < 0);
    return (size_t)got;
}

/* Echoes a PING, answers a larger datagram by one byte, and exits on an empty one. */
static void child_loop(void)
{
    for (;;) {
        size_t got = receive_datagram(there);
        if (got == 0)
            _exit(0);
        send_all(there, got > PING ? 1 : got);
    }
}

static double ping_batch(size_t bytes, unsigned long n)
{
    double start = aq_perf_now();

    for (unsigned long i = 0; i < n; i++) {
        send_all(here, bytes);
        receive_datagram(here);
    }
    return aq_perf_now() - start;
}

static double stream_batch(size_t bytes, unsigned long n)
{
    double start = aq_perf_now();

    for (unsigned long sent = 0, answered = 0; answered < n; answered++) {
        for (; sent < n && sent < answered + IN_FLIGHT; sent++)
            send_all(here, bytes);
        receive_datagram(here);
    }
    return aq_perf_now() - start;
}

void aq_perf_raw_udp(size_t bytes)
{
    (void)bytes;
    open_pair();
    aq_perf_child_t child = aq_perf_raw_child(child_loop, false);
    aq_perf_report("raw-udp", PING, 1e6 * aq_perf_measure(ping_batch, PING), "us");
    aq_perf_report("raw-udp-bw", BULK, 1e-6 * BULK / aq_perf_measure(stream_batch, BULK), "MB/s");
    send_all(here, 0);
    aq_perf_raw_child_end(child);
    close(here);
    close(there);
}
