// udp_hostile N COMMAND...: runs a job of conduit udp in a network of its own, beside somebody who
// hears every datagram of it and sends to the same sockets: the same again, at once and much later,
// with bytes changed, cut short, and noise; and empty ones and mere beginnings beside each datagram
// that is large, since the receiver looks at the head of those first. Runs the command until N such
// datagrams were sent; exits with the first code of it that is not 0, with 1 when no large datagram
// was heard, with 77 where the kernel allows no network namespace.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OLD = 256,
    LONGEST = 65536,
    BURST = 8,
    HEAD = 40,    // bytes that a forger changes rather than others
    LARGE = 4096, // payload of a put or get that travels alone
};

typedef struct heard {
    size_t length;
    struct sockaddr_in to;
    uint8_t bytes[LONGEST];
} heard_t;

static heard_t old[OLD]; // heard long ago
static uint64_t seed = 1;
static int ear, mouth;
static in_port_t own_port;

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static void fail(const char *what)
{
    fprintf(stderr, "udp_hostile: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void make_network(void)
{
    if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
        printf("no network namespace can be made: %s\n", strerror(errno));
        exit(77);
    }
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo))
        fail("the interface lo of the new network");
    close(fd);
}

static void open_sockets(void)
{
    struct sockaddr_in here = {.sin_family = AF_INET};
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof here;
    ear = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_IP));
    mouth = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (ear < 0 || mouth < 0 || bind(mouth, (struct sockaddr *)&here, sizeof here) ||
        getsockname(mouth, (struct sockaddr *)&here, &length))
        fail("sockets");
    own_port = here.sin_port;
}

// The next datagram of the job.
static int hear(heard_t *heard)
{
    uint8_t packet[LONGEST];
    struct sockaddr_ll from;
    socklen_t size = sizeof from;
    ssize_t length = recvfrom(ear, packet, sizeof packet, 0, (struct sockaddr *)&from, &size);
    if (length < (ssize_t)(sizeof(struct iphdr) + sizeof(struct udphdr)) ||
        from.sll_pkttype == PACKET_OUTGOING)
        return 0;
    struct iphdr ip;
    struct udphdr udp;
    memcpy(&ip, packet, sizeof ip);
    memcpy(&udp, packet + ip.ihl * 4u, sizeof udp);
    if (ip.protocol != IPPROTO_UDP || udp.source == own_port)
        return 0;
    heard->length = (size_t)length - ip.ihl * 4u - sizeof udp;
    memcpy(heard->bytes, packet + ip.ihl * 4u + sizeof udp, heard->length);
    heard->to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = udp.dest};
    heard->to.sin_addr.s_addr = ip.daddr;
    return 1;
}

static void say(const heard_t *what, const uint8_t *bytes, size_t length)
{
    (void)sendto(mouth, bytes, length, 0, (const struct sockaddr *)&what->to, sizeof what->to);
}

// A copy with up to 3 bytes changed, or cut, or noise.
static void forge(const heard_t *heard)
{
    static uint8_t copy[LONGEST];
    size_t length = heard->length;
    memcpy(copy, heard->bytes, length);
    uint32_t kind = below(4);
    if (kind == 0)
        length = below((uint32_t)length + 1);
    for (uint32_t n = kind == 0 ? 0 : 1 + below(3); n; n--)
        copy[below(kind == 1 ? HEAD : (uint32_t)length)] ^= (uint8_t)(1 + below(255));
    for (size_t i = 0; kind == 3 && i < length; i++)
        copy[i] = (uint8_t)below(256);
    say(heard, copy, length);
}

// Right behind a large datagram, in front of the next one: nothing at all, and a head without the
// rest.
static unsigned long cut_short(const heard_t *heard)
{
    if (heard->length < LARGE)
        return 0;
    say(heard, heard->bytes, 0);
    say(heard, heard->bytes, 1 + below(HEAD));
    return 2;
}

static unsigned long attack(const heard_t *heard)
{
    heard_t *kept = &old[below(OLD)];
    say(heard, heard->bytes, heard->length);
    for (unsigned i = 0; i < BURST; i++) {
        const heard_t *earlier = &old[below(OLD)];
        if (earlier->length)
            say(earlier, earlier->bytes, earlier->length);
        forge(heard);
    }
    if (below(16) == 0)
        *kept = *heard;
    return 1 + 2 * BURST;
}

int main(int argc, char **argv)
{
    static heard_t heard;
    unsigned long wanted = argc > 2 ? strtoul(argv[1], NULL, 10) : 0, sent = 0, cut = 0, jobs = 0;
    int status = 0;
    if (!wanted) {
        fprintf(stderr, "use: udp_hostile N COMMAND...\n");
        return 2;
    }
    make_network();
    open_sockets();
    while (sent < wanted && status == 0) {
        pid_t job = fork();
        if (job == 0) {
            execvp(argv[2], argv + 2);
            fail(argv[2]);
        }
        jobs++;
        while (waitpid(job, &status, WNOHANG) == 0)
            if (hear(&heard) && heard.length && sent < wanted) {
                cut += cut_short(&heard);
                sent += attack(&heard);
            }
        while (hear(&heard))
            ;
    }
    printf("%lu datagrams sent to the sockets of %lu jobs, and %lu beside large ones\n", sent, jobs,
           cut);
    if (WIFEXITED(status) && WEXITSTATUS(status))
        return WEXITSTATUS(status);
    return WIFEXITED(status) && cut ? 0 : 1;
}
