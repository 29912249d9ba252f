// SPDX-License-Identifier: BSD-3-Clause
// What the calls of clients share: checks of arguments, and the start of reductions and scans.
#pragma once

#include "coll_check.h"

// Ends the job with a message that names the call if a number is wrong; in a debug build also if
// another argument is.
void aq_coll_check_call(const char *name, gex_TM_t tm, gex_Rank_t root, gex_Flags_t flags);

// Checks the arguments of a reduction or a scan, and begins it. words: kind, root, type, operator,
// size of an element and number of elements. call has the rest.
gex_Event_t aq_coll_begin_combining(const char *name, gex_TM_t tm, const aq_coll_words_t *words,
                                    aq_coll_call_t *call, gex_Coll_ReduceFn_t user_op,
                                    gex_Flags_t flags);
