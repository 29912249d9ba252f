// SPDX-License-Identifier: BSD-3-Clause
// The memory that the processes of a neighbourhood share, zero at first, and what it is used for.
//
//      of each process:  [ barriers and areas of teams .. | segments | process | heap | claims of
//                          messages ]
#pragma once

#include "../state/job.h"

// Bytes.
#define AQ_SCRATCH_CLAIMS ((size_t)2 << 10)                    // messages/two_sided/msg_coop_copy.c
#define AQ_SCRATCH_HEAP ((size_t)64)                           // core/memory/shared_heap.c
#define AQ_SCRATCH_PROCESS ((size_t)64)                        // core/memory/cma_read.c
#define AQ_SCRATCH_SEGMENTS (GASNET_MAXEPS * sizeof(uint32_t)) // core/memory/cma_copy.c
#define AQ_SCRATCH_TEAMS                                                                           \
    (AQ_SCRATCH_BYTES - AQ_SCRATCH_CLAIMS - AQ_SCRATCH_HEAP - AQ_SCRATCH_PROCESS -                 \
     AQ_SCRATCH_SEGMENTS)
// Where they begin; extended/coll/coll_team.c has the rest.
#define AQ_SCRATCH_SEGMENTS_AT AQ_SCRATCH_TEAMS
#define AQ_SCRATCH_PROCESS_AT (AQ_SCRATCH_SEGMENTS_AT + AQ_SCRATCH_SEGMENTS)
#define AQ_SCRATCH_HEAP_AT (AQ_SCRATCH_PROCESS_AT + AQ_SCRATCH_PROCESS)
#define AQ_SCRATCH_CLAIMS_AT (AQ_SCRATCH_BYTES - AQ_SCRATCH_CLAIMS)

// The part of a process, by its index in the neighbourhood; it begins with what teams use. Valid
// until the process ends.
static inline char *aq_scratch_of(uint32_t nbrhd_index)
{
    aq_conduit_t *conduit = aq_job.conduits[0];
    return (char *)conduit->ops->memory.shared_scratch(conduit) +
           (size_t)nbrhd_index * AQ_SCRATCH_BYTES;
}
