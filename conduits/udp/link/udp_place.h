// SPDX-License-Identifier: BSD-3-Clause
// Places, which name memory of a rank in frames (udp_wire.h).
#pragma once

#include "udp_state.h"

// The place of an address of a rank; and the memory of this process at a place that a peer has
// sent, which ends the job unless all of the memory lies in a segment (with AQ_SEGMENT_EVERYTHING:
// anywhere).
uint64_t udp_place_of(const udp_conduit_t *udp, uint32_t rank, const void *addr);
void *udp_place_memory(const udp_conduit_t *udp, uint32_t peer, uint64_t place, size_t nbytes);

// As udp_place_of, for the destination of a Long. The address of a Long without payload is data for
// the handler: all of its 64 bits are sent, without a key, and the receiver neither validates nor
// accesses that memory.
uint64_t udp_place_of_long(const udp_conduit_t *udp, uint32_t rank, const aq_am_t *am);
void *udp_place_long(const udp_conduit_t *udp, uint32_t peer, uint64_t place, size_t nbytes);
