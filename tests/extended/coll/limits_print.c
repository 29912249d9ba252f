/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_limits: rank 0 prints each limit of collectives: name, least, largest, default and present
 * value, or "differs" in place of the value if another rank has another one.
 */
#include <gasnetex.h>

#include <aqueduct_coll.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 64 };

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t tm;
    gasnetx_coll_limit_t limit[MOST];
    uint32_t mine[MOST] = {0};
    unsigned count = 0;

    if (gex_Client_Init(&client, &ep, &tm, "COLL_LIMITS", &argc, &argv, 0) != GASNET_OK)
        return 1;
    while (count < MOST && gasnetx_Coll_QueryLimit(count, &limit[count]) == GASNET_OK) {
        mine[count] = limit[count].value;
        count++;
    }
    gex_Rank_t ranks = gex_TM_QuerySize(tm);
    uint32_t(*all)[MOST] = malloc(ranks * sizeof *all);
    gex_Event_Wait(gasnetx_Coll_AllgatherNB(tm, all, mine, sizeof mine, 0));
    for (unsigned i = 0; gex_TM_QueryRank(tm) == 0 && i < count; i++) {
        gex_Rank_t same = 0;
        while (same < ranks && all[same][i] == mine[i])
            same++;
        printf("%s %u %u %u ", limit[i].name, limit[i].low, limit[i].high, limit[i].fallback);
        if (same == ranks)
            printf("%u\n", mine[i]);
        else
            puts("differs");
    }
    fflush(stdout);
    free(all);
    gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    gasnet_exit(0);
}
