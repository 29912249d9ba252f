// SPDX-License-Identifier: BSD-3-Clause
// The step of a barrier inside a neighbourhood.
#pragma once

#include <stdbool.h>

#include "barrier_vote.h"

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
