/*
 * conform_attentive: with GASNET_RCV_THREAD, handlers run while the program does not call the
 * library. Thread mode parsync. Rank 0 sends questions; the other ranks wait for them without a
 * call of the library. With the argument "window" the messages are those of a further endpoint.
 */
#include <gasnet_coll.h>
#include <gasnetex.h>

#include <aqueduct.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { QUESTION = GEX_AM_INDEX_BASE, ANSWER, QUESTIONS = 20, PATIENCE_MS = 60000 };

static atomic_uint questions, answers;

static void on_question(gex_Token_t token)
{
    gex_AM_ReplyShort0(token, ANSWER, 0);
    atomic_fetch_add(&questions, 1);
}

static void on_answer(gex_Token_t token)
{
    (void)token;
    atomic_fetch_add(&answers, 1);
}

static void ask_all(gex_TM_t team, gex_Rank_t ranks)
{
    unsigned wanted = 0;

    for (unsigned i = 0; i < QUESTIONS; i++)
        for (gex_Rank_t rank = 1; rank < ranks; rank++) {
            gex_AM_RequestShort0(team, rank, QUESTION, 0);
            wanted++;
            GASNET_BLOCKUNTIL(atomic_load(&answers) == wanted);
        }
}

/* Returns false if not all questions have arrived within PATIENCE_MS. */
static bool wait_without_a_call(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    for (unsigned i = 0; i < PATIENCE_MS && atomic_load(&questions) < QUESTIONS; i++)
        nanosleep(&moment, NULL);
    return atomic_load(&questions) == QUESTIONS;
}

/* Creates an endpoint, and returns the pair of it with that of the same index of each rank. */
static gex_TM_t open_window(gex_Client_t client, gex_EP_t *endpoint)
{
    if (gex_EP_Create(endpoint, client, GEX_EP_CAPABILITY_AM, 0) != GASNET_OK)
        gasnet_exit(1);
    return gex_TM_Pair(*endpoint, gex_EP_QueryIndex(*endpoint));
}

/* Whether most messages have come to the window of an endpoint: the first ones travel to endpoint 0
 * while the windows connect. */
static bool has_received(gex_EP_t endpoint)
{
    const volatile gasnetx_counters_t *counters = gasnetx_Counters(endpoint);

    return counters && gasnetx_counter(&counters->frames_received) >= QUESTIONS / 2;
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team, between = NULL;
    gex_AM_Entry_t handlers[] = {
        {QUESTION, (gex_AM_Fn_t)on_question, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
         "question"},
        {ANSWER, (gex_AM_Fn_t)on_answer, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL, "answer"}};

    if (gex_Client_Init(&client, &endpoint, &team, "conform_attentive", &argc, &argv, 0) !=
        GASNET_OK)
        return 1;
    if (argc > 1 && strcmp(argv[1], "window") == 0)
        between = open_window(client, &endpoint);
    gex_EP_RegisterHandlers(endpoint, handlers, 2);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (gex_TM_QueryRank(team) == 0)
        ask_all(between ? between : team, gex_TM_QuerySize(team));
    else if (!wait_without_a_call()) {
        printf("Rank %u: no thread handled the messages that came while the program was away.\n",
               (unsigned)gex_TM_QueryRank(team));
        gasnet_exit(1);
    }
    if (between && gex_TM_QuerySize(team) > 1 && !has_received(endpoint)) {
        printf("Rank %u: the messages did not go to the window of the endpoint.\n",
               (unsigned)gex_TM_QueryRank(team));
        gasnet_exit(1);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
}
