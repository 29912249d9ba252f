// SPDX-License-Identifier: BSD-3-Clause
// Split-phase barriers over a team, in two steps: inside a neighbourhood through shared memory,
// then across the neighbourhoods by active messages between the first member of each.
//
//     every member:   arrive (barrier_shared.c) ................. released? -> phase complete
//     the first of each neighbourhood, if there are several:
//                     all arrived? -> disseminate (barrier_am.c) -> release
//
// If no shared memory is left for a team, each member counts as a neighbourhood. Phases are
// numbered from 1. A process is at most one phase ahead of any other process, so two copies of
// everything, for odd and even phases, are enough. Several phases may be initiated at once; a
// process enters them one after the other.
#ifndef AQ_BARRIER_H
#define AQ_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../core/thread/event.h"
#include "../../core/progress/progress.h"
#include "../../core/record/rank_head.h"

// What the ranks gave as the name of a barrier: nothing yet, one name, or different names.
typedef uint64_t aq_vote_t;
#define AQ_VOTE_NONE ((aq_vote_t)0)
#define AQ_VOTE_NAME(id) ((aq_vote_t)1 << 32 | (uint32_t)(id))
#define AQ_VOTE_MISMATCH ((aq_vote_t)2 << 32)

// The joint vote of two parties.
static inline aq_vote_t aq_vote_join(aq_vote_t a, aq_vote_t b)
{
    if (a == AQ_VOTE_NONE || a == b)
        return b;
    return b == AQ_VOTE_NONE ? a : AQ_VOTE_MISMATCH;
}

// ---- inside the neighbourhood: barrier_shared.c ----

// Limit on the members of a small neighbourhood, in which each member has its own cache line.
#define AQ_SHARED_SMALL 4

struct aq_shared_barrier;
typedef struct aq_shared_side {
    struct aq_shared_barrier *at[AQ_SHARED_SMALL]; // of the first members
    uint32_t size, index; // size of the neighbourhood, and index of this process
    bool last_releases; // there is one neighbourhood: the last member to arrive releases the others
    // Of a small neighbourhood: the processes known to have arrived at the current phase, and their
    // joint vote.
    uint32_t seen;
    aq_vote_t joined;
} aq_shared_side_t;

// Bytes that one barrier uses in the scratch of each process.
#define AQ_SHARED_BARRIER_BYTES 1024
// Starts this process's side. areas: the scratch of the first members, at most AQ_SHARED_SMALL.
// Local.
void aq_shared_start(aq_shared_side_t *side, void *const *areas, uint32_t size, uint32_t index,
                     bool last_releases);
// From now on this process does not access the areas.
void aq_shared_end(aq_shared_side_t *side);
// Makes an area ready for another barrier; returns false while other processes may still access it.
bool aq_shared_reset(void *area);
void aq_shared_arrive(aq_shared_side_t *side, uint32_t phase, aq_vote_t vote);
// For the first process, if last_releases is false: whether all members have arrived at the phase.
// If so, sets *vote to their joint vote.
bool aq_shared_gathered(aq_shared_side_t *side, uint32_t phase, aq_vote_t *vote);
void aq_shared_release(aq_shared_side_t *side, uint32_t phase, aq_vote_t vote);
bool aq_shared_released(aq_shared_side_t *side, uint32_t phase, aq_vote_t *vote);

// ---- across neighbourhoods: barrier_am.c ----

enum { AQ_DISSEMINATION_ROUNDS = 32 };
typedef struct aq_dissemination {
    uint64_t id;                          // of the barrier: the same at all members
    uint32_t groups, me;                  // number of neighbourhoods, and index of this one
    uint32_t rounds;                      // ceil(log2(groups)): messages of each process in a phase
    uint32_t to[AQ_DISSEMINATION_ROUNDS]; // job ranks
    uint32_t from[AQ_DISSEMINATION_ROUNDS];
    uint32_t phase, round; // current
    uint32_t left;         // rounds whose messages have left this process
    uint64_t mark;         // of the next round; see requests_flushed in aq_conduit_ops_t
    aq_vote_t vote;
    _Atomic uint32_t
        arrived[2][AQ_DISSEMINATION_ROUNDS]; // phase of the last message, by parity and round
    aq_vote_t heard[2][AQ_DISSEMINATION_ROUNDS];
    uint64_t sent; // messages, for tests
    struct aq_dissemination *next;
} aq_dissemination_t;

// Starts the step across neighbourhoods, and handles messages that have arrived already. leaders:
// job rank of the first member of each group. Local.
void aq_dissemination_start(aq_dissemination_t *d, uint64_t id, uint32_t groups, uint32_t me,
                            const uint32_t *leaders);
void aq_dissemination_end(aq_dissemination_t *d);
void aq_dissemination_enter(aq_dissemination_t *d, uint32_t phase, aq_vote_t vote);
// Sends the messages that are due. If the phase is complete, returns true and sets *vote to the
// joint vote.
bool aq_dissemination_advance(aq_dissemination_t *d, aq_vote_t *vote);

// ---- the whole barrier: barrier.c ----

typedef struct aq_barrier {
    uint32_t rank;      // of this process in the job, for probes
    uint32_t initiated; // phases that the client has started
    uint32_t entered;   // phases that this process has arrived at
    _Atomic uint32_t completed;
    aq_vote_t vote;           // for the next phase to enter
    aq_vote_t result;         // of the last completed phase
    aq_event_t *first, *last; // events of the phases not completed, in order
    bool disseminating;
    void *own; // memory of a member without scratch
    aq_shared_side_t shared;
    aq_dissemination_t across;
    struct aq_barrier *next; // all barriers of this process
    aq_shown_team_t *shown;  // of its team; NULL: not shown
} aq_barrier_t;

// The members of a barrier and their shared memory.
typedef struct aq_barrier_place {
    uint64_t id; // of the team, or AQ_BARRIER_NAMED_ID
    uint32_t groups, my_group;
    const uint32_t *leaders;      // job rank of the first member of each group
    uint32_t size, index;         // members of my group, and index of this process
    void *areas[AQ_SHARED_SMALL]; // of its first members; NULL: each group has one member
} aq_barrier_place_t;

// Initializes a barrier, whose bytes are all 0, but for `shown`. Local. Afterwards phases may be
// initiated.
void aq_barrier_start(aq_barrier_t *b, const aq_barrier_place_t *place);
// Initiates a phase, with this rank's vote on the name of the barrier. Returns the event of the
// phase, or GEX_EVENT_INVALID if the phase is complete already.
gex_Event_t aq_barrier_initiate(aq_barrier_t *b, aq_vote_t vote);
// Ends a barrier whose phases are all complete in this process. Local.
void aq_barrier_end(aq_barrier_t *b);

// The barrier of gasnet_barrier_notify, _wait and _try, over the primordial team. No team has this
// id.
#define AQ_BARRIER_NAMED_ID UINT64_MAX
extern aq_barrier_t aq_barrier_named;

#endif
