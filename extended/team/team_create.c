// SPDX-License-Identifier: BSD-3-Clause
// gex_TM_Create: teams of listed endpoints. Each member has the whole list, and the exchange shows
// which of the endpoints exist. So all members find the same mistakes, and if there is one, no
// member gets a team.
#include <stdlib.h>

#include "../../core/ground/errors.h"
#include "../../core/ground/fatal.h"
#include "../../core/endpoint/identity.h"
#include "../../core/state/job.h"
#include "../coll/coll_team.h"
#include "../gasnetex.h"
#include "team_split.h"

#define CALL "gex_TM_Create"

typedef struct list {
    aq_team_t *parent;
    const gex_EP_Location_t *places;
    size_t count;
    gex_Flags_t flags;
    gex_EP_t own; // the endpoint of this process; NULL: it does not exist
} list_t;

// Returns the rank in the parent of the member that a location names.
static gex_Rank_t parent_rank(const list_t *list, size_t i)
{
    const gex_TM_t parent = &list->parent->head;
    const gex_Rank_t named = list->places[i].gex_rank;
    const gex_Rank_t rank = list->flags & GEX_FLAG_RANK_IS_JOBRANK
                                ? gex_TM_TranslateJobrankToRank(parent, named)
                                : named;
    if (rank >= parent->size)
        aq_fatal(CALL ": rank %u is not a member of the parent team of %u ranks", named,
                 parent->size);
    return rank;
}

// The candidate of this process: its endpoint in the list.
static aq_candidate_t own_candidate(list_t *list)
{
    size_t i = 0;
    while (i < list->count && parent_rank(list, i) != list->parent->head.rank)
        i++;
    if (i == list->count)
        aq_fatal(CALL ": the list of %zu members does not have the caller, rank %u of the parent "
                      "team",
                 list->count, list->parent->head.rank);
    const gex_EP_Index_t endpoint = list->places[i].gex_ep_index;
    list->own = aq_endpoint_at(endpoint);
    return (aq_candidate_t){.endpoint = endpoint, .missing = !list->own};
}

// ---- checks, with the same result at all members ----

// Sets the key of each candidate to its position in the list, from 1.
static void number_places(const list_t *list, aq_candidate_t *all)
{
    for (size_t i = 0; i < list->count; i++) {
        aq_candidate_t *candidate = &all[parent_rank(list, i)];
        const gex_EP_Index_t endpoint = list->places[i].gex_ep_index;
        if (candidate->key && list->places[candidate->key - 1].gex_ep_index == endpoint)
            aq_fatal(CALL ": endpoint %u of rank %u of the parent team is in the list of %zu "
                          "members twice",
                     endpoint, parent_rank(list, i), list->count);
        if (!candidate->key)
            candidate->key = (int32_t)i + 1;
    }
}

// Whether the endpoint of a candidate and that of the caller have the same identity, or both none.
static bool proves_identity(const list_t *list, const aq_candidate_t *candidate)
{
    if (!list->own || !list->own->identity)
        return !candidate->proof;
    const uint32_t jobrank = aq_team_jobrank(list->parent, candidate->parent_rank);
    return candidate->proof == aq_identity_proof(list->own->identity, candidate->endpoint, jobrank);
}

// The reason why an entry of the list prevents the team; NULL: it does not.
static const char *obstacle(const list_t *list, size_t i, const aq_candidate_t *candidate)
{
    if ((size_t)candidate->key != i + 1)
        return "a second endpoint of this rank is in the list, and a team has one of each";
    if (candidate->color < 0)
        return "this rank does not ask for a team with this call";
    if (candidate->endpoint != list->places[i].gex_ep_index)
        return "this rank gives another endpoint of its own in its list";
    if (candidate->missing)
        return "this rank has no such endpoint; create it first (gex_EP_Create)";
    return proves_identity(list, candidate)
               ? NULL
               : "it does not have the identity of the caller's endpoint (gasnetx_EP_Create)";
}

// Returns the members in the order of the list; the caller frees them. NULL: there is no team, and
// the reason is logged.
static aq_candidate_t *choose_members(const list_t *list, aq_candidate_t *all)
{
    aq_candidate_t *chosen = aq_allocate(list->count * sizeof *chosen, "the members of a team");
    const char *why = NULL;
    number_places(list, all);
    for (size_t i = 0; i < list->count && !why; i++) {
        const aq_candidate_t *candidate = &all[parent_rank(list, i)];
        why = obstacle(list, i, candidate);
        if (why)
            (void)aq_refuse(GASNET_ERR_BAD_ARG,
                            CALL ": endpoint %u of rank %u of the parent team: %s; this team is "
                                 "not made (GEX_TM_INVALID)",
                            list->places[i].gex_ep_index, parent_rank(list, i), why);
        chosen[i] = *candidate;
    }
    if (!why)
        return chosen;
    free(chosen);
    return NULL;
}

// ---- the call ----

// The address that the client gave for the scratch space of this member.
static gex_Memvec_t given_scratch(gex_TM_t tm, gex_Addr_t *addrs, size_t size, gex_Flags_t flags)
{
    if ((flags & GEX_FLAG_TM_NO_SCRATCH) || !addrs)
        return (gex_Memvec_t){NULL, 0};
    char *addr = addrs[flags & GEX_FLAG_TM_GLOBAL_SCRATCH ? tm->rank : 0];
    gex_Segment_t segment = gex_EP_QuerySegment(gex_TM_QueryEP(tm));
    if ((flags & GEX_FLAG_SCRATCH_SEG_OFFSET) && segment)
        addr = (char *)gex_Segment_QueryAddr(segment) + (uintptr_t)addr;
    return (gex_Memvec_t){addr, size};
}

static gex_TM_t create(const list_t *list, aq_candidate_t *all)
{
    aq_candidate_t *chosen = choose_members(list, all);
    if (!chosen) {
        aq_coll_slot_drop(all[list->parent->head.rank].slot);
        return GEX_TM_INVALID;
    }
    gex_TM_t tm =
        aq_split_make(list->parent, list->own, chosen, (gex_Rank_t)list->count, list->flags);
    free(chosen);
    return tm;
}

size_t gex_TM_Create(gex_TM_t *new_tms, size_t num_new_tms, gex_TM_t parent_tm,
                     gex_EP_Location_t *args, size_t numargs, gex_Addr_t *scratch_addrs,
                     size_t scratch_size, gex_Flags_t flags)
{
    aq_job_need(CALL);
    list_t list = {
        .parent = aq_team_of(parent_tm), .places = args, .count = numargs, .flags = flags};
    aq_split_check_parent(CALL, parent_tm);
    if (flags & AQ_SPLIT_SIZE_QUERY)
        return numargs ? AQ_SPLIT_SCRATCH_BYTES : 0;
    if (numargs > (size_t)parent_tm->size * GASNET_MAXEPS)
        aq_fatal(CALL ": a list of %zu members is more than the endpoints that %u ranks can have",
                 numargs, parent_tm->size);
    if (num_new_tms > GASNET_MAXEPS)
        aq_fatal(CALL ": an array for %zu teams is for more than the endpoints of a process, %d",
                 num_new_tms, GASNET_MAXEPS);
    const bool member = numargs && num_new_tms;
    aq_candidate_t *all =
        aq_split_gather(list.parent, member ? own_candidate(&list) : (aq_candidate_t){.color = -1});
    for (size_t i = 0; member && i < num_new_tms; i++)
        new_tms[i] = GEX_TM_INVALID;
    if (member)
        new_tms[0] = create(&list, all);
    if (member && new_tms[0])
        aq_team_of(new_tms[0])->scratch =
            given_scratch(new_tms[0], scratch_addrs, scratch_size, flags);
    free(all);
    return 0;
}
