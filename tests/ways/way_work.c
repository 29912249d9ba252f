// SPDX-License-Identifier: BSD-3-Clause
// Two ranks go the ways that docs/ARCHITECTURE.md describes, each part of a way between way_begin
// and way_end, so that a debugger sees where it begins and ends (tests/ways/ways.py).
//
//     gasnetrun_smp -n 2 way_work send    a Short of rank 0 and its reply
//     gasnetrun_udp -n 2 way_work put     a blocking put of rank 0, of 8 bytes
//
// The ranks take turns outside of the library, by the FIFOs turn.0 and turn.1 in this folder: what
// a part waits for is there when it begins. Before the parts nothing is owed to the other rank, and
// the clock stands still in them, however long a debugger takes: no timer of the library is due.
#define _GNU_SOURCE    // recvmmsg
#undef _FORTIFY_SOURCE // would define recv inline
#include <gasnetex.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLED_BY_LIBRARY __attribute__((visibility("default")))
#define NS_PER_S 1000000000

enum {
    REQUEST = GEX_AM_INDEX_BASE,
    REPLY,
    ROUNDS = 4,
    PUTS = 8,
    QUIET_TURNS = 4,
    QUIET_POLLS = 3,
    QUIET_NS = 100000000, // longer than an acknowledgement waits
    SEGMENT_BYTES = 65536,
};

static gex_TM_t team;
static gex_Rank_t me;
static int turns[2]; // the FIFOs
static volatile int requests, replies;
static int messages;         // that rank 0 has sent, or that rank 1 expects
static long long stopped_at; // the clock, in ns; 0: it goes
static long long behind;     // the system's clock, in ns
static int64_t value;        // that rank 0 has put, or that rank 1 has seen
static int waits_for_answer; // the part has sent, and received nothing yet
static void *segments[2];    // of the ranks

// ---- The clock ----

static long long system_ns(void)
{
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return (long long)time.tv_sec * NS_PER_S + time.tv_nsec;
}

// In place of the function of the C library, also for the library.
CALLED_BY_LIBRARY int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, time);
    const long long ns = stopped_at ? stopped_at : system_ns() - behind;
    *time = (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    return 0;
}

static void clock_stop(void)
{
    stopped_at = system_ns() - behind;
}

static void clock_continue(void)
{
    behind = system_ns() - stopped_at;
    stopped_at = 0;
}

// ---- Turns ----

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "way_work: rank %u: %s\n", (unsigned)me, what);
    gasnet_exit(1);
}

static void turn_open(int rank)
{
    char name[16];
    snprintf(name, sizeof name, "turn.%d", rank);
    turns[rank] = open(name, O_RDWR);
    check(turns[rank] >= 0, "there is no FIFO for the turns");
}

static void turn_give(void)
{
    check(write(turns[!me], "", 1) == 1, "it cannot give the turn");
}

static void turn_take(void)
{
    char byte;
    check(read(turns[me], &byte, 1) == 1, "it cannot take the turn");
}

static void poll_often(void)
{
    for (int i = 0; i < QUIET_POLLS; i++)
        gasnet_AMPoll();
}

// Stops the clock. What the ranks owe each other, such as acknowledgements, comes and goes. The
// polls of a round are odd in number, so that what only every n-th poll does is not in each round.
static void become_quiet(void)
{
    clock_stop();
    for (int turn = 0; turn < QUIET_TURNS; turn++) {
        if (turn % 2 == (int)me) {
            poll_often();
            stopped_at += QUIET_NS;
            poll_often();
            turn_give();
        } else {
            turn_take();
        }
    }
    gasnet_AMPoll();
}

// ---- Parts ----

__attribute__((noinline)) static void way_begin(const char *part)
{
    __asm__ volatile("" : : "r"(part) : "memory");
}

__attribute__((noinline)) static void way_end(void)
{
    __asm__ volatile("" : : : "memory");
}

// A wait polls in vain once: then the other rank answers.
static ssize_t received(int fd, ssize_t result)
{
    if (result >= 0 || errno != EAGAIN || !waits_for_answer)
        return result;
    waits_for_answer = 0;
    turn_give();
    poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1);
    errno = EAGAIN;
    return result;
}

CALLED_BY_LIBRARY ssize_t recv(int fd, void *bytes, size_t length, int flags)
{
    return received(fd, syscall(SYS_recvfrom, fd, bytes, length, flags, NULL, NULL));
}

CALLED_BY_LIBRARY ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    return received(fd, syscall(SYS_recvmsg, fd, message, flags));
}

CALLED_BY_LIBRARY int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
                               struct timespec *limit)
{
    return (int)received(fd, syscall(SYS_recvmmsg, fd, messages, count, flags, limit));
}

// Polls once, when the other rank has given the turn.
static void poll_part(const char *part)
{
    turn_take();
    way_begin(part);
    gasnet_AMPoll();
    way_end();
}

static void on_request(gex_Token_t token, gex_AM_Arg_t word)
{
    gex_AM_ReplyShort1(token, REPLY, 0, word);
    requests++;
}

static void on_reply(gex_Token_t token, gex_AM_Arg_t word)
{
    (void)token;
    (void)word;
    replies++;
}

// Both ranks go on when a message of rank 0 and its reply have arrived.
static void meet(void)
{
    const int wanted = ++messages;
    if (me == 0)
        gex_AM_RequestShort1(team, 1, REQUEST, 0, 0);
    GASNET_BLOCKUNTIL((me == 0 ? replies : requests) == wanted);
}

static void send_round(void)
{
    messages++;
    if (me == 0) {
        way_begin("At the sender");
        gex_AM_RequestShort1(team, 1, REQUEST, 0, 7);
        way_end();
        turn_give();
        poll_part("At the sender again");
        check(replies == messages, "the reply did not arrive by one poll");
    } else {
        poll_part("At the receiver");
        check(requests == messages, "the request did not arrive by one poll");
        turn_give();
    }
}

static void put(void)
{
    value++;
    gex_RMA_PutBlocking(team, 1, segments[1], &value, sizeof value, 0);
}

// Acknowledgements of conduit udp repeat what is new in several datagrams. After these puts those
// of rank 0 have nothing new.
static void put_often(void)
{
    const int64_t last = value + PUTS;
    while (me == 0 && value < last)
        put();
    value = last;
    if (me == 1)
        GASNET_BLOCKUNTIL(*(volatile int64_t *)segments[1] == last);
}

static void put_round(void)
{
    if (me == 0) {
        waits_for_answer = 1;
        way_begin("At the initiator");
        put();
        way_end();
    } else {
        value++;
        poll_part("At the target");
        check(*(int64_t *)segments[1] == value, "the put did not arrive by one poll");
    }
}

static void attach(void)
{
    gex_Segment_t segment;
    check(gex_Segment_Attach(&segment, team, SEGMENT_BYTES) == GASNET_OK, "it has no segment");
    for (gex_Rank_t rank = 0; rank < 2; rank++)
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, rank, &segments[rank], NULL, NULL, 0));
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_AM_Entry_t handlers[] = {
        {REQUEST, (gex_AM_Fn_t)on_request, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, NULL},
        {REPLY, (gex_AM_Fn_t)on_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, NULL, NULL},
    };
    gex_Client_Init(&client, &endpoint, &team, "way_work", &argc, &argv, 0);
    me = gex_TM_QueryRank(team);
    check(argc == 2 && gex_TM_QuerySize(team) == 2, "it needs two ranks, and the name of a way");
    gex_EP_RegisterHandlers(endpoint, handlers, sizeof handlers / sizeof *handlers);
    attach();
    turn_open(0);
    turn_open(1);
    for (int round = 0; round < ROUNDS; round++) {
        meet();
        put_often();
        become_quiet();
        if (strcmp(argv[1], "send") == 0)
            send_round();
        else
            put_round();
        clock_continue();
    }
    meet();
    gasnet_exit(0);
}
