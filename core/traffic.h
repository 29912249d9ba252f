// SPDX-License-Identifier: BSD-3-Clause
// The traffic matrix that GASNET_TRAFFIC asks for: what each rank sent to each other one, and what
// arrived of it, as lines of a file (traffic_format.h), which all ranks add to when the job ends,
// and when a signal arrives (GASNET_TRAFFIC_SIGNAL).
//
// While it is asked for, nothing may pass uncounted, which costs time that other jobs do not pay:
// - no handler has a shape in the fast dispatch (endpoint.h), so the slow one counts arrivals;
// - inline puts, gets and atomics call the library, which counts those on mapped memory, too.
#ifndef AQ_TRAFFIC_H
#define AQ_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conduit.h"
#include "counters.h"

// Set at init, before any message arrives and any team is made.
extern bool aq_traffic_on;

// Opens the file, at init, and catches the signals. The first rank of each host makes it, or warns
// if it cannot be written. Call it after aq_report_start.
void aq_traffic_start(void);

// Adds the lines of this rank, when it leaves the job; once. Blocks for the file system.
void aq_traffic_write(void);

// Counts a message of two sides or of a stream that has arrived; messages: AQ_ARRIVED_SENDS or
// AQ_ARRIVED_STREAMS. Does nothing unless aq_traffic_on.
void aq_traffic_received(uint32_t source, aq_arrived_t messages, size_t nbytes);

// Counts a message of the client that has arrived.
void aq_traffic_arrived(const aq_arrival_t *arrival);

#endif
