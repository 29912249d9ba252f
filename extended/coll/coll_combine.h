// SPDX-License-Identifier: BSD-3-Clause
// Reductions in the memory of the neighbourhood.
#ifndef AQ_COLL_COMBINE_H
#define AQ_COLL_COMBINE_H

#include "coll_op.h"

// Whether aq_coll_by_combining takes a reduction of a team.
bool aq_coll_combines(const aq_coll_t *coll, const aq_coll_call_t *call);

#endif
