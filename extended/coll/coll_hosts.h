// SPDX-License-Identifier: BSD-3-Clause
// The steps of an operation in a team of several hosts.
#pragma once

#include "coll_op.h"

// A part of an operation, over a part of the team.
typedef struct aq_coll_step {
    aq_coll_t *coll;
    aq_coll_call_t call;
    void *own;  // memory of the step, freed with its operation
    bool waits; // for the step before
} aq_coll_step_t;
enum { AQ_COLL_STEPS = 3 };

// Divides an operation of a team with has_hosts into the steps of this rank, in order. 0: it is not
// divided; all ranks decide alike.
uint32_t aq_coll_hosts_divide(const aq_coll_t *coll, const aq_coll_call_t *call,
                              aq_coll_step_t steps[AQ_COLL_STEPS]);
