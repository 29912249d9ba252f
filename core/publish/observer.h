// SPDX-License-Identifier: BSD-3-Clause
// Passes what conduits report (other/base/modules/observed.h) to the counters of ranks, to probes,
// and to the trace.
#pragma once

// Before the conduits open.
void aq_observer_start(void);
