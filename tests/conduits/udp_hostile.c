// udp_hostile MODE N COMMAND...: runs a job of conduit udp, authenticated by MODE
// (GASNET_UDP_AUTH), in a network of its own in which somebody sits in between: every datagram of
// the job ends at a firewall, and reaches its receiver only as this program forwards it. It plays
// tricks with N of them:
//
//     forge first     a forgery, then the original
//     replace         a forgery, and the original is lost
//     replay          the original, then one that was heard before, now or long ago
//     drop            nothing
//     overtake        the original, after the next one
//
// A forgery keeps what the attacker cannot compute (the proof) and changes what is worth changing:
// other frames behind a genuine header, a put to another place, bytes anywhere, a cut, noise. In
// mode header, payloads are left as they are, since that mode leaves them to the attacker. In mode
// token the attacker hears nothing (as another user of the host): its forgeries have another token.
//
// The job repeats until N tricks were played. It has to end with code 0 each time: so its own
// checks find what gets through. And its counters (GASNET_STATS) have to tell of the forgeries and
// replays. Exits with the job's code, with 1 when a counter is wrong, with 77 where no such network
// can be made.
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
    OLD = 256,
    LONGEST = 65536,
    PROOF = 16,      // bytes at the front of a datagram (docs/wire-udp.md)
    AT_KIND = 17,    // kind and flags
    HEAD_LEAST = 56, // of a header
    AT_PACKET = 32,  // the packet number
    TRICK_EVERY = 4, // datagrams
    EAR_BYTES = 64 << 20,
};

typedef struct heard {
    size_t length;
    struct sockaddr_in to;
    uint8_t bytes[LONGEST];
} heard_t;

static heard_t old[OLD]; // heard long ago
static heard_t held;     // is to be overtaken; length 0: none
static uint64_t seed = 1;
static int ear, mouth;
static in_port_t own_port;
static const char *mode;
static struct {
    unsigned long tricks, forged, replayed, dropped, overtaken, forwarded;
} sent;
static struct {
    unsigned long forged, replayed; // as the job's counters tell
} told;

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
        fail("the interface lo of the new network");
    close(fd);
}

static void sockets_open(void)
{
    struct sockaddr_in here = {.sin_family = AF_INET};
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof here;
    int bytes = EAR_BYTES;
    ear = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(ETH_P_IP));
    mouth = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (ear < 0 || mouth < 0 || bind(mouth, (struct sockaddr *)&here, sizeof here) ||
        getsockname(mouth, (struct sockaddr *)&here, &length))
        fail("sockets");
    if (setsockopt(ear, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes))
        (void)setsockopt(ear, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    own_port = here.sin_port;
}

// Behind the ear, and in front of all sockets.
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

// The next datagram of the job.
static bool hear(heard_t *heard)
{
    static uint8_t packet[LONGEST];
    struct sockaddr_ll from;
    socklen_t size = sizeof from;
    ssize_t length = recvfrom(ear, packet, sizeof packet, 0, (struct sockaddr *)&from, &size);
    if (length < (ssize_t)(sizeof(struct iphdr) + sizeof(struct udphdr)) ||
        from.sll_pkttype == PACKET_OUTGOING)
        return false;
    struct iphdr ip;
    struct udphdr udp;
    memcpy(&ip, packet, sizeof ip);
    memcpy(&udp, packet + ip.ihl * 4u, sizeof udp);
    if (ip.protocol != IPPROTO_UDP || udp.source == own_port)
        return false;
    heard->length = (size_t)length - ip.ihl * 4u - sizeof udp;
    memcpy(heard->bytes, packet + ip.ihl * 4u + sizeof udp, heard->length);
    heard->to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = udp.dest};
    heard->to.sin_addr.s_addr = ip.daddr;
    return heard->length > 0;
}

static void say(const heard_t *what, const uint8_t *bytes, size_t length)
{
    (void)sendto(mouth, bytes, length, 0, (const struct sockaddr *)&what->to, sizeof what->to);
}

static void forward(const heard_t *heard)
{
    say(heard, heard->bytes, heard->length);
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
    return HEAD_LEAST + acks * (kind & 8 ? 24 : 16);
}

// A put to another place, of the class of the datagram or not, in front of all that is there.
static void put_front(uint8_t *frame, size_t room)
{
    const uint64_t place = below(2) ? UINT64_C(1) << 56 : (uintptr_t)&seed;
    const uint32_t nbytes = (uint32_t)room - 16;
    memcpy(frame, (const uint8_t[]){4, 0, 0, 0}, 4);
    memcpy(frame + 4, &nbytes, sizeof nbytes);
    memcpy(frame + 8, &place, sizeof place);
}

// Where a forger may change a byte: in mode header not in payloads, of which only the front of
// the first frame is known to be none.
static size_t altered_most(const uint8_t *copy, size_t length)
{
    const size_t front = header_bytes(copy) + 8;
    return is_mode("header") && front < length ? front : length;
}

static void flip(uint8_t *copy, size_t length)
{
    for (uint32_t n = 1 + below(3); n; n--) {
        size_t at = below((uint32_t)altered_most(copy, length));
        if (at >= 8 && at < PROOF)
            at = AT_PACKET; // the second half of the proof is not used in all modes
        copy[at] ^= (uint8_t)(1 + below(255));
    }
}

// One that differs in any case from what was heard.
static void forge(const heard_t *heard)
{
    static uint8_t copy[LONGEST];
    size_t length = heard->length, head = HEAD_LEAST;
    memcpy(copy, heard->bytes, length);
    if (length >= HEAD_LEAST)
        head = header_bytes(copy);
    const uint32_t kind = below(4);
    if (kind == 0 && length > head + 24)
        put_front(copy + head, length - head);
    else if (kind == 1)
        length = below((uint32_t)length);
    else if (kind == 2)
        for (size_t i = 0; i < length; i++)
            copy[i] = (uint8_t)below(256);
    else
        flip(copy, length);
    if (is_mode("token") && length >= 8)
        for (size_t i = 0; i < 8; i++)
            copy[i] = (uint8_t)below(256);
    say(heard, copy, length);
    sent.forged++;
}

// ---- tricks ----

static void forge_first(const heard_t *heard)
{
    forge(heard);
    forward(heard);
}

static void replace(const heard_t *heard)
{
    forge(heard);
    sent.dropped++;
}

static void replay(const heard_t *heard)
{
    const heard_t *earlier = below(2) ? heard : &old[below(OLD)];
    forward(heard);
    if (!earlier->length)
        return;
    say(earlier, earlier->bytes, earlier->length);
    sent.replayed++;
}

static void drop(const heard_t *heard)
{
    (void)heard;
    sent.dropped++;
}

static void overtake(const heard_t *heard)
{
    if (held.length)
        forward(&held);
    held = *heard;
    sent.overtaken++;
}

static void play(const heard_t *heard, unsigned long wanted)
{
    static void (*const tricks[])(const heard_t *) = {forge_first, replace, replay, drop, overtake};
    const bool trick = sent.tricks < wanted && below(TRICK_EVERY) == 0;
    const bool overtaken = held.length > 0;
    if (trick)
        tricks[below(sizeof tricks / sizeof tricks[0])](heard);
    else
        forward(heard);
    sent.tricks += trick;
    if (overtaken && held.length && (!trick || memcmp(&held, heard, sizeof held) != 0)) {
        forward(&held);
        held.length = 0;
    }
    if (below(16) == 0)
        old[below(OLD)] = *heard;
}

// ---- the job ----

typedef struct job {
    pid_t pid;
    int said; // its standard error
    char line[4096];
    size_t length;
} job_t;

static job_t job_start(char **command)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        fail("pipe");
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 2);
        setenv("GASNET_UDP_AUTH", mode, 1);
        setenv("GASNET_STATS", "1", 1);
        execvp(command[0], command);
        fail(command[0]);
    }
    close(ends[1]);
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return (job_t){.pid = pid, .said = ends[0]};
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
    static const char *const unauthentic[] = {" forged",    " truncated", " other version",
                                              " malformed", " other job", " for another rank"};
    fprintf(stderr, "%s\n", line);
    if (!strstr(line, " in all: "))
        return;
    for (unsigned i = 0; i < sizeof unauthentic / sizeof unauthentic[0]; i++)
        told.forged += number_before(line, unauthentic[i]);
}

static void peer_line_read(const char *line)
{
    if (strstr(line, "udp: rank ") && strstr(line, " with rank "))
        told.replayed += number_before(line, " replayed");
}

static void job_listen(job_t *job)
{
    char byte;
    while (read(job->said, &byte, 1) == 1) {
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

// Returns the status of the job.
static int job_attack(char **command, unsigned long wanted)
{
    static heard_t heard;
    int status;
    job_t job = job_start(command);
    struct pollfd fds[] = {{.fd = ear, .events = POLLIN}, {.fd = job.said, .events = POLLIN}};
    while (waitpid(job.pid, &status, WNOHANG) == 0) {
        if (poll(fds, 2, 20) == 0 && held.length) {
            forward(&held);
            held.length = 0;
        }
        for (unsigned i = 0; i < 64 && hear(&heard); i++)
            play(&heard, wanted);
        job_listen(&job);
    }
    while (hear(&heard))
        ;
    held.length = 0;
    job_listen(&job);
    close(job.said);
    return status;
}

// Some of what was sent is lost in full sockets, and at the end of a job.
static int check_counters(unsigned long jobs)
{
    printf("%lu jobs: %lu forwarded, %lu forged (%lu told), %lu replayed (%lu told), %lu dropped, "
           "%lu overtaken\n",
           jobs, sent.forwarded, sent.forged, told.forged, sent.replayed, told.replayed,
           sent.dropped, sent.overtaken);
    if (told.forged * 10 < sent.forged * 9 || told.replayed * 10 < sent.replayed * 9) {
        printf("the counters tell of less than nine in ten that were sent\n");
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long wanted = argc > 3 ? strtoul(argv[2], NULL, 10) : 0, jobs = 0;
    int status = 0;
    if (!wanted) {
        fprintf(stderr, "use: udp_hostile MODE N COMMAND...\n");
        return 2;
    }
    mode = argv[1];
    network_make();
    sockets_open();
    firewall_raise();
    for (; sent.tricks < wanted && status == 0; jobs++)
        status = job_attack(argv + 3, wanted);
    if (WIFEXITED(status) && WEXITSTATUS(status))
        return WEXITSTATUS(status);
    return WIFEXITED(status) ? check_counters(jobs) : 1;
}
