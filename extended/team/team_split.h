// SPDX-License-Identifier: BSD-3-Clause
// What gex_TM_Split and gex_TM_Create share.
//
// The members of the parent exchange candidates by an all-gather, so each member can compute
// the members of its new team. Each member also sends a number that it has reserved
// (core/endpoint/team.h): the id of the new team contains the number of the member that becomes
// rank 0.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../core/endpoint/team.h"

#define AQ_SPLIT_SIZE_QUERY (GEX_FLAG_TM_SCRATCH_SIZE_MIN | GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED)
#define AQ_SPLIT_SCRATCH_BYTES GASNET_PAGESIZE // what queries recommend; not used by the library

// What a member of the parent brings to a new team.
typedef struct aq_candidate {
    uint64_t number; // reserved for the new team
    uint64_t proof;  // of the identity of its endpoint; 0: it has none
    uint32_t slot;   // for the collectives of the new team
    int32_t color;   // -1: not in a new team
    int32_t key;
    gex_Rank_t parent_rank; // filled in by the receiver
    uint16_t endpoint;      // of this member, in the new team
    uint16_t missing;       // there is no such endpoint
} aq_candidate_t;

// All-gathers the candidates: color, key and endpoint of `mine`. Returns those of all members of
// the parent in the order of their ranks; the caller frees them. Collective over the parent.
aq_candidate_t *aq_split_gather(aq_team_t *parent, aq_candidate_t mine);

// Creates the team of the candidates [0, count), which are in the order of the new ranks; ep is the
// member of this process. Ends the job if memory is out.
gex_TM_t aq_split_make(aq_team_t *parent, gex_EP_t ep, const aq_candidate_t *candidates,
                       gex_Rank_t count, gex_Flags_t flags);

// For debug builds: ends the job if a call over this team is wrong.
void aq_split_check_parent(const char *call, gex_TM_t tm);
