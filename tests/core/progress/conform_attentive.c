/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conform_attentive: with GASNET_RCV_THREAD, handlers and collectives go on while the program does
 * not call the library. Thread mode parsync. Rank 0 sends questions; the other ranks wait for them
 * without a call of the library, and then for the end of a barrier and of reductions that they have
 * begun. With the argument "window" the messages are those of a further endpoint. With "level" the
 * program asks for the thread itself (gasnetx_Progress_Level), which mode par grants.
 *
 *     conform_attentive deferred THREADS [beside]
 *         The program itself starts the threads, of which there are so many, and ends if none
 *         receives. With "beside" the network may have started threads of its own.
 *     conform_attentive unstarted
 *         The program ends without having started its threads.
 */
#include <gasnet_coll.h>
#include <gasnetex.h>

#include <aqueduct.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "deferred_threads.h"

enum {
    QUESTION = GEX_AM_INDEX_BASE,
    GREETING,
    ANSWER,
    RELEASE,
    QUESTIONS = 20,
    LARGE = 40000, /* elements of a reduction */
    PATIENCE_MS = 60000
};

static gex_EP_t endpoint;
static atomic_uint questions, answers;
static atomic_uint releases;
static atomic_bool window_used; /* by the rank that answered last */

static uint64_t frames_received(void)
{
    const volatile gasnetx_counters_t *counters = gasnetx_Counters(endpoint);

    return counters ? gasnetx_counter(&counters->frames_received) : 0;
}

static void on_question(gex_Token_t token)
{
    gex_AM_ReplyShort1(token, ANSWER, 0, frames_received() > 0);
    atomic_fetch_add(&questions, 1);
}

static void on_greeting(gex_Token_t token)
{
    gex_AM_ReplyShort1(token, ANSWER, 0, frames_received() > 0);
}

static void on_answer(gex_Token_t token, gex_AM_Arg_t used)
{
    (void)token;
    atomic_store(&window_used, used);
    atomic_fetch_add(&answers, 1);
}

static void on_release(gex_Token_t token)
{
    (void)token;
    atomic_fetch_add(&releases, 1);
}

/* Sends a message to a rank and waits for its answer. */
static void ask(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler)
{
    const unsigned before = atomic_load(&answers);

    gex_AM_RequestShort0(team, rank, handler, 0);
    GASNET_BLOCKUNTIL(atomic_load(&answers) > before);
}

static void ask_all(gex_TM_t team, gex_Rank_t ranks)
{
    for (unsigned i = 0; i < QUESTIONS; i++)
        for (gex_Rank_t rank = 1; rank < ranks; rank++)
            ask(team, rank, QUESTION);
}

static void pause_1ms(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    nanosleep(&moment, NULL);
}

/* Greets a rank until its window has received a message: the first ones travel to endpoint 0 while
 * the windows connect. Returns false if that takes longer than PATIENCE_MS. */
static bool connect_window(gex_TM_t team, gex_Rank_t rank)
{
    atomic_store(&window_used, false);
    for (unsigned i = 0; i < PATIENCE_MS && !atomic_load(&window_used); i++) {
        ask(team, rank, GREETING);
        pause_1ms();
    }
    return atomic_load(&window_used);
}

static bool connect_windows(gex_TM_t team, gex_Rank_t ranks)
{
    bool connected = true;

    for (gex_Rank_t rank = 1; rank < ranks; rank++)
        connected &= connect_window(team, rank);
    return connected;
}

/* Returns false if not all questions have arrived within PATIENCE_MS. */
static bool wait_without_a_call(void)
{
    for (unsigned i = 0; i < PATIENCE_MS && atomic_load(&questions) < QUESTIONS; i++)
        pause_1ms();
    return atomic_load(&questions) == QUESTIONS;
}

/* The same for the next release. */
static bool wait_for_release(void)
{
    static unsigned awaited;

    awaited++;
    for (unsigned i = 0; i < PATIENCE_MS && atomic_load(&releases) < awaited; i++)
        pause_1ms();
    return atomic_load(&releases) >= awaited;
}

/* Creates an endpoint, and returns the pair of it with that of the same index of each rank. */
static gex_TM_t open_window(gex_Client_t client)
{
    if (gex_EP_Create(&endpoint, client, GEX_EP_CAPABILITY_AM, 0) != GASNET_OK)
        gasnet_exit(1);
    return gex_TM_Pair(endpoint, gex_EP_QueryIndex(endpoint));
}

static void leave(gex_TM_t team, const char *reason)
{
    printf("Rank %u: %s.\n", (unsigned)gex_TM_QueryRank(team), reason);
    gasnet_exit(1);
}

/* Rank 0 releases the others when it has left an operation, which they only begin. */
static void pass(gex_TM_t team, gex_Event_t event, const char *name)
{
    if (gex_TM_QueryRank(team) == 0) {
        gex_Event_Wait(event);
        for (gex_Rank_t rank = 1; rank < gex_TM_QuerySize(team); rank++)
            gex_AM_RequestShort0(team, rank, RELEASE, 0);
        return;
    }
    if (!wait_for_release())
        leave(team, name);
    gex_Event_Wait(event);
}

static void pass_barrier(gex_TM_t team)
{
    pass(team, gex_Coll_BarrierNB(team, 0),
         "no thread went on with a barrier while the program was away");
}

/* A reduction to all completes at rank 0 only if the others have combined and sent in between. */
static void pass_reduction(gex_TM_t team, size_t count)
{
    static uint64_t in[LARGE], out[LARGE];
    const uint64_t ranks = gex_TM_QuerySize(team);

    for (size_t i = 0; i < count; i++)
        in[i] = gex_TM_QueryRank(team) + i;
    pass(team,
         gex_Coll_ReduceToAllNB(team, out, in, GEX_DT_U64, 8, count, GEX_OP_ADD, NULL, NULL, 0),
         "no thread went on with a reduction while the program was away");
    for (size_t i = 0; i < count; i++)
        if (out[i] != ranks * (ranks - 1) / 2 + ranks * i)
            leave(team, "a sum is wrong");
}

static void ask_for_thread(gex_TM_t team)
{
    unsigned granted;

    if (gasnetx_Progress_Level(GASNETX_PROGRESS_THREAD, &granted) != GASNET_OK ||
        granted != GASNETX_PROGRESS_THREAD)
        leave(team, "no thread of the library is granted");
}

/* Before the threads run, the client may communicate: here it has left a barrier. */
static void start_threads(gex_Client_t client, gex_TM_t team, unsigned expected)
{
    const unsigned receives = getenv("GASNET_RCV_THREAD") != NULL;
    const char *const wrong = deferred_threads_start(client, expected);
    unsigned granted;

    if (wrong)
        leave(team, wrong);
    if (gasnetx_Progress_Level(GASNETX_PROGRESS_THREAD, &granted) != GASNET_OK ||
        granted != (receives ? GASNETX_PROGRESS_THREAD : GASNETX_PROGRESS_POLLING))
        leave(team, "another level than that of the client's threads is granted");
    if (!receives)
        gasnet_exit(0);
}

/* With `alone` a thread that comes into being meanwhile is the library's. */
static gex_TM_t join(gex_Client_t *client, int *argc, char ***argv, gex_Flags_t flags, bool alone)
{
    const unsigned before = deferred_threads_count();
    gex_TM_t team;

    if (gex_Client_Init(client, &endpoint, &team, "conform_attentive", argc, argv, flags) !=
        GASNET_OK)
        exit(1);
    if (gex_System_QueryHiddenAMConcurrencyLevel() != (getenv("GASNET_RCV_THREAD") != NULL))
        leave(team, "the level of hidden concurrency is wrong");
    if (flags && alone && deferred_threads_count() != before)
        leave(team, "the library has started a thread of its own");
    return team;
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_TM_t team, between = NULL;
    const char *const mode = argc > 1 ? argv[1] : "";
    const bool unstarted = strcmp(mode, "unstarted") == 0;
    const bool deferred = unstarted || strcmp(mode, "deferred") == 0;
    const char *const threads = argc > 2 ? argv[2] : "0";
    gex_AM_Entry_t handlers[] = {
        {QUESTION, (gex_AM_Fn_t)on_question, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
         "question"},
        {GREETING, (gex_AM_Fn_t)on_greeting, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
         "greeting"},
        {RELEASE, (gex_AM_Fn_t)on_release, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
         "release"},
        {ANSWER, (gex_AM_Fn_t)on_answer, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, NULL, "answer"}};

    team = join(&client, &argc, &argv, deferred ? GEX_FLAG_DEFER_THREADS : 0, argc <= 3);
    if (strcmp(mode, "window") == 0)
        between = open_window(client);
    gex_EP_RegisterHandlers(endpoint, handlers, 4);
    if (strcmp(mode, "level") == 0)
        ask_for_thread(team);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (unstarted)
        gasnet_exit(0);
    if (deferred)
        start_threads(client, team, (unsigned)atoi(threads));
    if (gex_TM_QueryRank(team) == 0) {
        if (between && !connect_windows(between, gex_TM_QuerySize(team)))
            leave(team, "the windows of the endpoints did not connect");
        ask_all(between ? between : team, gex_TM_QuerySize(team));
    } else if (!wait_without_a_call()) {
        leave(team, "no thread handled the messages that came while the program was away");
    }
    if (between && gex_TM_QueryRank(team) && frames_received() < QUESTIONS)
        leave(team, "the messages did not go to the window of the endpoint");
    if (!between) {
        pass_barrier(team);
        pass_reduction(team, 1);
        pass_reduction(team, LARGE);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
}
