// SPDX-License-Identifier: BSD-3-Clause
// Checks of debug builds that all ranks make the same call.
#pragma once

#include "coll_op.h"

// The call of a rank; sent to the next rank of the team.
typedef struct aq_coll_words {
    int32_t call;          // index of its name, see coll_check.c
    uint32_t root, dt, op; // op: the flags, of the calls of GASNet-1
    uint64_t unit, count;
} aq_coll_words_t;
enum {
    AQ_COLL_CALL_BARRIER = AQ_COLL_SCAN_EXCLUSIVE + 1,
    AQ_COLL_CALL_BROADCAST1,
    AQ_COLL_CALL_BLOCKS, // of aqueduct_coll.h, in the order of the kinds
    AQ_COLL_CALLS = AQ_COLL_CALL_BLOCKS + AQ_COLL_EXCHANGE - AQ_COLL_SCATTER + 1
};

void aq_coll_check_same(aq_coll_t *coll, const aq_coll_words_t *words);

void aq_coll_check_start(aq_coll_t *coll); // the caller holds aq_coll_lock

void aq_coll_check_end(aq_coll_t *coll);
