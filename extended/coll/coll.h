// SPDX-License-Identifier: BSD-3-Clause
// Checks of the arguments of calls.
#pragma once

#include "coll_op.h"

// End the job with a message that names the call if a number is wrong; in a debug build also if
// another argument is.
void aq_coll_check_call(const char *name, gex_TM_t tm, gex_Rank_t root, gex_Flags_t flags);
void aq_coll_check_elements(const char *name, gex_DT_t dt, size_t dt_sz, size_t dt_cnt);
// Returns the function of the client's operator, or of a built-in operator if it exists for the
// type; else ends the job with a message.
gex_Coll_ReduceFn_t aq_coll_find_operator(const char *name, gex_DT_t dt, gex_OP_t op,
                                          gex_Coll_ReduceFn_t user_op);
