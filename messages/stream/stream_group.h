// SPDX-License-Identifier: BSD-3-Clause
// Group communication on streams.
#pragma once

#include "stream_state.h"

// The handlers of an id of group communication; *up synchronizes all children and this rank.
void aq_stream_group_entries(uint32_t id, gasnetx_stream_entry_t *up, gasnetx_stream_entry_t *down);
