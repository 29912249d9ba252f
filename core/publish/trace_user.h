// SPDX-License-Identifier: BSD-3-Clause
// The client's messages to trace and statistics, and its masks (GASNETT_TRACE_PRINTF and its kin).
#pragma once

#include <stdint.h>

// After aq_trace_start and aq_stats_file_start. allowed: the categories that the client may choose
// among; 0: this process has no trace.
void aq_trace_user_start(uint32_t allowed);
