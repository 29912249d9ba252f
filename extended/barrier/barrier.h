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
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../core/thread/event.h"
#include "../../core/progress/progress.h"
#include "../../core/record/rank_head.h"
#include "barrier_am.h"
#include "barrier_shared.h"

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
