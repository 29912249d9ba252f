/* SPDX-License-Identifier: BSD-3-Clause */
/* A job for those who watch: it does something that a reader has to tell, and then stays there
 * until its standard input ends (rank 0 reads it), or until it is killed.
 *
 *     gasnetrun_smp -n 4 watched_work WHAT
 *
 * Rank 0 prints "ready" when all ranks are about to do it. */
#include <gasnetex.h>

#include <gasnet_coll.h>

#include <aqueduct_msg.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { H_SHORT = GEX_AM_INDEX_BASE, H_MEDIUM, H_STAY };

static gex_TM_t team;
static gex_Rank_t me, size;
static int shorts, mediums;

static void on_short(gex_Token_t token)
{
    (void)token;
    shorts++;
}

static void on_medium(gex_Token_t token, void *bytes, size_t nbytes)
{
    (void)token;
    (void)bytes;
    (void)nbytes;
    mediums++;
}

static void barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

/* Does not return, without a call of the library. */
static void stay(void)
{
    for (;;)
        pause();
}

static void on_stay(gex_Token_t token)
{
    (void)token;
    stay();
}

/* Rank 0 stays outside of the library until the reader of the job has seen enough. */
static void hold(void)
{
    char byte;
    if (me == 0)
        while (read(STDIN_FILENO, &byte, 1) > 0)
            ;
    barrier();
}

/* Rank i sends i + 1 Shorts and j Mediums of 8 bytes to each rank j. */
static void count(void)
{
    static const char bytes[8];
    for (gex_Rank_t to = 0; to < size; to++) {
        for (gex_Rank_t i = 0; i <= me; i++)
            gex_AM_RequestShort0(team, to, H_SHORT, 0);
        for (gex_Rank_t i = 0; i < to; i++)
            gex_AM_RequestMedium0(team, to, H_MEDIUM, bytes, sizeof bytes, GEX_EVENT_NOW, 0);
    }
    GASNET_BLOCKUNTIL(shorts == (int)(size * (size + 1) / 2) && mediums == (int)(size * me));
    barrier();
    if (me == 0) {
        puts("counted");
        fflush(stdout);
    }
    hold();
}

/* The last rank does not come to the barrier. Others wait for several events, which are one. */
static void missing(void)
{
    gex_Event_t events[] = {GEX_EVENT_INVALID, GEX_EVENT_INVALID};
    if (me == size - 1)
        stay();
    events[1] = gex_Coll_BarrierNB(team, 0);
    if (me % 3 == 0)
        gex_Event_Wait(events[1]);
    else if (me % 3 == 1)
        gex_Event_WaitAll(events, 2, 0);
    else
        gex_Event_WaitSome(events, 2, 0);
}

static void compute(void)
{
    volatile int computes = me == size - 1;
    while (computes)
        continue;
    barrier();
}

/* Nor here, because a handler keeps it. */
static void handler(void)
{
    if (me == 0)
        gex_AM_RequestShort0(team, size - 1, H_STAY, 0);
    if (me == size - 1)
        GASNET_BLOCKUNTIL(0);
    barrier();
}

static void order(void)
{
    int word = 0;
    if (me == 1)
        gex_Event_Wait(gex_Coll_BroadcastNB(team, 0, &word, &word, sizeof word, 0));
    barrier();
    gex_Event_Wait(gex_Coll_BroadcastNB(team, 0, &word, &word, sizeof word, 0));
}

/* Ranks 0 and 1 each wait for a message of the other before they send. */
static void messages(void)
{
    int word = 0;
    gasnetx_msg_status_t status;
    if (me < 2) {
        (void)gasnetx_Msg_Recv(team, 1 - me, 1, &word, sizeof word, &status);
        (void)gasnetx_Msg_Send(team, 1 - me, 1, &word, sizeof word);
    }
    barrier();
}

static void leave(void)
{
    if (me == size - 1)
        _exit(0);
    barrier();
}

static void loop(void)
{
    while (me == size - 1)
        gasnet_AMPoll();
    barrier();
}

static const struct {
    const char *name;
    void (*run)(void);
} works[] = {{"hold", hold},         {"count", count},     {"missing", missing},
             {"compute", compute},   {"handler", handler}, {"order", order},
             {"messages", messages}, {"leave", leave},     {"loop", loop}};

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_AM_Entry_t table[] = {
        {H_SHORT, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, NULL},
        {H_MEDIUM, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL, NULL},
        {H_STAY, (gex_AM_Fn_t)on_stay, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, NULL}};
    if (gex_Client_Init(&client, &ep, &team, "WATCHED", &argc, &argv, 0) != GASNET_OK ||
        gex_EP_RegisterHandlers(ep, table, sizeof table / sizeof table[0]) != GASNET_OK)
        gasnet_exit(1);
    me = gex_TM_QueryRank(team);
    size = gex_TM_QuerySize(team);
    barrier();
    if (me == 0) {
        puts("ready");
        fflush(stdout);
    }
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++)
        if (argc == 2 && strcmp(argv[1], works[i].name) == 0)
            works[i].run();
    gasnet_exit(0);
}
