// SPDX-License-Identifier: BSD-3-Clause
// Small groups of ranks exchange what they have, in a few rounds.
#pragma once

#include "coll_op.h"

// Whether aq_coll_by_doubling takes so many ranks.
bool aq_coll_doubles(uint32_t size);
