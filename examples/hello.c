/* SPDX-License-Identifier: BSD-3-Clause */
/* hello.c - each rank greets the next one with an active message, and waits to be greeted. */
#include <stdio.h>
#include <string.h>
#include <gasnetex.h>

static _Atomic int greeted_by = -1;

static void on_greeting(gex_Token_t token, gex_AM_Arg_t from)
{
    (void)token;
    greeted_by = from;
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t tm;
    gex_AM_Entry_t handler = {.gex_index = GEX_AM_INDEX_BASE,
                              .gex_fnptr = (gex_AM_Fn_t)on_greeting,
                              .gex_flags = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST,
                              .gex_nargs = 1};
    if (gex_Client_Init(&client, &ep, &tm, "HELLO", &argc, &argv, 0) != GASNET_OK)
        return 1;
    gex_EP_RegisterHandlers(ep, &handler, 1);
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0)); /* now the handler exists on every rank */

    int me = (int)gex_TM_QueryRank(tm), ranks = (int)gex_TM_QuerySize(tm);
    int wrong = argc > 1 && strcmp(argv[1], "--help") != 0;
    if (argc == 1) {
        gex_AM_RequestShort1(tm, (gex_Rank_t)((me + 1) % ranks), GEX_AM_INDEX_BASE, 0, me);
        GASNET_BLOCKUNTIL(greeted_by >= 0); /* handlers run while we wait */
        printf("Hello from rank %d of %d, greeted by rank %d\n", me, ranks, greeted_by);
    } else if (me == 0) {
        fprintf(wrong ? stderr : stdout, "usage: hello (no arguments)%s%s\n",
                wrong ? "; unexpected: " : "", wrong ? argv[1] : "");
    }
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0)); /* all have spoken */
    gasnet_exit(wrong ? 2 : 0);
}
