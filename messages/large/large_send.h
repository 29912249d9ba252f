// SPDX-License-Identifier: BSD-3-Clause
// Checks that senders share.
#pragma once

#include "large_state.h"

// Checks the arguments of a call that sends, and replaces NULL by parameters of 0 bytes.
int aq_large_check(const char *call, gex_TM_t tm, gex_Rank_t rank, const gasnetx_params_t **params);
