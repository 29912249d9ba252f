/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exit_ways: every way in which a job can end, for tests/core/job/exit-ways.sh.
 *
 *   exit_ways WAY RANK CODE
 *
 * RANK ends in the way that WAY names; most other ranks wait inside of the library for the end.
 *
 *   exit_ways --list
 *
 * prints a line for each way: NAME WHAT. WHAT defines the exit code: with "code" it is CODE, with
 * "signal:N" 128 + N.
 *
 * No rank flushes its last line, "RANK begins".
 */
#include <gasnetex.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SEGMENT 65536
#define TRAFFIC_MS 20 /* of traffic before the leaver exits */
#define COMPUTE_S 30  /* that a rank computes if the job does not end it */
#define INSIDE 3      /* threads of a rank that wait inside the library */

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t team;
static gex_Segment_t segment;
static gex_Rank_t me, ranks, leaver;
static int code;
static volatile int told;   /* set by a handler */
static volatile int played; /* messages handled; keeps the compiler from dropping the traffic */

static void on_ask(gex_Token_t token)
{
    (void)token;
    told = 1;
}

static void on_ball(gex_Token_t token, void *buf, size_t bytes)
{
    (void)buf, (void)bytes;
    played++;
    gex_AM_ReplyShort0(token, GEX_AM_INDEX_BASE + 2, 0);
}

static void on_back(gex_Token_t token)
{
    (void)token;
    played++;
}

static gex_AM_Entry_t entries[] = {
    {GEX_AM_INDEX_BASE, (gex_AM_Fn_t)on_ask, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
     "on_ask"},
    {GEX_AM_INDEX_BASE + 1, (gex_AM_Fn_t)on_ball, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL,
     "on_ball"},
    {GEX_AM_INDEX_BASE + 2, (gex_AM_Fn_t)on_back, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL,
     "on_back"},
};

static void wait_barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static _Noreturn void wait_for_end(void)
{
    for (;;)
        wait_barrier();
}

static void pause_ms(int ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&time, NULL);
}

static double clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void compute_seconds(double seconds)
{
    const double end = clock_now() + seconds;

    while (clock_now() < end)
        continue;
}

static void *leave_body(void *unused)
{
    (void)unused;
    gasnet_exit(code);
    return NULL;
}

static void *stay_inside(void *unused)
{
    (void)unused;
    for (;;) {
        GASNET_BLOCKUNTIL(told);
    }
    return NULL;
}

static void start_thread(void *(*body)(void *))
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, body, NULL) != 0)
        abort();
}

/* ---- the ways: all ranks call the same one; a rank that returns from it returns from main ---- */

static int way_all(void)
{
    gasnet_exit(code);
    return 0;
}

static int way_one(void)
{
    if (me == leaver)
        gasnet_exit(code);
    wait_for_end();
}

/* The leaver has entered a barrier, but never waits for it. */
static int way_barrier(void)
{
    if (me == leaver) {
        gex_Coll_BarrierNB(team, 0);
        gasnet_exit(code);
    }
    wait_for_end();
}

static int way_thread(void)
{
    if (me == leaver)
        start_thread(leave_body);
    wait_for_end();
}

static int way_inside(void)
{
    for (int i = 0; i < INSIDE; i++)
        start_thread(stay_inside);
    return way_one();
}

static int way_handler(void)
{
    if (me == 0)
        gex_AM_RequestShort0(team, leaver, GEX_AM_INDEX_BASE, 0);
    if (me == leaver) {
        GASNET_BLOCKUNTIL(told);
        gasnet_exit(code);
    }
    wait_for_end();
}

static int way_return(void)
{
    if (me == leaver)
        return code;
    wait_for_end();
}

static int way_return_all(void)
{
    return code;
}

static int way_libc(void)
{
    if (me == leaver)
        exit(code);
    wait_for_end();
}

static int way_silent(void)
{
    if (me == leaver)
        _exit(code);
    wait_for_end();
}

static int way_traffic(void)
{
    static char ball[512];
    const double end = clock_now() + TRAFFIC_MS * 1e-3;
    gex_Rank_t to = me;
    void *there = NULL;

    for (;;) {
        to = (to + 1) % ranks;
        gex_AM_RequestMedium0(team, to, GEX_AM_INDEX_BASE + 1, ball, sizeof(ball), GEX_EVENT_NOW,
                              0);
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, to, &there, NULL, NULL, 0));
        gex_RMA_PutNBI(team, to, there, ball, sizeof(ball), GEX_EVENT_NOW, 0);
        if (me == leaver && clock_now() > end)
            gasnet_exit(code);
    }
    return 0;
}

static int way_attach(void)
{
    if (me == leaver)
        gasnet_exit(code);
    gex_Segment_Attach(&segment, team, SEGMENT);
    wait_for_end();
}

static int way_early(void)
{
    if (me != leaver)
        for (;;)
            gasnet_AMPoll();
    gasnet_exit(code);
    return 0;
}

static int way_spin(void)
{
    if (me == leaver)
        gasnet_exit(code);
    compute_seconds(COMPUTE_S);
    return 0;
}

static int way_stop(void)
{
    if (me == leaver) {
        pause_ms(100);
        gasnet_exit(code);
    }
    if (me == (leaver + 1) % ranks)
        raise(SIGSTOP);
    wait_for_end();
}

static int die_by_signal(int sig)
{
    if (me == leaver)
        raise(sig);
    wait_for_end();
}

static int way_abort(void)
{
    if (me == leaver)
        abort();
    wait_for_end();
}

static void on_quit(int sig)
{
    (void)sig;
    gasnet_exit(code + 1);
}

/* Ranks other than the leaver get one SIGQUIT; the exit code of their handler comes too late. */
static int way_quit(void)
{
    if (me != leaver)
        signal(SIGQUIT, on_quit);
    return way_one();
}

static void leave_by_signal(int sig)
{
    (void)sig;
    gasnet_exit(code);
}

/* A signal handler exits while threads are at arbitrary places of the library. */
static int way_alarm(void)
{
    if (me == leaver) {
        signal(SIGALRM, leave_by_signal);
        ualarm(1000 * TRAFFIC_MS, 0);
        leaver = ranks; /* so that way_traffic ends no rank */
    }
    return way_traffic();
}

/* Several threads and a signal handler of each rank exit at the same time. */
static int way_crowd(void)
{
    signal(SIGALRM, leave_by_signal);
    for (int i = 0; i < INSIDE; i++)
        start_thread(leave_body);
    raise(SIGALRM);
    return 0;
}

static int way_fpe(void)
{
    return die_by_signal(SIGFPE);
}
static int way_ill(void)
{
    return die_by_signal(SIGILL);
}
static int way_bus(void)
{
    return die_by_signal(SIGBUS);
}
static int way_segv(void)
{
    return die_by_signal(SIGSEGV);
}
static int way_term(void)
{
    return die_by_signal(SIGTERM);
}
static int way_int(void)
{
    return die_by_signal(SIGINT);
}
static int way_hup(void)
{
    return die_by_signal(SIGHUP);
}
static int way_kill(void)
{
    return die_by_signal(SIGKILL);
}

static const struct {
    const char *name;
    int (*run)(void);
    const char *what;
    int early; /* the way starts before a segment is attached */
} ways[] = {
    {"all", way_all, "code", 0},         {"one", way_one, "code", 0},
    {"barrier", way_barrier, "code", 0}, {"thread", way_thread, "code", 0},
    {"inside", way_inside, "code", 0},   {"handler", way_handler, "code", 0},
    {"return", way_return, "code", 0},   {"return-all", way_return_all, "code", 0},
    {"libc", way_libc, "code", 0},       {"silent", way_silent, "code", 0},
    {"traffic", way_traffic, "code", 0}, {"attach", way_attach, "code", 1},
    {"early", way_early, "code", 1},     {"spin", way_spin, "code", 0},
    {"stop", way_stop, "code", 0},       {"quit", way_quit, "code", 0},
    {"alarm", way_alarm, "code", 0},     {"crowd", way_crowd, "code", 0},
    {"abort", way_abort, "signal:6", 0}, {"fpe", way_fpe, "signal:8", 0},
    {"ill", way_ill, "signal:4", 0},     {"bus", way_bus, "signal:7", 0},
    {"segv", way_segv, "signal:11", 0},  {"term", way_term, "signal:15", 0},
    {"int", way_int, "signal:2", 0},     {"hup", way_hup, "signal:1", 0},
    {"kill", way_kill, "signal:9", 0},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static void list_ways(void)
{
    for (size_t i = 0; i < WAYS; i++)
        printf("%s %s\n", ways[i].name, ways[i].what);
}

static int run_way(size_t way)
{
    gex_EP_RegisterHandlers(ep, entries, sizeof(entries) / sizeof(entries[0]));
    if (!ways[way].early && gex_Segment_Attach(&segment, team, SEGMENT) != GASNET_OK)
        return 66;
    printf("%u begins\n", (unsigned)me);
    wait_barrier();
    return ways[way].run();
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        list_ways();
        return 0;
    }
    if (gex_Client_Init(&client, &ep, &team, "EXIT_WAYS", &argc, &argv, 0) != GASNET_OK)
        return 65;
    me = gex_TM_QueryRank(team);
    ranks = gex_TM_QuerySize(team);
    if (argc == 4) {
        leaver = (gex_Rank_t)atoi(argv[2]);
        code = atoi(argv[3]);
        for (size_t i = 0; i < WAYS; i++)
            if (strcmp(argv[1], ways[i].name) == 0)
                return run_way(i);
    }
    fprintf(stderr,
            "exit_ways: unknown way or wrong arguments; exit_ways --list prints the ways\n");
    return 64;
}
