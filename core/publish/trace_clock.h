// SPDX-License-Identifier: BSD-3-Clause
// The clock that all ranks of a trace share: that of the first host, as its ranks read it.
//
//     first rank of another host --- "ask" --->  rank 0      eight times at init, then now and then
//                                <-- its time -- rank 0      while both poll
//     other ranks of that host <--- offset, drift, error ---
//
// - The time of rank 0 belongs to the middle of the round trip, and is wrong by half of it at most.
//   A line through the best samples is offset and drift of the host (trace_line.h).
// - The error that is stated follows from the samples, and from what a clock may drift while
//   nothing is measured: 0.05 %, the most by which Linux slews a clock.
#pragma once

#include <stdint.h>

#include "../record/trace_line.h"

// Registers the handlers; at init, at all ranks, whether they trace or not.
void aq_trace_clock_register(void);

// At the end of init. In a process that traces, blocks until the clocks are known.
void aq_trace_clock_start(void);

// How the shared clock differs from this host's, and the bound of the error now.
typedef struct aq_trace_clock {
    aq_line_t line;
    uint64_t error_ns;
} aq_trace_clock_t;
aq_trace_clock_t aq_trace_clock_now(void);

// The shared time of a time of this host.
static inline uint64_t aq_trace_clock_shared(const aq_trace_clock_t *clock, uint64_t ns)
{
    return ns + (uint64_t)aq_line_at(&clock->line, ns);
}
