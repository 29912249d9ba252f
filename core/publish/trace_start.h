// SPDX-License-Identifier: BSD-3-Clause
// The trace of this process from its settings on: GASNET_TRACE, or GASNET_TRACEFILE and its kin.
#pragma once

// At init, before any handler is registered and any team is made: reads the settings, and opens the
// file. Ranks of one host share it; the first of them makes it, or warns if it cannot be written.
void aq_trace_start(void);
