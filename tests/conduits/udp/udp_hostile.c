// SPDX-License-Identifier: BSD-3-Clause
// udp_hostile MODE N COMMAND...: runs a job of conduit udp, authenticated by MODE
// (GASNET_UDP_AUTH), in a network namespace with a man in the middle: a firewall drops every
// datagram of the job, and this program forwards it to its receiver. It attacks N of the datagrams:
//
//     forge first     sends a forgery, then the original
//     replace         sends a forgery instead of the original
//     replay          sends the original, then the same datagram again or an old one
//     drop            sends nothing
//     overtake        sends the original after the next datagram
//
// A forgery keeps what the attacker cannot compute (the proof) and changes the rest: other frames
// behind a genuine header, a put to another address, any bytes, a shorter length, noise. In mode
// header, forgeries do not change payloads, because that mode does not protect payloads. In mode
// token the attacker cannot read datagrams (as another user of the host), so that forgeries have a
// random token.
//
// The job is repeated until N attacks were made. It must end with code 0 each time: the job's own
// checks detect an attack that succeeds. The job's counters (GASNET_STATS) must include the
// forgeries and replays. Exits with the job's code, with 1 if a counter is wrong, and with 77 if
// such a network cannot be made.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OLD = 256, // datagrams that are kept for replays
    LONGEST = 65536,
    PROOF = 16,       // bytes at the front of a datagram (docs/wire-udp.md)
    AT_KIND = 17,     // kind and flags
    HEAD_MIN = 56,    // of a header
    AT_PACKET = 32,   // the packet number
    ATTACK_EVERY = 4, // datagrams, on average
    SNIFFER_BYTES = 64 << 20,
};

typedef struct datagram {
    size_t length;
    struct sockaddr_in to;
    uint8_t bytes[LONGEST];
} datagram_t;

static datagram_t old[OLD]; // received long ago
static datagram_t held;     // waits until the next datagram overtakes it; length 0: none
static uint64_t seed = 1;
static int sniffer, sender;
static in_port_t own_port;
static const char *mode;
static struct {
    unsigned long attacks, forged, replayed, dropped, overtaken, forwarded;
} sent;
static struct {
    unsigned long forged, replayed; // by the job's counters
} counted;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static void fail_with_errno(const char *what)
{
    fprintf(stderr, "udp_hostile: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void no_network(const char *why)
{
    printf("no network with a firewall can be made: %s\n", why);
    exit(77);
}

// ---- the network ----

static void network_make(void)
{
    if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
        no_network(strerror(errno));
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo))
        fail_with_errno("the interface lo of the new network");
    close(fd);
}

static void sockets_open(void)
{
    struct sockaddr_in here = {.sin_family = AF_INET};
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof here;
    int bytes = SNIFFER_BYTES;
    sniffer = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_IP));
    sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sniffer < 0 || sender < 0 || bind(sender, (struct sockaddr *)&here, sizeof here) ||
        getsockname(sender, (struct sockaddr *)&here, &length))
        fail_with_errno("sockets");
    if (setsockopt(sniffer, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes))
        (void)setsockopt(sniffer, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    own_port = here.sin_port;
}

// Drops datagrams behind the packet socket `sniffer` and in front of all sockets of the job.
static void firewall_raise(void)
{
    char rules[256];
    snprintf(rules, sizeof rules,
             "PATH=$PATH:/usr/sbin:/sbin nft 'table ip hostile { chain input { type filter hook "
             "input priority 0; udp sport != %u drop; }; }' 2>/dev/null",
             ntohs(own_port));
    if (system(rules) != 0)
        no_network("nft is missing (package nftables), or the kernel does not allow it");
}

// Receives the next datagram of the job; returns false if there is none.
static bool receive_datagram(datagram_t *datagram)
{
    static uint8_t packet[LONGEST];
    struct sockaddr_ll from;
    socklen_t size = sizeof from;
    ssize_t length = recvfrom(sniffer, packet, sizeof packet, 0, (struct sockaddr *)&from, &size);
    if (length < (ssize_t)(sizeof(struct iphdr) + sizeof(struct udphdr)) ||
        from.sll_pkttype == PACKET_OUTGOING)
        return false;
    struct iphdr ip;
    struct udphdr udp;
    memcpy(&ip, packet, sizeof ip);
    memcpy(&udp, packet + ip.ihl * 4u, sizeof udp);
    if (ip.protocol != IPPROTO_UDP || udp.source == own_port)
        return false;
    datagram->length = (size_t)length - ip.ihl * 4u - sizeof udp;
    memcpy(datagram->bytes, packet + ip.ihl * 4u + sizeof udp, datagram->length);
    datagram->to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = udp.dest};
    datagram->to.sin_addr.s_addr = ip.daddr;
    return datagram->length > 0;
}

static void send_to_receiver(const datagram_t *what, const uint8_t *bytes, size_t length)
{
    (void)sendto(sender, bytes, length, 0, (const struct sockaddr *)&what->to, sizeof what->to);
}

static void forward_datagram(const datagram_t *datagram)
{
    send_to_receiver(datagram, datagram->bytes, datagram->length);
    sent.forwarded++;
}

// ---- forgeries ----

static bool is_mode(const char *name)
{
    return strcmp(mode, name) == 0;
}

static size_t header_bytes(const uint8_t *datagram)
{
    const uint8_t kind = datagram[AT_KIND];
    const size_t acks = (kind >> 5 & 1) + (kind >> 6 & 1);
    return HEAD_MIN + acks * (kind & 8 ? 24 : 16);
}

// Overwrites the first frame by a put to another address, which may have the wrong class for the
// datagram.
static void forge_put(uint8_t *frame, size_t room)
{
    const uint64_t place = random_below(2) ? UINT64_C(1) << 56 : (uintptr_t)&seed;
    const uint32_t nbytes = (uint32_t)room - 16;
    memcpy(frame, (const uint8_t[]){4, 0, 0, 0}, 4);
    memcpy(frame + 4, &nbytes, sizeof nbytes);
    memcpy(frame + 8, &place, sizeof place);
}

// Returns how many bytes from the start a forgery may change. In mode header, payloads must stay as
// they are, and only the header and the front of the first frame certainly contain no payload.
static size_t alterable_bytes(const uint8_t *copy, size_t length)
{
    const size_t front = header_bytes(copy) + 8;
    return is_mode("header") && front < length ? front : length;
}

static void change_bytes(uint8_t *copy, size_t length)
{
    for (uint32_t n = 1 + random_below(3); n; n--) {
        size_t at = random_below((uint32_t)alterable_bytes(copy, length));
        if (at >= 8 && at < PROOF)
            at = AT_PACKET; // some modes do not use the second half of the proof
        copy[at] ^= (uint8_t)(1 + random_below(255));
    }
}

// Sends a forgery that differs from the datagram.
static void send_forgery(const datagram_t *datagram)
{
    static uint8_t copy[LONGEST];
    size_t length = datagram->length, head = HEAD_MIN;
    memcpy(copy, datagram->bytes, length);
    if (length >= HEAD_MIN)
        head = header_bytes(copy);
    const uint32_t kind = random_below(4);
    if (kind == 0 && length > head + 24)
        forge_put(copy + head, length - head);
    else if (kind == 1)
        length = random_below((uint32_t)length);
    else if (kind == 2)
        for (size_t i = 0; i < length; i++)
            copy[i] = (uint8_t)random_below(256);
    else
        change_bytes(copy, length);
    if (is_mode("token") && length >= 8)
        for (size_t i = 0; i < 8; i++)
            copy[i] = (uint8_t)random_below(256);
    send_to_receiver(datagram, copy, length);
    sent.forged++;
}

// ---- tricks ----

static void attack_by_forgery_first(const datagram_t *datagram)
{
    send_forgery(datagram);
    forward_datagram(datagram);
}

static void attack_by_replacing(const datagram_t *datagram)
{
    send_forgery(datagram);
    sent.dropped++;
}

static void attack_by_replay(const datagram_t *datagram)
{
    const datagram_t *earlier = random_below(2) ? datagram : &old[random_below(OLD)];
    forward_datagram(datagram);
    if (!earlier->length)
        return;
    send_to_receiver(earlier, earlier->bytes, earlier->length);
    sent.replayed++;
}

static void attack_by_dropping(const datagram_t *datagram)
{
    (void)datagram;
    sent.dropped++;
}

static void attack_by_reordering(const datagram_t *datagram)
{
    if (held.length)
        forward_datagram(&held);
    held = *datagram;
    sent.overtaken++;
}

static void attack_or_forward(const datagram_t *datagram, unsigned long wanted)
{
    static void (*const attacks[])(const datagram_t *) = {attack_by_forgery_first,
                                                          attack_by_replacing, attack_by_replay,
                                                          attack_by_dropping, attack_by_reordering};
    const bool attack = sent.attacks < wanted && random_below(ATTACK_EVERY) == 0;
    const bool overtaken = held.length > 0;
    if (attack)
        attacks[random_below(sizeof attacks / sizeof attacks[0])](datagram);
    else
        forward_datagram(datagram);
    sent.attacks += attack;
    if (overtaken && held.length && (!attack || memcmp(&held, datagram, sizeof held) != 0)) {
        forward_datagram(&held);
        held.length = 0;
    }
    if (random_below(16) == 0)
        old[random_below(OLD)] = *datagram;
}

// ---- the job ----

typedef struct job {
    pid_t pid;
    int errors; // reads the standard error of the job
    char line[4096];
    size_t length;
} job_t;

static job_t job_start(char **command)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        fail_with_errno("pipe");
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 2);
        setenv("GASNET_UDP_AUTH", mode, 1);
        setenv("GASNET_STATS", "1", 1);
        setenv("CONFORM_HOSTILE", "1", 1); // datagrams will be forged
        execvp(command[0], command);
        fail_with_errno(command[0]);
    }
    close(ends[1]);
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return (job_t){.pid = pid, .errors = ends[0]};
}

static unsigned long number_before(const char *line, const char *name)
{
    const char *at = strstr(line, name);
    while (at && at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at ? strtoul(at, NULL, 10) : 0;
}

static void line_read(const char *line)
{
    static const char *const unauthentic[] = {" forged",       " truncated", " other version",
                                              " malformed",    " other job", " for another rank",
                                              " not connected"};
    fprintf(stderr, "%s\n", line);
    if (!strstr(line, " in all: "))
        return;
    for (unsigned i = 0; i < sizeof unauthentic / sizeof unauthentic[0]; i++)
        counted.forged += number_before(line, unauthentic[i]);
}

static void peer_line_read(const char *line)
{
    if (strstr(line, "udp: rank ") && strstr(line, " with rank "))
        counted.replayed += number_before(line, " replayed");
}

static void job_listen(job_t *job)
{
    char byte;
    while (read(job->errors, &byte, 1) == 1) {
        if (byte != '\n' && job->length < sizeof job->line - 1) {
            job->line[job->length++] = byte;
            continue;
        }
        job->line[job->length] = '\0';
        job->length = 0;
        line_read(job->line);
        peer_line_read(job->line);
    }
}

// Runs the job once and attacks its datagrams. Returns the wait status of the job.
static int job_attack(char **command, unsigned long wanted)
{
    static datagram_t datagram;
    int status;
    job_t job = job_start(command);
    struct pollfd fds[] = {{.fd = sniffer, .events = POLLIN}, {.fd = job.errors, .events = POLLIN}};
    while (waitpid(job.pid, &status, WNOHANG) == 0) {
        if (poll(fds, 2, 20) == 0 && held.length) {
            forward_datagram(&held);
            held.length = 0;
        }
        for (unsigned i = 0; i < 64 && receive_datagram(&datagram); i++)
            attack_or_forward(&datagram, wanted);
        job_listen(&job);
    }
    while (receive_datagram(&datagram))
        ;
    held.length = 0;
    job_listen(&job);
    close(job.errors);
    return status;
}

// Compares the job's counters with the attacks. One in ten may be missing: full sockets and the end
// of a job lose some datagrams.
static int check_counters(unsigned long jobs)
{
    printf("%lu jobs: %lu forwarded, %lu forged (%lu counted), %lu replayed (%lu counted), %lu "
           "dropped, "
           "%lu overtaken\n",
           jobs, sent.forwarded, sent.forged, counted.forged, sent.replayed, counted.replayed,
           sent.dropped, sent.overtaken);
    if (counted.forged * 10 < sent.forged * 9 || counted.replayed * 10 < sent.replayed * 9) {
        printf("the job's counters include fewer than nine in ten of the attacks\n");
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long wanted = argc > 3 ? strtoul(argv[2], NULL, 10) : 0, jobs = 0;
    int status = 0;
    if (!wanted) {
        fprintf(stderr, "usage: udp_hostile MODE N COMMAND...\n");
        return 2;
    }
    mode = argv[1];
    network_make();
    sockets_open();
    firewall_raise();
    for (; sent.attacks < wanted && status == 0; jobs++)
        status = job_attack(argv + 3, wanted);
    if (WIFEXITED(status) && WEXITSTATUS(status))
        return WEXITSTATUS(status);
    return WIFEXITED(status) ? check_counters(jobs) : 1;
}
