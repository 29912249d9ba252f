// SPDX-License-Identifier: BSD-3-Clause
// Teams: ordered sets of endpoints, and the pairs that name one endpoint of each process.
//
//     gex_TM_t --> [ public head: rank, size, peer_shift | endpoint, members, endpoints, id ... ]
//
// - The primordial team has every rank that was there at the start of the job, in order: members is
//   NULL and its id is 0. In a process that has joined a running job it is an ordinary team of the
//   ranks that have joined together, with a list of members.
// - A team has the same id at all members, and no other team of the job ever has that id, so
//   messages can name a team. One rank chooses the id: rank 0 of the new team has reserved a
//   number before the members exchange their requests. So calls that create teams of different
//   parents may run at the same time in one process, in any order.
// - A team has at most one endpoint of each process. endpoints is NULL if all are primordial ones.
// - peer_shift of the primordial team is the table of the job; teams with members have their own,
//   which aq_team_refresh fills again when segments are attached.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "endpoint.h"
#include "../ground/fatal.h"
#include "../state/job.h"
#include "../ground/ep_pair.h"
#include "segment_map.h"
#include "../record/trace.h"
#include "../record/traffic.h"

typedef struct aq_team {
    // Job rank of each rank. NULL: the same number, and messages need no header.
    const gex_Rank_t *members;
    const gex_EP_Index_t *endpoints; // of each member; NULL: ep_pair.to
    struct gex_tm head;              // not first: see aq_team
    gex_EP_t ep;
    void *cdata;
    gex_Flags_t flags;
    uint64_t id;
    aq_ep_pair_t ep_pair; // endpoints of messages, see aq_team_ep_pair
    bool pair;
    gex_Memvec_t scratch; // of the client; unused; gex_TM_Destroy returns it
    intptr_t *shifts;     // the table of head.peer_shift if this team owns it, else NULL
    void *coll;           // state of the collectives (extended/coll/coll.h)
    struct aq_team *next; // all teams of this process but the primordial one and pairs
} aq_team_t;

// The primordial team of this process. An inlined put or get loads head.peer_shift, an entry of
// that table and the client's handles in one or two cycles, and loads at the same place of
// different cache lines delay each other (docs/decisions/short-loops.md). So the head does not
// begin a line.
extern aq_team_t aq_team;

static inline aq_team_t *aq_team_of(gex_TM_t tm)
{
    return (aq_team_t *)((uintptr_t)tm - offsetof(aq_team_t, head));
}

// The job rank of a member. Does not check the rank.
static inline gex_Rank_t aq_team_jobrank(const aq_team_t *team, gex_Rank_t rank)
{
    return team->members ? team->members[rank] : rank;
}
static inline gex_Rank_t aq_tm_jobrank(gex_TM_t tm, gex_Rank_t rank)
{
    return aq_team_jobrank(aq_team_of(tm), rank);
}

// The endpoints of messages to a member, and of operations on its memory. Does not check the rank.
static inline aq_ep_pair_t aq_team_ep_pair(const aq_team_t *team, gex_Rank_t rank)
{
    aq_ep_pair_t pair = team->ep_pair;
    if (__builtin_expect(team->endpoints != NULL, 0))
        pair.to = team->endpoints[rank];
    return pair;
}

// The number to add to an address in the segment of endpoint ep of a job rank to reach that byte in
// this process; odd: not mapped. Valid in debug builds too, where peer_shift of a team maps no
// rank.
static inline intptr_t aq_team_shift(uint32_t jobrank, gex_EP_Index_t ep)
{
    if (ep)
        return jobrank == aq_job.rank ? 0 : aq_segment_map_shift(jobrank, ep);
    return aq_job.shift[jobrank];
}

// A table of shifts in which no rank is mapped. A debug build, and a job with GASNET_ERRORS=return
// or GASNET_TRAFFIC, gives it to the client's inline put and get, so that each of them calls the
// library, which checks the arguments, or counts.
const intptr_t *aq_team_unmapped(void);

// Whether puts, gets and atomics on mapped memory are checked too.
static inline bool aq_team_checks_mapped(void)
{
    return AQ_CHECKS || aq_job.returns_errors;
}

// Whether the client's inline puts, gets and atomics call the library, to be checked or counted.
static inline bool aq_team_calls_always(void)
{
    return aq_team_checks_mapped() || aq_traffic_on || aq_tracing.calls_rma;
}

// Makes the primordial team, at init.
void aq_team_start(gex_EP_t ep);

// The members of a team; this process has number `rank` among them.
typedef struct aq_team_members {
    gex_Rank_t rank, size;
    const gex_Rank_t *jobranks;
    const gex_EP_Index_t *endpoints; // NULL: all are 0
} aq_team_members_t;

// Creates a team that this process is in with endpoint ep. Copies the members. Ends the job if
// memory is exhausted. Not collective.
aq_team_t *aq_team_new(gex_EP_t ep, uint64_t id, const aq_team_members_t *members,
                       gex_Flags_t flags);
// Whether an endpoint of this process is a member of a team other than the primordial one.
bool aq_team_has_endpoint(gex_EP_Index_t ep);
// Hides the team from aq_team_find.
void aq_team_hide(aq_team_t *team);
// Hides the team and frees it. A message that names the team must not arrive any more.
void aq_team_free(aq_team_t *team);

// Returns the team of this process with an id, or NULL. Any thread.
aq_team_t *aq_team_find(uint64_t id);

// Reserves a number that this process never reserved before, from 1 upwards. Any thread.
uint64_t aq_team_reserve_number(void);
// The id of a team for which its rank 0, with this job rank, has reserved the number. There are at
// least 2^33 numbers for each rank of the largest job, so they do not run out.
uint64_t aq_team_id(uint64_t number, gex_Rank_t jobrank);

// Records the number to add to addresses of a job rank's segment (see aq_team_shift). Call
// aq_team_refresh afterwards, which updates all teams, including those that other threads create
// meanwhile.
void aq_team_map(uint32_t jobrank, intptr_t shift);
void aq_team_refresh(void);

// For a new table of aq_segment_map_shifts: gives it to the pairs with this remote endpoint.
void aq_team_refresh_pairs(gex_EP_Index_t remote_ep);

// For an endpoint that gets or loses an identity: the next gex_TM_Pair makes its pairs anew, in
// their old places.
void aq_team_forget_pairs(gex_EP_Index_t ep);
