/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer_bytes: each rank prints its number; rank 0 also prints how many ranks there are, and how
 * many bytes it has allocated by the end of init. The difference between two jobs tells what a peer
 * takes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnetex.h>

#include <malloc.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    gex_Client_Init(&client, &endpoint, &team, "peer_bytes", &argc, &argv, 0);
    const struct mallinfo2 memory = mallinfo2();
    printf("rank %u\n", (unsigned)gex_TM_QueryRank(team));
    if (gex_TM_QueryRank(team) == 0)
        printf("allocated %u %zu\n", (unsigned)gex_TM_QuerySize(team),
               memory.uordblks + memory.hblkhd);
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
    return 0;
}
