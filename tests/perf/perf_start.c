/* SPDX-License-Identifier: BSD-3-Clause */
/* A job that does nothing. Its run time is the time to start and end a job. */
#include <gasnetex.h>

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t tm;

    if (gex_Client_Init(&client, &ep, &tm, "PERF_START", &argc, &argv, 0) != GASNET_OK)
        return 1;
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    gasnet_exit(0);
    return 0;
}
