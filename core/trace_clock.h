// The clock that all ranks of a trace share: that of the first host, as its ranks read it.
//
//     first rank of another host --- "ask" --->  rank 0      eight times at init, then now and then
//                                <-- its time -- rank 0      while both poll
//     other ranks of that host <--- offset, drift, error ---
//
// - The time of rank 0 belongs to the middle of the round trip, and is wrong by half of it at most.
//   A line through the first sample and the last one is offset and drift of the host.
// - The error that is stated is the largest of all samples, half a round trip and the distance from
//   the line, and what a clock may drift while nothing is measured (0.05 %, the most by which Linux
//   slews a clock).
#ifndef AQ_TRACE_CLOCK_H
#define AQ_TRACE_CLOCK_H

#include <stdint.h>

// Registers the handlers; at init, at all ranks, whether they trace or not.
void aq_trace_clock_register(void);

// At the end of init, in a process that traces. Blocks until the clocks are known.
void aq_trace_clock_start(void);

// Offset and drift of the shared clock against this host's, and the bound of their error now.
typedef struct aq_trace_clock {
    int64_t offset_ns; // at `since`: shared - own
    uint64_t since;    // own
    int64_t drift_ppb; // by which the offset grows
    uint64_t error_ns;
} aq_trace_clock_t;
aq_trace_clock_t aq_trace_clock_now(void);

// The shared time of a time of this host.
uint64_t aq_trace_clock_shared(const aq_trace_clock_t *clock, uint64_t ns);

#endif
