// SPDX-License-Identifier: BSD-3-Clause
// Writes in sentences what only a look at all ranks shows: which rank waits for which, and why the
// wait lasts.
//
// The graph: a thread that has waited for AQ_DIAGNOSE_NS waits for ranks. In a collective these are
// the members that have not begun it; if all have, those that do not poll. In a wait for a message
// or for room it is the peer. What a rank is doing that others wait for is said behind it.
#pragma once

#include <stdio.h>

#include "job_watch.h"

#define AQ_DIAGNOSE_NS UINT64_C(1000000000)

// Gets the stack of a rank.
typedef aq_stack_result_t (*aq_stack_get_t)(const aq_watched_job_t *job,
                                            const aq_watched_rank_t *rank, aq_seen_stack_t *stack);

// Writes the sentences, a line each, the same for the same states. The job was read twice, a moment
// apart, which shows who polls in loops of its own. get: may be NULL. Returns the number of
// sentences that name something wrong: 0 if no rank waits for long and all are there. Returns -1 if
// memory is out.
int aq_diagnose(const aq_watched_job_t *job, uint64_t now, aq_stack_get_t get, FILE *out);
