// SPDX-License-Identifier: BSD-3-Clause
// Counts of what has arrived, for the traffic matrix (traffic_file.h); the counters of each rank
// have what was sent.
//
// While the matrix is wanted, every message and access is counted, which costs time that other
// jobs do not pay:
// - no handler has a shape in the fast dispatch (endpoint.h), so the slow one counts arrivals;
// - inline puts, gets and atomics call the library, which counts those on mapped memory, too.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../conduit.h"
#include "counters.h"

// Set at init, before any message arrives and any team is made.
extern bool aq_traffic_on;

// Counts a message of two sides or of a stream that has arrived; messages: AQ_ARRIVED_SENDS or
// AQ_ARRIVED_STREAMS. Does nothing unless aq_traffic_on.
void aq_traffic_received(uint32_t source, aq_arrived_t messages, size_t nbytes);

// Counts a message of the client that has arrived.
void aq_traffic_arrived(const aq_arrival_t *arrival);
