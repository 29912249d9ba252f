/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conform_busy: rank 0 does not call the library, or no rank sends it anything, while a test may
 * stop one of the processes. For the tests of how a network handles that.
 *   away S N      each other rank sends N messages to rank 0, which sleeps for S seconds, waits for
 *                 all messages and prints "served COUNT"
 *   crowd S N B   as away, with payloads of B bytes, which rank 0 checks
 *   ask S         all ranks enter reductions for S seconds
 *   idle S        rank 0 polls for S seconds, the others wait in a barrier, and no rank sends
 *   call S        S seconds after the start rank 0 sends a message to rank 1, the first one between
 *                 the two
 *   spread K N B  K times: each rank puts N times B bytes into the segment of each other rank, all
 *                 at once, and checks what the others have put
 *   reach S N B   for S seconds, or until SIGUSR1, each rank has up to N puts and N gets of B bytes
 *                 with the next rank under way
 *   bare S        as ask, but rank 0 closes all descriptors above standard error first
 * Each rank prints "ready PID" first. On SIGQUIT it calls gasnet_exit(9).
 */
#include <gasnet_coll.h>
#include <gasnetex.h>

#include "conform_modes.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LONGEST 4096

enum { HANDLER = GEX_AM_INDEX_BASE, PAYLOAD };

static gex_TM_t team;
static gex_Rank_t me, ranks;
static unsigned long served, spoiled;
static volatile sig_atomic_t is_enough;

static void on_message(gex_Token_t token)
{
    (void)token;
    served++;
}

static unsigned char byte_of(gex_AM_Arg_t from, gex_AM_Arg_t number)
{
    return (unsigned char)(from * 31 + number);
}

static void on_payload(gex_Token_t token, void *bytes, size_t length, gex_AM_Arg_t from,
                       gex_AM_Arg_t number)
{
    const unsigned char *at = bytes;

    (void)token;
    for (size_t i = 0; i < length; i++)
        spoiled += at[i] != byte_of(from, number);
    served++;
}

static void wait_barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static void sleep_seconds(int seconds)
{
    struct timespec left = {.tv_sec = seconds};

    while (nanosleep(&left, &left) != 0)
        ;
}

static void say_ready(void)
{
    printf("ready %ld\n", (long)getpid());
    fflush(stdout);
}

static void wait_and_say_ready(void)
{
    wait_barrier();
    say_ready();
}

static int serve_requests(int seconds, unsigned long wanted)
{
    sleep_seconds(seconds);
    GASNET_BLOCKUNTIL(served >= wanted);
    printf("served %lu\n", served);
    fflush(stdout); /* the others exit after the barrier, which ends this rank too */
    wait_barrier();
    return served != wanted || spoiled;
}

static int do_away(char **arg)
{
    const int count = atoi(arg[1]);

    wait_and_say_ready();
    if (me == 0)
        return serve_requests(atoi(arg[0]), (unsigned long)count * (ranks - 1));
    for (int i = 0; i < count; i++)
        gex_AM_RequestShort0(team, 0, HANDLER, 0);
    wait_barrier();
    return 0;
}

static int do_crowd(char **arg)
{
    static unsigned char bytes[LONGEST];
    const int count = atoi(arg[1]);
    const size_t length = (size_t)atoi(arg[2]);

    if (length > LONGEST)
        return 64;
    wait_and_say_ready();
    if (me == 0)
        return serve_requests(atoi(arg[0]), (unsigned long)count * (ranks - 1));
    for (int i = 0; i < count; i++) {
        memset(bytes, byte_of((gex_AM_Arg_t)me, i), length);
        gex_AM_RequestMedium2(team, 0, PAYLOAD, bytes, length, GEX_EVENT_NOW, 0, (gex_AM_Arg_t)me,
                              i);
    }
    wait_barrier();
    return 0;
}

static int do_ask(char **arg)
{
    wait_and_say_ready();
    const time_t end = time(NULL) + atoi(arg[0]);
    int go_on = 1;

    while (go_on) {
        int mine = time(NULL) < end;

        gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &go_on, &mine, GEX_DT_I32, sizeof(mine), 1,
                                              GEX_OP_MAX, NULL, NULL, 0));
    }
    return 0;
}

static int do_bare(char **arg)
{
    wait_barrier();
    if (me == 0)
        for (int fd = STDERR_FILENO + 1; fd < 1024; fd++)
            close(fd);
    return do_ask(arg);
}

static int do_idle(char **arg)
{
    wait_and_say_ready();
    const time_t end = time(NULL) + atoi(arg[0]);

    while (me == 0 && time(NULL) < end) {
        const struct timespec pause = {.tv_nsec = 1000000};

        gasnet_AMPoll();
        nanosleep(&pause, NULL);
    }
    wait_barrier();
    return 0;
}

static int do_call(char **arg)
{
    say_ready();
    if (me == 0) {
        sleep_seconds(atoi(arg[0]));
        gex_AM_RequestShort0(team, 1, HANDLER, 0);
    }
    if (me == 1)
        GASNET_BLOCKUNTIL(served);
    wait_barrier();
    return 0;
}

/* Each rank has a part of every segment. A put copies the same byte, which differs each time. */
static int spread_round(const unsigned char *segment, void *const *there, unsigned char *bytes,
                        int round, int count, size_t length)
{
    const size_t part = (size_t)count * length;
    int bad = 0;

    memset(bytes, byte_of((gex_AM_Arg_t)me, round), length);
    for (int i = 0; i < count; i++)
        for (gex_Rank_t r = 1; r < ranks; r++) {
            const gex_Rank_t to = (me + r) % ranks;
            gex_RMA_PutNBI(team, to, (char *)there[to] + me * part + i * length, bytes, length,
                           GEX_EVENT_DEFER, 0);
        }
    gex_NBI_Wait(GEX_EC_ALL, 0);
    wait_barrier();
    for (size_t i = 0; i < ranks * part; i++)
        bad |= i / part != me && segment[i] != byte_of((gex_AM_Arg_t)(i / part), round);
    wait_barrier();
    return bad;
}

static int do_spread(char **arg)
{
    const int count = atoi(arg[1]);
    const size_t length = (size_t)atoi(arg[2]), page = GASNET_PAGESIZE;
    const size_t bytes = (ranks * count * length + page - 1) / page * page;
    gex_Segment_t segment;
    void **there = calloc(ranks, sizeof *there);
    unsigned char *source = malloc(length);
    int code = 0;

    if (!there || !source || gex_Segment_Attach(&segment, team, bytes) != GASNET_OK)
        return 65;
    for (gex_Rank_t r = 0; r < ranks; r++)
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, r, &there[r], NULL, NULL, 0));
    wait_and_say_ready();
    for (int k = 0; k < atoi(arg[0]) && !code; k++)
        code = spread_round(gex_Segment_QueryAddr(segment), there, source, k, count, length);
    free(there);
    free(source);
    return code;
}

/* Half of a segment is for puts, the other half for gets. */
static int do_reach(char **arg)
{
    const int count = atoi(arg[1]);
    const size_t length = (size_t)atoi(arg[2]), page = GASNET_PAGESIZE;
    const gex_Rank_t next = (me + 1) % ranks;
    gex_Segment_t segment;
    char *there, *source = calloc(2, length);
    if (!source || gex_Segment_Attach(&segment, team, (2 * length + page - 1) / page * page))
        return 65;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, next, (void **)&there, NULL, NULL, 0));
    wait_and_say_ready();
    for (const time_t end = time(NULL) + atoi(arg[0]); time(NULL) < end && !is_enough;) {
        for (int i = 0; i < count; i++) {
            gex_RMA_PutNBI(team, next, there, source, length, GEX_EVENT_DEFER, 0);
            gex_RMA_GetNBI(team, source + length, next, there + length, length, 0);
        }
        gex_NBI_Wait(GEX_EC_ALL, 0);
    }
    wait_barrier();
    free(source);
    return 0;
}

static const conform_mode_t modes[] = {
    {"away", 2, do_away}, {"crowd", 3, do_crowd}, {"ask", 1, do_ask},       {"idle", 1, do_idle},
    {"call", 1, do_call}, {"bare", 1, do_bare},   {"spread", 3, do_spread}, {"reach", 3, do_reach}};

static void on_enough(int number)
{
    (void)number;
    is_enough = 1;
}

static void on_quit(int number)
{
    (void)number;
    gasnet_exit(9);
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_AM_Entry_t table[] = {{HANDLER, (gex_AM_Fn_t)on_message,
                               GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "message"},
                              {PAYLOAD, (gex_AM_Fn_t)on_payload,
                               GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 2, NULL, "payload"}};

    if (gex_Client_Init(&client, &ep, &team, "CONFORM_BUSY", &argc, &argv, 0) != GASNET_OK ||
        gex_EP_RegisterHandlers(ep, table, 2) != GASNET_OK)
        return 65;
    me = gex_TM_QueryRank(team);
    ranks = gex_TM_QuerySize(team);
    signal(SIGQUIT, on_quit);
    signal(SIGUSR1, on_enough);
    int code = conform_run_mode(modes, sizeof(modes) / sizeof(modes[0]), argc, argv);
    fflush(stdout);
    gasnet_exit(code);
    return code;
}
