// SPDX-License-Identifier: BSD-3-Clause
// The step of a barrier across neighbourhoods.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "barrier_vote.h"

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
    aq_vote_t votes[2][AQ_DISSEMINATION_ROUNDS];
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
