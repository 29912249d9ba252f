// Teams: ordered sets of endpoints, and the pairs that name one endpoint of each process.
//
//     gex_TM_t --> [ public head: rank, size, peer_shift | endpoint, members, id, scratch ... ]
//
// - The primordial team has every rank, in order: members is NULL and its id is 0.
// - A team's id is the same at all its members, and no other team of the job ever has it, so that
//   messages can name a team. One rank alone chooses it: rank 0 of the new team has reserved a
//   number of its own before the members exchange what they ask for. Calls that make teams of
//   different parents may therefore run at the same time in one process, in any order.
// - peer_shift of the primordial team is the table of the job; other teams have their own, which
//   aq_team_refresh fills again when segments are attached.
#ifndef AQ_TEAM_H
#define AQ_TEAM_H

#include <stdbool.h>

#include "endpoint.h"
#include "job.h"

typedef struct aq_team {
    struct gex_tm head;
    gex_EP_t ep;
    void *cdata;
    gex_Flags_t flags;
    const gex_Rank_t *members; // job rank of each rank; NULL: the same number
    uint64_t id;
    gex_EP_Index_t remote_ep; // index of the endpoints that the ranks name; not 0 only in pairs
    bool pair;
    gex_Memvec_t scratch; // the client's, given back by gex_TM_Destroy; the library does not use it
    intptr_t *shifts;     // what head.peer_shift points to, when it is the team's own
    void *coll;           // state of the collectives (extended/coll.h)
    struct aq_team *next; // all teams of this process but the primordial one
} aq_team_t;

extern aq_team_t aq_team; // the primordial one

static inline aq_team_t *aq_team_of(gex_TM_t tm)
{
    return (aq_team_t *)(uintptr_t)tm;
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

// The difference from an address in the segment of endpoint ep of a job rank to the same byte here;
// odd: not mapped. Also right in debug builds, where the table in the head of a team maps no rank.
static inline intptr_t aq_team_shift(uint32_t jobrank, gex_EP_Index_t ep)
{
    if (ep)
        return jobrank == aq_job.rank ? 0 : AQ_UNMAPPED;
    return aq_job.shift[jobrank];
}

// A table of shifts in which no rank is mapped. A debug build gives it to the client's inline put
// and get, so that each of them calls the library, which checks the arguments.
const intptr_t *aq_team_unmapped(void);

// Makes the primordial team, at init.
void aq_team_start(gex_EP_t ep);

// A team of `size` members, of which this process is number `rank`. Copies members. NULL when
// memory is out (logged). Not collective.
aq_team_t *aq_team_new(gex_EP_t ep, uint64_t id, gex_Rank_t rank, gex_Rank_t size,
                       const gex_Rank_t *members, gex_Flags_t flags);
// Removes the team from what aq_team_find finds.
void aq_team_hide(aq_team_t *team);
// Hides the team and frees it. A message that names the team must not arrive any more.
void aq_team_free(aq_team_t *team);

// The team of this process with an id, or NULL. Any thread.
aq_team_t *aq_team_find(uint64_t id);

// Reserves a number that this process never reserved before, from 1 upwards. Any thread.
uint64_t aq_team_reserve_number(void);
// The id of the team whose rank 0, a job rank, has reserved the number for it. Numbers do not run
// out: there are at least 2^33 for each rank of the largest job.
uint64_t aq_team_id(uint64_t number, gex_Rank_t jobrank);

// Records the difference from addresses in the segment of a job rank to addresses here. Call
// aq_team_refresh afterwards, which updates all teams, also those that other threads make
// meanwhile.
void aq_team_map(uint32_t jobrank, intptr_t shift);
void aq_team_refresh(void);

#endif
