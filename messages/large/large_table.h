// SPDX-License-Identifier: BSD-3-Clause
// The functions that the client has registered.
#pragma once

#include "large_state.h"

// The function of a message. Ends the job if the id is not registered, or the types differ.
gasnetx_Large_Fn_t aq_large_function(const aq_msg_head_t *head, const char *types);
