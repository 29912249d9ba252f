// SPDX-License-Identifier: BSD-3-Clause
// A GASNet client that is a plug-in. Nothing but the plug-in refers to the library, and the host
// unloads the plug-in.
#include <gasnetex.h>
#include <stddef.h>

#include "plugin_client.h"

enum { GREETING = GEX_AM_INDEX_BASE, ANSWER };

static int greetings, answers;

static void handle_greeting(gex_Token_t token)
{
    greetings++;
    gex_AM_ReplyShort0(token, ANSWER, 0);
}

static void handle_answer(gex_Token_t token)
{
    (void)token;
    answers++;
}

int plugin_run(void)
{
    gex_EP_t ep;
    gex_TM_t tm;
    gex_AM_Entry_t table[] = {
        {GREETING, (gex_AM_Fn_t)handle_greeting, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
         "greeting"},
        {ANSWER, (gex_AM_Fn_t)handle_answer, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL,
         "answer"},
    };
    if (gex_Client_Init(NULL, &ep, &tm, "PLUGIN", NULL, NULL, 0) != GASNET_OK ||
        gex_EP_RegisterHandlers(ep, table, 2) != GASNET_OK)
        return -1;
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    gex_Rank_t next = (gex_TM_QueryRank(tm) + 1) % gex_TM_QuerySize(tm);
    gex_AM_RequestShort0(tm, next, GREETING, 0);
    GASNET_BLOCKUNTIL(greetings > 0 && answers > 0);
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    return greetings + answers;
}

void plugin_poll(void)
{
    gasnet_AMPoll();
}

void plugin_exit(int code)
{
    gasnet_exit(code);
}
