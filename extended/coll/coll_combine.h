// SPDX-License-Identifier: BSD-3-Clause
// Reductions in the memory of the neighbourhood.
#pragma once

#include "coll_op.h"

// Whether aq_coll_by_combining takes a reduction of a team.
bool aq_coll_combines(const aq_coll_t *coll, const aq_coll_call_t *call);
