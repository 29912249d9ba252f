// SPDX-License-Identifier: BSD-3-Clause
// chaos_middle LEFT RIGHT listener|middle RATE SEED: somebody without the key on the cable between
// two hosts. Passes on what arrives at the interface LEFT to RIGHT, and the other way round.
// "listener" passes on everything, and in RATE percent of the cases sends something of its own
// first, as who only hears the network can; "middle" also drops, holds back and replaces datagrams.
// The random numbers follow from SEED. Ends by a signal; on SIGTERM it prints what it did.
//
// Packets have a virtio header in front (PACKET_VNET_HDR), since the kernel hands them over before
// it has cut them into datagrams or has written their checksum.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LONGEST = 70000,
    OLD = 64,      // packets kept for replay
    HELD = 8,      // packets held back at most
    HOLD_MS = 20,  // then those that are held go on
    FRAMES_AT = 40 // payload bytes that a replaced datagram keeps, mostly
};

typedef struct packet {
    int out; // the socket it leaves by
    size_t length;
    uint8_t bytes[LONGEST]; // virtio header, Ethernet, IP, UDP, payload
} packet_t;

static int sides[2];
static packet_t old[OLD], held[HELD];
static unsigned old_count, held_count;
static uint64_t random_state;
static bool in_between;
static uint32_t rate;
static unsigned long passed, dropped, replaced, replayed, delayed;
static volatile sig_atomic_t over;

static void fail(const char *what)
{
    fprintf(stderr, "chaos_middle: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint32_t below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

static int open_side(const char *name)
{
    const int one = 1;
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    at.sll_ifindex = (int)if_nametoindex(name);
    if (fd < 0 || at.sll_ifindex == 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof one) ||
        bind(fd, (struct sockaddr *)&at, sizeof at))
        fail(name);
    return fd;
}

static void emit(const packet_t *packet)
{
    while (send(packet->out, packet->bytes, packet->length, 0) < 0 && errno == EINTR)
        continue;
}

// Where the payload of a datagram begins; 0: this is no UDP over IPv4.
static size_t payload_at(const packet_t *packet)
{
    const size_t ip_at = sizeof(struct virtio_net_hdr) + ETH_HLEN;
    struct iphdr ip;
    uint16_t type;
    if (packet->length < ip_at + sizeof ip + sizeof(struct udphdr))
        return 0;
    memcpy(&type, packet->bytes + ip_at - 2, sizeof type);
    memcpy(&ip, packet->bytes + ip_at, sizeof ip);
    if (type != htons(ETH_P_IP) || ip.protocol != IPPROTO_UDP)
        return 0;
    return ip_at + ip.ihl * 4u + sizeof(struct udphdr);
}

// A checksum that is there already would give the change away: 0 stands for none.
static void drop_checksum(packet_t *packet, size_t payload)
{
    struct virtio_net_hdr front;
    memcpy(&front, packet->bytes, sizeof front);
    if (!(front.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
        memset(packet->bytes + payload - 2, 0, 2);
}

// Up to 4 bytes behind the front of the datagram are others, now and then one in it.
static void change(packet_t *packet, size_t payload)
{
    size_t from = payload + (below(4) ? FRAMES_AT : 0);
    if (packet->length <= from)
        from = payload;
    if (packet->length <= from)
        return;
    for (uint32_t n = 1 + below(4); n > 0; n--)
        packet->bytes[from + below((uint32_t)(packet->length - from))] ^= (uint8_t)(1 + below(255));
    drop_checksum(packet, payload);
}

static void remember(const packet_t *packet)
{
    packet_t *place = &old[old_count++ % OLD];
    place->out = packet->out;
    place->length = packet->length;
    memcpy(place->bytes, packet->bytes, packet->length);
}

static void replay(void)
{
    if (old_count == 0)
        return;
    emit(&old[below(old_count < OLD ? old_count : OLD)]);
    replayed++;
}

// A forgery that arrives before the original, as it is or with changed contents.
static void forge(const packet_t *packet, size_t payload)
{
    static packet_t copy;
    copy.out = packet->out;
    copy.length = packet->length;
    memcpy(copy.bytes, packet->bytes, packet->length);
    change(&copy, payload);
    emit(&copy);
    replaced++;
}

static void release_held(void)
{
    while (held_count > 0) { // the last one first
        emit(&held[--held_count]);
        delayed++;
    }
}

static bool hold(const packet_t *packet)
{
    if (held_count == HELD) {
        release_held();
        return false;
    }
    packet_t *place = &held[held_count++];
    place->out = packet->out;
    place->length = packet->length;
    memcpy(place->bytes, packet->bytes, packet->length);
    return true;
}

static bool chance(void)
{
    return below(100) < rate;
}

static void treat(packet_t *packet)
{
    size_t payload = payload_at(packet);
    if (payload == 0) {
        emit(packet);
        return;
    }
    remember(packet);
    if (chance())
        replay();
    if (chance())
        forge(packet, payload);
    if (in_between && chance()) {
        dropped++;
        return;
    }
    if (in_between && chance() && hold(packet))
        return;
    emit(packet);
    passed++;
}

static void take(int from, int to)
{
    static packet_t packet;
    struct sockaddr_ll address;
    socklen_t size = sizeof address;
    ssize_t length =
        recvfrom(from, packet.bytes, sizeof packet.bytes, 0, (struct sockaddr *)&address, &size);
    if (length <= 0 || address.sll_pkttype == PACKET_OUTGOING)
        return;
    packet.out = to;
    packet.length = (size_t)length;
    treat(&packet);
}

static void end(int sig)
{
    (void)sig;
    over = 1;
}

static void pass_on(void)
{
    while (!over) {
        struct pollfd ready[2] = {{sides[0], POLLIN, 0}, {sides[1], POLLIN, 0}};
        if (poll(ready, 2, HOLD_MS) == 0)
            release_held();
        for (int i = 0; i < 2; i++)
            if (ready[i].revents)
                take(sides[i], sides[1 - i]);
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "chaos_middle: see the head of chaos_middle.c\n");
        return 2;
    }
    sides[0] = open_side(argv[1]);
    sides[1] = open_side(argv[2]);
    in_between = strcmp(argv[3], "middle") == 0;
    rate = (uint32_t)strtoul(argv[4], NULL, 10);
    random_state = strtoull(argv[5], NULL, 10);
    signal(SIGTERM, end);
    printf("ready\n");
    fflush(stdout);
    pass_on();
    printf("%lu passed, %lu dropped, %lu replaced, %lu replayed, %lu delayed\n", passed, dropped,
           replaced, replayed, delayed);
    return 0;
}
