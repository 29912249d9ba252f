// SPDX-License-Identifier: BSD-3-Clause
// Operations: their start, and their progress.
#pragma once

#include "coll_op.h"

gex_Event_t aq_coll_begin(aq_coll_t *coll, const aq_coll_call_t *call, unsigned sync);

// The list of teams whose operations the engine advances.
void aq_coll_engine_add(aq_coll_t *coll);

void aq_coll_engine_remove(aq_coll_t *coll);

// Waits until no operation of this process is outstanding, in any team. The other members have made
// the same calls or will make them without waiting for this rank.
void aq_coll_engine_finish(void);
