// SPDX-License-Identifier: BSD-3-Clause
// Creation and destruction of teams: gex_TM_Split, gex_TM_Destroy, and what gex_TM_Create shares
// with the former (team_split.h); and gex_EP_PublishBoundSegment, which is also collective.
#include <stdlib.h>

#include "../../core/ground/fatal.h"
#include "../../core/endpoint/identity.h"
#include "../../core/state/job.h"
#include "../../core/memory/segment_table.h"
#include "../../core/expose/segment.h"
#include "../../core/endpoint/team.h"
#include "../coll/coll_team.h"
#include "../gasnet_coll.h"
#include "../gasnetex.h"
#include "team_split.h"
#include "../../other/base/minmax.h"

// Reserves number and slot before the exchange, because another thread may make the same call with
// another parent.
aq_candidate_t *aq_split_gather(aq_team_t *parent, aq_candidate_t mine)
{
    const gex_EP_t ep = aq_endpoint_at(mine.endpoint);
    if (mine.color >= 0) {
        mine.number = aq_team_reserve_number();
        mine.slot = aq_coll_slot_take();
        if (ep && ep->identity)
            mine.proof = aq_identity_proof(ep->identity, mine.endpoint, aq_job.rank);
    }
    aq_candidate_t *all = aq_allocate(parent->head.size * sizeof *all, "the candidates for a team");
    aq_coll_allgather(parent, &mine, sizeof mine, all);
    for (gex_Rank_t r = 0; r < parent->head.size; r++)
        all[r].parent_rank = r;
    return all;
}

static int by_key(const void *a, const void *b)
{
    const aq_candidate_t *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->parent_rank < y->parent_rank ? -1 : x->parent_rank > y->parent_rank;
}

// Moves the candidates of a color to the front, in the order of the new ranks; returns how many.
static gex_Rank_t select_color(aq_candidate_t *all, gex_Rank_t size, int color)
{
    gex_Rank_t count = 0;
    for (gex_Rank_t r = 0; r < size; r++)
        if (all[r].color == color)
            all[count++] = all[r];
    qsort(all, count, sizeof *all, by_key);
    return count;
}

// The endpoints of a new team; NULL: all are primordial. The caller frees the result.
static gex_EP_Index_t *endpoints_of(const aq_candidate_t *all, gex_Rank_t count)
{
    gex_EP_Index_t *endpoints = aq_allocate(count * sizeof *endpoints, "the endpoints of a team");
    bool further = false;
    for (gex_Rank_t r = 0; r < count; r++) {
        endpoints[r] = all[r].endpoint;
        further |= all[r].endpoint != 0;
    }
    if (further)
        return endpoints;
    free(endpoints);
    return NULL;
}

gex_TM_t aq_split_make(aq_team_t *parent, gex_EP_t ep, const aq_candidate_t *candidates,
                       gex_Rank_t count, gex_Flags_t flags)
{
    gex_Rank_t *members = aq_allocate(count * sizeof *members, "the members of a team");
    uint32_t *slots = aq_allocate(count * sizeof *slots, "the slots of a team");
    gex_EP_Index_t *endpoints = endpoints_of(candidates, count);
    gex_Rank_t me = 0;
    for (gex_Rank_t r = 0; r < count; r++) {
        members[r] = aq_team_jobrank(parent, candidates[r].parent_rank);
        slots[r] = candidates[r].slot;
        if (members[r] == aq_job.rank)
            me = r;
    }
    const uint64_t id = aq_team_id(candidates[0].number, members[0]);
    aq_team_t *team =
        aq_team_new(ep, id, &(aq_team_members_t){me, count, members, endpoints}, flags);
    aq_coll_team_start(team, slots);
    free(members);
    free(slots);
    free(endpoints);
    return &team->head;
}

void aq_split_check_parent(const char *call, gex_TM_t tm)
{
    aq_thread_check_call(call);
    AQ_CHECK(!aq_team_of(tm)->pair,
             "%s: the team is a pair of gex_TM_Pair, which is for point-to-point calls only", call);
}

size_t gex_TM_Split(gex_TM_t *new_tm_p, gex_TM_t parent_tm, int color, int key, void *scratch_addr,
                    size_t scratch_size, gex_Flags_t flags)
{
    aq_job_need("gex_TM_Split");
    aq_team_t *parent = aq_team_of(parent_tm);
    aq_split_check_parent("gex_TM_Split", parent_tm);
    if (flags & AQ_SPLIT_SIZE_QUERY)
        return new_tm_p ? AQ_SPLIT_SCRATCH_BYTES : 0;
    if (new_tm_p && color < 0)
        aq_fatal("gex_TM_Split: color %d of rank %u is negative: colors are 0 or more, and a rank "
                 "that wants no team passes NULL for new_tm_p",
                 color, parent_tm->rank);
    const aq_candidate_t mine = {
        .color = new_tm_p ? color : -1, .key = key, .endpoint = parent->ep->index};
    aq_candidate_t *all = aq_split_gather(parent, mine);
    if (new_tm_p) {
        gex_Rank_t count = select_color(all, parent_tm->size, color);
        *new_tm_p = aq_split_make(parent, parent->ep, all, count, flags);
        if (!(flags & GEX_FLAG_TM_NO_SCRATCH))
            aq_team_of(*new_tm_p)->scratch = (gex_Memvec_t){scratch_addr, scratch_size};
    }
    free(all);
    return 0;
}

// Other members may still be in a collective that this member has finished, so all members
// synchronize first.
int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags)
{
    aq_job_need("gex_TM_Destroy");
    aq_team_t *team = aq_team_of(tm);
    aq_split_check_parent("gex_TM_Destroy", tm);
    if (team == &aq_team)
        aq_fatal("gex_TM_Destroy: the primordial team lives as long as the job");
    if (!(flags & GEX_FLAG_GLOBALLY_QUIESCED))
        gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    bool given = team->scratch.gex_len != 0;
    if (given && scratch_p)
        *scratch_p = team->scratch;
    // Hide the team before its collectives end: a debug build may still receive a note of
    // coll_check.c.
    aq_team_hide(team);
    aq_coll_team_end(team);
    aq_team_free(team);
    return given && scratch_p;
}

// ---- segments of further endpoints ----

typedef struct notice {
    aq_segment_source_t source;
    uint32_t ep;
    uint32_t guarded; // the endpoint has an identity
} notice_t;

// Neighbours do not map a guarded segment: messages prove the identity.
static notice_t notice_of(gex_EP_t ep)
{
    notice_t notice = {.ep = ep->index, .guarded = ep->identity != NULL};
    aq_segment_describe(ep, &notice.source);
    ep->published = ep->published || notice.source.size;
    return notice;
}

static size_t most_endpoints(const uint64_t *counts, gex_TM_t tm)
{
    uint64_t max = 0;
    for (gex_Rank_t r = 0; r < tm->size; r++) {
        if (counts[r] > GASNET_MAXEPS)
            aq_fatal("gex_EP_PublishBoundSegment: rank %u publishes %llu endpoints, and a process "
                     "has %u at most",
                     r, (unsigned long long)counts[r], (unsigned)GASNET_MAXEPS);
        max = aq_max(counts[r], max);
    }
    return max;
}

static void take_notice(gex_Rank_t jobrank, const notice_t *notice)
{
    if (notice->ep >= GASNET_MAXEPS)
        aq_fatal("gex_EP_PublishBoundSegment: rank %u publishes endpoint %u, and indices are below "
                 "%u",
                 jobrank, notice->ep, (unsigned)GASNET_MAXEPS);
    const gex_EP_Index_t ep = (gex_EP_Index_t)notice->ep;
    const aq_segment_source_t *source = &notice->source;
    if (!source->size)
        return;
    aq_segment_publish(jobrank, ep, source->addr, source->size, notice->guarded);
    if (ep && aq_segment_map(jobrank, ep, source))
        aq_team_refresh_pairs(ep);
    if (!ep && aq_team_shift(jobrank, 0) & 1)
        aq_segment_map_note(jobrank, source);
}

// Two rounds: the number of notices, then that many from each member. A notice of size 0 is empty.
int gex_EP_PublishBoundSegment(gex_TM_t tm, gex_EP_t *eps, size_t num_eps, gex_Flags_t flags)
{
    aq_job_need("gex_EP_PublishBoundSegment");
    aq_team_t *team = aq_team_of(tm);
    (void)flags;
    aq_split_check_parent("gex_EP_PublishBoundSegment", tm);
    uint64_t mine = num_eps, *counts = aq_allocate(tm->size * sizeof *counts, "endpoints");
    aq_coll_allgather(team, &mine, sizeof mine, counts);
    size_t each = most_endpoints(counts, tm);
    free(counts);
    notice_t *own = aq_allocate_zeroed(each, sizeof *own, "own segments to publish");
    notice_t *all = aq_allocate(each * tm->size * sizeof *all, "published segments");
    for (size_t i = 0; i < num_eps; i++)
        own[i] = notice_of(eps[i]);
    if (each)
        aq_coll_allgather(team, own, each * sizeof *own, all);
    for (size_t i = 0; i < each * tm->size; i++)
        take_notice(aq_team_jobrank(team, (gex_Rank_t)(i / each)), &all[i]);
    free(own);
    free(all);
    return GASNET_OK;
}
