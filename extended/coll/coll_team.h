// SPDX-License-Identifier: BSD-3-Clause
// The collectives of a team: for the code that creates teams.
#pragma once

#include "coll_op.h"

// All-gather over a team: copies `bytes` bytes from each member to all[rank * bytes]. Blocks.
void aq_coll_allgather(aq_team_t *team, const void *mine, size_t bytes, void *all);

uint32_t aq_coll_slot_take(void);
// Gives a slot back that no team uses; AQ_COLL_NO_SLOT: does nothing.
void aq_coll_slot_drop(uint32_t slot);

// Starts the collectives of a team with the slots of all members, in rank order. Afterwards the
// team may be used. Local: other members may return earlier or later.
void aq_coll_team_start(aq_team_t *team, const uint32_t *slots);

// Frees the state of the collectives of a team, and its slot. All operations of the team are
// complete in this process. Local.
void aq_coll_team_end(aq_team_t *team);
