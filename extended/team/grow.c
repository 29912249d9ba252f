// SPDX-License-Identifier: BSD-3-Clause
// Jobs that grow: the calls, and the teams of all ranks. core/job/job_grow.h has the steps.
#include <stdlib.h>

#include "../../core/aqueduct.h"
#include "../../core/ground/errors.h"
#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"
#include "../../core/job/job_grow.h"
#include "../../core/memory/segment_table.h"
#include "../../core/expose/segment.h"
#include "../../core/endpoint/team.h"
#include "../coll/coll_team.h"
#include "../rma/layer_table.h"

#define CALL "gasnetx_Job_Grow"

// ---- the team of all ----

// What each rank tells all others.
typedef struct member {
    uint64_t team_number; // of rank 0
    aq_segment_source_t segment;
    uint32_t slot;    // for the collectives of the team
    uint32_t growths; // of the job, with this one, as far as the rank knows
} member_t;

static unsigned growths; // of the job so far

// The team of all and the growth by which this process joined; NULL and 0: it was there at the
// start of the job.
static aq_team_t *joined_team;
static unsigned joined_growth;

static member_t own_member(void)
{
    member_t mine = {.slot = aq_coll_slot_take(), .growths = growths + 1};
    if (aq_job.rank == 0)
        mine.team_number = aq_team_reserve_number();
    aq_segment_describe(&aq_endpoint, &mine.segment);
    return mine;
}

// In a process that joins: records the segments of the ranks that were there, and maps those of its
// neighbours.
static void note_segments(const member_t *all, uint32_t present)
{
    for (uint32_t r = 0; r < present; r++) {
        const aq_segment_source_t *segment = &all[r].segment;
        if (!segment->size || aq_job.segment_size[r])
            continue;
        aq_segment_publish(r, 0, segment->addr, segment->size, false);
        (void)aq_segment_map(r, 0, segment);
    }
    aq_team_refresh();
}

static aq_team_t *make_team(const member_t *all, uint32_t present)
{
    gex_Rank_t *ranks = aq_allocate(present * sizeof *ranks, "the ranks of a grown job");
    uint32_t *slots = aq_allocate(present * sizeof *slots, "the slots of a grown job");
    for (uint32_t r = 0; r < present; r++) {
        ranks[r] = r;
        slots[r] = all[r].slot;
    }
    aq_team_t *team = aq_team_new(&aq_endpoint, aq_team_id(all[0].team_number, 0),
                                  &(aq_team_members_t){aq_job.rank, present, ranks, NULL}, 0);
    aq_coll_team_start(team, slots);
    free(ranks);
    free(slots);
    return team;
}

// Collective over all ranks. A message for the team may arrive as soon as the exchange is complete;
// those that join do not poll before they have the team.
static aq_team_t *join_all(void)
{
    const uint32_t present = aq_job_present();
    const member_t mine = own_member();
    member_t *all = aq_allocate(aq_job.size * sizeof *all, "the members of a grown job");
    if (aq_job.boot->ops->exchange(aq_job.boot, &mine, sizeof mine, all) != AQ_OK)
        aq_job_grow_failed();
    note_segments(all, present);
    growths = all[0].growths;
    aq_team_t *team = make_team(all, present);
    free(all);
    return team;
}

void aq_grow_start(void)
{
    if (!aq_job.boot->first)
        return;
    joined_team = join_all();
    joined_growth = growths;
}

// ---- the calls ----

// What a rank asks for, and the error if it cannot grow. Each rank compares the proposals of all.
typedef struct proposal {
    uint32_t count;
    int32_t error; // GASNET_OK: none
} proposal_t;

static int check_proposal(gex_Rank_t count, gex_Flags_t flags)
{
    const uint32_t absent = aq_job.boot->absent;
    if (flags)
        return aq_refuse(GASNET_ERR_BAD_ARG, CALL ": flags have to be 0");
    if (aq_client.flags & GEX_FLAG_USES_GASNET1)
        return aq_refuse(GASNET_ERR_RESOURCE, CALL ": the nodes of GASNet-1 are fixed; call "
                                                   "gex_Client_Init without GEX_FLAG_USES_GASNET1");
    if (count && count <= absent)
        return GASNET_OK;
    return aq_refuse(GASNET_ERR_BAD_ARG,
                     CALL ": %u ranks were asked for, and the reserve has %u; ask for 1 at least, "
                          "or start the job with a larger reserve (gasnetrun --reserve)",
                     count, absent);
}

// Exchanges the proposals of all ranks; returns the same result at all.
static int agree_on_proposal(proposal_t mine)
{
    proposal_t *all = aq_allocate(aq_job.size * sizeof *all, "the proposals of all ranks");
    int result = GASNET_OK;
    if (aq_job.boot->ops->exchange(aq_job.boot, &mine, sizeof mine, all) != AQ_OK)
        aq_job_grow_failed();
    for (uint32_t r = 0; r < aq_job_present() && result == GASNET_OK; r++) {
        result = all[r].error;
        if (result == GASNET_OK && all[r].count != all[0].count)
            result = GASNET_ERR_BAD_ARG;
        if (result != GASNET_OK && mine.error == GASNET_OK)
            (void)aq_refuse(result, CALL ": another rank asks for another number, or refuses");
    }
    free(all);
    return result;
}

int gasnetx_Job_Grow(gex_Rank_t count, gex_TM_t *all_p, gex_Flags_t flags)
{
    aq_job_admit(CALL);
    int result = aq_job.boot->ops->grow
                     ? check_proposal(count, flags)
                     : aq_refuse(GASNET_ERR_RESOURCE,
                                 CALL ": the spawner of this job starts all ranks at once; use "
                                      "gasnetrun with spawner fork or ssh and --reserve");
    if (aq_job.grows) // otherwise all ranks have the same result
        result = agree_on_proposal((proposal_t){count, result});
    if (result != GASNET_OK)
        return result;
    if (aq_job_grow(count) != AQ_OK)
        aq_job_grow_failed();
    aq_team_t *team = join_all();
    if (aq_segment_share_limit() != AQ_OK)
        aq_job_grow_failed();
    if (all_p)
        *all_p = &team->head;
    return GASNET_OK;
}

unsigned gasnetx_Job_QueryGrowth(gex_TM_t *all_p)
{
    aq_job_need("gasnetx_Job_QueryGrowth");
    if (all_p)
        *all_p = joined_team ? &joined_team->head : GEX_TM_INVALID;
    return joined_growth;
}
